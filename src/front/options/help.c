/* SPDX-License-Identifier: Apache-2.0 */
/* The manual and completion scripts: what --help says, for man and shells. */
#include <string.h>

#include "front/session.h"

/* The manual, printed from the tables of verbs and options: gputune(1), gputune-VERB(1). */

/* roff: a leading dot or quote is a request, a backslash starts an escape, "-" is a hyphen unless
 * escaped. */
static void roff(FILE *f, const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", f);
	for (; *s; s++) {
		if (*s == '\\')
			fputs("\\e", f);
		else if (*s == '-')
			fputs("\\-", f);
		else
			fputc(*s, f);
	}
}

static void head(FILE *f, const char *name, const char *upper, const char *about)
{
	fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n", f);
	fprintf(f, ".TH %s 1 \"\" \"gputune %s\" \"User commands\"\n.SH NAME\n%s \\- ", upper,
		GPUTUNE_VERSION, name);
	roff(f, about);
	fputc('\n', f);
}

static void help_options(FILE *f, const struct verb *v)
{
	ARENA_AUTO a = { 0 };
	size_t n;
	const struct verb_option *o = verb_options(&a, v, NULL, &n);

	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;

		if (row->argument && !row->help)
			continue;
		fputs(".TP\n", f);
		if (row->argument) {
			fprintf(f, "\\fI%s\\fR", row->name);
		} else {
			fputs("\\fB", f);
			if (row->letter)
				fprintf(f, "\\-%c\\fR, \\fB", row->letter);
			fputs("\\-\\-", f);
			roff(f, row->name);
			fputs("\\fR", f);
			if (ask_value_name(row))
				fprintf(f, " \\fI%s\\fR", ask_value_name(row));
		}
		fputc('\n', f);
		roff(f, full_help(&a, &o[i]));
		fputc('\n', f);
	}
}

static void exit_status(FILE *f)
{
	fputs(".SH EXIT STATUS\n.TP\n0\nclean\n.TP\n1\nfindings\n.TP\n2\nusage error, or "
	      "unreadable input\n.TP\n3\nnothing was applied: all changes were refused or "
	      "undone\n.TP\n4\nsome changes could not be undone\n.TP\n5\nno finding, but something "
	      "was unreadable\n.TP\n71\nout of memory\n",
	      f);
}

/* name: with that of its verb, of a sub-verb. */
static void describe_verb(FILE *f, const struct verb *v, const char *name, const char *heading)
{
	ARENA_AUTO a = { 0 };
	bool acts = v->answer || v->run;

	fprintf(f, ".%s SYNOPSIS\n.B gputune %s\n", heading, name);
	roff(f, acts ? verb_arguments(&a, v) : "SUBVERB");
	fputs("\n.RI [ OPTIONS ]\n", f);
	fprintf(f, ".%s DESCRIPTION\n", heading);
	roff(f, v->about);
	fputc('\n', f);
	if (v->exits) {
		fputs(".PP\nExit codes: ", f);
		roff(f, v->exits);
		fputs(".\n", f);
	}
	if (acts)
		fprintf(f, ".%s OPTIONS\n", heading);
	if (acts)
		help_options(f, v);
	if (v->examples)
		fprintf(f, ".%s EXAMPLES\n", heading);
	for (const struct verb_example *x = v->examples; x && x->line; x++) {
		fputs(".TP\n.B ", f);
		roff(f, verb_example_line(&a, x));
		fputc('\n', f);
		roff(f, x->what);
		fputc('\n', f);
	}
}

static void describe_subs(FILE *f, const struct verb *v, const char *name)
{
	char full[96];

	for (size_t i = 0; v->subs && v->subs[i]; i++) {
		snprintf(full, sizeof(full), "%s %s", name, v->subs[i]->name);
		fprintf(f, ".SH GPUTUNE %s\n", full);
		describe_verb(f, v->subs[i], full, "SS");
		describe_subs(f, v->subs[i], full);
	}
}

