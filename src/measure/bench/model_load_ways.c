/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How loaders read: mapped memory that is touched, one thread that reads, many threads that each
 * take the next piece. Knows open files, not where they come from.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "measure/bench/model_load.h"

/*
 * SIGBUS on a stack of its own, at whose low end stands which pages are guarded: the handler finds
 * them by the stack that it runs on. Any other SIGBUS ends the program as it would have.
 */

enum { STACK = 256 << 10 };

struct map_guard_ctx {
	const struct map_guard_ctx *self; /* no other stack begins like that */
	pthread_t thread;
	uintptr_t from, to;
	size_t page;
	atomic_bool lost;
};

/* The guard of the thread that was interrupted, when the address is one of its own. */
static struct map_guard_ctx *guard_of(const ucontext_t *u, const siginfo_t *s)
{
	struct map_guard_ctx *g = u->uc_stack.ss_sp;
	uintptr_t at = (uintptr_t)s->si_addr;

	if (!g || (u->uc_stack.ss_flags & SS_DISABLE) || u->uc_stack.ss_size != STACK)
		return NULL;
	if (g->self != g || !pthread_equal(g->thread, pthread_self()))
		return NULL;
	return s->si_code == BUS_ADRERR && at >= g->from && at < g->to ? g : NULL;
}

/* What comes behind it is gone as well. Reads go on, and find zeros. */
static bool map_guard_replace(struct map_guard_ctx *g, uintptr_t at)
{
	uintptr_t page = at / g->page * g->page;
	void *p = mmap((void *)page, g->to - page, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED)
		return false;
	atomic_store(&g->lost, true);
	return true;
}

static void on_bus(int sig, siginfo_t *s, void *context)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	struct map_guard_ctx *g = guard_of(context, s);
	int error = errno;

	/* Without a cure the same access faults again, and ends the program. */
	if (!g || !map_guard_replace(g, (uintptr_t)s->si_addr))
		sigaction(sig, &usual, NULL);
	errno = error;
}

int map_guard_begin(struct map_guard *g, void *p, size_t n)
{
	struct sigaction a = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack_t own = { .ss_sp = stack, .ss_size = STACK };
	int r;

	if (stack == MAP_FAILED)
		return -errno;
	g->ctx = stack;
	g->ctx->self = g->ctx;
	g->ctx->thread = pthread_self();
	g->ctx->from = (uintptr_t)p;
	g->ctx->to = ((uintptr_t)p + n + page - 1) / page * page;
	g->ctx->page = page;
	atomic_init(&g->ctx->lost, false);
	sigemptyset(&a.sa_mask);
	if (sigaltstack(&own, &g->stack)) {
		r = -errno;
		munmap(stack, STACK);
		return r;
	}
	if (sigaction(SIGBUS, &a, &g->action)) {
		r = -errno;
		sigaltstack(&g->stack, NULL);
		munmap(stack, STACK);
		return r;
	}
	return 0;
}

bool map_guard_lost(const struct map_guard *g)
{
	return atomic_load(&g->ctx->lost);
}

void map_guard_end(struct map_guard *g)
{
	sigaction(SIGBUS, &g->action, NULL);
	sigaltstack(&g->stack, NULL);
	munmap(g->ctx, STACK);
	g->ctx = NULL;
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum { MAP_STEP = 64 << 20, ALIGN = 4096 };

/* A linear sum modulo 2^64 in which every word has an odd factor of its own place: a changed word
 * changes it, and so do two that changed places. */
static uint64_t sum_of(const char *p, size_t n, uint64_t at)
{
	uint64_t sum = 0, w, k = at / 8;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8, k++) {
		memcpy(&w, p + i, 8);
		sum += (w + 0x9e3779b97f4a7c15u) * (2 * k + 1);
	}
	if (i < n) {
		w = 0;
		memcpy(&w, p + i, n - i);
		sum += (w + 0x9e3779b97f4a7c15u) * (2 * k + 1);
	}
	return sum;
}

static bool stopped(const struct load_job *job)
{
	return job->stop && atomic_load_explicit(job->stop, memory_order_relaxed);
}

static void touch(const char *p, size_t n, size_t page)
{
	for (size_t i = 0; i < n; i += page)
		(void)*(const volatile char *)(p + i);
}

static int lost(const struct load_file *f, struct err *e)
{
	return err_set(e, -ESTALE, "%.200s was truncated during the measurement", f->name);
}

/* MAP_STEP bytes at most, at byte at of the file. */
static int take_step(const struct load_job *job, const struct load_file *f, char *p, uint64_t at,
		     struct load_result *out, struct err *e)
{
	size_t n = f->bytes - at < MAP_STEP ? f->bytes - at : MAP_STEP;

	if (job->way == LOAD_POPULATE && madvise(p + at, n, MADV_POPULATE_READ))
		/* What cannot be there for anybody who touches it. */
		return errno == EFAULT ? lost(f, e)
				       : err_set(e, -errno, "cannot load %.200s into memory: %s",
						 f->name, strerror(errno));
	touch(p + at, n, (size_t)sysconf(_SC_PAGESIZE));
	if (job->sum)
		out->sum += sum_of(p + at, n, f->base + at);
	out->bytes += n;
	return 0;
}

static int map_file(const struct load_job *job, const struct load_file *f, struct load_result *out,
		    struct err *e)
{
	char *p = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	struct map_guard guard;
	int r;

