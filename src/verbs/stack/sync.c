/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune stack wheelhouse sync: a valid wheelhouse onto another machine or into another folder. By
 * rsync, and where either machine lacks it by sftp; both go on where they were cut off. Wheels go
 * first and the manifest last, so that the other side has its old one, whole, until all are there.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "machine/host/command.h"
#include "verbs/stack/stack.h"

/* How ssh ends when it failed itself, and rsync with it; rsync when what came was cut. */
enum { SSH_FAILED = 255, NO_CONNECTION = 12 };

struct syncing {
	struct door *d;
	const struct wheelhouse *h;
	const char *dir, *to;
	const char *host, *place; /* the two halves of HOST:DIR; host NULL: a folder here */
};

static int refuse_ssh(const struct syncing *s)
{
	return door_refuse(s->d, EXIT_NOT_APPLIED,
			   "ssh could not reach %s, was refused, found a different host key, or "
			   "lost the connection: see its message above; run it again to resume",
			   s->host ? s->host : s->to);
}

/* What a nameless file holds, at most so much; NULL: more, or it cannot be read. */
static char *text_in(struct arena *a, int fd)
{
	enum { TEXT_MAX = 1 << 24 };
	off_t size = lseek(fd, 0, SEEK_END);
	char *text;

	if (size < 0 || size > TEXT_MAX)
		return NULL;
	text = arena_alloc(a, (size_t)size + 1);
	return pread(fd, text, (size_t)size, 0) == size ? text : NULL;
}

/* What was kept of a program's words, for who has to know why it failed. */
static void repeat(struct door *d, int fd)
{
	const char *text = text_in(d->arena, fd);

	for (size_t n; text && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n)
			door_warn(d, "%.*s", (int)n, text);
	}
}

/* 1: there is one on the other machine; 0: there is none; below 0 as answers. How rsync itself ends
 * without one is chance. */
static int asks_rsync(const struct syncing *s)
{
	struct arena *a = s->d->arena;
	char *argv[] = { "ssh", "--", arena_strdup(a, s->host), "rsync", "--version", NULL };
	struct command_front p = { .argv = argv, .output = fd_nameless("", 0) };
	struct err e = { 0 };
	int status = p.output < 0 ? p.output : command_front(&p, &e);

	if (status == SSH_FAILED)
		repeat(s->d, p.output);
	if (p.output >= 0)
		close(p.output);
	if (status == SSH_FAILED)
		return refuse_ssh(s);
	if (status < 0) {
		err_hint(&e, "sudo apt-get install openssh-client");
		return door_fail(s->d, EXIT_USAGE, &e);
	}
	return status == 0;
}

static int rsync(const struct syncing *s, const char *const *what)
{
	char *argv[24] = { "rsync", "-rt", "--partial", "--protect-args", "--no-links" };
	/* What it prints must not get into the result. */
	struct command_front p = { .argv = argv, .output = s->d->progress ? STDERR_FILENO : -1 };
	struct arena *a = s->d->arena;
	struct err e = { 0 };
	size_t n = 5;

	if (s->d->progress)
		argv[n++] = "--info=progress2";
	while (*what)
		argv[n++] = arena_strdup(a, *what++);
	argv[n++] = "--";
	argv[n++] = arena_printf(a, "%s/", s->dir);
	argv[n++] = arena_printf(a, "%s/", s->to);
	return command_front(&p, &e);
}

/* 0, 1: rsync is not on both machines, or as answers. */
static int by_rsync(const struct syncing *s)
{
	static const char *const wheels[] = { "--include=/*.whl", "--exclude=*", NULL },
				 *const rest[] = { "--include=/" WHEELHOUSE_MANIFEST,
						   "--include=/" WHEELHOUSE_SIGNATURE,
						   "--exclude=*", NULL };
	char buf[256];
	int status = spawn_find("rsync", true, buf, sizeof(buf)) == NULL ? 0
		     : s->host						 ? asks_rsync(s)
									 : 1;

	if (status <= 0)
		return status ? status : 1;
	status = rsync(s, wheels);
	if (status == 0)
		status = rsync(s, rest);
	if (status == 0)
		return 0;
	/* Which of both notices first that there is no connection is chance. */
	if (s->host && (status == SSH_FAILED || status == NO_CONNECTION))
		return refuse_ssh(s);
	return door_refuse(s->d, EXIT_NOT_APPLIED, "rsync exited with %d; run it again to resume",
			   status);
}

/* Which wheels another machine lacks, by what its sftp said, and the lines that bring them. */

/* "-rw-r--r--    1 0        0          1234 Nov 21 18:00 /srv/wheels/NAME": its size; -1: it is not
 * there. */
