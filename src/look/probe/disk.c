/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices: what they are, by which way they are reached, what they hold, and their queues. */
#include "look/probe/disk.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/nic.h"

static const struct role {
	const char *prefix, *role;
	bool queue; /* has a queue of its own worth reading */
} roles[] = {
	{ "loop", "loop", false },  { "zram", "zram", false },	{ "ram", "ram", false },
	{ "dm-", "dm", true },	    { "md", "md", true },	{ "zd", "zvol", true },
	{ "sr", "optical", false }, { "nbd", "network", true }, { "rbd", "network", true },
	{ "fd", "floppy", false },  { "", "disk", true },
};

/* The last one takes every name. */
static const struct role *role_of(const char *name)
{
	const struct role *r = roles;

	while (!str_starts(name, r->prefix))
		r++;
	return r;
}

/* "nvme0c1n1": one path of several to nvme0n1, which no file system ever sees. */
static bool is_hidden_path(const char *name)
{
	unsigned subsystem, controller, space;
	int n = 0;

	return sscanf(name, "nvme%uc%un%u%n", &subsystem, &controller, &space, &n) == 3 && !name[n];
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
			d->transport = fact_str_of(driver.v[1] == 'a' ? "usb-uas" : "usb-storage",
						   driver.f.dir, "driver");
			slash = strrchr(up, '/');
			if (slash)
				d->usb_speed_mbps = probe_int(
					p, arena_printf(p->a, "%.*s/", (int)(slash - up), up),
					"speed");
			return;
		}
	}
}

