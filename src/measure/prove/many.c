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

size_t engine_settings(const struct plan *p, const bool *spare, const struct setting **out)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		size_t k = 0;

		while (k < n && out[k] != c->s)
			k++;
		if (!c->gate && !(spare && spare[i]) && k == n)
			out[n++] = c->s;
	}
	return n;
}

/* One group a setting, all its targets in it; settings that write the same knob, or reset what
 * another one writes, are one group. Only open changes. */
static void groups_make(struct arena *a, const struct plan *p, const bool *spare,
			struct groups *out)
{
	struct items x = { .a = a, .p = p, .spare = spare };
	size_t *group;

	x.s = arena_array(a, p->n, sizeof(*x.s));
	x.n = engine_settings(p, spare, x.s);
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
/* PARTS_MAX: of the set, that are left out at first. */
enum { BROKEN_MAX = 8, ROUND_SEED = 1000, PARTS_MAX = 4 };

struct many {
	struct prove_engine *g;
	struct groups groups;
	size_t *in; /* groups that take part, n of them */
	size_t n;
	bool *set;	/* by group: in the set that is compared */
	bool *with, *b; /* masks by change */
	struct screen_design design;
	struct screen_data data;
	struct screen_noise noise;
	bool proven; /* each of the set was, in mixtures */
};

static void add(struct many *m, bool *mask, size_t group)
{
	for (size_t i = 0; i < m->g->plan->n; i++)
		mask[i] = mask[i] || m->groups.on[group][i];
}

static void add_set(struct many *m, bool *mask)
{
	memset(mask, 0, m->g->plan->n * sizeof(*mask));
	for (size_t i = 0; i < m->groups.n; i++)
		if (m->set[i])
			add(m, mask, i);
}

/* --- what takes part: all, until a mixture fails; then each alone. Can it be set, and does what is
 * measured survive it? */
static int many_admit(struct many *m, struct err *e)
{
	m->n = 0;
	for (size_t i = 0; i < m->groups.n; i++) {
		int r = engine_admit(m->g, m->groups.on[i], e);

		if (r == 0)
			m->in[m->n++] = i;
		else if (engine_leaves(m->g, &m->g->p->members[i], r, e))
			return r;
	}
	return m->n ? 0 : err_set(e, -ECANCELED, "no value");
}

/* --- mixtures --------------------------------------------------------------------------------- */
static int mixture(struct many *m, size_t run, struct err *e)
{
	const struct screen_design *s = m->data.s;
	struct prove_engine *g = m->g;
	struct arm a = { .name = arena_printf(g->a, "%srow %zu",
					      run / s->rows % 2 ? "mirror of " : "", run % s->rows),
			 .on = m->with };
	int r;

	memset(m->with, 0, g->plan->n * sizeof(*m->with));
	for (size_t f = 0; f < m->n; f++)
		if (screen_on(s, run, f))
			add(m, m->with, m->in[f]);
	r = engine_run(g, PART_SCREEN, &a, &m->data.y[m->data.n], e);
	if (r == 0)
		m->data.run[m->data.n++] = run;
	return r;
}

/* -EBADMSG and -ECANCELED: a mixture failed, and nobody knows yet by what. */
static int one_block(struct many *m, size_t block, size_t *broken, bool admitted, struct err *e)
{
	const struct screen_design *s = m->data.s;
	size_t *at = arena_array(m->g->a, s->rows, sizeof(*at));

	for (size_t i = 0; i < s->rows * s->passes; i++) {
		size_t pass = block * s->passes + i / s->rows;
		int r;

		if (i % s->rows == 0)
			screen_order(m->g->a, s, m->g->p->seed + ROUND_SEED + pass, at);
		r = mixture(m, pass * s->rows + at[i % s->rows], e);
		/* Some of them together break it: another mixture may not. */
		if (admitted && r == -EBADMSG && ++*broken <= BROKEN_MAX)
			continue;
		if (r)
			return r;
	}
	return 0;
}

static int blocks(struct many *m, struct screen_effect *x, bool admitted, struct err *e)
{
	struct prove_engine *g = m->g;
	double min_effect = g->p->rule.min_effect, spent = 0;
	size_t broken = 0, runs = screen_runs(m->n), want = 1;

	if (screen_design(g->a, m->n, &m->design))
		return err_set(e, -E2BIG, "more than %d settings at once: select with --only",
			       SCREEN_FACTORS_MAX);
	m->data = (struct screen_data){
		&m->design, arena_array(g->a, SCREEN_BLOCKS_MAX * runs, sizeof(*m->data.run)),
		arena_array(g->a, SCREEN_BLOCKS_MAX * runs, sizeof(*m->data.y)), 0
	};
	for (size_t k = 1; k <= want; k++) {
		int r = one_block(m, k - 1, &broken, admitted, e), told;
		struct screen_noise noise;

		if (r)
			return r;
		/* How many there are to be is decided by the noise alone, before each look. */
		told = screen_effects(g->a, &m->data, 1, min_effect, x, &noise);
		if (told == 0)
			want = screen_blocks(m->n, noise.sd, min_effect);
		else if (k >= 2)
			return err_set(e, -EIO,
				       "too few mixtures were measured to separate the effects of "
				       "the settings");
		else
			want = 2;
		/* Leaving each out and the whole need theirs. */
		if (k < want && !engine_has_time(g, runs / 2 + g->p->rule.looks[0] + m->n / 4 + 1))
			want = k;
		if (told == 0)
			(void)screen_effects(g->a, &m->data, screen_level(k, want, &spent),
					     min_effect, x, &m->noise);
		if (told == 0 && screen_is_clear(x, m->n))
			break;
		g->expect = runs * want;
	}
	return 0;
}

static int screen(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct screen_effect *x = arena_array(g->a, m->groups.n, sizeof(*x));
	double matters = log1p(g->p->rule.min_effect);
	int r;

	for (size_t i = 0; i < m->groups.n; i++)
		m->in[m->n++] = i;
	r = blocks(m, x, false, e);
	if (r == -EBADMSG || r == -ECANCELED) {
		r = many_admit(m, e);
		r = r ? r : blocks(m, x, true, e);
	}
	for (size_t f = 0; r == 0 && f < m->n; f++) {
		g->p->members[m->in[f]].screened = true;
		g->p->members[m->in[f]].effect = x[f];
		m->set[m->in[f]] = x[f].say == SCREEN_KEEP;
		m->proven = m->proven || m->set[m->in[f]];
	}
	/* Where nothing is proven, the whole may be of what looks good. */
	for (size_t f = 0; r == 0 && !m->proven && f < m->n; f++)
		m->set[m->in[f]] = x[f].say == SCREEN_OPEN && log(x[f].ratio) >= matters / 2;
	return r;
}

/* --- leaving one out -------------------------------------------------------------------------- */
static size_t count_set(const struct many *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->groups.n; i++)
		n += m->set[i];
	return n;
}

