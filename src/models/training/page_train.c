/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction of training on a page: does it fit, how fast, what binds, what it is made of. */
#include "models/training/page_train.h"

#include <math.h>

#include "render/figure.h"

static const char *seconds(struct arena *a, double s)
{
	if (s >= 10)
		return arena_printf(a, "%.1f s", s);
	return arena_printf(a, "%s ms", figure_number(a, 1e3 * s));
}

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

static void rate_row(struct doc *d, struct node *t, const char *name, const struct train_figure *f)
{
	struct arena *a = d->arena;

	row(d, t, name, figure_number(a, f->value), figure_number(a, f->low),
	    figure_number(a, f->high));
}

static const char *percent(struct arena *a, double v)
{
	return arena_printf(a, "%.1f %%", 100 * v);
}

static void figures(struct doc *d, const struct train_answer *p)
{
	static const struct column columns[] = { { "predicted", false, false },
						 { "", true, false },
						 { "four of five lie in", false, false } };
	struct node *t = doc_table(d, NULL, columns, 3);
	struct arena *a = d->arena;
	const struct train_figure *s = &p->time.total;

	rate_row(d, t, "tokens/s of all GPUs", &p->tokens_s);
	rate_row(d, t, "tokens/s of a GPU", &p->tokens_s_gpu);
	row(d, t, "a step", seconds(a, s->value), seconds(a, s->low), seconds(a, s->high));
	row(d, t, "MFU", percent(a, p->mfu.value), percent(a, p->mfu.low), percent(a, p->mfu.high));
	row(d, t, "HFU", percent(a, p->hfu.value), percent(a, p->hfu.low), percent(a, p->hfu.high));
	row(d, t, "memory of the fullest GPU", gb(a, p->memory.all.value), gb(a, p->memory.all.low),
	    gb(a, p->memory.all.high));
	doc_text(d,
		 "Interval of rates: %s. MFU counts the operations that this training needs, HFU "
		 "those that are done twice as well; both against %.4g TFLOP/s (%s, dense, by data "
		 "sheet).",
		 p->interval_of, p->peak_flops / 1e12, train_precision_names[p->q.precision]);
}

static void memory_pairs(struct doc *d, const struct train_memory *m)
{
	struct arena *a = d->arena;
	const struct {
		const char *name;
		double bytes;
	} parts[] = { { "weights", m->weights },
		      { "FP32 master weights", m->master },
		      { "gradients", m->gradients },
		      { "optimizer states", m->states },
		      { "activations", m->activations },
		      { "of the layer at work", m->working },
		      { "logits and loss", m->logits },
		      { "buckets, gathered weights", m->buffers },
		      { "CUDA context, NCCL", m->context },
		      { "lost to fragments", m->waste },
		      { "together", m->total },
		      { "there are", m->shown > 0 ? m->shown : m->limit },
		      { "of it for training", m->shown > 0 ? m->limit : 0 } };
	struct node *n = doc_pairs(d, "Memory of the fullest GPU (predicted)");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes > 0)
			node_pair(d, n, parts[i].name, cell(gb(a, parts[i].bytes)));
	if (m->shown > 0)
		node_pair(d, n, "of it for the rest",
			  cell_printf(d, STYLE_PLAIN, "%s: the system, loaders, the page cache",
				      gb(a, m->shown - m->limit)));
}

static void time_pairs(struct doc *d, const struct train_answer *p)
{
	const struct train_time *t = &p->time;
	struct arena *a = d->arena;
	const struct {
		const char *name;
		double s;
	} parts[] = { { "forward", t->forward },
		      { "backward", t->backward },
		      { "recomputed forward", t->recompute },
		      { "waiting for launches", t->launch },
		      { "update of the weights", t->optimizer },
		      { "communication, exposed", t->exposed },
		      { "contention with hidden communication", t->contention },
		      { "pipeline bubble", t->bubble },
		      { "waiting for samples", t->loader },
		      { "waiting for the slowest machine", t->slack } };
	struct node *n = doc_pairs(d, "A step (predicted)");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].s > 0)
			node_pair(d, n, parts[i].name,
				  cell_printf(d, STYLE_PLAIN, "%s (%.1f %%)",
					      seconds(a, parts[i].s),
					      100 * parts[i].s / t->total.value));
	if (t->comm > 0)
		node_pair(d, n, "communication, hidden too", cell(seconds(a, t->comm)));
}

static void comm_table(struct doc *d, const struct train_answer *p)
{
	static const struct column columns[] = { { "communication of a step", false, false },
						 { "ranks", true, false },
						 { "calls", true, false },
						 { "MB each", true, false },
						 { "bus GB/s", true, false },
						 { "time", true, false },
						 { "exposed", true, false },
						 { "bandwidth from", false, true } };
	struct arena *a = d->arena;
	struct node *t;

	if (!p->n_comms)
		return;
	t = doc_table(d, NULL, columns, 8);
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct train_comm *c = &p->comms[i];
		struct cell *r = node_row(d, t);

		r[0] = cell(arena_printf(a, "%s: %s", c->purpose, train_collective_names[c->what]));
		r[1] = cell_printf(d, STYLE_PLAIN, "%d%s", c->ranks, c->between ? ", network" : "");
		r[2] = cell_printf(d, STYLE_PLAIN, "%.0f", c->count);
		r[3] = cell(figure_number(a, c->bytes / 1e6));
		r[4] = cell(figure_number(a, c->busbw_gbs));
		r[5] = cell(seconds(a, c->total_s));
		r[6] = cell(seconds(a, c->exposed_s));
		r[7] = cell_as(STYLE_MUTED, c->from);
	}
}

