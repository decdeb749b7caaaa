/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices: what they are, by which way they are reached, what they hold, and their queues. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/text.h"

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
	return *r ? NULL : str_value(p->a, text, arena_printf(p->a, "E:%s", key), '=');
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

static void probe_disk_queue(struct probe *p, struct disk *d, const char *dir)
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

/* "nvme4": a controller. */
static bool is_controller(const char *name)
{
	unsigned number;
	int end = 0;

	return sscanf(name, "nvme%u%n", &number, &end) == 1 && !name[end];
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

		if (!is_controller(names[i]) || host_link_path(p->h, link, place, sizeof(place)))
			continue;
		transport(p, d, arena_strdup(p->a, place));
		d->pci = class_device_pci(p, arena_printf(p->a, "%s/", link));
		return arena_printf(p->a, "%s/", link);
	}
	return NULL;
}

static void fabric_path(struct probe *p, struct disk *d, const char *dir)
{
	struct fact_int queues = probe_int(p, dir, "queue_count");
	struct fact_str state = probe_str(p, dir, "state");

	d->fabric = probe_str(p, dir, "transport");
	d->loss_timeout = probe_str(p, dir, "ctrl_loss_tmo");
	/* One of them is for commands of administration. */
	if (!seen_ok(&d->io_queues.f) || (seen_ok(&queues.f) && queues.v <= d->io_queues.v)) {
		d->io_queues = queues;
		d->io_queues.v -= queues.v > 0;
	}
	if (!seen_ok(&state.f))
		d->live_paths = (struct fact_int){ .f = state.f };
	else if (seen_ok(&d->live_paths.f))
		d->live_paths.v += fact_is(&state, "live");
}

/* A subsystem's folder has a link for every controller; without multipath the disk is below its
 * only one. */
static void controllers(struct probe *p, struct disk *d, const char *dev)
{
	bool remote = fact_is(&d->transport, "nvme-of");
	char **names;
	size_t n;
	int r = host_list(p->h, dev, p->a, &names, &n);

	d->paths = r ? (struct fact_int){ .f = fact_unseen(r, dev, "") } : fact_int_of(0, dev, "");
	if (remote)
		d->live_paths = d->paths;
	for (size_t i = 0; !r && i < n; i++)
		if (is_controller(names[i])) {
			d->paths.v++;
			if (remote)
				fabric_path(p, d, arena_printf(p->a, "%s%s/", dev, names[i]));
		}
	if (remote && !r && !d->paths.v) {
		d->paths.v = 1;
		fabric_path(p, d, dev);
	}
}

static void probe_disk_device(struct probe *p, struct disk *d, const char *dir,
			      const char *controller)
{
	const char *dev = arena_printf(p->a, "%sdevice/", dir);
	bool nvme = fact_is(&d->transport, "nvme") || fact_is(&d->transport, "nvme-of");
	const struct pci_function *f;

	d->model = probe_str(p, dev, "model");
	d->firmware = probe_str(p, dev, nvme ? "firmware_rev" : "rev");
	d->removable = probe_int(p, dir, "removable");
	d->queue_depth = nvme ? probe_int(p, controller ? controller : dev, "sqsize")
			      : probe_int(p, dev, "queue_depth");
	d->path_policy = probe_str(p, dev, "iopolicy");
	if (seen_ok(&d->path_policy.f) || fact_is(&d->transport, "nvme-of"))
		controllers(p, d, dev);
	/* sqsize counts from 0, but one place of a queue stays free: the number is what fits. */
	f = machine_pci(p->m, d->pci);
	d->numa_node = f ? f->numa_node : probe_int(p, dev, "numa_node");
}

/* Mounted file systems that hold data or huge pages; the kernel's many pseudo file systems are left
 * out. */

enum { SIZED_MAX = 32 };

/* Kinds that hold data. A remote one whose server is gone would hang the question for its size. */
static const struct kind {
	const char *type;
	bool sized;
} kinds[] = {
	{ "ext4", true },	{ "xfs", true },   { "btrfs", true },	  { "zfs", true },
	{ "overlay", true },	{ "ext3", true },  { "ext2", true },	  { "f2fs", true },
	{ "bcachefs", true },	{ "vfat", true },  { "exfat", true },	  { "ntfs3", true },
	{ "hugetlbfs", false }, { "nfs", false },  { "nfs4", false },	  { "cifs", false },
	{ "smb3", false },	{ "9p", false },   { "virtiofs", false }, { "lustre", false },
	{ "beegfs", false },	{ "ceph", false }, { "gpfs", false },	  { "wekafs", false },
	{ "ocfs2", false },	{ "gfs2", false },
};

