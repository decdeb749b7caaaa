/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best changes at once. What each brings alone does not multiply: with smaller weights there is
 * less to split, and guesses are worth less where steps multiply. So all mixtures are looked at.
 */
#include <math.h>
#include <string.h>

#include "models/inference/advise.h"

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
		struct infer_options w = *v->words;
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

static void advise_many_mix(const struct mixture *m, const struct pick *p, struct way *out)
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
static bool better(const struct advise_outcome *a, const struct advise_outcome *b, enum goal goal)
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
	struct advise_outcome top, o;
	struct way way;

	advise_many_mix(m, &best, &way);
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
					advise_many_mix(m, &p, &way);
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
static void advise_many_add_part(struct adviser *v, const struct mixture *m, struct trial *t,
				 enum change_kind kind, const struct pick *alone, const char *what,
				 const char *options)
{
	struct way way;
	struct advise_outcome o;
	double gain;

	advise_many_mix(m, alone, &way);
	way_outcome(&way.q.ask, way.copies, &o);
	gain = outcome_gain(&v->out->now, &o, v->out->goal);
	t->parts *= gain > 0 ? gain : NAN;
	t->kinds |= 1u << kind;
	t->what = t->what ? arena_printf(v->arena, "%s + %s", t->what, what) : what;
	t->options = t->options ? arena_printf(v->arena, "%s %s", t->options, options) : options;
}

static void advise_many_describe(struct adviser *v, const struct mixture *m, const struct pick *p,
				 struct trial *t)
{
	const struct layout *l = &m->layouts[p->layout];
	struct arena *a = v->arena;

