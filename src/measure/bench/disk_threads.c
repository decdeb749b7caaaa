/* SPDX-License-Identifier: Apache-2.0 */
/* A list of requests that wait and one of those that are done, under one lock. */
#include "measure/bench/disk_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_NS = 250000000, STACK = 128 << 10 };

struct request {
	unsigned slot;
	uint64_t offset;
	bool write;
};

struct disk_threads {
	int fd;
	const struct iovec *slots;
	unsigned n, started;
	pthread_t *threads;
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	struct request *waiting; /* a ring of n */
	unsigned first, n_waiting;
	struct uring_done *finished;
	unsigned n_finished;
	bool end;
};

int disk_transfer(int fd, const struct iovec *v, uint64_t offset, bool write)
{
	ssize_t r;

	do
		r = write ? pwrite(fd, v->iov_base, v->iov_len, (off_t)offset)
			  : pread(fd, v->iov_base, v->iov_len, (off_t)offset);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : (int)r;
}

static void *thread_main(void *arg)
{
	struct disk_threads *t = arg;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct request r;
		int result;

		while (!t->n_waiting && !t->end)
			pthread_cond_wait(&t->more, &t->lock);
		if (!t->n_waiting)
			break;
		r = t->waiting[t->first];
		t->first = (t->first + 1) % t->n;
		t->n_waiting--;
		pthread_mutex_unlock(&t->lock);
		result = disk_transfer(t->fd, &t->slots[r.slot], r.offset, r.write);
		pthread_mutex_lock(&t->lock);
		t->finished[t->n_finished++] = (struct uring_done){ r.slot, result };
		pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int start_threads(struct disk_threads *t)
{
	pthread_attr_t attr;
	int r = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; t->started < t->n && r == 0; t->started += r == 0)
		r = pthread_create(&t->threads[t->started], &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	return -r;
}

int disk_threads_open(int fd, const struct iovec *slots, unsigned n, struct disk_threads **out,
		      struct err *e)
{
	struct disk_threads *t = calloc(1, sizeof(*t));
	pthread_condattr_t clock;
	int r;

	if (!t)
		return err_set(e, -ENOMEM, "no memory for threads");
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, NULL);
	pthread_cond_init(&t->done, &clock);
	pthread_condattr_destroy(&clock);
	t->fd = fd;
	t->slots = slots;
	t->n = n;
	t->threads = calloc(n, sizeof(*t->threads));
	t->waiting = calloc(n, sizeof(*t->waiting));
	t->finished = calloc(n, sizeof(*t->finished));
	r = t->threads && t->waiting && t->finished ? start_threads(t) : -ENOMEM;
	if (r) {
		err_set(e, r, "only %u of %u threads could be started", t->started, n);
		disk_threads_close(t);
		return r;
	}
	*out = t;
	return 0;
}

void disk_threads_put(struct disk_threads *t, unsigned slot, uint64_t offset, bool write)
{
	pthread_mutex_lock(&t->lock);
	t->waiting[(t->first + t->n_waiting++) % t->n] = (struct request){ slot, offset, write };
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
}

int disk_threads_wait(struct disk_threads *t, struct uring_done *out, unsigned max)
{
	struct timespec until;
	unsigned n;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&t->lock);
	while (!t->n_finished && r == 0)
		r = pthread_cond_timedwait(&t->done, &t->lock, &until);
	for (n = 0; n < max && t->n_finished; n++)
		out[n] = t->finished[--t->n_finished];
	pthread_mutex_unlock(&t->lock);
	return (int)n;
}

void disk_threads_close(struct disk_threads *t)
{
	pthread_mutex_lock(&t->lock);
	t->end = true;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->started; i++)
		pthread_join(t->threads[i], NULL);
	pthread_cond_destroy(&t->more);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t->threads);
	free(t->waiting);
	free(t->finished);
	free(t);
}
