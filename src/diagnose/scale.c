/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with more and fewer GPUs held beside each other, and whether the bandwidth that was measured
 * explains what is lost between them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnose.h"

const char *const scale_kind_names[SCALE_KINDS] = { "unknown", "weak", "strong", "same" };

/* Collectives of gradients are large: what small messages reach says nothing of them. */
#define LARGE_BYTES 16e6

static bool near(double x, double y)
{
	return isfinite(x) && isfinite(y) && fabs(x - y) <= 0.05 * fmax(fabs(x), fabs(y));
}

static void classify(struct arena *a, const struct run_seen *base, const struct run_seen *r,
		     struct scale_point *p)
{
	double grown = r->gpus / base->gpus, batch = r->global_batch / base->global_batch;

	if (near(r->gpus, base->gpus)) {
		p->kind = SCALE_SAME;
		p->why = "as many GPUs";
	} else if (near(batch, grown)) {
		p->kind = SCALE_WEAK;
		p->why = arena_printf(a, "global batch %.0f for %.0f: each GPU has as much to do",
				      r->global_batch, base->global_batch);
	} else if (near(batch, 1)) {
		p->kind = SCALE_STRONG;
		p->why = arena_printf(a, "global batch %.0f in both: each GPU has less to do",
				      r->global_batch);
	} else {
		p->why = isfinite(batch) ? arena_printf(a,
							"global batch %.0f and %.0f: neither the "
							"same nor in step with the GPUs",
							base->global_batch, r->global_batch)
					 : "the global batch is not told: weak or strong scaling "
					   "cannot be told apart";
	}
	if (isfinite(r->sequence) && isfinite(base->sequence) &&
	    !near(r->sequence, base->sequence)) {
		p->kind = SCALE_UNKNOWN;
		p->why = "sequences of another length: the runs are not comparable";
	}
}

/* The best of large all-reduces that some file tells. */
static const struct figure_seen *bandwidth_of(const struct run_seen *r)
{
	const struct figure_seen *best = NULL;

	for (size_t i = 0; i < r->ev->n_figures; i++) {
		const struct figure_seen *f = &r->ev->figures[i];

		if (f->kind == FIGURE_BUSBW_GBS && r->ev->files[f->file].run == r->run &&
		    f->value > 0 && !(f->at < LARGE_BYTES) && (!best || f->value > best->value))
			best = f;
	}
	return best;
}

/*
 * Bytes that a GPU's gradients have on the wire, as "predict training" has them: FP32 where weights
 * are, and those of DDP and FSDP are FP32 with mixed precision too; Megatron sums BF16 ones as
 * FP32. ZeRO's are as wide as what is multiplied.
 */
static double gradient_bytes(struct arena *a, const struct run_seen *r)
{
	const char *p = run_trait(a, r, TRAIT_PRECISION), *way = run_trait(a, r, TRAIT_PARALLEL);
	bool narrow = p[0] == 'b' || (p[0] == 'f' && p[1] == 'p' && (p[2] == '1' || p[2] == '8'));
	const char *by = run_trait(a, r, TRAIT_FRAMEWORK);
	bool zero = strcmp(by, "deepspeed") == 0 ||
		    (strncmp(way, "zero", 4) == 0 && strcmp(by, "megatron-lm") != 0);

	return r->parameters * (narrow && zero ? 2 : 4);
}

static void bandwidth(struct arena *a, const struct run_seen *base, const struct run_seen *r,
		      const struct scale_point *p, struct scale_bandwidth *out)
{
	*out = (struct scale_bandwidth){ .at = bandwidth_of(r) };
	if (!out->at || !(r->gpus > 1))
		return;
	out->bytes = gradient_bytes(a, r);
	out->busbw_gbs = out->at->value;
	out->needs_s = 2 * (r->gpus - 1) / r->gpus * out->bytes / (out->busbw_gbs * 1e9);
	out->lost_s = p->kind == SCALE_WEAK ? r->step_s - base->step_s : (double)NAN;
	out->told = isfinite(out->needs_s) && isfinite(out->lost_s) && out->lost_s > 0;
	if (!out->told)
		return;
	out->says = arena_printf(
		a,
		"gradients of %.3g bytes need %.3g s a step at the %.0f GB/s of bus bandwidth that "
		"was measured; the step is %.3g s longer than with %.0f GPUs: %s",
		out->bytes, out->needs_s, out->busbw_gbs, out->lost_s, base->gpus,
		out->needs_s < 0.5 * out->lost_s
			? "bandwidth alone does not explain it, even if nothing of it were hidden"
			: "that alone can explain it, if nothing hides it");
}

void scaling_see(struct arena *a, const struct run_seen *runs, size_t n, struct scaling *out)
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
		const struct run_seen *r = &runs[i], *b = &runs[out->base];
		struct scale_point *p = &out->points[out->n++];

		*p = (struct scale_point){ .run = i,
					   .gpus = r->gpus,
					   .tokens_s = r->tokens_s,
					   .step_ratio = r->step_s / b->step_s };
		p->efficiency = r->tokens_s / r->gpus / (b->tokens_s / b->gpus);
		if (i == out->base) {
			p->kind = SCALE_SAME;
			p->why = "held beside the others";
			continue;
		}
		classify(a, b, r, p);
		if (p->efficiency < out->points[worst].efficiency || (worst == 0 && out->base == 0))
			worst = i;
	}
	bandwidth(a, &runs[out->base], &runs[worst], &out->points[worst], &out->bandwidth);
}
