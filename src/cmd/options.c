/* SPDX-License-Identifier: Apache-2.0 */
/* The option and verb tables, and reading a command line by them. Help, manual pages and completion
 * are made from the same tables. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"

const struct option_row option_rows[OPTIONS] = {
	[OPT_HOST] = { OPT_HOST, "host", 'H', WORD_FILE, "CAPTURE",
		       "look at a captured machine (folder or tar) instead of this one" },
	[OPT_FORMAT] = { OPT_FORMAT, "format", 'f', WORD_FORMAT, "FORMAT",
			 "term (default), json, md, html; check also junit and prom" },
	[OPT_PROFILE] = { OPT_PROFILE, "profile", 'p', WORD_PROFILE, "NAME|FILE",
			  "whose opinions hold: a built-in profile or an INI file (default: "
			  "default)" },
	[OPT_ONLY] = { OPT_ONLY, "only", 0, WORD_ID, "IDS",
		       "only these settings: ids or prefixes, comma-separated" },
	[OPT_SKIP] = { OPT_SKIP, "skip", 0, WORD_ID, "IDS", "all but these settings" },
	[OPT_ALL] = { OPT_ALL, "all", 'a', WORD_NONE, NULL,
		      "also what is right and what does not apply" },
	[OPT_DEEP] = { OPT_DEEP, "deep", 0, WORD_NONE, NULL,
		       "also ask what costs up to seconds, such as starting the CUDA driver" },
	[OPT_OUTPUT] = { OPT_OUTPUT, "output", 'o', WORD_FILE, "PATH",
			 "write to PATH instead of standard output" },
	[OPT_NO_REDACT] = { OPT_NO_REDACT, "no-redact", 0, WORD_NONE, NULL,
			    "keep serial numbers, UUIDs, addresses and names" },
	[OPT_AS] = { OPT_AS, "as", 0, WORD_DRAWING, "DRAWING", "matrix (default), tree or svg" },
	[OPT_FACTS] = { OPT_FACTS, "facts", 0, WORD_NONE, NULL,
			"list the paths of all facts instead of the settings" },
	[OPT_NO_COLOR] = { OPT_NO_COLOR, "no-color", 0, WORD_NONE, NULL,
			   "no colours (also: NO_COLOR in the environment)" },
	[OPT_ASCII] = { OPT_ASCII, "ascii", 0, WORD_NONE, NULL,
			"draw tables and trees with ASCII alone" },
	[OPT_WIDTH] = { OPT_WIDTH, "width", 0, WORD_TEXT, "COLUMNS",
			"wrap tables to this many columns" },
	[OPT_QUIET] = { OPT_QUIET, "quiet", 'q', WORD_NONE, NULL,
			"no result on standard output, only the exit code" },
	[OPT_VERBOSE] = { OPT_VERBOSE, "verbose", 'v', WORD_NONE, NULL,
			  "more: reasons, sources, where each value was read" },
	[OPT_HELP] = { OPT_HELP, "help", 'h', WORD_NONE, NULL, "this help" },
	[OPT_VERSION] = { OPT_VERSION, "version", 'V', WORD_NONE, NULL, "the version" },
};

#define COMMON OPT_NO_COLOR, OPT_ASCII, OPT_WIDTH, OPT_HELP
#define OPTION_LIST(list) .options = (list), .n_options = sizeof(list) / sizeof((list)[0])

static const enum option_id show_options[] = { OPT_HOST,   OPT_FORMAT,	OPT_AS, OPT_DEEP,
					       OPT_OUTPUT, OPT_VERBOSE, COMMON };
static const enum option_id check_options[] = { OPT_HOST,  OPT_FORMAT,	OPT_PROFILE, OPT_ONLY,
						OPT_SKIP,  OPT_ALL,	OPT_DEEP,    OPT_OUTPUT,
						OPT_QUIET, OPT_VERBOSE, COMMON };
static const enum option_id explain_options[] = { OPT_HOST, OPT_FORMAT, OPT_PROFILE, OPT_OUTPUT,
						  COMMON };
static const enum option_id list_options[] = { OPT_FORMAT, OPT_ONLY,   OPT_SKIP,
					       OPT_FACTS,  OPT_OUTPUT, COMMON };
static const enum option_id capture_options[] = { OPT_HOST, OPT_OUTPUT, OPT_NO_REDACT, OPT_QUIET,
						  OPT_HELP };
static const enum option_id completion_options[] = { OPT_HELP };

const struct verb verbs[] = {
	{ .name = "show",
	  .args = "[SUBJECT]",
	  .word = WORD_SUBJECT,
	  .max_args = 1,
	  .run = verb_show,
	  .summary = "what this machine is",
	  .about = "Prints the facts of a machine: without a subject one screen, with one its "
		   "table or tree. Reading "
		   "needs no root; what this user may not see is said to be so.",
	  OPTION_LIST(show_options) },
	{ .name = "check",
	  .args = "",
	  .max_args = 0,
	  .run = verb_check,
	  .summary = "what holds this machine back",
	  .about = "Judges every setting by the machine's own facts: right, wrong, not applicable "
		   "(and why) or could not "
		   "be seen. Health comes first. Prints what is wrong or unseen; --all prints "
		   "everything. Nothing is "
		   "ever written.",
	  OPTION_LIST(check_options) },
	{ .name = "explain",
	  .args = "ID",
	  .word = WORD_ID,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_explain,
	  .summary = "everything about one setting",
	  .about = "What a setting is, why it matters, when it does not apply, how it is read, "
		   "written, kept and undone, "
		   "its risk, what each profile wants and why they differ, its sources, and its "
		   "state on this machine.",
	  OPTION_LIST(explain_options) },
	{ .name = "list",
	  .args = "",
	  .max_args = 0,
	  .run = verb_list,
	  .summary = "all setting ids",
	  .about = "Lists every setting with its title, or with --facts every fact.",
	  OPTION_LIST(list_options) },
	{ .name = "capture",
	  .args = "",
	  .max_args = 0,
	  .run = verb_capture,
	  .summary = "store this machine as a folder or tar",
	  .about = "Records everything that check and show read, absences and refusals too, so "
		   "that every command can run "
		   "on it elsewhere with --host. Serial numbers, UUIDs, MAC and IP addresses and "
		   "names are replaced "
		   "unless --no-redact is given.",
	  OPTION_LIST(capture_options) },
	{ .name = "completion",
	  .args = "SHELL",
	  .word = WORD_TEXT,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_completion,
	  .summary = "completion script for bash, zsh or fish, or the manual page",
	  .about = "Prints a completion script for bash, zsh or fish, or (man) the manual page, "
		   "made from the same tables "
		   "that the program reads its command line with.",
	  OPTION_LIST(completion_options) },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);

static const char *const formats[] = { "term", "json", "md", "html", "junit", "prom", NULL };
static const char *const subjects[] = { "cpu",	"memory", "gpu",      "pci",	  "nic",
					"disk", "kernel", "software", "topology", NULL };
static const char *const drawings[] = { "matrix", "tree", "svg", NULL };
static const char *const profiles[] = { "default",  "published", "max-performance", "low-latency",
					"balanced", "inference", "training",	    NULL };

const char *const *words_of(enum word_kind k)
{
	switch (k) {
	case WORD_FORMAT:
		return formats;
	case WORD_SUBJECT:
		return subjects;
	case WORD_DRAWING:
		return drawings;
	case WORD_PROFILE:
		return profiles;
	default:
		return NULL;
	}
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static bool in_words(enum word_kind k, const char *word)
{
	const char *const *w = words_of(k);

	for (; w && *w; w++)
		if (strcmp(*w, word) == 0)
			return true;
	return false;
}

static const char *word_list(struct arena *a, enum word_kind k)
{
	TEXT_AUTO t = { 0 };

	for (const char *const *w = words_of(k); *w; w++)
		text_printf(&t, "%s%s", w == words_of(k) ? "" : ", ", *w);
	return arena_strdup(a, t.s);
}

static int store(struct run *r, const struct option_row *o, const char *arg)
{
	/* A profile may also be a file, so it is not checked here. */
	if ((o->arg == WORD_FORMAT || o->arg == WORD_DRAWING) && !in_words(o->arg, arg))
		return complain_text(EXIT_USAGE, "--%s takes one of %s, not \"%s\"", o->name,
				     word_list(&r->arena, o->arg), arg);
	if ((o->id == OPT_ONLY || o->id == OPT_SKIP) && r->value[o->id])
		arg = arena_printf(&r->arena, "%s,%s", r->value[o->id], arg);
	r->value[o->id] = arg ? arg : "";
	return 0;
}

