/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a knob that is a file, for judging and for writing back. */
#ifndef KNOB_FILE_H
#define KNOB_FILE_H

#include "knob/kinds.h"

/* What the knob's own file says, whatever its counterpart does. 0 or a negative errno. */
int knob_file_text(struct host *h, struct arena *a, const struct knob *k, const char **value);

#endif
