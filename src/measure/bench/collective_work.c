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
#include <time.h>

#include "measure/bench/collective.h"
#include "base/text.h"

enum { STEP = 2 };
/* One operation at most, or a row of them. */
#define SLOWEST_S 60.0

/* The ranks of this process: one thread each, one operation, and the watchdog. */

/* How long an abort may take. */
enum { ABORT_S = 20 };
/* Between looks at the threads, and what they get when one of them has failed. */
#define STEP_S 0.05
#define GRACE_S 1.0

static struct timespec deadline(double seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (t.tv_nsec >= 1000000000L) {
		t.tv_nsec -= 1000000000L;
		t.tv_sec++;
	}
	return t;
}

/* --- all at once ------------------------------------------------------------------------------ */
struct job {
	struct collective_rank *rank;
	void (*work)(struct collective_rank *r);
};

static void *job_main(void *arg)
{
	struct job *j = arg;

	j->rank->r = cuda_use(j->rank->place->gpu, &j->rank->e);
	if (j->rank->r == 0)
		j->work(j->rank);
	return NULL;
}

/* One more look at every thread that is not over; how many are left. */
static size_t join_some(struct collective_run *run)
{
	size_t left = 0;

	for (size_t i = 0; i < run->n; i++) {
		struct collective_rank *r = &run->ranks[i];
		struct timespec until = deadline(STEP_S);

		if (!r->started || r->over)
			continue;
		r->over = pthread_timedjoin_np(r->thread, NULL, &until) == 0;
		left += !r->over;
	}
	return left;
}

static const struct collective_rank *failed(const struct collective_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		if ((run->ranks[i].over || !run->ranks[i].started) && run->ranks[i].r)
			return &run->ranks[i];
	return NULL;
}

/* Of another process, which ours may wait for. */
static bool trouble(const struct collective_run *run)
{
	struct world *w = run->arg->shared->world;

	return w && world_trouble(w);
}

/* Until all are over, that time is, or one failed and the others had a moment: they wait for it. */
static size_t join_until(struct collective_run *run, double seconds)
{
	double end = clock_mono_s() + seconds;
	size_t left;

	while ((left = join_some(run)) > 0 && clock_mono_s() < end)
		if ((failed(run) || trouble(run)) && end > clock_mono_s() + GRACE_S)
			end = clock_mono_s() + GRACE_S;
	return left;
}

static void abort_all(struct collective_run *run)
{
	struct collective_shared *s = run->arg->shared;

	s->broken = true;
	for (size_t i = 0; i < run->n; i++)
		if (s->comms[i])
			s->nccl.api.abort(s->comms[i]);
}

/* Which ranks had not finished, as the user counts GPUs. */
static int hung_error(struct collective_run *run, double limit_s, const char *what, struct err *e)
{
	char list[128] = "";
	size_t at = 0;

	for (size_t i = 0; i < run->n && at + 8 < sizeof(list); i++)
		if (!run->ranks[i].over)
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%u", at ? ", " : "",
					       run->ranks[i].place->index);
	/* Not the cause: who is will be named instead. */
	if (trouble(run))
		return err_set(e, -ECANCELED, "%s was aborted on GPU %s: another process failed",
			       what, list);
	err_set(e, -ETIME, "%s did not finish after %.0f s on GPU %s and was aborted", what,
		limit_s, list);
	err_hint(e, "NCCL_DEBUG=INFO shows where it waits; check NVLink, peer access and ACS");
	return -ETIME;
}

/* A thread that does not end keeps everything it may touch. */
static void collective_work_give_up(struct collective_run *run, struct job *jobs)
{
	if (!join_until(run, ABORT_S)) {
		free(jobs);
		return;
	}
	run->stuck = run->arg->shared->stuck = true;
	for (size_t i = 0; i < run->n; i++)
		if (!run->ranks[i].over) {
			struct err ignored;

			pthread_detach(run->ranks[i].thread);
			cuda_lose(run->ranks[i].place->gpu, &ignored,
				  "a collective hung and could not be aborted");
		}
}

