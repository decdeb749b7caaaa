/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSpeed (0.3 to 0.17): lines of steps and of its throughput timer, the profile of operations,
 * and the table of its communication logger.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const double gib = 1073741824.0;

/* "step=40, skipped=2, lr=[...": timers and samples that follow are of that step. */
static bool step(struct log *l, const char *s)
{
	const char *at = strstr(s, "step=");
	double n = at && strstr(at, ", skipped=") ? read_number(at + 5, NULL) : (double)NAN;

	l->at.step = read_whole(n, l->at.step);
	return !isnan(n);
}

/* "0/40, SamplesPerSec=83.4, ..." or "epoch=0/micro_step=20/global_step=10,
 * RunningAvgSamplesPerSec=1, CurrSamplesPerSec=2, MemAllocated=1.8GB, MaxMemAllocated=6.1GB". */
static bool deepspeed_samples(struct log *l, const char *s)
{
	double now = read_after(s, "CurrSamplesPerSec="), mean = read_after(s, "SamplesPerSec="),
	       memory = read_after(s, "MaxMemAllocated=");
	const char *at = strstr(s, "SamplesPerSec=");

	if (isnan(mean))
		return false;
	l->at.step = read_whole(read_after(s, "global_step="), l->at.step);
	if (!isnan(now)) {
		log_figure(l, FIGURE_SAMPLES_PER_S, now, "CurrSamplesPerSec");
	} else {
		while (at > s && at[-1] != '/' && at - 24 < s + strlen(s))
			at--;
		l->at.step = at > s ? read_whole(read_number(at, NULL), l->at.step) : l->at.step;
		log_figure(l, FIGURE_SAMPLES_PER_S, mean, "SamplesPerSec");
	}
	/* Torch's own peak, in units of 1024^3. */
	log_figure(l, FIGURE_GPU_MEMORY, gib * memory, "MaxMemAllocated");
	return true;
}

/* "steps: 20 loss: 4.6 iter time (s): 0.99 samples/sec: 257.6", of the pipeline engine. */
static bool pipeline(struct log *l, const char *s)
{
	double t = read_after(s, "iter time (s):");

	if (isnan(t))
		return false;
	l->at.step = read_whole(read_after(s, "steps:"), l->at.step);
	log_figure(l, FIGURE_STEP_S, t, NULL);
	log_figure(l, FIGURE_SAMPLES_PER_S, read_after(s, "samples/sec:"), NULL);
	log_figure(l, FIGURE_LOSS, read_after(s, " loss:"), NULL);
	return true;
}

/* Of the profile of operations: "iter latency:   184.73 ms", "FLOPS per GPU = 3 * fwd flops per GPU
 * / iter latency:   101.98 TFLOPS". */
static bool deepspeed_profile(struct log *l, const char *s)
{
	static const struct {
		const char *begins;
		enum figure_kind kind;
	} rows[] = {
		{ "iter latency:", FIGURE_STEP_S },	    { "fwd latency:", FIGURE_FORWARD_S },
		{ "bwd latency:", FIGURE_BACKWARD_S },	    { "step latency:", FIGURE_OPTIMIZER_S },
		{ "FLOPS per GPU", FIGURE_TFLOPS_PER_GPU },
	};

	s += strspn(s, " ");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *colon = str_starts(s, rows[i].begins) ? strrchr(s, ':') : NULL,
			   *unit = "";
		double v = colon ? read_number(colon, &unit) : (double)NAN;
		bool time = rows[i].kind != FIGURE_TFLOPS_PER_GPU;

		if (isnan(v))
			continue;
		unit += strspn(unit, " ");
		if (time)
			v *= *unit == 'm' ? 1e-3 : *unit == 'u' ? 1e-6 : 1;
		else
			v *= *unit == 'P' ? 1e3 : *unit == 'T' ? 1 : *unit == 'G' ? 1e-3 : 0;
		log_figure(l, rows[i].kind, v, "flops profiler");
		return true;
	}
	return false;
}

