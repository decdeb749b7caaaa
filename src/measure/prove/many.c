/* SPDX-License-Identifier: Apache-2.0 */
/* Many settings in one go: what takes part, mixtures of them, leaving one out, and the whole. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure/prove/engine.h"
#include "measure/prove/rule.h"
#include "machine/knob/io.h"
#include "measure/prove/screen.h"

/* --- which settings of the plan are switched together ----------------------------------------- */
struct groups {
	size_t n;
	const char **ids; /* "a.b", or "a.b+c.d" for those that touch the same knobs */
	bool **on;	  /* by group, then by change of the plan */
};

struct items {
	struct arena *a;
	const struct plan *p;
	const bool *spare;
	const struct setting **s; /* distinct, in the plan's order */
	size_t n;
};

static bool many_resets(struct arena *a, const struct knob *x, const struct knob *y)
{
	size_t n = 0;
	struct knob *others = knob_disturbs(NULL, a, x, &n);

	for (size_t i = 0; i < n; i++)
		if (knob_equal(&others[i], y))
			return true;
	return false;
}

static bool many_joined(void *ctx, size_t i, size_t j)
{
	const struct items *x = ctx;

	for (size_t k = 0; k < x->p->n; k++)
		for (size_t m = 0; m < x->p->n; m++) {
			const struct change *c = &x->p->changes[k], *d = &x->p->changes[m];

			if (c->gate || d->gate || c->s != x->s[i] || d->s != x->s[j] ||
			    (x->spare && (x->spare[k] || x->spare[m])))
				continue;
			if (knob_equal(&c->knob, &d->knob) ||
			    many_resets(x->a, &c->knob, &d->knob) ||
			    many_resets(x->a, &d->knob, &c->knob))
				return true;
		}
	return false;
}

static void find_items(struct items *x)
{
	for (size_t i = 0; i < x->p->n; i++) {
		const struct change *c = &x->p->changes[i];
		size_t k = 0;

		while (k < x->n && x->s[k] != c->s)
			k++;
		if (c->gate || (x->spare && x->spare[i]) || k < x->n)
			continue;
		x->s = arena_grow(x->a, x->s, x->n, sizeof(*x->s));
		x->s[x->n++] = c->s;
	}
}

/* One group a setting, all its targets in it; settings that write the same knob, or reset what
 * another one writes, are one group. Only open changes. */
static void groups_make(struct arena *a, const struct plan *p, const bool *spare,
			struct groups *out)
{
	struct items x = { .a = a, .p = p, .spare = spare };
	size_t *group;

	find_items(&x);
	group = arena_array(a, x.n, sizeof(*group));
	*out = (struct groups){ .n = screen_groups(x.n, many_joined, &x, group) };
	out->ids = arena_array(a, out->n, sizeof(*out->ids));
	out->on = arena_array(a, out->n, sizeof(*out->on));
	for (size_t i = 0; i < out->n; i++)
		out->on[i] = arena_array(a, p->n, sizeof(**out->on));
	for (size_t i = 0; i < x.n; i++) {
		const char **id = &out->ids[group[i]];

		*id = *id ? arena_printf(a, "%s+%s", *id, x.s[i]->id) : x.s[i]->id;
		for (size_t k = 0; k < p->n; k++)
			if (!p->changes[k].gate && p->changes[k].s == x.s[i] &&
			    !(spare && spare[k]))
				out->on[group[i]][k] = true;
	}
}

/* --- the course ------------------------------------------------------------------------------- */
enum { BROKEN_MAX = 8, WHOLE_PAIRS = 16, ROUNDS_MAX = 8, ROUND_SEED = 1000 };

struct many {
	struct prove_engine *g;
	struct groups groups;
	size_t *in; /* groups that take part, n of them */
	size_t n;
	bool *set;	      /* by group: in the set that is confirmed */
	bool *p, *mirror, *b; /* masks by change */
	size_t *rows;
	struct proof_pairs pairs;
};

static void clear(struct many *m, bool *mask)
{
	memset(mask, 0, m->g->plan->n * sizeof(*mask));
}

static void add(struct many *m, bool *mask, size_t group)
{
	for (size_t i = 0; i < m->g->plan->n; i++)
		mask[i] = mask[i] || m->groups.on[group][i];
}

static void add_set(struct many *m, bool *mask, size_t but)
{
	clear(m, mask);
	for (size_t i = 0; i < m->groups.n; i++)
		if (m->set[i] && i != but)
			add(m, mask, i);
}

/* --- all at once, and where that fails each alone: can it be set, and does what is measured
 * survive it? */
