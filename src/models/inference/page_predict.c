/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction on a page: does it fit, how fast, what binds, and what it is made of. */
#include "models/inference/page_predict.h"

#include <math.h>

#include "render/figure.h"

static const char *gb(struct arena *a, double bytes)
{
	return arena_printf(a, "%.2f GB", bytes / 1e9);
}

static void figure_row(struct doc *d, struct node *t, const char *name, const char *value,
		       const char *low, const char *high, const struct prediction *p, int measure)
{
	const struct spread *s = p->spread[measure];
	struct cell *c = node_row(d, t);

	c[0] = cell(name);
	c[1] = cell_as(STYLE_STRONG, value);
	c[2] = cell(arena_printf(d->arena, "%s to %s", low, high));
	c[3] = s && s->rows ? cell_printf(d, STYLE_MUTED, "%d measurements of %d models, %s",
					  s->rows, s->families, p->whose[measure])
			    : cell_as(STYLE_MUTED, "no measurement of this kind: a guess");
}

static void figures(struct doc *d, const struct prediction *p)
{
	static const struct column columns[] = { { "predicted", false, false },
						 { "", true, false },
						 { "four of five lie in", false, false },
						 { "known from", false, true } };
	struct node *t = doc_table(d, NULL, columns, 4);
	struct arena *a = d->arena;
	const struct figure *r = &p->throughput;

	figure_row(d, t, "time to first token", figure_ms(a, p->ttft.value),
		   figure_ms(a, p->ttft.low), figure_ms(a, p->ttft.high), p, 0);
	figure_row(d, t, "time per token", figure_ms(a, p->tpot.value), figure_ms(a, p->tpot.low),
		   figure_ms(a, p->tpot.high), p, 1);
	figure_row(d, t, "tokens/s of one request", figure_number(a, 1e3 / p->tpot.value),
		   figure_number(a, 1e3 / p->tpot.high), figure_number(a, 1e3 / p->tpot.low), p, 1);
	figure_row(d, t, "tokens/s of all requests", figure_number(a, r->value),
		   figure_number(a, r->low), figure_number(a, r->high), p, 2);
}

static void memory_pairs(struct doc *d, const struct prediction *p)
{
	const struct need *m = &p->memory;
	struct arena *a = d->arena;
	bool unified = p->q.ask.place.gpu->unified;
	const struct {
		const char *name;
		double bytes;
	} parts[] = { { "weights", m->weights },
		      { "keys and values", m->cache },
		      { "state of linear layers", m->state },
		      { "activations", m->activations },
		      { "workspace", m->workspace },
		      { "CUDA graphs", m->graphs },
		      { "libraries and context", m->framework },
		      { unified ? "left to system, page cache" : "left free", m->reserve },
		      { "together", m->total },
		      { "there are", m->limit } };
	struct node *n = doc_pairs(d, "Memory of one GPU");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes > 0)
			node_pair(d, n, parts[i].name, cell(gb(a, parts[i].bytes)));
	node_pair(d, n, "requests that fit",
		  cell_printf(d, STYLE_PLAIN, "%.0f of this length", m->most_requests));
	node_pair(d, n, "context that fits",
		  cell_printf(d, STYLE_PLAIN, "%s%.0f tokens a request",
			      m->most_context >= CONTEXT_MOST ? "more than " : "",
			      m->most_context));
}

