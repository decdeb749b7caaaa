/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of files to a GPU: what is read, which ways there are, and which way it really went. It
 * reads the user's files, or makes one of its own without a name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/bench/disk_place.h"
#include "measure/bench/bench.h"
#include "measure/bench/disk_file.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/model_load.h"
#include "machine/cuda/cufile.h"

enum { GDS_THREADS = 8, GDS_BUFFERS = 2, GDS_ALIGN = 4096 };

/* One file or several, and where they go. */
struct gds_target {
	const atomic_bool *stop; /* NULL: nobody may stop it */
	struct load_set *set;
	struct gpu_place *place;
	cuda_address at; /* a file's first byte is at gds_offset of it */
	struct cufile *cufile;
	void *const *handles; /* cuFile's, one a file; NULL: the other way */
	/* Through the host: of each thread. */
	struct {
		struct cuda_stream *stream;
		struct cuda_event *done[GDS_BUFFERS];
		void *buffer[GDS_BUFFERS];
	} lane[GDS_THREADS];
};

/* The files as cuFile has them, from the first case that needs that to the last one's end. */
struct gds_files {
	void *handle[LOAD_FILES];
	int fd[LOAD_FILES]; /* the descriptors behind them */
	size_t n;
	bool tried;
	int code; /* it did not take one of them; 0: it has all */
	struct err why;
};

/* Giving files to cuFile, which wants to open each of them itself. */

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* cuFile refuses a file that was opened with flags it does not know; this opens it anew. */
static int open_anew(int fd, const char *path, struct err *e)
{
	int r = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC), code = r < 0 ? errno : ESTALE;

	if (r >= 0 && same_file(r, fd))
		return r;
	if (r >= 0)
		close(r);
	return err_set(e, -code, "opening a file for cuFile: %s", strerror(code));
}

/* cuFile opens it once more by the name that the kernel tells for it. The bench's own file has one
 * for that long; it can have one only once. */
static int gds_take_one(struct gds_files *f, const struct cufile *c, int fd, const char *own_dir,
			struct err *e)
{
	struct cufile_file file = { .kind = CUFILE_DESCRIPTOR };
	char path[PATH_MAX];
	int r = 0;

	if (own_dir)
		r = disk_file_lend(fd, own_dir, path, sizeof(path), e);
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r)
		return r;
	r = file.file.fd = open_anew(fd, path, e);
	if (r >= 0)
		r = cufile_check(c->api.file_add(&f->handle[f->n], &file), e,
				 "registering a file with cuFile");
	if (own_dir)
		unlink(path);
	if (r == 0)
		f->fd[f->n++] = file.file.fd;
	else if (file.file.fd >= 0)
		close(file.file.fd);
	return r;
}

/* Gives it all of an open set. own_dir: where a file that the bench creates is; NULL: the user's
 * files. -errno and *e, then and whenever it is asked again. */
static int gds_take(struct gds_files *f, const struct cufile *c, const struct load_set *set,
		    const char *own_dir, struct err *e)
{
	if (!f->tried) {
		f->tried = true;
		for (size_t i = 0; i < set->n && f->code == 0; i++)
			f->code = gds_take_one(f, c, set->files[i].fd, own_dir, &f->why);
	}
	if (f->code)
		*e = f->why;
	return f->code;
}

static void gds_let_go(struct gds_files *f, const struct cufile *c)
{
	for (size_t i = 0; i < f->n; i++) {
		c->api.file_end(f->handle[i]);
		close(f->fd[i]);
	}
	*f = (struct gds_files){ 0 };
}

/* Threads that take pieces of files, one after the other, and bring them to a GPU. */

enum { COPY_MOST_S = 30 };

/* Where a file begins in the target. */
static uint64_t gds_offset(const struct load_set *set, size_t file)
{
	/* Each begins at a page of its own. */
	return (set->files[file].base + file * (uint64_t)GDS_ALIGN) / GDS_ALIGN * GDS_ALIGN;
}

/* Bytes that the target needs. */
static uint64_t gds_bytes(const struct load_set *set)
{
	size_t last = set->n - 1;

	return (gds_offset(set, last) + set->files[last].bytes + GDS_ALIGN) / GDS_ALIGN * GDS_ALIGN;
}

