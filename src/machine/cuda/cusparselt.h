/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose first matrix has at least two zeros in every four elements along what is summed
 * over, by cuSPARSELt, opened at run time. The library fills storage of ours whose size no header
 * of ours knows: 512 bytes each in versions 0.6 to 0.8, 11024 before; there is more of it here.
 */
#ifndef CUDA_CUSPARSELT_H
#define CUDA_CUSPARSELT_H

#include <stddef.h>
#include <stdint.h>

#include "machine/cuda/driver.h"
#include "machine/cuda/library.h"

struct cusparselt_api {
#define CUSPARSELT_CALL(field, symbol, params) int(*field) params;
#include "machine/cuda/cusparselt.def"
};

struct cusparselt {
	struct cusparselt_api api;
	struct cuda_library lib;
	int version[3];
};

/* -ELIBACC: not found, or without a function that is needed; -ELIBBAD: older than 0.6, whose
 * enumerations are others. */
int cusparselt_open(struct cusparselt *l, struct err *e);

/* D (m x n) = A B; A is stored with k running fastest and sparse, B with k running fastest, D with
 * m running fastest. */
struct cusparselt_shape {
	uint64_t m, n, k;
	int type, d;  /* of A and B, and of D: cudaDataType_t, as in machine/cuda/cublaslt.h */
	bool integer; /* sums are of 32-bit integers */
};

struct cusparselt_plan;

/* What an algorithm is, as the library's attributes tell: number, ways to split. */
enum { CUSPARSELT_WORDS = 4 };
struct cusparselt_choice {
	int word[CUSPARSELT_WORDS];
	int highest; /* numbers are below it */
};

/* known: what a search found for the same product, or NULL: what the library takes by itself. The
 * GPU's context must be current in this thread, here and below. -EOPNOTSUPP: the library does
 * not know such a product, or not on this GPU. */
int cusparselt_plan_make(struct cusparselt *l, struct cuda_gpu *g,
			 const struct cusparselt_shape *shape,
			 const struct cusparselt_choice *known, struct cusparselt_plan **out,
			 struct err *e);
void cusparselt_plan_end(struct cusparselt_plan *p);
/* Bytes of A without its zeros, and what compressing needs besides. */
int cusparselt_plan_bytes(struct cusparselt_plan *p, size_t *compressed, size_t *scratch,
			  struct err *e);
/* Queues the library's own look at A's zeros: the word (32 bits, nought before) becomes 1 when they
 * are too few. */
int cusparselt_check(struct cusparselt_plan *p, cuda_address a, cuda_address wrong,
		     struct cuda_stream *s, struct err *e);
int cusparselt_compress(struct cusparselt_plan *p, cuda_address a, cuda_address to,
			cuda_address scratch, struct cuda_stream *s, struct err *e);

struct cusparselt_buffers {
	cuda_address a, b, d, workspace; /* a: compressed */
	size_t workspace_bytes;
};
/* Lets the library try its algorithms, and takes the fastest; overwrites D. */
int cusparselt_search(struct cusparselt_plan *p, const struct cusparselt_buffers *at,
		      struct cuda_stream *s, struct cusparselt_choice *out, struct err *e);
/* Queues one product. */
int cusparselt_multiply(struct cusparselt_plan *p, const struct cusparselt_buffers *at,
			struct cuda_stream *s, struct err *e);

#endif
