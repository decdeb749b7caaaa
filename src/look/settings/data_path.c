/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to data beyond a disk's queue: NFS and Lustre mounts, NVMe over fabrics, a container's
 * overlay, and GPUDirect Storage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static bool is_nfs(const struct mount *m)
{
	return fact_is(&m->type, "nfs") || fact_is(&m->type, "nfs4");
}

/* Mounts of one export share one device; the first of them stands for it. */
static bool first_of_device(const struct machine *m, const struct mount *mount)
{
	LIST_FOR_EACH (struct mount, other, &m->storage.mounts)
		if (other == mount)
			return true;
		else if (other->bdi && strcmp(other->bdi, mount->bdi) == 0)
			return false;
	return true;
}

static bool is_nfs_device(const struct machine *m, const void *object)
{
	const struct mount *mount = object;

	return is_nfs(mount) && mount->bdi && *mount->bdi && first_of_device(m, mount);
}

/* "rsize=1048576" of "rw,vers=4.2,rsize=1048576": the text behind "rsize=" as a number. */
static bool option_number(const struct mount *m, const char *name, long long *v)
{
	size_t n = strlen(name);

	for (const char *at = fact_text(&m->options, ""); *at; at += strcspn(at, ",")) {
		char word[32] = "";

		at += strspn(at, ",");
		if (strncmp(at, name, n) != 0 || at[n] != '=')
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + n + 1, ","), at + n + 1);
		return parse_i64(word, v) == 0;
	}
	return false;
}

static bool over_rdma(const struct mount *m)
{
	const char *options = fact_text(&m->options, "");

	return strstr(options, "proto=rdma") || strstr(options, ",rdma");
}

/* nconnect is how many connections share the work; one is one processor and one flow. */
static void nfs_connections(const struct rule_ctx *q, struct verdict *v)
{
	const struct mount *m = q->object;
	long long n = 1, fastest = 0;

	if (!is_seen(q, v, &m->options.f, NULL))
		return;
	if (over_rdma(m)) {
		v->current = "rdma";
		verdict_pass(v, "over RDMA");
		return;
	}
	(void)option_number(m, "nconnect", &n);
	LIST_FOR_EACH (struct nic, nic, &q->m->net.nics)
		if (is_up(nic) && fact_or(&nic->speed_mbps, 0) > fastest)
			fastest = nic->speed_mbps.v;
	v->current = arena_printf(q->a, "%lld", n);
	if (n >= 4)
		verdict_pass(v, "several connections to the server share the load");
	else if (fastest < 25000)
		verdict_na(v, CODE_NO_EFFECT, "one connection can use the full rate of every link");
	else
		verdict_fail(v, ">= 4",
			     arena_printf(q->a,
					  "%lld connection to the server: one flow cannot saturate "
					  "a link of %lld Gb/s",
					  n, fastest / 1000));
}

static void nfs_transfer(const struct rule_ctx *q, struct verdict *v)
{
	const struct mount *m = q->object;
	long long r = 0, w = 0;

	if (!is_seen(q, v, &m->options.f, NULL))
		return;
	if (!option_number(m, "rsize", &r) || !option_number(m, "wsize", &w)) {
		verdict_unknown(v, CODE_ERROR, "the mount's options have no rsize and wsize");
		return;
	}
	v->current = arena_printf(q->a, "rsize %lld, wsize %lld", r, w);
	if (r >= 262144 && w >= 262144)
		verdict_pass(v, "large transfers");
	else
		verdict_fail(v, ">= 262144 both",
			     "small transfers need more requests to the server");
}

static bool has_lustre(const struct machine *m, const void *object)
{
	(void)object;
	LIST_FOR_EACH (struct mount, mount, &m->storage.mounts)
		if (fact_is(&mount->type, "lustre"))
			return true;
	return false;
}

static bool is_fabric_disk(const struct machine *m, const void *object)
{
	const struct disk *d = object;

	(void)m;
	return fact_is(&d->transport, "nvme-of");
}

