/* SPDX-License-Identifier: Apache-2.0 */
/* Shared questions of the rules. */
#include "settings/predicates.h"

#include <stdio.h>
#include <string.h>

bool is_virtual(const struct machine *m)
{
	return fact_or(&m->platform.virtual_, 0) == 1;
}

bool has_unified_memory(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->integrated, 0) == 1)
			return true;
	return false;
}

bool has_rdma(const struct machine *m)
{
	return m->net.rdma.n > 0;
}

bool has_isolated_cpus(const struct machine *m)
{
	return seen_ok(&m->cpu.isolated.f) && m->cpu.isolated.v.n > 0;
}

bool service_active(const struct machine *m, const char *unit)
{
	const struct service *s = machine_service(m, unit);

	return s && fact_or(&s->active, 0) == 1;
}

bool is_numa(const struct machine *m)
{
	return m->cpu.nodes.n > 1;
}

bool is_locked_down(const struct machine *m)
{
	return seen_ok(&m->kernel.lockdown.f) && strcmp(m->kernel.lockdown.v, "none") != 0;
}

int zfs_release(const struct machine *m)
{
	int major, minor;

	if (!seen_ok(&m->storage.zfs_version.f) ||
	    sscanf(m->storage.zfs_version.v, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 100 + minor;
}

const struct fact *first_unread(const struct fact *const *facts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (facts[i]->seen != SEEN_OK && facts[i]->seen != SEEN_ABSENT)
			return facts[i];
	return NULL;
}

bool is_placed(const struct machine *m, const struct pci_function *f)
{
	for (size_t hops = 0; f && f->path && *f->path && hops < 32; hops++) {
		if (!f->parent || !*f->parent)
			return true;
		f = machine_pci(m, f->parent);
	}
	return false;
}

bool not_integrated(const struct question *q, struct verdict *v, const char *why)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->integrated, 0) != 1)
		return true;
	verdict_na(v, CODE_INTEGRATED, why);
	return false;
}
