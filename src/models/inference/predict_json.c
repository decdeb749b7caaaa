/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction as JSON. Keys and meanings are API. */

#include "render/json_value.h"
#include "models/inference/page_predict.h"

static void put(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, json_figure(v));
}

static json_t *figure(const struct figure *f, const struct spread *s, const char *whose)
{
	json_t *j = json_object();

	put(j, "value", f->value);
	put(j, "low", f->low);
	put(j, "high", f->high);
	if (s) {
		json_object_set_new(j, "rows", json_integer(s->rows));
		json_object_set_new(j, "families", json_integer(s->families));
		json_object_set_new(j, "measured_on", json_text(whose));
	}
	return j;
}

static json_t *memory_json(const struct need *m)
{
	json_t *j = json_object();

	put(j, "weights_bytes", m->weights);
	put(j, "cache_bytes", m->cache);
	put(j, "state_bytes", m->state);
	put(j, "activations_bytes", m->activations);
	put(j, "workspace_bytes", m->workspace);
	put(j, "graphs_bytes", m->graphs);
	put(j, "framework_bytes", m->framework);
	put(j, "left_free_bytes", m->reserve);
	put(j, "together_bytes", m->total);
	put(j, "limit_bytes", m->limit);
	put(j, "spare_bytes", m->limit - m->total);
	put(j, "most_requests", m->most_requests);
	put(j, "most_context_tokens", m->most_context);
	put(j, "bytes_a_request", m->per_sequence);
	put(j, "bytes_a_token", m->per_token);
	return j;
}

static json_t *step_json(const struct step *s)
{
	json_t *j = json_object();

	put(j, "weights_ms", s->dense);
	put(j, "experts_ms", s->expert);
	put(j, "head_ms", s->head);
	put(j, "cache_ms", s->cache);
	put(j, "state_ms", s->state);
	put(j, "reading_ms", s->memory);
	put(j, "multiplying_ms", s->compute);
	put(j, "launches_ms", s->launch);
	put(j, "sequences_ms", s->sequence);
	put(j, "links_ms", s->link);
	put(j, "host_ms", s->host);
	put(j, "step_ms", s->total);
	put(j, "experts_reached_ratio", s->reached);
	put(j, "read_bytes",
	    s->dense_bytes + s->expert_bytes + s->head_bytes + s->cache_read + s->state_read);
	return j;
}

static json_t *prompt_json(const struct prompt *r)
{
	json_t *j = json_object();

	put(j, "multiplying_ms", r->multiply);
	put(j, "weights_ms", r->weights);
	put(j, "attention_ms", r->attention);
	put(j, "linear_attention_ms", r->scan);
	put(j, "launches_ms", r->launch);
	put(j, "links_ms", r->link);
	put(j, "prompt_ms", r->total);
	json_object_set_new(j, "chunks", json_integer((json_int_t)r->chunks));
	return j;
}

static json_t *asked(const struct prediction *p)
{
	const struct ask *q = &p->q.ask;
	json_t *j = json_object();

	json_object_set_new(j, "model", json_text(p->q.arch.name));
	json_object_set_new(j, "model_source", json_text(p->q.arch.source));
	json_object_set_new(j, "weights", json_text(q->weights->name));
	json_object_set_new(j, "kv", json_text(q->cache_name));
	json_object_set_new(j, "engine", json_text(engine_names[q->engine]));
	json_object_set_new(j, "machine", json_text(q->place.taken));
	json_object_set_new(j, "gpus", json_integer(q->place.gpus));
	json_object_set_new(j, "tp", json_integer(q->tp));
	json_object_set_new(j, "pp", json_integer(q->pp));
	json_object_set_new(j, "batch", json_integer(q->batch));
	put(j, "prompt_tokens", q->prompt);
	put(j, "output_tokens", q->output);
	put(j, "parameters", arch_parts(&p->q.arch).total);
	put(j, "active_parameters", arch_parts(&p->q.arch).active);
	put(j, "model_bytes", p->weight_bytes);
	return j;
}

static json_t *curve_json(const struct prediction *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_curve; i++) {
		const struct curve_point *c = &p->curve[i];

		json_array_append_new(list,
				      json_pack("{s:i, s:o, s:o, s:o, s:b}", "batch", c->batch,
						"ttft_ms", json_figure(c->ttft), "tpot_ms",
						json_figure(c->tpot), "throughput_tok_s",
						json_figure(c->throughput), "fits", c->fits));
	}
	return list;
}

json_t *predict_json(const struct prediction *p, const struct claim *c, long long now,
		     int exit_code)
{
	json_t *j = json_head("gputune.predict/1", now, exit_code);

	json_object_set_new(j, "asked", asked(p));
	json_object_set_new(j, "ttft_ms", figure(&p->ttft, p->spread[0], p->whose[0]));
	json_object_set_new(j, "tpot_ms", figure(&p->tpot, p->spread[1], p->whose[1]));
	json_object_set_new(j, "throughput_tok_s",
			    figure(&p->throughput, p->spread[2], p->whose[2]));
	json_object_set_new(j, "memory_bytes", figure(&p->bytes, NULL, NULL));
	json_object_set_new(j, "fits", json_boolean(p->memory.fits));
	json_object_set_new(j, "limit", json_string(limit_names[p->limit]));
	json_object_set_new(j, "limit_reason", json_text(p->limit_why));
	json_object_set_new(j, "prompt_limit", json_string(limit_names[p->prompt_limit]));
	put(j, "running_requests", p->served.running);
	put(j, "waiting_ms", p->served.waiting);
	json_object_set_new(j, "memory", memory_json(&p->memory));
	json_object_set_new(j, "step", step_json(&p->step));
	json_object_set_new(j, "prompt", prompt_json(&p->prompt));
	json_object_set_new(j, "curve", curve_json(p));
	json_object_set_new(j, "calibration", json_text(p->calibration));
	json_object_set_new(j, "notes", json_texts(p->q.notes, p->q.n_notes));
	json_object_set_new(j, "explain", json_texts(p->lines, p->n_lines));
	json_object_set_new(j, "claim",
			    c && c->verdict
				    ? json_pack("{s:f, s:s, s:o}", "tok_s", c->tokens_s, "verdict",
						c->verdict, "reason", json_text(c->why))
				    : json_null());
	return j;
}
