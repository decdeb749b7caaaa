/* SPDX-License-Identifier: Apache-2.0 */
/* show cpu. */
#include <string.h>

#include "render/figure.h"
#include "look/show/page.h"
#include "render/columns.h"

static struct cell host_page_threads(struct doc *d, const struct machine *m, const void *object)
{
	const struct cpus *c = object;

	(void)m;
	if (!seen_ok(&c->threads.f) || !seen_ok(&c->cores.f) || !seen_ok(&c->sockets.f))
		return cell_int(d, &c->threads, NULL);
	return cellf(d, "%lld: %lld socket%s, %lld cores, %s", c->threads.v, c->sockets.v,
		     PLURAL(c->sockets.v), c->cores.v,
		     !seen_ok(&c->threads_per_core.f) ? "threads per core unknown"
		     : c->threads_per_core.v > 1      ? "SMT on"
						      : "one thread per core");
}

/* "0.8-4 GHz": both in one unit. */
static struct cell range(struct doc *d, const struct fact_int *low, const struct fact_int *high)
{
	if (!seen_ok(&low->f) || !seen_ok(&high->f))
		return cell_int(d, seen_ok(&high->f) ? high : low, "kHz");
	return cellf(d, "%.4g-%.4g GHz", (double)low->v / 1e6, (double)high->v / 1e6);
}

static struct cell frequency(struct doc *d, const struct machine *m, const void *object)
{
	const struct freq_policy *p = object;

	(void)m;
	return range(d, &p->min_khz, &p->max_khz);
}

static struct cell hardware_frequency(struct doc *d, const struct machine *m, const void *object)
{
	const struct freq_policy *p = object;

	(void)m;
	/* Worth a column only where somebody has narrowed the bounds. */
	if (seen_ok(&p->min_khz.f) && seen_ok(&p->max_khz.f) &&
	    p->min_khz.v == fact_or(&p->hw_min_khz, -1) &&
	    p->max_khz.v == fact_or(&p->hw_max_khz, -1))
		return (struct cell){ .text = "the same", .style = STYLE_MUTED, .nothing = true };
	return range(d, &p->hw_min_khz, &p->hw_max_khz);
}

/* The kernel's mask in groups of 32 bits, "ff,ffffffff", as CPU ranges. */
static struct cell interrupts(struct doc *d, const struct machine *m, const void *object)
{
	const struct fact_str *f = &((const struct cpus *)object)->default_smp_affinity;
	struct idset set = { 0 };
	unsigned bit = 0;

	(void)m;
	if (!seen_ok(&f->f))
		return cell_unseen(&f->f);
	for (size_t i = strlen(f->v); i-- > 0 && bit < IDSET_MAX;) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, f->v[i]);

		if (f->v[i] == ',')
			continue;
		if (!at)
			return cell(f->v);
		for (unsigned b = 0; b < 4; b++)
			if ((unsigned)(at - digits) >> b & 1)
				idset_add(d->arena, &set, bit + b);
		bit += 4;
	}
	return cell(set.n ? idset_format(d->arena, &set) : f->v);
}

static struct cell cache(struct doc *d, const struct machine *m, const void *object)
{
	const struct cpu_cache *c = object;

	(void)m;
	return cellf(d, "L%u", c->level);
}

