/* SPDX-License-Identifier: Apache-2.0 */
/* Items as nested JSON, and as YAML with the reason of each above it. */
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "models/generate/train_setup.h"

void train_item_add(struct arena *a, struct train_items *l, const struct train_item *i)
{
	ARENA_ADD(a, l->at, l->n) = *i;
}

const struct train_item *train_item_find(const struct train_items *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->at[i].path, path) == 0)
			return &l->at[i];
	return NULL;
}

/* JSON's quoting is YAML's and Python's. */
static void train_write_quoted(struct text *t, const char *s)
{
	ARENA_AUTO a = { 0 };
	const char *own = json_take_text(&a, json_string(s), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	text_add(t, own ? own : "\"\"");
}

static void indent(struct text *t, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		text_add(t, "  ");
}

/* How many names two paths have in common in front of their last. */
static size_t common(const char *x, const char *y)
{
	size_t n = 0;

	for (size_t i = 0; x[i] && x[i] == y[i]; i++)
		n += x[i] == '.';
	return n;
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '.';
	return n;
}

/* The name at this depth, and its length. */
static const char *name_at(const char *path, size_t depth, size_t *n)
{
	for (; depth; depth--)
		path = strchr(path, '.') + 1;
	*n = strcspn(path, ".");
	return path;
}

static void value(struct text *t, const struct train_item *i)
{
	if (i->text)
		train_write_quoted(t, i->value);
	else
		text_add(t, i->value);
}

const char *train_write_json(struct arena *a, const struct train_items *l)
{
	TEXT_AUTO t = { 0 };
	size_t open = 0, n;

	text_add(&t, "{");
	for (size_t i = 0; i < l->n; i++) {
		const char *path = l->at[i].path;
		size_t depth = depth_of(path), same = i ? common(l->at[i - 1].path, path) : 0;

		for (; open > same; open--) {
			text_addc(&t, '\n');
			indent(&t, open);
			text_addc(&t, '}');
		}
		text_add(&t, i ? ",\n" : "\n");
		for (; open < depth; open++) {
			const char *s = name_at(path, open, &n);

			indent(&t, open + 1);
			text_printf(&t, "\"%.*s\": {\n", (int)n, s);
		}
		indent(&t, depth + 1);
		text_printf(&t, "\"%s\": ", name_at(path, depth, &n));
		value(&t, &l->at[i]);
	}
	for (; open; open--) {
		text_addc(&t, '\n');
		indent(&t, open);
		text_addc(&t, '}');
	}
	text_add(&t, "\n}\n");
	return arena_strdup(a, t.s);
}

/* Comments end with their line; long ones go on in the next. */
static void train_write_comment(struct text *t, size_t depth, const char *s)
{
	size_t room = 96 - 2 * depth, len = strlen(s);

	while (len) {
		size_t n = len;

		if (n > room) {
			for (n = room; n && s[n] != ' '; n--)
				;
			n = n ? n : room;
		}
		indent(t, depth);
		text_add(t, "# ");
		for (size_t i = 0; i < n; i++)
			text_addc(t, (unsigned char)s[i] < ' ' ? ' ' : s[i]);
		text_addc(t, '\n');
		for (; n < len && s[n] == ' '; n++)
			;
		s += n;
		len -= n;
	}
}

const char *train_write_yaml(struct arena *a, const struct train_items *l, const char *head)
{
	TEXT_AUTO t = { 0 };
	size_t n;

	if (head)
		train_write_comment(&t, 0, head);
	for (size_t i = 0; i < l->n; i++) {
		const char *path = l->at[i].path;
		size_t depth = depth_of(path), same = i ? common(l->at[i - 1].path, path) : 0;

		for (size_t k = same; k < depth; k++) {
			const char *s = name_at(path, k, &n);

			indent(&t, k);
			text_printf(&t, "%.*s:\n", (int)n, s);
		}
		if (l->at[i].reason)
			train_write_comment(&t, depth, l->at[i].reason);
		indent(&t, depth);
		text_printf(&t, "%s: ", name_at(path, depth, &n));
		value(&t, &l->at[i]);
		text_addc(&t, '\n');
	}
	return arena_strdup(a, t.s ? t.s : "");
}