/*
 * work on every rank of this process at once, in threads of their own. When they are not over after
 * limit_s seconds, or another process is in trouble, all communicators are aborted: -ETIME, and
 * which ranks hung. The first error of any.
 */
static int collective_each(struct collective_run *run, void (*work)(struct collective_rank *r),
			   double limit_s, const char *what, struct err *e)
{
	struct job *jobs = heap_array(run->n, sizeof(*jobs));
	int code = 0;

	for (size_t i = 0; i < run->n; i++) {
		struct collective_rank *r = &run->ranks[i];

		jobs[i] = (struct job){ r, work };
		r->over = false;
		r->r = 0;
		r->started = pthread_create(&r->thread, NULL, job_main, &jobs[i]) == 0;
		if (!r->started)
			r->r = err_set(&r->e, -EAGAIN, "cannot create a thread");
	}
	if (join_until(run, limit_s)) {
		const struct collective_rank *bad = failed(run);

		if (bad)
			*e = bad->e;
		code = bad ? bad->r : hung_error(run, limit_s, what, e);
		abort_all(run);
		collective_work_give_up(run, jobs);
		return code;
	}
	free(jobs);
	for (size_t i = 0; i < run->n && code == 0; i++)
		if (run->ranks[i].r) {
			*e = run->ranks[i].e;
			code = run->ranks[i].r;
		}
	/* What failed on one rank others may wait for. */
	if (code == -EIO)
		abort_all(run);
	return code;
}

/* --- one operation ---------------------------------------------------------------------------- */

static int collective_work_pairs(struct collective_rank *r, size_t to, size_t from,
				 uint64_t to_offset, uint64_t from_offset, struct err *e)
{
	const struct nccl_api *api = &r->run->arg->shared->nccl.api;
	size_t count = r->run->sizes.segment / 4;
	struct cuda_gpu *g = r->place->gpu;
	int s = nccl_check(
		g, api->send(r->from + to_offset, count, NCCL_FLOAT32, (int)to, r->comm, r->stream),
		e, "a send");

	return s ? s
		 : nccl_check(g,
			      api->receive(r->to + from_offset, count, NCCL_FLOAT32, (int)from,
					   r->comm, r->stream),
			      e, "a receive");
}

/* Where the library has no such call: everybody sends to everybody. */
static int grouped(struct collective_rank *r, struct err *e)
{
	const struct nccl_api *api = &r->run->arg->shared->nccl.api;
	size_t n = r->run->all, segment = r->run->sizes.segment;
	int s = nccl_check(r->place->gpu, api->group_begin(), e, "a group"), end;

	if (s)
		return s;
	if (r->run->arg->op == COLLECTIVE_SEND_RECEIVE)
		s = collective_work_pairs(r, (r->index + 1) % n, (r->index + n - 1) % n, 0, 0, e);
	for (size_t i = 0; r->run->arg->op == COLLECTIVE_ALL_TO_ALL && i < n && s == 0; i++)
		s = collective_work_pairs(r, i, i, i * segment, i * segment, e);
	end = nccl_check(r->place->gpu, api->group_end(), e, "ending an NCCL group");
	return s ? s : end;
}

