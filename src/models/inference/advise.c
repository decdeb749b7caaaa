/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: every change by itself, in the order of what it brings, and the words about each. */
#include <errno.h>
#include <string.h>

#include "models/inference/advise.h"
#include "models/inference/rows.h"

/* Where the base does not fit there is nothing to be better than: the goal's own figure. */
static int by_goal(const void *x, const void *y, void *how)
{
	const struct serve_change *a = x, *b = y;
	enum goal goal = *(const enum goal *)how;
	double p = a->gain[goal].value, q = b->gain[goal].value;

	if (p <= 0 || q <= 0) {
		p = outcome_of(&a->after, goal), q = outcome_of(&b->after, goal);
		if (goal_less(goal))
			p = -p, q = -q;
	} else if (a->includes_nothing != b->includes_nothing) {
		return a->includes_nothing ? 1 : -1;
	}
	if (p > q || p < q)
		return p > q ? -1 : 1;
	return strcmp(a->what, b->what);
}

int advise(struct arena *a, const struct infer_options *w, const struct fits *fits,
	   const struct advise_facts *facts, struct serve_advice *out, struct err *e)
{
	struct adviser v = { a, w, fits, facts, out };
	struct way *base = ARENA_NEW(a, struct way);
	struct query one;
	int r = question_make(a, w, fits, &base->q, e);

	if (r < 0)
		return r;
	base->copies = facts->copies > 1 ? facts->copies : 1;
	if (base->copies * base->q.ask.tp * base->q.ask.pp > base->q.ask.place.gpus)
		return err_set(e, -EINVAL, "%d copies of %d GPUs need more than there are, %d",
			       base->copies, base->q.ask.tp * base->q.ask.pp,
			       base->q.ask.place.gpus);
	one = base->q;
	one.ask.batch = (one.ask.batch + base->copies - 1) / base->copies;
	*out = (struct serve_advice){ .goal = facts->goal, .base = base };
	predict(a, &one, fits, &out->before);
	way_outcome(&base->q.ask, base->copies, &out->now);
	advise_singles(&v);
	advise_layouts(&v);
	advise_machines(&v);
	advise_models(&v);
	qsort_r(out->changes, out->n, sizeof(*out->changes), by_goal, &out->goal);
	advise_together(&v);
	advise_notes(&v);
	return 0;
}

static void note(struct adviser *v, const char *text)
{
	if (v->out->n_notes < ADVICE_NOTES)
		v->out->notes[v->out->n_notes++] = text;
}

void advise_notes(struct adviser *v)
{
	const struct prediction *p = &v->out->before;
	const struct prompt *r = &p->prompt;

	if (!v->out->now.fits)
		note(v, "what is asked does not fit, so there is nothing that a change could be "
			"compared with: changes are ordered by what they reach");
	if (p->q.arch.experts)
		note(v, "not predicted: expert parallelism over more GPUs than share the other "
			"weights, and data parallelism of attention; measure them");
	note(v, "not predicted: separate machines for prompts and for answers");
	note(v, arena_printf(v->arena,
			     "GPU clocks: only multiplying gets shorter with a higher clock, and "
			     "counts for %.2f of %.2f ms a step and %.1f of %.1f ms a prompt%s",
			     p->step.compute > p->step.memory ? p->step.compute : 0, p->step.total,
			     r->multiply + r->attention, r->total,
			     v->facts->clock_max > 0 ? "" : "; no machine was looked at"));
	if (p->q.arch.guessed)
		note(v, "the model's shape is a guess: its intervals are wider, those of gains are "
			"not");
}

/* The same GPUs in another order, more of them, and another model with fewer active parameters. */

/* Heads are dealt out whole. */
static bool splits(const struct arch *a, int tp)
{
	return a->heads <= 0 || a->heads % tp == 0;
}

static const char *layout_name(const struct adviser *v, int tp, int pp, int copies)
{
	const char *stages = pp > 1 ? arena_printf(v->arena, ", %d stages", pp) : "";

	return copies > 1 ? arena_printf(v->arena, "%d copies of tensor parallelism %d%s", copies,
					 tp, stages)
			  : arena_printf(v->arena, "tensor parallelism %d%s", tp, stages);
}

static const char *layout_options(const struct adviser *v, int tp, int pp, int copies)
{
	const char *stages = pp > 1 ? arena_printf(v->arena, " --pp %d", pp) : "";

	return copies > 1 ? arena_printf(v->arena, "--tp %d%s --copies %d", tp, stages, copies)
			  : arena_printf(v->arena, "--tp %d%s", tp, stages);
}

static void try_layout(struct adviser *v, int tp, int pp, int copies)
{
	const struct ask *q = &v->out->base->q.ask;
	struct way *way = adviser_copy(v, v->out->base);

	way->q.ask.tp = tp;
	way->q.ask.pp = pp;
	way->copies = copies;
	adviser_try(v, &(struct trial){ .kind = CHANGE_LAYOUT,
					.way = way,
					.what = arena_printf(
						v->arena, "%s instead of %s",
						layout_name(v, tp, pp, copies),
						layout_name(v, q->tp, q->pp, v->out->base->copies)),
					.options = layout_options(v, tp, pp, copies) });
}

