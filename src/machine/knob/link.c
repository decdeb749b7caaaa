/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: MTU through sysfs; rings, channels and coalescing through the driver. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

/* The questions of the provider "ethtool"; a flag is written on or off in commands. */
struct field {
	const char *name;
	const char *ask, *ask_max; /* NULL: sysfs; NULL: no maximum is known */
	const char *command;	   /* up to the value */
	bool flag;
};

static const struct field fields[] = {
	{ "mtu", NULL, NULL, "ip link set dev %s mtu ", false },
	{ "rx-ring", "rx_pending", "rx_max_pending", "ethtool -G %s rx ", false },
	{ "tx-ring", "tx_pending", "tx_max_pending", "ethtool -G %s tx ", false },
	{ "channels", "combined_count", "max_combined", "ethtool -L %s combined ", false },
	{ "rx-usecs", "rx_coalesce_usecs", NULL, "ethtool -C %s rx-usecs ", false },
	{ "tx-usecs", "tx_coalesce_usecs", NULL, "ethtool -C %s tx-usecs ", false },
	{ "adaptive-rx", "use_adaptive_rx_coalesce", NULL, "ethtool -C %s adaptive-rx ", true },
	{ "adaptive-tx", "use_adaptive_tx_coalesce", NULL, "ethtool -C %s adaptive-tx ", true },
};

enum { SMALLEST_MTU = 68, LARGEST_MTU = 65536, LARGEST = 1 << 20 };

static const struct field *field_of(const struct knob *k)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(k->name, fields[i].name) == 0)
			return &fields[i];
	return NULL;
}

static const char *mtu_path(struct arena *a, const struct knob *k)
{
	return arena_printf(a, "/sys/class/net/%s/mtu", k->object);
}

static int link_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		    struct err *e)
{
	const struct field *f = field_of(k);
	char buf[64];
	long long v, max;
	int r;

	if (f->ask) {
		r = host_ask_int(h, "ethtool", k->object, f->ask, &v);
		/* A driver with none of them answers nought of nought. */
		if (r == 0 && v == 0 && f->ask_max &&
		    host_ask_int(h, "ethtool", k->object, f->ask_max, &max) == 0 && max == 0)
			r = -EOPNOTSUPP;
	} else {
		r = host_read_line(h, mtu_path(a, k), buf, sizeof(buf));
		if (r == 0)
			r = parse_i64(buf, &v) ? -EPROTO : 0;
	}
	if (r)
		return knob_fail(e, r == -ENODATA ? -EIO : r, "read", k);
	*value = arena_printf(a, "%lld", v);
	return 0;
}

/* The driver's own limit. Not always known; zero is none. */
static bool maximum(struct host *h, const struct knob *k, const struct field *f, long long *out)
{
	int r = -ENOSYS;

	if (!f->ask)
		r = host_ask_int(h, "if", k->object, "max_mtu", out);
	else if (f->ask_max)
		r = host_ask_int(h, "ethtool", k->object, f->ask_max, out);
	return r == 0 && *out > 0;
}

static int knob_link_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
			 struct err *e)
{
	const struct field *f = field_of(k);
	long long v = 0, max;
	int r = parse_i64(value, &v);

	if (r == 0)
		r = f->ask ? host_set_int(h, "ethtool", k->object, f->ask, v)
			   : host_write(h, mtu_path(a, k), value);
	/* Asked for only now: before the write another program would have had the time for one. */
	if ((r == -EINVAL || r == -ERANGE) && maximum(h, k, f, &max) && v > max)
		return err_set(e, r, "could not set %s of %s to %s: its driver takes at most %lld",
			       k->name, k->object, value, max);
	if (r == -EINVAL || r == -ERANGE)
		return err_set(e, r, "could not set %s of %s to %s: its driver refuses the value",
			       k->name, k->object, value);
	return r ? knob_fail(e, r, "set", k) : 0;
}

/* As the kernel's own check of names, and nothing that a shell would read. */
static bool is_interface(const char *s)
{
	return knob_is_word(s, IFNAMSIZ - 1, "_.-@");
}

static bool link_valid(const struct knob *k, const char *value, const char **why)
{
	const struct field *f = field_of(k);
	long long v;

	if (!f)
		return knob_unsound(why, "a link has no setting of that name here");
	if (!is_interface(k->object))
		return knob_unsound(why, "the object is no name of an interface");
	if (!value)
		return true;
	if (!knob_is_number(value) || parse_i64(value, &v))
		return knob_unsound(why, "the value is no number");
	if (f->flag && v > 1)
		return knob_unsound(why, "a switch is 0 or 1");
	if (!f->ask && (v < SMALLEST_MTU || v > LARGEST_MTU))
		return knob_unsound(why, "an MTU has 68 to 65536 bytes");
	if (v > LARGEST)
		return knob_unsound(why, "the number is larger than any driver takes");
	return true;
}

static const char *link_command(struct arena *a, const struct knob *k, const char *value)
{
	const struct field *f = field_of(k);
	const char *hole = strstr(f->command, "%s");

	if (f->flag)
		value = strcmp(value, "0") == 0 ? "off" : "on";
	return arena_printf(a, "%.*s%s%s%s", (int)(hole - f->command), f->command, k->object,
			    hole + 2, value);
}

static const char *link_place(struct host *h, struct arena *a, const struct knob *k)
{
	return knob_place_link(h, a, arena_printf(a, "/sys/class/net/%s", k->object));
}

const struct knob_ops knob_ops_link = {
	.get = link_get,
	.set = knob_link_set,
	.valid = link_valid,
	.command = link_command,
	.place = link_place,
};
