/* SPDX-License-Identifier: Apache-2.0 */
/* Undoing: the selected entries, newest first. */
#include <string.h>

#include "tune/persist/persist.h"
#include "tune/txn/boot.h"
#include "tune/txn/run.h"
#include "tune/txn/store.h"

static bool undo_selects(const struct txn_select *s, const struct entry *e)
{
	bool is_meant = !s->n_knobs;

	for (size_t i = 0; i < s->n_knobs && !is_meant; i++)
		is_meant = knob_equal(&e->knob, &s->knobs[i]);
	if (!s->n_only || !is_meant)
		return is_meant;
	for (size_t i = 0; i < s->n_only; i++)
		if (id_matches(e->id, s->only[i]))
			return true;
	return false;
}

/* What was left to somebody can be asked for again, by force. */
static bool is_open(const struct txn_select *s, const struct entry *e)
{
	return entry_is_active(e) || (s->force && e->note && strcmp(e->note, NOTE_LEFT) == 0);
}

/* Of a transaction that is called by its number also what was carried over to a later boot. */
static bool is_numbered(const struct txn_select *s, const struct entry *e)
{
	return !s->txn || e->txn == s->txn || e->of == s->txn;
}

static bool takes(const struct txn_select *s, const struct entry *e)
{
	return is_open(s, e) && undo_selects(s, e) && is_numbered(s, e);
}

static size_t count_open(const struct txn_select *s, const struct transaction *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += takes(s, &t->entries[i]);
	return n;
}

/* Files for the next boot are taken back by who asks for them, or by their number. */
static bool is_called(const struct txn_select *s, const struct transaction *t)
{
	if (s->txn && !s->op)
		return transaction_holds(t);
	/* What a trial could not take back, and what our boot files set, is asked for as what was
	 * applied is. */
	return strcmp(t->op, s->op ? s->op : "apply") == 0 ||
	       (s->files && strcmp(t->op, "persist") == 0) ||
	       (!s->op && (strcmp(t->op, TXN_PROVE) == 0 || strcmp(t->op, TXN_BOOT) == 0));
}

/* The transactions meant: with ids and without a number, all that hold one of them. */
static bool is_meant(const struct txn_select *s, const struct transaction *t, unsigned long newest)
{
	if (!is_called(s, t) || !count_open(s, t))
		return false;
	return s->txn || s->all || s->n_only || t->txn == newest;
}

/* Of two that are open one of which cannot be read it is the other, however old. */
static unsigned long newest_open(const struct txn_select *s, const struct journal *j)
{
	unsigned long unread = 0;

	for (size_t i = j->n; i-- > 0;) {
		const struct transaction *t = &j->items[i];
		size_t open = is_called(s, t) ? count_open(s, t) : 0;

		for (size_t k = 0; open && k < t->n; k++)
			if (!t->entries[k].unread && takes(s, &t->entries[k]))
				return t->txn;
		unread = open && !unread ? t->txn : unread;
	}
	return unread;
}

static bool undo_one(struct txn_run *r, const struct txn_select *s, size_t which)
{
	bool clean = true;

	for (size_t i = r->journal.items[which].n; i-- > 0;) {
		struct entry *e = &r->journal.items[which].entries[i];
		struct outcome_row *row;

		if (!takes(s, e))
			continue;
		row = run_row(r, e);
		run_revert(r, e, s->force, row);
		clean = clean && row->outcome != OUTCOME_STUCK;
	}
	run_settle(r, &r->journal.items[which]);
	return clean;
}

/* What is to be taken back, before any of it is: where that cannot be said nothing is. What was
 * left to somebody, in a transaction that is over, is open again from here on. */
static void undo_announce(struct txn_run *r, const struct txn_select *s, struct transaction *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i];

		if (!takes(s, e) || e->unread)
			continue;
		if (!entry_is_active(e)) {
			e->state = ENTRY_DONE;
			t->state = TRANSACTION_APPLIED;
		}
		write_undoing(&r->writer, e);
	}
}

static int undo_nothing(struct txn_run *r, const struct txn_select *s, struct err *e)
{
	struct journal all;

	if (r->journal.bad_lines) {
		err_set(e, -ENOENT, "no readable change to undo");
		err_hint(e, "\"gputune journal check\" shows what is unreadable");
		return -ENOENT;
	}
	if (!s->txn || journal_load(r->h, r->a, true, &all, e))
		return err_set(e, -ENOENT, "nothing to undo");
	for (size_t i = 0; i < all.n; i++)
		if (all.items[i].txn == s->txn)
			return err_set(e, -ENOENT,
				       "transaction %lu has nothing to undo: see \"gputune "
				       "history\"",
				       s->txn);
	err_set(e, -ESRCH, "no transaction %lu", s->txn);
	err_hint(e, "\"gputune history\" lists all transactions");
	return -ESRCH;
}

/*
 * Files for the next boot belong together: the request says what the others set. Where a later
 * transaction has written the request anew, the others alone cannot go back.
 */
