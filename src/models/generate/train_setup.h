/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a model is trained best on these machines, by prediction: every way that the file's program
 * has is tried with every micro-batch of the same global batch; the plainest of those that are as
 * fast as the fastest is taken. And what follows from cores: loader workers, threads. Pure.
 */
#ifndef GENERATE_TRAIN_SETUP_H
#define GENERATE_TRAIN_SETUP_H

#include "models/generate/nodes.h"
#include "models/training/train.h"
#include "models/generate/launch.h"

enum train_target {
	TARGET_DEEPSPEED,
	TARGET_ACCELERATE,
	TARGET_FSDP,
	TARGET_LAUNCH, /* torchrun, sbatch: the way stays as it is */
};

enum { TRAIN_TRIES = 16 };
/* Bytes of one message of DeepSpeed's stage 0, where no key has a say: 5e8 elements of 16 bit
 * (runtime/engine.py 0.19.6). */
#define DEEPSPEED_REDUCE 1e9

/* One way to shard, with the micro-batch that is fastest for it. */
struct train_try {
	enum train_parallelism way;
	enum train_recompute recompute;
	bool reshard;
	int micro_batch, accumulation;
	bool fits, sure; /* sure: even if it needs as much as its interval says */
	double tokens_s, step_s, memory, memory_high;
};

/* Keeping optimizer states or weights in host memory: only where nothing else fits. */
struct train_offload {
	bool optimizer, weights;
	double saved_bytes;  /* of a GPU */
	double moved_bytes;  /* of a GPU and step, both ways */
	double step_s_least; /* what moving alone adds */
	double host_bytes;   /* of one machine */
	const char *why;
};

struct train_setup {
	enum train_target target;
	struct train_answer *before; /* as it was told */
	struct train_answer *after;  /* as chosen */
	struct figure gain;	     /* tokens/s, after over before */
	const char *why;	     /* the way that was chosen, in a sentence */
	struct train_try tries[TRAIN_TRIES];
	size_t n_tries;
	struct train_offload offload;
	bool fits;
	const char *fits_why; /* when it does not */
	bool compile;
	const char *compile_why;
	int workers, prefetch, threads;
	const char *workers_why, *prefetch_why, *threads_why;
	int numa_nodes; /* of a machine; 0: not known */
	int gpus_each;	/* of a machine */
	bool clip;	/* nothing was told of it: the usual 1.0 */
};

/* What stays as it was told: a file of the user's cannot say it, or says it elsewhere. */
struct train_bounds {
	bool way, recompute, micro_batch;
	bool bucket; /* by --bucket: of the way as it is */
};

/* Where the machine's facts are not known, cluster is NULL. -EINVAL with a sentence. The choice is
 * made without torch.compile, unless it was told; what that would bring is compile_why. */
int train_setup_make(struct arena *a, const struct train_config *told, enum train_target target,
		     const struct gen_cluster *cluster, struct train_setup *out, struct err *e);
/* The same within bounds. */
int train_setup_within(struct arena *a, const struct train_config *told, enum train_target target,
		       const struct gen_cluster *cluster, const struct train_bounds *bounds,
		       struct train_setup *out, struct err *e);
/* What follows from another way, as target's program does it: DeepSpeed's stage 0 sums gradients
 * behind the backward pass, its stages 2 and 3 after each micro-batch (runtime/engine.py 0.19.6).
 */
void train_setup_parallelism(struct train_config *q, enum train_target target,
			     enum train_parallelism way, bool reshard);
/* Workers, prefetch, threads. */
void train_setup_cores(struct arena *a, const struct gen_cluster *cluster, struct train_setup *s);
/* Elements of a bucket of gradients, as written for DeepSpeed. */
double train_bucket(double parameters);

/*
 * The files of a training: keys with values and reasons, written as JSON or as YAML with comments.
 * Names are those of DeepSpeed 0.16 to 0.19, Accelerate 1.6 to 1.15, transformers 4.50 to 5 and
 * PyTorch 2.6 to 2.9 (train_keys.h). Pure.
 */

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

/* What a training needs beside its launcher's words: threads, NUMA binding, its arguments. Pure. */

/* Adds to the variables of every machine, in front of the program in every command, and to the
 * notes. */
void train_launch_fill(struct arena *a, const struct train_setup *s, struct gen_envs *envs,
		       struct gen_launch *l);

#endif
