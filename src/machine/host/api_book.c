/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the pages of a capture's api folder. */
#include "machine/host/api_book.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int api_book_value_of(const json_t *v, struct answer *out)
{
	const json_t *error = json_object_get(v, "error");
	int code;

	if (json_is_integer(v)) {
		*out = (struct answer){ .kind = ANSWER_INT, .i = json_integer_value(v) };
		return 0;
	}
	if (json_is_string(v)) {
		*out = (struct answer){ .kind = ANSWER_TEXT, .text = json_string_value(v) };
		return 0;
	}
	if (!json_is_string(error))
		return -EPROTO;
	code = errno_number(json_string_value(error));
	return code ? -code : -EPROTO;
}

/* Names of interfaces and mount points may hold any bytes; JSON may not. */
static json_t *member_of(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);
	ARENA_AUTO a = { 0 };
	const char *clean;

	if (v)
		return v;
	clean = utf8_clean(&a, key);
	v = clean == key ? NULL : json_object_get(o, clean);
	return v;
}

int api_page_answer(const json_t *page, const char *object, const char *field, struct answer *out)
{
	static const char any[] = "*";
	const json_t *o = member_of(page, object), *v;

	if (!o)
		o = json_object_get(page, any);
	v = member_of(o, field);
	if (!v)
		v = json_object_get(o, any);
	return v ? api_book_value_of(v, out) : API_PAGE_NONE;
}

int api_page_check(const json_t *page, const char *file, struct err *e)
{
	const char *object, *field;
	json_t *fields, *value;
	struct answer ignored;

	if (!json_is_object(page))
		return err_set(e, -EBADMSG, "%s: not an object", file);
	json_object_foreach((json_t *)page, object, fields)
	{
		if (!json_is_object(fields))
			return err_set(e, -EBADMSG, "%s: \"%s\" is not an object", file, object);
		json_object_foreach(fields, field, value) if (
			api_book_value_of(value, &ignored) ==
			-EPROTO) return err_set(e, -EBADMSG,
						"%s: \"%s\" of \"%s\" must be a whole number, a "
						"string or {\"error\": NAME} with a known NAME",
						file, field, object);
	}
	return 0;
}

/*
 * The same in one pass over what record.c writes, which takes jansson ten times as long: names and
 * texts of plain ASCII, whole numbers of a few digits. What else may stand in a page, and what is
 * wrong with it, is jansson's.
 */

enum { PLAIN_TEXT = 512, PLAIN_DIGITS = 18 };

static bool page_mark(const char **at, char c)
{
	*at += strspn(*at, " \n\r\t");
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool page_text(const char **at, char out[PLAIN_TEXT])
{
	size_t n = 0;

	if (!page_mark(at, '"'))
		return false;
	for (; **at != '"'; (*at)++) {
		if ((signed char)**at < ' ' || **at == '\\' || **at == 127 || n + 1 == PLAIN_TEXT)
			return false;
		out[n++] = **at;
	}
	out[n] = '\0';
	(*at)++;
	return true;
}

static json_t *page_number(const char **at)
{
	const char *digits = *at + (**at == '-');
	size_t n = strspn(digits, "0123456789");
	long long v;

	if (!n || n > PLAIN_DIGITS || (*digits == '0' && n > 1) ||
	    (digits[n] && strchr(".eE", digits[n])))
		return NULL;
	v = strtoll(*at, NULL, 10);
	*at = digits + n;
	return json_integer(v);
}

/* last: the refusal before, since most are the same. */
static json_t *page_answer(const char **at, json_t **last)
{
	char text[PLAIN_TEXT];

	*at += strspn(*at, " \n\r\t");
	if (**at == '"')
		return page_text(at, text) ? json_string_nocheck(text) : NULL;
	if (!page_mark(at, '{'))
		return page_number(at);
	if (!page_text(at, text) || strcmp(text, "error") != 0 || !page_mark(at, ':') ||
	    !page_text(at, text) || !page_mark(at, '}') || !errno_number(text))
		return NULL;
	if (!*last || strcmp(json_string_value(json_object_get(*last, "error")), text) != 0)
		*last = json_pack("{s:s}", "error", text);
	else
		json_incref(*last);
	return *last;
}

/* An object of answers, or, with a depth of 1, of such objects. */
static json_t *page_object(const char **at, unsigned depth)
{
	json_t *o = json_object(), *v, *last = NULL;
	char key[PLAIN_TEXT];
	size_t n = 0;
	bool good = page_mark(at, '{');

	if (good && page_mark(at, '}'))
		return o;
	do {
		good = good && page_text(at, key) && page_mark(at, ':');
		v = good ? depth ? page_object(at, depth - 1) : page_answer(at, &last) : NULL;
		/* A name that stood there already does not make it larger. */
		good = v && json_object_set_new_nocheck(o, key, v) == 0 &&
		       json_object_size(o) == ++n;
	} while (good && page_mark(at, ','));
	if (good && page_mark(at, '}'))
		return o;
	json_decref(o);
	return NULL;
}

json_t *api_page_load(const char *text, size_t len, const char *file, struct err *e)
{
	const char *at = text;
	json_t *page = page_object(&at, 1);
	json_error_t why;

	at += strspn(at, " \n\r\t");
	if (page && at == text + len)
		return page;
	json_decref(page);
	page = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!page)
		err_set(e, -EBADMSG, "%s:%d: %s", file, why.line, why.text);
	else if (api_page_check(page, file, e)) {
		json_decref(page);
		page = NULL;
	}
	return page;
}

void api_page_store(json_t *page, const char *object, const char *field, int r,
		    const struct answer *answer)
{
	ARENA_AUTO a = { 0 };
	const char *key = utf8_clean(&a, object);
	json_t *o = json_object_get(page, key), *v;

	if (!o) {
		o = json_object();
		json_object_set_new(page, key, o);
	}
	if (r)
		v = json_pack("{s:s}", "error", errno_name(r));
	else if (answer->kind == ANSWER_INT)
		v = json_integer(answer->i);
	else
		v = json_string(utf8_clean(&a, answer->text));
	json_object_set_new(o, utf8_clean(&a, field), v);
}
