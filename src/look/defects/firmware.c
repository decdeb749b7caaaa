/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Firmware as other programs list it, in a file that the user names: devices of fwupdmgr
 * (get-devices --json, get-history --json) and the text of mlxfwmanager. It is untrusted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "look/defects/world.h"

enum { DEVICES_MAX = 1024, WORD_MAX = 128 };

static void add(json_t *all, const char *name, const char *version)
{
	if (name && version && *name && *version && strlen(name) <= WORD_MAX &&
	    strlen(version) <= WORD_MAX && json_object_size(all) < DEVICES_MAX)
		version_add(all, name, version);
}

/* An installed update's version is that of its release. */
static void device_take(const json_t *dev, json_t *all)
{
	const char *version = defect_text(dev, "Version"),
		   *after = defect_text(json_array_get(json_object_get(dev, "Releases"), 0),
					"Version");

	if (after && json_integer_value(json_object_get(dev, "UpdateState")) == 2)
		version = after;
	add(all, defect_text(dev, "Name"), version);
}

/* The word behind a mark in a line. */
static bool word_after(const char *line, const char *mark, const char *how, char *out)
{
	const char *at = strstr(line, mark);

	return at && sscanf(at + strlen(mark), how, out) == 1;
}

/* "  Device Type:      BlueField3", and below it "     FW             28.42.1000     N/A". As XML:
 * <Device type="ConnectX7" ...>, and in it <FW current="28.42.1000" .../>. */
static void mlx_take(struct arena *a, char *text, json_t *all)
{
	const char *name = NULL;
	char *save = NULL;

	for (char *l = strtok_r(text, "\r\n>", &save); l; l = strtok_r(NULL, "\r\n>", &save)) {
		char v[WORD_MAX];
		int family;

		if (sscanf(l, " FW %127s", v) == 1 ||
		    word_after(l, "<FW current=\"", "%127[^\"]", v)) {
			add(all, name, v);
		} else if (word_after(l, "Device Type:", " %127s", v) ||
			   (strstr(l, "<Device ") && word_after(l, " type=\"", "%127[^\"]", v))) {
			family = (int)strcspn(v, "0123456789");
			name = arena_printf(a, "nic:%.*s-%s", family, v, v + family);
		}
	}
}

int firmware_of_file(struct arena *a, const char *name, char *text, size_t len, json_t *all,
		     struct err *e)
{
	json_auto_t *j = json_loadb(text, len, 0, NULL);
	const json_t *devices = json_object_get(j, "Devices");

	for (size_t i = 0; i < json_array_size(devices) && i < DEVICES_MAX; i++)
		device_take(json_array_get(devices, i), all);
	if (!j)
		mlx_take(a, text, all);
	return devices || json_object_size(all)
		       ? 0
		       : err_set(e, -EINVAL,
				 "%s: not a list of fwupdmgr (--json) or of mlxfwmanager", name);
}
