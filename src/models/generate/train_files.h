/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a training: keys with values and reasons, written as JSON or as YAML with comments.
 * Names are those of DeepSpeed 0.16 to 0.19, Accelerate 1.6 to 1.15, transformers 4.50 to 5 and
 * PyTorch 2.6 to 2.9 (train_keys.h). Pure.
 */
#ifndef GENERATE_TRAIN_FILES_H
#define GENERATE_TRAIN_FILES_H

#include "models/generate/train_setup.h"

struct train_item {
	const char *path;  /* "zero_optimization.stage"; those of a section stand together */
	const char *value; /* as it is written, texts without quotes */
	bool text;	   /* it is a text */
	const char *reason;
};

struct train_items {
	struct train_item *at;
	size_t n;
};

struct train_file {
	const char *name; /* "ds_config.json" */
	const char *text;
	struct train_items items;
};

/* Where the machines meet; head NULL: not known. */
struct train_meeting {
	const char *head;
	int port;
};

void train_item_add(struct arena *a, struct train_items *l, const struct train_item *i);
const struct train_item *train_item_find(const struct train_items *l, const char *path);

/* Items of each file. */
void train_items_deepspeed(struct arena *a, const struct train_setup *s, struct train_items *out);
void train_items_accelerate(struct arena *a, const struct train_setup *s,
			    const struct train_meeting *m, struct train_items *out);
void train_items_fsdp(struct arena *a, const struct train_setup *s, struct train_items *out);
/* Arguments of transformers' Trainer that belong to it: batches, loaders, recomputation. */
void train_items_trainer(struct arena *a, const struct train_setup *s, struct train_items *out);
/* The same sharding as calls of PyTorch. */
const char *train_torch_call(struct arena *a, const struct train_setup *s);

/* train_write.c: nested by the dots of their paths. */
const char *train_write_json(struct arena *a, const struct train_items *l);
const char *train_write_yaml(struct arena *a, const struct train_items *l, const char *head);

#endif
