/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that steer a training may hold, by the keys of train_keys.rows: DeepSpeed,
 * Accelerate, the Trainer of transformers and its FSDP configuration. Pure.
 */
#ifndef GENERATE_TRAIN_KEYS_H
#define GENERATE_TRAIN_KEYS_H

#include <stdbool.h>

#include "base/arena.h"
#include "knowledge/train_keys.h"

struct train_schema {
	const char *name;	     /* "DeepSpeed" */
	const char *oldest, *newest; /* releases that were looked through */
	const char *source;
};

extern const struct train_schema train_schemas[TRAIN_FORMATS];

/* Whether a key of zero_optimization does nothing in the stage. k may be NULL. */
bool zero_key_dead(const struct train_key *k, int stage);
/* NULL: not in the list. Accelerate and the Trainer take keys of FSDP, dynamo and FP8 with and
 * without the section's prefix. */
const struct train_key *train_key(enum train_format f, const char *path);
/* The key of the same map that may have been meant: its last name. NULL: none is near. */
const char *train_key_near(struct arena *a, enum train_format f, const char *path);
/* The key elsewhere that has this last name: its path; NULL: none, or several. */
const char *train_key_elsewhere(enum train_format f, const char *path);

#endif
