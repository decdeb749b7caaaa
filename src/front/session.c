/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs begin with: the machine that is meant, what it is, the profile; and how they complain.
 */
#include <string.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <errno.h>
#include <limits.h>
#include <time.h>

#include "base/preference.h"
#include "base/shape.h"
#include "base/text.h"
#include "front/session.h"
#include "front/terminal.h"
#include "verbs/ranks.h"
#include "verbs/verbs.h"
#include "front/result_part.h"
#include "machine/write/write.h"
#include "render/display_text.h"
#include "base/json.h"
#include "base/fd.h"
#include "machine/host/asked.h"
#include "render/doc.h"
#include "machine/host/libraries.h"

/* A sentence may hold a name or a text of others: none of it moves the cursor or sets a colour. */
int complain(int code, const struct err *e)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "gputune: ");
	display_clean(&t, e->text, false);
	if (e->hint[0]) {
		text_add(&t, "\n         ");
		display_clean(&t, e->hint, false);
	}
	fprintf(stderr, "%s\n", t.s);
	return code;
}

int complain_text(int code, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return complain(code, &e);
}

/* What the part of the ask that names a machine has; NULL: none of its parts does. */
static const struct machine_ask *machine_asked(const struct run *r)
{
	const struct ask_shape *s = r->verb->ask;

	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].part == &machine_ask_shape)
			return (const void *)((const char *)r->ask + s->rows[i].offset);
	return NULL;
}

const char *run_capture(const struct run *r)
{
	const struct machine_ask *m = machine_asked(r);

	return m ? m->capture : NULL;
}

bool run_overlay(const struct run *r)
{
	const struct machine_ask *m = machine_asked(r);
	ARENA_AUTO a = { 0 };

	return m && door_overlay(&a, m);
}

/* Results on their way out: terminal, Markdown, HTML or JSON. */

/* What is wrong with the file is said by who reads more of it. */
static bool is_preferred(const char *key, const char *value)
{
	struct err ignored = { 0 };
	ARENA_AUTO a = { 0 };
	const char *is = NULL;
	bool same = preference_get(&a, key, &is, &ignored) == 0 && is && strcmp(is, value) == 0;

	return same;
}

static bool wants_colour(const struct run *r)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (is_preferred("color", "never"))
		return false;
	if (r->print.no_color || (no && *no) || !r->tty)
		return false;
	return term && strcmp(term, "dumb") != 0;
}

struct term_style run_style(const struct run *r)
{
	struct term_style how = { .width = r->width, .colour = wants_colour(r) };

	how.ascii = r->print.ascii || is_preferred("ascii", "yes") || !setlocale(LC_CTYPE, "") ||
		    strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	return how;
}

/* term, md or html: code, or EXIT_USAGE after complaining about a format that a document has not.
 */
static int run_print_doc(struct run *r, const struct doc *d, const char *title, int code)
{
	const char *format = r->print.format ? r->print.format : "term";
	struct term_style how;
	struct err e = { 0 };

	if (strcmp(format, "md") == 0) {
		doc_md(r->out, d);
	} else if (strcmp(format, "html") == 0) {
		if (library_open(LIBRARY_SODIUM, &e))
			return complain(EXIT_BLIND, &e);
		doc_html(r->out, d, title);
	} else if (strcmp(format, "term") == 0) {
		how = run_style(r);
		doc_term(r->out, d, &how);
	} else {
		return complain_text(EXIT_USAGE, "%s does not support format %s; it supports %s",
				     r->name, format, run_formats(r));
	}
	return code;
}

bool run_wants_json(const struct run *r)
{
	return r->print.format && strcmp(r->print.format, "json") == 0;
}

/* The results that the verb can have for this question. */
static size_t results_of(struct run *r, const struct result_shape ***out)
{
	const void *answer;
	size_t n = 0;

	*out = arena_array(&r->arena, 2, sizeof(**out));
	if (!r->verb->result)
		return 0;
	answer = verb_answer_new(&r->arena, r->verb);
	(*out)[n++] = r->verb->result;
	(*out)[n] = r->verb->other ? r->verb->other(r->ask, &answer) : NULL;
	return (*out)[n] ? n + 1 : n;
}

