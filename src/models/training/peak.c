/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU can do in training, by data sheet and by the fitted part of it. */
#include <string.h>

#include "base/text.h"
#include "models/training/work.h"
#include "models/training/fit.h"
#include "models/training/peak.h"

/* FP32 without tensor cores, TFLOP/s by data sheet; TF32 is half of the dense BF16 rate. */
static const struct {
	const char *name;
	double fp32;
} singles[] = {
	{ "NVIDIA GB10", 31 },
	{ "NVIDIA H200 NVL", 60 },
	{ "NVIDIA H200", 67 },
	{ "NVIDIA H100 NVL", 60 },
	{ "NVIDIA H100 PCIe", 51 },
	{ "NVIDIA H100 80GB HBM3", 67 },
	{ "NVIDIA GH200 480GB", 67 },
	{ "NVIDIA GH200 144G HBM3e", 67 },
	{ "NVIDIA B300", 75 },
	{ "NVIDIA B200", 75 },
	{ "NVIDIA GB300", 80 },
	{ "NVIDIA GB200", 80 },
	{ "NVIDIA A100-SXM4-40GB", 19.5 },
	{ "NVIDIA A100 80GB PCIe", 19.5 },
	{ "NVIDIA A100-PCIE-40GB", 19.5 },
	{ "NVIDIA A100-SXM4-80GB", 19.5 },
	{ "NVIDIA L40S", 91.6 },
	{ "NVIDIA L40", 90.5 },
	{ "NVIDIA L4", 30.3 },
	{ "NVIDIA A10", 31.2 },
	{ "NVIDIA A10G", 31.5 },
	{ "Tesla V100-SXM2-32GB", 15.7 },
	{ "Tesla V100-SXM2-16GB", 15.7 },
	{ "Tesla V100-PCIE-32GB", 14 },
	{ "Tesla V100-PCIE-16GB", 14 },
	{ "Tesla T4", 8.1 },
	{ "NVIDIA A40", 37.4 },
	{ "NVIDIA A30", 10.3 },
	{ "NVIDIA RTX 6000 Ada Generation", 91.1 },
	{ "NVIDIA RTX 5000 Ada Generation", 65.3 },
	{ "NVIDIA RTX 4500 Ada Generation", 39.6 },
	{ "NVIDIA RTX 4000 Ada Generation", 26.7 },
	{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", 120 },
	{ "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 125 },
	{ "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 110 },
	{ "NVIDIA RTX PRO 5000 Blackwell", 64.5 },
	{ "NVIDIA RTX A6000", 38.7 },
	{ "NVIDIA RTX A5000", 27.8 },
	{ "NVIDIA RTX A4000", 19.2 },
	{ "NVIDIA GeForce RTX 5090", 104.8 },
	{ "NVIDIA GeForce RTX 5080", 56.3 },
	{ "NVIDIA GeForce RTX 5070 Ti", 43.9 },
	{ "NVIDIA GeForce RTX 5070", 30.9 },
	{ "NVIDIA GeForce RTX 4090", 82.6 },
	{ "NVIDIA GeForce RTX 4080 SUPER", 52.2 },
	{ "NVIDIA GeForce RTX 4080", 48.7 },
	{ "NVIDIA GeForce RTX 4070", 29.1 },
	{ "NVIDIA GeForce RTX 3090", 35.6 },
	{ "NVIDIA GeForce RTX 3080", 29.8 },
	{ "NVIDIA GeForce RTX 3060", 12.7 },
	{ "Orin (nvgpu)", 5.3 },
	{ "NVIDIA Thor", 8 },
};

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

static double single(const struct gpu_kind *g)
{
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if (strcmp(singles[i].name, g->name) == 0)
			return singles[i].fp32;
	return g->half / 16;
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
		return single(g) * 1e12;
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

enum train_precision train_half(const struct gpu_kind *g)
{
	return train_peak(g, TRAIN_BF16) > 0 ? TRAIN_BF16 : TRAIN_FP16;
}

/* Hopper with HBM3e keeps higher clocks under load than with HBM3. */
static double h200_part(const struct train_question *q)
{
	const struct gpu_kind *g = q->place.gpu;

	return train_family_of(g) == FAMILY_HOPPER && g->bandwidth > H200_BANDWIDTH
		       ? train_fit_of(q)->v[TFIT_HALF_H200]
		       : 1;
}

double train_gemm_rate(const struct train_question *q, enum train_precision p)
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

double train_gemm_usual(const struct train_question *q)
{
	struct train_question usual = *q;

	usual.gemm_flops = 0;
	return train_gemm_rate(&usual, TRAIN_FP16);
}

double train_flash_rate(const struct train_question *q)
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
	/* Scores that go through memory: half of it, and the traffic besides (compute.c). */
	return train_peak(q->place.gpu, TRAIN_FP16) * f->v[id] * h200_part(q) *
	       (q->attention == TRAIN_EAGER ? 0.5 : 1);
}

double train_link_gbs(const struct train_question *q)
{
	double link = gpu_link_gbs(q->place.gpu, place_per_node(&q->place));

	return link > 0 ? link : train_network_gbs(q);
}

double train_network_gbs(const struct train_question *q)
{
	if (q->place.network > 0)
		return q->place.network;
	if (!q->place.gpu->server)
		return NETWORK;
	return train_family_of(q->place.gpu) == FAMILY_AMPERE ? NETWORK_AMPERE : NETWORK_SERVER;
}

double train_weight_bytes(const struct train_question *q)
{
	return q->precision == TRAIN_FP32 || q->precision == TRAIN_TF32 ? 4 : 2;
}

double train_gradient_bytes(const struct train_question *q)
{
	return q->reduce_fp32 ? 4 : train_weight_bytes(q);
}

/* How far measurements lie from what was predicted without their source; which constants count. */

const struct train_fit *train_fit_of(const struct train_question *q)
{
	return q->fit ? q->fit : &train_fit_table;
}

const struct train_spread *train_spread_of(const struct train_question *q)
{
	size_t n = sizeof(train_spreads) / sizeof(train_spreads[0]), at = n - 1;

	if (train_family_of(q->place.gpu) == FAMILY_OTHER)
		at = n - 1;
	else if (q->arch.moe_layers)
		at = 0;
	else if (q->precision == TRAIN_FP8)
		at = 1;
	else if (q->precision == TRAIN_BF16 || q->precision == TRAIN_FP16)
		at = 2;
	return &train_spreads[at < n ? at : n - 1];
}
