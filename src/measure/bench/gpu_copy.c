/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast data gets to a GPU and from it: the host's memory pinned, pageable and by node, one way
 * and both, one GPU and all at once; and every pair of GPUs, by copy engine and by kernel.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gpu_jobs.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/list.h"

/* A sample's time; of a short measurement (--for 150ms: a node of eight GPUs has 354 cases) a
 * twentieth, since the warm-up is made of whole samples. */
static const double window_s = 0.05, window_least_s = 0.002;

enum { COPY_MOST = 512 << 20, PAGEABLE_MOST = 256 << 20, VARIANT_MAX = 160 };

/* The jobs as they are set up, and for what the limit is. */
struct copy_arg {
	struct gpu_job job[GPU_JOBS_MAX];
	size_t n, bytes;
};

struct copying {
	struct gpu_jobs jobs;
	size_t n; /* copies a window */
};

static void copy_teardown(void *state)
{
	struct copying *s = state;

	gpu_jobs_close(&s->jobs);
	free(s);
}

static const char *variant_of(const struct gpu_jobs *j)
{
	const struct gpu_job *b = &j->job[0];

	if (b->staged)
		return "through the host: these GPUs cannot reach each other";
	if (b->kernel)
		return "our kernel";
	return "copy engine";
}

static double window(const struct bench_env *env)
{
	if (env->small)
		return 1e-4;
	return fmax(fmin(window_s, env->seconds / 20), window_least_s);
}

static int copy_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		      const char **variant, struct err *e)
{
	struct copying *s = calloc(1, sizeof(*s));
	const struct copy_arg *arg = c->arg;
	char *text;
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < arg->n; i++)
		s->jobs.job[i] = arg->job[i];
	s->jobs.n = arg->n;
	s->jobs.bytes = arg->bytes;
	r = gpu_jobs_open(&s->jobs, env, e);
	if (r) {
		free(s);
		return r;
	}
	r = gpu_jobs_fit(&s->jobs, window(env), &s->n, e);
	if (r) {
		copy_teardown(s);
		return r;
	}
	text = arena_alloc(env->a, VARIANT_MAX);
	snprintf(text, VARIANT_MAX, "%s", variant_of(&s->jobs));
	/* Just now it was busy, so it is not asleep. */
	if (!s->jobs.job[0].other)
		gpu_state_link(s->jobs.job[0].place, text, VARIANT_MAX);
	*variant = text;
	*state = s;
	return 0;
}

static int copy_run(void *state, struct bench_sample *out, struct err *e)
{
	struct copying *s = state;
	double t = 0;
	int r = gpu_jobs_run(&s->jobs, s->n, &t, e);

	out->value[0] = (double)s->jobs.bytes * (double)(s->n * s->jobs.n) / t / 1e9;
	return r;
}

static int copy_verify(void *state, struct err *e)
{
	return gpu_jobs_verify(&((struct copying *)state)->jobs, e);
}

/* --- cases --------------------------------------------------------------------------------------
 */

static size_t copy_bytes(const struct bench_env *env, size_t jobs, size_t most)
{
	size_t room = (size_t)fact_or(&env->m->memory.available_kb, 1 << 20) * 1024 / 8 / jobs,
	       bytes = 1 << 20;

	while (!env->small && bytes * 2 <= most && bytes * 2 <= room)
		bytes *= 2;
	return bytes;
}

static void add(const struct bench_env *env, struct bench_cases *out, const char *name,
		const struct gpu_job *jobs, size_t n)
{
	struct copy_arg *arg = ARENA_NEW(env->a, struct copy_arg);
	const struct gpu_job *first = &jobs[0];
	const char *far;

	arg->n = n;
	arg->bytes = copy_bytes(env, n, first->pageable ? PAGEABLE_MOST : COPY_MOST);
	for (size_t i = 0; i < n; i++)
		arg->job[i] = jobs[i];
	far = first->other	 ? gpu_place_text(env->a, first->other)
	      : first->node >= 0 ? arena_printf(env->a, "memory of node %d", first->node)
				 : "memory of the GPU's own node, where the machine has several";
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name,
			.setup = arena_printf(env->a, "%zu MiB a copy, %zu at once%s",
					      arg->bytes >> 20, n,
					      first->other	? ""
					      : first->pageable ? ", pageable"
								: ", pinned"),
			.placement =
				n > 2 ? arena_printf(env->a, "%zu GPUs, each with %s", n, far)
				      : arena_printf(env->a, "%s and %s",
						     gpu_place_text(env->a, first->place), far),
			.arg = arg,
			.hardware = first->place->gpu->name });
}

