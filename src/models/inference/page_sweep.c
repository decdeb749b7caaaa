/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of a sweep on a page: a table, a plot with the same letters, and a drawing. */
#include <math.h>
#include <string.h>

#include "models/inference/page_advise.h"
#include "render/figure.h"
#include "render/chart.h"

/* Columns where all points are of one machine; the last one names it otherwise. */
enum { SINGLE = 12 };

/* The letter that stands for the i-th of them. */
static char pareto_letter(size_t i)
{
	return (char)(i < 26 ? 'a' + (char)i : '*');
}

/* Whether p is the one of its stretch of latencies that gives the most. */
static bool more(const struct sweep_point *p, const struct sweep_point *than)
{
	return !than || p->o.throughput > than->o.throughput;
}

/* At most FRONT_SHOWN points over the whole width, in order; returns how many. */
static size_t pareto_shown(const struct pareto_front *f, const struct sweep_point **out)
{
	const struct sweep_point *best[FRONT_SHOWN] = { NULL };
	double from, to;
	size_t n = 0;

	if (f->n <= FRONT_SHOWN) {
		for (size_t i = 0; i < f->n; i++)
			out[i] = &f->points[i];
		return f->n;
	}
	from = log(f->points[0].latency);
	to = log(f->points[f->n - 1].latency);
	for (size_t i = 0; i < f->n; i++) {
		double at = to > from ? (log(f->points[i].latency) - from) / (to - from) : 0;
		size_t k = (size_t)fmin(FRONT_SHOWN - 1, floor(at * FRONT_SHOWN));

		if (more(&f->points[i], best[k]))
			best[k] = &f->points[i];
	}
	/* The fastest one always. */
	best[0] = &f->points[0];
	for (size_t k = 0; k < FRONT_SHOWN; k++)
		if (best[k])
			out[n++] = best[k];
	return n;
}

static const char *layout(struct arena *a, const struct sweep_point *p)
{
	const struct ask *q = &p->way->q.ask;
	const char *stages = q->pp > 1 ? arena_printf(a, " pp %d", q->pp) : "";

	return p->copies > 1 ? arena_printf(a, "%d x tp %d%s", p->copies, q->tp, stages)
			     : arena_printf(a, "tp %d%s", q->tp, stages);
}

static void pareto_row(struct doc *d, struct node *t, const struct sweep_point *p, size_t i)
{
	const struct ask *q = &p->way->q.ask;
	struct arena *a = d->arena;
	struct cell *r = node_row(d, t);

	r[0] = cell_printf(d, STYLE_STRONG, "%c", pareto_letter(i));
	r[1] = cell(figure_ms(a, p->latency));
	r[2] = cell(figure_ms(a, p->o.tpot));
	r[3] = cell(figure_number(a, p->o.throughput));
	r[4] = cellf(d, "%.1f GB", p->o.bytes_all / 1e9);
	r[5] = cellf(d, "%d of %d", p->o.gpus, q->place.gpus);
	r[6] = cell(q->weights->name);
	r[7] = cell(strcmp(q->cache_name, "auto") == 0 ? "16 bits" : q->cache_name);
	r[8] = cell(layout(a, p));
	r[9] = cellf(d, "%d", p->batch);
	r[10] = cellf(d, "%.0f", p->chunk);
	r[11] = p->draft ? cellf(d, "%d", p->draft) : cell("");
	if (t->n_columns > SINGLE)
		r[SINGLE] = cell(q->place.gpu->name);
}

static bool one_machine(const struct pareto_front *f)
{
	for (size_t i = 1; i < f->n; i++)
		if (f->points[i].way->q.ask.place.gpu != f->points[0].way->q.ask.place.gpu)
			return false;
	return true;
}

static void pareto_table(struct doc *d, const struct sweep_page *s, const struct pareto_front *f,
			 const struct sweep_point *const *p, size_t n)
{
	const struct column columns[] = {
		{ "", false, false },
		{ s->asked->goal == GOAL_FIRST ? "TTFT" : "request latency", true, false },
		{ "TPOT", true, false },
		{ "total tokens/s", true, false },
		{ "memory in use", true, false },
		{ "GPUs", true, false },
		{ "weights", false, false },
		{ "cache", false, false },
		{ "layout", false, false },
		{ "requests", true, false },
		{ "chunk", true, false },
		{ "guesses", true, false },
		{ "machine", false, false }
	};
	struct node *t = doc_table(d, NULL, columns, one_machine(f) ? SINGLE : SINGLE + 1);

	for (size_t i = 0; i < n; i++)
		pareto_row(d, t, p[i], i);
}

