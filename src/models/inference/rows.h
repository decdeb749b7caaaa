/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured rows: a table of what somebody measured, each row predicted anew. Columns are found by
 * their names, in any order; what a row does not say is chosen as for a person. Pure.
 */
#ifndef INFERENCE_ROWS_H
#define INFERENCE_ROWS_H

#include "models/inference/query.h"

/* What a measured figure is of. */
enum measure { MEASURE_TTFT, MEASURE_TPOT, MEASURE_THROUGHPUT, MEASURES };

extern const char *const measure_names[MEASURES];

struct row_result {
	long line;
	const char *model, *hardware, *engine, *weights, *source, *notes;
	const char *family;  /* of the model's shape: rows of one family are not independent */
	const char *skipped; /* why it was not predicted; NULL: it was */
	int batch, tp;
	double prompt, output;
	double measured[MEASURES]; /* 0: not measured */
	double predicted[MEASURES];
	bool fits;
	bool speculative;
};

struct rows {
	struct row_result *items;
	size_t n;
};

/* Reads and predicts; at most 100,000 rows. -EINVAL names the line. */
int rows_predict(struct arena *a, const struct knowledge *known, const char *csv,
		 const struct fits *fits, struct rows *out, struct err *e);

#endif
