/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the files of a model come into memory, in the ways that loaders take, from the disk and
 * from the page cache. Only reads; the one trace is that the page cache forgets these files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/bench/model_load.h"
#include "base/clock.h"
#include "measure/bench/disk_file.h"
#include "measure/bench/disk_place.h"
#include "measure/bench/disk_queue.h"
#include "measure/bench/bench.h"
#include "measure/bench/memory_latency.h"
#include "base/text.h"
#include "machine/host/folder.h"

static const uint64_t LEAST = 1 << 20, MOST = 2ull << 30, SMALL_LEAST = 4096, SMALL_MOST = 16 << 20;

struct shared {
	struct load_set set;
	struct disk_place place;
	struct idset cpus;
	struct bench_limit limit;
	unsigned threads;
	bool open, summed;
	uint64_t sum; /* of a plain read of all */
};

struct arg {
	enum load_way way;
	bool cold;
	struct shared *shared;
};

struct load {
	const struct arg *arg;
	struct load_job job;
	void *buffers;
	size_t buffers_bytes;
	cpu_set_t *cpus_before;
	bool seen; /* that the page cache was empty */
};

static const struct {
	const char *name;
	enum load_way way;
	bool cold;
} rows[] = {
	{ "cold:mmap", LOAD_MMAP, true },
	{ "cold:mmap-populate", LOAD_POPULATE, true },
	{ "cold:read", LOAD_READ, true },
	{ "cold:pread-parallel", LOAD_PARALLEL, true },
	{ "cold:direct-parallel", LOAD_DIRECT, true },
	{ "warm:mmap", LOAD_MMAP, false },
	{ "warm:mmap-populate", LOAD_POPULATE, false },
	{ "warm:read", LOAD_READ, false },
	{ "warm:pread-parallel", LOAD_PARALLEL, false },
};

/* --- which cases there are -------------------------------------------------------------------- */
/* Why a case makes no sense here; NULL: it does. */
static const char *model_load_absent(size_t i, const struct shared *s,
				     const struct disk_direct *direct)
{
	if (rows[i].cold && s->place.memory)
		return "the files are in memory";
	if (rows[i].cold && s->place.own_cache)
		return DISK_OWN_CACHE;
	if (rows[i].way == LOAD_POPULATE && !load_can_populate())
		return "the kernel has no MADV_POPULATE_READ (Linux 5.14)";
	if (rows[i].way == LOAD_DIRECT && !direct->can)
		return direct->why;
	if (rows[i].way == LOAD_DIRECT && direct->align > DISK_PAGE)
		return "the disk does not support blocks of 4 KiB";
	return NULL;
}

static int model_load_look(const struct bench_env *env, struct shared *s,
			   struct disk_direct *direct, struct err *e)
{
	int r = load_find(env->a, env->ask.files, env->small ? SMALL_LEAST : LEAST,
			  env->small ? SMALL_MOST : MOST, &s->set, e);

	r = r ? r : disk_place_look(env, s->set.folder, &s->place, e);
	r = r ? r : load_open(&s->set, e);
	if (r)
		return r;
	*direct = disk_file_direct(s->set.files[0].fd);
	load_close(&s->set);
	return 0;
}

static const char *setup_text(const struct bench_env *env, const struct shared *s)
{
	const struct load_set *set = &s->set;
	const char *more = set->n_all > set->n || set->all_bytes > set->bytes
				   ? arena_printf(env->a, " of %zu with %llu MiB", set->n_all,
						  (unsigned long long)set->all_bytes >> 20)
				   : "";
	const char *left = set->left_out
				   ? arena_printf(env->a, ", excluding %zu links that lead outside",
						  set->left_out)
				   : "";

	return arena_printf(env->a, "the first %llu MiB in %zu file%s%s%s; %s",
			    (unsigned long long)set->bytes >> 20, set->n, PLURAL(set->n), more,
			    left, disk_place_text(env->a, &s->place));
}

static void cases(const struct bench_env *env, struct bench_cases *out)
{
	struct shared *s = ARENA_NEW(env->a, struct shared);
	struct disk_direct direct;
	struct err e = { 0 };
	size_t cpus;

	out->usage = true;
	if (!env->ask.files) {
		out->none = "no readable file or folder given: --files PATH";
		return;
	}
	if (model_load_look(env, s, &direct, &e)) {
		out->none = arena_strdup(env->a, e.text);
		return;
	}
	out->usage = false;
	s->cpus = disk_place_cpus(env, &s->place);
	s->limit = disk_place_limit(env, &s->place);
	cpus = idset_count(&s->cpus);
	s->threads = cpus < 4 ? 4 : cpus < LOAD_THREADS ? (unsigned)cpus : LOAD_THREADS;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = model_load_absent(i, s, &direct);
		struct arg *arg;

		if (why) {
			bench_case_absent(env->a, out, rows[i].name, why);
			continue;
		}
		arg = ARENA_NEW(env->a, struct arg);
		*arg = (struct arg){ rows[i].way, rows[i].cold, s };
		bench_case_add(
			env->a, out,
			(struct bench_case){ .name = rows[i].name,
					     .setup = setup_text(env, s),
					     .placement = arena_printf(
						     env->a, "%u threads on CPUs %s",
						     arg->way >= LOAD_PARALLEL ? s->threads : 1,
						     idset_format(env->a, &s->cpus)),
					     .arg = arg });
	}
}

