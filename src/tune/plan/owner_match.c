/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a line of configuration is about a knob: names with patterns, places that have two names,
 * kernel arguments that set what else is a sysctl or a file, and the conditions of udev rules.
 */
#include "tune/plan/owner_match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { VALUE_MAX = 256 };

/* --- names -------------------------------------------------------------------------------------
 */

/* The kernel takes "-" and "_" for one letter in names of arguments and modules. */
static bool same_word(const char *x, const char *y)
{
	for (; *x && *y; x++, y++)
		if (*x != *y && !((*x == '-' || *x == '_') && (*y == '-' || *y == '_')))
			return false;
	return *x == *y;
}

const char *sysctl_partner(const char *name)
{
	static const char *const pairs[][2] = {
		{ "vm.dirty_ratio", "vm.dirty_bytes" },
		{ "vm.dirty_background_ratio", "vm.dirty_background_bytes" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (size_t k = 0; k < 2; k++)
			if (strcmp(pairs[i][k], name) == 0)
				return pairs[i][1 - k];
	return NULL;
}

static bool dotted_matches(struct arena *a, const char *pattern, const char *name)
{
	char *p, *n;

	if (!strpbrk(pattern, "*?["))
		return strcmp(pattern, name) == 0;
	p = arena_strdup(a, pattern);
	n = arena_strdup(a, name);
	for (char *c = p; (c = strchr(c, '.')); c++)
		*c = '/';
	for (char *c = n; (c = strchr(c, '.')); c++)
		*c = '/';
	return fnmatch(p, n, FNM_PATHNAME) == 0;
}

/* The file that stands for a knob in files of configuration; NULL when there is none. */
static const char *path_of(struct arena *a, const struct knob *k)
{
	if (k->kind == KNOB_LINK && strcmp(k->name, "mtu") == 0)
		return arena_printf(a, "/sys/class/net/%s/mtu", k->object);
	return k->kind == KNOB_SYSFS ? k->name : NULL;
}

/* cpu7/cpufreq is a link to the policy of CPU 7. */
static bool policy_matches(struct arena *a, const struct machine *m, const char *pattern,
			   const char *path)
{
	static const char cpus[] = "/sys/devices/system/cpu/cpu",
			  policies[] = "/sys/devices/system/cpu/cpufreq/policy";
	unsigned index;
	char leaf[64];
	const char *part;

	if (!str_starts(pattern, cpus) || !str_starts(path, policies) ||
	    sscanf(path + strlen(policies), "%u/%63[a-z_]", &index, leaf) != 2)
		return false;
	part = strstr(pattern, "/cpufreq/");
	if (!part || strcmp(part + strlen("/cpufreq/"), leaf) != 0)
		return false;
	pattern = arena_strndup(a, pattern, (size_t)(part - pattern));
	LIST_FOR_EACH (struct freq_policy, p, &m->cpu.policies) {
		if (p->index != index || !seen_ok(&p->cpus.f))
			continue;
		IDSET_FOR_EACH (cpu, &p->cpus.v) {
			char one[sizeof(cpus) + 16];

			snprintf(one, sizeof(one), "%s%u", cpus, cpu);
			if (fnmatch(pattern, one, FNM_PATHNAME) == 0)
				return true;
		}
	}
	return false;
}

/* vm.nr_hugepages is the pool of the default size. */
static bool is_default_pool(const struct machine *m, const char *path)
{
	char want[96];

	if (!seen_ok(&m->memory.hugepage_size_kb.f))
		return false;
	snprintf(want, sizeof(want), "/sys/kernel/mm/hugepages/hugepages-%lldkB/nr_hugepages",
		 m->memory.hugepage_size_kb.v);
	return strcmp(path, want) == 0;
}

/* --- kernel arguments --------------------------------------------------------------------------
 */

static const struct {
	const char *argument;
	enum knob_kind kind;
	const char *pattern;
	enum match match;
} arguments[] = {
	{ "transparent_hugepage", KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled",
	  MATCH_YES },
	{ "numa_balancing", KNOB_SYSCTL, "kernel.numa_balancing", MATCH_YES },
	{ "noautogroup", KNOB_SYSCTL, "kernel.sched_autogroup_enabled", MATCH_YES },
	{ "cpufreq.default_governor", KNOB_SYSFS,
	  "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", MATCH_YES },
	/* Of which size, the argument before it says. */
	{ "hugepages", KNOB_SYSFS, "/sys/kernel/mm/hugepages/*/nr_hugepages", MATCH_MAYBE },
	/* Changes what of these is there at all. */
	{ "intel_idle.max_cstate", KNOB_SYSFS, "/sys/devices/system/cpu/*/cpuidle/*/disable",
	  MATCH_MAYBE },
	{ "processor.max_cstate", KNOB_SYSFS, "/sys/devices/system/cpu/*/cpuidle/*/disable",
	  MATCH_MAYBE },
	/* Limits the read requests of every function. */
	{ "pci", KNOB_PCI, "mrrs", MATCH_MAYBE },
};

enum match argument_match(const struct machine *m, const char *name, const struct knob *k)
{
	(void)m;
	if (k->kind == KNOB_BOOTARG || k->kind == KNOB_MODPARAM)
		return same_word(name, k->name) ? MATCH_YES : MATCH_NO;
	if (k->kind == KNOB_SYSCTL && str_starts(name, "sysctl."))
		return strcmp(name + strlen("sysctl."), k->name) == 0 ? MATCH_YES : MATCH_NO;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (k->kind == arguments[i].kind && same_word(name, arguments[i].argument) &&
		    fnmatch(arguments[i].pattern, k->name, 0) == 0)
			return arguments[i].match;
	return MATCH_NO;
}

/* --- udev rules --------------------------------------------------------------------------------
 */

/* The device of a path: "/sys/block/nvme0n1" is nvme0n1 of block. */
struct device {
	const struct machine *m;
	char subsystem[32], name[64];
};

struct condition {
	char key[32], attribute[64], value[VALUE_MAX];
	bool equal;
};

static bool device_of(const struct machine *m, const char *path, size_t n, struct device *d)
{
	char dir[VALUE_MAX];

	if (n >= sizeof(dir))
		return false;
	memcpy(dir, path, n);
	dir[n] = '\0';
	*d = (struct device){ .m = m };
	if (sscanf(dir, "/sys/block/%63[^/]%*c", d->name) == 1)
		strcpy(d->subsystem, "block");
	else if (sscanf(dir, "/sys/devices/system/%31[^/]/%63[^/]%*c", d->subsystem, d->name) !=
			 2 &&
		 sscanf(dir, "/sys/class/%31[^/]/%63[^/]%*c", d->subsystem, d->name) != 2 &&
		 sscanf(dir, "/sys/bus/%31[^/]/devices/%63[^/]%*c", d->subsystem, d->name) != 2)
		return false;
	return str_ends(dir, d->name);
}

/* One of "sd*|nvme*" matches. */
static bool any_of(const char *patterns, const char *s, int flags)
{
	char copy[VALUE_MAX], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", patterns);
	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save))
		if (fnmatch(p, s, flags) == 0)
			return true;
	return false;
}

