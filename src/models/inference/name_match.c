/* SPDX-License-Identifier: Apache-2.0 */
/* Matching names of modules. A small subset of expressions suffices for what checkpoints write. */
#include "models/inference/name_match.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

enum name_kind name_kind_of(const char *pattern)
{
	return str_starts(pattern, "re:") ? NAME_EXPRESSION
	       : strpbrk(pattern, "*?[")  ? NAME_GLOB
					  : NAME_PLAIN;
}

bool name_plain(const char *pattern, const char *module)
{
	size_t n = strlen(pattern);

	/* "model.layers.0." ends with its word. */
	for (const char *at = module; n && (at = strstr(at, pattern)); at++)
		if ((at == module || at[-1] == '.' || *pattern == '.') &&
		    (!at[n] || at[n] == '.' || pattern[n - 1] == '.'))
			return true;
	return false;
}

bool name_glob(const char *p, const char *s, long *left)
{
	const char *star = NULL, *again = NULL;

	while (--*left > 0) {
		if (*p == '*') {
			star = p++;
			again = s;
		} else if (*s && (*p == *s || *p == '?')) {
			p++;
			s++;
		} else if (!*p && (!*s || *s == '.')) {
			return true;
		} else if (star && *again) {
			p = star + 1;
			s = ++again;
		} else {
			return false;
		}
	}
	return false;
}

/* Characters of one element of an expression: "a", ".", "\\.", "[0-9]". */
static size_t element(const char *p)
{
	const char *end;

	if (*p == '\\' && p[1])
		return 2;
	if (*p != '[')
		return 1;
	end = p[1] ? strchr(p + 2, ']') : NULL;
	return end ? (size_t)(end - p) + 1 : 1;
}

static bool name_match_in_set(const char *p, size_t n, char c)
{
	bool not = p[1] == '^', in = false;

	for (size_t i = not ? 2 : 1; i + 1 < n; i++) {
		if (p[i + 1] == '-' && i + 3 < n) {
			in |= c >= p[i] && c <= p[i + 2];
			i += 2;
		} else {
			in |= c == p[i];
		}
	}
	return in != not ;
}

static bool name_match_one(const char *p, size_t n, char c)
{
	if (!c)
		return false;
	if (*p == '\\' && n == 2)
		return p[1] == 'd'   ? isdigit((unsigned char)c)
		       : p[1] == 'w' ? isalnum((unsigned char)c) || c == '_'
				     : p[1] == c;
	if (*p == '[' && n > 1)
		return name_match_in_set(p, n, c);
	return *p == '.' || *p == c;
}

/* depth: of the stack; a pattern has at most 256 characters. */
static bool name_match_here(const char *p, const char *s, long *left)
{
	size_t n;
	const char *from = s;
	char times;

	for (;; p += n) {
		if (--*left <= 0)
			return false;
		if (!*p || (*p == '$' && !p[1]))
			return !*p || !*s;
		n = element(p);
		times = p[n];
		if (times == '*' || times == '+' || times == '?')
			break;
		if (!name_match_one(p, n, *s))
			return false;
		s++;
	}
	for (from = s; name_match_one(p, n, *s) && (times != '?' || s == from); s++)
		;
	for (;; s--) {
		if ((times != '+' || s > from) && name_match_here(p + n + 1, s, left))
			return true;
		if (s == from || *left <= 0)
			return false;
	}
}

bool name_expression(const char *pattern, const char *module, long *left)
{
	if (*pattern == '^')
		return name_match_here(pattern + 1, module, left);
	for (const char *s = module;; s++) {
		if (name_match_here(pattern, s, left))
			return true;
		if (!*s || *left <= 0)
			return false;
	}
}

/* The group's words, each between what stands before and after it. */
static size_t with_group(const char *pattern, const char *open, const char *close, char (*out)[256],
			 size_t most)
{
	const char *word = open + (str_starts(open, "(?:") ? 3 : 1), *end;
	size_t n = 0, before = (size_t)(open - pattern);

	if (strchr("*+?{", close[1]) && close[1])
		return 0;
	for (;; word = end + 1) {
		char joined[256];
		size_t len, more;

		end = word + strcspn(word, "|)");
		len = (size_t)(end - word);
		if (before + len + strlen(close + 1) >= sizeof(joined))
			return 0;
		memcpy(joined, pattern, before);
		memcpy(joined + before, word, len);
		strcpy(joined + before + len, close + 1);
		more = name_alternatives(joined, out + n, most - n);
		n += more;
		if (!more)
			return 0;
		if (end == close)
			return n;
	}
}

size_t name_alternatives(const char *pattern, char (*out)[256], size_t most)
{
	const char *open = strchr(pattern, '('), *close;

	if (!most || strlen(pattern) >= 256)
		return 0;
	if (!open) {
		if (strpbrk(pattern, "|){"))
			return 0;
		strcpy(out[0], pattern);
		return 1;
	}
	close = strchr(open, ')');
	if (!close || (open[1] == '?' && open[2] != ':') ||
	    memchr(open + 1, '(', (size_t)(close - open - 1)) ||
	    (open > pattern && open[-1] == '\\'))
		return 0;
	return with_group(pattern, open, close, out, most);
}
