/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing what was not given, and saying so. */
#include "models/inference/query.h"

#include <errno.h>
#include <string.h>

#include "look/stack/inventory.h"

static void note(struct query *q, const char *text)
{
	if (q->n_notes < QUESTION_NOTES)
		q->notes[q->n_notes++] = text;
}

static int query_find_model(struct arena *a, const struct infer_options *w, struct query *q,
			    struct err *e)
{
	const char *taken;
	int r;

	q->model = w->model ? w->model : "";
	if (w->file) {
		q->arch = w->file->arch;
		note(q, arena_printf(a, "model: %s%s%s", w->file->taken, w->file->kept ? "; " : "",
				     w->file->kept ? w->file->kept : ""));
		return 0;
	}
	if (!w->model)
		return err_set(e, -EINVAL, "no model given");
	r = model_find(a, w->known, w->model, &w->hint, &q->arch, &taken, e);
	if (r == 0)
		note(q, arena_printf(a, "model: %s", taken));
	return r;
}

/* A file that says its format is believed; what its name or folder says is not: people name both as
 * they like. */
static const struct format *format_of_file(struct arena *a, const struct model_file *file,
					   const char *name, struct query *q)
{
	struct arch_parts parts = arch_parts(&q->arch);
	bool experts = q->arch.experts > 0;
	const struct format *f;
	double each;

	if (file->exact.name)
		return &file->exact;
	if (file->format)
		return format_find(file->format, experts);
	each = parts.total > 0 ? file->bytes / parts.total : 0;
	if (each > 0 && each < 1.6)
		note(q, arena_printf(a,
				     "the files have %.2f bytes per parameter, but the "
				     "configuration has no quantization: give --weights",
				     each));
	f = name ? format_in_name(name, experts) : NULL;
	if (f && f->math != MATH_HALF)
		note(q,
		     arena_printf(a, "the path names %s, but the configuration does not; ignored",
				  f->name));
	return NULL;
}

/* A format as this model and this engine have it. */
static const struct format *as_published(const struct query *q, const struct format *f, bool llama)
{
	bool experts = q->arch.experts > 0;

	/* gpt-oss under any label of four bits is what was published. */
	if (strncmp(q->arch.name, "gpt-oss", 7) == 0 && strcmp(f->name, "nvfp4") == 0)
		return format_find("mxfp4", experts);
	/* In GGUF it keeps its experts and has the rest in Q8_0. */
	if (strcmp(f->name, "mxfp4") == 0 && llama)
		return format_find("mxfp4 gguf", experts);
	if (q->arch.fp8_blocks && strcmp(f->name, "fp8") == 0)
		return format_find("fp8block", experts);
	return f;
}

/* What the checkpoint's own quantization keeps otherwise than is usual in its format. */
static const struct format *as_stored(struct arena *a, const struct query *q,
				      const struct format *f)
{
	const struct part_bytes *s = &q->arch.stored;
	const double all =
		s->experts + s->dense + s->shared + s->attention + s->linear + s->head + s->embed;
	const struct format *own =
		q->arch.format ? format_find(q->arch.format, q->arch.experts > 0) : NULL;
	struct format *out;

	if (!(all > 0) || !own || strcmp(own->name, f->name) != 0)
		return f;
	out = ARENA_NEW(a, struct format);
	*out = *f;
	out->note = "by the quantization configuration";
	out->experts = s->experts > 0 ? s->experts : f->experts;
	out->dense = s->dense > 0 ? s->dense : f->dense;
	out->shared = s->shared > 0 ? s->shared : f->shared;
	out->attention = s->attention > 0 ? s->attention : f->attention;
	out->linear = s->linear > 0 ? s->linear : f->linear;
	out->head = s->head > 0 ? s->head : f->head;
	out->embed = s->embed > 0 ? s->embed : f->embed;
	return out;
}

