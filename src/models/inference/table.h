/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of measurements as CSV (RFC 4180): columns are found by their names, in any order; what a
 * record lacks is an empty cell. The text is not trusted. Pure; cells live in the arena.
 */
#ifndef INFERENCE_TABLE_H
#define INFERENCE_TABLE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

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