/* --- what the way through the host needs ------------------------------------------------------ */

/* Streams and pinned memory of the way through the host; what was made goes with gds_lanes_end. */
static int gds_lanes_make(struct gds_target *t, struct err *e)
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

static void gds_lanes_end(struct gds_target *t)
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

/* --- pieces ----------------------------------------------------------------------------------- */
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

static bool gds_next(struct team *t, struct piece *out)
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
			return err_set(&m->e, -errno, "cuFile: cannot read %.200s: %s", f->name,
				       strerror(errno));
		if (n < 0)
			return cufile_check((struct cufile_answer){ (int)-n, 0 }, &m->e, "a read");
		got += (size_t)n;
	}
	m->bytes += p->bytes;
	return 0;
}

/* Past the page cache only whole blocks can be asked for. */
static int gds_read_piece(const struct load_file *f, const struct piece *p, char *to, struct err *e)
{
	for (size_t got = 0; got < p->bytes;) {
		size_t ask = (p->bytes - got + GDS_ALIGN - 1) / GDS_ALIGN * GDS_ALIGN;
		ssize_t n = pread(f->fd, to + got, ask, (off_t)(p->at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, -errno, "cannot read %.200s at byte %llu: %s", f->name,
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

	r = r ? r : gds_read_piece(&t->set->files[p->file], p, buffer, &m->e);
	r = r ? r : cuda_check(g, g->api->copy_in(to, buffer, p->bytes, s), &m->e, "a copy");
	r = r ? r : cuda_record(g, done, s, &m->e);
	m->bytes += r ? 0 : p->bytes;
	return r;
}

static void *gds_member_main(void *arg)
{
	struct member *m = arg;
	struct gds_target *t = m->team->target;
	struct piece p;

	m->error = cuda_use(t->place->gpu, &m->e);
	for (size_t turn = 0; m->error == 0 && gds_next(m->team, &p); turn++)
		m->error = t->handles ? straight(m, &p) : through_host(m, &p, turn);
	if (m->error == 0 && !t->handles)
		m->error = cuda_wait_stream(t->place->gpu, t->lane[m->index].stream, COPY_MOST_S,
					    "finishing the last copies", &m->e);
	if (m->error) {
		pthread_mutex_lock(&m->team->lock);
		m->team->over = true;
		pthread_mutex_unlock(&m->team->lock);
	}
	return NULL;
}

/* All of it once. *bytes: how many arrived. -errno and *e; -EINTR: stopped. */
static int gds_load(struct gds_target *t, uint64_t *bytes, struct err *e)
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
		r = -pthread_create(&m[i].thread, NULL, gds_member_main, &m[i]);
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

/* --- checking --------------------------------------------------------------------------------- */

/* What the GPU has of a piece, into far; what the file has, into near. */
static int gds_fetch(struct gds_target *t, const struct piece *p, char *far, char *near,
		     struct err *e)
{
	struct cuda_gpu *g = t->place->gpu;
	const struct load_file *f = &t->set->files[p->file];
	struct cuda_stream *s = t->lane[0].stream;
	int r = cuda_check(
		g, g->api->copy_out(far, t->at + gds_offset(t->set, p->file) + p->at, p->bytes, s),
		e, "fetching the data read");

	r = r ? r : gds_read_piece(f, p, near, e);
	return r ? r : cuda_wait_stream(g, s, COPY_MOST_S, "fetching the data read", e);
}

static int gds_compare(struct gds_target *t, const struct piece *p, char *far, char *near,
		       struct err *e)
{
	int r = gds_fetch(t, p, far, near, e);
	size_t i = 0;

	if (r || memcmp(far, near, p->bytes) == 0)
		return r;
	while (far[i] == near[i])
		i++;
	return err_set(e, -EILSEQ, "GPU %u has different data than %.200s at its byte %llu",
		       t->place->index, t->set->files[p->file].name, (unsigned long long)p->at + i);
}

/* One bit of the last piece. */
static int gds_plant(struct gds_target *t, const struct piece *p, char *far, char *near,
		     struct err *e)
{
	struct cuda_gpu *g = t->place->gpu;
	cuda_address at = t->at + gds_offset(t->set, p->file) + p->at + p->bytes / 2;
	struct cuda_stream *s = t->lane[0].stream;
	struct err ignored;
	int r;

	far[p->bytes / 2] ^= 16;
	r = cuda_check(g, g->api->copy_in(at, far + p->bytes / 2, 1, s), e, "injecting a bit flip");
	r = r ? r : cuda_wait_stream(g, s, COPY_MOST_S, "injecting a bit flip", e);
	if (r == 0 && gds_compare(t, p, far, near, &ignored) != -EILSEQ)
		r = err_set(
			e, -EILSEQ,
			"GPU %u: an injected bit flip was not detected: the check does not work",
			t->place->index);
	return r;
}

/* Whether the GPU holds what the files hold, read in the plain way; and whether a turned bit would
 * be noticed. */
static int gds_verify(struct gds_target *t, struct err *e)
{
	char *far = t->lane[0].buffer[0], *near = t->lane[0].buffer[1];
	struct team all = { .target = t };
	struct piece p = { 0 };
	int r = 0;

	pthread_mutex_init(&all.lock, NULL);
	while (r == 0 && gds_next(&all, &p))
		r = gds_compare(t, &p, far, near, e);
	pthread_mutex_destroy(&all.lock);
	return r || !p.bytes ? r : gds_plant(t, &p, far, near, e);
}

/* --- the bench ----------------------------------------------------------------------------------
 * What is read, which ways there are, and which way it really went.
 */

static const uint64_t LEAST = 1 << 20, MOST = 1ull << 30, SMALL_LEAST = 4096, SMALL_MOST = 8 << 20;

enum { VARIANT_MAX = 256 };

struct shared {
	struct load_set set;
	struct disk_file own; /* with --dir */
	struct disk_place place;
	struct bench_limit limit;
	struct cufile cufile;
	struct gds_files taken;
	struct gpu_places gpus;
	bool open, has_cufile;
	const char *why; /* there is no cuFile */
};

struct arg {
	struct shared *shared;
	struct gpu_place *place;
	bool straight;
};

struct gds {
	const struct arg *arg;
	struct gds_target target;
	struct cufile_counts before;
	bool counted, buffer;
	char *variant;
};

/* --- what is read ----------------------------------------------------------------------------- */

/* A set of one file that is made when the first case begins. */
static int gds_own_set(const struct bench_env *env, struct shared *s, struct err *e)
{
	uint64_t bytes, left;
	int fd, r = disk_place_look(env, env->ask.dir, &s->place, e);

	if (r)
		return r;
	fd = disk_file_make(s->place.dir, e);
	if (fd < 0)
		return fd;
	bytes = disk_file_room(fd, env->small ? SMALL_LEAST : LEAST, env->small ? SMALL_MOST : MOST,
			       &left);
	close(fd);
	if (!bytes)
		return err_set(e, -ENOSPC, "%.200s has only %llu MiB free", s->place.dir,
			       (unsigned long long)left >> 20);
	s->set.files = ARENA_NEW(env->a, struct load_file);
	s->set.files[0] = (struct load_file){
		.name = "a file that the bench creates", .size = bytes, .bytes = bytes, .fd = -1
	};
	s->set.n = s->set.n_all = 1;
	s->set.bytes = s->set.all_bytes = bytes;
	return 0;
}

static int gds_look(const struct bench_env *env, struct shared *s, struct err *e)
{
	int r;

	s->own.fd = -1;
	if (!env->ask.files)
		return gds_own_set(env, s, e);
	r = load_find(env->a, env->ask.files, env->small ? SMALL_LEAST : LEAST,
		      env->small ? SMALL_MOST : MOST, &s->set, e);
	return r ? r : disk_place_look(env, s->set.folder, &s->place, e);
}

static int open_files(struct shared *s, const struct bench_env *env, struct err *e)
{
	struct disk_direct direct;
	int r;

	if (s->open)
		return 0;
	if (env->ask.files) {
		r = load_open(&s->set, e);
	} else {
		r = disk_file_open(&s->own, s->place.dir, s->set.bytes, true, env->stop, e);
		s->set.files[0].fd = s->own.fd;
	}
	if (r)
		return r;
	s->open = true;
	direct = disk_file_direct(s->set.files[0].fd);
	if (!direct.can)
		return err_set(e, -EOPNOTSUPP, "%s", direct.why);
	if (direct.align > GDS_ALIGN)
		return err_set(e, -EOPNOTSUPP, "the disk does not support blocks of 4 KiB");
	load_direct(&s->set, true);
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void gds_add(const struct bench_env *env, struct bench_cases *out, struct shared *s,
		    struct gpu_place *p, bool straight)
{
	const char *name =
		arena_printf(env->a, "%s:gpu%u", straight ? "cufile" : "through-host", p->index);
	struct arg *arg = ARENA_NEW(env->a, struct arg);

	if (straight && !s->has_cufile) {
		bench_case_absent(env->a, out, name, s->why);
		return;
	}
	*arg = (struct arg){ s, p, straight };
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name,
			.setup = arena_printf(env->a, "%llu MiB in %zu file%s, %d KiB per read; %s",
					      (unsigned long long)s->set.bytes >> 20, s->set.n,
					      PLURAL(s->set.n), LOAD_BLOCK >> 10,
					      disk_place_text(env->a, &s->place)),
			.placement = arena_printf(env->a, "%d threads, %s", GDS_THREADS,
						  gpu_place_text(env->a, p)),
			.arg = arg,
			.hardware = p->gpu->name });
}

static void gds_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct shared *s = ARENA_NEW(env->a, struct shared);
	struct err e = { 0 };

	if (!env->ask.files && !env->ask.dir) {
		out->usage = true;
		out->none = "no files given: --files PATH reads them, --dir DIR creates one";
		return;
	}
	gpu_places_find(env, out, &s->gpus);
	if (!s->gpus.n)
		return;
	if (gds_look(env, s, &e)) {
		out->usage = true;
		out->none = arena_strdup(env->a, e.text);
		return;
	}
	s->limit = disk_place_limit(env, &s->place);
	s->has_cufile = cufile_open(&s->cufile, &e) == 0;
	s->why = s->has_cufile ? NULL : arena_strdup(env->a, e.text);
	for (size_t i = 0; i < s->gpus.n; i++) {
		gds_add(env, out, s, &s->gpus.items[i], true);
		gds_add(env, out, s, &s->gpus.items[i], false);
	}
}

static struct bench_limit gds_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	return ((const struct arg *)c->arg)->shared->limit;
}

