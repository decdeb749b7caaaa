/* SPDX-License-Identifier: Apache-2.0 */
/* All PCI functions and their places in the tree. A sleeping device is left asleep. */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/arena.h"
#include "base/text.h"
#include "machine/model/pci.h"

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
static void probe_pci_place(struct probe *p, struct pci_function *f)
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
static struct fact_int probe_pci_aer(struct probe *p, const char *dir, const char *leaf)
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

enum { MELLANOX = 0x15b3 };

/* What people look at: GPUs, network, storage, accelerators. */
static bool matters(const struct pci_function *f)
{
	unsigned base = pci_base_class(f);

	return base == CLASS_DISPLAY || base == CLASS_NETWORK || base == CLASS_STORAGE ||
	       base == CLASS_ACCELERATOR;
}

static void probe_pci_errors(struct probe *p, struct pci_function *f, const char *dir)
{
	f->aer_correctable = probe_pci_aer(p, dir, "aer_dev_correctable");
	if (f->aer_correctable.f.seen == SEEN_ABSENT || f->aer_correctable.f.seen == SEEN_UNASKED) {
		f->aer_nonfatal.f = f->aer_fatal.f = f->aer_correctable.f;
		return;
	}
	f->aer_nonfatal = probe_pci_aer(p, dir, "aer_dev_nonfatal");
	f->aer_fatal = probe_pci_aer(p, dir, "aer_dev_fatal");
}

/* More of the devices that matter; the processor's own dummy functions, hundreds of them, need
 * less. */
static void details(struct probe *p, struct pci_function *f, const char *dir, struct map *types)
{
	f->iommu_group = group_number(p, dir);
	f->iommu_type = group_type(p, types, &f->iommu_group);
	probe_pci_errors(p, f, dir);
	if (pci_base_class(f) == CLASS_NETWORK)
		f->sriov_numvfs = probe_int(p, dir, "sriov_numvfs");
}

static struct fact_int virtual_function(struct probe *p, const char *dir)
{
	return fact_int_of(probe_has(p, dir, "physfn"), dir, "physfn");
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
			probe_pci_errors(p, up, arena_printf(p->a, "%s/", up->path));
			up = map_get(&all, up->parent);
		}
	}
}

static int bus_order(const void *a, const void *b)
{
	return pci_bus_order(*(const char *const *)a, *(const char *const *)b);
}

/*
 * What configuration space says of a function: identity and the capabilities that matter. The bytes
 * are untrusted; the walks stand in machine/model/pci.c.
 */

struct space {
	struct pci_space s;
	const char *dir;
};

static struct fact_int value(const struct space *s, long long v)
{
	return fact_int_of(v, s->dir, "config");
}

static struct fact_int unseen(const struct space *s, int r)
{
	return (struct fact_int){ .f = fact_unseen(r, s->dir, "config") };
}

/* LnkCap and LnkSta code speeds by number. Source: pci_regs.h PCI_EXP_LNKCAP_SLS_*. */
static struct fact_int speed(const struct space *s, unsigned code)
{
	static const long long speeds[] = { 0, 2500, 5000, 8000, 16000, 32000, 64000 };

	return code && code < sizeof(speeds) / sizeof(speeds[0]) ? value(s, speeds[code])
								 : unseen(s, -EPROTO);
}

/* 128 << n; six and seven are reserved: such a device is not answering. */
static struct fact_int payload(const struct space *s, unsigned n)
{
	return n <= 5 ? value(s, 128ll << n) : unseen(s, -EPROTO);
}

