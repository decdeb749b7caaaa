/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How GPUs, pools and services of a captured machine answer after a write. GPUs clamp nothing here:
 * what is out of range is refused, as most drivers do. Text files answer a write as the kernel
 * does.
 */
#include "machine/host/simulator.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/text.h"
#include "machine/host/unit_file.h"
#include "machine/write/write.h"

/* Text files of sysfs and procfs that answer a write as Linux 6 does. */

/* The file of that name in the same folder. */
static const char *sibling(const struct kernel_file *f, const char *name)
{
	const char *slash = strrchr(f->path, '/');

	return arena_printf(f->a, "%.*s/%s", (int)(slash - f->path), f->path, name);
}

/* Whether word is one of the blank-separated words of list, brackets aside. */
static bool kernel_file_offers(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p;) {
		size_t k;

		p += strspn(p, " \t\n[]");
		k = strcspn(p, " \t\n[]");
		if (k == n && n && strncmp(p, word, n) == 0)
			return true;
		p += k;
	}
	return false;
}

/* "always [madvise] never" after "never" was written. */
static const char *kernel_file_choose(const struct kernel_file *f, const char *word)
{
	TEXT_AUTO out = { 0 };
	size_t n = strlen(word);

	for (const char *p = f->old; *p;) {
		size_t k = strcspn(p, " \t\n[]");
		bool chosen = k == n && strncmp(p, word, n) == 0;

		if (*p == '[' || *p == ']') {
			p++;
			continue;
		}
		if (!k) {
			text_addc(&out, *p++);
			continue;
		}
		text_printf(&out, chosen ? "[%.*s]" : "%.*s", (int)k, p);
		p += k;
	}
	return arena_strdup(f->a, out.s ? out.s : "");
}

static bool is_numbers(const char *s)
{
	bool any = false, begins = true;

	for (; *s; s++) {
		bool digit = isdigit((unsigned char)*s), blank = isspace((unsigned char)*s);

		any = any || digit;
		if (!digit && !blank && (*s != '-' || !begins))
			return false;
		begins = blank;
	}
	return any;
}

/* Numbers of /proc/sys as it prints them: a leading 0 is octal, and what is left over is refused.
 * NULL: refused. */
static const char *printed(const struct kernel_file *f, const char *numbers)
{
	TEXT_AUTO out = { 0 };

	if (!str_starts(f->path, "/proc/sys/"))
		return numbers;
	for (const char *p = numbers; *p;) {
		size_t blank = strspn(p, " \t\n");
		char *end;
		unsigned long long n;

		text_printf(&out, "%.*s", (int)blank, p);
		p += blank;
		errno = 0;
		n = *p == '-' ? (unsigned long long)strtoll(p, &end, 0) : strtoull(p, &end, 0);
		if (errno || end == p || (*end && !isspace((unsigned char)*end)))
			return NULL;
		if (*p == '-')
			text_printf(&out, "%lld", (long long)n);
		else
			text_printf(&out, "%llu", n);
		p = end;
	}
	return arena_strdup(f->a, out.s ? out.s : "");
}

/* The separators and the end that the file had: the kernel prints numbers with tabs between. */
static const char *in_its_style(const struct kernel_file *f, const char *text)
{
	char *s = arena_printf(f->a, "%s%s", text, str_ends(f->old, "\n") ? "\n" : "");

	if (strchr(f->old, '\t'))
		for (char *p = s; *p; p++)
			if (*p == ' ')
				*p = '\t';
	return s;
}

/* vm.dirty_ratio and vm.dirty_bytes are one setting: who changes one zeroes the other, and zero
 * bytes are refused. */
static int kernel_file_dirty(const struct kernel_file *f, const char *text,
			     kernel_file_beside *beside, void *ctx)
{
	static const char *const pairs[][2] = {
		{ "dirty_ratio", "dirty_bytes" },
		{ "dirty_background_ratio", "dirty_background_bytes" },
	};

	if (!str_starts(f->path, "/proc/sys/vm/dirty_"))
		return 0;
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++) {
			if (strcmp(f->path + strlen("/proc/sys/vm/"), pairs[i][k]) != 0)
				continue;
			if (k == 1 && strcmp(text, "0") == 0)
				return -EINVAL;
			if (str_starts(f->old, text) && strchr("\n", f->old[strlen(text)]))
				return 0;
			return beside(ctx, sibling(f, pairs[i][1 - k]), "0\n");
		}
	return 0;
}

