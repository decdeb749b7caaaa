/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast data gets to a GPU and from it: the host's memory pinned, pageable and by node, one way
 * and both, one GPU and all at once; and every pair of GPUs, by copy engine and by kernel.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/bench/gpu_common.h"
#include "measure/bench/gpu_ahead.h"
#include "measure/bench/memory_latency.h"
#include "base/clock.h"
#include "machine/cuda/driver.h"
#include "machine/cuda/guard.h"
#include "measure/bench/bench.h"

/*
 * A job is one direction with buffers of its own; jobs run side by side, one lane each. Copies of
 * memory that is not pinned, and those between GPUs that cannot reach each other, are driven by the
 * host while they run: they never wait behind a gate.
 */

struct gpu_job {
	struct gpu_place *place; /* whose stream it is */
	struct gpu_place *other; /* the far side: a GPU; NULL: the host */
	bool in;		 /* towards place */
	bool kernel;		 /* by our kernel, else by a copy engine */
	bool pageable;		 /* the host's memory is not pinned */
	bool staged;		 /* the GPUs cannot reach each other: through the host */
	int node;		 /* of the host's memory; -1: the GPU's, or any */
	cuda_address near, far;
	void *host;
	uint64_t seed;
};

enum { GPU_JOBS_MAX = 64 };

/* Jobs with their timer. Zero-initialise but for the jobs' first members. */
struct gpu_jobs {
	struct gpu_job job[GPU_JOBS_MAX];
	size_t n, bytes; /* of each copy */
	struct gpu_timer timer;
	struct cuda_function *kernel[GPU_JOBS_MAX];
	const struct cuda_shape *shape;
};

enum { JOB_MOST_S = 60 };

static const uint64_t other_data = 0x5555aaaa00000000u;

/* --- buffers ---------------------------------------------------------------------------------- */

static void host_fill(void *p, size_t bytes, uint64_t seed)
{
	uint64_t *w = p;

	for (size_t i = 0; i < bytes / 8; i++)
		w[i] = cuda_random(seed, i);
}

static int host_side(struct gpu_jobs *j, struct gpu_job *b, const struct bench_env *env,
		     struct err *e)
{
	int node = b->node, r;

	if (node < 0 && env->m->cpu.nodes.n > 1 && b->place->facts)
		node = (int)fact_or(&b->place->facts->numa_node, -1);
	r = memory_map(j->bytes, PAGES_HUGE, node, &b->host, e);
	if (r)
		return r;
	/* Touched, so that it is there. */
	host_fill(b->host, j->bytes, b->seed ^ (b->in ? 0 : other_data));
	return b->pageable ? 0 : cuda_host_pin(b->place->gpu, b->host, j->bytes, &b->far, e);
}

static int device_sides(struct gpu_jobs *j, struct gpu_job *b, struct err *e)
{
	int r = gpu_place_open(b->place, e);

	if (r == 0 && b->other) {
		r = gpu_place_open(b->other, e);
		if (r == 0 && !b->staged && b->other != b->place)
			r = cuda_peer(b->place->gpu, b->other->gpu, e);
		r = r ? r : cuda_use(b->other->gpu, e);
		r = r ? r : gpu_alloc(b->other, j->bytes, &b->far, e);
		r = r ? r : cuda_use(b->place->gpu, e);
	}
	return r ? r : gpu_alloc(b->place, j->bytes, &b->near, e);
}

/* By the GPU that owns the memory, where it has a stream, or through its peer. */
static struct gpu_place *filler(struct gpu_jobs *j, struct gpu_place *owner,
				struct gpu_place *driver)
{
	for (size_t i = 0; i < j->timer.n; i++)
		if (j->timer.lane[i].place == owner)
			return owner;
	return driver;
}

static int gpu_copy_fill(struct gpu_jobs *j, struct gpu_job *b, struct err *e)
{
	struct gpu_data source = { b->seed, false }, poison = { b->seed ^ other_data, false };
	int r = gpu_fill(b->place, &j->timer, b->near, j->bytes, b->in ? poison : source, e);

	if (r || !b->other)
		return r;
	return gpu_fill(filler(j, b->other, b->place), &j->timer, b->far, j->bytes,
			b->in ? source : poison, e);
}