void advise_layouts(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	int gpus = q->place.gpus;

	for (int tp = 1; tp <= gpus; tp++)
		for (int pp = 1; tp * pp <= gpus; pp++) {
			int copies = gpus / (tp * pp);

			if (tp * pp * copies != gpus || !splits(q->arch, tp) || copies > q->batch ||
			    pp > q->arch->layers)
				continue;
			if (tp == q->tp && pp == q->pp && copies == v->out->base->copies)
				continue;
			/* Stages are for what does not fit, or between machines. */
			if (pp > 1 && q->place.nodes < 2 && v->out->now.fits)
				continue;
			try_layout(v, tp, pp, copies);
		}
}

static void try_machines(struct adviser *v, int times, bool copies)
{
	const struct ask *q = &v->out->base->q.ask;
	struct way *way = adviser_copy(v, v->out->base);
	struct target_hw *p = &way->q.ask.place;
	int gpus = q->place.gpus * times;
	bool cards = q->place.gpu->link > 0 && gpus <= q->place.gpu->per_node;
	const char *of = q->place.gpu->name;

	p->gpus = gpus;
	p->nodes = cards ? 1 : q->place.nodes * times;
	if (!cards && q->place.gpu->per_node > 1 && gpus > q->place.gpu->per_node)
		p->nodes = (gpus + q->place.gpu->per_node - 1) / q->place.gpu->per_node;
	p->taken = arena_printf(v->arena, "%d x %s", gpus, of);
	way->copies = v->out->base->copies * (copies ? times : 1);
	way->q.ask.tp = copies ? q->tp : q->tp * times;
	if (!splits(q->arch, way->q.ask.tp) || way->copies > q->batch)
		return;
	adviser_try(v,
		    &(struct trial){
			    .kind = CHANGE_MACHINES,
			    .way = way,
			    .what = arena_printf(v->arena, "%d x %s instead of %d, %s", gpus, of,
						 q->place.gpus,
						 layout_name(v, way->q.ask.tp, q->pp, way->copies)),
			    .options = arena_printf(
				    v->arena, "--on \"%d x %.*s\" %s", gpus,
				    (int)strcspn(q->place.gpu->keys, " "), q->place.gpu->keys,
				    layout_options(v, way->q.ask.tp, q->pp, way->copies)) });
}

void advise_machines(struct adviser *v)
{
	for (int times = 2; times <= 4; times *= 2) {
		try_machines(v, times, false);
		try_machines(v, times, true);
	}
}

/* A model of the list with experts: about as many parameters, far fewer of them active. */
static bool rival(const struct arch *a, const struct arch_parts *own)
{
	struct arch_parts p;

	if (!a->experts || a->guessed)
		return false;
	p = arch_parts(a);
	return p.total > 0.6 * own->total && p.total < 1.6 * own->total &&
	       p.active < 0.6 * own->active;
}

static void try_model(struct adviser *v, const struct arch *a)
{
	struct infer_options w = *v->words;
	struct arch_parts p = arch_parts(a);
	struct way *way;

	w.model = a->name;
	w.file = NULL;
	w.weight_bytes = 0;
	w.weights = v->out->base->q.ask.weights->name;
	w.hint = (struct model_hint){ 0 };
	way = adviser_ask(v, &w, v->out->base->copies);
	if (!way || strcmp(way->q.arch.name, a->name) != 0)
		return;
	adviser_try(v, &(struct trial){
			       .kind = CHANGE_MODEL,
			       .way = way,
			       .what = arena_printf(v->arena,
						    "%s: %.0f billion parameters, %.1f of them "
						    "active",
						    a->name, p.total / 1e9, p.active / 1e9),
			       .options = arena_printf(v->arena, "--model %s --weights \"%s\"",
						       a->name, w.weights) });
}

/* The three best stay: the list is long, and one is as good an example as the next. */
enum { MODELS_KEPT = 3 };

static void keep_best_models(struct serve_advice *o, size_t from)
{
	for (size_t i = from; i < o->n && i < from + MODELS_KEPT; i++)
		for (size_t k = i + 1; k < o->n; k++) {
			struct serve_change t = o->changes[i];

			if (outcome_of(&o->changes[k].after, o->goal) ==
			    outcome_of(&t.after, o->goal))
				continue;
			if ((outcome_of(&o->changes[k].after, o->goal) <
			     outcome_of(&t.after, o->goal)) != goal_less(o->goal))
				continue;
			o->changes[i] = o->changes[k];
			o->changes[k] = t;
		}
	if (o->n > from + MODELS_KEPT)
		o->n = from + MODELS_KEPT;
}

void advise_models(struct adviser *v)
{
	struct arch_parts own = arch_parts(&v->out->base->q.arch);
	size_t from = v->out->n;

	for (const struct model_row *m = knowledge_or_built_in(v->words->known)->models; m->a.name;
	     m++)
		if (rival(&m->a, &own))
			try_model(v, &m->a);
	keep_best_models(v->out, from);
}
