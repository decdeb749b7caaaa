/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much counters grew since an earlier reading of the same machine (machine.earlier). A count by
 * itself is no rate: it may be years old. Pure.
 */
#ifndef SETTINGS_GROWTH_H
#define SETTINGS_GROWTH_H

#include "machine/model/machine.h"

/* Seconds between the two readings; 0 when there is no earlier one, or no time of one of them. */
long long growth_seconds(const struct machine *m);
/*
 * By how much the counter grew. A counter that is smaller than it was has been reset in between:
 * what it has now is the least that it grew. -1 when one of the two was not seen.
 */
long long growth(const struct fact_int *now, const struct fact_int *before);
/* "in 2 h", "in 40 min", "in 12 s". */
const char *growth_span(struct arena *a, const struct machine *m);

/* The same object in the earlier reading: NULL when there is none, or when another one stands in
 * its place (a GPU with another UUID, a port with another board). */
const struct gpu *earlier_gpu(const struct machine *m, const struct gpu *g);
const struct nvlink *earlier_link(const struct gpu *before, const struct nvlink *l);
const struct rdma_port *earlier_port(const struct machine *m, const struct rdma_port *p);
const struct pci_function *earlier_pci(const struct machine *m, const struct pci_function *p);

#endif
