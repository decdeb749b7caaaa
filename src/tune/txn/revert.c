/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking one entry back: compare and swap. What is ours goes back to what was there; what is there
 * already needs nothing; what somebody changed since is theirs.
 */
#include <string.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "machine/write/write.h"
#include "tune/persist/persist.h"
#include "tune/plan/plan.h"
#include "tune/txn/run.h"

/* Other entries that matter when one is taken back: a file of ours in a folder or beside the
 * request, a lower layer that an interrupted undo had reached, the other sysctl of a pair. */

static bool is_absent(struct txn_run *r, const struct knob *k)
{
	struct err ignored = { 0 };
	const char *now;

	return knob_get(r->h, r->a, k, &now, &ignored) == 0 && strcmp(now, "absent") == 0;
}

/* A file of ours that lies in the entry's folder and is not taken back yet; NULL. */
static const char *run_holds_file(struct txn_run *r, const struct entry *e)
{
	if (e->knob.kind != KNOB_FILE || !str_ends(e->knob.name, "/"))
		return NULL;
	for (size_t i = 0; i < r->journal.n; i++)
		for (size_t k = 0; k < r->journal.items[i].n; k++) {
			const struct entry *x = &r->journal.items[i].entries[k];

			if (x != e && entry_is_active(x) && !x->unread &&
			    x->knob.kind == KNOB_FILE && str_starts(x->knob.name, e->knob.name) &&
			    strcmp(x->knob.name, e->knob.name) != 0 && !is_absent(r, &x->knob))
				return x->knob.name;
		}
	return NULL;
}

static bool is_newer_file(const struct entry *x, const struct entry *e)
{
	return entry_is_active(x) && !x->unread && x->knob.kind == KNOB_FILE &&
	       !str_ends(x->knob.name, "/") && entry_is_newer(x, e);
}

/*
 * e is the request (boot.json). A file for the next boot that still needs it: one that is not
 * undone yet and was written later, in the same transaction, or in any where no newer request
 * stands above e. Without the request nobody could tell after a reboot which values that file has
 * set. NULL: e can be removed, or is no request.
 */
static const char *run_needs_request(struct txn_run *r, const struct entry *e)
{
	bool is_top = !layer_above(&r->journal, e);

	if (e->knob.kind != KNOB_FILE || strcmp(e->knob.name, PERSIST_REQUEST) != 0)
		return NULL;
	for (size_t i = 0; i < r->journal.n; i++)
		for (size_t k = 0; k < r->journal.items[i].n; k++) {
			const struct entry *x = &r->journal.items[i].entries[k];

			if ((is_top || x->txn == e->txn) && is_newer_file(x, e) &&
			    strcmp(r->journal.items[i].op, "persist") == 0 &&
			    !is_absent(r, &x->knob))
				return x->knob.name;
		}
	return NULL;
}

/* Whether an interrupted undo of several layers has come further than this one: the knob holds what
 * a lower layer goes back to. */
static bool run_went_further(struct txn_run *r, const struct entry *e, const char *now)
{
	const char *before = e->before;

	for (const struct entry *x = layer_below(&r->journal, e); e->undoing && before && x;
	     x = layer_below(&r->journal, x)) {
		if (!x->undoing || !x->before || !knob_same(&e->knob, before, x->after))
			return false;
		if (knob_holds(&e->knob, now, x->before))
			return true;
		before = x->before;
	}
	return false;
}

/* Of two sysctls of which writing one zeroes the other: the later change of the other, which goes
 * back to what e has set, and what it has to go back to when e is taken out; NULL. */
static struct entry *run_pair_above(struct txn_run *r, const struct entry *e,
				    const char **hands_down)
{
	const char *partner = e->knob.kind == KNOB_SYSCTL ? sysctl_partner(e->knob.name) : NULL;
	const struct knob other = { KNOB_SYSCTL, partner ? partner : "", "" };
	struct entry *above = partner ? layer_above_side_effect(&r->journal, &other, e) : NULL;
	size_t n = strlen(other.name);

	*hands_down = NULL;
	if (!above || !above->before || !e->before ||
	    strcmp(above->before, arena_printf(r->a, "%s=%s", e->knob.name, e->after)) != 0)
		return NULL;
	*hands_down = strncmp(e->before, other.name, n) == 0 && e->before[n] == '='
			      ? e->before + n + 1
			      : arena_printf(r->a, "%s=%s", e->knob.name, e->before);
	return above;
}