static void page_of_verb(FILE *f, const struct verb *v)
{
	char name[64], upper[64];

	snprintf(name, sizeof(name), "gputune\\-%s", v->name);
	snprintf(upper, sizeof(upper), "GPUTUNE\\-%s", v->name);
	for (char *c = upper; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	head(f, name, upper, v->summary);
	describe_verb(f, v, v->name, "SH");
	describe_subs(f, v, v->name);
	exit_status(f);
	fputs(".SH SEE ALSO\n.BR gputune (1)\n", f);
}

static void verbs_of_group(FILE *f, enum verb_group group)
{
	for (size_t i = 0; verbs[i]; i++) {
		ARENA_AUTO a = { 0 };

		if (verbs[i]->group != group)
			continue;
		fprintf(f, ".TP\n\\fB%s\\fR ", verbs[i]->name);
		roff(f, verb_arguments(&a, verbs[i]));
		fputc('\n', f);
		roff(f, verbs[i]->summary);
		fprintf(f, "\n.BR gputune\\-%s (1)\n", verbs[i]->name);
	}
}

static void page_of_all(FILE *f)
{
	head(f, "gputune", "GPUTUNE",
	     "find what slows down a GPU machine, fix it, and undo any change exactly");
	fputs(".SH SYNOPSIS\n.B gputune\n.I VERB\n.RI [ ARGUMENTS ]\n.RI [ OPTIONS ]\n.SH "
	      "DESCRIPTION\nFinds what slows down a GPU machine, with evidence; fixes it with "
	      "changes that can be undone exactly; measures the effect of settings; predicts "
	      "models. Reading verbs do not require root and never write.\n.SH VERBS\n",
	      f);
	for (size_t i = 0; i < VERB_GROUPS; i++) {
		fprintf(f, ".SS %s\n", verb_group_names[i]);
		verbs_of_group(f, (enum verb_group)i);
	}
	exit_status(f);
	fputs(".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colours if set and not empty\n.SH FILES\n.TP\n"
	      "/etc/gputune/profiles\ncustom profiles, found by name with \\-\\-profile\n.TP\n"
	      "/etc/gputune/watch.conf\nsettings that the watcher re-applies\n.TP\n"
	      "/var/lib/gputune\njournal of changes, results, ledger of A/B tests\n.SH SEE ALSO\n"
	      ".BR gputune\\-profile (5),\n.BR gputune\\-watch (8)\n",
	      f);
}

static int manual_print(struct run *r, const char *page)
{
	const struct verb *v = page ? verb_find(page) : NULL;

	if (!page)
		page_of_all(r->out);
	else if (v)
		page_of_verb(r->out, v);
	else
		return complain_text(EXIT_USAGE, "no manual page for \"%s\"; give a verb", page);
	return EXIT_CLEAN;
}

/* Completion scripts, printed from the option tables. */

#define HELP_SAYS "help for a verb"

static void verb_names(FILE *f, const struct verb *const *v)
{
	for (; *v; v++)
		fprintf(f, "%s ", (*v)->name);
}

static void proposed_words(FILE *f, const struct ask_row *row)
{
	const char *word;

	for (size_t i = 0; (word = ask_proposed(row, i)); i++)
		if (!word[strcspn(word, " \t\"'`$\\")])
			fprintf(f, "%s ", word);
}

static bool proposes(const struct ask_row *row)
{
	return row->files || ask_proposed(row, 0);
}

/* What the verb's arguments can be; files: behind how many words files may stand, 0: nowhere. */
static void argument_words(FILE *f, const struct verb_option *o, size_t n, int *files)
{
	int at = 0;

	*files = 0;
	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;

		if (!row->argument)
			continue;
		at++;
		if (!row->behind)
			proposed_words(f, row);
		if (row->files && !*files)
			*files = at + (ask_proposed(row, 0) != NULL);
	}
}

static void bash_option(FILE *f, const struct ask_row *row)
{
	fputs("        ", f);
	if (row->letter)
		fprintf(f, "-%c|", row->letter);
	fprintf(f, "--%s)\n            COMPREPLY=(", row->name);
	if (proposes(row)) {
		fprintf(f, "$(compgen %s-W \"", row->files ? "-f " : "");
		proposed_words(f, row);
		fputs("\" -- \"$cur\")", f);
	}
	fputs(")\n            return ;;\n", f);
}

