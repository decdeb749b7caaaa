/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by the tables of verbs.c. */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "front/session.h"

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

/* --- one command line ------------------------------------------------------------------------- */

struct parsing {
	struct run *r;
	struct verb_option *options;
	size_t n;
};

static struct verb_option *option_named(struct parsing *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->options[i].row->name, name) == 0)
			return &g->options[i];
	return NULL;
}

static int take_option(struct parsing *g, struct verb_option *o, const char *text)
{
	struct verb_option *host = option_named(g, "host");
	struct err e = { 0 };

	/* A demo is a captured machine, not the name of a machine type: --host, not --on. */
	if (strcmp(o->row->name, "on") == 0 && str_starts(text, "demo:") && host)
		o = host;
	if (ask_take(&g->r->arena, o->row, o->member, text, o->given, &e))
		return complain(EXIT_USAGE, &e);
	o->given = true;
	return 0;
}

/* The option that a word is a value of, though its name was left out: "undo nic.mtu" is --only,
 * "show demo:dgx-spark" --host. NULL: none. */
static struct verb_option *option_meant(const struct parsing *g, const char *word)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct ask_row *row = g->options[i].row;
		const char *known;

		if (row->argument || (g->options[i].given && !row->join))
			continue;
		if ((row->meant && row->meant(word)) ||
		    (row->kind != ASK_KIND_FLAG && strcmp(row->name, word) == 0))
			return &g->options[i];
		for (size_t k = 0; row->proposal && (known = row->proposal(k)); k++)
			if (str_same_word(known, word))
				return &g->options[i];
	}
	return NULL;
}

static const char *listed_hint(struct arena *a, const struct ask_row *row)
{
	return row->listed ? arena_printf(a, "; \"gputune list %s\" lists all %s", row->listed,
					  row->listed)
			   : "";
}

/* What a word is that the verb does not take, as a hint: an option's name, a demonstration machine,
 * a part of names that an option takes, or the file of -o. "": nothing of that. */
static const char *argument_meant(struct arena *a, const struct verb_option *o, size_t n,
				  const char *word)
{
	enum { SHOWN = 4 };
	const char *name, *tar;
	bool writes = false, on = false;

	for (size_t i = 0; i < n; i++)
		if (o[i].row->kind == ASK_KIND_FLAG && strcmp(o[i].row->name, word) == 0)
			return arena_printf(a, "; did you mean \"--%s\"?", word);
	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;
		TEXT_AUTO all = { 0 };
		size_t found = 0;

		if (row->argument)
			continue;
		if (str_starts(word, "demo:") &&
		    (!strcmp(row->name, "host") || !strcmp(row->name, "from")))
			return arena_printf(a, "; did you mean \"--%s %s\"?", row->name, word);
		for (size_t k = 0; strlen(word) > 2 && (name = ask_proposed(row, k)); k++)
			if (strcasestr(name, word) && ++found <= SHOWN)
				text_printf(&all, "%s%s", found > 1 ? ", " : "", name);
		if (found)
			return arena_printf(a, "; did you mean --%s %s%s?%s", row->name, all.s,
					    found > SHOWN ? ", ..." : "", listed_hint(a, row));
		writes = writes || row->letter == 'o';
		on = on || strcmp(row->name, "on") == 0;
	}
	tar = strstr(word, ".tar");
	if (writes && (tar || str_ends(word, ".html")))
		return arena_printf(a, "; did you mean \"-o %.*s\"?",
				    tar ? (int)(tar - word) + 4 : (int)strlen(word), word);
	if (host_is_demo(word))
		return arena_printf(a,
				    on ? "; did you mean \"--on %s\"?"
				       : "; did you mean \"gputune check --host demo:%s\"?",
				    word);
	return "";
}

/* A word is the argument's, unless it cannot be and an option knows it. */
static int take_argument(struct parsing *g, const struct verb_option *o, const char *word,
			 bool again, bool *taken)
{
	const struct ask_row *row = o->row;
	bool lacks = row->files && row->kind == ASK_KIND_TEXT && access(word, F_OK) != 0,
	     demo = str_starts(word, "demo:") && !row->files;
	struct verb_option *meant = lacks || demo ? option_meant(g, word) : NULL;
	const char *hint;
	struct err e = { 0 };

	*taken = !meant;
	if (!meant && ask_take(&g->r->arena, row, o->member, word, again, &e) == 0)
		return 0;
	*taken = false;
	meant = meant ? meant : option_meant(g, word);
	if (meant)
		return take_option(g, meant, word);
	hint = argument_meant(&g->r->arena, g->options, g->n, word);
	if (*hint)
		err_hint(&e, "%s", hint + 2);
	return complain(EXIT_USAGE, &e);
}

