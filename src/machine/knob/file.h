/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs that are files of the kernel: their text, for judging and for writing back, and their
 * names. */
#ifndef KNOB_FILE_H
#define KNOB_FILE_H

#include "machine/knob/kinds.h"

/* What the file says; where its counterpart is in force, "NAME=VALUE" of that. 0 or a negative
 * errno. */
int knob_file_text(struct host *h, struct arena *a, const struct knob *k, const char **value);

/* Whether a sysctl, a file of sysfs or a module parameter is named like one that holds a value.
 * *why gets a sentence. */
bool knob_file_named(const struct knob *k, const char **why);

#endif