/* pattern: of the case; extra words are those of its sub-verbs. */
static void bash_verb(FILE *f, const struct verb *v, const char *pattern, int depth)
{
	ARENA_AUTO a = { 0 };
	size_t n;
	const struct verb_option *o = verb_options(&a, v, NULL, &n);
	int files;

	fprintf(f, "    \"%s\")\n        case \"$prev\" in\n", pattern);
	for (size_t i = 0; i < n; i++)
		if (!o[i].row->argument && o[i].row->kind != ASK_KIND_FLAG)
			bash_option(f, o[i].row);
	fputs("        esac\n        opts=\"", f);
	for (size_t i = 0; i < n; i++)
		if (!o[i].row->argument)
			fprintf(f, "--%s ", o[i].row->name);
	fputs("\"\n        words=\"", f);
	argument_words(f, o, n, &files);
	if (v->subs)
		verb_names(f, v->subs);
	fprintf(f, "\"\n        files=%d ;;\n", files ? files + depth - 1 : 0);
	for (size_t i = 0; v->subs && v->subs[i]; i++)
		bash_verb(f, v->subs[i], arena_printf(&a, "%s %s", pattern, v->subs[i]->name),
			  depth + 1);
}

/* The names of verbs with sub-verbs that are named by so many words, as a pattern's alternatives.
 */
static void grouped_verbs(FILE *f, const struct verb *const *v, const char *before, int words)
{
	char name[96];

	for (; v && *v; v++) {
		snprintf(name, sizeof(name), "%s%s%s", before, *before ? " " : "", (*v)->name);
		if ((*v)->subs && words == 1)
			fprintf(f, "|\"%s\"", name);
		else if (words > 1)
			grouped_verbs(f, (*v)->subs, name, words - 1);
	}
}

static void bash(FILE *f)
{
	fputs("# bash completion for gputune\n_gputune() {\n    local cur prev opts words files "
	      "verb\n"
	      "    cur=\"${COMP_WORDS[COMP_CWORD]}\"\n    prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	      "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
	      f);
	verb_names(f, verbs);
	/* Readline takes --format=json for three words. */
	fputs("help --help --version\" -- \"$cur\"))\n        return\n    fi\n"
	      "    if [ \"$cur\" = = ]; then\n        cur=\n"
	      "    elif [ \"$prev\" = = ]; then\n        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
	      "    fi\n    verb=\"${COMP_WORDS[1]}\"\n",
	      f);
	for (int i = 2; i <= 3; i++) {
		fputs("    case \"$verb\" in\n    -", f);
		grouped_verbs(f, verbs, "", i - 1);
		fprintf(f,
			")\n        if [ \"$COMP_CWORD\" -gt %d ]; then\n"
			"            case \" ${COMP_WORDS[%d]}\" in\n            ' -'*|' ') ;;\n"
			"            *) verb=\"$verb ${COMP_WORDS[%d]}\" ;;\n            esac\n"
			"        fi ;;\n    esac\n",
			i, i, i);
	}
	fputs("    case \"$verb\" in\n", f);
	for (size_t i = 0; verbs[i]; i++)
		bash_verb(f, verbs[i], verbs[i]->name, 1);
	fputs("    help)\n        [ \"$COMP_CWORD\" -eq 2 ] || return\n        opts=\n        "
	      "words=\"",
	      f);
	verb_names(f, verbs);
	fputs("\"\n        files=0 ;;\n    *)\n        return ;;\n    esac\n"
	      "    COMPREPLY=($(compgen -W \"$opts $words\" -- \"$cur\"))\n"
	      "    if [ \"$files\" -gt 0 ] && [ \"$COMP_CWORD\" -gt \"$files\" ]; then\n"
	      "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
	      "complete -F _gputune gputune\n",
	      f);
}

