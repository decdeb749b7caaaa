/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best changes at once. What each brings alone does not multiply: with smaller weights there is
 * less to split, and guesses are worth less where steps multiply. So all mixtures are looked at.
 */
#include <math.h>
#include <string.h>

#include "models/inference/advise_parts.h"

#define FORMATS_MOST 8
#define LAYOUTS_MOST 64

struct layout {
	int tp, pp, copies;
};

/* Everything that may be mixed; the first of each is the base's own. */
struct mixture {
	const struct way *weights[FORMATS_MOST];
	const char *names[FORMATS_MOST];
	size_t n_weights;
	double cache[2];
	const char *cache_names[2];
	size_t n_cache;
	struct layout layouts[LAYOUTS_MOST];
	size_t n_layouts;
	int drafts[4];
	size_t n_drafts;
};

/* One of each. */
struct pick {
	size_t weights, cache, layout, draft;
};

static void find_weights(struct adviser *v, struct mixture *m)
{
	const struct way *base = v->out->base;
	const char *const *names = advise_formats(&base->q.ask);

	m->weights[0] = base;
	m->n_weights = 1;
	for (; *names && m->n_weights < FORMATS_MOST; names++) {
		struct words w = *v->words;
		struct way *way;

		w.weights = *names;
		w.weight_bytes = 0;
		way = adviser_ask(v, &w, base->copies);
		if (!way || weights_total(&way->q.ask) >= 0.97 * weights_total(&base->q.ask))
			continue;
		m->names[m->n_weights] = *names;
		m->weights[m->n_weights++] = way;
	}
}

static void find_layouts(const struct ask *q, int copies_now, bool fits, struct mixture *m)
{
	m->layouts[0] = (struct layout){ q->tp, q->pp, copies_now };
	m->n_layouts = 1;
	for (int tp = 1; tp <= q->place.gpus; tp++)
		for (int pp = 1; tp * pp <= q->place.gpus; pp++) {
			struct layout l = { tp, pp, q->place.gpus / (tp * pp) };

			if (l.tp * l.pp * l.copies != q->place.gpus || l.copies > q->batch ||
			    (q->arch->heads > 0 && q->arch->heads % tp) ||
			    (pp > 1 && q->place.nodes < 2 && fits) || pp > q->arch->layers)
				continue;
			if (memcmp(&l, &m->layouts[0], sizeof(l)) != 0 &&
			    m->n_layouts < LAYOUTS_MOST)
				m->layouts[m->n_layouts++] = l;
		}
}

static void find_mixture(struct adviser *v, struct mixture *m)
{
	const struct ask *q = &v->out->base->q.ask;
	const char *smaller = q->engine == ENGINE_LLAMACPP ? "q8_0" : "fp8";

	*m = (struct mixture){ .cache = { q->cache_bytes, format_cache_bytes(smaller) },
			       .cache_names = { q->cache_name, smaller },
			       .drafts = { q->draft, 1, 3, 5 } };
	find_weights(v, m);
	find_layouts(q, v->out->base->copies, v->out->now.fits, m);
	m->n_cache = m->cache[1] < m->cache[0] ? 2 : 1;
	m->n_drafts = q->draft > 0 ? 1 : 4;
}

static void mix(const struct mixture *m, const struct pick *p, struct way *out)
{
	const struct layout *l = &m->layouts[p->layout];

	*out = *m->weights[p->weights];
	out->q.ask.arch = &out->q.arch;
	out->q.ask.cache_bytes = m->cache[p->cache];
	out->q.ask.cache_name = m->cache_names[p->cache];
	out->q.ask.tp = l->tp;
	out->q.ask.pp = l->pp;
	out->copies = l->copies;
	out->q.ask.draft = m->drafts[p->draft];
}

/* a better than b for the goal by more than a thousandth. */
static bool better(const struct outcome *a, const struct outcome *b, enum goal goal)
{
	double x = outcome_of(a, goal), y = outcome_of(b, goal);

	if (a->fits != b->fits)
		return a->fits;
	return goal_less(goal) ? x < y * 0.999 : x > y * 1.001;
}

/* What may be changed: bits of enum change_kind. */
static struct pick best_pick(struct adviser *v, const struct mixture *m, unsigned allowed)
{
	struct pick best = { 0 }, p;
	struct outcome top, o;
	struct way way;

	mix(m, &best, &way);
	way_outcome(&way.q.ask, way.copies, &top);
	for (p.weights = 0; p.weights < (allowed & 1u << CHANGE_WEIGHTS ? m->n_weights : 1);
	     p.weights++)
		for (p.cache = 0; p.cache < (allowed & 1u << CHANGE_CACHE ? m->n_cache : 1);
		     p.cache++)
			for (p.layout = 0;
			     p.layout < (allowed & 1u << CHANGE_LAYOUT ? m->n_layouts : 1);
			     p.layout++)
				for (p.draft = 0;
				     p.draft < (allowed & 1u << CHANGE_DRAFT ? m->n_drafts : 1);
				     p.draft++) {
					mix(m, &p, &way);
					way_outcome(&way.q.ask, way.copies, &o);
					v->out->tried++;
					if (better(&o, &top, v->out->goal)) {
						top = o;
						best = p;
					}
				}
	return best;
}

