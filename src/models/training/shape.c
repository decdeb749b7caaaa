/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU's part of the model: parameters, tokens, operations, neighbours. */
#include <math.h>

#include "models/training/work.h"

bool train_parallelism_fp32(enum train_parallelism way)
{
	return way == TRAIN_DDP || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

bool train_parallelism_shards(enum train_parallelism way)
{
	return way == TRAIN_ZERO3 || way == TRAIN_FSDP || way == TRAIN_HSDP;
}

double train_trained_part(const struct train_config *q)
{
	return q->trained > 0 ? fmin(1, q->trained / arch_parts(&q->arch).total) : 1;
}

bool train_adapters(const struct train_config *q)
{
	return train_trained_part(q) <= 0.5;
}

bool train_autocast(const struct train_config *q)
{
	/* DeepSpeed's stage 0 has weights of 16 bits, and sums gradients as such; frozen weights
	 * below adapters are loaded in 16 bits. */
	return q->way == TRAIN_DDP && q->reduce_fp32 && !train_adapters(q) &&
	       q->optimizer != TRAIN_ADAMW_BF16 &&
	       (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16);
}

double train_expert_in(const struct train_config *q)
{
	return q->arch.expert_in ? q->arch.expert_in : q->arch.hidden;
}

double train_shard(const struct train_config *q, const struct train_shape *s, double dense,
		   double experts)
{
	double n = q->way == TRAIN_HSDP ? q->shard : s->ranks;

	return dense / n + experts / fmax(1, fmin(n, s->expert_ranks));
}

double train_model_flops(const struct train_config *q)
{
	struct arch_parts p = arch_parts(&q->arch);
	double attention = arch_attention_ops(&q->arch, q->sequence, 0) / q->sequence;

	/* Frozen weights pass gradients on and have none of their own. */
	return 2 * p.active * (2 + train_trained_part(q)) + 3 * attention;
}

/* Inner widths that one token passes in a layer, together: of its block and of its experts. */
static double widest(const struct arch *a)
{
	double dense = arch_dense_layers(a);
	double moe = (double)a->top * a->expert_ffn + a->shared_ffn;

	return (dense * a->ffn + a->moe_layers * moe) / fmax(a->layers, 1);
}

static void flops(const struct train_config *q, struct train_shape *s)
{
	const struct arch *a = &q->arch;
	const struct arch_parts *p = &s->parts;
	double split = (double)q->tp * q->pp, t = s->tokens;

	s->flops_dense =
		2 * t * (p->attention + p->linear + p->dense + p->shared + p->router) / split;
	s->flops_expert = 2 * t * a->moe_layers * (double)a->top * p->one_expert / split;
	s->flops_head = 2 * t * p->head / split;
	s->flops_attention = arch_attention_ops(a, q->sequence, 0) * q->micro_batch / q->cp / split;
	s->effort_attention =
		arch_attention_effort(a, q->sequence, 0) * q->micro_batch / q->cp / split;
}

void train_shape_of(const struct train_config *q, struct train_shape *s)
{
	double all, in_node = place_per_node(&q->place);

	*s = (struct train_shape){ .parts = arch_parts(&q->arch) };
	s->layers = ceil(q->arch.layers / (double)q->pp);
	s->tokens = (double)q->micro_batch * q->sequence / q->cp;
	/* Experts that are spread are not cut as well. */
	s->experts = s->parts.experts / q->pp / (q->ep > 1 ? q->ep : q->tp);
	s->head = s->parts.head / q->tp;
	all = s->parts.total - s->parts.experts;
	s->dense = all / q->tp / q->pp;
	/* The first and the last stage have the embedding or the head besides their layers. */
	if (q->pp > 1)
		s->dense = (all - s->parts.head - s->parts.embed) / q->tp / q->pp + s->head;
	s->params = s->dense + s->experts;
	s->trained = s->params * train_trained_part(q);
	s->widest = widest(&q->arch) / q->tp;
	s->ranks = q->dp * q->cp;
	s->expert_ranks = q->ep > 1 ? fmax(1, s->ranks * (double)q->tp / q->ep) : s->ranks;
	s->per_node = (int)fmax(1, fmin(s->ranks, floor(in_node / q->tp)));
	flops(q, s);
}