static int many_admit(struct many *m, struct err *e)
{
	struct proof *p = m->g->p;
	bool all;
	int r;

	for (size_t i = 0; i < m->groups.n; i++)
		add(m, m->b, i);
	r = engine_admit(m->g, m->b, e);
	all = r == 0;
	if (r && r != -EBADMSG && r != -ECANCELED)
		return r;
	for (size_t i = 0; i < m->groups.n; i++) {
		struct proof_member *x = &p->members[i];

		r = all ? 0 : engine_admit(m->g, m->groups.on[i], e);
		if (r == 0)
			m->in[m->n++] = i;
		else if (r == -EBADMSG || r == -ECANCELED)
			x->fault = arena_printf(m->g->a, "%s: %s",
						r == -EBADMSG ? "breaks the measured work"
							      : "cannot be set here",
						e->text);
		else
			return r;
	}
	return 0;
}

/* --- mixtures --------------------------------------------------------------------------------- */
static int mixture(struct many *m, const struct screen_design *s, size_t row, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm a = { .name = arena_printf(g->a, "mirror of row %zu", row), .on = m->mirror },
		   b = { .name = arena_printf(g->a, "row %zu", row), .on = m->p };

	clear(m, m->p);
	clear(m, m->mirror);
	for (size_t f = 0; f < m->n; f++)
		add(m, screen_on(s, row, f, false) ? m->p : m->mirror, m->in[f]);
	return engine_pair(g, PART_SCREEN, &a, &b, &m->pairs, e);
}

/* As many pairs as blocks of k members take the time of. */
static size_t block_pairs(size_t k, size_t blocks)
{
	return ((k + 1) * blocks + 1) / 2;
}

/* Pairs that the later parts need, at the least. */
static size_t reserve(const struct many *m)
{
	size_t half = (m->n + 1) / 2;

	return WHOLE_PAIRS + (m->n > 1 ? block_pairs(half, screen_confirm_pairs(half, 0.05)) : 0);
}

static int many_one_round(struct many *m, const struct screen_design *s, size_t round,
			  size_t *broken, struct err *e)
{
	size_t *at = arena_array(m->g->a, s->rows, sizeof(*at));

	order_shuffle(m->g->p->seed + ROUND_SEED + round, at, s->rows);
	for (size_t i = 0; i < s->rows; i++) {
		int r = mixture(m, s, at[i], e);

		/* Some of them together break it: another mixture may not. */
		if ((r == -EBADMSG || r == -ENODATA) && ++*broken <= BROKEN_MAX)
			continue;
		if (r)
			return r;
		m->rows[m->pairs.n - 1] = at[i];
	}
	return 0;
}

static int screen(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct screen_effect *x = arena_array(g->a, m->n, sizeof(*x));
	struct screen_design s;
	size_t broken = 0;
	bool clear = false;
	int r = screen_design(g->a, m->n, &s), told = -ENODATA;

	if (r)
		return err_set(e, -E2BIG, "more than %d settings at once: select with --only",
			       SCREEN_FACTORS_MAX);
	m->rows = arena_array(g->a, SCREEN_PAIRS_MAX, sizeof(*m->rows));
	for (size_t round = 0; r == 0 && !clear && round < ROUNDS_MAX; round++) {
		if (m->pairs.n + s.rows > SCREEN_PAIRS_MAX ||
		    (round && !engine_has_time(g, s.rows + reserve(m))))
			break;
		g->expect = m->pairs.n + s.rows;
		r = many_one_round(m, &s, round, &broken, e);
		told = screen_effects(g->a, &s, m->rows, m->pairs.d[g->p->window.main], m->pairs.n,
				      g->p->rule.min_effect, x);
		clear = told == 0 && screen_is_clear(x, m->n, g->p->rule.min_effect);
	}
	if (r)
		return r;
	if (told)
		return err_set(e, -EIO,
			       "too few mixtures could be measured to separate the settings");
	for (size_t f = 0; f < m->n; f++) {
		g->p->members[m->in[f]].screened = true;
		g->p->members[m->in[f]].effect = x[f];
		m->set[m->in[f]] = x[f].say == SCREEN_KEEP;
	}
	return 0;
}

/* --- leaving one out -------------------------------------------------------------------------- */
static int many_leave_out(struct many *m, size_t group, struct proof_pairs *out, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm a = { .name = arena_printf(g->a, "all but %s", m->groups.ids[group]),
			 .on = m->mirror },
		   b = { .name = "all", .on = m->b };

	add_set(m, m->b, m->groups.n);
	add_set(m, m->mirror, group);
	return engine_pair(g, PART_CONFIRM, &a, &b, out, e);
}

