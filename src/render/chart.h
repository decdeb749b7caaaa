/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chart shows, apart from how: figures in, the same for letters on a terminal (chart_text.h)
 * and for SVG (svg_shape.h). A chart's arrays and texts are the caller's and must live as long as
 * the document. Texts may hold any bytes. NAN: there is no such value; what is not finite, or not
 * positive on a logarithmic axis, is not drawn. A chart in which nothing can be drawn adds nothing.
 */
#ifndef RENDER_CHART_H
#define RENDER_CHART_H

#include "render/doc.h"

/* A value that figures are held against: a line, or a band when low < high. */
struct chart_mark {
	double low, high; /* equal: a line; NAN: none */
	const char *name; /* with its source: "data sheet 4.8 TB/s", "usual, measured on 12" */
};

/* --- bars: figures of one unit from an honest zero -------------------------------------------- */
struct chart_bar {
	const char *label;
	double value, low, high; /* its interval; NAN: none */
	struct chart_mark limit, band;
	const char *note;  /* behind the figure: "91 % of 4800"; NULL */
	enum style style;  /* STYLE_PLAIN, GOOD, WARN, BAD, MUTED */
	const char *group; /* NULL, or a heading where it differs from the row before */
};

struct chart_bars {
	const char *title, *unit;
	const char *interval; /* what the whiskers are: "95 % interval of the median"; NULL: none */
	struct chart_mark base; /* one line through all rows: "as it is" at 1; low NAN: none */
	const struct chart_bar *rows;
	size_t n;
	bool log; /* of values apart by more than a hundred: dots, no bars, and no zero */
};

/* --- ratios around "the same" ----------------------------------------------------------------- */
struct chart_ratio {
	const char *label;
	double ratio, low, high; /* above 1 is better; NAN: no interval on that side */
	const char *verdict;
	enum style style;
};

struct chart_ratios {
	const char *title;
	const char *left, *right; /* what stands on either side of 1: "worse", "better" */
	const char *interval;	  /* "99 % interval" */
	double threshold;	  /* the least difference that counts, as 0.01; NAN: none */
	const struct chart_ratio *rows;
	size_t n;
};

/* --- distribution ----------------------------------------------------------------------------- */
struct chart_named { /* one of the values that is named */
	double value;
	const char *name;
	enum style style;
};

struct chart_spread {
	const char *title, *unit, *what; /* what one value is: "windows", "machines" */
	const double *x;
	size_t n;
	double median, low, high; /* and its interval; NAN: none */
	double split;		  /* between two states; NAN: one */
	struct chart_mark limit, band;
	const struct chart_named *named;
	size_t n_named;
};

/* --- lines and points over two axes ----------------------------------------------------------- */
struct chart_series {
	const char *name; /* NULL: not in the legend */
	char mark;	  /* ASCII */
	const double *x, *y;
	const double *low, *high; /* intervals of y, one a point; NULL: none */
	const char *const *tips;  /* one a point: shown under the pointer; NULL: none */
	size_t n;
	bool line; /* joined, in order; else points */
	bool soft; /* a roof or a border: a line without points */
};

struct chart {
	const char *x_title, *y_title; /* with units */
	bool log_x, log_y;
	bool bytes_x;			   /* ticks at powers of two, as KiB, MiB */
	bool zero_y;			   /* a linear y axis begins at zero */
	const struct chart_series *series; /* later ones are drawn over earlier ones */
	size_t n;
	const struct chart_mark *limits; /* across the whole width */
	size_t n_limits;
};

/* --- matrix ----------------------------------------------------------------------------------- */
/* Drawn for HTML alone (svg_heat): a table beside it has the figures. */
struct chart_heat {
	const char *title, *unit;
	const char *row_title, *column_title; /* "from", "to" */
	const char *const *rows, *const *columns;
	size_t n_rows, n_columns;
	const double *v; /* row by row; NAN: none */
	bool lower;	 /* is better */
	bool diagonal;	 /* stands for something else and is not coloured */
};

/* --- what happened when ----------------------------------------------------------------------- */
struct chart_span {
	double from, to;  /* seconds */
	const char *name; /* "thermal" */
};

struct chart_lane {
	const char *name, *unit; /* "GPU 0 clock", "MHz" */
	const double *y;	 /* one a moment; NAN: not known */
	struct chart_mark limit;
	bool zero; /* the axis begins at zero */
};

struct chart_timeline {
	const char *title;
	const double *t; /* seconds, ascending */
	size_t n;
	const struct chart_lane *lanes;
	size_t n_lanes;
	const struct chart_span *spans; /* throttled; drawn through all lanes */
	size_t n_spans;
};

/*
 * Adds the figure, as SVG for HTML and as letters for terminals and Markdown, as wide as the medium
 * is; nothing when nothing can be drawn. The struct itself is copied.
 */
void chart_add(struct doc *d, const char *title, const struct chart *c);
void chart_add_bars(struct doc *d, const struct chart_bars *c);
void chart_add_ratios(struct doc *d, const struct chart_ratios *c);
void chart_add_spread(struct doc *d, const struct chart_spread *c);
void chart_add_timeline(struct doc *d, const struct chart_timeline *c);

#endif
