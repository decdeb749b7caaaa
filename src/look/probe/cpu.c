/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors: sets, sockets and cores, caches, NUMA nodes. A file that describes several CPUs
 * ("core_cpus_list") is read from one of them only, so that the cost grows with what the machine
 * has and not with its square.
 */
#include "look/probe/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define CPU_DIR "/sys/devices/system/cpu/"

const char *cpu_dir(struct probe *p, unsigned cpu)
{
	return arena_printf(p->a, CPU_DIR "cpu%u/", cpu);
}

/* A set that covers every id is one word per 64 CPUs instead of a search per CPU. */
struct covered {
	unsigned long long *bits;
};

static bool cover(struct covered *c, unsigned id)
{
	unsigned long long bit = 1ull << (id % 64), *word = &c->bits[id / 64];
	bool was = (*word & bit) != 0;

	*word |= bit;
	return was;
}

static struct covered covered_new(struct probe *p)
{
	const struct idset *online = &p->m->cpu.online.v;
	unsigned top = online->n ? online->r[online->n - 1].hi : 0;

	return (struct covered){ arena_array(p->a, top / 64 + 1, sizeof(unsigned long long)) };
}

/*
 * How many distinct groups the CPUs form by one of their list files. each (may be NULL) is called
 * for every group. Unseen when the first CPU's file is.
 */
static struct fact_int count_groups(struct probe *p, const char *leaf,
				    void (*each)(struct probe *, unsigned first,
						 const struct fact_set *))
{
	struct covered seen = covered_new(p);
	struct fact f = { 0 };
	long long n = 0;

	IDSET_FOR_EACH (cpu, &p->m->cpu.online.v) {
		struct fact_set group;

		if (cover(&seen, cpu))
			continue;
		group = probe_set(p, cpu_dir(p, cpu), leaf);
		if (!seen_ok(&group.f)) {
			if (!n)
				return (struct fact_int){ .f = group.f };
			continue;
		}
		IDSET_FOR_EACH (id, &group.v)
			if (idset_has(&p->m->cpu.online.v, id))
				cover(&seen, id);
		if (!n++)
			f = fact_seen(CPU_DIR, arena_printf(p->a, "cpu*/%s", leaf));
		if (each)
			each(p, cpu, &group);
	}
	return (struct fact_int){ .f = f, .v = n };
}

static void add_cluster(struct probe *p, unsigned first, const struct fact_set *cpus)
{
	struct cpu_cluster *c = list_add(p->a, &p->m->cpu.clusters, sizeof(*c));

	(void)first;
	c->index = (unsigned)p->m->cpu.clusters.n - 1;
	c->cpus = *cpus;
}

/* "32768K" */
static struct fact_int cache_size(struct probe *p, const char *dir)
{
	struct fact_str text = probe_str(p, dir, "size");
	unsigned long long bytes = 0;

	if (!seen_ok(&text.f))
		return (struct fact_int){ .f = text.f };
	if (parse_size(text.v, &bytes))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, dir, "size") };
	return fact_int_of((long long)bytes, dir, "size");
}

static struct cpu_cache *cache_row(struct probe *p, unsigned level, const struct fact_str *type,
				   const struct fact_int *size)
{
	struct cpu_cache *c;

	LIST_FOR_EACH (struct cpu_cache, it, &p->m->cpu.caches)
		if (it->level == level && it->size_bytes.v == size->v &&
		    strcmp(it->type.v, type->v) == 0)
			return it;
	c = list_add(p->a, &p->m->cpu.caches, sizeof(*c));
	c->level = level;
	c->type = *type;
	c->size_bytes = *size;
	c->count = fact_int_of(0, size->f.dir, "shared_cpu_list");
	return c;
}

/* What the first cache of an index is. */
struct cache_kind {
	bool known;
	struct fact_int level, size;
	struct fact_str type;
};

/* Arm machines may have several kinds of core, and so may x86 ones that say so. */
static bool mixed_cores(struct probe *p)
{
	return strcmp(p->h->id.machine, "aarch64") == 0 || p->m->cpu.types.n > 1;
}

