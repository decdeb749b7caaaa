/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of small training programs (nanoGPT and its children, llm.c, LitGPT, torchtune), MaxText's,
 * and keys of metrics that several loggers share (Composer, LLM Foundry, OLMo, Lightning's
 * throughput monitor).
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const struct {
	const char *key;
	enum figure_kind kind;
	double factor; /* 0: the figure is one by it */
} metrics[] = {
	{ "throughput/tokens_per_sec", FIGURE_TOKENS_PER_S, 1 },
	{ "throughput/samples_per_sec", FIGURE_SAMPLES_PER_S, 1 },
	{ "throughput/batches_per_sec", FIGURE_STEP_S, 0 },
	{ "throughput/device/tokens_per_second", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "throughput/device/tokens_per_sec", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "throughput/device/flops_per_sec", FIGURE_TFLOPS_PER_GPU, 1e-12 },
	{ "throughput/device/mfu", FIGURE_MFU, 1 },
	{ "throughput(tps)", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "time_metrics/end_to_end(s)", FIGURE_STEP_S, 1 },
	{ "time_metrics/data_loading(s)", FIGURE_DATA_S, 1 },
	{ "loss_metrics/global_avg_loss", FIGURE_LOSS, 1 },
	{ "mfu(%)", FIGURE_MFU, 0.01 },
	{ "tflops", FIGURE_TFLOPS_PER_GPU, 1 },
	{ "memory/num_alloc_retries", FIGURE_ALLOC_RETRIES, 1 },
	{ "samples_per_sec", FIGURE_SAMPLES_PER_S, 1 },
	/* Lightning's without "device/" counts each device's own batch. */
	{ "device/batches_per_sec", FIGURE_STEP_S, 0 },
	{ "device/flops_per_sec", FIGURE_TFLOPS_PER_GPU, 1e-12 },
	{ "device/mfu", FIGURE_MFU, 1 },
	{ "tokens_per_second_per_gpu", FIGURE_TOKENS_PER_S_PER_GPU, 1 },
	{ "train_loss", FIGURE_LOSS, 1 },
	{ "train/loss", FIGURE_LOSS, 1 },
	{ "train_loss_step", FIGURE_LOSS, 1 },
	{ "loss", FIGURE_LOSS, 1 },
	{ "step_time", FIGURE_STEP_S, 1 },
};

bool read_metric_key(const struct read_place *p, const char *key, double value)
{
	if (str_starts(key, "train|") || str_starts(key, "train/device/"))
		key += strlen("train|");
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strcmp(metrics[i].key, key) == 0) {
			double v = metrics[i].factor > 0 ? metrics[i].factor * value : 1 / value;

			if (!isnan(value))
				read_figure(p, metrics[i].kind, v, key);
			return !isnan(value);
		}
	return false;
}

/* A key with a slash anywhere in a line, its number behind ':', '=' or a quote. */
static bool plain_shared(struct log *l, const char *s)
{
	bool told = false;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		const char *key = metrics[i].key, *at = strpbrk(key, "/(") ? strstr(s, key) : NULL;
		const char *end = at ? at + strlen(key) : NULL;

		if (!at || !strchr(" :='\"", *end) || !*end ||
		    (at > s && (isalnum((unsigned char)at[-1]) || strchr("/_-", at[-1]))))
			continue;
		told |= read_metric_key(&l->at, key, read_number(end, NULL));
	}
	return told;
}

/* The number before unit, behind what and the like. */
static void plain_before(struct log *l, const char *s, const char *unit, enum figure_kind kind,
			 double factor)
{
	const char *at = strstr(s, unit), *p = at;

	while (p && p > s && (isdigit((unsigned char)p[-1]) || strchr(".,", p[-1])))
		p--;
	if (at && p < at)
		log_figure(l, kind, factor * read_number(p, NULL), NULL);
}

/* "iter 10: loss 2.34, time 123.45ms, mfu 34.56%" */
static bool nano(struct log *l, const char *s)
{
	const char *at = strstr(s, "iter "), *end = "";
	double n = at ? read_number(at + 5, &end) : (double)NAN;

	if (isnan(n) || *end != ':' || !strstr(end, ", time "))
		return false;
	l->at.step = read_whole(n, -1);
	log_figure(l, FIGURE_LOSS, read_after(end, "loss"), NULL);
	log_figure(l, FIGURE_STEP_S, 1e-3 * read_after(end, ", time "), NULL);
	/* Before the fifth iteration it says -100 %. */
	log_figure(l, FIGURE_MFU, read_after(end, "mfu ") / 100, NULL);
	return true;
}

