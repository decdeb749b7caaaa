/* SPDX-License-Identifier: Apache-2.0 */
/* What frameworks do besides the model: the CPU's time for launches, by counting kernels, and the
 * passes over weights that mixed precision makes in every micro-batch. */

#include "models/training/work.h"

/* Kernels of a layer's forward pass, beside its multiplications, where they are not fused: two
 * norms, two residuals, an activation, attention; written-out norms, gates and rotations. */
#define KERNELS 6.0
#define KERNELS_GATED 22.0
#define KERNELS_EAGER 5.0
/* Autocast casts the input of each multiplication that has another type: two of them a layer. */
#define KERNELS_CAST 2.0
/* Routing, permuting, counting and scattering of a layer with experts. */
#define KERNELS_EXPERTS 25.0
/* Backward: a bit more than two kernels for each of the forward pass, from C++ and not from Python:
 * each costs half. */
#define BACK 1.2
/* What FSDP's hooks around a layer cost, in kernels: gathering, freeing, scattering, streams that
 * wait for each other (measured: PyTorch 2.11's first FSDP). */
#define HOOKS 100.0
/* One parameter tensor in an update that is not fused, and in DDP's buckets, in kernels. */
#define UPDATED 0.7
#define REDUCED 0.5

/* Bytes of passes over a parameter: FP32 to 16 bits forward, its gradient back; adding a gradient
 * to another. */
#define CAST 6.0
#define ADD 12.0
/* A multiplication that adds its result to FP32 gradients by itself. */
#define FUSED_ADD 8.0
/* DDP copies gradients into buckets and back, one small kernel for each: 16 bytes, at two thirds of
 * what large ones reach. */
#define BUCKETED 24.0

bool train_autocast(const struct train_config *q)
{
	/* Frozen weights below adapters are loaded in 16 bits. */
	/* DeepSpeed's stage 0 has weights of 16 bits as well, and sums them as such. */
	return q->way == TRAIN_DDP && q->reduce_fp32 && train_trained_part(q) > 0.5 &&
	       (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16);
}

/* Matrices of a layer; a model with two of them in a block has joined queries, keys and values. */
static double matrices(const struct train_config *q)
{
	return q->arch.ffn_mats == 2 ? 4 : 7;
}

/* Parameter tensors of a layer: matrices and norms, in older models with biases. FSDP has one. */
static double tensors(const struct train_config *q)
{
	if (train_parallelism_shards(q->way))
		return 1;
	return q->arch.ffn_mats == 2 ? 12 : 9;
}

/* Kernels of a layer's forward pass. */
static double train_host_kernels(const struct train_config *q)
{
	double mats = matrices(q), n = mats;

	n += q->arch.ffn_mats == 2 ? KERNELS : KERNELS_GATED;
	if (q->attention == TRAIN_EAGER)
		n += KERNELS_EAGER;
	n += KERNELS_EXPERTS * q->arch.moe_layers / q->arch.layers;
	/* Weights and, in older models, as many biases. */
	if (train_autocast(q))
		n += KERNELS_CAST + mats * (q->arch.ffn_mats == 2 ? 2 : 1);
	return q->compile ? n * train_fit_of(q)->v[TFIT_LAUNCH_FUSED] : n;
}

double train_host_s(const struct train_config *q, const struct train_shape *s)
{
	double each = 1e-6 * train_fit_of(q)->v[TFIT_LAUNCH_US], layer;

	layer = train_host_kernels(q) * (1 + BACK + (q->recompute == TRAIN_FULL ? 1 : 0));
	if (train_parallelism_shards(q->way) && s->ranks > 1)
		layer += HOOKS;
	if (!q->compile)
		layer += UPDATED * tensors(q) / q->accumulation;
	if (q->way == TRAIN_DDP && s->ranks > 1)
		layer += REDUCED * tensors(q) / q->accumulation;
	return each * layer * s->layers;
}

/* Passes over the weights of a micro-batch; what a step does once is spread over its
 * micro-batches. */
void train_weights_passes(const struct train_config *q, const struct train_shape *s,
			  struct train_micro *m)
{
	double micros = q->accumulation, forward = 0, backward = 0;
	double rate = q->place.gpu->bandwidth * 1e9 * train_fit_of(q)->v[TFIT_MEMORY];

	if (train_weight_bytes(q) > 2)
		return;
	if (train_autocast(q)) {
		forward = CAST * s->params;
		backward = CAST * s->trained + ADD * s->trained * (micros - 1) / micros;
		if (s->ranks > 1)
			backward += BUCKETED * s->trained / micros;
		if (q->recompute == TRAIN_FULL)
			m->recompute += CAST * s->params / rate;
	} else if (train_parallelism_shards(q->way)) {
		double n = q->way == TRAIN_HSDP ? q->shard : s->ranks;

		forward = CAST * s->params / n;
		backward = (q->reshard ? CAST * s->params / n : 0) +
			   (train_gradient_bytes(q) + 2) * s->trained;
	} else {
		/* Frameworks that keep gradients in FP32 add each micro-batch's to them. */
		backward = FUSED_ADD * s->trained;
	}
	m->casts = forward / rate;
	m->accumulated = backward / rate;
	m->forward += m->casts;
	m->backward += m->accumulated;
}
