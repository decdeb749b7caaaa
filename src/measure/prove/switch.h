/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine in one of several states: as it was, or with some of a plan's changes made. Each
 * switch is a transaction that stays open, so that whatever ends this process leaves the machine
 * to be put back by the next command.
 */
#ifndef PROVE_SWITCH_H
#define PROVE_SWITCH_H

#include "tune/txn/txn.h"

struct switcher;

/* The plan's open changes are what can be on; p has to live as long. what: for others who find the
 * lock held. -errno and *e: nothing was begun. */
int switch_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		 const struct plan *p, struct switcher **out, struct err *e);
/*
 * Brings the machine into the state in which just the changes with on[i] are made (NULL: none, as
 * it was) and looks whether it is. again: also when it is that state already. -ECANCELED: a change
 * cannot be made here, and all is as it was. -EUCLEAN: something is stuck. -ESTALE: somebody else
 * changed a knob.
 */
int switch_to(struct switcher *s, const bool *on, bool again, struct err *e);
/* Whether just these changes are made now. */
bool switch_is(const struct switcher *s, const bool *on);
/* Whether the state is still what it was switched to; -ESTALE and *e. */
int switch_look(struct switcher *s, struct err *e);
/* The changes with on[i] stay: one transaction as apply makes it, whose number *txn is. profile:
 * for the journal; NULL. */
int switch_keep(struct switcher *s, const bool *on, const char *profile, unsigned long *txn,
		struct err *e);
/* Puts back what is open. Whatever it returns, s is gone. */
int switch_end(struct switcher *s, struct err *e);
/* Writes that were made so far, and transactions. */
size_t switch_count(const struct switcher *s);

#endif
