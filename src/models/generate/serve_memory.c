/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory to serve with. Where CPU and GPU share it, what counts is what the kernel could give now
 * (MemAvailable), less what has to stay free: engines that take more freeze such a machine. On a
 * card nobody else needs what is left, and more cache serves more requests.
 */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "models/generate/serve.h"

/* The largest part that owners of a GB10 found to hold: 0.82 to 0.87, with other values failing. */
#define UNIFIED_MOST 0.85
#define CARD_MOST 0.95
/* One twin of a DGX Spark's cage, and both: GB/s, one way (docs/PREDICT.md). */
#define TWIN_GB_S 12.2
#define CAGE_GB_S 24.5

double engine_chunk(enum engine e)
{
	return e == ENGINE_LLAMACPP ? 2048 : 8192;
}

/* Bytes of a card that others hold now. */
static double taken(const struct machine *m)
{
	double most = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		most = fmax(most, (double)fact_or(&g->memory_used_bytes, 0));
	return most;
}

static double card_total(const struct machine *m)
{
	double least = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		double v = (double)fact_or(&g->memory_bytes, 0);

		if (v > 0 && (least <= 0 || v < least))
			least = v;
	}
	return least;
}

static double network_of(const struct gen_node *n)
{
	size_t used = 0;

	if (strcmp(n->platform, "dgx-spark") != 0)
		return 0;
	for (size_t i = 0; i < n->n_ports; i++)
		used += gen_port_used(n, &n->ports[i]);
	return used ? fmin(CAGE_GB_S, TWIN_GB_S * (double)used) : 0;
}

/* 0; -ENODEV: what it is could not be seen, or is not known; -EINVAL: there are several. */
static int serve_memory_kind_of(const struct gen_cluster *c, const struct gpu_kind **out,
				struct err *err)
{
	*out = NULL;
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *n = &c->nodes[i];
		const struct gpu_kind *here = *n->gpu ? gpu_kind_of(c->known, n->gpu) : NULL;

		if (!here) {
			err_set(err, -ENODEV,
				*n->gpu ? "unknown GPU \"%.80s\" of %.80s"
					: "no GPU found%.0s on %.80s",
				n->gpu, n->name);
			err_hint(err, "give a machine: --on dgx-spark, --on \"2x dgx-spark\"");
			return -ENODEV;
		}
		if (*out && here != *out)
			return err_set(err, -EINVAL, "%.80s and %.80s have different GPUs", n->name,
				       c->nodes[0].name);
		*out = here;
	}
	return 0;
}

/* The poorest machine's memory, all and free. */
static void serve_memory_least(const struct gen_cluster *c, bool unified, double *total,
			       double *can)
{
	*total = *can = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *n = &c->nodes[i];
		double t = unified ? (double)n->total_bytes : n->facts ? card_total(n->facts) : 0;
		double f = unified    ? (double)n->available_bytes
			   : n->facts ? t - taken(n->facts)
				      : 0;

		if (t > 0 && (*total <= 0 || t < *total))
			*total = t;
		if (f > 0 && (*can <= 0 || f < *can))
			*can = f;
	}
}

/* So much of it that the prediction, which keeps its own reserve of that, never asks for more than
 * may be taken. */
static double limit_of(bool unified, double total, double can)
{
	double most = (unified ? UNIFIED_MOST : CARD_MOST) * total;
	double limit = unified ? fmax(most + 6e9, most / 0.95) : most / 0.97;

	return can > 0 ? fmin(can, limit) : limit;
}

double serve_may_take(bool unified, double total, double can)
{
	double limit = limit_of(unified, total, can);

	return limit - (unified ? fmax(6e9, 0.05 * limit) : 0.03 * limit);
}

int serve_place(struct arena *a, const struct gen_cluster *c, const struct target_hw *named,
		struct target_hw *place, struct serve_plan *out, struct err *err)
{
	const struct gpu_kind *k = named ? named->gpu : NULL;
	int r = named ? 0 : serve_memory_kind_of(c, &k, err);

	if (r)
		return r;
	if (named) {
		*place = *named;
		out->total_bytes = place_memory_bytes(named);
		out->free_from = "unknown: only the machine's name is given";
	} else {
		*place = (struct target_hw){ .gpu = k,
					     .gpus = (int)gen_gpus(c),
					     .nodes = (int)c->n };
		place->taken = arena_printf(a, "%d x %s", place->gpus, k->name);
		serve_memory_least(c, k->unified, &out->total_bytes, &out->free_bytes);
		out->free_from =
			k->unified ? "read: MemAvailable" : "from the driver: total minus used";
		if (c->n > 1)
			place->network = network_of(&c->nodes[0]);
	}
	if (out->total_bytes <= 0)
		return err_set(err, -ENODEV, "total memory unreadable");
	place->memory = limit_of(k->unified, out->total_bytes, out->free_bytes);
	place->memory_from = out->free_from;
	return 0;
}