int run_check_fields(struct run *r)
{
	const struct result_shape **results;
	struct err e = { 0 };
	size_t n;

	if (!r->print.fields)
		return 0;
	n = results_of(r, &results);
	r->fields_known = n > 0;
	if (n && result_fields_check(&r->arena, results, n, r->print.fields, &e))
		return complain(EXIT_USAGE, &e);
	return 0;
}

static bool find_all(void *ctx, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	(void)s;
	if (row->kind == ASK_KIND_FLAG && strcmp(row->name, "all") == 0)
		*(bool *)ctx = *(bool *)member;
	return true;
}

/* --all was given. */
static bool wants_all(const struct run *r)
{
	bool all = false;

	if (r->verb->ask)
		ask_for_each(r->verb->ask, r->ask, find_all, &all);
	return all;
}

bool run_is_stream(const struct stat *st)
{
	struct stat own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	return false;
}

int run_add_json(struct run *r, json_t *j, bool line, struct text *out)
{
	json_t *said = json_object_get(j, "exit_code");
	const char *fields = r->print.fields;
	bool all = wants_all(r);
	struct err e = { 0 };

	if (json_is_integer(said))
		json_integer_set(said, run_journal_code(r, (int)json_integer_value(said)));
	if (fields && !r->fields_known && result_fields_in(&r->arena, j, fields, &e)) {
		r->refused = true;
		json_decref(j);
		return complain(EXIT_USAGE, &e);
	}
	if (r->print.compact && !all)
		result_drop_right(j);
	if (fields)
		result_keep(&r->arena, j, fields);
	if (r->print.compact)
		result_compact(&r->arena, j, all || fields);
	if (r->print.budget || r->print.top) {
		json_auto_t *whole = j;

		j = result_bounded(whole, (struct result_bound){ .top = r->print.top,
								 .tokens = r->print.budget });
	}
	json_add(out, j,
		 (line || r->print.compact || r->print.budget ? JSON_COMPACT : JSON_INDENT(2)) |
			 (r->print.budget ? JSON_REAL_PRECISION(RESULT_DIGITS) : 0));
	text_add(out, "\n");
	json_decref(j);
	return 0;
}

/* Takes the reference, and returns code. */
static int run_print_json(struct run *r, json_t *j, int code)
{
	TEXT_AUTO t = { 0 };
	int bad = run_add_json(r, j, false, &t);

	if (t.len)
		fwrite(t.s, 1, t.len, r->out);
	return bad ? bad : code;
}

const char *run_formats(struct run *r)
{
	size_t n;
	const struct verb_option *o = verb_options(&r->arena, r->verb, NULL, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(o[i].row->name, "format") == 0)
			return o[i].help;
	return "no other";
}

static struct host *door_live(void *ctx)
{
	return run_live(ctx);
}

/* A new line is written over the one that stands there, and nothing else below it. */
static void run_progress(void *ctx, const char *line)
{
	struct run *r = ctx;

	if (r->lines && line)
		fprintf(stderr, "%s\n", line);
	else if (line || r->drawn)
		fprintf(stderr, "\r\033[K%s", line ? line : "");
	fflush(stderr);
	r->drawn = line && !r->lines;
}

static void run_note(void *ctx, const char *line)
{
	const struct run *r = ctx;
	FILE *to = r->verb->result ? stderr : r->out;

	fprintf(to, "%s\n", line);
	fflush(to);
}

static void door_complain(void *ctx, int code, const struct err *e)
{
	run_progress(ctx, NULL);
	complain(code, e);
}

/* Prints what is shown, and asks on the terminal: 0, or below 0 an exit code after complaining.
 * With
 * --yes nobody is asked. */
static int run_agree(struct run *r, const struct doc *shown, const char *question)
{
	char line[16];

	if (shown && !r->print.quiet && !run_wants_json(r))
		run_print_doc(r, shown, arena_printf(&r->arena, "gputune %s", r->name), EXIT_CLEAN);
	if (r->print.yes)
		return 0;
	if (!isatty(STDIN_FILENO))
		return -complain_text(EXIT_USAGE,
				      "cannot prompt here: give --yes, or --dry-run to preview");
	fflush(r->out);
	fprintf(stderr, "%s [y/N] ", question);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y')
		       ? 0
		       : -EXIT_NOT_APPLIED;
}

