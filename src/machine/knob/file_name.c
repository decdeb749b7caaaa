/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of files of the kernel a knob may have: values of theirs, and nothing that acts. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "machine/knob/file.h"

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

static bool sysctl_sound(const char *name, const char **why)
{
	struct arena a = { 0 };
	struct knob k = { .kind = KNOB_SYSCTL, .name = name, .object = "" };
	bool good = knob_is_word(name, NAME_LONGEST, "_.-/:@") && strchr(name, '.') &&
		    parts_are_names(knob_path(&a, &k));

	arena_free(&a);
	return good || knob_unsound(why, "a sysctl is named like vm.swappiness");
}

/* What is not a value but does something when it is written; and the bytes of a device. */
static bool is_trigger(const char *path)
{
	static const char *const triggers[] = { "remove",
						"rescan",
						"reset",
						"bind",
						"unbind",
						"delete",
						"uevent",
						"new_id",
						"remove_id",
						"probe",
						"drivers_probe",
						"scan",
						"reset_controller",
						"rescan_controller",
						"reset_subordinate",
						"soft_offline_page",
						"hard_offline_page",
						"config",
						"rom" };
	const char *last = path_name(path);

	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++)
		if (strcmp(last, triggers[i]) == 0)
			return true;
	return false;
}

static bool sysfs_sound(const char *path, const char **why)
{
	static const char *const roots[] = { "/sys/block/",   "/sys/bus/",	 "/sys/class/",
					     "/sys/devices/", "/sys/kernel/mm/", "/sys/module/" };
	size_t i = 0;

	while (i < sizeof(roots) / sizeof(roots[0]) && !str_starts(path, roots[i]))
		i++;
	if (i == sizeof(roots) / sizeof(roots[0]))
		return knob_unsound(why, "a sysfs knob lies below /sys, in a folder of devices, "
					 "memory or modules");
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("*?{}\\", *c))
			return knob_unsound(why, "the path holds characters that no path of sysfs "
						 "has");
	if (!parts_are_names(path))
		return knob_unsound(why, "the path is not the shortest one to its place");
	return !is_trigger(path) || knob_unsound(why, "the file is no value but a command");
}

static bool parameter_sound(const char *name, const char **why)
{
	const char *dot = strchr(name, '.');

	return (dot && knob_is_word(name, NAME_LONGEST, "_.-") && dot[1] &&
		!strchr(dot + 1, '.')) ||
	       knob_unsound(why, "a module parameter is named like zfs.zfs_arc_max");
}

bool knob_file_named(const struct knob *k, const char **why)
{
	return k->kind == KNOB_SYSCTL  ? sysctl_sound(k->name, why)
	       : k->kind == KNOB_SYSFS ? sysfs_sound(k->name, why)
				       : parameter_sound(k->name, why);
}
