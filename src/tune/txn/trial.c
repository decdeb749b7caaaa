/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are made and taken back again and again, and the note that says who does it. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "tune/txn/run.h"

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
		return err_set(e, -EBUSY, "changes of this trial are open already");
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
			return err_set(e, -ESTALE, "%s is %s now; %s was set",
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
		code = err_set(e, -EUCLEAN, "not everything could be taken back");
		err_hint(e, "gputune status names what is stuck, and the command for it");
	}
	return trial_finish(t, code, out, e);
}

int txn_trial_keep(struct txn_trial *t, struct err *e)
{
	struct txn_run *r = &t->run;
	int code;

	if (!t->open)
		return err_set(e, -ENOENT, "nothing of this trial is open");
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
	return code;
}
