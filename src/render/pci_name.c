/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of PCI functions: vendors that matter here, and class codes in words. */
#include "render/pci_name.h"

#include <string.h>

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
