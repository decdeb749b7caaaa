/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrow spots of a machine: links that carry less than what stands at their ends could take, the
 * worst first, each with its reason. Pure: computed from facts, nothing is measured. Rates are of
 * the link, one way, before packet headers.
 */
#ifndef MODEL_NARROW_H
#define MODEL_NARROW_H

#include "machine/model/machine.h"

/* Faults first: something should be faster than it is. Then what the machine is built like. */
enum narrow_kind {
	NARROW_LANES,  /* a PCIe link trained with fewer lanes than both ends have */
	NARROW_SPEED,  /* or at a lower speed than both ends can do, and not because it rests */
	NARROW_NVLINK, /* a GPU with NVLinks that are down */
	NARROW_FAR,    /* a GPU without a near NIC, while others have one */
	NARROW_UPLINK, /* a switch whose way up carries less than one device below it takes */
	NARROW_PORT,   /* a NIC whose port is faster than its PCIe link */
	NARROW_SLOT,   /* a device that could do more than the port above it */
};

struct narrow {
	enum narrow_kind kind;
	const char *address; /* PCI address of the lower end: whose link is marked */
	const char *name;    /* "GPU 5", "mlx5_0", "nvme0n1", "switch 0000:01:00.0" */
	/* MB/s one way; NVLinks for NARROW_NVLINK; 0 for NARROW_FAR. */
	double now, could;
	const char *reason; /* a sentence without a full stop */
	bool fault;	    /* of the first four kinds */
};

/* Sorted: faults before design, faults by what part is left, design by kind and then by that; then
 * by address. Arena array of *n. */
struct narrow *narrow_spots(struct arena *a, const struct machine *m, size_t *n);

/* MB/s one way of a PCI Express link; 0 for what is no link. Source: PCI Express base
 * specification: 8b/10b up to 5 GT/s, 128b/130b up to 32, 236 of 256 bytes of a flit at 64. */
double pcie_mbs(long long mts, long long lanes);

#endif
