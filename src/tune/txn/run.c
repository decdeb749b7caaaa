/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning and ending a run that changes the machine; what a crash left is rolled back first. */
#include "tune/txn/boot.h"
#include "tune/txn/run.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look/settings/site.h"
#include "machine/write/write.h"
#include "tune/txn/journal.h"
#include "tune/txn/txn.h"

static int txn_run_lock(struct host *h, struct arena *a, struct err *e)
{
	int r = host_open_dir(h, TXN_DIR);
	const char *holder;

	if (r == 0)
		r = host_lock(h, TXN_LOCK);
	if (r == -EWOULDBLOCK) {
		holder = txn_holder(h, a);
		err_set(e, r, "another gputune is changing this machine%s%s", holder ? ": " : "",
			holder ? holder : "");
		err_hint(e, "wait until the other gputune ends; it has locked %s", TXN_LOCK);
		return r;
	}
	if (r == HOST_NOT_OURS)
		return state_folder_refused(e);
	if (r == -EROFS && !h->ops->writes)
		return err_set(e, r,
			       "changes are not possible here: the machine was opened read-only");
	if (r == -EROFS) {
		err_set(e, r,
			"%s is on a read-only file system: gputune must record a change there "
			"before making it",
			TXN_DIR);
		err_hint(e,
			 "\"findmnt -T %s\" shows the file system; mount -o remount,rw makes it "
			 "writable",
			 TXN_DIR);
		return r;
	}
	if ((r == -EACCES || r == -EPERM) && h->id.euid != 0) {
		err_set(e, r, "%s: %s: only root can change the machine", TXN_DIR, strerror(-r));
		err_hint(e, "run it with sudo; \"plan --format shell\" prints the changes");
		return r;
	}
	if (r)
		err_set(e, r, "%s: %s: nothing was changed", TXN_DIR, strerror(-r));
	if (r == -ENOSPC || r == -EDQUOT)
		err_hint(e, "gputune must record a change there before making it: free some space");
	return r;
}

/* Rolled back like an undo, row by row: who runs the next command is shown what became of it. */
static bool roll_back_open(struct txn_run *r, struct transaction *t)
{
	struct txn_report rows = { 0 }, *own = r->report;
	bool clean;

	r->report = &rows;
	clean = run_rollback(r, t, true);
	r->report = own;
	run_add_leftovers(r, &rows);
	for (size_t i = 0; own && i < rows.n; i++) {
		ARENA_ADD(r->a, own->recovery, own->n_recovery) = rows.rows[i];
	}
	t->state = clean ? TRANSACTION_ROLLED_BACK : TRANSACTION_INCOMPLETE;
	write_end(&r->writer, t->txn, t->state);
	if (own)
		own->recovered++;
	return clean;
}

/* First what a reboot means, on disk before anything else is done: files that go now are what says
 * whose the values are. */
static int txn_run_recover(struct txn_run *r, struct err *e)
{
	bool clean = true;
	int code;

	boot_carry_over(r->h, r->a, &r->journal, r->boot_id, &r->writer);
	for (size_t i = 0; i < r->journal.n; i++)
		if (boot_differs(&r->journal.items[i], r->boot_id))
			run_settle(r, &r->journal.items[i]);
	code = write_flush(&r->writer);
	if (code)
		return code;
	for (size_t i = r->journal.n; i-- > 0;) {
		struct transaction *t = &r->journal.items[i];

		if (t->state == TRANSACTION_OPEN && transaction_holds(t))
			clean = roll_back_open(r, t) && clean;
	}
	return clean ? write_flush(&r->writer)
		     : err_set(e, -EUCLEAN,
			       "an interrupted transaction could not be rolled back completely: "
			       "see gputune status");
}

struct txn_who txn_who_here(struct arena *a, const char *reason)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *user = pw ? pw->pw_name : arena_printf(a, "uid %u", getuid()),
		   *sudo = getenv("SUDO_USER");

	return (struct txn_who){
		.user = sudo && *sudo ? arena_printf(a, "%s (sudo: %s)", user, sudo)
				      : arena_strdup(a, user),
		.reason = reason,
		.version = GPUTUNE_VERSION,
	};
}

/* The site's policy says who may write. */
static int let_caller(struct host *h, struct arena *a, struct err *e)
{
	struct site site;
	int code = site_load(h, a, &site, e);

	if (code || !site.apply.users || site_lets_user(&site, site_caller(a)))
		return code;
	err_set(e, -EPERM, "the site's policy forbids user %s to change this machine",
		site_caller(a));
	err_hint(e, "%s allows: %s", SITE_POLICY, site.apply.users);
	return -EPERM;
}

int run_open(struct txn_run *r, struct host *h, struct arena *a, const struct txn_who *who,
	     struct txn_report *report, struct txn_how how, struct err *e)
{
	int code = how.dry ? 0 : txn_run_lock(h, a, e);

	*r = (struct txn_run){ .h = h,
			       .a = a,
			       .who = who,
			       .report = report,
			       .dry = how.dry,
			       .writer = { .h = h, .dry = how.dry } };
	if (code)
		return code;
	code = how.dry ? 0 : let_caller(h, a, e);
	code = code ? code : state_check(h, e);
	if (code == 0)
		code = journal_load(h, a, how.all, &r->journal, e);
	if (code)
		return code;
	/* A number that no reader takes would be a change that nobody can undo. */
	if (r->journal.next >= TXN_MAX)
		return err_set(e, -EOVERFLOW,
			       "%s: contains a transaction with the highest possible number",
			       TXN_JOURNAL);
	/* What went with an earlier boot could not be told from what is in effect. */
	code = boot_id_read(h, a, &r->boot_id);
	if (code)
		return err_set(e, code, "%s: %s", BOOT_ID, strerror(-code));
	code = txn_run_recover(r, e);
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
	if (!r->dry)
		public_write(r->h);
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

	r->now = &ARENA_ADD(r->a, j->items, j->n);
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
	if (transaction_is_over(t))
		return;
	t->state = TRANSACTION_UNDONE;
	write_closed(&r->writer, t->txn);
}
