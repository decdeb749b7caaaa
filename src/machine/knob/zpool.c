/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of ZFS pools. The pool stores them itself, so that they outlive a reboot. */
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/kinds.h"

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
	int r = host_tell_text(h, "zpool", k->object, k->name, value);

	(void)a;
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool zprop_sound(const struct knob *k, const char *value, const char **why)
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
	.sound = zprop_sound,
	.command = zprop_command,
};
