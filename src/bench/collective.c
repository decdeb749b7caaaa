/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of collectives. A sample is a row of operations on every rank, timed by each GPU's own
 * events behind two that bring the ranks into step; the slowest rank counts.
 */
#include "bench/collective.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/list.h"

enum { STEP = 2, TIMES_MAX = 2000, VARIANT_MAX = 512 };
/* Connecting, one operation at most, and all else. */
#define START_S 120.0
#define SLOWEST_S 60.0
#define SAMPLE_S 0.06

enum { FIGURE_BUS, FIGURE_ALGORITHM, FIGURE_TIME };

/* --- ranks --------------------------------------------------------------------------------------
 */

static void rank_end(struct collective_rank *r)
{
	struct cuda_gpu *g = r->place->gpu;

	if (cuda_use(g, &r->e))
		return;
	if (r->stream)
		cuda_wait_stream(g, r->stream, SLOWEST_S, "the last collective", &r->e);
	cuda_free(g, r->memory[0]);
	cuda_free(g, r->memory[1]);
	cuda_free(g, r->result);
	cuda_module_end(g, r->module);
	cuda_event_end(g, r->begin);
	cuda_event_end(g, r->end);
	cuda_stream_end(g, r->stream);
}

/* The memory gate: what is needed, and something left for everybody else. */
static int room(const struct bench_env *env, const struct collective_run *run, struct gpu_place *p,
		struct err *e)
{
	uint64_t need = run->sizes.to + (run->arg->in_place ? 0 : run->sizes.from) + (512ull << 20);
	long long host = fact_or(&env->m->memory.available_kb, -1) * 1024;
	size_t left = 0, all = 0;
	int r = cuda_check(p->gpu, p->gpu->api->memory_info(&left, &all), e, "its free memory");

	if (r)
		return r;
	if (run->arg->small)
		return 0;
	if (left < need)
		return err_set(e, -ENOMEM, "GPU %u has %zu MiB free, %llu MiB are needed", p->index,
			       left >> 20, (unsigned long long)(need >> 20));
	/* Shared memory that runs out freezes the whole machine. */
	if (p->gpu->integrated && (host < 0 || (uint64_t)host < 3 * need))
		return err_set(e, -ENOMEM,
			       "GPU %u shares the machine's memory: %lld MiB are available, three "
			       "times the %llu MiB that are needed must be",
			       p->index, host / (1 << 20), (unsigned long long)(need >> 20));
	return 0;
}

static int alloc(struct collective_rank *r, struct err *e)
{
	const struct collective_run *run = r->run;
	const struct collective_sizes *z = &run->sizes;
	uint64_t most = z->from > z->to ? z->from : z->to;
	int s = gpu_alloc(r->place, run->arg->in_place ? most : z->from, &r->memory[0], e);

	if (s)
		return s;
	r->from = r->to = r->memory[0];
	if (!run->arg->in_place) {
		s = gpu_alloc(r->place, z->to, &r->memory[1], e);
		r->to = r->memory[1];
	} else if (run->arg->op == COLLECTIVE_ALL_GATHER) {
		r->from += r->index * z->segment;
	} else if (run->arg->op == COLLECTIVE_REDUCE_SCATTER) {
		r->to += r->index * z->segment;
	}
	return s ? s : gpu_alloc(r->place, 2 * sizeof(uint64_t), &r->result, e);
}

static int rank_make(const struct bench_env *env, struct collective_rank *r, struct err *e)
{
	struct cuda_gpu *g = r->place->gpu;
	int s = gpu_place_open(r->place, e);

	s = s ? s : room(env, r->run, r->place, e);
	s = s ? s : cuda_stream_make(g, &r->stream, e);
	s = s ? s : cuda_event_make(g, &r->begin, e);
	s = s ? s : cuda_event_make(g, &r->end, e);
	s = s ? s : cuda_module_load(g, collective_ptx, &r->module, e);
	s = s ? s : cuda_function_find(g, r->module, "collective_check", &r->check, e);
	return s ? s : alloc(r, e);
}

/* --- work in each rank's thread -----------------------------------------------------------------
 */

/* In place, poisoning the result would poison what is given: fill comes after. */
static void fill_and_run(struct collective_rank *r)
{
	r->r = collective_fill(r, &r->e);
	if (r->r == 0)
		r->r = collective_queue(r, &r->e);
	if (r->r == 0)
		r->r = cuda_wait_stream(r->place->gpu, r->stream, 2 * SLOWEST_S + START_S,
					"a collective", &r->e);
}

