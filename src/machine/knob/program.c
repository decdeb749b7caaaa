/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs that a program of the system's or a vendor's holds; what runs the program is
 * machine/host/program.c. */
#include <stdio.h>
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/kinds.h"
#include "base/text.h"

/* Properties of ZFS pools. The pool stores them itself, so that they outlive a reboot. */

static int zprop_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		     struct err *e)
{
	struct answer out;
	int r = host_ask(h, "zpool", k->object, k->name, &out);

	if (r == 0 && out.kind != ANSWER_TEXT)
		r = -EPROTO;
	if (r)
		return knob_fail(e, r, "read", k);
	*value = arena_strdup(a, out.text);
	return 0;
}

static int zprop_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		     struct err *e)
{
	int r = host_set_text(h, "zpool", k->object, k->name, value);

	(void)a;
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool zprop_valid(const struct knob *k, const char *value, const char **why)
{
	if (strcmp(k->name, "autotrim") != 0)
		return knob_unsound(why, "it is no pool property that can be changed");
	if (!knob_is_word(k->object, 255, "._:-"))
		return knob_unsound(why, "its object is not the name of a pool");
	if (value && strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return knob_unsound(why, "it takes on or off");
	return true;
}

static const char *zprop_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "zpool set %s=%s %s", k->name, value, k->object);
}

const struct knob_ops knob_ops_zprop = {
	.get = zprop_get,
	.set = zprop_set,
	.valid = zprop_valid,
	.command = zprop_command,
};

/* The boost slider of a GPU: a level from 0 to the board's own maximum, through the vendor's
 * program. */

enum { LEVEL_DIGITS = 2 };

static const char boost_api[] = "boost-slider", name[] = "vboost";

/* The form in which the provider and captures know a GPU: a short domain, lower case. */
static const char *canonical(struct arena *a, const char *pci)
{
	unsigned domain, bus, device, function;

	if (sscanf(pci, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
		return pci;
	return arena_printf(a, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

static int boost_ask(struct host *h, struct arena *a, const struct knob *k, long long *level)
{
	return host_ask_int(h, boost_api, canonical(a, k->object), name, level);
}

static struct fact_str vboost_look(struct host *h, struct arena *a, const struct knob *k)
{
	static const char command[] = "nvidia-smi boost-slider -l";
	struct fact_str out = { .f = { .seen = SEEN_OK, .leaf = command } };
	long long level = 0;
	int r = boost_ask(h, a, k, &level);

	if (r) {
		out.f.seen = seen_from_errno(r);
		out.f.err = -r;
		return out;
	}
	out.v = arena_printf(a, "%lld", level);
	return out;
}

static int vboost_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		      struct err *e)
{
	long long level;
	int r = boost_ask(h, a, k, &level);

	if (r == -ENOENT)
		return err_set(e, r, "could not read %s of %s: nvidia-smi is not installed", name,
			       k->object);
	if (r)
		return knob_fail(e, r, "read", k);
	*value = arena_printf(a, "%lld", level);
	return 0;
}

static int vboost_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		      struct err *e)
{
	const char *gpu = canonical(a, k->object);
	long long level, max;
	int r = parse_i64(value, &level);

	/* The program exits with success after some refusals: the limit is looked at first. */
	if (r == 0)
		r = host_ask_int(h, boost_api, gpu, "vboost.max", &max);
	if (r == 0 && level > max) {
		err_set(e, -ERANGE, "could not set %s of %s to %s: it is above its maximum", name,
			k->object, value);
		err_hint(e, "the board takes 0 to %lld", max);
		return -ERANGE;
	}
	if (r == 0)
		r = host_set_int(h, boost_api, gpu, name, level);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool vboost_valid(const struct knob *k, const char *value, const char **why)
{
	if (strcmp(k->name, name) != 0)
		return knob_unsound(why, "no program's switch is called so");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "its object is not the PCI address of a GPU");
	if (value && (!knob_is_number(value) || strlen(value) > LEVEL_DIGITS))
		return knob_unsound(why, "it takes a small whole number");
	return true;
}

static const char *vboost_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "nvidia-smi boost-slider -i %s --vboost %s", k->object, value);
}

const struct knob_ops knob_ops_helper = {
	.look = vboost_look,
	.get = vboost_get,
	.set = vboost_set,
	.valid = vboost_valid,
	.command = vboost_command,
	.place = knob_place_pci,
};

/* A parameter of an adapter's firmware: the link layer of a ConnectX port. What is read and written
 * is what holds from the next boot on. */

static const char firmware_api[] = "mlxconfig";

static int firmware_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
			struct err *e)
{
	long long v;
	int r = host_ask_int(h, firmware_api, k->object, k->name, &v);

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
		r = host_set_int(h, firmware_api, k->object, k->name, v);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool firmware_valid(const struct knob *k, const char *value, const char **why)
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
	.valid = firmware_valid,
	.command = firmware_command,
	.place = knob_place_pci,
};
