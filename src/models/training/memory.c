/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the fullest GPU: what is kept all the time, and what a step needs besides. */
#include <math.h>

#include "models/training/work.h"

/* CUDA context and libraries, and what NCCL keeps for its channels; measured on H100 with
 * PyTorch 2.x. */
#define CONTEXT 0.9e9
#define NCCL 0.5e9
/* What the caching allocator cannot use, of what comes and goes. */
#define WASTE 0.02
#define WASTE_EAGER 0.05
/* Bytes of a logit at the worst moment: as multiplied, as FP32, its gradient; without fused kernels
 * its gradient is cast besides (16-bit logits, FP32 probabilities, both gradients). */
#define LOGIT 8
#define LOGIT_EAGER 12
/* Bytes of an inner element that the tanh form of GELU keeps, as Transformers writes it out: FP32
 * copies of its input and of two results, the input's half, and both ends in 16 bits. */
#define GELU 16.0
/* Of unified memory: the rest is the system's, the loader's and the page cache's. */
#define UNIFIED_PART 0.9
/* Of a card: 77 runs of Transformers' Trainer needed up to 1.073 of what was predicted for them. */
#define EAGER_PART (1 / 1.08)

static double shards(const struct train_config *q, const struct train_shape *s)
{
	return q->way == TRAIN_HSDP ? q->shard : s->ranks;
}

/* Bytes of optimizer state for a trained parameter, the FP32 copy apart. */
static double state_bytes(enum train_optimizer o)
{
	switch (o) {
	case TRAIN_ADAMW:
	case TRAIN_ADAMW_FUSED:
		return 8;
	case TRAIN_ADAMW_BF16:
		return 4;
	case TRAIN_ADAMW_8BIT:
		return 2;
	case TRAIN_ADAFACTOR:
		return 0.02;
	default:
		return 4;
	}
}

/* FP32 weights are their own master copy; FSDP keeps FP32 weights and gathers BF16 ones; ZeRO and
 * DDP with a mixed optimizer keep both, stage 3 each rank its part. */
static void weights(const struct train_config *q, const struct train_shape *s,
		    struct train_memory *m)
{
	double n = shards(q, s), w = train_weight_bytes(q), g = train_gradient_bytes(q);
	double frozen = s->params - s->trained, part;
	bool own = w >= 4 || q->optimizer == TRAIN_ADAMW_BF16;

	/* What each rank has of it where it is sharded. */
	n = s->params / (s->dense / n + s->experts / fmin(n, s->expert_ranks));
	m->weights = s->params * w;
	if (train_autocast(q)) {
		/* FP32 weights, and 16-bit copies of those that multiply until their backward pass:
		 * with checkpointing a layer's alone. */
		m->weights = s->params - s->parts.embed / q->tp;
		if (q->recompute == TRAIN_FULL)
			m->weights = s->head;
		m->weights *= w;
	}
	/* Matrices of frozen layers may be kept in fewer bits; embedding and head are not. */
	part = frozen - (s->parts.embed + s->parts.head) / q->tp / q->pp;
	if (q->frozen_bits > 0 && part > 0)
		m->weights -= part * (w - q->frozen_bits / 8);
	m->master = own ? 0 : s->trained * 4;
	m->gradients = s->trained * g;
	m->states = s->trained * state_bytes(q->optimizer);
	if (q->way == TRAIN_ZERO1 || q->way == TRAIN_ZERO2 || train_parallelism_shards(q->way))
		m->states /= n, m->master /= n;
	if (q->way == TRAIN_ZERO2 || train_parallelism_shards(q->way))
		m->gradients /= n;
	/* With FP32 shards the gathered BF16 copy is a buffer, not a weight. */
	if (train_parallelism_shards(q->way))
		m->weights = (own || q->way == TRAIN_ZERO3 ? s->params : frozen) * w / n;
}

/* Kernels of PyTorch's own and of Transformers' models, one an operation, on a rank that has whole
 * weights or adapters; for the others what fused kernels keep is closer. */
static bool eager(const struct train_config *q)
{
	return !q->compile && (q->way == TRAIN_DDP || train_adapters(q)) &&
	       (q->arch.ffn_mats != 2 || q->framework->transformers);
}