static struct bench_limit model_load_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct arg *arg = c->arg;

	(void)env;
	if (!arg->cold)
		return (struct bench_limit){ .source = "unknown: the files are already in memory; "
						       "copying and page faults limit it" };
	return arg->shared->limit;
}

static void model_load_end(const struct bench_cases *all)
{
	const struct arg *arg = all->n ? all->items[0].arg : NULL;

	if (arg && arg->shared->open) {
		load_close(&arg->shared->set);
		arg->shared->open = false;
	}
}

/* --- before and after ------------------------------------------------------------------------- */
static void teardown(void *state)
{
	struct load *l = state;

	if (l->arg->way == LOAD_DIRECT && l->arg->shared->open)
		load_direct(&l->arg->shared->set, false);
	memory_unmap(l->buffers, l->buffers_bytes);
	pin_back(l->cpus_before);
}

/* The same, and looks whether it did: -EBUSY and *e where it keeps more than a little. *seen: the
 * kernel told. */
static int load_make_cold(const struct load_set *set, bool *seen, struct err *e)
{
	double left = 0;

	*seen = true;
	for (size_t i = 0; i < set->n; i++) {
		const struct load_file *f = &set->files[i];
		double share = page_cache_empty(f->fd, f->bytes);

		*seen = *seen && share >= 0;
		left += fmax(share, 0) * (double)f->bytes;
	}
	left /= (double)set->bytes;
	if (left > PAGE_CACHE_COLD)
		return err_set(
			e, -EBUSY,
			"%.0f %% of the files stay in the page cache: another program uses them",
			100 * left);
	return 0;
}

static int model_load_prepare(struct load *l, struct err *e)
{
	struct shared *s = l->arg->shared;
	struct load_result all;
	int r = s->open ? 0 : load_open(&s->set, e);

	if (r)
		return r;
	s->open = true;
	r = disk_buffers(l->buffers_bytes, s->place.node, &l->buffers, e);
	if (r)
		return r;
	/* Present from now on: their page faults belong to nobody's figure. */
	memset(l->buffers, 0, l->buffers_bytes);
	l->job.buffers = l->buffers;
	if (l->arg->cold)
		r = load_make_cold(&s->set, &l->seen, e);
	else
		r = load_run(&l->job, &all, e);
	if (r == 0 && l->arg->way == LOAD_DIRECT)
		load_direct(&s->set, true);
	return r;
}

static int setup(const struct bench_env *env, const struct bench_case *c, void *state,
		 const char **variant, struct err *e)
{
	const struct arg *arg = c->arg;
	struct load *l = state;
	int r;

	l->arg = arg;
	l->job = (struct load_job){ .set = &arg->shared->set,
				    .way = arg->way,
				    .threads = arg->shared->threads,
				    .stop = env->stop };
	l->buffers_bytes =
		(size_t)LOAD_BLOCK * (arg->way >= LOAD_PARALLEL ? arg->shared->threads : 1);
	l->cpus_before = pin_to(&arg->shared->cpus);
	r = model_load_prepare(l, e);
	if (r)
		return r;
	*variant = arena_printf(env->a, "%s%s",
				arg->way == LOAD_DIRECT ? "without the page cache"
				: !arg->cold ? "files read once before, so that they are cached"
				: l->seen    ? "page cache dropped for these files before each load"
					  : "page cache drop requested for these files before each "
					    "load; the kernel does not report the result",
				disk_place_settings(env->a, &arg->shared->place));
	return 0;
}

/* The page cache forgets these files, as far as nobody else holds them. */
static void load_forget(const struct load_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		page_cache_drop(set->files[i].fd);
}

/* --- a sample --------------------------------------------------------------------------------- */
static int model_load_run(void *state, struct bench_sample *out, struct err *e)
{
	struct load *l = state;
	struct load_set *set = &l->arg->shared->set;
	struct load_result all;
	double from, cpu;
	int r = load_same(set, e);

	if (r)
		return r;
	if (l->arg->cold)
		load_forget(set);
	cpu = clock_cpu_s();
	from = clock_mono_s();
	r = load_run(&l->job, &all, e);
	from = clock_mono_s() - from;
	cpu = clock_cpu_s() - cpu;
	if (r)
		return r;
	if (all.bytes != set->bytes)
		return err_set(e, -EIO, "%llu of %llu bytes were read",
			       (unsigned long long)all.bytes, (unsigned long long)set->bytes);
	out->value[0] = (double)all.bytes / from / 1e9;
	out->value[1] = fmax(cpu, 1e-6) / ((double)all.bytes / 1e9);
	return 0;
}

