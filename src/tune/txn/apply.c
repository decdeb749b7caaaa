/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the changes of a plan. For each: its intent on disk, one write, read back. The first one
 * that does not hold takes all of them back.
 */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "machine/write/write.h"
#include "tune/txn/run.h"

static int changed_since(struct txn_run *r, const struct knob *k, const char *now, const char *seen,
			 struct err *e)
{
	if (k->kind == KNOB_FILE)
		err_set(e, -ESTALE, "%s differs from the plan", k->name);
	else
		err_set(e, -ESTALE, "%s is now %s; in the plan it was %s", knob_text(r->a, k), now,
			seen ? seen : "no value");
	err_hint(e, "the value was changed since; make a new plan");
	return -ESTALE;
}

/* 0: every knob is what the plan saw. -ESTALE and *e: one is not. Writes nothing. */
static int run_check_fresh(struct txn_run *r, const struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->n_stays; i++) {
		const struct knob *k = &p->stays[i].knob;
		const char *now = NULL;
		int code = knob_get(r->h, r->a, k, &now, e);

		if (code)
			return code;
		if (!knob_same(k, now, p->stays[i].value))
			return changed_since(r, k, now, p->stays[i].value, e);
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const char *now = NULL, *why = "";
		int code;

		if (c->gate)
			continue;
		/* No reader of the journal would believe it. */
		if (!knob_allows(r->a, &c->knob, c->after, &why))
			return err_set(e, -EINVAL, "%s: %s", c->s->id, why);
		code = knob_get(r->h, r->a, &c->knob, &now, e);
		if (code == -ENODATA)
			continue;
		if (code)
			return code;
		if (!c->before || !knob_same(&c->knob, now, c->before))
			return changed_since(r, &c->knob, now, c->before, e);
	}
	return 0;
}

/* A value that its kind refuses could be neither kept in the journal nor put back. */
static int check_before(struct txn_run *r, const struct knob *k, const char *before,
			struct err *why)
{
	const char *sentence;

	if (knob_valid(k, before, &sentence))
		return 0;
	return err_set(why, -EINVAL, "%s could not be restored to its current value: %s",
		       knob_text(r->a, k), sentence);
}

static int set_just_now(struct txn_run *r, const struct knob *k, const char *now, struct err *why)
{
	err_set(why, -ESTALE, "another program set %s to %s while gputune ran", knob_text(r->a, k),
		now);
	err_hint(why, "make a new plan after that program has exited");
	return -ESTALE;
}

/* A side that is not there cannot be reset; one that cannot be read could not be put back. */
static int note_side_effects(struct txn_run *r, struct entry *e, struct err *why)
{
	size_t n = 0;
	struct knob *others = knob_disturbs(r->h, r->a, &e->knob, &n);

	for (size_t i = 0; i < n; i++) {
		struct side_effect s = { .knob = others[i] };
		int code = knob_get(r->h, r->a, &s.knob, &s.before, why);

		if (code == -EIO || code == -EACCES || code == -EPERM || code == -EBUSY)
			return code;
		if (code)
			continue;
		code = check_before(r, &s.knob, s.before, why);
		if (code)
			return code;
		ARENA_ADD(r->a, e->sides, e->n_sides) = s;
	}
	return 0;
}

/* What the write made of them. */
static void note_left(struct txn_run *r, struct entry *e)
{
	for (size_t i = 0; i < e->n_sides; i++) {
		struct err ignored = { 0 };

		knob_get(r->h, r->a, &e->sides[i].knob, &e->sides[i].left, &ignored);
	}
}

/* Whether an earlier change of this transaction set the knob, or reset it. */
static bool is_own_doing(const struct txn_run *r, const struct knob *k)
{
	for (size_t i = 0; i < r->now->n; i++) {
		const struct entry *e = &r->now->entries[i];

		if (knob_equal(&e->knob, k))
			return true;
		for (size_t s = 0; s < e->n_sides; s++)
			if (knob_equal(&e->sides[s].knob, k))
				return true;
	}
	return false;
}

