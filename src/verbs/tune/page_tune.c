/* SPDX-License-Identifier: Apache-2.0 */
/* The one page of a tuned job, and its keys. */
#include <math.h>
#include <string.h>

#include "look/settings/findings.h"
#include "measure/prove/page_prove.h"
#include "verbs/tune/tune.h"

static const char *const state_names[] = { "kept",   "no-gain",	    "hurts",
					   "failed", "not-decided", "not-tried" };
static const char *const state_texts[] = { "kept",   "no gain",	  "hurts",
					   "failed", "undecided", "not tried" };

static const char *figure_text(struct arena *a, const struct tuning *t, double v)
{
	const struct window *w = &t->g.proof.window;
	const char *unit = w->figures[w->main].unit_text;

	return arena_printf(a, v < 1e4 ? "%.4g%s%s" : "%.0f%s%s", v, *unit ? " " : "", unit);
}

static const char *value_text(struct arena *a, const char *before, const char *after)
{
	return before ? arena_printf(a, "%s -> %s", before, after) : after;
}

static void headline(struct doc *d, const struct tuning *t)
{
	const struct proof *p = &t->g.proof;
	const struct ruling *r = &p->compared.ruling;

	if (isfinite(t->after))
		doc_verdict(d, STYLE_GOOD,
			    arena_printf(d->arena, "%s: %s before, %s after",
					 effect_text(d->arena, r->ratio, r->low, r->high),
					 figure_text(d->arena, t, t->before),
					 figure_text(d->arena, t, t->after)),
			    NULL);
	else
		doc_verdict(d, p->verdict == RULING_NO_DIFFERENCE ? STYLE_PLAIN : STYLE_WARN,
			    !p->n_changes ? "nothing to try"
			    : p->verdict == RULING_NO_DIFFERENCE
				    ? "no change makes this job faster by a relevant amount"
				    : "nothing was kept",
			    p->why);
}

static void notes(struct doc *d, const char *title, const struct tune_note *list, size_t n)
{
	struct node *t = n ? DOC_TABLE(d, title, "~", "~") : NULL;

	for (size_t i = 0; i < n; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, list[i].id), cell(list[i].says));
}

static void job(struct doc *d, const struct tuning *t)
{
	struct record conditions = { .conditions = t->g.proof.conditions };
	struct node *pairs = doc_pairs(d, NULL);
	const char *used = NULL;

	for (size_t i = 0; i < JOB_USES; i++)
		if (t->uses && t->uses[i].used)
			used = arena_printf(d->arena, "%s%s%s (%s)", used ? used : "",
					    used ? ", " : "", t->uses[i].name, t->uses[i].seen);
	node_pair(d, pairs, "Job", cell_as(STYLE_CODE, t->g.proof.window.name));
	node_pairf(d, pairs, "Uses", "%s", used ? used : "nothing that a setting affects");
	node_pairf(d, pairs, "Before", "%s, +- %.1f %% from run to run, %zu runs%s",
		   figure_text(d->arena, t, t->before), 100 * t->spread, t->n_runs,
		   t->cold ? arena_printf(d->arena, ", %zu of them with cold caches", t->cold)
			   : "");
	if (!t->dry && t->g.proof.n_windows)
		node_pairf(d, pairs, "Measured", "%zu runs in %.0f min of %.0f min, seed %llu",
			   t->g.proof.n_windows, ceil(t->g.proof.took_s / 60),
			   ceil(t->g.proof.budget_s / 60), (unsigned long long)t->g.proof.seed);
	if (t->measured)
		record_judge(d->arena, &conditions);
	for (size_t i = 0; i < conditions.n_notes; i++)
		node_pair(d, pairs, i ? "" : "Conditions",
			  cell_as(STYLE_WARN, conditions.notes[i]));
}

static struct cell effect_cell(struct doc *d, bool known, double ratio, double low, double high)
{
	return cell(known ? effect_text(d->arena, ratio, low, high) : NULL);
}

static void tried(struct doc *d, const struct tuning *t, bool kept)
{
	struct node *table =
		kept ? DOC_TABLE(d, "Kept", "~Setting", "~Value", "~From", ">Gain in mixtures",
				 ">Loss without it", ">Interaction")
		     : DOC_TABLE(d, "Tried, but not kept", "~Setting", "~Value", "~From",
				 ">Gain in mixtures", ">Loss without it", "~");

	for (size_t i = 0; i < t->n_items; i++) {
		const struct tune_item *x = &t->items[i];
		struct cell *c;

		if ((x->state == TUNE_KEPT) != kept || x->state == TUNE_NOT_TRIED)
			continue;
		c = node_row(d, table);
		c[0] = cell_as(STYLE_CODE,
			       *x->targets ? arena_printf(d->arena, "%s %s", x->id, x->targets)
					   : x->id);
		c[1] = cell(value_text(d->arena, x->before, x->after));
		c[2] = cell(x->from);
		c[3] = effect_cell(d, x->screened, x->effect.ratio, x->effect.low, x->effect.high);
		c[4] = effect_cell(d, x->confirmed, x->member.ratio, x->member.low, x->member.high);
		if (x->confirmed && x->of > 1)
			c[4].text =
				arena_printf(d->arena, "%s, with %zu others", c[4].text, x->of - 1);
		if (kept)
			c[5] = cell(isfinite(x->interaction)
					    ? proof_percent(d->arena, x->interaction)
					    : x->why);
		else
			c[5] = cell_as(x->state == TUNE_HURTS ? STYLE_BAD : STYLE_MUTED,
				       x->why ? arena_printf(d->arena, "%s: %s",
							     state_texts[x->state], x->why)
					      : state_texts[x->state]);
	}
	node_drop_empty(table);
}

