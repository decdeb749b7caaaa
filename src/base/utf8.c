/* SPDX-License-Identifier: Apache-2.0 */
/* Strict UTF-8 decoding. It knows code points, not what they look like. */
#include "base/utf8.h"

#include <string.h>

#include "base/text.h"

size_t utf8_next(const char *s, uint32_t *cp)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n = *p < 0x80		     ? 1
		   : *p >= 0xc2 && *p < 0xe0 ? 2
		   : (*p & 0xf0) == 0xe0     ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4
					     : 0;
	uint32_t v;

	if (n == 1) {
		*cp = *p;
		return *p ? 1 : 0;
	}
	*cp = UTF8_BAD;
	if (!n)
		return 1;
	v = *p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		v = v << 6 | (p[i] & 0x3f);
	}
	if (v < smallest[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 1;
	*cp = v;
	return n;
}

const char *utf8_clean(struct arena *a, const char *s)
{
	TEXT_AUTO t = { 0 };
	const char *start = s;
	uint32_t cp;
	size_t n;

	while ((n = utf8_next(s, &cp)) && !(n == 1 && cp == UTF8_BAD))
		s += n;
	if (!n)
		return start;
	text_addn(&t, start, (size_t)(s - start));
	for (; (n = utf8_next(s, &cp)); s += n) {
		if (n == 1 && cp == UTF8_BAD)
			text_add(&t, "\xef\xbf\xbd");
		else
			text_addn(&t, s, n);
	}
	return arena_strndup(a, t.s, t.len);
}

bool utf8_harmless(uint32_t cp)
{
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return false;
	/* Marks and overrides of direction, line and paragraph separators, invisible joiners. */
	return !(cp >= 0x200b && cp <= 0x200f) && !(cp >= 0x2028 && cp <= 0x202e) &&
	       !(cp >= 0x2060 && cp <= 0x206f) && cp != 0xfeff && cp != 0x61c;
}