/* The best for the targets, and the command that makes its files. */
static void best_of_target(struct doc *d, const struct sweep_page *s, const struct pareto_front *f)
{
	const struct sweep_point *p = f->points;
	const struct ask *q = &p->way->q.ask;
	struct arena *a = d->arena;
	static const char *const verbs[ENGINES] = { "vllm", "sglang", "trtllm", "llamacpp",
						    "vllm" };
	const char *on = s->asked->words->on;

	doc_verdict(d, p->meets ? STYLE_GOOD : STYLE_BAD,
		    arena_printf(a, "%s%s, weights %s, KV cache %s, %d of %d GPUs",
				 p->meets ? "Best: "
					  : arena_printf(a,
							 "None of %llu configurations meets the "
							 "targets. The nearest: ",
							 f->tried),
				 layout(a, p), q->weights->name, q->cache_name, p->o.gpus,
				 q->place.gpus),
		    NULL);
	if (p->plan.requests)
		doc_text(d, "95 of 100 requests: TTFT %s, TPOT %s; %.4g answered per second.%s",
			 figure_ms(a, p->plan.ttft.p95), figure_ms(a, p->plan.tpot.p95),
			 p->plan.rate * p->copies,
			 p->copies > 1 ? arena_printf(a,
						      " Run the command for each of the %d "
						      "replicas, each on other GPUs.",
						      p->copies)
				       : "");
	doc_code(d, arena_printf(a,
				 "gputune generate %s --model %s%s%s%s --weights %s --kv %s --tp "
				 "%d --pp %d --users %d --context %.0f",
				 verbs[q->engine], s->asked->words->model, on ? " --on \"" : "",
				 on ? on : "", on ? "\"" : "", q->weights->name, q->cache_name,
				 q->tp, q->pp, (p->batch + p->copies - 1) / p->copies,
				 f->depth + f->prompt + f->output));
}

/* Adds throughput over latency of these points, both axes logarithmic. */
static void pareto_plot(struct doc *d, const struct pareto_front *f,
			const struct sweep_point *const *p, size_t n)
{
	struct chart_series *s = arena_array(d->arena, n ? n : 1, sizeof(*s));
	const struct chart c = { .x_title = "latency, ms",
				 .y_title = "total tokens/s",
				 .log_x = true,
				 .log_y = true,
				 .series = s,
				 .n = n };

	/* Later ones are drawn over earlier ones: the first letter stays where two meet. */
	for (size_t i = 0; i < n; i++) {
		const struct sweep_point *it = p[n - 1 - i];
		const char **tip = arena_array(d->arena, 1, sizeof(*tip));

		*tip = arena_printf(d->arena, "%s, %d requests: %s ms, %s tokens/s, %.1f GB",
				    it->way->q.ask.weights->name, it->batch,
				    figure_number(d->arena, it->latency),
				    figure_number(d->arena, it->o.throughput),
				    it->o.bytes_all / 1e9);
		s[i] = (struct chart_series){ .mark = pareto_letter(n - 1 - i),
					      .x = &it->latency,
					      .y = &it->o.throughput,
					      .tips = tip,
					      .n = 1 };
	}
	chart_add(
		d,
		arena_printf(d->arena,
			     "Pareto front, tokens/s over latency, requests of %.0f + %.0f tokens",
			     f->depth + f->prompt, f->output),
		&c);
}

static void sweep_page_pareto_one(struct doc *d, const struct sweep_page *s,
				  const struct pareto_front *f)
{
	const struct sweep_point *shown[FRONT_SHOWN];
	size_t n = pareto_shown(f, shown);

	doc_heading(d, 2,
		    arena_printf(d->arena, "Requests of %.0f + %.0f tokens", f->depth + f->prompt,
				 f->output));
	if (!n) {
		doc_text(d, "None of %llu configurations fits.", f->tried);
		return;
	}
	if (s->asked->ttft_p95 > 0 || s->asked->tpot_p95 > 0 || s->asked->rate > 0)
		best_of_target(d, s, f);
	doc_text(d,
		 "%llu configurations, %llu fit; %zu are on the Pareto front of latency, "
		 "throughput and memory%s.",
		 f->tried, f->fit, f->n,
		 n < f->n ? arena_printf(d->arena, ", %zu are shown (all with --format json)", n)
			  : "");
	pareto_table(d, s, f, shown, n);
	pareto_plot(d, f, shown, n);
}

struct doc *page_sweep(struct arena *a, const struct sweep_page *s)
{
	struct doc *d = doc_new(a);
	const struct sweep_result *r = s->result;

	doc_heading(d, 1,
		    arena_printf(a, "%llu configurations for serving %s", r->tried,
				 s->asked->words->model ? s->asked->words->model : "it"));
	doc_text(d,
		 "All figures are predicted. %llu more configurations are invalid (more GPUs than "
		 "available, heads that do not split, more replicas than requests). Constants: %s.",
		 r->senseless, s->asked->fits->origin);
	for (size_t i = 0; i < r->n; i++)
		sweep_page_pareto_one(d, s, &r->fronts[i]);
	return d;
}