static bool any_matches(const char *patterns, const char *s)
{
	return any_of(patterns, s, 0);
}

static enum match is_true(const struct device *d, const struct condition *c)
{
	const struct disk *disk = machine_disk(d->m, d->name);
	const struct nic *nic = machine_nic(d->m, d->name);
	const struct fact_int *number = NULL;
	char text[32];
	bool yes;

	if (disk && strcmp(c->key, "ATTR") == 0 && strcmp(c->attribute, "queue/rotational") == 0)
		number = &disk->rotational;
	else if (disk && strcmp(c->key, "ATTR") == 0 && strcmp(c->attribute, "removable") == 0)
		number = &disk->removable;
	if (number && seen_ok(&number->f)) {
		snprintf(text, sizeof(text), "%lld", number->v);
		yes = any_matches(c->value, text);
	} else if (nic && strcmp(c->key, "MAC") == 0 && seen_ok(&nic->mac.f)) {
		yes = any_of(c->value, nic->mac.v, FNM_CASEFOLD);
	} else if (strcmp(c->key, "KERNEL") == 0) {
		yes = any_matches(c->value, d->name);
	} else if (strcmp(c->key, "SUBSYSTEM") == 0) {
		yes = any_matches(c->value, d->subsystem);
	} else if (strcmp(c->key, "ACTION") == 0) {
		yes = any_matches(c->value, "add") || any_matches(c->value, "change");
	} else if (strcmp(c->key, "TEST") == 0) {
		yes = true;
	} else if (disk && strcmp(c->key, "ENV") == 0 && strcmp(c->attribute, "DEVTYPE") == 0) {
		yes = any_matches(c->value, "disk");
	} else {
		return MATCH_MAYBE;
	}
	return yes == c->equal ? MATCH_YES : MATCH_NO;
}

