/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the machine (monitor/): lines for a terminal, a line of JSON, metrics. */
#ifndef MONITOR_PAGE_MONITOR_H
#define MONITOR_PAGE_MONITOR_H

#include <stdio.h>

#include "base/text.h"
#include "look/monitor/marks.h"
#include "render/doc.h"

struct monitor_head {
	const char *when;     /* "10:22:31", or the time in a recording */
	const char *note;     /* state of our settings, how often is looked; NULL: nothing */
	const char *bad_note; /* what is wrong with them; NULL: nothing */
};

/* f: the rates; first: the row that "held for" counts from. Lines end with a newline, none is
 * wider than the terminal. */
void monitor_page(const struct instant *f, const struct instant *first,
		  const struct monitor_head *h, const struct term_style *how, struct text *out);
/* Lines of JSON (schemas/monitor.json): gauges, and of totals the rate and the total, under their
 * target, or where there is none under their group. Made once from the columns, in the arena. */
struct monitor_line;
struct monitor_line *monitor_line_make(struct arena *a, const struct monitor *mon);
/* f->mon is the one that it was made from. time_ms: since 1970. Ends with a newline. */
void monitor_line_add(const struct monitor_line *l, const struct instant *f, long long time_ms,
		      struct text *out);
enum exposition {
	EXPOSITION_TEXT,	/* Prometheus' text format 0.0.4: what a textfile collector reads */
	EXPOSITION_OPENMETRICS, /* OpenMetrics 1.0, ended by "# EOF" */
};
/* The whole exposition, without times: it is of now. */
void monitor_exposition(FILE *out, const struct instant *f, enum exposition how);

/* The GPUs as OpenTelemetry metrics: a line of OTLP JSON, as a collector's file or HTTP receiver
 * reads it. */
void monitor_otlp(struct text *out, const struct instant *f, long long time_ms);

/* The driver's bits in words, the most telling first: "power cap, too warm"; "" for none. */
void monitor_reasons(double bits, struct text *out);

/* The live page while it is made: words, lines, figures. For page_monitor*.c alone. */

struct look_page {
	const struct instant *f, *first;
	struct findings judged; /* what the settings say of this moment */
	const struct term_style *how;
	struct text *out;
	struct text line;
	size_t used; /* columns of the line */
	size_t cut;  /* words that did not fit */
	bool full;   /* the line ends here */
};

/* Judges the moment, and the lines that name the machine. */
void look_begin(struct look_page *p, struct arena *a, const struct monitor_head *h);
void look_gpu_head(struct look_page *p);
void look_gpu_line(struct look_page *p, const struct monitor_gpu *g);
/* A lock of ours and the rates of its links; no line where nothing is known. */
void look_gpu_details(struct look_page *p, const struct monitor_gpu *g, const char *target);
/* CPUs, memory, pressure, networks, disks. */
void look_system(struct look_page *p);
/* A word that does not fit is left out whole, and counted. */
void look_add_word(struct look_page *p, enum style s, const char *text);
void look_addf(struct look_page *p, enum style s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void look_end_line(struct look_page *p);
/* The figure of now; NAN: not known. */
double look_of(const struct look_page *p, const char *type, const char *target);

#endif
