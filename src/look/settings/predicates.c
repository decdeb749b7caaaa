/* SPDX-License-Identifier: Apache-2.0 */
/* Shared questions of the rules. */
#include "look/settings/predicates.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool is_virtual(const struct machine *m)
{
	return fact_or(&m->platform.virtual_, 0) == 1;
}

bool recommendation_hidden(const struct machine *m, const struct recommendation *o)
{
	const struct fact *kind = &m->platform.kind.f;

	return o && o->on && (o->on & ON_ALL) != ON_ALL && first_untold(&kind, 1);
}

bool has_unified_memory(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->integrated, 0) == 1)
			return true;
	return !m->gpu.gpus.n && fact_is(&m->platform.kind, "dgx-spark");
}

bool is_superchip(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->c2c, 0) == 1)
			return true;
	return false;
}

unsigned platform_bits(const struct machine *m)
{
	unsigned grace = is_superchip(m) ? ON_GRACE : 0;

	if (fact_is(&m->platform.kind, "dgx-spark"))
		return ON_SPARK;
	if (fact_is(&m->platform.kind, "igx-orin"))
		return ON_IGX;
	if (fact_is(&m->platform.kind, "hgx"))
		return ON_HGX | grace;
	/* One without a driver, or given to a guest, is a GPU all the same. */
	if (!m->gpu.gpus.n && !machine_bus_gpus(m, false) && !machine_bus_gpus(m, true))
		return ON_HOST;
	return ON_GENERIC | grace;
}

bool has_rdma(const struct machine *m)
{
	return m->net.rdma.n > 0;
}

long long memlock_least(const struct machine *m)
{
	long long kb = fact_or(&m->memory.total_kb, 0);

	return kb > 0 && kb < LLONG_MAX / 1024 ? kb / 2 * 1024 : -1;
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

const struct fact *first_untold(const struct fact *const *facts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((facts[i]->seen == SEEN_UNASKED && facts[i]->leaf) ||
		    facts[i]->seen == SEEN_DENIED || facts[i]->seen == SEEN_ERROR)
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

bool not_integrated(const struct rule_ctx *q, struct verdict *v, const char *why)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->integrated, 0) != 1)
		return true;
	verdict_na(v, CODE_INTEGRATED, why);
	return false;
}

bool has_target(const struct rule_ctx *q, struct verdict *v)
{
	if (q->wish && q->wish->rel != WANT_LEAVE)
		return true;
	if (q->wish)
		verdict_na(v, q->s->risk == RISK_DANGER ? CODE_OPT_IN : CODE_LEFT_ALONE,
			   q->wish->because ? q->wish->because : "the profile does not set it");
	else
		verdict_na(v, CODE_NOT_IN_PROFILE,
			   arena_printf(q->a, "the profile %s has no target value for this setting",
					profile_name(q->profile)));
	return false;
}

bool is_seen(const struct rule_ctx *q, struct verdict *v, const struct fact *f,
	     const char *absent_reason)
{
	if (!seen_ok(f))
		verdict_unseen(q, v, f, absent_reason);
	return seen_ok(f);
}

bool is_hidden(const struct rule_ctx *q, struct verdict *v, const struct fact *f)
{
	bool hidden = first_untold(&f, 1) != NULL;

	if (hidden)
		verdict_unseen(q, v, f, NULL);
	return hidden;
}

bool is_bare_metal(const struct rule_ctx *q, struct verdict *v, const char *why)
{
	if (is_hidden(q, v, &q->m->platform.virtual_.f))
		return false;
	if (is_virtual(q->m))
		verdict_na(v, CODE_VIRTUAL, why);
	return !is_virtual(q->m);
}

bool is_connectx(const struct pci_function *p)
{
	return fact_or(&p->vendor, 0) == 0x15b3 && pci_base_class(p) == 0x02 &&
	       fact_or(&p->is_vf, 0) != 1 && !is_switch_management(p);
}

bool is_below(const struct pci_function *p, const struct pci_function *b)
{
	return p->path && b->path && *b->path && str_starts(p->path, b->path) &&
	       p->path[strlen(b->path)] == '/';
}

