/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sets a knob today and who wins at boot: the lines of configuration files, the kernel's
 * arguments, and the daemons that are known to set such things. Pure: from the facts of
 * machine/model/machine.h and the services.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/plan.h"

enum {
	OWNERS_MAX = 64,
	RANK_CMDLINE = 1 << 16,	 /* below every file's line: those are the next boot's */
	RANK_SERVICE = 16 << 16, /* units start after all files were applied */
};

/* What known units set: value NULL where it depends on their configuration. */
static const struct {
	const char *unit;
	enum knob_kind kind;
	const char *pattern, *value;
	bool fights; /* may set it again at any time, not only when it starts */
} daemons[] = {
	{ "power-profiles-daemon.service", KNOB_SYSFS, "*/scaling_governor", NULL, true },
	{ "power-profiles-daemon.service", KNOB_SYSFS, "*/energy_performance_preference", NULL,
	  true },
	{ "auto-cpufreq.service", KNOB_SYSFS, "*/scaling_governor", NULL, true },
	{ "auto-cpufreq.service", KNOB_SYSFS, "*/energy_performance_preference", NULL, true },
	{ "auto-cpufreq.service", KNOB_SYSFS, "*/cpufreq/boost", NULL, true },
	{ "tlp.service", KNOB_SYSFS, "*/scaling_governor", NULL, true },
	{ "tlp.service", KNOB_SYSFS, "*/energy_performance_preference", NULL, true },
	{ "tlp.service", KNOB_SYSFS, "*/scaling_max_freq", NULL, true },
	{ "tlp.service", KNOB_SYSFS, "*/cpufreq/boost", NULL, true },
	{ "tlp.service", KNOB_SYSFS, "*/queue/scheduler", NULL, true },
	{ "thermald.service", KNOB_SYSFS, "*/scaling_max_freq", NULL, true },
	{ "cpupower.service", KNOB_SYSFS, "*/scaling_governor", NULL, false },
	{ "cpupower.service", KNOB_SYSFS, "*/scaling_max_freq", NULL, false },
	{ "nvidia-persistenced.service", KNOB_NVML, "persistence-mode", "1", false },
	{ "dgx-optimize.service", KNOB_NVML, "gpu-clock-lock", NULL, false },
	{ "dgx-optimize.service", KNOB_NVML, "persistence-mode", "1", false },
	{ "dgx-optimize.service", KNOB_HELPER, "vboost", NULL, false },
	{ "dgx-optimize.service", KNOB_SYSFS, "*/cpuidle/*/disable", NULL, false },
	{ "gpu-max-clocks.service", KNOB_NVML, "gpu-clock-lock", NULL, false },
	{ "cpu-performance.service", KNOB_SYSFS, "*/scaling_governor", "performance", false },
	{ "nic-mrrs.service", KNOB_PCI, "mrrs", NULL, false },
	{ "irqbalance.service", KNOB_LINK, "irq-*", NULL, true },
};

/* What tuned is known to set where its profile could not be read. */
static const struct {
	enum knob_kind kind;
	const char *pattern;
} of_tuned[] = {
	{ KNOB_SYSCTL, "vm.*" },
	{ KNOB_SYSCTL, "kernel.sched*" },
	{ KNOB_SYSCTL, "kernel.numa_balancing" },
	{ KNOB_SYSCTL, "net.core.*" },
	{ KNOB_SYSCTL, "net.ipv4.tcp*" },
	{ KNOB_SYSFS, "*/scaling_governor" },
	{ KNOB_SYSFS, "*/energy_performance_preference" },
	{ KNOB_SYSFS, "*/transparent_hugepage/*" },
	{ KNOB_SYSFS, "*/queue/scheduler" },
	{ KNOB_SYSFS, "*/queue/read_ahead_kb" },
};

struct found {
	struct arena *a;
	const struct machine *m;
	const struct knob *k;
	struct owner rows[OWNERS_MAX];
	unsigned rank[OWNERS_MAX];
	enum match match[OWNERS_MAX]; /* MATCH_MAYBE: perhaps it is not about this knob */
	size_t n;
};

static void owner_add(struct found *f, const struct owner *o, unsigned rank, enum match match)
{
	size_t at = f->n;

	if (f->n == OWNERS_MAX)
		return;
	/* In the order in which they take effect. */
	for (; at > 0 && f->rank[at - 1] > rank; at--) {
		f->rows[at] = f->rows[at - 1];
		f->rank[at] = f->rank[at - 1];
		f->match[at] = f->match[at - 1];
	}
	f->rows[at] = *o;
	f->rank[at] = rank;
	f->match[at] = match;
	f->n++;
}

