/* SPDX-License-Identifier: Apache-2.0 */
/* Text buffers, strict number parsing, name comparison, UTF-8 and CSV. */
#include "base/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void text_reserve(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : 128;
	char *s;

	if (t->cap - t->len > more)
		return;
	while (cap - t->len <= more) {
		if (cap > SIZE_MAX / 2)
			out_of_memory(SIZE_MAX);
		cap *= 2;
	}
	s = realloc(t->s, cap);
	if (!s)
		out_of_memory(cap);
	t->s = s;
	t->cap = cap;
	t->s[t->len] = '\0';
}

void text_addn(struct text *t, const char *s, size_t n)
{
	text_reserve(t, n);
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_addn(t, s, strlen(s));
}

void text_addc(struct text *t, char c)
{
	text_addn(t, &c, 1);
}

void text_vprintf(struct text *t, const char *fmt, va_list ap)
{
	enum { USUAL = 63 };
	va_list again;
	size_t room;
	int n;

	/* Mostly it fits, and is formatted once. */
	text_reserve(t, USUAL);
	room = t->cap - t->len;
	va_copy(again, ap);
	n = vsnprintf(t->s + t->len, room, fmt, again);
	va_end(again);
	if (n < 0) {
		t->s[t->len] = '\0';
		return;
	}
	if ((size_t)n >= room) {
		text_reserve(t, (size_t)n);
		vsnprintf(t->s + t->len, (size_t)n + 1, fmt, ap);
	}
	t->len += (size_t)n;
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(t, fmt, ap);
	va_end(ap);
}

void text_clear(struct text *t)
{
	t->len = 0;
	if (t->s)
		t->s[0] = '\0';
}

void text_free(struct text *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}

/* Copies s without surrounding blanks into buf; false when it is empty or does not fit a number. */
static bool number_text(const char *s, char *buf, size_t cap)
{
	size_t len;
	const char *p = str_trim(s, strlen(s), &len);

	if (!len || len >= cap)
		return false;
	memcpy(buf, p, len);
	buf[len] = '\0';
	return true;
}

/* How many bytes of s are a number: [+-] digits [. digits] [e [+-] digits]. */
static size_t decimal_length(const char *s)
{
	static const char digits[] = "0123456789";
	size_t n = *s == '-' || *s == '+' ? 1 : 0, whole = strspn(s + n, digits), part = 0, power;

	if (s[n + whole] == '.')
		part = 1 + strspn(s + n + whole + 1, digits);
	if (!whole && part < 2)
		return 0;
	n += whole + part;
	if (s[n] != 'e' && s[n] != 'E')
		return n;
	power = s[n + 1] == '-' || s[n + 1] == '+' ? 2 : 1;
	whole = strspn(s + n + power, digits);
	return whole ? n + power + whole : n;
}

int parse_decimal(const char *s, double *out, const char **end)
{
	char buf[64];
	size_t n = decimal_length(s);
	double v;

	if (!n)
		return -EINVAL;
	if (n >= sizeof(buf))
		return -ERANGE;
	/* What strtod takes besides, such as 0x10, ends here. */
	memcpy(buf, s, n);
	buf[n] = '\0';
	v = strtod(buf, NULL);
	if (!isfinite(v))
		return -ERANGE;
	*out = v + 0.0; /* never -0 */
	*end = s + n;
	return 0;
}

int parse_real(const char *s, double *out)
{
	const char *end;
	double v;
	int code = parse_decimal(s, &v, &end);

	if (code == 0 && *end)
		code = -EINVAL;
	if (code == 0)
		*out = v;
	return code;
}

int parse_seconds(const char *s, double *out)
{
	enum { DAY_S = 86400 };
	static const struct {
		const char *suffix;
		double factor;
	} units[] = { { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "", 1 } };
	const char *end;
	double v;
	int code = parse_decimal(s, &v, &end);

	if (code)
		return code;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		v *= units[i].factor;
		if (!(v > 0 && v <= DAY_S))
			return -ERANGE;
		*out = v;
		return 0;
	}
	return -EINVAL;
}

