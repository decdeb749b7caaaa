/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between a GPU and something else: the host's memory, pinned or not, on a node, or another
 * GPU's. A job is one direction with buffers of its own; jobs run side by side, one lane each.
 */
#ifndef BENCH_GPU_JOBS_H
#define BENCH_GPU_JOBS_H

#include "measure/bench/gpu_common.h"

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

#endif
