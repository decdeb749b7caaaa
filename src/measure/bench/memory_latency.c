/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one load takes that depends on the one before: a walk along a random cycle through all
 * lines of a region, for regions from the first cache up to memory, on small and on huge pages.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/bench/memory_latency.h"

enum { LINE = 64 };

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

struct chase_arg {
	size_t bytes;
	enum memory_pages pages;
	unsigned cpu;
};

struct chase {
	const struct chase_arg *arg;
	struct workers *worker;
	struct line *lines;
	size_t n, steps;
	struct line *at;
	int wrong;
};

/* One random cycle through all lines (Sattolo 1986), so that no part of the region is left out. */
static void link_lines(struct chase *s)
{
	struct stat_random r = { STAT_SEED };
	size_t n = s->n;
	uint32_t *order = calloc(n, sizeof(*order));

	s->wrong = !order;
	if (!order)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = stat_random_below(&r, i);
		uint32_t t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (size_t i = 0; i < n; i++)
		s->lines[i].next = &s->lines[order[i]];
	s->at = s->lines;
	free(order);
}

/* On the worker's CPU, so that the lines are touched there first. */
static void prepare(void *ctx, size_t i)
{
	(void)i;
	link_lines(ctx);
}

static void memory_latency_walk(void *ctx, size_t i)
{
	struct chase *s = ctx;
	struct line *at = s->at;

	(void)i;
	for (size_t k = 0; k < s->steps; k += 8) {
		at = at->next->next->next->next;
		at = at->next->next->next->next;
		/* The compiler must not know where it ends. */
		__asm__ volatile("" : "+r"(at));
	}
	s->at = at;
}

static void chase_teardown(void *state)
{
	struct chase *s = state;

	if (s->worker)
		workers_end(s->worker);
	memory_unmap(s->lines, s->n * sizeof(*s->lines));
}

/* Share of p that lies on huge pages right now, 0 to 1; negative when that cannot be seen. */
static double memory_huge_share(const void *p, size_t bytes)
{
	unsigned long lo, hi, kb, at = (unsigned long)(uintptr_t)p;
	FILE *f = fopen("/proc/self/smaps", "re");
	bool inside = false;
	double huge = -1;
	char line[512];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
			inside = lo <= at && at < hi;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kb) == 1)
			huge = (double)kb * 1024 / (double)bytes;
	}
	fclose(f);
	return huge > 1 ? 1 : huge;
}

static int chase_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		       const char **variant, struct err *e)
{
	struct chase *s = state;
	struct idset cpus = { 0 };
	void *p = NULL;
	double share, t;
	int r;

	s->arg = c->arg;
	s->n = s->arg->bytes / sizeof(struct line);
	idset_add(env->a, &cpus, s->arg->cpu);
	r = memory_map(s->arg->bytes, s->arg->pages, -1, &p, e);
	s->lines = p;
	if (r == 0)
		r = workers_start(&cpus, &s->worker, e);
	if (r == 0) {
		workers_run(s->worker, prepare, s);
		if (s->wrong)
			r = err_set(e, -ENOMEM, "out of memory to shuffle %zu lines", s->n);
	}
	if (r)
		return r;
	share = memory_huge_share(s->lines, s->arg->bytes);
	*variant = share < 0 ? "page size unknown"
			     : arena_printf(env->a, "%.0f %% on huge pages", 100 * share);
	/* One whole cycle first: its time says how many steps make 5 ms. */
	s->steps = (s->n + 7) / 8 * 8;
	t = workers_run(s->worker, memory_latency_walk, s) / (double)s->steps;
	s->steps = t > 0 ? (size_t)(0.005 / t) / 8 * 8 : 1 << 16;
	s->steps = s->steps < 4096 ? 4096 : s->steps > 1u << 24 ? 1u << 24 : s->steps;
	return 0;
}

static int chase_run(void *state, struct bench_sample *out, struct err *e)
{
	struct chase *s = state;
	double t = workers_run(s->worker, memory_latency_walk, s);

	if (!(t > 0))
		return err_set(e, -ETIME, "the clock did not advance");
	out->value[0] = t * 1e9 / (double)s->steps;
	return 0;
}

/* From any line the walk comes back after all lines, and not before. */
static int chase_verify(void *state, struct err *e)
{
	struct chase *s = state;
	const struct line *at = s->at;
	size_t n = 0;

	do {
		if (at < s->lines || at >= s->lines + s->n)
			return err_set(e, -EILSEQ, "the pointer chase left its region");
		at = at->next;
		n++;
	} while (at != s->at && n <= s->n);
	if (n != s->n)
		return err_set(e, -EILSEQ, "the cycle has %zu lines, not %zu", n, s->n);
	return 0;
}

static const char *size_name(struct arena *a, size_t bytes)
{
	return bytes >> 20 ? arena_printf(a, "%zuMiB", bytes >> 20)
			   : arena_printf(a, "%zuKiB", bytes >> 10);
}

