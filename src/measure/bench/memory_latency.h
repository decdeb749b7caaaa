/* SPDX-License-Identifier: Apache-2.0 */
/* Memory to measure: how much, on which pages, on which node. */
#ifndef BENCH_MEMORY_LATENCY_H
#define BENCH_MEMORY_LATENCY_H

#include "measure/bench/bench.h"

enum memory_pages { PAGES_SMALL, PAGES_HUGE };

/*
 * Anonymous memory, not touched yet, asked to be on small or on (transparent) huge pages; node >= 0
 * binds it there. -errno and *e.
 */
int memory_map(size_t bytes, enum memory_pages pages, int node, void **out, struct err *e);
void memory_unmap(void *p, size_t bytes);
/* Bytes of all last-level caches together, and of one; 0: not known. */
long long memory_cache_total(const struct machine *m);

#endif
