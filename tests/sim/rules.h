/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that could decide, each run on a scene from its first window to its verdict. */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "measure/prove/rule.h"
#include "scene.h"

struct trial {
	enum ruling_kind kind;
	size_t windows; /* of both states together */
};

struct candidate {
	const char *name;
	/* min_effect: what matters; effect: ln of what the setting does. */
	struct trial (*run)(struct scene *s, double effect, double min_effect,
			    unsigned long long seed);
};

extern const struct candidate candidates[];
extern const size_t candidate_count;
/* The one that is used: measure/prove/rule.h. */
struct trial run_adopted(struct scene *s, double effect, double min_effect,
			 unsigned long long seed);

#endif
