/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of bench and compare. */
#ifndef BENCH_PAGE_BENCH_H
#define BENCH_PAGE_BENCH_H

#include "measure/bench/record.h"
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

/*
 * Measurements of one bench of a record as charts of a document. Each adds nothing where there is
 * nothing to show. What is shown has to live as long as the document.
 */

/* The first figure of each case with its interval, limit and band; not of cases that
 * figures_sweeps draws, nor of pairs of GPUs, which stand in matrices. */
void figures_bars(struct doc *d, const struct record *r, const char *bench);
/* Cases that several of these results have, oldest first, as one chart a unit. */
void figures_over_time(struct doc *d, const struct record *items, size_t n);
/* Figures over sizes, both logarithmic, a line a kind of case: where there are three sizes. */
void figures_sweeps(struct doc *d, const struct record *r, const char *bench);
/* How the samples lie: of cases in two states, on every medium; of all, few as they are, in HTML.
 */
void figures_spreads(struct doc *d, const struct record *r, bool all);
/* p50 to max of single observations, logarithmic. */
void figures_percentiles(struct doc *d, const struct record *r);
/* "all-reduce:8MiB:in-place" is 8 MiB of "all-reduce:in-place"; false: its name has no size. */
bool figures_size(struct arena *a, const char *name, double *bytes, const char **kind);
/* SVG of latencies over sizes; NULL: there are too few. */
const char *figures_sweep_svg(struct arena *a, const struct record *r, const char *bench,
			      const char *title);

#endif