/* The first time it begins to take signals; what they would have done is asked for from then on. */
static int session_wait(void *ctx, long long end_ms)
{
	struct run *r = ctx;
	enum wake k;

	if (!r->waiter) {
		r->waiter = ARENA_NEW(&r->arena, struct waiter);
		if (!waiter_open(r->waiter, false))
			return -complain_text(EXIT_BLIND, "cannot create a descriptor for signals");
	}
	while ((k = waiter_until(r->waiter, end_ms)) != WAKE_TIME)
		if (k == WAKE_STOP)
			return 1;
	return 0;
}

static int door_agree(void *ctx, const struct doc *shown, const char *question)
{
	run_progress(ctx, NULL);
	return run_agree(ctx, shown, question);
}

void run_open_door(struct run *r)
{
	r->door.arena = &r->arena;
	r->door.live = door_live;
	r->door.say = door_complain;
	r->door.agree = door_agree;
	r->door.wait = session_wait;
	r->door.ctx = r;
}

/* The answer becomes a document, not its JSON or a form of the verb's own. */
static bool prints_page(const struct run *r)
{
	return r->verb->page && (!r->print.format || words_have("term md html", r->print.format,
								strlen(r->print.format)));
}

static int print_list(struct run *r, const void *answer, int code)
{
	TEXT_AUTO t = { 0 };

	if (!verb_answer_csv(&t, r->verb, r->ask, answer))
		return complain_text(EXIT_USAGE, "csv requires a list; this result is not a list");
	fputs(t.s, r->out);
	return code;
}

static int print_answer(struct run *r, const void *answer, int code)
{
	const char *format = r->print.format ? r->print.format : "term";
	const struct verb *v = r->verb;
	const struct verb_format *drawing = v->drawing ? v->drawing(r->ask) : NULL;
	const struct page_view view = { .verbose = r->print.verbose,
					.width = r->width,
					.html = strcmp(format, "html") == 0 };

	if (drawing && run_wants_json(r))
		return complain_text(
			EXIT_USAGE,
			"--as draws a picture, --format json does not: give only one of them");
	if (drawing)
		return drawing->write(r->out, r->ask, answer, code);
	for (const struct verb_format *f = v->formats; f && f->name; f++)
		if (strcmp(f->name, format) == 0)
			return f->write(r->out, r->ask, answer, code);
	if (strcmp(format, "csv") == 0)
		return print_list(r, answer, code);
	if (!prints_page(r))
		return run_print_json(
			r, verb_answer_json(v, r->ask, answer, (long long)time(NULL), code), code);
	return run_print_doc(r, v->page(&r->arena, r->ask, answer, &view),
			     arena_printf(&r->arena, "gputune %s", r->name), code);
}

static int check_result_file(const struct run *r)
{
	const char *path = r->print.json;
	FILE *f = path ? fopen(path, "re") : NULL;
	char head[256], schema[64];
	size_t n;

	if (!f)
		return 0;
	n = fread(head, 1, sizeof(head) - 1, f);
	head[n] = '\0';
	fclose(f);
	snprintf(schema, sizeof(schema), "\"gputune.%s/1\"", r->verb->result->name);
	if (n && !strstr(head, schema))
		return complain_text(
			EXIT_USAGE,
			"%s exists and is not a result of gputune %s; it was left unchanged", path,
			r->name);
	return 0;
}

/* --json: the answer, not another one in its place (a plan). The exit code. */
static int write_result_file(struct run *r, const void *answer, int code)
{
	const char *path = r->print.json;
	HOST_AUTO *h = run_live(r);
	char here[PATH_MAX];
	TEXT_AUTO t = { 0 };
	json_t *j = verb_answer_json(r->verb, r->ask, answer, (long long)time(NULL), code);
	int why = json_add(&t, j, JSON_INDENT(2)) ? -ENOMEM : 0;

	json_decref(j);
	text_add(&t, "\n");
	if (path[0] != '/' && getcwd(here, sizeof(here)))
		path = arena_printf(&r->arena, "%s/%s", here, path);
	why = why ? why : host_put(h, path, t.s, t.len, 0644);
	return why ? complain_text(EXIT_BLIND, "cannot write %s: %s", path, strerror(-why)) : code;
}

