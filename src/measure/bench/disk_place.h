/* SPDX-License-Identifier: Apache-2.0 */
/* What lies below a folder: file system, disks, how fast their links are, what may be asked of it.
 */
#ifndef BENCH_DISK_PLACE_H
#define BENCH_DISK_PLACE_H

#include <sys/types.h>

#include "measure/bench/bench.h"

/* ZFS has no number in the kernel's header. */
enum { DISK_MEMBERS = 32, ZFS_MAGIC = 0x2fc12fc1 };
/* Why nothing is read from the disk there. */
#define DISK_OWN_CACHE                                                                             \
	"ZFS keeps files in its own cache (ARC), which gputune does not empty: reads would come "  \
	"from memory"

struct disk_place {
	const char *dir;   /* absolute, links resolved */
	const char *mount; /* mount point; dir where no fact names it */
	const char *fs;	   /* "ext4" */
	bool memory;	   /* the file system lives in memory */
	bool own_cache; /* what was read or written stays in a cache that no file's user can empty
			 */
	/* Disks that facts know, below partitions, RAID and device mapper. */
	const struct disk *disks[DISK_MEMBERS];
	size_t n_disks;
	const char *names; /* "nvme0n1", "nvme0n1 nvme1n1"; "" when nobody knows */
	int node;	   /* their NUMA node; -1: none, or not one */
};

/* In env's arena. -errno and *e when path is no folder that can be looked at. */
int disk_place_look(const struct bench_env *env, const char *path, struct disk_place *out,
		    struct err *e);
/* Fills disks, names and node of out: what block device dev stands on, through partitions, RAID and
 * device mapper. */
void disk_place_members(const struct bench_env *env, dev_t dev, struct disk_place *out);
/* "ext4 on nvme0n1 (MODEL)" */
const char *disk_place_text(struct arena *a, const struct disk_place *p);
/* "scheduler none, read-ahead 128 KiB": what may be changed; "" when no fact tells. */
const char *disk_place_settings(struct arena *a, const struct disk_place *p);
/* CPUs of the disks' node that may be used, or all that may be. */
struct idset disk_place_cpus(const struct bench_env *env, const struct disk_place *p);
/* GB/s of the PCIe links below the folder, together. */
struct bench_limit disk_place_limit(const struct bench_env *env, const struct disk_place *p);

#endif
