/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all benches. */
#include "bench/list.h"

#include <string.h>

const struct bench *const benches[] = {
	&bench_memory_bandwidth,
	&bench_memory_latency,
	&bench_wake,
};
const size_t bench_count = sizeof(benches) / sizeof(benches[0]);

const struct bench *bench_find(const char *name)
{
	for (size_t i = 0; i < bench_count; i++)
		if (strcmp(benches[i]->name, name) == 0)
			return benches[i];
	return NULL;
}

void bench_case_add(struct arena *a, struct bench_cases *cases, struct bench_case c)
{
	cases->items = arena_grow(a, cases->items, cases->n, sizeof(*cases->items));
	cases->items[cases->n++] = c;
}
