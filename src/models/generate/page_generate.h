/* SPDX-License-Identifier: Apache-2.0 */
/* What was generated: for people with the reasons, for programs, and as the files themselves. */
#ifndef GENERATE_PAGE_GENERATE_H
#define GENERATE_PAGE_GENERATE_H

#include "base/shape.h"
#include "models/generate/lint.h"
#include "models/generate/serve.h"
#include "models/generate/train_edit.h"
#include "render/doc.h"

/* Files of a training. */
struct train_view {
	const struct train_setup *setup;
	struct train_file file;
	struct train_items arguments;  /* of the Trainer, that belong to it */
	const char *torch_call;	       /* the same as calls of PyTorch; NULL */
	const struct train_edit *edit; /* NULL: no file of the user's */
};

struct generate_view {
	const char *kind; /* "nccl", "torchrun", "vllm", ... */
	const struct gen_cluster *cluster;
	const struct gen_envs *envs;
	const struct gen_launch *launch; /* NULL: variables alone */
	const struct serve_plan *serve;	 /* NULL: no engine is served */
	const struct train_view *train;	 /* NULL: no training */
	const char *image;		 /* for compose */
	const char *model_folder;	 /* the same, of a model that lies on the machine; NULL */
	const char *model_cache;	 /* the same: the variable that says where fetched models
					    are kept; NULL */
	long long only;			 /* the rank whose part is wanted; -1: all */
	bool named; /* the machines are only named: nothing of theirs was seen */
};

struct doc *page_generate(struct arena *a, const struct generate_view *v);
/* Of a struct generate_view, and of its parts. */
extern const struct result_shape generate_result;
extern const struct shape gen_env_shape, train_item_shape, train_edit_shape;
/* A script that sets variables or starts the command, or the lines of the file. */
void generate_shell(FILE *out, struct arena *a, const struct generate_view *v);
/* A unit a node, a service a node. -EINVAL and *e for what such a file cannot say. */
int generate_systemd(FILE *out, struct arena *a, const struct generate_view *v, struct err *e);
int generate_compose(FILE *out, struct arena *a, const struct generate_view *v, struct err *e);
/* A command on one line, as a shell takes it. */
const char *command_line(struct arena *a, const struct gen_command *c);

struct lint_view {
	const struct lint *l;
	const struct lint_on *on;
	const char *const *looked_at; /* files, in order */
	size_t n;
	size_t count[LINT_LEVELS]; /* of findings */
};

struct doc *page_lint(struct arena *a, const struct lint_view *v);
/* Of a struct lint_view. */
extern const struct result_shape lint_result;

/* The part of generate's page that is of trainings. */

void page_generate_train(struct doc *d, const struct train_view *v);

#endif
