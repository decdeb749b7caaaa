/* SPDX-License-Identifier: Apache-2.0 */
/* How a model is spread over the GPUs, and in which format its cache is: by what each way gives. */
#include "models/generate/serve.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/generate/serve_memory.h"

const char *serve_not_possible(struct arena *a, const struct arch *m, enum engine engine, int tp,
			       int pp)
{
	if (engine == ENGINE_LLAMACPP && tp > 1)
		return "llama.cpp gives each GPU its layers";
	if (m->heads > 0 && m->heads % tp)
		return arena_printf(a, "%d heads do not divide by %d", m->heads, tp);
	if (m->kv_heads > 0 && !m->kv_lora && m->kv_heads % tp && tp % m->kv_heads)
		return arena_printf(a, "%d heads of keys and %d GPUs do not divide", m->kv_heads,
				    tp);
	if (pp > m->layers)
		return arena_printf(a, "there are %d layers", m->layers);
	return NULL;
}

/* Fills words for one way. */
static struct words words_for(const struct serve_ask *ask, const struct place *place, int tp,
			      int pp, const char *kv)
{
	struct words w = ask->words;

	w.place = place;
	w.on = NULL;
	w.engine = engine_names[ask->engine];
	w.tp = tp;
	w.pp = pp;
	w.cache = kv;
	w.batch = ask->users;
	/* Memory is for the whole length; time for a usual prompt of it. */
	w.output = fmin(ask->context / 4, 1024);
	w.prompt = ask->context - w.output;
	w.chunk = engine_chunk(ask->engine);
	return w;
}

static int try_one(struct arena *a, const struct serve_ask *ask, const struct place *place,
		   const struct fits *fits, struct serve_try *t, const char *kv,
		   struct prediction *p, struct err *err)
{
	struct words w = words_for(ask, place, t->tp, t->pp, kv);
	struct query q;
	int r = question_make(a, &w, fits, &q, err);

	if (r < 0)
		return r;
	t->not_possible = serve_not_possible(a, &q.arch, ask->engine, t->tp, t->pp);
	predict(a, &q, fits, p);
	t->fits = p->memory.fits && !t->not_possible;
	t->tpot_ms = p->tpot.value;
	t->ttft_ms = p->ttft.value;
	t->throughput_tok_s = p->throughput.value;
	t->bytes = serve_needs(&p->memory);
	return 0;
}

/* More tokens a second of all users; of nearly equal ones the one with the shorter wait. */
static bool better(const struct serve_try *x, const struct serve_try *y)
{
	if (x->fits != y->fits)
		return x->fits;
	if (!x->fits)
		return x->bytes < y->bytes;
	if (fabs(x->throughput_tok_s - y->throughput_tok_s) > 0.02 * y->throughput_tok_s)
		return x->throughput_tok_s > y->throughput_tok_s;
	return x->tpot_ms < y->tpot_ms;
}

/* Every tp by pp over all GPUs, or what was asked for. */
static int try_all(struct arena *a, const struct serve_ask *ask, const struct place *place,
		   const struct fits *fits, const char *kv, struct serve_plan *out, size_t *best,
		   struct err *err)
{
	int gpus = place->gpus, asked_tp = ask->words.tp, asked_pp = ask->words.pp;
	struct prediction *p = ARENA_NEW(a, struct prediction);

	*best = SERVE_TRIES;
	for (int tp = 1; tp <= gpus && out->n_tries < SERVE_TRIES; tp++) {
		struct serve_try t = { .tp = tp, .pp = gpus / tp };
		int r;

		if (asked_tp && tp != asked_tp)
			continue;
		if (asked_pp)
			t.pp = asked_pp;
		if (!asked_tp && t.tp * t.pp != gpus)
			continue;
		r = try_one(a, ask, place, fits, &t, kv, p, err);
		if (r < 0)
			return r;
		out->tries[out->n_tries] = t;
		if (!t.not_possible && (*best == SERVE_TRIES || better(&t, &out->tries[*best]))) {
			*best = out->n_tries;
			out->p = *p;
			out->tp = t.tp;
			out->pp = t.pp;
		}
		out->n_tries++;
	}
	if (*best < SERVE_TRIES)
		return 0;
	if (!out->n_tries && asked_tp > gpus)
		return err_set(err, -EINVAL, "tensor parallelism %d needs %d GPUs, there %s %d",
			       asked_tp, asked_tp, gpus == 1 ? "is" : "are", gpus);
	return err_set(err, -EINVAL, "%d GPU%s cannot share this model%s%s", gpus,
		       gpus == 1 ? "" : "s", out->n_tries ? ": " : "",
		       out->n_tries && out->tries[out->n_tries - 1].not_possible
			       ? out->tries[out->n_tries - 1].not_possible
			       : "");
}

