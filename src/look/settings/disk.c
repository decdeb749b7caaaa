/* SPDX-License-Identifier: Apache-2.0 */
/* Block devices, chosen by what they are and hold, never by a letter that moves between boots. */
#include <limits.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

/* Here or in another machine. */
static bool is_nvme(const struct disk *d)
{
	return str_starts(fact_text(&d->transport, ""), "nvme");
}

static bool holds_zfs(const struct disk *d)
{
	return seen_ok(&d->content.f) && strstr(d->content.v, "zfs_member");
}

static bool is_usb(const struct disk *d)
{
	return seen_ok(&d->transport.f) && str_starts(d->transport.v, "usb");
}

static bool is_virtual_disk(const struct disk *d)
{
	return fact_is(&d->transport, "virtio") || fact_is(&d->transport, "virtual");
}

static bool offers(const struct disk *d, const char *scheduler)
{
	return seen_ok(&d->schedulers.f) && strstr(d->schedulers.v, scheduler);
}

/* none where the device or ZFS orders requests itself; an elevator where a head or a slow bridge is
 * behind. */
static bool want_scheduler(const struct rule_ctx *q, struct recommendation *o)
{
	const struct disk *d = q->object;
	bool published = q->profile == PROFILE_PUBLISHED;

	*o = (struct recommendation){ .rel = WANT_LEAVE };
	if (published && !holds_zfs(d) && !is_usb(d))
		o->because = "the published rule applies to members of ZFS pools";
	else if (published || is_nvme(d) || holds_zfs(d) || is_virtual_disk(d))
		*o = (struct recommendation){
			.rel = WANT_IS,
			.value = "none",
			.because =
				published
					? "a published guide claims that ZFS schedules its own I/O"
				: holds_zfs(d) ? "ZFS schedules its own requests"
				: is_nvme(d)   ? "the device has its own queues"
					       : "the host schedules the requests"
		};
	else if (fact_or(&d->rotational, 0) == 1 && !is_usb(d))
		*o = (struct recommendation){
			.rel = WANT_ONE_OF,
			.value = "mq-deadline bfq",
			.because = "a spinning disk gains from ordered requests"
		};
	else
		o->because = "no measured difference on this type of disk";
	return true;
}

/* What lies on a disk, and what it is, decide what is wanted. */
static bool knows_content(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;

	return !is_hidden(q, v, &d->content.f) && !is_hidden(q, v, &d->transport.f);
}

/* A device above it reads ahead as far as that says. */
static bool knows_holders(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;

	return knows_content(q, v) && !is_hidden(q, v, &d->holders.f);
}

static bool has_scheduler(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;

	if (!seen_ok(&d->scheduler.f) || offers(d, "none"))
		return knows_content(q, v);
	verdict_na(v, CODE_NO_SUPPORT,
		   "the device has no scheduler (it is stacked on another device)");
	return false;
}

/*
 * Published: 256. Under "none" the number cannot exceed what the device takes at once, and changing
 * the scheduler resets it; so the published pair of writes never took effect.
 */
static void nr_requests(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;
	long long depth = fact_or(&d->queue_depth, 0);

	if (!is_seen(q, v, &d->nr_requests.f, NULL))
		return;
	v->current = arena_printf(q->a, "%lld", d->nr_requests.v);
	if (q->profile == PROFILE_PUBLISHED && (holds_zfs(d) || is_usb(d))) {
		if (d->nr_requests.v >= 256)
			verdict_pass(v, "as published");
		else if (fact_is(&d->scheduler, "none"))
			verdict_na(v, CODE_NO_EFFECT,
				   "with scheduler none the kernel rejects values above the "
				   "device's depth: the published 256 cannot be set");
		else
			verdict_fail(v, "256",
				     "a published guide claims more parallel requests; a change of "
				     "scheduler resets this value");
		return;
	}
	if (d->nr_requests.v <= 2 && is_usb(d))
		verdict_na(v, CODE_NO_EFFECT,
			   "a bulk-only USB disk has queue depth 1, and nr_requests is twice that: "
			   "see disk.usb-transport");
	else if (depth && d->nr_requests.v < depth)
		verdict_fail(v, arena_printf(q->a, ">= %lld", depth),
			     "fewer requests than the device accepts in parallel");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "nr_requests follows the device's depth and the scheduler");
}

