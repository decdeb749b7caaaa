/* SPDX-License-Identifier: Apache-2.0 */
/* Advice and sweeps as JSON. Keys and meanings are API. */
#include <math.h>

#include "render/json_value.h"
#include "models/inference/page_advise.h"

static void put(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, json_figure(v));
}

static json_t *outcome_json(const struct outcome *o)
{
	json_t *j = json_object();

	json_object_set_new(j, "fits", json_boolean(o->fits));
	put(j, "ttft_ms", o->ttft);
	put(j, "tpot_ms", o->tpot);
	put(j, "answer_ms", o->answer);
	put(j, "throughput_tok_s", o->throughput);
	put(j, "requests_that_fit", o->users);
	put(j, "memory_bytes", o->bytes);
	put(j, "memory_all_bytes", o->bytes_all);
	json_object_set_new(j, "gpus", json_integer(o->gpus));
	return j;
}

static json_t *gain_json(const struct figure *f)
{
	if (f->value <= 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "value", json_figure(f->value), "low",
			 json_figure(f->low), "high", json_figure(f->high));
}

static json_t *change_json(const struct advice *o, const struct change *c)
{
	static const char *const keys[GOALS] = { "answer", "ttft", "throughput", "requests" };
	json_t *j = json_object(), *gains = json_object();
	bool told = c->gain[o->goal].value > 0;

	json_object_set_new(j, "kind", json_string(change_names[c->kind]));
	json_object_set_new(j, "change", json_text(c->what));
	json_object_set_new(j, "options", json_text(c->options));
	for (int g = 0; g < GOALS; g++)
		json_object_set_new(gains, keys[g], gain_json(&c->gain[g]));
	json_object_set_new(j, "gain", gains);
	json_object_set_new(j, "includes_nothing",
			    told ? json_boolean(c->includes_nothing) : json_null());
	json_object_set_new(j, "confidence", json_string(confidence_names[c->confidence]));
	json_object_set_new(j, "known_from", json_text(c->known_from));
	json_object_set_new(j, "trade_off", json_text(c->trade));
	json_object_set_new(j, "to_measure", json_text(c->measure));
	if (c->kind == CHANGE_SEVERAL)
		put(j, "parts_multiplied", c->parts);
	json_object_set_new(j, "after", outcome_json(&c->after));
	return j;
}

static json_t *changes_json(const struct advice *o, const struct change *list, size_t n)
{
	json_t *j = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(j, change_json(o, &list[i]));
	return j;
}

static json_t *way_json(const struct way *w)
{
	const struct ask *q = &w->q.ask;

	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:i, s:i}", "model", json_text(w->q.arch.name),
			 "weights", json_text(q->weights->name), "kv", json_text(q->cache_name),
			 "engine", engine_names[q->engine], "machine", json_text(q->place.taken),
			 "tp", q->tp, "pp", q->pp);
}

static json_t *asked_json(const struct advice *o)
{
	const struct ask *q = &o->base->q.ask;
	json_t *j = way_json(o->base);

	json_object_set_new(j, "copies", json_integer(o->base->copies));
	json_object_set_new(j, "batch", json_integer(q->batch));
	put(j, "prompt_tokens", q->prompt);
	put(j, "output_tokens", q->output);
	put(j, "depth_tokens", q->depth);
	json_object_set_new(j, "goal", json_string(goal_names[o->goal]));
	return j;
}

static json_t *settings_json(const struct advise_settings *own)
{
	json_t *list = json_array();

	for (size_t i = 0; i < own->n; i++) {
		const struct advise_setting *s = &own->rows[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:o}",
						      "id", json_text(s->row->setting), "target",
						      json_text(s->row->target), "verdict",
						      ruling_name(s->row->verdict), "ratio",
						      json_figure(s->row->ratio), "low",
						      json_figure(s->row->low), "high",
						      json_figure(s->row->high), "expired",
						      s->expired, "text", json_text(s->text)));
	}
	return list;
}

json_t *advise_json(const struct advice *o, const struct advise_settings *own, long long now,
		    int exit_code)
{
	json_t *j = json_head("gputune.advise/1", now, exit_code), *notes = json_array();

	json_object_set_new(j, "asked", asked_json(o));
	json_object_set_new(j, "now", outcome_json(&o->now));
	json_object_set_new(j, "limit", json_string(limit_names[o->before.limit]));
	json_object_set_new(j, "changes", changes_json(o, o->changes, o->n));
	json_object_set_new(j, "together", changes_json(o, o->together, o->n_together));
	json_object_set_new(j, "settings", settings_json(own));
	for (size_t i = 0; i < o->n_notes; i++)
		json_array_append_new(notes, json_text(o->notes[i]));
	json_object_set_new(j, "notes", notes);
	json_object_set_new(j, "tried", json_integer((json_int_t)o->tried));
	json_object_set_new(j, "calibration", json_text(o->before.calibration));
	return j;
}

static json_t *point_json(const struct sweep_point *p)
{
	json_t *j = way_json(p->way);

	json_object_set_new(j, "copies", json_integer(p->copies));
	json_object_set_new(j, "batch", json_integer(p->batch));
	put(j, "chunk", p->chunk);
	json_object_set_new(j, "draft", json_integer(p->draft));
	put(j, "latency_ms", p->latency);
	json_object_set_new(j, "outcome", outcome_json(&p->o));
	return j;
}

json_t *sweep_json(const struct sweep_page *s, long long now, int exit_code)
{
	const struct sweep_result *r = s->result;
	json_t *j = json_head("gputune.sweep/1", now, exit_code), *fronts = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct front *f = &r->fronts[i];
		json_t *points = json_array();

		for (size_t k = 0; k < f->n; k++)
			json_array_append_new(points, point_json(&f->points[k]));
		json_array_append_new(fronts, json_pack("{s:o, s:o, s:o, s:I, s:I, s:o}",
							"prompt_tokens", json_figure(f->prompt),
							"output_tokens", json_figure(f->output),
							"depth_tokens", json_figure(f->depth),
							"tried", (json_int_t)f->tried, "fit",
							(json_int_t)f->fit, "points", points));
	}
	json_object_set_new(j, "latency",
			    json_string(s->asked->goal == GOAL_FIRST ? "ttft_ms" : "answer_ms"));
	json_object_set_new(j, "tried", json_integer((json_int_t)r->tried));
	json_object_set_new(j, "fit", json_integer((json_int_t)r->fit));
	json_object_set_new(j, "senseless", json_integer((json_int_t)r->senseless));
	json_object_set_new(j, "calibration", json_text(s->asked->fits->origin));
	json_object_set_new(j, "fronts", fronts);
	return j;
}