static void probe_pci_pcie(struct pci_function *f, const struct space *s, size_t at)
{
	unsigned flags = pci_get16(&s->s, at + PCI_EXP_FLAGS),
		 devcap = pci_get32(&s->s, at + PCI_EXP_DEVCAP),
		 devctl = pci_get16(&s->s, at + PCI_EXP_DEVCTL),
		 lnkcap = pci_get32(&s->s, at + PCI_EXP_LNKCAP),
		 lnkctl = pci_get16(&s->s, at + PCI_EXP_LNKCTL),
		 lnksta = pci_get16(&s->s, at + PCI_EXP_LNKSTA);
	unsigned type = (flags & PCI_EXP_FLAGS_TYPE) >> 4;

	f->pcie_cap = value(s, (long long)at);
	f->port_type = value(s, type);
	f->mps_cap = payload(s, devcap & PCI_EXP_DEVCAP_PAYLOAD);
	f->mps = payload(s, (devctl & PCI_EXP_DEVCTL_PAYLOAD) >> 5);
	f->mrrs = payload(s, (devctl & PCI_EXP_DEVCTL_READRQ) >> 12);
	f->relaxed_ordering = value(s, (devctl & PCI_EXP_DEVCTL_RELAX_EN) != 0);
	/* A device inside the root complex has no link. */
	if (type == PCI_EXP_TYPE_RC_END || type == PCI_EXP_TYPE_RC_EC) {
		f->speed_mts = f->max_speed_mts = f->width = f->max_width = f->aspm =
			unseen(s, -EOPNOTSUPP);
		return;
	}
	f->max_speed_mts = speed(s, lnkcap & PCI_EXP_LNKCAP_SLS);
	f->max_width = value(s, (lnkcap & PCI_EXP_LNKCAP_MLW) >> 4);
	f->speed_mts = speed(s, lnksta & PCI_EXP_LNKSTA_CLS);
	f->width = value(s, (lnksta & PCI_EXP_LNKSTA_NLW) >> 4);
	f->aspm = value(s, lnkctl & PCI_EXP_LNKCTL_ASPMC);
}

static void extended(struct pci_function *f, const struct space *s)
{
	size_t acs, rebar;

	f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes =
		unseen(s, s->s.len > PCI_CFG_SPACE_SIZE ? -ENOENT : -EOPNOTSUPP);
	if (s->s.len <= PCI_CFG_SPACE_SIZE)
		return;
	acs = pci_find_extended(&s->s, PCI_EXT_CAP_ID_ACS);
	if (acs && acs + 8 <= s->s.len) {
		f->acs_cap = value(s, pci_get16(&s->s, acs + PCI_ACS_CAP));
		f->acs_ctrl = value(s, pci_get16(&s->s, acs + PCI_ACS_CTRL));
	}
	rebar = pci_find_extended(&s->s, PCI_EXT_CAP_ID_REBAR);
	if (rebar && rebar + 12 <= s->s.len) {
		unsigned sizes = pci_get32(&s->s, rebar + PCI_REBAR_CAP) >> 4,
			 ctrl = pci_get32(&s->s, rebar + PCI_REBAR_CTRL);
		unsigned now = (ctrl & PCI_REBAR_CTRL_BAR_SIZE) >> 8, top = 0;

		for (unsigned bit = 0; bit < 28; bit++)
			if (sizes >> bit & 1)
				top = bit;
		if (now < 40 && sizes) {
			f->rebar_bytes = value(s, 1ll << (20 + now));
			f->rebar_max_bytes = value(s, 1ll << (20 + top));
		}
	}
}

static void identity(struct pci_function *f, const struct space *s)
{
	/* Bridges keep theirs in a capability, where they have one. */
	bool bridge = pci_header_type(&s->s) != PCI_HEADER_TYPE_NORMAL;

	f->vendor = value(s, pci_get16(&s->s, PCI_VENDOR_ID));
	f->device = value(s, pci_get16(&s->s, PCI_DEVICE_ID));
	f->class_ = value(s, pci_get32(&s->s, PCI_CLASS_REVISION) >> 8);
	f->subvendor = bridge ? unseen(s, -EOPNOTSUPP)
			      : value(s, pci_get16(&s->s, PCI_SUBSYSTEM_VENDOR_ID));
	f->subdevice =
		bridge ? unseen(s, -EOPNOTSUPP) : value(s, pci_get16(&s->s, PCI_SUBSYSTEM_ID));
}

/* Everything behind the header, with one reason why it was not seen. */
static void no_capabilities(struct pci_function *f, const struct space *s, int r)
{
	f->pcie_cap = f->port_type = f->mps = f->mps_cap = f->mrrs = f->relaxed_ordering = f->aspm =
		f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes = f->speed_mts =
			f->max_speed_mts = f->width = f->max_width = unseen(s, r);
}

