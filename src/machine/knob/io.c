/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing knobs of any kind: what is checked before and the same for all. */
#include "machine/knob/io.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/knob/kinds.h"

#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

static struct fact_str unseen(int r, const char *from)
{
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = abs(r), .leaf = from }
	};
}

struct fact_str knob_read(struct host *h, struct arena *a, const struct knob *k)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);
	const char *path = knob_path(a, k), *value;
	int r;

	if (ops && ops->look)
		return ops->look(h, a, k);
	if (!path)
		return (struct fact_str){ 0 };
	r = knob_file_text(h, a, k, &value);
	return r ? unseen(r, path)
		 : (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = path }, .v = value };
}

/* Names from a plan or a journal never get further than here when they are not valid. */
static int knob_io_unsound(const struct knob *k, const char *value, struct err *e)
{
	ARENA_AUTO a = { 0 };
	const char *why = "";

	if (knob_valid(k, value, &why))
		return 0;
	err_set(e, -EINVAL, "invalid knob %s: %s", knob_text(&a, k), why);
	return -EINVAL;
}

int knob_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
	     struct err *e)
{
	const char *found = NULL;
	int r = knob_io_unsound(k, NULL, e);

	if (r)
		return r;
	r = knob_ops_of(k->kind)->get(h, a, k, &found, e);
	if (r == 0 || r == -ENODATA)
		*value = r ? NULL : found;
	return r;
}

struct fact_str knob_exact(struct host *h, struct arena *a, const struct knob *k)
{
	struct err e = { 0 };
	struct fact_str out = { 0 };
	int r = knob_get(h, a, k, &out.v, &e);

	if (r == -ENODATA)
		return (struct fact_str){ 0 };
	if (r)
		return (struct fact_str){ .f = { .seen = seen_from_errno(r), .err = -r } };
	out.f.seen = SEEN_OK;
	return out;
}

int knob_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
	     struct err *e)
{
	int r = knob_io_unsound(k, value, e);

	return r ? r : knob_ops_of(k->kind)->set(h, a, k, value, e);
}

const char *knob_place(struct host *h, struct arena *a, const struct knob *k)
{
	const struct knob_ops *ops = knob_ops_of(k->kind);

	return ops && ops->place && knob_valid(k, NULL, NULL) ? ops->place(h, a, k) : "";
}

/*
 * What a write resets besides. A file's neighbours are named from its folder: suffix -> names.
 *   scheduler      The queue's depth is set anew, and with some schedulers the write-back
 *                  throttle. Source: block/blk-mq-sched.c, bfq-iosched.c.
 *   governor       "performance" forces the energy preference. Source: admin-guide/pm/intel_pstate.
 *   huge pages     khugepaged raises the reserve of free memory. Source: mm/khugepaged.c.
 *   channels, adaptive moderation   Drivers make their queues anew, some with default rings and
 *                  timers. Source: ethtool(8) and drivers.
 */
static const struct {
	enum knob_kind kind;
	const char *writes; /* the end of a path, or the name */
	const char *resets; /* in the same folder or of the same object; a sysctl with its name */
	enum knob_kind reset_kind;
} resets[] = {
	{ KNOB_SYSFS, "/queue/scheduler", "nr_requests", KNOB_SYSFS },
	{ KNOB_SYSFS, "/queue/scheduler", "wbt_lat_usec", KNOB_SYSFS },
	{ KNOB_SYSFS, "/scaling_governor", "energy_performance_preference", KNOB_SYSFS },
	{ KNOB_SYSFS, "/transparent_hugepage/enabled", "vm.min_free_kbytes", KNOB_SYSCTL },
	{ KNOB_LINK, "channels", "rx-ring", KNOB_LINK },
	{ KNOB_LINK, "channels", "tx-ring", KNOB_LINK },
	{ KNOB_LINK, "channels", "adaptive-rx", KNOB_LINK },
	{ KNOB_LINK, "channels", "adaptive-tx", KNOB_LINK },
	{ KNOB_LINK, "channels", "rx-usecs", KNOB_LINK },
	{ KNOB_LINK, "channels", "tx-usecs", KNOB_LINK },
	{ KNOB_LINK, "adaptive-rx", "rx-usecs", KNOB_LINK },
	{ KNOB_LINK, "adaptive-tx", "tx-usecs", KNOB_LINK },
};

/* Of all names in folder that begin so the file behind them; added to out. */
static struct knob *add_listed(struct host *h, struct arena *a, struct knob *out, size_t *n,
			       const char *folder, const char *begin, const char *file)
{
	char **names;
	size_t found;

	if (!h || host_list(h, folder, a, &names, &found))
		return out;
	for (size_t i = 0; i < found; i++) {
		if (!str_starts(names[i], begin))
			continue;
		ARENA_ADD(a, out, *n) = (struct knob){
			.kind = KNOB_SYSFS,
			.name = arena_printf(a, "%s/%s%s", folder, names[i], file),
			.object = "",
		};
	}
	return out;
}

/*
 * What has to be looked for. The switch for boost gives every policy its driver's new ceiling, over
 * what somebody set; a scheduler's own tunables go with it. Source: drivers/cpufreq/cpufreq.c and
 * drivers with a switch of their own; block/elevator.c.
 */
static struct knob *add_found(struct host *h, struct arena *a, struct knob *out, size_t *n,
			      const struct knob *k)
{
	static const char scheduler[] = "/queue/scheduler";

	if (k->kind != KNOB_SYSFS || !k->name)
		return out;
	if (strcmp(k->name, CPUFREQ "/boost") == 0)
		return add_listed(h, a, out, n, CPUFREQ, "policy", "/scaling_max_freq");
	if (str_ends(k->name, scheduler))
		return add_listed(h, a, out, n,
				  arena_printf(a, "%.*siosched",
					       (int)(strlen(k->name) - strlen("scheduler")),
					       k->name),
				  "", "");
	return out;
}

struct knob *knob_disturbs(struct host *h, struct arena *a, const struct knob *k, size_t *n)
{
	struct knob *out = NULL;

	*n = 0;
	for (size_t i = 0; i < sizeof(resets) / sizeof(resets[0]); i++) {
		struct knob other = { resets[i].reset_kind, resets[i].resets, "" };
		bool file = k->kind == KNOB_SYSFS;

		if (k->kind != resets[i].kind || !k->name ||
		    !(file ? str_ends(k->name, resets[i].writes)
			   : strcmp(k->name, resets[i].writes) == 0))
			continue;
		if (other.kind == KNOB_SYSFS)
			other.name =
				arena_printf(a, "%.*s/%s", (int)(strrchr(k->name, '/') - k->name),
					     k->name, resets[i].resets);
		if (other.kind != KNOB_SYSCTL)
			other.object = k->object;
		ARENA_ADD(a, out, *n) = other;
	}
	return add_found(h, a, out, n, k);
}

bool knob_grants_part(const struct knob *k)
{
	return (k->kind == KNOB_SYSCTL && strcmp(k->name, "vm.nr_hugepages") == 0) ||
	       (k->kind == KNOB_SYSFS && strstr(k->name, "/hugepages-") &&
		str_ends(k->name, "/nr_hugepages"));
}
