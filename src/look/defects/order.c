/* SPDX-License-Identifier: Apache-2.0 */
/* Versions in the order of whoever counts them: numbers, PEP 440, dpkg, rpm; and ranges of them. */
#include "look/defects/order.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 12 };

/* --- numbers ---------------------------------------------------------------------------------- */

struct numbers {
	unsigned long long field[FIELDS_MAX];
	size_t n;
};

static bool numbers_add(struct numbers *out, const char **p)
{
	char *end;

	if (!isdigit((unsigned char)**p) || out->n == FIELDS_MAX)
		return false;
	out->field[out->n++] = strtoull(*p, &end, 10);
	*p = end;
	return true;
}

static int numbers_compare(const struct numbers *a, const struct numbers *b)
{
	for (size_t i = 0; i < a->n || i < b->n; i++) {
		unsigned long long x = i < a->n ? a->field[i] : 0, y = i < b->n ? b->field[i] : 0;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* "2.28.9+cuda13.0", "v1.17.0", "b10429", "6.17.0-1014" */
static bool numbers_of(const char *s, struct numbers *out)
{
	out->n = 0;
	if ((*s == 'v' || *s == 'b') && isdigit((unsigned char)s[1]))
		s++;
	if (!numbers_add(out, &s))
		return false;
	while (*s && *s != '+') {
		if (!strchr(".-_", *s))
			return false;
		s++;
		if (!numbers_add(out, &s))
			return false;
	}
	return true;
}

/* --- PEP 440 ---------------------------------------------------------------------------------- */

struct pep440 {
	unsigned long long epoch;
	struct numbers release;
	/* -1: a development release of what is to come; 0 to 2: alpha, beta, candidate; 3: none */
	int phase;
	unsigned long long pre;
	bool has_post, has_dev;
	unsigned long long post, dev;
};

static void separator(const char **s)
{
	if (**s && strchr(".-_", **s) && isalpha((unsigned char)(*s)[1]))
		++*s;
}

static bool pep440_word(const char **s, const char *word, unsigned long long *n)
{
	const char *p = *s;
	size_t len = strlen(word);
	char *end;

	separator(&p);
	if (strncmp(p, word, len) != 0 || isalpha((unsigned char)p[len]))
		return false;
	p += len;
	if (*p && strchr(".-_", *p) && isdigit((unsigned char)p[1]))
		p++;
	*n = 0;
	if (isdigit((unsigned char)*p)) {
		*n = strtoull(p, &end, 10);
		p = end;
	}
	*s = p;
	return true;
}

static void pep440_pre(const char **s, struct pep440 *out)
{
	static const struct {
		const char *word;
		int phase;
	} words[] = { { "a", 0 },  { "alpha", 0 }, { "b", 1 },	 { "beta", 1 },
		      { "rc", 2 }, { "c", 2 },	   { "pre", 2 }, { "preview", 2 } };

	out->phase = 3;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (pep440_word(s, words[i].word, &out->pre)) {
			out->phase = words[i].phase;
			return;
		}
}

static void pep440_post(const char **s, struct pep440 *out)
{
	char *end;

	if (**s == '-' && isdigit((unsigned char)(*s)[1])) {
		out->post = strtoull(*s + 1, &end, 10);
		*s = end;
		out->has_post = true;
		return;
	}
	out->has_post = pep440_word(s, "post", &out->post) || pep440_word(s, "rev", &out->post) ||
			pep440_word(s, "r", &out->post);
}

static bool pep440_of(const char *text, struct pep440 *out)
{
	char low[ORDER_VERSION_MAX] = "";
	const char *s = low;
	char *end;
	size_t n = strlen(text);

	*out = (struct pep440){ .phase = 3 };
	if (n >= sizeof(low))
		return false;
	for (size_t i = 0; i <= n; i++)
		low[i] = (char)tolower((unsigned char)text[i]);
	s += *s == 'v';
	if (isdigit((unsigned char)*s) && s[strspn(s, "0123456789")] == '!') {
		out->epoch = strtoull(s, &end, 10);
		s = end + 1;
	}
	if (!numbers_add(&out->release, &s))
		return false;
	while (*s == '.' && isdigit((unsigned char)s[1])) {
		s++;
		if (!numbers_add(&out->release, &s))
			return false;
	}
	pep440_pre(&s, out);
	pep440_post(&s, out);
	out->has_dev = pep440_word(&s, "dev", &out->dev);
	if (out->has_dev && out->phase == 3 && !out->has_post)
		out->phase = -1;
	return !*s || *s == '+';
}

static int number_order(unsigned long long a, unsigned long long b)
{
	return a < b ? -1 : a > b;
}

static int pep440_compare(const struct pep440 *a, const struct pep440 *b)
{
	int r = number_order(a->epoch, b->epoch);

	r = r ? r : numbers_compare(&a->release, &b->release);
	r = r ? r : a->phase - b->phase;
	r = r ? r : number_order(a->pre, b->pre);
	r = r ? r : a->has_post - b->has_post;
	r = r ? r : number_order(a->post, b->post);
	r = r ? r : b->has_dev - a->has_dev;
	return r ? r : number_order(a->dev, b->dev);
}

/* --- dpkg and rpm ----------------------------------------------------------------------------- */

static int dpkg_rank(char c)
{
	if (c == '~')
		return -1;
	if (isdigit((unsigned char)c) || !c)
		return 0;
	return isalpha((unsigned char)c) ? c : c + 256;
}

static int digits_compare(const char **a, const char **b)
{
	size_t x, y;
	int r;

	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	x = strspn(*a, "0123456789");
	y = strspn(*b, "0123456789");
	r = x != y ? (x < y ? -1 : 1) : strncmp(*a, *b, x);
	*a += x;
	*b += y;
	return r;
}

static int dpkg_compare(const char *a, const char *b)
{
	while (*a || *b) {
		int r;

		while ((*a && !isdigit((unsigned char)*a)) || (*b && !isdigit((unsigned char)*b))) {
			r = dpkg_rank(*a) - dpkg_rank(*b);
			if (r)
				return r;
			a += *a != '\0';
			b += *b != '\0';
		}
		r = digits_compare(&a, &b);
		if (r)
			return r;
	}
	return 0;
}

/* The next run of digits or of letters; what joins them does not count. */
static const char *rpm_skip(const char *p)
{
	while (*p && !isalnum((unsigned char)*p) && *p != '~' && *p != '^')
		p++;
	return p;
}

static int rpm_letters(const char **a, const char **b)
{
	size_t x = 0, y = 0;
	int r;

	while (isalpha((unsigned char)(*a)[x]))
		x++;
	while (isalpha((unsigned char)(*b)[y]))
		y++;
	r = strncmp(*a, *b, x < y ? x : y);
	r = r ? r : (x > y) - (x < y);
	*a += x;
	*b += y;
	return r;
}

static int rpm_compare(const char *a, const char *b)
{
	for (;;) {
		int r;

		a = rpm_skip(a);
		b = rpm_skip(b);
		if (*a == '~' || *b == '~') {
			if (*a != *b)
				return *a == '~' ? -1 : 1;
		} else if (*a == '^' || *b == '^') {
			if (*a != *b)
				return *a == '^' ? (*b ? -1 : 1) : (*a ? 1 : -1);
		} else if (!*a || !*b) {
			return (*a != 0) - (*b != 0);
		} else if (isdigit((unsigned char)*a) != isdigit((unsigned char)*b)) {
			return isdigit((unsigned char)*a) ? 1 : -1;
		} else {
			r = isdigit((unsigned char)*a) ? digits_compare(&a, &b)
						       : rpm_letters(&a, &b);
			if (r)
				return r;
			continue;
		}
		a++;
		b++;
	}
}

/* [epoch:]version[-release], the three parts. */
struct package {
	unsigned long epoch;
	char version[ORDER_VERSION_MAX];
	const char *release;
};

static bool package_of(const char *s, struct package *out)
{
	char *end, *dash;

	out->epoch = 0;
	if (isdigit((unsigned char)*s) && s[strspn(s, "0123456789")] == ':') {
		out->epoch = strtoul(s, &end, 10);
		s = end + 1;
	}
	if (!isalnum((unsigned char)*s) || strlen(s) >= sizeof(out->version) ||
	    !strpbrk(s, "0123456789"))
		return false;
	strcpy(out->version, s);
	dash = strrchr(out->version, '-');
	out->release = dash ? dash + 1 : "";
	if (dash)
		*dash = '\0';
	return true;
}

static bool package_compare(enum order o, const char *a, const char *b, int *out)
{
	int (*by)(const char *, const char *) = o == ORDER_RPM ? rpm_compare : dpkg_compare;
	struct package x, y;

	if (!package_of(a, &x) || !package_of(b, &y))
		return false;
	*out = x.epoch != y.epoch ? (x.epoch < y.epoch ? -1 : 1) : by(x.version, y.version);
	if (!*out)
		*out = by(x.release, y.release);
	return true;
}

bool order_compare(enum order o, const char *a, const char *b, int *out)
{
	if (strlen(a) >= ORDER_VERSION_MAX || strlen(b) >= ORDER_VERSION_MAX)
		return false;
	if (o == ORDER_NUMBERS) {
		struct numbers x, y;

		if (!numbers_of(a, &x) || !numbers_of(b, &y))
			return false;
		*out = numbers_compare(&x, &y);
		return true;
	}
	if (o == ORDER_PEP440) {
		struct pep440 x, y;

		if (!pep440_of(a, &x) || !pep440_of(b, &y))
			return false;
		*out = pep440_compare(&x, &y);
		return true;
	}
	if (o == ORDER_FIRMWARE) {
		if (!isalnum((unsigned char)*a) || !isalnum((unsigned char)*b) ||
		    !strpbrk(a, "0123456789") || !strpbrk(b, "0123456789"))
			return false;
		*out = dpkg_compare(a, b);
		return true;
	}
	return package_compare(o, a, b, out);
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* The version as that bound sees it: without what the bound says nothing of. */
static bool bound_view(enum order o, const char *bound, const char *version, char *out)
{
	const char *from = version, *colon = strchr(version, ':');
	char *dash;

	if (strlen(version) >= ORDER_VERSION_MAX)
		return false;
	if (o != ORDER_PEP440 && o != ORDER_FIRMWARE && !strchr(bound, '-')) {
		if (o != ORDER_NUMBERS && colon && !strchr(bound, ':'))
			from = colon + 1;
		strcpy(out, from);
		dash = o == ORDER_NUMBERS ? strchr(out, '-') : strrchr(out, '-');
		if (dash)
			*dash = '\0';
		return true;
	}
	strcpy(out, from);
	return true;
}

/* "2.9.0+cu128" is asked for as such. */
static bool pep440_local_differs(const char *bound, const char *version)
{
	const char *b = strchr(bound, '+'), *v = strchr(version, '+');

	return b && (!v || strcmp(b, v) != 0);
}

/* One bound: 1 met, 0 not, -1 no order. */
static int bound_met(enum order o, const char *word, const char *version)
{
	static const char *const ops[] = { ">=", "<=", "!=", "==", ">", "<", "=", "" };
	char seen[ORDER_VERSION_MAX];
	size_t op = 0;
	int c;

	while (strncmp(word, ops[op], strlen(ops[op])) != 0)
		op++;
	word += strlen(ops[op]);
	if (!bound_view(o, word, version, seen) || !order_compare(o, seen, word, &c))
		return -1;
	if (c == 0 && o == ORDER_PEP440 && pep440_local_differs(word, version))
		return op == 2;
	switch (op) {
	case 0:
		return c >= 0;
	case 1:
		return c <= 0;
	case 2:
		return c != 0;
	case 4:
		return c > 0;
	case 5:
		return c < 0;
	default:
		return c == 0;
	}
}

/* The next word up to a blank or comma; false at the end. "||" is a word. */
static bool next_word(const char **range, char *out)
{
	size_t n;

	*range += strspn(*range, " ,\t");
	n = strcspn(*range, " ,\t");
	if (!n || n >= ORDER_VERSION_MAX)
		return false;
	memcpy(out, *range, n);
	out[n] = '\0';
	*range += n;
	return true;
}

int order_in(enum order o, const char *range, const char *version)
{
	char word[ORDER_VERSION_MAX];
	bool all = true, any = false;

	while (next_word(&range, word)) {
		int met;

		if (strcmp(word, "||") == 0) {
			if (all && any)
				return 1;
			all = true;
			any = false;
			continue;
		}
		met = bound_met(o, word, version);
		if (met < 0)
			return -1;
		all = all && met;
		any = true;
	}
	return all && any;
}

bool order_range_valid(enum order o, const char *range)
{
	char word[ORDER_VERSION_MAX];
	bool any = false;

	while (next_word(&range, word)) {
		const char *v = word + strspn(word, "<>=!");
		int c;

		if (strcmp(word, "||") == 0) {
			if (!any)
				return false;
			any = false;
			continue;
		}
		if (!order_compare(o, v, v, &c))
			return false;
		any = true;
	}
	range += strspn(range, " ,\t");
	return any && !*range;
}
