/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is worth changing in a file that somebody wrote: batches where the prediction gains, ways to
 * shard where memory needs them, and what is dead or contradictory. All else stays byte for byte;
 * what several places share (anchors) is left alone and said. Pure.
 */
#ifndef GENERATE_TRAIN_EDIT_H
#define GENERATE_TRAIN_EDIT_H

#include "models/generate/lint.h"
#include "models/generate/markup.h"
#include "models/generate/train_setup.h"
#include "models/generate/train_keys.h"

enum { TRAIN_LEFT_MAX = 64, TRAIN_RENAMES_MAX = 32 };

/* Something that would be changed, and is not. */
struct train_left {
	unsigned line;
	const char *what, *why;
};

struct train_edit {
	struct arena *a;
	const char *name; /* of the file */
	bool shell;
	enum train_format format; /* not of a shell file */
	struct markup m;
	const struct markup_node *root;
	struct lint_word *words; /* of a shell file */
	size_t n_words;
	struct edits edits;
	const char *diff; /* of them all, once they are made */
	struct train_left left[TRAIN_LEFT_MAX];
	/* Keys that get another name: from then on they are found by it. */
	struct {
		const char *path;
		const struct markup_node *n;
	} renamed[TRAIN_RENAMES_MAX];
	size_t n_renamed;
	size_t n_left;
	size_t n_faults; /* of these: what is wrong by lint, and not mended */
};

/* What kind of file it is; text has to live as long as out. -EINVAL with a sentence that names the
 * line: it cannot be read, is none of these, or has several documents. */
int train_edit_open(struct arena *a, const char *name, const char *text, size_t len,
		    struct train_edit *out, struct err *e);
/* What the file says, where w does not say it yet. gpus: of all machines; 0: not known. */
void train_edit_read(const struct train_edit *e, int gpus, struct train_options *w);
/* What this file cannot say, or what is not changed in it. */
struct train_bounds train_edit_bounds(const struct train_edit *e);
/* This file is not what target is for: a sentence that names its kind; NULL: it is. */
const char *train_edit_other(const struct train_edit *e, enum train_target target);
/* After all changes: what is wrong still is listed as left, and s->after and s->gain are those of
 * the changed file, against the file as it was. -EINVAL: what came of the changes cannot be read,
 * and is not to be written. */
int train_edit_settle(struct train_edit *e, int gpus, const struct lint_on *on,
		      struct train_setup *s, struct err *err);
/* All changes into e->edits. */
void train_edit_make(struct train_edit *e, const struct train_setup *s,
		     const struct train_meeting *m, const struct lint_on *on);

/* --- parts ------------------------------------------------------------------------------------ */
/* train_edit_place.c: single changes of a tree. value as it is written; text: it is one. */
void train_edit_set(struct train_edit *e, const char *path, const char *value, bool text,
		    const char *reason);
void train_edit_drop(struct train_edit *e, const struct markup_node *n, const char *reason);
/* path: with the new name. */
void train_edit_rename(struct train_edit *e, const struct markup_node *n, const char *path,
		       const char *reason);
void train_edit_leave(struct train_edit *e, unsigned line, const char *what, const char *why);
/* The node of this path in this file: of any map in files of the Trainer. NULL: not there. */
const struct markup_node *train_edit_at(const struct train_edit *e, const char *path);
/* A scalar as if it had no quotes: own is of the caller. */
const struct markup_node *train_edit_bare(const struct markup_node *n, struct markup_node *own);
/* Numbers and switches in quotes. */
void train_edit_types(struct train_edit *e, const struct markup_node *map, const char *prefix,
		      int depth);
/* Something is changed in these bytes already. */
bool train_edit_touched(const struct train_edit *e, const struct markup_node *n);
/* Another value for --name of a shell file; false: it does not stand there, or is not changed. */
bool train_edit_option(struct train_edit *e, const char *name, const char *value,
		       const char *reason);
/* Options of a shell file. */
void train_edit_shell(struct train_edit *e, const struct train_setup *s, const struct lint_on *on);

#endif
