/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging one change: its outcome against the base's, how sure that is, and the order of all. How
 * sure a gain is comes from pairs of measurements (change.h); where no two differ in that alone,
 * it is as unsure as the kind that was predicted worst.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/advise.h"
#include "models/inference/rows.h"

/* How far the factor of one measure may lie beside what is predicted. */
struct range {
	double low, high;
};

struct way *adviser_copy(const struct adviser *v, const struct way *from)
{
	struct way *w = ARENA_NEW(v->arena, struct way);

	*w = *from;
	w->q.ask.arch = &w->q.arch;
	return w;
}

struct way *adviser_ask(const struct adviser *v, const struct words *words, int copies)
{
	struct way *w = ARENA_NEW(v->arena, struct way);
	struct err e = { 0 };

	w->copies = copies;
	return question_make(v->arena, words, v->fits, &w->q, &e) < 0 ? NULL : w;
}

/* As wide as the kind that was predicted worst. */
static struct range unpaired(const struct adviser *v, int measure)
{
	enum hardware h = hardware_of(v->out->base->q.ask.place.gpu);
	const struct spread *s = v->out->before.spread[measure];
	struct range r = { 1, 1 };

	for (int k = 0; k < CHANGES; k++) {
		const struct change_spread *c = change_spread_of((enum change_kind)k, h, measure);

		if (c) {
			r.low = fmin(r.low, c->low);
			r.high = fmax(r.high, c->high);
		}
	}
	if (r.low < 1 || r.high > 1)
		return r;
	return s ? (struct range){ s->low / s->high, s->high / s->low } : (struct range){ 0.5, 2 };
}

static struct range range_of_kind(const struct adviser *v, enum change_kind kind, int measure)
{
	enum hardware h = hardware_of(v->out->base->q.ask.place.gpu);
	const struct change_spread *s = change_spread_of(kind, h, measure);

	/* A rate of all requests is a time of each of them. */
	if (!s && measure == MEASURE_THROUGHPUT)
		s = change_spread_of(kind, h, MEASURE_TPOT);
	return s ? (struct range){ fmin(1, s->low), fmax(1, s->high) } : unpaired(v, measure);
}

/* Errors of several changes may all go one way: factors, not the root of squares. */
static struct range range_of(const struct adviser *v, const struct trial *t, int measure)
{
	struct range all = { 1, 1 };

	for (int k = 0; k < CHANGES; k++)
		if (t->kind == CHANGE_SEVERAL ? t->kinds & 1u << k
					      : t->kind == (enum change_kind)k) {
			struct range r = range_of_kind(v, (enum change_kind)k, measure);

			all.low *= r.low;
			all.high *= r.high;
		}
	return all;
}

static double gain_answer(const struct outcome *a, const struct outcome *b, double first,
			  double token)
{
	double rest = a->answer - a->ttft, after = b->answer - b->ttft;

	return (a->ttft + rest) / (b->ttft / first + after / token);
}

static struct figure gain_of(const struct adviser *v, const struct trial *t, enum goal goal,
			     const struct outcome *now, const struct outcome *o)
{
	struct figure f = { outcome_gain(now, o, goal), 0, 0 };
	struct range first = range_of(v, t, MEASURE_TTFT), token = range_of(v, t, MEASURE_TPOT),
		     rate = range_of(v, t, MEASURE_THROUGHPUT);

	if (f.value <= 0)
		return f;
	f.low = f.high = f.value;
	if (goal == GOAL_FIRST) {
		f.low *= first.low;
		f.high *= first.high;
	} else if (goal == GOAL_THROUGHPUT) {
		f.low *= rate.low;
		f.high *= rate.high;
	} else if (goal == GOAL_LATENCY) {
		f.low = gain_answer(now, o, first.low, token.low);
		f.high = gain_answer(now, o, first.high, token.high);
	} else {
		double low = now->users_low > 0 ? o->users_low / now->users_low : f.value,
		       high = now->users_high > 0 ? o->users_high / now->users_high : f.value;

		f.low = fmin(f.value, fmin(low, high));
		f.high = fmax(f.value, fmax(low, high));
	}
	return f;
}

