/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One product on one GPU: its matrices of random data, the algorithm that was found to be the
 * fastest, batches of it timed by the device, and the proof that what came out is right.
 */
#ifndef BENCH_GEMM_UNIT_H
#define BENCH_GEMM_UNIT_H

#include <stdatomic.h>

#include "measure/bench/gemm_type.h"
#include "measure/bench/gpu_common.h"
#include "machine/cuda/cublaslt.h"
#include "machine/cuda/cusparselt.h"

struct gemm_dims {
	uint64_t m, n, k;
};

/* What the search found. It holds for one product on one kind of GPU and library. */
struct gemm_choice {
	bool made;
	bool a_turned, b_turned; /* stored with k running fastest, and with n */
	bool fast;		 /* FP8 with quick sums */
	struct cublaslt_algorithm algorithm;
	struct cusparselt_choice sparse; /* instead, of a sparse product */
	double seconds;			 /* of one product, when it was found */
	size_t tried;			 /* algorithms that ran */
	char text[160];
};

struct gemm_unit {
	struct gpu_place *place;
	struct cuda_gpu *gpu;
	struct cublaslt *lt;
	struct cusparselt *sparse_lt; /* instead, of a sparse product; set before it is made */
	const struct gemm_type *type;
	struct gemm_dims dims;
	struct gemm_choice choice;
	const atomic_bool *stop; /* may be NULL */
	unsigned checks;	 /* products of a glance whose bits are compared */
	/* Told during a search: seconds of one product of what was just timed. NULL: not called.
	 */
	void (*tell)(void *ctx, double seconds);
	void *tell_ctx;

	struct cuda_stream *stream;
	struct cuda_event *begin, *end;
	struct cuda_module *module, *zeros;
	struct cuda_function *fill, *scan, *clock, *prune, *fours;
	cuda_address a, b, d, workspace, scales_a, scales_b;
	cuda_address packed; /* A without its zeros, of a sparse product */
	cuda_address out;    /* two words of results */
	size_t workspace_bytes, d_bytes;
	struct cublaslt_plan *plan;
	struct cusparselt_plan *sparse;
	/* What the elements of A and B are drawn from: GEMM_TABLE values each. */
	double *values_a, *values_b;
	double *values_scale; /* the same of both scales; NULL: there are none */
	bool have_sum;
	uint64_t sum;	  /* of the result's bits, of the first product that was checked */
	size_t n_checked; /* products whose bits were compared with it */
};

enum { GEMM_WORKSPACE = 64 << 20, GEMM_SAMPLES = 256, GEMM_WAIT_S = 60, GEMM_THREADS = 256 };

/*
 * Everything but the choice: memory, data, kernels. The GPU's context is current in this thread
 * then. *u is zeroed, or set up; gemm_unit_end either way.
 */
int gemm_unit_make(struct gemm_unit *u, struct gpu_place *place, struct cublaslt *lt,
		   const struct gemm_type *t, struct gemm_dims dims, struct err *e);
void gemm_unit_end(struct gemm_unit *u);
/* The user asked to stop. */
static inline bool gemm_stopped(const struct gemm_unit *u)
{
	return u->stop && atomic_load(u->stop);
}
/* 0, or -EINTR. */
static inline int gemm_look_stop(const struct gemm_unit *u, struct err *e)
{
	return gemm_stopped(u) ? err_set(e, -EINTR, "interrupted") : 0;
}

/* *seconds: of one product by the library's first proposal, measured for so long: a first figure.
 * -EOPNOTSUPP: that one does not run, which says nothing of others. */
int gemm_unit_glance(struct gemm_unit *u, double for_s, double *seconds, struct err *e);
/* Finds the fastest algorithm (gemm_search.c), or takes the one that was found before. */
int gemm_unit_choose(struct gemm_unit *u, struct gemm_choice *known, double budget_s,
		     struct err *e);

/* Queues n products and the event after them. */
int gemm_unit_start(struct gemm_unit *u, size_t n, struct err *e);
/* Waits for it; seconds of one product. */
int gemm_unit_finish(struct gemm_unit *u, size_t n, double *seconds, struct err *e);
/* The clock that the multiprocessors have at this moment, MHz, by their own counter. */
int gemm_unit_clock(struct gemm_unit *u, double *mhz, struct err *e);

/* One more product over a poisoned result: all written, no NaN, the same bits as the first time. */
int gemm_unit_repeat(struct gemm_unit *u, struct err *e);
/* GEMM_SAMPLES entries of the result against sums in double precision. */
int gemm_unit_sample(struct gemm_unit *u, struct err *e);
/* Flips one bit of one element and looks whether the check sees it; the result is broken after. */
int gemm_unit_plant(struct gemm_unit *u, struct err *e);
/* The shape as cuBLASLt wants it. */
void gemm_unit_shape(const struct gemm_unit *u, const struct gemm_choice *c,
		     struct cublaslt_shape *out);

/* The matrices and scales of a product, drawn on the GPU; and products with a sparse matrix. */

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

/* gemm_unit_glance and gemm_unit_choose of a sparse product. */
int gemm_sparse_glance(struct gemm_unit *u, double for_s, double *seconds, struct err *e);
int gemm_sparse_choose(struct gemm_unit *u, struct gemm_choice *known, struct err *e);

/*
 * Our own small kernels around matrix products, as PTX that every driver since CUDA 10.1 compiles:
 *
 *   gemm_fill(u64 to, u64 words, u64 table, u64 seed, u32 bits)
 *       draws codes of that many bits from the table, see gemm_type.h
 *   gemm_scan(u64 from, u64 words, u64 out, u64 mask, u64 want, u32 bits)
 *       adds to out[0] a checksum over all words that depends on their places, and to out[1] how
 *       many codes have want in the bits of mask
 *   gemm_prune(u64 at, u64 words, u64 seed, u32 bits)
 *       makes two of every four codes (of 16 or 8 bits) in a row nought, see gemm_stays
 *   gemm_fours(u64 at, u64 words, u64 out, u32 bits)
 *       adds to out[0] how many fours have more than two codes that are not nought
 *   gemm_clock(u64 out, u64 ns)
 *       one thread that spins for ns nanoseconds; out[0] cycles and out[1] nanoseconds that passed
 *
 * Words are of 8 bytes. Grids may have any size.
 */
/* gemm_prune and gemm_fours stand in the second. */
extern const char gemm_ptx[], gemm_zeros_ptx[];

#endif