/* A plain read says what the bytes are; every other way has to say the same. */
static int model_load_reference(struct load *l, struct err *e)
{
	struct shared *s = l->arg->shared;
	struct load_job job = l->job;
	struct load_result all;
	int r;

	if (s->summed)
		return 0;
	job.way = LOAD_READ;
	job.sum = true;
	job.stop = NULL;
	if (l->arg->way == LOAD_DIRECT)
		load_direct(&s->set, false);
	r = load_run(&job, &all, e);
	if (l->arg->way == LOAD_DIRECT)
		load_direct(&s->set, true);
	if (r)
		return r;
	s->sum = all.sum;
	s->summed = true;
	return 0;
}

static int model_load_verify(void *state, struct err *e)
{
	struct load *l = state;
	struct shared *s = l->arg->shared;
	struct load_job job = l->job;
	struct load_result all;
	int r = load_same(&s->set, e);

	r = r ? r : model_load_reference(l, e);
	job.sum = true;
	/* What was measured until somebody asked to stop is checked as well. */
	job.stop = NULL;
	r = r ? r : load_run(&job, &all, e);
	if (r)
		return r;
	if (all.bytes != s->set.bytes || all.sum != s->sum)
		return err_set(e, -EILSEQ,
			       "this method read other bytes than a plain read, or the files "
			       "changed during the run");
	return 0;
}

static const struct bench_figure figures[] = {
	{ "rate", "bytes loaded into memory", "gb_per_s", "GB/s", BENCH_HIGHER },
	{ "cpu", "CPU time of all threads", "s_per_gb", "s/GB", BENCH_LOWER },
};

const struct bench bench_model_load = {
	.name = "model-load",
	.title = "reading large files (--files) as model loaders do",
	.method =
		"Up to 2 GiB of a file, or of the large files of a folder in natural order, as "
		"often as time permits; a sample is one load. mmap: mapped, one byte of each page "
		"touched in order, unmapped; mmap-populate: MADV_POPULATE_READ before, 64 MiB at a "
		"time; read: one thread, 4 MiB at a time; pread-parallel: several threads, each of "
		"which takes the next 4 MiB; direct-parallel: the same with O_DIRECT. cold: only "
		"these files were dropped from the page cache before each load; warm: the page "
		"cache held them. The buffers are reused, as in loaders that reuse theirs. All "
		"methods must give the same sum of all bytes and positions as a plain read.",
	.version = 1,
	FIGURES(figures),
	.brief = "cold:",
	.seconds = 3,
	.rounds = 3,
	.cases = cases,
	.state_size = sizeof(struct load),
	.setup = setup,
	.run = model_load_run,
	.verify = model_load_verify,
	.teardown = teardown,
	.end = model_load_end,
	.limit = model_load_limit,
};

/*
 * Finding and opening the files of a model. What a link or a name might lead to is not trusted:
 * nothing outside of the folder is opened, nothing but regular files is read, and the search is
 * bounded.
 */

struct search {
	struct arena *a;
	struct load_set *set;
	int root;
	uint64_t least, most;
	unsigned looks;
};

/* name below root; links only as long as they stay below it. Never waits for a pipe's other end. */
static int open_below(int root, const char *name, int flags)
{
	int fd = folder_open_below(root, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags,
				   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (fd != -ENOSYS && fd != -EPERM)
		return fd;
	/* Before Linux 5.6, or behind a filter: no links at all. */
	fd = openat(root, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | flags);
	return fd < 0 ? -errno : fd;
}

static bool known(const struct load_set *set, const struct stat *st)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].dev == st->st_dev && set->files[i].ino == st->st_ino)
			return true;
	return false;
}

static void model_load_add(struct search *s, const char *name, const struct stat *st)
{
	struct load_set *set = s->set;
	uint64_t size = (uint64_t)st->st_size, room = s->most - set->bytes;

	if (size < s->least || known(set, st))
		return;
	set->n_all++;
	set->all_bytes += size;
	if (!room || set->n >= LOAD_FILES)
		return;
	ARENA_ADD(s->a, set->files, set->n) =
		(struct load_file){ .name = name,
				    .dev = st->st_dev,
				    .ino = st->st_ino,
				    .size = size,
				    .bytes = size < room ? size : room,
				    .base = set->bytes,
				    .fd = -1 };
	set->bytes += size < room ? size : room;
}

static void model_load_walk(struct search *s, const char *name, unsigned depth);