/* 1: a condition; 0: the end; -1: a text that is none. */
static int next_condition(const char **at, struct condition *c)
{
	const char *s = *at + strspn(*at, ", ");
	char op[3] = "";
	int n = 0;

	if (!*s)
		return 0;
	memset(c, 0, sizeof(*c));
	if (sscanf(s, "%31[A-Z_]{%63[^}]}%2[=!]%n", c->key, c->attribute, op, &n) != 3) {
		c->attribute[0] = '\0';
		if (sscanf(s, "%31[A-Z_]%2[=!]%n", c->key, op, &n) != 2)
			return -1;
	}
	s += n;
	if (*s != '"')
		return -1;
	n = (int)strcspn(++s, "\"");
	if (n >= VALUE_MAX || !s[n])
		return -1;
	memcpy(c->value, s, (size_t)n);
	c->equal = *op == '=';
	*at = s + n + 1;
	return 1;
}

/* Whether the conditions hold for the device; without conditions they hold for every one. */
static enum match conditions_match(const struct device *d, const char *at)
{
	enum match out = MATCH_YES;
	struct condition c;
	int r;

	while ((r = next_condition(&at, &c)) > 0) {
		enum match one = is_true(d, &c);

		if (one == MATCH_NO)
			return MATCH_NO;
		if (one == MATCH_MAYBE)
			out = MATCH_MAYBE;
	}
	return r < 0 ? MATCH_MAYBE : out;
}

static enum match udev_match(const struct machine *m, const struct assignment *it, const char *path)
{
	size_t n = strlen(path), k = strlen(it->name);
	enum match match;
	struct device d;

	if (n <= k + 1 || path[n - k - 1] != '/' || strcmp(path + n - k, it->name) != 0 ||
	    !device_of(m, path, n - k - 1, &d))
		return MATCH_NO;
	match = conditions_match(&d, fact_text(&it->when, ""));
	/* What "$env{X}" and "%k" stand for is not known. */
	if (match == MATCH_YES && strpbrk(fact_text(&it->value, ""), "$%"))
		match = MATCH_MAYBE;
	return match;
}

static enum match link_match(const struct machine *m, const struct assignment *it,
			     const struct knob *k)
{
	struct device d = { .m = m, .subsystem = "net" };

	if (k->kind != KNOB_LINK || strcmp(it->name, k->name) != 0 ||
	    strlen(k->object) >= sizeof(d.name))
		return MATCH_NO;
	strcpy(d.name, k->object);
	return conditions_match(&d, fact_text(&it->when, ""));
}

enum match assignment_match(struct arena *a, const struct machine *m, const struct assignment *it,
			    const struct knob *k)
{
	const char *path = path_of(a, k), *partner;

	if (strcmp(it->kind, "boot-argument") == 0)
		return argument_match(m, it->name, k);
	if (strcmp(it->kind, "module-parameter") == 0)
		return k->kind == KNOB_MODPARAM && same_word(it->name, k->name) ? MATCH_YES
										: MATCH_NO;
	if (strcmp(it->kind, "sysctl") == 0) {
		if (path && strcmp(it->name, "vm.nr_hugepages") == 0)
			return is_default_pool(m, path) ? MATCH_YES : MATCH_NO;
		if (k->kind != KNOB_SYSCTL)
			return MATCH_NO;
		partner = sysctl_partner(k->name);
		if (partner && strcmp(it->name, partner) == 0)
			return MATCH_PARTNER;
		return dotted_matches(a, it->name, k->name) ? MATCH_YES : MATCH_NO;
	}
	if (strcmp(it->kind, "link") == 0)
		return link_match(m, it, k);
	if (!path)
		return MATCH_NO;
	if (strcmp(it->kind, "udev") == 0)
		return udev_match(m, it, path);
	if (strcmp(it->kind, "sysfs") != 0)
		return MATCH_NO;
	return fnmatch(it->name, path, FNM_PATHNAME) == 0 || policy_matches(a, m, it->name, path)
		       ? MATCH_YES
		       : MATCH_NO;
}
