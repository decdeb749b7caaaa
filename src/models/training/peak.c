/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU can do in training, by data sheet and by the fitted part of it. */
#include "base/text.h"
#include "models/training/fit.h"
#include "models/training/peak.h"

/* Ethernet of a workstation; one 400 Gb/s adapter a GPU of a server, 200 Gb/s of an A100's. */
#define NETWORK 24.0
#define NETWORK_SERVER 50.0
#define NETWORK_AMPERE 25.0
/* GB/s that tell an H200 (4800) from an H100 (3350). */
#define H200_BANDWIDTH 4000.0

enum train_family train_family_of(const struct gpu_kind *g)
{
	if (!g->server)
		return FAMILY_OTHER;
	if (g->fp4 > 0)
		return FAMILY_BLACKWELL;
	return g->fp8 > 0 ? FAMILY_HOPPER : FAMILY_AMPERE;
}

/* Volta and Turing: their tensor cores know FP16 alone. */
static bool volta(const struct gpu_kind *g)
{
	return str_starts(g->name, "Tesla ");
}

double train_peak(const struct gpu_kind *g, enum train_precision p)
{
	switch (p) {
	case TRAIN_FP32:
		return (g->fp32 > 0 ? g->fp32 : g->half / 16) * 1e12;
	case TRAIN_TF32:
		return volta(g) ? 0 : g->half * 1e12 / 2;
	case TRAIN_BF16:
		return volta(g) ? 0 : g->half * 1e12;
	case TRAIN_FP8:
		return g->fp8 * 1e12;
	default:
		return g->half * 1e12;
	}
}

enum train_precision train_half_precision(const struct gpu_kind *g)
{
	return train_peak(g, TRAIN_BF16) > 0 ? TRAIN_BF16 : TRAIN_FP16;
}

/* Hopper with HBM3e keeps higher clocks under load than with HBM3. */
static double h200_part(const struct train_config *q)
{
	const struct gpu_kind *g = q->place.gpu;

	return train_family_of(g) == FAMILY_HOPPER && g->bandwidth > H200_BANDWIDTH
		       ? train_fit_of(q)->v[TFIT_HALF_H200]
		       : 1;
}

double train_gemm_rate(const struct train_config *q, enum train_precision p)
{
	static const enum train_fit_id half[] = { TFIT_HALF_AMPERE, TFIT_HALF_HOPPER,
						  TFIT_HALF_BLACKWELL, TFIT_HALF_OTHER };
	const struct train_fit *f = train_fit_of(q);
	enum train_family family = train_family_of(q->place.gpu);
	double peak = train_peak(q->place.gpu, p);

	if (p == TRAIN_FP32 || p == TRAIN_TF32)
		return peak * f->v[TFIT_FP32];
	if (p == TRAIN_FP8)
		return peak * h200_part(q) *
		       f->v[family == FAMILY_BLACKWELL ? TFIT_FP8_BLACKWELL : TFIT_FP8_HOPPER];
	if (q->gemm_flops > 0)
		return q->gemm_flops;
	return peak * f->v[half[family]] * h200_part(q);
}

double train_gemm_usual(const struct train_config *q)
{
	struct train_config usual = *q;

	usual.gemm_flops = 0;
	return train_gemm_rate(&usual, TRAIN_FP16);
}

double train_flash_rate(const struct train_config *q)
{
	const struct train_fit *f = train_fit_of(q);
	enum train_family family = train_family_of(q->place.gpu);
	enum train_fit_id id = TFIT_FLASH_AMPERE;

	if (q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32)
		return train_gemm_rate(q, q->precision) / 2;
	if (family == FAMILY_BLACKWELL)
		id = TFIT_FLASH_BLACKWELL;
	else if (family == FAMILY_HOPPER)
		id = q->attention == TRAIN_FLASH3 ? TFIT_FLASH3 : TFIT_FLASH_HOPPER;
	/* Scores that go through memory: half of it, and the traffic besides (predict.c). */
	return train_peak(q->place.gpu, TRAIN_FP16) * f->v[id] * h200_part(q) *
	       (q->attention == TRAIN_EAGER    ? 0.5
		: q->attention == TRAIN_FLASH1 ? f->v[TFIT_FLASH1]
					       : 1);
}

double train_link_gbs(const struct train_config *q)
{
	double link = gpu_link_gbs(q->place.gpu, place_per_node(&q->place));

	return link > 0 ? link : train_network_gbs(q);
}

double train_network_gbs(const struct train_config *q)
{
	if (q->place.network > 0)
		return q->place.network;
	if (!q->place.gpu->server)
		return NETWORK;
	return train_family_of(q->place.gpu) == FAMILY_AMPERE ? NETWORK_AMPERE : NETWORK_SERVER;
}

double train_weight_bytes(const struct train_config *q)
{
	return q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32 ? 4 : 2;
}

double train_gradient_bytes(const struct train_config *q)
{
	if (q->optimizer == TRAIN_ADAMW_BF16)
		return train_weight_bytes(q);
	return q->reduce_fp32 ? 4 : train_weight_bytes(q);
}

/* How far measurements lie from what was predicted without their source; which constants count. */

const struct train_fit *train_fit_of(const struct train_config *q)
{
	return q->fit ? q->fit : &train_fit_table;
}

const struct train_spread *train_spread_of(const struct train_config *q)
{
	size_t n = sizeof(train_spreads) / sizeof(train_spreads[0]), at = n - 1;

	if (train_family_of(q->place.gpu) == FAMILY_OTHER)
		at = n - 1;
	else if (q->arch.moe_layers)
		at = 0;
	else if (q->precision == TRAIN_FP8)
		at = 1;
	else if (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16)
		at = q->framework->transformers && !q->compile && q->place.gpus == 1 ? 3 : 2;
	return &train_spreads[at < n ? at : n - 1];
}
