/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by cuBLASLt, opened at run time: one product described, the algorithms that the
 * library proposes for it, and one of them run. Only functions that make and end objects are used,
 * so that no size of NVIDIA's structures is built in but the one of a proposal.
 */
#ifndef CUDA_CUBLASLT_H
#define CUDA_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

#include "machine/cuda/driver.h"
#include "machine/cuda/library.h"

struct cublaslt_handle;
struct cublaslt_product;
struct cublaslt_layout;
struct cublaslt_wish;

/* cudaDataType_t. Source: library_types.h. */
enum {
	CUDA_R_32F = 0,
	CUDA_R_64F = 1,
	CUDA_R_16F = 2,
	CUDA_R_8I = 3,
	CUDA_R_32I = 10,
	CUDA_R_16BF = 14,
	CUDA_R_8F_E4M3 = 28,
	CUDA_R_8F_E5M2 = 29,
	CUDA_R_4F_E2M1 = 33
};

/* cublasComputeType_t. */
enum {
	CUBLAS_COMPUTE_32F = 68,
	CUBLAS_COMPUTE_64F = 70,
	CUBLAS_COMPUTE_32I = 72,
	CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

/* cublasLtMatmulMatrixScale_t. */
enum { CUBLASLT_SCALE_ONE = 0, CUBLASLT_SCALE_VEC16 = 1, CUBLASLT_SCALE_VEC32 = 2 };

/* cublasStatus_t, as far as told apart. */
enum {
	CUBLAS_STATUS_SUCCESS = 0,
	CUBLAS_STATUS_NOT_INITIALIZED = 1,
	CUBLAS_STATUS_ALLOC_FAILED = 3,
	CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_ARCH_MISMATCH = 8,
	CUBLAS_STATUS_EXECUTION_FAILED = 13,
	CUBLAS_STATUS_INTERNAL_ERROR = 14,
	CUBLAS_STATUS_NOT_SUPPORTED = 15,
	CUBLASLT_MISSING = 1000 /* ours: the library has no such function */
};

/* cublasLtMatmulHeuristicResult_t: 96 bytes in every version from 11 to 13. */
struct cublaslt_algorithm {
	uint64_t algorithm[8];
	size_t workspace;
	int state; /* a status: this proposal is good when 0 */
	float waves;
	int reserved[4];
};

struct cublaslt_api {
#define CUBLASLT_CALL(field, symbol, params) int(*field) params;
#include "machine/cuda/cublaslt.def"
};

struct cublaslt {
	struct cublaslt_api api;
	struct cuda_library lib;
	int version[3];
	/* Variables of the environment that change the arithmetic and were taken out of it, with
	 * blanks between them; "": none was set. */
	char cleared[256];
};

/*
 * -ELIBACC: not found, or without a function that is needed. Takes variables that change the
 * arithmetic out of the process's environment first. Call it before other threads run.
 */
int cublaslt_open(struct cublaslt *l, struct err *e);
/* Its two halves: the environment, and the library, which may be loaded in another thread. */
void cublaslt_clear(struct cublaslt *l);
int cublaslt_load(struct cublaslt *l, struct err *e);
/* "CUBLAS_STATUS_NOT_SUPPORTED"; static. */
const char *cublaslt_status_name(int status);

/* D (m x n) = op(A) op(B), columns one after the other, as cuBLAS counts. */
struct cublaslt_shape {
	uint64_t m, n, k;
	int a, b, d;		       /* cudaDataType_t */
	int compute, scale;	       /* cublasComputeType_t; cudaDataType_t of the factor */
	bool a_turned;		       /* A is stored k x m */
	bool b_turned;		       /* B is stored n x k */
	bool fast;		       /* FP8: quick sums, of fewer bits */
	int scale_mode;		       /* of A and B; CUBLASLT_SCALE_* */
	cuda_address a_scale, b_scale; /* 0: none, every scale is 1 */
};

/* A product on one GPU. Its context is current in the thread that makes, runs and ends it. */
struct cublaslt_plan;

/* -EOPNOTSUPP: the library does not know such a product. */
int cublaslt_plan_make(struct cublaslt *l, struct cuda_gpu *g, const struct cublaslt_shape *shape,
		       struct cublaslt_plan **out, struct err *e);
void cublaslt_plan_end(struct cublaslt_plan *p);
/* At most most proposals that need no more than that workspace, the library's favourite first; *n
 * may be 0. -EOPNOTSUPP: not on this GPU. */
int cublaslt_plan_search(struct cublaslt_plan *p, size_t workspace, struct cublaslt_algorithm *out,
			 int most, int *n, struct err *e);
/*
 * Variations of an algorithm that the library accepts for this product: other tiles, clusters and
 * orders. At most most of them; how many.
 */
int cublaslt_plan_vary(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
		       size_t workspace, struct cublaslt_algorithm *out, int most);
/* The same algorithm with other options, which the library numbers without a name. */
int cublaslt_plan_options(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
			  size_t workspace, struct cublaslt_algorithm *out, int most);
struct cublaslt_buffers {
	cuda_address a, b, d, workspace;
	size_t workspace_bytes;
};
/* Queues one product. A cublasStatus_t. */
int cublaslt_multiply(struct cublaslt_plan *p, const struct cublaslt_algorithm *a,
		      const struct cublaslt_buffers *at, struct cuda_stream *s);
/* "algorithm 66, tile 20, stages 36, cluster 3, split 1" as far as the library tells. */
void cublaslt_describe(const struct cublaslt *l, const struct cublaslt_algorithm *a, char *text,
		       size_t size);

#endif