static size_t count_set(const struct many *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->groups.n; i++)
		n += m->set[i];
	return n;
}

/* The whole set once, and once without each member. */
static int confirm_block(struct many *m, struct proof_pairs *of, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm b = { .name = "all", .on = m->b }, *a;
	struct proof_pairs **out = arena_array(g->a, m->groups.n, sizeof(*out));
	size_t n = 0;

	a = arena_array(g->a, m->groups.n, sizeof(*a));
	add_set(m, m->b, m->groups.n);
	for (size_t i = 0; i < m->groups.n; i++) {
		bool *on = m->set[i] ? arena_array(g->a, g->plan->n, sizeof(*on)) : NULL;

		if (!on)
			continue;
		add_set(m, on, i);
		a[n].name = arena_printf(g->a, "all but %s", m->groups.ids[i]);
		a[n].on = on;
		out[n++] = &of[i];
	}
	return engine_block(g, PART_CONFIRM, &b, a, n, out, e);
}

/* What goes wrong in a block is looked at pair by pair. */
static int confirm_pairs(struct many *m, struct proof_pairs *of, size_t want, struct err *e)
{
	for (size_t k = 0; k < want; k++) {
		int r = confirm_block(m, of, e);
		bool apart = r == -EBADMSG || r == -ESTALE;

		for (size_t i = 0; apart && i < m->groups.n; i++) {
			r = m->set[i] ? many_leave_out(m, i, &of[i], e) : 0;
			apart = r == 0;
		}
		if (r)
			return r;
	}
	return 0;
}

static void judge_members(struct many *m, const struct proof_pairs *of)
{
	struct prove_engine *g = m->g;
	struct screen_member *x = arena_array(g->a, m->groups.n, sizeof(*x));
	size_t n = 0, stays = 0, clear = 0;

	for (size_t i = 0; i < m->groups.n; i++) {
		if (!m->set[i])
			continue;
		x[n].d = of[i].d[g->p->window.main];
		x[n++].n = of[i].n;
	}
	screen_confirm(x, n, g->p->rule.alpha, g->p->rule.min_effect);
	for (size_t i = n; i-- > 0;)
		stays += x[i].stays;
	for (size_t i = 0; i < m->groups.n; i++)
		clear += m->set[i] && g->p->members[i].effect.low > 1;
	n = 0;
	for (size_t i = 0; i < m->groups.n; i++) {
		struct proof_member *p = &g->p->members[i];

		if (!m->set[i])
			continue;
		p->member = x[n++];
		p->confirmed = true;
		/* Where none can be missed, they may stand in for each other: the whole decides, of
		 * those that mixtures have shown where there are any. */
		m->set[i] =
			stays ? p->member.stays : !p->member.hurts && (!clear || p->effect.low > 1);
	}
}

static int confirm(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	size_t k = count_set(m), want = screen_confirm_pairs(k, g->p->rule.alpha);
	struct proof_pairs *of = arena_array(g->a, m->groups.n, sizeof(*of));
	int r;

	/* One alone is confirmed by the last comparison. */
	if (k < 2)
		return 0;
	while (!engine_has_time(g, block_pairs(k, want) + g->p->rule.looks[0]) &&
	       want > g->p->rule.looks[0])
		want--;
	if (!engine_has_time(g, block_pairs(k, want) + g->p->rule.looks[0]))
		return 0;
	g->expect = want;
	r = confirm_pairs(m, of, want, e);
	if (r == 0)
		judge_members(m, of);
	return r;
}

/* --- all -------------------------------------------------------------------------------------- */
/* What one of those that are not in the set might be worth all the same. */
static double most_left(const struct many *m)
{
	double most = 0;

	for (size_t i = 0; i < m->groups.n; i++) {
		const struct proof_member *x = &m->g->p->members[i];

		if (x->screened && !m->set[i])
			most = fmax(most, x->confirmed ? x->member.high : x->effect.high);
	}
	return most;
}

/* The set makes no difference, or is empty: an answer only if the others cannot make one. */
static void no_difference(struct many *m)
{
	struct proof *p = m->g->p;
	double most = most_left(m);
	bool sure = most < 1 + p->rule.min_effect;

	p->verdict = sure ? RULING_NO_DIFFERENCE : RULING_UNDECIDED;
	if (sure && p->compared.done)
		return;
	p->why = arena_printf(
		m->g->a, sure ? "%s: at most %s" : "%s, but %s could have been missed",
		p->compared.done ? "the best candidate makes no difference"
				 : "no single setting appears better by enough to matter",
		isfinite(most) ? proof_percent(m->g->a, most) : "anything");
}

