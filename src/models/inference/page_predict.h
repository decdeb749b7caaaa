/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction, and a table of measurements predicted anew: for people, and for programs. */
#ifndef INFERENCE_PAGE_PREDICT_H
#define INFERENCE_PAGE_PREDICT_H

#include "base/shape.h"
#include "models/inference/predict.h"
#include "models/inference/rows.h"
#include "render/doc.h"

struct doc *page_predict(struct arena *a, const struct prediction *p, bool explain);
/* Errors of measured rows by kind, for tables of any: a kind is so many words, "" behind them. */
#define ERROR_KIND_WORDS 4
#define ERROR_KIND_COLUMNS                                                                         \
	">rows", ">median error", ">90th percentile", ">predicted / measured",                     \
		">inside the interval"
struct error_kind {
	const char *name[ERROR_KIND_WORDS];
	double *error, *ratio;
	size_t n, inside;
};
struct error_kinds {
	struct error_kind *items;
	size_t n, most; /* most: rows of one kind */
};
void error_kinds_count(struct arena *a, struct error_kinds *l, const char *const *name,
		       double measured, struct figure predicted);
/* As rows of a table with so many words and ERROR_KIND_COLUMNS. */
void error_kinds_table(struct doc *d, struct node *t, const struct error_kinds *l, size_t words);
/* before, and the line that was not predicted with the reason; the first 1000 letters of them. */
const char *rows_why(struct arena *a, const char *before, long line, const char *why);
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
