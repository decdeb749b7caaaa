/* SPDX-License-Identifier: Apache-2.0 */
/* What two builds of a library are worth beside each other: the verdict, then both sides. */
#include "measure/prove/page_stack_compare.h"

#include <math.h>

#include "measure/prove/proof.h"

double compare_median(const struct versus *v, size_t figure, bool b)
{
	struct arena a = { 0 };
	double *x = arena_array(&a, v->n_windows, sizeof(*x)), m = NAN;
	size_t n = 0;

	for (size_t i = 0; i < v->n_windows; i++)
		if (v->windows[i].b == b)
			x[n++] = v->windows[i].value[figure];
	if (n)
		m = stat_median_in_place(x, n);
	arena_free(&a);
	return m;
}

static const char *effect_text(struct arena *a, const struct ruling *r)
{
	if (!r->pairs || !(r->low > 0) || !isfinite(r->high))
		return NULL;
	return arena_printf(a, "%s (%s to %s)", proof_percent(a, r->ratio),
			    proof_percent(a, r->low), proof_percent(a, r->high));
}

static struct cell verdict_cell(const struct compare_view *v)
{
	if (v->failed)
		return cell_as(STYLE_BAD, v->sides[1].fault ? "B fails" : "A fails");
	switch (v->verdict) {
	case RULING_HELPS:
		return cell_as(STYLE_GOOD, "B is better");
	case RULING_HURTS:
		return cell_as(STYLE_BAD, "B is worse");
	case RULING_NO_DIFFERENCE:
		return cell_as(STYLE_PLAIN, "no difference");
	default:
		return cell_as(STYLE_WARN, "could not decide");
	}
}

static void headline(struct doc *d, const struct compare_view *v)
{
	const struct ruling *r = &v->v->ruling[0];
	const char *effect = effect_text(d->arena, r);
	struct node *line = doc_paragraph(d);

	node_span(d, line, cell_as(STYLE_CODE, v->bench));
	node_span(d, line, cell_printf(d, STYLE_PLAIN, " by %s: ", v->component));
	node_span(d, line, verdict_cell(v));
	if (effect && !v->failed)
		node_span(d, line, cell_printf(d, STYLE_STRONG, ", %s", effect));
	node_span(d, line, cell("."));
	if (v->why)
		doc_text(d, "%c%s.",
			 v->why[0] >= 'a' && v->why[0] <= 'z' ? v->why[0] - 32 : v->why[0],
			 v->why + 1);
	if (v->verdict == RULING_NO_DIFFERENCE)
		doc_text(d, "A difference larger than %.1f %% would have been seen.",
			 r->resolution * 100);
	if (!v->failed && v->verdict == RULING_UNDECIDED && r->needed)
		doc_text(d, "About %zu pairs would decide; these were %zu.", r->needed, r->pairs);
}

static void sides(struct doc *d, const struct compare_view *v)
{
	for (int i = 0; i < 2; i++) {
		const struct compare_side_view *s = &v->sides[i];
		struct node *n = doc_pairs(d, i ? "B" : "A");

		node_pair(d, n, "what", cell(s->side->place));
		node_pair(d, n, "file", cell_as(STYLE_CODE, s->side->file));
		if (s->side->version)
			node_pair(d, n, "version",
				  cell_printf(d, STYLE_PLAIN, "%s, by %s", s->side->version,
					      s->side->version_from));
		for (size_t k = 0; k < s->n_choices; k++)
			node_pair(d, n, k ? "or" : "chosen",
				  s->n_choices > 1
					  ? cell_printf(d, STYLE_PLAIN, "%s (%zu windows)",
							s->choices[k].text, s->choices[k].windows)
					  : cell(s->choices[k].text));
		if (s->fault)
			node_pair(d, n, "fails", cell_as(STYLE_BAD, s->fault));
		node_drop_empty(n);
	}
}

static void figures(struct doc *d, const struct compare_view *v)
{
	static const struct column columns[] = {
		{ .title = "Figure", .wrap = true },
		{ .title = "A", .right = true },
		{ .title = "B", .right = true },
		{ .title = "B better by", .right = true },
	};
	struct node *t = doc_table(d, NULL, columns, 4);

	for (size_t i = 0; v->v->pairs && i < v->v->n_figures; i++) {
		const struct bench_figure *f = &v->v->figures[i];
		struct cell *c = node_row(d, t);

		c[0] = cell(f->title);
		for (int b = 0; b < 2; b++)
			c[1 + b] = cell_printf(d, STYLE_PLAIN, "%.4g %s",
					       compare_median(v->v, i, b), f->unit_text);
		c[3] = cell(effect_text(d->arena, &v->v->ruling[i]));
	}
	node_drop_empty(t);
}

struct doc *page_stack_compare(struct arena *a, const struct compare_view *v)
{
	struct doc *d = doc_new(a);

	headline(d, v);
	figures(d, v);
	sides(d, v);
	if (v->v->pairs)
		doc_text(d,
			 "Measured: %zu pairs in random order, seed %llu, in %.0f s; each window a "
			 "process that loads one of both. Medians of the windows; the interval is "
			 "that of the stop rule for the first figure, %.1f %% and more for the "
			 "others.",
			 v->v->pairs, (unsigned long long)v->v->seed, v->v->took_s,
			 100 * (1 - v->v->rule.level[v->v->rule.n_looks - 1]));
	return d;
}
