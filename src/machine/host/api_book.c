/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the pages of a capture's api folder. */
#include "machine/host/api_book.h"

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
						"%s: \"%s\" of \"%s\": expected a whole number, a "
						"string or a known {\"error\": NAME}",
						file, field, object);
	}
	return 0;
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