static int find_kernels(struct gpu_jobs *j, struct err *e)
{
	int r = 0;

	for (size_t i = 0; !j->shape && i < cuda_shape_count; i++)
		if (cuda_shapes[i].op == CUDA_OP_COPY && !cuda_shapes[i].keep)
			j->shape = &cuda_shapes[i];
	for (size_t i = 0; r == 0 && i < j->n; i++) {
		if (!j->job[i].kernel)
			continue;
		r = cuda_use(j->job[i].place->gpu, e);
		r = r ? r : gpu_stream_kernel(j->job[i].place, j->shape, &j->kernel[i], e);
	}
	return r;
}

static void gpu_jobs_close(struct gpu_jobs *j)
{
	struct err ignored;

	if (j->timer.n)
		gpu_timer_end(&j->timer);
	for (size_t i = 0; i < j->n; i++) {
		struct gpu_job *b = &j->job[i];

		if (b->other && b->far && cuda_use(b->other->gpu, &ignored) == 0)
			cuda_free(b->other->gpu, b->far);
		if (cuda_use(b->place->gpu, &ignored) == 0) {
			cuda_free(b->place->gpu, b->near);
			if (b->host && b->far && !b->other)
				cuda_host_unpin(b->place->gpu, b->host);
		}
		/* Memory that a lost GPU may still write to stays mapped. */
		if (!*b->place->gpu->lost)
			memory_unmap(b->host, j->bytes);
		b->near = b->far = 0;
		b->host = NULL;
	}
}

/* Buffers, sources filled with random data and targets with other data, streams. */
static int gpu_jobs_open(struct gpu_jobs *j, const struct bench_env *env, struct err *e)
{
	/* A staged copy is filled on both GPUs: a lane for the far one too. */
	struct gpu_place *places[2 * GPU_JOBS_MAX];
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		struct gpu_job *b = &j->job[i];

		b->seed = 0x67707574756e7000u + i;
		r = device_sides(j, b, e);
		r = r || b->other ? r : host_side(j, b, env, e);
		places[n++] = b->place;
	}
	for (size_t i = 0; r == 0 && i < j->n; i++)
		if (j->job[i].staged)
			places[n++] = j->job[i].other;
	r = r ? r : gpu_timer_make(&j->timer, places, n, e);
	for (size_t i = 0; r == 0 && i < j->n; i++)
		r = gpu_copy_fill(j, &j->job[i], e);
	return r ? r : find_kernels(j, e);
}

/* --- runs ------------------------------------------------------------------------------------- */

static int peer_copy(struct gpu_jobs *j, struct gpu_job *b, struct cuda_stream *s, struct err *e)
{
	struct cuda_gpu *g = b->place->gpu, *o = b->other->gpu;
	int r = b->in ? g->api->copy_peer(b->near, g->context, b->far, o->context, j->bytes, s)
		      : g->api->copy_peer(b->far, o->context, b->near, g->context, j->bytes, s);

	return cuda_check(g, r, e, "copying to GPU %s", o->pci);
}

static int kernel_copy(struct gpu_jobs *j, size_t i, struct cuda_stream *s, struct err *e)
{
	struct gpu_job *b = &j->job[i];
	cuda_address to = b->in ? b->near : b->far, from = b->in ? b->far : b->near, none = 0;
	uint64_t bytes = j->bytes, seed = 0;
	unsigned passes = 1, blocks = (unsigned)(j->bytes / cuda_shape_piece(j->shape));
	void *args[] = { &to, &from, &none, &bytes, &seed, &none, &passes };

	return cuda_launch(b->place->gpu, j->kernel[i], blocks, j->shape->threads, s, args, e);
}

static int gpu_copy_work(void *ctx, size_t lane, struct err *e)
{
	struct gpu_jobs *j = ctx;
	struct gpu_job *b = &j->job[lane];
	struct cuda_gpu *g = b->place->gpu;
	struct cuda_stream *s = j->timer.lane[lane].s;

	if (lane >= j->n)
		return 0;
	if (b->kernel)
		return kernel_copy(j, lane, s, e);
	if (b->other)
		return peer_copy(j, b, s, e);
	return b->in ? cuda_check(g, g->api->copy_in(b->near, b->host, j->bytes, s), e,
				  "copying from the host")
		     : cuda_check(g, g->api->copy_out(b->host, b->near, j->bytes, s), e,
				  "copying to the host");
}

