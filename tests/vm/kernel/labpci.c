// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * labpci: PCI host bridges whose silicon is an array with a write mask. What stands above it (the
 * PCI core, sysfs, pcieport, setpci, lspci) is the kernel's own. Three domains on two nodes; each
 * has two root ports with a switch below, GPUs and ConnectX network functions below that. MRRS and
 * MPS can be written, except on the one endpoint that the parameter mrrs_stuck names (counted in
 * order of creation), which drops the write as some devices do. It knows nothing of gputune.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/numa.h>

#define MAX_FUNCTIONS 32
#define CFG_SIZE 4096
#define EXP 0x40 /* where the PCI Express capability stands */

struct function {
	u8 bus, devfn;
	int endpoint; /* number of the endpoint, -1 for bridges */
	u8 value[CFG_SIZE], writable[CFG_SIZE];
};

struct lab_host {
	struct pci_sysdata sysdata;
	struct pci_bus *bus;
	struct resource range;
	struct function *functions[MAX_FUNCTIONS];
	int count;
	char name[16];
};

static struct lab_host *hosts[4];
static int host_count, endpoint_count;
static int mrrs_stuck = -1;
module_param(mrrs_stuck, int, 0644);
MODULE_PARM_DESC(mrrs_stuck, "number of the endpoint that ignores writes of its read request size");

static struct function *function_find(struct lab_host *h, u8 bus, u8 devfn)
{
	int i;

	for (i = 0; i < h->count; i++)
		if (h->functions[i]->bus == bus && h->functions[i]->devfn == devfn)
			return h->functions[i];
	return NULL;
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	struct lab_host *h = container_of(to_pci_sysdata(bus), struct lab_host, sysdata);
	struct function *f = function_find(h, bus->number, devfn);