const struct rdma_port *rdma_of(const struct machine *m, const struct nic *n)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->netdev, n->name))
			return p;
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (*p->pci && strcmp(p->pci, n->pci) == 0)
			return p;
	return NULL;
}

/* The functions stand in two PCI domains, each with a switch of its own. */
static bool may_be_halves(const struct machine *m, const struct nic *a, const struct nic *b)
{
	if (seen_ok(&a->switch_id.f) && fact_is(&b->switch_id, a->switch_id.v))
		return true;
	return fact_is(&m->platform.kind, "dgx-spark") && *a->pci && *b->pci &&
	       fact_is(&a->driver, "mlx5_core") && fact_is(&b->driver, "mlx5_core") &&
	       strcmp(a->pci, b->pci) != 0;
}

const struct nic *port_twin(const struct machine *m, const struct nic *n,
			    const struct fact **unseen)
{
	LIST_FOR_EACH (struct nic, t, &m->net.nics) {
		const struct fact *driver = &t->driver.f;

		if (t != n && unseen && *t->pci && first_untold(&driver, 1))
			*unseen = driver;
		if (t == n || !may_be_halves(m, t, n))
			continue;
		if (seen_ok(&n->port.f) && fact_is(&t->port, n->port.v))
			return t;
		if (unseen && !seen_ok(&t->port.f))
			*unseen = &t->port.f;
	}
	return NULL;
}

bool is_data_port(const struct machine *m, const void *nic)
{
	const struct nic *n = nic;
	long long speed = fact_or(&n->speed_mbps, 0), fastest = 0;

	LIST_FOR_EACH (struct nic, other, &m->net.nics)
		if (*other->pci && is_up(other) && fact_or(&other->speed_mbps, 0) > fastest)
			fastest = other->speed_mbps.v;
	/* 25 Gb/s beside rails of 400 is the way in, not the way between nodes. */
	return (speed <= 0 || speed * 4 >= fastest) && (rdma_of(m, n) || speed >= 25000);
}

bool is_temperature(long long c)
{
	return c > 0 && c < 200;
}

struct gpu_heat gpu_heat(const struct gpu *g)
{
	/* Where limits of GPUs lie: a margin that leads elsewhere is none. */
	enum { LOWEST_C = 60, HIGHEST_C = 130 };
	long long now = fact_or(&g->temperature_c, 0),
		  margin = fact_or(&g->temperature_margin_c, 0),
		  limit = fact_or(&g->temperature_slowdown_c, 0);
	struct gpu_heat h = { .has_now = is_temperature(now), .now_c = now, .limit_c = -1 };

	h.has_margin = seen_ok(&g->temperature_margin_c.f) && margin > -HIGHEST_C &&
		       margin < HIGHEST_C &&
		       (!h.has_now || (now + margin >= LOWEST_C && now + margin <= HIGHEST_C));
	h.odd_margin = seen_ok(&g->temperature_margin_c.f) && !h.has_margin;
	h.has_limit = h.has_now && is_temperature(limit);
	h.left_c = h.has_margin ? margin : h.has_limit ? limit - now : 0;
	if (h.has_now && (h.has_margin || h.has_limit))
		h.limit_c = now + h.left_c;
	h.disagree = h.has_margin && h.has_limit &&
		     (margin >= HEAT_CLOSE_C) != (limit - now >= HEAT_CLOSE_C);
	return h;
}

bool is_up(const struct nic *n)
{
	return fact_is(&n->operstate, "up") || fact_or(&n->carrier, 0) == 1;
}

/* Finding an object again in an earlier reading, and the difference of its counters. */

long long growth_seconds(const struct machine *m)
{
	long long now = fact_or(&m->time_s, 0),
		  then = m->earlier ? fact_or(&m->earlier->time_s, 0) : 0;

	return then > 0 && now > then ? now - then : 0;
}

long long growth(const struct fact_int *now, const struct fact_int *before)
{
	if (!seen_ok(&now->f) || !seen_ok(&before->f) || before->v < 0 || now->v < before->v)
		return -1;
	return now->v - before->v;
}

bool went_back(const struct fact_int *now, const struct fact_int *before)
{
	return seen_ok(&now->f) && seen_ok(&before->f) && now->v < before->v;
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