static bool runs(const struct service *s)
{
	return s && fact_or(&s->active, 0) == 1;
}

static bool starts(const struct service *s)
{
	return s && fact_or(&s->enabled, 0) == 1;
}

static bool is_tuned_file(const char *file)
{
	return str_starts(file, "/etc/tuned/") || str_starts(file, "/usr/lib/tuned/");
}

static const char *line_text(struct found *f, const struct assignment *it, enum match match)
{
	const char *place = arena_printf(f->a, "%s:%u", it->file, it->line);

	if (is_tuned_file(it->file))
		place = arena_printf(f->a, "tuned.service (profile %s), %s",
				     fact_text(&f->m->config.tuned_profile, "?"), place);
	if (strcmp(it->kind, "boot-argument") == 0)
		place = arena_printf(f->a, "kernel argument %s, %s", it->name, place);
	if (match == MATCH_MAYBE && seen_ok(&it->when.f) && *it->when.v)
		return arena_printf(f->a, "%s (where %s)", place, it->when.v);
	return place;
}

static void owner_add_line(struct found *f, const struct assignment *it, enum match match)
{
	bool tuned = is_tuned_file(it->file);
	struct owner o = { .what = line_text(f, it, match),
			   .value = fact_text(&it->value, NULL),
			   .at_boot = it->rank != 0,
			   .fights = tuned && runs(machine_service(f->m, "tuned.service")) };

	if (match == MATCH_PARTNER && o.value)
		o.value = arena_printf(f->a, "%s=%s", it->name, o.value);
	if (tuned && !starts(machine_service(f->m, "tuned.service")))
		o.at_boot = false;
	owner_add(f, &o, it->rank, match);
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

/* Arguments in force that no file of the next boot names. */
static void owner_add_arguments(struct found *f)
{
	LIST_FOR_EACH (struct kernel_arg, arg, &f->m->kernel.args) {
		enum match match = argument_match(f->m, arg->name, f->k);
		bool in_file = false;
		struct owner o;

		if (match == MATCH_NO)
			continue;
		LIST_FOR_EACH (struct assignment, it, &f->m->config.assignments)
			in_file |= strcmp(it->kind, "boot-argument") == 0 &&
				   strcmp(it->name, arg->name) == 0;
		if (in_file)
			continue;
		o = (struct owner){ .what = arena_printf(f->a, "kernel argument %s, /proc/cmdline",
							 arg->name),
				    .value = fact_text(&arg->value, NULL),
				    .at_boot = true };
		owner_add(f, &o, RANK_CMDLINE, match);
	}
}

static void add_unit(struct found *f, const struct service *s, const char *value, bool fights)
{
	struct owner o = {
		.what = s->name, .value = value, .at_boot = starts(s), .fights = fights && runs(s)
	};

	if (o.at_boot || runs(s))
		owner_add(f, &o, o.at_boot ? RANK_SERVICE : 0, MATCH_YES);
}

static void add_daemons(struct found *f)
{
	const struct service *tuned = machine_service(f->m, "tuned.service");

	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
		const struct service *s = daemons[i].kind == f->k->kind
						  ? machine_service(f->m, daemons[i].unit)
						  : NULL;

		if (s && str_matches(daemons[i].pattern, f->k->name, 0))
			add_unit(f, s, daemons[i].value, daemons[i].fights);
	}
	/* A profile that was read has said what it sets, line by line. */
	if (!tuned || seen_ok(&f->m->config.tuned_profile.f))
		return;
	for (size_t i = 0; i < sizeof(of_tuned) / sizeof(of_tuned[0]); i++)
		if (of_tuned[i].kind == f->k->kind &&
		    str_matches(of_tuned[i].pattern, f->k->name, 0))
			add_unit(f, tuned, NULL, true);
}

