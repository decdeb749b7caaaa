/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through memory over sizes, drawn: where the bar grows, a cache ended. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/figures.h"
#include "view/page_bench.h"

enum { WIDTH = 42, SIZES_MAX = 64 };

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

/* Logarithmic: a cache and memory are a hundred times apart. */
static size_t length(double v, double most)
{
	double n = WIDTH * log1p(fmax(v, 0)) / log1p(most);

	return n < 0 ? 0 : n > WIDTH ? WIDTH : (size_t)lround(n);
}

/* "#####o   x2.1": small pages, huge ones, and how much more than the size before. */
static const char *bar(struct arena *a, const struct walk *w, const struct walk *before,
		       double most)
{
	char *s = arena_alloc(a, WIDTH + 2);
	size_t n = w->has_small ? length(w->small, most) : 0;
	size_t at = w->has_huge ? length(w->huge, most) : 0;

	memset(s, ' ', WIDTH + 1);
	memset(s, '#', n);
	if (at)
		s[at - 1] = 'o';
	for (n = WIDTH + 1; n && s[n - 1] == ' '; n--)
		s[n - 1] = '\0';
	if (!before || !before->has_small || !w->has_small ||
	    !(w->small >= step_least * before->small))
		return s;
	return arena_printf(a, "%s  x%.1f", s, w->small / before->small);
}

static const char *number(struct arena *a, bool there, double v)
{
	return there ? bench_number(a, v) : "";
}

void page_bench_latency(struct doc *d, const struct record *r)
{
	struct walk walks[SIZES_MAX];
	size_t n = gather(d->arena, r, walks);
	TEXT_AUTO t = { 0 };
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fmax(walks[i].small, walks[i].huge));
	/* One size is no plot. */
	if (n < 2 || !(most > 0))
		return;
	text_printf(&t, "%8s %7s %7s  # small pages, o huge pages, x: a step up\n", "region", "ns",
		    "huge ns");
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%8.8s %7s %7s  %s\n", walks[i].name,
			    number(d->arena, walks[i].has_small, walks[i].small),
			    number(d->arena, walks[i].has_huge, walks[i].huge),
			    bar(d->arena, &walks[i], i ? &walks[i - 1] : NULL, most));
	doc_heading(d, 2, "Latency by size of the region, logarithmic");
	doc_figure(d, NULL,
		   figures_sweep_svg(d->arena, r, "memory-latency",
				     "Latency by size of the region, logarithmic"),
		   arena_strdup(d->arena, t.s));
}
