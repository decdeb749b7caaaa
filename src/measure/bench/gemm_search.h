/* SPDX-License-Identifier: Apache-2.0 */
/* One search for an algorithm under way: shared by gemm_search.c and gemm_finals.c alone. */
#ifndef BENCH_GEMM_SEARCH_H
#define BENCH_GEMM_SEARCH_H

#include <stddef.h>

#include "knowledge/gpus.h"
#include "measure/bench/gemm_unit.h"
#include "measure/bench/gemm_type.h"

enum { GEMM_VARIANTS = 4 };

/* A way to store the operands. */
struct gemm_variant {
	bool a_turned, b_turned, fast;
	struct cublaslt_plan *plan;
};

struct gemm_candidate {
	size_t variant;
	struct cublaslt_algorithm algorithm;
	bool first; /* what the library itself would take */
	double seconds;
};

struct gemm_search {
	struct gemm_unit *u;
	struct gemm_variant variants[GEMM_VARIANTS];
	size_t n_variants;
	struct gemm_candidate *all;
	size_t n;
	double budget, deadline;
};

/* n products by that candidate; seconds of one. -EOPNOTSUPP: it does not run, which says nothing
 * of others. */
int gemm_search_time(struct gemm_search *s, struct gemm_candidate *c, size_t n, double *seconds,
		     struct err *e);
/* The first n of all, each for so many seconds, behind so many that do not count. */
int gemm_search_each(struct gemm_search *s, size_t n, double lead_s, double seconds, struct err *e);
/* Fastest first; how many of them ran, at most most. */
size_t gemm_search_sort(struct gemm_search *s, size_t most);
/* Under the conditions of a long run: warm, and held by the power limit where it is. cold_mhz: the
 * clock of short runs. Leaves the best one first. */
int gemm_search_finals(struct gemm_search *s, double cold_mhz, struct err *e);

/* What chips can multiply at best: operations a clock, and what data sheets say. Pure. */

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
