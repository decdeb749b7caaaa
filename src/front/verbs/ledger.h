/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger, for verbs that show what was proven here. */
#ifndef VERBS_LEDGER_H
#define VERBS_LEDGER_H

#include "front/verbs/cmd.h"
#include "measure/prove/ledger.h"

/* Reads it, and says on stderr which of its lines were skipped. Never NULL. */
const struct ledger *run_ledger(struct run *r, struct host *h, const struct machine *m);

#endif
