/* SPDX-License-Identifier: Apache-2.0 */
/* The script's frame and its steps; how each kind is read by other programs is in knob.c. */
#include "tune/plan/plan.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "render/display_text.h"
#include "machine/knob/knob.h"

/* The functions of a step are called by number, which shellcheck does not see. */
static const char frame[] = "# shellcheck disable=SC2016,SC2317,SC2329\n"
			    "set -eu\n"
			    "LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
			    "export LC_ALL PATH\n"
			    "\n"
			    "say() { printf '%s\\n' \"$*\"; }\n"
			    "stop() { printf 'stopped: %s\\n' \"$*\" >&2; exit 1; }\n"
			    "\n";

/* $1 is a step's number, $2 whether its value can be read. */
static const char steps_frame[] =
	"# Each step: its number, seen or blind, its name, the value before, the value after.\n"
	"compare() {\n"
	"\tif [ \"$2\" = blind ]; then say \"$3: cannot be read, wanted $5\"; return 0; fi\n"
	"\tnow=$(\"now_$1\") || stop \"$3 could not be read\"\n"
	"\t[ \"$now\" = \"$4\" ] || [ \"$now\" = \"$5\" ] || stop \"$3 is '$now', but was "
	"'$4' in the plan\"\n"
	"\tsay \"$3: $now, wanted $5\"\n"
	"}\n"
	"write() {\n"
	"\tif [ \"$2\" = blind ]; then\n"
	"\t\t\"set_$1\" || stop \"$3 could not be written; to undo: sh $0 undo\"\n"
	"\t\tsay \"$3: $5\"; return 0\n"
	"\tfi\n"
	"\tnow=$(\"now_$1\") || stop \"$3 could not be read; to undo: sh $0 undo\"\n"
	"\tif [ \"$now\" = \"$5\" ]; then return 0; fi\n"
	"\t[ \"$now\" = \"$4\" ] || stop \"$3 is now '$now'; to undo: sh $0 undo\"\n"
	"\t\"set_$1\" || stop \"$3 could not be written; to undo: sh $0 undo\"\n"
	"\tnow=$(\"now_$1\") || stop \"$3 could not be read; to undo: sh $0 undo\"\n"
	"\t[ \"$now\" = \"$5\" ] || stop \"$3 took '$now' instead of '$5'; to undo: sh $0 "
	"undo\"\n"
	"\tsay \"$3: $4 -> $5\"\n"
	"}\n"
	"# Continues when a change cannot be undone.\n"
	"restore() {\n"
	"\tif [ \"$2\" = seen ]; then\n"
	"\t\tif now=$(\"now_$1\"); then :; else now=; fi\n"
	"\t\tif [ \"$now\" = \"$4\" ]; then return 0; fi\n"
	"\t\tif [ \"$now\" != \"$5\" ]; then say \"$3: not undone, it is now '$now'\"; return "
	"0; fi\n"
	"\tfi\n"
	"\tback=\"$back$1 \"\n"
	"\tif ! \"unset_$1\"; then say \"$3: NOT undone\"; failed=1; return 0; fi\n"
	"\tsay \"$3: back to $4\"\n"
	"}\n"
	"# Undoing one may have reset another: restores again, in the order of writing.\n"
	"settle() {\n"
	"\tcase $2$back in seen*\" $1 \"*) ;; *) return 0 ;; esac\n"
	"\tif now=$(\"now_$1\") && [ \"$now\" = \"$4\" ]; then return 0; fi\n"
	"\t\"unset_$1\" || :\n"
	"\tif now=$(\"now_$1\") && [ \"$now\" = \"$4\" ]; then return 0; fi\n"
	"\tsay \"$3: is '$now' instead of '$4'\"\n"
	"\tfailed=1\n"
	"}\n";

