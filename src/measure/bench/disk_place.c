/* SPDX-License-Identifier: Apache-2.0 */
/* From a folder to its disks. Looks at the machine through the host interface; makes nothing. */
#include "measure/bench/disk_place.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "base/text.h"

enum { DEPTH = 6 };

static void add_disk(const struct machine *m, const char *name, struct disk_place *p)
{
	const struct disk *d = machine_disk(m, name);

	for (size_t i = 0; i < p->n_disks; i++)
		if (p->disks[i] == d)
			return;
	if (d && p->n_disks < DISK_MEMBERS)
		p->disks[p->n_disks++] = d;
}

/* path: a block device's place below /sys/devices. */
static void disk_place_walk(const struct bench_env *env, const char *path, unsigned depth,
			    struct disk_place *p)
{
	const char *slaves = arena_printf(env->a, "%s/slaves", path);
	char **names, below[HOST_PATH_MAX];
	size_t n = 0;

	if (depth > DEPTH)
		return;
	if (host_exists(env->h, arena_printf(env->a, "%s/partition", path))) {
		char *whole = arena_strdup(env->a, path);

		*strrchr(whole, '/') = '\0';
		disk_place_walk(env, whole, depth + 1, p);
		return;
	}
	if (host_list(env->h, slaves, env->a, &names, &n) == 0 && n) {
		for (size_t i = 0; i < n && i < DISK_MEMBERS; i++)
			if (host_link_path(env->h, arena_printf(env->a, "%s/%s", slaves, names[i]),
					   below, sizeof(below)) == 0)
				disk_place_walk(env, below, depth + 1, p);
		return;
	}
	add_disk(env->m, path_name(path), p);
}

/* btrfs and others give their files a device number of their own: the mount's device counts. */
static dev_t disk_place_device_of(const struct stat *dir, const struct mount *m)
{
	const char *device = m ? fact_text(&m->device, "") : "";
	struct stat st;

	if (major(dir->st_dev) == 0 && device[0] == '/' && stat(device, &st) == 0 &&
	    S_ISBLK(st.st_mode))
		return st.st_rdev;
	return dir->st_dev;
}

void disk_place_members(const struct bench_env *env, dev_t dev, struct disk_place *p)
{
	char path[HOST_PATH_MAX];

	p->names = "";
	p->node = -1;
	if (!env->h || major(dev) == 0 ||
	    host_link_path(env->h,
			   arena_printf(env->a, "/sys/dev/block/%u:%u", major(dev), minor(dev)),
			   path, sizeof(path)))
		return;
	disk_place_walk(env, path, 0, p);
	for (size_t i = 0; i < p->n_disks; i++) {
		int node = (int)fact_or(&p->disks[i]->numa_node, -1);

		p->names =
			arena_printf(env->a, "%s%s%s", p->names, i ? " " : "", p->disks[i]->name);
		p->node = i == 0 || p->node == node ? node : -1;
	}
}

static const char *disk_place_name_of(long type)
{
	static const struct {
		long type;
		const char *name;
	} known[] = { { TMPFS_MAGIC, "tmpfs" },	      { RAMFS_MAGIC, "ramfs" },
		      { EXT4_SUPER_MAGIC, "ext4" },   { XFS_SUPER_MAGIC, "xfs" },
		      { BTRFS_SUPER_MAGIC, "btrfs" }, { OVERLAYFS_SUPER_MAGIC, "overlay" },
		      { NFS_SUPER_MAGIC, "nfs" },     { ZFS_MAGIC, "zfs" } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i].name;
	return "a file system";
}

int disk_place_look(const struct bench_env *env, const char *path, struct disk_place *out,
		    struct err *e)
{
	struct disk_place p = { 0 };
	char real[PATH_MAX];
	const struct mount *m;
	struct statfs fs;
	struct stat st;