/* The host's memory, as one GPU sees it. */
static void add_host(const struct bench_env *env, struct bench_cases *out, struct gpu_place *p)
{
	struct gpu_job in = { .place = p, .in = true, .node = -1 },
		       from = { .place = p, .node = -1 }, both[2];

	both[0] = in;
	both[1] = from;
	add(env, out, arena_printf(env->a, "h2d:gpu%u", p->index), &in, 1);
	add(env, out, arena_printf(env->a, "d2h:gpu%u", p->index), &from, 1);
	add(env, out, arena_printf(env->a, "both:gpu%u", p->index), both, 2);
	in.pageable = from.pageable = true;
	add(env, out, arena_printf(env->a, "h2d-pageable:gpu%u", p->index), &in, 1);
	add(env, out, arena_printf(env->a, "d2h-pageable:gpu%u", p->index), &from, 1);
	in.pageable = from.pageable = false;
	in.kernel = from.kernel = true;
	add(env, out, arena_printf(env->a, "h2d-kernel:gpu%u", p->index), &in, 1);
	add(env, out, arena_printf(env->a, "d2h-kernel:gpu%u", p->index), &from, 1);
	in.kernel = from.kernel = false;
	LIST_FOR_EACH (const struct numa_node, node, &env->m->cpu.nodes) {
		if (env->m->cpu.nodes.n < 2 || fact_or(&node->mem_total_bytes, 0) <= 0)
			continue;
		in.node = from.node = (int)node->index;
		add(env, out, arena_printf(env->a, "h2d:gpu%u:node%u", p->index, node->index), &in,
		    1);
		add(env, out, arena_printf(env->a, "d2h:gpu%u:node%u", p->index, node->index),
		    &from, 1);
	}
}

/* Within the GPU: what a pair's figures are to be held against. */
static void add_local(const struct bench_env *env, struct bench_cases *out, struct gpu_place *p)
{
	struct gpu_job job = { .place = p, .other = p, .node = -1 };

	add(env, out, arena_printf(env->a, "local:gpu%u", p->index), &job, 1);
	job.kernel = true;
	add(env, out, arena_printf(env->a, "local-kernel:gpu%u", p->index), &job, 1);
}

static void add_all(const struct bench_env *env, struct bench_cases *out,
		    const struct gpu_places *all)
{
	struct gpu_job in[GPU_JOBS_MAX], from[GPU_JOBS_MAX];

	if (all->n < 2)
		return;
	for (size_t i = 0; i < all->n; i++) {
		in[i] = (struct gpu_job){ .place = &all->items[i], .in = true, .node = -1 };
		from[i] = (struct gpu_job){ .place = &all->items[i], .node = -1 };
	}
	add(env, out, "h2d:all", in, all->n);
	add(env, out, "d2h:all", from, all->n);
}

static void add_pair(const struct bench_env *env, struct bench_cases *out, struct gpu_place *a,
		     struct gpu_place *b)
{
	int can = 0;
	bool reach = a->gpu->api->device_can_peer(&can, a->gpu->device, b->gpu->device) == 0 && can;
	struct gpu_job to = { .place = a, .other = b, .staged = !reach, .node = -1 }, from = to,
		       both[2];

	from.in = true;
	both[0] = to;
	both[1] = (struct gpu_job){ .place = b, .other = a, .staged = !reach, .node = -1 };
	add(env, out, arena_printf(env->a, "peer-write:gpu%u-gpu%u", a->index, b->index), &to, 1);
	add(env, out, arena_printf(env->a, "peer-read:gpu%u-gpu%u", a->index, b->index), &from, 1);
	if (a->index < b->index)
		add(env, out, arena_printf(env->a, "peer-both:gpu%u-gpu%u", a->index, b->index),
		    both, 2);
	if (!reach)
		return;
	to.kernel = from.kernel = both[0].kernel = both[1].kernel = true;
	add(env, out, arena_printf(env->a, "peer-write-kernel:gpu%u-gpu%u", a->index, b->index),
	    &to, 1);
	add(env, out, arena_printf(env->a, "peer-read-kernel:gpu%u-gpu%u", a->index, b->index),
	    &from, 1);
	if (a->index < b->index)
		add(env, out,
		    arena_printf(env->a, "peer-both-kernel:gpu%u-gpu%u", a->index, b->index), both,
		    2);
}