static const char end[] = "\n"
			  "failed=0\n"
			  "back=' '\n"
			  "case ${1:-check} in\n"
			  "check)\n"
			  "\tforward compare\n"
			  "\tsay 'nothing was written'\n"
			  "\t;;\n"
			  "apply)\n"
			  "\t[ \"$(id -u)\" -eq 0 ] || stop 'needs root'\n"
			  "\tforward compare >/dev/null\n"
			  "\tforward write\n"
			  "\t;;\n"
			  "undo)\n"
			  "\t[ \"$(id -u)\" -eq 0 ] || stop 'needs root'\n"
			  "\tbackward restore\n"
			  "\tforward settle\n"
			  "\t[ \"$failed\" = 0 ] || stop 'some changes could not be undone'\n"
			  "\t;;\n"
			  "*)\n"
			  "\tprintf 'usage: sh %s [check|apply|undo]\\n' \"$0\" >&2\n"
			  "\texit 2\n"
			  "\t;;\n"
			  "esac\n";

/* A comment ends with its line: nothing of the text may begin another, or be shown as one. */
static void plan_shell_comment(FILE *out, const char *what, const char *text)
{
	TEXT_AUTO t = { 0 };

	if (!text || !*text)
		return;
	display_clean(&t, text, false);
	fprintf(out, "# %s%s\n", what, t.s);
}

static const char *shown(const char *value)
{
	return !value ? "unknown" : *value ? value : "(empty)";
}

/* Something that a shell would take for two commands is no command. */
static bool one_line(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < 0x20)
			return false;
	return s;
}

struct step {
	const struct change *c;
	const char *label;		/* "memory.swappiness on gpu0" */
	const char *read, *set, *unset; /* shell text; NULL: there is none */
};

/* A lock without a getter is undone by taking it off. */
static const char *prior(const struct change *c)
{
	if (!c->before && c->knob.kind == KNOB_NVML && str_ends(c->knob.name, "-lock"))
		return "unlocked";
	return c->before;
}

static struct step plan_shell_step_of(struct arena *a, const struct machine *m,
				      const struct change *c)
{
	struct step s = { .c = c };
	const char *before = prior(c);

	s.label = *c->target ? arena_printf(a, "%s on %s", c->s->id, c->target) : c->s->id;
	s.read = c->before ? shell_read(a, &c->knob) : NULL;
	s.set = knob_command(a, &c->knob, c->after);
	s.unset = before ? knob_command(a, &c->knob, before) : NULL;
	/* Ours are told from others' there: apply does it. */
	if (!one_line(s.set) ||
	    (c->knob.kind == KNOB_BOOTARG &&
	     strcmp(boot_menu_file(boot_menu_parse(fact_text(&m->config.boot_menu, ""))),
		    BOOT_DROP_IN) != 0))
		s.set = NULL;
	if (!one_line(s.unset))
		s.unset = NULL;
	return s;
}

static void plan_shell_functions(FILE *out, struct arena *a, const struct step *s, size_t n)
{
	const struct change *c = s->c;

	fprintf(out, "\n");
	plan_shell_comment(out, arena_printf(a, "%zu. ", n), s->label);
	plan_shell_comment(out, "   ",
			   arena_printf(a, "%s: %s -> %s", knob_text(a, &c->knob), shown(c->before),
					shown(c->after)));
	plan_shell_comment(out, "   Why: ", c->why);
	plan_shell_comment(out, "   ",
			   arena_printf(a, "Risk: %s. Takes effect: %s.", risk_name(c->risk),
					effect_name(c->effect)));
	if (c->knob.kind == KNOB_SYSFS && str_ends(c->knob.name, "/queue/scheduler"))
		plan_shell_comment(out, "   ",
				   "The kernel then resets the queue's nr_requests; undo only "
				   "restores it if a step also sets it.");
	if (!s->read)
		plan_shell_comment(out, "   ",
				   "No program prints the current value: apply and undo set it "
				   "without checking it first.");
	for (size_t i = 0; i < c->n_owners; i++)
		plan_shell_comment(out, "   Also set by ",
				   arena_printf(a, "%s%s", c->owners[i].what,
						c->owners[i].wins && c->owners[i].at_boot
							? " (wins at boot)"
							: ""));
	plan_shell_comment(out, "   Undone: ",
			   s->unset ? knob_how_undone(c->knob.kind)
				    : "not in this script: the old value is unknown");
	if (s->read)
		fprintf(out, "now_%zu() { %s; }\n", n, s->read);
	fprintf(out, "set_%zu() { %s; }\n", n, s->set);
	fprintf(out, "unset_%zu() { %s; }\n", n, s->unset ? s->unset : "return 1");
}

