/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a GGUF header: numbers, texts, arrays of them. */
#include <string.h>

#include "models/inference/gguf_parts.h"

#define MOST_ARRAY (1u << 26)

/* Numbers of types. */
enum { TYPE_FLOAT = 6, TYPE_TEXT = 8, TYPE_ARRAY = 9, TYPE_DOUBLE = 12 };

bool gguf_take(struct gguf_reader *r, void *to, size_t n)
{
	if ((size_t)(r->end - r->at) < n) {
		r->short_of = true;
		return false;
	}
	if (to)
		memcpy(to, r->at, n);
	r->at += n;
	return true;
}

bool gguf_take_text(struct gguf_reader *r, const char **s, uint64_t *len)
{
	if (!gguf_take(r, len, 8) || *len > (uint64_t)(r->end - r->at)) {
		r->short_of = true;
		return false;
	}
	*s = (const char *)r->at;
	r->at += *len;
	return true;
}

/* Bytes of a number; 0: it is none. */
static size_t size_of(uint32_t type)
{
	static const size_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return type < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

static double number_of(const uint8_t *at, uint32_t type)
{
	uint64_t u = 0;

	if (type == TYPE_FLOAT || type == TYPE_DOUBLE || !size_of(type))
		return 0;
	memcpy(&u, at, size_of(type));
	return u < 1ull << 48 ? (double)u : 0;
}

double gguf_item(const struct gguf_value *v, uint64_t i)
{
	return v->items && i < v->length ? number_of(v->items + i * size_of(v->of), v->of) : 0;
}

static bool take_texts(struct gguf_reader *r, uint64_t n)
{
	const char *s;
	uint64_t len;

	while (n--)
		if (!gguf_take_text(r, &s, &len))
			return false;
	return true;
}

static bool take_array(struct gguf_reader *r, struct gguf_value *v)
{
	uint64_t n;

	if (!gguf_take(r, &v->of, 4) || !gguf_take(r, &n, 8) || n > MOST_ARRAY)
		return false;
	v->length = n;
	if (v->of == TYPE_TEXT)
		return take_texts(r, n);
	if (!size_of(v->of))
		return n == 0;
	v->items = r->at;
	return gguf_take(r, NULL, (size_t)n * size_of(v->of));
}

bool gguf_take_value(struct gguf_reader *r, struct gguf_value *v)
{
	uint32_t type;
	uint64_t len;
	const uint8_t *at;

	*v = (struct gguf_value){ 0 };
	if (!gguf_take(r, &type, 4))
		return false;
	if (type == TYPE_ARRAY)
		return take_array(r, v);
	if (type == TYPE_TEXT) {
		if (!gguf_take_text(r, &v->text, &len))
			return false;
		v->len = (size_t)len;
		return true;
	}
	at = r->at;
	if (!size_of(type) || !gguf_take(r, NULL, size_of(type)))
		return false;
	v->number = number_of(at, type);
	return true;
}
