/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction of training on a page: does it fit, how fast, what binds, what it is made of. */
#include <math.h>

#include "models/training/page_train.h"
#include "models/inference/page_predict.h"
#include "render/figure.h"
#include "render/shape_page.h"

static const char *gb(struct arena *a, double bytes)
{
	return arena_printf(a, "%.2f GB", bytes / 1e9);
}

static void row(struct doc *d, struct node *t, const char *name, const char *value, const char *low,
		const char *high)
{
	struct cell *c = node_row(d, t);

	c[0] = cell(name);
	c[1] = cell_as(STYLE_STRONG, value);
	c[2] = cell(arena_printf(d->arena, "%s to %s", low, high));
}

static void rate_row(struct doc *d, struct node *t, const char *name, const struct figure *f)
{
	struct arena *a = d->arena;

	row(d, t, name, figure_number(a, f->value), figure_number(a, f->low),
	    figure_number(a, f->high));
}

static const char *percent(struct arena *a, double v)
{
	return arena_printf(a, "%.1f %%", 100 * v);
}

static void train_page_figures(struct doc *d, const struct train_answer *p)
{
	struct node *t = DOC_TABLE(d, NULL, "predicted", ">", "80 % prediction interval");
	struct arena *a = d->arena;
	const struct figure *s = &p->time.total;

	rate_row(d, t, "total tokens/s", &p->tokens_s);
	rate_row(d, t, "tokens/s per GPU", &p->tokens_s_gpu);
	row(d, t, "step time", figure_ms(a, 1e3 * s->value), figure_ms(a, 1e3 * s->low),
	    figure_ms(a, 1e3 * s->high));
	row(d, t, "MFU", percent(a, p->mfu.value), percent(a, p->mfu.low), percent(a, p->mfu.high));
	row(d, t, "HFU", percent(a, p->hfu.value), percent(a, p->hfu.low), percent(a, p->hfu.high));
	row(d, t, "memory of the fullest GPU", gb(a, p->memory.all.value), gb(a, p->memory.all.low),
	    gb(a, p->memory.all.high));
	doc_text(d,
		 "Basis of the interval: %s. MFU counts the model's operations, HFU also "
		 "recomputed ones; both are relative to %.4g TFLOP/s (%s, dense, data sheet).",
		 p->interval_of, p->peak_flops / 1e12, train_precision_names[p->q.precision]);
}

static void train_page_memory_pairs(struct doc *d, const struct train_memory *m, bool unified)
{
	struct arena *a = d->arena;
	struct node *n =
		shape_pairs(d, "Memory of the fullest GPU (predicted)", &train_memory_shape, m, 0);

	node_pair(d, n, "total", cell(gb(a, m->total)));
	node_pair(d, n, "available", cell(gb(a, m->shown > 0 ? m->shown : m->limit)));
	if (m->shown > 0) {
		node_pair(d, n, "for training", cell(gb(a, m->limit)));
		node_pairf(d, n, "reserved", "%s: %s", gb(a, m->shown - m->limit),
			   unified ? "for the system, data loaders and page cache"
				   : "margin for the largest excess of measured runs");
	}
}

static void time_pairs(struct doc *d, const struct train_answer *p)
{
	const struct train_time *t = &p->time;
	struct node *n =
		shape_pairs(d, "Step time (predicted)", &train_time_shape, t, t->total.value);

	if (t->comm > 0)
		node_pair(d, n, "communication, total", cell(figure_ms(d->arena, 1e3 * t->comm)));
}

static void comm_table(struct doc *d, const struct train_answer *p)
{
	struct arena *a = d->arena;
	struct node *t;

	if (!p->n_comms)
		return;
	t = DOC_TABLE(d, NULL, "communication per step", ">ranks", ">calls", ">MB each",
		      ">bus GB/s", ">time", ">exposed", "~bandwidth source");
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];
		struct cell *r = node_row(d, t);

		r[0] = cell(arena_printf(a, "%s: %s", c->purpose, train_collective_names[c->what]));
		r[1] = cellf(d, "%d%s", c->ranks, c->between ? ", network" : "");
		r[2] = cellf(d, "%.0f", c->count);
		r[3] = cell(figure_number(a, c->bytes / 1e6));
		r[4] = cell(figure_number(a, c->busbw_gbs));
		r[5] = cell(figure_ms(a, 1e3 * c->total_s));
		r[6] = cell(figure_ms(a, 1e3 * c->exposed_s));
		r[7] = cell_as(STYLE_MUTED, c->from);
	}
}

/* A sum is only as good as its interval: where that holds the limit, nobody knows yet. */
static struct cell fits(const struct train_memory *m)
{
	if (m->fits)
		return m->all.high > m->limit ? cell_as(STYLE_WARN, "May fit")
					      : cell_as(STYLE_GOOD, "Fits");
	return m->all.low < m->limit ? cell_as(STYLE_WARN, "May not fit")
				     : cell_as(STYLE_BAD, "Does not fit");
}

