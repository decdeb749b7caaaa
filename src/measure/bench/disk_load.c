/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case at work: keeps so many requests under way, counts, times and checks what comes back. The
 * clock is read once for all requests that are found done together, and they go out again at that
 * time.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/disk_load.h"
#include "base/clock.h"
#include "measure/bench/memory_latency.h"
#include "measure/bench/disk_file.h"

enum { SYNC_BYTES = 64 << 20 };

static bool stopped(const struct disk_load *s)
{
	return s->stop && atomic_load_explicit(s->stop, memory_order_relaxed);
}

/* --- requests -----------------------------------------------------------------------------------
 */
static uint64_t next_block(struct disk_load *s)
{
	uint64_t b;

	if (!s->arg->random) {
		b = s->cursor++ % s->blocks;
	} else {
		/* xorshift64: far longer than any run, and a few cycles. */
		s->random ^= s->random << 13;
		s->random ^= s->random >> 7;
		s->random ^= s->random << 17;
		b = (s->random >> 32) * s->blocks >> 32;
	}
	/* Two writes to one block at once: nobody could say which came last. */
	while (s->busy && s->busy[b])
		b = (b + 1) % s->blocks;
	return b;
}

static void put(struct disk_load *s, unsigned i, int64_t now)
{
	uint64_t b = next_block(s);
	struct disk_slot *it = &s->slots[i];

	it->offset = b * s->arg->block;
	it->since = now;
	it->held = false;
	if (s->arg->write) {
		uint32_t turn = ++s->file->turn;

		s->busy[b] = 1;
		disk_stamp(disk_queue_buffer(s->q, i), s->arg->block, it->offset, turn);
		for (size_t k = 0; k < s->arg->block / DISK_PAGE; k++)
			s->file->turns[it->offset / DISK_PAGE + k] = turn;
		s->kept[s->n_kept++ % s->kept_max] = it->offset;
	}
	disk_queue_put(s->q, i, it->offset, s->arg->write);
	s->under_way++;
}

static int bad_result(const struct disk_load *s, const struct disk_slot *it, int result,
		      struct err *e)
{
	const char *what = s->arg->write ? "writing" : "reading";
	unsigned long long at = it->offset;

	if (result == -ENOSPC || result == -EDQUOT)
		return err_set(e, result, "there is no space left for %s at byte %llu: %s", what,
			       at, strerror(-result));
	if (result < 0)
		return err_set(e, result, "%s at byte %llu failed: %s", what, at,
			       strerror(-result));
	return err_set(e, -EIO, "%s at byte %llu ended after %d of %zu bytes", what, at, result,
		       s->arg->block);
}

static int finish(struct disk_load *s, const struct uring_done *d, int64_t now, struct err *e)
{
	struct disk_slot *it = &s->slots[d->slot];

	s->under_way--;
	if (s->arg->write)
		s->busy[it->offset / s->arg->block] = 0;
	if (d->result < 0 || (size_t)d->result != s->arg->block) {
		s->file->spoiled = s->file->spoiled || s->arg->write;
		return bad_result(s, it, d->result, e);
	}
	if (!s->arg->write) {
		const void *block = disk_queue_buffer(s->q, d->slot);

		it->held = true;
		if (!disk_is(block, s->file->id, it->offset,
			     s->file->turns[it->offset / DISK_PAGE]) &&
		    s->wrong++ == 0)
			disk_check(block, DISK_PAGE, s->file->id, it->offset, s->file->turns,
				   &s->first_wrong);
	}
	histogram_add(&s->times, (double)(now - it->since));
	s->bytes += s->arg->block;
	s->requests++;
	return 0;
}

/* Takes what is done, and sends as much again unless it is the end. */
static int turn(struct disk_load *s, bool again, struct err *e)
{
	int n = disk_queue_wait(s->q, s->done), r = 0;
	int64_t now = clock_mono_ns();

	if (n < 0)
		return err_set(e, n, "waiting for the disk failed: %s", strerror(-n));
	for (int i = 0; i < n; i++) {
		int failed = finish(s, &s->done[i], now, e);

		r = r ? r : failed;
		if (again && r == 0)
			put(s, s->done[i].slot, now);
	}
	s->at_ns = now;
	return r;
}

int disk_drain(struct disk_load *s, struct err *e)
{
	int r = 0;

	while (s->under_way && r == 0)
		r = turn(s, false, e);
	return r;
}

/* --- a sample -----------------------------------------------------------------------------------
 */
