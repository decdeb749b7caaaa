/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number formats that matrices are multiplied in: how cuBLASLt is told about them, what their
 * codes mean, what random matrices are made of, and how far a product may be from the exact one.
 * Pure: no library, no device.
 */
#ifndef BENCH_GEMM_TYPE_H
#define BENCH_GEMM_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a code of some bits stands for. */
enum gemm_code {
	CODE_F64,
	CODE_F32,
	CODE_F16,
	CODE_BF16,
	CODE_E4M3,
	CODE_E5M2,
	CODE_E2M1,
	CODE_I8,
	CODE_I32,
	GEMM_CODES
};

/* Bits of one code. */
unsigned gemm_code_bits(enum gemm_code c);
/* The value of a code, exact; NaN and infinities as such. */
double gemm_decode(enum gemm_code c, uint64_t code);
/* The code nearest to v, ties to even; beyond the range the largest finite one. v is finite. */
uint64_t gemm_encode(enum gemm_code c, double v);
/* The largest finite value. */
double gemm_largest(enum gemm_code c);
/* What a code has in these bits when it is no number (floats), or when it was never written
 * (integers): bits and value. */
void gemm_bad_bits(enum gemm_code c, uint64_t *bits, uint64_t *value);
/* What the result is filled with before a run that is checked; a byte that makes bad codes. */
unsigned char gemm_poison(enum gemm_code c);

struct gemm_type {
	const char *name;
	enum gemm_code a, b, d;
	bool tf32;	   /* FP32 in memory, 19 bits of it inside the tensor core */
	bool tn_only;	   /* both operands need k to run fastest */
	unsigned multiple; /* what every dimension has to be a multiple of */
	unsigned block;	   /* elements along k that share a scale; 0: none */
	bool sparse;	   /* A has two zeros in every four elements along k */
	unsigned cc_min;   /* compute capability times ten, first that has it */
	const char *why;   /* what the chip lacks otherwise, in a sentence */
	bool uniform;	   /* all codes but the lowest are as likely; else normally distributed */
	double sigma;	   /* standard deviation of the operands' elements */
	/* Bounds of the error: of the rounding to the result's format, relative to the result; of
	 * the sum, relative to the sum of absolute products over sqrt(k), and the part that grows
	 * with k. */
	double round, sum, sum_k;
};

extern const struct gemm_type gemm_types[];
extern const size_t gemm_type_count;
/* NULL when there is none of that name. */
const struct gemm_type *gemm_type_find(const char *name, size_t len);

/* --- random matrices -------------------------------------------------------------------------- */
/*
 * A matrix is drawn from a table of codes whose values are normally distributed; the element at
 * index i takes entry gemm_pick(seed, i). The kernel in gemm.ptx does the same, so that the
 * processor knows every element without reading a byte back.
 */
enum { GEMM_TABLE = 1 << 16 };

/* Fills table (GEMM_TABLE entries). Nothing saturates: what is out of range is drawn again. */
void gemm_table_fill(const struct gemm_type *t, enum gemm_code c, uint64_t seed, uint64_t *table);
uint32_t gemm_pick(uint64_t seed, uint64_t i);

/* Whether element i of a sparse matrix, k running fastest, was left: gemm_prune's twin. */
bool gemm_stays(uint64_t seed, uint64_t i);

/* --- scales of blocks ----------------------------------------------------------------------------
 *
 * One byte a block: UE4M3 (16 elements) or UE8M0 (32). They lie in tiles of 128 rows by four
 * blocks, a tile's rows interleaved by 32, tiles along k first. Source: cuBLAS documentation, "1D
 * block scaling factors layout".
 */
/* Bytes of the scales of rows x k elements, with what fills the last tiles; 0 without scales. */
size_t gemm_scale_bytes(const struct gemm_type *t, uint64_t rows, uint64_t k);
/* Where the scale of that row and element of k stands. */
uint64_t gemm_scale_place(const struct gemm_type *t, uint64_t row, uint64_t at, uint64_t k);
/* GEMM_TABLE codes, of values from a half to two; *values: what they stand for. */
void gemm_scale_table(const struct gemm_type *t, uint64_t seed, uint64_t *table, double *values);

/* Bytes of n codes, rounded up to whole 16. */
size_t gemm_bytes(enum gemm_code c, uint64_t n);

/* How far an element may be from the reference. magnitude: the sum of the absolute products. */
double gemm_tolerance(const struct gemm_type *t, double exact, double magnitude, uint64_t k);
/* False for NaN, and for anything further away than that. */
bool gemm_close(const struct gemm_type *t, double got, double exact, double magnitude, uint64_t k);

#endif
