/* SPDX-License-Identifier: Apache-2.0 */
/* What chips can multiply at best: operations a clock, and what data sheets say. Pure. */
#ifndef BENCH_GEMM_SEARCH_H
#define BENCH_GEMM_SEARCH_H

#include <stddef.h>

#include "knowledge/gpus.h"
#include "measure/bench/gemm_unit.h"
#include "measure/bench/gemm_type.h"

/* Dense operations (two a multiply-add) of one multiprocessor in one clock. */
struct gemm_unit_row {
	unsigned cc;				       /* compute capability times ten */
	double fp64, fp32, tf32, half, fp8, fp4, int8; /* 0: none, or not known */
	const char *source;
};

extern const struct gemm_unit_row gemm_units[];
extern const size_t gemm_unit_count;

/* TFLOP/s at this clock, of a sparse product as if it had no zeros; 0 when the chip or the format
 * is not known. gpu is NVML's name: GeForce chips have other rates than professional ones. */
double gemm_peak_at(const struct gemm_type *t, const char *gpu, unsigned cc, unsigned sms,
		    double mhz);
/* By data sheet, of rows that tell TF32 too. 0 and *s NULL when no sheet is known or it says
 * nothing of the format. */
double gemm_peak_sheet(const struct gemm_type *t, const char *gpu, const struct gpu_kind **s);

#endif