static void check(struct collective_rank *r)
{
	r->r = collective_check(r, &r->e);
}

/* One bit turned in what the rank got: the check must find it. */
static void plant(struct collective_rank *r)
{
	struct cuda_gpu *g = r->place->gpu;
	cuda_address at = r->to + r->run->sizes.to / 2 / 8 * 8;
	uint64_t word = 0;
	struct err ignored;

	r->r = cuda_check(g, g->api->copy_out(&word, at, sizeof(word), r->stream), &r->e, "a word");
	if (r->r == 0)
		r->r = cuda_wait_stream(g, r->stream, SLOWEST_S, "a word", &r->e);
	word ^= 1ull << 20;
	if (r->r == 0)
		r->r = cuda_check(g, g->api->copy_in(at, &word, sizeof(word), r->stream), &r->e,
				  "a planted fault");
	if (r->r == 0 && collective_check(r, &ignored) != -EILSEQ)
		r->r = err_set(&r->e, -EILSEQ,
			       "GPU %u: a flipped bit was not noticed: the check does not work",
			       r->place->index);
}

static void row(struct collective_rank *r)
{
	struct cuda_gpu *g = r->place->gpu;

	for (size_t i = 0; i < STEP && r->r == 0; i++)
		r->r = collective_queue(r, &r->e);
	if (r->r == 0)
		r->r = cuda_record(g, r->begin, r->stream, &r->e);
	for (size_t i = 0; i < r->run->times && r->r == 0; i++)
		r->r = collective_queue(r, &r->e);
	if (r->r == 0)
		r->r = cuda_record(g, r->end, r->stream, &r->e);
	/* The watchdog comes first: it can abort, and this wait cannot. */
	if (r->r == 0)
		r->r = cuda_wait_event(g, r->end, 2 * SLOWEST_S + START_S, "a row of collectives",
				       &r->e);
	if (r->r == 0)
		r->r = cuda_elapsed(g, r->begin, r->end, &r->seconds, &r->e);
	r->seconds /= (double)r->run->times;
}

/* Seconds of one operation, on the slowest rank. */
static int run_row(struct collective_run *run, double *seconds, struct err *e)
{
	int r = collective_each(run, row, run->arg->small ? 2 : SLOWEST_S,
				collective_name(run->arg->op), e);

	*seconds = 0;
	for (size_t i = 0; i < run->n && r == 0; i++)
		*seconds = fmax(*seconds, run->ranks[i].seconds);
	return r;
}

/* --- the bench's functions ----------------------------------------------------------------------
 */

static void collective_teardown(void *state)
{
	struct collective_run *run = state;

	/* Threads that hang may still touch all of it. */
	if (run->stuck)
		return;
	for (size_t i = 0; run->ranks && i < run->n; i++)
		if (run->ranks[i].place)
			rank_end(&run->ranks[i]);
	free(run->ranks);
	free(run);
}

static void describe(struct collective_run *run, const struct nccl_paths *seen)
{
	const struct collective_shared *s = run->arg->shared;
	const struct nccl *n = &s->nccl;
	const char *via = *s->paths.via ? s->paths.via : seen->via;

	snprintf(run->variant, VARIANT_MAX, "NCCL %d.%d.%d%s%s%s%s%s%s", n->version / 10000,
		 n->version / 100 % 100, n->version % 100, *seen->algorithm ? ", " : "",
		 seen->algorithm, *via ? ", via " : "", via,
		 run->arg->op == COLLECTIVE_ALL_TO_ALL && !n->has_all_to_all
			 ? ", sends and receives in a group"
			 : "",
		 n->multicast ? ", NVLink multicast as the environment wants it"
			      : ", NVLink multicast off");
}

/* The first operation, with the log on; then how many make a sample. */
static int warm(struct collective_run *run, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	struct nccl_paths seen;
	double seconds = 0;
	int r;

	nccl_log_on(&s->nccl);
	r = collective_each(run, fill_and_run, run->arg->small ? 2 : SLOWEST_S,
			    collective_name(run->arg->op), e);
	nccl_log_read(&s->nccl, &seen);
	if (!*s->paths.via)
		s->paths = seen;
	describe(run, &seen);
	if (r)
		return r;
	nccl_log_off(&s->nccl);
	run->times = 1;
	r = run_row(run, &seconds, e);
	if (r == 0 && !run->arg->small)
		run->times = (size_t)fmin(fmax(SAMPLE_S / seconds, 4), TIMES_MAX);
	return r;
}

