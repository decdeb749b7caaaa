/* SPDX-License-Identifier: Apache-2.0 */
/* gputune stack wheelhouse: create, add, update, verify, list, diff, sync, use. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "base/text.h"
#include "front/session.h"
#include "front/verbs/stack.h"
#include "look/stack/wheelhouse.h"
#include "look/stack/page_stack.h"
#include "machine/host/command.h"
#include "base/fd.h"

static int complain_by(int code, const struct err *e)
{
	/* What is refused is a finding; what cannot be done is none. */
	return complain(code == -EBADMSG || code == -ENOEXEC || code == -EEXIST ||
					code == -EPROTONOSUPPORT || code == -EKEYREJECTED
				? EXIT_FINDINGS
				: EXIT_USAGE,
			e);
}

static int verb_stack_wheelhouse_print(struct run *r, const struct wheelhouse *h, int code)
{
	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r))
		return run_print_result(r, &wheelhouse_result, h, code);
	return run_print_doc(r, page_wheelhouse(&r->arena, h), "gputune stack wheelhouse", code);
}

/* python3 is a link to python3.11: the distribution's own. */
static const char *own_python(struct run *r)
{
	char target[256];
	ssize_t n = readlink("/usr/bin/python3", target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return str_starts(target, "python3.") ? arena_strdup(&r->arena, target + 6) : NULL;
}

static int create(struct run *r, const char *dir)
{
	struct wheel_target t = { r->value[OPT_ARCH], r->value[OPT_PYTHON] };
	struct wheelhouse h;
	struct utsname u;
	struct err e = { 0 };
	unsigned long long minor;
	unsigned sm;
	int code;

	if (!t.arch) {
		uname(&u);
		t.arch = arena_strdup(&r->arena, u.machine);
	}
	if (strcmp(t.arch, "x86_64") != 0 && strcmp(t.arch, "aarch64") != 0)
		return complain_text(EXIT_USAGE, "--arch takes x86_64 or aarch64, not \"%s\"",
				     t.arch);
	if (!t.python)
		t.python = own_python(r);
	if (t.python && (!str_starts(t.python, "3.") || parse_u64(t.python + 2, &minor)))
		return complain_text(EXIT_USAGE,
				     "--python takes a version such as 3.12, not \"%s\"", t.python);
	if (r->value[OPT_GPU] && gpu_target_parse(r->value[OPT_GPU], &sm, &e))
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_create(&r->arena, dir, &t,
				 r->value[OPT_GPU] ? arena_printf(&r->arena, "sm_%u", sm) : "", &h,
				 &e);
	if (code)
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_save(&r->arena, &h, r->value[OPT_KEY], &e);
	code = code ? complain_by(code, &e) : verb_stack_wheelhouse_print(r, &h, EXIT_CLEAN);
	wheelhouse_close(&h);
	return code;
}

/* One bad wheel does not keep the others out. */
static int verb_stack_wheelhouse_add(struct run *r, const char *dir, bool replace)
{
	static const char *const words[] = { "added", "is there already", "replaced" };
	struct wheelhouse h;
	struct err e = { 0 };
	size_t changed = 0;
	int code = wheelhouse_open(&r->arena, dir, true, &h, &e), worst = EXIT_CLEAN;

	if (code)
		return complain(EXIT_USAGE, &e);
	if (h.is_signed && !r->value[OPT_KEY]) {
		wheelhouse_close(&h);
		return complain_text(EXIT_USAGE, "%s is signed: changing it needs --key", dir);
	}
	/* What this key signs, it has signed before: nothing is taken over that others put there.
	 */
	if (h.is_signed && (code = house_signed_by(&r->arena, &h, r->value[OPT_KEY], &e)) != 0) {
		wheelhouse_close(&h);
		return complain_by(code, &e);
	}
	for (int i = 0; i < r->n_args; i++) {
		enum house_added what = HOUSE_SAME;

		e = (struct err){ 0 };
		code = wheelhouse_add(&r->arena, &h, r->args[i], replace, &what, &e);
		if (code) {
			worst = complain_by(code, &e);
			continue;
		}
		changed += what != HOUSE_SAME;
		if (!r->value[OPT_QUIET] && !run_wants_json(r))
			fprintf(r->out, "%s: %s\n", r->args[i], words[what]);
	}
	if (changed) {
		e = (struct err){ 0 };
		code = wheelhouse_save(&r->arena, &h, r->value[OPT_KEY], &e);
		if (code)
			worst = complain_by(code, &e);
	}
	if (run_wants_json(r))
		verb_stack_wheelhouse_print(r, &h, worst);
	wheelhouse_close(&h);
	return worst;
}

/* Prints it, after verifying it where look says so; an exit code. */
static int wheelhouse_print(struct run *r, const char *dir, bool look)
{
	struct wheelhouse h;
	struct err e = { 0 };
	int code = wheelhouse_open(&r->arena, dir, false, &h, &e);

	if (code)
		return complain(code == -EBADMSG ? EXIT_FINDINGS : EXIT_USAGE, &e);
	if (look && wheelhouse_verify(&r->arena, &h, r->value[OPT_KEY], &e))
		code = complain(EXIT_BLIND, &e);
	else
		code = verb_stack_wheelhouse_print(r, &h, h.verdict.n ? EXIT_FINDINGS : EXIT_CLEAN);
	wheelhouse_close(&h);
	return code;
}

static int verb_stack_wheelhouse_diff(struct run *r, const char *a, const char *b)
{
	struct wheelhouse x, y;
	struct err e = { 0 };
	struct doc *d;
	size_t n = 0;
	int code = wheelhouse_open(&r->arena, a, false, &x, &e);

	if (code)
		return complain(EXIT_USAGE, &e);
	code = wheelhouse_open(&r->arena, b, false, &y, &e);
	if (code) {
		wheelhouse_close(&x);
		return complain(EXIT_USAGE, &e);
	}
	d = page_wheelhouse_diff(&r->arena, &x, &y, &n);
	code = n ? EXIT_FINDINGS : EXIT_CLEAN;
	if (!r->value[OPT_QUIET]) {
		int failed = run_print_doc(r, d, "gputune stack wheelhouse diff", EXIT_CLEAN);

		code = failed ? failed : code;
	}
	wheelhouse_close(&x);
	wheelhouse_close(&y);
	return code;
}

/*
 * gputune stack wheelhouse sync: a valid wheelhouse onto another machine or into another folder. By
 * rsync, and where either machine lacks it by sftp; both go on where they were cut off. Wheels go
 * first and the manifest last, so that the other side has its old one, whole, until all are there.
 */

/* How ssh ends when it failed itself, and rsync with it; rsync when what came was cut. */
enum { SSH_FAILED = 255, NO_CONNECTION = 12 };

struct syncing {
	struct run *r;
	const struct wheelhouse *h;
	const char *dir, *to;
	const char *host, *place; /* the two halves of HOST:DIR; host NULL: a folder here */
};

static int complain_ssh(const struct syncing *s)
{
	return complain_text(EXIT_NOT_APPLIED,
			     "ssh could not reach %s, was not let in, met another key than the "
			     "known one, or lost the connection: it says above which; run it again "
			     "and it goes on where it stopped",
			     s->host ? s->host : s->to);
}

/* What a nameless file holds, at most so much; NULL: more, or it cannot be read. */
static char *verb_stack_wheelhouse_text_in(struct arena *a, int fd)
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
static void repeat(struct arena *a, int fd)
{
	const char *text = verb_stack_wheelhouse_text_in(a, fd);

	fputs(text ? text : "", stderr);
}

/* 1: there is one on the other machine; 0: there is none; an exit code as -1 - code after
 * complaining. How rsync itself ends without one is chance. */
static int asks_rsync(const struct syncing *s)
{
	struct arena *a = &s->r->arena;
	char *argv[] = { "ssh", "--", arena_strdup(a, s->host), "rsync", "--version", NULL };
	struct command_front p = { .argv = argv, .output = fd_nameless("", 0) };
	struct err e = { 0 };
	int status = p.output < 0 ? p.output : command_front(&p, &e);

	if (status == SSH_FAILED)
		repeat(a, p.output);
	if (p.output >= 0)
		close(p.output);
	if (status == SSH_FAILED)
		return -1 - complain_ssh(s);
	if (status < 0) {
		err_hint(&e, "sudo apt-get install openssh-client");
		return -1 - complain(EXIT_USAGE, &e);
	}
	return status == 0;
}

static int rsync(const struct syncing *s, const char *const *what)
{
	char *argv[24] = { "rsync", "-rt", "--partial", "--protect-args", "--no-links" };
	struct command_front p = { .argv = argv, .output = -1 };
	struct arena *a = &s->r->arena;
	struct err e = { 0 };
	size_t n = 5;

	if (!s->r->value[OPT_QUIET] && !run_wants_json(s->r) && s->r->tty)
		argv[n++] = "--info=progress2";
	while (*what)
		argv[n++] = arena_strdup(a, *what++);
	argv[n++] = "--";
	argv[n++] = arena_printf(a, "%s/", s->dir);
	argv[n++] = arena_printf(a, "%s/", s->to);
	return command_front(&p, &e);
}

/* 0, -ENOENT: rsync is not on both machines, or an exit code after complaining. */
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
		return status ? -1 - status : -ENOENT;
	status = rsync(s, wheels);
	if (status == 0)
		status = rsync(s, rest);
	if (status == 0)
		return 0;
	/* Which of both notices first that there is no connection is chance. */
	if (s->host && (status == SSH_FAILED || status == NO_CONNECTION))
		return complain_ssh(s);
	return complain_text(EXIT_NOT_APPLIED,
			     "rsync ended with %d; run it again and it goes on where it stopped",
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
	struct arena *a = &s->r->arena;
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
		complain(0, &e);
	}
	return r;
}