	if (!realpath(path, real) || stat(real, &st) || statfs(real, &fs))
		return err_set(e, -errno, "cannot inspect %.200s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%.200s is not a folder", path);
	p.dir = arena_strdup(env->a, real);
	m = machine_mount_of(env->m, p.dir);
	p.memory = (long)fs.f_type == TMPFS_MAGIC || (long)fs.f_type == RAMFS_MAGIC;
	p.own_cache = (long)fs.f_type == ZFS_MAGIC;
	/* Facts leave most file systems in memory out; what they name then is another one. */
	if (m && p.memory && !fact_is(&m->type, "tmpfs"))
		m = NULL;
	p.mount = m ? m->name : p.dir;
	p.fs = m ? fact_text(&m->type, "a file system") : disk_place_name_of((long)fs.f_type);
	disk_place_members(env, disk_place_device_of(&st, m), &p);
	*out = p;
	return 0;
}

const char *disk_place_text(struct arena *a, const struct disk_place *p)
{
	const char *model = p->n_disks ? fact_text(&p->disks[0]->model, "") : "";

	if (p->memory)
		return arena_printf(a, "%s, in memory: no disk is used", p->fs);
	if (!p->n_disks)
		return arena_printf(a, "%s on an unknown device", p->fs);
	return arena_printf(a, "%s on %s%s%s%s", p->fs, p->names, *model ? " (" : "", model,
			    *model ? ")" : "");
}

const char *disk_place_settings(struct arena *a, const struct disk_place *p)
{
	const struct disk *d = p->n_disks ? p->disks[0] : NULL;
	const char *scheduler = d ? fact_text(&d->scheduler, "") : "";
	long long ahead = d ? fact_or(&d->read_ahead_kb, -1) : -1;

	return arena_printf(a, "%s%s%s%s", *scheduler ? ", scheduler " : "", scheduler,
			    ahead >= 0 ? ", read-ahead " : "",
			    ahead >= 0 ? arena_printf(a, "%lld KiB", ahead) : "");
}

struct idset disk_place_cpus(const struct bench_env *env, const struct disk_place *p)
{
	struct idset near = { 0 };

	LIST_FOR_EACH (struct numa_node, n, &env->m->cpu.nodes)
		if (p->node >= 0 && (int)n->index == p->node && env->m->cpu.nodes.n > 1 &&
		    seen_ok(&n->cpus.f))
			IDSET_FOR_EACH (cpu, &n->cpus.v)
				if (idset_has(&env->cpus, cpu))
					idset_add(env->a, &near, cpu);
	return near.n ? near : env->cpus;
}

/* GB/s of payload and headers that a link carries: from PCIe 3.0 on 128 of 130 bits, before 8 of
 * 10. */
static double link_rate(const struct pci_function *f)
{
	double mts = (double)fact_or(&f->speed_mts, 0), width = (double)fact_or(&f->width, 0);

	return mts * width / 8e3 * (mts >= 8000 ? 128.0 / 130 : 0.8);
}

/* The narrowest link between a disk and the processor; 0: not known. */
static double disk_rate(const struct machine *m, const struct disk *d)
{
	const struct pci_function *f = machine_pci(m, d->pci);
	double least = fact_is(&d->transport, "nvme") && f ? link_rate(f) : 0;

	for (unsigned i = 0; least > 0 && f && *f->parent && i < 32; i++) {
		double rate;

		f = machine_pci(m, f->parent);
		rate = f ? link_rate(f) : 0;
		if (rate > 0 && rate < least)
			least = rate;
	}
	return least;
}

struct bench_limit disk_place_limit(const struct bench_env *env, const struct disk_place *p)
{
	double sum = 0, rate = 1;

	if (p->memory)
		return (struct bench_limit){ .source = "unknown: the file is in memory" };
	for (size_t i = 0; i < p->n_disks && rate > 0; i++) {
		rate = disk_rate(env->m, p->disks[i]);
		sum += rate;
	}
	if (sum > 0 && rate > 0)
		return (struct bench_limit){
			true, sum,
			arena_printf(
				env->a,
				"PCIe link of %s at its current speed, without protocol overhead",
				p->names)
		};
	return (struct bench_limit){
		.source = p->n_disks ? arena_printf(env->a, "unknown: speed of the path to %s",
						    p->names)
				     : "unknown: the disk is not identified"
	};
}
