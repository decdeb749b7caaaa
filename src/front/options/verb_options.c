/* SPDX-License-Identifier: Apache-2.0 */
/* The options and arguments of a verb as rows, whoever describes them: its ask, or the tables here.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "front/session.h"
#include "measure/doctor/doctor.h"
#include "verbs/benches.h"

/* The words that options and arguments can be. */

static const char *const formats[] = { "term",	  "json",	 "md",	  "html",   "junit",
				       "prom",	  "openmetrics", "shell", "nagios", "npd",
				       "systemd", "compose",	 "svg",	  "csv",    NULL };
static const char *const profiles[] = { "default",  "published", "max-performance", "low-latency",
					"balanced", "inference", "training",	    NULL };

const char *const *words_of(enum word_kind k)
{
	switch (k) {
	case WORD_FORMAT:
		return formats;
	case WORD_PROFILE:
		return profiles;
	default:
		return NULL;
	}
}

/* One option means several things: here is which one to whom. */
static const struct {
	const char *verb;
	enum option_id option;
	const char *help;
} said[] = {
	{ "monitor", OPT_FORMAT,
	  "term, json (default in a pipe) or, with --once, prom or openmetrics" },
	{ "watch", OPT_FORMAT, "term (default) or json" },
	{ "report", OPT_FORMAT, "html (default), md, term or json" },
	{ "record", OPT_OUTPUT, "the recording's file (default: gputune-TIME.rec)" },
};

static const char *option_help(const struct verb *v, enum option_id id)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (said[i].option == id && strcmp(said[i].verb, v->name) == 0)
			return said[i].help;
	return option_rows[id].help;
}

/* --- as rows of an ask ------------------------------------------------------------------------ */

static int number_check(const char *arg, struct err *e)
{
	const char *end;
	double v;

	if (isdigit((unsigned char)arg[*arg == '.']) && parse_decimal(arg, &v, &end) == 0)
		return 0;
	return err_set(e, -EINVAL, "takes a number, not \"%s\"", arg);
}

static int count_check(const char *arg, struct err *e)
{
	unsigned long long v;

	if (!arg[strspn(arg, "0123456789")] && parse_u64(arg, &v) == 0)
		return 0;
	return err_set(e, -EINVAL, "takes a whole number, not \"%s\"", arg);
}

static int time_check(const char *arg, struct err *e)
{
	double v;

	if (isdigit((unsigned char)arg[*arg == '.']) && parse_seconds(arg, &v) == 0)
		return 0;
	return err_set(e, -EINVAL, "takes a time like 10s, 500ms or 2m, up to 24h, not \"%s\"",
		       arg);
}

/* From a script whose variable is not set: to take it for "all" would change or undo something
 * else. */
static int only_check(const char *arg, struct err *e)
{
	if (arg[strspn(arg, ", \t")])
		return 0;
	return err_set(e, -EINVAL, "needs ids, and \"%s\" names none", arg);
}

/* Whether a help text has the word. */
static bool help_mentions(const char *help, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = help; (at = strstr(at, word)) != NULL; at += n)
		if ((at == help || !isalpha((unsigned char)at[-1])) &&
		    !isalpha((unsigned char)at[n]))
			return true;
	return false;
}

/* Formats are those that the help tells. */
static void propose(struct arena *a, struct ask_row *row, enum word_kind k)
{
	const char *const *w = words_of(k);
	const char **names;
	size_t n = 0;

	row->proposal = k == WORD_ID ? setting_proposal : NULL;
	row->files = k == WORD_FILE || k == WORD_PROFILE;
	row->strict = k == WORD_FORMAT;
	while (w && w[n])
		n++;
	names = arena_array(a, n + 1, sizeof(*names));
	row->names = names;
	for (; w && *w; w++)
		if (k != WORD_FORMAT || !row->help || help_mentions(row->help, *w))
			names[row->n_names++] = *w;
}

static struct ask_row *legacy_row(struct arena *a, const struct verb *v, enum option_id id)
{
	const struct option_row *o = &option_rows[id];
	struct ask_row *row = ARENA_NEW(a, struct ask_row);