static const struct kind *probe_disk_kind_of(const char *type, const char *where)
{
	static const struct kind memory = { "tmpfs", true }, user = { "fuse", false };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return &kinds[i];
	/* NCCL and data loaders live in it; other tmpfs hold nothing of weight. */
	if (strcmp(type, "tmpfs") == 0 && strcmp(where, "/dev/shm") == 0)
		return &memory;
	/* "fuse.sshfs"; the controls of FUSE itself are "fusectl", of LXC "fuse.lxcfs". */
	if (str_starts(type, "fuse.") && strcmp(type, "fuse.lxcfs") != 0 &&
	    strcmp(type, "fuse.portal") != 0 && strcmp(type, "fuse.gvfsd-fuse") != 0)
		return &user;
	return NULL;
}

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

/* Blanks, tabs, newlines and backslashes stand as \040 and so on. */
static char *probe_disk_unescape(struct probe *p, const char *s, size_t n)
{
	char *out = arena_alloc(p->a, n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\' && i + 3 < n && is_octal(s + i + 1)) {
			out[len++] = (char)((s[i + 1] - '0') << 6 | (s[i + 2] - '0') << 3 |
					    (s[i + 3] - '0'));
			i += 3;
		} else {
			out[len++] = s[i];
		}
	}
	return out;
}

/* The n-th blank-separated word of a line, from 0. */
static const char *probe_disk_word(const char *line, unsigned n, size_t *len)
{
	for (;; n--) {
		line += strspn(line, " ");
		*len = strcspn(line, " ");
		if (n == 0)
			return line;
		line += *len;
	}
}

/* Adds a word to blank-separated ones, once. */
static void probe_disk_add_word(struct text *t, const char *word)
{
	if (!str_has_word(t->s, word))
		text_printf(t, "%s%s", t->len ? " " : "", word);
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
			probe_disk_add_word(out, value);
	}
}

/* Values of a key of udev's records of a disk and its partitions, blank-separated, each once: "vfat
 * ext4" for "ID_FS_TYPE". */
static struct fact_str disk_udev(struct probe *p, const char *name, const char *key)
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
		probe_disk_add_word(&t, value);
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
		probe_disk_add_word(out, names[i]);
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

static void probe_disk_add(struct probe *p, const char *name)
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
		probe_disk_queue(p, d, dir);
	d->holders = holders(p, d->name, dir);
	if (*role->prefix)
		return;
	probe_disk_device(p, d, dir, controller);
	d->content = disk_udev(p, name, "ID_FS_TYPE");
}

void probe_disk(struct probe *p)
{
	char **names;
	size_t n;

	if (host_list(p->h, "/sys/block", p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		probe_disk_add(p, names[i]);
}

static char *word_at(struct probe *p, const char *line, unsigned n)
{
	size_t len;
	const char *w = probe_disk_word(line, n, &len);

	return probe_disk_unescape(p, w, len);
}

/* Those of the mount, then those of the file system, which repeat "rw". */
static char *probe_disk_options(struct probe *p, const char *line, const char *tail)
{
	const char *mount = word_at(p, line, 5), *super = word_at(p, tail, 2);
	size_t n = strcspn(mount, ",");

	if (strncmp(mount, super, n) == 0 && (super[n] == ',' || !super[n]))
		super += n + (super[n] == ',');
	return arena_printf(p->a, "%s%s%s", mount, *super ? "," : "", super);
}

/* "0:52", of the third word; "" when it is no number. */
static const char *device_number(struct probe *p, const char *line)
{
	const char *number = word_at(p, line, 2);
	unsigned major, minor;
	int end = 0;

	return sscanf(number, "%5u:%8u%n", &major, &minor, &end) == 2 && !number[end] ? number : "";
}

/* "36 35 98:0 /root /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue",
 * proc_pid_mountinfo(5). */
static void fs_add(struct probe *p, const char *line)
{
	static const char from[] = "/proc/self/mountinfo";
	const char *tail = strstr(line, " - "), *where, *type;
	const struct kind *kind;
	struct mount *m;

	if (!tail)
		return;
	tail += strlen(" - ");
	type = word_at(p, tail, 0);
	where = word_at(p, line, 4);
	kind = probe_disk_kind_of(type, where);
	if (!kind)
		return;
	m = list_add(p->a, &p->m->storage.mounts, sizeof(*m));
	m->name = where;
	m->bdi = "";
	if (!kind->sized && strcmp(type, "hugetlbfs") != 0 && *(m->bdi = device_number(p, line)))
		m->read_ahead_kb = probe_int(p, arena_printf(p->a, "/sys/class/bdi/%s/", m->bdi),
					     "read_ahead_kb");
	m->type = fact_str_of(type, "", from);
	m->device = fact_str_of(word_at(p, tail, 1), "", from);
	m->options = fact_str_of(probe_disk_options(p, line, tail), "", from);
	if (kind->sized && p->m->storage.mounts.n <= SIZED_MAX) {
		m->size_bytes = probe_ask_int(p, "statfs", where, "total_bytes");
		m->free_bytes = probe_ask_int(p, "statfs", where, "avail_bytes");
	}
}

/* OpenZFS: version, cache sizes, pools. Nothing is asked of a machine without the module. */

/* "c_max                           4    67108864000": the third column; 4 is a 64-bit number. */
static struct fact_int probe_disk_arc(struct probe *p, const char *text, int r, const char *key)
{
	static const char from[] = "/proc/spl/kstat/zfs/arcstats";
	const char *rest = r ? NULL : str_value(p->a, text, arena_printf(p->a, "%s ", key), '4');
	long long v;

	if (!rest || parse_i64(rest, &v))
		return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, "", from) };
	return fact_int_of(v, "", from);
}

