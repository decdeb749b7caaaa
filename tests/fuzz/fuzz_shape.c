/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a result, of which kind the first byte says, '0' and up in the order of
 * result_shapes: refused with a sentence, or read; and where every figure has a member of its own,
 * what is written again is read again as the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/result_shapes.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* No row follows from other members, which may be what a result does not hold. */
static bool is_plain(const struct shape *s)
{
	if (s->forms)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];

		if (r->text_of || r->real_of || r->count_of || r->flag_of || r->when_of ||
		    r->keeps || r->made || r->kind == SHAPE_KIND_JSON ||
		    (r->sub && !is_plain(r->sub)))
			return false;
	}
	return true;
}

static char *written(const struct result_shape *r, const void *object)
{
	json_t *j = result_shape_json(r, object, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	if (!text)
		abort();
	return text;
}

static void check_again(const struct result_shape *r, const void *object)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	void *back = arena_alloc(&a, r->shape->size);
	char *first = written(r, object), *second;

	if (result_shape_read(&a, r, first, strlen(first), back, &e))
		abort();
	second = written(r, back);
	if (strcmp(first, second) != 0)
		abort();
	free(first);
	free(second);
	arena_free(&a);
}

static void read_as(const struct result_shape *r, const char *text, size_t size)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	void *object = arena_alloc(&a, r->shape->size);

	if (result_shape_read(&a, r, text, size, object, &e)) {
		if (!*e.text)
			abort();
	} else if (is_plain(r->shape)) {
		check_again(r, object);
	}
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	/* Of its own size: a byte too far is seen. */
	char *text = malloc(size ? size : 1), name[SHAPE_KEY_SIZE];
	struct arena a = { 0 };

	if (!text)
		abort();
	memcpy(text, data, size);
	for (const struct result_shape *const *r = result_shapes(&a); *r; r++) {
		result_schema_name(*r, name);
		if (memmem(text, size, name, strlen(name)))
			read_as(*r, text, size);
	}
	arena_free(&a);
	free(text);
	return 0;
}
