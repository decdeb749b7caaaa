/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors: sets, sockets and cores, caches, NUMA nodes. A file that describes several CPUs
 * ("core_cpus_list") is read from one of them only, so that the cost grows with what the machine
 * has and not with its square.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/text.h"

#define CPU_DIR "/sys/devices/system/cpu/"

/* "/sys/devices/system/cpu/cpuN/", in arena memory. */
static const char *cpu_dir(struct probe *p, unsigned cpu)
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

static void probe_cpu_nodes(struct probe *p)
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
	vendor = str_value(p->a, first, "vendor_id", ':');
	model = str_value(p->a, first, "model name", ':');
	flags = str_value(p->a, first, "flags", ':');
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

/* Frequency policies: one row a clock domain, never one a CPU that shares it. */

/* cpufreq separates CPUs with blanks, unlike every other list of the kernel. */
static struct fact_set probe_cpu_list(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str text = probe_str(p, dir, leaf);
	struct fact_set out = { .f = text.f };
	char *s;

	if (!seen_ok(&text.f))
		return out;
	s = arena_strdup(p->a, text.v);
	s[strcspn(s, "\n")] = '\0';
	for (char *c = s; *c; c++)
		if (*c == ' ')
			*c = ',';
	if (idset_parse(p->a, s, &out.v))
		out.f = fact_unseen(-EPROTO, dir, leaf);
	return out;
}

/* alone: there is a policy for every CPU, so this one is the CPU of its number. */
static void add_policy(struct probe *p, const char *name, bool alone)
{
	const char *dir = arena_printf(p->a, "/sys/devices/system/cpu/cpufreq/%s/", name);
	struct freq_policy *f = list_add(p->a, &p->m->cpu.policies, sizeof(*f));
	const struct freq_policy *first = p->m->cpu.policies.items;

	f->index = (unsigned)atoi(name + strlen("policy"));
	if (alone) {
		f->cpus.f = fact_seen("/sys/devices/system/cpu/cpufreq/", name);
		idset_add(p->a, &f->cpus.v, f->index);
	} else {
		f->cpus = probe_cpu_list(p, dir, "affected_cpus");
		if (!seen_ok(&f->cpus.f))
			f->cpus = probe_cpu_list(p, dir, "related_cpus");
	}
	/* The kernel has one driver for all policies. */
	f->driver = f == first ? probe_str(p, dir, "scaling_driver") : first->driver;
	f->governor = probe_str(p, dir, "scaling_governor");
	/* The governors on offer are the driver's and the kernel's: the same for all policies. */
	f->governors =
		f == first ? probe_str(p, dir, "scaling_available_governors") : first->governors;
	if (!p->lean)
		f->min_khz = probe_int(p, dir, "scaling_min_freq");
	f->max_khz = probe_int(p, dir, "scaling_max_freq");
	if (!p->lean)
		f->hw_min_khz = probe_int(p, dir, "cpuinfo_min_freq");
	f->hw_max_khz = probe_int(p, dir, "cpuinfo_max_freq");
	/* A driver that lacks these on its first policy lacks them on all. */
	f->epp = f == first || seen_ok(&first->epp.f)
			 ? probe_str(p, dir, "energy_performance_preference")
			 : first->epp;
	f->auto_select = f == first || seen_ok(&first->auto_select.f)
				 ? probe_int(p, dir, "auto_select")
				 : first->auto_select;
}

static void probe_cpu_freq(struct probe *p)
{
	size_t n, policies = 0;
	char **names;

	if (host_list(p->h, "/sys/devices/system/cpu/cpufreq", p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		policies += str_starts(names[i], "policy");
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], "policy"))
			add_policy(p, names[i], policies == idset_count(&p->m->cpu.present.v));
}

/*
 * Idle states, grouped: CPUs whose states have the same names, latencies and disable flags are one
 * row. Names and latencies are read once a kind of core, the flags of every CPU, because they are
 * set one by one.
 */

enum { STATES_MAX = 16 };

/* The states of the first CPU of a kind of core. */
struct pattern {
	struct list states; /* struct idle_state; disabled is that CPU's */
	const struct core_type *type;
};

static struct list read_states(struct probe *p, unsigned cpu)
{
	struct list states = { 0 };

	for (unsigned i = 0; i < STATES_MAX; i++) {
		const char *dir = arena_printf(
			p->a, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/", cpu, i);
		struct fact_str name = probe_str(p, dir, "name");
		struct idle_state *s;

		if (name.f.seen == SEEN_ABSENT || name.f.seen == SEEN_UNASKED)
			break;
		s = list_add(p->a, &states, sizeof(*s));
		s->index = i;
		s->name = name;
		s->latency = probe_int(p, dir, "latency");
		s->residency = probe_int(p, dir, "residency");
		s->disabled = probe_int(p, dir, "disable");
	}
	return states;
}

static const struct core_type *type_of(struct probe *p, unsigned cpu)
{
	LIST_FOR_EACH (struct core_type, t, &p->m->cpu.types)
		if (idset_has(&t->cpus.v, cpu))
			return t;
	return NULL;
}

static struct pattern *pattern_of(struct probe *p, struct list *patterns, unsigned cpu, bool *fresh)
{
	const struct core_type *type = type_of(p, cpu);
	struct pattern *pat;

