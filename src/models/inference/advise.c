/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: every change by itself, in the order of what it brings, and the words about each. */
#include "models/inference/advise.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * The best changes at once. What each brings alone does not multiply: with smaller weights there is
 * less to split, and guesses are worth less where steps multiply. So all mixtures of the single
 * changes are looked at.
 */

static const enum change_kind mixed[] = { CHANGE_WEIGHTS, CHANGE_CACHE, CHANGE_LAYOUT,
					  CHANGE_DRAFT };
enum { MIXED = sizeof(mixed) / sizeof(mixed[0]) };

/* Of each kind one single change; NULL: as it is. */
struct pick {
	const struct serve_change *of[MIXED];
};

static void mix(const struct adviser *v, const struct pick *p, struct way *out)
{
	const struct way *cache = p->of[1] ? p->of[1]->way : NULL,
			 *layout = p->of[2] ? p->of[2]->way : NULL,
			 *draft = p->of[3] ? p->of[3]->way : NULL;

	*out = *(p->of[0] ? p->of[0]->way : v->out->base);
	out->q.ask.arch = &out->q.arch;
	if (cache) {
		out->q.ask.cache_bytes = cache->q.ask.cache_bytes;
		out->q.ask.cache_name = cache->q.ask.cache_name;
	}
	if (layout) {
		out->q.ask.tp = layout->q.ask.tp;
		out->q.ask.pp = layout->q.ask.pp;
		out->copies = layout->copies;
	}
	if (draft)
		out->q.ask.draft = draft->q.ask.draft;
}

/* a better than b for the goal by more than a thousandth. */
static bool better(const struct advise_outcome *a, const struct advise_outcome *b, enum goal goal)
{
	double x = outcome_of(a, goal), y = outcome_of(b, goal);

	if (a->fits != b->fits)
		return a->fits;
	return goal_less(goal) ? x < y * 0.999 : x > y * 1.001;
}

struct best {
	unsigned allowed; /* bits of enum change_kind */
	struct pick pick;
	struct advise_outcome top;
};

