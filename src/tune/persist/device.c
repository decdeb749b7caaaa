/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ties a kept value to a device rather than to a name, and finding that device again at the
 * next boot: a slot may hold another card, an interface may be called otherwise, and idle states
 * are numbered by the driver.
 */
#include <stdio.h>
#include <string.h>

#include "tune/persist/persist.h"
#include "tune/plan/reach.h"

static const char *pci_ids(struct arena *a, const struct machine *m, const char *address)
{
	const struct pci_function *f = machine_pci(m, address);

	if (!f || !seen_ok(&f->vendor.f) || !seen_ok(&f->device.f))
		return NULL;
	return arena_printf(a, "%04llx:%04llx", (unsigned long long)f->vendor.v,
			    (unsigned long long)f->device.v);
}

/* "C6" of "/sys/devices/system/cpu/cpu3/cpuidle/state2/disable"; NULL: not seen, "" no such path.
 */
static const char *idle_name(const struct machine *m, const char *path)
{
	unsigned cpu, state;
	char rest[16];

	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/%15s", &cpu, &state,
		   rest) != 3)
		return "";
	LIST_FOR_EACH (struct idle_group, g, &m->cpu.idle) {
		if (!seen_ok(&g->cpus.f) || !idset_has(&g->cpus.v, cpu))
			continue;
		LIST_FOR_EACH (struct idle_state, s, &g->states)
			if (s->index == state)
				return fact_text(&s->name, NULL);
	}
	return NULL;
}

const char *persist_device(struct arena *a, const struct machine *m, const struct knob *k)
{
	const struct nic *n;
	const char *ids;

	switch (k->kind) {
	case KNOB_NVML:
	case KNOB_HELPER:
		/* A GPU that is no PCI function of its own (GB10's) has nothing to compare. */
		ids = pci_ids(a, m, k->object);
		return ids ? ids : "";
	case KNOB_PCI:
		return pci_ids(a, m, k->object);
	case KNOB_LINK:
		n = machine_nic(m, k->object);
		return n ? n->pci : NULL;
	case KNOB_SYSFS:
		return idle_name(m, k->name);
	default:
		return "";
	}
}

/* The interface that hangs from the function: the one of that name, else the only one. */
static const char *interface_of(const struct machine *m, const char *pci, const char *name)
{
	const struct nic *named = machine_nic(m, name);
	const char *found = NULL;

	if (named && (!*pci || strcmp(named->pci, pci) == 0))
		return named->name;
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		if (!*pci || strcmp(n->pci, pci) != 0)
			continue;
		if (found)
			return NULL;
		found = n->name;
	}
	return found;
}

const struct knob *persist_find(struct arena *a, const struct machine *m, const struct kept *row,
				const char **why)
{
	struct knob *k = ARENA_NEW(a, struct knob);
	const char *now;

	*k = row->knob;
	if (k->kind == KNOB_LINK) {
		k->object = interface_of(m, row->device, k->object);
		*why = "there is no such interface";
		return k->object ? k : NULL;
	}
	now = persist_device(a, m, k);
	if (!*row->device || (now && strcmp(now, row->device) == 0))
		return k;
	*why = now && *now ? arena_printf(a, "it was %s, and now %s stands there", row->device, now)
			   : arena_printf(a, "%s is not there", row->device);
	return NULL;
}

const char *persist_target(struct arena *a, const struct machine *m, const char *id,
			   const struct knob *k, struct persist_targets *cache)
{
	const struct setting *s = setting_find(id);
	struct map *targets;

	if (!s)
		return NULL;
	if (cache->s != s) {
		targets = setting_targets(a, m, s);
		*cache = (struct persist_targets){ .s = s,
						   .items = map_sorted(a, targets),
						   .n = targets->n };
	}
	/* Rows come in the order of targets, mostly. */
	for (size_t i = 0; i < cache->n; i++) {
		size_t at = (cache->next + i) % cache->n;

		if (!setting_reaches(a, s, cache->items[at].value, k))
			continue;
		cache->next = at;
		return cache->items[at].key;
	}
	return NULL;
}
