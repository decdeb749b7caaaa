/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints: verbs by groups, one verb with its options and examples. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "front/session.h"

const char *const verb_group_names[VERB_GROUPS] = {
	[VERB_LOOK] = "Look",	  [VERB_CHANGE] = "Change",	 [VERB_MEASURE] = "Measure",
	[VERB_MODELS] = "Models", [VERB_MANY] = "Many machines", [VERB_PROGRAM] = "This program",
};

const char *verb_arguments(struct arena *a, const struct verb *v)
{
	TEXT_AUTO t = { 0 };
	size_t n;
	const struct verb_option *o = verb_options(a, v, NULL, &n);

	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;

		if (!row->argument)
			continue;
		text_printf(&t, "%s%s%s%s%s%s", t.len ? " " : "", row->required ? "" : "[",
			    row->behind ? "-- " : "", row->name,
			    row->kind == ASK_KIND_TEXTS || row->join ? "..." : "",
			    row->required ? "" : "]");
	}
	return t.s ? arena_strdup(a, t.s) : "";
}

const char *full_help(struct arena *a, const struct verb_option *o)
{
	const struct ask_row *row = o->row;
	const char *help = o->help;

	if (row->n_names && row->kind == ASK_KIND_CHOICE) {
		TEXT_AUTO t = { 0 };

		text_printf(&t, "%s: ", help);
		for (size_t i = 0; i < row->n_names; i++)
			text_printf(&t, "%s%s",
				    i == 0		    ? ""
				    : i + 1 == row->n_names ? " or "
							    : ", ",
				    row->names[i]);
		help = arena_strdup(a, t.s);
	}
	if (row->fallback)
		help = arena_printf(a, "%s (default: %s)", help, row->fallback);
	if (row->example)
		help = arena_printf(a, "%s; for example %s", help, row->example);
	return help;
}

const char *verb_example_line(struct arena *a, const struct verb_example *x)
{
	const char *line = x->line;
	bool root = str_starts(line, "sudo ");

	return arena_printf(a, "%sgputune %s", root ? "sudo " : "", root ? line + 5 : line);
}

enum { COLUMNS = 100, NARROW = 60, MARGIN = 31, VERB_MARGIN = 15, GROUP_MARGIN = 17 };

/* A terminal that is narrower than our lines breaks them within words. */
static size_t columns_of(FILE *f)
{
	struct winsize w;

	if (!isatty(fileno(f)) || ioctl(fileno(f), TIOCGWINSZ, &w) || !w.ws_col ||
	    w.ws_col >= COLUMNS)
		return COLUMNS;
	return w.ws_col < NARROW ? NARROW : w.ws_col;
}

/* Words up to the last column; lines after the first are indented. */
static void wrapped(FILE *f, const char *s, size_t at, int indent)
{
	size_t columns = columns_of(f);

	while (*s) {
		size_t n = strcspn(s, " ");

		if (at > (size_t)indent && at + 1 + n > columns) {
			fprintf(f, "\n%*s", indent, "");
			at = (size_t)indent;
		} else if (at > (size_t)indent) {
			fputc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", (int)n, s);
		at += n;
		s += n + (s[n] == ' ');
	}
	fputc('\n', f);
}

static void usage_verb(FILE *f, const struct verb *v)
{
	fprintf(f, "  %-12s ", v->name);
	wrapped(f, v->summary, VERB_MARGIN, VERB_MARGIN);
}

static void usage_option(FILE *f, struct arena *a, const struct verb_option *o)
{
	const char *value = ask_value_name(o->row);
	char letter = o->row->letter, left[64];

	if (o->row->argument)
		snprintf(left, sizeof(left), "%s", o->row->name);
	else
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", letter ? '-' : ' ',
			 letter ? letter : ' ', letter ? ", " : "  ", o->row->name,
			 value ? " " : "", value ? value : "");
	fprintf(f, "  %-28s ", left);
	wrapped(f, full_help(a, o), MARGIN, MARGIN);
}

/* Groups in the order in which they are first seen. */
static void usage_options(FILE *f, struct arena *a, const struct verb *v)
{
	size_t n;
	struct verb_option *o = verb_options(a, v, NULL, &n);

	for (size_t i = 0; i < n; i++) {
		if (o[i].given || (o[i].row->argument && !o[i].row->help))
			continue;
		fprintf(f, "\n%s:\n", o[i].group);
		for (size_t k = i; k < n; k++)
			if (!o[k].given && (o[k].help || !o[k].row->argument) &&
			    strcmp(o[k].group, o[i].group) == 0) {
				usage_option(f, a, &o[k]);
				o[k].given = true;
			}
	}
}

