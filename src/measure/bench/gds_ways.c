/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that take pieces of files, one after the other, and bring them to a GPU. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/gds.h"

enum { COPY_MOST_S = 30 };

/* Where a file begins in the target. */
static uint64_t gds_offset(const struct load_set *set, size_t file)
{
	/* Each begins at a page of its own. */
	return (set->files[file].base + file * (uint64_t)GDS_ALIGN) / GDS_ALIGN * GDS_ALIGN;
}

uint64_t gds_bytes(const struct load_set *set)
{
	size_t last = set->n - 1;

	return (gds_offset(set, last) + set->files[last].bytes + GDS_ALIGN) / GDS_ALIGN * GDS_ALIGN;
}

/* --- what the way through the host needs --------------------------------------------------------
 */

int gds_lanes_make(struct gds_target *t, struct err *e)
{
	struct cuda_gpu *g = t->place->gpu;
	int r = 0;

	for (size_t i = 0; i < GDS_THREADS && r == 0; i++) {
		r = cuda_stream_make(g, &t->lane[i].stream, e);
		for (size_t k = 0; k < GDS_BUFFERS && r == 0; k++) {
			r = cuda_event_make(g, &t->lane[i].done[k], e);
			r = r ? r : cuda_host_alloc(g, LOAD_BLOCK, &t->lane[i].buffer[k], NULL, e);
		}
	}
	return r;
}

void gds_lanes_end(struct gds_target *t)
{
	struct cuda_gpu *g = t->place->gpu;

	for (size_t i = 0; i < GDS_THREADS; i++) {
		for (size_t k = 0; k < GDS_BUFFERS; k++) {
			cuda_event_end(g, t->lane[i].done[k]);
			cuda_host_free(g, t->lane[i].buffer[k]);
		}
		cuda_stream_end(g, t->lane[i].stream);
	}
	memset(t->lane, 0, sizeof(t->lane));
}

/* --- pieces -------------------------------------------------------------------------------------
 */
struct team {
	struct gds_target *target;
	pthread_mutex_t lock;
	size_t file;
	uint64_t at;
	bool over; /* one failed, or it is to stop */
};

struct member {
	struct team *team;
	size_t index;
	pthread_t thread;
	uint64_t bytes;
	struct err e;
	int error;
};

struct piece {
	size_t file;
	uint64_t at;
	size_t bytes;
};