/* Where nobody tells: by its files, by its name, or as it is published. */
static const struct format *format_untold(struct arena *a, const struct infer_options *w,
					  struct query *q, bool llama)
{
	bool experts = q->arch.experts > 0;
	const struct format *f = w->file    ? format_of_file(a, w->file, w->model, q)
				 : w->model ? format_in_name(w->model, experts)
					    : NULL;

	if (f)
		return f;
	/* Of what is published llama.cpp reads MXFP4 alone as it is. */
	if (llama && !(q->arch.format && strcmp(q->arch.format, "mxfp4") == 0))
		return format_find("q4_k_m", experts);
	return format_find(q->arch.format ? q->arch.format : "bf16", experts);
}

static int find_format(struct arena *a, const struct infer_options *w, struct query *q,
		       struct err *e)
{
	bool gguf = w->model && !w->file && strcasestr(w->model, "gguf");
	bool llama = w->engine && *w->engine ? engine_parse(w->engine) == ENGINE_LLAMACPP : gguf;
	bool told = w->weights && *w->weights;
	const struct format *f;

	if (!told && w->file && w->file->unknown) {
		err_set(e, -EINVAL, "unsupported quantization in its configuration: %s",
			w->file->unknown);
		return err_hint(e, "give its format with --weights"), -EINVAL;
	}
	f = told ? format_find(w->weights, q->arch.experts > 0) : format_untold(a, w, q, llama);
	if (!f) {
		err_set(e, -EINVAL, "unknown weight format \"%.60s\"", w->weights);
		err_hint(e, "try bf16, fp8, nvfp4, mxfp4, int4, awq, gptq, int8, w8a16, or a GGUF "
			    "type such as q4_k_m or q8_0");
		return -EINVAL;
	}
	q->ask.weights = as_stored(a, q, as_published(q, f, llama));
	if (!told)
		note(q, arena_printf(a, "weights: %s (default)", q->ask.weights->name));
	else if (q->ask.weights != f)
		note(q, arena_printf(a, "weights: %s, as published, instead of %s",
				     q->ask.weights->name, f->name));
	return 0;
}

static void query_find_engine(struct arena *a, const struct infer_options *w, struct query *q)
{
	struct ask *k = &q->ask;

	if (w->engine && *w->engine) {
		k->engine = engine_parse(w->engine);
		if (k->engine == ENGINES) {
			k->engine = ENGINE_VLLM;
			note(q,
			     arena_printf(a, "unknown engine \"%.40s\"; assuming vLLM", w->engine));
		}
		return;
	}
	k->engine = k->weights->gguf ? ENGINE_LLAMACPP : ENGINE_VLLM;
	note(q, arena_printf(a, "engine: %s (default)", engine_names[k->engine]));
}

static const struct {
	enum engine engine;
	enum hardware hardware;
	const char *first, *last, *read;
} releases[] = {
#include "models/inference/engine_releases.rows"
};

/* "vllm@0.28": no rows tell one release's constants from another's, so the answer says whose they
 * are. */
static void query_release(struct arena *a, const struct infer_options *w, struct query *q)
{
	const char *at = w->engine ? strchr(w->engine, '@') : NULL;
	const char *name = engine_names[q->ask.engine];

	if (!at || !at[1])
		return;
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		const char *first = releases[i].first, *last = releases[i].last;

		if (releases[i].engine != q->ask.engine ||
		    releases[i].hardware != hardware_of(q->ask.place.gpu))
			continue;
		note(q, arena_printf(a, "%s %.20s: %s measurements of %s to %s (%s)", name, at + 1,
				     version_compare(at + 1, last) > 0	  ? "newer than the"
				     : version_compare(at + 1, first) < 0 ? "older than the"
									  : "among the",
				     first, last, releases[i].read));
		return;
	}
	note(q, arena_printf(a, "%s %.20s: no built-in measurement of this engine names a release",
			     name, at + 1));
}

/* The widest tensor parallelism of any measurement. */
#define TP_MEASURED 8

