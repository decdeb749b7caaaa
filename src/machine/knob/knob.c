/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of knob and what is the same for every knob of a kind. */
#include "machine/knob/knob.h"

#include <string.h>

#include "base/text.h"

static const struct {
	const char *name;
	const char *read, *write, *kept, *undone;
} kinds[KNOB_KINDS] = {
	[KNOB_NONE] = { "check", "", "", "", "nothing to undo: gputune only checks this place" },
	[KNOB_SYSCTL] = { "sysctl", "read /proc/sys/%s", "write /proc/sys/%s",
			  "a line in gputune's file in /etc/sysctl.d",
			  "the previous value is restored" },
	[KNOB_SYSFS] = { "sysfs", "read %s", "write %s", "gputune's own file",
			 "the previous value is restored" },
	[KNOB_MODPARAM] = { "module-parameter", "read /sys/module/%s", "write /sys/module/%s",
			    "an options line in gputune's file in /etc/modprobe.d",
			    "the previous value is restored; the file is removed" },
	[KNOB_BOOTARG] = { "boot-argument", "the argument %s in /proc/cmdline",
			   "append %s to the kernel command line in a drop-in, then regenerate the "
			   "boot menu",
			   "stored in the drop-in; takes effect at the next boot",
			   "the drop-in is removed; takes effect at the next boot" },
	[KNOB_NVML] = { "nvml", "NVML (%s)", "NVML (%s)",
			"gputune's boot-time unit, after nvidia-persistenced: the driver loses the "
			"setting when the driver unloads",
			"the previous value is restored; a clock lock is reset" },
	[KNOB_PCI] = { "pci", "configuration space of the function (%s)",
		       "masked read-modify-write of the capability's control register (%s)",
		       "gputune's boot-time unit; a reset or hot plug loses the value",
		       "the field is restored" },
	[KNOB_LINK] = { "link", "the interface (%s)", "netlink or ethtool request (%s)",
			"the configuration of the interface's owner (netplan, NetworkManager, "
			"networkd)",
			"the previous value is restored" },
	[KNOB_UNIT] = { "unit", "the links of systemd for %s", "enable or disable %s",
			"the link that enables the unit", "the previous enable state is restored" },
	[KNOB_ZPROP] = { "zfs-property", "zpool property %s", "zpool property %s",
			 "stored by the pool", "the previous value is restored" },
	[KNOB_HELPER] = { "helper", "the vendor's program (%s)", "the vendor's program (%s)",
			  "gputune's boot-time unit", "the previous value is restored" },
	[KNOB_FILE] = { "file", "the file %s", "create the file %s", "the file itself persists",
			"the previous file is restored; an edited file stays" },
	[KNOB_ADDRESS] = { "address", "the interface's addresses (%s)",
			   "netlink request to the interface (%s)",
			   "the configuration of the interface's owner (netplan, NetworkManager, "
			   "networkd)",
			   "the address is removed, or added again" },
	[KNOB_BLOCK] = { "block", "gputune's lines in %s", "gputune's lines in %s",
			 "the file itself persists",
			 "gputune's lines are removed; the rest of the file stays unchanged" },
	[KNOB_FIRMWARE] = { "firmware", "the vendor's program mlxconfig (%s)",
			    "the vendor's program mlxconfig (%s)", "stored by the adapter",
			    "the previous value is restored; takes effect at the next boot" },
	[KNOB_CPUSET] = { "cpuset", "/sys/fs/cgroup/gputune-isolated",
			  "an isolated CPU partition in /sys/fs/cgroup/gputune-isolated, a control "
			  "group without processes",
			  "not persistent; isolcpus is the equivalent at boot",
			  "the CPUs are released and the control group is removed" },
	[KNOB_MODULE] = { "module", "the module's folder in /sys/module (%s)", "modprobe %s",
			  "a line in gputune's file in /etc/modules-load.d",
			  "the module is unloaded if unused; the file is removed" },
	[KNOB_POWER] = { "power-mode", "the vendor's program (%s -q)",
			 "the vendor's program (%s -m)", "stored by the program",
			 "the previous mode is restored" },
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
	case KNOB_MODULE:
		return true;
	default:
		return false;
	}
}

