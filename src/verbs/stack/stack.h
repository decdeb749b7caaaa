/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-verbs of stack that have files of their own, and what several of them share. */
#ifndef VERBS_STACK_H
#define VERBS_STACK_H

#include "base/text.h"
#include "look/stack/library_variant.h"
#include "look/stack/wheelhouse.h"
#include "machine/host/command.h"
#include "measure/prove/versus.h"
#include "verbs/stack/look.h"

extern const struct verb build_plan_verb, canary_verb, stack_compare_verb, compare_one_verb,
	wheelhouse_verb;

/* --- wheelhouse ------------------------------------------------------------------------------- */

/* What the manifest says, verified where verify says so: an exit code, or as answers. */
int house_look(struct door *d, const char *dir, bool verify, const char *signers,
	       struct wheelhouse *out);
/* Copies a valid wheelhouse to DIR or HOST:DIR and verifies the copy, which *out then is; of
 * another machine's it is the one here. As house_look. */
int house_sync(struct door *d, const char *dir, const char *to, struct wheelhouse *out);

extern const struct result_shape house_use_result; /* of stack wheelhouse use */

/* What is there already: names and sizes as "ls -lna" prints them, and what its manifest says, if
 * it has one. Neither is believed. */
struct over_there {
	char *list;
	struct wheelhouse house;
};

/* dir: of the wheelhouse here; place: over there. Names that sftp takes as they stand. */
struct sync_pair {
	const struct wheelhouse *h;
	const char *dir, *place;
};

/* The lines that sftp is given. */
void sync_lines(struct arena *a, const struct sync_pair *s, const struct over_there *t,
		struct text *out);

/* --- compare ---------------------------------------------------------------------------------- */

struct reading_figure {
	struct bench_figure is;
	double value;
};

/* What one window said. Texts live in the arena. */
struct compare_reading {
	const char *name, *setup, *variant;
	const char *library; /* that was loaded */
	double first;	     /* by its first proposal; NAN: it made none */
	struct reading_figure figures[VERSUS_FIGURES];
	size_t n;
	const char *error; /* why there are none; NULL */
};
extern const struct result_shape stack_window_result; /* of a struct compare_reading */

/* What it printed and how it ended. -EBADMSG, -ENODATA: as process_run. */
int compare_answer(struct arena *a, const struct library_variant *side,
		   const struct command_result *r, struct compare_reading *out, struct err *e);

#endif
