/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the verb generate. Each "0, or as answers": below 0 an exit code. */
#ifndef VERBS_GENERATE_GENERATE_H
#define VERBS_GENERATE_GENERATE_H

#include "models/generate/page_generate.h"
#include "models/generate/train_setup.h"
#include "verbs/calibrations.h"
#include "verbs/model_ask.h"

/* --host, --node, --cluster, --on, --nodes. */
struct nodes_ask {
	struct machine_ask machine;
	struct ask_texts node;
	const char *cluster, *on;
	int nodes; /* 0: not given */
};
extern const struct ask_shape nodes_ask_shape;

/* All that any kind asks; each has a table of what means something to it. */
struct generate_ask {
	struct nodes_ask nodes;
	const char *head; /* the first machine's address */
	int port;	  /* 0: not given */
	int rank;	  /* -1: all */
	const char *image;
	struct ask_texts program;
	struct infer_options serve;
	double context;
	int users;
	const char *listen;
	struct train_ask train;
	struct constants_ask constants;
	const char *edit;
};

/* The machines that something is generated for. */
struct generate_nodes {
	struct gen_cluster cluster;
	const struct target_hw *place; /* by --on: nothing of the machines was seen; NULL */
	struct target_hw named;
};

/* By --node, --cluster, --on, --host or this machine, and --nodes. */
int generate_nodes(struct door *d, const struct generate_ask *ask, struct generate_nodes *out);
/* Nodes of a discovery in this file. */
int generate_cluster(struct door *d, const char *path, struct gen_cluster *out);
/* n machines of which only what they are is known. */
void generate_named(struct arena *a, const struct target_hw *place, size_t n, const char *head,
		    struct gen_cluster *out);

/* What was generated; it begins with what is shown. */
struct generated {
	struct generate_view view;
	struct door *d;
	struct generate_nodes nodes;
	struct gen_envs envs;
	struct gen_launch launch;
	struct serve_plan plan;
	struct train_view train;
	const char *edited; /* the user's file with all changes; NULL */
	size_t edited_len;
};

/* deepspeed, accelerate, fsdp: fills the rest of *g, and returns the exit code. */
int generate_train(struct generated *g, const struct generate_ask *ask, enum train_target target);
/* torchrun and sbatch with --model: threads, NUMA binding and the program's arguments. */
int generate_train_launch(struct generated *g, const struct generate_ask *ask);

#endif