/* A sum is only as good as its interval: where that holds the limit, nobody knows yet. */
static struct cell fits(const struct train_memory *m)
{
	if (m->fits)
		return m->all.high > m->limit ? cell_as(STYLE_WARN, "Perhaps fits")
					      : cell_as(STYLE_GOOD, "Fits");
	return m->all.low < m->limit ? cell_as(STYLE_WARN, "Perhaps does not fit")
				     : cell_as(STYLE_BAD, "Does not fit");
}

static void verdict(struct doc *d, const struct train_page *p)
{
	const struct train_answer *t = &p->answer;
	const struct train_memory *m = &t->memory;
	struct node *n = doc_paragraph(d);

	node_span(d, n, fits(m));
	node_span(d, n,
		  cell_printf(d, STYLE_PLAIN,
			      ": %.1f GB %s; four of five needs lie in %.1f to %.1f GB. ",
			      fabs(m->limit - m->total) / 1e9, m->fits ? "are left" : "are missing",
			      m->all.low / 1e9, m->all.high / 1e9));
	node_span(d, n,
		  cell_printf(d, STYLE_PLAIN, "Limit: %s; %s.", train_limit_names[t->limit],
			      t->limit_why));
	if (!p->asked_largest)
		return;
	if (p->largest > 0)
		doc_text(d,
			 "Largest micro-batch that fits: %d; with the global batch of %d held: %d "
			 "(predicted, not tried).",
			 p->largest, t->q.global_batch, p->largest_held);
	else
		doc_text(d, "Not even a micro-batch of 1 fits.");
}

static void asked(struct doc *d, const struct train_answer *p)
{
	const struct train_question *q = &p->q;
	struct arena *a = d->arena;
	const char *cut = "";

	if (q->tp > 1)
		cut = arena_printf(a, "%s, tensor parallel %d", cut, q->tp);
	if (q->pp > 1)
		cut = arena_printf(a, "%s, %d stages of %d chunk%s", cut, q->pp, q->interleave,
				   q->interleave > 1 ? "s" : "");
	if (q->cp > 1)
		cut = arena_printf(a, "%s, context parallel %d", cut, q->cp);
	if (q->ep > 1)
		cut = arena_printf(a, "%s, experts over %d", cut, q->ep);
	doc_text(
		d,
		"%.4g G parameters. %s over %d rank%s%s; micro-batch %d x accumulation %d = global "
		"batch %d of %d tokens; %s, %s, checkpointing %s%s.",
		p->parameters / 1e9, train_way_names[q->way], q->dp * q->cp,
		q->dp * q->cp > 1 ? "s" : "", cut, q->micro_batch, q->accumulation, q->global_batch,
		q->sequence, train_precision_names[q->precision],
		train_optimizer_names[q->optimizer], train_recompute_names[q->recompute],
		q->compile ? ", fused kernels" : "");
}

static void notes(struct doc *d, const struct train_page *p)
{
	const struct train_answer *t = &p->answer;
	struct node *n = doc_bullets(d);

	for (size_t i = 0; i < t->q.n_notes; i++)
		node_bullet(d, n, cell_as(STYLE_MUTED, t->q.notes[i]));
	node_bullet(d, n,
		    cell_printf(d, STYLE_MUTED, "peaks by data sheet: %s, %s; constants: %s",
				t->q.place.gpu->source, t->q.place.gpu->date, p->origin));
	if (!p->explain)
		return;
	doc_heading(d, 2, "How it follows");
	n = doc_bullets(d);
	for (size_t i = 0; i < t->n_lines; i++)
		node_bullet(d, n, cell(t->lines[i]));
}

struct doc *page_train(struct arena *a, const struct train_page *p)
{
	struct doc *d = doc_new(a);
	const struct train_question *q = &p->answer.q;

	doc_heading(d, 1,
		    arena_printf(a, "Training %s on %s",
				 q->arch.name && *q->arch.name ? q->arch.name : q->model,
				 q->place.taken));
	asked(d, &p->answer);
	verdict(d, p);
	if (p->judgement)
		page_train_judgement(d, p->judgement);
	figures(d, &p->answer);
	memory_pairs(d, &p->answer.memory);
	time_pairs(d, &p->answer);
	comm_table(d, &p->answer);
	if (p->n_points)
		page_train_scale(d, p);
	if (p->what_if)
		page_train_what_if(d, p->what_if);
	notes(d, p);
	return d;
}
