/* SPDX-License-Identifier: Apache-2.0 */
/* Clock locks, from the journal into the facts. */
#include "tune/txn/own.h"

#include <stdio.h>
#include <string.h>

#include "tune/txn/boot.h"

static void note_lock(struct arena *a, struct machine *m, const struct entry *e)
{
	bool memory = strcmp(e->knob.name, "memory-clock-lock") == 0;

	if (!memory && strcmp(e->knob.name, "gpu-clock-lock") != 0)
		return;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcasecmp(g->pci, e->knob.object) == 0)
			*(memory ? &g->clock_mem_lock : &g->clock_sm_lock) = (struct fact_str){
				.f = { .seen = SEEN_OK,
				       .leaf = arena_printf(a, "journal, transaction %lu",
							    e->txn) },
				.v = e->after
			};
}

bool own_changes(struct host *h, struct arena *a, struct machine *m, struct journal *j)
{
	struct err ignored = { 0 };
	const char *boot = boot_id_of(h, a);

	if (!*boot || journal_load(h, a, false, j, &ignored))
		return false;
	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];

		if (!t->boot_id || strcmp(t->boot_id, boot) != 0)
			continue;
		/* In the order of writing: the newest layer stands in the end. */
		for (size_t k = 0; k < t->n; k++)
			if (t->entries[k].knob.kind == KNOB_NVML &&
			    t->entries[k].state == ENTRY_DONE &&
			    strcmp(t->entries[k].after, "unlocked") != 0)
				note_lock(a, m, &t->entries[k]);
	}
	return true;
}