static long long size_there(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		size_t len = strcspn(list, "\n");
		unsigned long long size;
		char word[32];

		if (len > n && strncmp(list + len - n, name, n) == 0 &&
		    (list[len - n - 1] == '/' || list[len - n - 1] == ' ') &&
		    sscanf(list, "%*s %*s %*s %*s %31s", word) == 1 &&
		    parse_u64(word, &size) == 0 && size < 1ull << 62)
			return (long long)size;
		list += len + (list[len] == '\n');
	}
	return -1;
}

/* The other side's manifest has it with these contents, and a file of its size lies there. */
static bool is_there(const struct over_there *t, const struct house_wheel *w)
{
	if (size_there(t->list, w->file) != (long long)w->size)
		return false;
	for (size_t i = 0; i < t->house.n; i++)
		if (strcmp(t->house.wheels[i].file, w->file) == 0 &&
		    strcmp(t->house.wheels[i].sha256, w->sha256) == 0)
			return true;
	return false;
}

/*
 * Each goes under a name that holds its SHA-256, so that only its own beginning is ever gone on
 * from; at the end all get their names, and the manifest replaces the old one as a whole.
 */
void sync_lines(struct arena *a, const struct sync_pair *s, const struct over_there *t,
		struct text *out)
{
	TEXT_AUTO names = { 0 };

	for (size_t i = 0; i < s->h->n; i++) {
		const struct house_wheel *w = &s->h->wheels[i];
		const char *part = arena_printf(a, ".gputune-%.16s-%s", w->sha256, w->file);
		long long there = size_there(t->list, part), here = (long long)w->size;

		if (is_there(t, w))
			continue;
		if (there > here)
			text_printf(out, "rm %s/%s\n", s->place, part);
		if (there != here)
			text_printf(out, "%s %s/%s %s/%s\n",
				    there > 0 && there < here ? "reput" : "put", s->dir, w->file,
				    s->place, part);
		text_printf(&names, "rename %s/%s %s/%s\n", s->place, part, s->place, w->file);
	}
	if (s->h->is_signed)
		text_printf(out, "put %s/%s %s/%s\n", s->dir, WHEELHOUSE_SIGNATURE, s->place,
			    WHEELHOUSE_SIGNATURE);
	text_printf(out, "put %s/%s %s/.%s.new\n%srename %s/.%s.new %s/%s\n", s->dir,
		    WHEELHOUSE_MANIFEST, s->place, WHEELHOUSE_MANIFEST, names.s ? names.s : "",
		    s->place, WHEELHOUSE_MANIFEST, s->place, WHEELHOUSE_MANIFEST);
}

/* --- sftp ------------------------------------------------------------------------------------- */

/* Runs these lines there; what it prints goes into out, what it says too unless apart. Its exit
 * status, or -errno. */
static int sftp(const struct syncing *s, const char *lines, int out, bool apart)
{
	struct arena *a = s->d->arena;
	char *argv[] = { "sftp", "-q", "-b", "-", "--", arena_strdup(a, s->host), NULL };
	struct command_front p = { .argv = argv, .output = out, .errors_apart = apart };
	struct err e = { 0 };
	int fd = fd_nameless(lines, strlen(lines)), r = fd < 0 ? fd : 0;

	/* Opened anew by that name, it is read from its beginning. */
	p.input = arena_printf(a, "/proc/self/fd/%d", fd);
	if (r == 0)
		r = command_front(&p, &e);
	if (fd >= 0)
		close(fd);
	if (r == -ENOENT) {
		err_hint(&e, "sudo apt-get install rsync openssh-client");
		door_fail(s->d, EXIT_USAGE, &e);
	}
	return r;
}

static int look_there(const struct syncing *s, struct over_there *out)
{
	struct arena *a = s->d->arena;
	int list = fd_nameless("", 0), manifest = fd_nameless("", 0), r;
	struct err ignored = { 0 };
	char *text;

	*out = (struct over_there){ 0 };
	r = list < 0 ? list : manifest < 0 ? manifest : 0;
	/* A minus: that line may fail. */
	if (r == 0)
		r = sftp(s,
			 arena_printf(a, "-mkdir %s\nls -lna %s\n-get %s/%s /proc/%ld/fd/%d\n",
				      s->place, s->place, s->place, WHEELHOUSE_MANIFEST,
				      (long)getpid(), manifest),
			 list, false);
	/* That a folder is there, or no manifest yet, is for nobody's eyes. */
	if (r > 0)
		repeat(s->d, list);
	if (r == 0) {
		out->list = text_in(a, list);
		text = text_in(a, manifest);
		if (text)
			manifest_read(a, text, strlen(text), &out->house, &ignored);
		r = out->list ? 0 : -EIO;
	}
	if (list >= 0)
		close(list);
	if (manifest >= 0)
		close(manifest);
	return r;
}