/* What an example does stands behind it where there is room. */
static void usage_examples(FILE *f, struct arena *a, const struct verb *v)
{
	size_t widest = 0, columns = columns_of(f);

	for (const struct verb_example *x = v->examples; x && x->line; x++) {
		const char *line = verb_example_line(a, x);
		bool fits = strlen(line) + strlen(x->what) + 4 <= columns;

		widest = fits && strlen(line) > widest ? strlen(line) : widest;
	}
	fputs("\nExamples:\n", f);
	for (const struct verb_example *x = v->examples; x && x->line; x++) {
		const char *line = verb_example_line(a, x);
		int pad = strlen(line) < widest ? (int)(widest - strlen(line)) : 0;

		if (strlen(line) <= widest && widest + strlen(x->what) + 4 <= columns)
			fprintf(f, "  %s%*s  %s\n", line, pad, "", x->what);
		else
			fprintf(f, "  %s\n      %s\n", line, x->what);
	}
}

void verb_usage(FILE *f, const struct verb *v, const char *name)
{
	ARENA_AUTO a = { 0 };
	const char *args = verb_arguments(&a, v);

	if (v->subs && !v->answer && !v->run)
		args = "SUBVERB";
	fprintf(f, "Usage: gputune %s%s%s [OPTIONS]\n\n", name, *args ? " " : "", args);
	wrapped(f, v->about, 0, 0);
	if (v->exits)
		wrapped(f, arena_printf(&a, "Exit codes: %s.", v->exits), 0, 0);
	if (v->subs)
		fputs("\nSub-verbs:\n", f);
	for (size_t i = 0; v->subs && v->subs[i]; i++)
		usage_verb(f, v->subs[i]);
	if (v->usual)
		fprintf(f, "\nWithout a sub-verb: %s.\n", v->usual->name);
	if (v->answer || v->run || v->serve)
		usage_options(f, &a, v);
	else
		fprintf(f, "\n\"gputune %s SUBVERB --help\" lists its options.\n", name);
	if (v->examples)
		usage_examples(f, &a, v);
}

/* The others of a group, by name alone. */
static void usage_rest(FILE *f, enum verb_group group)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; verbs[i]; i++)
		if (verbs[i]->group == group && !verbs[i]->common)
			text_printf(&t, "%s%s", t.len ? ", " : "", verbs[i]->name);
	if (group == VERB_PROGRAM)
		text_add(&t, ", help");
	fprintf(f, "  %-14s ", verb_group_names[group]);
	wrapped(f, t.s ? t.s : "", GROUP_MARGIN, GROUP_MARGIN);
}

void usage(FILE *f, bool all)
{
	fputs("Usage: gputune VERB [ARGUMENTS] [OPTIONS]\n\n", f);
	wrapped(f, "Find what slows down a GPU machine, fix it, and undo any change exactly.", 0,
		0);
	if (!all)
		fputs("\nStart with:\n", f);
	for (size_t i = 0; verbs[i] && !all; i++)
		if (verbs[i]->common)
			usage_verb(f, verbs[i]);
	fputs(all ? "" : "\nMore:\n", f);
	for (size_t g = 0; g < VERB_GROUPS; g++) {
		if (!all) {
			usage_rest(f, (enum verb_group)g);
			continue;
		}
		fprintf(f, "\n%s:\n", verb_group_names[g]);
		for (size_t i = 0; verbs[i]; i++)
			if (verbs[i]->group == g)
				usage_verb(f, verbs[i]);
	}
	if (all)
		fputs("  help         help for one verb, with examples; this list: help all\n", f);
	fputc('\n', f);
	wrapped(f,
		all ? "\"gputune VERB --help\" shows options and examples."
		    : "\"gputune help all\" describes every verb, \"gputune VERB --help\" one, "
		      "with examples. No GPU machine here? Add --host demo:dgx-spark.",
		0, 0);
	if (all)
		fputs("\nExit codes:\n  0   clean\n  1   findings\n  2   usage\n  3   nothing "
		      "applied\n"
		      "  4   rollback incomplete\n  5   too few values readable\n  71  out of "
		      "memory\n",
		      f);
}
