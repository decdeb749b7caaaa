/* SPDX-License-Identifier: Apache-2.0 */
/* Advice on a page: how it is, what each change would bring and cost, and all of them at once. */
#include <math.h>

#include "models/inference/page_advise.h"
#include "models/inference/rows.h"
#include "render/chart.h"
#include "render/figure.h"

/* Without --verbose. */
enum { SHOWN = 12 };

static const char *goal_text(enum goal g)
{
	static const char *const texts[GOALS] = { "request latency", "TTFT", "total tokens/s",
						  "concurrency that fits" };

	return texts[g];
}

static void now_pairs(struct doc *d, const struct serve_advice *o)
{
	const struct advise_outcome *n = &o->now;
	const struct figure *t = &o->before.tpot, *f = &o->before.ttft;
	struct arena *a = d->arena;
	struct node *p = doc_pairs(d, "Current setup");

	node_pairf(d, p, "TTFT", "%s (%s to %s)", figure_ms(a, n->ttft), figure_ms(a, f->low),
		   figure_ms(a, f->high));
	node_pairf(d, p, "TPOT", "%s (%s to %s)", figure_ms(a, n->tpot), figure_ms(a, t->low),
		   figure_ms(a, t->high));
	node_pair(d, p, "request latency", cell(figure_ms(a, n->answer)));
	node_pair(d, p, "total tokens/s", cell(figure_number(a, n->throughput)));
	node_pair(d, p, "memory per GPU",
		  cell_printf(d, n->fits ? STYLE_PLAIN : STYLE_BAD, "%.1f of %.1f GB%s",
			      n->bytes / 1e9, o->before.memory.limit / 1e9,
			      n->fits ? "" : ": does not fit"));
	node_pairf(d, p, "requests that fit", "%.0f", n->users);
	node_pairf(d, p, "decode limit", "%s: %s", limit_names[o->before.limit],
		   o->before.limit_why);
}

static void advise_page_change_row(struct doc *d, struct node *t, const struct serve_advice *o,
				   const struct serve_change *c)
{
	const struct figure *g = &c->gain[o->goal];
	struct arena *a = d->arena;
	struct cell *r = node_row(d, t);

	r[0] = cell(c->what);
	r[1] = g->value > 0
		       ? cell_as(c->includes_nothing ? STYLE_MUTED : STYLE_STRONG,
				 arena_printf(a, g->value < 10 ? "%.2f x" : "%.1f x", g->value))
		       : cell_as(STYLE_MUTED, "fits");
	r[2] = g->value > 0 ? cell_printf(d, c->includes_nothing ? STYLE_WARN : STYLE_PLAIN,
					  "%.2f to %.2f%s", g->low, g->high,
					  c->includes_nothing ? ", possibly no gain" : "")
			    : cell("");
	r[3] = cell(confidence_names[c->confidence]);
	r[4] = cell(figure_ms(a, c->after.ttft));
	r[5] = cell(figure_ms(a, c->after.tpot));
	r[6] = cell(figure_number(a, c->after.throughput));
	r[7] = cellf(d, "%.1f GB", c->after.bytes / 1e9);
	r[8] = cell_as(STYLE_CODE, c->options);
}

static void change_table(struct doc *d, const struct serve_advice *o, const char *title,
			 const struct serve_change *list, size_t n)
{
	struct node *t =
		DOC_TABLE(d, title, "~change", ">better", "80 % prediction interval", "confidence",
			  ">TTFT", ">TPOT", ">total tokens/s", ">memory per GPU", "~options");

	for (size_t i = 0; i < n; i++)
		advise_page_change_row(d, t, o, &list[i]);
}

/* Gains of the goal beside each other, against how it is. */
static void gains(struct doc *d, const struct serve_advice *o, size_t n)
{
	struct chart_bar *rows = arena_array(d->arena, n ? n : 1, sizeof(*rows));
	struct chart_bars c = { .title = arena_printf(d->arena, "Improvement factor: %s",
						      goal_text(o->goal)),
				.unit = "x",
				.interval = "80 % prediction interval",
				.base = { 1, 1, "current setup" },
				.rows = rows };

	for (size_t i = 0; i < n; i++) {
		const struct serve_change *k = &o->changes[i];
		const struct figure *g = &k->gain[o->goal];

		if (g->value > 0)
			rows[c.n++] =
				(struct chart_bar){ .label = k->what,
						    .value = g->value,
						    .low = g->low,
						    .high = g->high,
						    .limit = { NAN, NAN, NULL },
						    .band = { NAN, NAN, NULL },
						    .style = k->includes_nothing ? STYLE_MUTED
										 : STYLE_PLAIN };
	}
	chart_add_bars(d, &c);
}

