/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of programs that talk over NCCL, for each node by its own devices: every variable
 * with its reason and the release that knows it, what was left alone and why, and what is wrong
 * with the machines. Pure.
 */
#ifndef GENERATE_ENV_H
#define GENERATE_ENV_H

#include "knowledge/nccl_vars.h"
#include "models/generate/nodes.h"

struct gen_var {
	const char *name, *value;
	const char *reason;
	const char *library;   /* who reads it: "NCCL" */
	const char *since;     /* the release that is the first to know it; NULL: all of the list */
	enum nccl_knows known; /* to the NCCL that was seen there */
};

struct gen_env {
	const struct gen_node *node;
	struct gen_var *vars;
	size_t n;
};

/* Something that somebody has to look at. */
struct gen_problem {
	const char *node; /* "": all */
	const char *says, *fix;
	bool fatal; /* what was generated will not work, or not as it should */
};

/* A variable that recipes set and this leaves alone. */
struct gen_left {
	const char *name, *why;
};

struct gen_envs {
	const struct gen_cluster *c;
	struct gen_env *of; /* c->n of them */
	struct gen_problem *problems;
	size_t n_problems;
	struct gen_left *left;
	size_t n_left;
	bool same; /* all nodes have the same variables with the same values */
};

enum gen_for {
	FOR_NCCL,  /* NCCL alone */
	FOR_TORCH, /* and PyTorch's own first contact */
	FOR_VLLM,  /* and vLLM's */
	FOR_SGLANG,
	FOR_TRTLLM, /* NCCL and UCX */
	FOR_OTHERS, /* llama.cpp: nothing of this */
};

void gen_envs_make(struct arena *a, const struct gen_cluster *c, enum gen_for what,
		   struct gen_envs *out);

#endif
