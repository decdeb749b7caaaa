/* SPDX-License-Identifier: Apache-2.0 */
/* What a reboot means for entries of the journal. For txn/, and for who names the boot of a plan.
 */
#ifndef TXN_BOOT_H
#define TXN_BOOT_H

#include "persist/persist.h"
#include "txn/journal.h"

/* What files of ours set at every boot. Begun with the first two members; the rest is read when it
 * is asked for: on most machines nothing is of an earlier boot. */
struct boot_kept {
	struct arena *a;
	const struct journal *j;
	bool read, unsure; /* unsure: the request cannot be read, and may name anything */
	struct kept *rows;
	size_t n;
};

/* "" where it cannot be read. */
const char *boot_id_of(struct host *h, struct arena *a);
/* Whether the transaction was made in another boot than this; false where either is not known. */
bool boot_differs(const struct transaction *t, const char *boot_id);
/* Whether the request for the next boot, installed and not removed, names the entry's knob and
 * value: only then can the value of an earlier boot be there again because of us. */
bool boot_is_kept(struct boot_kept *k, const struct entry *e);
/* It went with an earlier boot: a runtime value that nothing of ours sets again. */
bool boot_has_lost(struct boot_kept *k, const struct transaction *t, const struct entry *e,
		   const char *boot_id);

#endif