/* The label of a member is its pool's name. Where udev kept none, the only pool there is has them
 * all. */
static struct fact_str probe_disk_members(struct probe *p, const char *pool, bool only)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct disk, d, &p->m->storage.disks) {
		struct fact_str label;

		if (!seen_ok(&d->content.f) || !str_has_word(d->content.v, "zfs_member"))
			continue;
		label = disk_udev(p, d->name, "ID_FS_LABEL");
		if (seen_ok(&label.f) && label.v && (*label.v ? str_has_word(label.v, pool) : only))
			text_printf(&t, "%s%s", t.len ? " " : "", d->name);
	}
	if (!t.len)
		return (struct fact_str){ .f = fact_unseen(-ENOENT, "", "/run/udev/data") };
	return fact_str_of(arena_strdup(p->a, t.s), "", "/run/udev/data");
}

static void pools(struct probe *p)
{
	static const char base[] = "/proc/spl/kstat/zfs";
	struct list *list = &p->m->storage.pools;
	char **names;
	size_t n;

	if (host_list(p->h, base, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(p->a, "%s/%s/", base, names[i]);
		struct fact_str state = probe_str(p, dir, "state");
		struct zpool *pool;

		/* Statistics stand beside the pools as files. */
		if (!seen_ok(&state.f))
			continue;
		pool = list_add(p->a, list, sizeof(*pool));
		pool->name = names[i];
		pool->state = state;
		pool->autotrim = probe_ask_str(p, "zpool", names[i], "autotrim");
	}
	LIST_FOR_EACH (struct zpool, pool, list)
		pool->members = probe_disk_members(p, pool->name, list->n == 1);
}

/* ZFS: version, cache, pools. Looks at the disks' contents. */
static void probe_zfs(struct probe *p)
{
	struct storage *s = &p->m->storage;
	char *text = NULL;
	int r;

	s->zfs_version = probe_str(p, "/sys/module/zfs/", "version");
	if (!seen_ok(&s->zfs_version.f))
		return;
	r = host_read(p->h, "/proc/spl/kstat/zfs/arcstats", HOST_READ_MAX, p->a, &text, NULL);
	s->zfs_arc_size = probe_disk_arc(p, text, r, "size");
	s->zfs_arc_c_max = probe_disk_arc(p, text, r, "c_max");
	s->zfs_arc_max = probe_int(p, "/sys/module/zfs/parameters/", "zfs_arc_max");
	pools(p);
}

/* The folder of the first entry below dir, with a "/" at its end; NULL when there is none. */
static const char *first_below(struct probe *p, const char *dir)
{
	char **names;
	size_t n;

	return host_list(p->h, dir, p->a, &names, &n) || !n
		       ? NULL
		       : arena_printf(p->a, "%s/%s/", dir, names[0]);
}

/* Since Lustre 2.12 in sysfs, before in proc. */
static struct fact_int lustre(struct probe *p, const char *what, const char *leaf)
{
	const char *dir = first_below(p, arena_printf(p->a, "/sys/fs/lustre/%s", what));
	struct fact_int f = { .f = fact_unseen(-ENOENT, "/sys/fs/lustre/", what) };

	if (dir)
		f = probe_int(p, dir, leaf);
	if (!seen_ok(&f.f) &&
	    (dir = first_below(p, arena_printf(p->a, "/proc/fs/lustre/%s", what))))
		f = probe_int(p, dir, leaf);
	return f;
}

static void probe_lustre(struct probe *p)
{
	LIST_FOR_EACH (struct mount, m, &p->m->storage.mounts)
		if (fact_is(&m->type, "lustre")) {
			p->m->storage.lustre_read_ahead_mb =
				lustre(p, "llite", "max_read_ahead_mb");
			p->m->storage.lustre_checksums = lustre(p, "osc", "checksums");
			return;
		}
}

/* The file has comments, which are no JSON: from // to the end of the line, outside of texts. */
static void without_comments(char *s)
{
	for (bool text = false; *s; s++) {
		if (text && *s == '\\' && s[1])
			s++;
		else if (*s == '"')
			text = !text;
		else if (!text && s[0] == '/' && s[1] == '/')
			for (; *s && *s != '\n' && s[1]; s++)
				*s = ' ';
	}
}

/* true, false or a number. */
static struct fact_int cufile_int(const json_t *properties, int r, const char *path,
				  const char *key)
{
	const json_t *v = json_object_get(properties, key);

	if (r || !(json_is_boolean(v) || json_is_integer(v)))
		return (struct fact_int){ .f = fact_unseen(r   ? r
							   : v ? -EPROTO
							       : -ENOENT,
							   path, "") };
	return fact_int_of(json_is_integer(v) ? json_integer_value(v) : json_is_true(v), path, "");
}

static struct fact_str cufile_addresses(struct probe *p, const json_t *properties, int r,
					const char *path)
{
	const json_t *list = json_object_get(properties, "rdma_dev_addr_list"), *item;
	TEXT_AUTO t = { 0 };
	struct fact_str out = { .f = fact_unseen(r ? r : list ? -EPROTO : -ENOENT, path, "") };
	size_t i;

	if (r || !json_is_array(list))
		return out;
	json_array_foreach(list, i, item) text_printf(
		&t, "%s%s", t.len ? " " : "", json_is_string(item) ? json_string_value(item) : "?");
	return fact_str_of(t.len ? arena_strdup(p->a, t.s) : "", path, "");
}

/* What decides which way cuFile takes. */
static void probe_cufile(struct probe *p)
{
	static const char path[] = "/etc/cufile.json";
	struct storage *s = &p->m->storage;
	json_t *j = NULL, *properties;
	char *text = NULL;
	int r = host_read(p->h, path, HOST_READ_MAX, p->a, &text, NULL);

	s->nvidia_fs = probe_str(p, "/sys/module/nvidia_fs/", "version");
	if (!r) {
		without_comments(text);
		j = json_loads(text, 0, NULL);
		r = j ? 0 : -EPROTO;
	}
	properties = json_object_get(j, "properties");
	s->cufile_compat = cufile_int(properties, r, path, "allow_compat_mode");
	s->cufile_p2pdma = cufile_int(properties, r, path, "use_pci_p2pdma");
	s->cufile_poll = cufile_int(properties, r, path, "use_poll_mode");
	s->cufile_direct_kb = cufile_int(properties, r, path, "max_direct_io_size_kb");
	s->cufile_cache_kb = cufile_int(properties, r, path, "max_device_cache_size_kb");
	s->cufile_buffer_kb = cufile_int(properties, r, path, "per_buffer_cache_size_kb");
	s->cufile_pinned_kb = cufile_int(properties, r, path, "max_device_pinned_mem_size_kb");
	s->cufile_addresses = cufile_addresses(p, properties, r, path);
	json_decref(j);
}

void probe_fs(struct probe *p)
{
	char *text, *line, *save = NULL;

	if (host_read(p->h, "/proc/self/mountinfo", HOST_READ_MAX, p->a, &text, NULL) == 0)
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			fs_add(p, line);
	probe_zfs(p);
	probe_lustre(p);
	if (p->m->gpu.gpus.n)
		probe_cufile(p);
}
