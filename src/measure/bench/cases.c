/* SPDX-License-Identifier: Apache-2.0 */
/* The list of cases that a bench makes. */
#include "measure/bench/bench.h"

void bench_case_add(struct arena *a, struct bench_cases *cases, struct bench_case c)
{
	cases->items = arena_grow(a, cases->items, cases->n, sizeof(*cases->items));
	cases->items[cases->n++] = c;
}

void bench_case_absent(struct arena *a, struct bench_cases *cases, const char *name,
		       const char *why)
{
	cases->absent = arena_grow(a, cases->absent, cases->n_absent, sizeof(*cases->absent));
	cases->absent[cases->n_absent++] = (struct record_skip){ name, why };
}
