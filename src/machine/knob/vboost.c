/* SPDX-License-Identifier: Apache-2.0 */
/* The boost slider of a GPU: a level from 0 to the board's own maximum, through the vendor's
 * program. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { LEVEL_DIGITS = 2 };

static const char api[] = "boost-slider", name[] = "vboost";

/* The form in which the provider and captures know a GPU: a short domain, lower case. */
static const char *canonical(struct arena *a, const char *pci)
{
	unsigned domain, bus, device, function;

	if (sscanf(pci, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
		return pci;
	return arena_printf(a, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

static int ask(struct host *h, struct arena *a, const struct knob *k, long long *level)
{
	return host_ask_int(h, api, canonical(a, k->object), name, level);
}

static struct fact_str vboost_look(struct host *h, struct arena *a, const struct knob *k)
{
	static const char command[] = "nvidia-smi boost-slider -l";
	struct fact_str out = { .f = { .seen = SEEN_OK, .leaf = command } };
	long long level = 0;
	int r = ask(h, a, k, &level);

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
	int r = ask(h, a, k, &level);

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
		r = host_ask_int(h, api, gpu, "vboost.max", &max);
	if (r == 0 && level > max) {
		err_set(e, -ERANGE, "could not set %s of %s to %s: it is above its maximum", name,
			k->object, value);
		err_hint(e, "the board takes 0 to %lld", max);
		return -ERANGE;
	}
	if (r == 0)
		r = host_tell_int(h, api, gpu, name, level);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool vboost_sound(const struct knob *k, const char *value, const char **why)
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
	.sound = vboost_sound,
	.command = vboost_command,
	.place = knob_place_pci,
};
