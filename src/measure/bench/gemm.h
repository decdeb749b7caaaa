/* SPDX-License-Identifier: Apache-2.0 */
/* Which products are measured: names to formats, sizes and GPUs. */
#ifndef BENCH_GEMM_H
#define BENCH_GEMM_H

#include <stddef.h>

#include "knowledge/gpus.h"
#include "measure/bench/gemm_type.h"
#include "measure/bench/gemm_unit.h"
#include "measure/bench/gpu_common.h"

/* What chips can multiply at best: operations a clock, and what data sheets say. Pure. */

/* Dense operations (two a multiply-add) of one multiprocessor in one clock. */
struct gemm_unit_row {
	unsigned cc;				       /* compute capability times ten */
	double fp64, fp32, tf32, half, fp8, fp4, int8; /* 0: none, or not known */
	const char *source;
};

/* TFLOP/s at this clock, of a sparse product as if it had no zeros; 0 when the chip or the format
 * is not known. gpu is NVML's name: GeForce chips have other rates than professional ones. */
double gemm_peak_at(const struct gemm_type *t, const char *gpu, unsigned cc, unsigned sms,
		    double mhz);
/* By data sheet, of rows that tell TF32 too. 0 and *s NULL when no sheet is known or it says
 * nothing of the format. */
double gemm_peak_sheet(const struct gemm_type *t, const char *gpu, const struct gpu_kind **s);

/* Of all cases of one run. */
struct gemm_shared {
	struct cublaslt lt;
	bool open;
	struct cusparselt sparse;
	bool sparse_open;
	struct gpu_preinit *ahead; /* that may have loaded it; NULL: nothing has */
};

struct gemm_arg {
	const struct gemm_type *type;
	struct gemm_dims dims;
	struct gpu_place *places;
	size_t n;   /* of them; more than one only in a burn */
	bool burn;  /* samples of a second, all GPUs at once */
	bool small; /* a test of ourselves */
	/* Kept from one set-up to the next: the search is made once. */
	struct gemm_choice *choice;
	struct gemm_shared *shared;
};

enum { GEMM_DIM_MAX = 1 << 17 };

/*
 * "bf16:8192", "fp8-e4m3:4096x4096x16384" (rows, columns, and what is summed over),
 * "burn:bf16", "burn:bf16:16384". False for anything else, and sizes out of 1 to GEMM_DIM_MAX.
 */
bool gemm_name_parse(const char *name, bool *burn, const struct gemm_type **t,
		     struct gemm_dims *dims);
/*
 * The bits of one product of fixed data by the library's first proposal, the same on every healthy
 * GPU of the kind with the same library; text: what they depend on. Made several times: -EILSEQ and
 * *e when they differ. stop, which may be NULL, is looked at between steps: -EINTR.
 */
int gemm_bits(struct gemm_shared *s, struct gpu_place *p, struct arena *a, const atomic_bool *stop,
	      uint64_t *bits, const char **text, struct err *e);
/* Opens cuBLASLt, or for sparse products cuSPARSELt, the first time. */
int gemm_open(struct gemm_shared *s, struct err *e);
/* A sentence why this GPU or this format cannot do it; NULL when it can. */
const char *gemm_why_not(struct arena *a, const struct gemm_type *t, struct gemm_dims d,
			 unsigned cc);
/* TFLOP/s by the GPU's data sheet. */
struct bench_limit gemm_limit_of(struct arena *a, const struct gemm_type *t, const char *gpu);
void gemm_cases(const struct bench_env *env, struct bench_cases *out);

/* Indices into the bench's figures. */
enum { GEMM_RATE, GEMM_CLOCK, GEMM_POWER, GEMM_TEMPERATURE, GEMM_SHARE };

#endif
