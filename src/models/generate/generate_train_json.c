/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a training as JSON: values with reasons, what was tried, changes. Keys are API. */
#include "render/json_value.h"
#include "models/generate/page_generate_train.h"

static void put(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, json_text(text));
}

static json_t *items_json(const struct train_items *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:b, s:o}", "path", json_text(l->at[i].path),
					"value", json_text(l->at[i].value), "text",
					(int)l->at[i].text, "reason", json_text(l->at[i].reason)));
	return list;
}

static json_t *figure_json(const struct train_figure *f)
{
	return json_interval(f->value, f->low, f->high);
}

static json_t *answer_json(const struct train_answer *p)
{
	return json_pack("{s:o, s:o, s:b, s:i, s:i, s:i, s:i, s:o, s:b, s:o, s:o, s:o, s:o}", "way",
			 json_text(train_way_names[p->q.way]), "recompute",
			 json_text(train_recompute_names[p->q.recompute]), "reshard",
			 (int)p->q.reshard, "micro_batch", p->q.micro_batch, "accumulation",
			 p->q.accumulation, "data_parallel", p->q.dp, "global_batch",
			 p->q.global_batch, "memory_bytes", json_figure(p->memory.total), "fits",
			 (int)p->memory.fits, "memory_limit_bytes", json_figure(p->memory.limit),
			 "step_s", figure_json(&p->time.total), "tokens_s",
			 figure_json(&p->tokens_s), "limit_why", json_text(p->limit_why));
}

static json_t *tries_json(const struct train_setup *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_tries; i++) {
		const struct train_try *t = &s->tries[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:b, s:i, s:i, s:b, s:o, s:o}", "way",
				  json_text(train_way_names[t->way]), "recompute",
				  json_text(train_recompute_names[t->recompute]), "reshard",
				  (int)t->reshard, "micro_batch", t->micro_batch, "accumulation",
				  t->accumulation, "fits", (int)t->fits, "tokens_s",
				  t->fits ? json_figure(t->tokens_s) : json_null(), "memory_bytes",
				  t->fits ? json_figure(t->memory) : json_null()));
	}
	return list;
}

static json_t *edit_json(const struct train_view *v)
{
	json_t *changes = json_array(), *left = json_array();
	const struct train_edit *e = v->edit;

	if (!e) {
		json_decref(changes);
		json_decref(left);
		return json_null();
	}
	for (size_t i = 0; i < e->edits.n; i++)
		json_array_append_new(changes, json_pack("{s:I, s:o, s:o}", "line",
							 (json_int_t)e->edits.at[i].line, "what",
							 json_text(e->edits.at[i].what), "reason",
							 json_text(e->edits.at[i].reason)));
	for (size_t i = 0; i < e->n_left; i++)
		json_array_append_new(
			left,
			json_pack("{s:o, s:o, s:o}", "line",
				  e->left[i].line ? json_integer(e->left[i].line) : json_null(),
				  "what", json_text(e->left[i].what), "why",
				  json_text(e->left[i].why)));
	return json_pack("{s:o, s:o, s:o, s:o}", "file", json_text(e->name), "diff",
			 json_text(v->diff), "changes", changes, "left", left);
}

static json_t *offload_json(const struct train_offload *o)
{
	if (!o->optimizer)
		return json_null();
	return json_pack("{s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "optimizer", (int)o->optimizer,
			 "weights", (int)o->weights, "saved_bytes", json_figure(o->saved_bytes),
			 "moved_bytes", json_figure(o->moved_bytes), "step_s_least",
			 json_figure(o->step_s_least), "host_bytes", json_figure(o->host_bytes),
			 "why", json_text(o->why));
}

json_t *generate_train_json(const struct train_view *v)
{
	const struct train_setup *s = v->setup;
	json_t *o = json_object();

	put(o, "model", s->after->q.model);
	json_object_set_new(o, "fits", json_boolean(s->fits));
	put(o, "fits_why", s->fits_why);
	put(o, "why", s->why);
	json_object_set_new(o, "before", answer_json(s->before));
	json_object_set_new(o, "after", answer_json(s->after));
	json_object_set_new(o, "gain", s->gain.value > 0 ? figure_json(&s->gain) : json_null());
	json_object_set_new(o, "offload", offload_json(&s->offload));
	json_object_set_new(o, "compile", json_boolean(s->compile));
	put(o, "compile_why", s->compile_why);
	json_object_set_new(o, "workers", json_integer(s->workers));
	json_object_set_new(o, "threads", json_integer(s->threads));
	json_object_set_new(o, "tries", tries_json(s));
	json_object_set_new(o, "reasons", items_json(&v->file.items));
	json_object_set_new(o, "arguments", items_json(&v->arguments));
	put(o, "torch_call", v->torch_call);
	json_object_set_new(o, "edit", edit_json(v));
	return o;
}
