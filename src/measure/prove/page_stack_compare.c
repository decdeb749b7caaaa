/* SPDX-License-Identifier: Apache-2.0 */
/* What two builds of a library are worth beside each other: the verdict, then both sides. */
#include <math.h>

#include "measure/prove/page_prove.h"
#include "measure/prove/page_stack_compare.h"

/* The median of a side's windows; NAN without any. */
static double compare_median(const struct versus *v, size_t figure, bool b)
{
	ARENA_AUTO a = { 0 };
	double *x = arena_array(&a, v->n_windows, sizeof(*x)), m = NAN;
	size_t n = 0;

	for (size_t i = 0; i < v->n_windows; i++)
		if (v->windows[i].b == b)
			x[n++] = v->windows[i].value[figure];
	if (n)
		m = stat_median_in_place(x, n);
	return m;
}

static const char *effect_of(struct arena *a, const struct ruling *r)
{
	return r->pairs && r->low > 0 && isfinite(r->high)
		       ? effect_text(a, r->ratio, r->low, r->high)
		       : NULL;
}

static struct cell stack_compare_page_verdict_cell(const struct compare_view *v)
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
		return cell_as(STYLE_WARN, "undecided");
	}
}

static void stack_compare_page_headline(struct doc *d, const struct compare_view *v)
{
	const struct ruling *r = &v->v->ruling[0];
	const char *effect = effect_of(d->arena, r);
	struct node *line = doc_paragraph(d);

	node_span(d, line, cell_as(STYLE_CODE, v->bench));
	node_span(d, line, cellf(d, " by %s: ", v->component));
	node_span(d, line, stack_compare_page_verdict_cell(v));
	if (effect && !v->failed)
		node_span(d, line, cell_printf(d, STYLE_STRONG, ", %s", effect));
	node_span(d, line, cell("."));
	if (v->why)
		doc_text(d, "%c%s.",
			 v->why[0] >= 'a' && v->why[0] <= 'z' ? v->why[0] - 32 : v->why[0],
			 v->why + 1);
	if (v->verdict == RULING_NO_DIFFERENCE)
		doc_text(d, "A difference larger than %.1f %% would have been detected.",
			 r->resolution * 100);
	if (!v->failed && v->verdict == RULING_UNDECIDED && r->needed)
		doc_text(d, "About %zu pairs would be required; %zu were measured.", r->needed,
			 r->pairs);
}

static void sides(struct doc *d, const struct compare_view *v)
{
	for (int i = 0; i < 2; i++) {
		const struct compare_side_view *s = &v->sides[i];
		struct node *n = doc_pairs(d, i ? "B" : "A");

		node_pair(d, n, "what", cell(s->side->place));
		node_pair(d, n, "file", cell_as(STYLE_CODE, s->side->file));
		if (s->side->version)
			node_pairf(d, n, "version", "%s, by %s", s->side->version,
				   s->side->version_from);
		for (size_t k = 0; k < s->n_choices; k++)
			node_pair(d, n, k ? "or" : "chosen",
				  s->n_choices > 1
					  ? cellf(d, "%s (%zu windows)", s->choices[k].text,
						  s->choices[k].windows)
					  : cell(s->choices[k].text));
		if (s->fault)
			node_pair(d, n, "fails", cell_as(STYLE_BAD, s->fault));
		node_drop_empty(n);
	}
}

static void stack_compare_page_figures(struct doc *d, const struct compare_view *v)
{
	struct node *t = DOC_TABLE(d, NULL, "~Figure", ">A", ">B", ">B better by");

	for (size_t i = 0; v->v->pairs && i < v->v->n_figures; i++) {
		const struct bench_figure *f = &v->v->figures[i];
		struct cell *c = node_row(d, t);

		c[0] = cell(f->title);
		for (int b = 0; b < 2; b++)
			c[1 + b] = cellf(d, "%.4g %s", compare_median(v->v, i, b), f->unit_text);
		c[3] = cell(effect_of(d->arena, &v->v->ruling[i]));
	}
	node_drop_empty(t);
}