static int check_args(struct run *r)
{
	const struct verb *v = r->verb;

	if (r->n_args < v->min_args)
		return complain_text(EXIT_USAGE, "%s needs %s; \"gputune %s --help\" tells more",
				     v->name, v->args, v->name);
	if (r->n_args > v->max_args)
		return complain_text(EXIT_USAGE, "%s takes no argument \"%s\"", v->name,
				     r->args[v->max_args]);
	if (r->n_args && v->word == WORD_SUBJECT && !in_words(WORD_SUBJECT, r->args[0]))
		return complain_text(EXIT_USAGE, "%s knows no subject \"%s\"; it knows %s", v->name,
				     r->args[0], word_list(&r->arena, WORD_SUBJECT));
	return 0;
}

int options_parse(struct run *r, int argc, char **argv)
{
	struct option longs[OPTIONS + 1] = { 0 };
	char shorts[2 * OPTIONS + 3] = "+:";
	size_t n = 0, k = 2;
	int c, code;

	for (size_t i = 0; i < r->verb->n_options; i++) {
		const struct option_row *o = &option_rows[r->verb->options[i]];

		longs[n++] = (struct option){ o->name,
					      o->arg == WORD_NONE ? no_argument : required_argument,
					      NULL, 256 + (int)o->id };
		if (o->letter) {
			shorts[k++] = o->letter;
			if (o->arg != WORD_NONE)
				shorts[k++] = ':';
		}
	}
	shorts[k] = '\0';
	shorts[0] = '-'; /* arguments and options in any order */
	r->args = arena_array(&r->arena, (size_t)argc + 1, sizeof(char *));
	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *o = NULL;

		if (c == 1) {
			r->args[r->n_args++] = optarg;
			continue;
		}
		if (c == ':' || c == '?')
			return complain_text(
				EXIT_USAGE, c == ':' ? "%s needs a value" : "%s takes no option %s",
				c == ':' ? argv[optind - 1] : r->verb->name, argv[optind - 1]);
		for (size_t i = 0; i < OPTIONS; i++)
			if (c == 256 + (int)i || c == option_rows[i].letter)
				o = &option_rows[i];
		code = o ? store(r, o, optarg) : EXIT_USAGE;
		if (code)
			return code;
	}
	while (optind < argc)
		r->args[r->n_args++] = argv[optind++];
	return r->value[OPT_HELP] ? 0 : check_args(r);
}

void verb_usage(FILE *f, const struct verb *v)
{
	fprintf(f, "Usage: gputune %s%s%s [OPTIONS]\n\n%s\n\nOptions:\n", v->name,
		*v->args ? " " : "", v->args, v->about);
	for (size_t i = 0; i < v->n_options; i++) {
		const struct option_row *o = &option_rows[v->options[i]];
		char left[64];

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg_name ? " " : "", o->arg_name ? o->arg_name : "");
		fprintf(f, "  %-28s %s\n", left, o->help);
	}
}

void usage(FILE *f)
{
	fprintf(f, "Usage: gputune VERB [ARGUMENTS] [OPTIONS]\n\nWhat an NVIDIA GPU machine is and "
		   "what holds it back.\n\n"
		   "Verbs:\n");
	for (size_t i = 0; i < verb_count; i++)
		fprintf(f, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
	fprintf(f, "\n\"gputune VERB --help\" tells more. Exit codes: 0 clean, 1 findings, 2 "
		   "usage, 5 could not see enough.\n");
}
