/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of collectives. A sample is a row of operations on every rank, queued back to back and
 * timed by each GPU's own events behind two that bring the ranks into step; the slowest rank
 * counts.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/collective.h"
#include "base/text.h"
#include "measure/bench/bench.h"

/* Never more in a row than a stream takes at once: queueing would wait for the GPU. */
enum { TIMES_MAX = 200, VARIANT_MAX = 512, TRIAL = 200, TRIALS = 3 };
#define SAMPLE_S 0.06
/* Above, the host is never what it takes longest to wait for. */
enum { TRIAL_BYTES = 1 << 20 };

enum { FIGURE_BUS, FIGURE_ALGORITHM, FIGURE_TIME };

/* --- cases ------------------------------------------------------------------------------------ */

/* Collectives by name: "all-reduce:8GiB", "all-gather:1GiB:in-place", and any size asked for. */

/* name: as it was asked for; NULL: by operation and size. */
static void collective_add(const struct bench_env *env, struct bench_cases *out,
			   struct collective_shared *shared, enum collective_op op, uint64_t bytes,
			   bool in_place, const char *name)
{
	struct collective_arg *arg = ARENA_NEW(env->a, struct collective_arg);
	struct collective_sizes z;
	const struct gpu_places *on = &shared->places;
	const char *list = "";

	*arg = (struct collective_arg){ op, env->small && bytes > 65536 ? 65536 : bytes, in_place,
					env->small, shared };
	z = collective_sizes(op, arg->bytes, shared->all);
	for (size_t i = 0; i < on->n; i++)
		list = arena_printf(env->a, "%s%s%u", list, i ? ", " : "", on->items[i].index);
	list = shared->world ? world_placement(env->a, shared->world)
			     : arena_printf(env->a, "GPUs %s, one process", list);
	bench_case_add(env->a, out,
		       (struct bench_case){
			       .name = name ? name
					    : arena_printf(env->a, "%s:%s%s", collective_name(op),
							   collective_size_text(env->a, bytes),
							   in_place ? ":in-place" : ""),
			       .setup = arena_printf(
				       env->a, "%llu bytes, %zu ranks, %s%s%s",
				       (unsigned long long)z.total, shared->all,
				       in_place ? "in place" : "separate input and output buffers",
				       shared->world ? ", " : "",
				       shared->world ? world_text(env->a, shared->world) : ""),
			       .placement = list,
			       .hardware = on->items[0].gpu->name,
			       .arg = arg });
}

static bool collective_add_named(const struct bench_env *env, struct bench_cases *out,
				 struct collective_shared *shared)
{
	static const char in_place[] = ":in-place";
	const char *name = env->ask.name;

	for (enum collective_op op = 0; name && op < COLLECTIVE_OPS; op++) {
		size_t len = strlen(collective_name(op));
		bool inside = str_ends(name, in_place);
		uint64_t bytes;

		if (strncmp(name, collective_name(op), len) != 0 || name[len] != ':')
			continue;
		name = arena_strndup(env->a, name + len + 1,
				     strlen(name + len + 1) - (inside ? sizeof(in_place) - 1 : 0));
		if (!collective_size_parse(name, &bytes) || (inside && !collective_in_place(op)))
			return false;
		collective_add(env, out, shared, op, bytes, inside, env->ask.name);
		return true;
	}
	return false;
}

static void collective_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const uint64_t sizes[] = { 8,	     4096,	 65536,	   1u << 20,
					  16u << 20, 128u << 20, 1u << 30, 8ull << 30 };
	struct collective_shared *shared = env->ask.team;

	if (!shared) {
		shared = ARENA_NEW(env->a, struct collective_shared);
		gpu_places_find(env, out, &shared->places);
		shared->all = shared->places.n;
	}
	if (!shared->places.n)
		return;
	if (shared->all == 1) {
		out->none = arena_printf(env->a, "only one GPU (%s); at least two are required",
					 shared->places.items[0].gpu->name);
		return;
	}
	if (collective_add_named(env, out, shared))
		return;
	for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++)
		for (int inside = 0; inside < (collective_in_place(op) ? 2 : 1); inside++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				collective_add(env, out, shared, op, sizes[i], inside, NULL);
}