int parse_i64(const char *s, long long *out)
{
	char buf[32], *end;
	long long v;

	if (!number_text(s, buf, sizeof(buf)))
		return -EINVAL;
	if (!isdigit((unsigned char)buf[0]) &&
	    !((buf[0] == '-' || buf[0] == '+') && isdigit((unsigned char)buf[1])))
		return -EINVAL;
	errno = 0;
	v = strtoll(buf, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*out = v;
	return 0;
}

static int parse_unsigned(const char *s, int base, unsigned long long *out)
{
	char buf[40], *end;
	unsigned long long v;

	if (!number_text(s, buf, sizeof(buf)) || !isxdigit((unsigned char)buf[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(buf, &end, base);
	if (*end || end == buf)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*out = v;
	return 0;
}

int parse_u64(const char *s, unsigned long long *out)
{
	return parse_unsigned(s, 10, out);
}

int parse_hex(const char *s, unsigned long long *out)
{
	return parse_unsigned(s, 16, out);
}

int parse_size(const char *s, unsigned long long *out)
{
	static const char suffixes[] = "KMGT";
	char buf[40];
	unsigned long long v, unit = 1;
	size_t n;
	int r;

	if (!number_text(s, buf, sizeof(buf)))
		return -EINVAL;
	n = strlen(buf);
	for (size_t i = 0; i < sizeof(suffixes) - 1; i++)
		if (toupper((unsigned char)buf[n - 1]) == suffixes[i])
			unit = 1ull << (10 * (i + 1));
	if (unit > 1)
		buf[n - 1] = '\0';
	r = parse_u64(buf, &v);
	if (r)
		return r;
	if (v > ~0ull / unit)
		return -ERANGE;
	*out = v * unit;
	return 0;
}

const char *str_trim(const char *s, size_t n, size_t *len)
{
	while (n && isspace((unsigned char)*s)) {
		s++;
		n--;
	}
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	*len = n;
	return s;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && strcmp(s + n - k, suffix) == 0;
}

bool str_matches(const char *pattern, const char *s, int flags)
{
	size_t plain = strcspn(pattern, "*?[\\");
	const char *tail = pattern + strlen(pattern);

	if (strncmp(pattern, s, plain) != 0 || !pattern[plain])
		return strcmp(pattern, s) == 0;
	while (!strchr("*?[]\\", tail[-1]))
		tail--;
	return str_ends(s, tail) && fnmatch(pattern, s, flags) == 0;
}

/* Compares two runs of digits by value without converting them, so that no length overflows. */
static int digits_compare(const char **a, const char **b)
{
	const char *p, *q;
	int first = 0;

	while (**a == '0')
		(*a)++;
	while (**b == '0')
		(*b)++;
	for (p = *a, q = *b; isdigit((unsigned char)*p) && isdigit((unsigned char)*q); p++, q++)
		if (!first)
			first = (unsigned char)*p - (unsigned char)*q;
	if (isdigit((unsigned char)*p))
		return 1;
	if (isdigit((unsigned char)*q))
		return -1;
	*a = p;
	*b = q;
	return first;
}

int str_natural(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			int d = digits_compare(&x, &y);

			if (d)
				return d;
			continue;
		}
		if (*x != *y)
			return (unsigned char)*x - (unsigned char)*y;
		x++;
		y++;
	}
	if (*x || *y)
		return (unsigned char)*x - (unsigned char)*y;
	return strcmp(a, b);
}

int str_natural_qsort(const void *a, const void *b)
{
	return str_natural(*(char *const *)a, *(char *const *)b);
}

size_t str_distance(const char *a, const char *b, size_t max)
{
	enum { LONGEST = 96 };
	size_t row[LONGEST + 1], n = strlen(a), m = strlen(b);

	if (n > LONGEST || m > LONGEST)
		return max + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = up;
			row[j] = best;
		}
	}
	return row[m] > max ? max + 1 : row[m];
}

/* "Llama 3.1_8B" is asked as "llama-3.1-8b". */
static int plain_char(char c)
{
	return c == ' ' || c == '_' ? '-' : tolower((unsigned char)c);
}

static bool same_word(const char *a, size_t n, const char *b)
{
	size_t m = strlen(b);

	n -= n > 1 && tolower((unsigned char)a[n - 1]) == 's';
	m -= m > 1 && tolower((unsigned char)b[m - 1]) == 's';
	for (size_t i = 0; n == m && i < n; i++)
		if (plain_char(a[i]) != plain_char(b[i]))
			return false;
	return n == m;
}

bool str_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; n && at && (at = strstr(at, word)) != NULL; at++)
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

bool str_same_word(const char *a, const char *b)
{
	return same_word(a, strlen(a), b);
}

bool str_has_any(const char *words, const char *text)
{
	for (; words && text && *words; words += strspn(words, "|")) {
		size_t n = strcspn(words, "|");

		if (memmem(text, strlen(text), words, n))
			return true;
		words += n;
	}
	return !words;
}

bool words_name(const char *words, const char *word)
{
	for (size_t n; *words; words += n, words += strspn(words, " ")) {
		n = strcspn(words, " ");
		if (same_word(words, n, word))
			return true;
	}
	return false;
}