static const char *smaller_cache(enum engine e)
{
	return e == ENGINE_LLAMACPP ? "q8_0" : "fp8";
}

/* As asked; else as the model has it; else half as large where only that fits. */
static int choose(struct arena *a, const struct serve_ask *ask, const struct place *place,
		  const struct fits *fits, struct serve_plan *out, struct err *err)
{
	const char *asked = ask->words.cache;
	size_t best;
	int r = try_all(a, ask, place, fits, asked && *asked ? asked : "auto", out, &best, err);

	if (r < 0)
		return r;
	out->kv = asked && *asked && strcmp(asked, "auto") != 0 ? asked : "";
	out->kv_why = *out->kv ? "as asked" : "as the model has it";
	if (out->tries[best].fits || (asked && *asked))
		return 0;
	r = try_all(a, ask, place, fits, smaller_cache(ask->engine), out, &best, err);
	if (r < 0)
		return r;
	if (out->tries[best].fits) {
		out->kv = smaller_cache(ask->engine);
		out->kv_why = "with 2 bytes an element it does not fit; half of that costs little "
			      "accuracy";
	}
	return 0;
}

/* FP8 in blocks, and FP4: each GPU's share of an expert's width has to be whole blocks. */
static void choose_experts(struct arena *a, struct serve_plan *out)
{
	const struct arch *m = &out->p.q.arch;
	const struct format *f = out->p.q.ask.weights;
	bool blocks = f->math == MATH_FP8_BLOCK || f->math == MATH_FP4;

	out->expert_why = "";
	if (!m->experts || out->tp < 2)
		return;
	if (blocks && m->expert_ffn > 0 &&
	    (m->expert_ffn % out->tp || m->expert_ffn / out->tp % 128)) {
		out->expert_parallel = true;
		out->expert_why = arena_printf(
			a,
			"an expert's width of %d over %d GPUs is no multiple of the 128 of a "
			"block: whole experts instead",
			m->expert_ffn, out->tp);
	} else {
		out->expert_why = "experts are cut like the rest: all GPUs then have the same work "
				  "in every step";
	}
}

static bool is_fp8(const struct format *f)
{
	return f && (f->math == MATH_FP8 || f->math == MATH_FP8_BLOCK);
}

/* What makes the weights so small: the checkpoint, or an option. */
static int choose_weights(struct arena *a, const struct serve_ask *ask, struct serve_plan *out,
			  struct err *err)
{
	const struct format *f = out->p.q.ask.weights;
	const char *own = out->p.q.arch.format;
	const struct format *published = own ? format_find(own, true) : NULL;
	const struct format *said =
		ask->words.file ? NULL : format_in_name(ask->model, out->p.q.arch.experts > 0);
	bool file = ask->words.file && (ask->words.file->format || ask->words.file->exact.name);

	out->quant = NULL;
	out->quant_why = "the checkpoint says it";
	if (!ask->words.weights || file || said || f->math == MATH_HALF ||
	    (f->gguf && ask->engine == ENGINE_LLAMACPP))
		return 0;
	/* In FP8 already, scaled by blocks or as a whole: nothing has to be made of it. */
	if (published &&
	    (strcmp(published->name, f->name) == 0 || (is_fp8(published) && is_fp8(f))))
		return 0;
	if (is_fp8(f) && (ask->engine == ENGINE_VLLM || ask->engine == ENGINE_SGLANG)) {
		out->quant = "fp8";
		out->quant_why = ask->engine == ENGINE_VLLM
					 ? "made FP8 while it is loaded (releases of 2025 hold all "
					   "weights in 16 bits meanwhile); a checkpoint in FP8 "
					   "loads faster and is as good"
					 : "made FP8 when all of it is loaded; a checkpoint in FP8 "
					   "loads faster and is as good";
		return 0;
	}
	err_set(err, -EINVAL, "\"%.80s\" names no checkpoint in %s, and %s does not make one of it",
		ask->model, f->name, engine_source(ask->engine)->name);
	err_hint(err, "name one that is published so, or its folder");
	(void)a;
	return -EINVAL;
}

