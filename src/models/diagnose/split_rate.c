/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that a token takes, and which part of the GPUs' peak that is. MFU counts what the
 * model needs: 6 operations a parameter that multiplies (the embedding's look-up does not), and for
 * attention three times the forward pass over half of the square, as a causal mask leaves it. HFU
 * counts what is done: recomputed forward passes too.
 */
#include "models/diagnose/split.h"

#include <math.h>
#include <string.h>

static void operations(struct arena *a, const struct diagnose_ask *ask, struct run_seen *r)
{
	struct arch_parts p;
	double n;

	r->flops_token = r->attention_flops_token = NAN;
	if (!ask->arch) {
		r->flops_token = 6 * r->parameters;
		if (isfinite(r->flops_token))
			r->formula = arena_printf(a,
						  "6 x %.4g parameters, as the log counts them; "
						  "attention is not counted: "
						  "the model's shape is not known (--model)",
						  r->parameters);
		return;
	}
	p = arch_parts(ask->arch);
	n = p.active;
	r->flops_token = 6 * n;
	r->formula =
		arena_printf(a, "6 x %.4g parameters that a token multiplies (%s)", n, ask->model);
	if (!isfinite(r->sequence))
		return;
	r->attention_flops_token =
		r->flops_token + 3 * arch_attention_ops(ask->arch, r->sequence, 0) / r->sequence;
	r->formula = arena_printf(a,
				  "%s; with attention 3 x its forward pass over %.0f tokens, "
				  "causal",
				  r->formula, r->sequence);
	if (isfinite(r->parameters) && fabs(p.total / r->parameters - 1) > 0.15)
		run_note(a, r, "the log counts %.4g parameters, %s has %.4g", r->parameters,
			 ask->model, p.total);
}

static void peak(struct arena *a, struct run_seen *r)
{
	const char *precision = run_trait(a, r, TRAIT_PRECISION);

	r->peak_flops = NAN;
	r->gpu = r->traits[TRAIT_GPU] ? gpu_kind_of(r->traits[TRAIT_GPU]->text) : NULL;
	if (!r->gpu)
		return;
	if (strstr(precision, "fp8") && r->gpu->fp8 > 0) {
		r->peak_flops = r->gpu->fp8 * 1e12;
		r->peak_from =
			arena_printf(a, "dense FP8 peak of %s, %.0f TFLOP/s (%s, %s)", r->gpu->name,
				     r->gpu->fp8, r->gpu->source, r->gpu->date);
		return;
	}
	r->peak_flops = r->gpu->half * 1e12;
	r->peak_from = arena_printf(a, "dense BF16 peak of %s, %.0f TFLOP/s (%s, %s)", r->gpu->name,
				    r->gpu->half, r->gpu->source, r->gpu->date);
}

static void hardware(struct arena *a, const struct diagnose_ask *ask, struct run_seen *r)
{
	const char *how = run_trait(a, r, TRAIT_CHECKPOINTING);
	double base = isfinite(r->mfu_attention) ? r->mfu_attention : r->mfu;

	r->hfu = NAN;
	if (!*how || !isfinite(base))
		return;
	if (strstr(how, "full") && ask->arch && isfinite(r->attention_flops_token)) {
		r->hfu = base * (1 + arch_recomputed_ops(ask->arch, r->sequence) /
					     r->attention_flops_token);
		r->hfu_from = "every layer's forward pass runs twice, the head's once";
	} else if (strstr(how, "full")) {
		r->hfu = base * 4 / 3;
		r->hfu_from = "every forward pass runs twice: 8 operations a parameter, not 6";
	} else if (strstr(how, "none")) {
		r->hfu = base;
		r->hfu_from = "nothing is recomputed";
	} else if (isfinite(r->attention_flops_token)) {
		double attention = r->attention_flops_token - r->flops_token;

		r->hfu = base * (1 + attention / 3 / r->attention_flops_token);
		r->hfu_from = "attention's forward pass runs twice";
	}
}

void rate_see(struct arena *a, const struct diagnose_ask *ask, struct run_seen *r)
{
	double claimed = r->sums[FIGURE_MFU].median;

	operations(a, ask, r);
	peak(a, r);
	r->mfu = r->tokens_s_gpu * r->flops_token / r->peak_flops;
	r->mfu_attention = r->tokens_s_gpu * r->attention_flops_token / r->peak_flops;
	if (!isfinite(r->flops_token) && r->sums[FIGURE_TFLOPS_PER_GPU].n && r->peak_flops > 0) {
		r->mfu_attention = r->sums[FIGURE_TFLOPS_PER_GPU].median * 1e12 / r->peak_flops;
		r->formula = "operations as the log counts them";
	}
	hardware(a, ask, r);
	if (r->mfu > 1 || r->mfu_attention > 1)
		run_impossible(a, r,
			       "an MFU of %.0f %%, more operations a second than the GPU can do: "
			       "number of GPUs, model or tokens are not what they are taken for",
			       100 * (r->mfu > 1 ? r->mfu : r->mfu_attention));
	else if (r->hfu > 1)
		run_impossible(a, r, "an HFU of %.0f %% with what is recomputed", 100 * r->hfu);
	if (claimed > 1)
		run_impossible(a, r,
			       "the log claims an MFU of %.0f %% (mfu is a part of 1, mfu(%%) one "
			       "of 100)",
			       100 * claimed);
	if (isfinite(claimed) && claimed > 0 && isfinite(r->mfu_attention) &&
	    fabs(claimed / r->mfu_attention - 1) > 0.2 && fabs(claimed / r->mfu - 1) > 0.2)
		run_note(
			a, r,
			"the log claims an MFU of %.1f %%; counted are %.1f %% without and %.1f %% "
			"with attention",
			100 * claimed, 100 * r->mfu, 100 * r->mfu_attention);
}