	*fresh = false;
	LIST_FOR_EACH (struct pattern, it, patterns)
		if (it->type == type)
			return it;
	*fresh = true;
	pat = list_add(p->a, patterns, sizeof(*pat));
	pat->type = type;
	pat->states = read_states(p, cpu);
	return pat;
}

/* This CPU's flags as one number (bit per state), -1 when one could not be read. */
static long long flags_of(struct probe *p, const struct pattern *pat, unsigned cpu, bool fresh)
{
	const struct idle_state *s = pat->states.items;
	long long flags = 0;

	for (size_t i = 0; i < pat->states.n; i++) {
		char path[128], buf[32];
		long long v = 0;

		if (fresh) {
			if (!seen_ok(&s[i].disabled.f))
				return -1;
			v = s[i].disabled.v;
		} else {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/disable", cpu,
				 s[i].index);
			if (host_read_line(p->h, path, buf, sizeof(buf)) || parse_i64(buf, &v))
				return -1;
		}
		flags |= (long long)(v != 0) << i;
	}
	return flags;
}

/* A group under construction, beside its row. */
struct key {
	const struct core_type *type;
	long long flags;
};

static struct idle_group *group_for(struct probe *p, struct list *keys, const struct pattern *pat,
				    long long flags)
{
	struct idle_group *g = p->m->cpu.idle.items;
	const struct key *k = keys->items;
	struct idle_state *s;

	for (size_t i = 0; i < keys->n; i++)
		if (k[i].flags == flags && k[i].type == pat->type)
			return &g[i];
	*(struct key *)list_add(p->a, keys, sizeof(struct key)) = (struct key){ pat->type, flags };
	g = list_add(p->a, &p->m->cpu.idle, sizeof(*g));
	g->cpus.f = fact_seen("/sys/devices/system/cpu/", "cpu*/cpuidle");
	for (size_t i = 0; i < pat->states.n; i++) {
		s = list_add(p->a, &g->states, sizeof(*s));
		*s = ((const struct idle_state *)pat->states.items)[i];
		if (flags < 0)
			s->disabled.f = fact_unseen(-EIO, s->disabled.f.dir, s->disabled.f.leaf);
		else
			s->disabled = fact_int_of(flags >> i & 1, "/sys/devices/system/cpu/",
						  "cpu*/cpuidle/state*/disable");
	}
	return g;
}

static void probe_cpu_idle(struct probe *p)
{
	struct list patterns = { 0 }, keys = { 0 };

	IDSET_FOR_EACH (cpu, &p->m->cpu.online.v) {
		struct pattern *pat;
		struct idle_group *g;
		bool fresh;

		pat = pattern_of(p, &patterns, cpu, &fresh);
		if (!pat->states.n)
			continue;
		g = group_for(p, &keys, pat, flags_of(p, pat, cpu, fresh));
		idset_add(p->a, &g->cpus.v, cpu);
	}
}

/*
 * Kinds of core, by what each CPU says of itself: MIDR (arm64), capacity, maximum frequency, or the
 * kernel's lists of a hybrid x86 chip. Never by CPU numbers: a published guide has them wrong for
 * its own machine.
 */

/* Implementer and part number of MIDR_EL1. Source: Arm core technical reference manuals; kernel
 * cputype.h. */
static const struct {
	unsigned implementer, part;
	const char *name;
} parts[] = {
	{ 0x41, 0xd03, "Cortex-A53" },	   { 0x41, 0xd05, "Cortex-A55" },
	{ 0x41, 0xd07, "Cortex-A57" },	   { 0x41, 0xd08, "Cortex-A72" },
	{ 0x41, 0xd0b, "Cortex-A76" },	   { 0x41, 0xd0c, "Neoverse N1" },
	{ 0x41, 0xd40, "Neoverse V1" },	   { 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd42, "Cortex-A78AE" },   { 0x41, 0xd44, "Cortex-X1" },
	{ 0x41, 0xd47, "Cortex-A710" },	   { 0x41, 0xd48, "Cortex-X2" },
	{ 0x41, 0xd49, "Neoverse N2" },	   { 0x41, 0xd4d, "Cortex-A715" },
	{ 0x41, 0xd4e, "Cortex-X3" },	   { 0x41, 0xd4f, "Neoverse V2" },
	{ 0x41, 0xd80, "Cortex-A520" },	   { 0x41, 0xd81, "Cortex-A720" },
	{ 0x41, 0xd82, "Cortex-X4" },	   { 0x41, 0xd84, "Neoverse V3" },
	{ 0x41, 0xd85, "Cortex-X925" },	   { 0x41, 0xd87, "Cortex-A725" },
	{ 0x41, 0xd8e, "Neoverse N3" },	   { 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0x4e, 0x010, "NVIDIA Olympus" },
};

