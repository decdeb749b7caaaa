/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sets a knob today and who wins at boot: the lines of configuration files, the kernel's
 * arguments, and the daemons that are known to set such things. Pure: from the facts of
 * machine/model/config.h and the services.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/owner_match.h"
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

static void add(struct found *f, const struct owner *o, unsigned rank, enum match match)
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
		place = arena_printf(f->a, "tuned.service, %s", place);
	if (strcmp(it->kind, "boot-argument") == 0)
		place = arena_printf(f->a, "kernel argument %s, %s", it->name, place);
	if (match == MATCH_MAYBE && seen_ok(&it->when.f) && *it->when.v)
		return arena_printf(f->a, "%s (where %s)", place, it->when.v);
	return place;
}

static void add_line(struct found *f, const struct assignment *it, enum match match)
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
	add(f, &o, it->rank, match);
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
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

static void add_lines(struct found *f)
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
		add_line(f, it, match);
	}
}

/* Arguments in force that no file of the next boot names. */
static void add_arguments(struct found *f)
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
		add(f, &o, RANK_CMDLINE, match);
	}
}

static void add_unit(struct found *f, const struct service *s, const char *value, bool fights)
{
	struct owner o = {
		.what = s->name, .value = value, .at_boot = starts(s), .fights = fights && runs(s)
	};

	if (o.at_boot || runs(s))
		add(f, &o, o.at_boot ? RANK_SERVICE : 0, MATCH_YES);
}

static void add_daemons(struct found *f)
{
	const struct service *tuned = machine_service(f->m, "tuned.service");

	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
		const struct service *s;

		if (daemons[i].kind != f->k->kind ||
		    fnmatch(daemons[i].pattern, f->k->name, 0) != 0)
			continue;
		s = machine_service(f->m, daemons[i].unit);
		if (s)
			add_unit(f, s, daemons[i].value, daemons[i].fights);
	}
	/* A profile that was read has said what it sets, line by line. */
	if (!tuned || seen_ok(&f->m->config.tuned_profile.f))
		return;
	for (size_t i = 0; i < sizeof(of_tuned) / sizeof(of_tuned[0]); i++)
		if (of_tuned[i].kind == f->k->kind &&
		    fnmatch(of_tuned[i].pattern, f->k->name, 0) == 0)
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
	add(f, &o, RANK_SERVICE, MATCH_YES);
}

/* systemd's own links say whether a unit starts. */
static void add_unit_state(struct found *f)
{
	const struct service *s = machine_service(f->m, f->k->name);
	struct owner o = { .what = "a link in /etc/systemd/system",
			   .value = "enabled",
			   .at_boot = true };

	if (starts(s))
		add(f, &o, RANK_SERVICE, MATCH_YES);
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

void plan_owners(struct arena *a, const struct machine *m, struct change *c)
{
	struct found f = { .a = a, .m = m, .k = &c->knob };
	struct owner *rows;

	add_lines(&f);
	add_arguments(&f);
	add_daemons(&f);
	if (c->knob.kind == KNOB_LINK)
		add_link_owner(&f);
	if (c->knob.kind == KNOB_UNIT)
		add_unit_state(&f);
	choose_winner(&f);
	rows = arena_array(a, f.n, sizeof(*rows));
	if (f.n)
		memcpy(rows, f.rows, f.n * sizeof(*rows));
	c->owners = rows;
	c->n_owners = f.n;
}
