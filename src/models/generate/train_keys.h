/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that steer a training may hold: keys with type, usual value and the releases that
 * know them, for DeepSpeed, Accelerate, the Trainer of transformers and its FSDP configuration.
 * Data with its source; pure.
 */
#ifndef GENERATE_TRAIN_KEYS_H
#define GENERATE_TRAIN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum train_type {
	KEY_BOOL,
	KEY_INT, /* whole; "5e8" is one as well */
	KEY_NUMBER,
	KEY_TEXT,
	KEY_WORDS, /* one of words, in any case */
	KEY_LIST,
	KEY_ANY,    /* not judged, nor what is in it */
	KEY_OBJECT, /* a map; what is not known in it is ignored by the reader */
	KEY_STRICT, /* a map; what is not known in it is an error of the reader */
};

struct train_key {
	const char *path; /* "zero_optimization.stage" */
	enum train_type type;
	const char *usual;   /* ""; none, or it depends */
	const char *since;   /* NULL: the oldest release of the list or earlier */
	const char *until;   /* the first that knows it no more; NULL: there still */
	const char *instead; /* what to write for it; not NULL: it is old */
	const char *words;
};

enum train_format { DEEPSPEED_FILE, ACCELERATE_FILE, TRAINER_FILE, FSDP_FILE, TRAIN_FORMATS };

struct train_schema {
	const char *name;	     /* "DeepSpeed" */
	const char *oldest, *newest; /* releases that were looked through */
	const char *source;
	const struct train_key *keys[2];
	const size_t *n[2];
};

extern const struct train_schema train_schemas[TRAIN_FORMATS];

extern const struct train_key deepspeed_keys[], zero_keys[], accelerate_keys[], trainer_keys[],
	fsdp_keys[];
extern const size_t deepspeed_keys_count, zero_keys_count, accelerate_keys_count,
	trainer_keys_count, fsdp_keys_count;

/* A key of zero_optimization that does something in some stages alone. */
struct zero_stage_key {
	const char *name; /* behind "zero_optimization." */
	int least, most;
};

extern const struct zero_stage_key zero_stage_keys[];
extern const size_t zero_stage_keys_count;

/* Whether the key of this name does nothing in the stage. */
bool zero_key_dead(const char *name, int stage);
/* NULL: not in the list. Accelerate and the Trainer take keys of FSDP, dynamo and FP8 with and
 * without the section's prefix. */
const struct train_key *train_key(enum train_format f, const char *path);
/* The key of the same map that may have been meant: its last name. NULL: none is near. */
const char *train_key_near(struct arena *a, enum train_format f, const char *path);
/* The key elsewhere that has this last name: its path; NULL: none, or several. */
const char *train_key_elsewhere(enum train_format f, const char *path);

#endif
