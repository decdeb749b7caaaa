/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing what was not told, and saying so. */
#include "predict/question.h"

#include <errno.h>
#include <string.h>

static void note(struct query *q, const char *text)
{
	if (q->n_notes < QUESTION_NOTES)
		q->notes[q->n_notes++] = text;
}

static int find_model(struct arena *a, const struct words *w, struct query *q, struct err *e)
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
		return err_set(e, -EINVAL, "no model is named");
	r = model_find(a, w->model, &w->hint, &q->arch, &taken, e);
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
				     "its files have %.2f bytes a parameter, and its configuration "
				     "names no quantization: --weights tells it",
				     each));
	f = name ? format_in_name(name, experts) : NULL;
	if (f && f->math != MATH_HALF)
		note(q, arena_printf(a,
				     "its path names %s, its configuration does not: it is not "
				     "counted so",
				     f->name));
	return NULL;
}

static int not_understood(const struct model_file *file, struct err *e)
{
	err_set(e, -EINVAL, "its configuration names a quantization that is not understood: %s",
		file->unknown);
	err_hint(e, "say with --weights in which format it is");
	return -EINVAL;
}

static int find_format(struct arena *a, const struct words *w, struct query *q, struct err *e)
{
	bool experts = q->arch.experts > 0;
	const char *text = w->weights;
	const struct format *f = NULL;
	bool llama = w->engine && engine_parse(w->engine) == ENGINE_LLAMACPP;

	if (text && *text) {
		f = format_find(text, experts);
		if (!f) {
			err_set(e, -EINVAL, "\"%.60s\" is no format of weights that is known",
				text);
			err_hint(e,
				 "bf16, fp8, nvfp4, mxfp4, int4, awq, gptq, int8, w8a16, or a GGUF "
				 "type such as "
				 "q4_k_m or q8_0");
			return -EINVAL;
		}
	} else {
		if (w->file && w->file->unknown)
			return not_understood(w->file, e);
		if (w->file)
			f = format_of_file(a, w->file, w->model, q);
		else if (w->model)
			f = format_in_name(w->model, experts);
		text = f || !q->arch.format ? llama && !f ? "q4_k_m" : "bf16" : q->arch.format;
		if (!f)
			f = format_find(text, experts);
		note(q, arena_printf(a, "weights: %s (not told)", f->name));
	}
	/* gpt-oss in GGUF keeps its experts and has the rest in Q8_0. */
	if (strcmp(f->name, "mxfp4") == 0 && llama)
		f = format_find("mxfp4 gguf", experts);
	/* ... and under any label of four bits it is what was published. */
	if (q->arch.format && strcmp(q->arch.format, "mxfp4") == 0 && strcmp(f->name, "nvfp4") == 0)
		f = format_find("mxfp4", experts);
	if (q->arch.fp8_blocks && strcmp(f->name, "fp8") == 0)
		f = format_find("fp8block", experts);
	q->ask.weights = f;
	return 0;
}

static int find_engine(struct arena *a, const struct words *w, struct query *q, struct err *e)
{
	struct ask *k = &q->ask;

	if (w->engine && *w->engine) {
		k->engine = engine_parse(w->engine);
		if (k->engine == ENGINES) {
			k->engine = ENGINE_VLLM;
			note(q, arena_printf(a, "engine: \"%.40s\" is not known, counted as vLLM",
					     w->engine));
		}
		return 0;
	}
	k->engine = k->weights->gguf ? ENGINE_LLAMACPP : ENGINE_VLLM;
	note(q, arena_printf(a, "engine: %s (not told)", engine_names[k->engine]));
	(void)e;
	return 0;
}

/* What is not told: tensor parallelism inside a machine, which the heads divide by, and a stage
 * for each machine. Computers of one GPU share each layer, as their users have them do. */
static void layout(struct arena *a, const struct words *w, struct query *q)
{
	struct ask *k = &q->ask;
	int all, each = place_per_node(&k->place);

	if (!w->tp && !w->pp && k->pp == 1 && k->place.nodes > 1 && each > 1) {
		k->pp = k->place.nodes;
		note(q, arena_printf(a, "stages: %d, one for each machine (not told)", k->pp));
	}
	k->tp = w->tp > 0 ? w->tp : k->place.gpus / k->pp;
	if (k->tp < 1)
		k->tp = 1;
	if (w->tp)
		return;
	for (all = k->tp; q->arch.heads > 0 && q->arch.heads % k->tp;)
		k->tp--;
	if (k->tp < all)
		note(q,
		     arena_printf(a,
				  "tensor parallelism: %d (not told), for %d heads do not divide "
				  "by %d: not all GPUs are used",
				  k->tp, q->arch.heads, all));
	else if (k->tp > 1)
		note(q, arena_printf(a, "tensor parallelism: %d, over all GPUs%s (not told)", k->tp,
				     k->pp > 1 ? " of a stage" : ""));
}

