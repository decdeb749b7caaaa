/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions, and what happened when, as letters. */
#include <math.h>
#include <string.h>

#include "render/chart_text.h"
#include "render/glyph.h"
#include "render/figure.h"

/* --- distribution -------------------------------------------------------------------------------
 */

enum { TEXT_BINS = 12, NAMED_MAX = 12, EDGE = 10 };

static void spread_row(struct arena *a, struct text *t, const struct scale *s, size_t bins,
		       size_t i, size_t count, size_t most, int bar, bool ascii)
{
	double step = (s->to - s->from) / (double)bins;
	char cells[CHART_WIDEST + 1];
	int n = most ? (int)ceil((double)count * bar / (double)most) : 0;

	chart_pad(t, figure_number(a, s->from + step * (double)i), EDGE, true, ascii);
	text_add(t, " to ");
	chart_pad(t, figure_number(a, s->from + step * (double)(i + 1)), EDGE, false, ascii);
	text_addc(t, ' ');
	memset(cells, '#', (size_t)n);
	cells[n] = '\0';
	chart_signs(t, cells, ascii);
	text_printf(t, "%s%zu\n", n ? " " : "", count);
}

static void spread_marks(struct arena *a, struct text *t, const struct chart_spread *c,
			 const struct term_style *how)
{
	const char *unit = c->unit ? c->unit : "";

	while (t->len && t->s[t->len - 1] == '\n')
		t->s[--t->len] = '\0';
	if (isfinite(c->median))
		chart_legend(t, "median", chart_figure(a, c->median, c->low, c->high, unit), how);
	if (isfinite(c->split))
		chart_legend(t, "!",
			     arena_printf(a, "two states, below and above %s %s",
					  figure_number(a, c->split), unit),
			     how);
	if (chart_has_line(&c->limit))
		chart_legend(t, "|",
			     arena_printf(a, "limit: %s %s, %s", figure_number(a, c->limit.low),
					  unit, c->limit.name),
			     how);
	if (chart_has_band(&c->band))
		chart_legend(t, "()",
			     arena_printf(a, "usual: %s to %s %s, %s",
					  figure_number(a, c->band.low),
					  figure_number(a, c->band.high), unit, c->band.name),
			     how);
	for (size_t i = 0; i < c->n_named && i < NAMED_MAX; i++)
		chart_legend(t, "o",
			     arena_printf(a, "%s: %s %s", c->named[i].name,
					  figure_number(a, c->named[i].value), unit),
			     how);
	if (c->n_named > NAMED_MAX)
		text_printf(t, "\n  and %zu more", c->n_named - NAMED_MAX);
}

const char *chart_text_spread(struct arena *a, const struct chart_spread *c,
			      const struct term_style *how)
{
	size_t count[CHART_BINS], bins, most = 0;
	int bar = chart_width(how) - 2 * EDGE - 12;
	TEXT_AUTO t = { 0 };
	struct scale s;

	if (!chart_spread_scale(c, 5, &s))
		return NULL;
	bins = chart_bins(c, &s, TEXT_BINS, count);
	for (size_t i = 0; i < bins; i++)
		most = count[i] > most ? count[i] : most;
	chart_pad(&t, c->unit, EDGE, true, how->ascii);
	text_printf(&t, "    %*s %s\n", EDGE, "", c->what ? c->what : "");
	for (size_t i = 0; i < bins; i++)
		spread_row(a, &t, &s, bins, i, count[i], most, bar, how->ascii);
	spread_marks(a, &t, c, how);
	return arena_strdup(a, t.s);
}

/* --- timeline -----------------------------------------------------------------------------------
 */

enum { LEVELS = 8, RANGE = 20 };

static void level(struct text *t, int k, bool ascii)
{
	static const char plain[LEVELS + 1] = "_.-=+*%@";

	if (k < 0)
		text_addc(t, ' ');
	else if (ascii)
		text_addc(t, plain[k]);
	else
		text_printf(t, "\xe2\x96%c", 0x81 + k);
}

/* The mean of what lies in a column; NAN: nothing was told. */
static double column_mean(const struct chart_timeline *c, const double *y, int column, int width)
{
	double from = c->t[0], span = c->t[c->n - 1] - from, sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		int at = span > 0 ? (int)((c->t[i] - from) / span * (width - 1) + 0.5) : 0;

		if (at == column && isfinite(y[i])) {
			sum += y[i];
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

static void lane_text(struct arena *a, struct text *t, const struct chart_timeline *c,
		      const struct chart_lane *l, int label, int width, bool ascii)
{
	struct scale s = scale_of(SCALE_LINEAR);

	for (size_t i = 0; i < c->n; i++)
		scale_widen(&s, l->y[i]);
	if (!(s.to >= s.from))
		return;
	chart_pad(t, l->name, label, false, ascii);
	text_addc(t, ' ');
	for (int i = 0; i < width; i++) {
		double v = column_mean(c, l->y, i, width);

		level(t,
		      isfinite(v)
			      ? (int)fmin(LEVELS - 1,
					  s.to > s.from ? (v - s.from) / (s.to - s.from) * LEVELS
							: LEVELS / 2.0)
			      : -1,
		      ascii);
	}
	text_addc(t, ' ');
	chart_pad(t,
		  arena_printf(a, "%s to %s %s", figure_number(a, s.from), figure_number(a, s.to),
			       l->unit ? l->unit : ""),
		  RANGE, false, ascii);
	while (t->s[t->len - 1] == ' ')
		t->s[--t->len] = '\0';
	text_addc(t, '\n');
}

static void spans_text(struct text *t, const struct chart_timeline *c, int label, int width)
{
	double from = c->t[0], span = c->t[c->n - 1] - from;

	text_printf(t, "%-*.*s ", label, label, "throttled");
	for (int i = 0; i < width; i++) {
		double at = from + span * i / (width > 1 ? width - 1 : 1), half = span / width / 2;
		bool in = false;

		for (size_t k = 0; k < c->n_spans; k++)
			in = in || (c->spans[k].from <= at + half && c->spans[k].to >= at - half);
		text_addc(t, in ? '!' : ' ');
	}
	text_addc(t, '\n');
}

const char *chart_text_timeline(struct arena *a, const struct chart_timeline *c,
				const struct term_style *how)
{
	int label = 9, width;
	TEXT_AUTO t = { 0 };

	if (!c->n || !c->n_lanes)
		return NULL;
	for (size_t i = 0; i < c->n_lanes; i++)
		label = (int)fmax(label, fmin(20, (double)glyph_width(c->lanes[i].name)));
	label = (int)fmin(label, chart_width(how) - RANGE - 10);
	width = chart_width(how) - label - RANGE - 2;
	for (size_t i = 0; i < c->n_lanes; i++)
		lane_text(a, &t, c, &c->lanes[i], label, width, how->ascii);
	if (!t.len)
		return NULL;
	if (c->n_spans)
		spans_text(&t, c, label, width);
	text_printf(&t, "%s s to %s s", figure_number(a, c->t[0]),
		    figure_number(a, c->t[c->n - 1]));
	return arena_strdup(a, t.s);
}
