/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench of files to a GPU: what is read, which ways there are, and which way it really went. It
 * reads the user's files, or makes one of its own without a name.
 */
#include "measure/bench/gds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/bench/disk_place.h"
#include "measure/bench/list.h"

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

/* --- what is read -------------------------------------------------------------------------------
 */

/* A set of one file that is made when the first case begins. */
static int own_set(const struct bench_env *env, struct shared *s, struct err *e)
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
		.name = "the bench's own file", .size = bytes, .bytes = bytes, .fd = -1
	};
	s->set.n = s->set.n_all = 1;
	s->set.bytes = s->set.all_bytes = bytes;
	return 0;
}

static int look(const struct bench_env *env, struct shared *s, struct err *e)
{
	int r;

	s->own.fd = -1;
	if (!env->ask.files)
		return own_set(env, s, e);
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
		return err_set(e, -EOPNOTSUPP, "the disk does not take blocks of 4 KiB");
	load_direct(&s->set, true);
	return 0;
}

/* --- cases --------------------------------------------------------------------------------------
 */

static void add(const struct bench_env *env, struct bench_cases *out, struct shared *s,
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
			.setup = arena_printf(env->a, "%llu MiB in %zu file%s, %d KiB a read; %s",
					      (unsigned long long)s->set.bytes >> 20, s->set.n,
					      s->set.n == 1 ? "" : "s", LOAD_BLOCK >> 10,
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
		out->none = "nothing was named: --files PATH is read, in --dir DIR a file is made";
		return;
	}
	gpu_places_find(env, out, &s->gpus);
	if (!s->gpus.n)
		return;
	if (look(env, s, &e)) {
		out->usage = true;
		out->none = arena_strdup(env->a, e.text);
		return;
	}
	s->limit = disk_place_limit(env, &s->place);
	s->has_cufile = cufile_open(&s->cufile, &e) == 0;
	s->why = s->has_cufile ? NULL : arena_strdup(env->a, e.text);
	for (size_t i = 0; i < s->gpus.n; i++) {
		add(env, out, s, &s->gpus.items[i], true);
		add(env, out, s, &s->gpus.items[i], false);
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

/* --- before and after ---------------------------------------------------------------------------
 */

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
	free(g);
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

static int prepare(struct gds *g, const struct bench_env *env, struct err *e)
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

static int gds_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		     const char **variant, struct err *e)
{
	const struct arg *arg = c->arg;
	struct gds *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return err_set(e, -ENOMEM, "no memory");
	g->arg = arg;
	g->target = (struct gds_target){ .stop = env->stop,
					 .set = &arg->shared->set,
					 .place = arg->place,
					 .cufile = &arg->shared->cufile };
	g->variant = arena_alloc(env->a, VARIANT_MAX);
	snprintf(g->variant, VARIANT_MAX, "%s",
		 arg->straight ? "cuFile"
			       : "read past the page cache into pinned memory, two "
				 "buffers a thread, copied meanwhile");
	r = prepare(g, env, e);
	if (r) {
		gds_teardown(g);
		return r;
	}
	*variant = g->variant;
	*state = g;
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
static void tell_way(struct gds *g)
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
		tell_way(g);
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
	.title = "how fast files get into a GPU's memory: cuFile, and through the host",
	.method =
		"Whole files, or a file of the bench's own, past the page cache into the GPU's "
		"memory, by cuFile and by reads into pinned memory with copies side by side; "
		"both with the same threads and sizes. Whether cuFile was direct its own counters "
		"tell, where it has them; without the kernel's help it copies through the host "
		"too. What came is compared with the files, and the comparison is proven with a "
		"turned bit.",
	.version = 1,
	.figures = figures,
	.n_figures = 2,
	.brief = "-",
	.seconds = 3,
	.rounds = 3,
	.cases = gds_cases,
	.setup = gds_setup,
	.run = gds_run,
	.verify = gds_check,
	.teardown = gds_teardown,
	.end = gds_end,
	.limit = gds_limit,
};
