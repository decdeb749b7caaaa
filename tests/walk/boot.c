/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that read /etc at boot, as far as files of gputune's shape need them. */
#include "boot.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "disk.h"
#include "machine/host/extlinux.h"
#include "machine/write/write.h"
#include "tune/persist/persist.h"

enum { FILE_MAX = 1 << 20 };

struct line {
	struct host *h;
	struct arena *a;
	char *text; /* without what ends it; may be changed */
};

static void each_line(struct host *h, struct arena *a, const char *path,
		      void (*one)(struct line *l))
{
	char *text;

	if (host_read(h, path, FILE_MAX, a, &text, NULL))
		return;
	for (char *save = NULL, *s = strtok_r(text, "\n", &save); s;
	     s = strtok_r(NULL, "\n", &save)) {
		struct line l = { h, a, s + strspn(s, " \t") };

		if (*l.text && *l.text != '#' && *l.text != ';')
			one(&l);
	}
}

/* Files of both folders in the order of their names; /etc hides the other's of the same name. */
static void each_file(struct host *h, struct arena *a, const char *name, const char *ending,
		      void (*one)(struct line *l))
{
	static const char *const roots[] = { "/etc", "/usr/lib" };
	struct map files = { 0 };
	struct map_entry *sorted;

	for (size_t i = 0; i < 2; i++) {
		char *folder = arena_printf(a, "%s/%s", roots[i], name), **names;
		size_t n = 0;

		if (host_list(h, folder, a, &names, &n))
			continue;
		for (size_t k = 0; k < n; k++) {
			void **at = map_at(a, &files, names[k]);

			if (!*at && str_ends(names[k], ending))
				*at = arena_printf(a, "%s/%s", folder, names[k]);
		}
	}
	sorted = map_sorted(a, &files);
	for (size_t i = 0; i < files.n; i++)
		if (sorted[i].value)
			each_line(h, a, sorted[i].value, one);
}

static void sysctl_line(struct line *l)
{
	char *value = strchr(l->text, '='), *key;
	size_t n;

	if (!value)
		return;
	*value++ = '\0';
	key = arena_strdup(l->a, str_trim(l->text, strlen(l->text), &n));
	key[n] = '\0';
	for (char *c = key; *c; c++)
		*c = *c == '.' ? '/' : *c == '/' ? '.' : *c;
	value = arena_strdup(l->a, str_trim(value, strlen(value), &n));
	value[n] = '\0';
	host_write(l->h, arena_printf(l->a, "/proc/sys/%s", key + (*key == '-')), value);
}

/* "w PATH - - - - VALUE" */
static void tmpfiles_line(struct line *l)
{
	char *word[7], *at = l->text;

	if (*at != 'w')
		return;
	for (int i = 0; i < 6; i++) {
		word[i] = strsep(&at, " ");
		if (!at)
			return;
	}
	host_write(l->h, word[1], at);
}

/* --- udev ------------------------------------------------------------------------------------- */

/* The text between quotes behind key. */
static const char *quoted(struct line *l, const char *key)
{
	const char *at = strstr(l->text, key), *end;

	if (!at)
		return NULL;
	at += strlen(key) + 1;
	end = strchr(at, '"');
	return end ? arena_strndup(l->a, at, (size_t)(end - at)) : NULL;
}

static bool reads(struct line *l, const char *path, const char *wanted)
{
	char now[256];
	size_t n;
	const char *text;

	if (host_read_line(l->h, path, now, sizeof(now)))
		return false;
	text = str_trim(now, strlen(now), &n);
	now[(size_t)(text - now) + n] = '\0';
	return fnmatch(wanted, text, 0) == 0;
}

static bool udev_means(struct line *l, const char *disk)
{
	const char *kernel = quoted(l, "KERNEL=="), *model = quoted(l, "ATTRS{model}=="),
		   *spins = quoted(l, "ATTR{queue/rotational}==");
	char target[HOST_PATH_MAX];
	bool is_usb = host_link(l->h, arena_printf(l->a, "/sys/block/%s", disk), target,
				sizeof(target)) == 0 &&
		      strstr(target, "/usb");

	if (!kernel || fnmatch(kernel, disk, 0) != 0)
		return false;
	if (strstr(l->text, "ENV{ID_BUS}==") ? !is_usb : is_usb && strstr(l->text, "ENV{ID_BUS}!="))
		return false;
	if (spins && !reads(l, arena_printf(l->a, "/sys/block/%s/queue/rotational", disk), spins))
		return false;
	return !model || reads(l, arena_printf(l->a, "/sys/block/%s/device/model", disk), model);
}

/* A rule for the devices of NFS mounts, which the kernel lists. */
static void mounts_line(struct line *l, const char *attribute, const char *value)
{
	char **devices;
	size_t n = 0;

	if (!strstr(l->text, "/proc/fs/nfsfs/volumes") ||
	    host_list(l->h, "/sys/class/bdi", l->a, &devices, &n))
		return;
	for (size_t i = 0; i < n; i++)
		host_write(l->h, arena_printf(l->a, "/sys/class/bdi/%s/%s", devices[i], attribute),
			   value);
}

