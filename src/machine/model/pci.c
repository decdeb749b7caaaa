/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/pci.h: key, title, unit and place of every fact; and how
 * addresses are written. */
#include "machine/model/pci.h"

#include <linux/pci_regs.h>
#include <string.h>

static bool component_ends(char c)
{
	return c == '\0' || c == '/';
}

/* strspn() would make a table of the digits each time; paths are asked at every component. */
static size_t hex_length(const char *s)
{
	size_t n = 0;

	while ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f') ||
	       (s[n] >= 'A' && s[n] <= 'F'))
		n++;
	return n;
}

/* "DDDD:BB" */
static size_t bus_length(const char *s)
{
	size_t n = hex_length(s);

	return n >= 4 && n <= 8 && s[n] == ':' && hex_length(s + n + 1) == 2 ? n + 3 : 0;
}

size_t pci_address_length(const char *s)
{
	size_t n = bus_length(s);

	if (!n || s[n] != ':' || hex_length(s + n + 1) != 2 || s[n + 3] != '.' || s[n + 4] < '0' ||
	    s[n + 4] > '7' || !component_ends(s[n + 5]))
		return 0;
	return n + 5;
}

int pci_bus_order(const char *a, const char *b)
{
	size_t n = strlen(a), k = strlen(b);

	return n != k ? (n < k ? -1 : 1) : strcmp(a, b);
}

size_t pci_root_length(const char *s)
{
	size_t n = strncmp(s, "pci", 3) == 0 ? bus_length(s + 3) : 0;

	return n && component_ends(s[n + 3]) ? n + 3 : 0;
}

/* clang-format off */
const struct shape pci_function_shape = SHAPE_OF(pci_function, pci_function,
	FACT_NAME(pci_function, name, "Name"),
	FACT_NAME(pci_function, path, "Path"),
	FACT_NAME(pci_function, parent, "Parent"),
	FACT_NAME(pci_function, root, "Root"),
	FACT_HEX(pci_function, vendor, "Vendor"),
	FACT_HEX(pci_function, device, "Device"),
	FACT_HEX(pci_function, subvendor, "Subvendor"),
	FACT_HEX(pci_function, subdevice, "Subdevice"),
	{ "class", NULL, "Class", NULL, SHAPE_FACT_HEX(pci_function, class_) },
	FACT(pci_function, vendor_name, "Vendor name", NULL),
	FACT(pci_function, device_name, "Device name", NULL),
	FACT(pci_function, driver, "Driver", NULL),
	FACT(pci_function, numa_node, "NUMA node", NULL),
	FACT(pci_function, iommu_group, "IOMMU group", NULL),
	FACT(pci_function, iommu_type, "IOMMU type", NULL),
	FACT_FLAG(pci_function, is_vf, "Is VF"),
	FACT_FLAG(pci_function, switch_management, "Manages NVSwitches"),
	FACT(pci_function, runtime_status, "Runtime status", NULL),
	FACT(pci_function, config_bytes, "Config", "bytes"),
	FACT_HEX(pci_function, pcie_cap, "PCIe cap"),
	FACT(pci_function, port_type, "Port type", NULL),
	FACT(pci_function, speed_mts, "Speed", "MT/s"),
	FACT(pci_function, max_speed_mts, "Maximum speed", "MT/s"),
	{ "width_lanes", NULL, "Width", "lanes", SHAPE_FACT(pci_function, width) },
	{ "max_width_lanes", NULL, "Maximum width", "lanes", SHAPE_FACT(pci_function, max_width) },
	{ "mps_bytes", NULL, "MPS", "bytes", SHAPE_FACT(pci_function, mps) },
	{ "mps_cap_bytes", NULL, "MPS cap", "bytes", SHAPE_FACT(pci_function, mps_cap) },
	{ "mrrs_bytes", NULL, "MRRS", "bytes", SHAPE_FACT(pci_function, mrrs) },
	FACT_FLAG(pci_function, relaxed_ordering, "Relaxed ordering"),
	FACT(pci_function, aspm, "ASPM", NULL),
	FACT_HEX(pci_function, acs_cap, "ACS cap"),
	FACT_HEX(pci_function, acs_ctrl, "ACS ctrl"),
	FACT(pci_function, rebar_bytes, "Resizable BAR", "bytes"),
	FACT(pci_function, rebar_max_bytes, "Resizable BAR maximum", "bytes"),
	FACT(pci_function, aer_correctable, "AER correctable", NULL),
	FACT(pci_function, aer_fatal, "AER fatal", NULL),
	FACT(pci_function, aer_nonfatal, "AER nonfatal", NULL),
	FACT(pci_function, sriov_numvfs, "SR-IOV VFs", NULL));
/* clang-format on */

/* Walks over the capability lists of configuration space that end whatever the bytes say. */

enum { STANDARD_HOPS = 48, EXTENDED_HOPS = 480, EXTENDED_START = 0x100 };

unsigned pci_get16(const struct pci_space *s, size_t at)
{
	return at + 2 <= s->len ? s->b[at] | (unsigned)s->b[at + 1] << 8 : 0xffff;
}

