/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the ledger, and naming what of it cannot be read. */
#include "front/verbs/ledger.h"

const struct ledger *run_ledger(struct run *r, struct host *h, const struct machine *m)
{
	struct ledger *l = ARENA_NEW(&r->arena, struct ledger);

	ledger_load(&r->arena, h, m, NULL, l);
	for (size_t i = 0; i < l->n_bad && i < LEDGER_BAD_MAX; i++)
		complain_text(0, "%s:%zu: skipped: %s", l->file, l->bad[i].line, l->bad[i].why);
	if (l->n_bad > LEDGER_BAD_MAX)
		complain_text(0, "%s: %zu more lines were skipped", l->file,
			      l->n_bad - LEDGER_BAD_MAX);
	return l;
}
