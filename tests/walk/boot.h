/* SPDX-License-Identifier: Apache-2.0 */
/* What a boot does to a simulated machine. */
#ifndef WALK_BOOT_H
#define WALK_BOOT_H

#include "machine/host/host.h"

/*
 * To the machine that h is and whose disk is in use, after disk_boot: the files below /etc are
 * replayed as systemd, udev and the boot loader do, others' and ours. The boot-time unit is not
 * run. n makes the boot's id.
 */
void boot_replay(struct host *h, unsigned n);
/* Whether systemd would start our unit. */
bool boot_has_unit(struct host *h);

#endif
