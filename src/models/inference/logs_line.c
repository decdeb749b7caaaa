/* SPDX-License-Identifier: Apache-2.0 */
/* What all readers of benchmark output share: numbers in a line, and a run that is being read. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/logs.h"

const char *const log_tool_names[LOG_TOOLS] = {
	"vllm bench serve",	"vllm bench latency",	  "vllm bench throughput",
	"sglang bench_serving", "sglang bench_one_batch", "llama-bench",
	"llama.cpp timings",	"trtllm-bench",
};
const char *const log_figure_names[LOG_FIGURES] = { "ttft_ms",	  "tpot_ms",	"throughput_tok_s",
						    "latency_ms", "prefill_ms", "step_ms" };

double log_number(const char *s, const char **end)
{
	char *stop;
	double v;

	s += strspn(s, " \t");
	if ((*s < '0' || *s > '9') && *s != '.')
		return 0;
	v = strtod(s, &stop);
	if (end)
		*end = stop;
	return isfinite(v) && v > 0 && v < 1e15 ? v : 0;
}

double log_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? log_number(at + strlen(key), NULL) : 0;
}

int log_whole(double v)
{
	return v >= 0.5 && v < 1e6 ? (int)lround(v) : 0;
}

struct log_run *log_open(struct log_walk *w)
{
	return w->open ? &w->out->items[w->open - 1] : NULL;
}

struct log_run *log_add(struct log_walk *w, enum log_tool tool, const char *engine, double item)
{
	const struct log_context *c = &w->ctx;
	struct log_run *r;

	if (w->out->n >= LOG_RUNS_MAX) {
		w->failed =
			err_set(w->e, -E2BIG, "%s: more than %d results", w->file, LOG_RUNS_MAX);
		return NULL;
	}
	w->known = true;
	w->out->items = arena_grow(w->a, w->out->items, w->out->n, sizeof(*r));
	r = &w->out->items[w->out->n++];
	*r = (struct log_run){ .tool = tool,
			       .engine = engine,
			       .model = c->model,
			       .weights = c->weights,
			       .cache = c->cache,
			       .tp = log_whole(c->tp),
			       .pp = log_whole(c->pp),
			       .rounds = 1 };
	r->where = item > 0 ? arena_printf(w->a, "%s, item %.0f", w->file, item)
			    : arena_printf(w->a, "%s:%ld", w->file, w->line);
	return r;
}

void log_counted(struct log_run *r, const struct log_counts *c)
{
	double at_once = c->concurrency;

	if (!(c->completed > 0)) {
		r->skipped = "no request succeeded";
		return;
	}
	r->prompt = c->input / c->completed;
	r->output = c->output / c->completed;
	r->at_rate = c->rate > 0 && isfinite(c->rate);
	if (!(at_once > 0))
		at_once = c->rate > 0 && !r->at_rate ? c->completed : c->seen;
	at_once = fmin(at_once, c->completed);
	r->batch = log_whole(at_once);
	r->rounds = r->batch ? fmax(1, c->completed / r->batch) : 1;
	if (r->at_rate)
		r->skipped = "requests came at a rate, not as others were answered";
}
