/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with more and fewer GPUs held beside each other, and whether the bandwidth that was measured
 * explains what is lost between them.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/diagnose.h"

const char *const scale_kind_names[SCALE_KINDS] = { "unknown", "weak", "strong", "same" };

/* Collectives of gradients are large: what small messages reach says nothing of them. */
#define LARGE_BYTES 16e6

static bool near(double x, double y)
{
	return isfinite(x) && isfinite(y) && fabs(x - y) <= 0.05 * fmax(fabs(x), fabs(y));
}

static void diag_scale_classify(struct arena *a, const struct run_summary *base,
				const struct run_summary *r, struct scale_point *p)
{
	double grown = r->gpus / base->gpus, batch = r->global_batch / base->global_batch;

	if (near(r->gpus, base->gpus)) {
		p->kind = SCALE_SAME;
		p->why = "same number of GPUs";
	} else if (near(batch, grown)) {
		p->kind = SCALE_WEAK;
		p->why = arena_printf(a, "global batch %.0f versus %.0f: same work per GPU",
				      r->global_batch, base->global_batch);
	} else if (near(batch, 1)) {
		p->kind = SCALE_STRONG;
		p->why = arena_printf(a, "global batch %.0f in both: less work per GPU",
				      r->global_batch);
	} else {
		p->why = isfinite(batch) ? arena_printf(a,
							"global batch %.0f and %.0f: neither equal "
							"nor proportional to the GPUs",
							base->global_batch, r->global_batch)
					 : "global batch unknown: weak or strong scaling cannot be "
					   "distinguished";
	}
	if (isfinite(r->sequence) && isfinite(base->sequence) &&
	    !near(r->sequence, base->sequence)) {
		p->kind = SCALE_UNKNOWN;
		p->why = "different sequence lengths: the runs are not comparable";
	}
}

/* Collectives of gradients; nccl-tests of others say nothing of them. */
static bool of_gradients(const char *what)
{
	return !what || strstr(what, "all_reduce") || strstr(what, "reduce_scatter") ||
	       strstr(what, "all_gather") || str_starts(what, "collective");
}

/* The best of large ones that some file tells. */
static const struct metric_sample *bandwidth_of(const struct run_summary *r)
{
	const struct metric_sample *best = NULL;

	for (size_t i = 0; i < r->ev->n_figures; i++) {
		const struct metric_sample *f = &r->ev->figures[i];

		if (f->kind == FIGURE_BUSBW_GBS && r->ev->files[f->file].run == r->run &&
		    f->value > 0 && !(f->at < LARGE_BYTES) && of_gradients(f->text) &&
		    (!best || f->value > best->value))
			best = f;
	}
	return best;
}

/* Ranks that hold the same parameters, and the part of the model that each of them has. */
static double shard_of(const struct run_summary *r)
{
	double tp = r->traits[TRAIT_TP] ? r->traits[TRAIT_TP]->value : 1,
	       pp = r->traits[TRAIT_PP] ? r->traits[TRAIT_PP]->value : 1;

	return fmax(1, tp) * fmax(1, pp);
}

/*
 * Bytes a parameter that collectives of a step move: an all-reduce moves each gradient twice; where
 * states are shared, gradients are scattered and updated weights gathered, and where weights are
 * too, those are gathered for both passes. As wide as "predict training" has them: gradients of DDP
 * and FSDP are FP32 with mixed precision too, and Megatron sums BF16 ones as FP32.
 */
static double moved(double gradient, double weight, int way)
{
	return way == TRAIN_ZERO1 || way == TRAIN_ZERO2 ? gradient + weight
	       : way == TRAIN_ZERO3 || way == TRAIN_FSDP || way == TRAIN_HSDP
		       ? gradient + 2 * weight
		       : 2 * gradient;
}

static void diag_scale_bandwidth(struct arena *a, const struct run_summary *base,
				 const struct run_summary *r, const struct scale_point *p,
				 struct scale_bandwidth *out)
{
	int way = run_way(a, r), precision = run_precision(a, r);
	double ranks = r->gpus / shard_of(r), own = r->parameters / shard_of(r);
	double weight = precision == TRAIN_FP32 || precision == TRAIN_TF32 || precision < 0 ? 4 : 2;
	double gradient = run_sums_fp32(a, r) ? 4 : weight;

	*out = (struct scale_bandwidth){ .at = bandwidth_of(r) };
	if (!out->at || !(ranks > 1))
		return;
	out->bytes = own * gradient;
	out->busbw_gbs = out->at->value;
	out->needs_s =
		(ranks - 1) / ranks * own * moved(gradient, weight, way) / (out->busbw_gbs * 1e9);
	out->lost_s = p->kind == SCALE_WEAK ? r->step_s - base->step_s : (double)NAN;
	out->told = isfinite(out->needs_s) && isfinite(out->lost_s) && out->lost_s > 0;
	if (!out->told)
		return;
	out->says = arena_printf(
		a,
		"gradients of %.3g bytes%s need %.3g s per step at the measured bus bandwidth of "
		"%.0f GB/s; the step takes %.3g s longer than with %.0f GPUs: %s",
		out->bytes, way > TRAIN_DDP ? ", with the gathered weights," : "", out->needs_s,
		out->busbw_gbs, out->lost_s, base->gpus,
		out->needs_s < 0.5 * out->lost_s
			? "bandwidth does not explain the loss, even without overlap"
			: "without overlap, bandwidth can explain the loss");
}

void scaling_analyze(struct arena *a, const struct run_summary *runs, size_t n, struct scaling *out)
{
	size_t worst = 0;

	*out = (struct scaling){ .base = n };
	for (size_t i = 0; i < n; i++)
		if (runs[i].gpus > 0 && runs[i].tokens_s > 0 &&
		    (out->base == n || runs[i].gpus < runs[out->base].gpus))
			out->base = i;
	if (n < 2 || out->base == n)
		return;
	out->points = arena_array(a, n, sizeof(*out->points));
	for (size_t i = 0; i < n; i++) {
		const struct run_summary *r = &runs[i], *b = &runs[out->base];
		struct scale_point *p = &out->points[out->n++];

		*p = (struct scale_point){ .run = i,
					   .gpus = r->gpus,
					   .tokens_s = r->tokens_s,
					   .step_ratio = r->step_s / b->step_s };
		p->efficiency = r->tokens_s / r->gpus / (b->tokens_s / b->gpus);
		if (i == out->base) {
			p->kind = SCALE_SAME;
			p->why = "baseline";
			continue;
		}
		diag_scale_classify(a, b, r, p);
		if (p->efficiency < out->points[worst].efficiency || (worst == 0 && out->base == 0))
			worst = i;
	}
	diag_scale_bandwidth(a, &runs[out->base], &runs[worst], &out->points[worst],
			     &out->bandwidth);
}
