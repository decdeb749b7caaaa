/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML tells about a GPU under load, through a door of its own: clocks, power, temperature,
 * why it is slow, and for how long it was.
 */
#ifndef BENCH_GPU_LOAD_WATCH_H
#define BENCH_GPU_LOAD_WATCH_H

#include "measure/bench/gpu_common.h"

/* Negative: not told. */
struct gpu_look {
	double at_s; /* monotonic */
	double sm_mhz, memory_mhz;
	double power_w; /* mean of the last second on most chips */
	double temperature_c;
	double busy_percent;
	long long reasons; /* bits of machine/model/gpu.h */
	/* Totals since the driver was loaded, in microseconds: the power cap held it, it was too
	 * warm (driver and hardware), the power brake was pulled from outside. */
	double capped_us, warm_us, brake_us;
	long long link_gen, link_width; /* of PCI Express at this moment */
};

struct gpu_watch {
	struct host *h; /* NULL: NVML does not know the GPU */
	char object[16];
};

void gpu_watch_open(struct gpu_watch *w, const struct gpu_place *p);
void gpu_watch_close(struct gpu_watch *w);
/* Power and temperature alone: two calls. */
void gpu_watch_brief(const struct gpu_watch *w, struct gpu_look *out);
void gpu_watch_look(const struct gpu_watch *w, struct gpu_look *out);

/* work(ctx, i) for every i below n, each in a thread of its own when there are several; returns
 * when all are done. */
void gpu_each(size_t n, void (*work)(void *ctx, size_t i), void *ctx);

#endif
