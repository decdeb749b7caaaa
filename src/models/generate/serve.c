/* SPDX-License-Identifier: Apache-2.0 */
/* How a model is spread over the GPUs, and in which format its cache is: by what each way gives. */
#include "models/generate/serve.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Looking up options of engines, and in which release they were looked up. */

static const struct engine_source engine_sources[] = {
	{ ENGINE_VLLM, "vLLM", "0.27.1", "0.13",
	  "docs.vllm.ai (stable: cache and parallel configuration; parallelism and scaling); "
	  "vllm/engine/arg_utils.py",
	  "2026-11-21" },
	{ ENGINE_SGLANG, "SGLang", "0.5", "0.5", "docs.sglang.io, server arguments", "2026-11-21" },
	{ ENGINE_LLAMACPP, "llama.cpp", "b10212", "b6400",
	  "tools/server/README.md; --help of b10212", "2026-11-21" },
	{ ENGINE_TRTLLM, "TensorRT-LLM", "1.2", "1.0",
	  "nvidia.github.io/TensorRT-LLM, trtllm-serve; tensorrt_llm/commands/serve.py",
	  "2026-11-21" },
};

const struct engine_source *engine_source(enum engine e)
{
	for (size_t i = 0; i < sizeof(engine_sources) / sizeof(engine_sources[0]); i++)
		if (engine_sources[i].engine == e)
			return &engine_sources[i];
	return NULL;
}

/* "--a_b" is "--a-b"; the case counts. */
static bool same_option(const char *x, size_t n, const char *y, size_t m)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((x[i] == '_' ? '-' : x[i]) != (y[i] == '_' ? '-' : y[i]))
			return false;
	return true;
}

const struct engine_option *engine_option(enum engine e, const char *name, size_t n)
{
	for (size_t i = 0; i < n_engine_options; i++) {
		const struct engine_option *o = &engine_options[i];

		if (o->engine != e)
			continue;
		if (same_option(name, n, o->name, strlen(o->name)))
			return o;
		for (const char *at = o->also ? o->also : ""; *at;
		     at += strcspn(at, " "), at += strspn(at, " "))
			if (same_option(name, n, at, strcspn(at, " ")))
				return o;
	}
	return NULL;
}

const char *engine_option_name(enum engine e, enum option_means m)
{
	for (size_t i = 0; i < n_engine_options; i++)
		if (engine_options[i].engine == e && engine_options[i].means == m)
			return engine_options[i].name;
	return NULL;
}

/* What a cache may be asked for as, and what the engine calls it: vllm/config/cache.py,
 * sglang/srt/server_args.py, llama-server --help, trtllm-serve, read 2026-11-22. */
static const struct {
	enum engine engine;
	const char *asked, *word;
} caches[] = {
	{ ENGINE_VLLM, "fp8", "fp8" },
	{ ENGINE_VLLM, "fp8_e4m3", "fp8_e4m3" },
	{ ENGINE_VLLM, "fp8_e5m2", "fp8_e5m2" },
	{ ENGINE_SGLANG, "fp8", "fp8_e4m3" },
	{ ENGINE_SGLANG, "fp8_e4m3", "fp8_e4m3" },
	{ ENGINE_SGLANG, "fp8_e5m2", "fp8_e5m2" },
	{ ENGINE_SGLANG, "fp4_e2m1", "fp4_e2m1" },
	{ ENGINE_LLAMACPP, "q8_0", "q8_0" },
	{ ENGINE_LLAMACPP, "q4_0", "q4_0" },
	{ ENGINE_LLAMACPP, "bf16", "bf16" },
	{ ENGINE_LLAMACPP, "f16", "f16" },
	{ ENGINE_LLAMACPP, "fp16", "f16" },
	{ ENGINE_LLAMACPP, "half", "f16" },
	{ ENGINE_LLAMACPP, "f32", "f32" },
	{ ENGINE_TRTLLM, "fp8", "fp8" },
	{ ENGINE_TRTLLM, "nvfp4", "nvfp4" },
};

