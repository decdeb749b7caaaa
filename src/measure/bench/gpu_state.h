/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What held a GPU back while it was measured: the totals that its driver keeps, before and after.
 * A bit mask that is looked at now and then misses what is short; totals do not.
 */
#ifndef BENCH_GPU_STATE_H
#define BENCH_GPU_STATE_H

#include "measure/bench/gpu_load_watch.h"

struct gpu_state {
	struct gpu_watch watch;
	struct gpu_look before;
	bool begun;
};

void gpu_state_begin(struct gpu_state *s, const struct gpu_place *p);
/* Appends to text what held it for more than a hundredth of the time, nothing on a free run:
 * "; held by its power cap 12 % of the time". Ends s. */
void gpu_state_end(struct gpu_state *s, char *text, size_t size);
/* Appends how the PCI Express link runs now, while it is used, when that is less than it could:
 * "; its link runs at generation 3 with 8 lanes, not 5 with 16". */
void gpu_state_link(const struct gpu_place *p, char *text, size_t size);

#endif