/* What was there before: what the plan saw, as long as the changes before it took; of a knob
 * without a getter, what we set last in this boot. */
static int note_before(struct txn_run *r, struct entry *e, struct err *why)
{
	const char *seen = e->before;
	int code = knob_get(r->h, r->a, &e->knob, &e->before, why);
	const struct entry *below;

	if (code == 0 && seen && !knob_same(&e->knob, e->before, seen) &&
	    !is_own_doing(r, &e->knob))
		return set_just_now(r, &e->knob, e->before, why);
	if (code != -ENODATA)
		return code ? code : check_before(r, &e->knob, e->before, why);
	below = layer_top(&r->journal, &e->knob);
	e->before = below ? below->after : NULL;
	return 0;
}

static struct entry *new_entry(struct txn_run *r, const struct change *c)
{
	struct transaction *t = r->now;
	struct entry *e;

	e = &ARENA_ADD(r->a, t->entries, t->n);
	*e = (struct entry){ .txn = t->txn,
			     .seq = (unsigned)t->n,
			     .id = c->s->id,
			     .target = c->target,
			     .knob = c->knob,
			     .after = c->after };
	return e;
}

static int failed(struct outcome_row *row, enum outcome o, struct txn_run *r, const struct err *why)
{
	row->outcome = o;
	row->sentence = arena_strdup(r->a, why->text);
	return -ECANCELED;
}

/*
 * Whether another program wrote between our write and the reading, so that the machine did not
 * clamp: it takes the same write whole now. What the other one set is put there again. A machine
 * that still has the old value is only slow.
 */
static bool took_a_rivals(struct txn_run *r, const struct entry *e)
{
	struct err ignored = { 0 };
	const char *now = NULL;

	if (knob_grants_part(&e->knob) || !e->before || knob_same(&e->knob, e->read, e->before) ||
	    knob_set(r->h, r->a, &e->knob, e->after, &ignored) ||
	    knob_get(r->h, r->a, &e->knob, &now, &ignored) || !knob_same(&e->knob, now, e->after))
		return false;
	return knob_set(r->h, r->a, &e->knob, e->read, &ignored) == 0;
}

/* Reads back what was written. Without a getter the write's own word is all there is. */
static int read_back(struct txn_run *r, struct entry *e, struct outcome_row *row, struct err *why)
{
	int code = knob_get(r->h, r->a, &e->knob, &e->read, why);

	row->found = code ? NULL : e->read;
	if (code == -ENODATA) {
		e->read = NULL;
		return 0;
	}
	if (code)
		return failed(row, OUTCOME_FAILED, r, why);
	if (knob_same(&e->knob, e->read, e->after))
		return 0;
	if (took_a_rivals(r, e)) {
		e->written = false;
		set_just_now(r, &e->knob, e->read, why);
		return failed(row, OUTCOME_FAILED, r, why);
	}
	err_set(why, -ECANCELED, "%s: %s was requested, but the machine set %s",
		knob_text(r->a, &e->knob), e->after, e->read);
	return failed(row, OUTCOME_CLAMPED, r, why);
}

/* What was there, and the line that says so; the line waits. */
static int txn_apply_prepare(struct txn_run *r, const struct change *c, struct err *why)
{
	/* Before it is in the journal it is no entry: a failed reading leaves nothing behind. */
	struct entry fresh = { .id = c->s->id,
			       .target = c->target,
			       .knob = c->knob,
			       .before = c->before,
			       .after = c->after },
		     *e;
	int code = note_before(r, &fresh, why);

	if (code == 0)
		code = note_side_effects(r, &fresh, why);
	if (code)
		return failed(run_row(r, &fresh), OUTCOME_FAILED, r, why);
	e = new_entry(r, c);
	e->before = fresh.before;
	e->sides = fresh.sides;
	e->n_sides = fresh.n_sides;
	e->place = knob_place(r->h, r->a, &e->knob);
	run_row(r, e)->outcome = OUTCOME_NOT_TRIED;
	write_intend(&r->writer, r->now, e);
	return 0;
}