/* A dry run leaves in our folder what would be gone by the time the folder's turn comes. */
static bool run_is_full_folder(const struct txn_run *r, const struct entry *e, const char *now)
{
	return r->dry && e->knob.kind == KNOB_FILE && str_ends(e->knob.name, "/") &&
	       str_starts(now, e->after);
}

/* What is in our folder and is not ours, the first few of it. */
static const char *held_by_folder(struct txn_run *r, const struct entry *e)
{
	enum { FEW = 4 };
	TEXT_AUTO out = { 0 };
	char **names;
	size_t n = 0;

	if (host_list(r->h, arena_strndup(r->a, e->knob.name, strlen(e->knob.name) - 1), r->a,
		      &names, &n))
		n = 0;
	for (size_t i = 0; i < n && i < FEW; i++)
		text_printf(&out, "%s%s", i ? ", " : "", names[i]);
	if (n > FEW)
		text_printf(&out, " and %zu more", n - FEW);
	return n ? arena_printf(r->a, "the folder contains %s, which gputune did not write", out.s)
		 : "the folder's mode was changed";
}

/* What somebody made of it, in words. */
static const char *run_foreign(struct txn_run *r, const struct entry *e, const char *now)
{
	if (e->knob.kind != KNOB_FILE)
		return arena_printf(r->a, "the value was set to %s since", now);
	if (strcmp(now, "absent") == 0)
		return "the file was removed since";
	return str_ends(e->knob.name, "/") ? held_by_folder(r, e)
					   : "the file was edited since gputune wrote it";
}

/* A folder of ours in which another program put something cannot go, whatever is asked for. */
static bool run_can_force(const struct entry *e, const char *now)
{
	return e->knob.kind != KNOB_FILE || knob_valid(&e->knob, now, NULL);
}

/* Half of what was asked for. */

/* Of huge pages the kernel grants as many as it finds memory for: numbers between the two. */
static bool lies_between(const char *now, const char *before, const char *after)
{
	long long x, lo, hi;

	if (!before || parse_i64(now, &x) || parse_i64(before, &lo) || parse_i64(after, &hi))
		return false;
	return lo < hi ? x >= lo && x <= hi : x >= hi && x <= lo;
}

/* Of a value of several words, which take a write each, some may be there already. */
static bool has_words_of_both(const char *now, const char *before, const char *after)
{
	const char *s[] = { now, before ? before : "", after };

	while (*s[0]) {
		size_t n[3];

		for (int i = 0; i < 3; i++)
			n[i] = strcspn(s[i], " ");
		if ((n[0] != n[1] || strncmp(s[0], s[1], n[0]) != 0) &&
		    (n[0] != n[2] || strncmp(s[0], s[2], n[0]) != 0))
			return false;
		for (int i = 0; i < 3; i++)
			s[i] += n[i] + (s[i][n[i]] == ' ');
	}
	return !*s[1] && !*s[2];
}

/* Half of what was asked for: numbers that the machine granted in part, a service that was stopped
 * and not yet disabled, a link that was taken away for another. */
static bool is_partial_write(const struct entry *e, const char *now)
{
	if (e->knob.kind == KNOB_UNIT)
		return has_words_of_both(now, e->before, e->after);
	if (e->knob.kind == KNOB_FILE && str_starts(e->after, "link:"))
		return strcmp(now, "absent") == 0;
	return knob_grants_part(&e->knob) && lies_between(now, e->before, e->after);
}

struct outcome_row *run_row(struct txn_run *r, const struct entry *e)
{
	struct txn_report *out = r->report;
	struct outcome_row *row;

	row = &ARENA_ADD(r->a, out->rows, out->n);
	*row = (struct outcome_row){
		.id = e->id, .target = e->target, .knob = e->knob, .from = e->before, .to = e->after
	};
	return row;
}

static void noted(struct txn_run *r, struct entry *e, struct outcome_row *row, enum outcome o,
		  const char *note)
{
	row->outcome = o;
	e->state = ENTRY_UNDONE;
	e->note = note;
	write_undone(&r->writer, e, r->now ? r->now->txn : e->txn);
}