/* The words in front of "--", then those behind it, in the order of the rows. */
static int take_arguments(struct parsing *g)
{
	struct run *r = g->r;
	bool apart = false;
	const char *word;
	int at = 0, behind, code = 0;

	for (size_t i = 0; i < g->n; i++)
		apart = apart || g->options[i].row->behind;
	/* Otherwise "--" ends the options, and no more. */
	r->n_before = apart ? r->n_before : r->n_args;
	behind = r->n_before;
	for (size_t i = 0; i < g->n; i++) {
		const struct ask_row *row = g->options[i].row;
		int *next = row->behind ? &behind : &at,
		    end = row->behind ? r->n_args : r->n_before;
		bool again = false;

		if (!row->argument)
			continue;
		if (row->required && *next >= end)
			return complain_text(
				EXIT_USAGE, "%s requires %s%s; see \"gputune %s --help\"%s",
				r->name, row->name,
				r->verb->examples
					? arena_printf(
						  &r->arena, ", as in \"%s\"",
						  verb_example_line(&r->arena, r->verb->examples))
					: "",
				r->name, listed_hint(&r->arena, row));
		while (!code && *next < end &&
		       (!again || row->join || row->kind == ASK_KIND_TEXTS)) {
			bool taken;

			code = take_argument(g, &g->options[i], r->args[(*next)++], again, &taken);
			again = again || taken;
		}
	}
	for (; !code && at < r->n_before; at++) {
		struct verb_option *meant = option_meant(g, r->args[at]);

		if (!meant)
			break;
		/* "on" of "predict llama-3.1-8b on dgx-spark": without its dashes. */
		at += strcmp(meant->row->name, r->args[at]) == 0 && at + 1 < r->n_before;
		code = take_option(g, meant, r->args[at]);
	}
	if (code || (at == r->n_before && behind == r->n_args))
		return code;
	word = r->args[at < r->n_before ? at : behind];
	return complain_text(EXIT_USAGE, "%s takes no argument \"%s\"%s", r->name, word,
			     argument_meant(&r->arena, g->options, g->n, word));
}

/* "--batch" of "users", one of its words; "--format json" of "json", one of its values. */
static const char *option_called(struct arena *a, const struct ask_row *row, const char *word)
{
	const char *value;

	for (const char *w = row->words; w && *w; w += strcspn(w, " "), w += strspn(w, " "))
		if (strcspn(w, " ") == strlen(word) && str_starts(w, word))
			return arena_printf(a, "--%s", row->name);
	for (size_t k = 0; row->name && (value = ask_proposed(row, k)); k++)
		if (strcmp(value, word) == 0)
			return arena_printf(a, "--%s %s", row->name, value);
	return NULL;
}

/* The verb's options whose names begin as a word of the command line does, or the one that looks
 * most like it: "--force or --format"; NULL: none does. */
static const char *near_option(const struct parsing *g, const char *word)
{
	size_t n = strcspn(word, "=");
	struct arena *a = &g->r->arena;
	struct near_word near = near_word_to(arena_strndup(a, word, n));
	const char *meant = NULL;
	TEXT_AUTO begun = { 0 };

	for (size_t i = 0; i < g->n; i++) {
		const char *own = g->options[i].row->name;

		if (g->options[i].row->argument)
			continue;
		if (n && strncmp(own, word, n) == 0)
			text_printf(&begun, "%s--%s", begun.len ? " or " : "", own);
		near_word_try(&near, own, own);
		meant = meant ? meant : option_called(a, g->options[i].row, near.asked);
	}
	if (meant || begun.len)
		return meant ? meant : arena_strdup(a, begun.s);
	meant = n > 2 && !word[n] ? verb_meant(a, verbs, "", near.asked, true) : NULL;
	return meant	   ? arena_printf(a, "\"gputune %s\"", meant)
	       : near.word ? arena_printf(a, "--%s", near.word)
			   : NULL;
}