/* SGLang makes FP8 of a checkpoint of 16 bits once all of it is in memory
 * (github.com/sgl-project/sglang issues 2895 and 8337, read 2026-11-22); vLLM goes layer by layer
 * (vllm-project/vllm pull request 31914). */
static int hold_wide(struct arena *a, const struct serve_ask *ask, const struct place *place,
		     const struct fits *fits, struct serve_plan *out, struct err *err)
{
	struct prediction *p = ARENA_NEW(a, struct prediction);
	struct words w = words_for(ask, place, out->tp, out->pp, *out->kv ? out->kv : "auto");
	struct query q;
	double room;
	int r;

	if (!out->fits || !out->quant || ask->engine != ENGINE_SGLANG)
		return 0;
	w.weights = "bf16";
	r = question_make(a, &w, fits, &q, err);
	if (r < 0)
		return r;
	predict(a, &q, fits, p);
	room = p->memory.limit - p->memory.reserve - p->memory.framework;
	if (p->memory.weights <= room)
		return 0;
	out->fits = false;
	out->fits_why = arena_printf(
		a,
		"SGLang holds all weights in 16 bits before it makes FP8 of them: %.1f GB of "
		"%.1f GB that may be taken; name a checkpoint that is published in FP8",
		p->memory.weights / 1e9, room / 1e9);
	return 0;
}

static int check_ask(struct arena *a, const struct serve_ask *ask, const struct gen_cluster *c,
		     struct err *err)
{
	const char *cache = ask->words.cache;

	if (!*ask->model)
		return err_set(err, -EINVAL, "--model names no model");
	if (*ask->model == '-')
		return err_set(err, -EINVAL, "\"%.80s\" would be read as an option, not as a model",
			       ask->model);
	if (cache && *cache && !engine_cache_word(ask->engine, cache))
		return err_set(err, -EINVAL, "%s has no cache in \"%.40s\": it takes %s",
			       engine_source(ask->engine)->name, cache,
			       engine_cache_words(a, ask->engine));
	if (c->n > 1 && ask->engine == ENGINE_LLAMACPP)
		for (size_t i = 1; i < c->n; i++)
			if (!*c->nodes[i].address)
				return err_set(err, -EINVAL, "no address of %.80s is known",
					       c->nodes[i].name);
	if (c->n > 1 && !ask->head && !*c->nodes[0].address)
		return err_set(err, -EINVAL,
			       "no address of the first machine is known; name it with --head");
	return 0;
}

int serve_plan_make(struct arena *a, const struct serve_ask *given, const struct gen_envs *e,
		    const struct place *named, const struct fits *fits, struct serve_plan *out,
		    struct err *err)
{
	struct serve_ask ask = *given;
	struct place place;
	int r = check_ask(a, &ask, e->c, err);

	*out = (struct serve_plan){ 0 };
	if (ask.context <= 0)
		ask.context = 8192;
	if (ask.users <= 0)
		ask.users = 4;
	if (r == 0)
		r = serve_place(a, e->c, named, &place, out, err);
	if (r == 0)
		r = choose(a, &ask, &place, fits, out, err);
	if (r == 0)
		r = choose_weights(a, &ask, out, err);
	if (r < 0)
		return r;
	/* The pointer in the query has to be into this copy. */
	out->p.q.ask.arch = &out->p.q.arch;
	choose_experts(a, out);
	serve_memory(a, &ask, out);
	r = hold_wide(a, &ask, &place, fits, out, err);
	if (r < 0)
		return r;
	return out->fits ? serve_flags(a, &ask, e, out, err) : 0;
}
