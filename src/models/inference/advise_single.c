/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of one thing each, the machine and the model staying as they are. */
#include <math.h>
#include <string.h>

#include "models/inference/advise_parts.h"

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
		struct words w = *v->words;
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
		struct words w = *v->words;
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
