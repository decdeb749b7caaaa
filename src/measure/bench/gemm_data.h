/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices and scales of a product, drawn on the GPU; and products with a sparse matrix. */
#ifndef BENCH_GEMM_DATA_H
#define BENCH_GEMM_DATA_H

#include "measure/bench/gemm_unit.h"

/* Of which element is drawn from what. */
enum {
	GEMM_SEED_A = 0x51ed270b,
	GEMM_SEED_B = 0x2f4b1c93,
	GEMM_SEED_ZEROS = 0x3c6ef372,
	GEMM_SEED_SCALE_A = 0x1f83d9ab,
	GEMM_SEED_SCALE_B = 0x5be0cd19
};

/* Fills A, B and their scales; a sparse A has its zeros then, and they are counted. */
int gemm_data_make(struct gemm_unit *u, struct err *e);
void gemm_data_end(struct gemm_unit *u);

/* gemm_unit_glance and gemm_unit_choose of a sparse product. */
int gemm_sparse_glance(struct gemm_unit *u, double for_s, double *seconds, struct err *e);
int gemm_sparse_choose(struct gemm_unit *u, struct gemm_choice *known, struct err *e);
/* Queues one. */
int gemm_sparse_multiply(struct gemm_unit *u, struct err *e);

#endif
