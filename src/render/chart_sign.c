/* SPDX-License-Identifier: Apache-2.0 */
/* The signs that charts of letters are made of, and what stands below and beside them. */
#include <math.h>
#include <string.h>

#include "render/chart_text.h"
#include "render/glyph.h"

int chart_width(const struct term_style *how)
{
	return how->width < CHART_NARROWEST ? CHART_NARROWEST
	       : how->width > CHART_WIDEST  ? CHART_WIDEST
					    : how->width;
}

void chart_pad(struct text *t, const char *s, int width, bool right, bool ascii)
{
	TEXT_AUTO clean = { 0 };
	TEXT_AUTO cut = { 0 };
	const char *p;
	size_t room = width > 0 ? (size_t)width : 0, n;
	uint32_t cp;

	glyph_clean(&clean, s ? s : "", ascii);
	text_add(&cut, "");
	if (glyph_width(clean.s) <= room) {
		text_add(&cut, clean.s);
	} else if (room) {
		for (p = clean.s; (n = utf8_next(p, &cp)); p += n) {
			size_t before = cut.len;

			text_addn(&cut, p, n);
			if (glyph_width(cut.s) < room)
				continue;
			cut.s[cut.len = before] = '\0';
			break;
		}
		text_addc(&cut, '~');
	}
	n = glyph_width(cut.s);
	text_printf(t, "%*s%s%*s", right && n < room ? (int)(room - n) : 0, "", cut.s,
		    !right && n < room ? (int)(room - n) : 0, "");
}

void chart_signs(struct text *t, const char *cells, bool ascii)
{
	static const struct {
		char from;
		const char *to;
	} fuller[] = {
		{ '#', "\xe2\x96\x88" }, { '=', "\xe2\x96\x93" }, { '-', "\xe2\x94\x80" },
		{ '|', "\xe2\x94\x82" }, { 'o', "\xe2\x97\x8f" }, { ':', "\xe2\x94\x86" },
	};

	for (; *cells; cells++) {
		const char *to = NULL;

		for (size_t i = 0; !ascii && i < sizeof(fuller) / sizeof(fuller[0]); i++)
			if (*cells == fuller[i].from)
				to = fuller[i].to;
		if (to)
			text_add(t, to);
		else
			text_addc(t, *cells);
	}
}

static void legend(struct text *t, const char *sign, const char *name, const struct term_style *how,
		   bool plain)
{
	TEXT_AUTO clean = { 0 };
	TEXT_AUTO lines = { 0 };
	const char *at;

	glyph_clean(&clean, name, how->ascii);
	text_add(&clean, "");
	glyph_wrap(&lines, clean.s, (size_t)chart_width(how) - strlen(sign) - 3);
	text_add(&lines, "");
	for (at = lines.s; *at;) {
		size_t n = strcspn(at, "\n");

		text_add(t, "\n  ");
		if (at == lines.s)
			chart_signs(t, sign, how->ascii || plain);
		else
			text_printf(t, "%*s", (int)strlen(sign), "");
		text_addc(t, ' ');
		text_addn(t, at, n);
		at += n + (at[n] == '\n');
	}
}

void chart_legend(struct text *t, const char *sign, const char *name, const struct term_style *how)
{
	legend(t, sign, name, how, false);
}

void chart_legend_plain(struct text *t, const char *sign, const char *name,
			const struct term_style *how)
{
	legend(t, sign, name, how, true);
}

void chart_under(struct arena *a, struct text *t, const struct scale *s, int width)
{
	char line[CHART_WIDEST + 1];
	long free_from = 0;

	width = width < CHART_WIDEST ? width : CHART_WIDEST;
	memset(line, ' ', sizeof(line));
	for (size_t i = 0; i < s->n; i++) {
		const char *number = scale_number(a, s, s->tick[i]);
		long len = (long)strlen(number),
		     at = lround(scale_on(s, s->tick[i]) * (width - 1)) - len / 2;

		at = at < 0 ? 0 : at;
		at = at + len > width ? width - len : at;
		if (at < free_from)
			continue;
		memcpy(line + at, number, (size_t)len);
		free_from = at + len + 1;
	}
	line[free_from > 0 ? free_from - 1 : 0] = '\0';
	text_add(t, line);
}
