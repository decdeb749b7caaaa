/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: meminfo, huge pages asked for and granted, transparent huge pages, swap, limits. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/probe.h"

#define MM "/sys/kernel/mm/"
/* A captured file may say anything, and kB become bytes. */
#define MOST_KB (1ll << 50)
#define CGROUP "/sys/fs/cgroup/"
enum { GROUPS_MAX = 64 };

static void meminfo(struct probe *p)
{
	struct memory *m = &p->m->memory;
	const struct {
		const char *key;
		struct fact_int *fact;
	} rows[] = {
		{ "MemTotal", &m->total_kb },
		{ "MemAvailable", &m->available_kb },
		{ "MemFree", &m->free_kb },
		{ "Cached", &m->cached_kb },
		{ "Buffers", &m->buffers_kb },
		{ "Shmem", &m->shmem_kb },
		{ "Dirty", &m->dirty_kb },
		{ "SwapTotal", &m->swap_total_kb },
		{ "SwapFree", &m->swap_free_kb },
		{ "Hugetlb", &m->hugetlb_kb },
		{ "Hugepagesize", &m->hugepage_size_kb },
		{ "CmaTotal", &m->cma_total_kb },
		{ "CmaFree", &m->cma_free_kb },
	};
	char *text = NULL;
	int r = host_read(p->h, "/proc/meminfo", HOST_READ_MAX, p->a, &text, NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *value = r ? NULL : str_value(p->a, text, rows[i].key, ':');
		const char *leaf = arena_printf(p->a, "meminfo %s", rows[i].key);
		long long kb = 0;

		if (value && str_ends(value, " kB"))
			value[strlen(value) - 3] = '\0';
		if (!value || parse_i64(value, &kb) || kb < 0 || kb > MOST_KB)
			rows[i].fact->f = fact_unseen(r	      ? r
						      : value ? -EPROTO
							      : -ENOENT,
						      "/proc/", leaf);
		else
			*rows[i].fact = fact_int_of(kb, "/proc/", leaf);
	}
}

/* The pages that a value of "hugepages=" asks for on one node (-1: on all); -1: it does not. */

static long long asked_in(const char *value, long long node)
{
	long long sum = 0, n;
	bool per_node = strchr(value, ':') != NULL, found = false;
	char *end;

	if (!per_node)
		return node < 0 && parse_i64(value, &n) == 0 ? n : -1;
	/* "0:2,1:2" */
	while (isdigit((unsigned char)*value)) {
		long long id = strtoll(value, &end, 10);

		if (*end != ':')
			return -1;
		n = strtoll(end + 1, &end, 10);
		if (node < 0 || id == node) {
			sum += n;
			found = true;
		}
		value = *end == ',' ? end + 1 : end;
	}
	return found ? sum : -1;
}

/* hugepages= belongs to the hugepagesz= before it, or to the default size when none came before. */
static struct fact_int probe_memory_requested(struct probe *p, long long size_kb, long long node)
{
	static const char from[] = "/proc/cmdline";
	const char *def = kernel_arg_value(&p->m->kernel, "default_hugepagesz");
	unsigned long long bytes = 0;
	long long current = fact_or(&p->m->memory.hugepage_size_kb, -1), n, out = -1;

	if (!seen_ok(&p->m->kernel.cmdline.f))
		return (struct fact_int){ .f = p->m->kernel.cmdline.f };
	if (def && parse_size(def, &bytes) == 0)
		current = (long long)(bytes / 1024);
	LIST_FOR_EACH (struct kernel_arg, arg, &p->m->kernel.args) {
		if (strcmp(arg->name, "hugepagesz") == 0 && parse_size(arg->value.v, &bytes) == 0)
			current = (long long)(bytes / 1024);
		if (strcmp(arg->name, "hugepages") == 0 && current == size_kb) {
			n = asked_in(arg->value.v, node);
			if (n >= 0)
				out = n;
		}
	}
	if (out < 0)
		return (struct fact_int){ .f = fact_unseen(-ENOENT, "", from) };
	return fact_int_of(out, "", from);
}

