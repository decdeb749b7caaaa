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

/* --- status.c --------------------------------------------------------------------------------- */

/* That what is back where it is kept is in effect all the same: a boot argument of the running
 * kernel. NULL: it is not. */
const char *run_until_reboot(struct txn_run *r, const struct entry *e);

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
