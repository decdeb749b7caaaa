/* SPDX-License-Identifier: Apache-2.0 */
/* What a report is made of, and where it goes: captures, results, and the file of -o. */
#include "front/verbs/report.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "measure/bench/bench_json.h"

/* The mark that every page of ours carries in its head, and the one of a report in Markdown. */
#define HTML_MARK "<meta name=\"generator\" content=\"gputune "

static bool is_capture(const char *path)
{
	TEXT_AUTO meta = { 0 };
	struct stat st;

	if (stat(path, &st))
		return false;
	text_printf(&meta, "%s/meta.json", path);
	return S_ISDIR(st.st_mode) ? access(meta.s, F_OK) == 0 : str_ends(path, ".tar");
}

static void add_source(struct run *r, struct report_given *g, struct report_source s)
{
	g->sources = arena_grow(&r->arena, g->sources, g->n, sizeof(*g->sources));
	g->sources[g->n++] = s;
}

static void add_recording(struct run *r, struct report_given *g, const char *path)
{
	g->recordings =
		arena_grow(&r->arena, g->recordings, g->n_recordings, sizeof(*g->recordings));
	g->recordings[g->n_recordings++] = path;
}

/* It may grow or shrink meanwhile: what is not whole does not parse. */
static bool read_all(int fd, char *to, size_t len)
{
	ssize_t n = 1;

	for (size_t done = 0; done < len && n > 0; done += n > 0 ? (size_t)n : 0)
		n = read(fd, to + done, len - done);
	return n >= 0;
}

/* A regular file only, in the run's arena; NULL after complaining. */
static char *read_file(struct run *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		complain_text(EXIT_USAGE, "%s cannot be read: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		complain_text(EXIT_USAGE, "%s is neither a capture nor a regular file", path);
	} else if (st.st_size > REPORT_FILE_MAX) {
		complain_text(EXIT_USAGE, "%s is larger than any result", path);
	} else {
		text = arena_alloc(&r->arena, (size_t)st.st_size + 1);
		if (!read_all(fd, text, (size_t)st.st_size)) {
			complain_text(EXIT_USAGE, "%s cannot be read: %s", path, strerror(errno));
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static int add_file(struct run *r, struct report_given *g, const char *path)
{
	char *text = read_file(r, path);
	struct err e = { 0 };
	json_error_t why;
	const char *schema;
	json_t *j;
	int code = 0;

	if (!text)
		return EXIT_USAGE;
	j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	schema = json_string_value(json_object_get(j, "schema"));
	if (!j) {
		code = complain_text(EXIT_USAGE, "%s:%d: %s", path, why.line, why.text);
	} else if (schema && strcmp(schema, "gputune.show/1") == 0) {
		add_source(r, g, (struct report_source){ .path = path, .facts = text });
	} else if (schema && strcmp(schema, "gputune.bench/1") == 0) {
		g->results = arena_grow(&r->arena, g->results, g->n_results, sizeof(*g->results));
		if (bench_from_json(&r->arena, path, text, &g->results[g->n_results], &e))
			code = complain(EXIT_USAGE, &e);
		else
			g->n_results++;
	} else if (given_kind_of(schema)) {
		code = report_told_add(r, g, path, given_kind_of(schema), j);
	} else {
		code = complain_text(
			EXIT_USAGE,
			"%s is %s%.64s: a report is made of captures, recordings, and results in "
			"JSON of show, bench, %s",
			path, schema ? "a " : "no result of gputune", schema ? schema : "",
			given_verbs(&r->arena));
	}
	json_decref(j);
	return code;
}

int report_sources(struct run *r, struct report_given *out)
{
	int code = 0;

	*out = (struct report_given){ 0 };
	for (int i = 0; i < r->n_args; i++) {
		if (is_capture(r->args[i]))
			add_source(r, out, (struct report_source){ .path = r->args[i] });
		else if (report_is_recording(r->args[i]))
			add_recording(r, out, r->args[i]);
		else
			code = add_file(r, out, r->args[i]);
		if (code)
			return code;
	}
	if (out->n && r->value[OPT_HOST])
		return complain_text(EXIT_USAGE,
				     "--host and machines as arguments: name all of them "
				     "as arguments");
	if ((code = report_told_place(r, out)) != 0)
		return code;
	if (out->n > REPORT_MACHINES_MAX)
		return complain_text(EXIT_USAGE, "a report takes %d machines at most",
				     REPORT_MACHINES_MAX);
	if (out->n > 1 && out->n_recordings)
		return complain_text(EXIT_USAGE, "a recording goes with one machine, not with %zu",
				     out->n);
	out->taken = arena_array(&r->arena, out->n_results + 1, sizeof(*out->taken));
	return 0;
}

/* --- the file ----------------------------------------------------------------------------------
 */

int report_may_write(const struct run *r)
{
	const char *path = r->value[OPT_OUTPUT];
	char head[2048];
	struct stat st;
	ssize_t n;
	int fd;

	if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size ||
	    r->value[OPT_FORCE])
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	if (fd >= 0)
		close(fd);
	head[n > 0 ? n : 0] = '\0';
	if (strstr(head, HTML_MARK) || strstr(head, "\"gputune.report/1\"") ||
	    strstr(head, " UTC by gputune "))
		return 0;
	return complain_text(EXIT_USAGE,
			     "%s is there and is no report of gputune; it is left alone (--force "
			     "replaces it)",
			     path);
}

/* A pipe, a device: written as it is. */
static int write_through(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int why = fd < 0 ? errno : -fd_write_all(fd, text, len);

	if (fd >= 0 && close(fd) && !why)
		why = errno;
	return why;
}

static int write_whole(struct run *r, const char *path, const char *text, size_t len)
{
	const char *fresh = arena_printf(&r->arena, "%s.%ld.part", path, (long)getpid());
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	int why;

	if (fd < 0)
		return errno;
	why = -fd_write_all(fd, text, len);
	if (!why && fsync(fd))
		why = errno;
	if (close(fd) && !why)
		why = errno;
	if (!why && rename(fresh, path))
		why = errno;
	if (why)
		unlink(fresh);
	return why;
}

int report_write(struct run *r, const char *text, size_t len)
{
	const char *path = r->value[OPT_OUTPUT];
	sigset_t all, before;
	struct stat st;
	int why;

	if (!path) {
		fwrite(text, 1, len, r->out);
		return 0;
	}
	if (r->file >= 0)
		return run_hand_over(r, text, len);
	/* It may have come since we looked. */
	if (report_may_write(r))
		return EXIT_USAGE;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		why = write_through(path, text, len);
	} else {
		/* Between its beginning and its name nothing may end us: no half of it is left. */
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, &before);
		why = write_whole(r, path, text, len);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return why ? complain_text(EXIT_BLIND, "%s cannot be written: %s", path, strerror(why)) : 0;
}
