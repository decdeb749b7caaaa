/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: MTU through sysfs; rings, channels and coalescing through the driver; which
 * priorities they pause; which CPUs serve their interrupts. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/idset.h"
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

/*
 * "irq-N": the CPUs that may serve the interrupt with the MSI number N of the interface's device.
 * The kernel's own number of it is another one after the driver was loaded anew: it is looked up
 * each time. Sources: core-api/irq/irq-affinity.rst; for hwirq drivers/pci/msi/irqdomain.c.
 */
enum { MSI_NUMBER = 0x7ff, CPU_LIST = 4096 };

static bool irq_number(const char *name, long long *out)
{
	return str_starts(name, "irq-") && knob_is_number(name + 4) && strlen(name) <= 8 &&
	       parse_i64(name + 4, out) == 0 && *out <= MSI_NUMBER;
}

static bool is_irq(const struct knob *k)
{
	long long unused;

	return irq_number(k->name, &unused);
}

/* -ENOENT: the device has no such interrupt now. */
static int irq_path(struct host *h, struct arena *a, const struct knob *k, const char **path)
{
	long long wanted = 0, hw;
	char buf[32], **irqs;
	size_t n = 0;
	int r = host_list(h, arena_printf(a, "/sys/class/net/%s/device/msi_irqs", k->object), a,
			  &irqs, &n);

	irq_number(k->name, &wanted);
	/* Mostly they stand in the order of their numbers. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *irq = irqs[((size_t)wanted + i) % n];

		if (!knob_is_number(irq))
			continue;
		r = host_read_line(h, arena_printf(a, "/sys/kernel/irq/%s/hwirq", irq), buf,
				   sizeof(buf));
		if (r == 0 && (parse_i64(buf, &hw) || hw < 0))
			r = -EPROTO;
		if (r == 0 && (hw & MSI_NUMBER) == wanted) {
			*path = arena_printf(a, "/proc/irq/%s/smp_affinity_list", irq);
			return 0;
		}
	}
	return r ? r : -ENOENT;
}

static int irq_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		   struct err *e)
{
	const char *path;
	char *buf = arena_alloc(a, CPU_LIST);
	int r = irq_path(h, a, k, &path);

	if (r == 0)
		r = host_read_line(h, path, buf, CPU_LIST);
	if (r)
		return knob_fail(e, r, "read", k);
	*value = buf;
	return 0;
}

static int irq_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		   struct err *e)
{
	const char *path;
	int r = irq_path(h, a, k, &path);

	if (r == 0)
		r = host_write(h, path, value);
	/* Linux before 6.12 says EIO, later ones EPERM. Source: kernel/irq/proc.c. */
	if (r == -EIO || (r == -EPERM && h->id.euid == 0))
		return err_set(e, r,
			       "could not set %s of %s: the kernel manages the placement of this "
			       "interrupt",
			       k->name, k->object);
	return r ? knob_fail(e, r, "set", k) : 0;
}

static bool irq_valid(const char *value, const char **why)
{
	ARENA_AUTO a = { 0 };
	struct idset cpus = { 0 };
	bool good = strspn(value, "0123456789,-") == strlen(value) &&
		    idset_parse(&a, value, &cpus) == 0 && cpus.n > 0;

	return good || knob_unsound(why, "the value is not a list of CPUs such as 2-5,8");
}

static const char *irq_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a,
			    "for i in /sys/class/net/%s/device/msi_irqs/*; do i=${i##*/}; [ "
			    "$(($(cat /sys/kernel/irq/$i/hwirq) & %d)) != %s ] || echo %s > "
			    "/proc/irq/$i/smp_affinity_list; done",
			    k->object, MSI_NUMBER, k->name + 4, value);
}

/* "pfc": the priorities that are paused instead of lost, "none" or a list. Source: IEEE 802.1Qbb.
 */
enum { PRIORITY_MAX = 7 };

static bool is_pfc(const struct knob *k)
{
	return strcmp(k->name, "pfc") == 0;
}