static void begin(struct disk_load *s)
{
	memset(&s->times, 0, sizeof(s->times));
	s->bytes = s->requests = 0;
	if (s->under_way)
		return;
	s->at_ns = clock_mono_ns();
	for (unsigned i = 0; i < s->arg->depth; i++)
		put(s, i, s->at_ns);
}

/* Nothing that was read once may come from memory: before a round through the file begins anew, and
 * before each window of random reads. Its time does not count. */
static int forget(struct disk_load *s, struct err *e)
{
	int64_t from = clock_mono_ns();
	double cpu = clock_cpu_s();
	int r;

	s->cursor %= s->blocks;
	r = disk_file_drop(s->file, e);
	s->skipped_cpu_s += clock_cpu_s() - cpu;
	s->skipped_ns += clock_mono_ns() - from;
	return r;
}

/* One request at a time through the page cache. */
static int window_buffered(struct disk_load *s, struct err *e)
{
	int64_t from = clock_mono_ns();
	int r = 0;

	if (!s->arg->write && (s->arg->random || s->cursor >= s->blocks))
		r = forget(s, e);
	if (r)
		return r;
	begin(s);
	while (r == 0) {
		r = turn(s, false, e);
		if (r || s->at_ns - s->skipped_ns - from >= s->window_ns || stopped(s) ||
		    (s->arg->write && s->bytes >= SYNC_BYTES))
			break;
		if (!s->arg->write && !s->arg->random && s->cursor >= s->blocks)
			r = forget(s, e);
		if (r == 0)
			put(s, 0, clock_mono_ns());
	}
	if (r == 0 && s->arg->write && fdatasync(s->file->fd))
		r = err_set(e, -errno, "what was written does not reach the device: %s",
			    strerror(errno));
	s->at_ns = clock_mono_ns() - s->skipped_ns;
	return r;
}

static int window_queued(struct disk_load *s, struct err *e)
{
	int64_t end;
	int r = 0;

	begin(s);
	end = s->at_ns + s->window_ns;
	while (r == 0 && !stopped(s) && (s->at_ns < end || !s->requests))
		r = turn(s, true, e);
	return r;
}

static void give(struct disk_load *s, double seconds, double cpu, struct bench_sample *out)
{
	struct histogram *all = out->observed;

	out->value[DISK_RATE] = (double)s->bytes / seconds / 1e9;
	out->value[DISK_IOPS] = (double)s->requests / seconds;
	out->value[DISK_P50] = fmax(histogram_quantile(&s->times, 0.5), 1) / 1e3;
	/* The clock of CPU time may be coarser than what was used. */
	out->value[DISK_CPU] = fmax(cpu / (double)s->requests * 1e6, 1e-3);
	if (!all)
		return;
	for (size_t i = 0; i < sizeof(all->count) / sizeof(all->count[0]); i++)
		all->count[i] += s->times.count[i];
	all->n += s->times.n;
	all->max = fmax(all->max, s->times.max);
}

int disk_run(void *state, struct bench_sample *out, struct err *e)
{
	struct disk_load *s = state;
	/* Requests stay under way between samples, so their time counts on. */
	int64_t from = s->under_way ? s->at_ns : 0;
	double cpu = s->cpu_s;
	int r;

	s->skipped_ns = 0;
	s->skipped_cpu_s = 0;
	if (!s->under_way) {
		from = clock_mono_ns();
		cpu = clock_cpu_s();
	}
	r = s->arg->buffered ? window_buffered(s, e) : window_queued(s, e);
	if (r)
		return r;
	if (stopped(s))
		return err_set(e, -EINTR, "interrupted");
	s->cpu_s = clock_cpu_s();
	give(s, (double)(s->at_ns - from) / 1e9, s->cpu_s - s->skipped_cpu_s - cpu, out);
	return 0;
}

/* Buffers, and the choice of who does the work. */

struct disk_queue {
	int fd;
	unsigned depth, under_way;
	size_t bytes; /* of all buffers */
	char *buffers;
	struct iovec *slots;
	struct uring *ring;
	struct disk_threads *threads;
	/* Without either: the request that waits. */
	unsigned slot;
	uint64_t offset;
	bool write;
	struct uring_done *drained;
	char engine[128];
};

static int start_ring(struct disk_queue *q, struct err *e)
{
	int r = uring_open(q->depth, &q->ring, e);

	if (r)
		return r;
	r = uring_attach(q->ring, q->fd, q->slots, q->depth);
	if (r) {
		uring_close(q->ring);
		q->ring = NULL;
		return err_set(e, r, "io_uring does not take the file");
	}
	snprintf(q->engine, sizeof(q->engine), "io_uring, %s buffers",
		 uring_registered(q->ring) ? "registered" : "unregistered");
	return 0;
}

