/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM and what is made of it (Megatron-DeepSpeed, Megatron Bridge): the line of an
 * iteration, "key: value" between bars, and counts of parameters.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const struct {
	const char *key;
	enum figure_kind kind;
	double factor;
} keys[] = {
	{ "elapsed time per iteration (ms):", FIGURE_STEP_S, 1e-3 },
	{ "elapsed time per iteration (s):", FIGURE_STEP_S, 1 },
	{ "throughput per GPU (TFLOP/s/GPU):", FIGURE_TFLOPS_PER_GPU, 1 },
	{ "compute per GPU (TFLOP/s/GPU):", FIGURE_TFLOPS_PER_GPU, 1 },
	{ "TFLOPs:", FIGURE_TFLOPS_PER_GPU, 1 },
	{ "Tokens per second per GPU (Tok/s/GPU):", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "tokens per GPU (tokens/s/GPU):", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "tokens/s/GPU inst/harmonic mean:", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "tokens per gpu per second (tgs):", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "samples per second:", FIGURE_SAMPLES_PER_S, 1 },
	{ "lm loss:", FIGURE_LOSS, 1 },
};

/* " iteration       10/     500 | ..." */
static bool iteration(struct log *l, const char *s)
{
	const char *at = strstr(s, "iteration"), *end = "";
	double n, batch;

	n = at ? read_number(at + strlen("iteration"), &end) : (double)NAN;
	if (isnan(n) || *end != '/')
		return false;
	l->at.step = read_whole(n, -1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		double v = read_after(end, keys[i].key);

		if (!isnan(v))
			log_figure(l, keys[i].kind, keys[i].factor * v, NULL);
	}
	batch = read_after(end, "global batch size:");
	if (batch > 0) {
		TEXT_AUTO t = { 0 };

		text_printf(&t, "%.15g", batch);
		log_trait_once(l, TRAIT_GLOBAL_BATCH, t.s, batch);
	}
	return true;
}

/* "[Rank 0] (after 1 iterations) memory (MB) | allocated: 9334.4 | ... | max reserved: 16334.0" */
static bool memory(struct log *l, const char *s)
{
	const char *rank = strstr(s, "[Rank ");
	double mib = read_after(s, "max reserved:");
	struct read_place at = l->at;
	struct figure_seen f;

	if (isnan(mib) || !strstr(s, "memory (MB) |"))
		return false;
	at.rank = rank ? read_rank(read_number(rank + 6, NULL), at.rank) : at.rank;
	f = read_seen(&at, FIGURE_GPU_MEMORY, 1048576.0 * mib);
	f.step = -1;
	f.text = "reserved by torch";
	evidence_figure(l->at.ev, f);
	return true;
}

/* Megatron Bridge, before the line of an iteration: "Step Time : 5.39s GPU utilization:
 * 2347.0MODEL_TFLOP/s/GPU". The time stands there as well, in milliseconds. */
static bool operations(struct log *l, const char *s)
{
	double v = read_after(s, "GPU utilization:");
	struct read_place at = l->at;

	if (isnan(v) || !strstr(s, "MODEL_TFLOP/s/GPU"))
		return false;
	at.step = -1;
	read_figure(&at, FIGURE_TFLOPS_PER_GPU, v, NULL);
	return true;
}

static bool parameters(struct log *l, const char *s)
{
	double billions = read_after(s, "Total number of parameters in billions:"), shard;

	if (isnan(billions) && !strstr(s, "Total number"))
		billions = read_after(s, "Number of parameters in billions:");
	if (billions > 0) {
		read_trait_count(&l->at, TRAIT_PARAMETERS, 1e9 * billions);
		return true;
	}
	/* Of a shard; the whole only where there is one. */
	shard = read_after(s, "model parallel rank (0, 0)");
	if (shard > 0 && l->tp > 0 && l->tp * l->pp < 1.5) {
		read_trait_count(&l->at, TRAIT_PARAMETERS, shard);
		return true;
	}
	return shard > 0;
}

static bool line(struct log *l, const char *s)
{
	if (strstr(s, "elapsed time per iteration ("))
		return iteration(l, s);
	return memory(l, s) || operations(l, s) || parameters(l, s);
}

static const char *const marks[] = { "elapsed time per iteration (",
				     "umber of parameters in billions:",
				     "memory (MB) |",
				     "MODEL_TFLOP/s/GPU",
				     "model parallel rank (0, 0)",
				     NULL };
const struct log_reader log_megatron = {
	.framework = "megatron-lm", .format = "Megatron-LM log", .marks = marks, .line = line
};
