/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several values of one setting: each is screened against the machine as it was, and the one that
 * looks best is proven on fresh pairs, so that choosing it does not bias its result.
 */
#include <errno.h>
#include <math.h>

#include "measure/prove/engine.h"
#include "measure/prove/rule.h"

enum { ROUNDS_MIN = 5, ROUND_SEED = 2000 };
/* Two-sided level of the intervals that are shown of each value; they decide nothing. */
#define SHOWN_LEVEL 0.1

struct levels {
	struct prove_engine *g;
	const struct prove_level *at;
	size_t n;
	struct proof_pairs *pairs; /* by level */
};

static struct proof_member *member(const struct levels *l, size_t i)
{
	return &l->g->p->members[i];
}

static size_t count_in(const struct levels *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += member(l, i)->fault == NULL;
	return n;
}

static int levels_admit(struct levels *l, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		r = engine_admit(l->g, l->at[i].on, e);
		r = r ? engine_leaves(l->g, member(l, i), r, e) : 0;
	}
	if (r == 0 && !count_in(l))
		return err_set(e, -ECANCELED, "no value is better: %s", member(l, 0)->fault);
	return r;
}

/* Values take turns in random order, so that drift meets all of them alike. */
static int levels_round(struct levels *l, size_t round, struct err *e)
{
	struct prove_engine *g = l->g;
	size_t *order = arena_array(g->a, l->n, sizeof(*order));
	int r = 0;

	order_shuffle(g->p->seed + ROUND_SEED + round, order, l->n);
	for (size_t k = 0; r == 0 && k < l->n; k++) {
		size_t i = order[k];
		const struct arm off = { .name = "off", .other = l->at[i].on },
				 with = { .name = l->at[i].name, .on = l->at[i].on };

		if (member(l, i)->fault)
			continue;
		r = engine_pair(g, PART_SCREEN, &off, &with, &l->pairs[i], e);
		r = r ? engine_leaves(g, member(l, i), r, e) : 0;
	}
	return r;
}

static int levels_screen(struct levels *l, struct err *e)
{
	struct prove_engine *g = l->g;
	const struct rule *rule = &g->p->rule;
	int r = 0;

	for (size_t round = 0; r == 0 && round < LEVEL_ROUNDS_MAX && count_in(l); round++) {
		/* The proof itself needs more than the choice. */
		if (round >= ROUNDS_MIN &&
		    !engine_has_time(g, count_in(l) + rule->looks[rule->n_looks / 2]))
			break;
		g->expect = (round + 1) * l->n;
		r = levels_round(l, round, e);
	}
	return r;
}

/* Why a value is rejected: a guard loses more than it allows; NULL: none does. */
static const char *loses(const struct levels *l, size_t i)
{
	const struct window *w = &l->g->p->window;
	struct rank_interval x;

	for (size_t f = 0; f < w->n_figures; f++) {
		if (f == w->main || w->tolerance[f] <= 0)
			continue;
		rank_interval(l->pairs[i].d[f], l->pairs[i].n, SHOWN_LEVEL, &x);
		if (x.estimate < log(1 - w->tolerance[f]))
			return arena_printf(
				l->g->a,
				"%s gets worse (%s), by more than the accepted loss of %.0f %%",
				w->figures[f].title, proof_percent(l->g->a, exp(x.estimate)),
				100 * w->tolerance[f]);
	}
	return NULL;
}

/* The value that looks best, by more than half of --min-effect; l->n: none. */
static size_t levels_choose(const struct levels *l)
{
	const struct proof *p = l->g->p;
	size_t best = l->n;

	for (size_t i = 0; i < l->n; i++) {
		struct proof_member *m = member(l, i);
		struct rank_interval x;

		if (m->fault || !l->pairs[i].n)
			continue;
		rank_interval(l->pairs[i].d[p->window.main], l->pairs[i].n, SHOWN_LEVEL, &x);
		m->screened = true;
		m->effect = (struct screen_effect){ .ratio = exp(x.estimate),
						    .low = exp(x.low),
						    .high = exp(x.high),
						    .say = SCREEN_DROP };
		m->fault = loses(l, i);
		if (!m->fault && m->effect.ratio > 1 + p->rule.min_effect / 2 &&
		    (best == l->n || m->effect.ratio > member(l, best)->effect.ratio))
			best = i;
	}
	return best;
}

/* No value looks better by enough: no difference where no interval reaches --min-effect. */
static void levels_none(const struct levels *l)
{
	struct proof *p = l->g->p;
	double most = 0;

	for (size_t i = 0; i < l->n; i++)
		if (member(l, i)->screened && !member(l, i)->fault)
			most = fmax(most, member(l, i)->effect.high);
	p->verdict = most < 1 + p->rule.min_effect ? RULING_NO_DIFFERENCE : RULING_UNDECIDED;
	p->why = arena_printf(
		l->g->a, "no value is better by a relevant amount: %s",
		isfinite(most) ? arena_printf(l->g->a, "at most %s", proof_percent(l->g->a, most))
			       : "more pairs may find a better value");
}

static int levels_prove(struct levels *l, size_t *best, struct err *e)
{
	struct prove_engine *g = l->g;
	struct proof *p = g->p;
	bool usable = false;
	int r;

	rule_default(&p->rule, p->min_effect_asked);
	r = engine_warm_up(g, SAME_SHORT_PAIRS + ROUNDS_MIN * l->n + p->rule.looks[0], e);
	r = r ? r : levels_admit(l, e);
	r = r ? r : engine_same(g, l->at[0].on, ROUNDS_MIN * l->n + p->rule.looks[0], &usable, e);
	if (r || !usable) {
		p->verdict = RULING_UNDECIDED;
		return r;
	}
	engine_rule(g);
	r = levels_screen(l, e);
	if (r)
		return r;
	*best = levels_choose(l);
	if (*best == l->n) {
		levels_none(l);
		return 0;
	}
	member(l, *best)->effect.say = SCREEN_KEEP;
	member(l, *best)->state = MEMBER_TRIED;
	r = engine_verdict(g, l->at[*best].on, e);
	if (r == 0 && p->verdict == RULING_HELPS)
		member(l, *best)->state = MEMBER_SHOWN;
	return r;
}

size_t engine_prove_levels(struct prove_engine *g, const struct prove_level *at, size_t n)
{
	struct levels l = {
		.g = g, .at = at, .n = n, .pairs = arena_array(g->a, n, sizeof(*l.pairs))
	};
	struct err e = { 0 };
	size_t best = n;
	int r;

	g->p->members = arena_array(g->a, n, sizeof(*g->p->members));
	g->p->n_members = n;
	for (size_t i = 0; i < n; i++)
		g->p->members[i].id = at[i].name;
	engine_start(g);
	r = levels_prove(&l, &best, &e);
	engine_finish(g, r, &e);
	return best;
}