/* Whoever configures the interface sets its MTU and queues when it comes up. */
static void add_link_owner(struct found *f)
{
	const struct nic *n = machine_nic(f->m, f->k->object);
	struct owner o = { .at_boot = true };

	if (!n || !seen_ok(&n->owner.f) || strcmp(n->owner.v, "none") == 0)
		return;
	o.what = arena_printf(f->a, "%s (%s)", n->owner.v,
			      n->owner.f.leaf ? n->owner.f.leaf : "its files");
	o.fights = strcmp(n->owner.v, "ifupdown") != 0 && strcmp(f->k->name, "mtu") == 0;
	owner_add(f, &o, RANK_SERVICE, MATCH_YES);
}

/* Among those at boot that are certain row i is to be preferred to row best. A unit starts after
 * every file; but the owner of an interface need not set this value of it. */
static bool is_later(const struct found *f, size_t i, size_t best)
{
	bool known = f->rows[i].value != NULL;

	if (f->k->kind == KNOB_LINK && known != (f->rows[best].value != NULL))
		return known;
	return f->rank[i] > f->rank[best] || known;
}

/* Nobody, where two that come at the same time may set anything. */
static void choose_winner(struct found *f)
{
	size_t best = OWNERS_MAX;
	bool alone = true;

	for (size_t i = 0; i < f->n; i++) {
		if (!f->rows[i].at_boot || f->match[i] == MATCH_MAYBE)
			continue;
		alone = best == OWNERS_MAX || f->rank[i] != f->rank[best];
		if (best == OWNERS_MAX || is_later(f, i, best))
			best = i;
	}
	if (best != OWNERS_MAX && (alone || f->rows[best].value))
		f->rows[best].wins = true;
}

/*
 * Whether a line of configuration is about a knob: names with patterns, places that have two names,
 * kernel arguments that set what else is a sysctl or a file, and the conditions of udev rules.
 */

enum { VALUE_MAX = 256 };

/* --- names ------------------------------------------------------------------------------------ */

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

/* --- kernel arguments ------------------------------------------------------------------------- */

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
		    str_matches(arguments[i].pattern, k->name, 0))
			return arguments[i].match;
	return MATCH_NO;
}

/* --- udev rules ------------------------------------------------------------------------------- */

/* The device of a path: "/sys/block/nvme0n1" is nvme0n1 of block. */
struct device {
	const struct machine *m;
	char subsystem[32], name[64];
};

struct condition {
	char key[32], attribute[64], value[VALUE_MAX];
	bool equal;
};

static bool owner_device_of(const struct machine *m, const char *path, size_t n, struct device *d)
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
static bool owner_any_of(const char *patterns, const char *s, int flags)
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
	return owner_any_of(patterns, s, 0);
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
		yes = owner_any_of(c->value, nic->mac.v, FNM_CASEFOLD);
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
	    !owner_device_of(m, path, n - k - 1, &d))
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

static enum match assignment_match(struct arena *a, const struct machine *m,
				   const struct assignment *it, const struct knob *k)
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

/* A key that is named alone, with or without a value, takes no value of patterns. */
static bool is_named(struct found *f)
{
	LIST_FOR_EACH (struct assignment, it, &f->m->config.assignments)
		if (it->rank && !is_pattern(it->name) && strcmp(it->kind, "sysctl") == 0 &&
		    assignment_match(f->a, f->m, it, f->k) == MATCH_YES)
			return true;
	return false;
}

static void owner_add_lines(struct found *f)
{
	bool named = f->k->kind == KNOB_SYSCTL && is_named(f);

	LIST_FOR_EACH (struct assignment, it, &f->m->config.assignments) {
		enum match match;

		if (!it->name || !it->kind || !it->file)
			continue;
		match = assignment_match(f->a, f->m, it, f->k);
		/* "-key" alone sets nothing. */
		if (match == MATCH_NO || it->value.f.seen == SEEN_ABSENT)
			continue;
		if (named && is_pattern(it->name) && strcmp(it->kind, "sysctl") == 0)
			continue;
		owner_add_line(f, it, match);
	}
}

void plan_owners(struct arena *a, const struct machine *m, struct change *c)
{
	struct found f = { .a = a, .m = m, .k = &c->knob };
	struct owner *rows;

	owner_add_lines(&f);
	owner_add_arguments(&f);
	add_daemons(&f);
	if (c->knob.kind == KNOB_LINK && !str_starts(c->knob.name, "irq-"))
		add_link_owner(&f);
	choose_winner(&f);
	rows = arena_array(a, f.n, sizeof(*rows));
	if (f.n)
		memcpy(rows, f.rows, f.n * sizeof(*rows));
	c->owners = rows;
	c->n_owners = f.n;
}
