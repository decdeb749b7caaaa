/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, made and ended. Either can hang, and nothing can be aborted then: each has a
 * thread of its own that is left behind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/bench/collective.h"

/* Connecting; ending. */
enum { START_S = 120, END_S = 20 };

struct start {
	struct collective_shared *s;
	struct nccl_id id;
	int result;
	struct err e;
};

/* One process for all: the library connects them itself. */
static int start_alone(struct start *t)
{
	struct collective_shared *s = t->s;
	int devices[CUDA_GPUS_MAX];

	for (size_t i = 0; i < s->places.n; i++)
		devices[i] = s->places.items[i].gpu->ordinal;
	return nccl_check(s->places.items[0].gpu,
			  s->nccl.api.start_all(s->comms, (int)s->places.n, devices), &t->e,
			  "connecting the GPUs");
}

static int start_ranks(struct start *t)
{
	struct collective_shared *s = t->s;
	const struct nccl_api *api = &s->nccl.api;
	struct cuda_gpu *g = s->places.items[0].gpu;
	bool group = s->places.n > 1;
	int r = group ? nccl_check(g, api->group_begin(), &t->e, "a group") : 0;

	for (size_t i = 0; i < s->places.n && r == 0; i++) {
		g = s->places.items[i].gpu;
		r = cuda_use(g, &t->e);
		r = r ? r
		      : nccl_check(g,
				   api->start_rank(&s->comms[i], (int)s->all, t->id,
						   (int)(s->first + i)),
				   &t->e, "connecting to the other processes");
	}
	if (group && r == 0)
		r = nccl_check(g, api->group_end(), &t->e, "connecting to the other processes");
	return r;
}

static void *start_main(void *arg)
{
	struct start *t = arg;

	t->result = t->s->world ? start_ranks(t) : start_alone(t);
	return NULL;
}

static void *end_main(void *arg)
{
	struct start *t = arg;

	for (size_t i = 0; i < t->s->places.n; i++)
		t->s->nccl.api.end(t->s->comms[i]);
	return NULL;
}

/* False when it is not over in time; t is the thread's then. */
static bool guarded(struct start *t, void *(*work)(void *t), double limit_s)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)limit_s;
	if (pthread_create(&thread, NULL, work, t))
		return false;
	if (pthread_timedjoin_np(thread, NULL, &until) == 0)
		return true;
	pthread_detach(thread);
	return false;
}

int collective_connect(struct collective_shared *s, const struct nccl_id *id, struct err *e)
{
	struct start *t = calloc(1, sizeof(*t));
	int r = 0;

	if (!t)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < s->places.n && r == 0; i++)
		r = gpu_place_open(&s->places.items[i], e);
	if (r) {
		free(t);
		return r;
	}
	t->s = s;
	t->id = *id;
	memset(s->comms, 0, sizeof(s->comms));
	if (!guarded(t, start_main, START_S)) {
		s->broken = s->stuck = true;
		return err_set(e, -ETIME, "NCCL did not connect %zu GPUs within %d s", s->all,
			       START_S);
	}
	r = t->result;
	if (r)
		*e = t->e;
	free(t);
	s->open = r == 0;
	return r;
}

void collective_disconnect(struct collective_shared *s)
{
	struct start *t = s->open && !s->broken ? calloc(1, sizeof(*t)) : NULL;

	if (t) {
		t->s = s;
		/* What hangs is left to the end of the process. */
		if (guarded(t, end_main, END_S))
			free(t);
		else
			s->stuck = true;
	}
	s->open = false;
}
