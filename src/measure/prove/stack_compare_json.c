/* SPDX-License-Identifier: Apache-2.0 */
/* Two builds of a library as JSON. Keys and meanings are API: schemas/stack-compare.json. */
#include <math.h>

#include "render/json_value.h"
#include "look/stack/page_stack.h"
#include "measure/prove/page_stack_compare.h"

static json_t *effect_json(const struct ruling *r)
{
	if (!r->pairs)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "ratio", json_figure(r->ratio), "low",
			 json_figure(r->low), "high", json_figure(r->high), "resolution",
			 json_figure(r->resolution));
}

static json_t *figure_json(const struct versus *v, size_t i)
{
	const struct bench_figure *f = &v->figures[i];

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "key", json_text(f->key), "title",
		json_text(f->title), "unit", json_text(f->unit), "unit_text",
		json_text(f->unit_text), "better", f->better == BENCH_LOWER ? "lower" : "higher",
		"a", json_figure(compare_median(v, i, false)), "b",
		json_figure(compare_median(v, i, true)), "effect", effect_json(&v->ruling[i]));
}

static json_t *side_json(const struct compare_side_view *s)
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

static json_t *windows_json(const struct versus *v)
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
		json_array_append_new(figures, figure_json(v->v, i));
	json_object_set_new(j, "machine", json_text(m->machine));
	json_object_set_new(j, "fingerprint", machine);
	json_object_set_new(j, "bench", json_text(v->bench));
	json_object_set_new(j, "setup", json_text(v->setup));
	json_object_set_new(j, "library", json_text(v->component));
	json_object_set_new(j, "verdict",
			    json_string(v->failed ? "fails" : ruling_name(v->verdict)));
	json_object_set_new(j, "why", json_text(v->why));
	json_object_set_new(j, "effect", effect_json(&v->v->ruling[0]));
	json_object_set_new(j, "a", side_json(&v->sides[0]));
	json_object_set_new(j, "b", side_json(&v->sides[1]));
	json_object_set_new(j, "figures", figures);
	json_object_set_new(j, "pairs", json_integer((json_int_t)v->v->pairs));
	/* 64 bits: more than numbers of JSON are sure to keep. */
	json_object_set_new(j, "seed", json_sprintf("%llu", (unsigned long long)v->v->seed));
	json_object_set_new(j, "min_effect", json_figure(v->v->min_effect));
	json_object_set_new(j, "budget_s", json_figure(v->v->budget_s));
	json_object_set_new(j, "took_s", json_figure(v->v->took_s));
	json_object_set_new(j, "windows", windows_json(v->v));
	return j;
}