	if (p == MAP_FAILED)
		return err_set(e, -errno, "cannot map %.200s: %s", f->name, strerror(errno));
	r = map_guard_begin(&guard, p, f->bytes);
	if (r) {
		munmap(p, f->bytes);
		return err_set(e, r, "cannot guard a mapped file: %s", strerror(-r));
	}
	for (uint64_t at = 0; at < f->bytes && r == 0; at += MAP_STEP) {
		r = take_step(job, f, p, at, out, e);
		if (r == 0 && map_guard_lost(&guard))
			r = lost(f, e);
		if (r == 0 && stopped(job))
			r = err_set(e, -EINTR, "interrupted");
	}
	map_guard_end(&guard);
	munmap(p, f->bytes);
	return r;
}

/* One piece of a file into buffer. Past the page cache only whole blocks can be asked for. */
static int model_load_ways_read_piece(const struct load_job *job, const struct load_file *f,
				      uint64_t at, char *buffer, struct load_result *out,
				      struct err *e)
{
	size_t n = f->bytes - at < LOAD_BLOCK ? f->bytes - at : LOAD_BLOCK, got = 0;

	while (got < n) {
		size_t ask =
			job->way == LOAD_DIRECT ? (n - got + ALIGN - 1) / ALIGN * ALIGN : n - got;
		ssize_t r = pread(f->fd, buffer + got, ask, (off_t)(at + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_set(e, -errno, "cannot read %.200s at byte %llu: %s", f->name,
				       (unsigned long long)at + got, strerror(errno));
		if (r == 0)
			return err_set(e, -EIO, "%.200s ended at byte %llu of %llu", f->name,
				       (unsigned long long)at + got, (unsigned long long)f->size);
		got += (size_t)r < n - got ? (size_t)r : n - got;
	}
	if (job->sum)
		out->sum += sum_of(buffer, n, f->base + at);
	out->bytes += n;
	return 0;
}

/* Pieces that threads take one after the other. */
struct team {
	const struct load_job *job;
	pthread_mutex_t lock;
	size_t file;
	uint64_t at;
	bool over; /* one failed */
};

struct member {
	struct team *team;
	pthread_t thread;
	char *buffer;
	struct load_result result;
	struct err e;
	int error;
};

static bool next_piece(struct team *t, const struct load_file **f, uint64_t *at)
{
	const struct load_set *set = t->job->set;
	bool more;

	pthread_mutex_lock(&t->lock);
	more = t->file < set->n && !t->over;
	if (more) {
		*f = &set->files[t->file];
		*at = t->at;
		t->at += LOAD_BLOCK;
		if (t->at >= (*f)->bytes) {
			t->file++;
			t->at = 0;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return more;
}

static void call_off(struct team *t)
{
	pthread_mutex_lock(&t->lock);
	t->over = true;
	pthread_mutex_unlock(&t->lock);
}

static void *model_load_ways_member_main(void *arg)
{
	struct member *m = arg;
	const struct load_job *job = m->team->job;
	const struct load_file *f;
	uint64_t at;

	while (m->error == 0 && next_piece(m->team, &f, &at)) {
		m->error = stopped(job) ? err_set(&m->e, -EINTR, "interrupted")
					: model_load_ways_read_piece(job, f, at, m->buffer,
								     &m->result, &m->e);
		if (m->error)
			call_off(m->team);
	}
	return NULL;
}

/* The caller is one of them. */
static int model_load_ways_read_all(const struct load_job *job, struct load_result *out,
				    struct err *e)
{
	struct team team = { .job = job };
	struct member members[LOAD_THREADS] = { 0 };
	unsigned n = job->way == LOAD_READ || !job->threads ? 1 : job->threads, started = 1;
	int r = 0;

	pthread_mutex_init(&team.lock, NULL);
	for (unsigned i = 0; i < n; i++) {
		members[i].team = &team;
		members[i].buffer = job->buffers + (size_t)i * LOAD_BLOCK;
	}
	while (started < n && r == 0) {
		r = -pthread_create(&members[started].thread, NULL, model_load_ways_member_main,
				    &members[started]);
		started += r == 0;
	}
	if (r)
		call_off(&team);
	else
		model_load_ways_member_main(&members[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(members[i].thread, NULL);
	pthread_mutex_destroy(&team.lock);
	if (r)
		return err_set(e, r, "only %u of %u threads could be started", started, n);
	for (unsigned i = 0; i < n; i++) {
		out->bytes += members[i].result.bytes;
		out->sum += members[i].result.sum;
		if (members[i].error && r == 0) {
			r = members[i].error;
			*e = members[i].e;
		}
	}
	return r;
}

int load_run(const struct load_job *job, struct load_result *out, struct err *e)
{
	struct load_result sum = { 0 };
	int r = 0;

	if (job->way == LOAD_MMAP || job->way == LOAD_POPULATE)
		for (size_t i = 0; i < job->set->n && r == 0; i++)
			r = map_file(job, &job->set->files[i], &sum, e);
	else
		r = model_load_ways_read_all(job, &sum, e);
	if (r == 0)
		*out = sum;
	return r;
}

bool load_can_populate(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can = p != MAP_FAILED && madvise(p, page, MADV_POPULATE_READ) == 0;

	if (p != MAP_FAILED)
		munmap(p, page);
	return can;
}