/* A queue is one connection (TCP) or queue pair (RDMA), served by one CPU. */
static void nvme_connection(const struct rule_ctx *q, struct verdict *v)
{
	enum { FEW = 8, LOSS_S = 600 /* nvme-connect's own */ };
	const struct disk *d = q->object;
	long long cpus = (long long)idset_count(&q->m->cpu.online.v),
		  want = cpus < FEW ? cpus : FEW;
	long long paths = fact_or(&d->paths, 1), live = fact_or(&d->live_paths, paths);
	const char *loss = fact_text(&d->loss_timeout, "?");

	if (!is_seen(q, v, &d->io_queues.f, "this kernel does not report the connection"))
		return;
	v->current = arena_printf(q->a, "%s, %lld I/O queues, %lld of %lld paths live, limit %s",
				  fact_text(&d->fabric, "?"), d->io_queues.v, live, paths, loss);
	if (live < paths)
		verdict_fail(
			v, "every path live",
			"a path has lost its target: its bandwidth and the redundancy are gone");
	else if (d->io_queues.v < want)
		verdict_fail(
			v, arena_printf(q->a, ">= %lld I/O queues", want),
			"each queue is one connection, served by one CPU: so few limit the disk");
	else if (paths == 1 && *loss >= '0' && *loss <= '9' && atoi(loss) < LOSS_S)
		verdict_fail(v, arena_printf(q->a, ">= %d s, or off", LOSS_S),
			     "after this time without its only target, programs get I/O errors");
	else
		verdict_pass(v, "every path is live");
}

static bool has_paths(const struct rule_ctx *q, struct verdict *v)
{
	const struct disk *d = q->object;

	if (fact_or(&d->paths, 0) > 1 && seen_ok(&d->path_policy.f))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "the disk has only one path");
	return false;
}

/* Mounts of a container that its runtime makes for every one. */
static bool is_runtime_file(const struct mount *m)
{
	return str_starts(m->name, "/etc/") || str_starts(m->name, "/dev/") ||
	       str_starts(m->name, "/usr/") || str_starts(m->name, "/run/") ||
	       str_starts(m->name, "/proc/");
}

static void overlay(const struct rule_ctx *q, struct verdict *v)
{
	const struct mount *root = machine_mount_of(q->m, "/"), *data = NULL;

	if (!root || !fact_is(&root->type, "overlay")) {
		verdict_na(v, CODE_NO_EFFECT, "the root file system is not an overlay");
		return;
	}
	LIST_FOR_EACH (struct mount, m, &q->m->storage.mounts)
		if (m != root && !is_runtime_file(m) && !fact_is(&m->type, "overlay") &&
		    !fact_is(&m->type, "hugetlbfs"))
			data = m;
	v->current = data ? arena_printf(q->a, "overlay; %s is another mount", data->name)
			  : "overlay only";
	if (data)
		verdict_pass(v, "a separate mount for data");
	else
		verdict_fail(v, "a volume for models and data",
			     "all files are on the image's overlay: the first write to a file "
			     "copies the whole file, and the container's end deletes written data");
}

static bool has_cufile(const struct machine *m)
{
	LIST_FOR_EACH (struct library, l, &m->software.libraries)
		if (str_starts(l->name, "libcufile.so"))
			return true;
	return false;
}

/* The kernel's own way from NVMe to GPU memory: Linux 6.2, the open modules, and asked for. */
static bool has_p2pdma(const struct machine *m)
{
	unsigned major = 0, minor = 0;

	return fact_or(&m->storage.cufile_p2pdma, 0) == 1 &&
	       fact_is(&m->gpu.driver_flavour, "open") &&
	       sscanf(fact_text(&m->kernel.release, ""), "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 2));
}

static void gds(const struct rule_ctx *q, struct verdict *v)
{
	const struct storage *s = &q->m->storage;
	const char *module = fact_text(&s->nvidia_fs, NULL);
	bool compat = fact_or(&s->cufile_compat, 1) == 1;

	if (!q->m->gpu.gpus.n || has_unified_memory(q->m)) {
		verdict_na(v, q->m->gpu.gpus.n ? CODE_INTEGRATED : CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n
				   ? "the GPU shares the host's memory: data has only one path"
				   : machine_no_gpu(q->a, q->m));
		return;
	}
	v->current = module ? arena_printf(q->a, "nvidia-fs %s", module) : "nvidia-fs not loaded";
	if (module)
		verdict_pass(v, "cuFile can read directly into GPU memory; pcie.iommu and pcie.acs "
				"check the path");
	else if (has_p2pdma(q->m))
		verdict_pass(v, "direct reads of NVMe by the kernel's peer-to-peer DMA");
	else if (!has_cufile(q->m))
		verdict_na(v, CODE_NO_SUPPORT, "no cuFile library is installed");
	else if (!compat)
		verdict_fail(v, "nvidia-fs loaded, or allow_compat_mode",
			     "cufile.json forbids reads through host memory, and there is no "
			     "direct path: cuFile calls fail");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "cuFile works and reads through host memory (compatibility mode); only "
			   "programs that use cuFile would gain from nvidia-fs");
}

/* The first address that no interface here has; NULL: none. *hidden: some interface's addresses
 * could not be read. */
