/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verbs generate and lint. */
#ifndef VERBS_GENERATE_H
#define VERBS_GENERATE_H

#include "front/session.h"
#include "models/generate/serve.h"
#include "models/generate/train_setup.h"
#include "models/generate/page_generate.h"
#include "models/generate/lint.h"

/* The machines that something is generated for, and what has to be closed behind them. */
struct generate_nodes {
	struct gen_cluster cluster;
	struct host **hosts;
	size_t n_hosts;
	const struct target_hw *place; /* by --on: nothing of the machines was seen; NULL */
	struct target_hw named;
};

/* By --node, --cluster, --on, --host or this machine, and --nodes. An exit code after complaining.
 */
int generate_nodes(struct run *r, struct generate_nodes *out);
void generate_nodes_close(struct generate_nodes *n);
/* Nodes of a discovery in this file. */
int generate_cluster(struct run *r, const char *path, struct gen_cluster *out);

/* What a kind of file is for. */
struct generate_use {
	bool trains, serves,
		launches; /* launches: torchrun and sbatch, which take a training too */
	enum train_target target;
};

/* EXIT_USAGE after complaining of an option that would change nothing. */
int generate_options_used(struct run *r, const struct generate_use *u);
/* deepspeed, accelerate, fsdp: the whole verb. */
int generate_train(struct run *r, enum train_target target);
/* torchrun and sbatch with --model: threads, NUMA binding and the program's arguments. An exit code
 * after complaining. */
int generate_train_launch(struct run *r, const struct gen_cluster *c, struct gen_envs *envs,
			  struct gen_launch *l);

/* A new file for -o, whole or not at all: 0, or an exit code after complaining. */
int generate_write_new(struct run *r, const char *text, size_t len);

#endif