static const char *part_name(struct probe *p, unsigned implementer, unsigned part)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].implementer == implementer && parts[i].part == part)
			return parts[i].name;
	return arena_printf(p->a, "core 0x%02x:0x%03x", implementer, part);
}

/* What tells one kind of core from another. Two clusters of one part may have different
 * frequencies: they stay one kind, because a program cannot tell them apart by anything but speed
 * bins. */
static struct core_type *type_for(struct probe *p, const char *name)
{
	struct core_type *t;

	LIST_FOR_EACH (struct core_type, it, &p->m->cpu.types)
		if (strcmp(it->name, name) == 0)
			return it;
	t = list_add(p->a, &p->m->cpu.types, sizeof(*t));
	t->name = name;
	return t;
}

/* The policies' maxima by CPU, so that 4,096 CPUs do not search 4,096 policies each. */
static const struct fact_int **max_by_cpu(struct probe *p, unsigned top)
{
	const struct fact_int **by_cpu = arena_array(p->a, top + 1, sizeof(*by_cpu));

	LIST_FOR_EACH (struct freq_policy, f, &p->m->cpu.policies)
		IDSET_FOR_EACH (cpu, &f->cpus.v)
			if (cpu <= top)
				by_cpu[cpu] = &f->hw_max_khz;
	return by_cpu;
}

static void keep_larger(struct fact_int *have, const struct fact_int *f)
{
	if (f && (!seen_ok(&have->f) || (seen_ok(&f->f) && f->v > have->v)))
		*have = *f;
}

static void add_cpu(struct probe *p, unsigned cpu, const struct fact_int *max_khz)
{
	const char *dir = cpu_dir(p, cpu), *name;
	struct fact_str midr = probe_str(p, dir, "regs/identification/midr_el1");
	struct fact_int capacity = probe_int(p, dir, "cpu_capacity");
	unsigned long long v = 0;
	struct core_type *t;
	unsigned part = 0;

	if (seen_ok(&midr.f) && parse_hex(midr.v, &v) == 0) {
		part = (unsigned)(v >> 4) & 0xfff;
		name = part_name(p, (unsigned)(v >> 24) & 0xff, part);
	} else if (seen_ok(&capacity.f)) {
		name = arena_printf(p->a, "core of capacity %lld", capacity.v);
	} else {
		return;
	}
	t = type_for(p, name);
	if (!seen_ok(&t->midr.f)) {
		t->midr = midr;
		t->part = part ? fact_int_of(part, dir, "regs/identification/midr_el1")
			       : (struct fact_int){ .f = midr.f };
	}
	keep_larger(&t->capacity, &capacity);
	keep_larger(&t->max_khz, max_khz);
	idset_add(p->a, &t->cpus.v, cpu);
	t->cpus.f = fact_seen("/sys/devices/system/cpu/",
			      seen_ok(&midr.f) ? "cpu*/regs/identification/midr_el1"
					       : "cpu*/cpu_capacity");
}

static bool x86_hybrid(struct probe *p)
{
	static const struct {
		const char *dir, *name;
	} kinds[] = { { "/sys/devices/cpu_core/", "performance core" },
		      { "/sys/devices/cpu_atom/", "efficiency core" } };

	for (size_t i = 0; i < 2; i++) {
		struct fact_set cpus = probe_set(p, kinds[i].dir, "cpus");
		struct core_type *t;

		if (!seen_ok(&cpus.f))
			return false;
		t = list_add(p->a, &p->m->cpu.types, sizeof(*t));
		t->name = kinds[i].name;
		t->cpus = cpus;
		t->role = fact_str_of(i ? "little" : "big", kinds[i].dir, "cpus");
	}
	return true;
}

/* Speed order: by capacity, where two have none or the same, by maximum frequency. */
static int by_speed(const struct core_type *x, const struct core_type *y)
{
	long long a = fact_or(&x->capacity, 0), b = fact_or(&y->capacity, 0);

	if (a == b) {
		a = fact_or(&x->max_khz, 0);
		b = fact_or(&y->max_khz, 0);
	}
	return (a > b) - (a < b);
}