static void gds_end(const struct bench_cases *all)
{
	const struct arg *arg = all->n ? all->items[0].arg : NULL;
	struct shared *s = arg ? arg->shared : NULL;

	if (!s)
		return;
	gds_let_go(&s->taken, &s->cufile);
	if (s->own.fd >= 0)
		disk_file_close(&s->own);
	else if (s->open)
		load_close(&s->set);
	s->open = false;
	cufile_close(&s->cufile);
}

/* --- before and after ------------------------------------------------------------------------- */

static void gds_teardown(void *state)
{
	struct gds *g = state;
	struct gds_target *t = &g->target;
	struct err ignored;

	if (t->place->gpu->context && cuda_use(t->place->gpu, &ignored) == 0) {
		if (g->buffer)
			t->cufile->api.buffer_end(t->at);
		gds_lanes_end(t);
		cuda_free(t->place->gpu, t->at);
	}
}

/* The library's own view of files and memory. That memory cannot be registered is no fault: it goes
 * through memory of its own then. */
static int make_straight(struct gds *g, struct err *e)
{
	struct gds_target *t = &g->target;
	struct shared *s = g->arg->shared;
	int r = gds_take(&s->taken, t->cufile, t->set, s->own.fd >= 0 ? s->place.dir : NULL, e);

	t->handles = s->taken.handle;
	if (r == 0)
		g->buffer = !t->cufile->api.buffer_add(t->at, gds_bytes(t->set), 0).error;
	g->counted = r == 0 && cufile_count(t->cufile, &g->before);
	return r;
}

