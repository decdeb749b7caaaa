/* SPDX-License-Identifier: Apache-2.0 */
/* What the leaves of conditions share: patterns, texts, versions, proofs. */
#include "look/defects/leaf.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- patterns --------------------------------------------------------------------------------- */

static const char *digits_end(const char *s)
{
	const char *p = s;

	if (*p == '0' && (p[1] == 'x' || p[1] == 'X') && isxdigit((unsigned char)p[2]))
		p += 2;
	while (isxdigit((unsigned char)*p))
		p++;
	return p;
}

static bool same_char(char a, char b, bool fold)
{
	return fold ? tolower((unsigned char)a) == tolower((unsigned char)b) : a == b;
}

/* "#", "#<900" or "#>85" of a pattern against a number of s that begins at at: *p moves behind
 * the first, what is returned is the end of the second; NULL: it does not fit. */
static const char *number_fits(const char **p, const char *s, const char *at)
{
	const char *pattern = *p, *end = digits_end(at);
	char relation = pattern[1], *bound_end, *number_end = NULL;
	double bound, number;

	if ((relation != '<' && relation != '>') || !isdigit((unsigned char)pattern[2])) {
		*p += end > at;
		return end > at ? end : NULL;
	}
	/* A bounded number is decimal, and is read from its first digit. */
	if (!isdigit((unsigned char)*at) ||
	    (at > s && (isalnum((unsigned char)at[-1]) || at[-1] == '.')))
		return NULL;
	bound = strtod(pattern + 2, &bound_end);
	number = at[0] == '0' && tolower((unsigned char)at[1]) == 'x' ? NAN
								      : strtod(at, &number_end);
	if (!(relation == '<' ? number < bound : number > bound))
		return NULL;
	*p = bound_end;
	return number_end;
}

/* Backs up to the last '*' alone, so that time is at most the product of both lengths. */
static bool fits(const char *p, const char *s, bool signature)
{
	const char *star = NULL, *back = NULL, *begin = s, *end;

	while (*s) {
		if (*p == '*') {
			star = ++p;
			back = s;
		} else if (signature && *p == '#' && (end = number_fits(&p, begin, s)) != NULL) {
			s = end;
		} else if (*p && same_char(*p, *s, signature)) {
			p++;
			s++;
		} else if (signature && !*p) {
			return true;
		} else if (star) {
			p = star;
			s = ++back;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool defect_name_fits(const char *pattern, const char *name)
{
	return fits(pattern, name, false);
}

bool defect_signature_in(const char *pattern, const char *text)
{
	char open[512];
	size_t n = strlen(pattern);

	if (n + 2 > sizeof(open))
		return false;
	open[0] = '*';
	memcpy(open + 1, pattern, n + 1);
	return fits(open, text, true);
}

void prove(struct leaf_look *l, const char *text, const char *from)
{
	/* Both may belong to the world, which ends before the page. */
	ARENA_ADD(l->a, l->proofs, l->n_proofs) =
		(struct defect_proof){ arena_strdup(l->a, text),
				       from ? arena_strdup(l->a, from) : NULL };
}

enum answer3 unseen(struct leaf_look *l, const char *what)
{
	if (!l->unseen)
		l->unseen = what;
	return ANSWER_UNKNOWN;
}

/* A text, or each of an array of them. */
const char *text_at(const json_t *v, size_t i)
{
	if (json_is_array(v))
		return json_string_value(json_array_get(v, i));
	return i ? NULL : json_string_value(v);
}

bool any_fits(const json_t *patterns, const char *text)
{
	TEXT_FOR_EACH(p, patterns)
	if (defect_name_fits(p, text))
		return true;
	return false;
}

const char *key_text(const json_t *c, const char *key)
{
	return json_string_value(json_object_get(c, key));
}

/* machine[key]; NULL: not known. */
json_t *machine_has(struct leaf_look *l, const char *key, const char *name)
{
	json_t *m = l->w->machine ? l->w->machine : l->p->holds, *v = json_object_get(m, key);

	if (l->w->fill && (!v || (name && json_is_object(v) && !json_object_get(v, name)))) {
		l->w->fill(l->w, key, name);
		v = json_object_get(m, key);
	}
	return json_is_null(v) ? NULL : v;
}

enum answer3 version_in(struct leaf_look *l, enum order o, const json_t *range, const char *version,
			const char *what)
{
	int in;

	if (!range)
		return ANSWER_YES;
	if (!version)
		return unseen(l, arena_printf(l->a, "the version of %s", what));
	in = order_in(o, json_string_value(range), version);
	if (in < 0 && l->out) {
		const char *text = arena_printf(l->a, "%s \"%.80s\"", what, version);

		for (size_t i = 0; i < l->out->n_orderless; i++)
			if (strcmp(l->out->orderless[i], text) == 0)
				return ANSWER_NO;
		l->out->orderless = arena_grow(l->a, (void *)l->out->orderless, l->out->n_orderless,
					       sizeof(*l->out->orderless));
		l->out->orderless[l->out->n_orderless++] = text;
	}
	return answer_of(in > 0);
}

/* What is found of several: the best answer. */
enum answer3 better(enum answer3 a, enum answer3 b)
{
	return a == ANSWER_YES || b == ANSWER_YES	    ? ANSWER_YES
	       : a == ANSWER_UNKNOWN || b == ANSWER_UNKNOWN ? ANSWER_UNKNOWN
							    : ANSWER_NO;
}
