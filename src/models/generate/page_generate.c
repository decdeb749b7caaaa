/* SPDX-License-Identifier: Apache-2.0 */
/* What was generated, for people: the thing itself, and why every part of it is there. */
#include <string.h>

#include "models/generate/page_generate.h"
#include "render/figure.h"
#include "render/shape_page.h"

static const char *since_text(struct arena *a, const struct gen_var *v, const char *nccl)
{
	if (!v->library || strcmp(v->library, "NCCL") != 0)
		return "";
	if (v->known == NCCL_NOT_YET)
		return arena_printf(a, "since %s: NOT read by %s", v->since, nccl);
	return arena_printf(a, "%s %s%s%s%s", v->since ? "since" : "in all releases since",
			    v->since ? v->since : nccl_oldest, v->known == NCCL_KNOWN ? "; " : "",
			    v->known == NCCL_KNOWN ? nccl : "",
			    v->known == NCCL_KNOWN ? " reads it" : "");
}

static void env_table(struct doc *d, const struct gen_env *e, const char *title)
{
	struct node *t = DOC_TABLE(d, title, "Variable", "Value", "~Why", "~Read by");

	for (size_t i = 0; i < e->n; i++) {
		const struct gen_var *v = &e->vars[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_STRONG, v->name);
		c[1] = cell_as(STYLE_CODE, v->value);
		c[2] = cell(v->reason);
		c[3] = cell_as(v->known == NCCL_NOT_YET ? STYLE_BAD : STYLE_MUTED,
			       arena_printf(d->arena, "%s %s", v->library ? v->library : "",
					    since_text(d->arena, v, e->node->nccl)));
	}
}

static bool wanted(const struct generate_view *v, size_t rank)
{
	return v->only < 0 || (size_t)v->only == rank;
}

static void generate_page_variables(struct doc *d, const struct generate_view *v)
{
	const struct gen_envs *e = v->envs;
	bool any = false;

	for (size_t i = 0; i < e->c->n; i++)
		any = any || e->of[i].n;
	if (!any) {
		if (!v->launch)
			doc_text(d,
				 v->named ? "The variables depend on the devices of each node, and "
					    "only node names are given. Use --node or --host."
					  : "No variable required: %s. NCCL finds GPUs and links "
					    "of one machine itself.",
				 e->c->shape_why);
		return;
	}
	doc_heading(d, 2, "Environment");
	if (e->same && e->c->n > 1) {
		doc_text(d, "Same values on all %zu machines.", e->c->n);
		env_table(d, &e->of[0], NULL);
		return;
	}
	for (size_t i = 0; i < e->c->n; i++)
		if (wanted(v, i))
			env_table(d, &e->of[i], e->of[i].node->name);
}

/* A list of the result, where it has items. */
static void generate_page_list(struct doc *d, const struct generate_view *v, const char *title,
			       const char *key, size_t n)
{
	if (!n)
		return;
	doc_heading(d, 2, title);
	shape_list_table(d, NULL, generate_result.shape, key, v);
}

static void generate_page_machines(struct doc *d, const struct generate_view *v)
{
	const struct gen_cluster *c = v->cluster;

	if (v->named)
		return;
	if (c->n == 1)
		doc_text(d, "%s.", c->shape_why);
	else
		doc_text(d, "%zu machines: %s.", c->n, c->shape_why);
	node_drop_empty(shape_table(d, NULL, &gen_env_shape, v->envs->of, c->n));
}

/* An option with its value in one row. */
static void word_table(struct doc *d, const struct gen_command *c)
{
	struct node *t = DOC_TABLE(d, NULL, "~Word", "~Why");

	for (size_t i = 0; i < c->n;) {
		struct cell *r;
		const char *text = c->words[i].text, *reason = c->words[i].reason;

		for (i++; i < c->n && !c->words[i].reason; i++)
			text = arena_printf(d->arena, "%s %s", text, c->words[i].text);
		r = node_row(d, t);
		r[0] = cell_as(STYLE_CODE, text);
		r[1] = cell(reason ? reason : "");
	}
}