	if (p->weights)
		advise_many_add_part(v, m, t, CHANGE_WEIGHTS,
				     &(struct pick){ .weights = p->weights },
				     arena_printf(a, "weights in %s",
						  m->weights[p->weights]->q.ask.weights->name),
				     arena_printf(a, "--weights %s", m->names[p->weights]));
	if (p->cache)
		advise_many_add_part(
			v, m, t, CHANGE_CACHE, &(struct pick){ .cache = p->cache },
			arena_printf(a, "keys and values in %s", m->cache_names[p->cache]),
			arena_printf(a, "--kv %s", m->cache_names[p->cache]));
	if (p->layout)
		advise_many_add_part(
			v, m, t, CHANGE_LAYOUT, &(struct pick){ .layout = p->layout },
			arena_printf(a, "%d x tensor parallelism %d, stages %d", l->copies, l->tp,
				     l->pp),
			arena_printf(a, "--tp %d --pp %d --copies %d", l->tp, l->pp, l->copies));
	if (p->draft)
		advise_many_add_part(v, m, t, CHANGE_DRAFT, &(struct pick){ .draft = p->draft },
				     arena_printf(a, "%d token%s guessed ahead",
						  m->drafts[p->draft],
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

static bool known(const struct serve_advice *o, const char *options)
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
	struct serve_advice *o = v->out;
	struct pick p = best_pick(v, m, allowed);
	struct way *way = ARENA_NEW(v->arena, struct way);
	struct trial t = { .kind = CHANGE_SEVERAL, .way = way, .parts = 1 };
	struct serve_change c;

	advise_many_mix(m, &p, way);
	way->q.ask.arch = &way->q.arch;
	advise_many_describe(v, m, &p, &t);
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

/* Changes of one thing each, the machine and the model staying as they are. */

const char *const *advise_formats(const struct ask *q)
{
	static const char *const gguf[] = { "q8_0",   "q6_k",	"q5_k_m", "q4_k_m",
					    "iq4_xs", "q3_k_m", NULL };
	static const char *const fp4[] = { "bf16", "fp8", "nvfp4", "int4", NULL };
	static const char *const fp8[] = { "bf16", "fp8", "int4", NULL };
	static const char *const int8[] = { "bf16", "int8", "int4", NULL };

	return q->engine == ENGINE_LLAMACPP ? gguf
	       : q->place.gpu->fp4 > 0	    ? fp4
	       : q->place.gpu->fp8 > 0	    ? fp8
					    : int8;
}

static void try_weights(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	const char *const *names = advise_formats(q);
	double bytes = weights_total(q);

	for (; *names; names++) {
		struct infer_options w = *v->words;
		struct way *way;

		w.weights = *names;
		w.weight_bytes = 0; /* the file's count is of its own format */
		way = adviser_ask(v, &w, v->out->base->copies);
		if (!way || strcmp(way->q.ask.weights->name, q->weights->name) == 0 ||
		    weights_total(&way->q.ask) >= bytes * 0.97)
			continue;
		adviser_try(
			v, &(struct trial){
				   .kind = CHANGE_WEIGHTS,
				   .way = way,
				   .what = arena_printf(v->arena, "weights in %s instead of %s",
							way->q.ask.weights->name, q->weights->name),
				   .options = arena_printf(v->arena, "--weights %s", *names) });
	}
}

static void try_cache(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	const char *name = q->engine == ENGINE_LLAMACPP ? "q8_0" : "fp8";
	double bytes = format_cache_bytes(name);
	struct way *way = adviser_copy(v, v->out->base);

	if (bytes >= q->cache_bytes || arch_cache_elements(q->arch, 1) <= 0)
		return;
	way->q.ask.cache_bytes = bytes;
	way->q.ask.cache_name = name;
	adviser_try(v,
		    &(struct trial){ .kind = CHANGE_CACHE,
				     .way = way,
				     .what = arena_printf(
					     v->arena, "keys and values in %s instead of %s", name,
					     q->cache_bytes == 2 ? "16 bits" : q->cache_name),
				     .options = arena_printf(v->arena, "--kv %s", name) });
}

static void try_users(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	double most = v->out->now.users;
	int list[] = { 1,
		       q->batch / 4,
		       q->batch / 2,
		       q->batch * 2,
		       q->batch * 4,
		       q->batch * 8,
		       most < 4096 ? (int)most : 0 };
	int before = q->batch;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct way *way;
		bool twice = list[i] < 1 || list[i] == before || list[i] > QUESTION_REQUESTS;

		for (size_t k = 0; k < i; k++)
			twice |= list[k] == list[i];
		if (twice)
			continue;
		way = adviser_copy(v, v->out->base);
		way->q.ask.batch = list[i];
		adviser_try(v, &(struct trial){
				       .kind = CHANGE_USERS,
				       .way = way,
				       .what = arena_printf(
					       v->arena, "%d request%s at a time instead of %d",
					       list[i], list[i] == 1 ? "" : "s", before),
				       .options = arena_printf(v->arena, "--batch %d", list[i]) });
	}
}

static struct way *with_guesses(struct adviser *v, int draft, double accept)
{
	struct way *way = adviser_copy(v, v->out->base);

	way->q.ask.draft = draft;
	way->q.ask.accept = accept;
	return way;
}

static void try_guesses(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	static const int depths[] = { 1, ADVISE_GUESSES, 5 };

	if (q->draft > 0) {
		adviser_try(v, &(struct trial){ .kind = CHANGE_DRAFT,
						.way = with_guesses(v, 0, 0),
						.what = "no guesses ahead",
						.options = "without --draft" });
		return;
	}
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct trial t = { .kind = CHANGE_DRAFT,
				   .way = with_guesses(v, depths[i], q->accept) };

		if (!v->facts->accept_told) {
			t.worst = with_guesses(v, depths[i], ADVISE_ACCEPT_LOW);
			t.best = with_guesses(v, depths[i], ADVISE_ACCEPT_HIGH);
		}
		t.what = arena_printf(v->arena, "%d token%s guessed ahead, %.0f %% of them right%s",
				      depths[i], depths[i] == 1 ? "" : "s", 100 * q->accept,
				      v->facts->accept_told ? "" : " (50 to 85 looked at)");
		t.options =
			arena_printf(v->arena, "--draft %d --accept %.2g", depths[i], q->accept);
		adviser_try(v, &t);
	}
}

static struct way *with_prefix(struct adviser *v, double cached)
{
	struct way *way = adviser_copy(v, v->out->base);

