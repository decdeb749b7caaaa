/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that stand ready, each on a CPU of its own, and do a piece of work at the same time. */
#ifndef BENCH_WORKERS_H
#define BENCH_WORKERS_H

#include "base/err.h"
#include "base/idset.h"

struct workers;

/* One thread a CPU of cpus, pinned to it; all of them wait. -errno and *e. */
int workers_start(const struct idset *cpus, struct workers **out, struct err *e);
size_t workers_count(const struct workers *w);
/*
 * work(ctx, i) on every worker i at once; returns when all are done. The seconds between the first
 * that began and the last that ended.
 */
double workers_run(struct workers *w, void (*work)(void *ctx, size_t i), void *ctx);
void workers_end(struct workers *w);

#endif