static void generate_page_commands(struct doc *d, const struct generate_view *v)
{
	const struct gen_launch *l = v->launch;
	bool first = true;

	if (!l)
		return;
	if (l->file_text) {
		doc_heading(d, 2, l->file_name);
		doc_code(d, l->file_text);
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct gen_command *c = &l->commands[i];

		if (l->n > 1 && !wanted(v, c->rank))
			continue;
		if (c->meeting_port) {
			word_table(d, c);
			continue;
		}
		doc_heading(d, 2,
			    c->node ? arena_printf(d->arena, "On %s%s%s", c->node->name,
						   c->role ? ", " : "", c->role ? c->role : "")
				    : arena_printf(d->arena, "On %s, for all machines",
						   v->cluster->nodes[0].name));
		doc_code(d, command_line(d->arena, c));
		if (first)
			word_table(d, c);
		first = false;
	}
	for (size_t i = 0; i < l->n_notes; i++)
		doc_text(d, "Note: %s.", l->notes[i]);
}

/* --- serving ------------------------------------------------------------------------------------
 */
static void tries(struct doc *d, const struct serve_plan *p)
{
	struct node *t;

	if (p->n_tries < 2)
		return;
	t = DOC_TABLE(d, "Parallelism options (predicted)", "!>Tensor", "!>Pipeline",
		      ">All, tokens/s", ">TPOT, ms", ">TTFT, ms", ">A GPU, GB", "~");
	for (size_t i = 0; i < p->n_tries; i++) {
		const struct serve_try *x = &p->tries[i];
		struct cell *c = node_row(d, t);
		bool chosen = x->tp == p->tp && x->pp == p->pp;

		c[0] = cell_printf(d, chosen ? STYLE_STRONG : STYLE_PLAIN, "%d", x->tp);
		c[1] = cell_printf(d, chosen ? STYLE_STRONG : STYLE_PLAIN, "%d", x->pp);
		if (!x->not_possible) {
			c[2] = cell(figure_number(d->arena, x->throughput_tok_s));
			c[3] = cell(figure_number(d->arena, x->tpot_ms));
			c[4] = cell(figure_number(d->arena, x->ttft_ms));
			c[5] = cellf(d, "%.1f", x->bytes / 1e9);
		}
		c[6] = x->not_possible ? cell_as(STYLE_MUTED, x->not_possible)
		       : !x->fits      ? cell_as(STYLE_BAD, "does not fit")
		       : chosen	       ? cell_as(STYLE_GOOD, "chosen")
				       : cell("");
	}
}

static void generate_page_predicted(struct doc *d, const struct serve_plan *p)
{
	struct node *n = doc_pairs(d, "Expected performance (predicted, not measured)");
	const struct prediction *q = &p->p;

	node_pairf(d, n, "TTFT", "%s ms (%s to %s)", figure_number(d->arena, q->ttft.value),
		   figure_number(d->arena, q->ttft.low), figure_number(d->arena, q->ttft.high));
	node_pairf(d, n, "TPOT", "%s ms (%s to %s)", figure_number(d->arena, q->tpot.value),
		   figure_number(d->arena, q->tpot.low), figure_number(d->arena, q->tpot.high));
	node_pairf(d, n, "throughput", "%s tokens/s (%s to %s)",
		   figure_number(d->arena, q->throughput.value),
		   figure_number(d->arena, q->throughput.low),
		   figure_number(d->arena, q->throughput.high));
	node_pair(d, n, "limited by", cell(q->limit_why));
	node_pairf(d, n, "memory per GPU", "%.1f GB required of %.1f GB; free now: %s%s%s",
		   p->wanted_bytes / 1e9, p->total_bytes / 1e9,
		   p->free_bytes > 0 ? arena_printf(d->arena, "%.1f GB (", p->free_bytes / 1e9)
				     : "",
		   p->free_from, p->free_bytes > 0 ? ")" : "");
	for (size_t i = 0; i < q->q.n_notes; i++)
		node_pair(d, n, i ? "" : "taken", cell_as(STYLE_MUTED, q->q.notes[i]));
}

static void generate_page_serving(struct doc *d, const struct generate_view *v)
{
	const struct serve_plan *p = v->serve;
	const struct engine_source *s;

	if (!p)
		return;
	s = p->source;
	if (!p->fits)
		doc_text(d, "Does not fit: %s.", p->fits_why);
	generate_page_predicted(d, p);
	tries(d, p);
	if (p->quant || p->expert_parallel || *p->expert_why)
		doc_text(d, "Experts: %s. Weights: %s.", *p->expert_why ? p->expert_why : "none",
			 p->quant_why);
	doc_text(d, "Options of %s %s, for %s and later (%s, read %s).", s->name, s->version,
		 s->needs, s->source, s->date);
}

