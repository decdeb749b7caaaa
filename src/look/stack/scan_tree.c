/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of libraries, several at a time. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"
#include "look/stack/scan.h"

enum { DEEP = 40, FILES_MAX = 1 << 20, THREADS_MAX = 16, LEAST = 16 };

struct found {
	struct arena *a;
	char **paths;
	size_t n;
	struct map seen; /* "device:inode" */
};

/* One file under several names is scanned once. */
static bool first_time(struct found *f, const struct stat *st)
{
	char key[64];
	void **at;

	snprintf(key, sizeof(key), "%llx:%llx", (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino);
	at = map_at(f->a, &f->seen, key);
	if (*at)
		return false;
	*at = f;
	return true;
}

static void gather(struct found *f, int dir, const char *path, int depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *it;

	if (!d) {
		close(dir);
		return;
	}
	while ((it = readdir(d)) && f->n < FILES_MAX) {
		struct stat st;
		char *child;

		if (strcmp(it->d_name, ".") == 0 || strcmp(it->d_name, "..") == 0 ||
		    fstatat(dirfd(d), it->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEEP) {
			int fd = openat(dirfd(d), it->d_name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			child = arena_printf(f->a, "%s/%s", path, it->d_name);
			if (fd >= 0)
				gather(f, fd, child, depth + 1);
		} else if (S_ISREG(st.st_mode) && st.st_size >= LEAST && scan_name(it->d_name) &&
			   first_time(f, &st)) {
			f->paths = arena_grow(f->a, f->paths, f->n, sizeof(*f->paths));
			f->paths[f->n++] = arena_printf(f->a, "%s/%s", path, it->d_name);
		}
	}
	closedir(d);
}

/* --- the threads --- */

struct job {
	const struct found *files;
	const struct scan_options *how;
	struct scan *out;
	size_t *next; /* index of the first file that nobody has taken */
};

struct worker {
	const struct job *job;
	struct arena arena; /* its results' own */
	pthread_t thread;
	bool started;
};

static void *work(void *ctx)
{
	struct worker *w = ctx;
	const struct job *j = w->job;
	size_t i;

	while ((i = __atomic_fetch_add(j->next, 1, __ATOMIC_RELAXED)) < j->files->n)
		scan_file(&w->arena, j->files->paths[i], j->how, &j->out[i]);
	return NULL;
}

/* Into the caller's arena, so that the threads' can go. */
static void adopt(struct arena *a, struct scan *s)
{
	if (s->error)
		s->error = arena_strdup(a, s->error);
	for (size_t i = 0; i < s->n_problems && i < SCAN_PROBLEMS; i++)
		s->problems[i] = arena_strdup(a, s->problems[i]);
	if (s->codes.n) {
		struct gpu_code *items = arena_array(a, s->codes.n, sizeof(*items));

		memcpy(items, s->codes.items, s->codes.n * sizeof(*items));
		s->codes.items = items;
	}
	if (s->n_parts) {
		struct scan *parts = arena_array(a, s->n_parts, sizeof(*parts));

		memcpy(parts, s->parts, s->n_parts * sizeof(*parts));
		s->parts = parts;
		for (size_t i = 0; i < s->n_parts; i++) {
			parts[i].path = arena_strdup(a, parts[i].path);
			adopt(a, &parts[i]);
		}
	}
}

static unsigned how_many(unsigned threads, size_t files)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!threads)
		threads = cpus > 0 && cpus < THREADS_MAX ? (unsigned)cpus : THREADS_MAX;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	return files < threads ? (unsigned)files : threads;
}

static void run(struct arena *a, const struct found *f, const struct scan_options *how,
		unsigned threads, struct scan *out)
{
	size_t next = 0;
	struct job j = { f, how, out, &next };
	struct worker w[THREADS_MAX] = { 0 };

	/* The first one is this thread. */
	for (unsigned i = 0; i < threads; i++) {
		w[i].job = &j;
		w[i].started = i && pthread_create(&w[i].thread, NULL, work, &w[i]) == 0;
	}
	work(&w[0]);
	for (unsigned i = 1; i < threads; i++)
		if (w[i].started)
			pthread_join(w[i].thread, NULL);
	for (size_t i = 0; i < f->n; i++)
		adopt(a, &out[i]);
	for (unsigned i = 0; i < threads; i++)
		arena_free(&w[i].arena);
}

int scan_tree(struct arena *a, const char *path, const struct scan_options *how, unsigned threads,
	      struct scan **out, size_t *n, struct err *e)
{
	struct found f = { .a = a };
	size_t len = strlen(path);
	struct stat st;
	int fd;

	if (stat(path, &st))
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return err_set(e, -errno, "%s: %s", path, strerror(errno));
		while (len > 1 && path[len - 1] == '/')
			len--;
		gather(&f, fd, len == 1 && *path == '/' ? "" : arena_strndup(a, path, len), 0);
		if (f.n)
			qsort(f.paths, f.n, sizeof(*f.paths), str_natural_qsort);
	} else {
		f.paths = arena_grow(a, NULL, 0, sizeof(*f.paths));
		f.paths[f.n++] = arena_strdup(a, path);
	}
	*out = arena_array(a, f.n + 1, sizeof(**out));
	*n = f.n;
	if (f.n)
		run(a, &f, how, how_many(threads, f.n), *out);
	return 0;
}