/* --- the bench's functions -------------------------------------------------------------------- */

static void collective_teardown(void *state)
{
	struct collective_run *run = *(struct collective_run **)state;
	struct err ignored;

	if (!run)
		return;
	collective_all(run, COLLECTIVE_DROP, &ignored);
	if (!run->stuck)
		free(run);
}

static const char *collective_describe(const struct collective_run *run)
{
	const struct collective_shared *s = run->arg->shared;
	const struct nccl *n = &s->nccl;
	const char *via = *s->paths.via ? s->paths.via : run->seen.via;
	char *text = arena_alloc(run->env->a, VARIANT_MAX);

	snprintf(text, VARIANT_MAX, "NCCL %d.%d.%d%s%s%s%s%s%s%s", n->version / 10000,
		 n->version / 100 % 100, n->version % 100, *run->seen.algorithm ? ", " : "",
		 run->seen.algorithm, *via ? ", via " : "", via,
		 run->arg->op == COLLECTIVE_ALL_TO_ALL && !n->has_all_to_all
			 ? ", sends and receives in a group"
			 : "",
		 run->n < 2	 ? ""
		 : run->together ? ", one thread queues for all GPUs"
				 : ", one thread per GPU queues",
		 n->multicast ? ", NVLink multicast as set in the environment"
			      : ", NVLink multicast off");
	return text;
}

/* Small operations wait for the host: which way to queue them is faster is found out. */
static int collective_choose_way(struct collective_run *run, struct err *e)
{
	double best[2] = { INFINITY, INFINITY };
	int r = 0;

	if (run->n < 2 || run->arg->bytes > TRIAL_BYTES)
		return 0;
	run->times = run->arg->small ? 1 : TRIAL;
	for (size_t i = 0; i < 2 * TRIALS && r == 0; i++) {
		run->together = i % 2;
		r = collective_all(run, COLLECTIVE_ROW, e);
		best[i % 2] = fmin(best[i % 2], run->seconds);
	}
	run->together = best[1] < best[0];
	return r;
}

/* The first operation; how they are queued; how many make a sample. */
static int collective_warm(struct collective_run *run, struct err *e)
{
	int r = collective_all(run, COLLECTIVE_FIRST, e);

	r = r ? r : collective_choose_way(run, e);
	run->times = 1;
	r = r ? r : collective_all(run, COLLECTIVE_ROW, e);
	if (r == 0 && !run->arg->small)
		run->times = (size_t)fmin(fmax(SAMPLE_S / run->seconds, 4), TIMES_MAX);
	return r;
}

static int collective_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			    const char **variant, struct err *e)
{
	const struct collective_arg *arg = c->arg;
	struct collective_run *run = heap_array(1, sizeof(*run));
	int r;

	/* Threads that hang in the library keep it. */
	*(struct collective_run **)state = run;
	run->arg = arg;
	run->env = env;
	r = collective_open(arg->shared, e);
	r = r ? r : collective_all(run, COLLECTIVE_MAKE, e);
	r = r ? r : collective_warm(run, e);
	*variant = collective_describe(run);
	return r;
}

static int collective_run(void *state, struct bench_sample *out, struct err *e)
{
	struct collective_run *run = *(struct collective_run **)state;
	int r = collective_all(run, COLLECTIVE_ROW, e);

	if (r)
		return r;
	out->value[FIGURE_ALGORITHM] = (double)run->sizes.total / run->seconds / 1e9;
	out->value[FIGURE_BUS] =
		out->value[FIGURE_ALGORITHM] * collective_bus_factor(run->arg->op, run->all);
	out->value[FIGURE_TIME] = run->seconds * 1e6;
	return 0;
}

static bool has_rdma(const struct machine *m)
{
	return m->net.rdma.n > 0;
}

