/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction on a page: does it fit, how fast, what binds, and what it is made of. */
#include <math.h>
#include <string.h>

#include "models/inference/page_predict.h"
#include "render/chart.h"
#include "render/figure.h"
#include "base/stat.h"

static const char *gb(struct arena *a, double bytes)
{
	return arena_printf(a, "%.2f GB", bytes / 1e9);
}

static void predict_page_figure_row(struct doc *d, struct node *t, const char *name,
				    const char *value, const char *low, const char *high,
				    const struct prediction *p, int measure)
{
	const struct spread *s = p->spread[measure];
	bool again = t->n_rows && strcmp(name, "TPOT") != 0 && s == p->spread[1];
	struct cell *c = node_row(d, t);

	c[0] = cell(name);
	c[1] = cell_as(STYLE_STRONG, value);
	c[2] = cell(arena_printf(d->arena, "%s to %s", low, high));
	c[3] = again ? cell_as(STYLE_MUTED, "as TPOT")
	       : s && s->rows
		       ? cell_printf(d, STYLE_MUTED, "%d measurements of %d model%s, %s", s->rows,
				     s->families, PLURAL(s->families), p->whose[measure])
		       : cell_as(STYLE_MUTED, "no such measurement: interval assumed");
}

static void predict_page_figures(struct doc *d, const struct prediction *p)
{
	struct node *t = DOC_TABLE(d, NULL, "predicted", ">", "80 % prediction interval", "~basis");
	struct arena *a = d->arena;
	const struct figure *r = &p->throughput;

	predict_page_figure_row(d, t, "TTFT", figure_ms(a, p->ttft.value),
				figure_ms(a, p->ttft.low), figure_ms(a, p->ttft.high), p, 0);
	predict_page_figure_row(d, t, "TPOT", figure_ms(a, p->tpot.value),
				figure_ms(a, p->tpot.low), figure_ms(a, p->tpot.high), p, 1);
	predict_page_figure_row(
		d, t, "tokens/s of one request", figure_number(a, 1e3 / p->tpot.value),
		figure_number(a, 1e3 / p->tpot.high), figure_number(a, 1e3 / p->tpot.low), p, 1);
	predict_page_figure_row(d, t, "total tokens/s", figure_number(a, r->value),
				figure_number(a, r->low), figure_number(a, r->high), p, 2);
	doc_text(d,
		 "One request: 1 / TPOT, without TTFT. Total: all output tokens, each first one "
		 "too, %s.",
		 p->q.ask.rate > 0 || p->q.ask.rounds > 1 || p->q.ask.prefills > 0
			 ? "per second"
			 : "per second after TTFT, until the last one");
}

/* What the slowest requests get. */
static void schedule_table(struct doc *d, const struct schedule *s)
{
	const struct {
		const char *name;
		const struct percentiles *p;
	} rows[] = { { "TTFT", &s->ttft }, { "TPOT", &s->tpot }, { "end to end", &s->e2e } };
	struct node *t;

	if (!s->requests)
		return;
	t = DOC_TABLE(d, "Simulated scheduler", "of requests", ">mean", ">p50", ">p95", ">p99");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct percentiles *p = rows[i].p;

		NODE_ROW(d, t, cell(rows[i].name), cell(figure_ms(d->arena, p->mean)),
			 cell(figure_ms(d->arena, p->p50)), cell(figure_ms(d->arena, p->p95)),
			 cell(figure_ms(d->arena, p->p99)));
	}
	doc_text(d, "%d requests: %.4g answered per second, %.0f at the same time on average%s.%s",
		 s->requests, s->rate, s->running,
		 s->preempted ? arena_printf(d->arena, ", %d preempted", s->preempted) : "",
		 s->behind ? " Overloaded: they arrive faster than they are answered." : "");
}