/* zsh specs are in single quotes: a quote in a help text would end them. */
static void zsh_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", f);
		else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			fputc(*s, f);
	}
}

static void zsh_option(FILE *f, const struct verb_option *o)
{
	const char *value = ask_value_name(o->row);

	fprintf(f, " \\\n            '%s--%s%s[",
		o->row->join || o->row->kind == ASK_KIND_TEXTS ? "*" : "", o->row->name,
		value ? "=" : "");
	zsh_text(f, o->help);
	fputc(']', f);
	if (value) {
		fputc(':', f);
		zsh_text(f, value);
		fputc(':', f);
		if (ask_proposed(o->row, 0)) {
			fputc('(', f);
			proposed_words(f, o->row);
			fputc(')', f);
		} else if (o->row->files) {
			fputs("_files", f);
		}
	}
	fputc('\'', f);
}

static void zsh_names(FILE *f, const char *array, const struct verb *const *v)
{
	fprintf(f, "    %s=(\n", array);
	for (; *v; v++) {
		fprintf(f, "        '%s:", (*v)->name);
		zsh_text(f, (*v)->summary);
		fputs("'\n", f);
	}
}

static void zsh_arguments(FILE *f, const struct verb *v)
{
	ARENA_AUTO a = { 0 };
	size_t n;
	const struct verb_option *o = verb_options(&a, v, NULL, &n);
	bool files = false;
	int at = 0;

	fputs("        _arguments", f);
	for (size_t i = 0; i < n; i++)
		if (!o[i].row->argument)
			zsh_option(f, &o[i]);
	for (size_t i = 0; i < n; i++) {
		const struct ask_row *row = o[i].row;

		if (!row->argument)
			continue;
		at++;
		files = files || row->files;
		if (!ask_proposed(row, 0))
			continue;
		if (row->kind == ASK_KIND_TEXTS && !row->files)
			fputs(" \\\n            '*:argument:(", f);
		else
			fprintf(f, " \\\n            '%d:%sargument:(", at,
				row->required ? "" : ":");
		proposed_words(f, row);
		fputs(")'", f);
	}
	if (files)
		fputs(" \\\n            '*:file:_files'", f);
}

static void zsh_verb(FILE *f, const struct verb *v)
{
	bool acts = v->answer || v->run;

	if (v->subs) {
		zsh_names(f, "verbs", v->subs);
		fputs("    )\n        if (( CURRENT == 2 )); then\n"
		      "            _describe verb verbs\n",
		      f);
		if (acts)
			zsh_arguments(f, v);
		fputs("\n            return\n        fi\n        verb=\"${words[2]}\"\n"
		      "        case \"$verb\" in\n",
		      f);
		for (size_t i = 0; v->subs[i]; i++) {
			fprintf(f, "        %s)\n        shift words\n        (( CURRENT-- ))\n",
				v->subs[i]->name);
			zsh_verb(f, v->subs[i]);
		}
		if (acts)
			fputs("        *)\n", f);
	}
	if (acts)
		zsh_arguments(f, v);
	if (v->subs)
		fputs(acts ? " ;;\n        esac" : "        esac", f);
	fputs(" ;;\n", f);
}

static void zsh(FILE *f)
{
	fputs("#compdef gputune\n_gputune() {\n    local -a verbs\n", f);
	zsh_names(f, "verbs", verbs);
	fputs("        'help:" HELP_SAYS "'\n"
	      "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        "
	      "return\n    fi\n"
	      "    local verb=\"${words[2]}\"\n    shift words\n    (( CURRENT-- ))\n    case "
	      "\"$verb\" in\n",
	      f);
	for (size_t i = 0; verbs[i]; i++) {
		fprintf(f, "    %s)\n", verbs[i]->name);
		zsh_verb(f, verbs[i]);
	}
	fputs("    help)\n        _arguments '1:verb:(", f);
	verb_names(f, verbs);
	fputs(")' ;;\n    esac\n}\n_gputune \"$@\"\n", f);
}

