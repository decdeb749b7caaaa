/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process's ranks do at each step: memory, one operation, a row of them, checks. Knows
 * nothing of other processes but that they do the same.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/collective.h"

enum { STEP = 2 };
/* One operation at most, or a row of them. */
#define SLOWEST_S 60.0

/* --- what a rank has ----------------------------------------------------------------------------
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
static int room(const struct collective_run *run, struct gpu_place *p, struct err *e)
{
	uint64_t need = run->sizes.to + (run->arg->in_place ? 0 : run->sizes.from) + (512ull << 20);
	long long host = fact_or(&run->env->m->memory.available_kb, -1) * 1024;
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

static int rank_make(struct collective_rank *r, struct err *e)
{
	struct cuda_gpu *g = r->place->gpu;
	int s = gpu_place_open(r->place, e);

	s = s ? s : room(r->run, r->place, e);
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
		r->r = cuda_wait_stream(r->place->gpu, r->stream, 2 * SLOWEST_S, "a collective",
					&r->e);
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

static int queue(struct collective_rank *r)
{
	return r->run->together ? collective_queue_all(r->run, &r->e) : collective_queue(r, &r->e);
}

static int mark(struct collective_rank *r, struct cuda_event *event, struct err *e)
{
	int s = cuda_use(r->place->gpu, e);

	return s ? s : cuda_record(r->place->gpu, event, r->stream, e);
}

static int read_time(struct collective_rank *r, struct err *e)
{
	struct cuda_gpu *g = r->place->gpu;
	int s = cuda_use(g, e);

	/* The watchdog comes first: it can abort, and this wait cannot. */
	s = s ? s : cuda_wait_event(g, r->end, 3 * SLOWEST_S, "a row of collectives", e);
	s = s ? s : cuda_elapsed(g, r->begin, r->end, &r->seconds, e);
	r->seconds /= (double)r->run->times;
	return s;
}

/* Behind two that bring the ranks into step. In one thread for all, or in one for each. */
static void row(struct collective_rank *r)
{
	struct collective_run *run = r->run;
	struct collective_rank *last = run->together ? run->ranks + run->n : r + 1;

	if (run->together && r != run->ranks)
		return;
	for (size_t i = 0; i < STEP && r->r == 0; i++)
		r->r = queue(r);
	for (struct collective_rank *k = r; k < last && r->r == 0; k++)
		r->r = mark(k, k->begin, &r->e);
	for (size_t i = 0; i < run->times && r->r == 0; i++)
		r->r = queue(r);
	for (struct collective_rank *k = r; k < last && r->r == 0; k++)
		r->r = mark(k, k->end, &r->e);
	for (struct collective_rank *k = r; k < last && r->r == 0; k++)
		r->r = read_time(k, &r->e);
}

/* --- steps --------------------------------------------------------------------------------------
 */

double collective_limit_s(const struct collective_run *run)
{
	return run->arg->small ? 2 : SLOWEST_S;
}

static int make(struct collective_run *run, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	int r = 0;

	run->n = s->places.n;
	run->all = s->all;
	run->sizes = collective_sizes(run->arg->op, run->arg->bytes, run->all);
	run->ranks = calloc(run->n, sizeof(*run->ranks));
	if (!run->ranks)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < run->n && r == 0; i++) {
		struct collective_rank *k = &run->ranks[i];

		k->run = run;
		k->index = s->first + i;
		k->place = &s->places.items[i];
		k->comm = s->comms[i];
		r = rank_make(k, e);
	}
	return r;
}

/* Threads that hang may still touch all of it. */
static void drop(struct collective_run *run)
{
	if (run->stuck)
		return;
	for (size_t i = 0; run->ranks && i < run->n; i++)
		if (run->ranks[i].place)
			rank_end(&run->ranks[i]);
	free(run->ranks);
	run->ranks = NULL;
}

static int first(struct collective_run *run, const char *what, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	int r;

	nccl_log_on(&s->nccl);
	r = collective_each(run, fill_and_run, collective_limit_s(run), what, e);
	nccl_log_read(&s->nccl, &run->seen);
	if (!*s->paths.via)
		s->paths = run->seen;
	if (r == 0)
		nccl_log_off(&s->nccl);
	return r;
}

static int measure(struct collective_run *run, const char *what, struct err *e)
{
	int r;

	for (size_t i = 0; i < run->n; i++)
		run->ranks[i].seconds = 0;
	r = collective_each(run, row, collective_limit_s(run), what, e);
	run->seconds = 0;
	for (size_t i = 0; i < run->n && r == 0; i++)
		run->seconds = fmax(run->seconds, run->ranks[i].seconds);
	return r;
}

int collective_local(struct collective_run *run, enum collective_step step, struct err *e)
{
	const char *what = collective_name(run->arg->op);
	double limit = collective_limit_s(run);

	switch (step) {
	case COLLECTIVE_MAKE:
		return make(run, e);
	case COLLECTIVE_FIRST:
		return first(run, what, e);
	case COLLECTIVE_ROW:
		return measure(run, what, e);
	case COLLECTIVE_AGAIN:
		return collective_each(run, fill_and_run, limit, what, e);
	case COLLECTIVE_CHECK:
		return collective_each(run, check, limit, "checking", e);
	case COLLECTIVE_PLANT:
		return collective_each(run, plant, limit, "checking the check", e);
	case COLLECTIVE_DROP:
		drop(run);
		return 0;
	default:
		return err_set(e, -EINVAL, "no step of a collective");
	}
}
