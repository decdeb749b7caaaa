/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings of a plan are switched together. */
#ifndef PROVE_GROUPS_H
#define PROVE_GROUPS_H

#include "tune/plan/plan.h"

struct groups {
	size_t n;
	const char **ids; /* "a.b", or "a.b+c.d" for those that touch the same knobs */
	bool **on;	  /* by group, then by change of the plan */
};

/* One group a setting, all its targets in it; settings that write the same knob, or reset what
 * another one writes, are one group. Only open changes. */
void groups_make(struct arena *a, const struct plan *p, struct groups *out);

#endif
