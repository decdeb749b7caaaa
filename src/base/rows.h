/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as text, one line a row:
 *
 *     # a comment, a line of its own
 *     default source="NVIDIA, H100 data sheet" date=2023
 *     "NVIDIA H100 PCIe" memory=80 bandwidth=2000 server=yes
 *
 * A row is its name and then key=value, in any order. What has blanks stands in double quotes, in
 * which a backslash takes a quote or a backslash as it is. The values of a line "default" are those
 * of the rows after it which do not say otherwise, until the next such line, which replaces all of
 * them. UTF-8, no control characters but tabs between words.
 *
 * The same reader makes the tables that are compiled in (knowledge/compile_rows.c) and reads what
 * somebody else wrote at run time: bounded, and refused whole with a sentence that names the line.
 */
#ifndef BASE_ROWS_H
#define BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	ROW_BYTES_MAX = 1 << 20, /* of a text */
	ROW_LIST_MAX = 4096,	 /* rows of it */
	ROW_LINE_MAX = 4096,	 /* bytes of a line */
	ROW_VALUE_MAX = 1024,	 /* bytes of a name or a value */
	ROW_COLUMNS_MAX = 64,
};

enum row_kind {
	ROW_KIND_TEXT,	 /* const char *; not known: NULL */
	ROW_KIND_DATE,	 /* const char *: 2025, 2025-08 or 2025-08-31 */
	ROW_KIND_COUNT,	 /* a whole number; the member is an integer of any width */
	ROW_KIND_COUNTS, /* int[]: as many whole numbers as it holds, with commas between */
	ROW_KIND_REAL,	 /* double */
	ROW_KIND_FLAG,	 /* bool: yes or no */
	ROW_KIND_CHOICE, /* an enum: which of the choices */
	ROW_KIND_SET,	 /* unsigned: some of the choices, with commas between; a bit each */
};

/* What is not known is 0, no or NULL. The first column of a table is the row's name. */
struct row_column {
	const char *key;    /* in text */
	const char *member; /* in C, below the row */
	enum row_kind kind;
	size_t offset, size;
	/* Of numbers. max 0: INT_MAX of counts, no bound of reals. */
	double min, max;
	const char *const *choices; /* ended by NULL; their values are 0, 1, 2 ... */
	bool required;
	const char *unit; /* NULL: none */
	const char *meaning;
};

/*
 * Columns, as ROW_REAL(struct gpu_kind, memory, "memory", .unit = "GB", .meaning = "..."). A member
 * of another type does not compile.
 */
#define ROW_COLUMN(row, m, k, what, ...)                                                           \
	{                                                                                          \
		.key = (k), .member = #m, .kind = (what), .offset = offsetof(row, m), __VA_ARGS__  \
	}
#define ROW_MEMBER(row, m) (((row *)0)->m)
#define ROW_SIZED(row, m, type) .size = _Generic(ROW_MEMBER(row, m), type : sizeof(type))
#define ROW_TEXT(row, m, k, ...)                                                                   \
	ROW_COLUMN(row, m, k, ROW_KIND_TEXT, ROW_SIZED(row, m, const char *), __VA_ARGS__)
#define ROW_NAME(row, m, ...) ROW_TEXT(row, m, "name", .required = true, __VA_ARGS__)
#define ROW_DATE(row, m, k, ...)                                                                   \
	ROW_COLUMN(row, m, k, ROW_KIND_DATE, ROW_SIZED(row, m, const char *), __VA_ARGS__)
#define ROW_COUNT(row, m, k, ...)                                                                  \
	ROW_COLUMN(row, m, k, ROW_KIND_COUNT,                                                      \
		   .size = _Generic(ROW_MEMBER(row, m), int                                        \
				    : sizeof(int), unsigned                                        \
				    : sizeof(unsigned), long long                                  \
				    : sizeof(long long)),                                          \
		   __VA_ARGS__)
#define ROW_COUNTS(row, m, k, ...)                                                                 \
	ROW_COLUMN(row, m, k, ROW_KIND_COUNTS,                                                     \
		   .size = _Generic(ROW_MEMBER(row, m), int * : sizeof(ROW_MEMBER(row, m))),       \
		   __VA_ARGS__)
#define ROW_REAL(row, m, k, ...)                                                                   \
	ROW_COLUMN(row, m, k, ROW_KIND_REAL, ROW_SIZED(row, m, double), __VA_ARGS__)
#define ROW_FLAG(row, m, k, ...)                                                                   \
	ROW_COLUMN(row, m, k, ROW_KIND_FLAG, ROW_SIZED(row, m, bool), __VA_ARGS__)
/* Enumerations are unsigned where none of their values is below 0. */
#define ROW_CHOICE(row, m, k, ...)                                                                 \
	ROW_COLUMN(row, m, k, ROW_KIND_CHOICE, ROW_SIZED(row, m, unsigned), __VA_ARGS__)
#define ROW_SET(row, m, k, ...)                                                                    \
	ROW_COLUMN(row, m, k, ROW_KIND_SET, ROW_SIZED(row, m, unsigned), __VA_ARGS__)

struct row_table {
	const char *name;		 /* "gpus": of gpus.rows */
	const char *type, *array, *many; /* in C: "struct gpu_kind", "gpu_kinds", "n_gpu_kinds" */
	const char *header; /* that declares them; the array ends with a row without a name */
	size_t size;	    /* of a row */
	const struct row_column *columns;
	size_t n_columns;
	bool repeats; /* several rows may have one name */
	/* Fills members that follow from others, and judges what no column can alone. NULL: it is
	 * well; else what is wrong, in a clause. May itself be NULL. */
	const char *(*finish)(void *row);
};

/* The table of NAME.rows, whose rows are the array c_array; then .finish = ... or .repeats = ...,
 * one of them at least. */
#define ROW_TABLE(file, row_type, c_array, c_header, row_columns, ...)                             \
	{                                                                                          \
		.name = (file), .type = #row_type, .array = #c_array, .many = "n_" #c_array,       \
		.header = (c_header), .size = sizeof(row_type), .columns = (row_columns),          \
		.n_columns = sizeof(row_columns) / sizeof((row_columns)[0]), __VA_ARGS__           \
	}

struct row_list {
	void *items; /* rows of the table's type, in the order of the text */
	size_t n;
};

/*
 * All rows of a text of len bytes, with what they point to, in arena memory. from: its name in
 * sentences. -EINVAL: "FILE:LINE: row "NAME": KEY ...", and *out is untouched.
 */
int rows_read(struct arena *a, const struct row_table *t, const char *text, size_t len,
	      const char *from, struct row_list *out, struct err *e);
/* A row as a line of such a text, which rows_read reads as the same row. */
const char *row_as_text(struct arena *a, const struct row_table *t, const void *row);

#endif
