/* SPDX-License-Identifier: Apache-2.0 */
/* Our arguments within /etc/kernel/cmdline, which is somebody else's file. For knob/ alone. */
#ifndef KNOB_BOOTARG_H
#define KNOB_BOOTARG_H

#include "machine/knob/kinds.h"

/* What ours of that name asks for, "" for a bare flag; NULL in *value: there is none of ours. */
int kernel_cmdline_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		       struct err *e);
/* token NULL takes ours of that name out. Others' arguments are never touched. */
int kernel_cmdline_set(struct host *h, struct arena *a, const struct knob *k, const char *token,
		       struct err *e);
/* The shell command that does what kernel_cmdline_set would; NULL: none is known. */
const char *kernel_cmdline_command(struct host *h, struct arena *a, const struct knob *k,
				   const char *token);

/* What follows the name in a token: "" for a bare flag; NULL: it has another name. */
const char *kernel_argument_value(const char *token, const char *name);

#endif
