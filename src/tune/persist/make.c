/* SPDX-License-Identifier: Apache-2.0 */
/* Which file keeps which value, and the files that are a list of lines: sysctl.d, tmpfiles.d,
 * modprobe.d, limits. */
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"

/* The device of a mount that is no disk's. */
#define BDI "/sys/class/bdi/"

/* --- who keeps what --------------------------------------------------------------------------- */

static bool is_core_kernel(const char *path)
{
	return str_starts(path, "/sys/kernel/mm/") ||
	       (str_starts(path, "/sys/devices/system/node/") && strstr(path, "/hugepages/"));
}

static enum persist_backend persist_backend_of(const struct persist_entry *row)
{
	const struct knob *k = &row->knob;

	switch (k->kind) {
	case KNOB_SYSCTL:
		return PERSIST_IN_SYSCTL;
	case KNOB_SYSFS:
		return is_core_kernel(k->name) ? PERSIST_IN_TMPFILES
		       : str_starts(k->name, "/sys/block/") || str_starts(k->name, BDI)
			       ? PERSIST_IN_UDEV
			       : PERSIST_IN_UNIT;
	case KNOB_MODPARAM:
		return PERSIST_IN_MODPROBE;
	case KNOB_MODULE:
		return PERSIST_IN_MODULES;
	case KNOB_BOOTARG:
		return PERSIST_IN_BOOT_ARGUMENT;
	case KNOB_LINK:
		return strcmp(k->name, "mtu") == 0 ? PERSIST_IN_LINK : PERSIST_IN_UNIT;
	case KNOB_NVML:
	case KNOB_PCI:
	case KNOB_HELPER:
		return PERSIST_IN_UNIT;
	case KNOB_UNIT:
	case KNOB_ZPROP:
	case KNOB_POWER:
		return PERSIST_IN_SELF;
	default:
		return strcmp(row->id, PERSIST_MEMLOCK) == 0 ? PERSIST_IN_LIMITS : PERSIST_IN_NONE;
	}
}

static const char *persist_make_file_of(enum persist_backend k)
{
	static const char *const files[KEEPERS] = {
		[PERSIST_IN_SYSCTL] = PERSIST_SYSCTL,	[PERSIST_IN_TMPFILES] = PERSIST_TMPFILES,
		[PERSIST_IN_UDEV] = PERSIST_UDEV,	[PERSIST_IN_MODPROBE] = PERSIST_MODPROBE,
		[PERSIST_IN_UNIT] = PERSIST_UNIT_NAME,	[PERSIST_IN_LIMITS] = PERSIST_LIMITS,
		[PERSIST_IN_MODULES] = PERSIST_MODULES,
	};

	return files[k] ? files[k] : "";
}

const char *persist_keeps(struct arena *a, const struct setting *s)
{
	const struct persist_entry row = { .id = s->id,
					   .knob = { s->knob, s->name ? s->name : "", "" } };
	const enum persist_backend keeper = persist_backend_of(&row);
	const char *by = persist_make_file_of(keeper);

	if (keeper == PERSIST_IN_LINK)
		return "by the interface's owner (netplan, NetworkManager, networkd); without one, "
		       "by " PERSIST_UNIT_NAME;
	return *by && (s->knob == KNOB_SYSFS || s->knob == KNOB_LINK || s->knob == KNOB_NONE)
		       ? arena_printf(a, "by %s", by)
		       : knob_persistence(a, s->knob, s->name);
}

const char *persist_boot_file(const struct machine *m)
{
	return boot_menu_file(boot_menu_parse(fact_text(&m->config.boot_menu, "")));
}

static void persist_make_assign(struct arena *a, const struct machine *m, struct persist_entry *row)
{
	const char *why = NULL, *device = persist_device(a, m, &row->knob);

	row->keeper = persist_backend_of(row);
	row->by = row->keeper == PERSIST_IN_BOOT_ARGUMENT ? persist_boot_file(m)
							  : persist_make_file_of(row->keeper);
	row->refusal = row->loses = row->contested = NULL;
	row->device = device ? device : "";
	if (row->keeper == PERSIST_IN_NONE)
		persist_refuse(row, "gputune cannot set this at boot");
	else if (row->knob.kind != KNOB_NONE && !knob_valid(&row->knob, row->value, &why))
		persist_refuse(row, why);
	else if (row->keeper == PERSIST_IN_UNIT && !device)
		persist_refuse(row, "the device is unknown");
}