/* One of each kind: the sentences of a kind are the same. */
static void costs(struct doc *d, const struct serve_advice *o, size_t n, bool verbose)
{
	struct node *b;
	unsigned seen = 0;

	if (!n)
		return;
	doc_heading(d, 2, "Trade-offs and measurements to confirm them");
	b = doc_bullets(d);
	for (size_t i = 0; i < n; i++) {
		const struct serve_change *c = &o->changes[i];

		if (!verbose && seen & 1u << c->kind)
			continue;
		seen |= 1u << c->kind;
		node_bullet(d, b,
			    cellf(d, "%s: %s. Measure %s. Basis: %s.", c->what, c->trade,
				  c->measure, c->known_from));
	}
}

static void advise_page_together(struct doc *d, const struct serve_advice *o)
{
	struct node *b;

	if (!o->n_together)
		return;
	change_table(d, o, "Combined changes", o->together, o->n_together);
	b = doc_bullets(d);
	for (size_t i = 0; i < o->n_together; i++) {
		const struct serve_change *c = &o->together[i];

		if (c->gain[o->goal].value > 0 && isfinite(c->parts))
			node_bullet(d, b,
				    cell_printf(d, STYLE_MUTED,
						"%s: %.2f times better in total; the product of "
						"the single gains is %.2f",
						c->what, c->gain[o->goal].value, c->parts));
	}
}

static void own_settings(struct doc *d, const struct advise_settings *own)
{
	static const struct column columns[] = { { "setting", false, false },
						 { "measured on this machine", false, true },
						 { "", false, false } };
	struct node *t;

	if (!own->n)
		return;
	t = doc_table(d, "Settings of this machine with A/B tests", columns, 3);
	for (size_t i = 0; i < own->n; i++) {
		const struct advise_setting *s = &own->rows[i];
		struct cell *r = node_row(d, t);

		r[0] = cell_as(STYLE_CODE, s->row->setting);
		r[1] = cell(s->text);
		r[2] = s->expired ? cell_as(STYLE_WARN, "expired: measure it again")
				  : cell_as(STYLE_MUTED, ruling_name(s->row->verdict));
	}
	doc_text(d, "Each setting was measured with the named bench, not with this model; measure "
		    "your model with \"prove ID --command\".");
}

struct doc *page_advise(struct arena *a, const struct advise_page *p, bool verbose)
{
	const struct serve_advice *o = p->advice;
	struct doc *d = doc_new(a);
	const struct ask *q = &o->base->q.ask;
	size_t n = verbose || o->n < SHOWN ? o->n : SHOWN;
	struct node *b;

	doc_heading(d, 1,
		    arena_printf(a, "Advice: %s, %s, on %s", o->base->q.arch.name, q->weights->name,
				 q->place.taken));
	doc_text(d,
		 "Goal: %s (--goal). %s, tensor parallelism %d, pipeline stages %d, replicas %d, "
		 "%d request%s of %.0f + %.0f tokens. All figures are predicted.",
		 goal_text(o->goal), engine_names[q->engine], q->tp, q->pp, o->base->copies,
		 q->batch, PLURAL(q->batch), q->depth + q->prompt, q->output);
	now_pairs(d, o);
	if (o->n)
		change_table(d, o, "Changes, best first", o->changes, n);
	else
		doc_text(d, "None of the evaluated changes is an improvement.");
	if (n < o->n)
		doc_text(d, "%zu more with --verbose.", o->n - n);
	gains(d, o, n);
	advise_page_together(d, o);
	costs(d, o, n, verbose);
	own_settings(d, p->settings);
	b = doc_bullets(d);
	for (size_t i = 0; i < o->n_notes; i++)
		node_bullet(d, b, cell_as(STYLE_MUTED, o->notes[i]));
	for (size_t i = 0; i < o->base->q.n_notes; i++)
		node_bullet(d, b, cell_as(STYLE_MUTED, o->base->q.notes[i]));
	node_bullet(d, b,
		    cell_printf(d, STYLE_MUTED, "%zu configurations evaluated; constants: %s",
				o->tried, o->before.calibration));
	return d;
}