/* It could not be taken back: noted, with the sentence and the command for a person. */
static void run_stuck(struct txn_run *r, struct entry *e, struct outcome_row *row,
		      const char *sentence)
{
	row->outcome = OUTCOME_STUCK;
	row->sentence = sentence;
	row->command = knob_command_here(r->h, r->a, &e->knob, row->from);
	e->state = ENTRY_STUCK;
	e->note = sentence;
	write_stuck(&r->writer, e, r->now ? r->now->txn : e->txn, row->command);
}

/*
 * Not there just now: a pool that is not imported, an adapter that is away, a CPU that is offline.
 * It may come back with our value, so the change stays open, until the boot that ends its value or
 * whoever is sure gives it up.
 */
static void away(struct txn_run *r, struct entry *e, struct outcome_row *row, bool given_up,
		 const char *what)
{
	if (given_up) {
		noted(r, e, row, OUTCOME_GONE, "gone");
		row->sentence = arena_printf(r->a, "abandoned, missing: %s", what);
		return;
	}
	row->outcome = OUTCOME_STUCK;
	row->sentence = arena_printf(r->a,
				     "left unchanged: %s. Undo again when the device or file "
				     "exists, or use --force to abandon the change",
				     what);
	e->state = ENTRY_STUCK;
	e->note = NOTE_AWAY;
	write_stuck(&r->writer, e, r->now ? r->now->txn : e->txn, NULL);
}

/* Our value: what was read back; where a crash came before that, what was asked for or what a
 * machine makes of it. */
static bool is_ours(const struct entry *e, const char *now)
{
	if (e->read && knob_same(&e->knob, now, e->read))
		return true;
	if (knob_same(&e->knob, now, e->after))
		return true;
	return e->state == ENTRY_INTENDED && is_partial_write(e, now);
}

/*
 * What the sides hold that is not what the write has left there: somebody's later change, or our
 * own. Taking the write back would reset it. An array with NULL for the others, or NULL.
 */
static const char **later_side_effects(struct txn_run *r, const struct entry *e)
{
	const char **out = e->n_sides ? arena_array(r->a, e->n_sides, sizeof(*out)) : NULL;

	for (size_t i = 0; i < e->n_sides; i++) {
		const struct side_effect *s = &e->sides[i];
		struct err ignored = { 0 };
		const char *now;

		if (s->left && knob_get(r->h, r->a, &s->knob, &now, &ignored) == 0 &&
		    !knob_same(&s->knob, now, s->left))
			out[i] = now;
	}
	return out;
}

/* A later change of ours that saw what our write had left goes back to what was there before it. */
static const char *hand_down_side_effect(struct txn_run *r, const struct entry *e,
					 const struct side_effect *s)
{
	struct entry *above = layer_above_side_effect(&r->journal, &s->knob, e);

	if (!above)
		return s->before;
	if (!s->left || !above->before || knob_same(&s->knob, above->before, s->left)) {
		above->before = s->before;
		write_rebase(&r->writer, above);
	}
	return layer_top(&r->journal, &s->knob)->after;
}

/* What other knobs have to hold once this one is taken back: what they held just before (later, may
 * be NULL), our own later change, or what was there. NULL, or why one could not be restored. */
static const char *restore_side_effects(struct txn_run *r, const struct entry *e,
					const char **later)
{
	for (size_t i = 0; i < e->n_sides; i++) {
		const struct side_effect *s = &e->sides[i];
		const char *want = hand_down_side_effect(r, e, s), *now;
		struct err why = { 0 };
		int code = knob_get(r->h, r->a, &s->knob, &now, &why);

		if (later && later[i])
			want = later[i];

		if (code == -ENOENT || (code == 0 && knob_same(&s->knob, now, want)))
			continue;
		if (code == 0)
			code = knob_set(r->h, r->a, &s->knob, want, &why);
		if (code == 0)
			code = knob_get(r->h, r->a, &s->knob, &now, &why);
		if (code || !knob_same(&s->knob, now, want))
			return arena_printf(
				r->a,
				"the same write also reset %s, which could not be restored: %s",
				knob_text(r->a, &s->knob),
				code ? why.text : "the old value was not accepted");
	}
	return NULL;
}