static bool driven(const struct gpu_jobs *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->job[i].pageable || j->job[i].staged)
			return true;
	return false;
}

/* By the host's clock, from the first call to the end of the last copy. */
static int run_driven(struct gpu_jobs *j, size_t n, double *seconds, struct err *e)
{
	double begin = clock_mono_s();
	int r = 0;

	cuda_guard_touch(&j->timer.guard);
	for (size_t k = 0; r == 0 && k < n; k++)
		for (size_t i = 0; r == 0 && i < j->n; i++) {
			r = cuda_use(j->job[i].place->gpu, e);
			r = r ? r : gpu_copy_work(j, i, e);
		}
	for (size_t i = 0; r == 0 && i < j->n; i++) {
		r = cuda_use(j->job[i].place->gpu, e);
		r = r ? r
		      : cuda_wait_stream(j->job[i].place->gpu, j->timer.lane[i].s, JOB_MOST_S,
					 "a copy", e);
	}
	*seconds = clock_mono_s() - begin;
	return r;
}

/* Every job n times, all at once. *seconds: until the last was over. */
static int gpu_jobs_run(struct gpu_jobs *j, size_t n, double *seconds, struct err *e)
{
	return driven(j) ? run_driven(j, n, seconds, e)
			 : gpu_window(&j->timer, gpu_copy_work, j, n, seconds, e);
}

/* How many copies fit in that time. */
static int gpu_jobs_fit(struct gpu_jobs *j, double seconds, size_t *n, struct err *e)
{
	double one = 0;
	int r;

	if (!driven(j))
		return gpu_window_fit(&j->timer, gpu_copy_work, j, seconds, n, e);
	r = run_driven(j, 1, &one, e);
	r = r ? r : run_driven(j, 1, &one, e);
	*n = one > 0 ? (size_t)fmin(seconds / one, CUDA_GATE_QUEUE) : 1;
	*n = *n ? *n : 1;
	return r;
}

/* --- what came of it -------------------------------------------------------------------------- */

static int verify_host(const struct gpu_jobs *j, const struct gpu_job *b, struct err *e)
{
	const uint64_t *w = b->host;

	for (size_t i = 0; i < j->bytes / 8; i++)
		if (w[i] != cuda_random(b->seed, i))
			return err_set(e, -EILSEQ,
				       "GPU %u: the copy to the host: word %zu of %zu is wrong",
				       b->place->index, i, j->bytes / 8);
	return 0;
}

/* Whether every target holds its source's data. */
static int gpu_jobs_verify(struct gpu_jobs *j, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		struct gpu_job *b = &j->job[i];
		struct gpu_data d = { b->seed, false };

		if (!b->in && b->pageable)
			r = verify_host(j, b, e);
		else if (b->in)
			r = gpu_verify(b->place, &j->timer, GPU_CHECK_DATA, b->near, j->bytes, d, 0,
				       b->other ? "the copy from the other GPU"
						: "the copy from the host",
				       e);
		else
			r = gpu_verify(
				b->other ? filler(j, b->other, b->place) : b->place, &j->timer,
				GPU_CHECK_DATA, b->far, j->bytes, d, 0,
				b->other ? "the copy to the other GPU" : "the copy to the host", e);
	}
	return r;
}

/* --- the bench's functions -------------------------------------------------------------------- */

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
}

static const char *variant_of(const struct gpu_jobs *j)
{
	const struct gpu_job *b = &j->job[0];

	if (b->staged)
		return "through the host: these GPUs have no peer access";
	if (b->kernel)
		return "gputune's kernel";
	return "copy engine";
}

static double window(const struct bench_env *env)
{
	if (env->small)
		return 1e-4;
	return fmax(fmin(window_s, env->seconds / 20), window_least_s);
}

