/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU bench needs and what takes long, begun in threads while the facts are still being
 * read: the driver, the context of the first GPU, cuBLASLt.
 */
#ifndef BENCH_GPU_AHEAD_H
#define BENCH_GPU_AHEAD_H

#include "measure/bench/bench.h"

struct cublaslt;
struct cuda;
struct gpu_preinit;

/*
 * Call it before there are other threads: variables that change the arithmetic are taken out of the
 * environment when cuBLASLt is wanted. A context is only made where no other GPU can be meant:
 * nothing names GPUs, or there is one. NULL: it could not be begun, and nothing is lost.
 */
/* bench.ahead of those that multiply, and of those that do not. */
struct gpu_preinit *gpu_preinit_products(const struct bench_ask *ask, const char *name);
struct gpu_preinit *gpu_preinit_plain(const struct bench_ask *ask, const char *name);
/* Waits for all threads; the driver is not closed. NULL: nothing. */
void gpu_preinit_end(struct gpu_preinit *h);

/*
 * Wait for what was begun and hand it over, once: true, and *r and *e are as cuda_open or
 * cublaslt_open left them. False: it was not begun, or is taken. The driver lives until
 * gpu_preinit_end.
 */
bool gpu_preinit_driver(struct gpu_preinit *h, struct cuda **out, int *r, struct err *e);
bool gpu_preinit_cublaslt(struct gpu_preinit *h, struct cublaslt *out, int *r, struct err *e);

#endif
