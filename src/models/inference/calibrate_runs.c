/* SPDX-License-Identifier: Apache-2.0 */
/* From what logs and the user say to questions with measured answers, by engine and hardware. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/calibrate_parts.h"

static double told_or(double log, double told)
{
	return log > 0 ? log : told;
}

/* A log's name of a number type, where it is one that counts. */
static const char *weights_of(const char *text)
{
	if (!text)
		return NULL;
	if (str_starts(text, "bfloat16"))
		return "bf16";
	if (str_starts(text, "float16"))
		return "fp16";
	return format_find(text, true) ? text : NULL;
}

static void words_of(const struct log_run *l, const struct words *told, struct words *w)
{
	*w = *told;
	if (!w->model && !w->file)
		w->model = l->model;
	if (!w->weights)
		w->weights = weights_of(l->weights);
	if (!w->cache && l->cache && format_cache_bytes(l->cache) > 0)
		w->cache = l->cache;
	if (!w->engine)
		w->engine = l->engine && engine_parse(l->engine) != ENGINES ? l->engine : NULL;
	if (!(w->weight_bytes > 0))
		w->weight_bytes = l->bytes;
	if (!(w->hint.total > 0))
		w->hint.total = l->params;
	w->tp = l->tp ? l->tp : told->tp;
	w->pp = l->pp ? l->pp : told->pp;
	w->batch = l->batch ? l->batch : told->batch;
	w->prompt = told_or(l->prompt, told->prompt);
	w->output = told_or(l->output, told->output);
	w->depth = told_or(l->depth, told->depth);
	w->rounds = told_or(l->rounds, told->rounds);
}

static const char *not_told(const struct log_run *l, const struct words *w)
{
	if (l->skipped)
		return l->skipped;
	if (l->speculative)
		return "guesses ahead: no plain decoding";
	if (!w->model && !w->file)
		return "names no model: --model";
	if (w->batch <= 0)
		return "how many requests at a time is not told: --batch";
	if (!(w->prompt > 0))
		return "how long prompts were is not told: --prompt";
	if (!(w->output > 0) && !(l->figure[LOG_PREFILL] > 0))
		return "how long answers were is not told: --output";
	return NULL;
}

static void make_run(struct arena *a, const struct log_run *l, const struct words *told,
		     const struct fits *base, struct calibrate_run *r)
{
	struct words w;
	struct err e = { 0 };

	words_of(l, told, &w);
	*r = (struct calibrate_run){ .log = l, .skipped = not_told(l, &w) };
	if (!r->skipped && question_make(a, &w, base, &r->q, &e) < 0)
		r->skipped = arena_strdup(a, e.text);
	if (r->skipped)
		return;
	r->q.ask.arch = &r->q.arch;
	/* llama-bench's tests of single steps have no prompt. */
	if (l->tool == LOG_LLAMA_BENCH)
		r->q.ask.output = l->output;
}

size_t calibrate_group_of(struct arena *a, struct calibration *c, enum engine e, enum hardware h)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i].engine == e && c->groups[i].hardware == h)
			return i;
	c->groups = arena_grow(a, c->groups, c->n_groups, sizeof(*c->groups));
	c->groups[c->n_groups] = (struct calibrate_group){ .engine = e, .hardware = h };
	return c->n_groups++;
}

static void add_model(struct arena *a, struct calibrate_group *g, const char *name)
{
	for (size_t i = 0; i < g->n_models; i++)
		if (strcmp(g->models[i], name) == 0)
			return;
	g->models = arena_grow(a, g->models, g->n_models, sizeof(*g->models));
	g->models[g->n_models++] = name;
}

static void add_figures(struct arena *a, struct calibration *c, size_t run)
{
	struct calibrate_run *r = &c->runs[run];
	size_t before = c->n_figures;

	for (int f = 0; f < LOG_FIGURES; f++) {
		double v = r->log->figure[f], p;

		if (!(v > 0))
			continue;
		p = calibrate_predict(&r->q.ask, (enum log_figure)f);
		if (!(p > 0) || !isfinite(p))
			continue;
		c->figures = arena_grow(a, c->figures, c->n_figures, sizeof(*c->figures));
		c->figures[c->n_figures++] = (struct calibrate_figure){ .run = run,
									.what = (enum log_figure)f,
									.measured = v,
									.built_in = p,
									.fitted = p };
	}
	if (c->n_figures == before) {
		r->skipped = "no figure that can be predicted";
		return;
	}
	r->group = calibrate_group_of(a, c, r->q.ask.engine, hardware_of(r->q.ask.place.gpu));
	add_model(a, &c->groups[r->group], r->q.arch.name);
	c->groups[r->group].runs++;
	c->groups[r->group].figures += c->n_figures - before;
	c->used++;
}

void calibrate_runs(struct arena *a, const struct log_runs *logs, const struct words *told,
		    const struct fits *base, struct calibration *c)
{
	size_t every = (logs->n + CALIBRATE_RUNS_MAX - 1) / CALIBRATE_RUNS_MAX;

	c->runs = arena_array(a, logs->n, sizeof(*c->runs));
	c->n_runs = logs->n;
	for (size_t i = 0; i < logs->n; i++) {
		make_run(a, &logs->items[i], told, base, &c->runs[i]);
		if (!c->runs[i].skipped && i % every)
			c->runs[i].skipped = "thinned out: there are more runs than the fit takes";
		if (!c->runs[i].skipped)
			add_figures(a, c, i);
	}
}
