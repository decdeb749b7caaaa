/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reboot means for the journal. A runtime value goes with its boot. What is in effect in the
 * next one because a file of ours set it is carried over: the first look after a boot records it in
 * a transaction of that boot, with the original, so that undo finds it whatever becomes of the
 * files. For txn/, and for who names the boot of a plan.
 */
#ifndef TXN_BOOT_H
#define TXN_BOOT_H

#include "tune/txn/journal.h"
#include "tune/txn/write.h"

/* What a transaction of values that our boot files set is called. */
#define TXN_BOOT "boot"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* The boot's id; "" on a machine without one. Other errors: -errno. */
int boot_id_read(struct host *h, struct arena *a, const char **out);
/* "" where it cannot be read. */
const char *boot_id_of(struct host *h, struct arena *a);
/* Whether the transaction was made in another boot than this; false where either is not known. */
bool boot_differs(const struct transaction *t, const char *boot_id);
/*
 * Brings the journal in memory into the boot that runs:
 *   a value that a request of ours names, active since an earlier boot, and that is in effect now:
 *     its entries of earlier boots are closed and stand in a transaction TXN_BOOT of this boot,
 *     with the original; also where it was never applied, only kept for the next boot;
 *   one that is not in effect is closed, and noted, so that a later look in the same boot does not
 *     take another writer's value for ours;
 *   every other runtime value of an earlier boot is closed as lost.
 * What is away now waits; what cannot be seen counts as in effect: undo compares. w NULL: nothing
 * is written, and lost entries are marked (lost) instead of closed. Writes lines only, never the
 * machine.
 */
void boot_carry_over(struct host *h, struct arena *a, struct journal *j, const char *boot_id,
		     struct journal_writer *w);

#endif
