/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How near devices are to each other, in the classes of `nvidia-smi topo -m`. Pure: computed from
 * the places in the PCI tree, the NUMA nodes and the NVLinks that the probes saw.
 */
#ifndef MODEL_TOPOLOGY_H
#define MODEL_TOPOLOGY_H

#include "machine/model/machine.h"

/* Nearest first, so that classes compare with "<". Source: the legend of nvidia-smi topo -m;
 * nvml.h's nvmlGpuTopologyLevel_t (single switch, multiple switches, host bridge, node, system). */
enum path_class {
	PATH_SELF,
	PATH_NV,   /* NVLinks; how many is topology_nvlinks() */
	PATH_PIX,  /* at most one PCIe switch, or functions of one device */
	PATH_PXB,  /* several switches, without the host bridge */
	PATH_PHB,  /* over the PCIe host bridge */
	PATH_NODE, /* over the interconnect between host bridges of one NUMA node */
	PATH_SYS,  /* over the interconnect between NUMA nodes */
	PATH_UNKNOWN,
};

/* "X", "NV", "PIX", ..., "?" */
const char *path_class_name(enum path_class c);
/* Between two PCI functions by address. PATH_UNKNOWN when one of them is not visible, or when they
 * stand under different host bridges of a machine with several NUMA nodes and firmware did not say
 * which theirs are. Never PATH_NV. */
enum path_class topology_path(const struct machine *m, const char *a, const char *b);
/* Active NVLinks between two GPUs: direct ones, or through NVSwitches the smaller number of the
 * two. */
size_t topology_nvlinks(const struct machine *m, const struct gpu *a, const struct gpu *b);

/* A device of the matrix. */
struct endpoint {
	const char *name; /* "GPU0", "mlx5_0", "nvme0n1" */
	const char *pci;
	const struct gpu *gpu;		     /* NULL for other devices */
	bool nic;			     /* a network adapter; neither this nor a GPU: a disk */
	const struct pci_function *function; /* NULL when it is not visible */
};

/* GPUs, then RDMA devices or else network interfaces, then NVMe disks; each with a PCI address. In
 * the arena. */
struct endpoint *topology_endpoints(struct arena *a, const struct machine *m, size_t *n);
enum path_class topology_between(const struct machine *m, const struct endpoint *a,
				 const struct endpoint *b);
/* The network adapter nearest to this GPU, the first of several; NULL when there is none or nothing
 * is known. */
const struct endpoint *topology_nearest_nic(const struct machine *m, const struct endpoint *list,
					    size_t n, const struct gpu *g);

/*
 * Narrow spots of a machine: links that carry less than what stands at their ends could take, the
 * worst first, each with its reason. Pure: computed from facts, nothing is measured. Rates are of
 * the link, one way, before packet headers.
 */

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