static int gds_prepare(struct gds *g, const struct bench_env *env, struct err *e)
{
	struct gds_target *t = &g->target;
	struct gpu_place *p = t->place;
	int r = open_files(g->arg->shared, env, e);

	r = r ? r : gpu_place_open(p, e);
	r = r ? r : gpu_alloc(p, gds_bytes(t->set), &t->at, e);
	/* Checking needs them in either way. */
	r = r ? r : gds_lanes_make(t, e);
	return r || !g->arg->straight ? r : make_straight(g, e);
}

static int gds_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		     const char **variant, struct err *e)
{
	const struct arg *arg = c->arg;
	struct gds *g = state;
	int r;

	g->arg = arg;
	g->target = (struct gds_target){ .stop = env->stop,
					 .set = &arg->shared->set,
					 .place = arg->place,
					 .cufile = &arg->shared->cufile };
	g->variant = arena_alloc(env->a, VARIANT_MAX);
	snprintf(g->variant, VARIANT_MAX, "%s",
		 arg->straight ? "cuFile"
			       : "read without the page cache into pinned memory, two buffers per "
				 "thread, with overlapping copies");
	r = gds_prepare(g, env, e);
	if (r)
		return r;
	*variant = g->variant;
	return 0;
}

static int gds_run(void *state, struct bench_sample *out, struct err *e)
{
	struct gds *g = state;
	uint64_t bytes;
	double cpu = clock_cpu_s(), t = clock_mono_s();
	int r = gds_load(&g->target, &bytes, e);

	t = clock_mono_s() - t;
	cpu = clock_cpu_s() - cpu;
	if (r)
		return r;
	out->value[0] = (double)bytes / t / 1e9;
	out->value[1] = fmax(cpu, 1e-6) / ((double)bytes / 1e9);
	return 0;
}