bool pci_config_parse(struct pci_function *f, const unsigned char *config, size_t len,
		      const char *dir)
{
	struct space s = { { config, len }, dir };
	size_t at;

	if (len < PCI_SPACE_HEADER || pci_all_ones(&s.s)) {
		f->config_bytes = unseen(&s, len < PCI_SPACE_HEADER ? -EPROTO : -EIO);
		no_capabilities(f, &s, len < PCI_SPACE_HEADER ? -EPROTO : -EIO);
		return false;
	}
	f->config_bytes = value(&s, (long long)len);
	identity(f, &s);
	/* A normal user gets the header alone: the rest is hidden, not missing. */
	if (len == PCI_SPACE_HEADER) {
		no_capabilities(f, &s, -EACCES);
		return true;
	}
	at = pci_find_capability(&s.s, PCI_CAP_ID_EXP);
	if (!at || at + PCI_EXP_LNKSTA + 2 > s.s.len) {
		no_capabilities(f, &s, -ENOENT);
		return true;
	}
	probe_pci_pcie(f, &s, at);
	extended(f, &s);
	return true;
}

/* Only ports (access control) and GPUs (resizable BAR) have something of interest there. */
static bool wants_extended(const unsigned char *config, size_t len)
{
	const struct pci_space s = { config, len };
	unsigned base = pci_get32(&s, PCI_CLASS_REVISION) >> 24;

	return len >= PCI_CFG_SPACE_SIZE && (base == 0x06 || base == 0x03) &&
	       pci_find_capability(&s, PCI_CAP_ID_EXP);
}

/* A virtual machine traps on every four bytes, 2 ms for the whole: the first 256 bytes come first
 * and often suffice. Nothing traps where a capture is read. */
static bool pci_config_read(struct probe *p, struct pci_function *f, const char *dir)
{
	unsigned char config[PCI_CFG_SPACE_EXP_SIZE];
	char path[HOST_PATH_MAX];
	const struct space none = { { NULL, 0 }, dir };
	size_t first = p->h->id.captured ? sizeof(config) : PCI_CFG_SPACE_SIZE, len = 0;
	bool more = false, wanted, left_out;
	int r = -ENAMETOOLONG;

	/* Not host_read(): 500 functions would leave two megabytes in the arena. */
	if ((size_t)snprintf(path, sizeof(path), "%sconfig", dir) < sizeof(path))
		r = p->h->ops->read(p->h, path, (char *)config, first, &len);
	if (r == 0 && len > PCI_CFG_SPACE_SIZE) {
		more = wants_extended(config, PCI_CFG_SPACE_SIZE);
		wanted = more && !(p->lean && !p->deep && config[PCI_CLASS_DEVICE + 1] == 0x03);
		if (!wanted)
			len = PCI_CFG_SPACE_SIZE;
		else if (first < sizeof(config))
			r = p->h->ops->read(p->h, path, (char *)config, sizeof(config), &len);
	}
	if (r) {
		f->config_bytes = unseen(&none, r);
		no_capabilities(f, &none, r);
		return false;
	}
	left_out = more && len == PCI_CFG_SPACE_SIZE;
	more = pci_config_parse(f, config, len < sizeof(config) ? len : sizeof(config), dir);
	/* Not asked is not the same as not there. */
	if (left_out)
		f->acs_cap = f->acs_ctrl = f->rebar_bytes = f->rebar_max_bytes =
			(struct fact_int){ 0 };
	return more;
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

static void pci_config_asleep(struct pci_function *f, const char *dir)
{
	const struct space none = { { NULL, 0 }, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -EOPNOTSUPP);
}

/* The same of a conventional device, which has no PCI Express capability to look for. */
static void pci_config_conventional(struct pci_function *f, const char *dir)
{
	const struct space none = { { NULL, 0 }, dir };

	f->config_bytes = unseen(&none, -EOPNOTSUPP);
	no_capabilities(f, &none, -ENOENT);
}

/* Marks what only configuration space could tell: of a device that sleeps and is left asleep, and
 * of a virtual function, whose transfer sizes, ordering and link are those of its physical
 * function. */
static void pci_config_virtual(struct pci_function *f, const char *dir)
{
	const struct space none = { { NULL, 0 }, dir };

	f->mps = f->mrrs = f->relaxed_ordering = f->aspm = f->speed_mts = f->max_speed_mts =
		f->width = f->max_width = unseen(&none, -EOPNOTSUPP);
}

/* Identity and configuration space, or what the kernel keeps where that cannot be read. */
static void probe_pci_describe(struct probe *p, struct pci_function *f, const char *dir, bool known)
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
 * space says nothing that anybody judges. That of a BlueField's own processors binds its ports. */
static bool needs_little(struct probe *p, struct pci_function *f, const char *dir)
{
	if (!matters(f) && fact_or(&f->class_, 0) >> 8 != CLASS_PCI_BRIDGE &&
	    fact_or(&f->vendor, 0) != MELLANOX)
		return true;
	if (pci_base_class(f) != CLASS_NETWORK)
		return false;
	f->is_vf = virtual_function(p, dir);
	if (f->is_vf.v)
		pci_config_virtual(f, dir);
	return f->is_vf.v == 1;
}

static void probe_pci_add(struct probe *p, const char *address, struct map *types)
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
		probe_pci_place(p, f);
	}
	/* The function's own folder, not the link to it: one look-up less a file. */
	dir = *f->path ? arena_printf(p->a, "%s/", f->path)
		       : arena_printf(p->a, DEVICES "/%s/", address);
	known = from_uevent(p, f, dir);
	f->numa_node = probe_int(p, dir, "numa_node");
	if (known && needs_little(p, f, dir))
		return;
	f->runtime_status = probe_str(p, dir, "power/runtime_status");
	probe_pci_describe(p, f, dir, known);
	if (!known)
		f->driver = probe_link_name(p, dir, "driver");
	if (matters(f))
		details(p, f, dir, types);
}

