/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers of PCI configuration space in a buffer, and its capabilities found by walking the
 * lists, never at fixed places. The bytes are untrusted: devices answer all ones when they are
 * gone, and lists can loop.
 */
#ifndef MODEL_PCI_CAPS_H
#define MODEL_PCI_CAPS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
