/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few constants that are fitted, not derived: one set for each engine on each kind of
 * hardware. Every one is a part of a physical limit or a time; docs/PREDICT.md says what each was
 * fitted on. tests/predict/fit.py fits them; a user's own set comes as a file of "name = value".
 */
#ifndef INFERENCE_FIT_H
#define INFERENCE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "knowledge/engine_options.h"

/* What the fitting knows apart. */
enum hardware { HARDWARE_UNIFIED, HARDWARE_SERVER, HARDWARES };

enum fit_id {
	FIT_DENSE,  /* part of the memory bandwidth that weights every token takes are read with */
	FIT_EXPERT, /* the same for routed experts */
	FIT_CACHE,  /* the same for keys and values */
	FIT_LAYER_US,  /* a layer's launches and small kernels, us */
	FIT_LINEAR_US, /* a linear layer's more, us */
	FIT_STEP_MS,   /* a step's scheduling and sampling, ms */
	FIT_SEQ_US,    /* a sequence's part in a step, us */
	FIT_MATH_HALF, /* part of the peak that a prompt's multiplications reach, by format */
	FIT_MATH_FP8,
	FIT_MATH_FP4,
	FIT_MATH_WEIGHT,  /* of the BF16 peak: weights unpacked, then multiplied */
	FIT_MATH_GGML,	  /* of the INT8 peak */
	FIT_MATH_EXPERT,  /* what experts reach of that */
	FIT_ROWS,	  /* tokens of one matrix at which half of it is reached */
	FIT_MATH_CACHE,	  /* part of the BF16 peak that attention reaches */
	FIT_CHUNK_US,	  /* a layer's time in each chunk of a prompt besides, us */
	FIT_FIRST_MS,	  /* a request's way to the engine and back, ms */
	FIT_FIRST_SEQ_MS, /* more for each other request at the same time, ms */
	FIT_LINK_US,	  /* one all-reduce inside a machine, us */
	FIT_NET_US,	  /* one all-reduce between machines, us */
	FIT_LINK,	  /* part of the link's bandwidth that an all-reduce reaches */
	FIT_QUEUE,	  /* how much requests that come in turn wait for each other's prompts */
	FIT_FINISH,	  /* part of the time that all users are busy in a run to the end */
	FIT_WIDTH,	  /* hidden width at which half of the bandwidth is reached */
	FIT_FOUR,	  /* bandwidth of 4-bit weights against others */
	FIT_MATH_BLOCK,	  /* part of the FP8 peak with a scale for each block of a matrix */
	FIT_SCAN,	  /* linear attention: TB/s of state that a prompt passes through */
	FIT_CAST_US,  /* a layer's more where what goes into a multiplication is made FP8 or FP4, us
		       */
	FIT_TOUCH_US, /* each expert that a step reaches, whatever its width, us */
	FIT_SPREAD,   /* how much requests differ in the experts they choose, 0 to 1 */
	FIT_HOST_US,  /* the CPU's work for a sequence in each step, beside the GPU's, us */
	FIT_LAG,      /* steps between a prompt's and its first token's way to the user */
	FIT_FILL_US,  /* each expert that a chunk of a prompt reaches, whatever its width, us */
	FIT_EXPERT_ROWS, /* tokens of one expert at which half of its rate is reached */
	FITS,
};

struct fit {
	double v[FITS];
};

extern const char *const fit_names[FITS];
extern const char *const engine_names[ENGINES];
extern const char *const hardware_names[HARDWARES];

/* All sets; the built-in ones unless a file replaced some. */
struct fits {
	struct fit of[ENGINES][HARDWARES];
	const char *origin;
};

void fits_default(struct fits *f);
/* Lines "vllm.unified.dense = 0.85"; blank lines and # are skipped. -EINVAL names the line. */
int fits_read(struct fits *f, const char *text, struct err *e);
/* "vllm", "TensorRT-LLM", "ollama"; ENGINES: none of them. */
enum engine engine_parse(const char *text);

/* Written by tests/predict/fit.py: a set for each engine and kind of hardware, by enum fit_id. */