/* NVSwitch management functions. */

enum {
	CONNECTX_7 = 0x1021,
	CLASS_INFINIBAND = 0x0207,
	BASEBOARD_FUNCTIONS = 4,
	VPD_MAX = 32 << 10 /* as far as its addresses reach */
};

/* What looks like an InfiniBand port of a ConnectX-7. */
static bool may_manage(const struct pci_function *f)
{
	return fact_or(&f->vendor, 0) == MELLANOX && fact_or(&f->device, 0) == CONNECTX_7 &&
	       fact_or(&f->class_, 0) >> 8 == CLASS_INFINIBAND && fact_or(&f->is_vf, 0) != 1;
}

/* B200, B300 and their like, by the ids that pci.ids has of GB100, GB102 and GB110. */
static bool is_blackwell(const struct pci_function *f)
{
	long long device = fact_or(&f->device, 0);

	return is_nvidia_display(f) &&
	       ((device >= 0x2900 && device <= 0x29ff) || (device >= 0x3180 && device <= 0x31ff));
}

/* The adapter's vital product data name it; a normal user may not read them, and a capture has none
 * because serial numbers stand there too. */
static bool vpd_has_mark(struct probe *p, const struct pci_function *f)
{
	static const char mark[] = "SW_MNG";
	const char *path = arena_printf(p->a, "%s/vpd", f->path);
	size_t len = 0;
	char *data;

	return *f->path && !host_read(p->h, path, VPD_MAX, p->a, &data, &len) &&
	       memmem(data, len, mark, sizeof(mark) - 1) != NULL;
}

/*
 * The baseboard of a B200 or B300 has four functions in one ConnectX-7, a NIC for InfiniBand has
 * two at most. A virtual machine may have fewer of the four: there the adapter itself is asked.
 * Source: NVIDIA Fabric Manager user guide, HGX B300/B200/B100 (05:00.0 to 05:00.3, SMDL=SW_MNG).
 */
static void find_switch_management(struct probe *p)
{
	bool blackwell = false, found = false;

	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		size_t slot = strlen(f->name) - 1, same = 0;

		blackwell = blackwell || is_blackwell(f);
		if (!may_manage(f))
			continue;
		LIST_FOR_EACH (struct pci_function, other, &p->m->pci)
			same += may_manage(other) && strncmp(f->name, other->name, slot) == 0;
		if (same < BASEBOARD_FUNCTIONS)
			continue;
		f->switch_management = fact_int_of(1, f->class_.f.dir, "device");
		found = true;
	}
	if (!blackwell || found)
		return;
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci)
		if (may_manage(f) && vpd_has_mark(p, f))
			f->switch_management = fact_int_of(1, f->path, "/vpd");
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
		probe_pci_add(p, names[i], &types);
	find_switch_management(p);
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		const char *name =
			is_switch_management(f) ? "NVSwitch management" : pci_known_name(f);

		if (name)
			f->device_name = fact_str_of(name, f->device.f.dir, f->device.f.leaf);
	}
	errors_above(p);
	read_left_out(p);
}
