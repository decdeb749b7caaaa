/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction of training as JSON. Keys and meanings are API: schemas/train.json. */
#include "render/json_value.h"
#include "models/training/page_train.h"

static void put(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, json_figure(v));
}

static void put_int(json_t *o, const char *key, int v)
{
	json_object_set_new(o, key, json_integer(v));
}

static void put_text(json_t *o, const char *key, const char *v)
{
	json_object_set_new(o, key, json_text(v));
}

static json_t *figure(const struct train_figure *f)
{
	return json_interval(f->value, f->low, f->high);
}

static json_t *question_json(const struct train_question *q)
{
	json_t *j = json_object();

	put_text(j, "model", q->arch.name && *q->arch.name ? q->arch.name : q->model);
	put_text(j, "machine", q->place.taken);
	put_text(j, "gpu", q->place.gpu->name);
	put_int(j, "gpus", q->place.gpus);
	put_int(j, "machines", q->place.nodes);
	put_text(j, "parallel", train_way_names[q->way]);
	put_int(j, "dp", q->dp);
	put_int(j, "shard", q->shard);
	put_int(j, "tp", q->tp);
	put_int(j, "pp", q->pp);
	put_int(j, "cp", q->cp);
	put_int(j, "ep", q->ep);
	put_int(j, "interleave", q->interleave);
	put_int(j, "micro_batch", q->micro_batch);
	put_int(j, "accumulation", q->accumulation);
	put_int(j, "global_batch", q->global_batch);
	put_int(j, "sequence_tokens", q->sequence);
	put_text(j, "precision", train_precision_names[q->precision]);
	put_text(j, "checkpointing", train_recompute_names[q->recompute]);
	put_text(j, "optimizer", train_optimizer_names[q->optimizer]);
	put_text(j, "attention", train_attention_names[q->attention]);
	json_object_set_new(j, "overlap", json_boolean(q->overlap));
	json_object_set_new(j, "tp_overlap", json_boolean(q->tp_overlap));
	json_object_set_new(j, "compile", json_boolean(q->compile));
	put(j, "bucket_bytes", q->bucket_bytes);
	return j;
}

static json_t *memory_json(const struct train_memory *m)
{
	json_t *j = json_object();

	put(j, "weights_bytes", m->weights);
	put(j, "master_bytes", m->master);
	put(j, "gradients_bytes", m->gradients);
	put(j, "states_bytes", m->states);
	put(j, "activations_bytes", m->activations);
	put(j, "working_bytes", m->working);
	put(j, "logits_bytes", m->logits);
	put(j, "buffers_bytes", m->buffers);
	put(j, "context_bytes", m->context);
	put(j, "waste_bytes", m->waste);
	put(j, "limit_bytes", m->limit);
	json_object_set_new(j, "total_bytes", figure(&m->all));
	json_object_set_new(j, "fits", json_boolean(m->fits));
	return j;
}

static json_t *time_json(const struct train_time *t)
{
	json_t *j = json_object();

	put(j, "forward_s", t->forward);
	put(j, "backward_s", t->backward);
	put(j, "recompute_s", t->recompute);
	put(j, "launch_s", t->launch);
	put(j, "optimizer_s", t->optimizer);
	put(j, "exposed_s", t->exposed);
	put(j, "contention_s", t->contention);
	put(j, "communication_s", t->comm);
	put(j, "bubble_s", t->bubble);
	put(j, "loader_s", t->loader);
	put(j, "waiting_s", t->slack);
	json_object_set_new(j, "step_s", figure(&t->total));
	return j;
}

static json_t *comms_json(const struct train_answer *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];
		json_t *j = json_object();

		put_text(j, "collective", train_collective_names[c->what]);
		put_text(j, "purpose", c->purpose);
		put_int(j, "ranks", c->ranks);
		json_object_set_new(j, "network", json_boolean(c->between));
		put(j, "count", c->count);
		put(j, "bytes", c->bytes);
		put(j, "bus_gb_per_s", c->busbw_gbs);
		put(j, "total_s", c->total_s);
		put(j, "exposed_s", c->exposed_s);
		put_text(j, "from", c->from);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *change_json(const struct train_change *c)
{
	json_t *j = json_object();

	put_text(j, "key", c->key);
	put_text(j, "name", c->name);
	put_text(j, "why", c->why);
	json_object_set_new(j, "fits", json_boolean(c->fits));
	put(j, "tokens_per_s", c->tokens_s);
	put(j, "memory_bytes", c->memory);
	json_object_set_new(j, "gain", figure(&c->gain));
	json_object_set_new(j, "after", question_json(&c->q));
	put_text(j, "state", "predicted");
	return j;
}

static json_t *what_if_json(const struct train_what_if *w)
{
	json_t *list = json_array();

	if (!w) {
		json_decref(list);
		return json_null();
	}
	for (size_t i = 0; i < w->n; i++)
		json_array_append_new(list, change_json(&w->changes[i]));
	return json_pack("{s:o, s:o}", "changes", list, "best",
			 w->has_best ? change_json(&w->best) : json_null());
}