/* Bytes that the norms and the inputs of the projections keep of a token in a layer.
 * PyTorch saves for the backward pass: of a norm (by root mean square, in FP32) its input and,
 * where its weight is trained, its result; of a projection its input, where its weight is trained.
 * Autocast casts that input for each projection anew, as adapters do. */
static double eager_inputs(const struct train_config *q)
{
	double h = q->arch.hidden, own = 5 * 2 * h, joined = 2 * 2 * h;

	/* Older models: joined projections, norms with a mean, and a byte of each dropout's mask.
	 */
	if (q->arch.ffn_mats == 2)
		return 2 * 4 * h + joined + 2 * h;

	if (train_autocast(q))
		return 2 * (4 + 4) * h + own;
	return train_adapters(q) ? 2 * 4 * h + own : 2 * (4 + 2) * h + joined;
}

/*
 * Bytes that a layer of a transformer keeps of a token: inputs of norms, of the projections and of
 * the activation; queries, keys, values; the attention's output. Kernels of their own keep what
 * fused ones compute again.
 */
static double train_stored_bytes(const struct train_config *q, const struct train_shape *s)
{
	const struct arch *a = &q->arch;
	double w = train_weight_bytes(q), h = a->hidden;
	double qkv = ((double)a->heads + 2.0 * a->kv_heads) * a->head_dim / q->tp;
	double out = (double)a->heads * a->head_dim / q->tp, along = h / (q->sp ? q->tp : 1);
	bool gated = a->ffn_mats != 2;
	double blocks = s->widest * (q->compile ? (gated ? 3 : 2) : (gated ? 3.4 : 2));
	double rows = along * (q->compile || !gated ? 4 : 5);

	/* Latent attention keeps what it projects down as well, on each tensor rank. */
	if (a->kv_lora) {
		qkv = a->heads * (2.0 * (a->nope_dim + a->rope_dim) + a->v_dim) / q->tp +
		      a->q_lora + a->kv_lora + a->rope_dim;
		out = (double)a->heads * a->v_dim / q->tp;
	}
	if (eager(q)) {
		rows = eager_inputs(q) / w;
		/* FP32 inputs of the norms of queries and keys, and their trained results. */
		if (a->qk_norm)
			qkv += (a->heads + a->kv_heads) * a->head_dim / q->tp *
			       (train_adapters(q) ? 4 : 6) / w;
		/* Written out in FP32 (its cube, its hyperbolic tangent), or four inner widths. */
		blocks = (gated ? 4 : GELU / w) * s->widest;
		/* The adapter's own copy of the output projection's input. */
		out *= train_adapters(q) ? 2 : 1;
	}
	if (a->moe_layers)
		rows += 2.0 * a->top * along;
	return w * (rows + qkv + out + blocks);
}

static double scores(const struct train_config *q, const struct train_shape *s)
{
	if (q->attention != TRAIN_EAGER)
		return 0;
	return 3 * train_weight_bytes(q) * s->tokens * q->sequence * q->arch.heads / q->tp;
}

static void choose_activations(const struct train_config *q, const struct train_shape *s,
			       struct train_memory *m)
{
	double layer = s->tokens * train_stored_bytes(q, s) + scores(q, s), kept = layer;
	double row = s->tokens * q->arch.hidden * (train_autocast(q) ? 4 : train_weight_bytes(q)) /
		     (q->sp ? q->tp : 1);
	double flight = 1;

	if (q->recompute == TRAIN_FULL)
		kept = row;
	else if (q->recompute == TRAIN_SELECTIVE)
		kept = q->way == TRAIN_FSDP || q->way == TRAIN_HSDP ? 0.5 * layer
								    : layer - scores(q, s);
	/* 1F1B: the first stage has as many micro-batches under way as there are stages. */
	if (q->pp > 1) {
		flight = fmin(q->accumulation, q->pp);
		if (q->interleave > 1)
			flight *= 1 + (q->pp - 1.0) / ((double)q->pp * q->interleave);
	}
	m->activations = kept * s->layers * flight;
	m->working = q->recompute == TRAIN_KEEP_ALL ? row * 2 : layer;
	m->logits = s->tokens * q->arch.vocab / q->tp * (eager(q) ? LOGIT_EAGER : LOGIT);
	if (eager(q)) /* layers are at work when the logits are gone */
		m->working = fmax(0, m->working - m->logits);
	if (q->pp > 1) /* on the last stage, which keeps one micro-batch alone */
		m->logits = fmax(0, m->logits - kept * s->layers * (flight - 1));
}

