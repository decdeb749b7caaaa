/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a GPU's memory and its L2 cache are read, written, copied and combined by our kernels,
 * and copied and set by the driver's own means. Of all shapes of a kernel the fastest is taken.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "measure/bench/gpu_ahead.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/bench.h"

enum { ENGINE_COPY = CUDA_OPS, ENGINE_SET, VARIANT_MAX = 240 };

static const double window_s = 0.02, tune_s = 0.004;

struct stream_arg {
	struct gpu_place *place;
	int way; /* enum cuda_op, or an engine's */
	bool near;
	size_t bytes; /* of each array */
};

struct streaming {
	const struct stream_arg *arg;
	struct gpu_timer timer;
	cuda_address to, from, other, sum;
	const struct cuda_shape *shape;
	struct cuda_function *kernel;
	unsigned blocks, passes;
	size_t n;	   /* kernels a window */
	uint64_t launched; /* since the sum was cleared */
	struct gpu_state held;
	char *variant; /* in the arena: it outlives this */
};

static const struct gpu_data data_from = { 0x67707574756e6501u, false },
			     data_b = { 0x67707574756e6502u, true },
			     data_c = { 0x67707574756e6503u, true };

static bool is_engine(const struct streaming *s)
{
	return s->arg->way >= CUDA_OPS;
}

static int gpu_memory_work(void *ctx, size_t lane, struct err *e)
{
	struct streaming *s = ctx;
	struct cuda_gpu *g = s->arg->place->gpu;
	struct cuda_stream *stream = s->timer.lane[lane].s;
	uint64_t bytes = s->arg->bytes, seed = data_from.seed;
	void *args[] = { &s->to, &s->from, &s->other, &bytes, &seed, &s->sum, &s->passes };

	if (s->arg->way == ENGINE_COPY)
		return cuda_check(g, g->api->copy_device(s->to, s->from, bytes, stream), e,
				  "copying");
	if (s->arg->way == ENGINE_SET)
		return cuda_check(
			g, g->api->set_words(s->to, gpu_set_word(data_from), bytes / 4, stream), e,
			"setting memory");
	s->launched++;
	return cuda_launch(g, s->kernel, s->blocks, s->shape->threads, stream, args, e);
}

/* The blocks of a shape for this size. */
static int use_shape(struct streaming *s, const struct cuda_shape *shape, struct err *e)
{
	const struct cuda_gpu *g = s->arg->place->gpu;
	size_t pieces = s->arg->bytes / cuda_shape_piece(shape),
	       stay = (size_t)(g->sms > 0 ? g->sms : 16) * shape->per_sm;

	s->shape = shape;
	s->blocks = (unsigned)(shape->per_sm && stay < pieces ? stay : pieces);
	return gpu_stream_kernel(s->arg->place, shape, &s->kernel, e);
}

/* Tries the shapes that fit and gives the fastest. */
static int gpu_memory_tune(struct streaming *s, const struct cuda_shape **out, struct err *e)
{
	double fastest = INFINITY, t;
	size_t n = 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < cuda_shape_count; i++) {
		const struct cuda_shape *shape = &cuda_shapes[i];

		if ((int)shape->op != s->arg->way || s->arg->bytes % cuda_shape_piece(shape) ||
		    !cuda_shape_runs(shape, s->arg->place->gpu->cc_major))
			continue;
		r = use_shape(s, shape, e);
		r = r ? r : gpu_window_fit(&s->timer, gpu_memory_work, s, tune_s, &n, e);
		for (int again = 0; r == 0 && again < 2; again++) {
			r = gpu_window(&s->timer, gpu_memory_work, s, n, &t, e);
			if (r == 0 && t / (double)n < fastest) {
				fastest = t / (double)n;
				*out = shape;
			}
		}
	}
	return r;
}

/* What was chosen is chosen for the whole run, so that rounds compare. */
static int gpu_memory_choose(struct streaming *s, struct err *e)
{
	const struct cuda_shape **best, *found;
	char name[64];
	int r = 0;

	if (is_engine(s)) {
		snprintf(s->variant, VARIANT_MAX, "%s",
			 s->arg->way == ENGINE_COPY ? "the driver's copy" : "the driver's fill");
		return 0;
	}
	best = &s->arg->place->best[s->arg->way][s->arg->near];
	if (!*best)
		r = gpu_memory_tune(s, best, e);
	found = *best;
	if (r == 0 && !found)
		r = err_set(e, -EOPNOTSUPP, "no kernel handles arrays of %zu bytes", s->arg->bytes);
	if (r || !found)
		return r;
	r = use_shape(s, found, e);
	if (r)
		return r;
	cuda_shape_name(s->shape, name, sizeof(name));
	snprintf(s->variant, VARIANT_MAX, "%s, %u blocks", name, s->blocks);
	return 0;
}

/* --- data ------------------------------------------------------------------------------------- */

static bool reads(const struct streaming *s)
{
	return s->arg->way != CUDA_OP_WRITE && s->arg->way != ENGINE_SET;
}

