/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of top: another view of the moments that monitor shows. */
#ifndef MONITOR_PAGE_TOP_H
#define MONITOR_PAGE_TOP_H

#include "look/monitor/page_monitor.h"

enum { TOP_HISTORY = 20 };
enum top_sort { TOP_BY_MEMORY, TOP_BY_GPU, TOP_BY_NAME, TOP_BY_PID, TOP_SORTS };
enum top_over { TOP_PAGE, TOP_HELP, TOP_EXPLAIN, TOP_FIX };

struct top_view {
	enum top_sort sort;
	enum top_over over;
	char filter[24];
	size_t chosen;	    /* finding, modulo how many there are */
	const double *busy; /* TOP_HISTORY of each GPU, the oldest first; NAN: not known */
	const char *foot;   /* two lines */
	int lines;	    /* of the screen */
};

void top_page(const struct instant *f, const struct instant *first, const struct monitor_head *h,
	      const struct term_style *how, const struct top_view *v, struct text *out);

#endif
