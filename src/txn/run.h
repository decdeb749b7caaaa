/* SPDX-License-Identifier: Apache-2.0 */
/* What applying and undoing share: the lock, the journal in memory and on disk, the report. For
 * txn/ alone. */
#ifndef TXN_RUN_H
#define TXN_RUN_H

#include "txn/layer.h"
#include "txn/write.h"

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

/* --- half.c ----------------------------------------------------------------------------------- */

/* Half of what was asked for: numbers that the machine granted in part, a service that was stopped
 * and not yet disabled, a link that was taken away for another. */
bool run_is_half(const struct entry *e, const char *now);

/* --- run.c, back.c ---------------------------------------------------------------------------- */

/* Row of the report for an entry. */
struct outcome_row *run_row(struct txn_run *r, const struct entry *e);
/*
 * Takes one entry back as far as it is ours, restores what writing it reset, and notes it. forced:
 * also when somebody changed it since. Fills row.
 */
void run_take_back(struct txn_run *r, struct entry *e, bool forced, struct outcome_row *row);
/* Takes back all active entries of t, newest first; true when nothing is stuck. */
bool run_roll_back(struct txn_run *r, struct transaction *t, bool report);
/* Writes "closed" for transactions that have nothing left. */
void run_settle(struct txn_run *r, struct transaction *t);

#endif