struct doc *page_generate(struct arena *a, const struct generate_view *v)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, arena_printf(a, "Generated: %s", v->kind));
	generate_page_machines(d, v);
	generate_page_list(d, v, "Problems of the machines", "problems", v->envs->n_problems);
	if (v->train) {
		page_generate_train(d, v->train);
		return d;
	}
	generate_page_commands(d, v);
	generate_page_serving(d, v);
	generate_page_variables(d, v);
	generate_page_list(d, v, "Not set", "left_alone", v->envs->n_left);
	return d;
}

/* Files of a training for people: the file, why each value is there, what was tried; and changes
 * of a file of the user's as a diff. */

static void page_generate_train_figure(struct doc *d, struct node *n, const char *name,
				       const char *unit, double scale, const struct figure *was,
				       const struct figure *now)
{
	node_pairf(d, n, name, "%.4g %s (%.4g to %.4g), before %.4g %s", now->value * scale, unit,
		   now->low * scale, now->high * scale, was->value * scale, unit);
}

static void train_predicted(struct doc *d, const struct train_setup *s, const char *after)
{
	const struct train_answer *was = s->before, *now = s->after;
	struct node *n = doc_pairs(d, "Expected performance (predicted, not measured)");

	node_pairf(d, n, "before",
		   "%s, micro-batch %d, accumulation %d, recomputation %s: %.1f GB of "
		   "%.1f GB on each GPU%s",
		   train_way_names[was->q.way], was->q.micro_batch, was->q.accumulation,
		   train_recompute_names[was->q.recompute], was->memory.total / 1e9,
		   was->memory.limit / 1e9, was->memory.fits ? "" : ", does not fit");
	node_pair(d, n, after,
		  cell_printf(d, STYLE_STRONG,
			      "%s, micro-batch %d, accumulation %d, recomputation %s%s: %.1f GB",
			      train_way_names[now->q.way], now->q.micro_batch, now->q.accumulation,
			      train_recompute_names[now->q.recompute],
			      now->q.compile ? ", torch.compile" : "",
			      (now->memory.total - s->offload.saved_bytes) / 1e9));
	if (s->why)
		node_pair(d, n, "because", cell(s->why));
	if (!s->fits || s->offload.optimizer) {
		node_pair(d, n, s->fits ? "offload" : "does not fit",
			  cell_as(STYLE_BAD, s->fits ? s->offload.why : s->fits_why));
		return;
	}
	node_pairf(d, n, "gain", "%.2f times the tokens/s (%.2f to %.2f)", s->gain.value,
		   s->gain.low, s->gain.high);
	if (s->compile && !now->q.compile)
		node_pairf(d, n, "torch.compile", "not included; %s", s->compile_why);
	page_generate_train_figure(d, n, "step", "s", 1, &was->time.total, &now->time.total);
	page_generate_train_figure(d, n, "all GPUs", "tokens/s", 1, &was->tokens_s, &now->tokens_s);
	node_pairf(d, n, "limited by", "%s: %s", train_limit_names[now->limit], now->limit_why);
	for (size_t i = 0; i < now->q.n_notes; i++)
		node_pair(d, n, i ? "" : "taken", cell_as(STYLE_MUTED, now->q.notes[i]));
}

static bool chosen(const struct train_setup *s, const struct train_try *t)
{
	const struct train_config *q = &s->after->q;

	return t->fits && t->way == q->way && t->recompute == q->recompute &&
	       t->micro_batch == q->micro_batch && t->reshard == q->reshard;
}

static void train_tries(struct doc *d, const struct train_setup *s)
{
	struct node *t;

	if (s->n_tries < 2)
		return;
	t = DOC_TABLE(d, "Parallelism options (predicted)", "!Way", "!Recomputation",
		      "!>Micro-batch", ">Accumulation", ">All, tokens/s", ">A GPU, GB", "");
	for (size_t i = 0; i < s->n_tries; i++) {
		const struct train_try *x = &s->tries[i];
		struct cell *c = node_row(d, t);

		c[0] = cell_printf(d, chosen(s, x) ? STYLE_STRONG : STYLE_PLAIN, "%s%s",
				   train_way_names[x->way],
				   x->way == TRAIN_FSDP && !x->reshard ? ", not resharded" : "");
		c[1] = cell(train_recompute_names[x->recompute]);
		if (x->fits) {
			c[2] = cellf(d, "%d", x->micro_batch);
			c[3] = cellf(d, "%d", x->accumulation);
			c[4] = cellf(d, "%.4g", x->tokens_s);
			c[5] = cellf(d, "%.1f", x->memory / 1e9);
		}
		c[6] = !x->fits	      ? cell_as(STYLE_BAD, "does not fit")
		       : chosen(s, x) ? cell_as(STYLE_GOOD, "chosen")
				      : cell("");
	}
}