/* One instance of one cache: counted, and its L3 noted in the cluster that it serves. */
static bool add_cache(struct probe *p, const char *dir, struct cache_kind *kind,
		      struct fact_set *shared)
{
	*shared = probe_set(p, dir, "shared_cpu_list");
	if (!seen_ok(&shared->f))
		return false;
	/* On one kind of core all caches of an index are alike; two kinds differ, and so can their
	 * clusters' L3. */
	if (!kind->known || mixed_cores(p)) {
		kind->level = probe_int(p, dir, "level");
		kind->type = probe_str(p, dir, "type");
		kind->size = cache_size(p, dir);
		kind->known = true;
	}
	if (!seen_ok(&kind->level.f) || !seen_ok(&kind->type.f) || !seen_ok(&kind->size.f))
		return false;
	cache_row(p, (unsigned)kind->level.v, &kind->type, &kind->size)->count.v++;
	if (kind->level.v == 3)
		LIST_FOR_EACH (struct cpu_cluster, c, &p->m->cpu.clusters)
			if (idset_intersects(&c->cpus.v, &shared->v))
				c->l3_bytes = kind->size;
	return true;
}

static void caches(struct probe *p)
{
	const struct idset *online = &p->m->cpu.online.v;
	struct fact_set core;

	if (!online->n)
		return;
	core = probe_set(p, cpu_dir(p, online->r[0].lo), "topology/core_cpus_list");
	/* Indexes are few (L1d, L1i, L2, L3, sometimes a system cache). */
	for (unsigned index = 0; index < 8; index++) {
		struct covered seen = covered_new(p);
		struct cache_kind kind = { 0 };
		bool any = false;

		IDSET_FOR_EACH (cpu, online) {
			struct fact_set shared = { 0 };

			if (cover(&seen, cpu))
				continue;
			if (!add_cache(
				    p,
				    arena_printf(p->a, CPU_DIR "cpu%u/cache/index%u/", cpu, index),
				    &kind, &shared)) {
				/* On hybrid machines a later kind of core may have it; the first
				 * one without it does not end the search, an all-absent index does.
				 */
				if (!any && cpu == online->r[0].lo)
					return;
				continue;
			}
			/* Private to its core on a machine with one kind of core: one a core. */
			if (!any && !mixed_cores(p) && idset_equal(&shared.v, &core.v)) {
				cache_row(p, (unsigned)kind.level.v, &kind.type, &kind.size)
					->count.v += fact_or(&p->m->cpu.cores, 1) - 1;
				break;
			}
			any = true;
			IDSET_FOR_EACH (id, &shared.v)
				if (idset_has(&p->m->cpu.online.v, id))
					cover(&seen, id);
		}
	}
}

/* "Node 0 MemTotal:       131072 kB" */
static struct fact_int node_memory(const char *dir, const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;
	long long kb;

	if (!at || sscanf(at + strlen(key), ": %lld kB", &kb) != 1)
		return (struct fact_int){ .f = fact_unseen(text ? -EPROTO : -ENOENT, dir,
							   "meminfo") };
	return fact_int_of(kb * 1024, dir, "meminfo");
}

static void nodes(struct probe *p)
{
	static const char base[] = "/sys/devices/system/node/";
	struct fact_set online = probe_set(p, base, "online");

	if (!seen_ok(&online.f))
		return;
	IDSET_FOR_EACH (id, &online.v) {
		const char *dir = arena_printf(p->a, "%snode%u/", base, id);
		struct numa_node *n = list_add(p->a, &p->m->cpu.nodes, sizeof(*n));
		char *text = NULL;

		n->index = id;
		n->cpus = probe_set(p, dir, "cpulist");
		n->distance = probe_str(p, dir, "distance");
		if (host_read(p->h, arena_printf(p->a, "%smeminfo", dir), HOST_READ_MAX, p->a,
			      &text, NULL))
			text = NULL;
		n->mem_total_bytes = node_memory(dir, text, "MemTotal");
		n->mem_free_bytes = node_memory(dir, text, "MemFree");
	}
}