static void files_look(struct search *s, const char *name, unsigned depth)
{
	struct stat st;
	int fd;

	if (fstatat(s->root, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISDIR(st.st_mode) && depth < LOAD_DEPTH)
		model_load_walk(s, name, depth + 1);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return;
	fd = open_below(s->root, name, 0);
	if (fd == -EXDEV || fd == -ELOOP)
		s->set->left_out++;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		model_load_add(s, name, &st);
	close(fd);
}

static void model_load_walk(struct search *s, const char *name, unsigned depth)
{
	int fd = open_below(s->root, name, O_DIRECTORY);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	char **names = NULL;
	size_t n = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *it = readdir(d); it && s->looks < LOAD_LOOKS; it = readdir(d)) {
		if (strcmp(it->d_name, ".") == 0 || strcmp(it->d_name, "..") == 0)
			continue;
		s->looks++;
		ARENA_ADD(s->a, names, n) = strcmp(name, ".") == 0
						    ? arena_strdup(s->a, it->d_name)
						    : arena_printf(s->a, "%s/%s", name, it->d_name);
	}
	closedir(d);
	if (n)
		qsort(names, n, sizeof(*names), str_natural_qsort);
	for (size_t i = 0; i < n; i++)
		files_look(s, names[i], depth);
}

static int model_load_none(const struct load_set *set, uint64_t least, struct err *e)
{
	err_set(e, -ENODATA, "%.200s contains no readable file of at least %llu KiB", set->path,
		(unsigned long long)(least >> 10));
	if (set->left_out)
		err_set(e, -ENODATA,
			"%.200s contains no file of %llu KiB or more, only %zu links to files "
			"outside this folder, which are not followed; give a folder that also "
			"contains their targets",
			set->path, (unsigned long long)(least >> 10), set->left_out);
	return -ENODATA;
}

int load_find(struct arena *a, const char *path, uint64_t least, uint64_t most,
	      struct load_set *out, struct err *e)
{
	struct load_set set = { 0 };
	struct search s = { .a = a, .set = &set, .least = least, .most = most };
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real) || stat(real, &st))
		return err_set(e, -errno, "cannot inspect %.200s: %s", path, strerror(errno));
	set.path = arena_strdup(a, real);
	set.folder = set.path;
	if (S_ISREG(st.st_mode)) {
		set.folder = path_folder(a, real);
		if (access(real, R_OK))
			return err_set(e, -errno, "cannot read %.200s: %s", real, strerror(errno));
		model_load_add(&s, path_name(set.path), &st);
	} else if (S_ISDIR(st.st_mode)) {
		s.root = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s.root < 0)
			return err_set(e, -errno, "cannot read %.200s: %s", real, strerror(errno));
		model_load_walk(&s, ".", 0);
		close(s.root);
	} else {
		return err_set(e, -EINVAL, "%.200s is neither a file nor a folder", path);
	}
	if (!set.n)
		return model_load_none(&set, least, e);
	*out = set;
	return 0;
}

static int open_one(int root, struct load_file *f, struct err *e)
{
	struct stat st;

	/* Reading leaves no trace where this user may ask for that. */
	f->fd = open_below(root, f->name, O_NOATIME);
	if (f->fd == -EPERM)
		f->fd = open_below(root, f->name, 0);
	if (f->fd < 0) {
		int r = f->fd;

		f->fd = -1;
		return err_set(e, r, "cannot read %.200s: %s", f->name, strerror(-r));
	}
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode) || st.st_dev != f->dev ||
	    st.st_ino != f->ino || (uint64_t)st.st_size != f->size)
		return err_set(e, -ESTALE, "%.200s was replaced by another file", f->name);
	return 0;
}

int load_open(struct load_set *set, struct err *e)
{
	int root = open(set->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (root < 0)
		return err_set(e, -errno, "cannot read %.200s: %s", set->folder, strerror(errno));
	for (size_t i = 0; i < set->n && r == 0; i++)
		r = open_one(root, &set->files[i], e);
	close(root);
	if (r)
		load_close(set);
	return r;
}

void load_close(struct load_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->files[i].fd >= 0)
			close(set->files[i].fd);
		set->files[i].fd = -1;
	}
}

int load_same(const struct load_set *set, struct err *e)
{
	struct stat st;

	for (size_t i = 0; i < set->n; i++)
		if (fstat(set->files[i].fd, &st) || (uint64_t)st.st_size != set->files[i].size)
			return err_set(e, -ESTALE, "%.200s was changed during the measurement",
				       set->files[i].name);
	return 0;
}

void load_direct(const struct load_set *set, bool on)
{
	for (size_t i = 0; i < set->n; i++) {
		int flags = fcntl(set->files[i].fd, F_GETFL);

		if (flags >= 0)
			fcntl(set->files[i].fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
	}
}
