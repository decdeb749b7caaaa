/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of a setting: which objects of the machine it is asked about, and their names. */
#ifndef SETTINGS_SUBJECT_H
#define SETTINGS_SUBJECT_H

#include "look/settings/settings.h"

/* Calls each(object, name, ctx) for every object of the scope that the setting selects. name is
 * what people call it ("gpu0", "nvme0n1"). Returns how many there were. */
size_t setting_subjects(struct arena *a, const struct machine *m, const struct setting *s,
			void (*each)(const void *object, const char *name, void *ctx), void *ctx);
/* The text that replaces "{}" in the knob's name: "0" for policy0, the PCI address for a GPU. */
const char *setting_knob_object(struct arena *a, const struct setting *s, const void *object);
/* One text for several targets: "cpu0-255", "gpu0-7", "nvme0n1 nvme1n1". */
const char *targets_text(struct arena *a, const struct setting *s, const void *const *objects,
			 const char *const *names, size_t n);

#endif
