/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured rows: a table of what somebody measured, each row predicted anew. Columns are found by
 * their names, in any order; what a row does not say is chosen as for a person. Pure.
 */
#ifndef INFERENCE_ROWS_H
#define INFERENCE_ROWS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "models/figure.h"
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
	struct figure predicted[MEASURES];
	double crowding; /* struct served */
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

/*
 * A table of measurements as CSV (RFC 4180): columns are found by their names, in any order; what a
 * record lacks is an empty cell. The text is not trusted. Pure; cells live in the arena.
 */

#define TABLE_COLUMNS 64

struct table {
	const char *const *names; /* of the columns that are wanted */
	size_t columns;
	const int *needed; /* of the columns, which have to be there */
	size_t n_needed;
	long most; /* rows */
};

/* One record: a cell a column, and its line, from 2. */
typedef void table_row(void *ctx, const char **cell, long line);

/* Calls row for each record of more than one field, in order. 0; -EINVAL names the line or what is
 * wrong with the first one. */
int table_read(struct arena *a, const struct table *t, const char *csv, table_row *row, void *ctx,
	       struct err *e);

/* A cell as a positive number below 1e15, as a whole one up to 1e9; 0: it is none. */
double table_number(const char *cell);
int table_count(const char *cell);

#endif
