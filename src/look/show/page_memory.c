/* SPDX-License-Identifier: Apache-2.0 */
/* show memory. */
#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

static struct cell pool_place(struct doc *d, const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	if (seen_ok(&p->node.f) && p->node.v >= 0)
		return cell_printf(d, STYLE_PLAIN, "node %lld", p->node.v);
	return cell("machine");
}

static struct cell requested(struct doc *d, const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	if (!seen_ok(&p->requested.f))
		return cell_unseen(&p->requested.f);
	return cell_printf(
		d, seen_ok(&p->total.f) && p->total.v < p->requested.v ? STYLE_BAD : STYLE_PLAIN,
		"%lld", p->requested.v);
}

static const struct pick memory_picks[] = {
	PICK(memory, total_kb, "Total"),
	PICK(memory, available_kb, "Available"),
	PICK(memory, free_kb, "Free"),
	PICK(memory, cached_kb, "Page cache"),
	PICK(memory, dirty_kb, "Dirty"),
	PICK(memory, swap_total_kb, "Swap"),
	PICK(memory, swap_free_kb, "Swap free"),
	PICK(memory, hugetlb_kb, "In explicit huge pages"),
	PICK(memory, hugepage_size_kb, "Huge page, default"),
	PICK(memory, cma_total_kb, "CMA"),
	PICK(memory, cma_free_kb, "CMA free"),
	PICK(memory, page_size, "Page"),
	PICK(memory, thp_enabled, "Transparent huge pages"),
	PICK(memory, thp_defrag, "THP defragmentation"),
	PICK(memory, thp_shmem, "THP for shared memory"),
	PICK(memory, shm_size, "/dev/shm"),
	PICK(memory, memlock, "Lockable memory (memlock)"),
};
static const struct pick pool_picks[] = {
	PICK(huge_pool, size_kb, "Page size"), PICK_MADE(pool_place, "Of"),
	PICK_FIGURE(requested, "Requested"),   PICK(huge_pool, total, "Granted"),
	PICK(huge_pool, free, "Free"),	       PICK(huge_pool, reserved, "Reserved"),
	PICK(huge_pool, surplus, "Surplus"),
};
static const struct pick thp_picks[] = { PICK(thp_size, size_kb, "Size"),
					 PICK(thp_size, enabled, "Enabled") };
static const struct pick swap_picks[] = {
	PICK(swap_area, name, "Area"),	       PICK(swap_area, type, "Type"),
	PICK(swap_area, size_kb, "Size"),      PICK(swap_area, used_kb, "Used"),
	PICK(swap_area, priority, "Priority"),
};
static const struct pick node_picks[] = {
	PICK(numa_node, index, "Node"),
	PICK(numa_node, mem_total_bytes, "Memory"),
	PICK(numa_node, mem_free_bytes, "Free"),
	PICK(numa_node, cpus, "CPUs"),
};

static const struct picks memory = PICKS(schema_memory, memory_picks);
static const struct picks pools = PICKS(schema_huge_pool, pool_picks);
static const struct picks thp = PICKS(schema_thp_size, thp_picks);
static const struct picks swaps = PICKS(schema_swap_area, swap_picks);
static const struct picks nodes = PICKS(schema_numa_node, node_picks);

/* Most machines offer sizes on nodes that nobody has asked for. */
static struct list pools_used(struct arena *a, const struct list *all)
{
	struct list used = { 0 };

	LIST_FOR_EACH (struct huge_pool, p, all)
		if (fact_or(&p->total, 1) || fact_or(&p->surplus, 0) || fact_or(&p->requested, 0))
			*(struct huge_pool *)list_add(a, &used, sizeof(*p)) = *p;
	return used;
}

struct doc *page_memory(struct arena *a, const struct machine *m)
{
	struct list used = pools_used(a, &m->memory.pools);
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Memory");
	show_object(d, m, NULL, &memory, &m->memory);
	show_table(d, m, "NUMA nodes", &nodes, &m->cpu.nodes);
	show_table(d, m, "Explicit huge pages", &pools, &used);
	show_table(d, m, "Transparent huge pages by size", &thp, &m->memory.thp_sizes);
	show_table(d, m, "Swap", &swaps, &m->memory.swaps);
	return d;
}
