/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the storage probe. */
#ifndef PROBE_DISK_H
#define PROBE_DISK_H

#include "probe/probe.h"

/* ZFS: version, cache, pools. Looks at the disks' contents. */
void probe_zfs(struct probe *p);

#endif
