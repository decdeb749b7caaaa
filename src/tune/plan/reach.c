/* SPDX-License-Identifier: Apache-2.0 */
/* From a setting and a target to the knobs that belong to them. Pure: no machine is read. */
#include "tune/plan/reach.h"

#include <string.h>

#include "base/text.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"

/* What rows with more than one knob write beside the row's own: patterns as in settings. */
static const struct {
	const char *id;
	enum knob_kind kind;
	const char *name;
} beside[] = {
	{ "memory.dirty-ratio", KNOB_SYSCTL, "vm.dirty_bytes" },
	{ "memory.dirty-background-ratio", KNOB_SYSCTL, "vm.dirty_background_bytes" },
	{ "cpu.boost", KNOB_SYSFS, "/sys/devices/system/cpu/intel_pstate/no_turbo" },
	{ "nic.rings", KNOB_LINK, "tx-ring" },
	{ "nic.coalesce", KNOB_LINK, "tx-usecs" },
	{ "nic.coalesce", KNOB_LINK, "adaptive-rx" },
	{ "nic.coalesce", KNOB_LINK, "adaptive-tx" },
};

struct collection {
	struct arena *a;
	struct map *map;
};

/* Of two objects with one name the first counts. */
static void collect(const void *object, const char *name, void *ctx)
{
	struct collection *c = ctx;
	void **at = map_at(c->a, c->map, name);

	if (!*at)
		*at = (void *)object;
}

struct map *setting_targets(struct arena *a, const struct machine *m, const struct setting *s)
{
	struct collection c = { .a = a, .map = ARENA_NEW(a, struct map) };

	setting_subjects(a, m, s, collect, &c);
	return c.map;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* '*' takes one or more digits: CPUs, states and nodes are numbered. */
static bool name_matches(const char *name, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern != '*') {
			if (*name++ != *pattern)
				return false;
			continue;
		}
		if (!digit(*name))
			return false;
		while (digit(*name))
			name++;
	}
	return !*name;
}

/* A path, a sysctl or a parameter is all in its name. */
static bool named_alone(enum knob_kind k)
{
	return k == KNOB_SYSFS || k == KNOB_SYSCTL || k == KNOB_MODPARAM || k == KNOB_BOOTARG ||
	       k == KNOB_UNIT;
}

static bool is_knob(const struct knob *k, const struct knob *mine)
{
	return k->kind == mine->kind && name_matches(k->name, mine->name) &&
	       (strcmp(k->object, mine->object) == 0 || (named_alone(k->kind) && !*k->object));
}

/* An idle state of one of these CPUs, not of another's. */
static bool reach_is_of(const struct setting *s, const struct idset *cpus, const struct knob *k)
{
	static const char prefix[] = "/sys/devices/system/cpu/cpu";
	unsigned cpu = 0;

	if (s->scope != SCOPE_IDLE || k->kind != KNOB_SYSFS || !str_starts(k->name, prefix))
		return true;
	for (const char *p = k->name + sizeof(prefix) - 1; digit(*p) && cpu < IDSET_MAX; p++)
		cpu = cpu * 10 + (unsigned)(*p - '0');
	return idset_has(cpus, cpu);
}

/* NULL: the setting's targets are not groups of CPUs. */
static const struct idset *group(const struct setting *s, const void *object)
{
	return s->scope == SCOPE_IDLE	  ? &((const struct idle_group *)object)->cpus.v
	       : s->scope == SCOPE_POLICY ? &((const struct freq_policy *)object)->cpus.v
					  : NULL;
}

bool setting_reaches(struct arena *a, const struct setting *s, const void *object,
		     const struct knob *k)
{
	struct knob mine;

	if (s->knob == KNOB_NONE)
		return false;
	mine = setting_knob(a, s, object);
	if (is_knob(k, &mine))
		return reach_is_of(s, group(s, object), k);
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		if (strcmp(beside[i].id, s->id) != 0)
			continue;
		mine = knob_make(a, beside[i].kind, beside[i].name,
				 setting_knob_object(a, s, object));
		if (is_knob(k, &mine))
			return true;
	}
	return false;
}

const void *setting_regrouped(struct arena *a, const struct map *targets, const struct setting *s,
			      const char *target, const struct knob *k)
{
	struct idset then;

	if ((s->scope != SCOPE_IDLE && s->scope != SCOPE_POLICY) || !str_starts(target, "cpu") ||
	    idset_parse(a, target + strlen("cpu"), &then) || !reach_is_of(s, &then, k))
		return NULL;
	for (size_t i = 0; i < targets->cap; i++) {
		const void *object = targets->slots[i].value;
		const struct idset *now = object ? group(s, object) : NULL;

		/* CPUs come and go; a policy of quite others is not the one that was meant. */
		if (!now || (s->scope == SCOPE_POLICY && !idset_contains(now, &then) &&
			     !idset_contains(&then, now)))
			continue;
		if (setting_reaches(a, s, object, k))
			return object;
	}
	return NULL;
}
