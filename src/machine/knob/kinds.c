/* SPDX-License-Identifier: Apache-2.0 */
/* Which file answers for which kind, and what is asked of every knob before its kind is. Touches no
 * machine. */
#include "machine/knob/kinds.h"

#include <string.h>

#include "base/utf8.h"

enum { NAME_MAX_LEN = 512, OBJECT_MAX = 256, VALUE_MAX = 4096, CONTENT_VALUE_MAX = 1 << 20 };

const struct knob_ops *knob_ops_of(enum knob_kind kind)
{
	static const struct knob_ops *const ops[KNOB_KINDS] = {
		[KNOB_SYSCTL] = &knob_ops_file,	  [KNOB_SYSFS] = &knob_ops_file,
		[KNOB_MODPARAM] = &knob_ops_file, [KNOB_BOOTARG] = &knob_ops_bootarg,
		[KNOB_NVML] = &knob_ops_nvml,	  [KNOB_PCI] = &knob_ops_pci,
		[KNOB_LINK] = &knob_ops_link,	  [KNOB_UNIT] = &knob_ops_unit,
		[KNOB_ZPROP] = &knob_ops_zprop,	  [KNOB_HELPER] = &knob_ops_helper,
		[KNOB_FILE] = &knob_ops_own_file, [KNOB_ADDRESS] = &knob_ops_address,
		[KNOB_BLOCK] = &knob_ops_block,	  [KNOB_FIRMWARE] = &knob_ops_firmware,
		[KNOB_CPUSET] = &knob_ops_cpuset,
	};

	return (unsigned)kind < KNOB_KINDS ? ops[kind] : NULL;
}

/* At most max bytes, none of them a control character, all of them UTF-8: plans and journals keep
 * nothing else. */
static bool clean(const char *s, size_t max)
{
	size_t at = 0, n;
	uint32_t cp;

	for (; at <= max && (n = utf8_next(s + at, &cp)); at += n)
		if (cp < 0x20 || cp == 0x7f || (cp == UTF8_BAD && n == 1))
			return false;
	return at <= max;
}

bool knob_sound(const struct knob *k, const char *value, const char **why)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);
	const char *unused;

	if (!why)
		why = &unused;
	if (!ops)
		return knob_unsound(why, "it is of no kind that can be written");
	if (!k->name || !*k->name || !clean(k->name, NAME_MAX_LEN))
		return knob_unsound(
			why, "its name is empty, too long, not UTF-8, or holds control characters");
	if (!k->object || !clean(k->object, OBJECT_MAX))
		return knob_unsound(
			why, "its object is too long, not UTF-8, or holds control characters");
	if (value && !clean(value, k->kind == KNOB_FILE || k->kind == KNOB_BLOCK ? CONTENT_VALUE_MAX
										 : VALUE_MAX))
		return knob_unsound(
			why, "the value is too long, not UTF-8, or holds control characters");
	return ops->sound(k, value, why) && (!value || knob_form_sound(k, value, why));
}

const char *knob_command(struct arena *a, const struct knob *k, const char *value)
{
	return value && knob_sound(k, value, NULL) ? knob_ops_of(k->kind)->command(a, k, value)
						   : NULL;
}

const char *knob_command_here(struct host *h, struct arena *a, const struct knob *k,
			      const char *value)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	if (!ops || !ops->command_here || !value || !knob_sound(k, value, NULL))
		return knob_command(a, k, value);
	return ops->command_here(h, a, k, value);
}

const char *knob_remains(const struct knob *k, const char *now, const char *value)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	return ops && ops->remains && now && value ? ops->remains(k, now, value) : NULL;
}

const char *knob_neutral(const struct knob *k)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	return ops && ops->neutral ? ops->neutral(k) : NULL;
}

bool knob_holds(const struct knob *k, const char *now, const char *value)
{
	return knob_same(k, now, value) && (strcmp(now, value) == 0 || knob_sound(k, now, NULL));
}

bool knob_same(const struct knob *k, const char *x, const char *y)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	if (!x || !y)
		return x == y;
	if (strcmp(x, y) == 0)
		return true;
	return ops && ops->same ? ops->same(k, x, y) : knob_same_text(x, y);
}