/* Whether the write of above is still what counts, so that what it has reset is its doing. */
static bool is_in_force(struct txn_run *r, const struct entry *above)
{
	struct err ignored = { 0 };
	const char *now;

	return knob_get(r->h, r->a, &above->knob, &now, &ignored) == 0 && is_ours(above, now);
}

/* The knob holds its prior value; what writing it resets has to as well. */
static void is_back(struct txn_run *r, struct entry *e, struct outcome_row *row, enum outcome o,
		    const char *note, const char **later)
{
	const char *trouble = r->dry ? NULL : restore_side_effects(r, e, later);

	if (trouble)
		run_stuck(r, e, row, trouble);
	else
		noted(r, e, row, o, note);
}

/* Writes the prior value and looks whether it is there. */
static void restore(struct txn_run *r, struct entry *e, struct outcome_row *row, const char *to)
{
	struct err why = { 0 };
	const char *now = NULL, **later;
	int code, got;

	row->from = to;
	if (r->dry) {
		noted(r, e, row, e->before ? OUTCOME_RESTORED : OUTCOME_RESET, "restored");
		row->sentence = run_until_reboot(r, e);
		return;
	}
	later = later_side_effects(r, e);
	if (e->n_sides) {
		if (!e->restoring) {
			e->restoring = true;
			write_restoring(&r->writer, e);
			/* Where it cannot be written the end says so. */
			(void)write_flush(&r->writer);
		}
		if (row->found && knob_get(r->h, r->a, &e->knob, &now, &why) == 0 &&
		    !knob_same(&e->knob, now, row->found)) {
			row->found = now;
			noted(r, e, row, OUTCOME_FOREIGN, NOTE_LEFT);
			row->sentence = arena_printf(r->a, "another program set it to %s", now);
			return;
		}
	}
	code = knob_set(r->h, r->a, &e->knob, to, &why);
	got = knob_get(r->h, r->a, &e->knob, &now, &why);
	row->found = got ? NULL : now;
	if (got == -ENODATA && code == 0) {
		noted(r, e, row, e->before ? OUTCOME_RESTORED : OUTCOME_RESET,
		      e->before ? "restored" : "reset");
		row->sentence = e->before ? NULL : "the value before was unknown";
		return;
	}
	/* A write that failed but is in force is in force. An address may have cost others. */
	if (got == 0 && (code == 0 || e->knob.kind != KNOB_ADDRESS) &&
	    knob_holds(&e->knob, now, to)) {
		is_back(r, e, row, OUTCOME_RESTORED, "restored", later);
		if (row->outcome == OUTCOME_RESTORED)
			row->sentence = knob_remains(&e->knob, now, to);
		if (!row->sentence && row->outcome == OUTCOME_RESTORED)
			row->sentence = run_until_reboot(r, e);
		return;
	}
	run_stuck(r, e, row,
		  code || got ? arena_strdup(r->a, why.text)
			      : arena_printf(r->a, "wrote %s, but it is %s", to, now));
}

static void revert_unseen(struct txn_run *r, struct entry *e, struct outcome_row *row)
{
	const char *neutral = knob_neutral(&e->knob);

	if (e->before)
		restore(r, e, row, e->before);
	else if (neutral)
		restore(r, e, row, neutral);
	else
		run_stuck(r, e, row, "the old value was unknown, and the knob has no default");
}

/* The same name may be another device after a reboot. A place that cannot be read just now says
 * nothing about that: *unknown. */
static bool is_elsewhere(struct txn_run *r, const struct entry *e, bool *unknown)
{
	const char *place = *e->place ? knob_place(r->h, r->a, &e->knob) : "";

	*unknown = *e->place && !*place;
	return *place && strcmp(e->place, place) != 0;
}

static void covered(struct txn_run *r, struct entry *e, struct outcome_row *row,
		    const struct entry *above)
{
	noted(r, e, row, OUTCOME_COVERED, NOTE_COVERED);
	row->sentence = arena_printf(r->a, "transaction %lu also changed it", above->txn);
}

/*
 * The newest layer of the knob holds nothing any more when what was there before it is there again:
 * an undo of it was interrupted before it could say so, or somebody did it by hand.
 */
