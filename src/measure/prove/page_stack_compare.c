/* SPDX-License-Identifier: Apache-2.0 */
/* What two builds of a library are worth beside each other: the verdict, then both sides. */
#include <math.h>

#include "measure/prove/page_stack_compare.h"
#include "measure/prove/proof.h"
#include "base/json.h"
#include "look/stack/page_stack.h"

/* The median of a side's windows; NAN without any. */
static double compare_median(const struct versus *v, size_t figure, bool b)
{
	struct arena a = { 0 };
	double *x = arena_array(&a, v->n_windows, sizeof(*x)), m = NAN;
	size_t n = 0;

	for (size_t i = 0; i < v->n_windows; i++)
		if (v->windows[i].b == b)
			x[n++] = v->windows[i].value[figure];
	if (n)
		m = stat_median_in_place(x, n);
	arena_free(&a);
	return m;
}

static const char *effect_text(struct arena *a, const struct ruling *r)
{
	if (!r->pairs || !(r->low > 0) || !isfinite(r->high))
		return NULL;
	return arena_printf(a, "%s (%s to %s)", proof_percent(a, r->ratio),
			    proof_percent(a, r->low), proof_percent(a, r->high));
}

static struct cell stack_compare_page_verdict_cell(const struct compare_view *v)
{
	if (v->failed)
		return cell_as(STYLE_BAD, v->sides[1].fault ? "B fails" : "A fails");
	switch (v->verdict) {
	case RULING_HELPS:
		return cell_as(STYLE_GOOD, "B is better");
	case RULING_HURTS:
		return cell_as(STYLE_BAD, "B is worse");
	case RULING_NO_DIFFERENCE:
		return cell_as(STYLE_PLAIN, "no difference");
	default:
		return cell_as(STYLE_WARN, "could not decide");
	}
}

static void stack_compare_page_headline(struct doc *d, const struct compare_view *v)
{
	const struct ruling *r = &v->v->ruling[0];
	const char *effect = effect_text(d->arena, r);
	struct node *line = doc_paragraph(d);

	node_span(d, line, cell_as(STYLE_CODE, v->bench));
	node_span(d, line, cellf(d, " by %s: ", v->component));
	node_span(d, line, stack_compare_page_verdict_cell(v));
	if (effect && !v->failed)
		node_span(d, line, cell_printf(d, STYLE_STRONG, ", %s", effect));
	node_span(d, line, cell("."));
	if (v->why)
		doc_text(d, "%c%s.",
			 v->why[0] >= 'a' && v->why[0] <= 'z' ? v->why[0] - 32 : v->why[0],
			 v->why + 1);
	if (v->verdict == RULING_NO_DIFFERENCE)
		doc_text(d, "A difference larger than %.1f %% would have been seen.",
			 r->resolution * 100);
	if (!v->failed && v->verdict == RULING_UNDECIDED && r->needed)
		doc_text(d, "About %zu pairs would decide; these were %zu.", r->needed, r->pairs);
}

static void sides(struct doc *d, const struct compare_view *v)
{
	for (int i = 0; i < 2; i++) {
		const struct compare_side_view *s = &v->sides[i];
		struct node *n = doc_pairs(d, i ? "B" : "A");

		node_pair(d, n, "what", cell(s->side->place));
		node_pair(d, n, "file", cell_as(STYLE_CODE, s->side->file));
		if (s->side->version)
			node_pairf(d, n, "version", "%s, by %s", s->side->version,
				   s->side->version_from);
		for (size_t k = 0; k < s->n_choices; k++)
			node_pair(d, n, k ? "or" : "chosen",
				  s->n_choices > 1
					  ? cellf(d, "%s (%zu windows)", s->choices[k].text,
						  s->choices[k].windows)
					  : cell(s->choices[k].text));
		if (s->fault)
			node_pair(d, n, "fails", cell_as(STYLE_BAD, s->fault));
		node_drop_empty(n);
	}
}

static void stack_compare_page_figures(struct doc *d, const struct compare_view *v)
{
	struct node *t = DOC_TABLE(d, NULL, "~Figure", ">A", ">B", ">B better by");

	for (size_t i = 0; v->v->pairs && i < v->v->n_figures; i++) {
		const struct bench_figure *f = &v->v->figures[i];
		struct cell *c = node_row(d, t);

		c[0] = cell(f->title);
		for (int b = 0; b < 2; b++)
			c[1 + b] = cellf(d, "%.4g %s", compare_median(v->v, i, b), f->unit_text);
		c[3] = cell(effect_text(d->arena, &v->v->ruling[i]));
	}
	node_drop_empty(t);
}