/* "2 pytorch allocator cache flushes since last step. this happens when ..." */
static bool flushes(struct log *l, const char *s)
{
	const char *at = strstr(s, " pytorch allocator cache flushes"), *p = at;

	while (p && p > s && isdigit((unsigned char)p[-1]))
		p--;
	if (!at || p == at)
		return false;
	log_figure(l, FIGURE_ALLOC_RETRIES, read_number(p, NULL), NULL);
	return true;
}

static bool line(struct log *l, const char *s)
{
	bool told = step(l, s) || flushes(l, s);

	return deepspeed_samples(l, s) || pipeline(l, s) || told || deepspeed_profile(l, s);
}

static const char *const marks[] = { ", skipped=",
				     "SamplesPerSec=",
				     "iter time (s):",
				     " latency:",
				     " pytorch allocator cache flushes",
				     "FLOPS per GPU",
				     NULL };
const struct log_reader log_deepspeed = {
	.framework = "deepspeed", .format = "DeepSpeed log", .marks = marks, .line = line
};

/* --- the communication logger ----------------------------------------------------------------- */

/* "2.0 KB" or "0B": bytes; NAN: it is no size. */
static double deepspeed_size_of(char **w, size_t n, size_t *used)
{
	static const char units[] = "BKMGTP";
	const char *end = "";
	double v = n ? read_number(w[0], &end) : (double)NAN;
	const char *unit;

	if (isnan(v))
		return v;
	*used = *end ? 1 : 2;
	if (!*end && n < 2)
		return (double)NAN;
	unit = strchr(units, *end ? *end : *w[1]);
	return unit && *unit ? v * pow(1024, (double)(unit - units)) : (double)NAN;
}

static enum log_row deepspeed_row(struct log *l, const char *s)
{
	char copy[512], *w[LOG_CELLS];
	struct metric_sample f = read_seen(&l->at, FIGURE_COLLECTIVE_US, 0);
	size_t n, used = 0, skip = l->table.columns > 7;
	double v[4];

	if (strlen(s) >= sizeof(copy))
		return LOG_END;
	strcpy(copy, s);
	n = read_words(copy, " \t", w, LOG_CELLS);
	if (!n)
		return LOG_OTHER;
	if (n == 1 && !isspace((unsigned char)*s) && isalpha((unsigned char)*s)) {
		snprintf(l->table.op, sizeof(l->table.op), "%.60s", w[0]);
		return LOG_ROW;
	}
	f.at = deepspeed_size_of(w, n, &used);
	if (isnan(f.at) || !*l->table.op || n < used + 5 + skip)
		return LOG_END;
	v[0] = read_number(w[used + 1], NULL);
	for (size_t i = 0; i < 3; i++)
		v[i + 1] = read_number(w[used + 2 + skip + i], NULL);
	f.step = -1;
	f.text = l->table.op;
	f.value = 1e3 * v[1];
	evidence_figure(l->at.ev, f);
	f.kind = FIGURE_ALGBW_GBS; /* it counts bits */
	f.value = v[2] / 8;
	evidence_figure(l->at.ev, f);
	f.kind = FIGURE_BUSBW_GBS;
	f.value = v[3] / 8;
	evidence_figure(l->at.ev, f);
	f.kind = FIGURE_COMM_S;
	f.value = 1e-3 * v[0];
	f.total = true;
	evidence_figure(l->at.ev, f);
	return LOG_ROW;
}

static bool comm(struct log *l, const char *s)
{
	log_table(l, &log_deepspeed_comm);
	l->table.columns = strstr(s, "straggler") ? 8 : 7;
	return true;
}

static const char *const comm_marks[] = { "Comm. Op ", NULL };
const struct log_reader log_deepspeed_comm = { .framework = "deepspeed",
					       .format = "DeepSpeed communication summary",
					       .marks = comm_marks,
					       .line = comm,
					       .row = deepspeed_row };
