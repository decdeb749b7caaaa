/* SPDX-License-Identifier: Apache-2.0 */
/* Code points on paper: which are harmless, how wide they are, where a line may break. */
#include "render/display_text.h"

#include <string.h>
#include <wchar.h>

#include "machine/model/machine.h"

static size_t width_of(uint32_t cp)
{
	int w = cp < 0x7f ? 1 : wcwidth((wchar_t)cp);

	return w < 0 ? 1 : (size_t)w;
}

size_t display_width(const char *s)
{
	size_t w = 0, n;
	uint32_t cp;

	for (; (n = utf8_next(s, &cp)); s += n)
		w += width_of(cp);
	return w;
}

void display_clean(struct text *t, const char *s, bool ascii)
{
	const char *start = s;
	uint32_t cp;
	size_t n;

	for (; (n = utf8_next(s, &cp)); s += n) {
		bool bad = !utf8_harmless(cp) || (cp > 0x7e && ascii) || (cp == UTF8_BAD && n == 1);

		if (!bad)
			continue;
		text_addn(t, start, (size_t)(s - start));
		start = s + n;
		text_add(t, cp == '\n' || cp == '\t' ? " " : ascii ? "?" : "\xef\xbf\xbd");
	}
	text_addn(t, start, (size_t)(s - start));
}

/* The length of a change of colour at s; 0: it is none. */
static size_t colour(const char *s)
{
	size_t n = strspn(s + 1, "[");

	n = n == 1 ? 2 + strspn(s + 2, "0123456789;") : 0;
	return n && s[n] == 'm' ? n + 1 : 0;
}

void display_page(struct text *t, const char *s, size_t n)
{
	const char *end = s + n;

	while (s < end) {
		uint32_t cp;
		size_t k = *s ? utf8_next(s, &cp) : 0, keep = k;

		if (!k)
			keep = 0;
		else if (cp == '\033')
			keep = colour(s);
		else if ((!utf8_harmless(cp) && cp != '\n' && cp != '\t') ||
			 (cp == UTF8_BAD && k == 1))
			keep = 0;
		if (keep)
			text_addn(t, s, keep);
		else
			text_add(t, "\xef\xbf\xbd");
		s += keep ? keep : k ? k : 1;
	}
}

/* What a line may end behind; a blank goes with it. */
static bool may_end(uint32_t cp)
{
	return cp == ' ' || cp == ',' || cp == '/';
}

size_t display_word_width(const char *s)
{
	size_t most = 0, w = 0, n;
	uint32_t cp;

	for (; (n = utf8_next(s, &cp)); s += n) {
		w += cp == ' ' ? 0 : width_of(cp);
		most = w > most ? w : most;
		if (may_end(cp))
			w = 0;
	}
	return most;
}

/* The end of the longest beginning of s that fits, and where the next line begins. */
static const char *display_text_line_end(const char *s, size_t width, const char **next)
{
	const char *p = s, *gap = NULL; /* gap: just after what may end a line */
	size_t w = 0, n;
	uint32_t cp;

	for (; (n = utf8_next(p, &cp)); p += n) {
		w += width_of(cp);
		if (w > width && p > s)
			break;
		if (may_end(cp))
			gap = p + n;
	}
	if (n && *p != ' ' && gap)
		p = gap;
	*next = *p == ' ' ? p + 1 : p;
	return p > s && p[-1] == ' ' ? p - 1 : p;
}

void display_wrap(struct text *t, const char *s, size_t width)
{
	while (*s) {
		const char *next, *end = display_text_line_end(s, width, &next);

		text_addn(t, s, (size_t)(end - s));
		if (*next)
			text_addc(t, '\n');
		s = next;
	}
}

void display_escape(struct text *t, const char *s)
{
	uint32_t cp;
	size_t n;

	for (; (n = utf8_next(s, &cp)); s += n) {
		if (cp == '<')
			text_add(t, "&lt;");
		else if (cp == '>')
			text_add(t, "&gt;");
		else if (cp == '&')
			text_add(t, "&amp;");
		else if (cp == '"')
			text_add(t, "&quot;");
		else if (cp == '\'')
			text_add(t, "&#39;");
		else if (cp == '\n' || cp == '\t')
			text_addc(t, cp == '\n' ? '\n' : ' ');
		else if (!utf8_harmless(cp) || (cp == UTF8_BAD && n == 1))
			text_add(t, "\xef\xbf\xbd");
		else
			text_addn(t, s, n);
	}
}

/* Backslash, quote and newline are escaped; nothing else needs to be. */
void display_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		if (*value == '\n')
			fputs("\\n", out);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

size_t display_prose(const char *code)
{
	return str_starts(code, MACHINE_THERE) ? strlen(MACHINE_THERE) : 0;
}