/* What getopt_long refused, or took for another; word is the one that it looked at last. */
static int no_option(const struct parsing *g, const char *word, int why)
{
	const char *name = g->r->name, *near;

	if (why >= 256)
		return complain_text(EXIT_USAGE, "--%s takes no value: %s",
				     g->options[why - 256].row->name, word);
	/* Of several letters behind one sign the word may not be over. */
	if (why)
		return complain_text(EXIT_USAGE, "%s takes no option -%c", name, why);
	if (strcmp(word, "--host") == 0 || str_starts(word, "--host="))
		return complain_text(EXIT_USAGE,
				     "%s takes no option --host: it works on this machine only",
				     name);
	near = near_option(g, word + 2);
	if (near)
		return complain_text(EXIT_USAGE, "%s takes no option %s; did you mean %s?", name,
				     word, near);
	return complain_text(EXIT_USAGE, "%s takes no option %s; see \"gputune %s --help\"", name,
			     word, name);
}

/*
 * getopt_long takes the beginning of a name for the name. --fo for --force is what nobody meant,
 * and what is one option's beginning today is two options' tomorrow: a name is written in full.
 */
static bool is_shortened(const struct parsing *g, int option, const char *word)
{
	return option >= 256 && str_starts(word, "--") &&
	       strcspn(word + 2, "=") != strlen(g->options[option - 256].row->name);
}

/* "-o -" is what goes nowhere else: no file of that name. */
static int check_output(struct run *r)
{
	const char *path = r->print.output, *end = path ? strrchr(path, '.') : NULL;
	const struct verb_format *drawing = r->verb->drawing ? r->verb->drawing(r->ask) : NULL;

	/* "-o x.json" is a file to be read again, whatever a terminal would show. */
	if (end && !(drawing && strcmp(drawing->name, end + 1) == 0) && !r->print.format &&
	    run_output(r) != OUTPUT_MADE &&
	    words_have("json md html csv svg pdf png xml yaml yml", end + 1, strlen(end + 1))) {
		if (!strstr(run_formats(r), end + 1))
			return complain_text(EXIT_USAGE, "cannot write %s: %s only writes %s", path,
					     r->name, run_formats(r));
		r->print.format = end + 1;
	}
	if (!path || strcmp(path, "-") != 0)
		return 0;
	if (run_output(r) == OUTPUT_MADE)
		return complain_text(EXIT_USAGE, "--output: expected a file, not \"-\"");
	r->print.output = NULL;
	return 0;
}

/* --compact, --fields, --budget and --top are of JSON, and ask for it. */
static int check_json_only(struct run *r)
{
	const char *given = r->print.compact  ? "compact"
			    : r->print.fields ? "fields"
			    : r->print.budget ? "budget"
			    : r->print.top    ? "top"
					      : NULL;

	if (!given)
		return 0;
	if (!r->print.format)
		r->print.format = "json";
	if (!run_wants_json(r))
		return complain_text(EXIT_USAGE, "--%s requires --format json, not %s", given,
				     r->print.format);
	return run_check_fields(r);
}

/* What getopt_long is told. shorts has room for two characters an option, and three. */
static void getopt_tables(const struct parsing *g, struct option *longs, char *shorts)
{
	size_t n = 0, k = 0;

	shorts[k++] = '-'; /* arguments and options in any order */
	shorts[k++] = ':';
	for (size_t i = 0; i < g->n; i++) {
		const struct ask_row *row = g->options[i].row;
		bool flag = row->kind == ASK_KIND_FLAG;

		if (row->argument)
			continue;
		longs[n++] = (struct option){ row->name, flag ? no_argument : required_argument,
					      NULL, 256 + (int)i };
		if (row->letter) {
			shorts[k++] = row->letter;
			if (!flag)
				shorts[k++] = ':';
		}
	}
	shorts[k] = '\0';
}

/* --budget was the name of --time-limit: a value with a unit of time still means that. */
static bool is_old_time_limit(const struct ask_row *row, const char *value)
{
	double s;

	return strcmp(row->name, "budget") == 0 && value && value[strspn(value, "0123456789")] &&
	       parse_seconds(value, &s) == 0;
}

static struct verb_option *option_of(struct parsing *g, int c, const char *value)
{
	struct verb_option *limit = option_named(g, "time-limit");

	for (size_t i = 0; i < g->n; i++) {
		const struct ask_row *row = g->options[i].row;

		if (c == 256 + (int)i || (!row->argument && c == row->letter))
			return limit && is_old_time_limit(row, value) ? limit : &g->options[i];
	}
	return NULL;
}

