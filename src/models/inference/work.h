/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked (a model in a format on machines, with requests) and the times and bytes that
 * follow, each with its parts, so that a person can add them up. Pure. Times in ms, sizes in bytes,
 * unless a name says otherwise.
 */
#ifndef INFERENCE_WORK_H
#define INFERENCE_WORK_H

#include <stdbool.h>

#include "models/inference/arch.h"
#include "models/inference/fit.h"
#include "models/inference/format.h"
#include "models/inference/gpu.h"

struct ask {
	const struct arch *arch;
	const struct format *weights;
	double weight_bytes; /* exact, from files; 0: by format */
	double cache_bytes;  /* an element of keys and values */
	const char *cache_name;
	struct target_hw place;
	int tp, pp;
	int dp; /* groups of tp GPUs with requests of their own, that share the experts; 1: one */
	/* Engines that take prompts alone, of prefill_tp x prefill_dp GPUs each, and those that
	 * decode, each of tp x pp x dp; 0: engines do both. */
	int prefills, prefill_tp, prefill_dp, decodes;
	int batch;  /* concurrent requests */
	int places; /* requests that run at once at most; 0: as many as memory holds */
	double prompt, output, depth; /* tokens; depth: in the cache before the prompt */
	double cached;		      /* part of the prompt found in the prefix cache, 0 to 1 */
	enum engine engine;
	const struct fit *fit;
	bool eager;    /* no CUDA graphs */
	double chunk;  /* tokens of a prompt that one step takes */
	double rounds; /* requests of one user, one after the other; 1: all users begin at once */
	double rate;   /* requests a second that come whatever happens; 0: batch users */
	int poll;  /* steps between two looks for new requests, or that prompts are held; 0: none */
	int draft; /* tokens guessed ahead; 0: none */
	double accept;	   /* part of the guesses that are right */
	double draft_cost; /* a guess's time as part of a step's */
};

/* One step of the whole model that gives every sequence a token. */
struct decode_step {
	double dense, expert, head, cache, state; /* reading them */
	double memory, compute; /* what is read, what is multiplied: the longer one counts */
	double launch, sequence, link;
	double host; /* the CPU prepares the next step meanwhile: the longer one counts */
	double total;
	double reached; /* part of the experts that are read */
	/* Of one GPU, and of one after the other where there are stages. */
	double dense_bytes, expert_bytes, head_bytes, cache_read, state_read;
	double ops;	  /* of one GPU */
	double reduce_us; /* one all-reduce */
	int reduces;
};

/* A prompt's, or many prompts', way through the model. */
struct prompt {
	double multiply, weights; /* multiplications, reading weights: the longer one counts */
	double attention, scan, launch, link; /* scan: linear attention */
	double total;
	double ops, attention_ops; /* of one GPU */
	double chunks;		   /* a whole number; of many long prompts more than an int holds */
};

/* InfiniBand of a server, GB/s: one 400 Gb/s adapter a GPU. */
#define NETWORK_SERVER 48.0
/* Tokens to which a context's length is looked for. */
#define CONTEXT_MOST 16777216

struct memory_footprint {
	double weights, cache, state, activations, workspace, graphs, framework, reserve;
	double total;			    /* of one GPU */
	double limit;			    /* of one GPU; on unified memory what the machine has */
	double per_sequence;		    /* what one more request takes */
	double per_token;		    /* what one more token of one request takes */
	double most_requests, most_context; /* that fit, with the others as asked */
	/* That run with the part of memory that the engine takes by itself, and its cache. */
	double usual_requests, usual_cache;
	double whole_requests; /* of the whole length that fit in that cache */
	bool fits;
};

struct served {
	double ttft, tpot;    /* of a request, on average */
	double step;	      /* without others' prompts in between */
	double throughput;    /* output tokens a second, all requests */
	double running;	      /* requests that run at a time, at most; the rest waits */
	double waiting;	      /* for that, part of ttft */
	double tokens_a_step; /* more than 1 with guesses */
	double crowding;      /* ttft over that of a request alone; at least 1 */
};

/* Time between pipeline stages for these tokens. */
double link_stage(const struct ask *q, double tokens);

/* Bytes by part, of one GPU. */
double weights_total(const struct ask *q);     /* of the whole model */
double weights_experts(const struct ask *q);   /* of one GPU */
double weights_by_format(const struct ask *q); /* of the shape, whatever its files weigh */

/* All bytes that a step reads, of one GPU of each stage. */
double step_bytes(const struct decode_step *s);
void step_time(const struct ask *q, double batch, double context, double width,
	       struct decode_step *out);
/* What takes prompts: the engine itself, or one of those that take prompts alone. */
struct ask ask_of_prompts(const struct ask *q);
/* count prompts of n tokens each behind depth others. */
void prompt_time(const struct ask *q, double count, double n, double depth, struct prompt *out);
void memory_use(const struct ask *q, struct memory_footprint *out);

/* Bytes a second that a part of the model is read with, given its bytes a parameter. */
double bandwidth_of(const struct ask *q, enum fit_id part, double bytes_each);
enum hardware hardware_of(const struct gpu_kind *g);
/* Whose errors count: HARDWARES, of GPUs left out of the fit, where none of its own was measured.
 */
enum hardware measured_class(const struct gpu_kind *g);

#endif