static void choose_buffers(const struct train_config *q, const struct train_shape *s,
			   struct train_memory *m)
{
	double layer = s->params / fmax(s->layers, 1), w = train_weight_bytes(q);

	if (s->ranks > 1 && !train_parallelism_shards(q->way)) {
		m->buffers = fmin(q->bucket_bytes * 2, s->trained * train_gradient_bytes(q));
		/* PyTorch's DDP keeps copies of all gradients in its buckets: to have them there
		 * alone (gradient_as_bucket_view) is not what it does by itself. */
		if (q->way == TRAIN_DDP && q->reduce_fp32)
			m->buffers = s->trained * train_gradient_bytes(q);
	}
	if (train_parallelism_shards(q->way) && s->ranks > 1) {
		double largest = fmax(layer, s->head);

		m->buffers = 2 * largest * w + largest * train_gradient_bytes(q);
		if (!q->reshard)
			m->buffers += s->params * w;
	}
	m->context = CONTEXT + (q->place.gpus > 1 ? NCCL : 0);
}

/* What a stage of so many layers holds; in all but the first each has experts, if those without are
 * few enough to be the first one's. */
static double stage_experts(const struct train_config *q, const struct train_shape *s,
			    double layers)
{
	double moe = q->arch.moe_layers;

	if (moe <= 0 || q->arch.layers - moe >= s->layers)
		return s->experts * layers * q->pp / q->arch.layers;
	return s->experts * fmin(moe, layers) * q->pp / moe;
}

/* Layers that do not divide leave one more to some stages than to the last, which has the output
 * head besides. */
static void fullest_stage(const struct train_config *q, struct train_shape *s)
{
	double mean = q->arch.layers / (double)q->pp, least = floor(mean);
	double layer = (s->dense - s->head) / mean;
	double middle = stage_experts(q, s, s->layers), last = stage_experts(q, s, least);

	if (q->pp <= 1)
		return;
	if (layer * s->layers + middle > layer * least + s->head + last) {
		s->dense = layer * s->layers;
		s->experts = middle;
	} else {
		s->dense = layer * least + s->head;
		s->experts = last;
	}
	s->params = s->dense + s->experts;
	s->trained = s->params * train_trained_part(q);
}

void train_memory_of(const struct train_config *q, struct train_memory *m)
{
	struct train_shape s;

	*m = (struct train_memory){ 0 };
	train_shape_of(q, &s);
	fullest_stage(q, &s);
	weights(q, &s, m);
	choose_activations(q, &s, m);
	choose_buffers(q, &s, m);
	m->waste = (eager(q) ? WASTE_EAGER : WASTE) *
		   (m->activations + m->working + m->logits + m->buffers);
	/* Gradients grow as activations go, unless those of an earlier micro-batch are there. */
	if (q->way == TRAIN_DDP && q->accumulation == 1 && s.ranks == 1)
		m->reused = -fmin(m->gradients, m->activations + m->working + m->logits +
							(train_autocast(q) ? m->weights : 0));
	m->total = m->weights + m->master + m->gradients + m->states + m->activations + m->working +
		   m->logits + m->buffers + m->context + m->waste + m->reused;
	/* Unified memory is shared with everything else, be it read or by data sheet. */
	m->limit = place_memory_bytes(&q->place);
	m->shown = q->place.gpu->unified || eager(q) ? m->limit : 0;
	if (m->shown > 0)
		m->limit *= q->place.gpu->unified ? UNIFIED_PART : EAGER_PART;
	m->all = eager(q) ? (struct figure){ m->total, m->total * 0.93, m->total * 1.13 }
			  : (struct figure){ m->total, m->total * 0.87, m->total * 1.13 };
	m->fits = m->total <= m->limit;
}
