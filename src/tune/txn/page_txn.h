/* SPDX-License-Identifier: Apache-2.0 */
/* What was done to the machine, for people: apply, undo, status, history, verify. */
#ifndef TXN_PAGE_TXN_H
#define TXN_PAGE_TXN_H

#include "tune/txn/txn.h"
#include "render/doc.h"
#include "machine/model/machine.h"
#include "tune/txn/journal.h"

/* "1 change", "2 changes". */
const char *changes_text(struct arena *a, size_t n);
/* How many settings n changes of these ids are about; and "15 changes of 12 settings". */
size_t settings_in(const char *const *ids, size_t n);
const char *changes_of_text(struct arena *a, const char *const *ids, size_t n);
/* result is what txn_apply or txn_undo returned; the error itself is the caller's to print. */
struct doc *page_apply(struct arena *a, const struct machine *m, const struct txn_report *r,
		       int result);
struct doc *page_undo(struct arena *a, const struct machine *m, const struct txn_report *r,
		      int result);
/* What a crash left and was rolled back first (rows: with its changes), and what was found beside
 * files; nothing where there was none. */
void page_recovered(struct doc *d, const struct machine *m, const struct txn_report *r, bool rows);
/* The rows of page_undo alone, with the commands for what is stuck. */
void page_reverted(struct doc *d, const struct machine *m, const struct txn_report *r);
/* The file that a change is about; "": none. */
const char *txn_file_of(const struct knob *k);
/* Of a file its mode and length, not its contents; any other value as it is. */
struct cell txn_value_cell(struct doc *d, const struct knob *k, const char *value);
/* sure: every line of the journal could be read, and nobody else can have written it. */
struct doc *page_status(struct arena *a, const struct machine *m, const struct hold_row *rows,
			size_t n, bool sure);
/* only NULL: one line a transaction, newest first. Otherwise that one, from what to what. */
struct doc *page_history(struct arena *a, const struct machine *m, const struct journal *j,
			 const struct transaction *only);
/* The transaction of this number; NULL when the journal has none. */
const struct transaction *history_find(const struct journal *j, unsigned long txn);

/* --- verify: what was requested against what is in force -------------------------------------- */

enum verify_state {
	VERIFY_IN_FORCE,
	VERIFY_WAITS, /* in force after a reboot */
	VERIFY_DIFFERS,
	VERIFY_UNKNOWN, /* it has no getter, or could not be read */
};

struct verify_row {
	const char *id, *target;
	struct knob knob;
	const char *wanted, *now; /* now NULL: unknown */
	enum verify_state state;
	const char *sentence; /* NULL: nothing more to say */
};

struct verify {
	struct verify_row *rows;
	size_t n;
	size_t count[VERIFY_UNKNOWN + 1];
};

/* Of a value without a getter. */
#define TXN_UNREAD "requested; cannot be read back"
#define VERIFY_NOT_BROUGHT                                                                         \
	"the machine was rebooted after the change, but its kernel started without this "          \
	"argument: run update-grub or kernel-install, then reboot"

const char *verify_name(enum verify_state s);
/* Of what the journal holds. */
void verify_holds(struct arena *a, const struct hold_row *rows, size_t n, struct verify *out);
/*
 * Of a plan's open changes: read answers as knob_get does, same is knob_same. What takes effect at
 * boot only is never in force before, so a boot argument that is asked for waits unless the running
 * kernel has it already.
 */
void verify_plan(struct arena *a, const struct machine *m, const struct plan *p, plan_reader *read,
		 bool (*same)(const struct knob *k, const char *x, const char *y), void *ctx,
		 struct verify *out);
struct doc *page_verify(struct arena *a, const struct machine *m, const struct verify *v);

/* The journal's files and what state they are in. */

/* j: all of it. */
struct doc *page_journal(struct arena *a, const struct journal *j);

#endif
