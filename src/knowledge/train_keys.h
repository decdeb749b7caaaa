/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the files that steer a training: rows of train_keys.rows. */
#ifndef KNOWLEDGE_TRAIN_KEYS_H
#define KNOWLEDGE_TRAIN_KEYS_H

#include "base/rows.h"

enum train_format { DEEPSPEED_FILE, ACCELERATE_FILE, TRAINER_FILE, FSDP_FILE, TRAIN_FORMATS };

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
	enum train_format file;
	enum train_type type;
	const char *usual;   /* ""; none, or it depends */
	const char *since;   /* NULL: the oldest release of the list or earlier */
	const char *until;   /* the first that knows it no more; NULL: there still */
	const char *instead; /* what to write for it; not NULL: it is old */
	const char *words;
	int stages[2]; /* of zero_optimization, the first and the last that it counts in; 0: all */
};

extern const struct row_table train_key_table;
extern const struct train_key train_keys[];
extern const size_t n_train_keys;

#endif