static struct entry *layer_in_force(struct txn_run *r, struct entry *e)
{
	for (;;) {
		struct entry *top = layer_top(&r->journal, &e->knob);
		struct outcome_row own = { .knob = e->knob };
		struct err ignored = { 0 };
		const char *now;

		if (top == e || !layer_above(&r->journal, e))
			return NULL;
		if (!top->before || knob_get(r->h, r->a, &e->knob, &now, &ignored) ||
		    is_ours(top, now) || !knob_same(&e->knob, now, top->before))
			return layer_above(&r->journal, e);
		run_revert(r, top, false, &own);
		if (own.outcome == OUTCOME_STUCK)
			return layer_above(&r->journal, e);
	}
}

/* What the write of e reset, the one above saw reset already: it goes back to what was there before
 * either. */
static void hand_down_side_effects(struct txn_run *r, const struct entry *e, struct entry *above)
{
	for (size_t i = 0; i < e->n_sides; i++)
		for (size_t k = 0; k < above->n_sides; k++) {
			const struct side_effect *s = &e->sides[i];
			struct side_effect *other = &above->sides[k];

			if (!knob_equal(&s->knob, &other->knob) ||
			    (s->left && !knob_same(&s->knob, other->before, s->left)))
				continue;
			other->before = s->before;
			write_rebase_side_effect(&r->writer, above, k);
		}
}

static bool is_covered(struct txn_run *r, struct entry *e, struct outcome_row *row)
{
	const char *to;
	struct entry *above = run_pair_above(r, e, &to);

	if (above) {
		above->before = to;
		write_rebase(&r->writer, above);
		covered(r, e, row, above);
		return true;
	}
	above = layer_in_force(r, e);
	if (!above)
		return false;
	if (layer_hands_down(e, above)) {
		above->before = e->before;
		write_rebase(&r->writer, above);
	}
	hand_down_side_effects(r, e, above);
	covered(r, e, row, above);
	return true;
}

/* Another knob that we wrote later has reset this one: taking that back will restore this. */
static bool is_reset(struct txn_run *r, struct entry *e, const char *now, struct outcome_row *row)
{
	size_t i;
	struct entry *above = layer_resets(&r->journal, e, &i);
	struct side_effect *s;

	if (!above || !e->before)
		return false;
	s = &above->sides[i];
	if (!s->left || !knob_same(&s->knob, now, s->left) || !is_ours(e, s->before) ||
	    !is_in_force(r, above))
		return false;
	s->before = e->before;
	write_rebase_side_effect(&r->writer, above, i);
	covered(r, e, row, above);
	return true;
}

/* It stays as it is in the journal: for the version that wrote it, or for a person. */
static void cannot_read(struct txn_run *r, const struct entry *e, struct outcome_row *row)
{
	const char *version = NULL;

	for (size_t i = 0; i < r->journal.n; i++)
		if (r->journal.items[i].txn == e->txn)
			version = r->journal.items[i].version;
	row->outcome = OUTCOME_STUCK;
	row->sentence = arena_printf(
		r->a, "this version cannot read the journal line (%s); version %s wrote it",
		r->who->version ? r->who->version : "unknown", version ? version : "unknown");
}

/* In a dry run: what taking back a later change would have left by now. */
static const char *value_by_now(const struct txn_run *r, const struct outcome_row *row,
				const char *now)
{
	for (size_t i = r->dry ? r->report->n : 0; i-- > 0;) {
		const struct outcome_row *o = &r->report->rows[i];

		if (o != row && o->outcome == OUTCOME_RESTORED && knob_equal(&o->knob, &row->knob))
			return o->from;
	}
	return now;
}

/* run_revert without what lies beside the files. */
static void run_revert_knob(struct txn_run *r, struct entry *e, bool forced,
			    struct outcome_row *row)
{
	struct err why = { 0 };
	const char *now = NULL, *needs;
	bool elsewhere, unknown;
	int code;

