/* SPDX-License-Identifier: Apache-2.0 */
/* The manual, printed from the tables of verbs and options: gputune(1), gputune-VERB(1). */
#include <string.h>

#include "front/verbs/cmd.h"

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

static void options(FILE *f, const struct verb *v)
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
	      "that cannot be read\n.TP\n3\nnothing was applied: all of it was refused or "
	      "taken back\n.TP\n"
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
	options(f, v);
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

int manual_print(struct run *r)
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