/* Of a file the name is the whole path; what it was made from does not count. */
static bool named_in_full(enum knob_kind kind)
{
	return kind == KNOB_SYSCTL || kind == KNOB_SYSFS || kind == KNOB_MODPARAM ||
	       kind == KNOB_BOOTARG || kind == KNOB_UNIT || kind == KNOB_FILE ||
	       kind == KNOB_BLOCK || kind == KNOB_MODULE || kind == KNOB_POWER;
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

static bool is_interrupt(enum knob_kind kind, const char *pattern)
{
	return kind == KNOB_LINK && pattern && str_starts(pattern, "irq-");
}

const char *knob_how_write(struct arena *a, enum knob_kind kind, const char *pattern)
{
	if (is_interrupt(kind, pattern))
		return "write /proc/irq/*/smp_affinity_list of the interrupts, found by MSI number";
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

/* Reading by kind: files, nvidia-smi, setpci, ethtool, systemctl, zpool. Every name is quoted. */

const char shell_functions[] =
	"\n"
	"# A file's text on one line; of a bracketed choice the chosen word.\n"
	"now_file() {\n"
	"\ttr -s '[:space:]' ' ' <\"$1\" | sed -e 's/^ //' -e 's/ $//' -e "
	"'s/.*\\[\\([^]]*\\)\\].*/\\1/'\n"
	"}\n"
	"# $1, or NAME=VALUE of the alternative $2 where the kernel uses $2 instead.\n"
	"now_pair() {\n"
	"\town=$(now_file \"/proc/sys/vm/$1\")\n"
	"\tif [ \"$own\" = 0 ]; then own=vm.$2=$(now_file \"/proc/sys/vm/$2\"); fi\n"
	"\tprintf '%s\\n' \"$own\"\n"
	"}\n"
	"now_unit() {\n"
	"\tif systemctl -q is-active \"$1\"; then active=active; else active=inactive; fi\n"
	"\tprintf '%s %s\\n' \"$(systemctl is-enabled \"$1\" || :)\" $active\n"
	"}\n"
	"# What gputune's drop-in asks the boot loader for.\n"
	"now_bootarg() {\n"
	"\tfor file in /etc/default/grub.d/zz-gputune.cfg /dev/null; do\n"
	"\t\tif [ -e \"$file\" ]; then break; fi\n"
	"\tdone\n"
	"\tawk -v name=\"$1\" 'BEGIN { value = \"not set\" }\n"
	"\t\t{ sub(/\"$/, \"\"); n = split($0, w, \" \") }\n"
	"\t\tn && w[n] == name { value = \"\" }\n"
	"\t\tn && index(w[n], name \"=\") == 1 { value = substr(w[n], length(name) + 2) }\n"
	"\t\tEND { print value }' \"$file\"\n"
	"}\n"
	"\n";

const char *shell_quote(struct arena *a, const char *s)
{
	TEXT_AUTO t = { 0 };

	text_addc(&t, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			text_add(&t, "'\\''");
		else
			text_addc(&t, *s);
	}
	text_addc(&t, '\'');
	return arena_strdup(a, t.s);
}

const char *shell_word(struct arena *a, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./:,+@%=";

	return *s && !s[strspn(s, plain)] ? s : shell_quote(a, s);
}

/* Writing one of a pair zeroes the other. */
static const char *read_sysctl(struct arena *a, const struct knob *k)
{
	static const char *const pairs[][2] = {
		{ "dirty_ratio", "dirty_bytes" },
		{ "dirty_background_ratio", "dirty_background_bytes" },
	};

	for (size_t i = 0; i < 2; i++)
		for (size_t own = 0; own < 2; own++)
			if (str_starts(k->name, "vm.") && strcmp(k->name + 3, pairs[i][own]) == 0)
				return arena_printf(a, "now_pair %s %s", pairs[i][own],
						    pairs[i][!own]);
	return arena_printf(a, "now_file %s", shell_quote(a, knob_path(a, k)));
}

/* %s is the GPU's or function's address, the interface, the pool. */
static const struct {
	enum knob_kind kind;
	const char *name, *text;
} readers[] = {
	{ KNOB_NVML, "persistence-mode",
	  "nvidia-smi -i %s --query-gpu=persistence_mode --format=csv,noheader | sed -e "
	  "'s/^Enabled$/1/' -e 's/^Disabled$/0/'" },
	{ KNOB_NVML, "accounting-mode",
	  "nvidia-smi -i %s --query-gpu=accounting.mode --format=csv,noheader | sed -e "
	  "'s/^Enabled$/1/' -e 's/^Disabled$/0/'" },
	{ KNOB_NVML, "compute-mode",
	  "nvidia-smi -i %s --query-gpu=compute_mode --format=csv,noheader | tr 'A-Z_' 'a-z-'" },
	{ KNOB_NVML, "power-limit",
	  "nvidia-smi -i %s --query-gpu=power.limit --format=csv,noheader,nounits | awk '{ printf "
	  "\"%%d\\n\", $1 * 1000 + 0.5 }'" },
	{ KNOB_PCI, "mrrs",
	  "field=$(setpci -s %s CAP_EXP+8.w) && printf '%%d\\n' $((128 << ((0x$field >> 12) & "
	  "7)))" },
	{ KNOB_PCI, "acs-control",
	  "field=$(setpci -s %s ECAP_ACS+6.w) && printf '0x%%x\\n' $((0x$field))" },
	{ KNOB_LINK, "rx-ring",
	  "ethtool -g %s | awk '/^Current/ { c = 1 } c && $1 == \"RX:\" { print $2; exit }'" },
	{ KNOB_LINK, "tx-ring",
	  "ethtool -g %s | awk '/^Current/ { c = 1 } c && $1 == \"TX:\" { print $2; exit }'" },
	{ KNOB_LINK, "channels",
	  "ethtool -l %s | awk '/^Current/ { c = 1 } c && $1 == \"Combined:\" { print $2; exit "
	  "}'" },
	{ KNOB_LINK, "rx-usecs", "ethtool -c %s | awk '$1 == \"rx-usecs:\" { print $2; exit }'" },
	{ KNOB_LINK, "tx-usecs", "ethtool -c %s | awk '$1 == \"tx-usecs:\" { print $2; exit }'" },
	{ KNOB_LINK, "adaptive-rx",
	  "ethtool -c %s | awk '/^Adaptive/ { print ($3 == \"on\"); exit }'" },
	{ KNOB_LINK, "adaptive-tx",
	  "ethtool -c %s | awk '/^Adaptive/ { print ($5 == \"on\"); exit }'" },
};

static const char *shell_read_object(struct arena *a, const struct knob *k)
{
	if (k->kind == KNOB_LINK && strcmp(k->name, "mtu") == 0)
		return arena_printf(
			a, "now_file %s",
			shell_quote(a, arena_printf(a, "/sys/class/net/%s/mtu", k->object)));
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].kind == k->kind && strcmp(readers[i].name, k->name) == 0)
			return arena_printf(a, readers[i].text, shell_quote(a, k->object));
	return NULL;
}

const char *shell_read(struct arena *a, const struct knob *k)
{
	switch (k->kind) {
	case KNOB_SYSCTL:
		return read_sysctl(a, k);
	case KNOB_SYSFS:
	case KNOB_MODPARAM:
		return arena_printf(a, "now_file %s", shell_quote(a, knob_path(a, k)));
	case KNOB_NVML:
	case KNOB_PCI:
	case KNOB_LINK:
		return shell_read_object(a, k);
	case KNOB_UNIT:
		return arena_printf(a, "now_unit %s", shell_quote(a, k->name));
	case KNOB_BOOTARG:
		return arena_printf(a, "now_bootarg %s", shell_quote(a, k->name));
	case KNOB_ZPROP:
		return arena_printf(a, "zpool get -H -o value %s %s", shell_quote(a, k->name),
				    shell_quote(a, k->object));
	default:
		return NULL;
	}
}
