/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of measurements: columns by name, record by record. */
#include "models/inference/table.h"

#include <errno.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"

double table_number(const char *cell)
{
	double v;

	return cell && parse_real(cell, &v) == 0 && v > 0 && v < 1e15 ? v : 0;
}

int table_count(const char *cell)
{
	double v = table_number(cell);

	return v >= 1 && v <= 1e9 ? (int)v : 0;
}

static int open_quote(long line, struct err *e)
{
	return err_set(e, -EINVAL, "row %ld has a quote that is not closed", line);
}

/* Where each wanted column stands; -1: nowhere. */
static int find_columns(const struct table *t, const char **head, size_t n, int *at, struct err *e)
{
	for (size_t c = 0; c < t->columns; c++) {
		at[c] = -1;
		for (size_t i = 0; i < n; i++)
			if (strcmp(head[i], t->names[c]) == 0)
				at[c] = (int)i;
	}
	for (size_t i = 0; i < t->n_needed; i++)
		if (at[t->needed[i]] < 0)
			return err_set(e, -EINVAL, "the first line names no column \"%s\"",
				       t->names[t->needed[i]]);
	return 0;
}

int table_read(struct arena *a, const struct table *t, const char *csv, table_row *row, void *ctx,
	       struct err *e)
{
	const char *field[TABLE_COLUMNS], *cell[TABLE_COLUMNS], *next;
	int at[TABLE_COLUMNS], r;
	long line = 1, rows = 0;
	size_t n;

	next = csv_record(a, csv, field, TABLE_COLUMNS, &n);
	if (!next)
		return open_quote(line, e);
	r = find_columns(t, field, n, at, e);
	while (r == 0 && *next) {
		line++;
		next = csv_record(a, next, field, TABLE_COLUMNS, &n);
		if (!next)
			return open_quote(line, e);
		if (n < 2)
			continue;
		if (rows++ >= t->most)
			return err_set(e, -EINVAL, "more than %ld rows", t->most);
		for (size_t c = 0; c < t->columns; c++)
			cell[c] = at[c] >= 0 && (size_t)at[c] < n ? field[at[c]] : "";
		row(ctx, cell, line);
	}
	return r;
}