/*
 * The scheduler none lets nobody raise the number above the device's depth, and is what this
 * profile sets first: a write of the published 256 could only fail.
 */
static void remediate_nr_requests(const struct rule_ctx *q, struct remediations *out)
{
	const struct disk *d = q->object;

	if (q->profile != PROFILE_PUBLISHED)
		remediate_value(q, out, arena_printf(q->a, "%lld", fact_or(&d->queue_depth, 0)));
	else if (offers(d, "none"))
		remediate_by_hand(out, "no value to write: with the published scheduler none, the "
				       "kernel rejects values above the device's depth");
	else
		remediate_value(q, out, "256");
}

/* "/dev/nvme0n1p2" of nvme0n1, "/dev/sda1" of sda. */
static bool lies_on(const char *device, const char *disk)
{
	size_t n = strlen("/dev/"), m = strlen(disk);

	return strncmp(device, "/dev/", n) == 0 && strncmp(device + n, disk, m) == 0 &&
	       strspn(device + n + m, "p0123456789") == strlen(device + n + m);
}

/* Files on a partition of its own are read ahead as this disk says, be others held or not. */
static bool has_files(const struct machine *m, const struct disk *d)
{
	LIST_FOR_EACH (struct mount, at, &m->storage.mounts)
		if (lies_on(fact_text(&at->device, ""), d->name) && seen_ok(&at->type.f) &&
		    !fact_is(&at->type, "vfat"))
			return true;
	return false;
}

/* LVM, RAID or encryption lies on it, with a read-ahead of its own. Those devices are nobody's
 * subject: their names move from boot to boot. */
static const char *read_above(const struct rule_ctx *q, const struct disk *d)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct disk, above, &q->m->storage.disks)
		if (word_in(d->holders.v, above->name) && seen_ok(&above->read_ahead_kb.f))
			text_printf(&t, "%s%s (%lld KiB)", t.len ? ", " : "", above->name,
				    above->read_ahead_kb.v);
	return arena_printf(q->a,
			    "the kernel uses the read-ahead of %s, which is stacked on this disk",
			    t.len ? t.s : d->holders.v);
}

static bool want_read_ahead(const struct rule_ctx *q, struct recommendation *o)
{
	const struct disk *d = q->object;

	*o = (struct recommendation){ .rel = WANT_LEAVE };
	if (q->profile == PROFILE_PUBLISHED && (holds_zfs(d) || is_usb(d)))
		*o = (struct recommendation){
			.rel = WANT_IS,
			.value = "4096",
			.because = "claimed by a guide: fewer round trips for large files"
		};
	else if (q->profile == PROFILE_PUBLISHED)
		o->because = "the published rule applies to members of ZFS pools";
	else if (holds_zfs(d))
		o->because = "read-ahead has no effect: ZFS does not read through the page cache";
	else if (*fact_text(&d->holders, "") && !has_files(q->m, d))
		o->because = read_above(q, d);
	else if (q->platform & ON_HOST)
		o->because = "a larger read-ahead helps sequential reads and slows random reads "
			     "(databases): the workload decides";
	else if (is_nvme(d) || fact_or(&d->rotational, 0) == 1)
		*o = (struct recommendation){ .rel = WANT_AT_LEAST,
					      .value = q->platform & ON_HGX ? "4096" : "1024",
					      .because =
						      "model files are read sequentially; random "
						      "reads do not gain. Gain unmeasured here" };
	else
		o->because = "no measured difference on this type of disk";
	return true;
}

static void usb_transport(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;

	v->current = arena_printf(q->a, "%s at %lld Mb/s", fact_text(&d->transport, "?"),
				  fact_or(&d->usb_speed_mbps, 0));
	if (fact_is(&d->transport, "usb-uas")) {
		verdict_pass(v, "UAS: many parallel requests");
		return;
	}
	/* Sticks, card readers, what a management controller shows as a disk. */
	if (!has_files(q->m, d) && !holds_zfs(d) && !*fact_text(&d->holders, "")) {
		verdict_na(v, CODE_NO_EFFECT,
			   "bulk-only transport; the machine does not use the disk");
		return;
	}
	verdict_fail(v, "usb-uas",
		     "bulk-only handles one request at a time. Use a cable, port or "
		     "enclosure with UAS; "
		     "no queue setting helps");
}

