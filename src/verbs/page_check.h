/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for people: the page of `check`, and everything about one setting. */
#ifndef PAGES_PAGE_CHECK_H
#define PAGES_PAGE_CHECK_H

#include "tune/plan/plan.h"
#include "measure/prove/ledger.h"
#include "look/settings/check.h"
#include "render/doc.h"

/* A report shows the page in two pieces: what it says first, and the findings. A card has what it
 * says first, with the machine. */
enum check_part { CHECK_WHOLE, CHECK_FRONT, CHECK_FINDINGS, CHECK_CARD };

struct check_view {
	enum check_part part;
	bool all;		      /* also what is right and what does not apply */
	bool verbose;		      /* where each value was read, and the risk of changing it */
	const struct ledger *ledger;  /* what was proven here; NULL: nobody looked */
	const struct findings *whole; /* without --only; NULL or empty: it was not given */
	const struct plan *plan; /* what can be written here, and what is against it; NULL: nobody
				    planned */
};

/* Pieces of a finding, as the pages of plan and doctor show them as well. */
struct cell severity_cell(enum severity s);
/* Long lists of targets end in a count. */
const char *finding_targets(struct arena *a, const struct finding *f);
/* Why: NULL of what is right. */
const char *finding_reason(const struct finding *f);
struct doc *page_check(struct arena *a, const struct machine *m, const struct profile *p,
		       const struct findings *f, const struct check_view *how);
/* f holds the findings of this one setting on this machine; by_profile, PROFILES of them, what each
 * built-in profile says of it here. Documents of other platforms are left out. */
struct doc *page_explain(struct arena *a, const struct setting *s, const struct machine *m,
			 const struct profile *p, const struct findings *f,
			 const struct findings *by_profile, const struct check_view *view);

#endif
