/* SPDX-License-Identifier: Apache-2.0 */
/* What was generated, and what was found in what people wrote, as JSON. Keys are API. */
#include <string.h>

#include "base/json.h"
#include "models/generate/page_generate.h"

static const char *const knows_names[] = {
	[NCCL_KNOWN] = "yes",	[NCCL_NOT_YET] = "not-yet",   [NCCL_NO_MORE] = "no-more",
	[NCCL_NEVER] = "never", [NCCL_NOT_TOLD] = "not-told",
};

static json_t *vars_json(const struct gen_env *e)
{
	json_t *list = json_array();

	for (size_t i = 0; e && i < e->n; i++) {
		const struct gen_var *v = &e->vars[i];
		bool nccl = v->library && strcmp(v->library, "NCCL") == 0;
		json_t *o = json_object();

		json_put_text(o, "name", v->name);
		json_put_text(o, "value", v->value);
		json_put_text(o, "reason", v->reason);
		json_put_text(o, "library", v->library);
		json_put_text(o, "since", v->since); /* null: all releases of the list */
		json_put_text(o, "known", nccl ? knows_names[v->known] : NULL);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *generate_json_node(const struct gen_envs *e, size_t i)
{
	const struct gen_node *n = &e->c->nodes[i];
	json_t *o = json_object();

	json_put_int(o, "rank", (json_int_t)i);
	json_put_text(o, "name", n->name);
	json_put_text(o, "address", *n->address ? n->address : NULL);
	json_put_text(o, "interface", *n->control ? n->control : NULL);
	json_put_text(o, "platform", *n->platform ? n->platform : NULL);
	json_put_text(o, "gpu", *n->gpu ? n->gpu : NULL);
	json_put_int(o, "gpus", (json_int_t)n->gpus);
	json_put_text(o, "nccl", n->nccl);
	json_put_text(o, "from", n->from);
	json_object_set_new(o, "variables", vars_json(&e->of[i]));
	return o;
}

static json_t *command_json(const struct gen_command *c)
{
	json_t *o = json_object(), *argv = json_array(), *why = json_array();

	json_put_text(o, "node", c->node ? c->node->name : NULL);
	json_put_int(o, "rank", (json_int_t)c->rank);
	json_put_text(o, "role", c->role);
	for (size_t i = 0; i < c->n; i++) {
		json_array_append_new(argv, json_text(c->words[i].text));
		json_array_append_new(why, json_text(c->words[i].reason));
	}
	json_object_set_new(o, "argv", argv);
	json_object_set_new(o, "reasons", why);
	json_object_set_new(o, "variables", vars_json(c->env));
	return o;
}

static json_t *launch_json(const struct generate_view *v)
{
	const struct gen_launch *l = v->launch;
	json_t *list = json_array();

	for (size_t i = 0; l && i < l->n; i++)
		if (v->only < 0 || l->n == 1 || (size_t)v->only == l->commands[i].rank)
			json_array_append_new(list, command_json(&l->commands[i]));
	return list;
}

static json_t *problems_json(const struct gen_envs *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->n_problems; i++) {
		const struct gen_problem *p = &e->problems[i];
		json_t *o = json_object();

		json_put_text(o, "node", *p->node ? p->node : NULL);
		json_put_text(o, "says", p->says);
		json_put_text(o, "fix", p->fix);
		json_put_bool(o, "fatal", p->fatal);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *left_json(const struct gen_envs *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->n_left; i++) {
		json_t *o = json_object();

		json_put_text(o, "name", e->left[i].name);
		json_put_text(o, "why", e->left[i].why);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *tries_json(const struct serve_plan *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_tries; i++) {
		const struct serve_try *x = &p->tries[i];

		json_array_append_new(
			list, json_pack("{s:i, s:i, s:b, s:o, s:o, s:o, s:o, s:o}", "tp", x->tp,
					"pp", x->pp, "fits", (int)x->fits, "throughput_tok_s",
					json_figure(x->throughput_tok_s), "tpot_ms",
					json_figure(x->tpot_ms), "ttft_ms", json_figure(x->ttft_ms),
					"memory_bytes", json_figure(x->bytes), "not_possible",
					json_text(x->not_possible)));
	}
	return list;
}

static json_t *serve_json(const struct generate_view *v)
{
	const struct serve_plan *p = v->serve;
	const struct engine_source *s = engine_source(v->ask->engine);
	json_t *o = json_object();

	json_put_text(o, "engine", s->name);
	json_put_text(o, "options_of", s->version);
	json_put_text(o, "options_need", s->needs);
	json_put_text(o, "options_source", s->source);
	json_put_text(o, "options_read", s->date);
	json_put_text(o, "model", v->ask->model);
	json_put_text(o, "weights", p->p.q.ask.weights->name);
	json_put_bool(o, "fits", p->fits);
	json_put_text(o, "fits_why", p->fits_why);
	json_put_int(o, "tp", p->tp);
	json_put_int(o, "pp", p->pp);
	json_put_bool(o, "expert_parallel", p->expert_parallel);
	json_put_text(o, "kv", *p->kv ? p->kv : "auto");
	json_object_set_new(o, "fraction", p->fits ? json_positive(p->fraction) : json_null());
	json_put_figure(o, "wanted_bytes", p->wanted_bytes);
	json_put_figure(o, "total_bytes", p->total_bytes);
	json_put_positive(o, "free_bytes", p->free_bytes);
	json_put_text(o, "free_from", p->free_from);
	json_object_set_new(o, "ttft_ms", figure_json(&p->p.ttft));
	json_object_set_new(o, "tpot_ms", figure_json(&p->p.tpot));
	json_object_set_new(o, "throughput_tok_s", figure_json(&p->p.throughput));
	json_put_figure(o, "most_requests", p->p.memory.most_requests);
	json_put_figure(o, "most_context_tokens", p->p.memory.most_context);
	json_object_set_new(o, "tries", tries_json(p));
	return o;
}

json_t *generate_json(const struct generate_view *v, long long now, int exit_code)
{
	json_t *j = json_head("gputune.generate/1", now, exit_code), *nodes = json_array();
	json_t *notes = json_array();

	json_put_text(j, "kind", v->kind);
	json_put_text(j, "joined", gen_shape_names[v->envs->c->shape]);
	json_put_text(j, "joined_reason", v->envs->c->shape_why);
	for (size_t i = 0; i < v->envs->c->n; i++)
		if (v->only < 0 || (size_t)v->only == i)
			json_array_append_new(nodes, generate_json_node(v->envs, i));
	json_object_set_new(j, "nodes", nodes);
	json_object_set_new(j, "commands", launch_json(v));
	json_put_text(j, "file_name",
		      v->train	  ? v->train->file.name
		      : v->launch ? v->launch->file_name
				  : NULL);
	json_put_text(j, "file_text",
		      v->train	  ? v->train->file.text
		      : v->launch ? v->launch->file_text
				  : NULL);
	for (size_t i = 0; v->launch && i < v->launch->n_notes; i++)
		json_array_append_new(notes, json_text(v->launch->notes[i]));
	json_object_set_new(j, "notes", notes);
	json_object_set_new(j, "problems", problems_json(v->envs));
	json_object_set_new(j, "left_alone", left_json(v->envs));
	json_object_set_new(j, "serve", v->serve ? serve_json(v) : json_null());
	json_object_set_new(j, "train", v->train ? generate_train_json(v->train) : json_null());
	return j;
}

/* What lint finds, a row a figure. Keys and meanings are API. */

/* clang-format off */

static const char *lint_machine(const void *object)
{
	const struct gen_node *n = ((const struct lint_on *)object)->node;

	return n ? n->from : NULL;
}

static const struct shape_row lint_finding_rows[] = {
	{ "level", NULL, SHAPE_CHOICE(lint_finding, level, lint_level_names) },
	{ "code", NULL, SHAPE_TEXT(lint_finding, code) },
	{ "file", "\"command line\" for words.", SHAPE_TEXT(lint_finding, file) },
	{ "line", NULL, SHAPE_COUNT(lint_finding, line), .unknown = SHAPE_ZERO },
	{ "subject", "The variable, option or host.", SHAPE_TEXT(lint_finding, subject) },
	{ "says", NULL, SHAPE_TEXT(lint_finding, says) },
	{ "fix", NULL, SHAPE_TEXT(lint_finding, fix), .unknown = SHAPE_NULL },
	{ "source", NULL, SHAPE_TEXT(lint_finding, source), .unknown = SHAPE_NULL },
};
static const struct shape lint_finding_shape = SHAPE(lint_finding, lint_finding);

static const struct shape_row lint_summary_rows[] = {
	{ "errors", NULL, SHAPE_COUNT(lint_view, count[LINT_ERROR]) },
	{ "warnings", NULL, SHAPE_COUNT(lint_view, count[LINT_WARNING]) },
	{ "notes", NULL, SHAPE_COUNT(lint_view, count[LINT_NOTE]) },
};
static const struct shape lint_summary_shape = SHAPE(lint_view, lint_summary);

#define OF_LINT SHAPE_VIA(lint_view, l, lint)
#define OF_GROUND SHAPE_VIA(lint_view, on, lint_on)

static const struct shape_row lint_rows[] = {
	{ "nccl", "Version.", SHAPE_TEXT(lint_on, nccl), OF_GROUND, .unknown = SHAPE_NULL },
	{ "nccl_from", NULL, SHAPE_TEXT(lint_on, nccl_from), OF_GROUND, .unknown = SHAPE_NULL },
	{ "machine", NULL, SHAPE_TEXT_OF(lint_machine), OF_GROUND, .unknown = SHAPE_NULL },
	{ "files", "That were looked at.", SHAPE_TEXT_LIST(lint_view, looked_at, n) },
	{ "variables", NULL, SHAPE_COUNT(lint, variables), OF_LINT },
	{ "commands", NULL, SHAPE_COUNT(lint, commands), OF_LINT },
	{ "hosts", NULL, SHAPE_COUNT(lint, hosts), OF_LINT },
	{ "configs", "Files and commands of trainings.", SHAPE_COUNT(lint, configs), OF_LINT },
	{ "findings", NULL, SHAPE_LIST(lint, findings, n, lint_finding), OF_LINT },
	{ "summary", NULL, SHAPE_PART(lint_summary_shape) },
};
static const struct shape lint_shape = SHAPE(lint_view, lint);

const struct result_shape lint_result = {
	.name = "lint",
	.title = "gputune lint",
	.meaning = "What is wrong with variables and command lines that somebody wrote.",
	.shape = &lint_shape,
	.exit_codes = 1u << 0 | 1u << 1,
};

/* clang-format on */

/* Files of a training as JSON: values with reasons, what was tried, changes. Keys are API. */

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

static json_t *generate_json_answer(const struct train_answer *p)
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

static json_t *train_tries_json(const struct train_setup *s)
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

	json_put_text(o, "model", s->after->q.model);
	json_put_bool(o, "fits", s->fits);
	json_put_text(o, "fits_why", s->fits_why);
	json_put_text(o, "why", s->why);
	json_object_set_new(o, "before", generate_json_answer(s->before));
	json_object_set_new(o, "after", generate_json_answer(s->after));
	json_object_set_new(o, "gain", s->gain.value > 0 ? figure_json(&s->gain) : json_null());
	json_object_set_new(o, "offload", offload_json(&s->offload));
	json_put_bool(o, "compile", s->compile);
	json_put_text(o, "compile_why", s->compile_why);
	json_put_int(o, "workers", s->workers);
	json_put_int(o, "threads", s->threads);
	json_object_set_new(o, "tries", train_tries_json(s));
	json_object_set_new(o, "reasons", items_json(&v->file.items));
	json_object_set_new(o, "arguments", items_json(&v->arguments));
	json_put_text(o, "torch_call", v->torch_call);
	json_object_set_new(o, "edit", edit_json(v));
	return o;
}