/* Adds one part to what is said of all. */
static void add_part(struct adviser *v, const struct mixture *m, struct trial *t,
		     enum change_kind kind, const struct pick *alone, const char *what,
		     const char *options)
{
	struct way way;
	struct outcome o;
	double gain;

	mix(m, alone, &way);
	way_outcome(&way.q.ask, way.copies, &o);
	gain = outcome_gain(&v->out->now, &o, v->out->goal);
	t->parts *= gain > 0 ? gain : NAN;
	t->kinds |= 1u << kind;
	t->what = t->what ? arena_printf(v->arena, "%s + %s", t->what, what) : what;
	t->options = t->options ? arena_printf(v->arena, "%s %s", t->options, options) : options;
}

static void describe(struct adviser *v, const struct mixture *m, const struct pick *p,
		     struct trial *t)
{
	const struct layout *l = &m->layouts[p->layout];
	struct arena *a = v->arena;

	if (p->weights)
		add_part(v, m, t, CHANGE_WEIGHTS, &(struct pick){ .weights = p->weights },
			 arena_printf(a, "weights in %s",
				      m->weights[p->weights]->q.ask.weights->name),
			 arena_printf(a, "--weights %s", m->names[p->weights]));
	if (p->cache)
		add_part(v, m, t, CHANGE_CACHE, &(struct pick){ .cache = p->cache },
			 arena_printf(a, "keys and values in %s", m->cache_names[p->cache]),
			 arena_printf(a, "--kv %s", m->cache_names[p->cache]));
	if (p->layout)
		add_part(v, m, t, CHANGE_LAYOUT, &(struct pick){ .layout = p->layout },
			 arena_printf(a, "%d x tensor parallelism %d, stages %d", l->copies, l->tp,
				      l->pp),
			 arena_printf(a, "--tp %d --pp %d --copies %d", l->tp, l->pp, l->copies));
	if (p->draft)
		add_part(v, m, t, CHANGE_DRAFT, &(struct pick){ .draft = p->draft },
			 arena_printf(a, "%d token%s guessed ahead", m->drafts[p->draft],
				      m->drafts[p->draft] == 1 ? "" : "s"),
			 arena_printf(a, "--draft %d", m->drafts[p->draft]));
}

static int parts_of(unsigned kinds)
{
	int n = 0;

	for (; kinds; kinds &= kinds - 1)
		n++;
	return n;
}

static bool known(const struct advice *o, const char *options)
{
	for (size_t i = 0; i < o->n_together; i++)
		if (strcmp(o->together[i].options, options) == 0)
			return true;
	return false;
}

static struct way *at_acceptance(struct adviser *v, const struct way *way, double accept)
{
	struct way *w = adviser_copy(v, way);

	w->q.ask.accept = accept;
	return w;
}

static void add_together(struct adviser *v, const struct mixture *m, unsigned allowed)
{
	struct advice *o = v->out;
	struct pick p = best_pick(v, m, allowed);
	struct way *way = ARENA_NEW(v->arena, struct way);
	struct trial t = { .kind = CHANGE_SEVERAL, .way = way, .parts = 1 };
	struct change c;

	mix(m, &p, way);
	way->q.ask.arch = &way->q.arch;
	describe(v, m, &p, &t);
	if (parts_of(t.kinds) < 2 || known(o, t.options))
		return;
	if (p.draft && !v->facts->accept_told) {
		t.worst = at_acceptance(v, way, ADVISE_ACCEPT_LOW);
		t.best = at_acceptance(v, way, ADVISE_ACCEPT_HIGH);
	}
	adviser_judge(v, &t, &c);
	if (!c.after.fits)
		return;
	o->together = arena_grow(v->arena, o->together, o->n_together, sizeof(*o->together));
	o->together[o->n_together++] = c;
}

void advise_together(struct adviser *v)
{
	const unsigned weights = 1u << CHANGE_WEIGHTS, cache = 1u << CHANGE_CACHE,
		       layout = 1u << CHANGE_LAYOUT, draft = 1u << CHANGE_DRAFT;
	struct mixture m;

	find_mixture(v, &m);
	add_together(v, &m, weights | cache | layout | draft);
	add_together(v, &m, weights | cache | layout);
	add_together(v, &m, layout | draft); /* every answer stays what it is */
	add_together(v, &m, weights | layout);
}
