/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of measurements as CSV (RFC 4180): columns are found by their names, in any order; what a
 * record lacks is an empty cell. The text is not trusted. Pure; cells live in the arena.
 */
#ifndef PREDICT_TABLE_H
#define PREDICT_TABLE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define TABLE_COLUMNS 64

struct table {
	const char *const *names; /* of the columns that are wanted */
	size_t columns;
	long most; /* rows */
	int at[TABLE_COLUMNS];
	const char *next;
	long line, rows; /* of the record that was read last, from 2 with a header; how many rows */
};

/* names, columns and most are set; needed: of the columns, which have to be there. -EINVAL names
 * what is wrong. */
int table_open(struct arena *a, struct table *t, const char *csv, const int *needed,
	       size_t n_needed, struct err *e);
/* Fills cell[columns] from the next record of more than one field: 1; 0: there is none; -EINVAL
 * names the line. */
int table_next(struct arena *a, struct table *t, const char **cell, struct err *e);

/* A cell as a positive number below 1e15, as a whole one up to 1e9; 0: it is none. */
double table_number(const char *cell);
int table_count(const char *cell);

#endif