static void predict_page_memory_pairs(struct doc *d, const struct prediction *p)
{
	const struct memory_footprint *m = &p->memory;
	struct arena *a = d->arena;
	bool unified = p->q.ask.place.gpu->unified;
	const struct {
		const char *name;
		double bytes;
	} parts[] = { { "weights", m->weights },
		      { "KV cache", m->cache },
		      { "state of linear-attention layers", m->state },
		      { "activations", m->activations },
		      { "workspace", m->workspace },
		      { "CUDA graphs", m->graphs },
		      { "libraries and context", m->framework },
		      { unified ? "reserved for system, page cache" : "kept free", m->reserve },
		      { "total", m->total } };
	const char *from = p->q.ask.place.memory_from;
	const int trained = p->q.arch.trained;
	const char *limit = trained && trained < m->most_context
				    ? arena_printf(a, "; the model's own limit is %d", trained)
				    : "";
	struct node *n = doc_pairs(d, "Memory per GPU");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes > 0)
			node_pair(d, n, parts[i].name, cell(gb(a, parts[i].bytes)));
	node_pairf(d, n, "available", "%s (%s)", gb(a, m->limit),
		   from ? from : "usual for this GPU; --host uses that of a capture");
	node_pairf(
		d, n, "requests that fit", "%.0f of this length%s", m->whole_requests,
		m->whole_requests < m->most_requests
			? arena_printf(a, "; %.0f if the engine takes all memory", m->most_requests)
			: "");
	node_pairf(d, n, "context length that fits", "%s%.0f tokens per request%s",
		   m->most_context >= CONTEXT_MOST ? "more than " : "", m->most_context, limit);
}

static void step_pairs(struct doc *d, const struct prediction *p)
{
	const struct decode_step *s = &p->step;
	const struct prompt *r = &p->prompt;
	struct arena *a = d->arena;
	struct node *n = doc_pairs(
		d, arena_printf(a, "Decode step (one token per request)%s",
				p->q.ask.pp > 1
					? arena_printf(a, ", %d stages in sequence", p->q.ask.pp)
					: ""));

	node_pairf(d, n, "weights read for every token", "%s, %.2f ms", gb(a, s->dense_bytes),
		   s->dense);
	if (s->expert_bytes > 0)
		node_pairf(d, n, "experts", "%s (%.0f %% of them), %.2f ms", gb(a, s->expert_bytes),
			   100 * s->reached, s->expert);
	node_pairf(d, n, "output head", "%s, %.2f ms", gb(a, s->head_bytes), s->head);
	node_pairf(d, n, "KV cache, state", "%s, %.2f ms", gb(a, s->cache_read + s->state_read),
		   s->cache + s->state);
	node_pairf(d, n, "compute, overlapped", "%.2f ms", s->compute);
	node_pairf(d, n, "launches, scheduling", "%.2f ms", s->launch + s->sequence);
	node_pairf(d, n, "CPU work, overlapped", "%.2f ms", s->host);
	if (s->link > 0)
		node_pairf(d, n, "between GPUs", "%.2f ms (%d all-reduces of %.0f us)", s->link,
			   s->reduces, s->reduce_us);
	n = doc_pairs(d, "TTFT of one prompt");
	node_pairf(d, n, "multiplying", "%.1f ms", r->multiply);
	node_pairf(d, n, "reading weights", "%.1f ms in %.0f chunk%s", r->weights, r->chunks,
		   r->chunks < 2 ? "" : "s");
	node_pairf(d, n, "attention", "%.1f ms", r->attention + r->scan);
	if (r->link > 0)
		node_pairf(d, n, "between GPUs", "%.1f ms", r->link);
	node_pairf(d, n, "launches, not overlapped", "%.1f of %.1f ms",
		   r->total - r->multiply - r->weights - r->attention - r->scan - r->link,
		   r->launch);
	node_pairf(d, n, "engine, others' prompts, queueing", "%.1f ms", p->ttft.value - r->total);
	node_pair(d, n, "TTFT", cell(figure_ms(a, p->ttft.value)));
}

static void curve_table(struct doc *d, const struct prediction *p)
{
	struct node *t = DOC_TABLE(d, "By concurrency: a next request follows each answer",
				   ">concurrency", ">TTFT", ">TPOT", ">total tokens/s", "");
	struct arena *a = d->arena;
	double most = p->q.ask.prefills < 1 ? p->memory.whole_requests : INFINITY;

	for (size_t i = 0; i < p->n_curve; i++) {
		const struct curve_point *c = &p->curve[i];
		struct cell *r = NODE_ROW(d, t, cellf(d, "%d", c->batch),
					  cell(figure_ms(a, c->ttft)), cell(figure_ms(a, c->tpot)),
					  cell(figure_number(a, c->throughput)));

		if (!c->fits || c->batch > most)
			r[4] = cell_as(STYLE_WARN, "exceeds memory: other requests wait");
	}
}

