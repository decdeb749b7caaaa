/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction, and a table of measurements predicted anew: for people, and for programs. */
#ifndef INFERENCE_PAGE_PREDICT_H
#define INFERENCE_PAGE_PREDICT_H

#include "base/shape.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"
#include "render/doc.h"

struct doc *page_predict(struct arena *a, const struct prediction *p, bool explain);
/* Errors by figure, hardware and engine. */
struct doc *page_predict_rows(struct arena *a, const struct rows *r);
/* Of a struct prediction, and of a struct rows. */
extern const struct result_shape predict_result, predict_rows_result;

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
