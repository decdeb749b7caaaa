/* SPDX-License-Identifier: Apache-2.0 */
/* What would change, with how many GPUs, a measured rate judged, and a table of runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "render/figure.h"
#include "models/training/page_train.h"

static const char *gain(struct arena *a, double v)
{
	return arena_printf(a, "%+.1f %%", 100 * (v - 1));
}

static void change_row(struct doc *d, struct node *t, const struct train_change *c)
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
	r[4] = cell_printf(d, STYLE_PLAIN, "%.1f GB", c->memory / 1e9);
	r[5] = cell_as(STYLE_MUTED, c->why);
}

void page_train_what_if(struct doc *d, const struct train_what_if *w)
{
	static const struct column columns[] = {
		{ "change", false, true },    { "predicted gain", true, false },
		{ "interval", false, false }, { "tokens/s", true, false },
		{ "memory", true, false },    { "why", false, true }
	};
	struct node *t;

	doc_heading(d, 2, "What each change would bring");
	doc_text(d, "Predicted and not measured; each alone, at the same global batch. The "
		    "interval is what the constants leave open, each moved by a quarter.");
	t = doc_table(d, NULL, columns, 6);
	for (size_t i = 0; i < w->n; i++)
		change_row(d, t, &w->changes[i]);
	if (w->has_best) {
		change_row(d, t, &w->best);
		doc_text(d,
			 "Together, without another number format: %s. Gains of single changes do "
			 "not add up.",
			 w->words);
	} else {
		doc_text(d, "No combination of them is predicted to bring more than 1 %%.");
	}
}

void page_train_scale(struct doc *d, const struct train_page *p)
{
	static const struct column columns[] = {
		{ "GPUs", true, false },       { "machines", true, false },
		{ "a step", true, false },     { "tokens/s", true, false },
		{ "efficiency", true, false }, { "interval", false, false },
		{ "exposed", true, false },    { "where the rest of a step goes", false, true }
	};
	struct arena *a = d->arena;
	struct node *t;

	doc_heading(d, 2, "With more GPUs");
	doc_text(d, p->strong
			    ? "The global batch stays. Efficiency: tokens/s of a GPU against the "
			      "first line; predicted."
			    : "The batch of each GPU stays. Efficiency: tokens/s of a GPU against "
			      "the first line; predicted.");
	t = doc_table(d, NULL, columns, 8);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct train_point *x = &p->points[i];
		struct cell *r = node_row(d, t);

		r[0] = cell_printf(d, STYLE_PLAIN, "%d", x->gpus);
		r[1] = cell_printf(d, STYLE_PLAIN, "%d", x->nodes);
		if (!x->possible) {
			r[7] = cell_as(STYLE_BAD, x->why);
			continue;
		}
		r[2] = cell_printf(d, STYLE_PLAIN, "%s ms", figure_number(a, 1e3 * x->step_s));
		r[3] = cell(figure_number(a, x->tokens_s));
		r[4] = cell_printf(d, STYLE_STRONG, "%.1f %%", 100 * x->efficiency.value);
		r[5] = cell_printf(d, STYLE_PLAIN, "%.1f to %.1f %%", 100 * x->efficiency.low,
				   100 * x->efficiency.high);
		r[6] = cell_printf(d, STYLE_PLAIN, "%.1f %%", 100 * x->exposed_part);
		r[7] = cell_as(STYLE_MUTED, x->causes);
	}
}

void page_train_judgement(struct doc *d, const struct train_judgement *j)
{
	static const struct column columns[] = { { "possible cause", false, true },
						 { "", false, false },
						 { "would have to be", false, true },
						 { "why", false, true },
						 { "what tells", false, true } };
	struct arena *a = d->arena;
	struct node *t;

	doc_heading(d, 2, arena_printf(a, "%s tokens/s measured", figure_number(a, j->measured)));
	doc_text(d, "Held against the prediction: %s.", j->verdict);
	if (!j->n)
		return;
	t = doc_table(d, NULL, columns, 5);
	for (size_t i = 0; i < j->n; i++) {
		const struct train_cause *c = &j->causes[i];
		struct cell *r = node_row(d, t);

		r[0] = cell(c->what);
		r[1] = c->excluded ? cell_as(STYLE_MUTED, "excluded")
				   : cell_as(STYLE_WARN, "possible");
		r[2] = cell_printf(d, STYLE_PLAIN, "%s %s", figure_number(a, c->needs),
				   c->needs_unit);
		r[3] = cell(c->why);
		r[4] = cell(c->excluded ? "" : c->measure);
	}
	doc_text(d, "No cause is named certain from rates alone: the last column says what to "
		    "measure.");
}

/* Errors of rows of one kind. */
struct kind {
	const char *source, *hardware, *precision;
	double *error, *ratio;
	size_t n, inside;
};

