/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel modules that have to be loaded: "loaded" or "absent". Loaded by modprobe with what they
 * need; taken out alone, and only when nothing uses them, as rmmod does. What else modprobe loaded
 * stays.
 */
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/kinds.h"

static const char loaded[] = "loaded", absent[] = "absent";

/* The kernel writes a dash as an underscore. */
static const char *module_folder(struct arena *a, const struct knob *k)
{
	char *path = arena_printf(a, "/sys/module/%s", k->name);

	for (char *c = path; (c = strchr(c, '-'));)
		*c = '_';
	return path;
}

/* One that is built in has a folder too, and no state. */
static int module_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		      struct err *e)
{
	const char *folder = module_folder(a, k);
	enum host_kind kind;
	char state[16] = "live";
	int r = host_kind(h, folder, &kind);

	*value = absent;
	if (r == -ENOENT || r == -ENOTDIR || r == HOST_NOT_CAPTURED)
		return 0;
	if (r)
		return knob_fail(e, r, "read", k);
	if (host_read_line(h, arena_printf(a, "%s/initstate", folder), state, sizeof(state)))
		strcpy(state, "live");
	*value = strcmp(state, "going") == 0 ? absent : loaded;
	return 0;
}

static int module_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		      struct err *e)
{
	int r = host_set_text(h, "kmod", k->name, "state", value);

	(void)a;
	if (!r)
		return 0;
	knob_fail(e, r, "set", k);
	if (strcmp(value, loaded) == 0)
		err_hint(e,
			 "modprobe %s shows the reason; if nvidia-peermem reports \"Invalid "
			 "argument\", the module was built without the NIC vendor's headers",
			 k->name);
	return r;
}

static bool module_valid(const struct knob *k, const char *value, const char **why)
{
	if (!knob_is_word(k->name, 55, "_-"))
		return knob_unsound(why, "invalid module name");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for a module");
	if (value && strcmp(value, loaded) != 0 && strcmp(value, absent) != 0)
		return knob_unsound(why, "expected loaded or absent");
	return true;
}

static const char *module_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "%s %s", strcmp(value, loaded) == 0 ? "modprobe" : "rmmod", k->name);
}

const struct knob_ops knob_ops_module = {
	.get = module_get,
	.set = module_set,
	.valid = module_valid,
	.command = module_command,
};
