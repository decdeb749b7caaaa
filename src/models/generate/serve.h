/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that serves a model with an engine: sizes of parallelism, length, memory and formats
 * by what the prediction says of this machine, each flag with its reason. Pure.
 */
#ifndef GENERATE_SERVE_H
#define GENERATE_SERVE_H

#include "knowledge/engine_options.h"
#include "models/generate/launch.h"
#include "models/inference/predict.h"

/* Which release the options were looked up in. */
struct engine_source {
	enum engine engine;
	const char *name;    /* "vLLM" */
	const char *version; /* "0.27.1": the newest whose list was read */
	const char *needs;   /* the oldest that knows all that is generated */
	const char *source, *date;
};

const struct engine_source *engine_source(enum engine e);
/* By any spelling, "_" like "-". NULL: not in the list. */
const struct engine_option *engine_option(enum engine e, const char *name, size_t n);
const char *engine_option_name(enum engine e, enum option_means m); /* NULL: has none */

struct serve_ask {
	enum engine engine;
	const char *model;	    /* as the engine is given it */
	struct infer_options words; /* of the prediction: model, weights, cache, tp, pp, file */
	double context;		    /* tokens that one request may have; 0: 8192 */
	int users;		    /* requests at a time; 0: 4 */
	const char *head;	    /* address of the first node; NULL: its own */
	const char *listen;	    /* where the server answers; NULL: to this machine alone */
	int port, meeting_port;	    /* 0: not given */
};

enum { SERVE_TRIES = 64 };

/* One way to spread the model. */
struct serve_try {
	int tp, pp;
	bool fits;
	double tpot_ms, ttft_ms, throughput_tok_s, bytes;
	const char *not_possible; /* NULL: it is */
};

struct serve_plan {
	const struct engine_source *source;
	const char *model;   /* as the engine is given it */
	struct prediction p; /* of what was chosen */
	struct serve_try tries[SERVE_TRIES];
	size_t n_tries;
	int tp, pp;
	bool expert_parallel;
	const char *expert_why;
	const char *kv, *kv_why; /* "" : as the model has it */
	const char *quant;	 /* value of the engine's option; NULL: the checkpoint says it */
	const char *quant_why;
	double total_bytes; /* of a GPU, or of the machine where they share */
	double free_bytes;  /* of that, now; 0: not seen */
	const char *free_from;
	double wanted_bytes; /* of a GPU: what the engine is to take, cache included */
	double fraction;     /* of total (vLLM), of free (SGLang), of what is left (TensorRT) */
	const char *fraction_why;
	bool fits;
	const char *fits_why;	  /* when it does not: what would */
	struct gen_launch launch; /* empty when it does not fit */
};

/* -EINVAL, -ENOENT with a sentence; -ENODEV: the GPUs or their memory are not seen or not known.
 * on: machines by name, without facts; NULL. */
int serve_plan_make(struct arena *a, const struct serve_ask *ask, const struct gen_envs *e,
		    const struct target_hw *place, const struct fits *fits, struct serve_plan *out,
		    struct err *err);
/* Fills out->launch from the rest. */
int serve_flags(struct arena *a, const struct serve_ask *ask, const struct gen_envs *e,
		struct serve_plan *out, struct err *err);
/* Whether a model can be spread so; NULL: it can. */
const char *serve_not_possible(struct arena *a, const struct arch *m, enum engine engine, int tp,
			       int pp);

/* The machines as a place for the prediction: of memory what is free now, of the poorest one.
 * Fills out->total_bytes, free_bytes, free_from. named: by --on, then nothing is seen. */
int serve_place(struct arena *a, const struct gen_cluster *c, const struct target_hw *named,
		struct target_hw *place, struct serve_plan *out, struct err *err);
/* Fills fits, wanted_bytes and fraction from the prediction. */
void serve_memory(struct arena *a, const struct serve_ask *ask, struct serve_plan *out);
/* Bytes of one GPU that the engine needs: all but what is left free. */
double serve_needs(const struct memory_footprint *m);
/* Bytes of total that an engine may be given, where can are free (0: not known). */
double serve_may_take(bool unified, double total, double can);
/* Tokens of prompts that one step takes, as generated. */
double engine_chunk(enum engine e);

#endif