static json_t *scale_json(const struct train_page *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_points; i++) {
		const struct train_point *x = &p->points[i];
		json_t *j = json_object();

		put_int(j, "gpus", x->gpus);
		put_int(j, "machines", x->nodes);
		json_object_set_new(j, "possible", json_boolean(x->possible));
		put_text(j, "why_not", x->why);
		json_object_set_new(j, "step_s",
				    x->possible ? json_figure(x->step_s) : json_null());
		json_object_set_new(j, "tokens_per_s",
				    x->possible ? json_figure(x->tokens_s) : json_null());
		json_object_set_new(j, "efficiency_ratio",
				    x->possible ? figure(&x->efficiency) : json_null());
		json_object_set_new(j, "exposed_ratio",
				    x->possible ? json_figure(x->exposed_part) : json_null());
		put_text(j, "rest", x->causes);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *judgement_json(const struct train_judgement *t)
{
	json_t *list = json_array(), *j = json_object();

	for (size_t i = 0; t && i < t->n; i++) {
		const struct train_cause *c = &t->causes[i];

		json_array_append_new(list,
				      json_pack("{s:o, s:b, s:o, s:o, s:o, s:o}", "what",
						json_text(c->what), "excluded", c->excluded,
						"needs", json_figure(c->needs), "needs_unit",
						json_text(c->needs_unit), "why", json_text(c->why),
						"measure", json_text(c->measure)));
	}
	if (!t) {
		json_decref(list);
		json_decref(j);
		return json_null();
	}
	put(j, "measured_tokens_per_s", t->measured);
	json_object_set_new(j, "inside", json_boolean(t->inside));
	put(j, "missing_s", t->lost_s);
	put(j, "needed_bus_gb_per_s", t->busbw_needed_gbs);
	put_text(j, "verdict", t->verdict);
	json_object_set_new(j, "causes", list);
	return j;
}

json_t *train_json(const struct train_page *page, long long now, int exit_code)
{
	const struct train_answer *p = &page->answer;
	json_t *j = json_head("gputune.train/1", now, exit_code);

	json_object_set_new(j, "asked", question_json(&p->q));
	put(j, "parameters", p->parameters);
	put(j, "active_parameters", p->active);
	put(j, "model_flop_per_token", p->model_flops);
	put(j, "hardware_flop_per_token", p->hardware_flops);
	put(j, "peak_flop_per_s", p->peak_flops);
	json_object_set_new(j, "tokens_per_s", figure(&p->tokens_s));
	json_object_set_new(j, "tokens_per_s_per_gpu", figure(&p->tokens_s_gpu));
	json_object_set_new(j, "mfu_ratio", figure(&p->mfu));
	json_object_set_new(j, "hfu_ratio", figure(&p->hfu));
	put_text(j, "limit", train_limit_names[p->limit]);
	put_text(j, "limit_reason", p->limit_why);
	put_text(j, "interval_of", p->interval_of);
	json_object_set_new(j, "memory", memory_json(&p->memory));
	json_object_set_new(j, "time", time_json(&p->time));
	json_object_set_new(j, "communication", comms_json(p));
	json_object_set_new(j, "largest",
			    page->asked_largest
				    ? json_pack("{s:i, s:i}", "micro_batch", page->largest,
						"micro_batch_same_global_batch", page->largest_held)
				    : json_null());
	json_object_set_new(j, "what_if", what_if_json(page->what_if));
	json_object_set_new(j, "scale", scale_json(page));
	json_object_set_new(j, "judgement", judgement_json(page->judgement));
	put_text(j, "constants", page->origin);
	put_text(j, "state", "predicted");
	json_object_set_new(j, "notes", json_texts(p->q.notes, p->q.n_notes));
	json_object_set_new(j, "explain", json_texts(p->lines, p->n_lines));
	return j;
}

json_t *train_rows_json(const struct train_rows *r, long long now, int exit_code)
{
	json_t *j = json_head("gputune.train-rows/1", now, exit_code), *list = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct train_row *x = &r->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "line", json_integer(x->line));
		put_text(o, "source", x->source);
		put_text(o, "model", x->model);
		put_text(o, "hardware", x->hardware);
		put_text(o, "precision", x->precision);
		put_int(o, "gpus", x->gpus);
		put_int(o, "machines", x->nodes);
		json_object_set_new(o, "experts", json_boolean(x->experts));
		json_object_set_new(o, "fits", json_boolean(x->fits));
		json_object_set_new(o, "measured_tokens_per_s_per_gpu",
				    x->measured > 0 ? json_figure(x->measured) : json_null());
		json_object_set_new(o, "predicted_tokens_per_s_per_gpu",
				    x->predicted > 0 ? json_figure(x->predicted) : json_null());
		put(o, "low", x->low);
		put(o, "high", x->high);
		json_object_set_new(o, "measured_memory_gib",
				    x->memory > 0 ? json_figure(x->memory) : json_null());
		put(o, "predicted_memory_gib", x->memory_predicted);
		put_text(o, "skipped", x->skipped);
		json_array_append_new(list, o);
	}
	json_object_set_new(j, "rows", list);
	return j;
}