static void add_pool(struct probe *p, const char *base, const char *name, long long node)
{
	struct huge_pool *pool;
	const char *dir = arena_printf(p->a, "%s%s/", base, name);
	long long size = atoll(name + strlen("hugepages-"));

	pool = list_add(p->a, &p->m->memory.pools, sizeof(*pool));
	pool->name = node < 0 ? arena_printf(p->a, "%lldkB", size)
			      : arena_printf(p->a, "%lldkB node%lld", size, node);
	pool->node = fact_int_of(node, "", dir);
	pool->size_kb = fact_int_of(size, "", dir);
	pool->total = probe_int(p, dir, "nr_hugepages");
	pool->free = probe_int(p, dir, "free_hugepages");
	/* Reservations are of the whole machine: a node has no such file. */
	if (node < 0)
		pool->reserved = probe_int(p, dir, "resv_hugepages");
	pool->surplus = probe_int(p, dir, "surplus_hugepages");
	pool->requested = probe_memory_requested(p, size, node);
}

static void add_pools(struct probe *p, const char *base, long long node)
{
	char **names;
	size_t n;

	if (host_list(p->h, base, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], "hugepages-") && str_ends(names[i], "kB"))
			add_pool(p, base, names[i], node);
}

static void huge_pools(struct probe *p)
{
	add_pools(p, MM "hugepages/", -1);
	/* On one node the node's pools are the machine's. */
	if (p->m->cpu.nodes.n > 1)
		LIST_FOR_EACH (struct numa_node, node, &p->m->cpu.nodes)
			add_pools(p,
				  arena_printf(p->a, "/sys/devices/system/node/node%u/hugepages/",
					       node->index),
				  node->index);
}

static void transparent(struct probe *p)
{
	static const char dir[] = MM "transparent_hugepage/";
	struct memory *m = &p->m->memory;
	char **names;
	size_t n;

	m->thp_enabled = probe_choice(p, dir, "enabled", NULL);
	m->thp_defrag = probe_choice(p, dir, "defrag", NULL);
	m->thp_shmem = probe_choice(p, dir, "shmem_enabled", NULL);
	if (host_list(p->h, dir, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct thp_size *s;

		if (!str_starts(names[i], "hugepages-"))
			continue;
		s = list_add(p->a, &m->thp_sizes, sizeof(*s));
		s->name = names[i];
		s->size_kb = fact_int_of(atoll(names[i] + strlen("hugepages-")), dir, names[i]);
		s->enabled = probe_choice(p, dir, arena_printf(p->a, "%s/enabled", names[i]), NULL);
	}
}

/* "/swap.img file 8388604 0 -2", blanks in names as \040. */
static void swaps(struct probe *p)
{
	static const char from[] = "/proc/swaps";
	char *text, *line, *save = NULL;

	if (host_read(p->h, from, HOST_READ_MAX, p->a, &text, NULL))
		return;
	strtok_r(text, "\n", &save); /* the heading */
	while ((line = strtok_r(NULL, "\n", &save))) {
		char name[256], type[32];
		long long size, used, priority;
		struct swap_area *s;

		if (sscanf(line, "%255s %31s %lld %lld %lld", name, type, &size, &used,
			   &priority) != 5)
			continue;
		s = list_add(p->a, &p->m->memory.swaps, sizeof(*s));
		s->name = arena_strdup(p->a, name);
		s->type = fact_str_of(arena_strdup(p->a, type), "", from);
		s->size_kb = fact_int_of(size, "", from);
		s->used_kb = fact_int_of(used, "", from);
		s->priority = fact_int_of(priority, "", from);
	}
}

static const char limits_file[] = "/proc/self/limits";

/* A limit of this process in the text of its limits: the soft one, or the hard one that it may be
 * raised to. -1: none. r: why there is no text. */
static struct fact_int probe_memory_limit(const char *text, int r, const char *name, bool hard)
{
	const char *row = r ? NULL : strstr(text, name);
	long long v = -1;

	if (!row)
		return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, "", limits_file) };
	row += strlen(name);
	row += strspn(row, " ");
	if (hard) {
		row += strcspn(row, " \n");
		row += strspn(row, " ");
	}
	if (!str_starts(row, "unlimited") && sscanf(row, "%lld", &v) != 1)
		return (struct fact_int){ .f = fact_unseen(-EPROTO, "", limits_file) };
	return fact_int_of(v, "", limits_file);
}