/* A value "NAME=VALUE" is that of the other one of a pair. */
static const char *persist_make_sysctl_line(struct arena *a, const struct machine *m,
					    const struct persist_entry *row, const char **why)
{
	const char *name = row->knob.name, *value = row->value, *equals = strchr(value, '='), *q;

	(void)m;
	if (equals && str_starts(value, "vm.")) {
		name = arena_strndup(a, value, (size_t)(equals - value));
		value = equals + 1;
	}
	q = quote_sysctl(a, value, why);
	return q ? arena_printf(a, "%s = %s\n", name, q) : NULL;
}

/* Of plain lines for one path the first counts, of those with a plus all do. */
static bool is_set_elsewhere(const struct machine *m, const char *path)
{
	LIST_FOR_EACH (struct assignment, it, &m->config.assignments)
		if (it->file && it->name && strcmp(it->name, path) == 0 &&
		    strstr(it->file, "/tmpfiles.d/") && strcmp(it->file, PERSIST_TMPFILES) != 0)
			return true;
	return false;
}

static const char *persist_make_tmpfiles_line(struct arena *a, const struct machine *m,
					      const struct persist_entry *row, const char **why)
{
	const char *path = quote_tmpfiles_path(a, row->knob.name, why),
		   *value = path ? quote_tmpfiles(a, row->value, why) : NULL;

	return value ? arena_printf(a, "%s %s - - - - %s\n",
				    is_set_elsewhere(m, row->knob.name) ? "w+" : "w", path, value)
		     : NULL;
}

static const char *persist_make_modprobe_line(struct arena *a, const struct machine *m,
					      const struct persist_entry *row, const char **why)
{
	const char *dot = strchr(row->knob.name, '.'),
		   *option = quote_modprobe(a, dot + 1, row->value, why);

	(void)m;
	return option ? arena_printf(a, "options %.*s %s\n", (int)(dot - row->knob.name),
				     row->knob.name, option)
		      : NULL;
}

static const char *persist_make_modules_line(struct arena *a, const struct machine *m,
					     const struct persist_entry *row, const char **why)
{
	(void)m;
	*why = "no file can keep a module from loading at the next boot";
	return strcmp(row->value, "loaded") == 0 ? arena_printf(a, "%s\n", row->knob.name) : NULL;
}

typedef const char *line_of(struct arena *a, const struct machine *m,
			    const struct persist_entry *row, const char **why);

static void lines_file(struct arena *a, const struct machine *m, struct persist *p,
		       enum persist_backend k, line_of *line)
{
	TEXT_AUTO body = { 0 }, all = { 0 };
	const char *id = "";

	for (size_t i = 0; i < p->n; i++) {
		const char *why = "", *one;

		if (p->rows[i].keeper != k)
			continue;
		one = line(a, m, &p->rows[i], &why);
		if (!one) {
			persist_refuse(&p->rows[i], why);
			continue;
		}
		if (strcmp(id, p->rows[i].id) != 0)
			text_printf(&body, "# %s\n", p->rows[i].id);
		id = p->rows[i].id;
		text_add(&body, one);
	}
	if (!body.len)
		return;
	persist_header(&all, p->rows, p->n, k, persist_make_file_of(k));
	text_add(&all, body.s);
	persist_add_file(a, p, persist_make_file_of(k), 0644, all.s);
}