static void items(struct doc *d, const char *title, const struct train_items *l)
{
	if (l->n)
		shape_table(d, title, &train_item_shape, l->at, l->n);
}

static void edited(struct doc *d, const struct train_edit *e)
{
	if (!e->edits.n) {
		doc_text(d, "No useful changes in %s.", e->name);
	} else {
		doc_heading(d, 2, arena_printf(d->arena, "Changes of %s", e->name));
		doc_code(d, e->diff);
		shape_list_table(d, NULL, &train_edit_shape, "changes", e);
	}
	if (e->n_left)
		shape_list_table(d, "Unchanged", &train_edit_shape, "left", e);
}

void page_generate_train(struct doc *d, const struct train_view *v)
{
	if (v->edit) {
		edited(d, v->edit);
	} else if (v->file.text && v->setup->fits) {
		doc_heading(d, 2, v->file.name);
		doc_code(d, v->file.text);
		items(d, NULL, &v->file.items);
		items(d, "Matching arguments of transformers' Trainer", &v->arguments);
		if (v->torch_call) {
			doc_heading(d, 2, "Equivalent PyTorch calls");
			doc_code(d, v->torch_call);
		}
	}
	train_predicted(d, v->setup, v->edit ? "after" : "chosen");
	train_tries(d, v->setup);
}

/* What was found in what people wrote: the place, what is wrong, what to do. */

static void looked(struct doc *d, const struct lint_view *v)
{
	const struct lint *l = v->l;

	doc_text(d,
		 "Checked %zu file%s: %zu variable%s, %zu engine command%s, %zu hostfile line%s, "
		 "%zu training configuration%s. %s%s%s.",
		 v->n, PLURAL(v->n), l->variables, PLURAL(l->variables), l->commands,
		 PLURAL(l->commands), l->hosts, PLURAL(l->hosts), l->configs, PLURAL(l->configs),
		 v->on->nccl ? "NCCL " : "NCCL release unknown (--nccl)",
		 v->on->nccl ? v->on->nccl : "",
		 v->on->nccl ? arena_printf(d->arena, " (%s)", v->on->nccl_from) : "");
}

static const char *lint_sentence(struct arena *a, const struct lint_finding *f)
{
	bool named = strstr(f->says, f->subject) != NULL;

	return named ? f->says : arena_printf(a, "%s: %s", f->subject, f->says);
}

struct doc *page_lint(struct arena *a, const struct lint_view *v)
{
	static const enum style styles[LINT_LEVELS] = { STYLE_BAD, STYLE_WARN, STYLE_MUTED };
	struct doc *d = doc_new(a);
	const struct lint *l = v->l;
	struct node *list;
	size_t worst = 0;

	for (size_t i = 1; i < l->n; i++)
		if (l->findings[i].level < l->findings[worst].level)
			worst = i;
	doc_heading(d, 1, "Lint");
	if (l->n)
		doc_verdict(d, styles[l->findings[worst].level],
			    doc_counts(d, lint_level_names, v->count, LINT_LEVELS),
			    lint_sentence(a, &l->findings[worst]));
	else
		doc_verdict(d, STYLE_GOOD, "Nothing to fix", NULL);
	looked(d, v);
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < l->n; i++) {
		const struct lint_finding *f = &l->findings[i];

		node_found(d, list,
			   &(struct found){
				   .badge = cell_as(styles[f->level], lint_level_names[f->level]),
				   .id = f->code,
				   .on = f->line ? arena_printf(a, "%s:%u", f->file, f->line)
						 : f->file,
				   .why = lint_sentence(a, f),
				   .fix = cell(f->fix) });
		node_more(d, list, "source", cell_as(STYLE_MUTED, f->source));
	}
	return d;
}
