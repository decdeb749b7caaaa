/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a file of rows, of the table whose place in the list is the first byte, '0' and up:
 * refused with a sentence that begins with its name, or every value within its bounds; and then
 * nothing that is predicted with a model or a GPU of it is without end.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "knowledge/knowledge.h"
#include "knowledge/tables.h"
#include "models/inference/gpu.h"
#include "models/inference/arch.h"
#include "models/inference/predict.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_text(const struct row_column *c, const char *s)
{
	uint32_t cp;
	size_t n;

	if ((c->required && !s) || (s && strlen(s) > ROW_VALUE_MAX))
		abort();
	for (; s && (n = utf8_next(s, &cp)); s += n)
		if ((n == 1 && cp == UTF8_BAD) || (cp != '\t' && !utf8_harmless(cp)))
			abort();
}

static void check_number(const struct row_column *c, double v)
{
	if (!isfinite(v) || (v != 0 && v < c->min) || (c->max > 0 && v > c->max))
		abort();
}

static void check_choice(const struct row_column *c, unsigned v)
{
	unsigned n = 0;

	while (c->choices[n])
		n++;
	if (c->kind == ROW_KIND_SET ? v >= 1u << n : v >= n)
		abort();
}

static void check_value(const struct row_table *t, const struct row_column *c, const char *row)
{
	const void *at = row + c->offset;

	switch (c->kind) {
	case ROW_KIND_TEXT:
	case ROW_KIND_DATE:
		check_text(c, *(const char *const *)at);
		break;
	case ROW_KIND_REAL:
		/* What follows from others may be larger than what can be told. */
		check_number(t->finish ? &(struct row_column){ .min = c->min } : c,
			     *(const double *)at);
		break;
	case ROW_KIND_COUNT:
		check_number(c, c->size == sizeof(int) ? *(const int *)at
						       : (double)*(const long long *)at);
		break;
	case ROW_KIND_COUNTS:
		for (size_t i = 0; i < c->size / sizeof(int); i++)
			check_number(c, ((const int *)at)[i]);
		break;
	case ROW_KIND_CHOICE:
	case ROW_KIND_SET:
		check_choice(c, *(const unsigned *)at);
		break;
	case ROW_KIND_FLAG:
		break;
	}
}

static void ask(struct arena *a, const struct knowledge *k, const char *model, const char *on)
{
	struct infer_options w = { .known = k, .model = model, .on = on };
	struct prediction *p = ARENA_NEW(a, struct prediction);
	struct query *q = ARENA_NEW(a, struct query);
	struct fits fits;
	struct err e = { 0 };

	fits_default(&fits);
	if (question_make(a, &w, &fits, q, &e) < 0) {
		if (!*e.text)
			abort();
		return;
	}
	predict(a, q, &fits, p);
	if (!isfinite(p->memory.total) || !isfinite(p->ttft.value) || !isfinite(p->tpot.value))
		abort();
}

/* The first rows, as a file of a user has them. */
static void use(struct arena *a, const struct row_table *t, const struct row_list *rows)
{
	char *ended = arena_array(a, rows->n + 1, t->size);
	struct knowledge k = knowledge_built_in;

	if (rows->n)
		memcpy(ended, rows->items, rows->n * t->size);
	for (size_t i = 0; i < rows->n && i < 4; i++) {
		const char *name = *(const char **)(ended + i * t->size + t->columns[0].offset);

		if (t == &gpu_table) {
			k.gpus = (const struct gpu_kind *)ended;
			ask(a, &k, "Qwen3-8B", name);
		} else if (t == &model_table) {
			k.models = (const struct model_row *)ended;
			ask(a, &k, name, "2x h100");
		}
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const struct row_table *t = NULL;
	struct row_list rows = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	char *text;

	for (size_t i = 0; size && row_tables[i] && !t; i++)
		t = *data == '0' + i ? row_tables[i] : NULL;
	if (!t)
		return 0;
	/* Of its own size: a byte too far is seen. */
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	if (rows_read(&a, t, text, size - 1, "a file", &rows, &e)) {
		if (strncmp(e.text, "a file:", 7) != 0 || rows.n)
			abort();
	} else {
		for (size_t i = 0; i < rows.n; i++)
			for (size_t c = 0; c < t->n_columns; c++)
				check_value(t, &t->columns[c],
					    (const char *)rows.items + i * t->size);
		use(&a, t, &rows);
	}
	free(text);
	arena_free(&a);
	return 0;
}
