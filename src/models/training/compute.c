/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one micro-batch on one stage: multiplications by their size, attention, small kernels,
 * what the CPU cannot launch in time. */
#include <math.h>

#include "models/training/work.h"

/* Passes over a vector of the hidden width, and of the inner width, that norms, residuals,
 * rotations and activations make forward and backward, each a read or a write. */
#define ROW_PASSES 40.0
#define INNER_PASSES 12.0
/* Norms by root mean square, rotations and gates written out make so many more of them when kernels
 * are not fused. */
#define WRITTEN_OUT 1.9
/* Bytes more where autocast leaves residuals and norms in FP32, casts included. */
#define WIDE 84.0
/* Bytes a logit costs: cast, softmax, its gradient; with fused losses. */
#define LOGIT 36.0
#define LOGIT_FUSED 20.0
/* Bytes of traffic for a parameter in one update: read and write FP32 weights and both states, read
 * the gradient, write the BF16 copy. */
#define UPDATE 30.0
/* AdamW by lists of tensors, PyTorch's default: eight kernels pass over 84 bytes, at less than the
 * bandwidth of others. */
#define UPDATE_LISTS 100.0

/* The backward pass of frozen weights over their forward one, with small adapters beside. */
#define ADAPTED 1.05

/* A multiplication of this size reaches this part of what large ones do. */
static double size_part(const struct train_config *q, double rows, double inner, double columns,
			double rate)
{
	double side = 3 / (1 / fmax(rows, 1) + 1 / fmax(inner, 1) + 1 / fmax(columns, 1));
	double half = train_fit_of(q)->v[TFIT_SIZE] * sqrt(rate / 1e15);

	return side / (side + half);
}

static double bandwidth(const struct train_config *q)
{
	return q->place.gpu->bandwidth * 1e9 * train_fit_of(q)->v[TFIT_MEMORY];
}

static double linear_s(const struct train_config *q, const struct train_shape *s,
		       struct train_micro *m)
{
	double rate = train_gemm_rate(q, q->precision), h = q->arch.hidden;
	double per_layer = 2 * s->tokens * h * fmax(s->layers, 1);
	double columns = s->flops_dense / per_layer / 4, seconds = 0;

	/* A layer has four to seven matrices; their width by what they hold together. */
	m->size = size_part(q, s->tokens, h, fmax(columns, 64.0), rate);
	if (s->flops_dense > 0)
		seconds = s->flops_dense / (rate * m->size);
	if (s->flops_expert > 0) {
		/* Spread experts are whole, and tensor ranks bring different tokens to them. */
		double cut = q->ep > 1 ? 1 : q->tp, share = cut / q->tp * q->ep;
		double rows = s->tokens * share * q->arch.top / fmax(q->arch.experts, 1);
		double part =
			size_part(q, rows, train_expert_in(q), q->arch.expert_ffn / cut, rate);

		seconds += s->flops_expert / (rate * part * train_fit_of(q)->v[TFIT_EXPERT]);
		/* Each choice's copy of a token is permuted, quantised, weighed and brought back.
		 */
		m->routing = train_fit_of(q)->v[TFIT_EXPERT_PASSES] / 3 * s->tokens * q->arch.top *
			     train_expert_in(q) * 2 / (q->sp ? (double)q->tp : 1) *
			     q->arch.moe_layers / q->pp / bandwidth(q);
	}
	return seconds;
}

/* Forward and backward together. */
static double small_s(const struct train_config *q, const struct train_shape *s)
{
	double along = q->arch.hidden / (q->sp ? (double)q->tp : 1);
	double elements = ROW_PASSES * along + INNER_PASSES * s->widest;
	double fused = q->compile	       ? train_fit_of(q)->v[TFIT_FUSED]
		       : q->arch.ffn_mats != 2 ? WRITTEN_OUT
					       : 1;
	double cast = q->precision == TRAIN_FP8 ? 6 * (along + s->widest) : 0;

	elements = train_weight_bytes(q) * (elements * fused + cast);
	if (train_autocast(q))
		elements += WIDE * along * fmin(fused, 1);
	return s->tokens * s->layers * elements / bandwidth(q);
}

static double head_s(const struct train_config *q, const struct train_shape *s)
{
	enum train_precision p = q->precision == TRAIN_FP8 ? TRAIN_BF16 : q->precision;
	double rate = train_gemm_rate(q, p);

	return s->flops_head / (rate * size_part(q, s->tokens, q->arch.hidden,
						 q->arch.vocab / (double)q->tp, rate));
}

static double attention_s(const struct train_config *q, const struct train_shape *s)
{
	double seconds = s->effort_attention / train_flash_rate(q);
	double scores = s->tokens * q->sequence * q->arch.heads / q->tp * s->layers;

	if (q->attention == TRAIN_EAGER) /* twice the work, and scores that come and go */
		seconds = seconds * 2 + scores * train_weight_bytes(q) * 5 / bandwidth(q);
	return seconds;
}

double train_launch_s(const struct train_micro *m, double cpu)
{
	return fmax(0, m->host * cpu - m->busy);
}

void train_micro_of(const struct train_config *q, const struct train_shape *s,
		    struct train_micro *m)
{
	double small = small_s(q, s), logits = s->tokens * q->arch.vocab / q->tp / q->pp;
	double inner;

	*m = (struct train_micro){ 0 };
	m->linear = linear_s(q, s, m);
	m->attention = attention_s(q, s);
	m->small = small / 3;
	m->head = head_s(q, s);
	inner = m->linear + m->attention + m->small + m->routing;
	logits *= (q->compile ? LOGIT_FUSED : LOGIT) / bandwidth(q);
	m->forward = inner + m->head + logits / 3;
	m->logits = logits / 3;
	/* Weights that are not trained have no gradient of their own; adapters are small. */
	m->back = q->trained > 0 ? ADAPTED + (2 - ADAPTED) * train_trained_part(q) : 2;
	m->backward = (m->linear + m->head) * m->back + m->attention * 2.5 + 2 * m->small +
		      2 * m->routing + 2 * m->logits;
	if (q->recompute == TRAIN_FULL)
		m->recompute = inner;
	else if (q->recompute == TRAIN_SELECTIVE)
		m->recompute =
			q->way == TRAIN_FSDP || q->way == TRAIN_HSDP
				? 0.4 * m->linear + m->small
				: m->small * 0.3 + (q->attention == TRAIN_EAGER ? m->attention : 0);
	train_weights_passes(q, s, m);
	m->host = train_host_s(q, s);
	m->busy =
		m->forward + m->backward + m->recompute + train_optimizer_s(q, s) / q->accumulation;
	m->launch = train_launch_s(m, 1);
}

double train_optimizer_s(const struct train_config *q, const struct train_shape *s)
{
	double part = train_trained_part(q), n = s->trained;
	bool own = q->way == TRAIN_DDP || q->way == TRAIN_FSDP || q->way == TRAIN_HSDP;
	double bytes = own && !q->compile ? UPDATE_LISTS : UPDATE;

	if (q->optimizer == TRAIN_ADAMW_BF16 || q->optimizer == TRAIN_ADAMW_8BIT)
		bytes = 18;
	else if (q->optimizer == TRAIN_SGD || q->optimizer == TRAIN_LION)
		bytes = 22;
	/* The gradients' norm is one more pass. */
	bytes += train_gradient_bytes(q);
	if (q->way != TRAIN_DDP)
		n = train_shard(q, s, s->dense, s->experts) * part;
	return n * bytes / bandwidth(q);
}
