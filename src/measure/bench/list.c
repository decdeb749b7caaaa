/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all benches. */
#include "measure/bench/bench.h"

#include <string.h>

const struct bench *const benches[] = {
	&bench_memory_bandwidth,
	&bench_memory_latency,
	&bench_cpu_frequency,
	&bench_wake,
	&bench_idle_wake,
	&bench_hand_over,
	&bench_disk,
	&bench_model_load,
	&bench_tcp,
	&bench_tcp_latency,
	&bench_tcp_connect,
	&bench_tcp_idle,
	&bench_rdma,
	&bench_rdma_latency,
	&bench_gpu_memory,
	&bench_gpu_latency,
	&bench_gpu_copy,
	&bench_gpu_launch,
	&bench_gemm,
	&bench_gpu_load,
	&bench_collectives,
	&bench_gds,
};
const size_t bench_count = sizeof(benches) / sizeof(benches[0]);

const struct bench *bench_find(const char *name)
{
	for (size_t i = 0; i < bench_count; i++)
		if (strcmp(benches[i]->name, name) == 0)
			return benches[i];
	return NULL;
}

int bench_unknown(struct err *e, const char *name)
{
	struct near_word near = near_word_to(name);

	for (size_t i = 0; i < bench_count; i++)
		near_word_try(&near, benches[i]->name, benches[i]->name);
	err_set(e, -EINVAL, "unknown bench \"%s\"", name);
	err_hint_near(e, near.word, "\"gputune list benches\" lists all");
	return -EINVAL;
}
