/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints, and what an option means to one verb where its row says it of all. */
#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "front/session.h"
#include "measure/doctor/doctor.h"

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
	for (size_t i = 0; i < v->n_options; i++) {
		const struct option_row *o = &option_rows[v->options[i]];

		fputs(".TP\n\\fB", f);
		if (o->letter)
			fprintf(f, "\\-%c\\fR, \\fB", o->letter);
		fputs("\\-\\-", f);
		roff(f, o->name);
		fputs("\\fR", f);
		if (o->arg_name)
			fprintf(f, " \\fI%s\\fR", o->arg_name);
		fputc('\n', f);
		roff(f, option_help(v, o->id));
		fputc('\n', f);
	}
}

static void exit_status(FILE *f)
{
	fputs(".SH EXIT STATUS\n.TP\n0\nclean\n.TP\n1\nfindings\n.TP\n2\nusage error, or an input "
	      "that cannot be read\n.TP\n3\nnothing was applied: all of it was refused or taken "
	      "back\n.TP\n"
	      "4\nsomething could not be taken back\n.TP\n5\nno finding, but something could not "
	      "be seen\n.TP\n71\nno memory was left\n",
	      f);
}

static void page_of_verb(FILE *f, const struct verb *v)
{
	char name[64], upper[64];

	snprintf(name, sizeof(name), "gputune\\-%s", v->name);
	snprintf(upper, sizeof(upper), "GPUTUNE\\-%s", v->name);
	for (char *c = upper; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	head(f, name, upper, v->summary);
	fprintf(f, ".SH SYNOPSIS\n.B gputune %s\n", v->name);
	if (*v->args) {
		roff(f, v->args);
		fputc('\n', f);
	}
	fputs(".RI [ OPTIONS ]\n.SH DESCRIPTION\n", f);
	roff(f, v->about);
	fputs("\n.SH OPTIONS\n", f);
	help_options(f, v);
	exit_status(f);
	fputs(".SH SEE ALSO\n.BR gputune (1)\n", f);
}

static void page_of_all(FILE *f)
{
	head(f, "gputune", "GPUTUNE", "what an NVIDIA GPU machine is and what holds it back");
	fputs(".SH SYNOPSIS\n.B gputune\n.I VERB\n.RI [ ARGUMENTS ]\n.RI [ OPTIONS ]\n.SH "
	      "DESCRIPTION\nReads a machine, or a capture of one, and says which performance "
	      "settings are right, wrong, not applicable (and why) or could not be seen, with the "
	      "evidence; changes them so that all of it can be taken back; measures what they are "
	      "worth. Reading needs no root and never writes.\n.SH VERBS\n",
	      f);
	for (size_t i = 0; i < verb_count; i++) {
		fprintf(f, ".TP\n\\fB%s\\fR ", verbs[i].name);
		roff(f, verbs[i].args);
		fputc('\n', f);
		roff(f, verbs[i].summary);
		fprintf(f, "\n.BR gputune\\-%s (1)\n", verbs[i].name);
	}
	exit_status(f);
	fputs(".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colours when set and not empty\n.SH FILES\n.TP\n"
	      "/etc/gputune/profiles\nprofiles of this site, found by name with "
	      "\\-\\-profile\n.TP\n"
	      "/etc/gputune/watch.conf\nwhat the watcher sets again\n.TP\n/var/lib/gputune\nthe "
	      "journal of changes, results, the ledger of proofs\n.SH SEE ALSO\n.BR "
	      "gputune\\-profile (5),\n.BR gputune\\-watch (8)\n",
	      f);
}

static int manual_print(struct run *r)
{
	const char *page = r->n_args > 1 ? r->args[1] : NULL;
	const struct verb *v = page ? verb_find(page) : NULL;

	if (!page)
		page_of_all(r->out);
	else if (v)
		page_of_verb(r->out, v);
	else
		return complain_text(EXIT_USAGE, "there is no page of \"%s\": a verb has one",
				     page);
	return EXIT_CLEAN;
}

/* Completion scripts, printed from the option tables. */

#define HELP_SAYS "what a verb does and takes"

static void help_words(FILE *f, enum word_kind k)
{
	const char *const *w = words_of(k);

	if (k == WORD_VERB) {
		for (size_t i = 0; i < verb_count; i++)
			fprintf(f, "%s ", verbs[i].name);
		return;
	}
	if (k == WORD_ID) {
		SETTING_FOR_EACH (s)
			fprintf(f, "%s ", s->id);
		return;
	}
	if (k == WORD_SYMPTOM) {
		DIAGNOSIS_FOR_EACH (d)
			fprintf(f, "%s ", d->id);
		fputs("list ", f);
		return;
	}
	for (; w && *w; w++)
		fprintf(f, "%s ", *w);
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

/* What an option of this verb takes. Formats, and benches where only some can be named, are those
 * that its help tells; what "bench" does besides measuring is no bench. */
static void option_words(FILE *f, const struct verb *v, const struct option_row *o)
{
	const char *const *w = words_of(o->arg), *help = option_help(v, o->id);
	bool some = false;

	if (o->arg != WORD_FORMAT && o->arg != WORD_BENCH) {
		help_words(f, o->arg);
		return;
	}
	for (size_t i = 0; w[i]; i++)
		some = some || help_mentions(help, w[i]);
	for (; *w; w++)
		if (some ? help_mentions(help, *w) : !help_mentions("all list show serve", *w))
			fprintf(f, "%s ", *w);
}

/* Behind how many words files may stand; 0: nowhere. */
static int files_behind(const struct verb *v)
{
	return v->word == WORD_FILE ? 1 : v->word == WORD_STACK || v->word == WORD_DIAGNOSE ? 2 : 0;
}

static void bash_option(FILE *f, const struct verb *v, const struct option_row *o)
{
	fputs("        ", f);
	if (o->letter)
		fprintf(f, "-%c|", o->letter);
	fprintf(f, "--%s)\n            COMPREPLY=(", o->name);
	if (!word_is_free(o->arg)) {
		fprintf(f, "$(compgen %s-W \"",
			o->arg == WORD_FILE || o->arg == WORD_PROFILE ? "-f " : "");
		option_words(f, v, o);
		fputs("\" -- \"$cur\")", f);
	}
	fputs(")\n            return ;;\n", f);
}

static void bash_verb(FILE *f, const struct verb *v)
{
	fprintf(f, "    %s)\n        case \"$prev\" in\n", v->name);
	for (size_t i = 0; i < v->n_options; i++)
		if (option_rows[v->options[i]].arg != WORD_NONE)
			bash_option(f, v, &option_rows[v->options[i]]);
	fputs("        esac\n        opts=\"", f);
	for (size_t i = 0; i < v->n_options; i++)
		fprintf(f, "--%s ", option_rows[v->options[i]].name);
	fputs("\"\n        words=\"", f);
	help_words(f, v->word);
	fprintf(f, "\"\n        files=%d ;;\n", files_behind(v));
}

static void bash(FILE *f)
{
	fputs("# bash completion for gputune\n_gputune() {\n    local cur prev opts words files\n"
	      "    cur=\"${COMP_WORDS[COMP_CWORD]}\"\n    prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	      "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
	      f);
	help_words(f, WORD_VERB);
	/* Readline takes --format=json for three words. */
	fputs("help --help --version\" -- \"$cur\"))\n        return\n    fi\n"
	      "    if [ \"$cur\" = = ]; then\n        cur=\n"
	      "    elif [ \"$prev\" = = ]; then\n        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
	      "    fi\n    case \"${COMP_WORDS[1]}\" in\n",
	      f);
	for (size_t i = 0; i < verb_count; i++)
		bash_verb(f, &verbs[i]);
	fputs("    help)\n        [ \"$COMP_CWORD\" -eq 2 ] || return\n        opts=\n        "
	      "words=\"",
	      f);
	help_words(f, WORD_VERB);
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

static void zsh_option(FILE *f, const struct verb *v, const struct option_row *o)
{
	fprintf(f, " \\\n            '--%s%s[", o->name, o->arg == WORD_NONE ? "" : "=");
	zsh_text(f, option_help(v, o->id));
	fputc(']', f);
	if (o->arg != WORD_NONE) {
		fputc(':', f);
		zsh_text(f, o->arg_name);
		fputc(':', f);
		if (o->arg == WORD_FILE) {
			fputs("_files", f);
		} else if (!word_is_free(o->arg)) {
			fputc('(', f);
			option_words(f, v, o);
			fputc(')', f);
		}
	}
	fputc('\'', f);
}

static bool has_words(const struct verb *v)
{
	return v->word != WORD_NONE && !word_is_free(v->word) && v->word != WORD_FILE;
}

static void zsh(FILE *f)
{
	fputs("#compdef gputune\n_gputune() {\n    local -a verbs\n    verbs=(\n", f);
	for (size_t i = 0; i < verb_count; i++) {
		fprintf(f, "        '%s:", verbs[i].name);
		zsh_text(f, verbs[i].summary);
		fputs("'\n", f);
	}
	fputs("        'help:" HELP_SAYS "'\n"
	      "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        "
	      "return\n    fi\n"
	      "    local verb=\"${words[2]}\"\n    shift words\n    (( CURRENT-- ))\n    case "
	      "\"$verb\" in\n",
	      f);
	for (size_t i = 0; i < verb_count; i++) {
		fprintf(f, "    %s)\n        _arguments", verbs[i].name);
		for (size_t k = 0; k < verbs[i].n_options; k++)
			zsh_option(f, &verbs[i], &option_rows[verbs[i].options[k]]);
		if (has_words(&verbs[i])) {
			fprintf(f, " \\\n            '%s:argument:(",
				verbs[i].max_args > 1 && !files_behind(&verbs[i]) ? "*" : "1:");
			help_words(f, verbs[i].word);
			fputs(")'", f);
		}
		if (files_behind(&verbs[i]))
			fputs(" \\\n            '*:file:_files'", f);
		fputs(" ;;\n", f);
	}
	fputs("    help)\n        _arguments '1:verb:(", f);
	help_words(f, WORD_VERB);
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

static void fish_verb(FILE *f, const struct verb *v)
{
	fprintf(f, "complete -c gputune -f -n __fish_use_subcommand -a %s -d ", v->name);
	fish_quote(f, v->summary);
	fputc('\n', f);
	for (size_t i = 0; i < v->n_options; i++) {
		const struct option_row *o = &option_rows[v->options[i]];

		fprintf(f, "complete -c gputune -n '__fish_seen_subcommand_from %s' -l %s", v->name,
			o->name);
		if (o->letter)
			fprintf(f, " -s %c", o->letter);
		if (o->arg == WORD_FILE) {
			fputs(" -r", f);
		} else if (word_is_free(o->arg)) {
			fputs(" -x", f);
		} else if (o->arg != WORD_NONE) {
			fputs(o->arg == WORD_PROFILE ? " -r -a \"" : " -x -a \"", f);
			option_words(f, v, o);
			fputc('"', f);
		}
		fputs(" -d ", f);
		fish_quote(f, option_help(v, o->id));
		fputc('\n', f);
	}
	if (has_words(v)) {
		fprintf(f, "complete -c gputune %s-n '__fish_seen_subcommand_from %s' -a \"",
			files_behind(v) ? "" : "-f ", v->name);
		help_words(f, v->word);
		fputs("\"\n", f);
	}
}

static void fish(FILE *f)
{
	for (size_t i = 0; i < verb_count; i++)
		fish_verb(f, &verbs[i]);
	fputs("complete -c gputune -f -n __fish_use_subcommand -a help -d '" HELP_SAYS "'\n"
	      "complete -c gputune -f -n '__fish_seen_subcommand_from help' -a \"",
	      f);
	help_words(f, WORD_VERB);
	fputs("\"\n", f);
}

int verb_completion(struct run *r)
{
	const char *shell = r->args[0];

	if (r->n_args > 1 && strcmp(shell, "man") != 0)
		return complain_text(EXIT_USAGE, "completion takes no argument \"%s\"", r->args[1]);
	if (strcmp(shell, "bash") == 0)
		bash(r->out);
	else if (strcmp(shell, "zsh") == 0)
		zsh(r->out);
	else if (strcmp(shell, "man") == 0)
		return manual_print(r);
	else if (strcmp(shell, "fish") == 0)
		fish(r->out);
	else
		return complain_text(EXIT_USAGE,
				     "completion knows bash, zsh, fish and man, not \"%s\"", shell);
	return EXIT_CLEAN;
}

enum { COLUMNS = 100, NARROW = 60, MARGIN = 31, VERB_MARGIN = 15 };

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

void verb_usage(FILE *f, const struct verb *v)
{
	fprintf(f, "Usage: gputune %s%s%s [OPTIONS]\n\n", v->name, *v->args ? " " : "", v->args);
	wrapped(f, v->about, 0, 0);
	fputs("\nOptions:\n", f);
	for (size_t i = 0; i < v->n_options; i++) {
		const struct option_row *o = &option_rows[v->options[i]];
		char left[64];

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg_name ? " " : "", o->arg_name ? o->arg_name : "");
		fprintf(f, "  %-28s ", left);
		wrapped(f, option_help(v, o->id), MARGIN, MARGIN);
	}
}

void usage(FILE *f)
{
	fprintf(f, "Usage: gputune VERB [ARGUMENTS] [OPTIONS]\n\nWhat an NVIDIA GPU machine is and "
		   "what holds it back.\n\n"
		   "Verbs:\n");
	for (size_t i = 0; i < verb_count; i++) {
		fprintf(f, "  %-12s ", verbs[i].name);
		wrapped(f, verbs[i].summary, VERB_MARGIN, VERB_MARGIN);
	}
	fputc('\n', f);
	wrapped(f,
		"\"gputune VERB --help\" tells more. Exit codes: 0 clean, 1 findings, 2 usage, 3 "
		"nothing applied, 4 rollback incomplete, 5 could not see enough, 71 out of memory.",
		0, 0);
}
