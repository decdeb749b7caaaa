/* SPDX-License-Identifier: Apache-2.0 */
/* Finding where texts, objects and lists end: quotes and brackets, nothing else of JSON. */
#include "many/fleet/split.h"

#include <errno.h>
#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_blanks(struct split *s)
{
	while (s->p < s->end && blank(*s->p))
		s->p++;
}

bool split_more(struct split *s)
{
	skip_blanks(s);
	return s->p < s->end;
}

/* From the opening quote to behind the closing one. */
static int skip_text(struct split *s, struct err *e)
{
	const char *start = s->p + 1, *q = start;

	while ((q = memchr(q, '"', (size_t)(s->end - q)))) {
		const char *b = q;

		while (b > start && b[-1] == '\\')
			b--;
		q++;
		if ((q - 1 - b) % 2 == 0) {
			s->p = q;
			return 0;
		}
	}
	return err_set(e, -EINVAL, "a text has no end");
}

/* From an opening bracket to behind the one that closes it. */
static int skip_nested(struct split *s, struct err *e)
{
	char open[SPLIT_DEPTH_MAX];
	size_t depth = 0;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (skip_text(s, e))
				return -EINVAL;
			continue;
		}
		s->p++;
		if (c == '{' || c == '[') {
			if (depth == SPLIT_DEPTH_MAX)
				return err_set(e, -EINVAL, "nested deeper than %d",
					       SPLIT_DEPTH_MAX);
			open[depth++] = c == '{' ? '}' : ']';
		} else if (c == '}' || c == ']') {
			if (depth == 0 || open[--depth] != c)
				return err_set(e, -EINVAL, "brackets do not match");
			if (depth == 0)
				return 0;
		}
	}
	return err_set(e, -EINVAL, "it ends too early");
}

/* A guess is a whole object, so what begins with it is it. */
static bool guessed(struct split *s, const char **raw, size_t *len)
{
	const char *g = s->guess ? s->guess(s->ctx, len) : NULL;

	if (!g || (size_t)(s->end - s->p) < *len || memcmp(s->p, g, *len) != 0)
		return false;
	*raw = s->p;
	s->p += *len;
	return true;
}

/* From '[' to behind ']'. */
static int walk_list(struct split *s, struct err *e)
{
	size_t n = 0;

	s->p++;
	skip_blanks(s);
	while (s->p < s->end && *s->p != ']') {
		const char *raw;
		size_t len;

		if (*s->p != '{')
			return err_set(e, -EINVAL, "its list holds something other than objects");
		if (n++ == SPLIT_ITEMS_MAX)
			return err_set(e, -EINVAL, "its list is longer than %d", SPLIT_ITEMS_MAX);
		if (!guessed(s, &raw, &len)) {
			raw = s->p;
			if (skip_nested(s, e))
				return -EINVAL;
			len = (size_t)(s->p - raw);
		}
		if (s->item(s->ctx, raw, len, e))
			return -EINVAL;
		skip_blanks(s);
		if (s->p < s->end && *s->p == ',') {
			s->p++;
			skip_blanks(s);
			if (s->p < s->end && *s->p == ']')
				return err_set(e, -EINVAL, "a comma stands before the list's end");
		} else if (s->p < s->end && *s->p != ']') {
			return err_set(e, -EINVAL, "its list lacks a comma");
		}
	}
	if (s->p == s->end)
		return err_set(e, -EINVAL, "it ends too early");
	s->p++;
	return 0;
}

static bool is_key(const char *text, size_t len, const char *name)
{
	return len == strlen(name) + 2 && memcmp(text + 1, name, len - 2) == 0;
}

/* A key of the outermost object and what follows it, up to the next comma or bracket. */
static int walk_key(struct split *s, struct err *e)
{
	const char *key = s->p;
	bool list;

	if (skip_text(s, e))
		return -EINVAL;
	list = is_key(key, (size_t)(s->p - key), "findings") ||
	       is_key(key, (size_t)(s->p - key), "rows");
	while (s->p < s->end && (blank(*s->p) || *s->p == ':'))
		s->p++;
	/* The colon goes along: whether it is there is the parser's to say. */
	text_addn(&s->frame, key, (size_t)(s->p - key));
	if (s->p == s->end)
		return err_set(e, -EINVAL, "it ends too early");
	key = s->p;
	if (list && *s->p == '[') {
		text_add(&s->frame, "[]");
		return walk_list(s, e);
	}
	if (*s->p == '{' || *s->p == '[') {
		if (skip_nested(s, e))
			return -EINVAL;
	} else if (*s->p == '"') {
		if (skip_text(s, e))
			return -EINVAL;
	}
	text_addn(&s->frame, key, (size_t)(s->p - key));
	return 0;
}

int split_document(struct split *s, struct err *e)
{
	text_clear(&s->frame);
	skip_blanks(s);
	if (s->p == s->end || *s->p != '{')
		return err_set(e, -EINVAL, "it is no JSON object");
	text_addc(&s->frame, *s->p++);
	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (walk_key(s, e))
				return -EINVAL;
			continue;
		}
		if (c == '{' || c == '[' || c == ']')
			return err_set(e, -EINVAL, "a bracket stands where a name must be");
		text_addc(&s->frame, c);
		s->p++;
		if (c == '}')
			return 0;
	}
	return err_set(e, -EINVAL, "it ends too early");
}
