/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of a GPU in NVIDIA's management library. The object is the GPU's PCI address; the
 * library's own index is looked up every time, because it is another GPU's after a reboot or a
 * removal.
 *
 * The driver forgets all of these when it unloads, which without persistence mode is when the
 * GPU's last client goes: switching persistence mode off can take the clock locks with it.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/nvml.h"
#include "machine/knob/kinds.h"

#include "machine/write/write.h"

enum form { SWITCH, MODE, MILLIWATT, LOCK };

static const struct setting_row {
	const char *name;
	const char *field; /* the provider's question; of a lock, what can only be told */
	enum form form;
	const char *option, *reset; /* of nvidia-smi */
} rows[] = {
	{ "persistence-mode", "nvmlDeviceGetPersistenceMode", SWITCH, "-pm", NULL },
	{ "accounting-mode", "nvmlDeviceGetAccountingMode", SWITCH, "-am", NULL },
	{ "compute-mode", "nvmlDeviceGetComputeMode", MODE, "-c", NULL },
	{ "power-limit", "nvmlDeviceGetPowerManagementLimit", MILLIWATT, "-pl", NULL },
	{ "gpu-clock-lock", "nvmlDeviceSetGpuLockedClocks", LOCK, "-lgc", "-rgc" },
	{ "memory-clock-lock", "nvmlDeviceSetMemoryLockedClocks", LOCK, "-lmc", "-rmc" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char unlocked[] = "unlocked";

static const struct {
	const char *name, *option;
	int number;
} modes[] = {
	{ "default", "DEFAULT", 0 },
	{ "exclusive-process", "EXCLUSIVE_PROCESS", 2 },
	{ "prohibited", "PROHIBITED", 3 },
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static const struct setting_row *row_of(const struct knob *k)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, k->name) == 0)
			return &rows[i];
	return NULL;
}

/* --- which GPU -------------------------------------------------------------------------------- */

struct address {
	unsigned domain, bus, device, function;
};

static bool parse_address(const char *s, struct address *out)
{
	char rest;

	return sscanf(s, "%8x:%2x:%2x.%1x%c", &out->domain, &out->bus, &out->device, &out->function,
		      &rest) == 4;
}

/* "0000:18:00.0" and NVML's "00000000:18:00.0" name one function. */
static bool same_address(const char *x, const char *y)
{
	struct address a, b;

	return parse_address(x, &a) && parse_address(y, &b) && a.domain == b.domain &&
	       a.bus == b.bus && a.device == b.device && a.function == b.function;
}

/* No machine has more; what says so is believed up to here. */
enum { GPUS_MAX = 256 };

/* The index by which NVML knows the GPU now. A GPU that does not even give its address may be the
 * one that is looked for: its reason is the answer then. */
static int knob_nvml_find(struct host *h, struct arena *a, const char *pci, const char **index)
{
	long long n = 0;
	int r = host_ask_int(h, "nvml", "", "nvmlDeviceGetCount", &n), mute = 0;

	for (long long i = 0; r == 0 && i < n && i < GPUS_MAX; i++) {
		const char *object = arena_printf(a, "%lld", i);
		struct answer id;
		int e = host_ask(h, "nvml", object, "nvmlDeviceGetPciInfo.busId", &id);

		if (e) {
			mute = e;
		} else if (id.kind == ANSWER_TEXT && same_address(id.text, pci)) {
			*index = object;
			return 0;
		}
	}
	return r ? r : mute ? mute : -ENODEV;
}

/* --- sentences of refusal --------------------------------------------------------------------- */

static int knob_nvml_fail(struct err *e, int r, const char *verb, const struct knob *k)
{
	const struct nvml_trouble *t = r == -EACCES || r == -EPERM ? NULL : nvml_trouble(-r);

	if (r == -ENODEV)
		return err_set(e, r, "could not %s %s of %s: the driver has no such GPU", verb,
			       k->name, k->object);
	if (!t)
		return knob_fail(e, r, verb, k);
	err_set(e, r, "could not %s %s of %s: %s", verb, k->name, k->object, t->is);
	err_hint(e, "%s", t->mend);
	return r;
}

/* What the board allows, for a value that it refused. */
static void hint_range(struct host *h, const char *index, const struct setting_row *row,
		       struct err *e)
{
	static const char limits[] = "nvmlDeviceGetPowerManagementLimitConstraints";
	char least[96], most[96];
	long long min, max;

	if (row->form == MILLIWATT) {
		snprintf(least, sizeof(least), "%s.minLimit", limits);
		snprintf(most, sizeof(most), "%s.maxLimit", limits);
		if (host_ask_int(h, "nvml", index, least, &min) == 0 &&
		    host_ask_int(h, "nvml", index, most, &max) == 0)
			err_hint(e, "the board accepts %lld to %lld mW", min, max);
	} else if (row->form == LOCK) {
		snprintf(most, sizeof(most), "nvmlDeviceGetMaxClockInfo(%s)",
			 row == &rows[ROWS - 1] ? "MEM" : "SM");
		if (host_ask_int(h, "nvml", index, most, &max) == 0)
			err_hint(e, "the highest clock is %lld MHz", max);
	}
}