/* "step   10 | loss: 3.2 | ... | dt: 123.45ms | tok/sec: 12345.67",
 * "step 1/100 | loss 4.3 (+nanz)| ... | 123.45 ms | 45.1% bf16 MFU | 123456 tok/s" */
static bool gpt2(struct log *l, const char *s)
{
	const char *at = strstr(s, "step "), *bar = at ? strchr(at, '|') : NULL;
	double n = at ? read_number(at + 5, NULL) : (double)NAN, rate;

	if (isnan(n) || !bar)
		return false;
	l->at.step = read_whole(n, -1);
	log_figure(l, FIGURE_LOSS, read_after(bar, "loss"), NULL);
	if (strstr(bar, "dt:"))
		log_figure(l, FIGURE_STEP_S, 1e-3 * read_after(bar, "dt:"), NULL);
	else
		plain_before(l, bar, " ms |", FIGURE_STEP_S, 1e-3);
	rate = read_after(bar, "tok/sec:");
	if (!isnan(rate))
		log_figure(l, FIGURE_TOKENS_PER_S, rate, NULL);
	else
		plain_before(l, bar, " tok/s", FIGURE_TOKENS_PER_S, 1);
	plain_before(l, bar, "% bf16 MFU", FIGURE_MFU, 0.01);
	return true;
}

/* "Epoch 1 | iter 8 step 8 | loss train: 1.2, val: n/a | iter time: 234.56 ms (step)" */
static bool lit(struct log *l, const char *s)
{
	double t = read_after(s, "iter time:");

	if (isnan(t))
		return false;
	l->at.step = read_whole(read_after(s, " step "), l->at.step);
	log_figure(l, FIGURE_LOSS, read_after(s, "loss train:"), NULL);
	log_figure(l, FIGURE_STEP_S, 1e-3 * t, "iteration");
	return true;
}

/* "Step 10 | loss:1.2 lr:2e-5 tokens_per_second_per_gpu:1234.5 peak_memory_alloc:..." */
static bool plain_tune(struct log *l, const char *s)
{
	double v = read_after(s, "tokens_per_second_per_gpu:"), n = read_after(s, "Step ");

	if (isnan(v))
		return false;
	l->at.step = read_whole(n, l->at.step);
	log_figure(l, FIGURE_TOKENS_PER_S_PER_GPU, v, NULL);
	log_figure(l, FIGURE_LOSS, read_after(s, "loss:"), NULL);
	return true;
}

/* "completed step: 3, seconds: 1.952, TFLOP/s/device: 200.1, Tokens/s/device: 4200.5, ..., loss:
 * 9.8"; before 2024 "TFLOP/s: 200.1". */
static bool maxtext(struct log *l, const char *s)
{
	const char *at = strstr(s, "completed step:");
	double step = at ? read_after(at, "step:") : (double)NAN,
	       seconds = at ? read_after(at, ", seconds:") : (double)NAN, tflops;

	if (isnan(step) || isnan(seconds))
		return false;
	l->at.step = read_whole(step, -1);
	tflops = read_after(at, "TFLOP/s/device:");
	log_figure(l, FIGURE_STEP_S, seconds, NULL);
	log_figure(l, FIGURE_TFLOPS_PER_GPU, isnan(tflops) ? read_after(at, "TFLOP/s:") : tflops,
		   NULL);
	log_figure(l, FIGURE_TOKENS_PER_S_PER_GPU, read_after(at, "Tokens/s/device:"), NULL);
	log_figure(l, FIGURE_LOSS, read_after(at, " loss:"), NULL);
	return true;
}

static bool plain_line(struct log *l, const char *s)
{
	const char *batch = strstr(s, "[batch=");

	if (batch) {
		l->at.step = read_whole(read_number(batch + 7, NULL), -1);
		return true;
	}
	return nano(l, s) || maxtext(l, s) || lit(l, s) || gpt2(l, s) || plain_tune(l, s) ||
	       plain_shared(l, s);
}

static const char *const marks[] = { ", time ",		"tok/s",
				     "iter time:",	"throughput/",
				     "time_metrics/",	"throughput(tps)",
				     "[batch=",		"tokens_per_second_per_gpu:",
				     "completed step:", NULL };
const struct log_reader log_plain = { .format = "training log",
				      .marks = marks,
				      .line = plain_line };
