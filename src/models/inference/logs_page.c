/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages that benchmarks of vLLM and SGLang print: a serving benchmark's block of names and
 * figures, the lines of offline benchmarks, and SGLang's single batches.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/inference/logs_parts.h"

enum field {
	F_BACKEND,
	F_COMPLETED,
	F_CONCURRENCY,
	F_SEEN,
	F_RATE,
	F_INPUT,
	F_OUTPUT,
	F_THROUGHPUT,
	F_TTFT,
	F_TTFT_MEDIAN,
	F_TPOT,
	F_TPOT_MEDIAN,
	F_ITL,
	F_ACCEPTED,
};

/* As vLLM and SGLang name them; the first that fits counts. */
static const struct {
	const char *name;
	enum field field;
} fields[] = {
	{ "Backend", F_BACKEND },
	{ "Successful requests", F_COMPLETED },
	{ "Maximum request concurrency", F_CONCURRENCY },
	{ "Max request concurrency", F_CONCURRENCY },
	{ "Concurrency", F_SEEN },
	{ "Traffic request rate", F_RATE },
	{ "Request rate configured (RPS)", F_RATE },
	{ "Total input tokens", F_INPUT },
	{ "Total generated tokens", F_OUTPUT },
	{ "Output token throughput (tok/s)", F_THROUGHPUT },
	{ "Mean TTFT (ms)", F_TTFT },
	{ "Median TTFT (ms)", F_TTFT_MEDIAN },
	{ "Mean TPOT (ms)", F_TPOT },
	{ "Median TPOT (ms)", F_TPOT_MEDIAN },
	{ "Mean ITL (ms)", F_ITL },
	{ "Accept length", F_ACCEPTED },
	{ "Acceptance length", F_ACCEPTED },
};

static int field_of(const char *line, const char **value)
{
	const char *colon = strchr(line, ':');
	size_t len;

	if (!colon)
		return -1;
	line = str_trim(line, (size_t)(colon - line), &len);
	*value = colon + 1 + strspn(colon + 1, " \t");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].name) == len && strncasecmp(fields[i].name, line, len) == 0)
			return (int)fields[i].field;
	return -1;
}

static double rate_of(const char *value)
{
	return str_starts(value, "inf") ? HUGE_VAL : log_number(value, NULL);
}

/* SGLang's page names the backend; a page without one is vLLM's. */
static void backend(struct log_walk *w, struct log_run *r, const char *value)
{
	size_t len = strcspn(value, " \t");

	r->tool = LOG_SGLANG_SERVING;
	r->engine = arena_strndup(w->a, value, len < 64 ? len : 64);
}

static void figure(struct log_run *r, enum log_figure f, double v, bool better)
{
	if (v > 0 && (better || !(r->figure[f] > 0)))
		r->figure[f] = v;
}

static void inside(struct log_walk *w, struct log_run *r, enum field f, const char *value)
{
	double v = log_number(value, NULL);

	switch (f) {
	case F_BACKEND:
		backend(w, r, value);
		break;
	case F_COMPLETED:
		w->completed = v;
		break;
	case F_SEEN:
		w->ctx.batch = v;
		break;
	case F_INPUT:
		w->total_in = v;
		break;
	case F_OUTPUT:
		w->total_out = v;
		break;
	case F_THROUGHPUT:
		figure(r, LOG_THROUGHPUT, v, true);
		break;
	case F_TTFT:
	case F_TTFT_MEDIAN:
		figure(r, LOG_TTFT, v, f == F_TTFT);
		break;
	case F_TPOT:
	case F_TPOT_MEDIAN:
	case F_ITL:
		figure(r, LOG_TPOT, v, f == F_TPOT);
		break;
	case F_ACCEPTED:
		r->speculative = v > 1.01;
		break;
	default:
		break;
	}
}

bool log_serving_line(struct log_walk *w, const char *line)
{
	struct log_run *r;
	const char *value = "";
	int f;

	if (strstr(line, " Serving Benchmark Result ")) {
		log_close(w);
		w->ctx.batch = 0;
		if (log_add(w, LOG_VLLM_SERVE, "vllm", 0))
			w->open = w->out->n;
		return true;
	}
	f = field_of(line, &value);
	if (f == F_RATE)
		w->ctx.rate = rate_of(value);
	else if (f == F_CONCURRENCY)
		w->ctx.concurrency = log_number(value, NULL);
	r = log_open(w);
	if (!r || (r->tool != LOG_VLLM_SERVE && r->tool != LOG_SGLANG_SERVING))
		return f == F_RATE || f == F_CONCURRENCY;
	if (f >= 0)
		inside(w, r, (enum field)f, value);
	else if (strlen(line) >= 20 && strspn(line, "=") == strlen(line))
		log_close(w);
	return true;
}

static void close_serving(struct log_walk *w, struct log_run *r)
{
	struct log_counts c = { w->completed,	    w->total_in, w->total_out,
				w->ctx.concurrency, w->ctx.rate, w->ctx.batch };

	log_counted(r, &c);
}

