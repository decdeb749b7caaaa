/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/disk.h: key, title, unit and place of every fact. */
#include "machine/model/disk.h"

/* clang-format off */
const struct shape disk_shape = SHAPE_OF(disk, disk,
	FACT_NAME(disk, name, "Name"),
	FACT_NAME(disk, pci, "PCI"),
	FACT(disk, model, "Model", NULL),
	FACT(disk, firmware, "Firmware", NULL),
	FACT(disk, transport, "Transport", NULL),
	FACT(disk, role, "Role", NULL),
	FACT(disk, content, "Content", NULL),
	FACT(disk, size_bytes, "Size", "bytes"),
	FACT_FLAG(disk, rotational, "Rotational"),
	FACT_FLAG(disk, removable, "Removable"),
	FACT(disk, scheduler, "Scheduler", NULL),
	FACT(disk, schedulers, "Schedulers", NULL),
	FACT(disk, nr_requests, "Queue requests", NULL),
	FACT(disk, read_ahead_kb, "Read ahead", "KiB"),
	FACT(disk, queue_depth, "Queue depth", NULL),
	FACT(disk, max_sectors_kb, "Maximum sectors", "KiB"),
	FACT(disk, hw_sectors_kb, "Hardware sectors", "KiB"),
	FACT(disk, discard_max_bytes, "Discard maximum", "bytes"),
	FACT(disk, rq_affinity, "Request affinity", NULL),
	FACT(disk, nomerges, "Nomerges", NULL),
	FACT(disk, wbt_lat_us, "Writeback throttling latency", "us"),
	FACT(disk, write_cache, "Write cache", NULL),
	FACT(disk, usb_speed_mbps, "USB speed", "Mb/s"),
	FACT(disk, numa_node, "NUMA node", NULL),
	FACT(disk, path_policy, "Path policy", NULL),
	FACT(disk, paths, "Paths", NULL),
	FACT(disk, holders, "Holders", NULL));

const struct shape mount_shape = SHAPE_OF(mount, mount,
	FACT_NAME(mount, name, "Name"),
	/* Results of earlier releases do not have it. */
	{ FACT_ROW(bdi, "Device number", NULL), SHAPE_TEXT(mount, bdi), .unknown = SHAPE_BLANK,
	  .absent = true },
	FACT(mount, type, "Type", NULL),
	FACT(mount, device, "Device", NULL),
	FACT(mount, options, "Options", NULL),
	FACT(mount, size_bytes, "Size", "bytes"),
	FACT(mount, free_bytes, "Free", "bytes"),
	FACT(mount, read_ahead_kb, "Read ahead", "KiB"));

const struct shape zpool_shape = SHAPE_OF(zpool, zpool,
	FACT_NAME(zpool, name, "Name"),
	FACT(zpool, state, "State", NULL),
	FACT(zpool, autotrim, "Autotrim", NULL),
	FACT(zpool, members, "Members", NULL));

const struct shape storage_shape = SHAPE_OF(storage, storage,
	FACT(storage, zfs_version, "ZFS version", NULL),
	{ "zfs_arc_size_bytes", NULL, "ZFS ARC size", "bytes", SHAPE_FACT(storage, zfs_arc_size) },
	{ "zfs_arc_c_max_bytes", NULL, "ZFS ARC c maximum", "bytes",
	  SHAPE_FACT(storage, zfs_arc_c_max) },
	{ "zfs_arc_max_bytes", NULL, "ZFS ARC maximum", "bytes", SHAPE_FACT(storage, zfs_arc_max) },
	FACT(storage, lustre_read_ahead_mb, "Lustre read ahead", "MiB"),
	FACT_FLAG(storage, lustre_checksums, "Lustre checksums"),
	FACT(storage, nvidia_fs, "nvidia-fs", NULL),
	FACT_FLAG(storage, cufile_compat, "cuFile compatibility mode allowed"),
	FACT_FLAG(storage, cufile_p2pdma, "cuFile by PCI peer-to-peer"),
	FACT_FLAG(storage, cufile_poll, "cuFile poll mode"),
	FACT(storage, cufile_direct_kb, "cuFile largest request", "KiB"),
	FACT(storage, cufile_cache_kb, "cuFile bounce buffers of a GPU", "KiB"),
	FACT(storage, cufile_buffer_kb, "cuFile bounce buffer", "KiB"),
	FACT(storage, cufile_pinned_kb, "cuFile pinned memory of a GPU", "KiB"),
	FACT(storage, cufile_addresses, "cuFile RDMA addresses", NULL),
	FACT_LIST(storage, disks, "Disks", disk),
	FACT_LIST(storage, mounts, "Mounts", mount),
	FACT_LIST(storage, pools, "Pools", zpool));
/* clang-format on */