/* Queues one operation; of this rank, or of all ranks of this process in one group. */
static int collective_queue(struct collective_rank *r, struct err *e)
{
	const struct collective_shared *shared = r->run->arg->shared;
	const struct nccl_api *api = &shared->nccl.api;
	size_t count = r->run->sizes.total / 4, part = r->run->sizes.segment / 4;
	int s;

	switch (r->run->arg->op) {
	case COLLECTIVE_ALL_REDUCE:
		s = api->all_reduce(r->from, r->to, count, NCCL_FLOAT32, NCCL_SUM, r->comm,
				    r->stream);
		break;
	case COLLECTIVE_ALL_GATHER:
		s = api->all_gather(r->from, r->to, part, NCCL_FLOAT32, r->comm, r->stream);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		s = api->reduce_scatter(r->from, r->to, part, NCCL_FLOAT32, NCCL_SUM, r->comm,
					r->stream);
		break;
	case COLLECTIVE_BROADCAST:
		s = api->broadcast(r->from, r->to, count, NCCL_FLOAT32, 0, r->comm, r->stream);
		break;
	case COLLECTIVE_ALL_TO_ALL:
		if (!shared->nccl.has_all_to_all)
			return grouped(r, e);
		s = api->all_to_all(r->from, r->to, part, NCCL_FLOAT32, r->comm, r->stream);
		break;
	default:
		return grouped(r, e);
	}
	return nccl_check(r->place->gpu, s, e, collective_name(r->run->arg->op));
}

/* Queues one operation; of this rank, or of all ranks of this process in one group. */
static int collective_queue_all(struct collective_run *run, struct err *e)
{
	const struct nccl_api *api = &run->arg->shared->nccl.api;
	struct cuda_gpu *g = run->ranks[0].place->gpu;
	int r = nccl_check(g, api->group_begin(), e, "a group"), end;

	if (r)
		return r;
	for (size_t i = 0; i < run->n && r == 0; i++)
		r = collective_queue(&run->ranks[i], e);
	end = nccl_check(g, api->group_end(), e, collective_name(run->arg->op));
	return r ? r : end;
}

/* --- what a rank has -------------------------------------------------------------------------- */

static void rank_end(struct collective_rank *r)
{
	struct cuda_gpu *g = r->place->gpu;

	if (cuda_use(g, &r->e))
		return;
	if (r->stream)
		cuda_wait_stream(g, r->stream, SLOWEST_S, "finishing the last collective", &r->e);
	cuda_free(g, r->memory[0]);
	cuda_free(g, r->memory[1]);
	cuda_free(g, r->result);
	cuda_module_end(g, r->module);
	cuda_event_end(g, r->begin);
	cuda_event_end(g, r->end);
	cuda_stream_end(g, r->stream);
}

/* The memory gate: what is needed, and something left for everybody else. */
static int collective_work_room(const struct collective_run *run, struct gpu_place *p,
				struct err *e)
{
	uint64_t need = run->sizes.to + (run->arg->in_place ? 0 : run->sizes.from) + (512ull << 20);
	long long host = fact_or(&run->env->m->memory.available_kb, -1) * 1024;
	size_t left = 0, all = 0;
	int r = cuda_check(p->gpu, p->gpu->api->memory_info(&left, &all), e,
			   "reading its free memory");

	if (r)
		return r;
	if (run->arg->small)
		return 0;
	if (left < need)
		return err_set(e, -ENOMEM, "GPU %u has %zu MiB free, %llu MiB are required",
			       p->index, left >> 20, (unsigned long long)(need >> 20));
	/* Shared memory that runs out freezes the whole machine. */
	if (p->gpu->integrated && (host < 0 || (uint64_t)host < 3 * need))
		return err_set(e, -ENOMEM,
			       "GPU %u shares the machine's memory: %lld MiB are available, three "
			       "times %llu MiB are required",
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

	s = s ? s : collective_work_room(r->run, r->place, e);
	s = s ? s : cuda_stream_make(g, &r->stream, e);
	s = s ? s : cuda_event_make(g, &r->begin, e);
	s = s ? s : cuda_event_make(g, &r->end, e);
	s = s ? s : cuda_module_load(g, collective_ptx, &r->module, e);
	s = s ? s : cuda_function_find(g, r->module, "collective_check", &r->check, e);
	return s ? s : alloc(r, e);
}

/* --- work in each rank's thread --------------------------------------------------------------- */

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
static void collective_work_plant(struct collective_rank *r)
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
				  "injecting a bit flip");
	if (r->r == 0 && collective_check(r, &ignored) != -EILSEQ)
		r->r = err_set(
			&r->e, -EILSEQ,
			"GPU %u: an injected bit flip was not detected: the check does not work",
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
	s = s ? s : cuda_wait_event(g, r->end, 3 * SLOWEST_S, "a series of collectives", e);
	s = s ? s : cuda_elapsed(g, r->begin, r->end, &r->seconds, e);
	r->seconds /= (double)r->run->times;
	return s;
}