/* A stage has a layer at least. */
static int most_stages(const struct query *q, int wanted)
{
	return wanted < q->arch.layers ? wanted : q->arch.layers;
}

/* What is not given: tensor parallelism inside a machine, which the heads divide by, and a stage
 * for each machine. Computers of one GPU share each layer, as their users have them do. */
static void query_layout(struct arena *a, const struct infer_options *w, struct query *q,
			 double apart)
{
	struct ask *k = &q->ask;
	int all = TP_MEASURED, each = place_per_node(&k->place);
	bool capped = false;

	if (!w->tp && !w->pp && k->pp == 1 && k->place.nodes > 1 && each > 1 && k->dp == 1 &&
	    k->prefills < 1) {
		k->pp = most_stages(q, k->place.nodes);
		note(q, arena_printf(a, "pipeline stages: %d, one per machine (default)", k->pp));
	}
	k->tp = w->tp > 0 ? w->tp
			  : (int)((k->place.gpus - apart) / ((double)k->pp * k->dp * k->decodes));
	if (k->tp < 1)
		k->tp = 1;
	if (w->tp)
		return;
	/* As many as were ever measured, or as the weights need. */
	while (all < k->tp && weights_by_format(k) > 0.8 * all * place_memory_bytes(&k->place))
		all *= 2;
	if (k->place.nodes == 1 && all < k->tp) {
		note(q, arena_printf(a,
				     "tensor parallelism: %d of %d GPUs (default): more GPUs were "
				     "never measured; others can serve replicas, or groups (--dp)",
				     all, k->tp));
		k->tp = all;
		capped = true;
	}
	for (all = k->tp; q->arch.heads > 0 && q->arch.heads % k->tp;)
		k->tp--;
	if (k->tp < all)
		note(q, arena_printf(a,
				     "tensor parallelism: %d (default), since %d heads are not "
				     "divisible by %d: not all GPUs are used",
				     k->tp, q->arch.heads, all));
	else if (k->tp > 1 && !capped)
		note(q, arena_printf(a, "tensor parallelism: %d, over all GPUs%s (default)", k->tp,
				     k->dp > 1	 ? arena_printf(a, " of a group, %d of %d GPUs",
								k->tp * k->pp * k->dp, k->place.gpus)
				     : k->pp > 1 ? " of a stage"
						 : ""));
}

static int query_find_place(struct arena *a, const struct infer_options *w, struct query *q,
			    struct err *e)
{
	struct ask *k = &q->ask;
	double needed, apart;
	int r = 0;

