/* SPDX-License-Identifier: Apache-2.0 */
/* The same GPUs in another order, more of them, and another model with fewer active parameters. */
#include <math.h>
#include <string.h>

#include "models/inference/advise_parts.h"

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
	struct place *p = &way->q.ask.place;
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

static bool named_before(const struct model_list *const *list, const struct model_list *end,
			 size_t row, const char *name)
{
	for (;; list++)
		for (size_t i = 0; i < (*list)->n; i++) {
			if (*list == end && i >= row)
				return false;
			if (strcmp((*list)->rows[i].a.name, name) == 0)
				return true;
		}
}

static void try_model(struct adviser *v, const struct arch *a)
{
	struct words w = *v->words;
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

static void keep_best_models(struct advice *o, size_t from)
{
	for (size_t i = from; i < o->n && i < from + MODELS_KEPT; i++)
		for (size_t k = i + 1; k < o->n; k++) {
			struct change t = o->changes[i];

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

	for (const struct model_list *const *l = model_lists; *l; l++)
		for (size_t i = 0; i < (*l)->n; i++)
			if (rival(&(*l)->rows[i].a, &own) &&
			    !named_before(model_lists, *l, i, (*l)->rows[i].a.name))
				try_model(v, &(*l)->rows[i].a);
	keep_best_models(v->out, from);
}
