/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking one entry back: compare and swap. What is ours goes back to what was there; what is there
 * already needs nothing; what somebody changed since is theirs.
 */
#include <string.h>

#include "base/text.h"
#include "knob/io.h"
#include "txn/run.h"

static void noted(struct txn_run *r, struct entry *e, struct outcome_row *row, enum outcome o,
		  const char *note)
{
	row->outcome = o;
	e->state = ENTRY_UNDONE;
	e->note = note;
	write_undone(&r->writer, e, r->now ? r->now->txn : e->txn);
}

static void stuck(struct txn_run *r, struct entry *e, struct outcome_row *row, const char *sentence)
{
	row->outcome = OUTCOME_STUCK;
	row->sentence = sentence;
	row->command = knob_command(r->a, &e->knob, row->from);
	e->state = ENTRY_STUCK;
	e->note = sentence;
	write_stuck(&r->writer, e, r->now ? r->now->txn : e->txn, row->command);
}

/* Numbers that the machine took in part (huge pages, rounded sizes) lie between the two. */
static bool lies_between(const char *now, const char *before, const char *after)
{
	long long x, lo, hi;

	if (!before || parse_i64(now, &x) || parse_i64(before, &lo) || parse_i64(after, &hi))
		return false;
	return lo < hi ? x >= lo && x <= hi : x >= hi && x <= lo;
}

/* Our value: what was read back; where a crash came before that, what was asked for or what a
 * machine makes of it. */
static bool is_ours(const struct entry *e, const char *now)
{
	if (e->read && knob_same(&e->knob, now, e->read))
		return true;
	if (knob_same(&e->knob, now, e->after))
		return true;
	return e->state == ENTRY_INTENDED && lies_between(now, e->before, e->after);
}

/* What another knob has to hold once this one is taken back: our own later change of it, or what
 * was there. NULL, or why one could not be restored. */
static const char *restore_sides(struct txn_run *r, const struct entry *e)
{
	for (size_t i = 0; i < e->n_sides; i++) {
		const struct side *s = &e->sides[i];
		const struct entry *other = layer_top(&r->journal, &s->knob);
		const char *want = other ? other->after : s->before, *now;
		struct err why = { 0 };
		int code = knob_get(r->h, r->a, &s->knob, &now, &why);

		if (code == -ENOENT || (code == 0 && knob_same(&s->knob, now, want)))
			continue;
		if (code == 0)
			code = knob_set(r->h, r->a, &s->knob, want, &why);
		if (code == 0)
			code = knob_get(r->h, r->a, &s->knob, &now, &why);
		if (code || !knob_same(&s->knob, now, want))
			return arena_printf(r->a, "%s, which it resets: %s",
					    knob_text(r->a, &s->knob),
					    code ? why.text : "it did not take its prior value");
	}
	return NULL;
}

/* The knob holds its prior value; what writing it resets has to as well. */
static void is_back(struct txn_run *r, struct entry *e, struct outcome_row *row, enum outcome o,
		    const char *note)
{
	const char *trouble = r->dry ? NULL : restore_sides(r, e);

	if (trouble)
		stuck(r, e, row, trouble);
	else
		noted(r, e, row, o, note);
}

/* Writes the prior value and looks whether it is there. */
static void restore(struct txn_run *r, struct entry *e, struct outcome_row *row, const char *to)
{
	struct err why = { 0 };
	const char *now = NULL;
	int code, got;

	row->from = to;
	if (r->dry) {
		noted(r, e, row, e->before ? OUTCOME_RESTORED : OUTCOME_RESET, "restored");
		return;
	}
	code = knob_set(r->h, r->a, &e->knob, to, &why);
	got = knob_get(r->h, r->a, &e->knob, &now, &why);
	row->found = got ? NULL : now;
	if (got == -ENODATA && code == 0) {
		noted(r, e, row, e->before ? OUTCOME_RESTORED : OUTCOME_RESET,
		      e->before ? "restored" : "reset");
		row->sentence = e->before ? NULL : "the value before was not known";
		return;
	}
	/* A write that failed but is in force is in force. */
	if (got == 0 && knob_same(&e->knob, now, to)) {
		is_back(r, e, row, OUTCOME_RESTORED, "restored");
		return;
	}
	stuck(r, e, row,
	      code || got ? arena_strdup(r->a, why.text)
			  : arena_printf(r->a, "wrote %s, but it is %s", to, now));
}

static void take_back_unseen(struct txn_run *r, struct entry *e, struct outcome_row *row)
{
	const char *neutral = knob_neutral(&e->knob);

	if (e->before)
		restore(r, e, row, e->before);
	else if (neutral)
		restore(r, e, row, neutral);
	else
		stuck(r, e, row, "its prior value was not known, and it has no neutral one");
}

/* The same name may be another device after a reboot. */
static bool is_elsewhere(struct txn_run *r, const struct entry *e)
{
	return *e->place && strcmp(e->place, knob_place(r->h, r->a, &e->knob)) != 0;
}

static bool is_covered(struct txn_run *r, struct entry *e, struct outcome_row *row)
{
	struct entry *above = layer_above(&r->journal, e);

	if (!above)
		return false;
	if (layer_hands_down(e, above)) {
		above->before = e->before;
		write_rebase(&r->writer, above);
	}
	noted(r, e, row, OUTCOME_COVERED, NOTE_COVERED);
	row->sentence = arena_printf(r->a, "transaction %lu holds it", above->txn);
	return true;
}

void run_take_back(struct txn_run *r, struct entry *e, bool forced, struct outcome_row *row)
{
	struct err why = { 0 };
	const char *now = NULL;
	int code;

	if (is_covered(r, e, row))
		return;
	code = knob_get(r->h, r->a, &e->knob, &now, &why);
	row->found = code ? NULL : now;
	if (code == -ENODATA) {
		take_back_unseen(r, e, row);
	} else if (code == -ENOENT || code == -ENODEV || code == -ENOTDIR ||
		   (code == 0 && is_elsewhere(r, e))) {
		noted(r, e, row, OUTCOME_GONE, "gone");
		row->sentence = "the device is not there any more";
	} else if (code) {
		stuck(r, e, row, arena_strdup(r->a, why.text));
	} else if (e->before && knob_same(&e->knob, now, e->before)) {
		is_back(r, e, row, OUTCOME_ALREADY, "already");
	} else if ((is_ours(e, now) || forced) && e->before) {
		restore(r, e, row, e->before);
	} else {
		noted(r, e, row, OUTCOME_FOREIGN, NOTE_LEFT);
		row->sentence = arena_printf(r->a, "somebody set it to %s since", now);
	}
}

bool run_roll_back(struct txn_run *r, struct transaction *t, bool report)
{
	bool clean = true;

	for (size_t i = t->n; i-- > 0;) {
		struct entry *e = &t->entries[i];
		struct outcome_row own = { .id = e->id, .from = e->before, .to = e->after },
				   *row = &own;

		if (!entry_is_active(e))
			continue;
		if (report) {
			row = run_row(r, e);
			run_take_back(r, e, false, row);
			if (row->outcome == OUTCOME_RESTORED || row->outcome == OUTCOME_RESET)
				row->outcome = OUTCOME_ROLLED_BACK;
		} else {
			run_take_back(r, e, false, row);
		}
		clean = clean && row->outcome != OUTCOME_STUCK;
	}
	return clean;
}