	if (w->place)
		k->place = *w->place;
	else if (w->on)
		r = place_parse(a, w->known, w->on, &k->place, e);
	else
		r = err_set(e, -EINVAL, "no machine given");
	if (r < 0)
		return r;
	k->pp = w->pp > 0 ? w->pp : 1;
	if (k->engine == ENGINE_LLAMACPP && !w->tp && !w->pp && k->place.gpus > 1) {
		k->pp = most_stages(q, k->place.gpus);
		note(q, arena_printf(a,
				     "pipeline stages: %d, because llama.cpp splits layers over "
				     "GPUs (default)",
				     k->pp));
	}
	k->dp = w->dp > 1 ? w->dp : 1;
	k->places = w->places;
	k->prefills = w->prefills;
	k->prefill_tp = w->prefill_tp > 0 ? w->prefill_tp : 1;
	k->prefill_dp = w->prefill_dp > 1 ? w->prefill_dp : 1;
	k->decodes = w->decodes > 1 ? w->decodes : 1;
	apart = (double)k->prefills * k->prefill_tp * k->prefill_dp;
	query_layout(a, w, q, apart);
	if (k->pp > q->arch.layers)
		return err_set(e, -EINVAL, "%d pipeline stages exceed the %d layers", k->pp,
			       q->arch.layers);
	needed = (double)k->tp * k->pp * k->dp * k->decodes + apart;
	if (needed > k->place.gpus)
		return err_set(e, -EINVAL,
			       "tensor parallelism %d x %d stages%s requires %.0f GPUs, but only "
			       "%d available",
			       k->tp, k->pp,
			       needed > k->tp * k->pp ? " x data parallelism and workers" : "",
			       needed, k->place.gpus);
	if (k->places > 0 && k->places < w->batch)
		note(q, arena_printf(a, "at most %d of %d requests run at once; the others wait",
				     k->places, w->batch));
	if (k->prefills > 0)
		note(q, arena_printf(a, "prompts: %d workers of %d GPUs; decoding: %d of %d",
				     k->prefills, k->prefill_tp * k->prefill_dp, k->decodes,
				     k->tp * k->pp * k->dp));
	if (!k->place.gpu->measured)
		note(q, arena_printf(a, "no measurements for %s; using constants fitted on %s",
				     k->place.gpu->name,
				     k->place.gpu->server ? "H100 and H200" : "GB10"));
	if (k->weights->math == MATH_FP4 && k->place.gpu->fp4 <= 0)
		note(q, "no FP4 arithmetic on this GPU: 4-bit weights are multiplied in 16 bits");
	if (q->arch.heads > 0 && q->arch.heads % k->tp)
		note(q, arena_printf(a,
				     "%d heads are not divisible by %d: engines refuse it or "
				     "return wrong answers; predicted as if divisible",
				     q->arch.heads, k->tp));
	return 0;
}

/* As the checkpoint has scales for, with the engines that look for such. */
static const char *cache_of_file(const struct infer_options *w, const struct ask *k)
{
	const struct model_file *f = w->file;

	if (!f || !f->cache)
		return NULL;
	switch (k->engine) {
	case ENGINE_VLLM:
	case ENGINE_TRTLLM:
		return f->cache;
	case ENGINE_SGLANG: /* Model Optimizer's FP8 alone */
		return f->cache_scheme || strcmp(f->cache, "fp8") != 0 ? NULL : f->cache;
	default:
		return NULL;
	}
}

static int find_cache(struct arena *a, const struct infer_options *w, struct query *q,
		      struct err *e)
{
	struct ask *k = &q->ask;

	k->cache_name = w->cache && *w->cache ? w->cache : "auto";
	if (strcmp(k->cache_name, "auto") == 0 && cache_of_file(w, k)) {
		k->cache_name = cache_of_file(w, k);
		note(q, arena_printf(a,
				     "KV cache: %s, from the model's files, as current engines do "
				     "(default)",
				     k->cache_name));
	}
	k->cache_bytes = format_cache_bytes(k->cache_name);
	if (k->cache_bytes <= 0)
		return err_set(e, -EINVAL, "unknown KV cache format \"%.40s\"", k->cache_name);
	if (strcmp(k->cache_name, "auto") == 0)
		note(q, arena_strdup(a, "KV cache: 2 bytes per element (default)"));
	return 0;
}

static void query_numbers(struct arena *a, const struct infer_options *w, struct query *q)
{
	struct ask *k = &q->ask;

	k->batch = w->batch > 0 ? w->batch : 1;
	k->prompt = w->prompt > 0 ? w->prompt : 1024;
	k->output = w->output > 0 ? w->output : 256;
	if (w->prompt <= 0 || w->output <= 0)
		note(q,
		     arena_printf(a, "prompt of %.0f tokens, output of %.0f tokens%s", k->prompt,
				  k->output, w->prompt > 0 ? " (output default)" : " (default)"));
	k->depth = w->depth;
	if (q->arch.trained && k->depth + k->prompt + k->output > q->arch.trained)
		note(q, arena_printf(a,
				     "%.0f tokens exceed the model's context length of %d: engines "
				     "refuse this by default, and answers get worse",
				     k->depth + k->prompt + k->output, q->arch.trained));
	k->cached = w->cached;
	k->eager = w->eager;
	k->draft = w->draft;
	k->accept = w->accept;
	k->draft_cost = w->draft_cost;
	k->chunk = w->chunk > 0 ? w->chunk : k->engine == ENGINE_LLAMACPP ? 2048 : 8192;
	/* A desk's few users begin together; a server's come one after the other. */
	k->rate = w->rate;
	k->rounds = w->rounds > 0 ? w->rounds : k->place.gpu->server ? 10 : 1;
}