static long long memory_cache_largest(const struct machine *m)
{
	long long most = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (fact_or(&c->size_bytes, 0) > most)
			most = fact_or(&c->size_bytes, 0);
	return most;
}

static void chase_cases(const struct bench_env *env, struct bench_cases *out)
{
	const struct idset *big = machine_big_cpus(env->m);
	long long cache = memory_cache_largest(env->m);
	bool roomy = fact_or(&env->m->memory.available_kb, 0) > 4 << 20;
	size_t floor = roomy ? 256u << 20 : 64u << 20, most = cache > 0 ? 4 * (size_t)cache : floor;
	size_t first = 0;
	unsigned cpu = env->cpus.n ? env->cpus.r[0].lo : 0;

	IDSET_FOR_EACH (id, &env->cpus)
		if (big && idset_has(big, id) && !first++)
			cpu = id;
	/* Some machines have a cache behind the last one that is told of. */
	most = most < floor ? floor : most > 1u << 30 ? 1u << 30 : most;
	if (env->small)
		most = 64 << 10;
	for (size_t bytes = 16 << 10; bytes <= most; bytes *= 2)
		for (enum memory_pages p = PAGES_SMALL; p <= PAGES_HUGE; p++) {
			struct chase_arg *arg = ARENA_NEW(env->a, struct chase_arg);

			/* Below one huge page there is none. */
			if (p == PAGES_HUGE && bytes < 2 << 20)
				continue;
			*arg = (struct chase_arg){ bytes, p, cpu };
			bench_case_add(
				env->a, out,
				(struct bench_case){
					.name = arena_printf(env->a, "%s%s",
							     size_name(env->a, bytes),
							     p == PAGES_HUGE ? ":huge" : ""),
					.setup = "lines of 64 bytes, one random cycle",
					.placement = arena_printf(env->a,
								  "one thread on CPU %u, memory on "
								  "its node",
								  cpu),
					/* Shuffled, and walked through twice. */
					.setup_s = (double)bytes / LINE * 0.5e-6,
					.arg = arg });
		}
}

static const struct bench_figure figures[] = {
	{ "latency", "per load", "ns", "ns", BENCH_LOWER },
};

const struct bench bench_memory_latency = {
	.name = "memory-latency",
	.title = "latency of loads, from the first cache to memory",
	.method = "A walk along one random cycle through all 64-byte lines of a region; each "
		  "load's address is the value of the previous load; nanoseconds per load. With "
		  ":huge the region requests transparent huge pages, otherwise small ones. The "
		  "cycle is checked afterwards.",
	.version = 1,
	FIGURES(figures),
	.brief = "256MiB 16MiB 1MiB 16KiB",
	.seconds = 0.3,
	.rounds = 3,
	.cases = chase_cases,
	.state_size = sizeof(struct chase),
	.setup = chase_setup,
	.run = chase_run,
	.verify = chase_verify,
	.teardown = chase_teardown,
	.no_limit = "unknown: no data sheet states a load's latency",
};

/* Mapping, page size and placement of memory. */

enum { NODES_MAX = 1024 };

static int bind_to(void *p, size_t bytes, int node)
{
	unsigned long mask[NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };
	size_t bits = 8 * sizeof(unsigned long);

	if (node >= NODES_MAX)
		return -EINVAL;
	mask[(size_t)node / bits] = 1ul << ((size_t)node % bits);
	return syscall(SYS_mbind, p, bytes, MPOL_BIND, mask, (unsigned long)NODES_MAX, 0) ? -errno
											  : 0;
}

int memory_map(size_t bytes, enum memory_pages pages, int node, void **out, struct err *e)
{
	/* Aligned to what a huge page is on x86-64 and arm64 with small pages of 4 KiB. */
	size_t align = 2 << 20, all = bytes + align, skip;
	char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return err_set(e, -errno, "cannot allocate %zu MiB of memory: %s", bytes >> 20,
			       strerror(errno));
	skip = (align - (uintptr_t)p % align) % align;
	if (skip)
		munmap(p, skip);
	if (align - skip)
		munmap(p + skip + bytes, align - skip);
	p += skip;
	/* Not supported: the pages are what they are; memory_huge_share tells. */
	madvise(p, bytes, pages == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	r = node >= 0 ? bind_to(p, bytes, node) : 0;
	if (r) {
		munmap(p, bytes);
		return err_set(e, r, "cannot place memory on node %d: %s", node, strerror(-r));
	}
	*out = p;
	return 0;
}

void memory_unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

static unsigned last_level(const struct machine *m)
{
	unsigned level = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (c->level > level)
			level = c->level;
	return level;
}

long long memory_cache_total(const struct machine *m)
{
	unsigned level = last_level(m);
	long long sum = 0;

	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches)
		if (c->level == level)
			sum += fact_or(&c->size_bytes, 0) * fact_or(&c->count, 1);
	return sum;
}
