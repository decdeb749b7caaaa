/* SPDX-License-Identifier: Apache-2.0 */
/* The section of a report with what models would do on the machine. */
#ifndef INFERENCE_REPORT_PREDICT_H
#define INFERENCE_REPORT_PREDICT_H

#include "models/inference/predict.h"
#include "render/doc.h"

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