/* One name of sftp's language: quotes and what follows a backslash are its own. */
static bool sftp_plain(const char *path)
{
	return !strpbrk(path, "\"'\\\n*?[] \t#");
}

static int by_sftp(const struct syncing *s)
{
	TEXT_AUTO lines = { 0 };
	struct over_there there;
	const struct sync_pair pair = { s->h, s->dir, s->place };
	int status, null;

	if (!sftp_plain(s->dir) || !sftp_plain(s->place))
		return door_refuse(
			s->d, EXIT_USAGE,
			"without rsync, %s and %s must not contain blanks, quotes or stars", s->dir,
			s->place);
	status = look_there(s, &there);
	if (status == 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		sync_lines(s->d->arena, &pair, &there, &lines);
		status = sftp(s, lines.s, null, true);
		if (null >= 0)
			close(null);
	}
	if (status == 0)
		return 0;
	if (status == SSH_FAILED)
		return refuse_ssh(s);
	if (status == -ENOENT)
		return -EXIT_USAGE;
	return door_refuse(s->d, EXIT_NOT_APPLIED, "sftp exited with %d; run it again to resume",
			   status);
}

/* --- all -------------------------------------------------------------------------------------- */

/* On the other machine, by the gputune there. */
static int verify_there(const struct syncing *s)
{
	char *argv[] = { "ssh",
			 "-o",
			 "BatchMode=yes",
			 "--",
			 arena_strdup(s->d->arena, s->host),
			 "gputune",
			 "stack",
			 "wheelhouse",
			 "verify",
			 "--quiet",
			 arena_strdup(s->d->arena, s->place),
			 NULL };
	struct command_front p = { .argv = argv, .output = -1, .limit_s = 600 };
	struct err e = { 0 };
	int status = command_front(&p, &e);

	if (status == 0)
		return EXIT_CLEAN;
	return door_refuse(s->d, status == EXIT_FINDINGS ? EXIT_FINDINGS : EXIT_BLIND,
			   "the copy could not be verified on that machine (ssh exited with %d); "
			   "run \"gputune stack wheelhouse verify %s\" there",
			   status, s->place);
}

/* A path there is a word of a shell's command line: nothing but plain characters. */
static bool plain_place(const char *to)
{
	if (!*to || *to == '-')
		return false;
	for (; *to; to++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@:/"
			    "._-~[]%",
			    *to))
			return false;
	return true;
}

static int copy(const struct syncing *s)
{
	int code = by_rsync(s);

	if (code <= 0)
		return code;
	return s->host ? by_sftp(s) : door_refuse(s->d, EXIT_USAGE, "rsync not found");
}

int house_look(struct door *d, const char *dir, bool verify, const char *signers,
	       struct wheelhouse *out)
{
	struct err e = { 0 };
	int code = wheelhouse_open(d->arena, dir, false, out, &e);

	if (code)
		return door_fail(d, code == -EBADMSG ? EXIT_FINDINGS : EXIT_USAGE, &e);
	if (verify && wheelhouse_verify(d->arena, out, signers, &e))
		code = door_fail(d, EXIT_BLIND, &e);
	else
		code = out->verdict.n ? EXIT_FINDINGS : EXIT_CLEAN;
	wheelhouse_close(out);
	return code;
}

int house_sync(struct door *d, const char *dir, const char *to, struct wheelhouse *out)
{
	const char *colon = strchr(to, ':');
	struct syncing s = { .d = d, .h = out, .dir = dir, .to = to, .place = to };
	struct err e = { 0 };
	int code;

	if (wheelhouse_open(d->arena, dir, true, out, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (colon) {
		s.host = arena_strndup(d->arena, to, (size_t)(colon - to));
		s.place = colon + 1;
	}
	if (!plain_place(to) || (colon && (!*s.host || !*s.place)))
		code = door_refuse(d, EXIT_USAGE, "invalid destination \"%s\"; use HOST:DIR or DIR",
				   to);
	else if (wheelhouse_verify(d->arena, out, NULL, &e) || out->verdict.n)
		code = door_refuse(d, EXIT_FINDINGS, "%s is invalid and is not copied: %s: %s", dir,
				   out->verdict.n ? out->verdict.items[0].file : dir,
				   out->verdict.n ? out->verdict.items[0].what : e.text);
	else
		code = copy(&s);
	if (!code && colon)
		code = verify_there(&s);
	wheelhouse_close(out);
	return code || colon ? code : house_look(d, to, true, NULL, out);
}