/* clang-format off */
static const struct fit fit_table[ENGINES][HARDWARES] = {
	{
		{ { 0.8425, 0.8432, 0.9921, 4.831, 4.788, 0.2907, 9.826, 0.598, 0.378, 0.6233, 0.4032, 0.5,
		    1, 8.062, 0.5391, 19.9, 24.2, 1, 15, 61.63, 0.75, 1, 0.975, 393.9,
		    0.9135, 0.1547, 1.624, 1, 2.562, 0.7171, 5, 0.5, 0.01, 6.286 } },
		{ { 0.95, 0.8479, 1, 57.56, 10, 0.3975, 4.69, 0.6031, 0.9, 0.3, 0.7149, 0.5,
		    0.3029, 28.56, 1, 16.23, 7.685, 1, 9.496, 78, 1, 1, 0.95, 100,
		    0.95, 0.3595, 1.871, 21.02, 0.2456, 0.75, 30.04, 0.5708, 1.989, 6.535 } },
	},
	{
		{ { 0.8425, 0.8432, 0.9921, 4.831, 4.788, 0.2907, 9.826, 0.598, 0.378, 0.6233, 0.4032, 0.5,
		    1, 8.062, 0.5391, 19.9, 24.2, 1, 15, 61.63, 0.75, 1, 0.975, 393.9,
		    0.9135, 0.1547, 1.624, 1, 2.562, 0.7171, 5, 0.5, 0.01, 6.286 } },
		{ { 0.9497, 0.8822, 0.95, 73.23, 10, 0.4201, 5.679, 0.6215, 0.8997, 0.3, 0.8981, 0.5,
		    0.3923, 29.13, 0.9968, 17.88, 142.5, 1, 11.64, 78, 1, 1, 0.95, 100,
		    0.95, 0.4038, 2.594, 24.71, 0.2595, 0.75, 29.02, 2.199, 1.832, 7.628 } },
	},
	{
		{ { 0.8425, 0.8432, 0.9921, 4.831, 4.788, 0.2907, 9.826, 0.598, 0.378, 0.6233, 0.4032, 0.5,
		    1, 8.062, 0.5391, 19.9, 24.2, 1, 15, 61.63, 0.75, 1, 0.975, 393.9,
		    0.9135, 0.1547, 1.624, 1, 2.562, 0.7171, 5, 0.5, 0.01, 6.286 } },
		{ { 0.95, 0.8532, 1, 65.38, 10, 0.4146, 5.621, 0.7792, 0.1, 0.3, 0.95, 0.5,
		    0.4158, 28.85, 1, 18.04, 26.45, 1, 12.26, 78, 1, 1, 0.95, 100,
		    0.95, 0.3331, 1.871, 33.8, 0.3559, 0.75, 43.76, 8.975, 4.373, 7.432 } },
	},
	{
		{ { 0.7153, 0.6803, 0.3995, 21.22, 11.92, 0.3, 10.03, 0.6, 0.45, 0.3, 0.5, 0.218,
		    0.7, 32, 0.4317, 49.98, 40, 1, 15, 78, 0.75, 1, 0.95, 101.3,
		    0.95, 0.3, 1.5, 5, 0.01, 0.2822, 5, 0.5, 0.01, 32 } },
		{ { 0.7153, 0.6803, 0.3995, 21.22, 11.92, 0.3, 10.03, 0.6, 0.45, 0.3, 0.5, 0.218,
		    0.7, 32, 0.4317, 49.98, 40, 1, 15, 78, 0.75, 1, 0.95, 101.3,
		    0.95, 0.3, 1.5, 5, 0.01, 0.2822, 5, 0.5, 0.01, 32 } },
	},
	{
		{ { 0.8425, 0.8432, 0.9921, 4.831, 4.788, 0.2907, 9.826, 0.598, 0.378, 0.6233, 0.4032, 0.5,
		    1, 8.062, 0.5391, 19.9, 24.2, 1, 15, 61.63, 0.75, 1, 0.975, 393.9,
		    0.9135, 0.1547, 1.624, 1, 2.562, 0.7171, 5, 0.5, 0.01, 6.286 } },
		{ { 0.8376, 0.65, 0.7767, 35.04, 10, 0.5, 9.771, 0.6532, 0.5256, 0.3, 0.5, 0.5,
		    0.5, 29.55, 0.4227, 4.99, 0.2994, 1, 10, 78, 1, 1, 0.95, 99.63,
		    0.95, 0.42, 1.5, 20.26, 0.3, 0.75, 2, 2.5, 1.5, 8 } },
	},
};
/* clang-format on */

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

/* Written by tests/predict/fit.py. */
extern const struct change_spread change_spreads[];
extern const size_t change_spread_count;

/* Of this hardware, else of both; NULL: no two measurements differ in that alone. */
const struct change_spread *change_spread_of(enum change_kind kind, enum hardware hardware,
					     int measure);

#endif