/* What is not known widens the interval by what it would be at its ends. */
static void widen(struct figure *f, const struct figure *end)
{
	if (end->value <= 0)
		return;
	f->low = fmin(f->low, end->low);
	f->high = fmax(f->high, end->high);
}

static void sureness(const struct adviser *v, const struct trial *t, struct change *c)
{
	enum hardware h = hardware_of(v->out->base->q.ask.place.gpu);
	int measure = v->out->goal == GOAL_FIRST	? MEASURE_TTFT
		      : v->out->goal == GOAL_THROUGHPUT ? MEASURE_THROUGHPUT
							: MEASURE_TPOT;
	const struct change_spread *s = change_spread_of(t->kind, h, measure);

	if (v->out->goal == GOAL_USERS) {
		c->confidence = CONFIDENCE_HIGH;
		c->known_from = "counted bytes";
		return;
	}
	if (!s && measure == MEASURE_THROUGHPUT)
		s = change_spread_of(t->kind, h, MEASURE_TPOT);
	if (t->kind == CHANGE_SEVERAL) {
		c->known_from = "the intervals of its parts multiplied";
		c->confidence = CONFIDENCE_LOW;
		return;
	}
	if (!s) {
		c->known_from = "no two measurements differ in this alone: as unsure as the "
				"kind of change that was predicted worst";
		return;
	}
	c->confidence =
		s->families >= 3 && s->pairs >= 20 && s->hardware == h && !(t->worst || t->best)
			? CONFIDENCE_HIGH
			: CONFIDENCE_MEDIUM;
	c->known_from = arena_printf(
		v->arena, "%d pairs of measurements of %d model%s differ in this alone%s", s->pairs,
		s->families, s->families == 1 ? "" : "s",
		s->hardware == h ? "" : ", most or all of them on other hardware");
}

void adviser_judge(struct adviser *v, const struct trial *t, struct change *c)
{
	const struct outcome *now = &v->out->now;
	const struct way *ends[] = { t->worst, t->best };

	*c = (struct change){
		.kind = t->kind, .what = t->what, .options = t->options, .parts = t->parts
	};
	way_outcome(&t->way->q.ask, t->way->copies, &c->after);
	for (int g = 0; g < GOALS; g++)
		c->gain[g] = gain_of(v, t, (enum goal)g, now, &c->after);
	for (size_t i = 0; i < 2; i++)
		for (int g = 0; g < GOALS && ends[i]; g++) {
			struct outcome o;
			struct figure f;

			way_outcome(&ends[i]->q.ask, ends[i]->copies, &o);
			f = gain_of(v, t, (enum goal)g, now, &o);
			widen(&c->gain[g], &f);
		}
	c->includes_nothing = c->gain[v->out->goal].low <= 1 && c->gain[v->out->goal].high >= 1;
	sureness(v, t, c);
	advise_words(v, t, c);
	v->out->tried++;
}

/* Less than this is no advice. */
#define WORTH 1.005

void adviser_try(struct adviser *v, const struct trial *t)
{
	struct advice *o = v->out;
	struct change c;

	adviser_judge(v, t, &c);
	if (!c.after.fits || (o->now.fits && c.gain[o->goal].value < WORTH))
		return;
	o->changes = arena_grow(v->arena, o->changes, o->n, sizeof(*o->changes));
	o->changes[o->n++] = c;
}