enum verb_output run_output(const struct run *r)
{
	return r->verb->makes && r->verb->makes(r->ask) ? OUTPUT_MADE : r->verb->output;
}

int run_write_new(struct run *r, const char *text, size_t len)
{
	const char *path = r->print.output;
	int fd, why;

	if (r->file >= 0)
		return run_hand_over(r, text, len);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return complain_text(EXIT_USAGE, "cannot write %s: %s", path, strerror(errno));
	why = fd_write_all(fd, text, len);
	if (why == 0 && fsync(fd) < 0)
		why = -errno;
	if (close(fd) < 0 && why == 0)
		why = -errno;
	if (why == 0)
		return 0;
	unlink(path);
	return complain_text(EXIT_BLIND, "cannot write %s: %s", path, strerror(-why));
}

/* The file of -o that the verb makes: 0, or an exit code after complaining. */
static int check_new_file(struct run *r)
{
	struct stat st;

	r->door.to_file = r->print.json || r->print.output;
	r->door.file = r->verb->makes && r->verb->makes(r->ask) ? r->print.output : NULL;
	return r->door.file && lstat(r->door.file, &st) == 0
		       ? complain_text(EXIT_USAGE, "%s already exists: only a new file is written",
				       r->door.file)
		       : 0;
}

static int write_made_file(struct run *r, const void *answer)
{
	size_t len;
	const char *text = r->door.file ? r->verb->made(answer, &len) : NULL;

	return text ? run_write_new(r, text, len) : 0;
}

int run_answer(struct run *r)
{
	void *answer = verb_answer_new(&r->arena, r->verb);
	const void *other = answer;
	struct fleet *all;
	/* A file that --output names is written by --quiet too. */
	bool heard = !r->print.quiet, printed = heard || r->print.output;
	int code = check_result_file(r), failed;

	code = code ? code : check_new_file(r);
	if (code)
		return code;
	r->door.agreed = r->print.yes;
	r->door.attended = !r->print.yes && isatty(STDIN_FILENO);
	r->door.verbose = r->print.verbose;
	r->door.launched = true;
	r->door.page = printed && prints_page(r);
	r->door.note = heard ? run_note : NULL;
	r->door.progress = heard && (r->lines || isatty(STDERR_FILENO)) ? run_progress : NULL;
	code = verb_answer_by_ranks(&r->door, r->verb, r->ask, answer, &all);
	run_progress(r, NULL);
	if (r->waiter)
		waiter_close(r->waiter);
	if (code < 0)
		return code == ANSWERED_ELSEWHERE ? EXIT_CLEAN : -code;
	if (all && r->print.format &&
	    !words_have("term md html json csv", r->print.format, strlen(r->print.format)))
		return complain_text(EXIT_USAGE, "format %s is for one machine; add --ranks 1",
				     r->print.format);
	if (all) {
		r->verb = &fleet_verb;
		r->ask = arena_alloc(&r->arena, r->verb->ask->size);
		answer = all;
	}
	if ((failed = write_made_file(r, answer)) != 0)
		return failed;
	if (r->print.json && !(r->verb->other && r->verb->other(r->ask, &other)))
		code = write_result_file(r, answer, code);
	return printed ? print_answer(r, answer, code) : code;
}

int run_journal_code(const struct run *r, int code)
{
	return door_exit_code(&r->door, code);
}

struct host *run_live(const struct run *r)
{
	const struct run_machine *m = r->machine;

	return m ? host_open_asked(&m->id, m->requests, m->answers) : host_open_live();
}

int run_hand_over(struct run *r, const char *text, size_t len)
{
	int why = -fd_write_all(r->file, text, len);

	return why ? complain_text(EXIT_BLIND, "cannot write %s: %s", r->print.output,
				   strerror(why))
		   : 0;
}