static bool only_usb(const struct machine *m, const void *object)
{
	(void)m;
	return is_usb(object);
}

static bool has_queue(const struct machine *m, const void *object)
{
	const struct disk *d = object;

	(void)m;
	return fact_or(&d->size_bytes, 0) > 0;
}

/* The model folder is unknown; what can be seen is whether the root file system is a network one.
 */
static void local_root(const struct rule_ctx *q, struct verdict *v)
{
	const struct mount *root = machine_mount_of(q->m, "/");

	if (!root || !seen_ok(&root->type.f)) {
		verdict_na(v, CODE_NO_SUPPORT,
			   "the root file system is not on a disk (a container or a RAM disk)");
		return;
	}
	v->current = root->type.v;
	if (strstr(root->type.v, "nfs") || strstr(root->type.v, "9p") ||
	    strstr(root->type.v, "cifs"))
		verdict_fail(
			v, "a local file system",
			"the root file system is on the network, with its models and libraries");
	else
		verdict_pass(v, "local");
}

/* In a unit of which there is at least one. */
static const char *sized(struct arena *a, long long bytes)
{
	return bytes >= 10ll << 30  ? arena_printf(a, "%lld GiB", bytes >> 30)
	       : bytes >= 1ll << 30 ? arena_printf(a, "%.1f GiB", (double)bytes / (1 << 30))
	       : bytes >= 1ll << 20 ? arena_printf(a, "%lld MiB", bytes >> 20)
				    : arena_printf(a, "%lld KiB", bytes >> 10);
}

/* A file system that is likely to fill up with containers, models, caches and checkpoints: the one
 * of such a folder, or one mounted below it. */
static bool is_filled(const struct machine *m, const struct mount *mount)
{
	static const char *const folders[] = {
		"/var",	 "/home",    "/root", "/data", "/models",
		"/raid", "/scratch", "/srv",  "/tmp",  "/workspace"
	};

	if (machine_mount_of(m, "/") == mount)
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (machine_mount_of(m, folders[i]) == mount ||
		    path_is_below(mount->name, folders[i]))
			return !fact_is(&mount->type, "overlay");
	return false;
}

/* Bind mounts and subvolumes share a device, datasets the pool's free space. */
static bool is_same_space(const struct mount *x, const struct mount *y)
{
	const char *of = fact_text(&x->device, ""), *other = fact_text(&y->device, "");

	if (fact_is(&x->type, "zfs") && fact_is(&y->type, "zfs") &&
	    strcspn(of, "/") == strcspn(other, "/"))
		return strncmp(of, other, strcspn(of, "/")) == 0 &&
		       x->free_bytes.v == y->free_bytes.v;
	return *of && strcmp(of, other) == 0;
}

static bool is_filled_first(const struct machine *m, const void *object)
{
	const struct mount *mount = object;

	/* The size of a network mount is not asked, and a read-only one does not fill up. */
	if ((mount->size_bytes.f.seen == SEEN_UNASKED && !mount->size_bytes.f.err) ||
	    str_starts(fact_text(&mount->options, ""), "ro,") || !is_filled(m, mount))
		return false;
	LIST_FOR_EACH (struct mount, before, &m->storage.mounts)
		if (before == mount)
			return true;
		else if (is_same_space(before, mount) && is_filled(m, before))
			return false;
	return true;
}

/* Less than 5 % free: checkpoints fail, and flash and copy-on-write file systems slow down well
 * before. */
