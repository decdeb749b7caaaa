/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of this process: one thread each, one operation, and the watchdog. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#include "measure/bench/collective.h"

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

/* --- all at once --------------------------------------------------------------------------------
 */
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
		return err_set(e, -ECANCELED,
			       "%s was aborted on GPU %s: another process is in trouble", what,
			       list);
	err_set(e, -ETIME, "%s was not over after %.0f s on GPU %s and was aborted", what, limit_s,
		list);
	err_hint(e, "NCCL_DEBUG=INFO shows where it waits; look at NVLink, peer access and ACS");
	return -ETIME;
}

/* A thread that does not end keeps everything it may touch. */
static void give_up(struct collective_run *run, struct job *jobs)
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

int collective_each(struct collective_run *run, void (*work)(struct collective_rank *r),
		    double limit_s, const char *what, struct err *e)
{
	struct job *jobs = calloc(run->n, sizeof(*jobs));
	int code = 0;

	if (!jobs)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < run->n; i++) {
		struct collective_rank *r = &run->ranks[i];

		jobs[i] = (struct job){ r, work };
		r->over = false;
		r->r = 0;
		r->started = pthread_create(&r->thread, NULL, job_main, &jobs[i]) == 0;
		if (!r->started)
			r->r = err_set(&r->e, -EAGAIN, "no thread can be had");
	}
	if (join_until(run, limit_s)) {
		const struct collective_rank *bad = failed(run);

		if (bad)
			*e = bad->e;
		code = bad ? bad->r : hung_error(run, limit_s, what, e);
		abort_all(run);
		give_up(run, jobs);
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

/* --- one operation ------------------------------------------------------------------------------
 */

static int pairs(struct collective_rank *r, size_t to, size_t from, uint64_t to_offset,
		 uint64_t from_offset, struct err *e)
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
		s = pairs(r, (r->index + 1) % n, (r->index + n - 1) % n, 0, 0, e);
	for (size_t i = 0; r->run->arg->op == COLLECTIVE_ALL_TO_ALL && i < n && s == 0; i++)
		s = pairs(r, i, i, i * segment, i * segment, e);
	end = nccl_check(r->place->gpu, api->group_end(), e, "the end of a group");
	return s ? s : end;
}

int collective_queue(struct collective_rank *r, struct err *e)
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

int collective_queue_all(struct collective_run *run, struct err *e)
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