static void limits_files(struct arena *a, struct persist *p)
{
	TEXT_AUTO limits = { 0 }, manager = { 0 };
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		any = any || p->rows[i].keeper == PERSIST_IN_LIMITS;
	if (!any)
		return;
	persist_header(&limits, p->rows, p->n, PERSIST_IN_LIMITS, PERSIST_LIMITS);
	text_add(&manager, limits.s);
	/* A star does not mean root. */
	text_add(&limits, "* - memlock unlimited\nroot - memlock unlimited\n");
	text_add(&manager, "[Manager]\nDefaultLimitMEMLOCK=infinity\n");
	persist_add_file(a, p, PERSIST_LIMITS, 0644, limits.s);
	persist_add_file(a, p, PERSIST_SYSTEM_CONF, 0644, manager.s);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void persist_make_notes(struct arena *a, const struct machine *m, struct persist *p)
{
	const char *maker = boot_menu_maker(boot_menu_parse(fact_text(&m->config.boot_menu, "")));

	for (size_t i = 0; i < p->n; i++) {
		if (p->rows[i].keeper == PERSIST_IN_BOOT_ARGUMENT)
			persist_note(a, p,
				     maker ? arena_printf(a,
							  "Boot arguments take effect after %s and "
							  "a reboot; --update-grub runs it.",
							  maker)
					   : "Boot arguments take effect after a reboot.");
		if (p->rows[i].keeper == PERSIST_IN_MODPROBE)
			persist_note(a, p,
				     "Module parameters take effect when the module is loaded. A "
				     "module in the initial ramdisk requires update-initramfs, a "
				     "built-in module a kernel argument.");
	}
}

/* The first that is written and the last that goes: whatever a crash leaves of the others, it says
 * what they set and what was there before. */
static void request_file(struct arena *a, struct persist *p)
{
	struct persist_file request;

	persist_add_file(a, p, PERSIST_REQUEST, 0644, persist_request(a, p->rows, p->n));
	request = p->files[p->n_files - 1];
	memmove(p->files + 1, p->files, (p->n_files - 1) * sizeof(*p->files));
	p->files[0] = request;
}

static bool has_entries(const struct persist *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper != PERSIST_IN_NONE && p->rows[i].keeper != PERSIST_IN_SELF)
			return true;
	return false;
}

/*
 * The boot-time unit: writes what no file of the system's own keeps, and the report of the boot.
 * It is given as little as its rows need. It undoes nothing when it stops.
 */

struct needs {
	bool gpu, pci, link;
	bool loads_driver; /* nobody else loads the GPU driver and makes its devices */
};

static struct needs persist_make_needs_of(const struct machine *m, const struct persist *p)
{
	const struct service *daemon = machine_service(m, "nvidia-persistenced.service");
	struct needs out = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		if (p->rows[i].keeper != PERSIST_IN_UNIT)
			continue;
		out.gpu |= p->rows[i].knob.kind == KNOB_NVML ||
			   (p->rows[i].knob.kind == KNOB_HELPER && *p->rows[i].knob.object);
		out.pci |= p->rows[i].knob.kind == KNOB_PCI;
		out.link |= p->rows[i].knob.kind == KNOB_LINK;
	}
	out.loads_driver = out.gpu && !(daemon && fact_or(&daemon->enabled, 0) == 1);
	return out;
}

/*
 * After whatever may set the same (the driver's daemon, tuned, the managers of links), before what
 * runs work. Ordering alone: none of them is pulled in.
 */
static const char order[] =
	"After=nvidia-persistenced.service nvidia-fabricmanager.service\n"
	"After=systemd-modules-load.service systemd-sysctl.service systemd-tmpfiles-setup.service\n"
	"After=tuned.service power-profiles-daemon.service cpupower.service\n"
	"After=network.target NetworkManager.service systemd-networkd.service\n"
	"Before=slurmd.service kubelet.service docker.service\n";

/* What a unit that writes to /sys can do without, whatever it writes. A call that it may not make
 * (it reads the machine first, the kernel's log too) is refused, and does not end it. */
static const char hardening[] = "NoNewPrivileges=yes\n"
				"ProtectSystem=strict\n"
				"ReadWritePaths=/var/lib/gputune\n"
				"ProtectHome=yes\n"
				"PrivateTmp=yes\n"
				"ProtectClock=yes\n"
				"ProtectControlGroups=yes\n"
				"ProtectHostname=yes\n"
				"ProtectKernelLogs=yes\n"
				"RestrictNamespaces=yes\n"
				"RestrictRealtime=yes\n"
				"RestrictSUIDSGID=yes\n"
				"LockPersonality=yes\n"
				"SystemCallArchitectures=native\n"
				"SystemCallErrorNumber=EPERM\n"
				"IPAddressDeny=any\n"
				"UMask=0077\n"
				"KeyringMode=private\n";