/* The intent took time to reach the disk: a value that another writer set meanwhile is theirs. */
static int check_still(struct txn_run *r, struct entry *e, struct outcome_row *row, struct err *why)
{
	const char *now = NULL;
	int code = knob_get(r->h, r->a, &e->knob, &now, why);

	if (code == -ENODATA || (code == 0 && e->before && knob_same(&e->knob, now, e->before)))
		return 0;
	row->found = code ? NULL : now;
	if (code == 0)
		set_just_now(r, &e->knob, now, why);
	return failed(row, OUTCOME_FAILED, r, why);
}

/* One write, read back. i counts the transaction's entries. */
static int carry_out(struct txn_run *r, size_t i, struct err *why)
{
	struct entry *e = &r->now->entries[i];
	struct outcome_row *row = &r->report->rows[i];
	int code;

	code = check_still(r, e, row, why);
	if (code)
		return code;
	e->written = true;
	if (knob_set(r->h, r->a, &e->knob, e->after, why))
		return failed(row, OUTCOME_FAILED, r, why);
	code = read_back(r, e, row, why);
	if (code)
		return code;
	note_left(r, e);
	e->state = ENTRY_DONE;
	row->outcome = OUTCOME_DONE;
	write_done(&r->writer, e);
	return 0;
}

/*
 * The changes from i on that go together: one setting on several targets, which do not touch each
 * other, so that 256 CPUs wait for the disk once. An intent that no write followed is harmless: its
 * knob still holds what was there.
 */
static size_t batch_end(struct txn_run *r, const struct plan *p, size_t i)
{
	size_t disturbed = 0, end = i + 1;

	knob_disturbs(r->h, r->a, &p->changes[i].knob, &disturbed);
	/* Of a knob that cannot be read nobody could tell that it was not written. */
	if (knob_neutral(&p->changes[i].knob))
		return end;
	while (!disturbed && end < p->n && p->changes[end].s == p->changes[i].s)
		end++;
	return end;
}

static int make_batch(struct txn_run *r, const struct plan *p, size_t from, size_t end,
		      struct err *why)
{
	size_t first = r->now->n;
	int code = 0;

	for (size_t i = from; code == 0 && i < end; i++)
		if (!p->changes[i].gate)
			code = txn_apply_prepare(r, &p->changes[i], why);
	if (code)
		return code;
	code = write_flush(&r->writer);
	if (code)
		return err_set(why, code,
			       "%s: %s; gputune must record a change there before making it",
			       TXN_JOURNAL, strerror(-code));
	for (size_t i = first; code == 0 && i < r->now->n; i++)
		code = carry_out(r, i, why);
	return code;
}

/* Rows for the changes that have none yet. */
static void not_tried(struct txn_run *r, const struct plan *p)
{
	size_t rows = 0, told = r->report->n;

	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		struct entry e = { .id = c->s->id,
				   .target = c->target,
				   .knob = c->knob,
				   .before = c->before,
				   .after = c->after };

		if (!c->gate && rows++ >= told)
			run_row(r, &e)->outcome = OUTCOME_NOT_TRIED;
	}
}

/* The rows of what was done turn into what became of them. */
static bool revert_all(struct txn_run *r)
{
	struct transaction *t = r->now;
	bool clean = true;

	for (size_t i = t->n; i-- > 0;) {
		struct entry *e = &t->entries[i];
		struct outcome_row *row = &r->report->rows[i], own = *row;

		if (!e->written) {
			e->state = ENTRY_UNDONE;
			e->note = "not written";
			write_undone(&r->writer, e, e->txn);
			continue;
		}
		run_revert(r, e, false, &own);
		if (own.outcome == OUTCOME_STUCK) {
			clean = false;
			*row = own;
		} else if (row->outcome == OUTCOME_DONE) {
			row->outcome = own.outcome == OUTCOME_FOREIGN ? OUTCOME_FOREIGN
								      : OUTCOME_ROLLED_BACK;
			row->found = own.found;
			row->sentence = own.sentence;
		}
	}
	return clean;
}