/* Settings with one reason are one row. */
static void not_tried(struct doc *d, const struct tuning *t)
{
	struct node *table = DOC_TABLE(d, "Not tried", "~Why", "~Settings");

	for (size_t i = 0; i < t->n_items; i++) {
		const struct tune_item *x = &t->items[i];
		const char *ids = NULL;
		bool said = false;

		for (size_t k = 0; k < t->n_items; k++) {
			const struct tune_item *y = &t->items[k];

			if (y->state != TUNE_NOT_TRIED || x->state != TUNE_NOT_TRIED ||
			    strcmp(x->why, y->why) != 0)
				continue;
			said = said || k < i;
			ids = arena_printf(d->arena, "%s%s%s", ids ? ids : "", ids ? ", " : "",
					   y->id);
		}
		if (ids && !said)
			NODE_ROW(d, table, cell(x->why), cell_as(STYLE_CODE, ids));
	}
}

static void commands(struct doc *d, const struct tuning *t)
{
	struct node *pairs = doc_pairs(d, NULL);

	if (t->g.proof.trouble)
		node_pair(d, pairs, "Not undone", cell_as(STYLE_BAD, t->g.proof.trouble));
	if (t->g.proof.foreign)
		node_pair(d, pairs, "Changed by others", cell_as(STYLE_WARN, t->g.proof.foreign));
	if (t->undo)
		node_pair(d, pairs, "Undo all", cell_as(STYLE_CODE, t->undo));
	if (t->keep)
		node_pair(d, pairs, "Keep at boot", cell_as(STYLE_CODE, t->keep));
	if (t->run)
		node_pair(d, pairs, "Run the job as", cell_as(STYLE_CODE, t->run));
	if (!t->undo && !t->g.proof.trouble)
		node_pair(d, pairs, "Machine", cell("unchanged"));
}

struct doc *page_tune(struct arena *a, const struct tuning *t, bool html)
{
	struct doc *d = doc_new(a);

	if (!t->g.planned.m || !t->uses)
		return d;
	headline(d, t);
	notes(d, "Broken hardware: repair this first", t->health, t->n_health);
	job(d, t);
	tried(d, t, true);
	tried(d, t, false);
	not_tried(d, t);
	notes(d, "Manual steps", t->manual, t->n_manual);
	commands(d, t);
	if (html && t->g.proof.n_windows) {
		doc_section(d, 2, "proof", "How it was measured", cell(""), false);
		doc_append(d, page_prove(a, &t->g.proof), 2);
		doc_section_end(d);
	}
	return d;
}

struct doc *page_tune_plan(struct arena *a, const struct tuning *t)
{
	struct doc *d = doc_new(a);
	struct node *table;
	const struct plan *p = &t->g.planned.plan;

	if (!p->n || !t->uses)
		return d;
	if (t->g.proof.n_changes)
		doc_verdict(d, STYLE_PLAIN,
			    arena_printf(a, "%zu changes in about %.0f min, at most %.0f min",
					 t->g.proof.n_changes, ceil(t->plan_s / 60),
					 ceil(t->g.proof.budget_s / 60)),
			    arena_printf(a,
					 "detects effects of %.2g %% or more; undoes each switch, "
					 "even after a crash",
					 100 * t->resolves));
	notes(d, "Broken hardware: repair this first", t->health, t->n_health);
	job(d, t);
	table = DOC_TABLE(d, "Tried", "~Setting", "!On", "~Value", "Risk", "~Why");
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];

		if (!c->gate)
			NODE_ROW(d, table, cell_as(STYLE_CODE, c->s->id), cell(c->target),
				 cell(value_text(a, c->before, c->after)), cell(risk_name(c->risk)),
				 cell_as(STYLE_MUTED, c->why));
	}
	node_merge(d, table);
	not_tried(d, t);
	notes(d, "Manual steps", t->manual, t->n_manual);
	return d;
}

/* --- keys and meanings are API ---------------------------------------------------------------- */