static const char *not_here(const struct rule_ctx *q, const char *addresses, bool *hidden)
{
	for (const char *p = addresses; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		bool found = memchr(p, ':', n) != NULL; /* IPv6 is not among the facts */

		LIST_FOR_EACH (struct nic, nic, &q->m->net.nics) {
			*hidden |= !seen_ok(&nic->ipv4.f) && nic->ipv4.f.seen != SEEN_ABSENT;
			for (const char *at = fact_text(&nic->ipv4, ""); *at;
			     at += strcspn(at, " "), at += strspn(at, " "))
				found |= strncmp(at, p, n) == 0 && at[n] == '/';
		}
		if (!found)
			return arena_strndup(q->a, p, n);
	}
	return NULL;
}

/* cufile.json as installed. */
enum { CUFILE_DIRECT_KB = 16384, CUFILE_CACHE_KB = 131072 };

/* Why the sizes of cufile.json do not fit each other or the GPU; NULL: they fit. */
static const char *sizes_clash(const struct rule_ctx *q)
{
	const struct storage *s = &q->m->storage;
	const struct fact_int *sizes[] = { &s->cufile_direct_kb, &s->cufile_buffer_kb,
					   &s->cufile_cache_kb, &s->cufile_pinned_kb };
	long long cache = fact_or(&s->cufile_cache_kb, CUFILE_CACHE_KB);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (seen_ok(&sizes[i]->f) && (sizes[i]->v <= 0 || sizes[i]->v % 4))
			return "a size is not a multiple of 4 KiB";
	if (fact_or(&s->cufile_buffer_kb, 0) > cache)
		return "one bounce buffer is larger than the limit for all bounce buffers: cuFile "
		       "reads through host memory";
	if (fact_or(&s->cufile_pinned_kb, cache) < cache)
		return "the bounce buffers exceed the limit of pinned memory per GPU";
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (seen_ok(&g->memory_bytes.f) && g->memory_bytes.v / 1024 < cache)
			return "the bounce buffers are larger than the GPU's memory";
	return NULL;
}

/* A mount that cuFile reads by RDMA, from the addresses of its list; NULL: none. */
static const struct mount *needs_addresses(const struct machine *m)
{
	LIST_FOR_EACH (struct mount, mount, &m->storage.mounts)
		if (fact_is(&mount->type, "wekafs") || fact_is(&mount->type, "gpfs"))
			return mount;
	return NULL;
}

/* The maker of a storage system may have reasons for other values than the defaults. */
static void cufile_values(const struct rule_ctx *q, struct verdict *v)
{
	const struct storage *s = &q->m->storage;
	const char *addresses = fact_text(&s->cufile_addresses, ""), *away, *clash;
	const struct mount *remote = needs_addresses(q->m);
	long long cache = fact_or(&s->cufile_cache_kb, CUFILE_CACHE_KB);
	bool hidden = false;

	if (!q->m->gpu.gpus.n || !seen_ok(&s->cufile_direct_kb.f) || !has_cufile(q->m)) {
		if (q->m->gpu.gpus.n && is_hidden(q, v, &s->cufile_direct_kb.f))
			return;
		verdict_na(v, CODE_NO_SUPPORT, "no cuFile, or no sizes in cufile.json");
		return;
	}
	v->current = arena_printf(q->a, "%lld KiB per request, %lld KiB of buffers, addresses %s",
				  s->cufile_direct_kb.v, cache, *addresses ? addresses : "none");
	clash = sizes_clash(q);
	away = not_here(q, addresses, &hidden);
	if (clash)
		verdict_fail(v, "consistent sizes", clash);
	else if (away && hidden)
		verdict_unknown(v, CODE_NOT_CAPTURED, "interface addresses are unreadable");
	else if (away)
		verdict_fail(
			v, "addresses of the machine",
			arena_printf(q->a,
				     "no interface of the machine has %s: RDMA to storage fails",
				     away));
	else if (!*addresses && remote)
		verdict_fail(v, "addresses of the storage network's interfaces",
			     arena_printf(q->a,
					  "without these addresses %s is read through host memory",
					  remote->name));
	else if (s->cufile_direct_kb.v != CUFILE_DIRECT_KB || cache != CUFILE_CACHE_KB)
		verdict_na(v, CODE_LEFT_ALONE,
			   "NVIDIA recommends the defaults (16384 and 131072 KiB) unless the "
			   "storage vendor or a measurement suggests other sizes");
	else
		verdict_pass(v, "sizes are consistent and match NVIDIA's recommendation");
}

#include "look/settings_data_path_rows.h"