static int roll_back(struct txn_run *r, struct err *e)
{
	bool clean = revert_all(r);

	r->now->state = clean ? TRANSACTION_ROLLED_BACK : TRANSACTION_INCOMPLETE;
	write_end(&r->writer, r->now->txn, r->now->state);
	if (clean)
		err_hint(e, "all changes were undone");
	else
		err_hint(e, "some changes could not be undone: see gputune status");
	return clean ? -ECANCELED : -EUCLEAN;
}

/* Makes the plan's open changes in a transaction of its own that is still open afterwards, with
 * rows in the report, which has to be empty. Errors as txn_apply: then all was taken back. */
static int run_apply(struct txn_run *r, const struct plan *p, const char *op, struct err *e)
{
	int code = run_check_fresh(r, p, e);

	if (code)
		return code;
	run_begin(r, op, p->profile, plan_open_changes(p));
	for (size_t i = 0, end; i < p->n; i = end) {
		end = batch_end(r, p, i);
		if (make_batch(r, p, i, end, e) == 0)
			continue;
		code = roll_back(r, e);
		not_tried(r, p);
		/* Should the journal fail too, an open transaction is what the next run finds. */
		(void)write_flush(&r->writer);
		return code;
	}
	return 0;
}

static int txn_apply_apply(struct txn_run *r, const struct plan *p, struct err *e)
{
	int code = run_apply(r, p, r->who->op ? r->who->op : "apply", e);

	if (code)
		return code;
	r->now->state = TRANSACTION_APPLIED;
	write_end(&r->writer, r->now->txn, r->now->state);
	return 0;
}

int txn_apply(struct host *h, struct arena *a, const struct plan *p, const struct txn_who *who,
	      struct txn_report *out, struct err *e)
{
	struct txn_run r;
	int code;

	*out = (struct txn_report){ 0 };
	code = run_open(&r, h, a, who, out, (struct txn_how){ 0 }, e);
	if (code == 0)
		code = txn_apply_apply(&r, p, e);
	if (code == 0) {
		code = run_close(&r, e);
		/* All is in force, but the journal does not say so: the next run would roll it
		 * back. */
		if (code)
			code = -EUCLEAN;
	} else {
		text_free(&r.writer.waiting);
		/* What was rolled back is in the journal; where there was no lock nothing is. */
		if (r.journal.next)
			public_write(h);
	}
	return code;
}

/* Changes that are made and taken back again and again, and the note that says who does it. */

struct txn_trial {
	struct txn_run run;
	struct txn_report report; /* of the last step */
	bool open;
};

/* --- who holds the lock ----------------------------------------------------------------------- */

static void note_holder(struct txn_run *r, const char *what)
{
	long long pid = getpid();
	const char *line =
		arena_printf(r->a, "%lld %s %s\n", pid, txn_process_began(r->h, r->a, pid), what);

	/* Others would know less; that is no reason not to begin. */
	(void)host_put(r->h, TXN_HOLDER, line, strlen(line), 0600);
}

/* --- steps ------------------------------------------------------------------------------------ */

int txn_trial_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		    struct txn_report *out, struct txn_trial **trial, struct err *e)
{
	struct txn_trial *t = ARENA_NEW(a, struct txn_trial);
	int code;

	*out = (struct txn_report){ 0 };
	code = run_open(&t->run, h, a, who, out, (struct txn_how){ 0 }, e);
	if (code)
		return code;
	t->run.report = &t->report;
	code = write_flush(&t->run.writer);
	if (code) {
		text_free(&t->run.writer.waiting);
		return err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code));
	}
	note_holder(&t->run, what);
	*trial = t;
	return 0;
}

static int trial_finish(struct txn_trial *t, int code, struct txn_report *out, struct err *e)
{
	int flushed = write_flush(&t->run.writer);

	if (out)
		*out = t->report;
	if (code == 0 && flushed)
		code = err_set(e, flushed, "%s: %s", TXN_JOURNAL, strerror(-flushed));
	return code;
}

