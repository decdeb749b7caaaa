/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run after the other: what is the bottleneck, where a step's time goes, the causes with the
 * lines that they stand on, and what would have to be measured; then how the runs scale.
 */
#include <math.h>

#include "models/diagnose/page_diagnose.h"
#include "render/shape_page.h"

static const char *percent(struct arena *a, double v)
{
	return isfinite(v) ? arena_printf(a, v < 0.1 ? "%.1f %%" : "%.0f %%", 100 * v) : NULL;
}

static const char *seconds(struct arena *a, double s)
{
	if (!isfinite(s))
		return NULL;
	return s < 1 ? arena_printf(a, "%.3g ms", 1e3 * s) : arena_printf(a, "%.4g s", s);
}

static void pair(struct doc *d, struct node *n, const char *name, const char *text)
{
	if (text)
		node_pair(d, n, name, cell(text));
}

static void step_time(struct doc *d, struct node *n, const struct run_summary *r)
{
	const char *s = seconds(d->arena, r->step_s), *high = seconds(d->arena, r->step_p95_s);
	const struct figure_sum *f = &r->sums[FIGURE_STEP_S];

	if (!s)
		return;
	if (r->step_from)
		s = arena_printf(d->arena, "%s (%s)", s, r->step_from);
	else if (f->n && f->at->step < 0 && isfinite(f->at->over_s))
		s = arena_printf(d->arena, "%s (measured, mean over %.4g s)", s, f->at->over_s);
	else
		s = arena_printf(d->arena, "%s, 95th percentile %s (measured, %zu step%s)", s, high,
				 r->steps, PLURAL(r->steps));
	if (isfinite(r->drift))
		s = arena_printf(d->arena, "%s; last quarter %+.1f %% relative to the first", s,
				 100 * r->drift);
	node_pair(d, n, "Step", cell(s));
}

static void utilisation(struct doc *d, struct node *n, const struct run_summary *r)
{
	struct arena *a = d->arena;

	if (isfinite(r->mfu_attention) || isfinite(r->mfu))
		pair(d, n, "MFU",
		     arena_printf(a, "%s%s%s of the %s", isfinite(r->mfu) ? percent(a, r->mfu) : "",
				  isfinite(r->mfu) && isfinite(r->mfu_attention)
					  ? ", with attention "
					  : "",
				  isfinite(r->mfu_attention) ? percent(a, r->mfu_attention) : "",
				  r->peak_from));
	if (isfinite(r->hfu))
		pair(d, n, "HFU", arena_printf(a, "%s (%s)", percent(a, r->hfu), r->hfu_from));
	if (r->formula)
		pair(d, n, "Operations per token", r->formula);
	if (r->sums[FIGURE_TFLOPS_PER_GPU].n)
		pair(d, n, "Operations (from the log)",
		     arena_printf(a, "%.4g TFLOP/s per GPU",
				  r->sums[FIGURE_TFLOPS_PER_GPU].median));
	if (r->sums[FIGURE_MFU].n)
		pair(d, n, "MFU (from the log)", percent(a, r->sums[FIGURE_MFU].median));
	pair(d, n, "GPU busy", percent(a, r->sums[FIGURE_GPU_UTIL].mean));
	pair(d, n, "SM activity", percent(a, r->sums[FIGURE_SM_ACTIVITY].mean));
	if (isfinite(r->memory_used))
		pair(d, n, "GPU memory",
		     arena_printf(a, "%.1f GiB%s peak on the GPU with the highest use",
				  r->memory_used / 0x1p30,
				  isfinite(r->memory_total)
					  ? arena_printf(a, " of %.1f", r->memory_total / 0x1p30)
					  : ""));
	if (r->sums[FIGURE_SM_MHZ].n)
		pair(d, n, "SM clock",
		     arena_printf(a, "%.0f MHz%s", r->sums[FIGURE_SM_MHZ].mean,
				  r->sums[FIGURE_SM_MAX_MHZ].n
					  ? arena_printf(a, " of %.0f",
							 r->sums[FIGURE_SM_MAX_MHZ].median)
					  : ""));
}

