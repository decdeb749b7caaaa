/* SPDX-License-Identifier: Apache-2.0 */
/* Which knobs a setting may write: the limit for plans that come from files. */
#ifndef PLAN_REACH_H
#define PLAN_REACH_H

#include "base/map.h"
#include "look/settings/settings.h"

/* What the setting calls its targets on this machine, to their objects: values are const void *. */
struct map *setting_targets(struct arena *a, const struct machine *m, const struct setting *s);
/*
 * True when k is a knob of s on this target: the row's own; one that its pattern names ('*' stands
 * for digits within one component of a path); or one of those that the row writes beside its own.
 * object is what setting_targets gave.
 */
bool setting_reaches(struct arena *a, const struct setting *s, const void *object,
		     const struct knob *k);
/*
 * Targets that are groups of CPUs are called by what they have in common: once one of them was
 * changed, the groups are others. The object that k belongs to now, when target may be what its
 * group was called before; NULL: it may not.
 */
const void *setting_regrouped(struct arena *a, const struct map *targets, const struct setting *s,
			      const char *target, const struct knob *k);

#endif
