/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines as lists of words, one a node or one for all, and the files of launchers. Words are
 * never joined here: whoever writes them for a shell, a unit or a compose file quotes each.
 */
#ifndef GENERATE_LAUNCH_H
#define GENERATE_LAUNCH_H

#include "base/err.h"
#include "knowledge/nccl_vars.h"
#include "models/generate/nodes.h"

/*
 * The environment of programs that talk over NCCL, for each node by its own devices: every variable
 * with its reason and the release that knows it, what was left alone and why, and what is wrong
 * with the machines. Pure.
 */

struct gen_var {
	const char *name, *value;
	const char *reason;
	const char *library;   /* who reads it: "NCCL" */
	const char *since;     /* the release that is the first to know it; NULL: all of the list */
	enum nccl_knows known; /* to the NCCL that was seen there */
};

struct gen_env {
	const struct gen_node *node;
	size_t rank;
	struct gen_var *vars;
	size_t n;
};

/* Something that somebody has to look at. */
struct gen_problem {
	const char *code; /* one of gen_codes */
	const char *node; /* "": all */
	const char *says, *fix;
	bool fatal; /* what was generated will not work, or not as it should */
};

/* What a problem is called, and who judges it, as of struct cause of measure/doctor/doctor.h. */
struct gen_code {
	const char *code, *setting, *given;
};
extern const struct gen_code gen_codes[]; /* the last has a NULL code */

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

void gen_problem_add(struct arena *a, struct gen_envs *e, const struct gen_problem *p);
/* Leaves the variable of "NAME=VALUE" out on all nodes; false: none sets it. */
bool gen_env_drop(struct arena *a, struct gen_envs *all, const char *text, const char *why);

enum { GEN_WORDS_MAX = 4096 };

/* A word, and why it is there; words that belong together have the reason of the first. */
struct gen_word {
	const char *text;
	const char *reason; /* NULL: belongs to the word before */
};

/* What is started on a node. */
struct gen_command {
	const struct gen_node *node; /* NULL: on the first node, for all */
	size_t rank;
	struct gen_word *words;
	size_t n;
	const struct gen_env *env; /* to be set around it; NULL: none */
	const char *role;	   /* "server", "worker": for people; NULL */
	int meeting_port;	   /* of a Slurm job; 0: it is none */
};

struct gen_launch {
	struct gen_command *commands;
	size_t n;
	/* Lines of a file instead: hostfile, .deepspeed_env. */
	const char *file_name, *file_text;
	const char **notes;
	size_t n_notes;
};

void gen_word_add(struct arena *a, struct gen_command *c, const char *text, const char *reason);
void gen_option_add(struct arena *a, struct gen_command *c, const char *name, const char *value,
		    const char *reason);
void gen_note_add(struct arena *a, struct gen_launch *l, const char *text);
struct gen_command *gen_command_add(struct arena *a, struct gen_launch *l,
				    const struct gen_command *c);

/* program: what the user starts, with its arguments. head NULL: the first node's address. -EINVAL
 * and *e where a node has no address or a name that launchers would misread, -ENODEV where it has
 * no GPU. */
int gen_torchrun(struct arena *a, const struct gen_envs *e, char *const *program, size_t n,
		 const char *head, int port, struct gen_launch *out, struct err *err);
/* Open MPI. */
int gen_mpi(struct arena *a, const struct gen_envs *e, char *const *program, size_t n,
	    struct gen_launch *out, struct err *err);
/* A job of Slurm: who runs on which machine is known when it starts, so all need the same
 * variables: -EINVAL otherwise. The command is torchrun's without a meeting point, which the script
 * finds (models/generate/generate_shell.c). */
int gen_sbatch(struct arena *a, const struct gen_envs *e, char *const *program, size_t n, int port,
	       struct gen_launch *out, struct err *err);
/* "HOST slots=N": Open MPI's and DeepSpeed's. */
int gen_hostfile(struct arena *a, const struct gen_envs *e, struct gen_launch *out,
		 struct err *err);
/* -EINVAL where nodes need different values: DeepSpeed's launcher gives all of them the first's. */
int gen_deepspeed_env(struct arena *a, const struct gen_envs *e, struct gen_launch *out,
		      struct err *err);

#endif
