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

#endif
