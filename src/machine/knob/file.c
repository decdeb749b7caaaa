/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs that are files of the kernel: sysctl, sysfs and module parameters. One line a value, one
 * write; and the pairs of sysctls of which one zeroes the other. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { VALUE_MAX = 4096, STATISTICS_MAX = 1 << 16 };

/*
 * Writing one sets the other to zero; of a pair only the one that is not zero says what the machine
 * does. Source: the kernel's admin-guide/sysctl/vm.rst.
 */
static const char *const pairs[][2] = {
	{ "vm.dirty_ratio", "vm.dirty_bytes" },
	{ "vm.dirty_background_ratio", "vm.dirty_background_bytes" },
	{ "vm.overcommit_ratio", "vm.overcommit_kbytes" },
};

static const char *counterpart(const struct knob *k)
{
	for (size_t i = 0; k->kind == KNOB_SYSCTL && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int side = 0; side < 2; side++)
			if (strcmp(k->name, pairs[i][side]) == 0)
				return pairs[i][!side];
	return NULL;
}

/*
 * Limits of ZFS that are its own choice while the parameter is 0, and stay what they are when 0 is
 * written to it again. What is in force then stands in its statistics, and can be written. Source:
 * OpenZFS, zfs(4) and module/zfs/arc.c.
 */
#define ARC_STATISTICS "/proc/spl/kstat/zfs/arcstats"
static const char *const limits[][2] = {
	{ "zfs.zfs_arc_max", "c_max" },
	{ "zfs.zfs_arc_meta_limit", "arc_meta_limit" },
};

static const char *limit_in_force(const struct knob *k)
{
	for (size_t i = 0; k->kind == KNOB_MODPARAM && i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(k->name, limits[i][0]) == 0)
			return limits[i][1];
	return NULL;
}

/* What follows "NAME=" in value, NULL when value does not begin with it. */
static const char *behind(const char *value, const char *name)
{
	size_t n = strlen(name);

	return strncmp(value, name, n) == 0 && value[n] == '=' ? value + n + 1 : NULL;
}

/* Of the lines "NAME TYPE NUMBER"; NULL. */
static const char *statistic(struct host *h, struct arena *a, const char *name)
{
	size_t n = strlen(name), len;
	char *text;

	if (host_read(h, ARC_STATISTICS, STATISTICS_MAX, a, &text, &len))
		return NULL;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *type, *number;

		line += *line == '\n';
		if (strncmp(line, name, n) != 0 || line[n] != ' ')
			continue;
		type = line + n + strspn(line + n, " ");
		number = type + strcspn(type, " \n");
		number += strspn(number, " ");
		number = arena_strndup(a, number, strspn(number, "0123456789"));
		return *number ? number : NULL;
	}
	return NULL;
}

/* A choice is a word of its own in brackets: "always [madvise] never". */
static bool knob_file_chosen(char *s)
{
	for (char *open = strchr(s, '['); open; open = strchr(open + 1, '[')) {
		size_t n = strcspn(open + 1, "[] \t\n");

		if ((open > s && !isspace((unsigned char)open[-1])) || open[1 + n] != ']' || !n ||
		    (open[2 + n] && !isspace((unsigned char)open[2 + n])))
			continue;
		memmove(s, open + 1, n);
		s[n] = '\0';
		return true;
	}
	return false;
}

/* In place: white space folded, of a bracketed choice the word. */
static void knob_file_normalise(enum knob_kind kind, char *s)
{
	char *out = s;

	if (kind != KNOB_SYSCTL && knob_file_chosen(s))
		return;
	for (const char *c = s; *c; c++) {
		if (!isspace((unsigned char)*c))
			*out++ = *c;
		else if (out > s && out[-1] != ' ')
			*out++ = ' ';
	}
	while (out > s && out[-1] == ' ')
		out--;
	*out = '\0';
}

/* What the knob's own file says. */
static int own_text(struct host *h, struct arena *a, const struct knob *k, const char **value)
{
	char buf[VALUE_MAX + 1];
	int r = host_read_line(h, knob_path(a, k), buf, sizeof(buf));

	if (r)
		return r;
	knob_file_normalise(k->kind, buf);
	*value = arena_strdup(a, buf);
	return 0;
}

/* A limit in bytes of what waits to be written: zero only while a share holds, and never by a write
 * of its own. */
static bool is_dirty_bytes(const char *name)
{
	return str_starts(name, "vm.dirty_") && str_ends(name, "_bytes");
}

int knob_file_text(struct host *h, struct arena *a, const struct knob *k, const char **value)
{
	struct knob other = { .kind = k->kind, .name = counterpart(k), .object = "" };
	const char *its;
	int r = own_text(h, a, k, value);

	if (r || !other.name || strcmp(*value, "0") != 0)
		return r;
	/* A kernel that has only one of them has no pair. */
	r = own_text(h, a, &other, &its);
	if (r == 0 && (strcmp(its, "0") != 0 || is_dirty_bytes(k->name)))
		*value = arena_printf(a, "%s=%s", other.name, its);
	return r == -ENOENT ? 0 : r;
}