static void predict_page_verdict(struct doc *d, const struct prediction *p)
{
	const struct claim *c = &p->claim;
	const struct memory_footprint *m = &p->memory;
	bool waits = m->whole_requests < p->q.ask.batch && p->q.ask.prefills < 1;
	struct node *n = doc_paragraph(d);

	node_span(d, n, m->fits ? cell_as(STYLE_GOOD, "Fits") : cell_as(STYLE_BAD, "Does not fit"));
	node_span(d, n,
		  cellf(d, " by %.1f GB%s. Decode limit: %s; %s. Prefill limit: %s.",
			fabs(m->limit - m->total) / 1e9,
			m->fits && waits ? " if the engine takes all memory" : "",
			limit_names[p->limit], p->limit_why, limit_names[p->prompt_limit]));
	if (!m->fits && m->most_requests < 1)
		doc_text(d,
			 "Not even one such request fits. The times below assume enough memory.");
	else if (waits)
		doc_text(d,
			 "The engine's usual share of memory is enough for %.0f of the %d requests "
			 "at "
			 "full length; the others wait%s.",
			 m->whole_requests, p->q.ask.batch,
			 p->schedule.requests ? " or are preempted" : "");
	if (p->instead)
		doc_text(d, "%s", p->instead);
	if (c->verdict)
		doc_text(d, "%.4g tokens/s: %s; %s.", c->tokens_s, c->verdict, c->why);
}

struct doc *page_predict(struct arena *a, const struct prediction *p, bool explain)
{
	struct doc *d = doc_new(a);
	const struct ask *q = &p->q.ask;
	struct node *n;

	doc_heading(d, 1,
		    arena_printf(a, "%s%s, %s, on %s", p->q.arch.name,
				 p->q.arch.scale > 0 ? " (unknown: a similar shape, scaled)" : "",
				 q->weights->name, q->place.taken));
	doc_text(d,
		 "%s, tensor parallelism %d, pipeline stages %d, %d request%s of %.0f + %.0f "
		 "tokens%s.",
		 engine_names[q->engine], q->tp, q->pp, q->batch, PLURAL(q->batch), q->prompt,
		 q->output,
		 q->batch > 1 && q->rounds <= 1 && q->rate <= 0 ? ", all starting at once" : "");
	predict_page_verdict(d, p);
	predict_page_figures(d, p);
	schedule_table(d, &p->schedule);
	predict_page_memory_pairs(d, p);
	step_pairs(d, p);
	curve_table(d, p);
	n = doc_bullets(d);
	for (size_t i = 0; i < p->q.n_notes; i++)
		node_bullet(d, n, cell_as(STYLE_MUTED, p->q.notes[i]));
	if (q->weights->note)
		node_bullet(
			d, n,
			cell_printf(d, STYLE_MUTED, "%s: %s", q->weights->name, q->weights->note));
	node_bullet(d, n,
		    cell_printf(d, STYLE_MUTED, "data-sheet peaks: %s, %s; constants: %s",
				q->place.gpu->source, q->place.gpu->date, p->calibration));
	if (explain) {
		doc_heading(d, 2, "Derivation");
		n = doc_bullets(d);
		for (size_t i = 0; i < p->n_lines; i++)
			node_bullet(d, n, cell(p->lines[i]));
	}
	return d;
}

/* A table of measurements predicted anew: errors by figure, engine and hardware, and every row. */

void error_kinds_count(struct arena *a, struct error_kinds *l, const char *const *name,
		       double measured, struct figure predicted)
{
	struct error_kind *k = NULL;

	for (size_t i = 0; i < l->n && !k; i++) {
		k = &l->items[i];
		for (size_t w = 0; w < ERROR_KIND_WORDS && k; w++)
			k = strcmp(k->name[w], name[w]) == 0 ? k : NULL;
	}
	if (!k) { /* with room for all rows: tables are small, kinds few */
		k = &ARENA_ADD(a, l->items, l->n);
		*k = (struct error_kind){ .error = arena_array(a, l->most, sizeof(double)),
					  .ratio = arena_array(a, l->most, sizeof(double)) };
		memcpy(k->name, name, sizeof(k->name));
	}
	k->error[k->n] = fabs(predicted.value / measured - 1);
	k->ratio[k->n++] = predicted.value / measured;
	k->inside += measured >= predicted.low && measured <= predicted.high;
}

void error_kinds_table(struct doc *d, struct node *t, const struct error_kinds *l, size_t words)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct error_kind *k = &l->items[i];
		struct cell *c = node_row(d, t);

		stat_sort(k->error, k->n);
		stat_sort(k->ratio, k->n);
		for (size_t w = 0; w < words; w++)
			*c++ = cell(k->name[w]);
		c[0] = cellf(d, "%zu", k->n);
		c[1] = cell_printf(d, STYLE_STRONG, "%.1f %%",
				   100 * stat_quantile(k->error, k->n, 0.5));
		c[2] = cellf(d, "%.1f %%", 100 * stat_quantile(k->error, k->n, 0.9));
		c[3] = cellf(d, "%.2f", stat_quantile(k->ratio, k->n, 0.5));
		c[4] = cellf(d, "%.0f %%", 100.0 * (double)k->inside / (double)k->n);
	}
}