static int check_order(struct txn_run *r, const struct txn_select *s, struct err *e)
{
	const struct knob request = { KNOB_FILE, PERSIST_REQUEST, "" };
	const struct entry *top = layer_top(&r->journal, &request);

	for (size_t i = 0; s->txn && top && i < r->journal.n; i++) {
		const struct transaction *t = &r->journal.items[i];

		if (t->txn != s->txn || t->txn >= top->txn || strcmp(t->op, "persist") != 0)
			continue;
		err_set(e, -EBUSY, "transaction %lu rewrote the files for the next boot", top->txn);
		err_hint(e, "undo it first, or undo all: \"gputune persist remove\"");
		return -EBUSY;
	}
	return 0;
}

static int undo_undo(struct txn_run *r, const struct txn_select *s, struct err *e)
{
	unsigned long newest = newest_open(s, &r->journal);
	size_t n = r->journal.n, changes = 0;
	bool clean = true;
	int code;

	for (size_t i = 0; i < n; i++) {
		const struct transaction *t = &r->journal.items[i];

		if (!is_meant(s, t, newest))
			continue;
		r->report->undoes = changes ? 0 : t->txn;
		r->report->op = t->op;
		changes += count_open(s, t);
	}
	if (!changes)
		return r->report->recovered ? 0 : undo_nothing(r, s, e);
	code = check_order(r, s, e);
	if (code)
		return code;
	run_begin(r, "undo", NULL, changes);
	for (size_t i = n; i-- > 0;)
		if (is_meant(s, &r->journal.items[i], newest))
			undo_announce(r, s, &r->journal.items[i]);
	code = write_flush(&r->writer);
	if (code) {
		text_clear(&r->writer.waiting);
		err_set(e, code, "%s: %s: nothing was undone", TXN_JOURNAL, strerror(-code));
		err_hint(e, "gputune must record a change there before making it: free some "
			    "space");
		return code;
	}
	for (size_t i = n; i-- > 0;)
		if (is_meant(s, &r->journal.items[i], newest))
			clean = undo_one(r, s, i) && clean;
	r->now->state = clean ? TRANSACTION_UNDONE : TRANSACTION_INCOMPLETE;
	write_end(&r->writer, r->now->txn, r->now->state);
	if (clean)
		return 0;
	err_set(e, -EUCLEAN, "some changes could not be undone");
	err_hint(e, "gputune status lists what is stuck, with the command to fix it");
	return -EUCLEAN;
}

int txn_undo(struct host *h, struct arena *a, const struct txn_select *s, const struct txn_who *who,
	     struct txn_report *out, struct err *e)
{
	struct err ignored = { 0 };
	struct txn_run r;
	/* What was left to somebody stands in transactions that are finished. */
	struct txn_how how = { .dry = s->dry, .all = s->force };
	int code, closed;

	*out = (struct txn_report){ .dry = s->dry };
	code = run_open(&r, h, a, who, out, how, e);
	if (code)
		return code;
	code = undo_undo(&r, s, e);
	closed = run_close(&r, &ignored);
	if (!closed || (code && code != -EUCLEAN))
		return code;
	err_set(e, -EUCLEAN, "%s: %s: the undo is not recorded", TXN_JOURNAL, strerror(-closed));
	err_hint(e, "free some space and undo again: restored values are not written again");
	return -EUCLEAN;
}

/* Changes of which too little can be read to take them back. */
static void tend_give_up(struct txn_run *r)
{
	for (size_t i = 0; i < r->journal.n; i++) {
		struct transaction *t = &r->journal.items[i];

		for (size_t k = 0; k < t->n; k++) {
			struct entry *x = &t->entries[k];

			if (!x->unread || !entry_is_active(x))
				continue;
			x->state = ENTRY_UNDONE;
			x->note = "abandoned: unreadable";
			write_undone(&r->writer, x, x->txn);
		}
		run_settle(r, t);
	}
}

int txn_tend(struct host *h, struct arena *a, enum txn_tend how, const struct txn_who *who,
	     struct txn_report *out, struct err *e)
{
	static const enum store_how hows[] = { STORE_MEND, STORE_GIVE_UP, STORE_COMPACT };
	struct store_end end;
	struct txn_run r;
	int code;

	*out = (struct txn_report){ 0 };
	code = run_open(&r, h, a, who, out, (struct txn_how){ .all = how == TXN_GIVE_UP }, e);
	if (code)
		return code;
	if (how == TXN_GIVE_UP)
		tend_give_up(&r);
	code = run_close(&r, e);
	if (code)
		return code;
	code = store_ready(h, hows[how], &end);
	public_write(h);
	return code ? err_set(e, code, "%s: %s", TXN_JOURNAL, strerror(-code)) : 0;
}

int txn_export(struct host *h, struct arena *a, const char **text, size_t *len, struct err *e)
{
	struct seal_read past;
	struct journal_store now;
	char *all;
	int code = store_load(h, a, &now, e);

	if (code == 0)
		code = store_history(h, a, &now.files, &past, e);
	if (code)
		return code;
	*len = past.len + now.read.len;
	all = arena_alloc(a, *len + 1);
	memcpy(all, past.text, past.len);
	memcpy(all + past.len, now.read.text, now.read.len);
	all[*len] = '\0';
	*text = all;
	return 0;
}
