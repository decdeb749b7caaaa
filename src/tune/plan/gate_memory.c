/* SPDX-License-Identifier: Apache-2.0 */
/* Huge pages beyond the memory that can be spared: a tenth of it stays with everything else. What
 * the plan's earlier changes take counts. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/gate.h"

enum { SPARE = 10 }; /* a tenth */

struct request {
	long long size_kb, pages; /* pages: more than there are */
	long long node;		  /* -1: the whole machine */
};

static bool parse(const struct machine *m, const struct change *c, struct request *r)
{
	long long before, after;
	unsigned node;
	int n = 0;

	r->node = -1;
	if (c->knob.kind == KNOB_SYSCTL && strcmp(c->knob.name, "vm.nr_hugepages") == 0) {
		r->size_kb = fact_or(&m->memory.hugepage_size_kb, 0);
	} else if (c->knob.kind != KNOB_SYSFS) {
		return false;
	} else if (sscanf(c->knob.name,
			  "/sys/devices/system/node/node%u/hugepages/"
			  "hugepages-%lldkB/nr_hugepages%n",
			  &node, &r->size_kb, &n) == 2 &&
		   n) {
		r->node = node;
	} else if (sscanf(c->knob.name, "/sys/kernel/mm/hugepages/hugepages-%lldkB/nr_hugepages%n",
			  &r->size_kb, &n) != 1 ||
		   !n) {
		return false;
	}
	if (r->size_kb <= 0 || !c->before || parse_i64(c->before, &before) ||
	    parse_i64(c->after, &after) || before < 0)
		return false;
	r->pages = after - before;
	return r->pages > 0;
}

static const char *refuse(struct gates *g, const struct request *r, long long room,
			  const char *where)
{
	long long fit = room > 0 ? room / r->size_kb : 0;

	return arena_printf(g->a,
			    "%lld more pages of %lld MiB need %.1f GiB, and %s %.1f GiB can be "
			    "spared, a tenth of it kept back: ask for %lld more at most, or free "
			    "memory first",
			    r->pages, r->size_kb / 1024,
			    (double)r->pages * (double)r->size_kb / (1 << 20), where,
			    room > 0 ? (double)room / (1 << 20) : 0.0, fit);
}

static const char *on_node(struct gates *g, const struct request *r, long long need_kb)
{
	LIST_FOR_EACH (struct numa_node, n, &g->m->cpu.nodes) {
		long long room;

		if (n->index != r->node || n->index >= GATE_NODES_MAX ||
		    !seen_ok(&n->mem_free_bytes.f))
			continue;
		room = n->mem_free_bytes.v / 1024 - fact_or(&n->mem_total_bytes, 0) / 1024 / SPARE -
		       g->node_huge_kb[n->index];
		if (need_kb > room)
			return refuse(g, r, room, arena_printf(g->a, "of node %u only", n->index));
		g->node_huge_kb[n->index] += need_kb;
		return NULL;
	}
	return NULL;
}

const char *gate_huge_pages(struct gates *g, const struct change *c)
{
	const struct memory *mem = &g->m->memory;
	struct request r = { 0 };
	long long need_kb, room;
	const char *why;

	if (!parse(g->m, c, &r))
		return NULL;
	if (__builtin_mul_overflow(r.pages, r.size_kb, &need_kb))
		return refuse(g, &r, 0, "only");
	if (seen_ok(&mem->available_kb.f) || seen_ok(&mem->free_kb.f)) {
		room = (seen_ok(&mem->available_kb.f) ? mem->available_kb.v : mem->free_kb.v) -
		       fact_or(&mem->total_kb, 0) / SPARE - g->huge_kb;
		if (need_kb > room)
			return refuse(g, &r, room, "only");
	}
	why = r.node >= 0 ? on_node(g, &r, need_kb) : NULL;
	if (!why)
		g->huge_kb += need_kb;
	return why;
}
