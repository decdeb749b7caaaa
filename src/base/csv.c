/* SPDX-License-Identifier: Apache-2.0 */
/* Reading records: each field is measured first, then copied. */
#include "base/csv.h"

#include <string.h>

/* Bytes that the quoted field at s (behind its first quote) takes, and what it ends with. */
static const char *quoted_end(const char *s, size_t *len)
{
	*len = 0;
	for (; *s; s++) {
		if (*s == '"' && *++s != '"')
			return s;
		if (++*len > CSV_FIELD_MAX)
			return NULL;
	}
	return NULL;
}

static const char *csv_quoted(struct arena *a, const char *s, const char **out)
{
	size_t len, at = 0;
	const char *end = quoted_end(s, &len);
	char *text;

	if (!end)
		return NULL;
	text = arena_alloc(a, len + 1);
	for (; at < len; s++) {
		text[at++] = *s;
		s += *s == '"';
	}
	*out = text;
	/* What stands between the closing quote and the comma belongs to nothing. */
	return end + strcspn(end, ",\r\n");
}

const char *csv_record(struct arena *a, const char *s, const char **field, size_t most, size_t *n)
{
	*n = 0;
	for (;;) {
		const char *text = "";

		if (*s == '"') {
			s = csv_quoted(a, s + 1, &text);
			if (!s)
				return NULL;
		} else {
			size_t len = strcspn(s, ",\r\n");

			if (*n < most)
				text = arena_strndup(a, s, len);
			s += len;
		}
		if (*n < most)
			field[(*n)++] = text;
		if (*s != ',')
			break;
		s++;
	}
	s += *s == '\r';
	s += *s == '\n';
	return s;
}

long csv_lines(const char *from, const char *to)
{
	long n = 0;

	for (const char *s = from; s < to && (s = memchr(s, '\n', (size_t)(to - s))); s++)
		n++;
	return n;
}
