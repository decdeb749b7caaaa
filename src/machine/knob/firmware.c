/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter of an adapter's firmware: the link layer of a ConnectX port. What is read and written
 * is what holds from the next boot on. */
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

static const char api[] = "mlxconfig";

static int firmware_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
			struct err *e)
{
	long long v;
	int r = host_ask_int(h, api, k->object, k->name, &v);

	if (r == -ENOENT) {
		err_set(e, r, "could not read %s of %s: mlxconfig is not installed", k->name,
			k->object);
		err_hint(e, "it comes with mstflint (as mstconfig) or NVIDIA's firmware tools");
		return r;
	}
	if (r)
		return knob_fail(e, r == -ENODATA ? -EIO : r, "read", k);
	*value = arena_printf(a, "%lld", v);
	return 0;
}

static int firmware_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
			struct err *e)
{
	long long v = 0;
	int r = parse_i64(value, &v);

	(void)a;
	if (r == 0)
		r = host_tell_int(h, api, k->object, k->name, v);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool firmware_sound(const struct knob *k, const char *value, const char **why)
{
	if (strcmp(k->name, "LINK_TYPE_P1") != 0 && strcmp(k->name, "LINK_TYPE_P2") != 0)
		return knob_unsound(why, "no parameter of that name is ever set");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "its object is not the PCI address of an adapter");
	if (value && (strlen(value) != 1 || *value < '1' || *value > '3'))
		return knob_unsound(why,
				    "a link layer is 1 (InfiniBand), 2 (Ethernet) or 3 (both)");
	return true;
}

static const char *firmware_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "mlxconfig -y -d %s set %s=%s", k->object, k->name, value);
}

const struct knob_ops knob_ops_firmware = {
	.get = firmware_get,
	.set = firmware_set,
	.sound = firmware_sound,
	.command = firmware_command,
	.place = knob_place_pci,
};