double serve_needs(const struct memory_footprint *m)
{
	return m->total - m->reserve;
}

static double round_up(double v)
{
	return ceil(v * 100 - 1e-9) / 100;
}

static double round_down(double v)
{
	return floor(v * 100 + 1e-9) / 100;
}

/* vLLM: part of all memory, for everything of its own. */
static void of_total(struct arena *a, struct serve_plan *out, double allowed)
{
	const struct memory_footprint *m = &out->p.memory;
	double most = round_down(allowed / out->total_bytes);
	double want = round_up((serve_needs(m) + 0.02 * out->total_bytes) / out->total_bytes);

	if (!out->p.q.ask.place.gpu->unified) {
		out->fraction = most;
		out->fraction_why = "all free memory except a margin: nothing else uses it, and "
				    "more cache serves more requests";
		return;
	}
	out->fraction = fmin(want, most);
	out->fraction_why = arena_printf(
		a, "%.1f GB required of %.1f GB (%s): the machine needs the rest",
		serve_needs(m) / 1e9, out->total_bytes / 1e9,
		out->free_bytes > 0 ? arena_printf(a, "%.1f GB free now, %s", out->free_bytes / 1e9,
						   out->free_from)
				    : "free memory unknown");
}

/* SGLang: weights and cache as part of what is free before loading. */
static void of_free(struct arena *a, struct serve_plan *out, double allowed)
{
	const struct memory_footprint *m = &out->p.memory;
	double beside = m->activations + m->workspace + m->graphs + m->framework;
	double free = out->free_bytes > 0 ? out->free_bytes : out->total_bytes;
	double most = round_down((allowed - beside) / free);
	double want = round_up((m->weights + m->cache + m->state) * 1.02 / free);

	out->fraction = out->p.q.ask.place.gpu->unified ? fmin(want, most) : most;
	out->fraction_why = arena_printf(
		a,
		"weights and cache as a fraction of %.1f GB %s; another %.1f GB is for "
		"activations, graphs and libraries",
		free / 1e9,
		out->free_bytes > 0 ? "free" : "total memory, because free memory is unknown",
		beside / 1e9);
}

/* TensorRT-LLM: the cache as part of what is free when all else is there. */
static void of_rest(struct arena *a, struct serve_plan *out, double allowed)
{
	const struct memory_footprint *m = &out->p.memory;
	double free = out->free_bytes > 0 ? out->free_bytes : out->total_bytes;
	double rest = free - (serve_needs(m) - m->cache);
	double most = round_down((allowed - (serve_needs(m) - m->cache)) / rest);
	double want = round_up(m->cache * 1.05 / rest);

	out->fraction = out->p.q.ask.place.gpu->unified ? fmin(want, most) : most;
	out->fraction_why = arena_printf(
		a, "the cache (%.1f GB required) as a fraction of the %.1f GB left by the weights",
		m->cache / 1e9, rest / 1e9);
}

static const char *what_would_fit(struct arena *a, const struct serve_plan *out)
{
	const struct memory_footprint *m = &out->p.memory;
	const struct ask *q = &out->p.q.ask;
	double room = m->limit - (m->total - m->cache - m->state);
	const char *there = arena_printf(
		a, "%.1f GB available (%.1f GB total%s, minus a reserve)",
		(m->limit - m->reserve) / 1e9, out->total_bytes / 1e9,
		out->free_bytes > 0 ? arena_printf(a, ", %.1f GB free now", out->free_bytes / 1e9)
				    : "");

	if (room <= 0)
		return arena_printf(a,
				    "weights and runtime need %.1f GB of %s: use fewer bits per "
				    "weight or more GPUs",
				    (serve_needs(m) - m->cache - m->state) / 1e9, there);
	return arena_printf(a,
			    "needs %.1f GB of %s; %d request%s of %.0f tokens would fit, or %.0f "
			    "of %.0f tokens",
			    serve_needs(m) / 1e9, there, q->batch, PLURAL(q->batch),
			    m->most_context, m->most_requests, q->prompt + q->output);
}

void serve_memory(struct arena *a, const struct serve_ask *ask, struct serve_plan *out)
{
	const struct memory_footprint *m = &out->p.memory;
	double allowed = m->limit - m->reserve;

	out->wanted_bytes = serve_needs(m);
	out->fits = m->fits;
	if (!out->fits)
		out->fits_why = what_would_fit(a, out);
	else if (ask->engine == ENGINE_VLLM)
		of_total(a, out, allowed);
	else if (ask->engine == ENGINE_SGLANG)
		of_free(a, out, allowed);
	else if (ask->engine == ENGINE_TRTLLM)
		of_rest(a, out, allowed);
}
