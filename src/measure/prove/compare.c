/* SPDX-License-Identifier: Apache-2.0 */
/* From pairs to a verdict: looks, guards, time, and what ends a proof early. */
#include <errno.h>
#include <math.h>

#include "measure/prove/engine.h"
#include "measure/prove/proof.h"

/* Words of a proof. */

const char *proof_percent(struct arena *a, double ratio)
{
	double percent = (ratio - 1) * 100;

	if (!isfinite(ratio))
		return "unbounded";
	return arena_printf(a, fabs(percent) < 10 ? "%+.1f %%" : "%+.0f %%", percent);
}

/* The other figures, when there are pairs enough for them. */
static bool judge_guards(struct prove_engine *g, struct compared *c)
{
	const struct window *w = &g->p->window;
	bool early = false;

	c->n_guards = 0;
	for (size_t i = 0; i < w->n_figures; i++) {
		struct proof_guard *x = &c->guards[c->n_guards];

		if (i == w->main)
			continue;
		x->figure = i;
		x->key = w->figures[i].key;
		rule_guard(c->pairs.d[i], c->pairs.n,
			   w->tolerance[i] > 0 ? w->tolerance[i] : g->p->same.min_effect,
			   &x->guard);
		early = early || x->guard.early;
		c->n_guards++;
	}
	return !early;
}

static void conclude(struct prove_engine *g, struct compared *c)
{
	const struct window *w = &g->p->window;

	c->verdict = c->ruling.kind == RULING_GO_ON ? RULING_UNDECIDED : c->ruling.kind;
	c->why = c->ruling.why;
	for (size_t i = 0; i < c->n_guards && c->verdict == RULING_HELPS; i++) {
		const struct proof_guard *x = &c->guards[i];

		if (!x->guard.veto)
			continue;
		/* A trade is for people to decide; it is not kept. */
		c->verdict = RULING_UNDECIDED;
		c->why = arena_printf(
			g->a, "a trade-off: %s improves (%s), but %s gets worse (%s)",
			w->figures[w->main].title, proof_percent(g->a, c->ruling.ratio),
			w->figures[x->figure].title, proof_percent(g->a, x->guard.ratio));
	}
}

static int pairs_until(struct prove_engine *g, size_t n, const struct arm *a, const struct arm *b,
		       struct compared *c, struct err *e)
{
	int r = 0;

	while (r == 0 && c->pairs.n < n)
		r = engine_pair(g, PART_PAIRS, a, b, &c->pairs, e);
	return r;
}

int engine_compare(struct prove_engine *g, const struct rule *rule, const struct arm *a,
		   const struct arm *b, struct compared *c, struct err *e)
{
	const double **d = (const double **)&c->pairs.d[g->p->window.main];
	size_t next;
	int r;

	c->done = true;
	while ((next = rule_next(rule, c->pairs.n)) != 0 && engine_has_time(g, next - c->pairs.n)) {
		g->expect = rule->looks[rule->n_looks - 1];
		r = pairs_until(g, next, a, b, c, e);
		if (r)
			return r;
		rule_look(rule, *d, c->pairs.n, !rule_next(rule, c->pairs.n), &c->ruling);
		if (c->ruling.kind != RULING_GO_ON)
			break;
	}
	if (c->ruling.kind == RULING_GO_ON)
		rule_look(rule, *d, c->pairs.n, true, &c->ruling);
	/* What helps has to be looked at long enough to see what it costs. */
	while (c->ruling.kind == RULING_HELPS && !judge_guards(g, c) && engine_has_time(g, 1)) {
		r = pairs_until(g, c->pairs.n + 1, a, b, c, e);
		if (r)
			return r;
	}
	judge_guards(g, c);
	conclude(g, c);
	return 0;
}

int engine_verdict(struct prove_engine *g, const bool *on, struct err *e)
{
	const struct arm off = { .name = "off", .other = on }, with = { .name = "on", .on = on };
	struct proof *p = g->p;
	int r = engine_compare(g, &p->rule, &off, &with, &p->compared, e);

	if (r == 0) {
		p->verdict = p->compared.verdict;
		p->why = p->compared.why;
	}
	return r;
}

