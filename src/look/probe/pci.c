/* SPDX-License-Identifier: Apache-2.0 */
/* All PCI functions and their places in the tree. A sleeping device is left asleep. */
#include "look/probe/pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

#define DEVICES "/sys/bus/pci/devices"

enum {
	CLASS_STORAGE = 0x01,
	CLASS_NETWORK = 0x02,
	CLASS_DISPLAY = 0x03,
	CLASS_BRIDGE = 0x06,
	CLASS_ACCELERATOR = 0x12,
	CLASS_PCI_BRIDGE = 0x0604 /* with the subclass: to another bus, with a link */
};

/* "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0": parent "0000:15:01.0", root "pci0000:15". A
 * domain behind a function (VMD) begins a root of its own. */
static void place(struct probe *p, struct pci_function *f)
{
	const char *above = NULL;
	size_t above_len = 0, n;

	for (const char *c = strchr(f->path, '/'); c; c = strchr(c, '/')) {
		c++;
		n = pci_root_length(c);
		if (n) {
			f->root = arena_strndup(p->a, c, n);
			above = NULL;
			continue;
		}
		n = pci_address_length(c);
		if (n && c[n] == '/') {
			above = c;
			above_len = n;
		}
	}
	if (above)
		f->parent = arena_strndup(p->a, above, above_len);
}

/* "32.0 GT/s PCIe" */
static struct fact_int speed_text(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str text = probe_str(p, dir, leaf);
	double gts;

	if (!seen_ok(&text.f))
		return (struct fact_int){ .f = text.f };
	if (sscanf(text.v, "%lf GT/s", &gts) != 1 || !(gts >= 0 && gts <= 1000))
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

/* The value of a line "KEY=value"; *n gets its length. NULL when there is none. */
static const char *uevent_value(const char *text, const char *key, size_t *n)
{
	size_t k = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, k) == 0 && line[k] == '=')
			return str_trim(line + k + 1, strcspn(line + k + 1, "\n"), n);
	}
	return NULL;
}

/* First or second half of "PCI_ID=15B3:1021"; the whole of "PCI_CLASS=20000". */
static struct fact_int uevent_hex(const char *text, const char *dir, const char *key, bool second)
{
	size_t n = 0, half;
	const char *v = uevent_value(text, key, &n), *colon = v ? memchr(v, ':', n) : NULL;
	unsigned long long number;
	char digits[32];

	half = colon ? (size_t)(colon - v) : n;
	if (second) {
		v = colon ? colon + 1 : NULL;
		half = colon ? n - half - 1 : 0;
	}
	if (!v || half >= sizeof(digits))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, dir, "uevent") };
	memcpy(digits, v, half);
	digits[half] = '\0';
	if (parse_hex(digits, &number))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, dir, "uevent") };
	return fact_int_of((long long)number, dir, "uevent");
}

