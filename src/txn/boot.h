/* SPDX-License-Identifier: Apache-2.0 */
/* What a reboot means for entries of the journal. For txn/ alone. */
#ifndef TXN_BOOT_H
#define TXN_BOOT_H

#include "txn/journal.h"

/* Whether the transaction was made in another boot than this; false where either is not known. */
bool boot_differs(const struct transaction *t, const char *boot_id);
/* Whether a file of ours for the next boot, installed and not removed, names the entry's knob: only
 * then can the value of an earlier boot be there again because of us. */
bool boot_is_kept(struct arena *a, const struct journal *j, const struct entry *e);

#endif
