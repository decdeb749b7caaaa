/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between a GPU and something else: the host's memory, pinned or not, on a node, or another
 * GPU's. A job is one direction with buffers of its own; jobs run side by side, one lane each.
 */
#ifndef BENCH_GPU_JOBS_H
#define BENCH_GPU_JOBS_H

#include "measure/bench/gpu_common.h"
#include "measure/bench/bench.h"

struct gpu_job {
	struct gpu_place *place; /* whose stream it is */
	struct gpu_place *other; /* the far side: a GPU; NULL: the host */
	bool in;		 /* towards place */
	bool kernel;		 /* by our kernel, else by a copy engine */
	bool pageable;		 /* the host's memory is not pinned */
	bool staged;		 /* the GPUs cannot reach each other: through the host */
	int node;		 /* of the host's memory; -1: the GPU's, or any */
	cuda_address near, far;
	void *host;
	uint64_t seed;
};

enum { GPU_JOBS_MAX = 64 };

/* Jobs with their timer. Zero-initialise but for the jobs' first members. */
struct gpu_jobs {
	struct gpu_job job[GPU_JOBS_MAX];
	size_t n, bytes; /* of each copy */
	struct gpu_timer timer;
	struct cuda_function *kernel[GPU_JOBS_MAX];
	const struct cuda_shape *shape;
};

/* Buffers, sources filled with random data and targets with other data, streams. */
int gpu_jobs_open(struct gpu_jobs *j, const struct bench_env *env, struct err *e);
void gpu_jobs_close(struct gpu_jobs *j);
/* How many copies fit in that time. */
int gpu_jobs_fit(struct gpu_jobs *j, double seconds, size_t *n, struct err *e);
/* Every job n times, all at once. *seconds: until the last was over. */
int gpu_jobs_run(struct gpu_jobs *j, size_t n, double *seconds, struct err *e);
/* Whether every target holds its source's data. */
int gpu_jobs_verify(struct gpu_jobs *j, struct err *e);

/*
 * What a GPU bench needs and what takes long, begun in threads while the facts are still being
 * read: the driver, the context of the first GPU, cuBLASLt.
 */

struct cublaslt;
struct cuda;
struct gpu_ahead;

/*
 * Call it before there are other threads: variables that change the arithmetic are taken out of the
 * environment when cuBLASLt is wanted. A context is only made where no other GPU can be meant:
 * nothing names GPUs, or there is one. NULL: it could not be begun, and nothing is lost.
 */
/* bench.ahead of those that multiply, and of those that do not. */
struct gpu_ahead *gpu_ahead_products(const struct bench_ask *ask, const char *name);
struct gpu_ahead *gpu_ahead_plain(const struct bench_ask *ask, const char *name);
/* Waits for all threads; the driver is not closed. NULL: nothing. */
void gpu_ahead_end(struct gpu_ahead *h);

/*
 * Wait for what was begun and hand it over, once: true, and *r and *e are as cuda_open or
 * cublaslt_open left them. False: it was not begun, or is taken. The driver lives until
 * gpu_ahead_end.
 */
bool gpu_ahead_driver(struct gpu_ahead *h, struct cuda **out, int *r, struct err *e);
bool gpu_ahead_cublaslt(struct gpu_ahead *h, struct cublaslt *out, int *r, struct err *e);

#endif
