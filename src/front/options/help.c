/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints, and what an option means to one verb where its row says it of all. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "front/verbs/cmd.h"

enum { COLUMNS = 100, NARROW = 60, MARGIN = 31, VERB_MARGIN = 15 };

/* One option means several things: here is which one to whom. */
static const struct {
	const char *verb;
	enum option_id option;
	const char *help;
} said[] = {
	{ "check", OPT_FORMAT, "term (default), json, md, html, junit, prom, nagios or npd" },
	{ "plan", OPT_FORMAT, "term (default), json, md, html or shell" },
	{ "generate", OPT_FORMAT,
	  "term (default), json, md or html; where KIND can be written so also shell, systemd or "
	  "compose" },
	{ "stack", OPT_FORMAT, "term (default), json, md or html; stack env also shell" },
	{ "monitor", OPT_FORMAT,
	  "term, json (default in a pipe) or, with --once, prom or openmetrics" },
	{ "watch", OPT_FORMAT, "term (default) or json" },
	{ "list", OPT_FORMAT, "term (default) or json" },
	{ "report", OPT_FORMAT, "html (default), md, term or json" },
	{ "undo", OPT_ALL, "take back everything, not only the newest transaction" },
	{ "prove", OPT_ALL, "all settings that the profile would change" },
	{ "doctor", OPT_ALL, "also causes that were excluded or do not apply here" },
	{ "diagnose", OPT_ALL, "also causes that were excluded" },
	{ "fleet", OPT_ALL, "also what differs only between platforms" },
	{ "stack", OPT_ALL, "also what is in order, and what is not installed" },
	{ "persist", OPT_FORCE, "remove also files of ours that somebody edited" },
	{ "report", OPT_FORCE, "replace also a file that is no report" },
	{ "stack", OPT_FORCE, "build-plan --run: begin although disk or memory are short" },
	{ "apply", OPT_BOOT,
	  "apply what persist keeps for every boot, as the boot-time unit does" },
	{ "verify", OPT_BOOT, "compare what persist keeps for every boot with what is in force" },
	{ "monitor", OPT_FOR, "end after this long: 10s, 2m" },
	{ "record", OPT_FOR, "end after this long: 10s, 2m (with a COMMAND: when it ends)" },
	{ "diagnose", OPT_FOR, "--attach: look at the job for this long (default: 20s)" },
	{ "cluster", OPT_FOR,
	  "discover: listen for this long (default: 500ms); check: measure each "
	  "test for this long" },
	{ "doctor", OPT_FOR, "run each test for this long: 10s, 500ms, 2m" },
	{ "monitor", OPT_INTERVAL, "how often to look (default: 1s)" },
	{ "record", OPT_INTERVAL, "how often to look (default: 500ms)" },
	{ "diagnose", OPT_INTERVAL, "--attach: how often to look (default: 500ms)" },
	{ "watch", OPT_INTERVAL,
	  "how often to look where nothing tells of changes (default: 30s)" },
	{ "record", OPT_OUTPUT, "the recording's file (default: gputune-TIME.rec)" },
	{ "capture", OPT_OUTPUT, "the capture: a tar where PATH ends in .tar, else a folder" },
	{ "cluster", OPT_TIMEOUT, "how long a node may take to answer (default: 10s)" },
	{ "calibrate", OPT_DRY_RUN, "show the fit and keep nothing" },
	{ "stack", OPT_DEEP,
	  "look into compressed code, and load libraries to ask their versions" },
	{ "stack", OPT_KEY, "wheelhouse: sign with this SSH key; verify: the allowed signers" },
	{ "cluster", OPT_KEY, "the key that ssh shows the nodes" },
	{ "cluster", OPT_NODES,
	  "the nodes, comma-separated, as ssh calls them; \"localhost\" is "
	  "this machine" },
	{ "generate", OPT_NODES, "how many machines like this one" },
	{ "bench", OPT_LISTEN, "bench serve: listen there (default: 127.0.0.1, port 21187)" },
	{ "generate", OPT_LISTEN, "where the server answers (default: this machine alone)" },
	{ "bench", OPT_RANK, "collectives: this is process N of --ranks; 0 leads and prints" },
	{ "generate", OPT_RANK, "only the part of machine N" },
	{ "prove", OPT_KEEP, "keep what helps; undo takes it back" },
	{ "doctor", OPT_KEEP, "with --fix: keep also what does not help; undo takes it back" },
	{ "show", OPT_AS, "topology: matrix (default), tree, svg, or svg-tall for 360 pixels" },
	{ "cluster", OPT_AS, "discover: svg draws the cluster" },
	{ "compare", OPT_STATE, "where results are kept (default: /var/lib/gputune)" },
	{ "report", OPT_STATE, "take kept results and proofs from this folder" },
	{ "roofline", OPT_STATE, "where results are kept (default: /var/lib/gputune)" },
	{ "predict", OPT_STATE,
	  "where results and calibrations are kept (default: "
	  "/var/lib/gputune)" },
	{ "advise", OPT_STATE,
	  "where results and calibrations are kept (default: "
	  "/var/lib/gputune)" },
	{ "generate", OPT_STATE,
	  "where results and calibrations are kept (default: "
	  "/var/lib/gputune)" },
	{ "predict", OPT_CLAIM,
	  "somebody's figure, to be judged: of one request; training: of all "
	  "GPUs" },
	{ "predict", OPT_HOST, "predict for a captured machine (folder or tar)" },
	{ "stack", OPT_TIMEOUT, "compare: one window may take so long (default: 10m)" },
	{ "stack", OPT_BUDGET, "compare: take no longer than this (default: 10m)" },
	{ "stack", OPT_BENCH, "compare: gemm (default), collectives or gds, or one case of them" },
	{ "stack", OPT_RUN, "build-plan: do the steps; without it they are only listed" },
};

const char *option_help(const struct verb *v, enum option_id id)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (said[i].option == id && strcmp(said[i].verb, v->name) == 0)
			return said[i].help;
	return option_rows[id].help;
}

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
		"nothing applied, 4 rollback incomplete, 5 could not see enough, 71 out of "
		"memory.",
		0, 0);
}
