/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking through files that steer a training: DeepSpeed's JSON, Accelerate's YAML, arguments of
 * transformers' Trainer, configurations of FSDP, and launch commands. Parts of lint.h. Pure.
 */
#ifndef GENERATE_LINT_TRAIN_H
#define GENERATE_LINT_TRAIN_H

#include "models/generate/lint.h"
#include "models/generate/markup.h"
#include "models/generate/train_keys.h"

/* What is being judged: one file, or the arguments of one command. */
struct train_doc {
	struct lint *l;
	enum train_format format;
	const struct markup_node *root; /* a map */
	bool json;
	bool command; /* arguments of a command: there are no keys that are unknown */
	bool loose;   /* the keys stand among others: only those that are known are judged */
};

enum train_language { TRAIN_SHELL, TRAIN_JSON, TRAIN_YAML };

/* By the end of its name, else by how it begins: "{" with a text in quotes, or "key:" in its first
 * line that says something. */
enum train_language train_language_of(const char *name, const char *text, size_t len);
/* Which file a map is; TRAIN_FORMATS: none that is known. */
enum train_format train_format_of(const struct markup_node *root);

/* --- parts ------------------------------------------------------------------------------------ */
/* lint_train.c */
void lint_train_keys(const struct train_doc *d);
void lint_train_deepspeed(const struct train_doc *d);  /* lint_train_deepspeed.c */
void lint_train_zero(const struct train_doc *d);       /* lint_train_deepspeed.c */
void lint_train_trainer(const struct train_doc *d);    /* lint_train_deepspeed.c */
void lint_train_accelerate(const struct train_doc *d); /* lint_train.c */
/* lint_train_deepspeed.c; fsdp: the map of its keys. */
void lint_train_fsdp(const struct train_doc *d, const struct markup_node *fsdp);

/* A key of the map root, or in loose files of any map below it. NULL: not there, or null. */
const struct markup_node *train_at(const struct train_doc *d, const char *path);
/* What stands there; usual where nothing stands or something else. */
bool train_flag(const struct train_doc *d, const char *path, bool usual);
double train_number(const struct train_doc *d, const char *path, double usual);
const char *train_word(const struct train_doc *d, const char *path); /* "" */
/* A value as value rules take it, and its line; lint_value_open: a map, a list or an expansion. */
const char *train_value(const struct markup_node *n, unsigned *line);
/* lint_train_doc.c: values by value_rules.rows. */
void lint_train_values(const struct train_doc *d);
void train_finding(const struct train_doc *d, enum lint_level level, const char *code,
		   const char *path, const char *fix, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));
/* Logical CPUs of the machine that is looked at; 0: not known. */
size_t train_cpus(const struct lint *l);

#endif
