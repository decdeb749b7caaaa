/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through memory over sizes, drawn: where the bar grows, a cache ended. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/figure.h"
#include "base/text.h"
#include "measure/bench/figures_bench.h"
#include "measure/bench/page_bench.h"

enum {
	WIDTH = 42,
	LEAST = 3,
	FIGURES = 26, /* columns before the bar */
	STEP = 7,     /* behind it: "  x10.5" */
	SIZES_MAX = 64,
};

/* From here on a size is called a step up. */
static const double step_least = 1.3;

struct walk {
	const char *name; /* "256KiB" */
	double small, huge;
	bool has_small, has_huge;
};

static struct walk *walk_of(struct walk *walks, size_t *n, const char *name, size_t len,
			    struct arena *a)
{
	for (size_t i = 0; i < *n; i++)
		if (strlen(walks[i].name) == len && strncmp(walks[i].name, name, len) == 0)
			return &walks[i];
	if (*n == SIZES_MAX)
		return NULL;
	walks[*n] = (struct walk){ .name = arena_strndup(a, name, len) };
	return &walks[(*n)++];
}

static size_t gather(struct arena *a, const struct record *r, struct walk *walks)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		const char *colon = strchr(c->name, ':');
		struct walk *w;

		if (strcmp(c->bench, "memory-latency") != 0 || !c->n_series ||
		    !c->series[0].has_summary)
			continue;
		w = walk_of(walks, &n, c->name, colon ? (size_t)(colon - c->name) : strlen(c->name),
			    a);
		if (!w)
			continue;
		*(colon ? &w->huge : &w->small) = c->series[0].s.median;
		*(colon ? &w->has_huge : &w->has_small) = true;
	}
	return n;
}

/* What is drawn. */
struct plot {
	const struct walk *walks;
	size_t n;
	double most;
};

/* Logarithmic: a cache and memory are a hundred times apart. */
static size_t length(double v, double most, size_t width)
{
	double n = (double)width * log1p(fmax(v, 0)) / log1p(most);

	return n < 0 ? 0 : n > (double)width ? width : (size_t)lround(n);
}

/* "#####o   x2.1": small pages, huge ones, and how much more than the size before. */
static const char *bar(struct arena *a, const struct plot *p, size_t i, size_t width)
{
	const struct walk *w = &p->walks[i], *before = i ? w - 1 : NULL;
	char *s = arena_alloc(a, width + 2);
	size_t n = w->has_small ? length(w->small, p->most, width) : 0;
	size_t at = w->has_huge ? length(w->huge, p->most, width) : 0;

	memset(s, ' ', width + 1);
	memset(s, '#', n);
	if (at)
		s[at - 1] = 'o';
	for (n = width + 1; n && s[n - 1] == ' '; n--)
		s[n - 1] = '\0';
	if (!before || !before->has_small || !w->has_small ||
	    !(w->small >= step_least * before->small))
		return s;
	return arena_printf(a, "%s  x%.1f", s, w->small / before->small);
}

static const char *number(struct arena *a, bool there, double v)
{
	return there ? figure_number(a, v) : "";
}

static const char *letters(struct arena *a, const void *what, const struct term_style *how)
{
	const char *signs = "# small pages, o huge pages", *step = "x: a step up";
	const struct plot *p = what;
	TEXT_AUTO t = { 0 };
	bool room = !how || how->width >= FIGURES + WIDTH;
	size_t width = room				     ? WIDTH
		       : how->width < FIGURES + LEAST + STEP ? LEAST
							     : (size_t)how->width - FIGURES - STEP;

	if (!room)
		text_printf(&t, "%s\n%s\n", signs, step);
	text_printf(&t, "%8s %7s %7s", "region", "ns", "huge ns");
	if (room)
		text_printf(&t, "  %s, %s", signs, step);
	text_add(&t, "\n");
	for (size_t i = 0; i < p->n; i++)
		text_printf(&t, "%8.8s %7s %7s  %s\n", p->walks[i].name,
			    number(a, p->walks[i].has_small, p->walks[i].small),
			    number(a, p->walks[i].has_huge, p->walks[i].huge), bar(a, p, i, width));
	return arena_strdup(a, t.s);
}

void page_bench_latency(struct doc *d, const struct record *r)
{
	struct walk *walks = arena_array(d->arena, SIZES_MAX, sizeof(*walks));
	struct plot *p = ARENA_NEW(d->arena, struct plot);
	struct node *n;

	*p = (struct plot){ .walks = walks, .n = gather(d->arena, r, walks) };
	for (size_t i = 0; i < p->n; i++)
		p->most = fmax(p->most, fmax(walks[i].small, walks[i].huge));
	/* One size is no plot. */
	if (p->n < 2 || !(p->most > 0))
		return;
	doc_heading(d, 2, "Latency by size of the region, logarithmic");
	n = doc_figure(d, NULL,
		       figures_sweep_svg(d->arena, r, "memory-latency",
					 "Latency by size of the region, logarithmic"),
		       letters(d->arena, p, NULL));
	n->letters = letters;
	n->what = p;
}