static int take_words(struct parsing *g, int argc, char **argv)
{
	struct arena *a = &g->r->arena;
	struct option *longs = arena_array(a, g->n + 1, sizeof(*longs));
	char *shorts = arena_alloc(a, 2 * g->n + 3);
	struct run *r = g->r;
	int c, at, code;

	getopt_tables(g, longs, shorts);
	optind = 1;
	opterr = 0;
	while ((at = optind, c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		bool refused = c == '?' || c == ':';

		if (c != 1 && is_shortened(g, refused ? optopt : c, argv[at]))
			return no_option(g, argv[at], 0);
		if (c == 1) {
			r->args[r->n_args++] = optarg;
			continue;
		}
		if (c == ':')
			return complain_text(EXIT_USAGE, "%s requires a value", argv[optind - 1]);
		if (c == '?')
			return no_option(g, argv[optind - 1], optopt);
		code = take_option(g, option_of(g, c, optarg), optarg);
		if (code)
			return code;
	}
	return 0;
}

/* verb->subs: the sub-verb that the next word names; NULL after complaining. */
static const struct verb *find_sub(struct run *r, const char *word)
{
	const struct verb_option *o;
	const char *meant = NULL, *hint = "";
	TEXT_AUTO all = { 0 };
	size_t n = 0;

	for (size_t i = 0; r->verb->subs[i]; i++) {
		if (word && strcmp(r->verb->subs[i]->name, word) == 0)
			return r->verb->subs[i];
		text_printf(&all, "%s%s", i ? ", " : "", r->verb->subs[i]->name);
	}
	for (size_t i = 0; word && r->verb->programs && r->verb->programs[i]; i++)
		if (strcmp(r->verb->programs[i]->name, word) == 0)
			return r->verb->programs[i];
	if (r->verb->answer || r->verb->run)
		return r->verb;
	if (word && *word != '-')
		meant = verb_meant(&r->arena, r->verb->subs, r->name, word, false);
	/* No sub-verb is named, or an option of the usual one: "predict llama-3.1-8b". */
	if (r->verb->usual && (!word || *word == '-' || (meant && strstr(meant, " --"))))
		return r->verb->usual;
	/* "predict llama": a part of a name that the usual one takes. */
	o = r->verb->usual ? verb_options(&r->arena, r->verb->usual, NULL, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		hint = o[i].row->listed ? listed_hint(&r->arena, o[i].row) : hint;
	if (n && word && *argument_meant(&r->arena, o, n, word))
		hint = argument_meant(&r->arena, o, n, word);
	if (!word || *word == '-')
		complain_text(EXIT_USAGE, "%s requires one of %s; see \"gputune %s --help\"",
			      r->name, all.s, r->name);
	else
		complain_text(EXIT_USAGE, "%s takes %s, not \"%s\"%s", r->name, all.s, word,
			      meant ? arena_printf(&r->arena, "; did you mean \"%s\"?", meant)
				    : hint);
	return NULL;
}

static bool asks_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

int options_parse(struct run *r, int argc, char **argv)
{
	struct parsing g = { .r = r };
	int code;

	r->name = r->verb->name;
	while (r->verb->subs) {
		const char *word = argc > 1 ? argv[1] : NULL;
		const struct verb *sub;

		if (asks_help(word)) {
			r->print.help = true;
			return 0;
		}
		sub = find_sub(r, word);
		if (!sub)
			return EXIT_USAGE;
		if (sub == r->verb)
			break;
		r->name = arena_printf(&r->arena, "%s %s", r->name, sub->name);
		r->verb = sub;
		if (!word || strcmp(word, sub->name) != 0)
			break; /* the usual one */
		argc--;
		argv++;
	}
	if (r->verb->ask) {
		r->ask = arena_alloc(&r->arena, r->verb->ask->size);
		ask_init(&r->arena, r->verb->ask, r->ask);
	}
	g.options = verb_options(&r->arena, r->verb, r, &g.n);
	r->args = arena_array(&r->arena, (size_t)argc + 1, sizeof(char *));
	code = take_words(&g, argc, argv);
	if (code)
		return code;
	r->n_before = r->n_args;
	while (optind < argc)
		r->args[r->n_args++] = argv[optind++];
	if (r->print.help)
		return 0;
	code = check_output(r);
	code = code ? code : check_json_only(r);
	if (code)
		return code;
	return take_arguments(&g);
}
