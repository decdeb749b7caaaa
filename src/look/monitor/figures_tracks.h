/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine around the GPUs did in a recording, for figures_recording.c: processors, memory,
 * networks and disks, each a line over the moments that are kept. */
#ifndef MONITOR_FIGURES_TRACKS_H
#define MONITOR_FIGURES_TRACKS_H

#include "look/monitor/monitor.h"
#include "render/chart.h"

struct tracks;

/* Of the columns that mon has; most: moments that are ever kept. Lives in the arena, as does all it
 * holds. */
struct tracks *tracks_new(struct arena *a, const struct monitor *mon, size_t most);
/* The row at moment n - 1 of t (seconds, ascending); now is when it was taken. fresh: the first one
 * of that moment. */
void tracks_row(struct tracks *k, const double *t, size_t n, bool fresh, double now,
		const double *values);
/* Every two of the n moments become one. */
void tracks_halve(struct tracks *k, size_t n);
/* Adds the figure; nothing when none of it was recorded. */
void tracks_add(struct doc *d, const struct tracks *k, const double *t, size_t n);

#endif