static void lower_case(char out[static NEAR_WORD_SIZE], const char *s)
{
	size_t i = 0;

	for (; s[i] && i + 1 < NEAR_WORD_SIZE; i++)
		out[i] = (char)plain_char(s[i]);
	out[i] = '\0';
}

struct near_word near_word_to(const char *asked)
{
	size_t n = strlen(asked);
	/* More than half of it wrong is no misspelling. */
	struct near_word near = { .asked = asked, .distance = n < 8 ? n / 2 + 1 : n < 14 ? 5 : 8 };

	lower_case(near.lower, asked);
	return near;
}

void near_word_try(struct near_word *n, const char *spelling, const char *word)
{
	const char *asked = n->lower;
	char other[NEAR_WORD_SIZE] = "";
	size_t d;

	lower_case(other, spelling);
	d = str_distance(asked, other, n->distance);
	if (d > 1 && strlen(asked) > 2 && str_starts(other, asked))
		d = 1;
	if (d > 2 && ((strlen(other) > 2 && str_starts(asked, other)) ||
		      (strlen(asked) > 3 && strstr(other, asked))))
		d = 2;
	if (d < n->distance) {
		n->distance = d;
		n->word = word;
	}
}

bool id_matches(const char *id, const char *pattern)
{
	size_t n = strlen(pattern);

	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, id, 0) == 0;
	return strncmp(id, pattern, n) == 0 &&
	       (id[n] == '\0' || id[n] == '.' || (n && pattern[n - 1] == '.'));
}

/* Strict UTF-8 decoding. It knows code points, not what they look like. */

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

size_t utf8_cut(const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

bool utf8_harmless(uint32_t cp)
{
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return false;
	/* Marks and overrides of direction, line and paragraph separators, invisible joiners. */
	return !(cp >= 0x200b && cp <= 0x200f) && !(cp >= 0x2028 && cp <= 0x202e) &&
	       !(cp >= 0x2060 && cp <= 0x206f) && cp != 0xfeff && cp != 0x61c;
}

/* Bytes that the quoted field at s (behind its first quote) takes, and what it ends with. */
static const char *quoted_end(const char *s, size_t *len)
{
	*len = 0;
	for (; *s; s++) {
		if (*s == '"' && *++s != '"')
			return s;
		if (++*len > CSV_FIELD_MAX)
			return NULL;
	}
	return NULL;
}

static const char *csv_quoted(struct arena *a, const char *s, const char **out)
{
	size_t len, at = 0;
	const char *end = quoted_end(s, &len);
	char *text;

	if (!end)
		return NULL;
	text = arena_alloc(a, len + 1);
	for (; at < len; s++) {
		text[at++] = *s;
		s += *s == '"';
	}
	*out = text;
	/* What stands between the closing quote and the comma belongs to nothing. */
	return end + strcspn(end, ",\r\n");
}

const char *csv_record(struct arena *a, const char *s, const char **field, size_t most, size_t *n)
{
	*n = 0;
	for (;;) {
		const char *text = "";

		if (*s == '"') {
			s = csv_quoted(a, s + 1, &text);
			if (!s)
				return NULL;
		} else {
			size_t len = strcspn(s, ",\r\n");

			if (*n < most)
				text = arena_strndup(a, s, len);
			s += len;
		}
		if (*n < most)
			field[(*n)++] = text;
		if (*s != ',')
			break;
		s++;
	}
	s += *s == '\r';
	s += *s == '\n';
	return s;
}

long csv_lines(const char *from, const char *to)
{
	long n = 0;

	for (const char *s = from; s < to && (s = memchr(s, '\n', (size_t)(to - s))); s++)
		n++;
	return n;
}

size_t text_plain(char *to, const char *s, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\033' && i + 1 < n && s[i + 1] == '[')
			for (i += 2; i < n && !isalpha((unsigned char)s[i]);)
				i++;
		else if ((unsigned char)s[i] >= ' ' || s[i] == '\t')
			to[k++] = s[i];
	}
	to[k] = '\0';
	return k;
}

char *str_value(struct arena *a, const char *text, const char *key, char separator)
{
	size_t n = strlen(key), len;
	const char *line = text, *end, *v;

	while (line && *line) {
		end = strchr(line, '\n');
		if (strncmp(line, key, n) == 0) {
			v = line + n;
			v += strspn(v, " \t");
			if (*v == separator) {
				v++;
				v = str_trim(v, end ? (size_t)(end - v) : strlen(v), &len);
				return arena_strndup(a, v, len);
			}
		}
		line = end ? end + 1 : NULL;
	}
	return NULL;
}