static int make_ranks(const struct bench_env *env, struct collective_run *run, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	int r = 0;

	run->ranks = calloc(run->n, sizeof(*run->ranks));
	if (!run->ranks)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < run->n && r == 0; i++) {
		struct collective_rank *k = &run->ranks[i];

		k->run = run;
		k->index = i;
		k->place = &s->places.items[i];
		k->comm = s->comms[i];
		r = rank_make(env, k, e);
	}
	return r;
}

static int collective_setup(const struct bench_env *env, const struct bench_case *c, void **state,
			    const char **variant, struct err *e)
{
	const struct collective_arg *arg = c->arg;
	struct collective_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return err_set(e, -ENOMEM, "no memory");
	run->arg = arg;
	run->n = arg->shared->places.n;
	run->sizes = collective_sizes(arg->op, arg->bytes, run->n);
	run->variant = arena_alloc(env->a, VARIANT_MAX);
	r = collective_open(arg->shared, START_S, e);
	r = r ? r : make_ranks(env, run, e);
	r = r ? r : warm(run, e);
	if (r) {
		collective_teardown(run);
		return r;
	}
	*variant = run->variant;
	*state = run;
	return 0;
}

static int collective_run(void *state, struct bench_sample *out, struct err *e)
{
	struct collective_run *run = state;
	double seconds;
	int r = run_row(run, &seconds, e);

	if (r)
		return r;
	out->value[FIGURE_ALGORITHM] = (double)run->sizes.total / seconds / 1e9;
	out->value[FIGURE_BUS] =
		out->value[FIGURE_ALGORITHM] * collective_bus_factor(run->arg->op, run->n);
	out->value[FIGURE_TIME] = seconds * 1e6;
	return 0;
}

static int collective_verify(void *state, struct err *e)
{
	struct collective_run *run = state;
	const char *what = collective_name(run->arg->op);
	double limit = run->arg->small ? 2 : SLOWEST_S;
	int r;

	if (run->arg->shared->paths.sockets) {
		r = err_set(e, -ENOTRECOVERABLE,
			    "NCCL carries data between GPUs of this machine over TCP sockets");
		err_hint(e, "look at NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, the size of /dev/shm and "
			    "peer access");
		return r;
	}
	r = collective_each(run, fill_and_run, limit, what, e);

	r = r ? r : collective_each(run, check, limit, "checking", e);
	return r ? r : collective_each(run, plant, limit, "checking the check", e);
}

static void collective_end(const struct bench_cases *all)
{
	const struct collective_arg *arg = all->n ? all->items[0].arg : NULL;

	if (arg)
		collective_close(arg->shared);
}

/* Of NVLink, one way: a ring cannot be faster. */
static struct bench_limit collective_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct collective_arg *arg = c->arg;
	const struct gpu_places *on = &arg->shared->places;
	double least = INFINITY;

	(void)env;
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
			.source = "unknown: NVML tells no speed of NVLinks here"
		};
	return (struct bench_limit){ true, least,
				     "read: all active NVLinks of a GPU, one way; what a ring can "
				     "carry at most" };
}

static const struct bench_figure figures[] = {
	[FIGURE_BUS] = { "bus", "bus bandwidth", "gb_per_s", "GB/s", BENCH_HIGHER },
	[FIGURE_ALGORITHM] = { "algorithm", "size over time", "gb_per_s", "GB/s", BENCH_HIGHER },
	[FIGURE_TIME] = { "time", "time of one operation", "us", "us", BENCH_LOWER },
};

const struct bench bench_collectives = {
	.name = "collectives",
	.title = "how fast GPUs exchange and add up data",
	.method =
		"NCCL on all GPUs of this machine, one process, one thread a GPU; operations in a "
		"row, timed by the GPUs' own events, the slowest rank counts. The size is that of "
		"the whole: what a rank has after an all-gather, or before a reduce-scatter. Bus "
		"bandwidth by the usual factors: 2(n-1)/n for all-reduce, (n-1)/n for all-gather, "
		"reduce-scatter and all-to-all, 1 for the others; it is what a link of a ring "
		"carries, and exceeds it where switches add up. 32-bit floats, checked exactly.",
	.version = 1,
	.figures = figures,
	.n_figures = sizeof(figures) / sizeof(figures[0]),
	.brief = "all-reduce:1GiB",
	.seconds = 0.6,
	.rounds = 3,
	.cases = collective_cases,
	.setup = collective_setup,
	.run = collective_run,
	.verify = collective_verify,
	.teardown = collective_teardown,
	.end = collective_end,
	.limit = collective_limit,
};
