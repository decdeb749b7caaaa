/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where GPUs, NICs and NVMe disks stand: NUMA node, host bridge, switches, device. Ports that only
 * lead to one thing are left out; their link is the link of what they lead to. The drawing and the
 * tree show this.
 */
#ifndef RENDER_PLACES_H
#define RENDER_PLACES_H

#include "machine/model/narrow.h"

enum place_kind {
	PLACE_MACHINE,
	PLACE_NODE,
	PLACE_ROOT,
	PLACE_SWITCH,
	PLACE_GPU,
	PLACE_NIC,
	PLACE_DISK
};

struct place {
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
	struct place **children;
	size_t n;
	size_t leaves; /* devices at and below it, at least 1 */
};

/* The machine, its children the NUMA nodes that have devices. Deterministic. spots are its narrow
 * ones, n of them. */
struct place *places_of(struct arena *a, const struct machine *m, const struct narrow *spots,
			size_t n);

#endif
