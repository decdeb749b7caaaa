/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as letters. */
#include <math.h>
#include <string.h>

#include "render/chart_text.h"
#include "render/display_text.h"
#include "render/figure.h"

enum { CHART_NARROWEST = 36, CHART_WIDEST = 120, CHART_ROWS = 400 };

/* --- the signs that they are made of, and what stands below and beside them ------------------- */

int chart_width(const struct term_style *how)
{
	return how->width < CHART_NARROWEST ? CHART_NARROWEST
	       : how->width > CHART_WIDEST  ? CHART_WIDEST
					    : how->width;
}

/* s, cleaned, cut with "~" and filled with blanks to width columns. */
static void chart_pad(struct text *t, const char *s, int width, bool right, bool ascii)
{
	TEXT_AUTO clean = { 0 };
	TEXT_AUTO cut = { 0 };
	const char *p;
	size_t room = width > 0 ? (size_t)width : 0, n;
	uint32_t cp;

	display_clean(&clean, s ? s : "", ascii);
	text_add(&cut, "");
	if (display_width(clean.s) <= room) {
		text_add(&cut, clean.s);
	} else if (room) {
		for (p = clean.s; (n = utf8_next(p, &cp)); p += n) {
			size_t before = cut.len;

			text_addn(&cut, p, n);
			if (display_width(cut.s) < room)
				continue;
			cut.s[cut.len = before] = '\0';
			break;
		}
		text_addc(&cut, '~');
	}
	n = display_width(cut.s);
	text_printf(t, "%*s%s%*s", right && n < room ? (int)(room - n) : 0, "", cut.s,
		    !right && n < room ? (int)(room - n) : 0, "");
}

/* Signs as they are in ASCII, or with fuller ones. */
static void chart_markers(struct text *t, const char *cells, bool ascii)
{
	static const struct {
		char from;
		const char *to;
	} fuller[] = {
		{ '#', "\xe2\x96\x88" }, { '=', "\xe2\x96\x93" }, { '-', "\xe2\x94\x80" },
		{ '|', "\xe2\x94\x82" }, { 'o', "\xe2\x97\x8f" }, { ':', "\xe2\x94\x86" },
	};

	for (; *cells; cells++) {
		const char *to = NULL;

		for (size_t i = 0; !ascii && i < sizeof(fuller) / sizeof(fuller[0]); i++)
			if (*cells == fuller[i].from)
				to = fuller[i].to;
		if (to)
			text_add(t, to);
		else
			text_addc(t, *cells);
	}
}

static void sign_legend(struct text *t, const char *sign, const char *name,
			const struct term_style *how, bool plain)
{
	TEXT_AUTO clean = { 0 };
	TEXT_AUTO lines = { 0 };
	const char *at;

	display_clean(&clean, name, how->ascii);
	text_add(&clean, "");
	display_wrap(&lines, clean.s, (size_t)chart_width(how) - strlen(sign) - 3);
	text_add(&lines, "");
	for (at = lines.s; *at;) {
		size_t n = strcspn(at, "\n");

		text_add(t, "\n  ");
		if (at == lines.s)
			chart_markers(t, sign, how->ascii || plain);
		else
			text_printf(t, "%*s", (int)strlen(sign), "");
		text_addc(t, ' ');
		text_addn(t, at, n);
		at += n + (at[n] == '\n');
	}
}

/* "sign name" below a chart, broken to width. */
static void chart_legend(struct text *t, const char *sign, const char *name,
			 const struct term_style *how)
{
	sign_legend(t, sign, name, how, false);
}

/* The same of signs that stand for themselves. */
static void chart_legend_plain(struct text *t, const char *sign, const char *name,
			       const struct term_style *how)
{
	sign_legend(t, sign, name, how, true);
}

/* The numbers of an axis that is width columns long, below it. */
static void chart_under(struct arena *a, struct text *t, const struct scale *s, int width)
{
	char line[CHART_WIDEST + 1];
	long free_from = 0;

	width = width < CHART_WIDEST ? width : CHART_WIDEST;
	memset(line, ' ', sizeof(line));
	for (size_t i = 0; i < s->n; i++) {
		const char *number = scale_number(a, s, s->tick[i]);
		long len = (long)strlen(number),
		     at = lround(scale_on(s, s->tick[i]) * (width - 1)) - len / 2;

		at = at < 0 ? 0 : at;
		at = at + len > width ? width - len : at;
		if (at < free_from)
			continue;
		memcpy(line + at, number, (size_t)len);
		free_from = at + len + 1;
	}
	line[free_from > 0 ? free_from - 1 : 0] = '\0';
	text_add(t, line);
}

enum { LABEL_MAX = 30, BAR_LEAST = 16, NAMES_MAX = 6 };

/* --- bars ------------------------------------------------------------------------------------- */

struct layout {
	int label, value, note, bar;
	bool two; /* the bar stands below its label */
};

