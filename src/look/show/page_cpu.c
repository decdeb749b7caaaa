/* SPDX-License-Identifier: Apache-2.0 */
/* show cpu. */
#include <string.h>

#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

static struct cell threads(struct doc *d, const struct machine *m, const void *object)
{
	const struct cpus *c = object;

	(void)m;
	if (!seen_ok(&c->threads.f) || !seen_ok(&c->cores.f) || !seen_ok(&c->sockets.f))
		return cell_int(d, &c->threads, NULL);
	return cell_printf(d, STYLE_PLAIN, "%lld: %lld socket%s, %lld cores, %s", c->threads.v,
			   c->sockets.v, c->sockets.v == 1 ? "" : "s", c->cores.v,
			   !seen_ok(&c->threads_per_core.f) ? "threads per core not seen"
			   : c->threads_per_core.v > 1	    ? "SMT on"
							    : "one thread each");
}

/* "0.8-4 GHz": both in one unit. */
static struct cell range(struct doc *d, const struct fact_int *low, const struct fact_int *high)
{
	if (!seen_ok(&low->f) || !seen_ok(&high->f))
		return cell_int(d, seen_ok(&high->f) ? high : low, "kHz");
	return cell_printf(d, STYLE_PLAIN, "%.4g-%.4g GHz", (double)low->v / 1e6,
			   (double)high->v / 1e6);
}

static struct cell frequency(struct doc *d, const struct machine *m, const void *object)
{
	const struct freq_policy *p = object;

	(void)m;
	return range(d, &p->min_khz, &p->max_khz);
}

static struct cell hardware_frequency(struct doc *d, const struct machine *m, const void *object)
{
	const struct freq_policy *p = object;

	(void)m;
	/* Worth a column only where somebody has narrowed the bounds. */
	if (seen_ok(&p->min_khz.f) && seen_ok(&p->max_khz.f) &&
	    p->min_khz.v == fact_or(&p->hw_min_khz, -1) &&
	    p->max_khz.v == fact_or(&p->hw_max_khz, -1))
		return (struct cell){ .text = "the same", .style = STYLE_MUTED, .nothing = true };
	return range(d, &p->hw_min_khz, &p->hw_max_khz);
}

/* The kernel's mask in groups of 32 bits, "ff,ffffffff", as CPU ranges. */
static struct cell interrupts(struct doc *d, const struct machine *m, const void *object)
{
	const struct fact_str *f = &((const struct cpus *)object)->default_smp_affinity;
	struct idset set = { 0 };
	unsigned bit = 0;

	(void)m;
	if (!seen_ok(&f->f))
		return cell_unseen(&f->f);
	for (size_t i = strlen(f->v); i-- > 0 && bit < IDSET_MAX;) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, f->v[i]);

		if (f->v[i] == ',')
			continue;
		if (!at)
			return cell(f->v);
		for (unsigned b = 0; b < 4; b++)
			if ((unsigned)(at - digits) >> b & 1)
				idset_add(d->arena, &set, bit + b);
		bit += 4;
	}
	return cell(set.n ? idset_format(d->arena, &set) : f->v);
}

static struct cell cache(struct doc *d, const struct machine *m, const void *object)
{
	const struct cpu_cache *c = object;

	(void)m;
	return cell_printf(d, STYLE_PLAIN, "L%u", c->level);
}