/* The driver's own loader makes devices and modules; a library of the driver may map code. */
static void privileges(struct text *t, const struct needs *n)
{
	text_add(t, "CapabilityBoundingSet=CAP_SYS_ADMIN");
	text_add(t, n->link ? " CAP_NET_ADMIN" : "");
	text_add(t, n->loads_driver ? " CAP_SYS_MODULE CAP_MKNOD" : "");
	text_add(t, "\nSystemCallFilter=@system-service");
	text_add(t, n->loads_driver ? " @module mknod mknodat\n" : "\n");
	text_add(t, n->loads_driver ? "" : "ProtectKernelModules=yes\n");
	text_add(t, n->gpu ? "" : "MemoryDenyWriteExecute=yes\n");
	if (!n->loads_driver) {
		text_add(t, "DevicePolicy=closed\n");
		text_add(t, n->gpu ? "DeviceAllow=char-nvidia rw\nDeviceAllow=char-nvidiactl rw\n"
				     "DeviceAllow=char-nvidia-frontend rw\n"
				     "DeviceAllow=char-nvidia-caps rw\n"
				     "DeviceAllow=char-nvidia-nvswitch rw\n"
				     "DeviceAllow=char-nvidia-uvm rw\n"
				   : "");
	}
	/* Netlink names the interfaces, a datagram socket carries ethtool's requests. */
	text_add(t, "RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET\n");
}

/* unit.c */
static const char *persist_unit(struct arena *a, const struct machine *m, const struct persist *p,
				const char *program)
{
	TEXT_AUTO t = { 0 };
	struct needs n = persist_make_needs_of(m, p);

	persist_header(&t, p->rows, p->n, PERSIST_IN_UNIT, PERSIST_UNIT_NAME);
	text_add(&t, "[Unit]\n"
		     "Description=GPU machine settings that do not outlive a boot by themselves\n"
		     "ConditionPathExists=" PERSIST_REQUEST "\n");
	text_add(&t, order);
	text_add(&t, "\n[Service]\nType=oneshot\nRemainAfterExit=yes\n");
	text_printf(&t, "ExecStart=%s apply --boot\n", quote_unit(a, program, NULL));
	text_add(&t, "TimeoutStartSec=3min\nStateDirectory=gputune\nStateDirectoryMode=0755\n");
	text_add(&t, hardening);
	privileges(&t, &n);
	text_add(&t, "\n[Install]\nWantedBy=multi-user.target\n");
	return arena_strdup(a, t.s);
}

/*
 * udev rules for the queues of block devices, by what kind of device it is: names like sda may be
 * another disk after the next boot. A rule is as wide as its setting: it matches a class of which
 * every disk of this machine shall have the value, else a model; what neither can tell from others
 * is refused.
 */

enum { WIDTH_CLASS, WIDTH_MODEL, WIDTHS };

static const struct {
	const char *prefix, *transport, *match; /* transport NULL: any */
	bool spins;				/* rotational tells two kinds apart */
} classes[] = {
	{ "nvme", NULL, "KERNEL==\"nvme[0-9]*n[0-9]*\"", false },
	{ "vd", NULL, "KERNEL==\"vd[a-z]*\"", false },
	{ "mmcblk", NULL, "KERNEL==\"mmcblk[0-9]*\"", false },
	{ "sd", "usb", "KERNEL==\"sd[a-z]*\", ENV{ID_BUS}==\"usb\"", true },
	{ "sd", NULL, "KERNEL==\"sd[a-z]*\", ENV{ID_BUS}!=\"usb\"", true },
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), NO_CLASS = CLASSES };

static size_t persist_make_class_of(const struct disk *d)
{
	for (size_t i = 0; i < CLASSES; i++)
		if (str_starts(d->name, classes[i].prefix) &&
		    (!classes[i].transport ||
		     str_starts(fact_text(&d->transport, ""), classes[i].transport)))
			return i;
	return NO_CLASS;
}

static bool is_same_class(const struct disk *x, const struct disk *y)
{
	size_t c = persist_make_class_of(x);

	return c != NO_CLASS && c == persist_make_class_of(y) &&
	       (!classes[c].spins || fact_or(&x->rotational, 0) == fact_or(&y->rotational, 0));
}

static bool is_same_model(const struct disk *x, const struct disk *y)
{
	return is_same_class(x, y) && seen_ok(&x->model.f) && seen_ok(&y->model.f) &&
	       strcmp(x->model.v, y->model.v) == 0;
}

