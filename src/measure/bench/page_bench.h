/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of bench and compare. */
#ifndef BENCH_PAGE_BENCH_H
#define BENCH_PAGE_BENCH_H

#include "measure/bench/compare.h"
#include "render/doc.h"

/* One result: figures with interval and limit, what has to be known of them, conditions. verbose:
 * methods, placements, fingerprint. */
struct doc *page_bench(struct arena *a, const struct record *r, bool verbose);
/* What is kept, newest last. */
struct doc *page_bench_list(struct arena *a, const struct record *items, size_t n);
/* What can be measured: names and sentences, in pairs. */
void page_bench_names(struct doc *d, const struct record_pair *names, size_t n);
/* From each GPU to each, and from each node of the host: tables of the copy and latency benches'
 * pairs, where there are at least two. */
void page_bench_matrix(struct doc *d, const struct record *r);
/* Does it stand in one of these tables, beside the diagonal? */
bool page_bench_is_pair(const struct record_case *c);
struct doc *page_compare(struct arena *a, const struct compare *c);

#endif