static void free_space(const struct rule_ctx *q, struct verdict *v)
{
	const struct mount *mount = q->object;
	long long size, left;

	if (!seen_ok(&mount->size_bytes.f) || !seen_ok(&mount->free_bytes.f)) {
		verdict_unseen(q, v,
			       seen_ok(&mount->size_bytes.f) ? &mount->free_bytes.f
							     : &mount->size_bytes.f,
			       "the file system does not report its size");
		return;
	}
	size = mount->size_bytes.v;
	left = mount->free_bytes.v;
	if (size <= 0 || left < 0 || left > size) {
		verdict_na(v, CODE_NO_SUPPORT, "the file system does not report its size");
		return;
	}
	v->current = arena_printf(q->a, "%s of %s free", sized(q->a, left), sized(q->a, size));
	if (left >= size / 20)
		verdict_pass(v, "enough");
	else
		verdict_fail(v, ">= 5 % free",
			     "writes of checkpoints, images and downloads will fail when the file "
			     "system is full; copy-on-write file systems slow down earlier");
}

/* OpenZFS: module parameters and pool properties. The whole topic applies only where the module is
 * loaded. */

static bool loaded(const struct machine *m, const void *object)
{
	(void)object;
	return seen_ok(&m->storage.zfs_version.f);
}

/* A member without discard (common behind USB bridges) cannot be trimmed. */
static bool can_trim(const struct rule_ctx *q, struct verdict *v)
{
	const struct zpool *pool = q->object;
	bool any = false;

	LIST_FOR_EACH (struct disk, d, &q->m->storage.disks)
		if (seen_ok(&pool->members.f) && strstr(pool->members.v, d->name) &&
		    fact_or(&d->discard_max_bytes, 0) > 0)
			any = true;
	if (any || !seen_ok(&pool->members.f))
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "no member of the pool supports discard");
	return false;
}

static bool has_meta_limit(const struct rule_ctx *q, struct verdict *v)
{
	if (zfs_release(q->m) < 202)
		return true;
	verdict_na(v, CODE_NO_SUPPORT,
		   arena_printf(q->a, "OpenZFS %s has no metadata limit: 2.2 removed it",
				q->m->storage.zfs_version.v));
	return false;
}

static bool has_meta_balance(const struct rule_ctx *q, struct verdict *v)
{
	if (zfs_release(q->m) >= 202)
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "requires OpenZFS 2.2");
	return false;
}

long long arc_most_bytes(const struct machine *m)
{
	long long kb = fact_or(&m->memory.total_kb, 0);

	return kb > 0 && kb < LLONG_MAX / 1024 ? kb * 1024 / 4 : 0;
}

/* Never more than 16 GiB. */
static long long arc_limit(const struct machine *m)
{
	long long quarter = arc_most_bytes(m);

	return quarter < 16ll << 30 ? quarter : 16ll << 30;
}

/* On unified memory the default ceiling lets the cache hold nearly all that CUDA needs. */
static void arc_max(const struct rule_ctx *q, struct verdict *v)
{
	long long c_max = fact_or(&q->m->storage.zfs_arc_c_max, -1);
	long long set = fact_or(&q->m->storage.zfs_arc_max, 0);
	long long total = fact_or(&q->m->memory.total_kb, 0) * 1024, most = arc_most_bytes(q->m);

	if (c_max < 0) {
		verdict_unseen(q, v, &q->m->storage.zfs_arc_c_max.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", c_max >> 20, total >> 20);
	if (!has_unified_memory(q->m))
		verdict_na(v, CODE_LEFT_ALONE,
			   q->platform & ON_HOST ? "the cache shrinks under memory pressure"
						 : "the GPU has its own memory: the cache shrinks "
						   "under memory pressure");
	else if (set > 0 && set <= most)
		verdict_pass(v, "bounded by zfs_arc_max");
	else if (most && c_max > most)
		verdict_fail(v, "at most a quarter of memory (8 to 16 GiB)",
			     "GPU and cache share one memory, and the cache may use most of it");
	else
		verdict_pass(v, "bounded");
}

static void remediate_arc_max(const struct rule_ctx *q, struct remediations *out)
{
	remediate_value(q, out, arena_printf(q->a, "%lld", arc_limit(q->m)));
}

static void pool_state(const struct rule_ctx *q, struct verdict *v)
{
	if (!seen_ok(&q->current.f))
		verdict_unseen(q, v, &q->current.f, NULL);
	else if (strcmp(q->current.v, "ONLINE") == 0)
		verdict_pass(v, "online");
	else
		verdict_fail(v, "ONLINE", "the pool is degraded: repair it before tuning");
}

#include "look/settings_disk_rows.h"