unsigned pci_get32(const struct pci_space *s, size_t at)
{
	return at + 4 <= s->len ? pci_get16(s, at) | pci_get16(s, at + 2) << 16 : 0xffffffffu;
}

unsigned pci_header_type(const struct pci_space *s)
{
	return s->b[PCI_HEADER_TYPE] & 0x7f;
}

size_t pci_find_capability(const struct pci_space *s, unsigned id)
{
	bool cardbus = pci_header_type(s) == PCI_HEADER_TYPE_CARDBUS;
	size_t at = s->b[cardbus ? PCI_CB_CAPABILITY_LIST : PCI_CAPABILITY_LIST] & ~3u;

	if (!(pci_get16(s, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (int hops = 0; hops < STANDARD_HOPS && at >= 0x40 && at + 2 <= s->len; hops++) {
		if (s->b[at] == 0xff)
			return 0;
		if (s->b[at] == id)
			return at;
		at = s->b[at + 1] & ~3u;
	}
	return 0;
}

size_t pci_find_extended(const struct pci_space *s, unsigned id)
{
	size_t at = EXTENDED_START;

	for (int hops = 0; hops < EXTENDED_HOPS && at >= EXTENDED_START && at + 4 <= s->len;
	     hops++) {
		unsigned header = pci_get32(s, at);

		if (header == 0 || header == 0xffffffffu)
			return 0;
		if (PCI_EXT_CAP_ID(header) == id)
			return at;
		at = PCI_EXT_CAP_NEXT(header);
	}
	return 0;
}

bool pci_all_ones(const struct pci_space *s)
{
	for (size_t i = 0; i < PCI_SPACE_HEADER; i++)
		if (s->b[i] != 0xff)
			return false;
	return true;
}

/* Short names of PCI functions: vendors that matter here, and class codes in words. */

/* "VGA", "network", "NVMe", "bridge", "USB": the class in a word. */
static const char *pci_class_word(const struct pci_function *f)
{
	/* PCI Code and ID Assignment: base class and subclass. */
	static const struct {
		unsigned class_, mask;
		const char *word;
	} words[] = {
		{ 0x0108, 0xffff, "NVMe" },	   { 0x0106, 0xffff, "SATA" },
		{ 0x0100, 0xff00, "storage" },	   { 0x0207, 0xffff, "InfiniBand" },
		{ 0x0200, 0xffff, "Ethernet" },	   { 0x0200, 0xff00, "network" },
		{ 0x0300, 0xff00, "GPU" },	   { 0x0400, 0xff00, "audio/video" },
		{ 0x0500, 0xff00, "memory" },	   { 0x0600, 0xffff, "host bridge" },
		{ 0x0604, 0xffff, "PCI bridge" },  { 0x0680, 0xffff, "bridge" },
		{ 0x0600, 0xff00, "bridge" },	   { 0x0700, 0xff00, "serial" },
		{ 0x0800, 0xff00, "system" },	   { 0x0c03, 0xffff, "USB" },
		{ 0x0c00, 0xff00, "bus" },	   { 0x0d00, 0xff00, "wireless" },
		{ 0x1200, 0xff00, "accelerator" },
	};
	unsigned c = (unsigned)(fact_or(&f->class_, 0xff0000) >> 8) & 0xffff;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((c & words[i].mask) == words[i].class_)
			return words[i].word;
	return "device";
}

static const char *vendor_word(const struct pci_function *f)
{
	static const struct {
		unsigned id;
		const char *word;
	} words[] = {
		{ 0x10de, "NVIDIA" },	{ 0x15b3, "Mellanox" },	 { 0x8086, "Intel" },
		{ 0x1022, "AMD" },	{ 0x1000, "Broadcom" },	 { 0x14e4, "Broadcom" },
		{ 0x144d, "Samsung" },	{ 0x11f8, "Microchip" }, { 0x1179, "Kioxia" },
		{ 0x1e0f, "Kioxia" },	{ 0x1344, "Micron" },	 { 0x10ec, "Realtek" },
		{ 0x14c3, "MediaTek" }, { 0x1a03, "ASPEED" },	 { 0x1af4, "virtio" },
		{ 0x1d0f, "Amazon" },	{ 0x15b7, "SanDisk" },	 { 0x126f, "Silicon Motion" },
	};
	unsigned id = (unsigned)fact_or(&f->vendor, 0);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].id == id)
			return words[i].word;
	return NULL;
}

const char *pci_name(struct arena *a, const struct pci_function *f)
{
	const char *vendor = vendor_word(f);

	if (seen_ok(&f->device_name.f))
		return vendor ? arena_printf(a, "%s %s", vendor, f->device_name.v)
			      : f->device_name.v;
	if (vendor)
		return arena_printf(a, "%s %s %04llx", vendor, pci_class_word(f),
				    (unsigned long long)fact_or(&f->device, 0) & 0xffff);
	return arena_printf(a, "%s %04llx:%04llx", pci_class_word(f),
			    (unsigned long long)fact_or(&f->vendor, 0) & 0xffff,
			    (unsigned long long)fact_or(&f->device, 0) & 0xffff);
}
