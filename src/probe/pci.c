/* SPDX-License-Identifier: Apache-2.0 */
/* All PCI functions and their places in the tree. A sleeping device is left asleep. */
#include "probe/pci.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

#define DEVICES "/sys/bus/pci/devices"

enum { CLASS_STORAGE = 0x01, CLASS_NETWORK = 0x02, CLASS_DISPLAY = 0x03, CLASS_BRIDGE = 0x06, CLASS_ACCELERATOR = 0x12 };

/* "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0": parent "0000:15:01.0", root "pci0000:15". */
static void place(struct probe *p, struct pci_function *f)
{
	const char *last = strrchr(f->path, '/'), *root = strstr(f->path, "/pci"), *before = last;

	f->parent = f->root = "";
	if (!last || !root || root >= last)
		return;
	f->root = arena_strndup(p->a, root + 1, strcspn(root + 1, "/"));
	while (before > f->path && before[-1] != '/')
		before--;
	if (before > root + 1)
		f->parent = arena_strndup(p->a, before, (size_t)(last - before));
}

/* "32.0 GT/s PCIe" */
static struct fact_int speed_text(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str text = probe_str(p, dir, leaf);
	double gts;

	if (!seen_ok(&text.f))
		return (struct fact_int){ .f = text.f };
	if (sscanf(text.v, "%lf GT/s", &gts) != 1 || gts < 0 || gts > 1000)
		return (struct fact_int){ .f = fact_unseen(-EOPNOTSUPP, dir, leaf) };
	return fact_int_of((long long)(gts * 1000 + 0.5), dir, leaf);
}

/* What the kernel keeps of the device without asking it again. */
static void from_kernel(struct probe *p, struct pci_function *f, const char *dir)
{
	f->vendor = probe_hex(p, dir, "vendor");
	f->device = probe_hex(p, dir, "device");
	f->class_ = probe_hex(p, dir, "class");
	f->subvendor = probe_hex(p, dir, "subsystem_vendor");
	f->subdevice = probe_hex(p, dir, "subsystem_device");
}

static void link_from_kernel(struct probe *p, struct pci_function *f, const char *dir)
{
	f->max_speed_mts = speed_text(p, dir, "max_link_speed");
	f->max_width = probe_int(p, dir, "max_link_width");
	f->speed_mts = speed_text(p, dir, "current_link_speed");
	f->width = probe_int(p, dir, "current_link_width");
}

/* "TOTAL_ERR_FATAL 0" is the last line. */
static struct fact_int aer(struct probe *p, const char *dir, const char *leaf)
{
	const char *total;
	char *text;
	long long n;
	int r = host_read(p->h, arena_printf(p->a, "%s%s", dir, leaf), HOST_READ_MAX, p->a, &text, NULL);

	total = r ? NULL : strstr(text, "TOTAL_ERR_");
	if (!total || sscanf(total, "TOTAL_ERR_%*s %lld", &n) != 1)
		return (struct fact_int){ .f = fact_unseen(r ? r : -EPROTO, dir, leaf) };
	return fact_int_of(n, dir, leaf);
}

/* The type of a group is the same for all its functions: read once. */
static struct fact_str group_type(struct probe *p, struct map *types, const struct fact_int *group)
{
	const char *dir;
	struct fact_str **known;

	if (!seen_ok(&group->f))
		return (struct fact_str){ .f = group->f };
	dir = arena_printf(p->a, "/sys/kernel/iommu_groups/%lld/", group->v);
	known = (struct fact_str **)map_at(p->a, types, dir);
	if (!*known) {
		*known = ARENA_NEW(p->a, struct fact_str);
		**known = probe_str(p, dir, "type");
	}
	return **known;
}

static struct fact_int group_number(struct probe *p, const char *dir)
{
	struct fact_str link = probe_link_name(p, dir, "iommu_group");
	long long n;

	if (!seen_ok(&link.f))
		return (struct fact_int){ .f = link.f };
	if (parse_i64(link.v, &n))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, dir, "iommu_group") };
	return fact_int_of(n, dir, "iommu_group");
}

static bool matters(const struct pci_function *f)
{
	unsigned base = pci_base_class(f);

	return base == CLASS_DISPLAY || base == CLASS_NETWORK || base == CLASS_STORAGE || base == CLASS_ACCELERATOR;
}

/* More of the devices that people look at; bridges and the processor's own dummy functions need less. */
static void details(struct probe *p, struct pci_function *f, const char *dir, struct map *types)
{
	f->driver = probe_link_name(p, dir, "driver");
	f->iommu_group = group_number(p, dir);
	f->iommu_type = group_type(p, types, &f->iommu_group);
	f->aer_correctable = aer(p, dir, "aer_dev_correctable");
	if (f->aer_correctable.f.seen == SEEN_ABSENT || f->aer_correctable.f.seen == SEEN_UNASKED) {
		f->aer_nonfatal.f = f->aer_fatal.f = f->aer_correctable.f;
	} else {
		f->aer_nonfatal = aer(p, dir, "aer_dev_nonfatal");
		f->aer_fatal = aer(p, dir, "aer_dev_fatal");
	}
	if (pci_base_class(f) == CLASS_NETWORK) {
		f->is_vf = fact_int_of(host_exists(p->h, arena_printf(p->a, "%sphysfn", dir)), dir, "physfn");
		f->sriov_numvfs = probe_int(p, dir, "sriov_numvfs");
	}
}

static void add(struct probe *p, const char *address, struct map *types)
{
	struct pci_function *f = list_add(p->a, &p->m->pci, sizeof(*f));
	char path[HOST_PATH_MAX];
	const char *dir;

	f->name = address;
	f->path = f->parent = f->root = "";
	if (host_link_path(p->h, arena_printf(p->a, DEVICES "/%s", address), path, sizeof(path)) == 0) {
		f->path = arena_strdup(p->a, path);
		place(p, f);
	}
	/* The function's own folder, not the link to it: one look-up less a file. */
	dir = *f->path ? arena_printf(p->a, "%s/", f->path) : arena_printf(p->a, DEVICES "/%s/", address);
	f->runtime_status = probe_str(p, dir, "power/runtime_status");
	/* Reading configuration space wakes a suspended device; a check must not. */
	if (fact_is(&f->runtime_status, "suspended")) {
		from_kernel(p, f, dir);
		link_from_kernel(p, f, dir);
		f->config_bytes.f = fact_unseen(-EOPNOTSUPP, dir, "config");
	} else if (!pci_config_read(p, f, dir)) {
		from_kernel(p, f, dir);
	}
	if (f->max_width.f.seen == SEEN_DENIED)
		link_from_kernel(p, f, dir);
	f->numa_node = probe_int(p, dir, "numa_node");
	if (matters(f))
		details(p, f, dir, types);
	else if (pci_base_class(f) == CLASS_BRIDGE)
		f->driver = probe_link_name(p, dir, "driver");
}

void probe_pci(struct probe *p)
{
	struct map types = { 0 };
	char **names;
	size_t n;

	if (host_list(p->h, DEVICES, p->a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add(p, names[i], &types);
}