/* TCP within a machine, or between machines that could do better. */
static int judge_path(const struct collective_run *run, struct err *e)
{
	const struct collective_shared *s = run->arg->shared;
	bool far = s->world && world_machines(s->world) > 1;

	if (!s->paths.sockets || (far && !has_rdma(run->env->m)))
		return 0;
	err_set(e, -ENOTRECOVERABLE, "NCCL uses TCP sockets between %s",
		far ? "machines that have RDMA" : "GPUs of this machine");
	if (far)
		err_hint(e, "check NCCL_IB_DISABLE, NCCL_IB_HCA, NCCL_NET, the locked-memory "
			    "limit, and whether the ports are up");
	else
		err_hint(e, "check NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, the size of /dev/shm and "
			    "peer access");
	return -ENOTRECOVERABLE;
}

static int collective_verify(void *state, struct err *e)
{
	struct collective_run *run = *(struct collective_run **)state;
	int r = judge_path(run, e);

	r = r ? r : collective_all(run, COLLECTIVE_AGAIN, e);
	r = r ? r : collective_all(run, COLLECTIVE_CHECK, e);
	return r ? r : collective_all(run, COLLECTIVE_PLANT, e);
}

static void collective_end(const struct bench_cases *all)
{
	const struct collective_arg *arg = all->n ? all->items[0].arg : NULL;

	if (arg)
		collective_close(arg->shared);
}

/* The links of an H200 carry that in 2 us, an operation takes 9 at least. */
enum { LATENCY_BELOW = 1 << 20 };

/* Of NVLink, one way: a ring cannot be faster. */
static struct bench_limit collective_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct collective_arg *arg = c->arg;
	const struct gpu_places *on = &arg->shared->places;
	double least = INFINITY;

	(void)env;
	if (arg->bytes < LATENCY_BELOW)
		return (struct bench_limit){
			.source = "unknown: below 1 MiB the limit is latency, not the links"
		};
	if (arg->shared->world && world_machines(arg->shared->world) > 1)
		return (struct bench_limit){ .source =
						     "unknown: the ranks are on several machines" };
	for (size_t i = 0; i < on->n; i++) {
		double sum = 0;

		if (on->items[i].facts)
			LIST_FOR_EACH (const struct nvlink, l, &on->items[i].facts->links)
				if (fact_or(&l->active, 0))
					sum += (double)fact_or(&l->speed_mbs, 0) / 1e3;
		least = fmin(least, sum);
	}
	if (!(least > 0) || !isfinite(least))
		return (struct bench_limit){
			.source = "unknown: NVML does not report the speed of NVLinks here"
		};
	return (struct bench_limit){
		true, least,
		"read: all active NVLinks of a GPU in one direction, the maximum of a ring"
	};
}

static const struct bench_figure figures[] = {
	[FIGURE_BUS] = { "bus", "bus bandwidth", "gb_per_s", "GB/s", BENCH_HIGHER },
	[FIGURE_ALGORITHM] = { "algorithm", "size over time", "gb_per_s", "GB/s", BENCH_HIGHER },
	[FIGURE_TIME] = { "time", "time of one operation", "us", "us", BENCH_LOWER },
};

const struct bench bench_collectives = {
	.name = "collectives",
	.title = "bandwidth and time of collectives between GPUs",
	.method =
		"NCCL on all GPUs of this machine in one process, or in all participating "
		"processes; operations are queued back to back and timed by GPU events; the "
		"slowest rank counts. Small operations are queued by one thread per GPU or one "
		"for all, whichever is faster here. The size is the total: the result of an "
		"all-gather, or the input of a reduce-scatter. Bus bandwidth uses the usual "
		"factors: 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and "
		"all-to-all, 1 for the others. It is the load on each link of a ring; if switches "
		"do the reduction, it can exceed the link's speed. 32-bit floats, checked exactly.",
	.version = 2,
	FIGURES(figures),
	.brief = "all-reduce:1GiB",
	.seconds = 0.6,
	.rounds = 3,
	.cases = collective_cases,
	.state_size = sizeof(struct collective_run *),
	.setup = collective_setup,
	.run = collective_run,
	.verify = collective_verify,
	.teardown = collective_teardown,
	.end = collective_end,
	.limit = collective_limit,
};
