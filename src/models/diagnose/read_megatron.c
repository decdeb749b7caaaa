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
static bool megatron_memory(struct log *l, const char *s)
{
	const char *rank = strstr(s, "[Rank ");
	double mib = read_after(s, "max reserved:");
	struct read_place at = l->at;
	struct metric_sample f;

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
static bool megatron_operations(struct log *l, const char *s)
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
	return megatron_memory(l, s) || megatron_operations(l, s) || parameters(l, s);
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

/*
 * NeMo (1.x and 2.x): the line of an iteration, "key: value" between bars, and the progress bar of
 * 1.x, "key=value" in its brackets. Its bar has no rate, but for the time of a step.
 */

static const struct {
	const char *key; /* ':' or '=' follows */
	enum figure_kind kind;
} nemo_keys[] = {
	{ "train_step_timing in s", FIGURE_STEP_S },
	{ "train_backward_timing in s", FIGURE_BACKWARD_S },
	{ "reduced_train_loss", FIGURE_LOSS },
	{ "tokens_per_sec_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU },
	{ "TFLOPS_per_GPU", FIGURE_TFLOPS_PER_GPU },
	{ "peak_memory_usage", FIGURE_GPU_MEMORY },
};

/* The number of a key that is the whole word before ':' or '='; NAN: none. */
static double megatron_value_of(const char *s, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = s; (at = strstr(at, key)); at += n)
		if ((at == s || strchr(" |,[", at[-1])) && (at[n] == ':' || at[n] == '='))
			return read_number(at + n, NULL);
	return (double)NAN;
}

static bool nemo_line(struct log *l, const char *s)
{
	double step = megatron_value_of(s, "global_step"),
	       batch = megatron_value_of(s, "global_batch_size");
	bool told = false;

	if (isnan(megatron_value_of(s, nemo_keys[0].key)))
		return false;
	l->at.step = read_whole(step, -1);
	for (size_t i = 0; i < sizeof(nemo_keys) / sizeof(nemo_keys[0]); i++) {
		double v = megatron_value_of(s, nemo_keys[i].key);

		if (isnan(v))
			continue;
		log_figure(l, nemo_keys[i].kind, v, NULL);
		told = true;
	}
	if (batch > 0) {
		TEXT_AUTO t = { 0 };

		text_printf(&t, "%.15g", batch);
		log_trait_once(l, TRAIT_GLOBAL_BATCH, t.s, batch);
	}
	return told;
}

static const char *const nemo_marks[] = { "train_step_timing in s", NULL };
const struct log_reader log_nemo = {
	.framework = "nemo", .format = "NeMo log", .marks = nemo_marks, .line = nemo_line
};

/*
 * Timers of Megatron-LM and DeepSpeed: "time (ms) | fwd: 1.0 | bwd: 2.0" on a line, or a list below
 * a title with the least and the greatest of all ranks, or with each rank's.
 */

static const struct {
	const char *name;
	enum figure_kind kind;
} timers[] = {
	{ "forward-compute", FIGURE_FORWARD_S },
	{ "backward-compute", FIGURE_BACKWARD_S },
	{ "batch-generator", FIGURE_DATA_S },
	{ "optimizer", FIGURE_OPTIMIZER_S },
	{ "all-grads-sync", FIGURE_COMM_S },
	{ "grads-all-reduce", FIGURE_COMM_S },
	{ "grads-reduce-scatter", FIGURE_COMM_S },
	{ "params-all-gather", FIGURE_COMM_S },
	{ "layernorm-grads-all-reduce", FIGURE_COMM_S },
	{ "embedding-grads-all-reduce", FIGURE_COMM_S },
	{ "backward-params-all-reduce", FIGURE_COMM_S },
	{ "backward-embedding-all-reduce", FIGURE_COMM_S },
	{ "backward-gather-model-params", FIGURE_COMM_S },
	{ "forward-recv", FIGURE_COMM_S },
	{ "forward-send", FIGURE_COMM_S },
	{ "backward-recv", FIGURE_COMM_S },
	{ "backward-send", FIGURE_COMM_S },
	{ "forward-send-forward-recv", FIGURE_COMM_S },
	{ "forward-send-backward-recv", FIGURE_COMM_S },
	{ "backward-send-forward-recv", FIGURE_COMM_S },
	{ "backward-send-backward-recv", FIGURE_COMM_S },
	{ "save-checkpoint", FIGURE_CHECKPOINT_S },
	/* DeepSpeed, before and since 0.10. Its backward holds the all-reduce. */
	{ "forward", FIGURE_FORWARD_S },
	{ "fwd", FIGURE_FORWARD_S },
	{ "backward_inner", FIGURE_BACKWARD_S },
	{ "bwd_inner", FIGURE_BACKWARD_S },
	{ "backward_allreduce", FIGURE_COMM_S },
	{ "bwd_allreduce", FIGURE_COMM_S },
	{ "step", FIGURE_OPTIMIZER_S },
	{ "batch_input", FIGURE_DATA_S },
	{ "pipe_send_output", FIGURE_COMM_S },
	{ "pipe_send_grad", FIGURE_COMM_S },
	{ "pipe_recv_input", FIGURE_COMM_S },
	{ "pipe_recv_grad", FIGURE_COMM_S },
};

/* A timer by the name that Megatron-LM or DeepSpeed has for it; ending is added to the text. */
static bool log_timer(struct log *l, const char *name, size_t n, double ms, const char *ending)
{
	char text[80];

	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		size_t len = strlen(timers[i].name), more = strlen(ending);

		if (len != n || memcmp(timers[i].name, name, n) != 0)
			continue;
		if (len + more >= sizeof(text) || isnan(ms))
			return false;
		memcpy(text, name, n);
		memcpy(text + n, ending, more + 1);
		log_figure(l, timers[i].kind, 1e-3 * ms, text);
		return true;
	}
	return false;
}

