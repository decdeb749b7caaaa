/* SPDX-License-Identifier: Apache-2.0 */
/* The options and arguments of a verb: the rows of its ask, and those of printing. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "front/session.h"

/* The forms that an answer has, the first by itself. */
static const char *const *answer_forms(struct arena *a, const struct verb *v, size_t *n)
{
	const char **out = arena_array(a, 16, sizeof(*out));

	*n = 0;
	/* A verb without a page may have lines of its own for a terminal. */
	for (const struct verb_format *f = v->formats; f && f->name && !v->page; f++)
		if (strcmp(f->name, "term") == 0)
			out[(*n)++] = f->name;
	if (v->page)
		out[(*n)++] = "term";
	if (v->page || v->result)
		out[(*n)++] = "json";
	if (v->page)
		out[(*n)++] = "md";
	if (v->page)
		out[(*n)++] = "html";
	for (const struct verb_format *f = v->formats; f && f->name && *n < 14; f++)
		if (strcmp(f->name, "term") != 0)
			out[(*n)++] = f->name;
	if (v->result && v->result->list)
		out[(*n)++] = "csv";
	return out;
}

static const char *const *verb_forms(struct arena *a, const struct verb *v, size_t *n)
{
	if (!v->prints_as)
		return answer_forms(a, v, n);
	for (*n = 0; v->prints_as[*n];)
		++*n;
	return v->prints_as;
}

/* The formats of the verb, as help lists them: "term (default), json, md or html". */
static const char *verb_format_help(struct arena *a, const struct verb *v)
{
	TEXT_AUTO t = { 0 };
	size_t n;
	const char *const *forms = verb_forms(a, v, &n);

	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s%s",
			    i == 0	 ? ""
			    : i + 1 == n ? " or "
					 : ", ",
			    forms[i], i == 0 && n > 1 ? " (default)" : "");
	return arena_strdup(a, t.s);
}

struct option_adding {
	struct verb_option *out;
	const struct ask_shape *top;
	size_t n, room;
	struct arena *a;
};

static void add_option(struct option_adding *g, struct verb_option o)
{
	struct verb_option *more;

	if (g->n == g->room) {
		g->room = g->room ? 2 * g->room : 64;
		more = arena_array(g->a, g->room, sizeof(*more));
		if (g->n)
			memcpy(more, g->out, g->n * sizeof(*more));
		g->out = more;
	}
	g->out[g->n++] = o;
}

static bool add_row(void *ctx, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	struct option_adding *g = ctx;

	add_option(g, (struct verb_option){ .row = row,
					    .group = s->group ? s->group : "Options",
					    .help = ask_help(g->top, row),
					    .member = member });
	return true;
}

static int digits_check(const char *arg, struct err *e)
{
	if (!arg[strspn(arg, "0123456789")])
		return 0;
	return err_set(e, -EINVAL, "expected a whole number, got \"%s\"", arg);
}