/* The whole set once, and once without each of n parts of it; whole: also nothing at all. part: of
 * each group, n and more: none. d: ln of the set over the set without that part. */
static int without(struct many *m, const size_t *part, size_t n, struct proof_pairs *whole,
		   double *d, struct err *e)
{
	struct prove_engine *g = m->g;
	struct arm b = { .name = "all", .on = m->b }, *a = arena_array(g->a, n + 1, sizeof(*a));
	struct proof_pairs *of = arena_array(g->a, n, sizeof(*of)),
			   **out = arena_array(g->a, n + 1, sizeof(*out));
	int r;

	add_set(m, m->b);
	for (size_t j = 0; j < n; j++) {
		bool *on = arena_array(g->a, g->plan->n, sizeof(*on));
		const char *but = NULL;

		for (size_t i = 0; i < m->groups.n; i++)
			if (m->set[i] && part[i] == j)
				but = but ? arena_printf(g->a, "%s+%s", but, m->groups.ids[i])
					  : m->groups.ids[i];
			else if (m->set[i])
				add(m, on, i);
		a[j] = (struct arm){ .name = arena_printf(g->a, "all but %s", but), .on = on };
		out[j] = &of[j];
	}
	a[n] = (struct arm){ .name = "off" };
	out[n] = whole;
	r = engine_block(g, PART_CONFIRM, &b, a, n + (whole != NULL), out, e);
	for (size_t j = 0; r == 0 && j < n; j++)
		d[j] = of[j].d[g->p->window.main][0];
	return r;
}

/* What each member is worth beside the others; several of a part: all of these together. Parts that
 * are not worth what mixtures say of their members: into odd, numbered anew; how many there are. */
static size_t left_out(struct many *m, const size_t *part, size_t n, const double *d, size_t *odd)
{
	double *sum = arena_array(m->g->a, n, sizeof(*sum)), noise = 3 * M_SQRT2 * m->noise.sd;
	size_t *of = arena_array(m->g->a, n, sizeof(*of)), again = 0;

	for (size_t i = 0; i < m->groups.n; i++)
		if (m->set[i] && part[i] < n) {
			sum[part[i]] += log(m->g->p->members[i].effect.ratio);
			of[part[i]]++;
		}
	for (size_t i = 0; i < m->groups.n; i++) {
		struct proof_member *x = &m->g->p->members[i];
		size_t j = part[i];

		odd[i] = SIZE_MAX;
		if (!m->set[i] || j >= n)
			continue;
		screen_left_out(d[j], count_set(m), &m->noise, m->g->p->rule.min_effect,
				&x->member);
		x->confirmed = true;
		x->of = of[j];
		x->sum = exp(sum[j]);
		if (of[j] > 1 && sum[j] - d[j] > noise)
			odd[i] = again++;
		x->member.hurts = x->member.hurts && of[j] == 1;
	}
	return again;
}