static int many_whole(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm off = { .name = "off", .other = m->b }, with = { .name = "on", .on = m->b };
	struct proof *p = g->p;
	size_t k = count_set(m);
	int r;

	add_set(m, m->b, m->groups.n);
	if (!k) {
		no_difference(m);
		return 0;
	}
	for (size_t i = 0; i < m->groups.n; i++)
		p->members[i].state = m->set[i] ? MEMBER_TRIED : MEMBER_OUT;
	r = engine_compare(g, &p->rule, &off, &with, &p->compared, e);
	if (r)
		return r;
	p->verdict = p->compared.verdict;
	p->why = p->compared.why;
	if (p->verdict == RULING_NO_DIFFERENCE)
		no_difference(m);
	for (size_t i = 0; i < m->groups.n; i++) {
		struct proof_member *x = &p->members[i];

		if (x->state == MEMBER_TRIED && p->verdict == RULING_HELPS)
			x->state = k == 1 || (x->confirmed && x->member.stays) ? MEMBER_SHOWN
									       : MEMBER_STAYS;
	}
	return 0;
}

/* Other sets against what was found. What wins is compared with the machine as it was. */
static int many_rivals(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm off = { .name = "off", .other = m->b }, with = { .name = "on", .on = m->b };
	struct proof *p = g->p;
	bool won = false;
	int r;

	if (p->verdict != RULING_HELPS)
		clear(m, m->b);
	r = engine_challenge(g, m->b, e);
	for (size_t i = 0; i < g->n_rivals; i++)
		won = won || g->rivals[i].won;
	if (r || !won)
		return r;
	for (size_t i = 0; i < m->groups.n; i++)
		for (size_t k = 0; k < g->plan->n; k++)
			if (m->groups.on[i][k] && !m->b[k])
				p->members[i].state = MEMBER_OUT;
	p->compared = (struct compared){ 0 };
	r = engine_compare(g, &p->rule, &off, &with, &p->compared, e);
	if (r == 0) {
		p->verdict = p->compared.verdict;
		p->why = p->compared.why;
	}
	return r;
}

static int many_prove(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct proof *p = g->p;
	bool usable = false;
	int r;

	rule_default(&p->rule, p->min_effect_asked);
	/* Each once, one pass of mixtures, and the first look at the whole. */
	r = engine_warm_up(g, (m->groups.n + 1) / 2 + screen_rows(m->groups.n) + p->rule.looks[0],
			   e);
	if (r == 0)
		r = many_admit(m, e);
	if (r == 0 && !m->n)
		return err_set(e, -ECANCELED, "none of them");
	add_set(m, m->b, m->groups.n);
	for (size_t i = 0; r == 0 && i < m->n; i++)
		add(m, m->b, m->in[i]);
	if (r == 0)
		r = engine_same(g, m->b, m->n + reserve(m), &usable, e);
	if (r)
		return r;
	p->verdict = RULING_UNDECIDED;
	if (!usable)
		return 0;
	engine_rule(g);
	r = screen(m, e);
	if (r == 0)
		r = confirm(m, e);
	if (r == 0)
		r = many_whole(m, e);
	return r || !g->n_rivals ? r : many_rivals(m, e);
}

void engine_prove_many(struct prove_engine *g, const bool **on)
{
	size_t n = g->plan->n;
	struct many m = { .g = g,
			  .p = arena_array(g->a, n, sizeof(bool)),
			  .mirror = arena_array(g->a, n, sizeof(bool)),
			  .b = arena_array(g->a, n, sizeof(bool)) };
	struct err e = { 0 };
	int r;

	groups_make(g->a, g->plan, g->spare, &m.groups);
	m.in = arena_array(g->a, m.groups.n, sizeof(*m.in));
	m.set = arena_array(g->a, m.groups.n, sizeof(*m.set));
	g->p->members = arena_array(g->a, m.groups.n, sizeof(*g->p->members));
	g->p->n_members = m.groups.n;
	for (size_t i = 0; i < m.groups.n; i++)
		g->p->members[i].id = m.groups.ids[i];
	engine_start(g);
	r = many_prove(&m, &e);
	if (r)
		engine_fail(g, r, &e);
	engine_finish(g);
	if (!g->n_rivals)
		add_set(&m, m.b, m.groups.n);
	*on = m.b;
}