static int start_threads(struct disk_queue *q, const char *why, struct err *e)
{
	snprintf(q->engine, sizeof(q->engine), "%u threads%s%.90s", q->depth, *why ? ": " : "",
		 why);
	return disk_threads_open(q->fd, q->slots, q->depth, &q->threads, e);
}

static int start(struct disk_queue *q, enum disk_engine engine, struct err *e)
{
	struct err why = { 0 };

	if (engine == ENGINE_PLAIN) {
		snprintf(q->engine, sizeof(q->engine), "one thread");
		return 0;
	}
	if (engine == ENGINE_BEST && start_ring(q, &why) == 0)
		return 0;
	return start_threads(q, why.text, e);
}

int disk_buffers(size_t bytes, int node, void **out, struct err *e)
{
	int r = memory_map(bytes, PAGES_HUGE, node, out, e);

	/* A container may forbid to choose the node; elsewhere is slower, not wrong. */
	return r && node >= 0 ? memory_map(bytes, PAGES_HUGE, -1, out, e) : r;
}

int disk_queue_open(const struct disk_queue_ask *ask, struct disk_queue **out, struct err *e)
{
	struct disk_queue *q = calloc(1, sizeof(*q));
	enum { ROUND = 2 << 20 };
	void *buffers = NULL;
	int r;

	if (!q)
		return err_set(e, -ENOMEM, "no memory for requests");
	q->fd = ask->fd;
	q->depth = ask->depth;
	q->bytes = (ask->depth * ask->block + ROUND - 1) / ROUND * ROUND;
	q->slots = calloc(ask->depth, sizeof(*q->slots));
	q->drained = calloc(ask->depth, sizeof(*q->drained));
	if (!q->slots || !q->drained) {
		disk_queue_close(q);
		return err_set(e, -ENOMEM, "no memory for requests");
	}
	r = disk_buffers(q->bytes, ask->node, &buffers, e);
	if (r == 0) {
		q->buffers = buffers;
		for (unsigned i = 0; i < q->depth; i++)
			q->slots[i] = (struct iovec){ q->buffers + i * ask->block, ask->block };
		r = start(q, ask->engine, e);
	}
	if (r)
		disk_queue_close(q);
	else
		*out = q;
	return r;
}

const char *disk_queue_engine(const struct disk_queue *q)
{
	return q->engine;
}

void *disk_queue_buffer(struct disk_queue *q, unsigned slot)
{
	return q->slots[slot].iov_base;
}

void disk_queue_put(struct disk_queue *q, unsigned slot, uint64_t offset, bool write)
{
	q->under_way++;
	if (q->ring) {
		uring_put(q->ring, slot, offset, write);
	} else if (q->threads) {
		disk_threads_put(q->threads, slot, offset, write);
	} else {
		q->slot = slot;
		q->offset = offset;
		q->write = write;
	}
}

int disk_queue_wait(struct disk_queue *q, struct uring_done *out)
{
	int n = 1;

	if (q->ring)
		n = uring_wait(q->ring, out, q->depth);
	else if (q->threads)
		n = disk_threads_wait(q->threads, out, q->depth);
	else
		out[0] = (struct uring_done){ q->slot, disk_transfer(q->fd, &q->slots[q->slot],
								     q->offset, q->write) };
	if (n > 0)
		q->under_way -= (unsigned)n;
	return n;
}

void disk_queue_close(struct disk_queue *q)
{
	/* The kernel may still write into buffers of requests that are under way. */
	while (q->under_way && (q->ring || q->threads))
		if (disk_queue_wait(q, q->drained) < 0)
			break;
	if (q->ring)
		uring_close(q->ring);
	if (q->threads)
		disk_threads_close(q->threads);
	memory_unmap(q->buffers, q->bytes);
	free(q->slots);
	free(q->drained);
	free(q);
}

/* Around a case at work: its place, buffers and engine, and whether what it did was right. */

enum { KEPT = 4096, KEPT_BYTES = 64 << 20 };

/* --- was it right -------------------------------------------------------------------------------
 */
static int check_read(struct disk_load *s, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < s->arg->depth && r == 0; i++)
		if (s->slots[i].held)
			r = disk_check(disk_queue_buffer(s->q, i), s->arg->block, s->file->id,
				       s->slots[i].offset, s->file->turns, e);
	return r;
}

