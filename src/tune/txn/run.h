/* SPDX-License-Identifier: Apache-2.0 */
/* What applying and undoing share: the lock, the journal in memory and on disk, the report. For
 * txn/ alone. */
#ifndef TXN_RUN_H
#define TXN_RUN_H

#include "tune/txn/layer.h"
#include "tune/txn/write.h"

struct txn_run {
	struct host *h;
	struct arena *a;
	const struct txn_who *who;
	struct journal journal;
	struct journal_writer writer;
	struct transaction *now; /* the one that is being made; in journal.items */
	struct txn_report *report;
	const char *boot_id;
	bool dry; /* nothing is written: neither the machine nor the journal */
};

/* all: the journal with everything that is finished. */
struct txn_how {
	bool dry, all;
};

/* Folder, lock, journal, and the rollback of what a crash left open. *e says what stands against
 * it. run_close writes what waits. */
int run_open(struct txn_run *r, struct host *h, struct arena *a, const struct txn_who *who,
	     struct txn_report *report, struct txn_how how, struct err *e);
int run_close(struct txn_run *r, struct err *e);
/* Begins a transaction: its line waits for the first intent. */
void run_begin(struct txn_run *r, const char *op, const char *profile, size_t changes);

/* --- apply.c ---------------------------------------------------------------------------------- */

/* 0: every knob is what the plan saw. -ESTALE and *e: one is not. Writes nothing. */
int run_check_fresh(struct txn_run *r, const struct plan *p, struct err *e);
/* Makes the plan's open changes in a transaction of its own that is still open afterwards, with
 * rows in the report, which has to be empty. Errors as txn_apply: then all was taken back. */
int run_apply(struct txn_run *r, const struct plan *p, const char *op, struct err *e);

/* --- status.c --------------------------------------------------------------------------------- */

/* That what is back where it is kept is in effect all the same: a boot argument of the running
 * kernel. NULL: it is not. */
const char *run_until_reboot(struct txn_run *r, const struct entry *e);

/* --- kin.c ------------------------------------------------------------------------------------ */

/* Half of what was asked for: numbers that the machine granted in part, a service that was stopped
 * and not yet disabled, a link that was taken away for another. */
bool is_partial_write(const struct entry *e, const char *now);

/* A file of ours that lies in the entry's folder and is not taken back yet; NULL. */
const char *run_holds_file(struct txn_run *r, const struct entry *e);
/*
 * e is the request (boot.json). A file for the next boot that still needs it: one that is not
 * undone yet and was written later, in the same transaction, or in any where no newer request
 * stands above e. Without the request nobody could tell after a reboot which values that file has
 * set. NULL: e can be removed, or is no request.
 */
const char *run_needs_request(struct txn_run *r, const struct entry *e);
/* Whether an interrupted undo of several layers has come further than this one: the knob holds what
 * a lower layer goes back to. */
bool run_went_further(struct txn_run *r, const struct entry *e, const char *now);
/* Of two sysctls of which writing one zeroes the other: the later change of the other, which goes
 * back to what e has set, and what it has to go back to when e is taken out; NULL. */
struct entry *run_pair_above(struct txn_run *r, const struct entry *e, const char **hands_down);

/* A dry run leaves in our folder what would be gone by the time the folder's turn comes. */
bool run_is_full_folder(const struct txn_run *r, const struct entry *e, const char *now);
/* What somebody made of it, in words. */
const char *run_foreign(struct txn_run *r, const struct entry *e, const char *now);
/* A folder of ours in which another program put something cannot go, whatever is asked for. */
bool run_can_force(const struct entry *e, const char *now);

/* --- run.c, revert.c -------------------------------------------------------------------------- */

/*
 * Takes one entry back as far as it is ours, restores what writing it reset, removes what a write
 * of it that was cut off left beside its files, and notes it. forced: also when somebody changed it
 * since. Fills row.
 */
void run_revert(struct txn_run *r, struct entry *e, bool forced, struct outcome_row *row);
/* Hands the sentences of from on to the report. */
void run_add_leftovers(struct txn_run *r, const struct txn_report *from);

/* Row of the report for an entry. */
struct outcome_row *run_row(struct txn_run *r, const struct entry *e);
/* Takes back all active entries of t, newest first; true when nothing is stuck. */
bool run_rollback(struct txn_run *r, struct transaction *t, bool report);
/* Writes "closed" for transactions that have nothing left. */
void run_settle(struct txn_run *r, struct transaction *t);

#endif
