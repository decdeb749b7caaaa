/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction, and a table of measurements predicted anew: for people, and for programs. */
#ifndef INFERENCE_PAGE_PREDICT_H
#define INFERENCE_PAGE_PREDICT_H

#include <jansson.h>

#include "models/inference/predict.h"
#include "models/inference/rows.h"
#include "render/doc.h"

/* Somebody's figure and what is said of it; verdict NULL: none was given. */
struct claim {
	double tokens_s;
	const char *verdict, *why;
};

struct doc *page_predict(struct arena *a, const struct prediction *p, const struct claim *c,
			 bool explain);
/* Schema gputune.predict/1; the caller owns the reference. */
json_t *predict_json(const struct prediction *p, const struct claim *c, long long now,
		     int exit_code);
/* Errors by figure, hardware and engine. */
struct doc *page_predict_rows(struct arena *a, const struct rows *r);
/* Schema gputune.predict-rows/1, every row. */
json_t *predict_rows_json(const struct rows *r, long long now, int exit_code);

/* The section of a report with what models would do on the machine. */

/* A prediction that fits. */
struct report_prediction {
	const char *model;
	struct prediction p;
};
/* A fold each; id NULL: a line each. */
struct doc *report_predictions(struct arena *a, const struct report_prediction *items, size_t n,
			       const char *id);
/* Which models a report asks for, the small ones first; NULL ends them. */
extern const char *const report_models[];

#endif