/* clang-format off */
static const struct {
	unsigned prints; /* of a verb that prints by itself: where it has one of these bits; 0: of all */
	struct ask_row row;
} print_rows[] = {
	{ PRINTS_QUESTION, { "yes", "do not ask", ASK_FLAG(print_ask, yes), .letter = 'y' } },
	{ PRINTS_RESULT_FILE, { "json", "also write the result to this file", ASK_TEXT(print_ask, json),
	  .arg = "FILE", .files = true } },
	{ PRINTS_FORMAT, { "format", NULL, ASK_TEXT(print_ask, format), .letter = 'f', .arg = "FORMAT",
	  .strict = true } },
	{ PRINTS_JSON, { "compact", "JSON on one line, without unknown values and explanations",
	  ASK_FLAG(print_ask, compact) } },
	{ PRINTS_JSON, { "fields", "JSON with only these members: \"exit_code,findings.id\"",
	  ASK_TEXT(print_ask, fields), .arg = "FIELDS" } },
	{ PRINTS_JSON, { "budget", "JSON of at most this many tokens (4 bytes each), most important first",
	  ASK_COUNT(print_ask, budget, 50, 1e6), .arg = "TOKENS" } },
	{ PRINTS_JSON, { "top", "JSON with this many items of each list, most important first",
	  ASK_COUNT(print_ask, top, 1, 1e6), .arg = "N" } },
	{ PRINTS_FILE, { "output", "write to PATH instead of standard output",
	  ASK_TEXT(print_ask, output), .letter = 'o', .arg = "PATH", .files = true } },
	{ PRINTS_QUIET, { "quiet", "print nothing, only set the exit code; --output is written",
	  ASK_FLAG(print_ask, quiet), .letter = 'q' } },
	{ PRINTS_VERBOSE, { "verbose", "show more: reasons, sources, where each value was read",
	  ASK_FLAG(print_ask, verbose), .letter = 'v' } },
	{ PRINTS_PAGE, { "no-color", "no colours (also: NO_COLOR in the environment)",
	  ASK_FLAG(print_ask, no_color) } },
	{ PRINTS_PAGE, { "ascii", "draw tables and trees with ASCII only", ASK_FLAG(print_ask, ascii) } },
	{ PRINTS_PAGE, { "width", "wrap tables to this many columns",
	  ASK_COUNT(print_ask, width, 40, 1000), .arg = "COLUMNS", .check = digits_check } },
	{ 0, { "help", "this help", ASK_FLAG(print_ask, help), .letter = 'h' } },
};
/* clang-format on */

/* A verb that says where something goes has an --output of its own. */
static bool is_other(void *name, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	(void)s;
	(void)member;
	return row->argument || strcmp(row->name, name) != 0;
}

/* Of a prediction --output is a number of tokens. */
static bool is_text(void *name, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	return row->kind == ASK_KIND_TEXT || is_other(name, row, s, member);
}

static void add_print_row(struct option_adding *g, const struct verb *v, struct run *r,
			  const struct ask_row *known)
{
	static const struct ask_row to_file = {
		"output-file", "write to PATH instead", ASK_TEXT(print_ask, output),
		.letter = 'o', .arg = "PATH",		.files = true
	};
	void *name = (void *)(uintptr_t)known->name;
	const struct ask_row *row;
	const char *help;

	if (v->ask && known->letter == 'o' && !ask_for_each(v->ask, NULL, is_text, name))
		known = &to_file;
	else if (v->ask && !ask_for_each(v->ask, NULL, is_other, name))
		return;
	row = known;
	help = known->help;
	if (!help) {
		struct ask_row *format = ARENA_NEW(g->a, struct ask_row);

		*format = *known;
		format->names = verb_forms(g->a, v, &format->n_names);
		format->help = help = verb_format_help(g->a, v);
		row = format;
	}
	add_option(g, (struct verb_option){ .row = row,
					    .group = strcmp(row->name, "yes") == 0 ? "Change"
										   : "Output",
					    .help = v->ask ? ask_help(v->ask, row) : help,
					    .member = r ? (char *)&r->print + row->offset : NULL });
}

/* verb_prints of a verb that answers. */
static unsigned answer_prints(const struct verb *v)
{
	unsigned out = PRINTS_FILE | PRINTS_QUIET;

	if (v->result)
		out |= PRINTS_FORMAT | PRINTS_JSON | PRINTS_VERBOSE | PRINTS_PAGE;
	if (v->changes || v->asks)
		out |= PRINTS_QUESTION;
	return v->keeps_json ? out | PRINTS_RESULT_FILE : out;
}

struct verb_option *verb_options(struct arena *a, const struct verb *v, struct run *r, size_t *n)
{
	struct option_adding g = { .a = a, .top = v->ask };
	unsigned prints = v->prints ? v->prints : v->answer ? answer_prints(v) : 0;

	if (v->ask)
		ask_for_each(v->ask, r ? r->ask : NULL, add_row, &g);
	for (size_t i = 0; i < sizeof(print_rows) / sizeof(print_rows[0]); i++)
		if ((print_rows[i].prints & prints) || !print_rows[i].prints)
			add_print_row(&g, v, r, &print_rows[i].row);
	*n = g.n;
	return g.out;
}
