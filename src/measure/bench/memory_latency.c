/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one load takes that depends on the one before: a walk along a random cycle through all
 * lines of a region, for regions from the first cache up to memory, on small and on huge pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/bench/list.h"
#include "measure/bench/memory_map.h"
#include "measure/bench/workers.h"

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

static void walk(void *ctx, size_t i)
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
	free(s);
}

static int chase_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		       const char **variant, struct err *e)
{
	struct chase *s = calloc(1, sizeof(*s));
	struct idset cpus = { 0 };
	void *p = NULL;
	double share, t;
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
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
			r = err_set(e, -ENOMEM, "no memory to shuffle %zu lines", s->n);
	}
	if (r) {
		chase_teardown(s);
		return r;
	}
	share = memory_huge_share(s->lines, s->arg->bytes);
	*variant = share < 0 ? "page size not seen"
			     : arena_printf(env->a, "%.0f %% on huge pages", 100 * share);
	/* One whole cycle first: its time says how many steps make 5 ms. */
	s->steps = (s->n + 7) / 8 * 8;
	t = workers_run(s->worker, walk, s) / (double)s->steps;
	s->steps = t > 0 ? (size_t)(0.005 / t) / 8 * 8 : 1 << 16;
	s->steps = s->steps < 4096 ? 4096 : s->steps > 1u << 24 ? 1u << 24 : s->steps;
	*state = s;
	return 0;
}

static int chase_run(void *state, struct bench_sample *out, struct err *e)
{
	struct chase *s = state;
	double t = workers_run(s->worker, walk, s);

	if (!(t > 0))
		return err_set(e, -ETIME, "the clock stood still");
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
			return err_set(e, -EILSEQ, "the walk left its region");
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
					.arg = arg });
		}
}

static struct bench_limit chase_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	(void)c;
	return (struct bench_limit){ .source = "unknown: no data sheet states a load's latency" };
}

static const struct bench_figure figures[] = {
	{ "latency", "per load", "ns", "ns", BENCH_LOWER },
};

const struct bench bench_memory_latency = {
	.name = "memory-latency",
	.title = "how long a load takes, from the first cache to memory",
	.method =
		"A walk along one random cycle through all 64-byte lines of a region, each load's "
		"address being the one before it read; nanoseconds per load. With :huge the region "
		"is asked to be on transparent huge pages, otherwise to be on small ones. The "
		"cycle "
		"is checked afterwards.",
	.version = 1,
	.figures = figures,
	.n_figures = 1,
	.seconds = 0.3,
	.rounds = 3,
	.cases = chase_cases,
	.setup = chase_setup,
	.run = chase_run,
	.verify = chase_verify,
	.teardown = chase_teardown,
	.limit = chase_limit,
};
