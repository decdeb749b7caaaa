/* SPDX-License-Identifier: Apache-2.0 */
/* A wheel on its way into a wheelhouse: checked, copied, and the copy compared. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/stamp.h"
#include "look/stack/wheelhouse.h"

static const char *codes_text(struct arena *a, const struct code_set *set)
{
	const char *text = "";

	for (size_t i = 0; i < set->n; i++)
		text = arena_printf(a, "%s%s%s", text, *text ? ", " : "",
				    code_name(a, &set->items[i]));
	return text;
}

/* "sm_90,sm_121" */
static int gpus_of(struct arena *a, const char *text, struct scan_options *how, struct err *e)
{
	char *list = arena_strdup(a, text), *save = NULL;

	for (char *p = strtok_r(list, ",", &save); p && how->n_gpus < GPU_TARGETS_MAX;
	     p = strtok_r(NULL, ",", &save)) {
		int code = gpu_target_parse(p, &how->gpus[how->n_gpus].sm, e);

		if (code)
			return code;
		how->n_gpus++;
	}
	return 0;
}

static int serves(const struct wheelhouse *h, const struct wheel *w, const struct scan_options *how,
		  struct err *e)
{
	for (size_t g = 0; g < how->n_gpus; g++)
		if (w->code.entries &&
		    code_best(&w->code.codes, &how->gpus[g], NULL) == CODE_CANNOT)
			return err_set(e, -ENOEXEC,
				       "%.200s: none of its GPU code runs on sm_%u, "
				       "which this wheelhouse is for (%s)",
				       w->file, how->gpus[g].sm, h->gpus);
	return 0;
}

static int copy_to(struct input *in, int fd)
{
	enum { BLOCK = 1 << 18 };
	unsigned char *buf = malloc(BLOCK);
	int code = buf ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < in->size && !code; at += BLOCK) {
		size_t n = in->size - at < BLOCK ? (size_t)(in->size - at) : BLOCK;

		code = input_read(in, at, buf, n);
		if (!code)
			code = fd_write_all(fd, buf, n);
	}
	free(buf);
	return code ? code : fsync(fd) ? -errno : 0;
}

/* What stands on the disk now, read anew, has to be what was checked. */
static int copy_wheel(struct wheelhouse *h, struct input *in, const char *name, const char *sha256,
		      struct err *e)
{
	int fd = openat(h->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	struct input_file f;
	char again[65] = "";
	int code;

	if (fd < 0)
		return err_set(e, -errno, "%s/%s: %s", h->dir, name, strerror(errno));
	code = copy_to(in, fd);
	if (code) {
		err_set(e, code, "%s cannot be written: %s", h->dir, strerror(-code));
		close(fd);
		unlinkat(h->fd, name, 0);
		return code;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	code = input_open_fd(&f, fd, name, e);
	if (code)
		return code;
	code = file_sha256(&f.in, again);
	if (code || strcmp(again, sha256) != 0)
		code = err_set(e, -EIO, "the copy in %s is not what was copied", h->dir);
	input_close(&f);
	if (code)
		unlinkat(h->fd, name, 0);
	return code;
}

/* older/SHA/NAME: out of pip's sight, and still there. */
static int set_aside(struct arena *a, struct wheelhouse *h, const struct house_wheel *old,
		     struct err *e)
{
	const char *dir = arena_printf(a, WHEELHOUSE_OLDER "/%.12s", old->sha256);

	if ((mkdirat(h->fd, WHEELHOUSE_OLDER, 0755) && errno != EEXIST) ||
	    (mkdirat(h->fd, dir, 0755) && errno != EEXIST) ||
	    renameat(h->fd, old->file, h->fd, arena_printf(a, "%s/%s", dir, old->file)))
		return err_set(e, -errno, "%s/%s cannot be set aside: %s", h->dir, old->file,
			       strerror(errno));
	return 0;
}

static struct house_wheel *find(struct wheelhouse *h, const char *file)
{
	for (size_t i = 0; i < h->n; i++)
		if (strcmp(h->wheels[i].file, file) == 0)
			return &h->wheels[i];
	return NULL;
}

static void enter(struct arena *a, struct wheelhouse *h, const struct wheel *w, const char *sha256,
		  uint64_t size)
{
	struct house_wheel *old = find(h, w->file), *to = old;
	char stamp[STAMP_SIZE];

	if (!to) {
		struct house_wheel *list = arena_array(a, h->n + 1, sizeof(*list));

		if (h->n)
			memcpy(list, h->wheels, h->n * sizeof(*list));
		h->wheels = list;
		to = &list[h->n++];
	}
	stamp_format((long long)time(NULL), stamp);
	*to = (struct house_wheel){ .file = w->file,
				    .sha256 = arena_strdup(a, sha256),
				    .size = size,
				    .name = w->name,
				    .version = w->version,
				    .build = w->build,
				    .python = w->python,
				    .abi = w->abi,
				    .platform = w->platform,
				    .requires_python = w->requires_python,
				    .gpu_code = codes_text(a, &w->code.codes),
				    .added = arena_strdup(a, stamp) };
}

static int take_in(struct arena *a, struct wheelhouse *h, struct input *in, const struct wheel *w,
		   bool replace, enum house_added *what, struct err *e)
{
	const char *temporary = arena_printf(a, ".%s.%ld", w->file, (long)getpid());
	struct house_wheel *old = find(h, w->file);
	char sha256[65];
	int code = file_sha256(in, sha256);

	if (code)
		return err_set(e, code, "%s cannot be read: %s", w->file, strerror(-code));
	*what = old ? HOUSE_SAME : HOUSE_ADDED;
	if (old && strcmp(old->sha256, sha256) == 0)
		return 0;
	if (old && !replace) {
		err_set(e, -EEXIST, "%s has another %s", h->dir, w->file);
		err_hint(e, "\"stack wheelhouse update\" replaces it and keeps the old one aside");
		return -EEXIST;
	}
	if (!old && faccessat(h->fd, w->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, -EEXIST, "%s/%s is there, but not in the manifest", h->dir,
			       w->file);
	code = copy_wheel(h, in, temporary, sha256, e);
	if (!code && old) {
		code = set_aside(a, h, old, e);
		*what = HOUSE_REPLACED;
	}
	if (!code && renameat(h->fd, temporary, h->fd, w->file))
		code = err_set(e, -errno, "%s/%s: %s", h->dir, w->file, strerror(errno));
	if (code)
		unlinkat(h->fd, temporary, 0);
	else
		enter(a, h, w, sha256, in->size);
	return code;
}

int wheelhouse_add(struct arena *a, struct wheelhouse *h, const char *path, bool replace,
		   enum house_added *what, struct err *e)
{
	struct wheel_target t = { h->arch, h->python };
	struct scan_options how = { 0 };
	struct input_file f;
	struct wheel w;
	int code = gpus_of(a, h->gpus, &how, e);

	if (!code)
		code = input_open(&f, path, e);
	if (code)
		return code;
	code = wheel_read(a, &f.in, path_name(path), &how, &w, e);
	if (!code)
		code = wheel_fits(&w, &t, e);
	if (!code)
		code = serves(h, &w, &how, e);
	if (!code)
		code = take_in(a, h, &f.in, &w, replace, what, e);
	input_close(&f);
	return code;
}
