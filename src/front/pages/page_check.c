/* SPDX-License-Identifier: Apache-2.0 */
/* What holds the machine back, in as few lines as it takes. */
#include <string.h>

#include "base/text.h"
#include "measure/prove/measured.h"
#include "front/pages/page_check.h"
#include "front/pages/page_plan.h"

static enum style severity_style(const struct finding *f)
{
	if (f->v.kind == VERDICT_PASS)
		return STYLE_GOOD;
	if (f->v.kind == VERDICT_NA)
		return STYLE_MUTED;
	if (f->v.kind == VERDICT_UNKNOWN)
		return STYLE_UNKNOWN;
	return f->s->severity >= SEVERITY_HIGH ? STYLE_BAD : STYLE_WARN;
}

/* One word that says both what it is and how much it matters. */
static const char *mark(const struct finding *f)
{
	switch (f->v.kind) {
	case VERDICT_FAIL:
		return severity_name(f->s->severity);
	case VERDICT_UNKNOWN:
		return "unknown";
	case VERDICT_NA:
		return "n/a";
	default:
		return "ok";
	}
}

/* Long lists of targets end in a count: the full list is in the JSON. */
static const char *short_target(struct arena *a, const struct finding *f)
{
	enum { SHOWN = 2 };

	if (f->n_targets <= SHOWN + 1 || strlen(f->target) <= 24)
		return f->target;
	return arena_printf(a, "%s %s +%zu", f->targets[0], f->targets[1], f->n_targets - SHOWN);
}

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

/* "no lock: SM 345 MHz" says more than "is X, wanted Y", which the columns say already. */
static const char *say(const struct finding *f)
{
	if (f->v.kind == VERDICT_FAIL && str_starts(f->v.reason, "is "))
		return f->v.why;
	return *f->v.reason ? f->v.reason : f->v.why;
}

static bool shown(const struct finding *f, const struct check_view *how)
{
	return how->all || f->v.kind == VERDICT_FAIL || f->v.kind == VERDICT_UNKNOWN;
}

/* What a person types, or does, about a finding. plan NULL: nobody planned. Arena or static. */
static struct cell finding_fix(struct arena *a, const struct finding *f, const struct plan *plan)
{
	const struct change *refused = NULL;
	const char *id = f->s->id;

	if (f->v.kind == VERDICT_UNKNOWN)
		return cell_as(STYLE_CODE, arena_printf(a, "sudo gputune check --only %s", id));
	if (f->v.kind != VERDICT_FAIL)
		return cell(NULL);
	for (size_t i = 0; plan && i < plan->n; i++) {
		if (plan->changes[i].s != f->s)
			continue;
		if (!plan->changes[i].gate)
			return cell_as(STYLE_CODE,
				       arena_printf(a, "sudo gputune apply --only %s", id));
		refused = refused ? refused : &plan->changes[i];
	}
	if (refused && gate_can_be_lifted(refused->gate))
		return cell_as(STYLE_CODE,
			       arena_printf(a, "sudo gputune apply --only %s --allow %s", id, id));
	for (size_t i = 0; plan && !refused && i < plan->n_advice; i++)
		if (plan->advice[i].finding->s == f->s)
			return cell(plan->advice[i].sentence);
	return refused ? cell(refused->refusal)
		       : cell_as(STYLE_CODE, arena_printf(a, "gputune explain %s", id));
}

static void add_row(struct doc *d, struct node *t, const struct finding *f,
		    const struct check_view *how)
{
	struct cell *c = node_row(d, t);
	enum style style = severity_style(f);

	c[0] = cell_as(style, mark(f));
	c[1] = cell_as(STYLE_CODE, f->s->id);
	c[2] = cell(short_target(d->arena, f));
	c[3] = cell(or_dash(f->v.current));
	c[4] = cell(or_dash(f->v.wanted));
	if (t->n_columns > 5)
		c[5] = cell(say(f));
	if (how->verbose) {
		c[6] = cell_as(STYLE_MUTED, f->read_from ? f->read_from : "");
		c[7] = cell_as(STYLE_MUTED,
			       f->s->effect == EFFECT_NOW
				       ? risk_name(f->s->risk)
				       : arena_printf(d->arena, "%s, %s", risk_name(f->s->risk),
						      effect_name(f->s->effect)));
	}
	if (how->fixes)
		c[8] = finding_fix(d->arena, f, how->plan);
}

static void table(struct doc *d, const char *title, const struct findings *f,
		  const struct check_view *how, bool health)
{
	static const struct column columns[] = {
		{ .title = "" },
		{ .title = "Setting" },
		{ .title = "On" },
		{ .title = "Now", .wrap = true },
		{ .title = "Wanted", .wrap = true },
		{ .title = "Why", .wrap = true },
		{ .title = "Read from", .wrap = true },
		{ .title = "Risk" },
		{ .title = "Fix", .wrap = true },
	};
	struct node *t = doc_table(d, title, columns,
				   how->fixes		    ? 9
				   : how->verbose	    ? 8
				   : how->reasons || health ? 6
							    : 5);

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];

		if ((it->s->health && it->v.kind == VERDICT_FAIL) == health && shown(it, how))
			add_row(d, t, it, how);
	}
	node_drop_empty(t);
}

static const char *machine_line(struct arena *a, const struct machine *m)
{
	const struct gpu *g = machine_gpu(m, 0);
	const char *gpus = "";

	if (g && seen_ok(&g->name.f))
		gpus = arena_printf(a, ", %zu x %s", m->gpu.gpus.n, g->name.v);
	return arena_printf(a, "%s: %s (%s), %s%s, kernel %s", fact_text(&m->nodename, "?"),
			    fact_text(&m->platform.product, "unnamed product"),
			    fact_text(&m->platform.kind, "?"),
			    fact_text(&m->cpu.model, fact_text(&m->kernel.arch, "?")), gpus,
			    fact_text(&m->kernel.release, "?"));
}

static void summary(struct doc *d, const struct machine *m, const struct profile *p,
		    const struct findings *f, const struct check_view *how)
{
	struct node *line = doc_paragraph(d);

	if (f->score >= 0)
		node_span(d, line, cell_printf(d, STYLE_STRONG, "Score %d of 100", f->score));
	else
		node_span(d, line, cell_as(STYLE_STRONG, "No score: nothing could be judged"));
	node_span(d, line,
		  cell_printf(d, STYLE_PLAIN,
			      " (profile %s): %zu to fix, %zu right, %zu not applicable, %zu could "
			      "not be seen.",
			      p->name, f->count[VERDICT_FAIL], f->count[VERDICT_PASS],
			      f->count[VERDICT_NA], f->count[VERDICT_UNKNOWN]));
	if (f->count[VERDICT_UNKNOWN] && fact_or(&m->euid, 0) != 0)
		node_span(d, line, cell(" Root sees more."));
	if (!how->all && f->count[VERDICT_FAIL] + f->count[VERDICT_UNKNOWN] < f->n)
		node_span(d, line,
			  cell_as(STYLE_MUTED,
				  " --all shows the rest; \"gputune explain ID\" tells more."));
}

struct doc *page_check(struct arena *a, const struct machine *m, const struct profile *p,
		       const struct findings *f, const struct check_view *how)
{
	struct doc *d = doc_new(a);

	doc_text(d, "%s", machine_line(a, m));
	table(d, "Health first: these come before any setting", f, how, true);
	table(d, "Settings", f, how, false);
	measured_findings_page(d, f, how->ledger);
	summary(d, m, p, f, how);
	return d;
}
