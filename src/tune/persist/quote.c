/* SPDX-License-Identifier: Apache-2.0 */
/* How values are written so that each kind of file gives exactly them back. What a format cannot
 * hold is refused, never bent. Knows nothing of knobs. */
#include "tune/persist/quote.h"

#include <string.h>

#include "base/text.h"

static const char *cannot(const char **why, const char *sentence)
{
	if (why)
		*why = sentence;
	return NULL;
}

/* Printable ASCII alone: what else there is in a value of the kernel, nobody has seen. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

static bool has_edges(const char *s)
{
	return *s == ' ' || (*s && s[strlen(s) - 1] == ' ');
}

static const char *quote_doubled(struct arena *a, const char *s, const char *set)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, "");
	for (; *s; s++) {
		if (strchr(set, *s))
			text_addc(&out, *s);
		text_addc(&out, *s);
	}
	return arena_strdup(a, out.s ? out.s : "");
}

/* A backslash before each character of set. */
static const char *escaped(struct arena *a, const char *s, const char *set)
{
	TEXT_AUTO out = { 0 };

	for (; *s; s++) {
		if (strchr(set, *s))
			text_addc(&out, '\\');
		text_addc(&out, *s);
	}
	return arena_strdup(a, out.s ? out.s : "");
}

const char *quote_sysctl(struct arena *a, const char *s, const char **why)
{
	if (!*s || has_edges(s) || !is_plain(s))
		return cannot(why, "a sysctl.d line cannot contain an empty value, blanks at its "
				   "ends or control characters");
	return arena_strdup(a, s);
}

const char *quote_tmpfiles_path(struct arena *a, const char *s, const char **why)
{
	if (*s != '/' || !is_plain(s) || strpbrk(s, " *?[]\\\"'"))
		return cannot(why, "tmpfiles.d would read the path as a pattern");
	return quote_doubled(a, s, "%");
}

/* The argument reaches to the end of the line; a lone dash means none. */
const char *quote_tmpfiles(struct arena *a, const char *s, const char **why)
{
	if (!*s || has_edges(s) || !is_plain(s))
		return cannot(why, "a tmpfiles.d line cannot contain an empty value, blanks at its "
				   "ends or control characters");
	if (strcmp(s, "-") == 0)
		return "\\x2d";
	return quote_doubled(a, s, "%\\");
}

const char *quote_udev(struct arena *a, const char *s, const char **why)
{
	if (!is_plain(s) || strpbrk(s, "\"\\"))
		return cannot(
			why,
			"a udev rule cannot contain quotes, backslashes or control characters");
	return arena_printf(a, "\"%s\"", quote_doubled(a, s, "%$"));
}

/* What is special in a pattern becomes "any one character": there is no way to quote it. */
const char *quote_udev_match(struct arena *a, const char *s, const char **why)
{
	char *out = arena_strdup(a, s);

	if (!*s)
		return cannot(why, "nothing to match");
	for (char *c = out; *c; c++)
		if (*c < ' ' || *c > '~' || strchr("\"\\|*?[]", *c))
			*c = '?';
	return arena_printf(a, "\"%s\"", out);
}

const char *quote_modprobe(struct arena *a, const char *name, const char *value, const char **why)
{
	if (!is_plain(value) || strpbrk(value, "\"'\\"))
		return cannot(
			why,
			"an options line cannot contain quotes, backslashes or control characters");
	return arena_printf(a, strpbrk(value, " #") ? "%s=\"%s\"" : "%s=%s", name, value);
}

const char *quote_yaml(struct arena *a, const char *s, const char **why)
{
	if (!is_plain(s))
		return cannot(why, "the name contains characters beyond printable ASCII");
	return arena_printf(a, "\"%s\"", escaped(a, s, "\"\\"));
}

const char *quote_unit(struct arena *a, const char *s, const char **why)
{
	if (!*s || !is_plain(s))
		return cannot(why, "a unit's command line may contain only printable ASCII");
	s = quote_doubled(a, s, "%$");
	return strpbrk(s, " \"'\\;") ? arena_printf(a, "\"%s\"", escaped(a, s, "\"\\")) : s;
}

const char *quote_interface(struct arena *a, const char *s, const char **why)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	if (!n || s[n] || *s == '-')
		return cannot(why, "the interface name contains pattern characters");
	return arena_strdup(a, s);
}
