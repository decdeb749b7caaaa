/* SPDX-License-Identifier: Apache-2.0 */
/* What gputune itself set in this boot, as facts: locks that no driver can be asked for. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "probe/probe.h"
#include "txn/layer.h"

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
