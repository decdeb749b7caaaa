/* SPDX-License-Identifier: Apache-2.0 */
/* Bars and ratios as letters. */
#include "render/chart_text.h"

#include <math.h>
#include <string.h>

#include "render/glyph.h"
#include "render/figure.h"

enum { LABEL_MAX = 30, BAR_LEAST = 16, NAMES_MAX = 6 };

/* --- bars ---------------------------------------------------------------------------------------
 */

struct layout {
	int label, value, note, bar;
	bool two; /* the bar stands below its label */
};

static int widest(int most, const char *s)
{
	int n = s ? (int)glyph_width(s) : 0;

	return n > most ? n : most;
}

static struct layout layout_of(struct arena *a, const struct chart_bars *c, int width)
{
	struct layout l = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		const struct chart_bar *b = &c->rows[i];

		l.label = widest(l.label, b->label);
		l.value = widest(l.value, chart_figure(a, b->value, NAN, NAN, c->unit));
		l.note = widest(l.note, b->note);
	}
	l.label = l.label < width * 2 / 5 ? l.label : width * 2 / 5;
	l.note = l.note < width / 4 ? l.note : 0;
	l.bar = width - l.label - l.value - 2 - (l.note ? l.note + 1 : 0);
	if (l.note && l.bar < BAR_LEAST) {
		l.bar += l.note + 1;
		l.note = 0;
	}
	if (l.bar < BAR_LEAST) {
		l.two = true;
		l.bar = width;
		l.label = width - l.value - 1;
	}
	return l;
}

static int column_of(const struct scale *s, double v, int width)
{
	return (int)lround(fmin(fmax(scale_on(s, v), 0), 1) * (width - 1));
}

static void put(char *cells, const struct scale *s, int width, double v, char sign)
{
	if (scale_takes(s, v))
		cells[column_of(s, v, width)] = sign;
}

/* "#####=-   (  )  |": the bar, its interval, the band, the limit. */
static void bar_cells(char *cells, const struct chart_bars *c, const struct chart_bar *b,
		      const struct scale *s, int width)
{
	bool whole = scale_takes(s, b->low) && scale_takes(s, b->high);

	memset(cells, ' ', (size_t)width);
	cells[width] = '\0';
	if (!scale_takes(s, b->value))
		return;
	if (!c->log)
		for (int i = 0, end = column_of(s, b->value, width), zero = column_of(s, 0, width);
		     i < width; i++)
			if ((i >= zero && i <= end) || (i <= zero && i >= end))
				cells[i] = '#';
	for (int i = whole ? column_of(s, b->low, width) : width;
	     whole && i <= column_of(s, b->high, width); i++)
		cells[i] = cells[i] == '#' ? '=' : '-';
	if (chart_has_line(&c->base))
		put(cells, s, width, c->base.low, ':');
	if (chart_has_band(&b->band)) {
		put(cells, s, width, b->band.low, '(');
		put(cells, s, width, b->band.high, ')');
	}
	if (chart_has_line(&b->limit))
		put(cells, s, width, b->limit.low, '|');
	if (c->log)
		put(cells, s, width, b->value, 'o');
}

static void trim(struct text *t)
{
	while (t->len && t->s[t->len - 1] == ' ')
		t->s[--t->len] = '\0';
}

static void bar_row(struct arena *a, struct text *t, const struct chart_bars *c,
		    const struct chart_bar *b, const struct scale *s, const struct layout *l,
		    bool ascii)
{
	char cells[CHART_WIDEST + 1];

	bar_cells(cells, c, b, s, l->bar);
	chart_pad(t, b->label, l->label, false, ascii);
	text_addc(t, ' ');
	if (!l->two) {
		chart_signs(t, cells, ascii);
		text_addc(t, ' ');
	}
	chart_pad(t, chart_figure(a, b->value, NAN, NAN, c->unit), l->value, true, ascii);
	if (l->note) {
		text_addc(t, ' ');
		chart_pad(t, b->note, l->note, false, ascii);
	}
	trim(t);
	if (l->two) {
		text_addc(t, '\n');
		chart_signs(t, cells, ascii);
		trim(t);
	}
	text_addc(t, '\n');
}

static void bar_legend(struct arena *a, struct text *t, const struct chart_bars *c,
		       const struct term_style *how)
{
	const char *names[NAMES_MAX];
	bool whiskers = false;
	size_t n;

	for (size_t i = 0; i < c->n; i++)
		whiskers =
			whiskers || (isfinite(c->rows[i].low) && c->rows[i].low < c->rows[i].high);
	if (whiskers && c->interval)
		chart_legend(t, c->log ? "-" : "=-", c->interval, how);
	if (chart_has_line(&c->base))
		chart_legend(t, ":", c->base.name, how);
	n = chart_bar_names(c, false, names, NAMES_MAX);
	for (size_t i = 0; i < n; i++)
		chart_legend(t, "|", arena_printf(a, "limit: %s", names[i]), how);
	n = chart_bar_names(c, true, names, NAMES_MAX);
	for (size_t i = 0; i < n; i++)
		chart_legend(t, "()", arena_printf(a, "usual: %s", names[i]), how);
}

