/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the storage probe. */
#ifndef PROBE_DISK_H
#define PROBE_DISK_H

#include "look/probe/probe.h"

/* Values of a key of udev's records of a disk and its partitions, blank-separated, each once: "vfat
 * ext4" for "ID_FS_TYPE". */
struct fact_str disk_udev(struct probe *p, const char *name, const char *key);
/* ZFS: version, cache, pools. Looks at the disks' contents. */
void probe_zfs(struct probe *p);

#endif