/* A new I/O scheduler starts with a queue depth of its own: twice 128, or what the hardware has. */
static int scheduler(const struct kernel_file *f, const char *text, kernel_file_beside *beside,
		     void *ctx)
{
	if (!str_ends(f->path, "/queue/scheduler"))
		return 0;
	return beside(ctx, sibling(f, "nr_requests"),
		      strcmp(text, "none") == 0 ? "1023\n" : "256\n");
}

/* Any list of CPUs; one of them serves the interrupt then, and goes on where it may. */
static int irq_affinity(struct kernel_file *f, const char *text, kernel_file_beside *beside,
			void *ctx)
{
	const char *served = sibling(f, "effective_affinity_list");
	struct idset cpus, now = { 0 };
	char *old;

	if (idset_parse(f->a, text, &cpus) || !cpus.n)
		return -EINVAL;
	f->now = arena_printf(f->a, "%s\n", idset_format(f->a, &cpus));
	if (host_read(f->h, served, HOST_READ_MAX, f->a, &old, NULL))
		return 0;
	if (idset_parse(f->a, arena_strndup(f->a, old, strcspn(old, "\n")), &now) == 0 &&
	    idset_intersects(&cpus, &now))
		return 0;
	return beside(ctx, served, arena_printf(f->a, "%u\n", cpus.r[0].lo));
}

static int governor(const struct kernel_file *f, const char *text)
{
	char *list;

	if (!str_ends(f->path, "/scaling_governor") ||
	    host_read(f->h, sibling(f, "scaling_available_governors"), HOST_READ_MAX, f->a, &list,
		      NULL))
		return 0;
	return kernel_file_offers(list, text) ? 0 : -EINVAL;
}

int kernel_file_write(struct kernel_file *f, const char *text, kernel_file_beside *beside,
		      void *ctx)
{
	size_t n;
	const char *s = str_trim(text, strlen(text), &n), *word = arena_strndup(f->a, s, n);
	int r;

	if (str_ends(f->path, "/smp_affinity_list"))
		return irq_affinity(f, word, beside, ctx);
	if (strchr(f->old, '[')) {
		if (!kernel_file_offers(f->old, word))
			return -EINVAL;
		f->now = kernel_file_choose(f, word);
		return scheduler(f, word, beside, ctx);
	}
	if (is_numbers(f->old))
		word = is_numbers(word) ? printed(f, word) : NULL;
	if (!word)
		return -EINVAL;
	r = governor(f, word);
	if (r == 0)
		r = kernel_file_dirty(f, word, beside, ctx);
	if (r == 0)
		f->now = in_its_style(f, word);
	return r;
}

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
	ARENA_AUTO a = { 0 };
	int r = -EINVAL;

	if (value->kind == ANSWER_TEXT && unit_name_valid(unit)) {
		if (strcmp(field, "enabled") == 0)
			r = enable(h, &a, unit, value->text);
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "active") == 0)
			r = simulator_start(h, &a, unit, unit_cgroup(h, &a, unit));
		else if (strcmp(field, "active") == 0 && strcmp(value->text, "inactive") == 0)
			r = simulator_stop(h, &a, unit_cgroup(h, &a, unit));
	}
	return r;
}

/* A module's folder, as the provider "kmod" would leave it. */
static int simulate_module(struct host *h, const char *name, const char *field,
			   const struct answer *value)
{
	ARENA_AUTO a = { 0 };
	char *path = arena_printf(&a, "/sys/module/%s", name);
	int r = -EINVAL;

	for (char *c = path; (c = strchr(c, '-'));)
		*c = '_';
	if (strcmp(field, "state") == 0 && value->kind == ANSWER_TEXT)
		r = strcmp(value->text, "loaded") != 0 ? simulator_stop(h, &a, path)
		    : host_exists(h, path)	       ? 0
						       : host_make_dir(h, path, 0755);
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
	if (strcmp(api, "kmod") == 0)
		return simulate_module(h, object, field, value);
	return simulate_any(&t, field, value);
}
