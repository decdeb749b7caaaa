/* SPDX-License-Identifier: Apache-2.0 */
/* Rails of a node: every GPU has a fast port of its own, behind its own switch. */
#include <string.h>

#include "base/text.h"
#include "machine/model/topology.h"
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

enum { GPUS_MAX = 64 };

/* A port of a fabric: what is much slower than the fastest is for management. Ports without a link
 * count by their like, because a rail that is down is still a rail. */
static bool is_fabric_port(const struct machine *m, const struct rdma_port *p)
{
	long long fastest = 0, mine = fact_or(&p->rate_mbps, 0);

	LIST_FOR_EACH (struct rdma_port, other, &m->net.rdma) {
		long long rate = fact_or(&other->rate_mbps, 0);

		if (rate > fastest)
			fastest = rate;
		if (rate > mine && seen_ok(&p->board_id.f) &&
		    fact_is(&other->board_id, p->board_id.v))
			mine = rate;
	}
	return *p->pci && mine * 4 >= fastest;
}

static bool has_near_port(const struct machine *m, const struct gpu *g)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (is_fabric_port(m, p) && topology_path(m, g->pci, p->pci) <= PATH_PXB)
			return true;
	return false;
}

/* Fabric ports that stand beside no GPU, or beside one that has another already. */
static void strays(const struct machine *m, const struct rdma_port *const *own, size_t n,
		   struct text *t)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
		bool taken = !is_fabric_port(m, p);

		for (size_t i = 0; i < n; i++)
			taken = taken || own[i] == p;
		if (!taken)
			text_printf(t, "%s%s", t->len ? ", " : "", p->device);
	}
}

/* The map as far as it is right: "gpu0 mlx5_0, gpu1 mlx5_1". A port serves the first GPU that has
 * it. */
static size_t assign(const struct machine *m, const struct rdma_port **own, struct text *lacking)
{
	size_t n = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		const struct rdma_port *best = NULL;

		if (n == GPUS_MAX)
			break;
		LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
			bool taken = !is_fabric_port(m, p) ||
				     topology_path(m, g->pci, p->pci) > PATH_PXB;

			for (size_t i = 0; i < n; i++)
				taken = taken || own[i] == p;
			if (!taken && !best)
				best = p;
		}
		own[n++] = best;
		if (!best)
			text_printf(lacking, "%sgpu%u", lacking->len ? ", " : "", g->index);
	}
	return n;
}

static size_t fabric_ports(const struct machine *m)
{
	size_t n = 0;

	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		n += is_fabric_port(m, p);
	return n;
}

/* Names count up with the GPUs: who lists NICs by name gives every rank the near one. */
static bool in_order(const struct rdma_port *const *own, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (own[i] && own[i - 1] && str_natural(own[i - 1]->device, own[i]->device) > 0)
			return false;
	return true;
}

static void rails(const struct question *q, struct verdict *v)
{
	const struct rdma_port *own[GPUS_MAX] = { 0 };
	TEXT_AUTO lacking = { 0 };
	TEXT_AUTO stray = { 0 };
	const struct machine *m = q->m;
	size_t n, have = 0, lacks = 0;

	if (m->gpu.gpus.n < 2 || !has_rdma(m)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   m->gpu.gpus.n < 2 ? "fewer than two GPUs" : "no RDMA device");
		return;
	}
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		have += has_near_port(m, g);
	if (have == 0 || fabric_ports(m) < m->gpu.gpus.n) {
		verdict_na(v, is_virtual(m) ? CODE_VIRTUAL : CODE_NO_EFFECT,
			   have ? "fewer fast ports than GPUs: this machine has no rails"
				: "no GPU and NIC share a switch: this machine has no rails");
		return;
	}
	n = assign(m, own, &lacking);
	strays(m, own, n, &stray);
	for (size_t i = 0; i < n; i++)
		lacks += !own[i];
	v->current = arena_printf(q->a, "%zu of %zu GPUs have a port of their own", n - lacks, n);
	if (lacks) {
		verdict_fail(v, arena_printf(q->a, "%zu of %zu", n, n),
			     arena_printf(q->a,
					  "%s has no fast port behind its own switch%s%s: its rail "
					  "crosses the processor",
					  lacking.s,
					  stray.len ? ", and beside no GPU of its own is " : "",
					  stray.len ? stray.s : ""));
	} else {
		verdict_pass(v,
			     in_order(own, n)
				     ? "one each, and their names count up as the GPUs do"
				     : "one each; their names do not count up with the GPUs: list "
				       "them for NCCL in the order of the GPUs");
	}
}

static const struct setting rows[] = {
	{ .id = "pcie.rails",
	  .title = "A near port for every GPU",
	  .health = true,
	  .scope = SCOPE_HOST,
	  .read = "sysfs PCI tree, /sys/class/infiniband",
	  .not_when = "there are fewer fast ports than GPUs, or no GPU shares a switch with one",
	  .why = "On a node with rails GPU N talks to GPU N of the other nodes. One port in the "
		 "wrong slot slows every collective.",
	  .source = "S4; Azure HPC node health checks; NVIDIA NCCL user guide",
	  .severity = SEVERITY_HIGH,
	  .judge = rails,
	  .by_hand = "put the adapter into the slot below its GPU's switch, as the board's manual "
		     "has it" },
};

const struct setting_table settings_pcie_rails = SETTING_TABLE(rows);
