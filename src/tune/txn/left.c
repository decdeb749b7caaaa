/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files of interrupted writes: undo removes them with the change, and the report names
 * them. */
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "tune/txn/run.h"

static void say(struct txn_run *r, const char *sentence)
{
	struct txn_report *out = r->report;

	out->leftovers =
		arena_grow(r->a, out->leftovers, out->n_leftovers, sizeof(*out->leftovers));
	out->leftovers[out->n_leftovers++] = sentence;
}

/* NULL, or why it is still there. */
static const char *clear_one(struct txn_run *r, const struct knob_left *left)
{
	int code;

	if (!left->ours) {
		say(r, arena_printf(r->a, "%s is no plain file of root's: it stays", left->path));
		return NULL;
	}
	if (!left->spare) {
		say(r, arena_printf(r->a,
				    "%s holds what %s held before a write that was cut off: it "
				    "stays; compare the two",
				    left->path, left->of));
		return NULL;
	}
	code = host_remove(r->h, left->path);
	if (code && code != -ENOENT)
		return arena_printf(r->a,
				    "could not remove %s, which a write that was cut off "
				    "left: %s",
				    left->path, strerror(-code));
	say(r,
	    arena_printf(r->a, "removed %s, which a write that was cut off had left", left->path));
	return NULL;
}

/* Those that hold what was there before, or the others. The last trouble that there was; NULL. */
static const char *clear(struct txn_run *r, const struct entry *e, bool saved)
{
	const char *trouble = NULL;
	size_t n = 0;
	struct knob_left *left = knob_left_over(r->h, r->a, &e->knob, &n);

	for (size_t i = 0; i < n; i++) {
		const char *why = left[i].saved == saved ? clear_one(r, &left[i]) : NULL;

		trouble = why ? why : trouble;
	}
	return trouble;
}

void run_take_back(struct txn_run *r, struct entry *e, bool forced, struct outcome_row *row)
{
	bool clears = !r->dry && !e->unread;
	/* What was saved is of use until the file holds it again. */
	const char *half = clears ? clear(r, e, false) : NULL, *saved;

	run_take_back_knob(r, e, forced, row);
	saved = clears ? clear(r, e, true) : NULL;
	/* The change stays open, so that the next undo tries to remove the file again. */
	if ((half || saved) && row->outcome != OUTCOME_STUCK)
		run_stuck(r, e, row, half ? half : saved);
}

void run_add_leftovers(struct txn_run *r, const struct txn_report *from)
{
	for (size_t i = 0; r->report && i < from->n_leftovers; i++)
		say(r, from->leftovers[i]);
}
