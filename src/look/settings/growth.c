/* SPDX-License-Identifier: Apache-2.0 */
/* Finding an object again in an earlier reading, and the difference of its counters. */
#include "look/settings/growth.h"

#include <string.h>

long long growth_seconds(const struct machine *m)
{
	long long now = fact_or(&m->time_s, 0),
		  then = m->earlier ? fact_or(&m->earlier->time_s, 0) : 0;

	return then > 0 && now > then ? now - then : 0;
}

long long growth(const struct fact_int *now, const struct fact_int *before)
{
	if (!seen_ok(&now->f) || !seen_ok(&before->f) || now->v < 0 || before->v < 0)
		return -1;
	return now->v >= before->v ? now->v - before->v : now->v;
}

const char *growth_span(struct arena *a, const struct machine *m)
{
	long long s = growth_seconds(m);

	if (s >= 2 * 86400)
		return arena_printf(a, "in %lld days", s / 86400);
	if (s >= 2 * 3600)
		return arena_printf(a, "in %lld h", s / 3600);
	return s >= 120 ? arena_printf(a, "in %lld min", s / 60) : arena_printf(a, "in %lld s", s);
}

/* Not told in one of the two is no difference. */
static bool may_be_same(const struct fact_str *a, const struct fact_str *b)
{
	return !seen_ok(&a->f) || !seen_ok(&b->f) || strcmp(a->v, b->v) == 0;
}

const struct gpu *earlier_gpu(const struct machine *m, const struct gpu *g)
{
	if (!m->earlier || growth_seconds(m) == 0)
		return NULL;
	LIST_FOR_EACH (struct gpu, old, &m->earlier->gpu.gpus)
		if (strcmp(old->pci, g->pci) == 0 && may_be_same(&old->uuid, &g->uuid))
			return old;
	return NULL;
}

const struct nvlink *earlier_link(const struct gpu *before, const struct nvlink *l)
{
	LIST_FOR_EACH (struct nvlink, old, &before->links)
		if (old->index == l->index)
			return old;
	return NULL;
}

const struct rdma_port *earlier_port(const struct machine *m, const struct rdma_port *p)
{
	if (!m->earlier || growth_seconds(m) == 0)
		return NULL;
	LIST_FOR_EACH (struct rdma_port, old, &m->earlier->net.rdma)
		if (strcmp(old->name, p->name) == 0 && may_be_same(&old->board_id, &p->board_id))
			return old;
	return NULL;
}

const struct pci_function *earlier_pci(const struct machine *m, const struct pci_function *p)
{
	const struct pci_function *old =
		m->earlier && growth_seconds(m) ? machine_pci(m->earlier, p->name) : NULL;

	if (!old || fact_or(&old->vendor, 0) != fact_or(&p->vendor, 0) ||
	    fact_or(&old->device, 0) != fact_or(&p->device, 0))
		return NULL;
	return old;
}
