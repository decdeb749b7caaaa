/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each constant can be, how well it is known before anything is measured here, and which
 * measurement decides it. Widths are how far classes of hardware and engines lie apart in the
 * built-in table.
 */
#include "models/inference/calibrate.h"

static const struct {
	double sigma, low, high; /* of the logarithm; of the value */
	const char *missing;
} rows[FITS] = {
	[FIT_DENSE] = { 0.15, 0.2, 1, "tokens/s of one request, dense model of 7B or more" },
	[FIT_EXPERT] = { 0.2, 0.2, 1, "tokens/s of one request, model with experts" },
	[FIT_CACHE] = { 0.3, 0.1, 1, "tokens/s at a context of 32K tokens or more" },
	[FIT_LAYER_US] = { 0.6, 0.1, 500, "tokens/s of one request, small model (1B to 3B)" },
	[FIT_LINEAR_US] = { 0.6, 0.1, 500,
			    "tokens/s of one request, small model with linear attention" },
	[FIT_STEP_MS] = { 0.6, 0.01, 50,
			  "tokens/s of one request, two small models of different depth" },
	[FIT_SEQ_US] = { 0.6, 0.01, 1000, "time per token with 32 requests at a time or more" },
	[FIT_MATH_HALF] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in BF16" },
	[FIT_MATH_FP8] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in FP8" },
	[FIT_MATH_FP4] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in NVFP4" },
	[FIT_MATH_WEIGHT] = { 0.3, 0.02, 1,
			      "prompt of 2,048 tokens or more, weights in AWQ or GPTQ" },
	[FIT_MATH_GGML] = { 0.3, 0.02, 1, "llama-bench -p 2048, quantised weights" },
	[FIT_MATH_EXPERT] = { 0.4, 0.02, 1, "prompt of 2,048 tokens or more, model with experts" },
	[FIT_ROWS] = { 0.6, 1, 1000, "prompts of 128, 512 and 2,048 tokens" },
	[FIT_MATH_CACHE] = { 0.4, 0.02, 1, "prompt of 32K tokens or more" },
	[FIT_CHUNK_US] = { 0.6, 0.1, 2000, "prompt of 128 tokens, small model" },
	[FIT_FIRST_MS] = { 0.8, 0.05, 5000, "time to first token of a prompt of 32 tokens" },
	[FIT_LINK_US] = { 0.5, 1, 1000, "tokens/s of one request with and without --tp 2" },
	[FIT_NET_US] = { 0.5, 2, 5000, "tokens/s of one request on one and on two machines" },
	[FIT_LINK] = { 0.3, 0.1, 1, "prompt of 8K tokens or more with tensor parallelism" },
	[FIT_QUEUE] = { 0.5, 0.05, 3, "time to first token at 4, 16 and 64 requests at a time" },
	[FIT_MATH_BLOCK] = { 0.3, 0.02, 1,
			     "prompt of 2,048 tokens or more, weights in FP8 with block scales" },
	[FIT_SCAN] = { 0.5, 0.05, 20, "prompt of 8K tokens or more, model with linear attention" },
	[FIT_CAST_US] = { 0.6, 0.05, 200, "tokens/s of one request, small model in FP8 or FP4" },
	[FIT_TOUCH_US] = { 0.6, 0.01, 50,
			   "time per token at 1, 8 and 32 requests, model with experts" },
	[FIT_SPREAD] = { 0.3, 0.05, 1,
			 "time per token at 1, 2, 4 and 8 requests, model with experts" },
	[FIT_HOST_US] = { 0.6, 0.5, 500, "time per token at 64 requests or more, small model" },
	[FIT_LAG] = { 0.5, 0.1, 20, "time to first token at 4, 16 and 64 requests at a time" },
	[FIT_FILL_US] = { 0.6, 0.001, 100, "prompt of 1,024 tokens, model with experts" },
	[FIT_EXPERT_ROWS] = { 0.6, 0.5, 1000,
			      "time per token at 8, 32 and 128 requests, model with experts" },
};

const char *calibrate_missing(enum fit_id id)
{
	return rows[id].missing;
}

double calibrate_prior(enum fit_id id, double *low, double *high)
{
	*low = rows[id].low;
	*high = rows[id].high;
	return rows[id].sigma;
}
