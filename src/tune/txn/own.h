/* SPDX-License-Identifier: Apache-2.0 */
/* What gputune itself set in this boot, as facts: locks that no driver can be asked for. */
#ifndef TXN_OWN_H
#define TXN_OWN_H

#include "machine/model/machine.h"
#include "tune/txn/journal.h"

/* Adds them to m and leaves the journal in *j. False where it may not be read: nothing is added,
 * and the rules then say what the driver shows. */
bool own_changes(struct host *h, struct arena *a, struct machine *m, struct journal *j);

#endif
