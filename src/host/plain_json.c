/* SPDX-License-Identifier: Apache-2.0 */
/* Plain JSON: whatever is not certainly plain is left to jansson. */
#include "host/plain_json.h"

#include <stdbool.h>
#include <string.h>

enum { DEEPEST = 4, KEY_MAX = 128, DIGITS_MAX = 18 };

struct scan {
	const char *at, *end;
};

static char next(const struct scan *s)
{
	return s->at < s->end ? *s->at : '\0';
}

static bool take(struct scan *s, char c)
{
	if (next(s) != c)
		return false;
	s->at++;
	return true;
}

static void blanks(struct scan *s)
{
	while (next(s) == ' ' || next(s) == '\n' || next(s) == '\t' || next(s) == '\r')
		s->at++;
}

/* What is between quotes; NULL when it is not plain. */
static const char *text_at(struct scan *s, size_t *n)
{
	const char *begin;

	if (!take(s, '"'))
		return NULL;
	begin = s->at;
	while (next(s) >= ' ' && next(s) <= '~' && next(s) != '"' && next(s) != '\\')
		s->at++;
	*n = (size_t)(s->at - begin);
	return take(s, '"') ? begin : NULL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static json_t *number(struct scan *s)
{
	bool negative = take(s, '-');
	json_int_t v = 0;
	size_t n = 0;

	for (; n < DIGITS_MAX && is_digit(next(s)); n++) {
		if (n && v == 0) /* 01 */
			return NULL;
		v = v * 10 + (*s->at++ - '0');
	}
	return n && !is_digit(next(s)) ? json_integer(negative ? -v : v) : NULL;
}

static json_t *object(struct scan *s, unsigned depth);

static json_t *value(struct scan *s, unsigned depth)
{
	const char *text;
	size_t n;

	if (next(s) == '{')
		return depth < DEEPEST ? object(s, depth + 1) : NULL;
	if (next(s) != '"')
		return number(s);
	text = text_at(s, &n);
	return text ? json_stringn_nocheck(text, n) : NULL;
}

static bool member(struct scan *s, json_t *o, unsigned depth)
{
	char key[KEY_MAX];
	size_t n, before = json_object_size(o);
	const char *text = text_at(s, &n);

	if (!text || n >= sizeof(key))
		return false;
	memcpy(key, text, n);
	key[n] = '\0';
	blanks(s);
	if (!take(s, ':'))
		return false;
	blanks(s);
	/* No value is an error too, and a key that was there already adds none. */
	return json_object_set_new_nocheck(o, key, value(s, depth)) == 0 &&
	       json_object_size(o) == before + 1;
}

static json_t *object(struct scan *s, unsigned depth)
{
	json_t *o = json_object();
	bool good = take(s, '{'), more;

	blanks(s);
	if (good && take(s, '}'))
		return o;
	do {
		blanks(s);
		good = good && member(s, o, depth);
		blanks(s);
		more = good && take(s, ',');
	} while (more);
	if (good && take(s, '}'))
		return o;
	json_decref(o);
	return NULL;
}

json_t *plain_json(const char *text, size_t len)
{
	struct scan s = { text, text + len };
	json_t *o;

	blanks(&s);
	o = object(&s, 1);
	blanks(&s);
	if (s.at == s.end)
		return o;
	json_decref(o);
	return NULL;
}