int engine_leaves(struct prove_engine *g, struct proof_member *x, int code, const struct err *e)
{
	if (code != -EBADMSG && code != -ECANCELED)
		return code;
	x->fault = arena_printf(g->a, "%s: %s",
				code == -EBADMSG ? "the workload fails" : "cannot be set here",
				e->text);
	return 0;
}

void engine_rule(struct prove_engine *g)
{
	struct rule *r = &g->p->rule;

	rule_default(r, g->p->same.min_effect);
	while (g->p->same.kind == SAME_COARSE && r->n_looks > 1 &&
	       r->looks[r->n_looks - 1] > RULE_SAME_PAIRS)
		r->n_looks--;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void engine_fail(struct prove_engine *g, int code, const struct err *e)
{
	struct proof *p = g->p;
	bool heard = !*e->text || (g->stop && atomic_load(g->stop));

	p->stopped = code == -EINTR;
	p->verdict = code == -EBADMSG ? RULING_HURTS : RULING_UNDECIDED;
	switch (code) {
	case -EINTR:
		p->why = arena_printf(g->a, "interrupted after %zu pairs%s%s", p->compared.pairs.n,
				      heard ? "" : ": ", heard ? "" : e->text);
		return;
	case -EBADMSG:
		p->why = arena_printf(g->a, "the workload fails with the setting: %s", e->text);
		return;
	case -EAGAIN:
		p->why = arena_printf(
			g->a,
			"the workload failed once with the setting, but not when repeated: %s",
			e->text);
		return;
	case -ENODATA:
		p->why = arena_printf(
			g->a, "the workload cannot be measured, even without the change: %s",
			e->text);
		return;
	case -ESTALE:
		p->why = arena_printf(
			g->a, "another program or user changed the setting during the A/B test: %s",
			e->text);
		return;
	case -ECANCELED:
		p->why = arena_printf(g->a, "the setting cannot be changed here: %s", e->text);
		return;
	case -EUCLEAN:
		p->trouble = arena_printf(g->a, "%s: %s", e->text, e->hint);
		p->why = "gputune could not restore the machine between two measurements";
		return;
	case -ETIME:
		p->why = arena_printf(g->a, "%s; %s does", e->text, e->hint);
		return;
	default:
		p->why = arena_printf(g->a, "the workload cannot be measured: %s", e->text);
		return;
	}
}

void engine_finish(struct prove_engine *g, int code, const struct err *said)
{
	struct err e = { 0 };
	int r;

	if (code)
		engine_fail(g, code, said);
	r = switch_to(g->sw, NULL, false, &e);
	g->p->switches = switch_count(g->sw);
	g->p->took_s = g->clock->now(g->clock->ctx) - g->start;
	if (r == -ESTALE)
		g->p->foreign = arena_strdup(g->a, e.text);
	else if (r && !g->p->trouble)
		g->p->trouble = arena_printf(g->a, "%s%s%s", e.text, *e.hint ? ": " : "", e.hint);
	/* Said where interrupted pairs say something already; it is no look. */
	if (g->p->stopped && g->p->compared.pairs.n && g->p->compared.ruling.pairs == 0)
		rule_look(&g->p->rule, g->p->compared.pairs.d[g->p->window.main],
			  g->p->compared.pairs.n, true, &g->p->compared.ruling);
}

static int prove_compare_prove(struct prove_engine *g, const bool *on, struct err *e)
{
	struct proof *p = g->p;
	bool usable = false;
	int r;

	rule_default(&p->rule, p->min_effect_asked);
	r = engine_warm_up(g, SAME_SHORT_PAIRS + p->rule.looks[0], e);
	if (r == 0)
		r = engine_admit(g, on, e);
	if (r == 0)
		r = engine_same(g, on, p->rule.looks[p->rule.n_looks / 2], &usable, e);
	if (r)
		return r;
	if (!usable) {
		p->verdict = RULING_UNDECIDED;
		return 0;
	}
	engine_rule(g);
	r = engine_verdict(g, on, e);
	if (r == 0 && p->verdict == RULING_UNDECIDED && p->same.kind == SAME_COARSE)
		p->why = p->same.why;
	return r;
}

void engine_prove(struct prove_engine *g, const bool *on)
{
	struct err e = { 0 };
	int r;

	engine_start(g);
	r = prove_compare_prove(g, on, &e);
	engine_finish(g, r, &e);
}
