/* SPDX-License-Identifier: Apache-2.0 */
/* show disk: block devices with their queues, file systems, ZFS. */
#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

static struct cell sectors(struct doc *d, const struct machine *m, const void *object)
{
	const struct disk *k = object;

	(void)m;
	return cell_now_max(d, &k->max_sectors_kb, &k->hw_sectors_kb, "KiB");
}

static struct cell kind(struct doc *d, const struct machine *m, const void *object)
{
	const struct disk *k = object;

	(void)d, (void)m;
	return fact_is(&k->role, "disk") || !seen_ok(&k->role.f) ? cell_str(&k->transport)
								 : cell_str(&k->role);
}

static struct cell space(struct doc *d, const struct machine *m, const void *object)
{
	const struct mount *k = object;

	(void)m;
	return cell_now_max(d, &k->free_bytes, &k->size_bytes, "bytes");
}

static const struct pick disk_picks[] = {
	PICK(disk, name, "Disk"),	   PICK_MADE(kind, "Kind"),
	PICK_WRAP(disk, model, "Model"),   PICK(disk, size_bytes, "Size"),
	PICK(disk, content, "Holds"),	   PICK(disk, holders, "Used by"),
	PICK(disk, firmware, "Firmware"),  PICK(disk, pci, "PCI"),
	PICK(disk, usb_speed_mbps, "USB"),
};
static const struct pick queue_picks[] = {
	PICK(disk, name, "Disk"),
	PICK(disk, scheduler, "Scheduler"),
	PICK(disk, nr_requests, "Requests"),
	PICK(disk, queue_depth, "Depth"),
	PICK(disk, read_ahead_kb, "Read-ahead"),
	PICK_FIGURE(sectors, "Largest request"),
	PICK(disk, nomerges, "Nomerges"),
	PICK(disk, rq_affinity, "Affinity"),
	PICK(disk, wbt_lat_us, "Throttle at"),
	PICK(disk, write_cache, "Write cache"),
};
static const struct pick mount_picks[] = {
	PICK(mount, name, "Mounted on"),      PICK(mount, type, "Type"),
	PICK(mount, device, "Device"),	      PICK_FIGURE(space, "Free / size"),
	PICK_WRAP(mount, options, "Options"),
};
static const struct pick pool_picks[] = {
	PICK(zpool, name, "Pool"),
	PICK(zpool, state, "State"),
	PICK(zpool, autotrim, "Autotrim"),
	PICK_WRAP(zpool, members, "Members"),
};
static const struct pick zfs_picks[] = {
	PICK(storage, zfs_version, "ZFS"),
	PICK(storage, zfs_arc_size, "ARC now"),
	PICK(storage, zfs_arc_c_max, "ARC at most"),
	PICK(storage, zfs_arc_max, "ARC limit set"),
};

static const struct picks disks = PICKS(schema_disk, disk_picks);
static const struct picks queues = PICKS(schema_disk, queue_picks);
static const struct picks mounts = PICKS(schema_mount, mount_picks);
static const struct picks pools = PICKS(schema_zpool, pool_picks);
static const struct picks zfs = PICKS(schema_storage, zfs_picks);

struct doc *page_disk(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Storage");
	show_table(d, m, "Block devices", &disks, &m->storage.disks);
	show_table(d, m, "Queues", &queues, &m->storage.disks);
	show_table(d, m, "File systems", &mounts, &m->storage.mounts);
	show_table(d, m, "ZFS pools", &pools, &m->storage.pools);
	show_object(d, m, "ZFS", &zfs, &m->storage);
	return d;
}