static int look_there(const struct syncing *s, struct over_there *out)
{
	struct arena *a = &s->r->arena;
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
		repeat(a, list);
	if (r == 0) {
		out->list = verb_stack_wheelhouse_text_in(a, list);
		text = verb_stack_wheelhouse_text_in(a, manifest);
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
		return complain_text(
			EXIT_USAGE,
			"without rsync names must be plain: no blank, quote or star in %s or %s",
			s->dir, s->place);
	status = look_there(s, &there);
	if (status == 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		sync_lines(&s->r->arena, &pair, &there, &lines);
		status = sftp(s, lines.s, null, true);
		if (null >= 0)
			close(null);
	}
	if (status == 0)
		return 0;
	if (status == SSH_FAILED)
		return complain_ssh(s);
	if (status == -ENOENT)
		return EXIT_USAGE;
	return complain_text(EXIT_NOT_APPLIED,
			     "sftp ended with %d; run it again and it goes on where it stopped",
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
			 arena_strdup(&s->r->arena, s->host),
			 "gputune",
			 "stack",
			 "wheelhouse",
			 "verify",
			 "--quiet",
			 arena_strdup(&s->r->arena, s->place),
			 NULL };
	struct command_front p = { .argv = argv, .output = -1, .limit_s = 600 };
	struct err e = { 0 };
	int status = command_front(&p, &e);

	if (status == 0)
		return EXIT_CLEAN;
	return complain_text(status == EXIT_FINDINGS ? EXIT_FINDINGS : EXIT_BLIND,
			     "the copy could not be verified there (ssh ended with %d); run "
			     "\"gputune stack wheelhouse verify %s\" on that machine",
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

static int verb_stack_wheelhouse_copy(const struct syncing *s)
{
	int code = by_rsync(s);

	if (code != -ENOENT)
		return code;
	if (s->host)
		return by_sftp(s);
	complain_text(EXIT_USAGE, "there is no program rsync here");
	return EXIT_USAGE;
}

/* Copies a valid wheelhouse to DIR or HOST:DIR and verifies the copy; an exit code. */
static int wheelhouse_sync(struct run *r, const char *dir, const char *to)
{
	const char *colon = strchr(to, ':');
	struct wheelhouse h;
	struct syncing s = { .r = r, .h = &h, .dir = dir, .to = to, .place = to };
	struct err e = { 0 };
	int code = wheelhouse_open(&r->arena, dir, true, &h, &e);

	if (code)
		return complain(EXIT_USAGE, &e);
	if (colon) {
		s.host = arena_strndup(&r->arena, to, (size_t)(colon - to));
		s.place = colon + 1;
	}
	if (!plain_place(to) || (colon && (!*s.host || !*s.place))) {
		code = complain_text(EXIT_USAGE, "\"%s\" is no place to copy to: HOST:DIR or DIR",
				     to);
	} else if (wheelhouse_verify(&r->arena, &h, NULL, &e) || h.verdict.n) {
		code = complain_text(EXIT_FINDINGS, "%s is not sound and is not copied: %s: %s",
				     dir, h.verdict.n ? h.verdict.items[0].file : dir,
				     h.verdict.n ? h.verdict.items[0].what : e.text);
	} else {
		code = verb_stack_wheelhouse_copy(&s);
		if (!code)
			code = colon ? verify_there(&s) : wheelhouse_print(r, to, true);
	}
	wheelhouse_close(&h);
	return code;
}

/* --- use --- */

static const struct house_wheel *verb_stack_wheelhouse_newest(const struct wheelhouse *h,
							      const char *name)
{
	const struct house_wheel *best = NULL;
	char x[256], y[256];

	dist_normalise(name, x, sizeof(x));
	for (size_t i = 0; i < h->n; i++) {
		dist_normalise(h->wheels[i].name, y, sizeof(y));
		if (strcmp(x, y) == 0 &&
		    (!best || version_compare(best->version, h->wheels[i].version) < 0))
			best = &h->wheels[i];
	}
	return best;
}

static int verb_stack_wheelhouse_use(struct run *r, const char *dir)
{
	struct wheelhouse h;
	struct err e = { 0 };
	TEXT_AUTO t = { 0 };
	char full[4096];
	int code = wheelhouse_open(&r->arena, dir, false, &h, &e);

	if (code)
		return complain(EXIT_USAGE, &e);
	if (!realpath(dir, full))
		snprintf(full, sizeof(full), "%s", dir);
	text_printf(&t, "python3 -m pip install --no-index --find-links '%s'", full);
	for (int i = 0; i < r->n_args && !code; i++) {
		const struct house_wheel *w = verb_stack_wheelhouse_newest(&h, r->args[i]);

		if (w)
			text_printf(&t, " '%s==%s'", w->name, w->version);
		else
			code = complain_text(EXIT_FINDINGS, "%s has no wheel of %s", dir,
					     r->args[i]);
	}
	for (size_t i = 0; i < h.n && !r->n_args; i++)
		if (verb_stack_wheelhouse_newest(&h, h.wheels[i].name) == &h.wheels[i])
			text_printf(&t, " '%s==%s'", h.wheels[i].name, h.wheels[i].version);
	if (strchr(full, '\''))
		code = complain_text(EXIT_USAGE, "%s: a name with a quote is no place for pip",
				     full);
	else if (!code)
		fprintf(r->out, "%s\n", t.s);
	wheelhouse_close(&h);
	return code;
}

int stack_wheelhouse(struct run *r)
{
	const char *action = r->n_args ? r->args[0] : "", *dir = r->n_args > 1 ? r->args[1] : NULL;
	int n = r->n_args - 2;

	if (!dir)
		return complain_text(EXIT_USAGE,
				     "stack wheelhouse needs an action (create, add, update, "
				     "verify, list, diff, sync, use) and a folder");
	r->args += 2;
	r->n_args = n;
	if (strcmp(action, "create") == 0 && n == 0)
		return create(r, dir);
	if ((strcmp(action, "add") == 0 || strcmp(action, "update") == 0) && n > 0)
		return verb_stack_wheelhouse_add(r, dir, *action == 'u');
	if ((strcmp(action, "verify") == 0 || strcmp(action, "list") == 0) && n == 0)
		return wheelhouse_print(r, dir, *action == 'v');
	if (strcmp(action, "diff") == 0 && n == 1)
		return verb_stack_wheelhouse_diff(r, dir, r->args[0]);
	if (strcmp(action, "sync") == 0 && n == 1)
		return wheelhouse_sync(r, dir, r->args[0]);
	if (strcmp(action, "use") == 0)
		return verb_stack_wheelhouse_use(r, dir);
	return complain_text(EXIT_USAGE,
			     "stack wheelhouse takes: create DIR, add|update DIR WHEEL..., "
			     "verify|list DIR, diff A B, sync DIR HOST:DIR, use DIR [PACKAGE...]");
}