/* Where the base does not fit there is nothing to be better than: the goal's own figure. */
static int by_goal(const void *x, const void *y, void *how)
{
	const struct change *a = x, *b = y;
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

int advise(struct arena *a, const struct words *w, const struct fits *fits,
	   const struct advise_facts *facts, struct advice *out, struct err *e)
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
	*out = (struct advice){ .goal = facts->goal, .base = base };
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

/* What each change is paid with, and what has to be measured before it is believed. */

static const struct sentences {
	const char *trade, *measure;
} texts[CHANGES] = {
	[CHANGE_WEIGHTS] = { "answers change: how much is not predicted, and depends on the model "
			     "and how it was quantised",
			     "your own tasks, or an evaluation of the model's card, with both "
			     "formats; then time a token at this number of requests" },
	[CHANGE_CACHE] = { "answers over long contexts may change: not predicted; needs an engine "
			   "and attention kernels that take it",
			   "your own tasks at the longest context you use; time a token there" },
	[CHANGE_LAYOUT] = { "fewer GPUs a request make each token slower, more of them pay "
			    "all-reduces",
			    "time a token and to the first one, at this number of requests, with "
			    "both" },
	[CHANGE_MACHINES] = { "more machines to pay for, to keep alike and to cool; one that fails "
			      "stops all of a tensor-parallel group",
			      "\"bench collectives\" between the machines at the message sizes of "
			      "--explain, then time a token" },
	[CHANGE_USERS] = { "the more at a time, the longer each waits for a token; fewer at a time "
			   "make others wait in line",
			   "time a token and to the first one, and tokens a second, at both "
			   "numbers" },
	[CHANGE_DRAFT] = { "a draft model or head to be loaded (not in the memory shown); loses "
			   "where many requests already keep the GPU multiplying",
			   "the part of guesses that are right on your own requests: engines "
			   "count it" },
	[CHANGE_PREFIX] = { "nothing where prompts share no beginning; cached prompts take memory "
			    "that requests could have",
			    "the hit rate of the engine's prefix cache under your own requests" },
	[CHANGE_CHUNK] = { "larger chunks need more memory and hold up the tokens of others, "
			   "smaller ones read the weights more often",
			   "time to first token and between tokens under load with both" },
	[CHANGE_GRAPHS] = { "memory for the graphs, and a longer start", "time a token with both" },
	[CHANGE_ENGINE] = { "another program to run: features, models and formats differ",
			    "the same requests against both" },
	[CHANGE_MODEL] = { "another model: what it can do is not compared here",
			   "your own tasks with both models" },
	[CHANGE_CLOCK] = { "power and heat; nothing for what memory limits",
			   "\"prove gpu.clocks\" with your own workload" },
	[CHANGE_SEVERAL] = { "what each part is paid with, together",
			     "each part by itself first, then all: what does not show alone "
			     "hides in a mixture" },
};

/* "first token 1.4 x later": what else gets worse, for whoever looks at the goal alone. */
static const char *worse(struct adviser *v, const struct change *c)
{
	static const struct {
		const char *what, *unit;
		bool turned;
	} names[GOALS] = { { "a whole answer takes", " times as long", true },
			   { "the first token takes", " times as long", true },
			   { "tokens a second of all fall to", " of what they were", false },
			   { "requests that fit fall to", " of what they were", false } };
	const char *text = "";

	for (int g = 0; g < GOALS; g++) {
		double gain = c->gain[g].value;

		if (g == (int)v->out->goal || gain <= 0 || gain > 0.97)
			continue;
		text = arena_printf(v->arena, "%s; %s %.2f%s", text, names[g].what,
				    names[g].turned ? 1 / gain : gain, names[g].unit);
	}
	return text;
}

static const char *memory(struct adviser *v, const struct change *c)
{
	double before = v->out->now.bytes / 1e9, after = c->after.bytes / 1e9;

	if (fabs(after - before) < 0.05 * before)
		return "";
	return arena_printf(v->arena, "; memory of a GPU %.1f instead of %.1f GB", after, before);
}

void advise_words(struct adviser *v, const struct trial *t, struct change *c)
{
	const struct sentences *s = &texts[t->kind];
	const char *note = t->way->q.ask.weights->note;
	bool weights = t->kind == CHANGE_WEIGHTS || t->kinds & 1u << CHANGE_WEIGHTS;

	c->trade = arena_printf(v->arena, "%s%s%s%s%s", s->trade, weights && note ? "; kept: " : "",
				weights && note ? note : "", memory(v, c), worse(v, c));
	c->measure = s->measure;
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

	for (const struct model_row *m = knowledge_or_built_in(v->words->known)->models; m->a.name;
	     m++)
		if (rival(&m->a, &own))
			try_model(v, &m->a);
	keep_best_models(v->out, from);
}
