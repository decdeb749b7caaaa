/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where values of JSON begin and end, without looking at what is in them: files too large for a
 * tree are handed to the parser piece by piece, and each piece knows its line.
 */
#include <string.h>

#include "models/diagnose/read.h"

static size_t string_end(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (s[i] == '\\')
			i++;
		else if (s[i] == '"')
			return i + 1;
	return 0;
}

size_t json_cut(const char *s, size_t n)
{
	size_t depth = 0, i = 0;

	if (!n)
		return 0;
	if (*s == '"')
		return string_end(s, n);
	if (*s != '{' && *s != '[') { /* a number or a word */
		while (i < n && !memchr(",]} \t\r\n", s[i], 7))
			i++;
		return i < n ? i : 0;
	}
	for (; i < n; i++) {
		if (s[i] == '"') {
			size_t m = string_end(s + i, n - i);

			if (!m)
				return 0;
			i += m - 1;
		} else if (s[i] == '{' || s[i] == '[') {
			depth++;
		} else if ((s[i] == '}' || s[i] == ']') && --depth == 0) {
			return i + 1;
		}
	}
	return 0;
}

static const char *skip(const char *s, const char *end)
{
	while (s < end && memchr(" \t\r\n,", *s, 5))
		s++;
	return s;
}

bool json_next(const char **s, const char *end, struct json_piece *p, bool member)
{
	const char *at = skip(*s, end);
	size_t n;

	p->key[0] = '\0';
	p->size = 0;
	if (at >= end || *at == '}' || *at == ']')
		return false;
	if (member) {
		n = *at == '"' ? json_cut(at, (size_t)(end - at)) : 0;
		if (n < 2)
			return false;
		n -= 2;
		n = n < sizeof(p->key) ? n : sizeof(p->key) - 1;
		memcpy(p->key, at + 1, n);
		p->key[n] = '\0';
		at += json_cut(at, (size_t)(end - at));
		at = skip(at, end);
		if (at >= end || *at != ':')
			return false;
		at = skip(at + 1, end);
	}
	p->size = json_cut(at, (size_t)(end - at));
	p->value = at;
	*s = at + p->size;
	return p->size > 0;
}

json_t *json_piece_load(const struct json_piece *p)
{
	return json_loadb(p->value, p->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}
