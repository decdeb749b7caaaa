/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger, for verbs that show what was proven here. */
#ifndef CMD_LEDGER_H
#define CMD_LEDGER_H

#include "cmd/cmd.h"
#include "prove/ledger.h"

/* Reads it, and says on stderr which of its lines were skipped. Never NULL. */
const struct ledger *run_ledger(struct run *r, struct host *h, const struct machine *m);

#endif
