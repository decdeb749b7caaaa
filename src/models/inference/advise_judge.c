/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging one change: its outcome against the base's, how sure that is, and the order of all. How
 * sure a gain is comes from pairs of measurements (fit.h); where no two differ in that alone,
 * it is as unsure as the kind that was predicted worst.
 */
#include <math.h>

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

struct way *adviser_ask(const struct adviser *v, const struct infer_options *words, int copies)
{
	struct way *w = ARENA_NEW(v->arena, struct way);
	struct err e = { 0 };

	w->copies = copies;
	return question_make(v->arena, words, v->fits, &w->q, &e) < 0 ? NULL : w;
}

/* As wide as the kind that was predicted worst. */
static struct range unpaired(const struct adviser *v, int measure)
{
	enum hardware h = measured_class(v->out->base->q.ask.place.gpu);
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
	enum hardware h = measured_class(v->out->base->q.ask.place.gpu);
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

static double gain_answer(const struct advise_outcome *a, const struct advise_outcome *b,
			  double first, double token)
{
	double rest = a->answer - a->ttft, after = b->answer - b->ttft;

	return (a->ttft + rest) / (b->ttft / first + after / token);
}

static struct figure advise_judge_gain_of(const struct adviser *v, const struct trial *t,
					  enum goal goal, const struct advise_outcome *now,
					  const struct advise_outcome *o)
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

static void sureness(const struct adviser *v, const struct trial *t, struct serve_change *c)
{
	enum hardware h = measured_class(v->out->base->q.ask.place.gpu);
	int measure = v->out->goal == GOAL_FIRST	? MEASURE_TTFT
		      : v->out->goal == GOAL_THROUGHPUT ? MEASURE_THROUGHPUT
							: MEASURE_TPOT;
	const struct change_spread *s = change_spread_of(t->kind, h, measure);

	if (v->out->goal == GOAL_USERS) {
		c->confidence = CONFIDENCE_HIGH;
		c->known_from = "byte counts";
		return;
	}
	if (!s && measure == MEASURE_THROUGHPUT)
		s = change_spread_of(t->kind, h, MEASURE_TPOT);
	if (t->kind == CHANGE_SEVERAL) {
		c->known_from = "product of the intervals of its parts";
		c->confidence = CONFIDENCE_LOW;
		return;
	}
	if (!s) {
		c->known_from = "no two measurements differ only in this change: using the widest "
				"interval of all kinds of change";
		return;
	}
	c->confidence =
		s->families >= 3 && s->pairs >= 20 && s->hardware == h && !(t->worst || t->best)
			? CONFIDENCE_HIGH
			: CONFIDENCE_MEDIUM;
	c->known_from = arena_printf(
		v->arena,
		"%d pairs of measurements of %d model%s that differ only in this change%s",
		s->pairs, s->families, PLURAL(s->families),
		s->hardware == h ? "" : ", most or all of them on other hardware");
}

static const struct sentences {
	const char *trade, *measure;
} texts[CHANGES] = {
#include "models/inference/change_texts.rows"
};

/* "first token 1.4 x later": what else gets worse, for whoever looks at the goal alone. */
static const char *advise_judge_worse(struct adviser *v, const struct serve_change *c)
{
	static const struct {
		const char *what, *unit;
		bool turned;
	} names[GOALS] = { { "request latency becomes", " times as long", true },
			   { "TTFT becomes", " times as long", true },
			   { "total tokens/s become", " times the old value", false },
			   { "requests that fit become", " times the old value", false } };
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

static const char *memory(struct adviser *v, const struct serve_change *c)
{
	double before = v->out->now.bytes / 1e9, after = c->after.bytes / 1e9;

	if (fabs(after - before) < 0.05 * before)
		return "";
	return arena_printf(v->arena, "; memory per GPU %.1f instead of %.1f GB", after, before);
}

static void advise_words(struct adviser *v, const struct trial *t, struct serve_change *c)
{
	const struct sentences *s = &texts[t->kind];
	const char *note = t->way->q.ask.weights->note;
	bool weights = t->kind == CHANGE_WEIGHTS || t->kinds & 1u << CHANGE_WEIGHTS;

	c->trade =
		arena_printf(v->arena, "%s%s%s%s%s", s->trade, weights && note ? "; kept: " : "",
			     weights && note ? note : "", memory(v, c), advise_judge_worse(v, c));
	c->measure = s->measure;
}

void adviser_judge(struct adviser *v, const struct trial *t, struct serve_change *c)
{
	const struct advise_outcome *now = &v->out->now;
	const struct way *ends[] = { t->worst, t->best };
	struct schedule plan;

	*c = (struct serve_change){ .kind = t->kind,
				    .way = t->way,
				    .what = t->what,
				    .options = t->options,
				    .parts = t->parts };
	way_simulated(v->arena, &t->way->q.ask, t->way->copies, &c->after, &plan);
	for (int g = 0; g < GOALS; g++)
		c->gain[g] = advise_judge_gain_of(v, t, (enum goal)g, now, &c->after);
	for (size_t i = 0; i < 2 && ends[i]; i++) {
		struct advise_outcome o;

		way_simulated(v->arena, &ends[i]->q.ask, ends[i]->copies, &o, &plan);
		for (int g = 0; g < GOALS; g++) {
			struct figure f = advise_judge_gain_of(v, t, (enum goal)g, now, &o);

			widen(&c->gain[g], &f);
		}
	}
	c->several = t->kind == CHANGE_SEVERAL;
	c->gain_known = c->gain[v->out->goal].value > 0;
	c->includes_nothing = c->gain[v->out->goal].low <= 1 && c->gain[v->out->goal].high >= 1;
	sureness(v, t, c);
	advise_words(v, t, c);
	v->out->tried++;
}

/* Less than this is no advice. */
#define WORTH 1.005

void adviser_try(struct adviser *v, const struct trial *t)
{
	struct serve_advice *o = v->out;
	struct serve_change c;

	adviser_judge(v, t, &c);
	ARENA_ADD(v->arena, v->singles, v->n_singles) = c;
	if (!c.after.fits || (o->now.fits && c.gain[o->goal].value < WORTH))
		return;
	ARENA_ADD(v->arena, o->changes, o->n) = c;
}