static int check_written(struct disk_load *s, struct err *e)
{
	size_t n = s->n_kept < s->kept_max ? s->n_kept : s->kept_max;
	struct iovec v = { disk_queue_buffer(s->q, 0), s->arg->block };
	int r = disk_file_drop(s->file, e);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct disk_slot it = { .offset = s->kept[i] };
		int got = disk_transfer(s->file->fd, &v, it.offset, false);

		if (got < 0 || (size_t)got != v.iov_len)
			return err_set(e, got < 0 ? got : -EIO,
				       "what was written at byte %llu cannot be read back: %s",
				       (unsigned long long)it.offset,
				       got < 0 ? strerror(-got) : "it is shorter");
		r = disk_check(v.iov_base, v.iov_len, s->file->id, it.offset, s->file->turns, e);
	}
	/* The buffer gets its own data again, for writes that may follow. */
	disk_fill(v.iov_base, v.iov_len, s->file->id, s->random);
	return r;
}

int disk_verify(void *state, struct err *e)
{
	struct disk_load *s = state;
	int r = disk_drain(s, e);

	if (r)
		return r;
	if (s->wrong) {
		*e = s->first_wrong;
		return -EILSEQ;
	}
	return s->arg->write ? check_written(s, e) : check_read(s, e);
}

/* --- before and after ---------------------------------------------------------------------------
 */
void disk_teardown(void *state)
{
	struct disk_load *s = state;

	if (s->q)
		disk_queue_close(s->q);
	pin_back(s->cpus_before);
	free(s->slots);
	free(s->done);
	free(s->busy);
	free(s->kept);
	free(s);
}

static struct disk_load *load_new(const struct bench_env *env, const struct disk_arg *arg)
{
	struct disk_load *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arg = arg;
	s->file = &arg->shared->file;
	s->stop = env->stop;
	s->blocks = arg->shared->bytes / arg->block;
	s->window_ns = env->small ? 5000000 : 100000000;
	s->kept_max = KEPT_BYTES / arg->block < KEPT ? KEPT_BYTES / arg->block : KEPT;
	s->slots = calloc(arg->depth, sizeof(*s->slots));
	s->done = calloc(arg->depth, sizeof(*s->done));
	s->kept = calloc(s->kept_max, sizeof(*s->kept));
	s->busy = arg->write ? calloc(s->blocks, 1) : NULL;
	if (s->slots && s->done && s->kept && (s->busy || !arg->write))
		return s;
	disk_teardown(s);
	return NULL;
}

static int prepare(struct disk_load *s, const struct bench_env *env, struct err *e)
{
	const struct disk_arg *arg = s->arg;
	struct disk_shared *shared = arg->shared;
	struct disk_queue_ask ask = { .depth = arg->depth,
				      .block = arg->block,
				      .node = shared->place.node,
				      .engine = arg->buffered ? ENGINE_PLAIN : shared->engine };
	bool seen = true;
	int r = 0;

	if (s->file->spoiled)
		disk_file_close(s->file);
	if (s->file->fd < 0)
		r = disk_file_open(s->file, shared->place.dir, shared->bytes, shared->direct.can,
				   env->stop, e);
	r = r ? r : disk_file_mode(s->file, !arg->buffered, e);
	if (r == 0 && arg->buffered && !arg->write && !shared->place.memory)
		r = disk_file_cold(s->file, &seen, e);
	else
		r = r ? r : disk_file_drop(s->file, e);
	if (r)
		return r;
	s->blind = !seen;
	ask.fd = s->file->fd;
	s->random = s->file->id | 1;
	r = disk_queue_open(&ask, &s->q, e);
	for (unsigned i = 0; i < arg->depth && r == 0; i++)
		disk_fill(disk_queue_buffer(s->q, i), arg->block, s->file->id,
			  s->random + i * (arg->block / DISK_PAGE));
	return r;
}

int disk_setup(const struct bench_env *env, const struct bench_case *c, void **state,
	       const char **variant, struct err *e)
{
	const struct disk_arg *arg = c->arg;
	struct disk_load *s = load_new(env, arg);
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory for requests");
	s->cpus_before = pin_to(&arg->shared->cpus);
	r = prepare(s, env, e);
	if (r) {
		disk_teardown(s);
		return r;
	}
	*variant = arena_printf(env->a, "%s, %s%s", disk_queue_engine(s->q),
				!arg->buffered ? "O_DIRECT"
				: s->blind     ? "page cache, and the kernel does not tell what it "
						 "held"
					       : "page cache",
				disk_place_settings(env->a, &arg->shared->place));
	*state = s;
	return 0;
}

/* A list of requests that wait and one of those that are done, under one lock. */

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

static int threads_start_threads(struct disk_threads *t)
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
	r = t->threads && t->waiting && t->finished ? threads_start_threads(t) : -ENOMEM;
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