int txn_trial_set(struct txn_trial *t, const struct plan *p, const char *op, struct txn_report *out,
		  struct err *e)
{
	int code;

	if (t->open)
		return err_set(e, -EBUSY, "this trial already has changes in effect");
	t->report = (struct txn_report){ 0 };
	code = run_apply(&t->run, p, op ? op : TXN_PROVE, e);
	t->open = code == 0;
	return trial_finish(t, code, out, e);
}

/* A later write of the same transaction to the knob, or one that resets it, is what counts. */
static bool is_superseded(const struct transaction *t, size_t i)
{
	for (size_t k = i + 1; k < t->n; k++) {
		const struct entry *later = &t->entries[k];

		if (knob_equal(&later->knob, &t->entries[i].knob))
			return true;
		for (size_t s = 0; s < later->n_sides; s++)
			if (knob_equal(&later->sides[s].knob, &t->entries[i].knob))
				return true;
	}
	return false;
}

int txn_trial_look(struct txn_trial *t, const struct plan *p, struct err *e)
{
	struct txn_run *r = &t->run;

	if (!t->open)
		return run_check_fresh(r, p, e);
	for (size_t i = 0; i < r->now->n; i++) {
		const struct entry *x = &r->now->entries[i];
		const char *now;
		int code;

		/* Without a getter there is nothing to look at. */
		if (!x->read || is_superseded(r->now, i))
			continue;
		code = knob_get(r->h, r->a, &x->knob, &now, e);
		if (code)
			return code;
		if (!knob_same(&x->knob, now, x->read))
			return err_set(e, -ESTALE, "%s is now %s; gputune had set %s",
				       knob_text(r->a, &x->knob), now, x->read);
	}
	return 0;
}

int txn_trial_revert(struct txn_trial *t, struct txn_report *out, struct err *e)
{
	struct txn_run *r = &t->run;
	bool clean;
	int code = 0;

	t->report = (struct txn_report){ 0 };
	if (!t->open)
		return trial_finish(t, 0, out, e);
	t->open = false;
	clean = run_rollback(r, r->now, true);
	r->now->state = clean ? TRANSACTION_ROLLED_BACK : TRANSACTION_INCOMPLETE;
	write_end(&r->writer, r->now->txn, r->now->state);
	for (size_t i = 0; i < t->report.n && code == 0; i++)
		if (t->report.rows[i].outcome == OUTCOME_FOREIGN)
			code = err_set(e, -ESTALE, "%s: %s",
				       knob_text(r->a, &t->report.rows[i].knob),
				       t->report.rows[i].sentence);
	/* Nothing can lie on it any more; thousands of them would be looked through each time. */
	if (clean && r->now == &r->journal.items[r->journal.n - 1]) {
		r->journal.n--;
		r->now = NULL;
	}
	if (!clean) {
		code = err_set(e, -EUCLEAN, "some changes could not be undone");
		err_hint(e, "gputune status lists what is stuck, with the command to fix it");
	}
	return trial_finish(t, code, out, e);
}

int txn_trial_keep(struct txn_trial *t, struct err *e)
{
	struct txn_run *r = &t->run;
	int code;

	if (!t->open)
		return err_set(e, -ENOENT, "this trial has no change in effect");
	r->now->state = TRANSACTION_APPLIED;
	write_end(&r->writer, r->now->txn, r->now->state);
	code = trial_finish(t, 0, NULL, e);
	/* The journal does not say so: the next command takes it back. */
	if (code)
		return -EUCLEAN;
	t->open = false;
	return 0;
}

int txn_trial_end(struct txn_trial *t, struct err *e)
{
	int code = txn_trial_revert(t, NULL, e);

	(void)host_remove(t->run.h, TXN_HOLDER);
	text_free(&t->run.writer.waiting);
	public_write(t->run.h);
	return code;
}
