/* SPDX-License-Identifier: Apache-2.0 */
/* Every bench, one file each. */
#ifndef BENCH_LIST_H
#define BENCH_LIST_H

#include "measure/bench/bench.h"

extern const struct bench bench_memory_bandwidth, bench_memory_latency, bench_cpu_frequency,
	bench_wake, bench_idle_wake, bench_hand_over, bench_disk, bench_model_load, bench_tcp,
	bench_tcp_latency, bench_tcp_connect, bench_tcp_idle, bench_rdma, bench_rdma_latency,
	bench_gpu_memory, bench_gpu_latency, bench_gpu_copy, bench_gpu_launch, bench_gemm,
	bench_gpu_load, bench_collectives, bench_gds;

#endif