/* All picks of the kinds from this one on. */
static void find_best(struct adviser *v, int kind, struct pick *p, struct best *b)
{
	struct advise_outcome o;
	struct way way;

	if (kind == MIXED) {
		mix(v, p, &way);
		way_outcome(&way.q.ask, way.copies, &o);
		v->out->tried++;
		if (better(&o, &b->top, v->out->goal)) {
			b->top = o;
			b->pick = *p;
		}
		return;
	}
	find_best(v, kind + 1, p, b);
	if (!(b->allowed & 1u << mixed[kind]))
		return;
	for (size_t i = 0; i < v->n_singles; i++)
		if (v->singles[i].kind == mixed[kind]) {
			p->of[kind] = &v->singles[i];
			find_best(v, kind + 1, p, b);
		}
	p->of[kind] = NULL;
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

static void add_together(struct adviser *v, unsigned allowed)
{
	struct serve_advice *o = v->out;
	struct best b = { .allowed = allowed };
	struct pick p = { 0 };
	struct way *way = ARENA_NEW(v->arena, struct way);
	struct trial t = { .kind = CHANGE_SEVERAL, .way = way, .parts = 1 };
	struct serve_change c;
	int n = 0;

	find_best(v, 0, &p, &b);
	for (int k = 0; k < MIXED; k++) {
		const struct serve_change *s = b.pick.of[k];

		if (!s)
			continue;
		t.what = n ? arena_printf(v->arena, "%s + %s", t.what, s->what) : s->what;
		t.options = n ? arena_printf(v->arena, "%s %s", t.options, s->options) : s->options;
		t.parts *= s->gain[o->goal].value > 0 ? s->gain[o->goal].value : NAN;
		t.kinds |= 1u << mixed[k];
		n++;
	}
	if (n < 2 || known(o, t.options))
		return;
	mix(v, &b.pick, way);
	if (b.pick.of[3] && !v->facts->accept_told) {
		t.worst = at_acceptance(v, way, ADVISE_ACCEPT_LOW);
		t.best = at_acceptance(v, way, ADVISE_ACCEPT_HIGH);
	}
	adviser_judge(v, &t, &c);
	if (!c.after.fits)
		return;
	ARENA_ADD(v->arena, o->together, o->n_together) = c;
}

/* The best of them at once. */
static void advise_together(struct adviser *v)
{
	const unsigned weights = 1u << CHANGE_WEIGHTS, cache = 1u << CHANGE_CACHE,
		       layout = 1u << CHANGE_LAYOUT,
		       draft = v->out->base->q.ask.draft > 0 ? 0 : 1u << CHANGE_DRAFT;

	add_together(v, weights | cache | layout | draft);
	add_together(v, weights | cache | layout);
	add_together(v, layout | draft); /* every answer stays what it is */
	add_together(v, weights | layout);
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
	adviser_try(v, &(struct trial){ .kind = CHANGE_CACHE,
					.way = way,
					.what = arena_printf(
						v->arena, "KV cache in %s instead of %s", name,
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
				       .what = arena_printf(v->arena,
							    "%d concurrent request%s instead of %d",
							    list[i], PLURAL(list[i]), before),
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
						.what = "no speculative tokens",
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
		t.what = arena_printf(v->arena, "%d speculative token%s, %.0f %% accepted%s",
				      depths[i], PLURAL(depths[i]), 100 * q->accept,
				      v->facts->accept_told ? "" : " (50 to 85 evaluated)");
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
	t.what = "prefix cache with half of each prompt (0 to 90 % evaluated)";
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
				    .what = arena_printf(
					    v->arena, "%.0f prompt tokens per step instead of %.0f",
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
					.what = "CUDA graphs instead of individual launches",
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
	adviser_try(v, &(struct trial){
			       .kind = CHANGE_CLOCK,
			       .way = way,
			       .worst = v->out->base,
			       .what = arena_printf(
				       v->arena,
				       "GPU clock up to the maximum of %.0f MHz instead of %.0f",
				       f->clock_max, f->clock_mhz),
			       .options = "apply --only gpu.clocks" });
}

/* All changes by themselves. */
static void advise_singles(struct adviser *v)
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

static void note(struct adviser *v, const char *text)
{
	if (v->out->n_notes < ADVICE_NOTES)
		v->out->notes[v->out->n_notes++] = text;
}

/* Sentences: what a change costs, what would show that it is worth it. */
static void advise_notes(struct adviser *v)
{
	const struct prediction *p = &v->out->before;
	const struct prompt *r = &p->prompt;

	if (!v->out->now.fits)
		note(v, "the current setup does not fit, so there is no baseline: changes are "
			"ranked by their results");
	if (p->q.arch.experts)
		note(v, "not predicted: expert parallelism over more GPUs than the other weights "
			"use, and data-parallel attention; measure them");
	note(v, "not predicted: separate machines for prefill and decode");
	note(v, arena_printf(v->arena,
			     "GPU clocks: a higher clock shortens only compute, which takes %.2f "
			     "of %.2f ms per step and %.1f of %.1f ms per prompt%s",
			     p->step.compute > p->step.memory ? p->step.compute : 0, p->step.total,
			     r->multiply + r->attention, r->total,
			     v->facts->clock_max > 0 ? "" : "; no machine was inspected"));
	if (p->q.arch.guessed)
		note(v, "the model's shape is a guess, which widens the intervals of its figures, "
			"but not those of the gains");
}

static const char *layout_options(const struct adviser *v, int tp, int pp, int copies)
{
	const char *stages = pp > 1 ? arena_printf(v->arena, " --pp %d", pp) : "";

	return copies > 1 ? arena_printf(v->arena, "--tp %d%s --copies %d", tp, stages, copies)
			  : arena_printf(v->arena, "--tp %d%s", tp, stages);
}

/* The same GPUs in another order, more of them, and another model with fewer active parameters. */

static const char *layout_name(const struct adviser *v, int tp, int pp, int copies)
{
	const char *stages = pp > 1 ? arena_printf(v->arena, ", %d stages", pp) : "";

	return copies > 1 ? arena_printf(v->arena, "%d replicas of tensor parallelism %d%s", copies,
					 tp, stages)
			  : arena_printf(v->arena, "tensor parallelism %d%s", tp, stages);
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

/* Heads are dealt out whole. */
static bool splits(const struct arch *a, int tp)
{
	return a->heads <= 0 || a->heads % tp == 0;
}

/* On the same GPUs. */
static void advise_layouts(struct adviser *v)
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

int advise(struct arena *a, const struct infer_options *w, const struct fits *fits,
	   const struct advise_facts *facts, struct serve_advice *out, struct err *e)
{
	struct adviser v = { a, w, fits, facts, out, NULL, 0 };
	struct way *base = ARENA_NEW(a, struct way);
	struct query one;
	int r = question_make(a, w, fits, &base->q, e);

	if (r < 0)
		return r;
	base->copies = facts->copies > 1 ? facts->copies : 1;
	if (base->copies * base->q.ask.tp * base->q.ask.pp > base->q.ask.place.gpus)
		return err_set(e, -EINVAL, "%d replicas of %d GPUs exceed the %d GPUs available",
			       base->copies, base->q.ask.tp * base->q.ask.pp,
			       base->q.ask.place.gpus);
	one = base->q;
	one.ask.batch = (one.ask.batch + base->copies - 1) / base->copies;
	*out = (struct serve_advice){ .goal = facts->goal, .base = base };
	predict(a, &one, fits, &out->before);
	way_simulated(a, &base->q.ask, base->copies, &out->now, &(struct schedule){ 0 });
	advise_singles(&v);
	advise_layouts(&v);
	for (int times = 2; times <= 4; times *= 2) {
		try_machines(&v, times, false);
		try_machines(&v, times, true);
	}
	advise_models(&v);
	qsort_r(out->changes, out->n, sizeof(*out->changes), by_goal, &out->goal);
	advise_together(&v);
	advise_notes(&v);
	return 0;
}

/* A model of the list with experts, of the same class of ability: about as many parameters, far
 * fewer of them active, and not released before the model that is asked about. */
static bool rival(const struct arch *a, const struct arch_parts *own, const char *released)
{
	struct arch_parts p;

	if (!a->experts || a->guessed || !a->date || strcmp(a->date, released) < 0)
		return false;
	p = arch_parts(a);
	return p.total > 0.6 * own->total && p.total < 1.6 * own->total &&
	       p.active < 0.6 * own->active;
}

static void try_model(struct adviser *v, const struct arch *a)
{
	struct infer_options w = *v->words;
	struct way *way;

	w.model = a->name;
	w.file = NULL;
	w.weight_bytes = 0;
	w.weights = v->out->base->q.ask.weights->name;
	w.hint = (struct model_hint){ 0 };
	way = adviser_ask(v, &w, v->out->base->copies);
	if (!way || strcmp(way->q.arch.name, a->name) != 0)
		return;
	adviser_try(
		v, &(struct trial){ .kind = CHANGE_MODEL,
				    .way = way,
				    .what = arena_printf(v->arena, "%s (%s): %s", a->name, a->date,
							 arch_size(v->arena, a)),
				    .options = arena_printf(v->arena, "--model %s --weights \"%s\"",
							    a->name, w.weights) });
}

/* The three best stay: the list is long, and one is as good an example as the next. */
enum { MODELS_KEPT = 3 };

static int by_outcome(const void *x, const void *y, void *how)
{
	enum goal goal = *(const enum goal *)how;
	double p = outcome_of(&((const struct serve_change *)x)->after, goal);
	double q = outcome_of(&((const struct serve_change *)y)->after, goal);

	return p < q ? (goal_less(goal) ? -1 : 1) : p > q ? (goal_less(goal) ? 1 : -1) : 0;
}

void advise_models(struct adviser *v)
{
	struct arch_parts own = arch_parts(&v->out->base->q.arch);
	const char *date = v->out->base->q.arch.date;
	size_t from = v->out->n;

	for (const struct model_row *m = knowledge_or_built_in(v->words->known)->models; m->a.name;
	     m++)
		if (rival(&m->a, &own, date ? date : "2025"))
			try_model(v, &m->a);
	if (v->out->n > from)
		qsort_r(v->out->changes + from, v->out->n - from, sizeof(*v->out->changes),
			by_outcome, &v->out->goal);
	if (v->out->n > from + MODELS_KEPT)
		v->out->n = from + MODELS_KEPT;
}