void log_close(struct log_walk *w)
{
	struct log_run *r = log_open(w);

	if (r && (r->tool == LOG_VLLM_SERVE || r->tool == LOG_SGLANG_SERVING))
		close_serving(w, r);
	if (r && r->tool == LOG_TRTLLM) {
		struct log_counts c = { w->completed,
					w->total_in * w->completed,
					w->total_out * w->completed,
					w->ctx.concurrency,
					0,
					0 };

		log_counted(r, &c);
	}
	w->open = 0;
	w->completed = w->total_in = w->total_out = 0;
}

/* --- offline benchmarks of vLLM -----------------------------------------------------------------
 */

static void latency(struct log_walk *w, const char *line)
{
	struct log_run *r = log_add(w, LOG_VLLM_LATENCY, "vllm", 0);

	if (!r)
		return;
	r->figure[LOG_LATENCY] = 1e3 * log_after(line, "latency:");
	r->batch = log_whole(w->ctx.batch);
	r->prompt = w->ctx.input;
	r->output = w->ctx.output;
}

/* "Throughput: 34.14 requests/s, 17466.30 total tokens/s, 8739.16 output tokens/s" */
static void throughput(struct log_walk *w, const char *line)
{
	struct log_run *r = log_add(w, LOG_VLLM_THROUGHPUT, "vllm", 0);
	const char *s = strstr(line, "total tokens/s,");

	if (!r)
		return;
	r->figure[LOG_THROUGHPUT] = s ? log_after(s, "tokens/s,") : 0;
	r->batch = log_whole(w->ctx.sequences);
	w->completed = w->ctx.requests;
	r->prompt = w->ctx.input;
	r->output = w->ctx.output;
	/* Requests a second and output tokens a second say how long answers were. */
	if (r->figure[LOG_THROUGHPUT] > 0 && log_after(line, "Throughput:") > 0)
		r->output = r->figure[LOG_THROUGHPUT] / log_after(line, "Throughput:");
	if (!r->batch && w->ctx.requests > 0 && w->ctx.requests <= 256)
		r->batch = log_whole(w->ctx.requests);
	if (r->batch && w->ctx.requests > r->batch)
		r->rounds = w->ctx.requests / r->batch;
}

/* "Total num prompt tokens:  255648", behind the line above. */
static void prompt_tokens(struct log_walk *w, const char *line)
{
	struct log_run *r = w->out->n > w->first ? &w->out->items[w->out->n - 1] : NULL;
	double all = log_after(line, "tokens:"), each = w->ctx.requests;

	if (r && r->tool == LOG_VLLM_THROUGHPUT && each > 0 && all > 0)
		r->prompt = all / each;
}

bool log_offline_line(struct log_walk *w, const char *line)
{
	if (str_starts(line, "Avg latency:"))
		latency(w, line);
	else if (str_starts(line, "Throughput:") && strstr(line, "requests/s"))
		throughput(w, line);
	else if (str_starts(line, "Total num prompt tokens:"))
		prompt_tokens(w, line);
	else
		return false;
	return true;
}

/* --- SGLang's single batches --------------------------------------------------------------------
 */

/* What was printed until now was the warm-up. */
static void measuring(struct log_walk *w)
{
	for (size_t i = w->first; i < w->out->n && !w->measuring; i++)
		if (w->out->items[i].tool == LOG_SGLANG_ONE_BATCH)
			w->out->items[i].skipped = "the warm-up";
	w->measuring = true;
}

/* Lengths follow from what is printed: throughputs are tokens of the whole batch over times. */
static void total_line(struct log_walk *w, struct log_run *r, const char *line)
{
	double s = log_after(line, "latency:"), tokens = s * log_after(line, "throughput:");

	if (r->batch > 0) {
		r->prompt = w->total_in / r->batch;
		r->output = fmax(0, round(tokens / r->batch - r->prompt));
	} else {
		r->skipped = "one token an answer: nothing tells how many prompts it was";
	}
	w->open = 0;
	w->total_in = 0;
}

bool log_one_batch_line(struct log_walk *w, const char *line)
{
	struct log_run *r = log_open(w);
	double s = log_after(line, "latency:");

	if (str_starts(line, "Benchmark ...")) {
		measuring(w);
		return true;
	}
	if (str_starts(line, "Prefill. latency:")) {
		log_close(w);
		r = log_add(w, LOG_SGLANG_ONE_BATCH, "sglang", 0);
		if (!r)
			return true;
		w->open = w->out->n;
		r->figure[LOG_PREFILL] = 1e3 * s;
		w->total_in = round(s * log_after(line, "throughput:"));
		return true;
	}
	if (!r || r->tool != LOG_SGLANG_ONE_BATCH)
		return false;
	if (str_starts(line, "Decode.  median latency:")) {
		r->figure[LOG_STEP] = 1e3 * s;
		r->batch = log_whole(s * log_after(line, "throughput:"));
	} else if (str_starts(line, "Total. latency:")) {
		total_line(w, r, line);
	}
	return true;
}
