/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions: making the changes of a plan so that each can be taken back, and taking them back.
 * See docs/ARCHITECTURE.md for the order of writes and for what a crash leaves.
 */
#ifndef TXN_TXN_H
#define TXN_TXN_H

#include "machine/host/host.h"
#include "tune/plan/plan.h"
#include "tune/txn/journal.h"

struct txn_who {
	const char *user;   /* "root", "root (sudo: ada)" */
	const char *reason; /* in the user's words; NULL */
	const char *version;
	const char *op; /* what an applied transaction is called, see struct transaction; NULL:
			   "apply" */
};

/* Who runs this process, by name and sudo. */
struct txn_who txn_who_here(struct arena *a, const char *reason);

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
	OUTCOME_GONE,	  /* undo: the device or file is not there, and was given up */
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
	size_t recovered;	      /* interrupted transactions that were rolled back first */
	struct outcome_row *recovery; /* what became of their changes */
	size_t n_recovery;
	const char **leftovers; /* what writes that were cut off left beside files: sentences */
	size_t n_leftovers;
	/* Undo: the one transaction that it selects, and what made it; 0: several, or none. */
	unsigned long undoes;
	const char *op;
	bool dry;     /* nothing was written: the rows say what would become of it */
	size_t reset; /* rows that a daemon sets otherwise at boot, if the caller knows */
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
	bool all, files;	 /* every transaction; also files for the next boot */
	const char *const *only; /* ids or prefixes; n_only 0: all */
	size_t n_only;
	const struct knob *knobs; /* only these; n_knobs 0: all */
	size_t n_knobs;
	const char *op; /* only transactions called so; NULL: "apply", or the one of that number */
	bool force;	/* restore even what somebody changed since; give up what is not there */
	bool dry;	/* write nothing: report what would come of it */
};

/* 0: everything selected is as it was, or is somebody else's by now. -ENOENT: nothing to undo.
 * -ESRCH: no transaction of that number. -EUCLEAN: something is stuck. */
int txn_undo(struct host *h, struct arena *a, const struct txn_select *s, const struct txn_who *who,
	     struct txn_report *out, struct err *e);

const char *outcome_name(enum outcome o);

/* --- trials -------------------------------------------------------------------------------------
 *
 * Changes that stay open: made and read back, but neither taken back nor kept yet. A crash at any
 * moment leaves an open transaction, which the next command that writes rolls back. One trial is
 * many transactions one after the other, each called TXN_PROVE, with the lock held and the journal
 * in memory from begin until the host is closed.
 */
#define TXN_PROVE "prove"
#define TXN_HOLDER TXN_DIR "/holder"

struct txn_trial;

/* what: for others who find the lock held ("prove disk.read-ahead"). -errno and *e: nothing was
 * begun. out->recovered as everywhere. */
int txn_trial_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		    struct txn_report *out, struct txn_trial **trial, struct err *e);
/* Makes the open changes of p; none may be open. op NULL: TXN_PROVE. Errors as txn_apply. */
int txn_trial_set(struct txn_trial *t, const struct plan *p, const char *op, struct txn_report *out,
		  struct err *e);
/* 0: what is open is in force, and where nothing is open every knob of p is what it saw. -ESTALE
 * and *e: somebody changed one. Writes nothing. */
int txn_trial_look(struct txn_trial *t, const struct plan *p, struct err *e);
/* Takes back what is open. -EUCLEAN: something is stuck. -ESTALE: something was changed by somebody
 * else meanwhile and is left to them. */
int txn_trial_revert(struct txn_trial *t, struct txn_report *out, struct err *e);
/* What is open stays: from now on it is a transaction as txn_apply makes them. */
int txn_trial_keep(struct txn_trial *t, struct err *e);
/* Takes back what is open and frees the trial; what txn_trial_revert says. */
int txn_trial_end(struct txn_trial *t, struct err *e);

/* Who holds the lock: a process that is alive and said so, in words ("prove disk.read-ahead,
 * process 1234"); NULL: nobody who would have said so. Writes nothing. */
const char *txn_holder(struct host *h, struct arena *a);
/* When the process began, as its stat tells: a number that is used again begins later. "" where it
 * cannot be read. */
const char *txn_process_began(struct host *h, struct arena *a, long long pid);

/* --- the journal's files -------------------------------------------------------------- */

enum txn_tend {
	TXN_REPAIR,  /* what one of the two files lacks is written from the other */
	TXN_GIVE_UP, /* and what both have lost is forgotten */
	TXN_COMPACT, /* what is over goes to the history */
};

/* Rolls back first what was interrupted. 0, or -errno and *e. */
int txn_tend(struct host *h, struct arena *a, enum txn_tend how, const struct txn_who *who,
	     struct txn_report *out, struct err *e);
/* Every line that can be read, history first, as JSON lines in arena memory. */
int txn_export(struct host *h, struct arena *a, const char **text, size_t *len, struct err *e);

/* --- looking ---------------------------------------------------------------------------------- */

enum hold {
	HOLD_OURS,    /* our value is in force */
	HOLD_WAITS,   /* asked for; in force after a reboot */
	HOLD_MISSED,  /* asked for, and the reboot since then did not bring it */
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
	const char *now;   /* NULL: unknown */
	const char *kept;  /* what keeps it at the next boot; NULL: gputune keeps nothing */
	const char *loses; /* who sets it differently at boot, after that: a sentence; NULL */
	const char *by;	   /* who may have changed it; NULL: not known */
};

/* What became of every change that is not undone, but for files that are kept for the next boot.
 * Carries j over first. Writes nothing. Leaves kept and loses NULL; by is set only where gputune
 * itself made the change. */
int txn_status(struct host *h, struct arena *a, struct journal *j, struct hold_row **rows,
	       size_t *n);
const char *hold_name(enum hold h);
/* What we set is not in force any more, or never came. */
bool hold_is_gone(enum hold h);
/* Brings the journal in memory into the boot that runs, as whoever writes next will: what our boot
 * files have set stands in a transaction of this boot, and what went with an earlier one is marked
 * as lost. Writes nothing; a second call changes nothing. */
void txn_carry_over(struct host *h, struct arena *a, struct journal *j);

/* What gputune itself set in this boot, as facts: locks that no driver can be asked for. */

/* Adds them to m and leaves the journal in *j. False where it may not be read: nothing is added,
 * and the rules then say what the driver shows. */
bool our_clock_locks(struct host *h, struct arena *a, struct machine *m, struct journal *j);

/* Whether the files of the state folder are what only root can have written. */

/*
 * The journal says what undo writes as root: it has to be a plain file of root's (or of this
 * user's) with one name, which others may not write to; and so has the folder that it lies in. 0
 * where it is, where there is none, and where it cannot be seen. HOST_NOT_OURS: it is not; *e says
 * what is wrong, and the command that mends it.
 */
int state_check(struct host *h, struct err *e);
/* HOST_NOT_OURS of the folder itself: *e says it. */
int state_folder_refused(struct err *e);
/* What keeps the state folder from outliving a boot: a sentence; NULL: nothing that is known. */
const char *state_is_lost_at_boot(struct host *h);

#endif
