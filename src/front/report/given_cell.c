/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a result that came as a file, as people read them. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/figure.h"
#include "front/report/given.h"

const json_t *given_at(const json_t *row, const json_t *outer, const char *path)
{
	const json_t *j = *path == '^' ? outer : row;
	char key[64];

	path += *path == '^';
	while (j && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		j = json_object_get(j, key);
		path += n + (path[n] == '.');
	}
	return j;
}

/* Never the middle of a character: what follows the bytes of one begins with another pattern. */
static const char *bounded(struct arena *a, const char *s)
{
	size_t n = strnlen(s, GIVEN_TEXT_MAX + 1);

	if (n <= GIVEN_TEXT_MAX)
		return arena_strdup(a, s);
	n = GIVEN_TEXT_MAX;
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(a, "%.*s...", (int)n, s);
}

const char *given_text(struct arena *a, const json_t *j, const char *path)
{
	const char *s = json_string_value(given_at(j, NULL, path));

	return s ? bounded(a, s) : NULL;
}

const char *given_node(const json_t *j)
{
	const char *node = json_string_value(given_at(j, NULL, "host.nodename"));

	return node && *node ? node : NULL;
}

enum style given_style(const char *word)
{
	static const struct {
		const char *word;
		enum style style;
	} words[] = {
		{ "pass", STYLE_GOOD },		 { "fail", STYLE_BAD },
		{ "helps", STYLE_GOOD },	 { "hurts", STYLE_BAD },
		{ "better", STYLE_GOOD },	 { "worse", STYLE_BAD },
		{ "found", STYLE_BAD },		 { "critical", STYLE_BAD },
		{ "high", STYLE_BAD },		 { "medium", STYLE_WARN },
		{ "bottleneck", STYLE_WARN },	 { "healthy", STYLE_GOOD },
		{ "certain", STYLE_BAD },	 { "likely", STYLE_WARN },
		{ "unknown", STYLE_UNKNOWN },	 { "undecided", STYLE_UNKNOWN },
		{ "unseen", STYLE_UNKNOWN },	 { "not-comparable", STYLE_UNKNOWN },
		{ "not-tested", STYLE_UNKNOWN }, { "cannot-tell", STYLE_UNKNOWN },
		{ "na", STYLE_MUTED },		 { "excluded", STYLE_MUTED },
	};

	for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].style;
	return STYLE_PLAIN;
}

static const char *joined(struct arena *a, const json_t *list)
{
	TEXT_AUTO t = { 0 };
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (t.len > GIVEN_TEXT_MAX) {
			text_add(&t, ", ...");
			break;
		}
		if (json_is_string(item))
			text_printf(&t, "%s%s", t.len ? ", " : "", json_string_value(item));
	}
	return t.len ? bounded(a, t.s) : NULL;
}

static const char *number(struct arena *a, const json_t *j, const char *unit)
{
	double v = json_number_value(j);
	/* A count is written as one: "14", not "14.00". */
	const char *s =
		v == floor(v) && fabs(v) < 1e6 ? arena_printf(a, "%.0f", v) : figure_number(a, v);

	return arena_printf(a, "%s%s%s", s, unit && *unit ? " " : "", unit ? unit : "");
}

/* Of figures that lie around 1, or anything else, with the ends of the interval if it has any. */
static const char *interval(struct arena *a, const json_t *j, const char *unit, bool times)
{
	const json_t *v = json_object_get(j, "value"), *low = json_object_get(j, "low"),
		     *high = json_object_get(j, "high");
	const char *middle;

	if (!v)
		v = json_object_get(j, "ratio");
	if (!json_is_number(v))
		return NULL;
	middle = times ? arena_printf(a, "%.3f", json_number_value(v)) : number(a, v, unit);
	if (!json_is_number(low) || !json_is_number(high))
		return middle;
	if (times)
		return arena_printf(a, "%s (%.3f to %.3f)", middle, json_number_value(low),
				    json_number_value(high));
	return arena_printf(a, "%s (%s to %s)", middle, number(a, low, NULL),
			    number(a, high, NULL));
}

/* A file may hold any number: beyond what a byte count can be it is none. */
static const char *bytes(struct arena *a, const json_t *j)
{
	double v = json_number_value(j);

	return v >= 0 && v < 9e18 ? figure(a, "bytes", (long long)v) : NULL;
}

static const char *bytes_interval(struct arena *a, const json_t *j)
{
	const json_t *v = json_object_get(j, "value"), *low = json_object_get(j, "low"),
		     *high = json_object_get(j, "high");
	const char *middle = json_is_number(v) ? bytes(a, v) : NULL,
		   *from = json_is_number(low) ? bytes(a, low) : NULL,
		   *to = json_is_number(high) ? bytes(a, high) : NULL;

	if (!middle || !from || !to)
		return middle;
	return arena_printf(a, "%s (%s to %s)", middle, from, to);
}

static const char *text_of(struct arena *a, const json_t *j, const struct given_field *f)
{
	switch (f->as) {
	case GIVEN_NUMBER:
		return json_is_number(j) ? number(a, j, f->unit) : NULL;
	case GIVEN_BYTES:
		return json_is_number(j) ? bytes(a, j) : bytes_interval(a, j);
	case GIVEN_SHARE:
		return json_is_number(j) ? arena_printf(a, "%.1f %%", 100 * json_number_value(j))
					 : NULL;
	case GIVEN_TIMES:
	case GIVEN_INTERVAL:
		return interval(a, j, f->unit, f->as == GIVEN_TIMES);
	case GIVEN_YES:
		return json_is_boolean(j) ? json_is_true(j) ? "yes" : "no" : NULL;
	case GIVEN_LIST:
		return joined(a, j);
	default:
		return json_is_string(j) ? bounded(a, json_string_value(j)) : NULL;
	}
}

struct cell given_cell(struct doc *d, const json_t *row, const json_t *outer,
		       const struct given_field *f)
{
	const char *text = text_of(d->arena, given_at(row, outer, f->path), f);
	enum style style = f->as == GIVEN_CODE	   ? STYLE_CODE
			   : f->as == GIVEN_STRONG ? STYLE_STRONG
			   : f->as == GIVEN_WORD   ? given_style(text)
						   : STYLE_PLAIN;

	return cell_as(style, text);
}
