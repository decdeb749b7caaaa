/* SPDX-License-Identifier: Apache-2.0 */
/* Formats that weights are stored in: rows of formats.rows. */
#ifndef KNOWLEDGE_FORMATS_H
#define KNOWLEDGE_FORMATS_H

#include "base/rows.h"

/* In which number type the big multiplications of a prompt run. */
enum math { MATH_HALF, MATH_FP8, MATH_FP8_BLOCK, MATH_FP4, MATH_WEIGHT_ONLY, MATH_GGML };

/* Bytes a parameter, scales included. */
struct format {
	const char *name;
	const char *note; /* what stays in another format, in a sentence; NULL: nothing */
	enum math math;
	double experts, dense, shared, attention, linear, head, embed;
	bool gguf;
	double read; /* how fast it is read against others of its engine; 0: 1 */
};

enum format_of { FORMAT_OF_ALL, FORMAT_OF_EXPERTS, FORMAT_OF_DENSE };

/* keys: words, without what people write between letters. Earlier rows win. */
struct format_row {
	const char *keys;
	enum format_of of; /* models with experts, or without */
	double bits;	   /* a parameter of the parts that are not known */
	struct format f;
};

extern const struct row_table format_table;
extern const struct format_row format_rows[];
extern const size_t n_format_rows;

#endif
