/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a knob from the machine. Kept apart from knob.h so that settings cannot reach the
 * machine. */
#ifndef KNOB_IO_H
#define KNOB_IO_H

#include "host/host.h"
#include "knob/knob.h"
#include "model/fact.h"

/*
 * The value as text: trimmed, runs of white space as one blank, the chosen word of a bracketed
 * choice. Kinds whose value is a fact of the model (NVML, PCI, link, unit) give SEEN_UNASKED here.
 */
struct fact_str knob_read(struct host *h, struct arena *a, const struct knob *k);

#endif