static int copy_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct copying *s = state;
	const struct copy_arg *arg = c->arg;
	char *text;
	int r;

	for (size_t i = 0; i < arg->n; i++)
		s->jobs.job[i] = arg->job[i];
	s->jobs.n = arg->n;
	s->jobs.bytes = arg->bytes;
	r = gpu_jobs_open(&s->jobs, env, e);
	r = r ? r : gpu_jobs_fit(&s->jobs, window(env), &s->n, e);
	if (r)
		return r;
	text = arena_alloc(env->a, VARIANT_MAX);
	snprintf(text, VARIANT_MAX, "%s", variant_of(&s->jobs));
	/* Just now it was busy, so it is not asleep. */
	if (!s->jobs.job[0].other)
		gpu_state_link(s->jobs.job[0].place, text, VARIANT_MAX);
	*variant = text;
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

/* --- cases ------------------------------------------------------------------------------------ */

static size_t gpu_copy_bytes(const struct bench_env *env, size_t jobs, size_t most)
{
	size_t room = (size_t)fact_or(&env->m->memory.available_kb, 1 << 20) * 1024 / 8 / jobs,
	       bytes = 1 << 20;

	while (!env->small && bytes * 2 <= most && bytes * 2 <= room)
		bytes *= 2;
	return bytes;
}

static void gpu_copy_add(const struct bench_env *env, struct bench_cases *out, const char *name,
			 const struct gpu_job *jobs, size_t n)
{
	struct copy_arg *arg = ARENA_NEW(env->a, struct copy_arg);
	const struct gpu_job *first = &jobs[0];
	const char *far;

	arg->n = n;
	arg->bytes = gpu_copy_bytes(env, n, first->pageable ? PAGEABLE_MOST : COPY_MOST);
	for (size_t i = 0; i < n; i++)
		arg->job[i] = jobs[i];
	far = first->other	 ? gpu_place_text(env->a, first->other)
	      : first->node >= 0 ? arena_printf(env->a, "memory of node %d", first->node)
				 : "memory of the GPU's NUMA node, if the machine has several";
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name,
			.setup = arena_printf(env->a, "%zu MiB per copy, %zu at once%s",
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
	gpu_copy_add(env, out, arena_printf(env->a, "h2d:gpu%u", p->index), &in, 1);
	gpu_copy_add(env, out, arena_printf(env->a, "d2h:gpu%u", p->index), &from, 1);
	gpu_copy_add(env, out, arena_printf(env->a, "both:gpu%u", p->index), both, 2);
	in.pageable = from.pageable = true;
	gpu_copy_add(env, out, arena_printf(env->a, "h2d-pageable:gpu%u", p->index), &in, 1);
	gpu_copy_add(env, out, arena_printf(env->a, "d2h-pageable:gpu%u", p->index), &from, 1);
	in.pageable = from.pageable = false;
	in.kernel = from.kernel = true;
	gpu_copy_add(env, out, arena_printf(env->a, "h2d-kernel:gpu%u", p->index), &in, 1);
	gpu_copy_add(env, out, arena_printf(env->a, "d2h-kernel:gpu%u", p->index), &from, 1);
	in.kernel = from.kernel = false;
	LIST_FOR_EACH (const struct numa_node, node, &env->m->cpu.nodes) {
		if (env->m->cpu.nodes.n < 2 || fact_or(&node->mem_total_bytes, 0) <= 0)
			continue;
		in.node = from.node = (int)node->index;
		gpu_copy_add(env, out,
			     arena_printf(env->a, "h2d:gpu%u:node%u", p->index, node->index), &in,
			     1);
		gpu_copy_add(env, out,
			     arena_printf(env->a, "d2h:gpu%u:node%u", p->index, node->index), &from,
			     1);
	}
}

/* Within the GPU: what a pair's figures are to be held against. */
static void add_local(const struct bench_env *env, struct bench_cases *out, struct gpu_place *p)
{
	struct gpu_job job = { .place = p, .other = p, .node = -1 };

	gpu_copy_add(env, out, arena_printf(env->a, "local:gpu%u", p->index), &job, 1);
	job.kernel = true;
	gpu_copy_add(env, out, arena_printf(env->a, "local-kernel:gpu%u", p->index), &job, 1);
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
	gpu_copy_add(env, out, "h2d:all", in, all->n);
	gpu_copy_add(env, out, "d2h:all", from, all->n);
}

static void gpu_copy_add_pair(const struct bench_env *env, struct bench_cases *out,
			      struct gpu_place *a, struct gpu_place *b)
{
	int can = 0;
	bool reach = a->gpu->api->device_can_peer(&can, a->gpu->device, b->gpu->device) == 0 && can;
	struct gpu_job to = { .place = a, .other = b, .staged = !reach, .node = -1 }, from = to,
		       both[2];

	from.in = true;
	both[0] = to;
	both[1] = (struct gpu_job){ .place = b, .other = a, .staged = !reach, .node = -1 };
	gpu_copy_add(env, out, arena_printf(env->a, "peer-write:gpu%u-gpu%u", a->index, b->index),
		     &to, 1);
	gpu_copy_add(env, out, arena_printf(env->a, "peer-read:gpu%u-gpu%u", a->index, b->index),
		     &from, 1);
	if (a->index < b->index)
		gpu_copy_add(env, out,
			     arena_printf(env->a, "peer-both:gpu%u-gpu%u", a->index, b->index),
			     both, 2);
	if (!reach)
		return;
	to.kernel = from.kernel = both[0].kernel = both[1].kernel = true;
	gpu_copy_add(env, out,
		     arena_printf(env->a, "peer-write-kernel:gpu%u-gpu%u", a->index, b->index), &to,
		     1);
	gpu_copy_add(env, out,
		     arena_printf(env->a, "peer-read-kernel:gpu%u-gpu%u", a->index, b->index),
		     &from, 1);
	if (a->index < b->index)
		gpu_copy_add(
			env, out,
			arena_printf(env->a, "peer-both-kernel:gpu%u-gpu%u", a->index, b->index),
			both, 2);
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
				gpu_copy_add_pair(env, out, &all.items[i], &all.items[k]);
}

/* --- limits ----------------------------------------------------------------------------------- */

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
		return (struct bench_limit){
			.source = "unknown: the driver does not report the PCIe link"
		};
	return (struct bench_limit){
		true, lane[gen] * (double)width * ways_of(arg),
		arena_printf(env->a,
			     "PCIe generation %lld, %lld lanes, after line coding, times %zu", gen,
			     width, arg->n)
	};
}