/* Where it can be said: which way it went. */
static void gds_report_way(struct gds *g)
{
	const struct cufile *c = g->target.cufile;
	struct cufile_counts now;
	bool known = g->counted && cufile_count(c, &now);

	snprintf(g->variant, VARIANT_MAX, "cuFile, %s%s",
		 cufile_way(c, known ? &g->before : NULL, known ? &now : NULL),
		 g->buffer ? "" : "; the GPU's memory could not be registered");
}

static int gds_check(void *state, struct err *e)
{
	struct gds *g = state;
	struct gds_target *t = &g->target;
	struct cuda_gpu *gpu = t->place->gpu;
	uint64_t bytes;
	int r;

	if (g->arg->straight)
		gds_report_way(g);
	/* What was measured until somebody asked to stop is checked as well. */
	t->stop = NULL;
	r = cuda_use(gpu, e);
	r = r ? r
	      : cuda_check(gpu,
			   gpu->api->set_bytes(t->at, 0xa5, gds_bytes(t->set), t->lane[0].stream),
			   e, "poisoning the target");
	r = r ? r : cuda_wait_stream(gpu, t->lane[0].stream, 30, "poisoning the target", e);
	r = r ? r : gds_load(t, &bytes, e);
	return r ? r : gds_verify(t, e);
}

static const struct bench_figure figures[] = {
	{ "rate", "rate", "gb_per_s", "GB/s", BENCH_HIGHER },
	{ "cpu", "CPU time", "s_per_gb", "s/GB", BENCH_LOWER },
};

const struct bench bench_gds = {
	.name = "gds",
	.title = "bandwidth of loading files into GPU memory: through cuFile and through the host",
	.method =
		"Loads whole files, or a test file, into GPU memory without the page cache: "
		"through cuFile, and by reads into pinned memory with overlapping copies; both use "
		"the same threads and sizes. cuFile's counters, if present, show whether reads "
		"were direct; without kernel support cuFile copies through the host too. The data "
		"is compared with the files, and the comparison is tested with a flipped bit.",
	.version = 1,
	FIGURES(figures),
	.brief = "-",
	.seconds = 3,
	.rounds = 3,
	.cases = gds_cases,
	.state_size = sizeof(struct gds),
	.setup = gds_setup,
	.run = gds_run,
	.verify = gds_check,
	.teardown = gds_teardown,
	.end = gds_end,
	.limit = gds_limit,
};