static bool is_rank(struct log *l, const char *s)
{
	double r = read_after(s, "rank=");

	if (r >= 0 && r < 1e6)
		l->at.rank = (int)r;
	return r >= 0;
}

/* "... time (ms) | name: 1.0 | name: 2.0" */
static bool in_line(struct log *l, const char *s)
{
	const char *p = strstr(s, "time (ms) |");
	bool told = false;

	is_rank(l, s);
	for (p = strchr(p, '|'); p; p = strchr(p, '|')) {
		const char *colon;

		p += 1 + strspn(p + 1, " ");
		colon = strchr(p, ':');
		if (!colon || (strchr(p, '|') && strchr(p, '|') < colon))
			continue;
		told |= log_timer(l, p, (size_t)(colon - p), read_number(colon, NULL), "");
	}
	return told;
}

/* "    forward-compute ......: (1.0, 2.0)", "...: 2.0", or a name and then "rank  0: 1.0". */
static enum log_row megatron_row(struct log *l, const char *s)
{
	const char *name = s + strspn(s, " \t"), *colon, *end;
	size_t n = strcspn(name, " :");
	double least, most;

	if (strncmp(name, "rank", n) == 0 && n == 4) {
		double r = read_number(name + n, &end);

		if (!(r >= 0 && r < 1e6) || *end != ':')
			return LOG_END;
		l->at.rank = (int)r;
		log_timer(l, l->table.op, strlen(l->table.op), read_number(end, NULL), "");
		return LOG_ROW;
	}
	colon = strchr(name, ':');
	if (name == s || !n || !colon || strspn(name + n, " .") != (size_t)(colon - name) - n)
		return LOG_END;
	if (n < sizeof(l->table.op)) {
		memcpy(l->table.op, name, n);
		l->table.op[n] = '\0';
	}
	end = colon + 1 + strspn(colon + 1, " ");
	if (*end == '(') {
		least = read_number(end + 1, &end);
		if (isnan(least) || *end != ',')
			return LOG_END;
		most = read_number(end + 1, NULL);
		log_timer(l, name, n, least, " (min)");
		log_timer(l, name, n, most, " (max)");
	} else if (*end) {
		log_timer(l, name, n, read_number(end, NULL), "");
	}
	return LOG_ROW;
}

static bool timers_line(struct log *l, const char *s)
{
	const char *rest;

	if (strstr(s, "time (ms) |"))
		return in_line(l, s);
	log_table(l, &log_timers);
	/* Some loggers put the first timer behind the title. */
	rest = strstr(s, "(ms):");
	return rest && rest[5] == ' ' ? megatron_row(l, rest + 5) == LOG_ROW : true;
}

static const char *const timers_marks[] = { "time (ms) |", "time across ranks (ms):",
					    "times across ranks (ms):", "time (ms):", NULL };
const struct log_reader log_timers = { .marks = timers_marks,
				       .line = timers_line,
				       .row = megatron_row };
