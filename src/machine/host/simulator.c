/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How GPUs, pools and services of a captured machine answer after a write. GPUs clamp nothing here:
 * what is out of range is refused, as most drivers do.
 */
#include <stdio.h>
#include <string.h>

#include "machine/host/simulator.h"
#include "base/text.h"
#include "base/path.h"
#include "machine/host/unit_file.h"
#include "machine/write/write.h"

struct telling {
	struct host *h;
	const char *api, *object;
	simulate_set *set;
	void *ctx;
};

static void set_int(const struct telling *t, const char *field, long long v)
{
	struct answer a = { .kind = ANSWER_INT, .i = v };

	t->set(t->ctx, t->api, t->object, field, &a);
}

static void forget(const struct telling *t, const char *field)
{
	t->set(t->ctx, t->api, t->object, field, NULL);
}

/* 0 and the number, or what the machine answers instead. */
static int number(const struct telling *t, const char *field, long long *out)
{
	return host_ask_int(t->h, t->api, t->object, field, out);
}

/* What was told, unless it is what the capture says anyway: a machine that was put back is the
 * machine it was. */
static void set_or_forget(const struct telling *t, const char *field, const struct answer *value)
{
	struct answer own;

	forget(t, field);
	if (host_ask(t->h, t->api, t->object, field, &own) || own.kind != value->kind ||
	    (value->kind == ANSWER_INT ? own.i != value->i : strcmp(own.text, value->text) != 0))
		t->set(t->ctx, t->api, t->object, field, value);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static const char *const sm_clocks[] = { "nvmlDeviceGetClockInfo(SM)",
					 "nvmlDeviceGetClockInfo(GRAPHICS)", NULL };
static const char *const mem_clocks[] = { "nvmlDeviceGetClockInfo(MEM)", NULL };

static const struct lock {
	const char *field, *max;
	const char *const *clocks;
} locks[] = {
	{ "nvmlDeviceSetGpuLockedClocks", "nvmlDeviceGetMaxClockInfo(SM)", sm_clocks },
	{ "nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceGetMaxClockInfo(MEM)", mem_clocks },
};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]) };

static void unlock(const struct telling *t, const struct lock *l)
{
	for (size_t i = 0; l->clocks[i]; i++)
		forget(t, l->clocks[i]);
}

/* Boards whose memory has one clock take no lock of it, and those with stacked memory (told by its
 * wide bus) only one that waits for the driver's next start. */
static bool memory_locks(const struct telling *t)
{
	long long n;

	if (number(t, "nvmlDeviceGetSupportedMemoryClocks.count", &n) == 0 && n == 1)
		return false;
	return number(t, "nvmlDeviceGetMemoryBusWidth", &n) || n < 2048;
}

/*
 * "MIN,MAX": a resting GPU's clock stands at the least that the lock lets it, a clock above it
 * comes down.
 */
static int simulate_lock(const struct telling *t, const struct lock *l, const struct answer *value)
{
	unsigned min, max;
	long long limit, now;
	char rest;
	int r = number(t, l->max, &limit);

	if (value->kind != ANSWER_TEXT)
		return -EINVAL;
	if (r == 0)
		r = number(t, l->clocks[0], &now);
	if (r)
		return r == HOST_NOT_CAPTURED ? r : -EOPNOTSUPP;
	if (l->clocks == mem_clocks && !memory_locks(t))
		return -EOPNOTSUPP;
	if (!*value->text) {
		unlock(t, l);
		return 0;
	}
	if (sscanf(value->text, "%7u,%7u%c", &min, &max, &rest) != 2 || min > max ||
	    (long long)max > limit)
		return -EINVAL;
	unlock(t, l);
	for (size_t i = 0; l->clocks[i]; i++) {
		if (number(t, l->clocks[i], &now))
			continue;
		if (now < min)
			set_int(t, l->clocks[i], min);
		else if (now > max)
			set_int(t, l->clocks[i], max);
	}
	return 0;
}

static int simulate_power(const struct telling *t, const char *field, long long mw)
{
	long long min, max, old = -1, enforced = -1;

	if (number(t, "nvmlDeviceGetPowerManagementLimitConstraints.minLimit", &min) == 0 &&
	    mw < min)
		return -EINVAL;
	if (number(t, "nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", &max) == 0 &&
	    mw > max)
		return -EINVAL;
	number(t, field, &old);
	if (number(t, "nvmlDeviceGetEnforcedPowerLimit", &enforced) == 0 && enforced == old)
		set_or_forget(t, "nvmlDeviceGetEnforcedPowerLimit",
			      &(struct answer){ .kind = ANSWER_INT, .i = mw });
	return 0;
}

