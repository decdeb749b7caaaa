/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings as charts of a document. Each adds nothing where there is nothing to show. What is
 * shown has to live as long as the document.
 */
#ifndef MONITOR_FIGURES_RECORDING_H
#define MONITOR_FIGURES_RECORDING_H

#include <stdint.h>

#include "render/chart.h"
#include "look/monitor/monitor.h"

struct monitor;

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