static int file_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		    struct err *e)
{
	const char *limit = limit_in_force(k), *own, *its;
	int r = knob_file_text(h, a, k, &own);

	if (r == 0 && limit && strcmp(own, "0") == 0) {
		its = statistic(h, a, limit);
		if (!its)
			return err_set(e, -EIO, "%s is 0; the value that ZFS uses is unreadable",
				       k->name);
		own = arena_printf(a, "%s=%s", limit, its);
	}
	/* That code means something else to the caller: no getter. */
	if (r)
		return knob_fail(e, r == -ENODATA ? -EIO : r, "read", k);
	*value = own;
	return 0;
}

/* A refused word of a list of choices, or a number that the device does not take. */
static int knob_file_refused(struct host *h, const struct knob *k, const char *path,
			     const char *value, int r, struct err *e)
{
	char choices[256];

	if (r == -EINVAL && host_read_line(h, path, choices, sizeof(choices)) == 0 &&
	    strchr(choices, '[') && strchr(choices, ']'))
		return err_set(e, r, "could not set %s: \"%s\" is not one of: %s", path, value,
			       choices);
	if (r == -EINVAL && str_ends(path, "/queue/nr_requests"))
		return err_set(e, r,
			       "could not set %s to %s: the device's maximum is lower; without a "
			       "scheduler the maximum is the device's queue depth",
			       path, value);
	if (r == -EINVAL || r == -ERANGE)
		return err_set(e, r, "could not set %s to \"%s\": the kernel rejects the value",
			       path, value);
	if ((r == -EACCES || r == -EPERM) && h->id.euid == 0)
		return err_set(e, r,
			       "could not set %s: the kernel refuses the write even to root (the "
			       "file is read-only, or this is a container without the permission)",
			       path);
	return knob_fail(e, r, "set", k);
}

static int file_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		    struct err *e)
{
	struct knob target = *k;
	const char *other = counterpart(k), *its = other ? behind(value, other) : NULL, *path;
	const char *limit = limit_in_force(k);
	int r;

	if (limit && behind(value, limit))
		value = behind(value, limit);
	else if (limit && strcmp(value, "0") == 0)
		return err_set(e, -EOPNOTSUPP, "ZFS does not accept 0 for %s after another value",
			       k->name);
	if (its) {
		target.name = other;
		value = its;
	}
	if (!its && strcmp(value, "0") == 0 && is_dirty_bytes(k->name))
		return err_set(e, -EINVAL,
			       "could not set %s to 0: the kernel resets this value to 0 when %s "
			       "is set; set %s=PERCENT instead",
			       k->name, other, other);
	path = knob_path(a, &target);
	/* Without a newline, which text parameters of modules would keep; an empty text has no
	 * other way to arrive. */
	r = host_write(h, path, *value ? value : "\n");
	return r ? knob_file_refused(h, &target, path, value, r, e) : 0;
}

static const char *file_command(struct arena *a, const struct knob *k, const char *value)
{
	const char *other = counterpart(k), *path;

	if (k->kind == KNOB_SYSCTL) {
		if (other && behind(value, other))
			return arena_printf(a, "sysctl -w %s", value);
		return arena_printf(a, "sysctl -w %s",
				    knob_quote(a, arena_printf(a, "%s=%s", k->name, value)));
	}
	if (limit_in_force(k)) {
		const char *its = behind(value, limit_in_force(k));

		value = its ? its : value;
	}
	path = knob_quote(a, knob_path(a, k));
	if (!*value)
		return arena_printf(a, "echo > %s", path);
	return arena_printf(a, "printf %%s %s > %s", knob_quote(a, value), path);
}

