/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of measurements: columns by name, record by record. */
#include "predict/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

double table_number(const char *cell)
{
	char *end;
	double v = cell ? strtod(cell, &end) : 0;

	return cell && *cell && *end == '\0' && isfinite(v) && v > 0 && v < 1e15 ? v : 0;
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

int table_open(struct arena *a, struct table *t, const char *csv, const int *needed,
	       size_t n_needed, struct err *e)
{
	const char *head[TABLE_COLUMNS];
	size_t n;

	t->line = 1;
	t->rows = 0;
	t->next = csv_record(a, csv, head, TABLE_COLUMNS, &n);
	if (!t->next)
		return open_quote(t->line, e);
	for (size_t c = 0; c < t->columns; c++) {
		t->at[c] = -1;
		for (size_t i = 0; i < n; i++)
			if (strcmp(head[i], t->names[c]) == 0)
				t->at[c] = (int)i;
	}
	for (size_t i = 0; i < n_needed; i++)
		if (t->at[needed[i]] < 0)
			return err_set(e, -EINVAL, "the first line names no column \"%s\"",
				       t->names[needed[i]]);
	return 0;
}

int table_next(struct arena *a, struct table *t, const char **cell, struct err *e)
{
	const char *field[TABLE_COLUMNS];
	size_t n = 0;

	while (*t->next && n < 2) {
		t->line++;
		t->next = csv_record(a, t->next, field, TABLE_COLUMNS, &n);
		if (!t->next)
			return open_quote(t->line, e);
	}
	if (n < 2)
		return 0;
	if (t->rows >= t->most)
		return err_set(e, -EINVAL, "more than %ld rows", t->most);
	t->rows++;
	for (size_t c = 0; c < t->columns; c++)
		cell[c] = t->at[c] >= 0 && (size_t)t->at[c] < n ? field[t->at[c]] : "";
	return 1;
}