/* One file tells ids, class and driver, where six others tell one each. */
static bool from_uevent(struct probe *p, struct pci_function *f, const char *dir)
{
	const char *driver;
	char text[4096]; /* the kernel's own bound */
	size_t n = 0;

	if (probe_line(p, dir, "uevent", text, sizeof(text)))
		return false;
	f->class_ = uevent_hex(text, dir, "PCI_CLASS", false);
	f->vendor = uevent_hex(text, dir, "PCI_ID", false);
	f->device = uevent_hex(text, dir, "PCI_ID", true);
	f->subvendor = uevent_hex(text, dir, "PCI_SUBSYS_ID", false);
	f->subdevice = uevent_hex(text, dir, "PCI_SUBSYS_ID", true);
	driver = uevent_value(text, "DRIVER", &n);
	f->driver = driver ? fact_str_of(arena_strndup(p->a, driver, n), dir, "uevent")
			   : (struct fact_str){ .f = fact_unseen(-ENOENT, dir, "uevent") };
	return seen_ok(&f->class_.f) && seen_ok(&f->vendor.f);
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
	int r = host_read(p->h, arena_printf(p->a, "%s%s", dir, leaf), HOST_READ_MAX, p->a, &text,
			  NULL);

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

/* What people look at: GPUs, network, storage, accelerators. */
static bool matters(const struct pci_function *f)
{
	unsigned base = pci_base_class(f);

	return base == CLASS_DISPLAY || base == CLASS_NETWORK || base == CLASS_STORAGE ||
	       base == CLASS_ACCELERATOR;
}

static void errors(struct probe *p, struct pci_function *f, const char *dir)
{
	f->aer_correctable = aer(p, dir, "aer_dev_correctable");
	if (f->aer_correctable.f.seen == SEEN_ABSENT || f->aer_correctable.f.seen == SEEN_UNASKED) {
		f->aer_nonfatal.f = f->aer_fatal.f = f->aer_correctable.f;
		return;
	}
	f->aer_nonfatal = aer(p, dir, "aer_dev_nonfatal");
	f->aer_fatal = aer(p, dir, "aer_dev_fatal");
}

/* More of the devices that matter; the processor's own dummy functions, hundreds of them, need
 * less. */
static void details(struct probe *p, struct pci_function *f, const char *dir, struct map *types)
{
	f->iommu_group = group_number(p, dir);
	f->iommu_type = group_type(p, types, &f->iommu_group);
	errors(p, f, dir);
	if (pci_base_class(f) == CLASS_NETWORK)
		f->sriov_numvfs = probe_int(p, dir, "sriov_numvfs");
}

static struct fact_int virtual_function(struct probe *p, const char *dir)
{
	return fact_int_of(probe_has(p, dir, "physfn"), dir, "physfn");
}

/* Identity and configuration space, or what the kernel keeps where that cannot be read. */
static void describe(struct probe *p, struct pci_function *f, const char *dir, bool known)
{
	/* Reading configuration space, and the link files of newer kernels, wakes a suspended
	 * device. */
	if (fact_is(&f->runtime_status, "suspended")) {
		if (!known)
			from_kernel(p, f, dir);
		pci_config_asleep(f, dir);
		return;
	}
	/* The kernel shows link files of PCI Express devices alone; a virtual machine takes a
	 * millisecond to read the configuration space of each of its own devices. */
	if (known && probe_lacks(p, dir, "max_link_width")) {
		pci_config_conventional(f, dir);
		return;
	}
	if (!pci_config_read(p, f, dir) && !known)
		from_kernel(p, f, dir);
	/* Virtual functions answer all ones for vendor and device; most other registers of theirs
	 * mean nothing. */
	if (fact_or(&f->vendor, 0) == 0xffff) {
		from_kernel(p, f, dir);
		f->is_vf = virtual_function(p, dir);
	} else if (!known && pci_base_class(f) == CLASS_NETWORK) {
		f->is_vf = virtual_function(p, dir);
	}
	if (fact_or(&f->is_vf, 0))
		pci_config_virtual(f, dir);
	else if (!seen_ok(&f->pcie_cap.f) && fact_or(&f->config_bytes, 0) <= 64 &&
		 f->config_bytes.f.err != EIO)
		link_from_kernel(p, f, dir);
}

/* Of 500 functions of a server 400 are the processor's own or virtual ones: their configuration
 * space says nothing that anybody judges. */
static bool needs_little(struct probe *p, struct pci_function *f, const char *dir)
{
	if (!matters(f) && fact_or(&f->class_, 0) >> 8 != CLASS_PCI_BRIDGE)
		return true;
	if (pci_base_class(f) != CLASS_NETWORK)
		return false;
	f->is_vf = virtual_function(p, dir);
	if (f->is_vf.v)
		pci_config_virtual(f, dir);
	return f->is_vf.v == 1;
}

static void add(struct probe *p, const char *address, struct map *types)
{
	struct pci_function *f = list_take(&p->m->pci, sizeof(*f));
	char path[HOST_PATH_MAX];
	const char *dir;
	bool known;

	f->name = address;
	f->path = f->parent = f->root = "";
	if (host_link_path(p->h, arena_printf(p->a, DEVICES "/%s", address), path, sizeof(path)) ==
	    0) {
		f->path = arena_strdup(p->a, path);
		place(p, f);
	}
	/* The function's own folder, not the link to it: one look-up less a file. */
	dir = *f->path ? arena_printf(p->a, "%s/", f->path)
		       : arena_printf(p->a, DEVICES "/%s/", address);
	known = from_uevent(p, f, dir);
	f->numa_node = probe_int(p, dir, "numa_node");
	if (known && needs_little(p, f, dir))
		return;
	f->runtime_status = probe_str(p, dir, "power/runtime_status");
	describe(p, f, dir, known);
	if (!known)
		f->driver = probe_link_name(p, dir, "driver");
	if (matters(f))
		details(p, f, dir, types);
}

/* Errors are also counted at the ports on the way to a device that matters. */
static void errors_above(struct probe *p)
{
	struct map all = { 0 };

	LIST_FOR_EACH (struct pci_function, f, &p->m->pci)
		*map_at(p->a, &all, f->name) = f;
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		struct pci_function *up = matters(f) ? map_get(&all, f->parent) : NULL;

		/* Where somebody asked already, the rest of the way is done as well. A capture may
		 * name itself its parent. */
		while (up && up->aer_correctable.f.leaf == NULL) {
			errors(p, up, arena_printf(p->a, "%s/", up->path));
			up = map_get(&all, up->parent);
		}
	}
}

static int bus_order(const void *a, const void *b)
{
	return pci_bus_order(*(const char *const *)a, *(const char *const *)b);
}

/* A lean probe leaves the extended space of GPUs out, because it is slow; of one or two of them it
 * is not. */
static void read_left_out(struct probe *p)
{
	bool lean = p->lean;
	size_t gpus = 0;

	LIST_FOR_EACH (struct pci_function, f, &p->m->pci)
		gpus += pci_base_class(f) == CLASS_DISPLAY && seen_ok(&f->pcie_cap.f);
	if (!lean || p->deep || gpus > 2)
		return;
	p->lean = false;
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci)
		if (pci_base_class(f) == CLASS_DISPLAY && seen_ok(&f->pcie_cap.f))
			pci_config_read(p, f, arena_printf(p->a, "%s/", f->path));
	p->lean = lean;
}

void probe_pci(struct probe *p)
{
	struct map types = { 0 };
	char **names;
	size_t all, n = 0;

	if (host_list(p->h, DEVICES, p->a, &names, &all))
		return;
	for (size_t i = 0; i < all; i++)
		if (*names[i] && pci_address_length(names[i]) == strlen(names[i]))
			names[n++] = names[i];
	if (n)
		qsort(names, n, sizeof(*names), bus_order);
	list_reserve(p->a, &p->m->pci, n, sizeof(struct pci_function));
	for (size_t i = 0; i < n; i++)
		add(p, names[i], &types);
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		const char *name = pci_known_name(f);

		if (name)
			f->device_name = fact_str_of(name, f->device.f.dir, f->device.f.leaf);
	}
	errors_above(p);
	read_left_out(p);
}