static int widest(int most, const char *s)
{
	int n = s ? (int)display_width(s) : 0;

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

static void chart_text_bar_row(struct arena *a, struct text *t, const struct chart_bars *c,
			       const struct chart_bar *b, const struct scale *s,
			       const struct layout *l, bool ascii)
{
	char cells[CHART_WIDEST + 1];

	bar_cells(cells, c, b, s, l->bar);
	chart_pad(t, b->label, l->label, false, ascii);
	text_addc(t, ' ');
	if (!l->two) {
		chart_markers(t, cells, ascii);
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
		chart_markers(t, cells, ascii);
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
		chart_text_bar_row(a, &t, c, &c->rows[i], &s, &l, how->ascii);
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

/* --- ratios ----------------------------------------------------------------------------------- */

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
		chart_markers(&t, cells, how->ascii);
		text_addc(&t, ' ');
		chart_pad(&t, c->rows[i].verdict, verdict, false, how->ascii);
		trim(&t);
	}
	if (n < c->n)
		text_printf(&t, "\nand %zu more", c->n - n);
	if (c->interval)
		chart_legend(&t, "-o-", c->interval, how);
	if (isfinite(c->threshold) && c->threshold > 0)
		chart_legend(&t, ":",
			     arena_printf(a, "differences below %.3g %% do not count",
					  100 * c->threshold),
			     how);
	return arena_strdup(a, t.s);
}

/* Distributions, and what happened when, as letters. */

/* --- distribution ----------------------------------------------------------------------------- */

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
	chart_markers(t, cells, ascii);
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
		chart_legend(t, "!", chart_split_text(a, c), how);
	if (chart_has_line(&c->limit))
		chart_legend(t, "|", chart_limit_text(a, c), how);
	if (chart_has_band(&c->band))
		chart_legend(t, "()", chart_band_text(a, c), how);
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

/* --- timeline --------------------------------------------------------------------------------- */

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
		label = (int)fmax(label, fmin(20, (double)display_width(c->lanes[i].name)));
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

/* Lines and points on a grid of letters. */

enum { HIGH = 18, LOW_HIGH = 12, LEFT = 9, WIDE = CHART_WIDEST };

struct grid {
	int wide, high;
	char cell[HIGH][WIDE + 1];
};

static void grid_put(struct grid *g, double x, double y, char mark)
{
	long c = lround(x * (g->wide - 1)), r = g->high - 1 - lround(y * (g->high - 1));

	if (c >= 0 && c < g->wide && r >= 0 && r < g->high)
		g->cell[r][c] = mark;
}

static void grid_series(struct grid *g, const struct chart_series *s, const struct chart_axes *ax)
{
	bool before = false;
	double px = 0, py = 0;

	for (size_t i = 0; i < s->n; i++) {
		double nx, ny;

		if (!chart_drawn(ax, s->x[i], s->y[i])) {
			before = false;
			continue;
		}
		nx = scale_on(&ax->x, s->x[i]);
		ny = scale_on(&ax->y, s->y[i]);
		for (int k = 0; s->line && before && k <= 2 * g->wide; k++) {
			double t = k / (2.0 * g->wide);

			grid_put(g, px + t * (nx - px), py + t * (ny - py), s->mark);
		}
		if (!s->line || !before)
			grid_put(g, nx, ny, s->mark);
		px = nx;
		py = ny;
		before = true;
	}
}

/* A row of the grid's number; NULL: it has none. */
static const char *row_number(struct arena *a, const struct scale *y, int row, int high)
{
	for (size_t i = 0; i < y->n; i++)
		if (high - 1 - lround(scale_on(y, y->tick[i]) * (high - 1)) == row)
			return scale_number(a, y, y->tick[i]);
	return NULL;
}

static void grid_limits(struct grid *g, const struct chart *c, const struct chart_axes *ax)
{
	for (size_t i = 0; i < c->n_limits; i++)
		for (int k = 0; k < g->wide; k += 2) {
			double x = k / (double)(g->wide - 1);

			if (scale_takes(&ax->y, c->limits[i].low))
				grid_put(g, x, scale_on(&ax->y, c->limits[i].low), '=');
			if (chart_has_band(&c->limits[i]) && scale_takes(&ax->y, c->limits[i].high))
				grid_put(g, x, scale_on(&ax->y, c->limits[i].high), '=');
		}
}

static void chart_text_legend(struct text *t, const struct chart *c, const struct term_style *how)
{
	for (size_t i = 0; i < c->n + c->n_limits; i++) {
		const char *name = i < c->n ? c->series[i].name : c->limits[i - c->n].name;
		const char sign[] = { i < c->n ? c->series[i].mark : '=', '\0' };

		if (name)
			chart_legend_plain(t, sign, name, how);
	}
}

const char *chart_text(struct arena *a, const struct chart *c, const struct term_style *how)
{
	int wide = chart_width(how) - LEFT - 2;
	struct grid g = { .wide = wide, .high = wide < 60 ? LOW_HIGH : HIGH };
	struct chart_axes ax;
	TEXT_AUTO t = { 0 };

	if (!chart_axes(c, (size_t)wide / 8, (size_t)g.high / 3, &ax))
		return NULL;
	memset(g.cell, ' ', sizeof(g.cell));
	grid_limits(&g, c, &ax);
	for (size_t i = 0; i < c->n; i++)
		grid_series(&g, &c->series[i], &ax);
	chart_pad(&t, c->y_title, chart_width(how), false, how->ascii);
	while (t.len && t.s[t.len - 1] == ' ')
		t.s[--t.len] = '\0';
	for (int r = 0; r < g.high; r++) {
		const char *n = row_number(a, &ax.y, r, g.high);
		int end = wide;

		while (end && g.cell[r][end - 1] == ' ')
			end--;
		g.cell[r][end] = '\0';
		text_printf(&t, "\n%*.*s %c%s", LEFT, LEFT, n ? n : "", n ? '+' : '|', g.cell[r]);
	}
	text_printf(&t, "\n%*s +", LEFT, "");
	for (int i = 0; i < wide; i++)
		text_addc(&t, '-');
	text_printf(&t, "\n%*s", LEFT + 2, "");
	chart_under(a, &t, &ax.x, wide);
	text_printf(&t, "\n%*s", LEFT + 2, "");
	chart_pad(&t, c->x_title, (int)fmin(wide, (double)display_width(c->x_title)), false,
		  how->ascii);
	chart_text_legend(&t, c, how);
	return arena_strdup(a, t.s);
}