static int make_data(struct streaming *s, struct err *e)
{
	struct gpu_place *p = s->arg->place;
	bool triad = s->arg->way == CUDA_OP_TRIAD;
	size_t bytes = s->arg->bytes;
	int r = gpu_alloc(p, 8, &s->sum, e);

	if (r == 0 && s->arg->way != CUDA_OP_READ)
		r = gpu_alloc(p, bytes, &s->to, e);
	if (r == 0 && reads(s))
		r = gpu_alloc(p, bytes, &s->from, e);
	if (r == 0 && triad)
		r = gpu_alloc(p, bytes, &s->other, e);
	if (r == 0 && s->from)
		r = gpu_fill(p, &s->timer, s->from, bytes, triad ? data_b : data_from, e);
	if (r == 0 && s->other)
		r = gpu_fill(p, &s->timer, s->other, bytes, data_c, e);
	return r;
}

/* From here on all that is written is poison, and the sum is nought. */
static int gpu_memory_clear(struct streaming *s, struct err *e)
{
	struct gpu_place *p = s->arg->place;
	struct cuda_stream *stream = s->timer.lane[0].s;
	int r = s->to ? gpu_poison(p, &s->timer, s->to, s->arg->bytes, e) : 0;

	r = r ? r
	      : cuda_check(p->gpu, p->gpu->api->set_words(s->sum, 0, 2, stream), e,
			   "clearing the sum");
	s->launched = 0;
	return r ? r : cuda_wait_stream(p->gpu, stream, 10, "clearing the sum", e);
}

static void memory_teardown(void *state)
{
	struct streaming *s = state;
	struct cuda_gpu *g = s->arg->place->gpu;

	gpu_state_end(&s->held, s->variant, VARIANT_MAX);
	if (s->timer.n)
		gpu_timer_end(&s->timer);
	cuda_free(g, s->to);
	cuda_free(g, s->from);
	cuda_free(g, s->other);
	cuda_free(g, s->sum);
}

static int memory_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			const char **variant, struct err *e)
{
	struct streaming *s = state;
	struct gpu_place *place;
	int r;

	s->arg = c->arg;
	place = s->arg->place;
	s->variant = arena_alloc(env->a, VARIANT_MAX);
	/* Passes within a kernel: so many that its start and end do not count. */
	s->passes = s->arg->near ? 100 : s->arg->way == CUDA_OP_READ ? 4 : 1;
	s->passes = env->small ? 2 : s->passes;
	r = gpu_place_open(place, e);
	r = r ? r : gpu_timer_make(&s->timer, &place, 1, e);
	r = r ? r : make_data(s, e);
	r = r ? r : gpu_memory_choose(s, e);
	r = r ? r : gpu_memory_clear(s, e);
	r = r ? r
	      : gpu_window_fit(&s->timer, gpu_memory_work, s, env->small ? 1e-4 : window_s, &s->n,
			       e);
	if (r)
		return r;
	gpu_state_begin(&s->held, place);
	*variant = s->variant;
	return 0;
}

static int memory_run(void *state, struct bench_sample *out, struct err *e)
{
	struct streaming *s = state;
	unsigned factor = s->arg->way == ENGINE_COPY ? 2 : 1;
	double t;
	int r = gpu_window(&s->timer, gpu_memory_work, s, s->n, &t, e);

	if (r)
		return r;
	if (!is_engine(s))
		factor = cuda_op_factor((enum cuda_op)s->arg->way) * s->passes;
	out->value[0] = (double)s->n * (double)s->arg->bytes * factor / t / 1e9;
	return 0;
}

static int verify_read(struct streaming *s, struct err *e)
{
	struct gpu_place *p = s->arg->place;
	uint64_t once = 0, got = 0, want, passes = s->launched * s->passes;
	int r = gpu_sum(p, &s->timer, s->arg->bytes, data_from, &once, e);

	want = once * passes;
	r = r ? r
	      : cuda_check(p->gpu,
			   p->gpu->api->copy_out(&got, s->sum, sizeof(got), s->timer.lane[0].s), e,
			   "fetching the sum");
	r = r ? r : cuda_wait_stream(p->gpu, s->timer.lane[0].s, 10, "fetching the sum", e);
	if (r == 0 && got != want)
		r = err_set(e, -EILSEQ,
			    "GPU %u: the data read sums to %016llx, not %016llx, after %llu passes",
			    p->index, (unsigned long long)got, (unsigned long long)want,
			    (unsigned long long)passes);
	return r ? r
		 : gpu_verify(p, &s->timer, GPU_CHECK_DATA, s->from, s->arg->bytes, data_from, 0,
			      "the data read", e);
}