/* "/sys/block/sda/queue/scheduler" -> the disk, and *attribute "queue/scheduler". */
static const struct disk *disk_of(struct arena *a, const struct machine *m, const struct knob *k,
				  const char **attribute)
{
	const char *name = k->name + strlen("/sys/block/"), *slash = strchr(name, '/');

	if (!slash)
		return NULL;
	*attribute = slash + 1;
	return machine_disk(m, arena_strndup(a, name, (size_t)(slash - name)));
}

/* What the disk has now, as far as the facts go; NULL: not known. */
static const char *persist_make_now_of(struct arena *a, const struct disk *d, const char *attribute)
{
	const struct {
		const char *name;
		const struct fact_int *number;
	} numbers[] = {
		{ "queue/nr_requests", &d->nr_requests },
		{ "queue/read_ahead_kb", &d->read_ahead_kb },
		{ "queue/max_sectors_kb", &d->max_sectors_kb },
		{ "queue/rq_affinity", &d->rq_affinity },
		{ "queue/nomerges", &d->nomerges },
		{ "queue/wbt_lat_usec", &d->wbt_lat_us },
	};

	if (strcmp(attribute, "device/iopolicy") == 0)
		return fact_text(&d->path_policy, NULL);

	if (strcmp(attribute, "queue/scheduler") == 0)
		return fact_text(&d->scheduler, NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(attribute, numbers[i].name) == 0 && seen_ok(&numbers[i].number->f))
			return arena_printf(a, "%lld", numbers[i].number->v);
	return NULL;
}

/* What the other disk shall have or has: the same value? */
static bool agrees(struct arena *a, const struct machine *m, const struct persist *p,
		   const struct disk *other, const char *attribute, const char *value)
{
	const char *its, *now;

	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].knob.kind == KNOB_SYSFS &&
		    str_starts(p->rows[i].knob.name, "/sys/block/") &&
		    disk_of(a, m, &p->rows[i].knob, &its) == other && strcmp(its, attribute) == 0)
			return strcmp(p->rows[i].value, value) == 0;
	now = persist_make_now_of(a, other, attribute);
	return now && strcmp(now, value) == 0;
}

/* Whether every disk that a rule of this width meets agrees. */
static bool persist_make_fits(struct arena *a, const struct machine *m, const struct persist *p,
			      const struct disk *d, int width, const char *attribute,
			      const char *value)
{
	LIST_FOR_EACH (struct disk, other, &m->storage.disks) {
		if (width == WIDTH_CLASS ? !is_same_class(d, other) : !is_same_model(d, other))
			continue;
		if (!agrees(a, m, p, other, attribute, value))
			return false;
	}
	return width == WIDTH_CLASS || (seen_ok(&d->model.f) && *d->model.v);
}

static const char *persist_make_conditions(struct arena *a, const struct disk *d, int width)
{
	size_t c = persist_make_class_of(d);
	const char *text = arena_printf(
		a, "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", %s",
		classes[c].match);

	if (classes[c].spins)
		text = arena_printf(a, "%s, ATTR{queue/rotational}==\"%lld\"", text,
				    fact_or(&d->rotational, 0));
	if (width == WIDTH_MODEL)
		text = arena_printf(a, "%s, ATTRS{model}==%s", text,
				    quote_udev_match(a, d->model.v, NULL));
	return text;
}

/* The numbers of mounts are other ones after every boot: the rule is for all of NFS, by the
 * kernel's list of its devices. Mounts that differ, and other kinds, are refused. */
static const char *mount_rule(struct arena *a, const struct machine *m, const struct persist *p,
			      const struct persist_entry *row, const char *value, const char **why)
{
	const struct mount *of = NULL;

	LIST_FOR_EACH (struct mount, mount, &m->storage.mounts)
		if (mount->bdi && *mount->bdi &&
		    str_starts(row->knob.name + strlen(BDI), mount->bdi) &&
		    row->knob.name[strlen(BDI) + strlen(mount->bdi)] == '/')
			of = mount;
	*why = "no udev rule can distinguish this kind of mount";
	if (!of || !str_starts(fact_text(&of->type, ""), "nfs"))
		return NULL;
	*why = "NFS mounts have different values, and no udev rule can distinguish them";
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].knob.kind == KNOB_SYSFS && str_starts(p->rows[i].knob.name, BDI) &&
		    strcmp(p->rows[i].value, row->value) != 0)
			return NULL;
	return arena_printf(a,
			    "ACTION==\"add\", SUBSYSTEM==\"bdi\", PROGRAM==\"/usr/bin/awk -v d=%%k "
			    "'$$4==d{f=1}END{exit !f}' /proc/fs/nfsfs/volumes\", "
			    "ATTR{read_ahead_kb}=%s\n",
			    value);
}