static struct kind *kind_of(struct arena *a, struct kind **list, size_t *n,
			    const struct train_row *r, size_t most)
{
	struct kind *k;

	for (size_t i = 0; r && i < *n; i++) {
		k = &(*list)[i];
		if (k->source && strcmp(k->source, r->source) == 0 &&
		    strcmp(k->hardware, r->hardware) == 0 &&
		    strcmp(k->precision, r->precision) == 0)
			return k;
	}
	*list = arena_grow(a, *list, *n, sizeof(**list));
	k = &(*list)[(*n)++];
	*k = (struct kind){ .source = r ? r->source : NULL,
			    .hardware = r ? r->hardware : "all",
			    .precision = r ? r->precision : "" };
	k->error = arena_array(a, most, sizeof(double));
	k->ratio = arena_array(a, most, sizeof(double));
	return k;
}

static void count(struct kind *k, const struct train_row *r)
{
	k->error[k->n] = fabs(r->predicted / r->measured - 1);
	k->ratio[k->n++] = r->predicted / r->measured;
	k->inside += r->measured >= r->low && r->measured <= r->high;
}

static void kind_row(struct doc *d, struct node *t, struct kind *k)
{
	struct cell *c = node_row(d, t);

	stat_sort(k->error, k->n);
	stat_sort(k->ratio, k->n);
	c[0] = k->source ? cell(k->source) : cell_as(STYLE_STRONG, "all");
	c[1] = cell(k->hardware);
	c[2] = cell(k->precision);
	c[3] = cell_printf(d, STYLE_PLAIN, "%zu", k->n);
	c[4] = cell_printf(d, STYLE_STRONG, "%.1f %%", 100 * stat_quantile(k->error, k->n, 0.5));
	c[5] = cell_printf(d, STYLE_PLAIN, "%.1f %%", 100 * stat_quantile(k->error, k->n, 0.9));
	c[6] = cell_printf(d, STYLE_PLAIN, "%.2f", stat_quantile(k->ratio, k->n, 0.5));
	c[7] = cell_printf(d, STYLE_PLAIN, "%.0f %%", 100.0 * (double)k->inside / (double)k->n);
}

struct doc *page_train_rows(struct arena *a, const struct train_rows *r)
{
	static const struct column columns[] = { { "source", false, false },
						 { "hardware", false, false },
						 { "precision", false, false },
						 { "rows", true, false },
						 { "median error", true, false },
						 { "9 of 10 below", true, false },
						 { "predicted / measured", true, false },
						 { "inside the interval", true, false } };
	struct doc *d = doc_new(a);
	struct kind *list = NULL, *all;
	size_t n = 0, counted = 0;
	struct node *t;

	for (size_t i = 0; i < r->n; i++)
		counted += !r->items[i].skipped && r->items[i].predicted > 0;
	doc_heading(d, 1, "Measured training runs, predicted anew");
	doc_text(d, "%zu rows; %zu not predicted. Tokens/s of a GPU.", r->n, r->n - counted);
	if (!counted)
		return d;
	/* The first of the list counts all; growing the list moves it. */
	kind_of(a, &list, &n, NULL, counted);
	for (size_t i = 0; i < r->n; i++)
		if (!r->items[i].skipped && r->items[i].predicted > 0) {
			all = kind_of(a, &list, &n, &r->items[i], counted);
			count(all, &r->items[i]);
			count(&list[0], &r->items[i]);
		}
	t = doc_table(d, NULL, columns, 8);
	for (size_t i = 1; i < n; i++)
		kind_row(d, t, &list[i]);
	kind_row(d, t, &list[0]);
	return d;
}
