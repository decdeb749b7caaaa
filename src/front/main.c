/* SPDX-License-Identifier: Apache-2.0 */
/* The program: find the verb, read its options, run it. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "front/verbs/ansible.h"
#include "front/session.h"
#include "front/verbs/fenced.h"
#include "front/verbs/report.h"
#include "verbs/verbs.h"

/* A collector may read the file at any moment: it gets the old one or the new one. */
static FILE *open_partial(struct run *r, const char *path)
{
	const char *name = strrchr(path, '/');
	int dir = name ? (int)(name - path) + 1 : 0, fd;
	FILE *f = NULL;

	r->partial = arena_printf(&r->arena, "%.*s.%s.%ld", dir, path, path + dir, (long)getpid());
	fd = open(r->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	/* Whoever runs the collector has to be able to read it, whatever our umask says. */
	if (fd >= 0 && fchmod(fd, 0644) == 0)
		f = fdopen(fd, "w");
	if (!f) {
		if (fd >= 0) {
			close(fd);
			unlink(r->partial);
		}
		r->partial = NULL;
	}
	return f;
}

static bool wants_whole(const struct run *r, const char *path)
{
	const char *format = r->print.format;
	struct stat st;

	return format && (strcmp(format, "prom") == 0 || strcmp(format, "openmetrics") == 0) &&
	       (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && !run_is_stream(&st)));
}

/* A file that -o names: what was in it stays there until there is something to write. */
struct late {
	int fd;
	bool fresh, said;
};

static ssize_t late_write(void *at, const char *text, size_t n)
{
	struct late *l = at;
	struct stat st;

	if (!l->said && fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(l->fd, 0))
		return 0;
	l->said = true;
	return fd_write_all(l->fd, text, n) ? 0 : (ssize_t)n;
}

static int late_close(void *at)
{
	return close(((struct late *)at)->fd);
}

static FILE *open_late(struct late *l, const char *path)
{
	const cookie_io_functions_t way = { .write = late_write, .close = late_close };
	FILE *f = NULL;

	l->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	l->fresh = l->fd >= 0;
	if (!l->fresh)
		l->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (l->fd >= 0)
		f = fopencookie(l, "w", way);
	if (!f && l->fd >= 0)
		close(l->fd);
	return f;
}

/* Where the result goes, and how wide and coloured it may be. */
static int open_output(struct run *r, struct late *late)
{
	const char *path = run_output(r) != OUTPUT_PRINTED ? NULL : r->print.output;
	struct winsize w;

	r->out = stdout;
	if (path) {
		r->out = wants_whole(r, path) ? open_partial(r, path) : open_late(late, path);
		if (!r->out)
			return complain_text(EXIT_USAGE, "cannot write %s: %s", path,
					     strerror(errno));
	}
	r->tty = !path && isatty(STDOUT_FILENO);
	if (r->tty && r->verb == &report_verb && !r->print.output && !r->print.format)
		r->print.output = report_name(r); /* a terminal shows no HTML */
	if (r->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0)
		r->width = w.ws_col;
	if (r->print.width)
		r->width = r->print.width;
	return 0;
}

/* A run that said nothing leaves the old file as it is. */
static int place_output(struct run *r, int code, bool good)
{
	struct stat st;

	if (good && code != EXIT_USAGE && stat(r->partial, &st) == 0 && st.st_size) {
		if (rename(r->partial, r->print.output) == 0)
			return code;
		code = complain_text(EXIT_BLIND, "cannot write %s: %s", r->print.output,
				     strerror(errno));
	}
	unlink(r->partial);
	return code;
}

/* A full disk shows only now; a result that was not written must not look like one. */
static bool flush_output(struct run *r)
{
	if (!fflush(r->out) && !ferror(r->out))
		return true;
	complain_text(EXIT_BLIND, "cannot write the result%s%s: %s", r->out != stdout ? " to " : "",
		      r->out != stdout ? r->print.output : "", strerror(errno));
	return false;
}

/* What the run, or its reader, wrote goes where it was meant to; code < 0: it could not be
 * written. */
