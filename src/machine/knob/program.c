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
		return knob_unsound(why, "not a pool property that can be changed");
	if (!knob_is_word(k->object, 255, "._:-"))
		return knob_unsound(why, "\"object\" is not a pool name");
	if (value && strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return knob_unsound(why, "expected on or off");
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
		err_set(e, -ERANGE, "could not set %s of %s to %s: the value exceeds the maximum",
			name, k->object, value);
		err_hint(e, "the board accepts 0 to %lld", max);
		return -ERANGE;
	}
	if (r == 0)
		r = host_set_int(h, boost_api, gpu, name, level);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool vboost_valid(const struct knob *k, const char *value, const char **why)
{
	if (strcmp(k->name, name) != 0)
		return knob_unsound(why, "unknown switch name");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "\"object\" is not a GPU's PCI address");
	if (value && (!knob_is_number(value) || strlen(value) > LEVEL_DIGITS))
		return knob_unsound(why, "expected a small whole number");
	return true;
}

static const char *vboost_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "nvidia-smi boost-slider -i %s --vboost %s", k->object, value);
}

/* All clocks of a Jetson or IGX machine at their maximum. What they were is kept by the program. */

static const char clocks_api[] = "jetson-clocks";

static bool is_clocks(const struct knob *k)
{
	return strcmp(k->name, clocks_api) == 0;
}

/* Its value as text, by what the program prints. */
static int helper_ask(struct host *h, struct arena *a, const struct knob *k, const char **value)
{
	long long v = 0;
	int r = is_clocks(k) ? host_ask_int(h, clocks_api, "", "max", &v)
			     : host_ask_int(h, boost_api, canonical(a, k->object), name, &v);

	if (r == 0)
		*value = is_clocks(k) ? v ? "1" : "0" : arena_printf(a, "%lld", v);
	return r;
}

static struct fact_str helper_look(struct host *h, struct arena *a, const struct knob *k)
{
	struct fact_str out = { .f = { .seen = SEEN_OK,
				       .leaf = is_clocks(k) ? "jetson_clocks --show"
							    : "nvidia-smi boost-slider -l" } };
	int r = helper_ask(h, a, k, &out.v);

	if (r) {
		out.f.seen = seen_from_errno(r);
		out.f.err = -r;
	}
	return out;
}

static int helper_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		      struct err *e)
{
	int r = helper_ask(h, a, k, value);

	if (r == -ENOENT && !is_clocks(k))
		return err_set(e, r, "could not read %s of %s: nvidia-smi is not installed", name,
			       k->object);
	return r ? knob_fail(e, r, "read", k) : 0;
}

static int helper_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		      struct err *e)
{
	int r;

	if (!is_clocks(k))
		return vboost_set(h, a, k, value, e);
	r = host_set_int(h, clocks_api, "", "max", *value == '1');
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool helper_valid(const struct knob *k, const char *value, const char **why)
{
	if (!is_clocks(k))
		return vboost_valid(k, value, why);
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for machine clocks");
	if (value && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return knob_unsound(why, "expected 0 or 1");
	return true;
}

static const char *helper_command(struct arena *a, const struct knob *k, const char *value)
{
	if (!is_clocks(k))
		return vboost_command(a, k, value);
	return *value == '1' ? "jetson_clocks" : "jetson_clocks --restore";
}

const struct knob_ops knob_ops_helper = {
	.look = helper_look,
	.get = helper_get,
	.set = helper_set,
	.valid = helper_valid,
	.command = helper_command,
	.place = knob_place_pci,
};

/* The power mode of a Jetson or IGX machine: which processors are online, and the ceilings of
 * clocks. The program keeps it over a reboot. */

static const char power_api[] = "nvpmodel";

static int power_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		     struct err *e)
{
	long long mode;
	int r = host_ask_int(h, power_api, "", "mode", &mode);

	if (r)
		return knob_fail(e, r, "read", k);
	*value = arena_printf(a, "%lld", mode);
	return 0;
}

static int power_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		     struct err *e)
{
	long long mode = 0;
	int r = parse_i64(value, &mode);

	(void)a;
	if (r == 0)
		r = host_set_int(h, power_api, "", "mode", mode);
	if (r != -ERESTART)
		return r ? knob_fail(e, r, "set", k) : 0;
	err_set(e, -EOPNOTSUPP,
		"could not set %s to %s: this mode requires a reboot, which \"nvpmodel -m %s\" "
		"prompts for",
		k->name, value, value);
	return -EOPNOTSUPP;
}

static bool power_valid(const struct knob *k, const char *value, const char **why)
{
	if (strcmp(k->name, power_api) != 0)
		return knob_unsound(why, "unknown power mode name");
	if (*k->object)
		return knob_unsound(why, "\"object\" must be empty for a power mode");
	if (value && (!knob_is_number(value) || strlen(value) > LEVEL_DIGITS))
		return knob_unsound(why, "expected a small whole number");
	return true;
}

static const char *power_command(struct arena *a, const struct knob *k, const char *value)
{
	(void)k;
	return arena_printf(a, "nvpmodel -m %s", value);
}

const struct knob_ops knob_ops_power = {
	.get = power_get,
	.set = power_set,
	.valid = power_valid,
	.command = power_command,
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
		err_hint(e, "install mstflint (mstconfig) or NVIDIA's firmware tools");
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
		return knob_unsound(why, "gputune does not set a parameter of that name");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "\"object\" is not an adapter's PCI address");
	if (value && (strlen(value) != 1 || *value < '1' || *value > '3'))
		return knob_unsound(
			why, "a link layer must be 1 (InfiniBand), 2 (Ethernet) or 3 (both)");
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