static void step_pairs(struct doc *d, const struct prediction *p)
{
	const struct step *s = &p->step;
	const struct prompt *r = &p->prompt;
	struct arena *a = d->arena;
	struct node *n = doc_pairs(
		d, p->q.ask.pp > 1 ? arena_printf(a,
						  "A step that gives each request a token, its %d "
						  "stages one after the other",
						  p->q.ask.pp)
				   : "A step that gives each request a token");

	node_pair(d, n, "weights that every token takes",
		  cell_printf(d, STYLE_PLAIN, "%s, %.2f ms", gb(a, s->dense_bytes), s->dense));
	if (s->expert_bytes > 0)
		node_pair(d, n, "experts",
			  cell_printf(d, STYLE_PLAIN, "%s (%.0f %% of them), %.2f ms",
				      gb(a, s->expert_bytes), 100 * s->reached, s->expert));
	node_pair(d, n, "output head",
		  cell_printf(d, STYLE_PLAIN, "%s, %.2f ms", gb(a, s->head_bytes), s->head));
	node_pair(d, n, "keys, values, state",
		  cell_printf(d, STYLE_PLAIN, "%s, %.2f ms", gb(a, s->cache_read + s->state_read),
			      s->cache + s->state));
	node_pair(d, n, "multiplying meanwhile",
		  cell_printf(d, STYLE_PLAIN, "%.2f ms", s->compute));
	node_pair(d, n, "launches, scheduling",
		  cell_printf(d, STYLE_PLAIN, "%.2f ms", s->launch + s->sequence));
	node_pair(d, n, "the CPU's work beside it",
		  cell_printf(d, STYLE_PLAIN, "%.2f ms", s->host));
	if (s->link > 0)
		node_pair(d, n, "between GPUs",
			  cell_printf(d, STYLE_PLAIN, "%.2f ms (%d all-reduces of %.0f us)",
				      s->link, s->reduces, s->reduce_us));
	n = doc_pairs(d, "A prompt alone");
	node_pair(d, n, "multiplying", cell_printf(d, STYLE_PLAIN, "%.1f ms", r->multiply));
	node_pair(d, n, "reading weights",
		  cell_printf(d, STYLE_PLAIN, "%.1f ms in %.0f chunk%s", r->weights, r->chunks,
			      r->chunks < 2 ? "" : "s"));
	node_pair(d, n, "attention",
		  cell_printf(d, STYLE_PLAIN, "%.1f ms", r->attention + r->scan));
	node_pair(d, n, "launches, links",
		  cell_printf(d, STYLE_PLAIN, "%.1f ms", r->launch + r->link));
}

static void curve_table(struct doc *d, const struct prediction *p)
{
	static const struct column columns[] = { { "requests at a time", true, false },
						 { "first token", true, false },
						 { "a token", true, false },
						 { "tokens/s of all", true, false },
						 { "", false, false } };
	struct node *t = doc_table(d, "More requests at a time", columns, 5);
	struct arena *a = d->arena;

	for (size_t i = 0; i < p->n_curve; i++) {
		const struct curve_point *c = &p->curve[i];
		struct cell *r = node_row(d, t);

		r[0] = cell_printf(d, STYLE_PLAIN, "%d", c->batch);
		r[1] = cell(figure_ms(a, c->ttft));
		r[2] = cell(figure_ms(a, c->tpot));
		r[3] = cell(figure_number(a, c->throughput));
		if (!c->fits)
			r[4] = cell_as(STYLE_WARN, "more than fit: the rest waits");
	}
}

static void verdict(struct doc *d, const struct prediction *p, const struct claim *c)
{
	const struct need *m = &p->memory;
	struct node *n = doc_paragraph(d);

	node_span(d, n, m->fits ? cell_as(STYLE_GOOD, "Fits") : cell_as(STYLE_BAD, "Does not fit"));
	node_span(d, n,
		  cell_printf(d, STYLE_PLAIN,
			      " by %.1f GB. Limit of decoding: %s; %s. Limit of the prompt: %s.",
			      fabs(m->limit - m->total) / 1e9, limit_names[p->limit], p->limit_why,
			      limit_names[p->prompt_limit]));
	if (!m->fits && m->most_requests < 1)
		doc_text(d, "Not one such request fits: times below are what they would be if the "
			    "memory were there.");
	else if (p->served.running < p->q.ask.batch)
		doc_text(d, "%.0f of the %d requests fit and run at a time; the others wait.",
			 p->served.running, p->q.ask.batch);
	if (c && c->verdict)
		doc_text(d, "%.4g tokens/s: %s; %s.", c->tokens_s, c->verdict, c->why);
}

struct doc *page_predict(struct arena *a, const struct prediction *p, const struct claim *c,
			 bool explain)
{
	struct doc *d = doc_new(a);
	const struct ask *q = &p->q.ask;
	struct node *n;

	doc_heading(
		d, 1,
		arena_printf(a, "%s, %s, on %s", p->q.arch.name, q->weights->name, q->place.taken));
	doc_text(d, "%s, tensor parallelism %d, stages %d, %d request%s of %.0f + %.0f tokens.",
		 engine_names[q->engine], q->tp, q->pp, q->batch, q->batch == 1 ? "" : "s",
		 q->prompt, q->output);
	verdict(d, p, c);
	figures(d, p);
	memory_pairs(d, p);
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
		    cell_printf(d, STYLE_MUTED, "peaks by data sheet: %s, %s; constants: %s",
				q->place.gpu->source, q->place.gpu->date, p->calibration));
	if (explain) {
		doc_heading(d, 2, "How it follows");
		n = doc_bullets(d);
		for (size_t i = 0; i < p->n_lines; i++)
			node_bullet(d, n, cell(p->lines[i]));
	}
	return d;
}