static void limits(struct probe *p)
{
	struct memory *m = &p->m->memory;
	char *text;
	int r = host_read(p->h, limits_file, HOST_READ_MAX, p->a, &text, NULL);

	m->memlock = probe_memory_limit(text, r, "Max locked memory", false);
	m->memlock_kept = probe_there(p, "/etc/security/limits.d/90-gputune.conf", "present");
	m->open_files = probe_memory_limit(text, r, "Max open files", true);
	m->stack = probe_memory_limit(text, r, "Max stack size", false);
}

/* "oom_kill 3" of memory.events, "anon 4096" of memory.stat. */
static struct fact_int group_count(struct probe *p, const char *dir, const char *leaf,
				   const char *key)
{
	char *text = NULL, *line, *save = NULL;
	size_t len = strlen(key);
	long long n;
	int r = host_read(p->h, arena_printf(p->a, "%s%s", dir, leaf), HOST_READ_MAX, p->a, &text,
			  NULL);

	for (line = r ? NULL : strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, key, len) == 0 && line[len] == ' ' &&
		    parse_i64(line + len + 1, &n) == 0 && n >= 0)
			return fact_int_of(n, dir, leaf);
	return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, dir, leaf) };
}

/* One that has a limit; "max" is none. */
static void add_group(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, CGROUP "%s/", name);
	struct fact_int max = probe_int(p, dir, "memory.max");
	struct memory_group *g;

	if (!seen_ok(&max.f))
		return;
	g = list_add(p->a, &p->m->memory.groups, sizeof(*g));
	g->name = name;
	g->max_bytes = max;
	g->anon_bytes = group_count(p, dir, "memory.stat", "anon");
	g->oom_kills = group_count(p, dir, "memory.events", "oom_kill");
}

/* Containers as Docker, Podman and Kubernetes name their groups. */
static bool is_container(const char *name)
{
	static const char *const begins[] = { "docker-", "libpod-", "cri-containerd-", "crio-" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (str_starts(name, begins[i]))
			return true;
	return false;
}

static void probe_memory_groups(struct probe *p)
{
	static const char *const slices[] = { "system.slice", "user.slice", "machine.slice",
					      "kubepods.slice" };

	for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		char **names;
		size_t n, found = 0;

		add_group(p, slices[i]);
		/* A user's own groups are left out: there are many, and few have a limit. */
		if (i == 1 ||
		    host_list(p->h, arena_printf(p->a, CGROUP "%s", slices[i]), p->a, &names, &n))
			continue;
		for (size_t k = 0; k < n && found < GROUPS_MAX; k++)
			if (is_container(names[k])) {
				add_group(p, arena_printf(p->a, "%s/%s", slices[i], names[k]));
				found++;
			}
	}
}

/* What meminfo sums up, against the parts. */
static void memory_twice(struct probe *p)
{
	struct memory *m = &p->m->memory;
	struct fact_int swap = { .f = fact_seen("", "/proc/swaps") },
			huge = { .f = fact_seen(MM "hugepages/", "*/nr_hugepages") };

	LIST_FOR_EACH (struct swap_area, s, &m->swaps)
		swap.v += s->size_kb.v;
	LIST_FOR_EACH (struct huge_pool, h, &m->pools)
		if (h->node.v < 0 && seen_ok(&h->total.f) && h->total.v >= 0 &&
		    h->total.v < MOST_KB / h->size_kb.v)
			huge.v += h->total.v * h->size_kb.v;
	if (m->swaps.n)
		probe_differ_int(p, "", "memory.swap_total_kb", &m->swap_total_kb, &swap);
	if (m->pools.n)
		probe_differ_int(p, "", "memory.hugetlb_kb", &huge, &m->hugetlb_kb);
}

void probe_memory(struct probe *p)
{
	struct memory *m = &p->m->memory;

	meminfo(p);
	huge_pools(p);
	transparent(p);
	swaps(p);
	m->page_size = fact_int_of(p->h->id.page_size, "", "sysconf(_SC_PAGESIZE)");
	m->shm_size = probe_ask_int(p, "statfs", "/dev/shm", "total_bytes");
	limits(p);
	m->min_free_kb = probe_int(p, "/proc/sys/vm/", "min_free_kbytes");
	m->watermark_scale = probe_int(p, "/proc/sys/vm/", "watermark_scale_factor");
	probe_memory_groups(p);
	memory_twice(p);
}