static int close_output(struct run *r, const struct late *late, int code)
{
	struct stat st;
	bool bad = code < 0, said = !late->fresh || fstat(late->fd, &st) || st.st_size,
	     lost = r->partial && fsync(fileno(r->out));

	if (r->out != stdout && (fclose(r->out) || lost) && !bad) {
		complain_text(EXIT_BLIND, "cannot write the result to %s: %s", r->print.output,
			      strerror(errno));
		bad = true;
	}
	if (r->partial)
		code = place_output(r, code, !bad);
	else if (!said)
		unlink(r->print.output);
	return bad ? EXIT_BLIND : code;
}

/* Words for which gputune has no verb. */
static const struct {
	const char *words, *what;
} elsewhere[] = {
	{ "update upgrade", "the package manager that installed gputune updates it; \"gputune "
			    "stack check\" judges drivers and libraries" },
	{ "uninstall remove", "first run \"gputune undo --all\", then use the package manager" },
};

static const struct verb *find_verb(const char *name)
{
	const struct verb *v = verb_find(name);
	ARENA_AUTO a = { 0 };
	struct err e = { 0 };
	const char *meant;

	if (v)
		return v;
	err_set(&e, 0, "unknown verb \"%s\"", name);
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (words_have(elsewhere[i].words, name, strlen(name)))
			err_hint(&e, "%s", elsewhere[i].what);
	if (!e.hint[0] && (meant = verb_meant(&a, verbs, "", name, false)))
		err_hint(&e, "did you mean \"gputune %s\"?", meant);
	if (!e.hint[0])
		err_hint(&e, "\"gputune help all\" lists all verbs");
	complain(EXIT_USAGE, &e);
	return NULL;
}

static void *room(size_t n)
{
	void *p = malloc(n);

	if (!p)
		out_of_memory(n);
	return p;
}

static void too_large(int signal)
{
	(void)signal;
}

/*
 * Where we were started without standard descriptors, the next file would get one of their numbers
 * and a message would land in it. What is put there instead fails when it is used.
 */
static void hold_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			_exit(EXIT_BLIND);
}

/*
 * A JSON object that could not grow would silently lack a key. A file that reaches the user's limit
 * is an error of that write, and no end of the process; a handler, unlike an ignored signal, is not
 * passed on to programs that we run. Who ignores the end of children passes that on to us, and none
 * could be waited for.
 */
static void main_prepare(void)
{
	const struct sigaction limit = { .sa_handler = too_large, .sa_flags = SA_RESTART };

	hold_descriptors();
	signal(SIGCHLD, SIG_DFL);
	json_set_alloc_funcs(room, free);
	sigaction(SIGXFSZ, &limit, NULL);
}

/* The verb, and what it said as it has to be: its code, or one below zero. */
static int run_here(struct run *r)
{
	const struct verb *v = r->verb;
	/* A monitor goes on until it is told to end. */
	int (*goes_on)(struct run * r) = v == &monitor_verb ? verb_monitor : v->run;
	int code = v->serve ? abs(v->serve(&r->door, r->ask, STDIN_FILENO, STDOUT_FILENO))
			    : run_journal_code(r, goes_on ? goes_on(r) : run_answer(r));

	code = r->refused && code < EXIT_NOT_APPLIED ? EXIT_USAGE : code;
	return flush_output(r) ? code : -1;
}

static int main_run_verb(struct run *r, struct late *late)
{
	enum fence fence = fence_of(r);
	int code;

	if (fence == FENCE_APART && fence_divide(r, &code) == FENCED_READER) {
		code = run_here(r);
		return code < 0 ? FENCED_UNWRITTEN : code;
	}
	if (fence == FENCE_HERE)
		fence_here(r);
	return close_output(r, late, fence == FENCE_APART ? code : run_here(r));
}

static int run_whole(struct run *r)
{
	struct late late = { 0 };

	return main_run_verb(r, &late);
}

/* What is told without a run: a text that nobody got is none. */
static int flush_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_CLEAN;
	return complain_text(EXIT_BLIND, "cannot write the text: %s", strerror(errno));
}