/* Behind two that bring the ranks into step. In one thread for all, or in one for each. */
static void collective_work_row(struct collective_rank *r)
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

/* --- steps ------------------------------------------------------------------------------------ */

double collective_limit_s(const struct collective_run *run)
{
	return run->arg->small ? 2 : SLOWEST_S;
}

static int collective_work_make(struct collective_run *run, struct err *e)
{
	struct collective_shared *s = run->arg->shared;
	int r = 0;

	run->n = s->places.n;
	run->all = s->all;
	run->sizes = collective_sizes(run->arg->op, run->arg->bytes, run->all);
	run->ranks = heap_array(run->n, sizeof(*run->ranks));
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
static void collective_work_drop(struct collective_run *run)
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

static int collective_work_measure(struct collective_run *run, const char *what, struct err *e)
{
	int r;

	for (size_t i = 0; i < run->n; i++)
		run->ranks[i].seconds = 0;
	r = collective_each(run, collective_work_row, collective_limit_s(run), what, e);
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
		return collective_work_make(run, e);
	case COLLECTIVE_FIRST:
		return first(run, what, e);
	case COLLECTIVE_ROW:
		return collective_work_measure(run, what, e);
	case COLLECTIVE_AGAIN:
		return collective_each(run, fill_and_run, limit, what, e);
	case COLLECTIVE_CHECK:
		return collective_each(run, check, limit, "checking", e);
	case COLLECTIVE_PLANT:
		return collective_each(run, collective_work_plant, limit,
				       "testing the check itself", e);
	case COLLECTIVE_DROP:
		collective_work_drop(run);
		return 0;
	default:
		return err_set(e, -EINVAL, "unknown step of a collective");
	}
}

/*
 * Names, sizes and factors of collectives, and their data: 32-bit floats 1 + b/128 with random b
 * below 128, whose sums over any 64 ranks are exact in any order.
 */

enum { DATA_WAIT_S = 60, POISON = 0xa5 };

static const struct {
	const char *name;
	bool in_place, split;
} ops[COLLECTIVE_OPS] = {
	[COLLECTIVE_ALL_REDUCE] = { "all-reduce", true, false },
	[COLLECTIVE_ALL_GATHER] = { "all-gather", true, true },
	[COLLECTIVE_REDUCE_SCATTER] = { "reduce-scatter", true, true },
	[COLLECTIVE_ALL_TO_ALL] = { "all-to-all", false, true },
	[COLLECTIVE_SEND_RECEIVE] = { "send-receive", false, false },
	[COLLECTIVE_BROADCAST] = { "broadcast", true, false },
};

const char *collective_name(enum collective_op op)
{
	return ops[op].name;
}

bool collective_in_place(enum collective_op op)
{
	return ops[op].in_place;
}

double collective_bus_factor(enum collective_op op, size_t n)
{
	double part = (double)(n - 1) / (double)n;

	if (op == COLLECTIVE_ALL_REDUCE)
		return 2 * part;
	return ops[op].split ? part : 1;
}

static const char *const suffixes[] = { "B", "KiB", "MiB", "GiB" };