/* The engine's word for a cache in that format; "": as the model has it. NULL: it has no such. */
static const char *engine_cache_word(enum engine e, const char *asked)
{
	static const char *const as_model[] = { "auto", "bf16", "fp16", "f16", "half" };

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (caches[i].engine == e && strcasecmp(caches[i].asked, asked) == 0)
			return caches[i].word;
	for (size_t i = 0; i < sizeof(as_model) / sizeof(as_model[0]); i++)
		if (strcasecmp(as_model[i], asked) == 0)
			return "";
	return NULL;
}

/* What it may be asked for as, for people. */
static const char *engine_cache_words(struct arena *a, enum engine e)
{
	const char *list = "bf16";

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (caches[i].engine == e && strcmp(caches[i].asked, "bf16") != 0)
			list = arena_printf(a, "%s, %s", list, caches[i].asked);
	return list;
}

const char *serve_not_possible(struct arena *a, const struct arch *m, enum engine engine, int tp,
			       int pp)
{
	if (engine == ENGINE_LLAMACPP && tp > 1)
		return "llama.cpp splits by layers, one group per GPU";
	if (m->heads > 0 && m->heads % tp)
		return arena_printf(a, "%d heads are not divisible by %d", m->heads, tp);
	if (m->kv_heads > 0 && !m->kv_lora && m->kv_heads % tp && tp % m->kv_heads)
		return arena_printf(a,
				    "%d KV heads and %d GPUs: one must be a multiple of the other",
				    m->kv_heads, tp);
	if (pp > m->layers)
		return arena_printf(a, "only %d layers", m->layers);
	return NULL;
}

