/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements of one bench of a record as charts of a document. Each adds nothing where there is
 * nothing to show. What is shown has to live as long as the document.
 */
#ifndef BENCH_FIGURES_BENCH_H
#define BENCH_FIGURES_BENCH_H

#include "measure/bench/record.h"
#include "render/chart.h"

/* The first figure of each case with its interval, limit and band; not of cases that
 * figures_sweeps draws, nor of pairs of GPUs, which stand in matrices. */
void figures_bars(struct doc *d, const struct record *r, const char *bench);
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