/* The first link on the way is the device: /sys/block/sda, /sys/class/net/eth0. */
static const char *file_place(struct host *h, struct arena *a, const struct knob *k)
{
	if (k->kind != KNOB_SYSFS)
		return "";
	for (const char *slash = strchr(k->name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *place =
			knob_place_link(h, a, arena_strndup(a, k->name, (size_t)(slash - k->name)));

		if (*place)
			return place;
	}
	return "";
}

/* Modules take 1 and 0 for a switch and show Y and N. */
static const char *as_number(const char *value)
{
	return strcmp(value, "Y") == 0 || strcmp(value, "y") == 0   ? "1"
	       : strcmp(value, "N") == 0 || strcmp(value, "n") == 0 ? "0"
								    : value;
}

/* Left to ZFS is left to ZFS, whatever it makes of that; and what is in force is the same, however
 * it came. */
static bool same_limit(const char *x, const char *y, const char *limit)
{
	const char *ix = behind(x, limit), *iy = behind(y, limit);
	bool own_x = ix || strcmp(x, "0") == 0, own_y = iy || strcmp(y, "0") == 0;

	return (own_x && own_y) || knob_same_text(ix ? ix : x, iy ? iy : y);
}

static bool file_same(const struct knob *k, const char *x, const char *y)
{
	const char *other = counterpart(k), *ox = other ? behind(x, other) : NULL,
		   *oy = other ? behind(y, other) : NULL;

	if (ox || oy)
		return ox && oy && knob_same_text(ox, oy);
	if (limit_in_force(k))
		return same_limit(x, y, limit_in_force(k));
	if (k->kind == KNOB_MODPARAM)
		return knob_same_text(as_number(x), as_number(y));
	return knob_same_text(x, y);
}

static const char *file_remains(const struct knob *k, const char *now, const char *value)
{
	const char *limit = limit_in_force(k);

	return limit && behind(value, limit) && !behind(now, limit)
		       ? "the limit is restored; the parameter was 0 before, but shows the limit "
			 "until the module is reloaded or the machine reboots"
		       : NULL;
}

/* Which names of files of the kernel a knob may have: values of theirs, and nothing that acts. */

enum { NAME_LONGEST = 4096 };

/* Every part between slashes is a name: not empty, not "." and not "..". */
static bool parts_are_names(const char *path)
{
	while (*path == '/') {
		size_t n = strcspn(++path, "/");

		if (!n || (n == 1 && *path == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
	}
	return !*path;
}

static bool sysctl_valid(const char *name, const char **why)
{
	ARENA_AUTO a = { 0 };
	struct knob k = { .kind = KNOB_SYSCTL, .name = name, .object = "" };
	bool good = knob_is_word(name, NAME_LONGEST, "_.-/:@") && strchr(name, '.') &&
		    parts_are_names(knob_path(&a, &k));

	return good || knob_unsound(why, "expected a sysctl name such as vm.swappiness");
}

/* What is not a value but does something when it is written; and the bytes of a device. */
static bool is_trigger(const char *path)
{
	static const char triggers[] =
		"remove\0rescan\0reset\0bind\0unbind\0delete\0uevent\0new_id\0remove_id\0probe\0"
		"drivers_probe\0scan\0reset_controller\0rescan_controller\0reset_subordinate\0"
		"soft_offline_page\0hard_offline_page\0config\0rom\0";
	const char *last = path_name(path);

	for (const char *t = triggers; *t; t += strlen(t) + 1)
		if (strcmp(last, t) == 0)
			return true;
	return false;
}

static bool sysfs_valid(const char *path, const char **why)
{
	static const char *const roots[] = { "/sys/block/",   "/sys/bus/",	 "/sys/class/",
					     "/sys/devices/", "/sys/kernel/mm/", "/sys/module/" };
	size_t i = 0;

	while (i < sizeof(roots) / sizeof(roots[0]) && !str_starts(path, roots[i]))
		i++;
	if (i == sizeof(roots) / sizeof(roots[0]))
		return knob_unsound(why, "a sysfs knob must be below /sys, in a folder of devices, "
					 "memory or modules");
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("*?{}\\", *c))
			return knob_unsound(why, "the path contains invalid characters for sysfs");
	if (!parts_are_names(path))
		return knob_unsound(why, "the path is not canonical");
	return !is_trigger(path) || knob_unsound(why, "a write to the file starts an action");
}

static bool parameter_valid(const char *name, const char **why)
{
	const char *dot = strchr(name, '.');

	return (dot && knob_is_word(name, NAME_LONGEST, "_.-") && dot[1] &&
		!strchr(dot + 1, '.')) ||
	       knob_unsound(why, "expected a module parameter name such as zfs.zfs_arc_max");
}

/* Whether a sysctl, a file of sysfs or a module parameter is named like one that holds a value.
 * *why gets a sentence. */
static bool knob_file_named(const struct knob *k, const char **why)
{
	return k->kind == KNOB_SYSCTL  ? sysctl_valid(k->name, why)
	       : k->kind == KNOB_SYSFS ? sysfs_valid(k->name, why)
				       : parameter_valid(k->name, why);
}

static bool file_valid(const struct knob *k, const char *value, const char **why)
{
	const char *other = counterpart(k);
	const char *limit = limit_in_force(k), *its = limit && value ? behind(value, limit) : NULL;

	if (!knob_file_named(k, why))
		return false;
	if (its && !knob_is_number(its))
		return knob_unsound(why, "the limit is not a number");
	if (!value || !other)
		return true;
	its = behind(value, other);
	/* The kernel zeroes the bytes only when the share changes, and that is zero already. */
	if (its && strcmp(its, "0") == 0 && is_dirty_bytes(k->name))
		return knob_unsound(why, "both limits are 0, which no single write can restore");
	return knob_is_number(its ? its : value) ||
	       knob_unsound(why, "not a number or NAME=NUMBER of the alternative limit");
}

const struct knob_ops knob_ops_file = {
	.get = file_get,
	.set = file_set,
	.valid = file_valid,
	.command = file_command,
	.place = file_place,
	.same = file_same,
	.remains = file_remains,
};
