/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of formats.rows. */
#include "knowledge/formats.h"

#define F struct format_row
#define PART(m, what)                                                                              \
	ROW_REAL(F, f.m, #m, .max = 64, .unit = "bits", .meaning = what "; not told: bits")

static const char *const maths[] = {
	"half", "fp8", "fp8-block", "fp4", "weight-only", "ggml", NULL
};
static const char *const models_of[] = { "all", "experts", "dense", NULL };

static const struct row_column format_columns[] = {
	ROW_NAME(F, f.name, .meaning = "as answers call it"),
	ROW_TEXT(F, keys, "keys", .required = true,
		 .meaning = "words that name it, of small letters and digits alone, with blanks "
			    "between"),
	ROW_CHOICE(F, of, "of", .choices = models_of, .meaning = "models with experts, or without"),
	ROW_CHOICE(F, f.math, "math", .choices = maths, .required = true,
		   .meaning = "in which number type the big multiplications of a prompt run"),
	ROW_FLAG(F, f.gguf, "gguf", .meaning = "of GGUF files"),
	ROW_REAL(F, bits, "bits", .min = 0.5, .max = 64, .required = true, .unit = "bits",
		 .meaning = "a parameter of most parts, scales included"),
	PART(experts, "of experts"),
	PART(dense, "of dense blocks"),
	PART(shared, "of what every token takes beside experts"),
	PART(attention, "of attention"),
	PART(linear, "of linear attention and state spaces"),
	PART(head, "of the output head"),
	PART(embed, "of the embedding"),
	ROW_REAL(F, f.read, "read", .max = 10,
		 .meaning = "how fast it is read against others of its engine; not told: 1"),
	ROW_TEXT(F, f.note, "note", .meaning = "what stays in another format"),
};

/* Bits as people count them become bytes. */
static const char *finish_format(void *row)
{
	struct format_row *r = row;
	double *const parts[] = { &r->f.experts, &r->f.dense, &r->f.shared, &r->f.attention,
				  &r->f.linear,	 &r->f.head,  &r->f.embed };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = (*parts[i] > 0 ? *parts[i] : r->bits) / 8;
	return NULL;
}

const struct row_table format_table =
	ROW_TABLE("formats", struct format_row, format_rows, "knowledge/formats.h", format_columns,
		  .repeats = true, .finish = finish_format);