/* Every token is taken by itself: the attribute may hold no character of the format. */
static const char *persist_make_rule(struct arena *a, const struct machine *m,
				     const struct persist *p, const struct persist_entry *row,
				     const char **why)
{
	const char *attribute, *value = quote_udev(a, row->value, why);
	const struct disk *d;

	if (!value)
		return NULL;
	if (str_starts(row->knob.name, BDI))
		return mount_rule(a, m, p, row, value, why);
	d = disk_of(a, m, &row->knob, &attribute);
	*why = "the disk was not found";
	if (!d)
		return NULL;
	*why = "no udev rule can distinguish this kind of disk";
	if (persist_make_class_of(d) == NO_CLASS ||
	    strspn(attribute, "abcdefghijklmnopqrstuvwxyz_/") != strlen(attribute))
		return NULL;
	for (int width = WIDTH_CLASS; width < WIDTHS; width++)
		if (persist_make_fits(a, m, p, d, width, attribute, row->value))
			return arena_printf(a, "%s, ATTR{%s}=%s\n",
					    persist_make_conditions(a, d, width), attribute, value);
	*why = "disks of the same model have different values, and no udev rule can distinguish "
	       "them";
	return NULL;
}

/* A scheduler sets the queue's depth anew. */
static bool comes_first(const struct persist_entry *row)
{
	return str_ends(row->knob.name, "/queue/scheduler");
}

static void add_rules(struct arena *a, const struct machine *m, struct persist *p, struct text *out,
		      bool first)
{
	for (size_t i = 0; i < p->n; i++) {
		struct persist_entry *row = &p->rows[i];
		const char *why = "", *one;

		if (row->keeper != PERSIST_IN_UDEV || comes_first(row) != first)
			continue;
		one = persist_make_rule(a, m, p, row, &why);
		if (!one)
			persist_refuse(row, why);
		else if (!out->s || !strstr(out->s, one))
			text_printf(out, "# %s\n%s", row->id, one);
	}
}

/* Rules for the rows of PERSIST_IN_UDEV; rows that no rule can tell from others are refused. */
static void persist_udev(struct arena *a, const struct machine *m, struct persist *p)
{
	TEXT_AUTO body = { 0 }, all = { 0 };

	add_rules(a, m, p, &body, true);
	add_rules(a, m, p, &body, false);
	if (!body.len)
		return;
	persist_header(&all, p->rows, p->n, PERSIST_IN_UDEV, PERSIST_UDEV);
	text_add(&all, body.s);
	persist_add_file(a, p, PERSIST_UDEV, 0644, all.s);
}

void persist_make(struct arena *a, const struct machine *m, const struct persist_target *w,
		  struct persist *out)
{
	*out = (struct persist){ .rows = arena_array(a, w->n, sizeof(*out->rows)), .n = w->n };
	for (size_t i = 0; i < w->n; i++) {
		out->rows[i] = w->rows[i];
		persist_make_assign(a, m, &out->rows[i]);
	}
	lines_file(a, m, out, PERSIST_IN_SYSCTL, persist_make_sysctl_line);
	lines_file(a, m, out, PERSIST_IN_TMPFILES, persist_make_tmpfiles_line);
	persist_udev(a, m, out);
	lines_file(a, m, out, PERSIST_IN_MODPROBE, persist_make_modprobe_line);
	lines_file(a, m, out, PERSIST_IN_MODULES, persist_make_modules_line);
	limits_files(a, out);
	persist_links(a, m, w, out);
	if (!has_entries(out))
		return;
	persist_losers(a, m, w, out);
	persist_make_notes(a, m, out);
	request_file(a, out);
	/* Last: it is what acts on the others. */
	persist_add_file(a, out, PERSIST_UNIT, 0644, persist_unit(a, m, out, w->program));
}
