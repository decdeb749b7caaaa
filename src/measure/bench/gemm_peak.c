/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables. Operations a clock follow from the data sheets by dividing by multiprocessors and
 * the clock that the sheet goes with; the test holds both tables together.
 */
#include "measure/bench/gemm_peak.h"

#include <string.h>

#define BY_SHEET "from the data sheet, multiprocessors and boost clock"

const struct gemm_unit_row gemm_units[] = {
	{ 80, 128, 128, 1024, 2048, 0, 0, 4096, BY_SHEET " of A100" },
	{ 89, 4, 256, 512, 1024, 2048, 0, 2048, BY_SHEET " of RTX 6000 Ada and L40S" },
	{ 90, 256, 256, 2048, 4096, 8192, 0, 8192, BY_SHEET " of H100 and H200 SXM" },
	{ 100, 128, 256, 4096, 8192, 16384, 32768, 16384, BY_SHEET " of B200" },
	{ 120, 4, 256, 512, 1024, 2048, 4096, 2048, BY_SHEET " of RTX PRO 6000" },
	{ 121, 4, 256, 512, 1024, 2048, 4096, 2048,
	  "48 multiprocessors at 2.55 GHz for the published FP4 petaflop of DGX Spark, which "
	  "counts sparsity" },
};
const size_t gemm_unit_count = sizeof(gemm_units) / sizeof(gemm_units[0]);

const struct gemm_sheet gemm_sheets[] = {
	{ "NVIDIA H200", 67, 67, 494.5, 989, 1979, 0, 1979, "NVIDIA, H200 data sheet", "2024" },
	{ "NVIDIA H100 80GB HBM3", 67, 67, 494.5, 989, 1979, 0, 1979, "NVIDIA, H100 data sheet",
	  "2023" },
	{ "NVIDIA B200", 37, 75, 1125, 2250, 4500, 9000, 4500, "NVIDIA, HGX B200 data sheet",
	  "2025" },
	{ "NVIDIA A100-SXM4-80GB", 19.5, 19.5, 156, 312, 0, 0, 624, "NVIDIA, A100 data sheet",
	  "2021" },
	{ "NVIDIA A100-SXM4-40GB", 19.5, 19.5, 156, 312, 0, 0, 624, "NVIDIA, A100 data sheet",
	  "2021" },
	{ "NVIDIA RTX 6000 Ada Generation", 0, 91.1, 182.1, 364.2, 728.5, 0, 728.5,
	  "NVIDIA, RTX 6000 Ada data sheet, without sparsity", "2023" },
	{ "NVIDIA L40S", 0, 91.6, 183, 362, 733, 0, 733, "NVIDIA, L40S data sheet", "2023" },
	{ "NVIDIA GeForce RTX 4090", 0, 82.6, 82.6, 165, 330, 0, 661,
	  "NVIDIA, Ada architecture paper, with sums in FP32, without sparsity", "2022" },
	{ "NVIDIA GeForce RTX 5090", 0, 104.8, 104.8, 210, 419, 1676, 838,
	  "NVIDIA, RTX Blackwell architecture paper, with sums in FP32, without sparsity", "2025" },
	{ "NVIDIA GB10", 0, 31, 62, 125, 250, 500, 250,
	  "NVIDIA, DGX Spark: one petaflop of sparse FP4; the others follow by halves", "2025" },
};
const size_t gemm_sheet_count = sizeof(gemm_sheets) / sizeof(gemm_sheets[0]);

/* Both tables have the columns in the same order. */
enum column { FP64, FP32, TF32, HALF, FP8, FP4, INT8 };

static enum column column_of(const struct gemm_type *t)
{
	switch (t->a) {
	case CODE_F64:
		return FP64;
	case CODE_F32:
		return t->tf32 ? TF32 : FP32;
	case CODE_E4M3:
	case CODE_E5M2:
		return FP8;
	case CODE_E2M1:
		return FP4;
	case CODE_I8:
		return INT8;
	default:
		return HALF;
	}
}

/* GeForce sums in FP32 at half the rate of a professional card with the same chip; NVIDIA, Ada and
 * RTX Blackwell architecture papers: 165 and 210 TFLOP/s of an RTX 4090 and 5090. Products in FP4
 * and integers have the whole rate. */
static double geforce_part(const char *gpu, unsigned cc, enum column c)
{
	bool tensor = c == TF32 || c == HALF || c == FP8;

	return tensor && (cc == 89 || cc == 120) && strstr(gpu, "GeForce") ? 0.5 : 1;
}

double gemm_peak_at(const struct gemm_type *t, const char *gpu, unsigned cc, unsigned sms,
		    double mhz)
{
	for (size_t i = 0; i < gemm_unit_count; i++) {
		const struct gemm_unit_row *r = &gemm_units[i];
		const double ops[] = {
			r->fp64, r->fp32, r->tf32, r->half, r->fp8, r->fp4, r->int8
		};

		if (r->cc == cc)
			return ops[column_of(t)] * geforce_part(gpu, cc, column_of(t)) * sms * mhz /
			       1e6 * (t->sparse ? 2 : 1);
	}
	return 0;
}

double gemm_peak_sheet(const struct gemm_type *t, const char *gpu, const struct gemm_sheet **s)
{
	*s = NULL;
	for (size_t i = 0; i < gemm_sheet_count; i++) {
		const struct gemm_sheet *r = &gemm_sheets[i];
		const double tera[] = {
			r->fp64, r->fp32, r->tf32, r->half, r->fp8, r->fp4, r->int8
		};

		if (strcmp(r->gpu, gpu) == 0 && tera[column_of(t)] > 0) {
			*s = r;
			/* Sheets say the double for two zeros in four. */
			return tera[column_of(t)] * (t->sparse ? 2 : 1);
		}
	}
	return 0;
}