/* clang-format off */
static const struct shape item_shape = SHAPE_OF(tune_item, item,
	{ "id", "A setting, env.NAME of a variable, or \"profile NAME\".", SHAPE_TEXT(tune_item, id) },
	{ "targets", NULL, SHAPE_TEXT(tune_item, targets) },
	{ "before", NULL, SHAPE_TEXT(tune_item, before), .unknown = SHAPE_NULL },
	{ "after", NULL, SHAPE_TEXT(tune_item, after) },
	{ "from", "Profiles that set it; for a variable, its source.", SHAPE_TEXT(tune_item, from) },
	{ "uses", "Resources that it affects.", SHAPE_TEXT(tune_item, uses) },
	{ "risk", NULL, SHAPE_CHOICE_BY(tune_item, risk, risk_name, RISK_DANGER + 1) },
	{ "state", NULL, SHAPE_CHOICE(tune_item, state, state_names) },
	{ "why", NULL, SHAPE_TEXT(tune_item, why), .unknown = SHAPE_NULL },
	{ "screened", "Figure with this setting divided by the figure without it, while the others vary.",
	  SHAPE_OBJECT_AS(tune_item, effect, screen_effect, screen_effect_shape), SHAPE_WHEN(tune_item, screened) },
	{ "confirmed", "Figure with the kept set divided by the figure without this setting and "
	  "the settings left out with it. For another value or profile: its figure divided by that of the kept set.",
	  SHAPE_OBJECT_AS(tune_item, member, screen_member, screen_member_shape), SHAPE_WHEN(tune_item, confirmed) },
	{ "left_out", "Number of settings left out together, including this one; 0: none.", SHAPE_COUNT(tune_item, of),
	  .later = true },
	{ "interaction", "Effect of the left-out settings, with all others set, divided by that in mixtures.",
	  SHAPE_REAL(tune_item, interaction), .unknown = SHAPE_NULL });

static const struct shape note_shape = SHAPE_OF(tune_note, note,
	{ "id", NULL, SHAPE_TEXT(tune_note, id) },
	{ "says", NULL, SHAPE_TEXT(tune_note, says) });

static const void *tuning_uses(struct arena *a, const void *object, size_t *n)
{
	const struct tuning *t = object;

	(void)a;
	*n = t->uses ? JOB_USES : 0;
	return t->uses;
}

static const struct shape tuning_shape = SHAPE_OF(tuning, tuning,
	{ "command", NULL, SHAPE_TEXT(tuning, g.proof.window.name), .unknown = SHAPE_BLANK },
	{ "metric", NULL, SHAPE_TEXT(tuning, g.proof.window.of), .unknown = SHAPE_BLANK },
	{ "dry_run", NULL, SHAPE_FLAG(tuning, dry) },
	{ "runs", "Figure of each run of the unchanged job.", SHAPE_REAL_ARRAY(tuning, runs, n_runs) },
	{ "cold_runs", "Number of first runs that were discarded.", SHAPE_COUNT(tuning, cold) },
	{ "run_s", NULL, SHAPE_REAL(tuning, seconds) },
	{ "before", NULL, SHAPE_REAL(tuning, before) },
	{ "spread", "One standard deviation of a run, as a share.", SHAPE_REAL(tuning, spread) },
	{ "after", NULL, SHAPE_REAL(tuning, after), .unknown = SHAPE_NULL },
	{ "plan_s", "Estimated duration.", SHAPE_REAL(tuning, plan_s) },
	{ "resolves", "Smallest effect that one screening pass detects, as a share.", SHAPE_REAL(tuning, resolves) },
	{ "uses", NULL, SHAPE_LIST_MADE(tuning_uses, use_row) },
	{ "health", "Broken hardware.", SHAPE_LIST_AS(tuning, health, n_health, tune_note, note_shape) },
	{ "items", "Every candidate.", SHAPE_LIST_AS(tuning, items, n_items, tune_item, item_shape) },
	{ "variables", "Variable to set in the job's environment.",
	  SHAPE_LIST_AS(tuning, variables, n_variables, tune_note, note_shape) },
	{ "manual", "Manual steps.", SHAPE_LIST_AS(tuning, manual, n_manual, tune_note, note_shape) },
	{ "undo", "Command that undoes all changes.", SHAPE_TEXT(tuning, undo), .unknown = SHAPE_NULL },
	{ "keep", "Command that keeps the changes at every boot.", SHAPE_TEXT(tuning, keep), .unknown = SHAPE_NULL },
	{ "run", "Command line of the job with its variables.", SHAPE_TEXT(tuning, run), .unknown = SHAPE_NULL },
	{ "proof", "Every run and the verdict; null for a dry run.", SHAPE_OBJECT(tuning, g.proof, proof),
	  SHAPE_WHEN(tuning, measured) });

const struct result_shape tune_result = {
	.name = "tune", .title = "gputune tune",
	.meaning = "Settings and variables that make one job faster, and those tried or skipped, with reasons.",
	.shape = &tuning_shape, .host = &host_shape, .exit_codes = 1u << 0 | 1u << 4 | 1u << 5,
};
/* clang-format on */