static void train_page_verdict(struct doc *d, const struct train_page *p)
{
	const struct train_answer *t = &p->answer;
	const struct train_memory *m = &t->memory;
	struct node *n = doc_paragraph(d);

	node_span(d, n, fits(m));
	node_span(d, n,
		  cellf(d, ": %.1f GB %s; required: %.1f to %.1f GB (80 %% prediction interval). ",
			fabs(m->limit - m->total) / 1e9, m->fits ? "left" : "missing",
			m->all.low / 1e9, m->all.high / 1e9));
	node_span(d, n, cellf(d, "Limit: %s; %s.", train_limit_names[t->limit], t->limit_why));
	if (!p->asked_largest)
		return;
	if (p->largest > 0)
		doc_text(d,
			 "Largest micro-batch that fits: %d; with the same global batch of %d: %d "
			 "(predicted, not tried).",
			 p->largest, t->q.global_batch, p->largest_held);
	else
		doc_text(d, "Not even a micro-batch of 1 fits.");
}

static void train_page_asked(struct doc *d, const struct train_answer *p)
{
	const struct train_config *q = &p->q;
	struct arena *a = d->arena;
	const char *cut = "";

	if (q->tp > 1)
		cut = arena_printf(a, "%s, tensor parallelism %d", cut, q->tp);
	if (q->pp > 1)
		cut = arena_printf(a, "%s, %d pipeline stages of %d chunk%s", cut, q->pp,
				   q->interleave, PLURAL(q->interleave));
	if (q->cp > 1)
		cut = arena_printf(a, "%s, context parallelism %d", cut, q->cp);
	if (q->ep > 1)
		cut = arena_printf(a, "%s, expert parallelism %d", cut, q->ep);
	doc_text(d,
		 "%.4g G parameters. %s over %d rank%s%s; micro-batch %d x accumulation %d = "
		 "global batch %d of %d tokens; %s, %s, checkpointing %s%s.",
		 p->parameters / 1e9, train_way_names[q->way], q->dp * q->cp, PLURAL(q->dp * q->cp),
		 cut, q->micro_batch, q->accumulation, q->global_batch, q->sequence,
		 train_precision_names[q->precision], train_optimizer_names[q->optimizer],
		 train_recompute_names[q->recompute], q->compile ? ", fused kernels" : "");
}

static void train_page_notes(struct doc *d, const struct train_page *p)
{
	const struct train_answer *t = &p->answer;
	struct node *n = doc_bullets(d);

	for (size_t i = 0; i < t->q.n_notes; i++)
		node_bullet(d, n, cell_as(STYLE_MUTED, t->q.notes[i]));
	node_bullet(d, n,
		    cell_printf(d, STYLE_MUTED, "data-sheet peaks: %s, %s; constants: %s",
				t->q.place.gpu->source, t->q.place.gpu->date, p->origin));
	if (!p->explain)
		return;
	doc_heading(d, 2, "Derivation");
	n = doc_bullets(d);
	for (size_t i = 0; i < t->n_lines; i++)
		node_bullet(d, n, cell(t->lines[i]));
}

struct doc *page_train(struct arena *a, const struct train_page *p)
{
	struct doc *d = doc_new(a);
	const struct train_config *q = &p->answer.q;

	doc_heading(d, 1,
		    arena_printf(a, "Training %s on %s",
				 q->arch.name && *q->arch.name ? q->arch.name : q->model,
				 q->place.taken));
	train_page_asked(d, &p->answer);
	train_page_verdict(d, p);
	if (p->judgement)
		page_train_judgement(d, p->judgement);
	train_page_figures(d, &p->answer);
	train_page_memory_pairs(d, &p->answer.memory, p->answer.q.place.gpu->unified);
	time_pairs(d, &p->answer);
	comm_table(d, &p->answer);
	if (p->n_points)
		page_train_scale(d, p);
	if (p->what_if)
		page_train_what_if(d, p->what_if);
	train_page_notes(d, p);
	return d;
}

/* What would change, with how many GPUs, a measured rate judged, and a table of runs. */

static const char *gain(struct arena *a, double v)
{
	return arena_printf(a, "%+.1f %%", 100 * (v - 1));
}

static void train_page_change_row(struct doc *d, struct node *t, const struct train_change *c)
{
	struct arena *a = d->arena;
	struct cell *r = node_row(d, t);

	r[0] = cell(c->name);
	r[1] = cell_as(!c->fits		  ? STYLE_BAD
		       : c->gain.low > 1  ? STYLE_GOOD
		       : c->gain.high < 1 ? STYLE_WARN
					  : STYLE_PLAIN,
		       c->fits ? gain(a, c->gain.value) : "does not fit");
	r[2] = cell(
		c->fits ? arena_printf(a, "%s to %s", gain(a, c->gain.low), gain(a, c->gain.high))
			: "");
	r[3] = cell(c->fits ? figure_number(a, c->tokens_s) : "");
	r[4] = cellf(d, "%.1f GB", c->memory / 1e9);
	r[5] = cell_as(STYLE_MUTED, c->why);
}

