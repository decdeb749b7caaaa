/* SPDX-License-Identifier: Apache-2.0 */
/* The live page while it is made: words, lines, figures. For page_monitor*.c alone. */
#ifndef MONITOR_PAGE_MONITOR_INSIDE_H
#define MONITOR_PAGE_MONITOR_INSIDE_H

#include "look/monitor/page_monitor.h"

struct look_page {
	const struct instant *f, *first;
	const struct term_style *how;
	struct text *out;
	struct text line;
	size_t used; /* columns of the line */
	size_t cut;  /* words that did not fit */
	bool full;   /* the line ends here */
};

/* A word that does not fit is left out whole, and counted. */
void look_add_word(struct look_page *p, enum style s, const char *text);
void look_addf(struct look_page *p, enum style s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void look_end_line(struct look_page *p);
/* "  what 1.50 Gbit/s" of v * factor; nothing for NAN. */
void look_add_rate(struct look_page *p, const char *what, double v, double factor,
		   const char *unit);
double look_of(const struct look_page *p, const char *type, const char *target);

/* page_monitor_gpu.c */
void look_gpu_lines(struct look_page *p);

#endif
