/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as figures of a document: drawn for HTML, letters for what is as wide as it is. */
#include <string.h>

#include "render/chart.h"
#include "render/chart_text.h"
#include "render/svg_shape.h"

typedef const char *letters(struct arena *a, const void *what, const struct term_style *how);

static const char *bars_letters(struct arena *a, const void *c, const struct term_style *how)
{
	return chart_text_bars(a, c, how);
}

static const char *ratios_letters(struct arena *a, const void *c, const struct term_style *how)
{
	return chart_text_ratios(a, c, how);
}

static const char *spread_letters(struct arena *a, const void *c, const struct term_style *how)
{
	return chart_text_spread(a, c, how);
}

static const char *timeline_letters(struct arena *a, const void *c, const struct term_style *how)
{
	return chart_text_timeline(a, c, how);
}

static const char *chart_letters(struct arena *a, const void *c, const struct term_style *how)
{
	return chart_text(a, c, how);
}

static void add_chart(struct doc *d, const char *title, const char *svg, letters *draw,
		      const void *c, size_t size)
{
	struct node *n;
	void *copy;

	if (!svg)
		return;
	copy = arena_alloc(d->arena, size);
	memcpy(copy, c, size);
	n = doc_figure(d, title, svg, NULL);
	n->letters = draw;
	n->what = copy;
}

void chart_add(struct doc *d, const char *title, const struct chart *c)
{
	add_chart(d, title, svg_chart(d->arena, title, c), chart_letters, c, sizeof(*c));
}

void chart_add_bars(struct doc *d, const struct chart_bars *c)
{
	add_chart(d, c->title, svg_bars(d->arena, c), bars_letters, c, sizeof(*c));
}

void chart_add_ratios(struct doc *d, const struct chart_ratios *c)
{
	add_chart(d, c->title, svg_ratios(d->arena, c), ratios_letters, c, sizeof(*c));
}

void chart_add_spread(struct doc *d, const struct chart_spread *c)
{
	add_chart(d, c->title, svg_spread(d->arena, c), spread_letters, c, sizeof(*c));
}

void chart_add_timeline(struct doc *d, const struct chart_timeline *c)
{
	add_chart(d, c->title, svg_timeline(d->arena, c), timeline_letters, c, sizeof(*c));
}