static void give_roles(struct probe *p)
{
	struct list *types = &p->m->cpu.types;

	LIST_FOR_EACH (struct core_type, t, types) {
		size_t faster = 0, slower = 0;

		LIST_FOR_EACH (struct core_type, other, types) {
			faster += by_speed(other, t) > 0;
			slower += by_speed(other, t) < 0;
		}
		t->role = fact_str_of(!faster && !slower ? "all"
				      : !faster		 ? "big"
				      : !slower		 ? "little"
							 : "mid",
				      "/sys/devices/system/cpu/", "cpu*/cpu_capacity");
	}
}

/* On arm64 /proc/cpuinfo has no model name: the kinds of core are it. */
static void name_model(struct probe *p)
{
	TEXT_AUTO t = { 0 };

	if (seen_ok(&p->m->cpu.model.f) || !p->m->cpu.types.n)
		return;
	LIST_FOR_EACH (struct core_type, it, &p->m->cpu.types)
		text_printf(&t, "%s%zu x %s", t.len ? " + " : "", idset_count(&it->cpus.v),
			    it->name);
	p->m->cpu.model = fact_str_of(arena_strdup(p->a, t.s), "/sys/devices/system/cpu/",
				      "cpu*/regs/identification/midr_el1");
	if (!seen_ok(&p->m->cpu.vendor.f))
		p->m->cpu.vendor = fact_str_of("ARM", "/sys/devices/system/cpu/",
					       "cpu*/regs/identification/midr_el1");
}

static void probe_cpu_types(struct probe *p)
{
	const struct idset *online = &p->m->cpu.online.v;
	const struct fact_int **max_khz;

	if (!online->n)
		return;
	if (strcmp(p->h->id.machine, "aarch64") != 0) {
		x86_hybrid(p);
		return;
	}
	max_khz = max_by_cpu(p, online->r[online->n - 1].hi);
	IDSET_FOR_EACH (cpu, online)
		add_cpu(p, cpu, max_khz[cpu]);
	give_roles(p);
	name_model(p);
}

static void cppc_of(struct probe *p, unsigned cpu)
{
	const char *dir = arena_printf(p->a, CPU_DIR "cpu%u/acpi_cppc/", cpu);
	struct cpus *c = &p->m->cpu;
	struct fact_int highest = probe_int(p, dir, "highest_perf"),
			nominal = probe_int(p, dir, "nominal_perf");
	bool first = !c->cppc_nominal.f.leaf, good = seen_ok(&highest.f) && seen_ok(&nominal.f);

	/* Firmware that fills in 0 has told nothing. */
	if (good && (highest.v <= 0 || nominal.v <= 0)) {
		highest.f = fact_unseen(-EPROTO, dir, "highest_perf");
		nominal.f = fact_unseen(-EPROTO, dir, "nominal_perf");
		good = false;
	}
	if (!first && (!good || (seen_ok(&c->cppc_nominal.f) &&
				 highest.v * c->cppc_nominal.v <= c->cppc_highest.v * nominal.v)))
		return;
	c->cppc_highest = highest;
	c->cppc_nominal = nominal;
}

/* Clusters of one kind of core may have limits of their own (GB10): the first and the last CPU of
 * each kind are asked. */
static void probe_cpu_cppc(struct probe *p)
{
	const struct cpus *c = &p->m->cpu;

	if (!seen_ok(&c->boost.f) || c->boost.v != 0)
		return;
	LIST_FOR_EACH (struct core_type, t, &c->types)
		if (t->cpus.v.n) {
			cppc_of(p, t->cpus.v.r[0].lo);
			cppc_of(p, t->cpus.v.r[t->cpus.v.n - 1].hi);
		}
	if (!c->types.n && c->online.v.n)
		cppc_of(p, c->online.v.r[0].lo);
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
	c->platform_profile = probe_str(p, "/sys/firmware/acpi/", "platform_profile");
	c->boost = boost(p);
	c->idle_driver = probe_str(p, CPU_DIR "cpuidle/", "current_driver");
	c->idle_governor = probe_str(p, CPU_DIR "cpuidle/", "current_governor");
	if (!seen_ok(&c->idle_governor.f))
		c->idle_governor = probe_str(p, CPU_DIR "cpuidle/", "current_governor_ro");
	c->perf_max_pct = probe_int(p, CPU_DIR "intel_pstate/", "max_perf_pct");
	if (!p->lean && seen_ok(&c->perf_max_pct.f))
		c->perf_min_pct = probe_int(p, CPU_DIR "intel_pstate/", "min_perf_pct");
	c->cppc_auto_sel_mode = cppc_auto_sel(p);
	c->default_smp_affinity = probe_str(p, "/proc/irq/", "default_smp_affinity");
	probe_cpu_nodes(p);
	probe_cpu_freq(p);
	probe_cpu_types(p);
	probe_cpu_cppc(p);
	caches(p);
	probe_cpu_idle(p);
}
