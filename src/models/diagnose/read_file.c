/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file has, and reading it with that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/text.h"
#include "machine/host/libraries.h"
#include "models/diagnose/read.h"

enum { HEAD_MAX = 65536 };

const struct evidence_format *const evidence_formats[] = {
	&evidence_sqlite,
	&evidence_recording,
	&evidence_inject,
	&evidence_stacks,
	&evidence_trace,
	&evidence_json,
	&evidence_metrics,
	&evidence_smi_csv,
	&evidence_dmon,
	&evidence_log,
	NULL,
};

/* The whole text, unpacked if it is packed; size without the zero. A log that still grows is taken
 * as long as it was when it was opened. */
static int file_whole(struct run_evidence *ev, const char *path, gzFile in, char **out,
		      size_t *size, struct err *e)
{
	struct stat st;
	size_t most = (size_t)EVIDENCE_FILE_MAX + 1, n = 0;
	char *room;
	int got = 1;

	if (gzdirect(in) && stat(path, &st) == 0 && st.st_size >= 0 && (size_t)st.st_size < most)
		most = (size_t)st.st_size;
	room = arena_room(most);
	if (!room)
		return err_set(e, -ENOMEM, "%s: out of memory", path);
	while (n < most && got > 0) {
		got = gzread(in, room + n, most - n < 1 << 20 ? (unsigned)(most - n) : 1 << 20);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0 || n > EVIDENCE_FILE_MAX) {
		arena_drop(room);
		return got < 0 ? err_set(e, -EBADMSG, "%s: cannot read, or corrupt compressed file",
					 path)
			       : err_set(e, -EFBIG, "%s: larger than %d MiB", path,
					 EVIDENCE_FILE_MAX >> 20);
	}
	*size = n;
	*out = arena_keep(ev->arena, room, n);
	return 0;
}

static size_t count_lines(const char *s, size_t n)
{
	size_t lines = 0;

	for (const char *p = s, *end = s + n; p < end && (p = memchr(p, '\n', (size_t)(end - p)));
	     p++)
		lines++;
	return lines + (n && s[n - 1] != '\n');
}

static int with_format(struct run_evidence *ev, const struct evidence_format *f, const char *path,
		       size_t run, struct err *e)
{
	size_t file = ev->n_files, size = 0;
	char *text = NULL;
	gzFile in;
	int code;

	ARENA_ADD(ev->arena, ev->files, ev->n_files) = (struct evidence_file){
		.path = arena_strdup(ev->arena, path), .format = f->name, .run = run
	};
	if (f->open)
		return f->open(ev, file, path, e);
	in = gzopen(path, "rbe");
	if (!in)
		return err_set(e, errno ? -errno : -EIO, "%s: %s", path,
			       strerror(errno ? errno : EIO));
	code = file_whole(ev, path, in, &text, &size, e);
	gzclose(in);
	if (code)
		return code;
	ev->files[file].lines = count_lines(text, size);
	return f->read(ev, file, text, size, e);
}

/* The beginning, unpacked if it is packed: its bytes, or -errno. */
static int file_head_of(const char *path, char *head)
{
	struct stat st;
	gzFile in;
	int n, code;

	if (stat(path, &st))
		return -errno;
	/* It is read twice; what comes through a pipe can only be read once. */
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	errno = 0;
	in = gzopen(path, "rbe");
	if (!in)
		return errno ? -errno : -ENOMEM;
	n = gzread(in, head, HEAD_MAX);
	code = errno;
	gzclose(in);
	return n >= 0 ? n : code ? -code : -EBADMSG;
}

/* What record --trace and --stacks left beside their recording; one that is broken is no recording
 * that is. */
static int with_beside(struct run_evidence *ev, const struct evidence_format *f, const char *path,
		       const struct evidence_format *other, const char *end, size_t run,
		       struct err *e)
{
	const char *beside = arena_printf(ev->arena, "%s%s", path, end);
	struct stat st;

	if (f != &evidence_recording || stat(beside, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	for (size_t i = 0; i < ev->n_files; i++)
		if (ev->files[i].run == run && strcmp(ev->files[i].path, beside) == 0)
			return 0;
	return with_format(ev, other, beside, run, e);
}

int evidence_add(struct run_evidence *ev, const char *path, size_t run, struct err *e)
{
	char *head;
	const struct evidence_format *f = NULL;
	int n = library_open(LIBRARY_ZLIB, e);

	if (n)
		return n;
	head = heap_array(HEAD_MAX + 1, 1);
	n = file_head_of(path, head);
	if (n < 0) {
		free(head);
		return err_set(e, n, "%s: %s", path,
			       n == -ENOTSUP ? "not a regular file" : strerror(-n));
	}
	head[n] = '\0';
	for (size_t i = 0; evidence_formats[i] && !f; i++)
		if (evidence_formats[i]->looks(head, (size_t)n, path))
			f = evidence_formats[i];
	free(head);
	if (!n)
		return err_set(e, -ENOTSUP, "%s: empty file", path);
	/* Read with its recording, where a folder has both. */
	for (size_t i = 0; (f == &evidence_inject || f == &evidence_stacks) && i < ev->n_files; i++)
		if (ev->files[i].run == run && strcmp(ev->files[i].path, path) == 0)
			return 0;
	if (!f && (str_ends(path, ".nsys-rep") || str_ends(path, ".qdrep"))) {
		err_set(e, -ENOTSUP, "%s: nsys report (.nsys-rep), readable only by nsys", path);
		err_hint(e, "convert it with nsys export -t sqlite");
		return -ENOTSUP;
	}
	if (!f)
		return err_set(e, -ENOTSUP, "%s: unknown format", path);
	n = with_format(ev, f, path, run, e);
	/* Stacks first: they say when the job trained. */
	n = n ? n : with_beside(ev, f, path, &evidence_stacks, ".stacks", run, e);
	return n ? n : with_beside(ev, f, path, &evidence_inject, ".trace", run, e);
}