struct doc *page_stack_compare(struct arena *a, const struct compare_view *v)
{
	struct doc *d = doc_new(a);

	stack_compare_page_headline(d, v);
	stack_compare_page_figures(d, v);
	sides(d, v);
	if (v->v->pairs)
		doc_text(d,
			 "Measured: %zu pairs in random order, seed %llu, in %.0f s; each window "
			 "is a process that loads one of the two. Medians of the windows. The "
			 "interval of the first figure follows from the stop rule; for the others "
			 "it is %.1f %% or more.",
			 v->v->pairs, (unsigned long long)v->v->seed, v->v->took_s,
			 100 * (1 - v->v->rule.level[v->v->rule.n_looks - 1]));
	return d;
}

/* --- the result, a row a figure; keys and meanings are API --- */

/* clang-format off */

static const char *const betters[] = { "higher", "lower" }, *const side_names[] = { "a", "b" };

static const struct shape compare_effect_shape = SHAPE_OF(ruling, compare_effect,
	{ "ratio", NULL, SHAPE_REAL(ruling, ratio), .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(ruling, low), .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(ruling, high), .unknown = SHAPE_NULL },
	{ "resolution", "The largest effect that could have been missed, as a share.",
	  SHAPE_REAL(ruling, resolution), .unknown = SHAPE_NULL });

static const struct shape compare_choice_shape = SHAPE_OF(compare_choice, compare_choice,
	{ "text", "Version and algorithm, as reported by the library.", SHAPE_TEXT(compare_choice, text) },
	{ "windows", "Number of valid windows.", SHAPE_COUNT(compare_choice, windows) });

#define OF_SIDE SHAPE_VIA(compare_side_view, side, library_variant)

static const struct shape compare_side_view_shape = SHAPE_OF(compare_side_view, compare_side_view,
	{ "asked", "As given.", SHAPE_TEXT(library_variant, word), OF_SIDE },
	{ "place", NULL, SHAPE_TEXT(library_variant, place), OF_SIDE },
	{ "file", "Path with all links resolved.", SHAPE_TEXT(library_variant, file), OF_SIDE },
	{ "soname", NULL, SHAPE_TEXT(library_variant, soname), OF_SIDE },
	{ "version", NULL, SHAPE_TEXT(library_variant, version), OF_SIDE, .unknown = SHAPE_NULL },
	{ "version_from", NULL, SHAPE_TEXT(library_variant, version_from), OF_SIDE, .unknown = SHAPE_NULL },
	{ "chosen", NULL, SHAPE_ARRAY(compare_side_view, choices, n_choices, compare_choice) },
	{ "fault", "Why this side has no figure.", SHAPE_TEXT(compare_side_view, fault), .unknown = SHAPE_NULL });

/* One of both sides' figures. */
struct compare_figure {
	const struct bench_figure *is;
	double a, b;
	const struct ruling *effect;
};

static const void *compare_figures(struct arena *a, const void *object, size_t *n)
{
	const struct versus *v = ((const struct compare_view *)object)->v;
	struct compare_figure *out = arena_array(a, VERSUS_FIGURES, sizeof(*out));

	for (*n = 0; *n < v->n_figures; ++*n)
		out[*n] = (struct compare_figure){ &v->figures[*n], compare_median(v, *n, false),
						   compare_median(v, *n, true), &v->ruling[*n] };
	return out;
}

#define OF_FIGURE SHAPE_VIA(compare_figure, is, bench_figure)
/* Null without a pair. */
#define EFFECT_AS(kind, type, m) SHAPE_##kind##_AS(type, m, ruling, compare_effect_shape), .unknown = SHAPE_ZERO

