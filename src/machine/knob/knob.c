/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of knob and what is the same for every knob of a kind. */
#include "machine/knob/knob.h"

#include <string.h>

#include "base/text.h"

static const struct {
	const char *name;
	const char *read, *write, *kept, *undone;
} kinds[KNOB_KINDS] = {
	[KNOB_NONE] = { "check", "", "", "", "nothing to undo: gputune only looks" },
	[KNOB_SYSCTL] = { "sysctl", "read /proc/sys/%s", "write /proc/sys/%s",
			  "a line in our own file in /etc/sysctl.d",
			  "the value that was there is written back" },
	[KNOB_SYSFS] = { "sysfs", "read %s", "write %s",
			 "a line in our own file in /etc/tmpfiles.d, or a udev rule where the "
			 "device can come later than boot",
			 "the value that was there is written back" },
	[KNOB_MODPARAM] = { "module-parameter", "read /sys/module/%s", "write /sys/module/%s",
			    "an options line in our own file in /etc/modprobe.d",
			    "the value that was there is written back; the file is removed" },
	[KNOB_BOOTARG] = { "boot-argument", "the argument %s in /proc/cmdline",
			   "append %s to the kernel command line through a drop-in, then "
			   "regenerate the boot menu",
			   "it is kept by the drop-in and takes effect at the next boot",
			   "the drop-in is removed; takes effect at the next boot" },
	[KNOB_NVML] = { "nvml", "NVML (%s)", "NVML (%s)",
			"our boot-time unit, after nvidia-persistenced: the driver forgets it when "
			"it unloads",
			"the value that was there is set back; a lock without a getter is reset" },
	[KNOB_PCI] = { "pci", "configuration space of the function (%s)",
		       "masked read-modify-write of the capability's control register (%s)",
		       "our boot-time unit; a reset or hot-plug loses it",
		       "the field is written back" },
	[KNOB_LINK] = { "link", "the interface (%s)", "netlink or ethtool request (%s)",
			"the configuration of whoever owns the interface (netplan, NetworkManager, "
			"networkd)",
			"the value that was there is set back" },
	[KNOB_UNIT] = { "unit", "systemd's links for %s", "enable or disable %s",
			"the unit's own link", "the previous enable state is restored" },
	[KNOB_ZPROP] = { "zfs-property", "zpool property %s", "zpool property %s",
			 "the pool stores it itself", "the value that was there is set back" },
	[KNOB_HELPER] = { "helper", "the vendor's program (%s)", "the vendor's program (%s)",
			  "our boot-time unit", "the value that was there is set back" },
	[KNOB_FILE] = { "file", "the file %s", "make the file %s", "it is a file",
			"what was there before is put back; an edited file is left" },
	[KNOB_ADDRESS] = { "address", "the interface's addresses (%s)",
			   "netlink request to the interface (%s)",
			   "the configuration of whoever owns the interface (netplan, "
			   "NetworkManager, networkd)",
			   "the address is taken away, or given back" },
	[KNOB_BLOCK] = { "block", "our lines in %s", "our lines in %s", "it is a file",
			 "our lines are taken out; the rest of the file stays as it is" },
	[KNOB_FIRMWARE] = { "firmware", "the vendor's program mlxconfig (%s)",
			    "the vendor's program mlxconfig (%s)", "the adapter stores it itself",
			    "the value that was there is set back; takes effect at the next boot" },
	[KNOB_CPUSET] = { "cpuset", "/sys/fs/cgroup/gputune-isolated",
			  "an isolated partition of CPUs in /sys/fs/cgroup/gputune-isolated, a "
			  "control group without processes",
			  "isolcpus does it at boot; nothing keeps a partition",
			  "the CPUs are given back and the control group is removed" },
};

const char *knob_kind_name(enum knob_kind k)
{
	return kinds[k].name;
}

