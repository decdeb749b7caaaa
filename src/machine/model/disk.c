/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/disk.h: key, title, unit and place of every fact. */
#include "machine/model/disk.h"

static const struct field disk_fields[] = {
	FIELD_ROW(disk, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(disk, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(disk, model, FIELD_STR, "model", "Model", NULL),
	FIELD_ROW(disk, firmware, FIELD_STR, "firmware", "Firmware", NULL),
	FIELD_ROW(disk, transport, FIELD_STR, "transport", "Transport", NULL),
	FIELD_ROW(disk, role, FIELD_STR, "role", "Role", NULL),
	FIELD_ROW(disk, content, FIELD_STR, "content", "Content", NULL),
	FIELD_ROW(disk, size_bytes, FIELD_INT, "size_bytes", "Size", "bytes"),
	FIELD_ROW(disk, rotational, FIELD_BOOL, "rotational", "Rotational", NULL),
	FIELD_ROW(disk, removable, FIELD_BOOL, "removable", "Removable", NULL),
	FIELD_ROW(disk, scheduler, FIELD_STR, "scheduler", "Scheduler", NULL),
	FIELD_ROW(disk, schedulers, FIELD_STR, "schedulers", "Schedulers", NULL),
	FIELD_ROW(disk, nr_requests, FIELD_INT, "nr_requests", "Nr requests", NULL),
	FIELD_ROW(disk, read_ahead_kb, FIELD_INT, "read_ahead_kb", "Read ahead", "KiB"),
	FIELD_ROW(disk, queue_depth, FIELD_INT, "queue_depth", "Queue depth", NULL),
	FIELD_ROW(disk, max_sectors_kb, FIELD_INT, "max_sectors_kb", "Maximum sectors", "KiB"),
	FIELD_ROW(disk, hw_sectors_kb, FIELD_INT, "hw_sectors_kb", "Hardware sectors", "KiB"),
	FIELD_ROW(disk, discard_max_bytes, FIELD_INT, "discard_max_bytes", "Discard maximum",
		  "bytes"),
	FIELD_ROW(disk, rq_affinity, FIELD_INT, "rq_affinity", "Rq affinity", NULL),
	FIELD_ROW(disk, nomerges, FIELD_INT, "nomerges", "Nomerges", NULL),
	FIELD_ROW(disk, wbt_lat_us, FIELD_INT, "wbt_lat_us", "Writeback throttling lat", "us"),
	FIELD_ROW(disk, write_cache, FIELD_STR, "write_cache", "Write cache", NULL),
	FIELD_ROW(disk, usb_speed_mbps, FIELD_INT, "usb_speed_mbps", "USB speed", "Mb/s"),
	FIELD_ROW(disk, numa_node, FIELD_INT, "numa_node", "NUMA node", NULL),
	FIELD_ROW(disk, holders, FIELD_STR, "holders", "Holders", NULL),
};
const struct schema schema_disk = SCHEMA(disk, disk_fields);

static const struct field mount_fields[] = {
	FIELD_ROW(mount, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(mount, type, FIELD_STR, "type", "Type", NULL),
	FIELD_ROW(mount, device, FIELD_STR, "device", "Device", NULL),
	FIELD_ROW(mount, options, FIELD_STR, "options", "Options", NULL),
	FIELD_ROW(mount, size_bytes, FIELD_INT, "size_bytes", "Size", "bytes"),
	FIELD_ROW(mount, free_bytes, FIELD_INT, "free_bytes", "Free", "bytes"),
};
const struct schema schema_mount = SCHEMA(mount, mount_fields);

static const struct field zpool_fields[] = {
	FIELD_ROW(zpool, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(zpool, state, FIELD_STR, "state", "State", NULL),
	FIELD_ROW(zpool, autotrim, FIELD_STR, "autotrim", "Autotrim", NULL),
	FIELD_ROW(zpool, members, FIELD_STR, "members", "Members", NULL),
};
const struct schema schema_zpool = SCHEMA(zpool, zpool_fields);

static const struct field storage_fields[] = {
	FIELD_ROW(storage, zfs_version, FIELD_STR, "zfs_version", "ZFS version", NULL),
	FIELD_ROW(storage, zfs_arc_size, FIELD_INT, "zfs_arc_size_bytes", "ZFS ARC size", "bytes"),
	FIELD_ROW(storage, zfs_arc_c_max, FIELD_INT, "zfs_arc_c_max_bytes", "ZFS ARC c maximum",
		  "bytes"),
	FIELD_ROW(storage, zfs_arc_max, FIELD_INT, "zfs_arc_max_bytes", "ZFS ARC maximum", "bytes"),
	FIELD_SUB(storage, disks, FIELD_LIST, "disks", "Disks", &schema_disk),
	FIELD_SUB(storage, mounts, FIELD_LIST, "mounts", "Mounts", &schema_mount),
	FIELD_SUB(storage, pools, FIELD_LIST, "pools", "Pools", &schema_zpool),
};
const struct schema schema_storage = SCHEMA(storage, storage_fields);