static void copy_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct gpu_places all;

	gpu_places_find(env, out, &all);
	for (size_t i = 0; i < all.n; i++)
		add_host(env, out, &all.items[i]);
	add_all(env, out, &all);
	for (size_t i = 0; i < all.n; i++)
		add_local(env, out, &all.items[i]);
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; k < all.n; k++)
			if (i != k)
				add_pair(env, out, &all.items[i], &all.items[k]);
}

/* --- limits -------------------------------------------------------------------------------------
 */

/* Both ways count twice when both are run. */
static double ways_of(const struct copy_arg *arg)
{
	return arg->n > 1 ? (double)arg->n : 1;
}

static struct bench_limit pcie_limit(const struct bench_env *env, const struct copy_arg *arg)
{
	/* GB/s of a lane after the line code, by generation. Source: PCI Express base
	 * specification: 2.5, 5 GT/s with 8b/10b; 8 to 32 with 128b/130b; 64 with 242B/256B. */
	static const double lane[] = { 0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563 };
	const struct gpu *g = arg->job[0].place->facts;
	long long gen = g ? fact_or(&g->pcie_gen_max, 0) : 0,
		  width = g ? fact_or(&g->pcie_width, 0) : 0;

	if (g && fact_or(&g->c2c, 0) == 1)
		return (struct bench_limit){ .source = "unknown: the link is NVLink-C2C" };
	if (gen < 1 || gen > 6 || width < 1)
		return (struct bench_limit){ .source = "unknown: the PCIe link was not told" };
	return (struct bench_limit){ true, lane[gen] * (double)width * ways_of(arg),
				     arena_printf(
					     env->a,
					     "PCIe generation %lld, %lld lanes, after the line "
					     "code, %zu times",
					     gen, width, arg->n) };
}

static struct bench_limit nvlink_limit(const struct bench_env *env, const struct copy_arg *arg)
{
	const struct gpu *g = arg->job[0].place->facts;
	const char *peer = arg->job[0].other->gpu->pci;
	double mbs = 0;
	size_t n = 0;

	if (!g)
		return (struct bench_limit){ .source = "unknown: the links were not told" };
	LIST_FOR_EACH (const struct nvlink, l, &g->links) {
		const char *type = fact_text(&l->remote_type, "");

		/* Through a switch all links serve any pair. */
		if (fact_or(&l->active, 0) != 1 ||
		    (strcmp(type, "switch") != 0 && strcmp(fact_text(&l->remote, ""), peer) != 0))
			continue;
		mbs += (double)fact_or(&l->speed_mbs, 0);
		n++;
	}
	if (!(mbs > 0))
		return (struct bench_limit){ .source = "unknown: no NVLink between them was told" };
	return (struct bench_limit){ true, mbs / 1e3 * ways_of(arg),
				     arena_printf(env->a, "%zu NVLinks' signalling rate, %zu times",
						  n, arg->n) };
}

static struct bench_limit copy_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct copy_arg *arg = c->arg;

	if (arg->job[0].other == arg->job[0].place)
		return (struct bench_limit){ .source =
						     "unknown: within a GPU it is its memory that "
						     "counts, which gpu-memory measures" };
	return arg->job[0].other ? nvlink_limit(env, arg) : pcie_limit(env, arg);
}

static const struct bench_figure figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
};

const struct bench bench_gpu_copy = {
	.name = "copy",
	.title = "how fast data gets to GPUs and from them: the host, and each other",
	.method = "Copies of random data, queued first and then run without the host, timed by the "
		  "GPU's events until the last of all streams is over; pageable memory by the "
		  "host's clock. GB are 10^9 bytes copied; both ways, and several GPUs, are added. "
		  "The targets are compared afterwards, and the comparison is proven with a turned "
		  "bit.",
	.version = 1,
	.figures = figures,
	.n_figures = 1,
	.brief = "h2d:gpu",
	.seconds = 1,
	.rounds = 3,
	.ahead = gpu_ahead_plain,
	.cases = copy_cases,
	.setup = copy_setup,
	.run = copy_run,
	.verify = copy_verify,
	.teardown = copy_teardown,
	.limit = copy_limit,
};
