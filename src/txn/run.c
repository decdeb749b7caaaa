/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning and ending a run that changes the machine; what a crash left is rolled back first. */
#include "txn/boot.h"
#include "txn/run.h"

#include <string.h>

#include "host/write.h"
#include "knob/io.h"
#include "txn/line.h"

static int lock(struct host *h, struct arena *a, struct err *e)
{
	int r = host_own_dir(h, TXN_DIR);
	const char *holder;

	if (r == 0)
		r = host_lock(h, TXN_LOCK);
	if (r == -EWOULDBLOCK) {
		holder = txn_holder(h, a);
		err_set(e, r, "another gputune is changing this machine%s%s", holder ? ": " : "",
			holder ? holder : "");
		err_hint(e, "wait for it to end; it holds %s", TXN_LOCK);
		return r;
	}
	if (r == HOST_NOT_OURS) {
		err_set(e, r,
			"%s is a link, belongs to somebody else, or others may write to it: what "
			"lies "
			"there is not believed",
			TXN_DIR);
		err_hint(e,
			 "look at it with ls -ld; \"chown root: %s; chmod 700 %s\" where it is to "
			 "be trusted",
			 TXN_DIR, TXN_DIR);
		return r;
	}
	if (r == -EROFS)
		return err_set(e, r,
			       "nothing can be changed here: it is read-only, or only looking was "
			       "asked for");
	if (r == -EACCES || r == -EPERM) {
		err_set(e, r, "%s: %s: only root can change the machine", TXN_DIR, strerror(-r));
		err_hint(e, "run it again with sudo; \"plan --format shell\" prints what it would "
			    "do");
		return r;
	}
	return r ? err_set(e, r, "%s: %s", TXN_DIR, strerror(-r)) : 0;
}

/*
 * Values of an earlier boot went with it, unless our own files set them again: those are kept to be
 * undone, the others are done with. That the boot's own value equals ours does not make it ours:
 * what was there before is of a boot that is gone.
 */
static void forget_lost(struct txn_run *r, struct boot_kept *kept, struct transaction *t)
{
	if (!boot_differs(t, r->boot_id))
		return;
	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i];
		const char *now;
		struct err ignored = { 0 };

		/* What somebody had set by then went too: nothing to force any more. */
		if (!entry_is_active(e) && knob_is_runtime(e->knob.kind))
			e->note = "lost at reboot";
		if (!entry_is_active(e) || !knob_is_runtime(e->knob.kind))
			continue;
		if (t->state != TRANSACTION_OPEN && boot_is_kept(kept, e) &&
		    knob_get(r->h, r->a, &e->knob, &now, &ignored) == 0 &&
		    knob_same(&e->knob, now, e->after))
			continue;
		e->state = ENTRY_UNDONE;
		e->note = "lost at reboot";
		write_undone(&r->writer, e, 0);
	}
	run_settle(r, t);
}

static int recover(struct txn_run *r, struct err *e)
{
	struct boot_kept kept = { .a = r->a, .j = &r->journal };
	bool clean = true;

	for (size_t i = r->journal.n; i-- > 0;) {
		struct transaction *t = &r->journal.items[i];

		forget_lost(r, &kept, t);
		if (t->state != TRANSACTION_OPEN || !transaction_holds(t))
			continue;
		clean = run_roll_back(r, t, false) && clean;
		t->state = clean ? TRANSACTION_ROLLED_BACK : TRANSACTION_INCOMPLETE;
		write_end(&r->writer, t->txn, t->state);
		if (r->report)
			r->report->recovered++;
	}
	return clean ? write_flush(&r->writer)
		     : err_set(e, -EUCLEAN,
			       "an interrupted transaction could not be rolled back "
			       "completely: see gputune status");
}

int run_open(struct txn_run *r, struct host *h, struct arena *a, const struct txn_who *who,
	     struct txn_report *report, struct txn_how how, struct err *e)
{
	int code = how.dry ? 0 : lock(h, a, e);

	*r = (struct txn_run){ .h = h,
			       .a = a,
			       .who = who,
			       .report = report,
			       .dry = how.dry,
			       .writer = { .h = h, .dry = how.dry } };
	if (code)
		return code;
	code = journal_load(h, a, how.all, &r->journal, e);
	if (code)
		return code;
	/* A number that no reader takes would be a change that nobody can undo. */
	if (r->journal.next > TXN_MAX)
		return err_set(e, -EOVERFLOW,
			       "%s: holds a transaction with the last number there is",
			       TXN_JOURNAL);
	r->writer.torn = r->journal.torn;
	r->boot_id = boot_id_of(h, a);
	code = recover(r, e);
	/* What is stuck is stuck: that must not keep anybody from undoing the rest. */
	if (code == 0 || code == -EUCLEAN)
		return 0;
	text_free(&r->writer.waiting);
	return err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code));
}

int run_close(struct txn_run *r, struct err *e)
{
	int code = write_flush(&r->writer);

	text_free(&r->writer.waiting);
	return code ? err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code)) : 0;
}

int txn_recover(struct host *h, struct arena *a, const struct txn_who *who, struct txn_report *out,
		struct err *e)
{
	struct txn_run r;
	int code;

	*out = (struct txn_report){ 0 };
	code = run_open(&r, h, a, who, out, (struct txn_how){ 0 }, e);
	return code ? code : run_close(&r, e);
}

void run_begin(struct txn_run *r, const char *op, const char *profile, size_t changes)
{
	struct journal *j = &r->journal;

	j->items = arena_grow(r->a, j->items, j->n, sizeof(*j->items));
	r->now = &j->items[j->n++];
	*r->now = (struct transaction){ .txn = j->next++,
					.op = op,
					.boot_id = r->boot_id,
					.time_s = r->h->id.time_s,
					.user = r->who->user,
					.reason = r->who->reason,
					.profile = profile,
					.version = r->who->version };
	if (r->report)
		r->report->txn = r->now->txn;
	write_begin(&r->writer, r->now, changes);
}

void run_settle(struct txn_run *r, struct transaction *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (entry_is_active(&t->entries[i]))
			return;
	if (t->state == TRANSACTION_UNDONE || t->state == TRANSACTION_ROLLED_BACK)
		return;
	t->state = TRANSACTION_UNDONE;
	write_closed(&r->writer, t->txn);
}

struct outcome_row *run_row(struct txn_run *r, const struct entry *e)
{
	struct txn_report *out = r->report;
	struct outcome_row *row;

	out->rows = arena_grow(r->a, out->rows, out->n, sizeof(*out->rows));
	row = &out->rows[out->n++];
	*row = (struct outcome_row){
		.id = e->id, .target = e->target, .knob = e->knob, .from = e->before, .to = e->after
	};
	return row;
}