	if (e->unread) {
		cannot_read(r, e, row);
		return;
	}
	needs = run_needs_request(r, e);
	if (needs) {
		run_stuck(r, e, row,
			  arena_printf(r->a, "%s still exists and requires this file", needs));
		return;
	}
	if (is_covered(r, e, row))
		return;
	/* The value last: what is read after it gives another program time to set it. */
	elsewhere = is_elsewhere(r, e, &unknown);
	code = knob_get(r->h, r->a, &e->knob, &now, &why);
	row->found = now = code ? NULL : value_by_now(r, row, now);
	if (code == -ENODATA) {
		revert_unseen(r, e, row);
	} else if (code == -ENOENT || code == -ENODEV || code == -ENOTDIR) {
		away(r, e, row, forced, arena_strdup(r->a, why.text));
	} else if (code == 0 && elsewhere) {
		away(r, e, row, forced, "the name now belongs to another device");
	} else if (code) {
		run_stuck(r, e, row, arena_strdup(r->a, why.text));
	} else if (unknown && !forced) {
		run_stuck(r, e, row, "whether it is still the same device is unknown");
	} else if (e->before && knob_holds(&e->knob, now, e->before)) {
		/* Not by us: whoever put it back has reset the sides too, and they are theirs. */
		if (e->restoring)
			is_back(r, e, row, OUTCOME_ALREADY, "already", NULL);
		else
			noted(r, e, row, OUTCOME_ALREADY, "already");
		if (row->outcome == OUTCOME_ALREADY)
			row->sentence = run_until_reboot(r, e);
	} else if (run_went_further(r, e, now)) {
		noted(r, e, row, OUTCOME_ALREADY, "already");
	} else if (!r->dry && run_holds_file(r, e)) {
		run_stuck(r, e, row,
			  arena_printf(r->a, "the file still contains %s", run_holds_file(r, e)));
	} else if (!is_ours(e, now) && is_reset(r, e, now, row)) {
		return;
	} else if ((is_ours(e, now) || run_is_full_folder(r, e, now) ||
		    (forced && run_can_force(e, now))) &&
		   e->before) {
		restore(r, e, row, e->before);
	} else {
		noted(r, e, row, OUTCOME_FOREIGN, NOTE_LEFT);
		row->sentence = run_foreign(r, e, now);
	}
}

/* Temporary files of interrupted writes: undo removes them with the change, and the report names
 * them. */

static void open_row_note(struct txn_run *r, const char *sentence)
{
	struct txn_report *out = r->report;

	ARENA_ADD(r->a, out->leftovers, out->n_leftovers) = sentence;
}

/* NULL, or why it is still there. */
static const char *clear_one(struct txn_run *r, const struct knob_left *left)
{
	int code;

	if (!left->ours) {
		open_row_note(r,
			      arena_printf(r->a,
					   "%s is not a regular file owned by root: left unchanged",
					   left->path));
		return NULL;
	}
	if (!left->spare) {
		open_row_note(
			r, arena_printf(r->a,
					"%s contains the old contents of %s from before an "
					"interrupted write. It was left unchanged: compare the two",
					left->path, left->of));
		return NULL;
	}
	code = host_remove(r->h, left->path);
	if (code && code != -ENOENT)
		return arena_printf(r->a, "could not remove %s, left by an interrupted write: %s",
				    left->path, strerror(-code));
	open_row_note(r,
		      arena_printf(r->a, "removed %s, left by an interrupted write", left->path));
	return NULL;
}

/* Those that hold what was there before, or the others. The last trouble that there was; NULL. */
static const char *revert_clear(struct txn_run *r, const struct entry *e, bool saved)
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

void run_revert(struct txn_run *r, struct entry *e, bool forced, struct outcome_row *row)
{
	bool clears = !r->dry && !e->unread;
	/* What was saved is of use until the file holds it again. */
	const char *half = clears ? revert_clear(r, e, false) : NULL, *saved;

	run_revert_knob(r, e, forced, row);
	saved = clears ? revert_clear(r, e, true) : NULL;
	/* The change stays open, so that the next undo tries to remove the file again. */
	if ((half || saved) && row->outcome != OUTCOME_STUCK)
		run_stuck(r, e, row, half ? half : saved);
}

void run_add_leftovers(struct txn_run *r, const struct txn_report *from)
{
	for (size_t i = 0; r->report && i < from->n_leftovers; i++)
		open_row_note(r, from->leftovers[i]);
}

bool run_rollback(struct txn_run *r, struct transaction *t, bool report)
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
			run_revert(r, e, false, row);
			if (row->outcome == OUTCOME_RESTORED || row->outcome == OUTCOME_RESET)
				row->outcome = OUTCOME_ROLLED_BACK;
		} else {
			run_revert(r, e, false, row);
		}
		clean = clean && row->outcome != OUTCOME_STUCK;
	}
	return clean;
}