	way->q.ask.cached = cached;
	return way;
}

static void try_prefix(struct adviser *v)
{
	struct trial t = { .kind = CHANGE_PREFIX, .way = with_prefix(v, ADVISE_CACHED) };

	if (v->facts->cached_told)
		return;
	t.worst = v->out->base;
	t.best = with_prefix(v, ADVISE_CACHED_HIGH);
	t.what = "prefix cache that has half of each prompt (0 to 90 % looked at)";
	t.options = arena_printf(v->arena, "--cached %g", ADVISE_CACHED);
	adviser_try(v, &t);
}

static void try_chunks(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	static const double sizes[] = { 1024, 2048, 4096, 8192, 16384, 32768 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct way *way = adviser_copy(v, v->out->base);

		if (sizes[i] == q->chunk)
			continue;
		way->q.ask.chunk = sizes[i];
		adviser_try(v,
			    &(struct trial){
				    .kind = CHANGE_CHUNK,
				    .way = way,
				    .what = arena_printf(v->arena,
							 "%.0f tokens of prompts a step instead "
							 "of %.0f",
							 sizes[i], q->chunk),
				    .options = arena_printf(v->arena, "--chunk %.0f", sizes[i]) });
	}
}

static void try_graphs(struct adviser *v)
{
	struct way *way = adviser_copy(v, v->out->base);

	if (!way->q.ask.eager)
		return;
	way->q.ask.eager = false;
	adviser_try(v, &(struct trial){ .kind = CHANGE_GRAPHS,
					.way = way,
					.what = "CUDA graphs instead of single launches",
					.options = "without --eager" });
}

/* Engines that were measured on this kind of hardware and take these weights. */
static void try_engines(struct adviser *v)
{
	const struct ask *q = &v->out->base->q.ask;
	static const enum engine servers[] = { ENGINE_VLLM, ENGINE_SGLANG, ENGINE_TRTLLM };

	if (!q->place.gpu->server || q->weights->gguf || q->engine == ENGINE_TORCH)
		return;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		struct infer_options w = *v->words;
		struct way *way;

		if (servers[i] == q->engine)
			continue;
		w.engine = engine_names[servers[i]];
		way = adviser_ask(v, &w, v->out->base->copies);
		if (way)
			adviser_try(v,
				    &(struct trial){
					    .kind = CHANGE_ENGINE,
					    .way = way,
					    .what = arena_printf(v->arena, "%s instead of %s",
								 w.engine, engine_names[q->engine]),
					    .options = arena_printf(v->arena, "--engine %s",
								    w.engine) });
	}
}

/* A GPU that is set to a lower clock than it could have multiplies the more slowly. */
static void try_clock(struct adviser *v)
{
	const struct advise_facts *f = v->facts;
	struct way *way = adviser_copy(v, v->out->base);
	struct gpu_kind *g = ARENA_NEW(v->arena, struct gpu_kind);
	double more;

	if (f->clock_mhz <= 0 || f->clock_max < 1.02 * f->clock_mhz)
		return;
	*g = *way->q.ask.place.gpu;
	more = f->clock_max / f->clock_mhz;
	g->half *= more, g->fp8 *= more, g->fp4 *= more, g->int8 *= more;
	way->q.ask.place.gpu = g;
	adviser_try(v,
		    &(struct trial){ .kind = CHANGE_CLOCK,
				     .way = way,
				     .worst = v->out->base,
				     .what = arena_printf(v->arena,
							  "GPU clock up to %.0f MHz, as it can be, "
							  "instead of %.0f",
							  f->clock_max, f->clock_mhz),
				     .options = "apply --only gpu.clocks" });
}

void advise_singles(struct adviser *v)
{
	try_clock(v);
	try_weights(v);
	try_cache(v);
	try_users(v);
	try_guesses(v);
	try_prefix(v);
	try_chunks(v);
	try_graphs(v);
	try_engines(v);
}
