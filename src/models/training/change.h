/* SPDX-License-Identifier: Apache-2.0 */
/* The table of single changes. */
#ifndef TRAINING_CHANGE_H
#define TRAINING_CHANGE_H

#include "models/training/work.h"

struct train_change_kind {
	const char *key;
	/* Changes *q and names what was done; false: cannot be made, *q is then of no use. */
	bool (*make)(struct arena *a, struct train_config *q, const char **name);
	bool combine; /* may be part of the best combination: numbers stay the same */
	const char *why;
	const char *why_same; /* NULL: why; else where the micro-batch did not grow */
};

extern const struct train_change_kind train_change_kinds[];
extern const size_t train_change_kind_count;

/*
 * How much the quotient of two predictions moves when each fitted constant is moved by what
 * measurements leave open: value, low, high. What both have in common cancels.
 */
struct figure train_ratio(const struct train_config *after, const struct train_config *before);

#endif