static const struct pick cpu_picks[] = {
	PICK(cpus, model, "Model"),
	PICK(cpus, arch, "Architecture"),
	PICK(cpus, vendor, "Vendor"),
	PICK_MADE(host_page_threads, "CPUs"),
	PICK(cpus, online, "Online"),
	PICK(cpus, isolated, "Isolated"),
	PICK(cpus, nohz_full, "Tickless (nohz_full)"),
	PICK(cpus, smt_active, "SMT active"),
	PICK(cpus, boost, "Boost"),
	PICK(cpus, idle_driver, "Idle driver"),
	PICK(cpus, idle_governor, "Idle governor"),
	PICK(cpus, cppc_auto_sel_mode, "CPPC autonomous selection"),
	PICK(cpus, hypervisor, "In a virtual machine"),
	PICK_MADE(interrupts, "CPUs for interrupts"),
};
static const struct pick type_picks[] = {
	PICK(core_type, name, "Core type"),    PICK(core_type, role, "Role"),
	PICK(core_type, cpus, "CPUs"),	       PICK(core_type, max_khz, "Max. clock"),
	PICK(core_type, capacity, "Capacity"), PICK(core_type, midr, "MIDR"),
};
static const struct pick policy_picks[] = {
	PICK(freq_policy, cpus, "CPUs"),
	PICK(freq_policy, driver, "Driver"),
	PICK(freq_policy, governor, "Governor"),
	PICK(freq_policy, epp, "Preference"),
	PICK_FIGURE(frequency, "Bounds"),
	PICK_FIGURE(hardware_frequency, "Hardware"),
	PICK(freq_policy, auto_select, "Autonomous"),
};
static const struct pick cluster_picks[] = {
	PICK(cpu_cluster, index, "Cluster"),
	PICK(cpu_cluster, cpus, "CPUs"),
	PICK(cpu_cluster, l3_bytes, "L3"),
};
static const struct pick cache_picks[] = {
	PICK_MADE(cache, "Cache"),
	PICK(cpu_cache, type, "Type"),
	PICK(cpu_cache, size_bytes, "Each"),
	PICK(cpu_cache, count, "Count"),
};
static const struct pick node_picks[] = {
	PICK(numa_node, index, "Node"),
	PICK(numa_node, cpus, "CPUs"),
	PICK(numa_node, mem_total_bytes, "Memory"),
	PICK(numa_node, mem_free_bytes, "Free"),
	PICK(numa_node, distance, "Distances"),
};

/* A line a state of the CPUs that have it. */
static void host_page_idle_states(struct doc *d, const struct machine *m)
{
	struct node *n = DOC_TABLE(d, "Idle states", "!CPUs", "!Idle state", ">Exit latency",
				   ">Min. residency", "Disabled");

	LIST_FOR_EACH (struct idle_group, g, &m->cpu.idle) {
		LIST_FOR_EACH (struct idle_state, s, &g->states)
			NODE_ROW(d, n, cell_set(d, &g->cpus), cell_str(&s->name),
				 cell_int(d, &s->latency, "us"), cell_int(d, &s->residency, "us"),
				 cell_bool(&s->disabled, "yes", "no"));
	}
	node_drop_empty(n);
}

struct doc *page_cpu(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Processors");
	show_object(d, m, NULL, PICKS(cpus_shape, cpu_picks), &m->cpu);
	show_table(d, m, "Core types", PICKS(core_type_shape, type_picks), &m->cpu.types);
	show_table(d, m, "Frequency", PICKS(freq_policy_shape, policy_picks), &m->cpu.policies);
	host_page_idle_states(d, m);
	show_table(d, m, "NUMA nodes", PICKS(numa_node_shape, node_picks), &m->cpu.nodes);
	show_table(d, m, "Clusters", PICKS(cpu_cluster_shape, cluster_picks), &m->cpu.clusters);
	show_table(d, m, "Caches", PICKS(cpu_cache_shape, cache_picks), &m->cpu.caches);
	return d;
}

/* show memory. */

static struct cell pool_place(struct doc *d, const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	if (seen_ok(&p->node.f) && p->node.v >= 0)
		return cellf(d, "node %lld", p->node.v);
	return cell("machine");
}

static struct cell host_page_requested(struct doc *d, const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	if (!seen_ok(&p->requested.f))
		return cell_unseen(&p->requested.f);
	return cell_printf(
		d, seen_ok(&p->total.f) && p->total.v < p->requested.v ? STYLE_BAD : STYLE_PLAIN,
		"%lld", p->requested.v);
}

