/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices: what they are, by which way they are reached, what they hold, and their queues. */
#include "probe/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "probe/nic.h"

static struct fact_str role_of(const char *name)
{
	static const struct {
		const char *prefix, *role;
	} roles[] = { { "loop", "loop" }, { "zram", "zram" }, { "ram", "ram" }, { "dm-", "dm" }, { "md", "md" },
		      { "zd", "zvol" },	  { "sr", "optical" }, { "nbd", "network" }, { "fd", "floppy" } };

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (str_starts(name, roles[i].prefix))
			return fact_str_of(roles[i].role, "/sys/block/", name);
	return fact_str_of("disk", "/sys/block/", name);
}

/* The USB interface above the disk: its driver tells UAS from bulk-only, its device the speed. */
static void usb(struct probe *p, struct disk *d, const char *place)
{
	char *up = arena_strdup(p->a, place);
	char *slash;

	d->transport = fact_str_of("usb", "", place);
	while ((slash = strrchr(up, '/')) && slash != up) {
		struct fact_str driver;

		*slash = '\0';
		driver = probe_link_name(p, arena_printf(p->a, "%s/", up), "driver");
		if (fact_is(&driver, "uas") || fact_is(&driver, "usb-storage")) {
			d->transport = fact_str_of(driver.v[1] == 'a' ? "usb-uas" : "usb-storage", driver.f.dir, "driver");
			slash = strrchr(up, '/');
			if (slash)
				d->usb_speed_mbps = probe_int(p, arena_printf(p->a, "%.*s/", (int)(slash - up), up), "speed");
			return;
		}
	}
}

static void transport(struct probe *p, struct disk *d, const char *place)
{
	static const struct {
		const char *part, *name;
	} ways[] = { { "/nvme", "nvme" }, { "/virtio", "virtio" }, { "/ata", "sata" }, { "/mmc_host/", "mmc" },
		     { "/end_device", "sas" }, { "/devices/virtual/", "virtual" } };

	if (strstr(place, "/usb")) {
		usb(p, d, place);
		return;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strstr(place, ways[i].part)) {
			d->transport = fact_str_of(ways[i].name, "", place);
			return;
		}
	d->transport = (struct fact_str){ .f = fact_unseen(-EOPNOTSUPP, "", place) };
}

/* ID_FS_TYPE of udev's record for a device number. */
static const char *udev_content(struct probe *p, const char *dev, int *r)
{
	char *text;
	const char *line;

	*r = host_read(p->h, arena_printf(p->a, "/run/udev/data/b%s", dev), HOST_READ_MAX, p->a, &text, NULL);
	line = *r ? NULL : strstr(text, "E:ID_FS_TYPE=");
	if (!line)
		return NULL;
	line += strlen("E:ID_FS_TYPE=");
	return arena_strndup(p->a, line, strcspn(line, "\n"));
}

static struct fact_str content(struct probe *p, const char *name, const char *dir)
{
	TEXT_AUTO t = { 0 };
	struct fact_str dev = probe_str(p, dir, "dev");
	char **names;
	const char *type;
	size_t n;
	int r = -ENOENT, one;

	if (!seen_ok(&dev.f))
		return dev;
	type = udev_content(p, dev.v, &r);
	if (type)
		text_add(&t, type);
	/* Partitions are folders that begin with the disk's name. */
	if (host_list(p->h, dir, p->a, &names, &n) == 0)
		for (size_t i = 0; i < n; i++) {
			if (!str_starts(names[i], name))
				continue;
			dev = probe_str(p, arena_printf(p->a, "%s%s/", dir, names[i]), "dev");
			type = seen_ok(&dev.f) ? udev_content(p, dev.v, &one) : NULL;
			if (type && !(t.s && strstr(t.s, type)))
				text_printf(&t, "%s%s", t.len ? " " : "", type);
		}
	if (r && !t.len)
		return (struct fact_str){ .f = fact_unseen(r, "", "/run/udev/data") };
	return fact_str_of(arena_strdup(p->a, t.s ? t.s : ""), "", "/run/udev/data");
}

static struct fact_str holders(struct probe *p, const char *dir)
{
	TEXT_AUTO t = { 0 };
	const char *path = arena_printf(p->a, "%sholders", dir);
	char **names;
	size_t n;
	int r = host_list(p->h, path, p->a, &names, &n);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", path) };
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s", i ? " " : "", names[i]);
	return fact_str_of(arena_strdup(p->a, t.s ? t.s : ""), "", path);
}

static void queue(struct probe *p, struct disk *d, const char *dir)
{
	const char *q = arena_printf(p->a, "%squeue/", dir), *all = NULL;

	d->rotational = probe_int(p, q, "rotational");
	d->scheduler = probe_choice(p, q, "scheduler", &all);
	d->schedulers = all ? fact_str_of(all, q, "scheduler") : (struct fact_str){ .f = d->scheduler.f };
	d->nr_requests = probe_int(p, q, "nr_requests");
	d->read_ahead_kb = probe_int(p, q, "read_ahead_kb");
	d->max_sectors_kb = probe_int(p, q, "max_sectors_kb");
	d->hw_sectors_kb = probe_int(p, q, "max_hw_sectors_kb");
	d->discard_max_bytes = probe_int(p, q, "discard_max_bytes");
	d->rq_affinity = probe_int(p, q, "rq_affinity");
	d->nomerges = probe_int(p, q, "nomerges");
	d->wbt_lat_us = probe_int(p, q, "wbt_lat_usec");
	d->write_cache = probe_str(p, q, "write_cache");
}

static void device(struct probe *p, struct disk *d, const char *dir)
{
	const char *dev = arena_printf(p->a, "%sdevice/", dir);

	d->model = probe_str(p, dev, "model");
	d->firmware = probe_str(p, dev, fact_is(&d->transport, "nvme") ? "firmware_rev" : "rev");
	d->queue_depth = probe_int(p, dev, "queue_depth");
	d->numa_node = probe_int(p, dev, fact_is(&d->transport, "nvme") ? "device/numa_node" : "numa_node");
	d->removable = probe_int(p, dir, "removable");
}

static void add(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "/sys/block/%s/", name);
	struct fact_int sectors = probe_int(p, dir, "size");
	char place[HOST_PATH_MAX];
	struct fact_str role = role_of(name);
	struct disk *d;

	/* Loop and RAM disks stand there by the dozen, unused. */
	if (fact_or(&sectors, 0) == 0 && strcmp(role.v, "disk") != 0)
		return;
	d = list_add(p->a, &p->m->storage.disks, sizeof(*d));
	d->name = name;
	d->role = role;
	d->pci = class_device_pci(p, dir);
	/* The kernel counts in sectors of 512 bytes, whatever the device's own are. */
	d->size_bytes = sectors;
	d->size_bytes.v *= 512;
	if (host_link_path(p->h, arena_printf(p->a, "/sys/block/%s", name), place, sizeof(place)) == 0)
		transport(p, d, arena_strdup(p->a, place));
	if (strcmp(role.v, "disk") != 0)
		return;
	queue(p, d, dir);
	device(p, d, dir);
	d->content = content(p, name, dir);
	d->holders = holders(p, dir);
}

void probe_disk(struct probe *p)
{
	char **names;
	size_t n;

	if (host_list(p->h, "/sys/block", p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add(p, names[i]);
}
