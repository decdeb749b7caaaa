/* SPDX-License-Identifier: Apache-2.0 */
/* Every bench, one file each. */
#ifndef BENCH_LIST_H
#define BENCH_LIST_H

#include "bench/bench.h"

extern const struct bench bench_memory_bandwidth, bench_memory_latency, bench_wake;

#endif
