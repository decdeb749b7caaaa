/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the machine (monitor/): lines for a terminal, an object of JSON, OpenMetrics. */
#ifndef VIEW_PAGE_MONITOR_H
#define VIEW_PAGE_MONITOR_H

#include <jansson.h>
#include <stdio.h>

#include "base/text.h"
#include "monitor/monitor.h"
#include "view/doc.h"

struct monitor_head {
	const char *when;     /* "10:22:31", or the time in a recording */
	const char *note;     /* state of our settings, how often is looked; NULL: nothing */
	const char *bad_note; /* what is wrong with them; NULL: nothing */
};

/* f: the rates; first: the row that "held for" counts from. Lines end with a newline, none is
 * wider than the terminal. */
void monitor_page(const struct frame *f, const struct frame *first, const struct monitor_head *h,
		  const struct term_style *how, struct text *out);
/* {"time": ..., "gpu0": {"sm-clock": {...}}}: gauges, and of totals the rate and the total, under
 * their target ("" under their group). Takes no reference; the caller owns the object. */
json_t *monitor_json(const struct frame *f, long long time_ms);
/* The whole exposition in OpenMetrics 1.0, ended by "# EOF". */
void monitor_openmetrics(FILE *out, const struct frame *f);

/* The driver's bits in words, the most telling first: "power cap, too warm"; "" for none. */
void monitor_reasons(double bits, struct text *out);

#endif