static const struct pick cpu_picks[] = {
	PICK(cpus, model, "Model"),
	PICK(cpus, arch, "Architecture"),
	PICK(cpus, vendor, "Vendor"),
	PICK_MADE(threads, "CPUs"),
	PICK(cpus, online, "Online"),
	PICK(cpus, isolated, "Isolated"),
	PICK(cpus, nohz_full, "Without tick (nohz_full)"),
	PICK(cpus, smt_active, "SMT active"),
	PICK(cpus, boost, "Boost"),
	PICK(cpus, idle_driver, "Idle driver"),
	PICK(cpus, idle_governor, "Idle governor"),
	PICK(cpus, cppc_auto_sel_mode, "CPPC autonomous selection"),
	PICK(cpus, hypervisor, "In a virtual machine"),
	PICK_MADE(interrupts, "Interrupts go to CPUs"),
};
static const struct pick type_picks[] = {
	PICK(core_type, name, "Core type"),    PICK(core_type, role, "Role"),
	PICK(core_type, cpus, "CPUs"),	       PICK(core_type, max_khz, "Up to"),
	PICK(core_type, capacity, "Capacity"), PICK(core_type, midr, "MIDR"),
};
static const struct pick policy_picks[] = {
	PICK(freq_policy, cpus, "CPUs"),
	PICK(freq_policy, driver, "Driver"),
	PICK(freq_policy, governor, "Governor"),
	PICK(freq_policy, epp, "Preference"),
	PICK_FIGURE(frequency, "Bounds"),
	PICK_FIGURE(hardware_frequency, "Hardware"),
	PICK(freq_policy, auto_select, "Autonomous"),
};
static const struct pick cluster_picks[] = {
	PICK(cpu_cluster, index, "Cluster"),
	PICK(cpu_cluster, cpus, "CPUs"),
	PICK(cpu_cluster, l3_bytes, "L3"),
};
static const struct pick cache_picks[] = {
	PICK_MADE(cache, "Cache"),
	PICK(cpu_cache, type, "Type"),
	PICK(cpu_cache, size_bytes, "Each"),
	PICK(cpu_cache, count, "Count"),
};
static const struct pick node_picks[] = {
	PICK(numa_node, index, "Node"),
	PICK(numa_node, cpus, "CPUs"),
	PICK(numa_node, mem_total_bytes, "Memory"),
	PICK(numa_node, mem_free_bytes, "Free"),
	PICK(numa_node, distance, "Distances"),
};

static const struct picks cpu = PICKS(schema_cpus, cpu_picks);
static const struct picks types = PICKS(schema_core_type, type_picks);
static const struct picks policies = PICKS(schema_freq_policy, policy_picks);
static const struct picks clusters = PICKS(schema_cpu_cluster, cluster_picks);
static const struct picks caches = PICKS(schema_cpu_cache, cache_picks);
static const struct picks nodes = PICKS(schema_numa_node, node_picks);

/* A line a state, below the CPUs that have it. */
static void idle_states(struct doc *d, const struct machine *m)
{
	static const struct column columns[] = {
		{ "CPUs", false, false },     { "Idle state", false, false },
		{ "Wakes in", true, false },  { "Worth from", true, false },
		{ "Disabled", false, false },
	};
	struct node *n = doc_table(d, "Idle states", columns, sizeof(columns) / sizeof(columns[0]));

	LIST_FOR_EACH (struct idle_group, g, &m->cpu.idle) {
		bool first = true;

		LIST_FOR_EACH (struct idle_state, s, &g->states) {
			struct cell *row = node_row(d, n);

			row[0] = first ? cell_set(d, &g->cpus) : cell("");
			row[1] = cell_str(&s->name);
			row[2] = cell_int(d, &s->latency, "us");
			row[3] = cell_int(d, &s->residency, "us");
			row[4] = cell_bool(&s->disabled, "yes", "no");
			first = false;
		}
	}
	node_drop_empty(n);
}

struct doc *page_cpu(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Processors");
	show_object(d, m, NULL, &cpu, &m->cpu);
	show_table(d, m, "Core types", &types, &m->cpu.types);
	show_merged(d, m, "Frequency", &policies, &m->cpu.policies);
	idle_states(d, m);
	show_table(d, m, "NUMA nodes", &nodes, &m->cpu.nodes);
	show_table(d, m, "Clusters", &clusters, &m->cpu.clusters);
	show_table(d, m, "Caches", &caches, &m->cpu.caches);
	return d;
}
