/* SPDX-License-Identifier: Apache-2.0 */
/* What engines report of themselves while they serve, and what follows from it: rows of
 * serving_figures.rows, serving_logs.rows and serving_causes.rows. */
#ifndef KNOWLEDGE_SERVING_H
#define KNOWLEDGE_SERVING_H

#include "base/rows.h"

enum serving_take {
	SERVING_GAUGE,	 /* as it is now, added up over engines; least and most of two looks too */
	SERVING_MEAN,	 /* of a histogram: sum by count, between two looks where there are two */
	SERVING_COUNT,	 /* a counter: how much more, or since the start */
	SERVING_LARGEST, /* of a gauge, the largest of all engines */
	SERVING_RATIO,	 /* of two figures before it: "a/b" */
};

struct serving_figure {
	const char *name, *title, *unit;
	enum serving_take take;
	const char
		*metrics; /* names, with '|' between: the first that is there; of a ratio "a/b" */
	double times;	  /* the value times so much; 0: 1 */
};

/* A line of a log that sets a figure to 1. */
struct serving_log {
	const char *name;
	const char *line; /* POSIX extended expression */
	const char *title;
};

struct serving_cause {
	const char *name, *title;
	const char *when;  /* "waiting>=1 kv>=0.9": all of them; an unknown figure fits none */
	const char *share; /* figure by which causes are ordered, and their cost is told; NULL */
	const char *says;  /* {figure}: its value */
	const char *fix, *source, *date;
	bool healthy; /* nothing holds it back */
};

extern const struct row_table serving_figure_table, serving_log_table, serving_cause_table;
extern const struct serving_figure serving_figures[];
extern const size_t n_serving_figures;
extern const struct serving_log serving_logs[];
extern const size_t n_serving_logs;
extern const struct serving_cause serving_causes[];
extern const size_t n_serving_causes;

#endif
