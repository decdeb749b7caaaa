/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements, proofs and recordings as charts of a document. Each adds nothing where there is
 * nothing to show. Records, ledgers and proofs have to live as long as the document.
 */
#ifndef VIEW_FIGURES_H
#define VIEW_FIGURES_H

#include <stdint.h>

#include "bench/record.h"
#include "prove/ledger.h"
#include "view/chart.h"

struct monitor;
struct proof;

/* --- figures_bench.c: of one bench of a record ---------------------------------------------------
 */
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

/* --- figures_proof.c ----------------------------------------------------------------------------
 */
/* The newest verdict of each setting and target on this machine: after over before. */
void figures_ledger(struct doc *d, const struct ledger *l);
/* One proof: its effect, what its guards saw, of many settings each one's, and how the pairs lie.
 */
void figures_proof(struct doc *d, const struct proof *p);

/* --- figures_recording.c ------------------------------------------------------------------------
 */
/*
 * Clock, power, temperature, use, memory and throttling of each GPU of a recording, and CPUs,
 * memory, networks and disks of the machine. timeline_row is what recording_read calls, with a
 * struct timeline as ctx; it takes in every row and keeps at most TIMELINE_KEPT of them: of more,
 * neighbours are thrown together, and where it was throttled in between is not lost.
 */
enum { TIMELINE_KEPT = 4096, TIMELINE_GPUS = 16 };
struct timeline;
/* mon: the columns of the recording; it has to live as long. recording_read fills it before the
 * first row. */
struct timeline *timeline_new(struct arena *a, const struct monitor *mon);
bool timeline_row(void *ctx, int64_t ms, const double *values);
/* Adds a figure a GPU, and one of the machine. */
void timeline_add(struct doc *d, const struct timeline *t);

#endif