static void diagnose_page_tokens(struct doc *d, struct node *n, const struct run_summary *r)
{
	struct arena *a = d->arena;

	if (isfinite(r->tokens_s))
		pair(d, n, "Tokens",
		     arena_printf(a, "%.0f tokens/s%s (%s)", r->tokens_s,
				  isfinite(r->tokens_s_gpu) && isfinite(r->gpus)
					  ? arena_printf(a, ", %.0f on each of %.0f %s",
							 r->tokens_s_gpu, r->gpus,
							 r->traits[TRAIT_GPU] ? "GPUs" : "ranks")
					  : "",
				  r->tokens_from));
	else if (isfinite(r->tokens_s_gpu))
		pair(d, n, "Tokens",
		     arena_printf(a, "%.0f tokens/s per GPU (from the log); number of GPUs unknown",
				  r->tokens_s_gpu));
}

static void diagnose_page_figures(struct doc *d, const struct run_summary *r)
{
	struct node *n = doc_pairs(d, NULL);
	struct arena *a = d->arena;

	step_time(d, n, r);
	diagnose_page_tokens(d, n, r);
	if (r->sums[FIGURE_SAMPLES_PER_S].n)
		pair(d, n, "Samples",
		     arena_printf(a, "%.4g samples/s (from the log)",
				  r->sums[FIGURE_SAMPLES_PER_S].median));
	utilisation(d, n, r);
	pair(d, n, "CPUs busy", percent(a, r->sums[FIGURE_CPU_BUSY].mean));
	if (r->sums[FIGURE_PROCESS_CPUS].n)
		pair(d, n, "CPUs used by the job",
		     arena_printf(a, "%.2f", r->sums[FIGURE_PROCESS_CPUS].mean));
}

static void diagnose_page_split(struct doc *d, const struct run_summary *r)
{
	static const struct column columns[] = { { .title = "Part of the step" },
						 { .title = "Time", .right = true },
						 { .title = "Share", .right = true },
						 { .title = "By", .wrap = true } };
	const struct step_split *s = &r->split;
	struct node *t;

	if (!isfinite(s->step_s))
		return;
	t = doc_table(d,
		      arena_printf(d->arena,
				   s->window ? "All %s recorded (%s)" : "Average step of %s (%s)",
				   seconds(d->arena, s->step_s),
				   s->gpu_clock ? "GPU timeline" : "host clock"),
		      columns, 4);
	for (size_t p = 0; p < PARTS; p++) {
		struct cell *c;
		struct cite by;

		if (!s->told[p] && (p != PART_REST || !(s->s[p] > 0.005 * s->step_s)))
			continue;
		c = node_row(d, t);
		c[0] = cell(step_part_names[p]);
		c[1] = cell(seconds(d->arena, s->s[p]));
		c[2] = cell(percent(d->arena, s->s[p] / s->step_s));
		if (!s->at[p])
			continue;
		by = (struct cite){ &r->ev->files[s->at[p]->file], s->at[p]->line, NULL };
		c[3] = cell_as(STYLE_CODE, cite_place(d->arena, &by));
	}
}

static enum style style_of(enum certainty c)
{
	static const enum style styles[CERTAINTIES] = { STYLE_BAD, STYLE_WARN, STYLE_UNKNOWN,
							STYLE_UNKNOWN, STYLE_GOOD };

	return styles[c];
}

static bool is_shown(const struct diagnose_view *v, const struct judged_cause *c)
{
	return c->says && (v->all || (c->how <= IS_POSSIBLE && !(c->share < DIAGNOSE_WORTH)));
}

static void diagnose_page_causes(struct doc *d, const struct diagnose_view *v,
				 const struct run_verdict *x)
{
	struct node *list =
		doc_findings(d, "Causes; a share is the largest possible gain of its fix");

	for (size_t i = 0; i < x->n_causes; i++) {
		const struct judged_cause *c = &x->causes[i];
		const char *cited = NULL;

		if (!is_shown(v, c))
			continue;
		for (size_t k = 0; k < c->n_cites; k++)
			cited = arena_printf(d->arena, "%s%s%s (%s)", cited ? cited : "",
					     cited ? "; " : "", c->cites[k].says,
					     cite_place(d->arena, &c->cites[k]));
		node_found(
			d, list,
			&(struct found){
				.badge = cell_as(style_of(c->how), certainty_names[c->how]),
				.id = c->row->title,
				.now = c->how <= IS_POSSIBLE ? percent(d->arena, c->share) : NULL,
				.why = c->says,
				.fix = cell(i < x->found ? c->row->mend : NULL) });
		node_more(d, list, "evidence", cell_as(STYLE_MUTED, cited));
		node_more(d, list, "against it", cell(c->against));
	}
}

