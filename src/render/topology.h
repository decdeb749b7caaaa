/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine's topology. Where GPUs, NICs and NVMe disks stand: NUMA node, host bridge, switches,
 * device. Ports that only lead to one thing are left out; their link is the link of what they lead
 * to. The same in words: for drawings, for tables, and for who cannot see either. And as drawings.
 */
#ifndef RENDER_TOPOLOGY_H
#define RENDER_TOPOLOGY_H

#include "machine/model/machine.h"
#include "machine/model/topology.h"

enum place_kind {
	PLACE_MACHINE,
	PLACE_NODE,
	PLACE_ROOT,
	PLACE_SWITCH,
	PLACE_GPU,
	PLACE_NIC,
	PLACE_DISK
};

struct topology_place {
	enum place_kind kind;
	const char *label;     /* "GPU 0", "mlx5_0", "nvme0n1", "switch", "pci0000:15", "NUMA 0" */
	const char *detail;    /* "NVIDIA H200", "400 Gb/s", "CPUs 0-47"; "" when there is none */
	const char *address;   /* PCI address, "" for nodes and roots */
	const char *link;      /* upwards: "Gen5 x16", "on the chip"; NULL: not seen */
	const char *link_max;  /* what this end could do */
	size_t spot;	       /* number of its narrow spot, from 1; 0: none */
	bool degraded;	       /* and that is a fault, not how the machine is built */
	bool link_narrow;      /* it is the link that is narrow, not what the device does beside */
	const struct gpu *gpu; /* PLACE_GPU that NVML knows */
	struct topology_place **children;
	size_t n;
	size_t leaves; /* devices at and below it, at least 1 */
};

/* The machine, its children the NUMA nodes that have devices. Deterministic. spots are its narrow
 * ones, n of them. */
struct topology_place *places_of(struct arena *a, const struct machine *m,
				 const struct narrow *spots, size_t n);

/* --- words ------------------------------------------------------------------------------------ */
/* "NVSwitch: 8 GPUs, 18 links each, 26.6 GB/s a link and direction"; NULL where no NVLink is up. */
const char *fabric_text(struct arena *a, const struct machine *m);
/* Active and all NVLinks of a GPU. g may be NULL. */
size_t nvlinks_up(const struct gpu *g);
/* Where they lead: "4+5+5+4 to 4 NVSwitches", "GPU 1 x2, GPU 3 x4", "ends not visible here"; "" for
 * none. */
const char *nvlink_ends(struct arena *a, const struct machine *m, const struct gpu *g);
/* Addresses of the NVSwitches that GPUs are linked to, sorted, and how many links lead to each;
 * arena array of *n. */
struct nvswitch {
	const char *address;
	size_t links;
};
struct nvswitch *nvswitches(struct arena *a, const struct machine *m, size_t *n);

/* "Bottleneck: GPU 5 (0000:a3:00.0): 8 of 16 lanes ..."; what to say where there is none. */
const char *bottleneck_text(struct arena *a, const struct narrow *spots, size_t n,
			    const struct topology_place *machine);
/* "Gen5 x8 of Gen5 x16", "Gen5 x16", NULL: not seen. */
const char *link_text(struct arena *a, const struct topology_place *p);
/* The whole drawing as sentences, from each NUMA node down, then NVLink, then what is narrow. */
const char *topology_words(struct arena *a, const struct machine *m,
			   const struct topology_place *machine, const struct narrow *spots,
			   size_t n);

/* --- drawings --------------------------------------------------------------------------------- */
/* Drawings as SVG text: self-contained, escaped, the same for the same facts. */

/* The machine from its NUMA nodes down to GPUs, NICs and NVMe disks, with every link and what is
 * narrow. In the arena. Wide: 1,200 pixels and more; tall: 360, for a telephone. Both carry the
 * whole content as a description for who cannot see them. */
const char *svg_topology(struct arena *a, const struct machine *m);
const char *svg_topology_tall(struct arena *a, const struct machine *m);

#endif