static int find_place(struct arena *a, const struct words *w, struct query *q, struct err *e)
{
	struct ask *k = &q->ask;
	int r = 0;

	if (w->place)
		k->place = *w->place;
	else if (w->on)
		r = place_parse(a, w->on, &k->place, e);
	else
		r = err_set(e, -EINVAL, "no machine is named");
	if (r < 0)
		return r;
	k->pp = w->pp > 0 ? w->pp : 1;
	if (k->engine == ENGINE_LLAMACPP && !w->tp && !w->pp && k->place.gpus > 1) {
		k->pp = k->place.gpus;
		note(q,
		     arena_printf(a, "stages: %d, llama.cpp gives each GPU its layers (not told)",
				  k->pp));
	}
	layout(a, w, q);
	k->ep = w->ep;
	if (k->tp * k->pp > k->place.gpus) {
		err_set(e, -EINVAL,
			"tensor parallelism %d by %d stages needs %d GPUs, there are %d", k->tp,
			k->pp, k->tp * k->pp, k->place.gpus);
		return -EINVAL;
	}
	if (!k->place.gpu->measured)
		note(q, arena_printf(a, "nobody's runs on %s are known here: constants are of %s",
				     k->place.gpu->name,
				     k->place.gpu->server ? "H100 and H200" : "GB10"));
	if (q->arch.heads > 0 && q->arch.heads % k->tp)
		note(q, arena_printf(a,
				     "%d heads do not divide by %d: engines refuse that or answer "
				     "nonsense; counted as if they did",
				     q->arch.heads, k->tp));
	return 0;
}

static int find_cache(struct arena *a, const struct words *w, struct query *q, struct err *e)
{
	struct ask *k = &q->ask;

	k->cache_name = w->cache && *w->cache ? w->cache : "auto";
	k->cache_bytes = format_cache_bytes(k->cache_name);
	if (k->cache_bytes <= 0)
		return err_set(e, -EINVAL, "\"%.40s\" is no format of the cache that is known",
			       k->cache_name);
	if (strcmp(k->cache_name, "auto") == 0)
		note(q, arena_strdup(a, "cache: 2 bytes an element (not told)"));
	return 0;
}

static void numbers(struct arena *a, const struct words *w, struct query *q)
{
	struct ask *k = &q->ask;

	k->batch = w->batch > 0 ? w->batch : 1;
	k->prompt = w->prompt > 0 ? w->prompt : 1024;
	k->output = w->output > 0 ? w->output : 256;
	if (w->prompt <= 0 || w->output <= 0)
		note(q,
		     arena_printf(a, "a prompt of %.0f and an answer of %.0f tokens%s", k->prompt,
				  k->output, w->prompt > 0 ? " (answer not told)" : " (not told)"));
	k->depth = w->depth;
	if (q->arch.trained && k->depth + k->prompt + k->output > q->arch.trained)
		note(q, arena_printf(a,
				     "%.0f tokens are more than the %d that the model was made "
				     "for: engines refuse that unless they are told otherwise, and "
				     "answers suffer",
				     k->depth + k->prompt + k->output, q->arch.trained));
	k->cached = w->cached;
	k->eager = w->eager;
	k->draft = w->draft;
	k->accept = w->accept;
	k->draft_cost = w->draft_cost;
	k->chunk = w->chunk > 0 ? w->chunk : k->engine == ENGINE_LLAMACPP ? 2048 : 8192;
	/* A desk's few users begin together; a server's come one after the other. */
	k->rounds = w->rounds > 0 ? w->rounds : k->place.gpu->server ? 10 : 1;
	k->weight_bytes = w->weight_bytes;
}

int question_make(struct arena *a, const struct words *w, const struct fits *fits, struct query *q,
		  struct err *e)
{
	int r;

	*q = (struct query){ 0 };
	if ((r = find_model(a, w, q, e)) < 0 || (r = find_format(a, w, q, e)) < 0 ||
	    (r = find_engine(a, w, q, e)) < 0 || (r = find_place(a, w, q, e)) < 0 ||
	    (r = find_cache(a, w, q, e)) < 0)
		return r;
	numbers(a, w, q);
	q->ask.arch = &q->arch;
	q->ask.fit = &fits->of[q->ask.engine][hardware_of(q->ask.place.gpu)];
	return 0;
}
