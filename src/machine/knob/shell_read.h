/* SPDX-License-Identifier: Apache-2.0 */
/* How a shell reads a knob with programs that are there without gputune. */
#ifndef KNOB_SHELL_READ_H
#define KNOB_SHELL_READ_H

#include "machine/knob/knob.h"

/* s as one word of a POSIX shell, always in single quotes. */
const char *shell_quote(struct arena *a, const char *s);
/*
 * A pipeline that prints the knob's value in the form of machine/knob/io.h; it may use
 * shell_functions. NULL where no program prints it.
 */
const char *shell_read(struct arena *a, const struct knob *k);
/* Shell functions that a script with such pipelines has to define first. */
extern const char shell_functions[];

#endif