/* /proc/cpuinfo up to the first empty line: the first CPU. The whole file is 1.5 KB a CPU. */
static void cpuinfo(struct probe *p)
{
	static const char from[] = "/proc/cpuinfo";
	struct cpus *c = &p->m->cpu;
	char first[8192];
	const char *vendor, *model, *flags;
	size_t len = 0;
	char *end;
	int r = p->h->ops->read(p->h, from, first, sizeof(first) - 1, &len);

	if (r) {
		c->vendor.f = c->model.f = c->hypervisor.f = fact_unseen(r, "", from);
		return;
	}
	first[len < sizeof(first) ? len : sizeof(first) - 1] = '\0';
	end = strstr(first, "\n\n");
	if (end)
		*end = '\0';
	vendor = text_value(p->a, first, "vendor_id", ':');
	model = text_value(p->a, first, "model name", ':');
	flags = text_value(p->a, first, "flags", ':');
	c->vendor = vendor ? fact_str_of(vendor, "", from)
			   : (struct fact_str){ .f = fact_unseen(-ENOENT, "", from) };
	c->model = model ? fact_str_of(model, "", from)
			 : (struct fact_str){ .f = fact_unseen(-ENOENT, "", from) };
	if (flags)
		c->hypervisor = fact_int_of(strstr(flags, " hypervisor") != NULL, "", from);
	else
		c->hypervisor = fact_int_of(host_exists(p->h, "/sys/hypervisor/type"), "",
					    "/sys/hypervisor/type");
}

/* intel_pstate speaks of no_turbo, the other drivers of boost. */
static struct fact_int boost(struct probe *p)
{
	struct fact_int f = probe_int(p, CPU_DIR "intel_pstate/", "no_turbo");

	if (seen_ok(&f.f)) {
		f.v = !f.v;
		return f;
	}
	return probe_int(p, CPU_DIR "cpufreq/", "boost");
}

static struct fact_int cppc_auto_sel(struct probe *p)
{
	struct fact_str f = probe_str(p, "/sys/module/cppc_cpufreq/parameters/", "auto_sel_mode");

	if (!seen_ok(&f.f))
		return (struct fact_int){ .f = f.f };
	return fact_int_of(strcmp(f.v, "Y") == 0 || strcmp(f.v, "1") == 0, f.f.dir, f.f.leaf);
}

/* A cluster that is no more than the first CPU's core is what the kernel says where there are none.
 */
static bool has_clusters(struct probe *p)
{
	const struct idset *online = &p->m->cpu.online.v;
	struct fact_set core, cluster;
	const char *dir;

	if (!online->n)
		return false;
	dir = cpu_dir(p, online->r[0].lo);
	core = probe_set(p, dir, "topology/core_cpus_list");
	cluster = probe_set(p, dir, "topology/cluster_cpus_list");
	return seen_ok(&cluster.f) && !idset_equal(&cluster.v, &core.v);
}

void probe_cpu(struct probe *p)
{
	struct cpus *c = &p->m->cpu;

	c->arch = p->m->kernel.arch;
	c->online = probe_set(p, CPU_DIR, "online");
	c->present = probe_set(p, CPU_DIR, "present");
	c->possible = probe_set(p, CPU_DIR, "possible");
	c->isolated = probe_set(p, CPU_DIR, "isolated");
	c->nohz_full = probe_set(p, CPU_DIR, "nohz_full");
	c->threads = c->online.f.seen == SEEN_OK
			     ? fact_int_of((long long)idset_count(&c->online.v), CPU_DIR, "online")
			     : (struct fact_int){ .f = c->online.f };
	cpuinfo(p);
	c->cores = count_groups(p, "topology/core_cpus_list", NULL);
	c->sockets = count_groups(p, "topology/package_cpus_list", NULL);
	if (has_clusters(p))
		count_groups(p, "topology/cluster_cpus_list", add_cluster);
	if (seen_ok(&c->cores.f) && c->cores.v)
		c->threads_per_core = fact_int_of((c->threads.v + c->cores.v - 1) / c->cores.v,
						  CPU_DIR, "cpu*/topology/core_cpus_list");
	c->smt_active = probe_int(p, CPU_DIR "smt/", "active");
	c->boost = boost(p);
	c->idle_driver = probe_str(p, CPU_DIR "cpuidle/", "current_driver");
	c->idle_governor = probe_str(p, CPU_DIR "cpuidle/", "current_governor");
	if (!seen_ok(&c->idle_governor.f))
		c->idle_governor = probe_str(p, CPU_DIR "cpuidle/", "current_governor_ro");
	c->cppc_auto_sel_mode = cppc_auto_sel(p);
	c->default_smp_affinity = probe_str(p, "/proc/irq/", "default_smp_affinity");
	nodes(p);
	probe_cpu_freq(p);
	probe_cpu_types(p);
	caches(p);
	probe_cpu_idle(p);
}
