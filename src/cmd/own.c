/* SPDX-License-Identifier: Apache-2.0 */
/* What gputune itself set in this boot, as facts: locks that no driver can be asked for. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "probe/probe.h"
#include "txn/layer.h"
#include "txn/txn.h"

static void note_lock(struct arena *a, struct machine *m, const struct entry *e)
{
	bool memory = strcmp(e->knob.name, "memory-clock-lock") == 0;

	if (!memory && strcmp(e->knob.name, "gpu-clock-lock") != 0)
		return;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcasecmp(g->pci, e->knob.object) == 0)
			*(memory ? &g->clock_mem_lock : &g->clock_sm_lock) = fact_str_of(
				e->after, "", arena_printf(a, "journal, transaction %lu", e->txn));
}

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
	struct err ignored = { 0 };
	struct journal j;
	char boot[64];

	/* Who may not read the journal does not see it; the rules then say what the driver shows.
	 */
	if (host_read_line(h, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) ||
	    journal_load(h, &r->arena, false, &j, &ignored))
		return;
	if (r->verb->run == verb_check)
		run_tell_open(r, h, &j);
	for (size_t i = 0; i < j.n; i++) {
		const struct transaction *t = &j.items[i];

		if (!t->boot_id || strcmp(t->boot_id, boot) != 0)
			continue;
		/* In the order of writing: the newest layer stands in the end. */
		for (size_t k = 0; k < t->n; k++)
			if (t->entries[k].knob.kind == KNOB_NVML &&
			    t->entries[k].state == ENTRY_DONE &&
			    strcmp(t->entries[k].after, "unlocked") != 0)
				note_lock(&r->arena, m, &t->entries[k]);
	}
}