static int simulate_gpu(const struct telling *t, const char *field, const struct answer *value)
{
	static const struct {
		const char *field;
		long long min, max;
	} modes[] = { { "nvmlDeviceGetPersistenceMode", 0, 1 },
		      { "nvmlDeviceGetAccountingMode", 0, 1 },
		      { "nvmlDeviceGetComputeMode", 0, 3 },
		      { "nvmlDeviceGetPowerManagementLimit", 1, 0xffffffff } };
	long long old, users = 0;
	size_t i = 0;
	int r;

	for (size_t l = 0; l < LOCKS; l++)
		if (strcmp(field, locks[l].field) == 0)
			return simulate_lock(t, &locks[l], value);
	while (i < 4 && strcmp(field, modes[i].field) != 0)
		i++;
	if (i == 4)
		return -EOPNOTSUPP;
	if (value->kind != ANSWER_INT || value->i < modes[i].min || value->i > modes[i].max)
		return -EINVAL;
	/* What cannot be read cannot be set either. */
	r = number(t, field, &old);
	if (r == 0 && i == 3)
		r = simulate_power(t, field, value->i);
	if (r)
		return r;
	set_or_forget(t, field, value);
	/* Nobody keeps the driver loaded any more: it forgets the locks. */
	number(t, "nvmlDeviceGetComputeRunningProcesses", &users);
	for (size_t l = 0; i == 0 && value->i == 0 && users == 0 && l < LOCKS; l++)
		unlock(t, &locks[l]);
	return 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

static int simulate_boost(const struct telling *t, const char *field, const struct answer *value)
{
	long long max;
	int r = number(t, "vboost.max", &max);

	if (strcmp(field, "vboost") != 0)
		return -EOPNOTSUPP;
	if (r)
		return r;
	if (value->kind != ANSWER_INT || value->i < 0 || value->i > max)
		return -EINVAL;
	set_or_forget(t, field, value);
	return 0;
}

/* What answers takes a value of the same kind. */
static int simulate_any(const struct telling *t, const char *field, const struct answer *value)
{
	struct answer old;
	int r = host_ask(t->h, t->api, t->object, field, &old);

	if (r)
		return r;
	if (old.kind != value->kind)
		return -EINVAL;
	set_or_forget(t, field, value);
	return 0;
}

/* Enabling, masking and starting services of a captured machine: links below /etc/systemd/system
 * and control groups, as systemd would leave them. */

/* A folder that is empty now goes too, as systemctl does with what it made. */
static void remove_empty_parent(struct host *h, struct arena *a, const char *path)
{
	const char *dir = path_folder(a, path);
	char **names;
	size_t n;

	if (strcmp(dir, UNIT_ETC) != 0 && host_list(h, dir, a, &names, &n) == 0 && n == 0)
		host_remove(h, dir);
}

static int mask(struct host *h, struct arena *a, const char *unit)
{
	const char *path = arena_printf(a, UNIT_ETC "/%s", unit);
	int masked = unit_is_masked(h, unit);

	return masked ? (masked < 0 ? masked : 0) : host_make_link(h, path, "/dev/null");
}

static int unmask(struct host *h, struct arena *a, const char *unit)
{
	int masked = unit_is_masked(h, unit);

	return masked > 0 ? host_remove(h, arena_printf(a, UNIT_ETC "/%s", unit)) : masked;
}

static int make_links(struct host *h, struct arena *a, const char *unit)
{
	const char **links, *path;
	size_t n;
	int r = unit_file_find(h, a, unit, &path);

	if (r == 0)
		r = unit_file_links(h, a, unit, path, &links, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = host_make_dir(h, path_folder(a, links[i]), 0755);
		if (r == 0 || r == -EEXIST)
			r = host_make_link(h, links[i], path);
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

static int remove_links(struct host *h, struct arena *a, const char *unit)
{
	const char **links;
	size_t n;
	int r = unit_links(h, a, unit, &links, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = host_remove(h, links[i]);
		remove_empty_parent(h, a, links[i]);
	}
	return r;
}

static int enable(struct host *h, struct arena *a, const char *unit, const char *value)
{
	const char *path;
	int r;

	if (strcmp(value, "masked") == 0)
		return mask(h, a, unit);
	if (strcmp(value, "enabled") != 0 && strcmp(value, "disabled") != 0)
		return -EINVAL;
	r = unit_file_find(h, a, unit, &path);
	if (r == 0)
		r = unmask(h, a, unit);
	if (r)
		return r;
	return *value == 'e' ? make_links(h, a, unit) : remove_links(h, a, unit);
}

static int simulator_stop(struct host *h, struct arena *a, const char *cgroup)
{
	char **names;
	size_t n = 0;
	int r = 0;

	if (!host_exists(h, cgroup))
		return 0;
	if (host_list(h, cgroup, a, &names, &n))
		n = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = host_remove(h, arena_printf(a, "%s/%s", cgroup, names[i]));
	return r ? r : host_remove(h, cgroup);
}

static int simulator_start(struct host *h, struct arena *a, const char *unit, const char *cgroup)
{
	static const char events[] = "populated 1\nfrozen 0\n";
	const char *path;
	int r = unit_is_masked(h, unit);

	if (r)
		return r < 0 ? r : -EBUSY;
	r = unit_file_find(h, a, unit, &path);
	if (r || host_exists(h, cgroup))
		return r;
	r = host_make_dir(h, cgroup, 0755);
	return r ? r
		 : host_put(h, arena_printf(a, "%s/cgroup.events", cgroup), events,
			    sizeof(events) - 1, 0444);
}

/* Fields and values as the provider "systemd" takes them. 0 or a negative errno. */
static int simulate_unit(struct host *h, const char *unit, const char *field,
			 const struct answer *value)
{
	struct arena a = { 0 };
	int r = -EINVAL;

	if (value->kind == ANSWER_TEXT && unit_name_valid(unit)) {
		if (strcmp(field, "enabled") == 0)
			r = enable(h, &a, unit, value->text);
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "active") == 0)
			r = simulator_start(h, &a, unit, unit_cgroup(h, &a, unit));
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "inactive") == 0)
			r = simulator_stop(h, &a, unit_cgroup(h, &a, unit));
	}
	arena_free(&a);
	return r;
}

int simulate_write(struct host *h, const char *api, const char *object, const char *field,
		   const struct answer *value, simulate_set *set, void *ctx)
{
	struct telling t = { h, api, object, set, ctx };

	if (strcmp(api, "nvml") == 0)
		return simulate_gpu(&t, field, value);
	if (strcmp(api, "boost-slider") == 0)
		return simulate_boost(&t, field, value);
	if (strcmp(api, "systemd") == 0)
		return simulate_unit(h, object, field, value);
	return simulate_any(&t, field, value);
}