static void diagnose_page_list(struct doc *d, const char *title, const char *const *texts, size_t n)
{
	struct node *b;

	if (!n)
		return;
	doc_text(d, "%s", title);
	b = doc_bullets(d);
	for (size_t i = 0; i < n; i++)
		node_bullet(d, b, cell(texts[i]));
}

static void diagnose_page_predicted(struct doc *d, const struct run_summary *r,
				    const struct run_verdict *x)
{
	const struct figure *f;
	struct node *t;

	if (!x->predicted)
		return;
	f = &x->predicted->tokens_s;
	doc_text(d,
		 "Predicted, not measured: %.0f tokens/s for this setup (%.0f to %.0f); measured: "
		 "%.0f.%s",
		 f->value, f->low, f->high, r->tokens_s,
		 r->tokens_s < f->low
			 ? " Slower than predicted: the gains below assume no other losses."
			 : "");
	t = DOC_TABLE(d, "Predicted gains", "~Cause", "~Change", ">Tokens/s", ">From", ">To");
	for (size_t i = 0; i < x->predicted->n; i++) {
		const struct train_change *g = x->predicted->items[i].change;
		struct cell *c = node_row(d, t);

		c[0] = cell(x->predicted->items[i].cause->title);
		c[1] = cell(g->name);
		c[2] = cell(arena_printf(d->arena, "%.2fx", g->gain.value));
		c[3] = cell(arena_printf(d->arena, "%.2fx", g->gain.low));
		c[4] = cell(arena_printf(d->arena, "%.2fx", g->gain.high));
	}
}

static void diagnose_page_one(struct doc *d, const struct diagnose_view *v, size_t i)
{
	const struct run_summary *r = &v->d->runs[i];
	const struct run_verdict *x = &v->d->verdicts[i];
	struct node *p;

	if (v->d->n > 1)
		doc_heading(d, 2, r->name);
	p = doc_paragraph(d);
	p->verdict = true;
	node_span(d, p,
		  cell_as(x->main      ? STYLE_BAD
			  : x->healthy ? STYLE_GOOD
				       : STYLE_UNKNOWN,
			  x->main      ? "Bottleneck: "
			  : x->healthy ? "Healthy: "
				       : ""));
	node_span(d, p, cell(x->verdict));
	diagnose_page_causes(d, v, x);
	diagnose_page_figures(d, r);
	diagnose_page_split(d, r);
	diagnose_page_predicted(d, r, x);
	if (!x->healthy || v->all)
		diagnose_page_list(d, "Not checked, and the data required:", x->missing,
				   x->n_missing);
	diagnose_page_list(d, "Notes:", r->notes, r->n_notes);
}

static void scaling(struct doc *d, const struct diagnosis_of_runs *x)
{
	struct node *t;

	if (!x->scale.n)
		return;
	t = DOC_TABLE(d, "Scaling", "Run", ">GPUs", ">Tokens/s", ">Efficiency", ">Step", "Scaling",
		      "~Why");
	for (size_t i = 0; i < x->scale.n; i++) {
		const struct scale_point *p = &x->scale.points[i];
		struct cell *c = node_row(d, t);

		c[0] = cell(x->runs[p->run].name);
		c[1] = cell(arena_printf(d->arena, "%.0f", p->gpus));
		c[2] = cell(arena_printf(d->arena, "%.0f", p->tokens_s));
		c[3] = cell(percent(d->arena, p->efficiency));
		c[4] = cell(isfinite(p->step_ratio) ? arena_printf(d->arena, "%.2fx", p->step_ratio)
						    : NULL);
		c[5] = cell(scale_kind_names[p->kind]);
		c[6] = cell(p->why);
	}
	if (x->scale.bandwidth.told)
		doc_text(d, "Bandwidth: %s.", x->scale.bandwidth.says);
}

static void files(struct doc *d, const struct diagnose_view *v)
{
	const struct run_evidence *ev = v->ev;

	shape_list_table(d, "Files", diagnose_result.shape, "files", v);
	for (size_t i = 0; i < v->n_troubles; i++)
		doc_text(d, "%s: %s", v->troubles[i].path, v->troubles[i].why);
	if (ev->dropped)
		doc_text(d, "%zu figures beyond the limit were ignored.", ev->dropped);
}

struct doc *page_diagnose(struct arena *a, const struct diagnose_view *v)
{
	struct doc *d = doc_new(a);

	for (size_t i = 0; i < v->d->n; i++)
		diagnose_page_one(d, v, i);
	scaling(d, v->d);
	files(d, v);
	if (v->model_taken)
		doc_text(d, "Model: %s.", v->model_taken);
	return d;
}