/* Fills words for one way. */
static struct infer_options words_for(const struct serve_ask *ask, const struct target_hw *place,
				      int tp, int pp, const char *kv)
{
	struct infer_options w = ask->words;

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

static int gen_serve_try_one(struct arena *a, const struct serve_ask *ask,
			     const struct target_hw *place, const struct fits *fits,
			     struct serve_try *t, const char *kv, struct prediction *p,
			     struct err *err)
{
	struct infer_options w = words_for(ask, place, t->tp, t->pp, kv);
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
static bool gen_serve_better(const struct serve_try *x, const struct serve_try *y)
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
static int try_all(struct arena *a, const struct serve_ask *ask, const struct target_hw *place,
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
		r = gen_serve_try_one(a, ask, place, fits, &t, kv, p, err);
		if (r < 0)
			return r;
		out->tries[out->n_tries] = t;
		if (!t.not_possible &&
		    (*best == SERVE_TRIES || gen_serve_better(&t, &out->tries[*best]))) {
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
		return err_set(err, -EINVAL,
			       "tensor parallelism %d requires %d GPUs, but there %s %d", asked_tp,
			       asked_tp, gpus == 1 ? "is" : "are", gpus);
	return err_set(err, -EINVAL, "%d GPU%s cannot share this model%s%s", gpus, PLURAL(gpus),
		       out->n_tries ? ": " : "",
		       out->n_tries && out->tries[out->n_tries - 1].not_possible
			       ? out->tries[out->n_tries - 1].not_possible
			       : "");
}

static const char *smaller_cache(enum engine e)
{
	return e == ENGINE_LLAMACPP ? "q8_0" : "fp8";
}

/* As asked; else as the model has it; else half as large where only that fits. */
static int gen_serve_choose(struct arena *a, const struct serve_ask *ask,
			    const struct target_hw *place, const struct fits *fits,
			    struct serve_plan *out, struct err *err)
{
	const char *asked = ask->words.cache;
	size_t best;
	int r = try_all(a, ask, place, fits, asked && *asked ? asked : "auto", out, &best, err);

	if (r < 0)
		return r;
	out->kv = asked && *asked && strcmp(asked, "auto") != 0 ? asked : "";
	out->kv_why = *out->kv ? "as requested" : "in the model's number format";
	if (out->tries[best].fits || (asked && *asked))
		return 0;
	r = try_all(a, ask, place, fits, smaller_cache(ask->engine), out, &best, err);
	if (r < 0)
		return r;
	if (out->tries[best].fits) {
		out->kv = smaller_cache(ask->engine);
		out->kv_why = "with 2 bytes per element the cache does not fit; 1 byte costs "
			      "little accuracy";
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
		out->expert_why =
			arena_printf(a,
				     "expert width %d divided by %d GPUs is not a multiple of the "
				     "block size 128, so each GPU gets whole experts",
				     m->expert_ffn, out->tp);
	} else {
		out->expert_why = "experts are split like the rest: all GPUs have the same work in "
				  "every step";
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

	(void)a;
	out->quant = NULL;
	out->quant_why = "from the checkpoint";
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
					 ? "converted to FP8 while loading (releases of 2025 first "
					   "hold all weights in 16 bits); an FP8 checkpoint loads "
					   "faster and is as good"
					 : "converted to FP8 after loading; an FP8 checkpoint "
					   "loads faster and is as good";
		return 0;
	}
	err_set(err, -EINVAL, "\"%.80s\": not a checkpoint in %s, and %s cannot convert it",
		ask->model, f->name, engine_source(ask->engine)->name);
	err_hint(err, "give a checkpoint in that format, or its folder");
	return -EINVAL;
}

/* SGLang makes FP8 of a checkpoint of 16 bits once all of it is in memory
 * (github.com/sgl-project/sglang issues 2895 and 8337, read 2026-11-22); vLLM goes layer by layer
 * (vllm-project/vllm pull request 31914). */
static int hold_wide(struct arena *a, const struct serve_ask *ask, const struct target_hw *place,
		     const struct fits *fits, struct serve_plan *out, struct err *err)
{
	struct prediction *p = ARENA_NEW(a, struct prediction);
	struct infer_options w =
		words_for(ask, place, out->tp, out->pp, *out->kv ? out->kv : "auto");
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
	out->fits_why = arena_printf(a,
				     "SGLang holds all weights in 16 bits before converting them "
				     "to FP8: %.1f GB of %.1f GB available; give an FP8 checkpoint",
				     p->memory.weights / 1e9, room / 1e9);
	return 0;
}

static int check_ask(struct arena *a, const struct serve_ask *ask, const struct gen_cluster *c,
		     struct err *err)
{
	const char *cache = ask->words.cache;

	if (!*ask->model)
		return err_set(err, -EINVAL, "--model: no model given");
	if (*ask->model == '-')
		return err_set(err, -EINVAL, "\"%.80s\" would be parsed as an option, not a model",
			       ask->model);
	if (cache && *cache && !engine_cache_word(ask->engine, cache))
		return err_set(err, -EINVAL,
			       "%s does not support cache format \"%.40s\"; supported: %s",
			       engine_source(ask->engine)->name, cache,
			       engine_cache_words(a, ask->engine));
	if (c->n > 1 && ask->engine == ENGINE_LLAMACPP)
		for (size_t i = 1; i < c->n; i++)
			if (!*c->nodes[i].address)
				return err_set(err, -EINVAL, "address of %.80s unknown",
					       c->nodes[i].name);
	if (c->n > 1 && !ask->head && !*c->nodes[0].address)
		return err_set(err, -EINVAL,
			       "address of the first machine unknown; give it with --head");
	return 0;
}

int serve_plan_make(struct arena *a, const struct serve_ask *given, const struct gen_envs *e,
		    const struct target_hw *named, const struct fits *fits, struct serve_plan *out,
		    struct err *err)
{
	struct serve_ask ask = *given;
	struct target_hw place;
	int r = check_ask(a, &ask, e->c, err);

	*out = (struct serve_plan){ .source = engine_source(ask.engine), .model = ask.model };
	if (ask.context <= 0)
		ask.context = 8192;
	if (ask.users <= 0)
		ask.users = 4;
	if (r == 0)
		r = serve_place(a, e->c, named, &place, out, err);
	if (r == 0)
		r = gen_serve_choose(a, &ask, &place, fits, out, err);
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

/* The words of each engine's command, a node at a time. */

struct flags {
	struct arena *a;
	const struct serve_ask *ask;
	const struct serve_plan *plan;
	struct gen_command *c;
};

static void put(const struct flags *f, enum option_means m, const char *value, const char *why)
{
	gen_option_add(f->a, f->c, engine_option_name(f->ask->engine, m), value, why);
}

static void put_int(const struct flags *f, enum option_means m, double v, const char *why)
{
	put(f, m, arena_printf(f->a, "%.0f", v), why);
}

/* The first node's address, as the others reach it. */
static const char *head_of(const struct serve_ask *ask, const struct gen_envs *e)
{
	return ask->head ? ask->head : e->c->nodes[0].address;
}

static void put_size(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	struct arena *a = f->a;

	if (p->tp > 1)
		put_int(f, MEANS_TP, p->tp,
			arena_printf(a,
				     "each layer is split over %d GPUs: %.4g tokens/s of all "
				     "requests predicted, the best of all options tried",
				     p->tp, p->p.throughput.value));
	if (p->pp > 1)
		put_int(f, MEANS_PP, p->pp,
			arena_printf(a, "layers split into %d pipeline stages", p->pp));
	if (!p->expert_parallel)
		return;
	if (f->ask->engine == ENGINE_VLLM)
		put(f, MEANS_EP, NULL, p->expert_why);
	else
		put_int(f, MEANS_EP, p->tp, p->expert_why);
}

static void put_load(const struct flags *f)
{
	const struct serve_ask *ask = f->ask;
	struct arena *a = f->a;

	put_int(f, MEANS_CONTEXT, ask->context,
		arena_printf(a, "prompt plus answer; memory is enough for %.0f tokens",
			     f->plan->p.memory.most_context));
	put_int(f, MEANS_USERS, ask->users,
		arena_printf(a,
			     "maximum concurrency, other requests wait; %.0f requests of this "
			     "length fit",
			     f->plan->p.memory.most_requests));
	put_int(f, MEANS_CHUNK, engine_chunk(ask->engine),
		"prompt tokens per step, as in the prediction");
}

static void put_memory(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	double cache = p->p.memory.cache + p->p.memory.state;

	put(f, MEANS_MEMORY, arena_printf(f->a, "%.2f", p->fraction), p->fraction_why);
	if (f->ask->engine == ENGINE_VLLM && p->p.q.ask.place.gpu->unified)
		put_int(f, MEANS_KV_BYTES, ceil(cache * 1.05 / 1048576) * 1048576,
			"the cache that these requests need plus 5 %; a size in bytes does not "
			"depend on free memory at startup");
}

static void put_formats(const struct flags *f)
{
	const struct serve_plan *p = f->plan;
	const char *kv = *p->kv ? engine_cache_word(f->ask->engine, p->kv) : NULL;

	if (kv && *kv)
		put(f, MEANS_KV, kv, p->kv_why);
	if (p->quant)
		put(f, MEANS_WEIGHTS, p->quant, p->quant_why);
}

static void put_port(const struct flags *f)
{
	const char *listen = f->ask->listen;

	put(f, MEANS_HOST, listen ? listen : "127.0.0.1",
	    listen ? "as requested; anyone who can reach this address can use the server"
		   : "the server is only reachable from this machine, since no key protects it; "
		     "--listen changes that");
	if (f->ask->port)
		put_int(f, MEANS_PORT, f->ask->port, "as requested");
}

/* A short name finds a shape here, but nothing that an engine could load. */
static const char *model_why(const char *model)
{
	return strchr(model, '/') ? "the model"
				  : "the model as given: OWNER/NAME on a model hub, or a folder";
}

/* --- engines ---------------------------------------------------------------------------------- */
static void vllm(const struct flags *f, const struct gen_envs *e, size_t rank)
{
	struct arena *a = f->a;
	int port = f->ask->meeting_port ? f->ask->meeting_port : 29501;

	gen_word_add(a, f->c, "vllm", "vLLM's server");
	gen_word_add(a, f->c, "serve", NULL);
	gen_word_add(a, f->c, f->ask->model, model_why(f->ask->model));
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	if (e->c->n > 1) {
		put_int(f, MEANS_NODES, (double)e->c->n,
			"number of machines; vLLM starts its own processes, without Ray");
		put_int(f, MEANS_RANK, (double)rank, "this machine's number");
		put(f, MEANS_HEAD, head_of(f->ask, e), "address of the first machine");
		put_int(f, MEANS_HEAD_PORT, port, "a free port on that machine");
	}
	if (rank)
		gen_word_add(a, f->c, "--headless", "only the first machine serves requests");
	else
		put_port(f);
}

static void sglang(const struct flags *f, const struct gen_envs *e, size_t rank)
{
	int port = f->ask->meeting_port ? f->ask->meeting_port : 50000;
	struct arena *a = f->a;

	gen_word_add(a, f->c, "python3", "SGLang's server");
	gen_word_add(a, f->c, "-m", NULL);
	gen_word_add(a, f->c, "sglang.launch_server", NULL);
	put(f, MEANS_MODEL, f->ask->model, model_why(f->ask->model));
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	if (e->c->n > 1) {
		put_int(f, MEANS_NODES, (double)e->c->n, "machines");
		put_int(f, MEANS_RANK, (double)rank, "this machine's number");
		put(f, MEANS_HEAD, arena_printf(a, "%s:%d", head_of(f->ask, e), port),
		    "address of the first machine");
	}
	if (rank == 0)
		put_port(f);
}

static void gen_serve_trtllm(const struct flags *f, const struct gen_envs *e)
{
	struct arena *a = f->a;

	if (e->c->n > 1)
		gen_word_add(a, f->c, "trtllm-llmapi-launch",
			     "one process per GPU, started by MPI; the first one serves");
	gen_word_add(a, f->c, "trtllm-serve", "TensorRT-LLM's server");
	gen_word_add(a, f->c, "serve", NULL);
	gen_word_add(a, f->c, f->ask->model, model_why(f->ask->model));
	gen_option_add(a, f->c, "--backend", "pytorch", "loads the checkpoint without conversion");
	put_size(f);
	put_load(f);
	put_memory(f);
	put_formats(f);
	put_port(f);
}

static void llama_model(const struct flags *f)
{
	const char *model = f->ask->model;
	const char *name = f->plan->p.q.ask.weights->name;

	if (str_ends(model, ".gguf") || *model == '/' || *model == '.') {
		gen_option_add(f->a, f->c, "--model", model, "the model's file");
		return;
	}
	/* Where the name has no type of its own: the type that was predicted. */
	if (!strchr(model, ':'))
		model = arena_printf(f->a, "%s:%s", model, name);
	gen_option_add(f->a, f->c, "--hf-repo", model,
		       strchr(f->ask->model, '/')
			       ? "a repository of GGUF files and the type"
			       : "the model as given, and the type; OWNER/NAME must be a "
				 "repository of GGUF files on a model hub");
}

static void llamacpp(const struct flags *f, const struct gen_envs *e)
{
	const char *kv = *f->plan->kv ? engine_cache_word(ENGINE_LLAMACPP, f->plan->kv) : NULL;
	const struct serve_ask *ask = f->ask;
	struct arena *a = f->a;
	TEXT_AUTO workers = { 0 };

	gen_word_add(a, f->c, "llama-server", "llama.cpp's server");
	llama_model(f);
	put_int(f, MEANS_CONTEXT, ask->context * ask->users,
		arena_printf(a, "total: %.0f tokens for each of %d requests", ask->context,
			     ask->users));
	put_int(f, MEANS_USERS, ask->users, "concurrency");
	put_int(f, MEANS_LAYERS, 999, "all layers on the GPU");
	put(f, MEANS_FLASH, "on", "less memory for long contexts; required for a quantized cache");
	if (kv && *kv) {
		put(f, MEANS_KV, kv, f->plan->kv_why);
		put(f, MEANS_KV_VALUES, kv, "same format for K and V");
	}
	put_int(f, MEANS_CHUNK, engine_chunk(ENGINE_LLAMACPP),
		"prompt tokens per step: 512 leaves a large GPU idle");
	for (size_t i = 1; i < e->c->n; i++)
		text_printf(&workers, "%s%s:%d", i > 1 ? "," : "", e->c->nodes[i].address,
			    ask->meeting_port ? ask->meeting_port : 50052);
	if (workers.s)
		put(f, MEANS_WORKERS, arena_strdup(a, workers.s),
		    "the other machines' ggml-rpc-server");
	put_port(f);
}

static void rpc_worker(const struct flags *f, const struct gen_node *n)
{
	struct arena *a = f->a;

	gen_word_add(a, f->c, "ggml-rpc-server",
		     "llama.cpp's worker (built with GGML_RPC; older builds call it rpc-server)");
	gen_option_add(a, f->c, "--host", n->address,
		       "listens only on this address, since the worker accepts commands from "
		       "anyone who can reach it");
	gen_option_add(a, f->c, "--port",
		       arena_printf(a, "%d", f->ask->meeting_port ? f->ask->meeting_port : 50052),
		       "port for the first machine");
}

/* --- all of them ------------------------------------------------------------------------------ */
static int trtllm_nodes(struct arena *a, const struct gen_envs *e, struct serve_plan *out,
			struct gen_command *serve, struct err *err)
{
	struct gen_word *words = serve->words;
	size_t n = serve->n;
	char **argv = arena_array(a, n + 1, sizeof(*argv));
	struct gen_launch mpi;
	int r;

	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(a, words[i].text);
	r = gen_mpi(a, e, argv, n, &mpi, err);
	if (r < 0)
		return r;
	/* The reasons of the server's words, at their first appearance. */
	for (size_t i = 0; i + n <= mpi.commands[0].n; i++)
		if (strcmp(mpi.commands[0].words[i].text, words[0].text) == 0) {
			for (size_t k = 0; k < n; k++)
				mpi.commands[0].words[i + k].reason = words[k].reason;
			break;
		}
	gen_command_add(a, &out->launch, &mpi.commands[0]);
	return 0;
}

static void node_command(struct arena *a, const struct flags *f, const struct gen_envs *e,
			 size_t rank)
{
	const struct gen_node *n = &e->c->nodes[rank];

	(void)a;
	switch (f->ask->engine) {
	case ENGINE_SGLANG:
		sglang(f, e, rank);
		break;
	case ENGINE_LLAMACPP:
		if (rank)
			rpc_worker(f, n);
		else
			llamacpp(f, e);
		break;
	case ENGINE_TRTLLM:
		gen_serve_trtllm(f, e);
		break;
	default:
		vllm(f, e, rank);
	}
}

int serve_flags(struct arena *a, const struct serve_ask *ask, const struct gen_envs *e,
		struct serve_plan *out, struct err *err)
{
	bool mpi = ask->engine == ENGINE_TRTLLM && e->c->n > 1;

	for (size_t i = 0; i < (mpi ? 1 : e->c->n); i++) {
		struct gen_command c = { .node = &e->c->nodes[i], .rank = i, .env = &e->of[i] };
		struct flags f = { a, ask, out, &c };

		c.role = e->c->n < 2 ? NULL : i ? "worker" : "server";
		node_command(a, &f, e, i);
		if (mpi)
			return trtllm_nodes(a, e, out, &c, err);
		gen_command_add(a, &out->launch, &c);
	}
	if (ask->engine == ENGINE_LLAMACPP && e->c->n > 1)
		gen_note_add(a, &out->launch,
			     "ggml-rpc-server has no authentication: use it only on a private "
			     "network; start it before the server");
	return 0;
}
