/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of health_limits.rows and xids.rows. */
#include "knowledge/health.h"

#define L struct health_limit
#define X struct xid_row

static const struct row_column limit_columns[] = {
	ROW_NAME(L, setting, .meaning = "id of the setting that uses it"),
	ROW_TEXT(L, key, "key", .required = true, .meaning = "of the figure within the setting"),
	ROW_TEXT(L, gpu, "gpu", .meaning = "a word of the GPU's name; not told: any GPU"),
	ROW_REAL(L, value, "value", .required = true, .meaning = "the figure"),
	ROW_TEXT(L, unit, "unit", .required = true, .meaning = "of value"),
	ROW_TEXT(L, what, "what", .required = true, .meaning = "the figure in words"),
	ROW_TEXT(L, source, "source", .required = true, .meaning = "where it stands"),
	ROW_DATE(L, date, "date", .required = true, .meaning = "when that was read"),
};

const struct row_table health_limit_table =
	ROW_TABLE("health_limits", struct health_limit, health_limits, "knowledge/health.h",
		  limit_columns, .repeats = true);

static const char *const kinds[] = { "program", "event", "lasting", NULL };

static const struct row_column xid_columns[] = {
	ROW_NAME(X, what, .meaning = "what it says"),
	ROW_COUNT(X, first, "first", .min = 1, .required = true, .meaning = "its number"),
	ROW_COUNT(X, last, "last", .min = 1,
		  .meaning = "the last number that means the same; not told: first"),
	ROW_CHOICE(X, kind, "kind", .choices = kinds, .required = true,
		   .meaning = "program: its own fault, or the trace of its end; event: hardware, "
			      "mended or survived; lasting: the GPU needs a reset, a reboot or a "
			      "person"),
	ROW_TEXT(X, todo, "todo", .meaning = "what to do; of programs nothing"),
};

static const char *finish_xid(void *row)
{
	X *x = row;

	if (!x->last)
		x->last = x->first;
	return (x->kind == XID_PROGRAM) == !x->todo ? NULL : "all but programs need todo";
}

const struct row_table xid_table = ROW_TABLE("xids", struct xid_row, xid_rows, "knowledge/health.h",
					     xid_columns, .repeats = true, .finish = finish_xid);
