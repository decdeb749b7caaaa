/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds serving back, by what the engine says of itself: its metrics in Prometheus' text form,
 * once or twice some seconds apart, and lines of its log. Pure; the rules are rows
 * (knowledge/serving.h). Texts may be hostile: bounded, and only numbers come back.
 */
#ifndef SERVING_SERVING_H
#define SERVING_SERVING_H

#include "base/shape.h"
#include "knowledge/serving.h"
#include "render/doc.h"

enum { SERVING_BYTES_MAX = 16 << 20, SERVING_LINE_MAX = 4096 };

/* A figure that is known. */
struct serving_value {
	const struct serving_figure *figure; /* NULL: of a log */
	const char *name, *title, *unit;
	double value;
};

struct serving_found {
	const struct serving_cause *cause;
	const char *says;
	double share; /* %; 0: not known */
};

struct serving_view {
	struct serving_value *values;
	size_t n;
	struct serving_found *causes; /* the most costly first */
	size_t n_causes;
	double seconds;	    /* between the two looks; 0: since the engine started */
	const char *engine; /* "vllm"; NULL: no metrics */
	size_t log_lines;
	bool healthy;
};

/* A text of metrics; later: the same some seconds after, or NULL. How many figures: 0: it has none.
 */
size_t serving_metrics(struct arena *a, const char *text, const char *later,
		       struct serving_view *v);
/* Whether a text is one of metrics. */
bool serving_is_metrics(const char *text);
/* A log; text is changed. */
void serving_log_read(struct arena *a, char *text, struct serving_view *v);
void serving_judge(struct arena *a, struct serving_view *v);

struct doc *page_serving(struct arena *a, const struct serving_view *v);
extern const struct result_shape serving_result;

#endif
