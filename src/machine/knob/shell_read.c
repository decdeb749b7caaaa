/* SPDX-License-Identifier: Apache-2.0 */
/* Reading by kind: files, nvidia-smi, setpci, ethtool, systemctl, zpool. Every name is quoted. */
#include "machine/knob/shell_read.h"

#include <string.h>

#include "base/text.h"

const char shell_functions[] =
	"\n"
	"# A file's text on one line; of a bracketed choice the chosen word.\n"
	"now_file() {\n"
	"\ttr -s '[:space:]' ' ' <\"$1\" | sed -e 's/^ //' -e 's/ $//' -e "
	"'s/.*\\[\\([^]]*\\)\\].*/\\1/'\n"
	"}\n"
	"# $1, or NAME=VALUE of its twin $2 where the kernel uses that instead.\n"
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