static const struct shape compare_figure_shape = SHAPE_OF(compare_figure, compare_figure,
	{ "key", NULL, SHAPE_TEXT(bench_figure, key), OF_FIGURE },
	{ "title", NULL, SHAPE_TEXT(bench_figure, title), OF_FIGURE },
	{ "unit", NULL, SHAPE_TEXT(bench_figure, unit), OF_FIGURE },
	{ "unit_text", NULL, SHAPE_TEXT(bench_figure, unit_text), OF_FIGURE },
	{ "better", NULL, SHAPE_CHOICE(bench_figure, better, betters), OF_FIGURE },
	{ "a", "Median of the windows.", SHAPE_REAL(compare_figure, a), .unknown = SHAPE_NULL },
	{ "b", "Median of the windows.", SHAPE_REAL(compare_figure, b), .unknown = SHAPE_NULL },
	{ "effect", NULL, EFFECT_AS(POINTER, compare_figure, effect) });

static const struct shape versus_window_shape = SHAPE_OF(versus_window, versus_window,
	{ "pair", NULL, SHAPE_COUNT(versus_window, pair) },
	{ "side", NULL, SHAPE_EITHER(versus_window, b, side_names) },
	{ "at_s", NULL, SHAPE_REAL(versus_window, at_s) },
	{ "values", "Result per figure.", SHAPE_REAL_ARRAY(versus_window, value, n), .unknown = SHAPE_NULL });

static const struct shape fingerprint_shape = SHAPE_OF(record_pair, fingerprint,
	{ NULL, NULL, SHAPE_TEXT(record_pair, value), .unknown = SHAPE_NULL });

static const char *const verdicts[] = { "helps", "hurts", "no-difference", "undecided", "fails" };

SHAPE_GIVES(const char *, compare_verdict, compare_view, x->failed ? "fails" : ruling_name(x->verdict))

/* 64 bits: more than numbers of JSON are sure to keep. */
static const void *compare_seed(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return arena_printf(a, "%llu", (unsigned long long)((const struct compare_view *)object)->v->seed);
}

#define OF_VERSUS SHAPE_VIA(compare_view, v, versus)

static const struct shape stack_compare_shape = SHAPE_OF(compare_view, stack_compare,
	{ "machine", NULL, SHAPE_TEXT(compare_view, machine.machine), .unknown = SHAPE_NULL },
	{ "fingerprint", NULL,
	  SHAPE_LIST_AS(compare_view, machine.fingerprint, machine.n_fingerprint, record_pair, fingerprint_shape),
	  SHAPE_BY(record_pair, name) },
	{ "bench", NULL, SHAPE_TEXT(compare_view, bench) },
	{ "setup", NULL, SHAPE_TEXT(compare_view, setup), .unknown = SHAPE_NULL },
	{ "library", NULL, SHAPE_TEXT(compare_view, component) },
	{ "verdict", "Of B against A.", SHAPE_TEXT_OF(compare_verdict), SHAPE_NAMES(verdicts) },
	{ "why", NULL, SHAPE_TEXT(compare_view, why), .unknown = SHAPE_NULL },
	{ "effect", "B relative to A: above 1, B is better.", EFFECT_AS(OBJECT, versus, ruling[0]), OF_VERSUS },
	{ "a", NULL, SHAPE_OBJECT(compare_view, sides[0], compare_side_view) },
	{ "b", NULL, SHAPE_OBJECT(compare_view, sides[1], compare_side_view) },
	{ "figures", "Figures; the first one decides.", SHAPE_LIST_MADE(compare_figures, compare_figure) },
	{ "pairs", NULL, SHAPE_COUNT(versus, pairs), OF_VERSUS },
	{ "seed", NULL, SHAPE_TEXT_MADE(compare_seed) },
	{ "min_effect", "Smallest effect that counts, as a share.", SHAPE_REAL(versus, min_effect), OF_VERSUS },
	{ "budget_s", NULL, SHAPE_REAL(versus, budget_s), OF_VERSUS },
	{ "took_s", NULL, SHAPE_REAL(versus, took_s), OF_VERSUS },
	{ "windows", "Windows in the order of measurement.",
	  SHAPE_LIST(versus, windows, n_windows, versus_window), OF_VERSUS });

const struct result_shape stack_compare_result = {
	.name = "stack-compare", .title = "gputune stack compare",
	.meaning = "Comparison of two builds of a library by the same work: the verdict, both sides and every window.",
	.shape = &stack_compare_shape, .list = "figures", .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
