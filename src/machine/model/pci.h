/* SPDX-License-Identifier: Apache-2.0 */
/* PCI functions: identity, link, transfer sizes, access control, place in the tree. */
#ifndef MODEL_PCI_H
#define MODEL_PCI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fact.h"
#include "machine/model/rows.h"

struct pci_function {
	const char *name;   /* full-domain address, "0000:01:00.0" */
	const char *path;   /* /sys/devices/..., the place in the tree */
	const char *parent; /* address of the bridge above, "" under a root */
	const char *root;   /* "pci0000:00" */
	struct fact_int vendor, device, subvendor, subdevice,
		class_;				  /* PCI ids; class is 24 bits */
	struct fact_str vendor_name, device_name; /* from pci.ids where installed */
	struct fact_str driver;
	struct fact_int numa_node;
	struct fact_int iommu_group;
	struct fact_str iommu_type;	   /* "DMA", "DMA-FQ", "identity" */
	struct fact_int is_vf;		   /* 1: has a physfn link */
	struct fact_int switch_management; /* 1: see is_switch_management() */
	struct fact_str runtime_status;	   /* "active", "suspended" */
	/* Configuration space. A function that answers all ones has config.seen == error. */
	struct fact_int config_bytes; /* how much of it this user could read: 64, 256 or 4096 */
	struct fact_int
		pcie_cap; /* offset of the PCI Express capability; absent: conventional PCI */
	struct fact_int
		port_type; /* PCIe device/port type, 0 endpoint, 4 root port, 5 up, 6 down */
	struct fact_int speed_mts, max_speed_mts; /* link, MT/s: 2500 .. 64000 */
	struct fact_int width, max_width;	  /* lanes */
	struct fact_int mps, mps_cap;		  /* Max Payload Size now and capable, bytes */
	struct fact_int mrrs;			  /* Max Read Request Size, bytes */
	struct fact_int relaxed_ordering;	  /* DevCtl bit 4 */
	struct fact_int aspm;			  /* LnkCtl bits 1:0: 0 off, 1 L0s, 2 L1, 3 both */
	struct fact_int acs_cap, acs_ctrl;	  /* ACS capability and control words */
	struct fact_int rebar_bytes, rebar_max_bytes; /* Resizable BAR of BAR1/0: now and largest */
	struct fact_int aer_correctable, aer_fatal, aer_nonfatal; /* totals since boot */
	struct fact_int sriov_numvfs;
};

extern const struct shape pci_function_shape;

/* Length of the address ("0000:01:00.0", domains of four to eight digits) or of the root bus
 * ("pci0000:00") that is the whole path component at s; 0 when the component is something else. */
size_t pci_address_length(const char *s);
size_t pci_root_length(const char *s);
/* The order of addresses on the bus: bus, device and function are hexadecimal numbers of fixed
 * width; domains above ffff are longer. */
int pci_bus_order(const char *a, const char *b);

/* Base class of a 24-bit class code: 0x03 display, 0x02 network, 0x06 bridge, 0x01 storage. */
static inline unsigned pci_base_class(const struct pci_function *p)
{
	return (unsigned)(fact_or(&p->class_, 0) >> 16) & 0xff;
}

/* An NVIDIA GPU as a PCI function. */
bool is_nvidia_display(const struct pci_function *p);
/* "GB10", "RTX Spark N1X": a GPU of the chip family that shares the processor's memory; its PCIe
 * link is a placeholder. NULL for any other function. */
const char *gb10_name(const struct pci_function *p);
/* An NVSwitch as a PCI function: up to the third generation (HGX A100, H100, H200). */
bool is_nvswitch(const struct pci_function *p);
/* A function by which NVLink Subnet Manager reaches the NVSwitches of a B200 or B300 baseboard. It
 * looks like a ConnectX-7 and is no NIC: its ports stand in network.switch_ports alone. */
bool is_switch_management(const struct pci_function *p);

/*
 * Registers of PCI configuration space in a buffer, and its capabilities found by walking the
 * lists, never at fixed places. The bytes are untrusted: devices answer all ones when they are
 * gone, and lists can loop.
 */

/* The first 64 bytes are all that a normal user gets. */
enum { PCI_SPACE_HEADER = 64 };

struct pci_space {
	const unsigned char *b;
	size_t len;
};

/* Little-endian registers; all ones behind the end, as the bus itself answers. */
unsigned pci_get16(const struct pci_space *s, size_t at);
unsigned pci_get32(const struct pci_space *s, size_t at);
/* Normal, bridge or CardBus, without the bit for several functions. Needs the header. */
unsigned pci_header_type(const struct pci_space *s);
/* Offset of a capability; 0 when the list ends, leaves the space or loops. Needs the header. */
size_t pci_find_capability(const struct pci_space *s, unsigned id);
/* The same of the lists behind byte 256. */
size_t pci_find_extended(const struct pci_space *s, unsigned id);
/* A device that is gone answers all ones everywhere; a virtual function only for vendor and
 * device. Needs the header. */
bool pci_all_ones(const struct pci_space *s);

/* "NVIDIA GH100 [H200 SXM 141GB]", "PCI bridge 1000:c030", by pci.ids where it was there. */
const char *pci_name(struct arena *a, const struct pci_function *f);

#endif