static int memory_verify(void *state, struct err *e)
{
	struct streaming *s = state;
	struct gpu_place *p = s->arg->place;
	size_t bytes = s->arg->bytes;

	switch (s->arg->way) {
	case CUDA_OP_READ:
		return verify_read(s, e);
	case CUDA_OP_WRITE:
		return gpu_verify(p, &s->timer, GPU_CHECK_WRITE, s->to, bytes, data_from, 0,
				  "the data written", e);
	case CUDA_OP_TRIAD:
		return gpu_verify(p, &s->timer, GPU_CHECK_TRIAD, s->to, bytes, data_b, data_c.seed,
				  "the triad", e);
	case ENGINE_SET:
		return gpu_verify(p, &s->timer, GPU_CHECK_SET, s->to, bytes, data_from, 0,
				  "the filled memory", e);
	default:
		return gpu_verify(p, &s->timer, GPU_CHECK_DATA, s->to, bytes, data_from, 0,
				  "the copy", e);
	}
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Far more than the cache, and at most a share of the memory; a power of two. */
static size_t far_bytes(const struct bench_env *env, const struct gpu_place *p)
{
	size_t most = p->gpu->memory_bytes / 24, bytes = 1 << 20;

	if (p->gpu->integrated && fact_or(&env->m->memory.available_kb, 0) > 0)
		most = (size_t)fact_or(&env->m->memory.available_kb, 0) * 1024 / 24;
	while (!env->small && bytes * 2 <= most && bytes < (size_t)4 << 30)
		bytes *= 2;
	return bytes;
}

/* A sixth of the cache or less: a cache of two halves keeps some of it twice. */
static size_t near_bytes(const struct bench_env *env, const struct gpu_place *p)
{
	size_t bytes = 1 << 20;

	while (!env->small && bytes * 2 <= p->gpu->l2_bytes / 6)
		bytes *= 2;
	return bytes;
}

static const struct way {
	const char *name;
	int way;
	bool near;
	unsigned arrays;
} ways[] = {
	{ "read", CUDA_OP_READ, false, 1 },	  { "write", CUDA_OP_WRITE, false, 1 },
	{ "copy", CUDA_OP_COPY, false, 2 },	  { "triad", CUDA_OP_TRIAD, false, 3 },
	{ "copy-driver", ENGINE_COPY, false, 2 }, { "set-driver", ENGINE_SET, false, 1 },
	{ "l2-read", CUDA_OP_READ, true, 1 },	  { "l2-write", CUDA_OP_WRITE, true, 1 },
};

static void gpu_memory_add(const struct bench_env *env, struct bench_cases *out,
			   struct gpu_place *p, const struct way *w)
{
	struct stream_arg *arg = ARENA_NEW(env->a, struct stream_arg);

	*arg = (struct stream_arg){ p, w->way, w->near,
				    w->near ? near_bytes(env, p) : far_bytes(env, p) };
	bench_case_add(env->a, out,
		       (struct bench_case){
			       .name = arena_printf(env->a, "%s:gpu%u", w->name, p->index),
			       .setup = arena_printf(env->a, "%u array%s of %zu MiB%s", w->arrays,
						     PLURAL(w->arrays), arg->bytes >> 20,
						     p->gpu->integrated
							     ? ", in memory shared with the CPUs"
							     : ""),
			       .placement = gpu_place_text(env->a, p),
			       .arg = arg,
			       .hardware = p->gpu->name });
}

static void memory_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct gpu_places all;

	gpu_places_find(env, out, &all);
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		for (size_t i = 0; i < all.n; i++)
			if (!ways[w].near || all.items[i].gpu->l2_bytes)
				gpu_memory_add(env, out, &all.items[i], &ways[w]);
}

static struct bench_limit memory_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct stream_arg *arg = c->arg;
	const struct cuda_gpu *g = arg->place->gpu;

	if (arg->near)
		return (struct bench_limit){
			.source = "unknown: no vendor states the rate of this cache"
		};
	if (!g->memory_khz || !g->bus_bits)
		return (struct bench_limit){
			.source = "unknown: memory clock and width not reported by the driver"
		};
	return (struct bench_limit){ true, 2e3 * g->memory_khz * g->bus_bits / 8 / 1e9,
				     arena_printf(env->a,
						  "memory clock %d MHz, two transfers per clock, "
						  "%d bits: read from the driver",
						  g->memory_khz / 1000, g->bus_bits) };
}

static const struct bench_figure figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
};

const struct bench bench_gpu_memory = {
	.name = "gpu-memory",
	.title = "bandwidth of a GPU's memory and cache: read, write, copy, triad",
	.method = "Kernels over arrays of random data, timed by GPU events while the host only "
		  "waits. Bytes per byte of the array, as kernels see them: read 1, write 1, copy "
		  "2 (read and written), triad 3; GB are 10^9 bytes. The fastest launch shape of "
		  "each kernel counts. All data is compared on the GPU afterwards, and the "
		  "comparison is tested with a flipped bit.",
	.version = 1,
	FIGURES(figures),
	.brief = "copy:",
	.seconds = 1.5,
	.rounds = 3,
	.ahead = gpu_preinit_plain,
	.cases = memory_cases,
	.state_size = sizeof(struct streaming),
	.setup = memory_setup,
	.run = memory_run,
	.verify = memory_verify,
	.teardown = memory_teardown,
	.limit = memory_limit,
};