static bool next(struct team *t, struct piece *out)
{
	const struct load_set *set = t->target->set;
	const atomic_bool *stop = t->target->stop;
	bool more;

	pthread_mutex_lock(&t->lock);
	t->over = t->over || (stop && atomic_load_explicit(stop, memory_order_relaxed));
	more = t->file < set->n && !t->over;
	if (more) {
		uint64_t left = set->files[t->file].bytes - t->at;

		*out = (struct piece){ t->file, t->at, left < LOAD_BLOCK ? left : LOAD_BLOCK };
		t->at += LOAD_BLOCK;
		if (t->at >= set->files[t->file].bytes) {
			t->file++;
			t->at = 0;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return more;
}

static int ended(const struct load_file *f, uint64_t at, struct err *e)
{
	return err_set(e, -EIO, "%.200s ended at byte %llu of %llu", f->name,
		       (unsigned long long)at, (unsigned long long)f->size);
}

static int straight(struct member *m, const struct piece *p)
{
	struct gds_target *t = m->team->target;
	const struct load_file *f = &t->set->files[p->file];
	uint64_t to = gds_offset(t->set, p->file) + p->at;

	for (size_t got = 0; got < p->bytes;) {
		ssize_t n = t->cufile->api.read(t->handles[p->file], t->at, p->bytes - got,
						(off_t)(p->at + got), (off_t)(to + got));

		if (n == 0)
			return ended(f, p->at + got, &m->e);
		/* -1: errno; below: one of its own. */
		if (n == -1)
			return err_set(&m->e, -errno, "cuFile: %.200s cannot be read: %s", f->name,
				       strerror(errno));
		if (n < 0)
			return cufile_check((struct cufile_answer){ (int)-n, 0 }, &m->e, "a read");
		got += (size_t)n;
	}
	m->bytes += p->bytes;
	return 0;
}

/* Past the page cache only whole blocks can be asked for. */
static int read_piece(const struct load_file *f, const struct piece *p, char *to, struct err *e)
{
	for (size_t got = 0; got < p->bytes;) {
		size_t ask = (p->bytes - got + GDS_ALIGN - 1) / GDS_ALIGN * GDS_ALIGN;
		ssize_t n = pread(f->fd, to + got, ask, (off_t)(p->at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, -errno, "%.200s cannot be read at byte %llu: %s", f->name,
				       (unsigned long long)p->at + got, strerror(errno));
		if (n == 0)
			return ended(f, p->at + got, e);
		got += (size_t)n;
	}
	return 0;
}

/* turn: of this thread's pieces; its buffers take turns. */
static int through_host(struct member *m, const struct piece *p, size_t turn)
{
	struct gds_target *t = m->team->target;
	struct cuda_gpu *g = t->place->gpu;
	struct cuda_stream *s = t->lane[m->index].stream;
	struct cuda_event *done = t->lane[m->index].done[turn % GDS_BUFFERS];
	char *buffer = t->lane[m->index].buffer[turn % GDS_BUFFERS];
	cuda_address to = t->at + gds_offset(t->set, p->file) + p->at;
	int r = turn < GDS_BUFFERS ? 0 : cuda_wait_event(g, done, COPY_MOST_S, "a copy", &m->e);

	r = r ? r : read_piece(&t->set->files[p->file], p, buffer, &m->e);
	r = r ? r : cuda_check(g, g->api->copy_in(to, buffer, p->bytes, s), &m->e, "a copy");
	r = r ? r : cuda_record(g, done, s, &m->e);
	m->bytes += r ? 0 : p->bytes;
	return r;
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct gds_target *t = m->team->target;
	struct piece p;

	m->error = cuda_use(t->place->gpu, &m->e);
	for (size_t turn = 0; m->error == 0 && next(m->team, &p); turn++)
		m->error = t->handles ? straight(m, &p) : through_host(m, &p, turn);
	if (m->error == 0 && !t->handles)
		m->error = cuda_wait_stream(t->place->gpu, t->lane[m->index].stream, COPY_MOST_S,
					    "the last copies", &m->e);
	if (m->error) {
		pthread_mutex_lock(&m->team->lock);
		m->team->over = true;
		pthread_mutex_unlock(&m->team->lock);
	}
	return NULL;
}

int gds_load(struct gds_target *t, uint64_t *bytes, struct err *e)
{
	struct team team = { .target = t };
	struct member m[GDS_THREADS] = { 0 };
	size_t started = 0;
	int r = 0;

	*bytes = 0;
	pthread_mutex_init(&team.lock, NULL);
	for (size_t i = 0; i < GDS_THREADS && r == 0; i++) {
		m[i].team = &team;
		m[i].index = i;
		r = -pthread_create(&m[i].thread, NULL, member_main, &m[i]);
		started += r == 0;
	}
	if (r) {
		pthread_mutex_lock(&team.lock);
		team.over = true;
		pthread_mutex_unlock(&team.lock);
		err_set(e, r, "only %zu of %d threads could be started", started, GDS_THREADS);
	}
	for (size_t i = 0; i < started; i++) {
		pthread_join(m[i].thread, NULL);
		*bytes += m[i].bytes;
		if (m[i].error && r == 0) {
			r = m[i].error;
			*e = m[i].e;
		}
	}
	pthread_mutex_destroy(&team.lock);
	if (r == 0 && *bytes != t->set->bytes)
		r = err_set(e, -EINTR, "interrupted");
	return r;
}

/* --- checking -----------------------------------------------------------------------------------
 */

/* What the GPU has of a piece, into far; what the file has, into near. */
static int fetch(struct gds_target *t, const struct piece *p, char *far, char *near, struct err *e)
{
	struct cuda_gpu *g = t->place->gpu;
	const struct load_file *f = &t->set->files[p->file];
	struct cuda_stream *s = t->lane[0].stream;
	int r = cuda_check(
		g, g->api->copy_out(far, t->at + gds_offset(t->set, p->file) + p->at, p->bytes, s),
		e, "fetching what came");

	r = r ? r : read_piece(f, p, near, e);
	return r ? r : cuda_wait_stream(g, s, COPY_MOST_S, "fetching what came", e);
}

static int compare(struct gds_target *t, const struct piece *p, char *far, char *near,
		   struct err *e)
{
	int r = fetch(t, p, far, near, e);
	size_t i = 0;

	if (r || memcmp(far, near, p->bytes) == 0)
		return r;
	while (far[i] == near[i])
		i++;
	return err_set(e, -EILSEQ, "GPU %u has other data than %.200s at its byte %llu",
		       t->place->index, t->set->files[p->file].name, (unsigned long long)p->at + i);
}

/* One bit of the last piece. */
static int plant(struct gds_target *t, const struct piece *p, char *far, char *near, struct err *e)
{
	struct cuda_gpu *g = t->place->gpu;
	cuda_address at = t->at + gds_offset(t->set, p->file) + p->at + p->bytes / 2;
	struct cuda_stream *s = t->lane[0].stream;
	struct err ignored;
	int r;

	far[p->bytes / 2] ^= 16;
	r = cuda_check(g, g->api->copy_in(at, far + p->bytes / 2, 1, s), e, "a planted fault");
	r = r ? r : cuda_wait_stream(g, s, COPY_MOST_S, "a planted fault", e);
	if (r == 0 && compare(t, p, far, near, &ignored) != -EILSEQ)
		r = err_set(e, -EILSEQ,
			    "GPU %u: a flipped bit was not noticed: the check does not work",
			    t->place->index);
	return r;
}

int gds_verify(struct gds_target *t, struct err *e)
{
	char *far = t->lane[0].buffer[0], *near = t->lane[0].buffer[1];
	struct team all = { .target = t };
	struct piece p = { 0 };
	int r = 0;

	pthread_mutex_init(&all.lock, NULL);
	while (r == 0 && next(&all, &p))
		r = compare(t, &p, far, near, e);
	pthread_mutex_destroy(&all.lock);
	return r || !p.bytes ? r : plant(t, &p, far, near, e);
}