/* In a few parts, then one by one in those that are worth less than their members in mixtures. */
static int leave_out(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct proof_pairs *whole = &g->p->compared.pairs;
	size_t k = count_set(m), n = k < PARTS_MAX ? k : PARTS_MAX, at = 0,
	       *part = arena_array(g->a, m->groups.n, sizeof(*part)),
	       *odd = arena_array(g->a, m->groups.n, sizeof(*odd));
	double *d = arena_array(g->a, k + 1, sizeof(*d));
	int r = 0;

	/* One alone is seen by the last comparison. */
	if (k < 2 || !engine_has_time(g, n / 2 + 1 + g->p->rule.looks[0]))
		return 0;
	for (size_t i = 0; i < m->groups.n; i++)
		part[i] = m->set[i] ? at++ % n : n;
	r = without(m, part, n, whole, d, e);
	n = r ? 0 : left_out(m, part, n, d, odd);
	if (n && engine_has_time(g, n / 2 + 1 + g->p->rule.looks[0])) {
		r = without(m, odd, n, NULL, d, e);
		if (r == 0)
			(void)left_out(m, odd, n, d, part);
	}
	for (size_t i = 0; i < m->groups.n; i++)
		m->set[i] = m->set[i] && !g->p->members[i].member.hurts;
	/* Then nothing of the whole was measured yet. */
	if (count_set(m) < k)
		*whole = (struct proof_pairs){ 0 };
	/* The whole set may fail where mixtures did not: that is measured next. */
	return r == -EBADMSG || r == -ESTALE ? 0 : r;
}

/* --- all -------------------------------------------------------------------------------------- */
/* What one of those that are not in the set might be worth all the same. */
static double most_left(const struct many *m)
{
	double most = 0;

	for (size_t i = 0; i < m->groups.n; i++) {
		const struct proof_member *x = &m->g->p->members[i];

		if (x->screened && !m->set[i])
			most = fmax(most, x->effect.high);
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
		m->g->a, sure ? "%s: at most %s" : "%s, but an effect of %s could have been missed",
		p->compared.done ? "the best candidate shows no difference"
				 : "no single setting is better by a relevant amount",
		isfinite(most) ? proof_percent(m->g->a, most) : "anything");
}

static int many_whole(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct proof *p = g->p;
	size_t k = count_set(m);
	int r;

	add_set(m, m->b);
	if (!k) {
		no_difference(m);
		return 0;
	}
	for (size_t i = 0; i < m->groups.n; i++)
		p->members[i].state = m->set[i] ? MEMBER_TRIED : MEMBER_OUT;
	r = engine_verdict(g, m->b, e);
	if (r)
		return r;
	if (p->verdict == RULING_NO_DIFFERENCE)
		no_difference(m);
	for (size_t i = 0; i < m->groups.n; i++) {
		struct proof_member *x = &p->members[i];

		if (x->state == MEMBER_TRIED && p->verdict == RULING_HELPS)
			x->state = k == 1 || m->proven ? MEMBER_SHOWN : MEMBER_STAYS;
	}
	return 0;
}

/* Other sets against what was found. What wins is compared with the machine as it was. */
static int many_rivals(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct proof *p = g->p;
	bool won = false;
	int r;

	if (p->verdict != RULING_HELPS)
		memset(m->b, 0, g->plan->n * sizeof(*m->b));
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
	return engine_verdict(g, m->b, e);
}

static int many_prove(struct many *m, struct err *e)
{
	struct prove_engine *g = m->g;
	struct proof *p = g->p;
	int r;

	rule_default(&p->rule, p->min_effect_asked);
	/* One block of mixtures, and the first look at a whole whose members they prove. */
	r = engine_warm_up(g, screen_runs(m->groups.n) / 2 + RULE_PROVEN_PAIRS, e);
	p->verdict = RULING_UNDECIDED;
	r = r ? r : screen(m, e);
	if (r == 0 && m->proven)
		rule_proven(&p->rule, m->noise.sd, m->noise.df);
	r = r ? r : leave_out(m, e);
	r = r ? r : many_whole(m, e);
	return r || !g->n_rivals ? r : many_rivals(m, e);
}

void engine_prove_many(struct prove_engine *g, const bool **on)
{
	size_t n = g->plan->n;
	struct many m = { .g = g,
			  .with = arena_array(g->a, n, sizeof(bool)),
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
	engine_finish(g, r, &e);
	if (!g->n_rivals)
		add_set(&m, m.b);
	*on = m.b;
}