static const struct pick memory_picks[] = {
	PICK(memory, total_kb, "Total"),
	PICK(memory, available_kb, "Available"),
	PICK(memory, free_kb, "Free"),
	PICK(memory, cached_kb, "Page cache"),
	PICK(memory, dirty_kb, "Dirty"),
	PICK(memory, swap_total_kb, "Swap"),
	PICK(memory, swap_free_kb, "Swap free"),
	PICK(memory, hugetlb_kb, "In explicit huge pages"),
	PICK(memory, hugepage_size_kb, "Huge page, default"),
	PICK(memory, cma_total_kb, "CMA"),
	PICK(memory, cma_free_kb, "CMA free"),
	PICK(memory, page_size, "Page"),
	PICK(memory, thp_enabled, "Transparent huge pages"),
	PICK(memory, thp_defrag, "THP defragmentation"),
	PICK(memory, thp_shmem, "THP for shared memory"),
	PICK(memory, shm_size, "/dev/shm"),
	PICK(memory, memlock, "Lockable memory (memlock)"),
};
static const struct pick pool_picks[] = {
	PICK(huge_pool, size_kb, "Page size"),
	PICK_MADE(pool_place, "Of"),
	PICK_FIGURE(host_page_requested, "Requested"),
	PICK(huge_pool, total, "Granted"),
	PICK(huge_pool, free, "Free"),
	PICK(huge_pool, reserved, "Reserved"),
	PICK(huge_pool, surplus, "Surplus"),
};
static const struct pick thp_picks[] = { PICK(thp_size, size_kb, "Size"),
					 PICK(thp_size, enabled, "Enabled") };
static const struct pick swap_picks[] = {
	PICK(swap_area, name, "Area"),	       PICK(swap_area, type, "Type"),
	PICK(swap_area, size_kb, "Size"),      PICK(swap_area, used_kb, "Used"),
	PICK(swap_area, priority, "Priority"),
};
static const struct pick memory_node_picks[] = {
	PICK(numa_node, index, "Node"),
	PICK(numa_node, mem_total_bytes, "Memory"),
	PICK(numa_node, mem_free_bytes, "Free"),
	PICK(numa_node, cpus, "CPUs"),
};

/* Most machines offer sizes on nodes that nobody has asked for. */
static struct list pools_used(struct arena *a, const struct list *all)
{
	struct list used = { 0 };

	LIST_FOR_EACH (struct huge_pool, p, all)
		if (fact_or(&p->total, 1) || fact_or(&p->surplus, 0) || fact_or(&p->requested, 0))
			*(struct huge_pool *)list_add(a, &used, sizeof(*p)) = *p;
	return used;
}

struct doc *page_memory(struct arena *a, const struct machine *m)
{
	struct list used = pools_used(a, &m->memory.pools);
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Memory");
	show_object(d, m, NULL, PICKS(memory_shape, memory_picks), &m->memory);
	show_table(d, m, "NUMA nodes", PICKS(numa_node_shape, memory_node_picks), &m->cpu.nodes);
	show_table(d, m, "Explicit huge pages", PICKS(huge_pool_shape, pool_picks), &used);
	show_table(d, m, "Transparent huge pages by size", PICKS(thp_size_shape, thp_picks),
		   &m->memory.thp_sizes);
	show_table(d, m, "Swap", PICKS(swap_area_shape, swap_picks), &m->memory.swaps);
	return d;
}

/* show disk: block devices with their queues, file systems, ZFS. */

static struct cell kind(struct doc *d, const struct machine *m, const void *object)
{
	const struct disk *k = object;

	(void)d;
	(void)m;
	return fact_is(&k->role, "disk") || !seen_ok(&k->role.f) ? cell_str(&k->transport)
								 : cell_str(&k->role);
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
	PICK_OF(disk, max_sectors_kb, hw_sectors_kb, "Largest request"),
	PICK(disk, nomerges, "Nomerges"),
	PICK(disk, rq_affinity, "Affinity"),
	PICK(disk, wbt_lat_us, "Throttle at"),
	PICK(disk, write_cache, "Write cache"),
};
static const struct pick mount_picks[] = {
	PICK(mount, name, "Mounted on"),      PICK(mount, type, "Type"),
	PICK(mount, device, "Device"),	      PICK_OF(mount, free_bytes, size_bytes, "Free / size"),
	PICK_WRAP(mount, options, "Options"),
};
static const struct pick disk_pool_picks[] = {
	PICK(zpool, name, "Pool"),
	PICK(zpool, state, "State"),
	PICK(zpool, autotrim, "Autotrim"),
	PICK_WRAP(zpool, members, "Members"),
};
static const struct pick zfs_picks[] = {
	PICK(storage, zfs_version, "ZFS"),
	PICK(storage, zfs_arc_size, "ARC size"),
	PICK(storage, zfs_arc_c_max, "ARC maximum"),
	PICK(storage, zfs_arc_max, "ARC limit set"),
};