static void transport(struct probe *p, struct disk *d, const char *place)
{
	static const struct {
		const char *part, *name;
	} ways[] = { { "/nvme-fabrics/", "nvme-of" },
		     { "/nvme", "nvme" },
		     { "/virtio", "virtio" },
		     { "/ata", "sata" },
		     { "/mmc_host/", "mmc" },
		     { "/end_device", "sas" },
		     { "/rport-", "fc" },
		     { "/session", "iscsi" },
		     { "/target", "scsi" },
		     { "/devices/virtual/", "virtual" } };

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

static char *udev_value(struct probe *p, const char *dev, const char *key, int *r)
{
	char *text;

	*r = host_read(p->h, arena_printf(p->a, "/run/udev/data/b%s", dev), HOST_READ_MAX, p->a,
		       &text, NULL);
	return *r ? NULL : text_value(p->a, text, arena_printf(p->a, "E:%s", key), '=');
}

/* Adds a word to blank-separated ones, once. */
static void add_word(struct text *t, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = t->s ? strstr(t->s, word) : NULL; at; at = strstr(at + 1, word))
		if ((at == t->s || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return;
	text_printf(t, "%s%s", t->len ? " " : "", word);
}

/* Partitions are folders whose name begins with the disk's: how many, and their paths. */
static size_t partition_dirs(struct probe *p, const char *name, const char *dir, char ***out)
{
	size_t n, kept = 0;

	if (host_list(p->h, dir, p->a, out, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (str_starts((*out)[i], name))
			(*out)[kept++] = arena_printf(p->a, "%s%s/", dir, (*out)[i]);
	return kept;
}

static void partitions(struct probe *p, const char *name, const char *dir, const char *key,
		       struct text *out, int *r)
{
	char **dirs;
	size_t n = partition_dirs(p, name, dir, &dirs);

	for (size_t i = 0; i < n; i++) {
		struct fact_str dev = probe_str(p, dirs[i], "dev");
		const char *value;

		value = seen_ok(&dev.f) ? udev_value(p, dev.v, key, r) : NULL;
		if (value && *value)
			add_word(out, value);
	}
}

struct fact_str disk_udev(struct probe *p, const char *name, const char *key)
{
	static const char from[] = "/run/udev/data";
	const char *dir = arena_printf(p->a, "/sys/block/%s/", name);
	struct fact_str dev = probe_str(p, dir, "dev");
	TEXT_AUTO t = { 0 };
	const char *value;
	int whole, part = -ENOENT;

	if (!seen_ok(&dev.f))
		return dev;
	value = udev_value(p, dev.v, key, &whole);
	if (value && *value)
		add_word(&t, value);
	partitions(p, name, dir, key, &t, &part);
	if (whole && part && !t.len)
		return (struct fact_str){ .f = fact_unseen(whole, "", from) };
	return fact_str_of(arena_strdup(p->a, t.s ? t.s : ""), "", from);
}

static int add_holders(struct probe *p, const char *dir, struct text *out)
{
	char **names;
	size_t n;
	int r = host_list(p->h, arena_printf(p->a, "%sholders", dir), p->a, &names, &n);

	for (size_t i = 0; !r && i < n; i++)
		add_word(out, names[i]);
	return r;
}

/* Of the disk and of its partitions. */
static struct fact_str holders(struct probe *p, const char *name, const char *dir)
{
	TEXT_AUTO t = { 0 };
	const char *path = arena_printf(p->a, "%sholders", dir);
	char **dirs;
	size_t n = partition_dirs(p, name, dir, &dirs);
	int r = add_holders(p, dir, &t);

	for (size_t i = 0; i < n; i++)
		if (add_holders(p, dirs[i], &t) == 0)
			r = 0;
	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", path) };
	return fact_str_of(arena_strdup(p->a, t.s ? t.s : ""), "", path);
}

static void queue(struct probe *p, struct disk *d, const char *dir)
{
	const char *q = arena_printf(p->a, "%squeue/", dir), *all = NULL;

	d->rotational = probe_int(p, q, "rotational");
	d->scheduler = probe_choice(p, q, "scheduler", &all);
	d->schedulers =
		all ? fact_str_of(all, q, "scheduler") : (struct fact_str){ .f = d->scheduler.f };
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

/* An NVMe disk behind the kernel's multipath hangs from a subsystem, which has neither a function
 * nor queues: those are its first controller's, which may also be another machine's. The
 * controller's folder, or NULL. */
static const char *nvme_controller(struct probe *p, struct disk *d, const char *dir)
{
	char **names, place[HOST_PATH_MAX];
	size_t n;

	if (host_list(p->h, arena_printf(p->a, "%sdevice", dir), p->a, &names, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *link = arena_printf(p->a, "/sys/class/nvme/%s", names[i]);
		int end = 0;
		unsigned number;

		if (sscanf(names[i], "nvme%u%n", &number, &end) != 1 || names[i][end] ||
		    host_link_path(p->h, link, place, sizeof(place)))
			continue;
		transport(p, d, arena_strdup(p->a, place));
		d->pci = class_device_pci(p, arena_printf(p->a, "%s/", link));
		return arena_printf(p->a, "%s/", link);
	}
	return NULL;
}

static void device(struct probe *p, struct disk *d, const char *dir, const char *controller)
{
	const char *dev = arena_printf(p->a, "%sdevice/", dir);
	bool nvme = fact_is(&d->transport, "nvme") || fact_is(&d->transport, "nvme-of");
	const struct pci_function *f;

	d->model = probe_str(p, dev, "model");
	d->firmware = probe_str(p, dev, nvme ? "firmware_rev" : "rev");
	d->removable = probe_int(p, dir, "removable");
	d->queue_depth = nvme ? probe_int(p, controller ? controller : dev, "sqsize")
			      : probe_int(p, dev, "queue_depth");
	/* sqsize counts from 0, but one place of a queue stays free: the number is what fits. */
	f = machine_pci(p->m, d->pci);
	d->numa_node = f ? f->numa_node : probe_int(p, dev, "numa_node");
}

static void add(struct probe *p, const char *name)
{
	const char *dir = arena_printf(p->a, "/sys/block/%s/", name);
	const struct role *role = role_of(name);
	struct fact_int sectors = probe_int(p, dir, "size");
	const char *controller = NULL;
	char place[HOST_PATH_MAX];
	struct disk *d;

	/* Loop and RAM disks stand there by the dozen, unused. */
	if (is_hidden_path(name) || (fact_or(&sectors, 0) == 0 && *role->prefix))
		return;
	d = list_add(p->a, &p->m->storage.disks, sizeof(*d));
	d->name = name;
	d->role = fact_str_of(role->role, "/sys/block/", name);
	d->pci = class_device_pci(p, dir);
	/* The kernel counts in sectors of 512 bytes, whatever the device's own are. */
	d->size_bytes = sectors;
	d->size_bytes.v = sectors.v >= 0 && sectors.v <= LLONG_MAX / 512 ? sectors.v * 512 : 0;
	if (host_link_path(p->h, arena_printf(p->a, "/sys/block/%s", name), place, sizeof(place)) ==
	    0)
		transport(p, d, arena_strdup(p->a, place));
	if (fact_is(&d->transport, "nvme") && !*d->pci)
		controller = nvme_controller(p, d, dir);
	if (role->queue)
		queue(p, d, dir);
	d->holders = holders(p, d->name, dir);
	if (*role->prefix)
		return;
	device(p, d, dir, controller);
	d->content = disk_udev(p, name, "ID_FS_TYPE");
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
