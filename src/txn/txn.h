/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions: making the changes of a plan so that each can be taken back, and taking them back.
 * See docs/ARCHITECTURE.md for the order of writes and for what a crash leaves.
 */
#ifndef TXN_TXN_H
#define TXN_TXN_H

#include "plan/plan.h"
#include "txn/journal.h"

struct txn_who {
	const char *user;   /* "root", "root (sudo: ada)" */
	const char *reason; /* in the user's words; NULL */
	const char *version;
	const char *op; /* what an applied transaction is called, see struct transaction; NULL:
			   "apply" */
};

enum outcome {
	OUTCOME_DONE,	     /* written, and read back as wanted */
	OUTCOME_CLAMPED,     /* written, but the machine took another value; failed */
	OUTCOME_FAILED,	     /* the write was refused */
	OUTCOME_ROLLED_BACK, /* was written, and taken back because another change failed */
	OUTCOME_NOT_TRIED,
	OUTCOME_STUCK,	  /* could not be taken back */
	OUTCOME_RESTORED, /* undo: the prior value is back */
	OUTCOME_ALREADY,  /* undo: the prior value was there already */
	OUTCOME_RESET,	  /* undo: the prior value was unknown; the neutral one was set */
	OUTCOME_COVERED,  /* undo: a later transaction holds the knob; it will restore the value */
	OUTCOME_FOREIGN,  /* undo: somebody else changed it since; left alone */
	OUTCOME_GONE,	  /* undo: the device or file is not there any more */
};

struct outcome_row {
	const char *id, *target;
	struct knob knob;
	const char *from, *to; /* what was there, what was to be there; NULL: unknown */
	const char *found;     /* what is there now; NULL: could not be read */
	enum outcome outcome;
	const char *sentence; /* what happened, for people; NULL */
	const char *command;  /* by hand; for OUTCOME_STUCK */
};

struct txn_report {
	unsigned long txn; /* 0: none was begun */
	struct outcome_row *rows;
	size_t n;
	size_t recovered; /* interrupted transactions that were rolled back first */
};

/*
 * Applies the open changes of the plan. 0: all are in force. -ESTALE: a knob is not what the plan
 * saw; nothing was written. -ECANCELED: something failed and all was rolled back. -EUCLEAN: the
 * rollback is incomplete. Other errors: nothing was written. *e says why in every case but 0.
 */
int txn_apply(struct host *h, struct arena *a, const struct plan *p, const struct txn_who *who,
	      struct txn_report *out, struct err *e);

/*
 * Rolls back what a crash left open; out->recovered counts them. 0 also when there was nothing.
 * Done by txn_apply and txn_undo as well: by itself for those who plan afterwards.
 */
int txn_recover(struct host *h, struct arena *a, const struct txn_who *who, struct txn_report *out,
		struct err *e);

struct txn_select {
	unsigned long txn;	 /* 0: the newest that is not undone */
	bool all;		 /* every transaction */
	const char *const *only; /* ids or prefixes; n_only 0: all */
	size_t n_only;
	const struct knob *knobs; /* only these; n_knobs 0: all */
	size_t n_knobs;
	const char *op; /* only transactions called so; NULL: "apply", or the one of that number */
	bool force;	/* restore even what somebody changed since */
	bool dry;	/* write nothing: report what would come of it */
};

/* 0: everything selected is as it was, or is somebody else's by now. -ENOENT: nothing to undo.
 * -EUCLEAN: something is stuck. */
int txn_undo(struct host *h, struct arena *a, const struct txn_select *s, const struct txn_who *who,
	     struct txn_report *out, struct err *e);

const char *outcome_name(enum outcome o);

/* --- looking ---------------------------------------------------------------------------------- */

enum hold {
	HOLD_OURS,    /* our value is in force */
	HOLD_WAITS,   /* asked for; in force after a reboot */
	HOLD_FOREIGN, /* somebody changed it since */
	HOLD_BACK,    /* the prior value is there again */
	HOLD_LOST,    /* the machine was booted since, and the value went with it */
	HOLD_RESET,   /* another of our changes, which is in force, has reset it */
	HOLD_UNKNOWN, /* it has no getter, or could not be read */
};

struct hold_row {
	const struct transaction *t;
	const struct entry *e;
	enum hold hold;
	const char *now;  /* NULL: unknown */
	const char *kept; /* what keeps it at the next boot; NULL: nothing of ours */
	const char *by;	  /* who may have changed it; NULL: not known */
};

/* What became of every change that is not undone, but for files that are kept for the next boot.
 * Writes nothing; kept is left NULL, and by but where
 * one of ours did it. */
int txn_status(struct host *h, struct arena *a, const struct journal *j, struct hold_row **rows,
	       size_t *n);
const char *hold_name(enum hold h);

#endif
