/* SPDX-License-Identifier: Apache-2.0 */
/* What a scalar means, as PyYAML's safe loader and JSON's readers take it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "models/generate/markup.h"

static bool one_of(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (strcasecmp(s, *list) == 0)
			return true;
	return false;
}

static const char *plain(const struct markup_node *n)
{
	n = markup_real(n);
	return n && n->kind == MARKUP_SCALAR && !n->quoted ? n->text : NULL;
}

bool markup_bool(const struct markup_node *n, bool *out)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };
	const char *s = plain(n);

	if (!s || !(one_of(s, yes) || one_of(s, no)))
		return false;
	*out = one_of(s, yes);
	return true;
}

bool markup_number(const struct markup_node *n, double *out)
{
	const char *s = plain(n);
	char clean[64], *end;
	size_t k = 0;
	double v;

	if (!s || !*s || strlen(s) >= sizeof(clean) || !strpbrk(s, "0123456789") ||
	    s[strspn(s, "0123456789+-._eE")])
		return false;
	for (; *s; s++)
		if (*s != '_')
			clean[k++] = *s;
	clean[k] = '\0';
	v = strtod(clean, &end);
	if (*end || !isfinite(v))
		return false;
	*out = v;
	return true;
}

bool markup_null(const struct markup_node *n)
{
	static const char *const none[] = { "", "~", "null", NULL };
	const char *s = plain(n);

	return s && one_of(s, none);
}

const char *markup_text(const struct markup_node *n)
{
	const struct markup_node *r = markup_real(n);
	double number;
	bool truth;

	if (!r || r->kind != MARKUP_SCALAR || markup_null(r) || markup_bool(r, &truth) ||
	    markup_number(r, &number))
		return NULL;
	return r->text;
}