struct doc *page_disk(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Storage");
	show_table(d, m, "Block devices", PICKS(disk_shape, disk_picks), &m->storage.disks);
	show_table(d, m, "Queues", PICKS(disk_shape, queue_picks), &m->storage.disks);
	show_table(d, m, "File systems", PICKS(mount_shape, mount_picks), &m->storage.mounts);
	show_table(d, m, "ZFS pools", PICKS(zpool_shape, disk_pool_picks), &m->storage.pools);
	show_object(d, m, "ZFS", PICKS(storage_shape, zfs_picks), &m->storage);
	return d;
}

/* show kernel and show software. */

static struct cell active(struct doc *d, const struct machine *m, const void *object)
{
	const struct service *s = object;

	(void)d;
	(void)m;
	if (seen_ok(&s->active.f) && s->active.v)
		return cell_as(STYLE_STRONG, "running");
	return cell_bool(&s->active, "running", "stopped");
}

static struct cell enabled(struct doc *d, const struct machine *m, const void *object)
{
	(void)d;
	(void)m;
	return cell_bool(&((const struct service *)object)->enabled, "at boot", "no");
}

static const struct pick kernel_picks[] = {
	PICK(kernel, release, "Release"),
	PICK(kernel, version, "Version"),
	PICK(kernel, arch, "Architecture"),
	PICK(kernel, boot_mode, "Boot mode"),
	PICK(kernel, boot_menu, "Boot arguments from"),
	PICK(kernel, secure_boot, "Secure Boot"),
	PICK(kernel, lockdown, "Lockdown"),
	PICK(kernel, clocksource, "Clock source"),
	PICK(kernel, preempt, "Preemption"),
	PICK(kernel, iommu, "IOMMU"),
	PICK(kernel, modules, "Modules loaded"),
	PICK(kernel, tainted, "Taint bits"),
	{ .title = "Command line",
	  .offset = offsetof(struct kernel, cmdline),
	  .style = STYLE_CODE },
};
static const struct pick platform_picks[] = {
	PICK(platform, kind, "Platform"),
	PICK(platform, why, "Known by"),
	PICK(platform, model, "Model"),
	PICK(platform, product, "Product"),
	PICK(platform, vendor, "Vendor"),
	PICK(platform, board, "Board"),
	PICK(platform, bios_version, "Firmware"),
	PICK(platform, bios_date, "Firmware date"),
	PICK(platform, virtual_, "Virtual machine"),
};
static const struct pick software_picks[] = {
	PICK(software, os_name, "Distribution"),
	PICK(software, dgx_release, "DGX release"),
	PICK(software, glibc, "C library"),
	PICK(software, init, "Init"),
	PICK(software, cuda_toolkit, "CUDA toolkit"),
	PICK(software, nvcc, "nvcc"),
	PICK(software, container, "Inside container"),
	PICK(software, container_runtime, "Container runtime"),
};
static const struct pick service_picks[] = {
	PICK(service, name, "Service"),
	PICK_MADE(enabled, "Enabled"),
	PICK_MADE(active, "State"),
	PICK_WRAP(service, owns, "Sets"),
};
static const struct pick library_picks[] = {
	PICK(library, name, "Library"),
	PICK(library, version, "Version"),
	{ .title = "Path",
	  .offset = offsetof(struct library, path),
	  .wrap = true,
	  .style = STYLE_CODE },
};

struct doc *page_kernel(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Kernel");
	show_object(d, m, NULL, PICKS(kernel_shape, kernel_picks), &m->kernel);
	return d;
}

struct doc *page_software(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Software");
	show_object(d, m, NULL, PICKS(software_shape, software_picks), &m->software);
	show_object(d, m, "Machine", PICKS(platform_shape, platform_picks), &m->platform);
	show_table(d, m, "Services that change settings", PICKS(service_shape, service_picks),
		   &m->software.services);
	show_table(d, m, "Libraries", PICKS(library_shape, library_picks), &m->software.libraries);
	return d;
}