	if (!f || where + size > CFG_SIZE) {
		*val = ~0u;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*val = 0;
	memcpy(val, f->value + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	struct lab_host *h = container_of(to_pci_sysdata(bus), struct lab_host, sysdata);
	struct function *f = function_find(h, bus->number, devfn);
	int i;

	if (!f || where + size > CFG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < size; i++) {
		u8 mask = f->writable[where + i];
		u8 byte = (u8)(val >> (8 * i));

		if (f->endpoint >= 0 && f->endpoint == mrrs_stuck &&
		    where + i == EXP + PCI_EXP_DEVCTL + 1)
			mask &= (u8)~0x70;
		f->value[where + i] = (f->value[where + i] & ~mask) | (byte & mask);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops config_ops = { .read = config_read, .write = config_write };

static void put16(u8 *a, int at, u16 v)
{
	a[at] = (u8)v;
	a[at + 1] = v >> 8;
}

static void put32(u8 *a, int at, u32 v)
{
	put16(a, at, (u16)v);
	put16(a, at + 2, v >> 16);
}

static bool is_bridge(u8 type)
{
	return type != PCI_EXP_TYPE_ENDPOINT;
}

/* What one kind of function says of itself. */
struct kind {
	u16 vendor, device;
	u32 class;
	u8 type; /* PCI_EXP_TYPE_ */
	u8 mps;	 /* as DevCap says it: 1 is 256 bytes, 2 is 512 */
};

static const struct kind root_port = { 0x8086, 0x352a, 0x060400, PCI_EXP_TYPE_ROOT_PORT, 2 };
static const struct kind upstream = { 0x1000, 0xc030, 0x060400, PCI_EXP_TYPE_UPSTREAM, 2 };
static const struct kind downstream = { 0x1000, 0xc030, 0x060400, PCI_EXP_TYPE_DOWNSTREAM, 2 };
static const struct kind gpu = { 0x10de, 0x2330, 0x030200, PCI_EXP_TYPE_ENDPOINT, 1 };
static const struct kind nic = { 0x15b3, 0x1021, 0x020700, PCI_EXP_TYPE_ENDPOINT, 2 };

static void capability_fill(u8 *c, u8 *w, const struct kind *k)
{
	const u8 speed = 5, width = 16; /* 32 GT/s x16, link trained so */
	bool slot = k->type == PCI_EXP_TYPE_DOWNSTREAM || k->type == PCI_EXP_TYPE_ROOT_PORT;

	c[EXP] = PCI_CAP_ID_EXP;
	put16(c, EXP + PCI_EXP_FLAGS, 2 | k->type << 4 | (slot ? PCI_EXP_FLAGS_SLOT : 0));
	put32(c, EXP + PCI_EXP_DEVCAP, 0x10008000 | k->mps | (is_bridge(k->type) ? 0 : 0x20));
	put16(c, EXP + PCI_EXP_DEVCTL, 0x2810);
	put16(w, EXP + PCI_EXP_DEVCTL, 0x7fff);
	put32(c, EXP + PCI_EXP_LNKCAP, 0x00400c00 | width << 4 | speed);
	put16(w, EXP + PCI_EXP_LNKCTL, 0x0fff);
	put16(c, EXP + PCI_EXP_LNKSTA,
	      width << 4 | speed | (is_bridge(k->type) ? PCI_EXP_LNKSTA_DLLLA : 0));
	put16(w, EXP + PCI_EXP_DEVCTL2, 0xffff);
	put32(c, EXP + PCI_EXP_LNKCAP2, 0x3e);
	put16(c, EXP + PCI_EXP_LNKCTL2, speed);
}

static struct function *function_add(struct lab_host *h, u8 bus, u8 dev, const struct kind *k)
{
	struct function *f = kzalloc(sizeof(*f), GFP_KERNEL);
	u8 *c, *w;

	if (!f || h->count >= MAX_FUNCTIONS) {
		kfree(f);
		return NULL;
	}
	h->functions[h->count++] = f;
	f->bus = bus;
	f->devfn = PCI_DEVFN(dev, 0);
	f->endpoint = is_bridge(k->type) ? -1 : endpoint_count++;
	c = f->value;
	w = f->writable;
	put16(c, PCI_VENDOR_ID, k->vendor);
	put16(c, PCI_DEVICE_ID, k->device);
	put16(c, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put32(c, PCI_CLASS_REVISION, k->class << 8 | 0xa1);
	c[PCI_HEADER_TYPE] = is_bridge(k->type);
	c[PCI_CAPABILITY_LIST] = EXP;
	put16(w, PCI_COMMAND, 0x0547);
	w[PCI_INTERRUPT_LINE] = 0xff;
	capability_fill(c, w, k);
	if (!is_bridge(k->type)) {
		put16(c, PCI_SUBSYSTEM_VENDOR_ID, k->vendor);
		put16(c, PCI_SUBSYSTEM_ID, k->device);
		return f;
	}
	w[PCI_PRIMARY_BUS] = w[PCI_SECONDARY_BUS] = w[PCI_SUBORDINATE_BUS] = 0xff;
	put16(w, PCI_BRIDGE_CONTROL, 0x00ff);
	/* No address window: base above limit. */
	c[PCI_IO_BASE] = 0xf0;
	put16(c, PCI_MEMORY_BASE, 0xfff0);
	put16(c, PCI_PREF_MEMORY_BASE, 0xfff0);
	if (k->type != PCI_EXP_TYPE_UPSTREAM) { /* access control services */
		put32(c, 0x100, 0x00010000 | PCI_EXT_CAP_ID_ACS);
		put16(c, 0x100 + PCI_ACS_CAP, 0x007f);
		put16(w, 0x100 + PCI_ACS_CTRL, 0x007f);
	}
	return f;
}

static void buses_set(struct function *f, u8 primary, u8 secondary, u8 last)
{
	if (!f)
		return;
	f->value[PCI_PRIMARY_BUS] = primary;
	f->value[PCI_SECONDARY_BUS] = secondary;
	f->value[PCI_SUBORDINATE_BUS] = last;
}

/* A root port on bus 0, a switch below it, GPUs and network functions below that; the next free
 * bus. */
static u8 switch_add(struct lab_host *h, u8 slot, u8 next, int gpus, int nics)
{
	struct function *port = function_add(h, 0, slot, &root_port);
	struct function *up = function_add(h, next, 0, &upstream);
	u8 inner = next + 1, bus = next + 2;
	int i;

	for (i = 0; i < gpus + nics; i++, bus++) {
		buses_set(function_add(h, inner, (u8)i, &downstream), inner, bus, bus);
		function_add(h, bus, 0, i < gpus ? &gpu : &nic);
	}
	buses_set(up, next, inner, bus - 1);
	buses_set(port, 0, next, bus - 1);
	return bus;
}

static int host_add(int domain, int node)
{
	struct lab_host *h = kzalloc(sizeof(*h), GFP_KERNEL);
	LIST_HEAD(resources);
	u8 next;

	if (!h)
		return -ENOMEM;
	h->sysdata.domain = domain;
	h->sysdata.node = node;
	snprintf(h->name, sizeof(h->name), "labpci %x", domain);
	h->range.name = h->name;
	h->range.end = 255;
	h->range.flags = IORESOURCE_BUS;
	next = switch_add(h, 1, 1, 2, 1);
	switch_add(h, 2, next, 1, 1);
	hosts[host_count++] = h;
	pci_add_resource(&resources, &h->range);
	pci_lock_rescan_remove();
	h->bus = pci_create_root_bus(NULL, 0, &config_ops, &h->sysdata, &resources);
	if (h->bus) {
		pci_scan_child_bus(h->bus);
		pci_bus_add_devices(h->bus);
	}
	pci_unlock_rescan_remove();
	return h->bus ? 0 : -ENODEV;
}

static void __exit labpci_exit(void)
{
	int i, j;

	for (i = 0; i < host_count; i++) {
		if (hosts[i]->bus) {
			pci_lock_rescan_remove();
			pci_stop_root_bus(hosts[i]->bus);
			pci_remove_root_bus(hosts[i]->bus);
			pci_unlock_rescan_remove();
		}
		for (j = 0; j < hosts[i]->count; j++)
			kfree(hosts[i]->functions[j]);
		kfree(hosts[i]);
	}
}

static int __init labpci_init(void)
{
	int domain, err = 0;

	for (domain = 0x1000; !err && domain <= 0x1002; domain++)
		err = host_add(domain, domain == 0x1002 && num_possible_nodes() > 1);
	return err; /* what was made stays: a test machine is thrown away */
}

module_init(labpci_init);
module_exit(labpci_exit);
MODULE_DESCRIPTION("PCI host bridges made of memory");
MODULE_LICENSE("GPL");
