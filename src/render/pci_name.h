/* SPDX-License-Identifier: Apache-2.0 */
/* What to call a PCI function where there is little room. */
#ifndef RENDER_PCI_NAME_H
#define RENDER_PCI_NAME_H

#include "machine/model/pci.h"

/* "NVIDIA GH100 [H200 SXM 141GB]", "PCI bridge 1000:c030", by pci.ids where it was there. */
const char *pci_name(struct arena *a, const struct pci_function *f);

#endif