/* "gputune" on a terminal, and of a captured machine: "gputune --host X". */
static int card(int argc, char **argv)
{
	struct run r = { .verb = &card_verb, .file = -1 };
	struct late late = { 0 };
	int code;

	run_open_door(&r);
	code = options_parse(&r, argc, argv);
	if (code == 0 && (code = open_output(&r, &late)) == 0)
		code = main_run_verb(&r, &late);
	arena_free(&r.arena);
	return code;
}

/* "gputune help", "gputune help all", "gputune help VERB [SUBVERB]...", "gputune help --format
 * json".
 */
static int help(int n, char **names)
{
	bool json = n == 2 && strcmp(names[1], "json") == 0 &&
		    (strcmp(names[0], "--format") == 0 || strcmp(names[0], "-f") == 0);
	bool all = n == 1 && strcmp(names[0], "all") == 0;
	struct run r = { .verb = n && !all && names[0][0] != '-' ? find_verb(names[0]) : NULL };
	char **words = arena_array(&r.arena, (size_t)n + 2, sizeof(*words));
	int code = 0;

	for (int i = 0; i < n; i++)
		words[i] = names[i];
	words[n] = "--help";
	if (n && names[0][0] == '-')
		code = json ? verbs_map(stdout)
			    : complain_text(EXIT_USAGE, "try gputune help --format json");
	else if (n && !all && !r.verb)
		code = EXIT_USAGE;
	else if (!n || all)
		usage(stdout, all);
	else if (n > 1 && !r.verb->subs)
		code = complain_text(EXIT_USAGE, "help takes no argument \"%s\"", words[1]);
	else if ((code = options_parse(&r, n + 1, words)) == 0)
		verb_usage(stdout, r.verb, r.name);
	arena_free(&r.arena);
	return code ? code : flush_stdout();
}

/* Whether an option of that name takes a value, by the first verb that has it. */
static bool takes_value(const struct verb *const *among, const char *word)
{
	ARENA_AUTO a = { 0 };
	bool takes = false;

	for (; among && *among && !takes; among++) {
		size_t n;
		const struct verb_option *o = verb_options(&a, *among, NULL, &n);

		for (size_t i = 0; i < n && !takes; i++) {
			const struct ask_row *row = o[i].row;

			takes = !row->argument && row->kind != ASK_KIND_FLAG &&
				(word[1] == '-' ? strcmp(row->name, word + 2) == 0
						: word[1] == row->letter && !word[2]);
		}
		takes = takes || takes_value((*among)->subs, word);
	}
	return takes;
}

/* "gputune --host X show": options in front of the verb go behind its words. */
static void verb_first(int argc, char **argv)
{
	int n = 1, end = argc;

	while (n < argc && argv[n][0] == '-' && argv[n][1])
		n += takes_value(verbs, argv[n]) ? 2 : 1;
	for (int i = argc - 1; i > 0; i--)
		end = strcmp(argv[i], "--") == 0 ? i : end;
	if (n >= end)
		return;
	for (int i = 1; i < n; i++) {
		char *word = argv[1];

		memmove(argv + 1, argv + 2, (size_t)(end - 2) * sizeof(*argv));
		argv[end - 1] = word;
	}
}

int main(int argc, char **argv)
{
	struct late late = { 0 };
	struct run r = { .file = -1, .whole = run_whole };
	int code;

	main_prepare();
	if (argc < 2 && !isatty(STDOUT_FILENO)) {
		usage(stderr, false);
		return EXIT_USAGE;
	}
	if (argc < 2)
		return card(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "version") == 0) {
		printf("gputune %s\n", GPUTUNE_VERSION);
		return flush_stdout();
	}
	if (module_call(argc, argv))
		return module_main(argv[1]);
	verb_first(argc, argv);
	if (takes_value((const struct verb *const[]){ &card_verb, NULL }, argv[1]))
		return card(argc, argv);
	r.verb = find_verb(argv[1]);
	if (!r.verb)
		return EXIT_USAGE;
	run_open_door(&r);
	code = options_parse(&r, argc - 1, argv + 1);
	if (code == 0 && r.print.help) {
		verb_usage(stdout, r.verb, r.name);
		code = flush_stdout();
	} else if (code == 0 && (code = open_output(&r, &late)) == 0) {
		code = main_run_verb(&r, &late);
	}
	arena_free(&r.arena);
	return code;
}