/* So far files may weigh more or less than the format that is told makes of the shape. */
#define MORE 1.25
#define LESS 0.8
/* More than this without a format is FP32. */
#define WIDE 1.6

/*
 * Files are exact, if they are what is asked for: another format weighs something else, and engines
 * make 16 bits of 32. What they have besides a language model that has such parts sees or hears,
 * and tokens of text do not read it.
 */
static void bytes_of_files(struct arena *a, const struct infer_options *w, struct query *q)
{
	struct ask *k = &q->ask;
	double known = weights_by_format(k), part = known > 0 ? w->weight_bytes / known : 0;
	bool told = w->weights && *w->weights, half = k->weights->math == MATH_HALF;

	k->weight_bytes = w->weight_bytes;
	if (!w->file || part <= 0)
		return;
	if (w->file->besides && part > 1 && part < WIDE) {
		q->arch.aside += (w->weight_bytes - known) / k->weights->embed;
	} else if (told ? part > MORE || part < LESS : half && part > WIDE) {
		note(q,
		     arena_printf(a, "the files have %.2f GB, but %s means %.2f GB, which is used",
				  w->weight_bytes / 1e9, k->weights->name, known / 1e9));
		k->weight_bytes = 0;
	}
}

/* A number that is none, or none of tokens, is in nobody's interest to predict with. */
static int query_sizes(const struct infer_options *w, struct err *e)
{
	const double tokens[] = { w->prompt, w->output, w->depth };

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		if (!(tokens[i] >= 0 && tokens[i] <= QUESTION_TOKENS))
			return err_set(e, -EINVAL, "invalid number of tokens: %g", tokens[i]);
	if (w->engine && strchr(w->engine, '@') && !strpbrk(strchr(w->engine, '@'), "0123456789"))
		return err_set(e, -EINVAL, "expected a release like vllm@0.28, got \"%.60s\"",
			       w->engine);
	if (w->rate > 0 && w->batch > 1)
		return err_set(e, -EINVAL, "--rate and --batch are mutually exclusive");
	if (w->prefills > 0 && w->rate > 0)
		return err_set(e, -EINVAL, "--rate cannot be combined with --prefill-workers");
	if (w->prefills < 1 && (w->prefill_tp > 0 || w->prefill_dp > 0 || w->decodes > 0))
		return err_set(e, -EINVAL,
			       "--prefill-tp, --prefill-dp and --decode-workers require "
			       "--prefill-workers");
	if (w->batch > QUESTION_REQUESTS)
		return err_set(e, -EINVAL, "concurrency %d exceeds %d", w->batch,
			       QUESTION_REQUESTS);
	return 0;
}

int question_make(struct arena *a, const struct infer_options *w, const struct fits *fits,
		  struct query *q, struct err *e)
{
	int r;

	*q = (struct query){ 0 };
	if ((r = query_sizes(w, e)) < 0)
		return r;
	if ((r = query_find_model(a, w, q, e)) < 0 || (r = find_format(a, w, q, e)) < 0)
		return r;
	query_find_engine(a, w, q);
	q->ask.arch = &q->arch;
	if ((r = query_find_place(a, w, q, e)) < 0 || (r = find_cache(a, w, q, e)) < 0)
		return r;
	query_release(a, w, q);
	query_numbers(a, w, q);
	bytes_of_files(a, w, q);
	q->ask.fit = &fits->of[q->ask.engine][hardware_of(q->ask.place.gpu)];
	return 0;
}
