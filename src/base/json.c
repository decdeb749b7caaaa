/* SPDX-License-Identifier: Apache-2.0 */
/* Jansson's writer with an escape behind it. Knows nothing of what is written, nor of who reads it.
 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/fd.h"

/* Values as they stand in our JSON. */

json_t *json_text(const char *s)
{
	ARENA_AUTO a = { 0 };
	json_t *j = s ? json_string(s) : json_null();

	if (!j) /* it is not UTF-8 */
		j = json_string(utf8_clean(&a, s));
	return j;
}

json_t *json_figure(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_texts(const char *const *items, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_text(items[i]));
	return list;
}

/* Of JSON whose line ends and blanks are its layout: jansson has escaped those of strings. */
static bool passes(uint32_t cp)
{
	return cp < 0x7f || utf8_harmless(cp);
}

static bool plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] >= 0x7f)
			return false;
	return true;
}

/* s: whole code points, as jansson gives them. What is harmful has four digits. */
static void json_print_escape(struct text *t, const char *s)
{
	uint32_t cp;
	size_t n;

	for (; (n = utf8_next(s, &cp)); s += n)
		if (passes(cp))
			text_addn(t, s, n);
		else
			text_printf(t, "\\u%04x", (unsigned)cp);
}

static int json_print_add(const char *s, size_t n, void *ctx)
{
	struct text *out = ctx;
	TEXT_AUTO piece = { 0 };

	if (plain(s, n)) {
		text_addn(out, s, n);
		return 0;
	}
	text_addn(&piece, s, n);
	json_print_escape(out, piece.s);
	return 0;
}

static int json_print_print(const char *s, size_t n, void *ctx)
{
	TEXT_AUTO t = { 0 };

	if (plain(s, n))
		return fwrite(s, 1, n, ctx) == n ? 0 : -1;
	json_print_add(s, n, &t);
	return fwrite(t.s, 1, t.len, ctx) == t.len ? 0 : -1;
}

int json_print(FILE *out, const json_t *j, size_t flags)
{
	return json_dump_callback(j, json_print_print, out, flags);
}

int json_add(struct text *out, const json_t *j, size_t flags)
{
	return json_dump_callback(j, json_print_add, out, flags);
}

char *json_take_text(struct arena *a, json_t *j, size_t flags)
{
	char *text = j ? json_dumps(j, flags) : NULL, *out = text ? arena_strdup(a, text) : NULL;

	free(text);
	json_decref(j);
	return out;
}

int json_from_file(const char *path, size_t max, json_t **out, struct err *e)
{
	TEXT_AUTO t = { 0 };
	json_error_t why = { 0 };
	int r = fd_read_input(path, max, &t);

	*out = r ? NULL : json_loadb(t.s, t.len, JSON_REJECT_DUPLICATES, &why);
	if (r)
		return err_set(e, r, "%s: cannot read: %s", path, strerror(-r));
	if (*out)
		return 0;
	return why.line > 0 ? err_set(e, -EINVAL, "%s:%d: %s", path, why.line, why.text)
			    : err_set(e, -EINVAL, "%s: %s", path, why.text);
}