static int pfc_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		   struct err *e)
{
	struct answer out;
	int r = host_ask(h, "dcb", k->object, "pfc", &out);

	if (r == 0 && out.kind != ANSWER_TEXT)
		r = -EPROTO;
	if (r)
		return knob_fail(e, r, "read", k);
	*value = arena_strdup(a, out.text);
	return 0;
}

static bool pfc_valid(const char *value, const char **why)
{
	ARENA_AUTO a = { 0 };
	struct idset set = { 0 };
	bool good = strcmp(value, "none") == 0 || (strspn(value, "01234567,-") == strlen(value) &&
						   idset_parse(&a, value, &set) == 0 && set.n &&
						   set.r[set.n - 1].hi <= PRIORITY_MAX);

	return good ||
	       knob_unsound(why, "the value is neither \"none\" nor priorities from 0 to 7");
}

static const char *pfc_command(struct arena *a, const struct knob *k, const char *value)
{
	struct idset set = { 0 };
	TEXT_AUTO t = { 0 };

	text_printf(&t, "dcb pfc set dev %s prio-pfc all:off", k->object);
	if (strcmp(value, "none") != 0 && idset_parse(a, value, &set) == 0)
		IDSET_FOR_EACH (priority, &set)
			text_printf(&t, " %u:on", priority);
	return arena_strdup(a, t.s);
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

	if (!f)
		return is_pfc(k) ? pfc_get(h, a, k, value, e) : irq_get(h, a, k, value, e);
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
	int r;

	if (!f && !is_pfc(k))
		return irq_set(h, a, k, value, e);
	if (!f) {
		r = host_set_text(h, "dcb", k->object, "pfc", value);
		return r ? knob_fail(e, r, "set", k) : 0;
	}
	r = parse_i64(value, &v);
	if (r == 0)
		r = f->ask ? host_set_int(h, "ethtool", k->object, f->ask, v)
			   : host_write(h, mtu_path(a, k), value);
	/* Asked for only now: before the write another program would have had the time for one. */
	if ((r == -EINVAL || r == -ERANGE) && maximum(h, k, f, &max) && v > max)
		return err_set(e, r, "could not set %s of %s to %s: its driver's maximum is %lld",
			       k->name, k->object, value, max);
	if (r == -EINVAL || r == -ERANGE)
		return err_set(e, r, "could not set %s of %s to %s: its driver rejects the value",
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

	if (!f && !is_irq(k) && !is_pfc(k))
		return knob_unsound(why, "unknown interface setting");
	if (!is_interface(k->object))
		return knob_unsound(why, "\"object\" is not an interface name");
	if (!value)
		return true;
	if (!f)
		return is_pfc(k) ? pfc_valid(value, why) : irq_valid(value, why);
	if (!knob_is_number(value) || parse_i64(value, &v))
		return knob_unsound(why, "the value is not a number");
	if (f->flag && v > 1)
		return knob_unsound(why, "an on/off value must be 0 or 1");
	if (!f->ask && (v < SMALLEST_MTU || v > LARGEST_MTU))
		return knob_unsound(why, "an MTU must be 68 to 65536 bytes");
	if (v > LARGEST)
		return knob_unsound(why, "the number is larger than any driver accepts");
	return true;
}

static const char *link_command(struct arena *a, const struct knob *k, const char *value)
{
	const struct field *f = field_of(k);
	const char *hole;

	if (!f)
		return is_pfc(k) ? pfc_command(a, k, value) : irq_command(a, k, value);
	hole = strstr(f->command, "%s");
	if (f->flag)
		value = strcmp(value, "0") == 0 ? "off" : "on";
	return arena_printf(a, "%.*s%s%s%s", (int)(hole - f->command), f->command, k->object,
			    hole + 2, value);
}

const char *knob_place_interface(struct host *h, struct arena *a, const struct knob *k)
{
	return knob_place_link(h, a, arena_printf(a, "/sys/class/net/%s", k->object));
}

const struct knob_ops knob_ops_link = {
	.get = link_get,
	.set = knob_link_set,
	.valid = link_valid,
	.command = link_command,
	.place = knob_place_interface,
};
