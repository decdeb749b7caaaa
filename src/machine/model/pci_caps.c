/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the capability lists of configuration space that end whatever the bytes say. */
#include "machine/model/pci_caps.h"

#include <linux/pci_regs.h>

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