struct doc *page_stack_compare(struct arena *a, const struct compare_view *v)
{
	struct doc *d = doc_new(a);

	stack_compare_page_headline(d, v);
	stack_compare_page_figures(d, v);
	sides(d, v);
	if (v->v->pairs)
		doc_text(d,
			 "Measured: %zu pairs in random order, seed %llu, in %.0f s; each window a "
			 "process that loads one of both. Medians of the windows; the interval is "
			 "that of the stop rule for the first figure, %.1f %% and more for the "
			 "others.",
			 v->v->pairs, (unsigned long long)v->v->seed, v->v->took_s,
			 100 * (1 - v->v->rule.level[v->v->rule.n_looks - 1]));
	return d;
}

/* Two builds of a library as JSON. Keys and meanings are API: schemas/stack-compare.json. */

static json_t *effect_json(const struct ruling *r)
{
	if (!r->pairs)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "ratio", json_figure(r->ratio), "low",
			 json_figure(r->low), "high", json_figure(r->high), "resolution",
			 json_figure(r->resolution));
}

static json_t *stack_compare_page_figure_json(const struct versus *v, size_t i)
{
	const struct bench_figure *f = &v->figures[i];

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "key", json_text(f->key), "title",
		json_text(f->title), "unit", json_text(f->unit), "unit_text",
		json_text(f->unit_text), "better", f->better == BENCH_LOWER ? "lower" : "higher",
		"a", json_figure(compare_median(v, i, false)), "b",
		json_figure(compare_median(v, i, true)), "effect", effect_json(&v->ruling[i]));
}

static json_t *stack_compare_page_side_json(const struct compare_side_view *s)
{
	json_t *chosen = json_array();

	for (size_t i = 0; i < s->n_choices; i++)
		json_array_append_new(chosen,
				      json_pack("{s:o, s:I}", "text", json_text(s->choices[i].text),
						"windows", (json_int_t)s->choices[i].windows));
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "asked", json_text(s->side->word),
		"place", json_text(s->side->place), "file", json_text(s->side->file), "soname",
		json_text(s->side->soname), "version", json_text(s->side->version), "version_from",
		json_text(s->side->version_from), "chosen", chosen, "fault", json_text(s->fault));
}

static json_t *stack_compare_page_windows_json(const struct versus *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n_windows; i++) {
		const struct versus_window *w = &v->windows[i];
		json_t *values = json_array();

		for (size_t k = 0; k < v->n_figures; k++)
			json_array_append_new(values, json_figure(w->value[k]));
		json_array_append_new(list,
				      json_pack("{s:I, s:s, s:o, s:o}", "pair", (json_int_t)w->pair,
						"side", w->b ? "b" : "a", "at_s",
						json_figure(w->at_s), "values", values));
	}
	return list;
}

json_t *stack_compare_json(const struct compare_view *v, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.stack-compare/1", time_s, exit_code);
	json_t *figures = json_array(), *machine = json_object();
	const struct record *m = &v->machine;

	for (size_t i = 0; i < m->n_fingerprint; i++)
		json_object_set_new(machine, m->fingerprint[i].name,
				    json_text(m->fingerprint[i].value));
	for (size_t i = 0; i < v->v->n_figures; i++)
		json_array_append_new(figures, stack_compare_page_figure_json(v->v, i));
	json_object_set_new(j, "machine", json_text(m->machine));
	json_object_set_new(j, "fingerprint", machine);
	json_object_set_new(j, "bench", json_text(v->bench));
	json_object_set_new(j, "setup", json_text(v->setup));
	json_object_set_new(j, "library", json_text(v->component));
	json_object_set_new(j, "verdict",
			    json_string(v->failed ? "fails" : ruling_name(v->verdict)));
	json_object_set_new(j, "why", json_text(v->why));
	json_object_set_new(j, "effect", effect_json(&v->v->ruling[0]));
	json_object_set_new(j, "a", stack_compare_page_side_json(&v->sides[0]));
	json_object_set_new(j, "b", stack_compare_page_side_json(&v->sides[1]));
	json_object_set_new(j, "figures", figures);
	json_object_set_new(j, "pairs", json_integer((json_int_t)v->v->pairs));
	/* 64 bits: more than numbers of JSON are sure to keep. */
	json_object_set_new(j, "seed", json_sprintf("%llu", (unsigned long long)v->v->seed));
	json_object_set_new(j, "min_effect", json_figure(v->v->min_effect));
	json_object_set_new(j, "budget_s", json_figure(v->v->budget_s));
	json_object_set_new(j, "took_s", json_figure(v->v->took_s));
	json_object_set_new(j, "windows", stack_compare_page_windows_json(v->v));
	return j;
}
