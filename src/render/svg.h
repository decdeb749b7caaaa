/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings as SVG text: self-contained, escaped, the same for the same facts. */
#ifndef RENDER_SVG_H
#define RENDER_SVG_H

#include "machine/model/machine.h"

/* The machine from its NUMA nodes down to GPUs, NICs and NVMe disks, with every link and what is
 * narrow. In the arena. Wide: 1,200 pixels and more; tall: 360, for a telephone. Both carry the
 * whole content as a description for who cannot see them. */
const char *svg_topology(struct arena *a, const struct machine *m);
const char *svg_topology_tall(struct arena *a, const struct machine *m);

#endif