	*row = (struct ask_row){ .name = o->name,
				 .help = option_help(v, id),
				 .kind = o->arg == WORD_NONE ? ASK_KIND_FLAG : ASK_KIND_TEXT,
				 .letter = o->letter,
				 .arg = o->arg_name };
	row->may_be_empty = id == OPT_ONLY || id == OPT_SKIP || id == OPT_ALLOW || id == OPT_REASON;
	if (id == OPT_ONLY || id == OPT_SKIP || id == OPT_ALLOW)
		row->join = ',';
	row->check = o->arg == WORD_NUMBER  ? number_check
		     : o->arg == WORD_COUNT ? count_check
		     : o->arg == WORD_TIME  ? time_check
		     : id == OPT_ONLY	    ? only_check
		     : id == OPT_GPUS	    ? gpus_check
					    : NULL;
	if (id == OPT_FORMAT && !v->legacy && !v->prints)
		row->help = verb_format_help(a, v);
	propose(a, row, o->arg);
	return row;
}

/* The first argument of a verb without an ask; NULL: it takes none. */
static struct ask_row *legacy_argument(struct arena *a, const struct verb_legacy *l)
{
	struct ask_row *row = ARENA_NEW(a, struct ask_row);

	*row = (struct ask_row){ .name = l->args,
				 .kind = l->max_args > 1 ? ASK_KIND_TEXTS : ASK_KIND_TEXT,
				 .argument = true,
				 .required = l->min_args > 0 };
	propose(a, row, l->word);
	row->strict = false;
	return *l->args ? row : NULL;
}

const char *verb_format_help(struct arena *a, const struct verb *v)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, v->page ? "term (default), json, md" : v->result ? "json" : "");
	if (v->answer && v->result && v->result->list)
		text_add(&t, ", csv");
	for (const struct verb_format *f = v->formats; f && f->name; f++)
		text_printf(&t, "%s%s%s", t.len ? ", " : "", f->name,
			    strcmp(f->name, "term") ? "" : " (default)");
	if (v->page)
		text_add(&t, " or html");
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

/* What the front reads for verbs with an ask: of one that prints by itself what it asks for. */
static const struct {
	enum option_id id;
	unsigned prints;
} of_all[] = {
	{ OPT_YES, PRINTS_QUESTION },  { OPT_JSON, PRINTS_RESULT_FILE },
	{ OPT_FORMAT, PRINTS_FORMAT }, { OPT_COMPACT, PRINTS_JSON },
	{ OPT_FIELDS, PRINTS_JSON },   { OPT_OUTPUT, PRINTS_FILE },
	{ OPT_QUIET, PRINTS_QUIET },   { OPT_VERBOSE, PRINTS_VERBOSE },
	{ OPT_NO_COLOR, PRINTS_PAGE }, { OPT_ASCII, PRINTS_PAGE },
	{ OPT_WIDTH, PRINTS_PAGE },    { OPT_HELP, 0 },
};

/* A verb that says where something goes has an --output of its own. */
static bool is_other(void *name, const struct ask_row *row, const struct ask_shape *s, void *member)
{
	(void)s;
	(void)member;
	return row->argument || strcmp(row->name, name) != 0;
}

static void add_front_option(struct option_adding *g, const struct verb *v, struct run *r,
			     enum option_id id)
{
	const struct ask_row *row = legacy_row(g->a, v, id);

	if (v->ask && !ask_for_each(v->ask, NULL, is_other, (void *)(uintptr_t)row->name))
		return;
	add_option(g, (struct verb_option){ .row = row,
					    .group = v->legacy	     ? "Options"
						     : id == OPT_YES ? "Change"
								     : "Output",
					    .help = row->help,
					    .member = r ? &r->value[id] : NULL,
					    .mark = row->kind == ASK_KIND_FLAG });
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
	struct ask_row *argument = v->legacy ? legacy_argument(a, v->legacy) : NULL;
	unsigned prints = v->prints ? v->prints : v->answer ? answer_prints(v) : 0;

	if (argument)
		add_option(&g, (struct verb_option){ .row = argument });
	if (v->ask)
		ask_for_each(v->ask, r ? r->ask : NULL, add_row, &g);
	for (size_t i = 0; v->legacy && i < v->legacy->n_options; i++)
		add_front_option(&g, v, r, v->legacy->options[i]);
	for (size_t i = 0; !v->legacy && i < sizeof(of_all) / sizeof(of_all[0]); i++)
		if ((of_all[i].prints & prints) || of_all[i].id == OPT_HELP)
			add_front_option(&g, v, r, of_all[i].id);
	*n = g.n;
	return g.out;
}