static void call(FILE *out, struct arena *a, const struct step *s, size_t n)
{
	const char *before = prior(s->c);

	fprintf(out, "\t\"$1\" %zu %s %s %s %s\n", n, s->read ? "seen" : "blind",
		shell_quote(a, s->label), shell_quote(a, before ? before : "unknown"),
		shell_quote(a, s->c->after));
}

static void plan_shell_header(FILE *out, struct arena *a, const struct machine *m,
			      const struct plan *p)
{
	char when[STAMP_SIZE];

	fputs("#!/bin/sh\n", out);
	plan_shell_comment(out, "Changes for ",
			   arena_printf(a, "%s (%s, %s)",
					p->nodename ? p->nodename : "an unnamed machine",
					fact_text(&m->platform.kind, "unknown platform"),
					fact_text(&m->kernel.release, "unknown kernel")));
	plan_shell_comment(out, "Profile ", p->profile);
	plan_shell_comment(out, "Made by gputune " GPUTUNE_VERSION " on ",
			   stamp_format(p->time_s, when) ? "an unknown date" : when);
	fputs("#\n# sh FILE         compares the machine with the values in the plan; writes "
	      "nothing\n# sh FILE apply   compares, writes in this order, reads back, stops at the "
	      "first difference\n# sh FILE undo    undoes, newest first, changes that still have "
	      "the plan's value\n#\n# Nothing is kept for the next boot. Gains are unmeasured "
	      "unless a reason states otherwise.\n",
	      out);
}

/* What the script does not do, and why: a reader must not think that it was forgotten. */
static void plan_shell_left_out(FILE *out, struct arena *a, const struct plan *p,
				const struct step *steps)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];

		if (c->gate)
			plan_shell_comment(out, "Refused: ",
					   arena_printf(a, "%s: %s", steps[i].label,
							c->refusal ? c->refusal : c->gate));
		else if (!steps[i].set)
			plan_shell_comment(
				out, "Not in this script: ",
				arena_printf(a, "%s (%s -> %s): no single command sets it",
					     steps[i].label, shown(c->before), shown(c->after)));
	}
	for (size_t i = 0; i < p->n_advice; i++)
		plan_shell_comment(
			out, "Manually: ",
			arena_printf(a, "%s: %s", p->advice[i].finding->s->id,
				     p->advice[i].sentence ? p->advice[i].sentence : ""));
}

void plan_shell(FILE *out, const struct machine *m, const struct plan *p)
{
	ARENA_AUTO a = { 0 };
	struct step *steps = arena_array(&a, p->n, sizeof(*steps));

	for (size_t i = 0; i < p->n; i++)
		steps[i] = plan_shell_step_of(&a, m, &p->changes[i]);
	plan_shell_header(out, &a, m, p);
	plan_shell_left_out(out, &a, p, steps);
	fputs(frame, out);
	fputs(shell_functions, out);
	fputs(steps_frame, out);
	for (size_t i = 0; i < p->n; i++)
		if (!p->changes[i].gate && steps[i].set)
			plan_shell_functions(out, &a, &steps[i], i + 1);
	fputs("\nforward() {\n\t:\n", out);
	for (size_t i = 0; i < p->n; i++)
		if (!p->changes[i].gate && steps[i].set)
			call(out, &a, &steps[i], i + 1);
	fputs("}\n\nbackward() {\n\t:\n", out);
	for (size_t i = p->n; i > 0; i--)
		if (!p->changes[i - 1].gate && steps[i - 1].set)
			call(out, &a, &steps[i - 1], i);
	fputs("}\n", out);
	fputs(end, out);
}
