/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases of a maker as rows, and whether this machine has one as a whole. Rows use the conditions
 * of defects; docs/design/DEFECTS.md describes them.
 */
#ifndef DEFECTS_BASELINE_H
#define DEFECTS_BASELINE_H

#include "look/defects/match.h"

enum baseline_verdict {
	BASELINE_TORN,	 /* a part of the release is missing */
	BASELINE_BEHIND, /* a newer one is known, or support has ended */
	BASELINE_HELD,	 /* the same, and the maker keeps it so */
	BASELINE_UNSEEN, /* a part could not be seen */
	BASELINE_WHOLE,
};
extern const char *const baseline_verdicts[BASELINE_WHOLE + 1];

struct baseline_found {
	const char *id, *title;
	enum baseline_verdict verdict;
	const char *here; /* what the release was known by, and where that was read */
	const char *why;  /* what is missing, newer or unseen; NULL: nothing */
	const char *end;  /* of support; NULL: not known */
	const char *date, *source;
};

struct baseline {
	struct baseline_found *items; /* of the releases that are here */
	size_t n;
	size_t count[BASELINE_WHOLE + 1];
};

/* The rows of the build; they live as long as the process. */
const json_t *baseline_built_in(void);

/* Rows against what is here, on the day today (2026-11-27). */
void baseline_judge(struct defect_world *w, const json_t *rows, const char *today,
		    struct baseline *out);
/* Keys, conditions, dates and examples of all rows: -EINVAL and *e for the first that is wrong. */
int baseline_check(struct arena *a, const json_t *rows, struct err *e);

#endif