const char *rows_why(struct arena *a, const char *before, long line, const char *why)
{
	if (!why || strlen(before) > 1000)
		return before;
	return arena_printf(a, "%s%sline %ld: %s", before, *before ? "; " : ": ", line, why);
}

struct doc *page_predict_rows(struct arena *a, const struct rows *r)
{
	struct doc *d = doc_new(a);
	struct error_kinds kinds = { .most = r->n };
	size_t skipped = 0, guesses = 0;
	const char *why = "";

	for (size_t i = 0; i < r->n; i++) {
		const struct row_result *x = &r->items[i];

		why = rows_why(a, why, x->line, x->skipped);
		skipped += x->skipped != NULL;
		guesses += !x->skipped && x->speculative;
		for (int m = 0; m < MEASURES && !x->skipped && !x->speculative; m++) {
			const char *name[] = { measure_names[m], x->batch > 1 ? "many" : "one",
					       *x->engine ? x->engine : "unknown", x->hardware };

			if (x->measured[m] > 0 && x->predicted[m].value > 0)
				error_kinds_count(a, &kinds, name, x->measured[m], x->predicted[m]);
		}
	}
	doc_heading(d, 1, "Measurements versus predictions");
	doc_text(d,
		 "%zu rows; %zu not predicted%s; %zu with speculative tokens: the errors exclude "
		 "such rows.",
		 r->n, skipped, why, guesses);
	error_kinds_table(d,
			  DOC_TABLE(d, NULL, "!figure", "!requests", "!engine", "!hardware",
				    ERROR_KIND_COLUMNS),
			  &kinds, 4);
	return d;
}

/* What models of different sizes would do on a machine: one fold each. */

const char *const report_models[] = { "Llama-3.1-8B", "gpt-oss-20b",
				      "Qwen3-32B",    "Llama-3.3-70B",
				      "gpt-oss-120b", "Qwen3-235B-A22B",
				      "DeepSeek-V3",  NULL };

static struct cell in_short(struct doc *d, const struct report_prediction *r, bool named)
{
	const struct prediction *p = &r->p;
	struct arena *a = d->arena;

	return cell_printf(
		d, named ? STYLE_PLAIN : STYLE_MUTED,
		"%s%s%s: %s tokens/s of one request (%s to %s)", named ? r->model : "",
		named ? ", " : "", p->q.ask.weights->name, figure_number(a, 1e3 / p->tpot.value),
		figure_number(a, 1e3 / p->tpot.high), figure_number(a, 1e3 / p->tpot.low));
}

struct doc *report_predictions(struct arena *a, const struct report_prediction *items, size_t n,
			       const char *id)
{
	struct chart_bar *rows = arena_array(a, n, sizeof(*rows));
	const struct chart_mark none = { NAN, NAN, NULL };
	struct doc *d = doc_new(a);
	struct node *list;

	doc_text(d,
		 "Predicted, not measured: from the machine's facts and data sheets, with "
		 "constants fitted to measurements of other machines. 80 %% prediction intervals.");
	for (size_t i = 0; i < n; i++) {
		const struct prediction *p = &items[i].p;

		rows[i] = (struct chart_bar){ .label = arena_printf(a, "%s, %s", items[i].model,
								    p->q.ask.weights->name),
					      .value = 1e3 / p->tpot.value,
					      .low = 1e3 / p->tpot.high,
					      .high = 1e3 / p->tpot.low,
					      .limit = none,
					      .band = none };
	}
	if (id && n > 1)
		chart_add_bars(d, &(struct chart_bars){ .title = "Output of one request",
							.unit = "tokens/s",
							.interval = "80 % prediction interval",
							.base = none,
							.rows = rows,
							.n = n });
	list = doc_bullets(d);
	for (size_t i = 0; i < n; i++) {
		if (!id) {
			node_bullet(d, list, in_short(d, &items[i], true));
			continue;
		}
		doc_section(d, 2, arena_printf(a, "%s-%zu", id, i + 1), items[i].model,
			    in_short(d, &items[i], false), false);
		doc_append(d, page_predict(a, &items[i].p, false), 2);
		doc_section_end(d);
	}
	return d;
}
