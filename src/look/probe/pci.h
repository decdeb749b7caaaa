/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the PCI probe. */
#ifndef PROBE_PCI_H
#define PROBE_PCI_H

#include "look/probe/probe.h"

/*
 * Reads what configuration space says into f: dir is the function's own folder
 * ("/sys/devices/.../0000:01:00.0/"). False when it could not be read or is not believable; the
 * facts then say why.
 */
bool pci_config_read(struct probe *p, struct pci_function *f, const char *dir);
/* The same from bytes, for tests and fuzzing. len is 64, 256 or 4096 as the kernel gave it. */
bool pci_config_parse(struct pci_function *f, const unsigned char *config, size_t len,
		      const char *dir);
/* Marks what only configuration space could tell: of a device that sleeps and is left asleep, and
 * of a virtual function, whose transfer sizes, ordering and link are those of its physical
 * function. */
void pci_config_asleep(struct pci_function *f, const char *dir);
void pci_config_virtual(struct pci_function *f, const char *dir);
/* The same of a conventional device, which has no PCI Express capability to look for. */
void pci_config_conventional(struct pci_function *f, const char *dir);

/* The short name of a device that this program is about, NULL for others. */
const char *pci_known_name(const struct pci_function *f);
/* Names from the system's pci.ids, 1.3 MB, for functions that have none yet. Not part of
 * probe_machine(). */
void pci_names_fill(struct probe *p);

#endif
