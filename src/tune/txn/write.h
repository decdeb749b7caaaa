/* SPDX-License-Identifier: Apache-2.0 */
/* Adding to the journal. For txn/ alone. */
#ifndef TXN_WRITE_H
#define TXN_WRITE_H

#include "base/text.h"
#include "machine/host/host.h"
#include "tune/txn/store.h"
#include "tune/txn/txn.h"

/*
 * Lines wait until write_flush, which first brings the files into order (store_ready). What was
 * done or undone need not be on disk by itself: reading the knob tells the same.
 */
struct journal_writer {
	struct host *h;
	struct text waiting;
	struct store_end end; /* of the files, once they are */
	bool ready;
	bool dry; /* nothing is ever added */
};

void write_begin(struct journal_writer *w, const struct transaction *t, size_t changes);
/* Has to be on disk (write_flush) before the knob is written. Says of its transaction what undoing
 * needs, in case that the line which began it is lost. */
void write_intend(struct journal_writer *w, const struct transaction *t, const struct entry *e);
void write_done(struct journal_writer *w, const struct entry *e);
void write_undone(struct journal_writer *w, const struct entry *e, unsigned long by);
void write_stuck(struct journal_writer *w, const struct entry *e, unsigned long by,
		 const char *command);
/* Undone, it goes back to e->before from now on. */
void write_rebase(struct journal_writer *w, const struct entry *e);
/* The same of sides[i]. */
void write_rebase_side_effect(struct journal_writer *w, const struct entry *e, size_t i);
/* An undo has begun. On disk (write_flush) before it writes the first knob. */
void write_undoing(struct journal_writer *w, const struct entry *e);
/* An undo is about to write a knob that resets others; on disk before that. */
void write_restoring(struct journal_writer *w, const struct entry *e);
/* Nothing of this transaction is left to undo. */
void write_closed(struct journal_writer *w, unsigned long txn);
void write_end(struct journal_writer *w, unsigned long txn, enum transaction_state s);
/* Everything that waited is on disk when it returns 0. */
int write_flush(struct journal_writer *w);

#endif