static void fish_quote(FILE *f, const char *s)
{
	fputc('\'', f);
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('\'', f);
}

static void fish_option(FILE *f, const char *when, const struct verb_option *o)
{
	fprintf(f, "complete -c gputune -n '%s' -l %s", when, o->row->name);
	if (o->row->letter)
		fprintf(f, " -s %c", o->row->letter);
	if (o->row->kind != ASK_KIND_FLAG && ask_proposed(o->row, 0)) {
		fputs(o->row->files ? " -r -a \"" : " -x -a \"", f);
		proposed_words(f, o->row);
		fputc('"', f);
	} else if (o->row->kind != ASK_KIND_FLAG) {
		fputs(o->row->files ? " -r" : " -x", f);
	}
	fputs(" -d ", f);
	fish_quote(f, o->help);
	fputc('\n', f);
}

static void fish_verb(FILE *f, const struct verb *v, const char *when)
{
	ARENA_AUTO a = { 0 };
	size_t n;
	const struct verb_option *o = verb_options(&a, v, NULL, &n);

	fprintf(f, "complete -c gputune -f -n %s -a %s -d ", when, v->name);
	fish_quote(f, v->summary);
	fputc('\n', f);
	when = strcmp(when, "__fish_use_subcommand") == 0
		       ? arena_printf(&a, "__fish_seen_subcommand_from %s", v->name)
		       : arena_printf(&a, "%s; and __fish_seen_subcommand_from %s",
				      strndupa(when + 1, strlen(when) - 2), v->name);
	for (size_t i = 0; i < n; i++)
		if (!o[i].row->argument)
			fish_option(f, when, &o[i]);
	for (size_t i = 0; i < n; i++)
		if (o[i].row->argument && ask_proposed(o[i].row, 0)) {
			fprintf(f, "complete -c gputune %s-n '%s' -a \"",
				o[i].row->files ? "" : "-f ", when);
			proposed_words(f, o[i].row);
			fputs("\"\n", f);
		}
	for (size_t i = 0; v->subs && v->subs[i]; i++)
		fish_verb(f, v->subs[i], arena_printf(&a, "'%s'", when));
}

static void fish(FILE *f)
{
	for (size_t i = 0; verbs[i]; i++)
		fish_verb(f, verbs[i], "__fish_use_subcommand");
	fputs("complete -c gputune -f -n __fish_use_subcommand -a help -d '" HELP_SAYS "'\n"
	      "complete -c gputune -f -n '__fish_seen_subcommand_from help' -a \"",
	      f);
	verb_names(f, verbs);
	fputs("\"\n", f);
}

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELL_MAN };

struct completion_ask {
	enum shell shell;
	const char *page;
};

static const char *const shells[] = { "bash", "zsh", "fish", "man" };

static const struct ask_row completion_ask_rows[] = {
	{ "SHELL", "the shell, or man", ASK_CHOICE(completion_ask, shell, shells), .argument = true,
	  .required = true },
	{ "PAGE", "the verb of the manual page (default: all)", ASK_TEXT(completion_ask, page),
	  .argument = true },
};

static int verb_completion(struct run *r)
{
	static void (*const scripts[])(FILE *) = { bash, zsh, fish };
	const struct completion_ask *ask = r->ask;

	if (ask->shell == SHELL_MAN)
		return manual_print(r, ask->page);
	if (ask->page)
		return complain_text(EXIT_USAGE, "completion takes no argument \"%s\"", ask->page);
	scripts[ask->shell](r->out);
	return EXIT_CLEAN;
}

const struct verb completion_verb = {
	.name = "completion",
	.group = VERB_PROGRAM,
	.summary = "shell completion and manual pages",
	.about = "Prints a completion script for bash, zsh or fish, or with man a manual page.",
	.words = "complete man manual bash zsh fish",
	.examples =
		EXAMPLES({ "completion bash", "source it, or save it in /etc/bash_completion.d" },
			 { "completion man check", "a page for man -l -" }),
	.run = verb_completion,
	.ask = ASK_OF(completion_ask, NULL, completion_ask_rows),
};
