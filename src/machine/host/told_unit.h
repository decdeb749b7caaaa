/* SPDX-License-Identifier: Apache-2.0 */
/* What systemctl does to the files of a captured machine. */
#ifndef HOST_TOLD_UNIT_H
#define HOST_TOLD_UNIT_H

#include "machine/host/host.h"

/* Fields and values as the provider "systemd" takes them. 0 or a negative errno. */
int told_unit(struct host *h, const char *unit, const char *field, const struct answer *value);

#endif