void page_train_what_if(struct doc *d, const struct train_what_if *w)
{
	struct node *t;

	doc_heading(d, 2, "Predicted gain of each change");
	doc_text(d, "Predicted, not measured; one change at a time, at the same global batch. "
		    "Interval: each constant varied by a quarter.");
	t = DOC_TABLE(d, NULL, "~change", ">predicted gain", "interval", ">tokens/s", ">memory",
		      "~why");
	for (size_t i = 0; i < w->n; i++)
		train_page_change_row(d, t, &w->changes[i]);
	if (w->has_best) {
		train_page_change_row(d, t, &w->best);
		doc_text(d,
			 "Best combination without changing the number format: %s. Single gains do "
			 "not add up.",
			 w->words);
	} else {
		doc_text(d, "No combination is predicted to gain more than 1 %%.");
	}
}

void page_train_scale(struct doc *d, const struct train_page *p)
{
	struct arena *a = d->arena;
	struct node *t;

	doc_heading(d, 2, "With more GPUs");
	doc_text(d, p->strong ? "Constant global batch. Efficiency: tokens/s per GPU relative to "
				"the first line; predicted."
			      : "Constant batch per GPU. Efficiency: tokens/s per GPU relative to "
				"the first line; predicted.");
	t = DOC_TABLE(d, NULL, ">GPUs", ">machines", ">a step", ">tokens/s", ">efficiency",
		      "interval", ">exposed", "~losses");
	for (size_t i = 0; i < p->n_points; i++) {
		const struct train_point *x = &p->points[i];
		struct cell *r = node_row(d, t);

		r[0] = cellf(d, "%d", x->gpus);
		r[1] = cellf(d, "%d", x->nodes);
		if (!x->possible) {
			r[7] = cell_as(STYLE_BAD, x->why);
			continue;
		}
		r[2] = cellf(d, "%s ms", figure_number(a, 1e3 * x->step_s));
		r[3] = cell(figure_number(a, x->tokens_s));
		r[4] = cell_printf(d, STYLE_STRONG, "%.1f %%", 100 * x->efficiency.value);
		r[5] = cellf(d, "%.1f to %.1f %%", 100 * x->efficiency.low,
			     100 * x->efficiency.high);
		r[6] = cellf(d, "%.1f %%", 100 * x->exposed_part);
		r[7] = cell_as(STYLE_MUTED, x->causes);
	}
}

void page_train_judgement(struct doc *d, const struct train_judgement *j)
{
	struct arena *a = d->arena;
	struct node *t;

	doc_heading(d, 2, arena_printf(a, "%s tokens/s measured", figure_number(a, j->measured)));
	doc_text(d, "Compared with the prediction: %s.", j->verdict);
	if (!j->n)
		return;
	t = DOC_TABLE(d, NULL, "~possible cause", "", "~required value", "~why", "~measurement");
	for (size_t i = 0; i < j->n; i++) {
		const struct train_cause *c = &j->causes[i];
		struct cell *r = node_row(d, t);

		r[0] = cell(c->what);
		r[1] = c->excluded ? cell_as(STYLE_MUTED, "excluded")
				   : cell_as(STYLE_WARN, "possible");
		r[2] = cellf(d, "%s %s", figure_number(a, c->needs), c->needs_unit);
		r[3] = cell(c->why);
		r[4] = cell(c->excluded ? "" : c->measure);
	}
	doc_text(d, "A rate does not prove a cause: make the measurement in the last column.");
}

struct doc *page_train_rows(struct arena *a, const struct train_rows *r)
{
	static const char *const every[ERROR_KIND_WORDS] = { "all", "all", "", "" };
	struct error_kinds kinds = { .most = r->n }, all = kinds;
	struct doc *d = doc_new(a);
	const char *why = "";
	struct node *t;

	for (size_t i = 0; i < r->n; i++) {
		const struct train_row *x = &r->items[i];
		const char *name[ERROR_KIND_WORDS] = { x->source, x->hardware, x->precision, "" };
		struct figure f = { x->predicted, x->low, x->high };

		why = rows_why(a, why, x->line, x->skipped);
		if (x->skipped || !(x->predicted > 0))
			continue;
		error_kinds_count(a, &kinds, name, x->measured, f);
		error_kinds_count(a, &all, every, x->measured, f);
	}
	doc_heading(d, 1, "Measured training runs versus predictions");
	doc_text(d, "%zu rows; %zu not predicted%s. Tokens/s per GPU.", r->n,
		 r->n - (all.n ? all.items[0].n : 0), why);
	if (!all.n)
		return d;
	t = DOC_TABLE(d, NULL, "!source", "!hardware", "!precision", ERROR_KIND_COLUMNS);
	error_kinds_table(d, t, &kinds, 3);
	error_kinds_table(d, t, &all, 3);
	return d;
}