static void udev_line(struct line *l)
{
	const char *attribute = NULL, *value = NULL, *close;
	char **disks;
	size_t n = 0;

	for (const char *at = strstr(l->text, "ATTR{"); at; at = strstr(at + 1, "ATTR{")) {
		close = strchr(at, '}');
		if (!close || close[1] != '=' || close[2] != '"')
			continue;
		attribute = arena_strndup(l->a, at + 5, (size_t)(close - at) - 5);
		value = arena_strndup(l->a, close + 3, strcspn(close + 3, "\""));
	}
	if (attribute && strstr(l->text, "SUBSYSTEM==\"bdi\"")) {
		mounts_line(l, attribute, value);
		return;
	}
	if (!attribute || host_list(l->h, "/sys/block", l->a, &disks, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (udev_means(l, disks[i]))
			host_write(l->h,
				   arena_printf(l->a, "/sys/block/%s/%s", disks[i], attribute),
				   value);
}

/* --- links, modules, boot arguments ----------------------------------------------------------- */

static const char *interface;

static void netplan_line(struct line *l)
{
	if (str_starts(l->text, "mtu: ") && interface)
		host_write(l->h, arena_printf(l->a, "/sys/class/net/%s/mtu", interface),
			   l->text + 5);
	else if (str_ends(l->text, ":") && strcmp(l->text, "network:") != 0)
		interface = arena_strndup(l->a, l->text, strlen(l->text) - 1);
}

static void manager_line(struct line *l)
{
	const char *mtu = strstr(l->text, ".mtu=");

	if (str_starts(l->text, "match-device=interface-name:"))
		interface = arena_strdup(l->a, strchr(l->text, ':') + 1);
	else if (mtu && interface)
		host_write(l->h, arena_printf(l->a, "/sys/class/net/%s/mtu", interface), mtu + 5);
}

/* "options MODULE NAME=VALUE ..." */
static void modprobe_line(struct line *l)
{
	char *save = NULL, *word = strtok_r(l->text, " ", &save), *module;

	if (!word || strcmp(word, "options") != 0)
		return;
	module = strtok_r(NULL, " ", &save);
	while (module && (word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '='), *path;

		if (!value)
			continue;
		*value++ = '\0';
		path = arena_printf(l->a, "/sys/module/%s/parameters/%s", module, word);
		if (host_exists(l->h, path))
			disk_set(path, arena_printf(l->a, "%s\n", value));
	}
}

/* A module's name. */
static void module_line(struct line *l)
{
	host_set_text(l->h, "kmod", l->text, "state", "loaded");
}

static void grub_line(struct line *l)
{
	static const char begins[] = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ";
	char *old, *ours;

	if (!str_starts(l->text, begins) ||
	    host_read(l->h, "/proc/cmdline", FILE_MAX, l->a, &old, NULL))
		return;
	ours = arena_strdup(l->a, l->text + strlen(begins));
	ours[strcspn(ours, "\"")] = '\0';
	old[strcspn(old, "\n")] = '\0';
	disk_set("/proc/cmdline", arena_printf(l->a, "%s %s\n", old, ours));
}

/* The entry's arguments are the line of the kernel, without what the loader fills in. */
static void extlinux_line(struct host *h, struct arena *a)
{
	struct extlinux_entry e;
	TEXT_AUTO line = { 0 };
	char *text, *save = NULL;

	if (host_boot_menu(h) != BOOT_MENU_EXTLINUX ||
	    host_read(h, EXTLINUX_CONF, FILE_MAX, a, &text, NULL) || extlinux_parse(text, &e))
		return;
	text = arena_strndup(a, e.append.at, e.append.n);
	for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
		if (*w != '$')
			text_printf(&line, "%s%s", line.len ? " " : "", w);
	disk_set("/proc/cmdline", arena_printf(a, "%s\n", line.s ? line.s : ""));
}

bool boot_has_unit(struct host *h)
{
	return host_exists(h, PERSIST_UNIT_LINK) && host_exists(h, PERSIST_UNIT) &&
	       host_exists(h, PERSIST_REQUEST);
}

void boot_replay(struct host *h, unsigned n)
{
	struct arena a = { 0 };

	disk_set("/proc/sys/kernel/random/boot_id",
		 arena_printf(&a, "00000000-0000-4000-8000-%012u\n", n));
	each_line(h, &a, PERSIST_GRUB, grub_line);
	extlinux_line(h, &a);
	each_file(h, &a, "modules-load.d", ".conf", module_line);
	each_file(h, &a, "modprobe.d", ".conf", modprobe_line);
	each_file(h, &a, "udev/rules.d", "gputune.rules", udev_line);
	each_file(h, &a, "sysctl.d", ".conf", sysctl_line);
	each_file(h, &a, "tmpfiles.d", ".conf", tmpfiles_line);
	interface = NULL;
	each_line(h, &a, PERSIST_NETPLAN, netplan_line);
	interface = NULL;
	each_line(h, &a, PERSIST_NM, manager_line);
	arena_free(&a);
}