int knob_kind_parse(const char *name)
{
	for (int i = 0; name && i < KNOB_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return -1;
}

bool knob_is_runtime(enum knob_kind kind)
{
	switch (kind) {
	case KNOB_SYSCTL:
	case KNOB_SYSFS:
	case KNOB_MODPARAM:
	case KNOB_NVML:
	case KNOB_PCI:
	case KNOB_LINK:
	case KNOB_HELPER:
	case KNOB_ADDRESS:
	case KNOB_CPUSET:
		return true;
	default:
		return false;
	}
}

/* Of a file the name is the whole path; what it was made from does not count. */
static bool named_in_full(enum knob_kind kind)
{
	return kind == KNOB_SYSCTL || kind == KNOB_SYSFS || kind == KNOB_MODPARAM ||
	       kind == KNOB_BOOTARG || kind == KNOB_UNIT || kind == KNOB_FILE || kind == KNOB_BLOCK;
}

bool knob_equal(const struct knob *x, const struct knob *y)
{
	const char *of_x = x->object ? x->object : "", *of_y = y->object ? y->object : "";

	return x->kind == y->kind && strcmp(x->name ? x->name : "", y->name ? y->name : "") == 0 &&
	       (named_in_full(x->kind) || strcmp(of_x, of_y) == 0);
}

const char *knob_text(struct arena *a, const struct knob *k)
{
	if (!k->name)
		return kinds[KNOB_NONE].name;
	if (named_in_full(k->kind) || !k->object || !*k->object)
		return k->name;
	return arena_printf(a, "%s of %s", k->name, k->object);
}

struct knob knob_make(struct arena *a, enum knob_kind kind, const char *pattern, const char *object)
{
	const char *hole = pattern ? strstr(pattern, "{}") : NULL;
	struct knob k = { .kind = kind, .name = pattern, .object = object ? object : "" };

	if (hole)
		k.name = arena_printf(a, "%.*s%s%s", (int)(hole - pattern), pattern, k.object,
				      hole + 2);
	return k;
}

/* "vm.swappiness" -> "vm/swappiness"; "zfs.zfs_arc_max" -> "zfs/parameters/zfs_arc_max". */
static char *dotted_path(struct arena *a, enum knob_kind kind, const char *name)
{
	const char *dot = strchr(name, '.');
	char *path;

	if (kind == KNOB_MODPARAM)
		return dot ? arena_printf(a, "%.*s/parameters/%s", (int)(dot - name), name, dot + 1)
			   : NULL;
	/* A slash stands for a dot, as sysctl(8) has it: "net.ipv4.conf.eth0/100.forwarding". */
	path = arena_strdup(a, name);
	for (char *c = path; *c; c++)
		if (*c == '.' || *c == '/')
			*c = *c == '.' ? '/' : '.';
	return path;
}

const char *knob_path(struct arena *a, const struct knob *k)
{
	switch (k->kind) {
	case KNOB_SYSFS:
		return k->name;
	case KNOB_SYSCTL:
		return arena_printf(a, "/proc/sys/%s", dotted_path(a, k->kind, k->name));
	case KNOB_MODPARAM:
		return arena_printf(a, "/sys/module/%s", dotted_path(a, k->kind, k->name));
	default:
		return NULL;
	}
}

/* Puts the pattern into the kind's sentence, with "{}" shown as "*". */
static const char *knob_sentence(struct arena *a, enum knob_kind kind, const char *text,
				 const char *pattern)
{
	const char *hole = strstr(text, "%s");
	struct knob k;

	if (!hole || !pattern)
		return text;
	k = knob_make(a, kind, pattern, "*");
	if (kind == KNOB_SYSCTL || kind == KNOB_MODPARAM)
		k.name = dotted_path(a, kind, k.name);
	return arena_printf(a, "%.*s%s%s", (int)(hole - text), text, k.name, hole + 2);
}

const char *knob_how_read(struct arena *a, enum knob_kind kind, const char *pattern)
{
	return knob_sentence(a, kind, kinds[kind].read, pattern);
}

const char *knob_how_write(struct arena *a, enum knob_kind kind, const char *pattern)
{
	return knob_sentence(a, kind, kinds[kind].write, pattern);
}

const char *knob_persistence(struct arena *a, enum knob_kind kind, const char *pattern)
{
	return knob_sentence(a, kind, kinds[kind].kept, pattern);
}

const char *knob_how_undone(enum knob_kind kind)
{
	return kinds[kind].undone;
}