const char *collective_size_text(struct arena *a, uint64_t bytes)
{
	size_t i = 0;

	while (i < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	return arena_printf(a, "%llu%s", (unsigned long long)bytes, suffixes[i]);
}

bool collective_size_parse(const char *s, uint64_t *out)
{
	size_t digits = strspn(s, "0123456789");
	unsigned long long v;
	char text[8];

	if (!digits || digits >= sizeof(text))
		return false;
	memcpy(text, s, digits);
	text[digits] = '\0';
	if (parse_u64(text, &v) || !v)
		return false;
	for (size_t i = 0; i < 4; i++)
		if (strcmp(s + digits, suffixes[i]) == 0 && v <= (64ull << 30) >> (10 * i)) {
			*out = (uint64_t)v << (10 * i);
			return true;
		}
	return false;
}

struct collective_sizes collective_sizes(enum collective_op op, uint64_t bytes, size_t n)
{
	struct collective_sizes s;

	s.segment = ops[op].split ? (bytes / n + 7) / 8 * 8 : (bytes + 7) / 8 * 8;
	s.segment = s.segment ? s.segment : 8;
	s.total = ops[op].split ? s.segment * n : s.segment;
	s.from = op == COLLECTIVE_ALL_GATHER ? s.segment : s.total;
	s.to = op == COLLECTIVE_REDUCE_SCATTER ? s.segment : s.total;
	return s;
}

/* --- data ------------------------------------------------------------------------------------- */

/* Ranks draw from streams that share no stretch. */
static uint64_t seed_of(size_t rank)
{
	return 0x6a09e667ull + ((uint64_t)rank << 40);
}

static unsigned blocks(const struct collective_rank *r)
{
	return (unsigned)(r->place->gpu->sms > 0 ? r->place->gpu->sms : 1) * 8;
}

int collective_fill(struct collective_rank *r, struct err *e)
{
	const struct collective_run *run = r->run;
	struct cuda_gpu *g = r->place->gpu;
	uint64_t n = run->sizes.from / 8, seed = seed_of(r->index), and = 0x007f0000007f0000,
		 or = 0x3f8000003f800000;
	cuda_address from = r->from;
	void *args[] = { &from, &n, &seed, &and, & or };
	int s = cuda_check(g, g->api->set_bytes(r->to, POISON, run->sizes.to, r->stream), e,
			   "poisoning the result");

	s = s ? s : cuda_launch(g, r->place->tools.fill, blocks(r), 256, r->stream, args, e);
	return s ? s : cuda_wait_stream(g, r->stream, DATA_WAIT_S, "generating data", e);
}

/* Words that must be the sum over so many ranks from the first on, at index of their data. */
static int check_part(struct collective_rank *r, uint64_t offset, uint64_t bytes, uint64_t index,
		      size_t first, size_t ranks, struct err *e)
{
	struct cuda_gpu *g = r->place->gpu;
	uint64_t n = bytes / 8, seed = seed_of(first), found[2] = { 0, UINT64_MAX };
	cuda_address at = r->to + offset;
	uint32_t count = (uint32_t)ranks;
	void *args[] = { &at, &n, &index, &seed, &count, &r->result };
	int s = cuda_check(g, g->api->copy_in(r->result, found, sizeof(found), r->stream), e,
			   "checking data");

	s = s ? s : cuda_launch(g, r->check, blocks(r), 256, r->stream, args, e);
	s = s ? s
	      : cuda_check(g, g->api->copy_out(found, r->result, sizeof(found), r->stream), e,
			   "checking data");
	s = s ? s : cuda_wait_stream(g, r->stream, DATA_WAIT_S, "checking data", e);
	if (s || !found[0])
		return s;
	return err_set(
		e, -EILSEQ,
		"GPU %u received wrong data: %llu of %llu words, the first at byte %llu of %s",
		r->place->index, (unsigned long long)found[0], (unsigned long long)n,
		(unsigned long long)offset + found[1] * 8, collective_name(r->run->arg->op));
}

int collective_check(struct collective_rank *r, struct err *e)
{
	const struct collective_sizes *z = &r->run->sizes;
	size_t n = r->run->all;
	int s = 0;

	switch (r->run->arg->op) {
	case COLLECTIVE_ALL_REDUCE:
		return check_part(r, 0, z->to, 0, 0, n, e);
	case COLLECTIVE_REDUCE_SCATTER:
		return check_part(r, 0, z->to, r->index * z->segment / 8, 0, n, e);
	case COLLECTIVE_BROADCAST:
		return check_part(r, 0, z->to, 0, 0, 1, e);
	case COLLECTIVE_SEND_RECEIVE:
		return check_part(r, 0, z->to, 0, (r->index + n - 1) % n, 1, e);
	default:
		break;
	}
	for (size_t i = 0; i < n && s == 0; i++)
		s = check_part(r, i * z->segment, z->segment,
			       r->run->arg->op == COLLECTIVE_ALL_TO_ALL ? r->index * z->segment / 8
									: 0,
			       i, 1, e);
	return s;
}

/*
 * collective_check(u64 at, u64 n, u64 index, u64 seed, u32 ranks, u64 result): word i holds two
 * floats, each the sum over ranks of the data at index + i; result as of the check of
 * machine/cuda/kernels.h.
 */
const char collective_ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry collective_check(.param .u64 at, .param .u64 n, .param .u64 index,\n"
	"    .param .u64 seed, .param .u32 ranks, .param .u64 result)\n"
	"{\n"
	".reg .pred %p, %q;\n.reg .b32 %r<12>;\n.reg .f32 %f<3>;\n"
	".reg .b64 %i, %n, %step, %t, %at, %index, %seed, %v, %w, %a, %result, %one, %s;\n"
	"ld.param.u64 %at, [at]; ld.param.u64 %n, [n]; ld.param.u64 %index, [index];\n"
	"ld.param.u64 %seed, [seed]; ld.param.u32 %r9, [ranks]; ld.param.u64 %result, [result];\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
	"mul.wide.u32 %i, %r1, %r2; cvt.u64.u32 %t, %r3; add.u64 %i, %i, %t;\n"
	"mov.u32 %r1, %nctaid.x; mul.wide.u32 %step, %r1, %r2;\n"
	"mov.u64 %one, 1;\n"
	"loop:\n"
	"setp.ge.u64 %p, %i, %n;\n@%p bra done;\n"
	"add.u64 %s, %seed, %index; add.u64 %s, %s, %i;\n"
	"mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r8, 0;\n"
	"rank:\n"
	"mul.lo.u64 %v, %s, 0x9e3779b97f4a7c15;\n"
	"shr.u64 %t, %v, 30; xor.b64 %v, %v, %t; mul.lo.u64 %v, %v, 0xbf58476d1ce4e5b9;\n"
	"shr.u64 %t, %v, 27; xor.b64 %v, %v, %t; mul.lo.u64 %v, %v, 0x94d049bb133111eb;\n"
	"shr.u64 %t, %v, 31; xor.b64 %v, %v, %t;\n"
	/* b of either half, and 128 for the one before the point. */
	"mov.b64 {%r6, %r7}, %v;\n"
	"bfe.u32 %r6, %r6, 16, 7; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, 128;\n"
	"bfe.u32 %r7, %r7, 16, 7; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, 128;\n"
	"add.u64 %s, %s, 0x10000000000; add.u32 %r8, %r8, 1;\n"
	"setp.lt.u32 %q, %r8, %r9;\n@%q bra rank;\n"
	"cvt.rn.f32.u32 %f1, %r4; mul.rn.f32 %f1, %f1, 0f3C000000;\n"
	"cvt.rn.f32.u32 %f2, %r5; mul.rn.f32 %f2, %f2, 0f3C000000;\n"
	"mov.b64 %v, {%f1, %f2};\n"
	"shl.b64 %t, %i, 3; add.u64 %a, %at, %t; ld.global.u64 %w, [%a];\n"
	"setp.eq.u64 %q, %v, %w;\n@%q bra right;\n"
	"red.global.add.u64 [%result], %one; red.global.min.u64 [%result+8], %i;\n"
	"right:\n"
	"add.u64 %i, %i, %step;\nbra loop;\n"
	"done:\nret;\n}\n";
