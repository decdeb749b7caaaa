/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few constants that are fitted, not derived: one set for each engine on each kind of
 * hardware. Every one is a part of a physical limit or a time; docs/PREDICT.md says what each was
 * fitted on. scripts/fit fits them; a user's own set comes as a file of "name = value".
 */
#ifndef INFERENCE_FIT_H
#define INFERENCE_FIT_H

#include <stddef.h>

#include "base/err.h"
#include "knowledge/engine_options.h"

/* What the fitting knows apart. */
enum hardware { HARDWARE_UNIFIED, HARDWARE_SERVER, HARDWARE_BLACKWELL, HARDWARES };

enum fit_id {
	FIT_DENSE,  /* part of the memory bandwidth that weights every token takes are read with */
	FIT_EXPERT, /* the same for routed experts */
	FIT_CACHE,  /* the same for keys and values */
	FIT_LAYER_US,  /* a dense layer's launches and small kernels, us */
	FIT_LINEAR_US, /* a linear layer's more, us */
	FIT_STEP_MS,   /* a step's scheduling and sampling, ms */
	FIT_SEQ_US,    /* a sequence's part in a step, us */
	FIT_MATH_HALF, /* part of the peak that a prompt's multiplications reach, by format */
	FIT_MATH_FP8,
	FIT_MATH_FP4,
	FIT_MATH_WEIGHT, /* of the BF16 peak: weights unpacked, then multiplied */
	FIT_MATH_GGML,	 /* of the INT8 peak */
	FIT_MATH_EXPERT, /* what experts reach of that */
	FIT_ROWS,	 /* tokens of one matrix at which half of it is reached */
	FIT_MATH_CACHE,	 /* part of the BF16 peak that attention reaches */
	FIT_CHUNK_US,	 /* the CPU's launches for a layer of each chunk of a prompt, us: experts, a
			    latent cache, sparse or linear attention count as one more each */
	FIT_FIRST_MS,	 /* a request's way to the engine and back, ms */
	FIT_TOKEN_US,	 /* a prompt token's way through text and tokenizer, us */
	FIT_LINK_US,	 /* one all-reduce inside a machine, us */
	FIT_NET_US,	 /* one all-reduce between machines, us */
	FIT_LINK,	 /* part of the link's bandwidth that an all-reduce reaches */
	FIT_WIDTH,	 /* hidden width at which half of the bandwidth is reached */
	FIT_FOUR,	 /* bandwidth of 4-bit weights against others */
	FIT_MATH_BLOCK,	 /* part of the FP8 peak with a scale for each block of a matrix */
	FIT_SCAN,	 /* linear attention: TB/s of state that a prompt passes through */
	FIT_CAST_US,  /* a layer's more where what goes into a multiplication is made FP8 or FP4, us
		       */
	FIT_TOUCH_US, /* each expert that a step reaches, whatever its width, us */
	FIT_SPREAD,   /* how evenly tokens choose among experts, 0 to 1 (arch_experts_reached) */
	FIT_HOST_US,  /* the CPU's work for a sequence in each step, beside the GPU's, us */
	FIT_LAG,      /* steps between a prompt's and its first token's way to the user */
	FIT_FILL_US,  /* each expert that a chunk of a prompt reaches, whatever its width, us */
	FIT_EXPERT_ROWS, /* tokens of one expert at which half of its rate is reached */
	FIT_MOE_US,	 /* launches of a layer with experts, in place of a dense layer's, us */
	FIT_MLA_US,	 /* more for a layer with a latent cache, us */
	FIT_INDEX_US, /* more for a layer with sparse attention, which finds its tokens first, us */
	FIT_NARROW,   /* width of a matrix's part on one GPU at which half of its rate is reached */
	FITS,
};

struct fit {
	double v[FITS];
};

extern const char *const fit_names[FITS];
extern const char *const engine_names[ENGINES];
extern const char *const hardware_names[HARDWARES];

/* Which measurement decides a constant, in words that follow "missing: ". */
const char *calibrate_missing(enum fit_id id);
/* Standard deviation of the logarithm that a constant has before anything is measured here, and its
 * bounds; 0: it is never fitted. */
double calibrate_prior(enum fit_id id, double *low, double *high);

/* All sets; the built-in ones unless a file replaced some. */
struct fits {
	struct fit of[ENGINES][HARDWARES];
	const char *origin;
};

void fits_default(struct fits *f);
/* Each line "name = value" (above 0, up to 1e6) to take; blank lines and # are skipped. -EINVAL
 * names a line that is another or that take refuses, and form: what a line is. */
typedef int fit_taker(void *ctx, const char *name, size_t len, double value);
int fit_lines(const char *text, fit_taker *take, void *ctx, const char *form, struct err *e);
/* Lines "vllm.unified.dense = 0.85"; blank lines and # are skipped. -EINVAL names the line. */
int fits_read(struct fits *f, const char *text, struct err *e);
/* "vllm", "TensorRT-LLM", "ollama"; ENGINES: none of them. */
enum engine engine_parse(const char *text);

/*
 * What can be changed about a way to serve a model, and how well the gain of each kind of change
 * was predicted: pairs of published measurements that differ in that one thing, the measured
 * ratio over the predicted one, the family left out of the fit. Pure.
 */

enum change_kind {
	CHANGE_WEIGHTS, /* in another format */
	CHANGE_CACHE,	/* keys and values in another format */
	CHANGE_LAYOUT,	/* tensor parallelism, stages, copies on the same GPUs */
	CHANGE_MACHINES,
	CHANGE_USERS, /* requests at a time */
	CHANGE_DRAFT,
	CHANGE_PREFIX,
	CHANGE_CHUNK,
	CHANGE_GRAPHS,
	CHANGE_ENGINE,
	CHANGE_MODEL,
	CHANGE_CLOCK,
	CHANGE_SEVERAL,
	CHANGES,
};

extern const char *const change_names[CHANGES];

/* A gain as measured over the same gain as predicted: the tenth and ninetieth of a hundred. */
struct change_spread {
	enum change_kind kind;
	enum hardware hardware; /* HARDWARES: both */
	int measure;		/* enum measure */
	double low, high;
	int pairs, families;
};

/* Written by scripts/fit. */
extern const struct change_spread change_spreads[];
extern const size_t change_spread_count;

/* Of this hardware, else of both; NULL: no two measurements differ in that alone. */
const struct change_spread *change_spread_of(enum change_kind kind, enum hardware hardware,
					     int measure);

#endif