const char *chart_text_bars(struct arena *a, const struct chart_bars *c,
			    const struct term_style *how)
{
	struct layout l = layout_of(a, c, chart_width(how));
	size_t n = c->n < CHART_ROWS ? c->n : CHART_ROWS;
	const char *group = NULL;
	TEXT_AUTO t = { 0 };
	struct scale s;

	if (!chart_bar_scale(c, (size_t)l.bar / 8, &s))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (c->rows[i].group && (!group || strcmp(group, c->rows[i].group) != 0)) {
			chart_pad(&t, c->rows[i].group, chart_width(how), false, how->ascii);
			trim(&t);
			text_addc(&t, '\n');
		}
		group = c->rows[i].group;
		bar_row(a, &t, c, &c->rows[i], &s, &l, how->ascii);
	}
	if (n < c->n)
		text_printf(&t, "and %zu more\n", c->n - n);
	text_printf(&t, "%*s", l.two ? 0 : l.label + 1, "");
	chart_under(a, &t, &s, l.bar);
	if (c->log)
		text_add(&t, "  logarithmic");
	bar_legend(a, &t, c, how);
	return arena_strdup(a, t.s);
}

/* --- ratios -------------------------------------------------------------------------------------
 */

static void ratio_cells(char *cells, const struct chart_ratios *c, const struct chart_ratio *r,
			const struct chart_ratio_scale *s, int width)
{
	int half = width / 2, at = (int)lround(chart_ratio_on(s, r->ratio) * (width - 1));
	int low = (int)lround(chart_ratio_on(s, r->low > 0 ? r->low : 0) * (width - 1));
	int high = isfinite(r->high) ? (int)lround(chart_ratio_on(s, r->high) * (width - 1))
				     : width - 1;

	memset(cells, ' ', (size_t)width);
	cells[width] = '\0';
	if (isfinite(c->threshold) && c->threshold > 0) {
		cells[(int)lround(chart_ratio_on(s, 1 - c->threshold) * (width - 1))] = ':';
		cells[(int)lround(chart_ratio_on(s, 1 + c->threshold) * (width - 1))] = ':';
	}
	cells[half] = '|';
	if (!(r->ratio > 0) || !isfinite(r->ratio))
		return;
	for (int i = low; !(isnan(r->low) && isnan(r->high)) && i <= high; i++)
		cells[i] = i == half ? '+' : '-';
	cells[at] = 'o';
	if (!isnan(r->low) && !(r->low >= (s->log ? 1 / s->most : 1 - s->most)))
		cells[0] = '<';
	if (!isnan(r->high) && !(r->high <= (s->log ? s->most : 1 + s->most)))
		cells[width - 1] = '>';
}

static void ratio_axis(struct arena *a, struct text *t, const struct chart_ratio_scale *s,
		       int width)
{
	const char *left = chart_ratio_number(a, s, -1), *right = chart_ratio_number(a, s, 1);
	int middle = width / 2 - 2 - (int)strlen(left);

	text_printf(t, "%s%*ssame%*s", left, middle, "", width - width / 2 - 2, right);
}

const char *chart_text_ratios(struct arena *a, const struct chart_ratios *c,
			      const struct term_style *how)
{
	int width = chart_width(how), label = 0, verdict = 0, strip;
	size_t n = c->n < CHART_ROWS ? c->n : CHART_ROWS;
	struct chart_ratio_scale s;
	TEXT_AUTO t = { 0 };

	if (!chart_ratio_scale(c, &s))
		return NULL;
	for (size_t i = 0; i < c->n; i++) {
		label = widest(label, c->rows[i].label);
		verdict = widest(verdict, c->rows[i].verdict);
	}
	verdict = verdict < 20 ? verdict : 20;
	label = label < LABEL_MAX ? label : LABEL_MAX;
	if (width - label - verdict - 2 < 21) {
		label = width - 21 - 2 - verdict > 8 ? width - 21 - 2 - verdict : 8;
		verdict = width - label - 21 - 2 > 0 ? width - label - 21 - 2 : 0;
	}
	strip = width - label - 1 - (verdict ? verdict + 1 : 0);
	strip = strip > 61 ? 61 : strip - !(strip % 2);
	text_printf(&t, "%*s", label + 1, "");
	ratio_axis(a, &t, &s, strip);
	for (size_t i = 0; i < n; i++) {
		char cells[CHART_WIDEST + 1];

		text_addc(&t, '\n');
		chart_pad(&t, c->rows[i].label, label, false, how->ascii);
		text_addc(&t, ' ');
		ratio_cells(cells, c, &c->rows[i], &s, strip);
		chart_signs(&t, cells, how->ascii);
		text_addc(&t, ' ');
		chart_pad(&t, c->rows[i].verdict, verdict, false, how->ascii);
		trim(&t);
	}
	if (n < c->n)
		text_printf(&t, "\nand %zu more", c->n - n);
	if (c->interval)
		chart_legend(&t, "-o-", c->interval, how);
	if (isfinite(c->threshold) && c->threshold > 0)
		chart_legend(
			&t, ":",
			arena_printf(a, "less than %.3g %% is no difference", 100 * c->threshold),
			how);
	return arena_strdup(a, t.s);
}