/* --- getting and setting ---------------------------------------------------------------------- */

static int nvml_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		    struct err *e)
{
	const struct setting_row *row = row_of(k);
	const char *index;
	long long v;
	int r;

	if (row->form == LOCK) {
		*value = NULL;
		return -ENODATA;
	}
	r = knob_nvml_find(h, a, k->object, &index);
	if (r == 0)
		r = host_ask_int(h, "nvml", index, row->field, &v);
	if (r)
		return knob_nvml_fail(e, r, "read", k);
	if (row->form != MODE) {
		*value = arena_printf(a, "%lld", v);
		return 0;
	}
	for (size_t i = 0; i < MODES; i++)
		if (modes[i].number == v) {
			*value = modes[i].name;
			return 0;
		}
	return err_set(e, -EPROTO,
		       "compute mode of %s is %lld, which current drivers do not support",
		       k->object, v);
}

static int nvml_set_value(struct host *h, const char *index, const struct setting_row *row,
			  const char *value)
{
	long long v = 0;

	if (row->form == LOCK)
		return host_set_text(h, "nvml", index, row->field,
				     strcmp(value, unlocked) == 0 ? "" : value);
	if (row->form != MODE && parse_i64(value, &v))
		return -EINVAL;
	for (size_t i = 0; row->form == MODE && i < MODES; i++)
		if (strcmp(modes[i].name, value) == 0)
			v = modes[i].number;
	return host_set_int(h, "nvml", index, row->field, v);
}

static int knob_nvml_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
			 struct err *e)
{
	const struct setting_row *row = row_of(k);
	const char *index = NULL;
	int r = knob_nvml_find(h, a, k->object, &index);

	if (r == 0)
		r = nvml_set_value(h, index, row, value);
	if (r)
		knob_nvml_fail(e, r, "set", k);
	if (r == -EINVAL && index)
		hint_range(h, index, row, e);
	return r;
}

/* --- shapes ----------------------------------------------------------------------------------- */

static bool is_range(const char *s)
{
	unsigned min, max;
	char rest;

	return s[strspn(s, "0123456789,")] == '\0' &&
	       sscanf(s, "%6u,%6u%c", &min, &max, &rest) == 2 && min <= max && max > 0;
}

static bool value_is_valid(const struct setting_row *row, const char *value, const char **why)
{
	unsigned long long mw;

	switch (row->form) {
	case SWITCH:
		if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)
			return true;
		return knob_unsound(why, "expected 0 or 1");
	case MODE:
		for (size_t i = 0; i < MODES; i++)
			if (strcmp(modes[i].name, value) == 0)
				return true;
		return knob_unsound(why, "expected default, exclusive-process or prohibited");
	case MILLIWATT:
		if (knob_is_number(value) && parse_u64(value, &mw) == 0 && mw > 0 &&
		    mw <= 1000000000)
			return true;
		return knob_unsound(why, "expected milliwatts");
	default:
		if (strcmp(value, unlocked) == 0 || is_range(value))
			return true;
		return knob_unsound(why, "expected MIN,MAX in MHz, or unlocked");
	}
}

static bool nvml_valid(const struct knob *k, const char *value, const char **why)
{
	const struct setting_row *row = row_of(k);

	if (!row)
		return knob_unsound(why, "not a GPU setting that can be changed");
	if (!knob_is_pci_address(k->object))
		return knob_unsound(why, "\"object\" is not a GPU's PCI address");
	return value ? value_is_valid(row, value, why) : true;
}

/* --- for people ------------------------------------------------------------------------------- */

static const char *option_value(struct arena *a, const struct setting_row *row, const char *value)
{
	unsigned long long mw = 0;

	for (size_t i = 0; row->form == MODE && i < MODES; i++)
		if (strcmp(modes[i].name, value) == 0)
			return modes[i].option;
	if (row->form != MILLIWATT || parse_u64(value, &mw))
		return value;
	return mw % 1000 ? arena_printf(a, "%llu.%03llu", mw / 1000, mw % 1000)
			 : arena_printf(a, "%llu", mw / 1000);
}

static const char *nvml_command(struct arena *a, const struct knob *k, const char *value)
{
	const struct setting_row *row = row_of(k);

	if (row->form == LOCK && strcmp(value, unlocked) == 0)
		return arena_printf(a, "nvidia-smi -i %s %s", k->object, row->reset);
	return arena_printf(a, "nvidia-smi -i %s %s %s", k->object, row->option,
			    option_value(a, row, value));
}

static const char *nvml_neutral(const struct knob *k)
{
	const struct setting_row *row = row_of(k);

	return row && row->form == LOCK ? unlocked : NULL;
}

const struct knob_ops knob_ops_nvml = {
	.get = nvml_get,
	.set = knob_nvml_set,
	.valid = nvml_valid,
	.command = nvml_command,
	.place = knob_place_pci,
	.neutral = nvml_neutral,
};
