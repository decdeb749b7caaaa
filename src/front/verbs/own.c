/* SPDX-License-Identifier: Apache-2.0 */
/* What gputune itself set in this boot: noted in the facts, and told where it is not finished. */
#include <string.h>

#include "front/verbs/cmd.h"
#include "tune/txn/txn.h"

bool run_tell_open(struct run *r, struct host *h, const struct journal *j)
{
	const char *holder = NULL;
	bool open = false;

	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];

		if (t->state != TRANSACTION_OPEN || !transaction_holds(t))
			continue;
		holder = holder ? holder : txn_holder(h, &r->arena);
		if (holder)
			complain_text(0,
				      "%s is under way: what it has changed is taken back when it "
				      "ends",
				      holder);
		else if (strcmp(t->op, TXN_PROVE) == 0)
			complain_text(0,
				      "a proof was interrupted and its changes are in force "
				      "(transaction %lu): \"gputune undo\" takes them back",
				      t->txn);
		else
			complain_text(0,
				      "transaction %lu was interrupted: \"gputune undo\" takes it "
				      "back",
				      t->txn);
		open = open || !holder;
	}
	return open;
}

void run_own_changes(struct run *r, struct host *h, struct machine *m)
{
	struct journal j;

	if (own_changes(h, &r->arena, m, &j) && r->verb->run == verb_check)
		run_tell_open(r, h, &j);
}