static struct bench_limit nvlink_limit(const struct bench_env *env, const struct copy_arg *arg)
{
	const struct gpu *g = arg->job[0].place->facts;
	const char *peer = arg->job[0].other->gpu->pci;
	double mbs = 0;
	size_t n = 0;

	if (!g)
		return (struct bench_limit){
			.source = "unknown: the driver does not report the links"
		};
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
		return (struct bench_limit){
			.source = "unknown: the driver reports no NVLink between them"
		};
	return (struct bench_limit){
		true, mbs / 1e3 * ways_of(arg),
		arena_printf(env->a, "signalling rate of %zu NVLinks, times %zu", n, arg->n)
	};
}

static struct bench_limit copy_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct copy_arg *arg = c->arg;

	if (arg->job[0].other == arg->job[0].place)
		return (struct bench_limit){
			.source =
				"unknown: the limit is the GPU's memory, which gpu-memory measures"
		};
	return arg->job[0].other ? nvlink_limit(env, arg) : pcie_limit(env, arg);
}

static const struct bench_figure figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
};

const struct bench bench_gpu_copy = {
	.name = "copy",
	.title = "bandwidth of copies between GPUs, the host and each other",
	.method = "Copies of random data, queued in advance and timed by GPU events until the last "
		  "stream finishes; copies of pageable memory by the host's clock. GB are 10^9 "
		  "bytes; both directions, and several GPUs, are added up. The copied data is "
		  "compared afterwards, and the comparison is tested with a flipped bit.",
	.version = 1,
	FIGURES(figures),
	.brief = "h2d:gpu",
	.seconds = 1,
	.rounds = 3,
	.ahead = gpu_preinit_plain,
	.cases = copy_cases,
	.state_size = sizeof(struct copying),
	.setup = copy_setup,
	.run = copy_run,
	.verify = copy_verify,
	.teardown = copy_teardown,
	.limit = copy_limit,
};
