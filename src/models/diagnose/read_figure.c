/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as logs print them, and figures at a place of a file. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { DIGITS_MAX = 64 };

bool read_sane(double v)
{
	return isfinite(v) && v >= 0 && v < 1e18;
}

double read_number(const char *s, const char **end)
{
	char digits[DIGITS_MAX];
	size_t n = 0;
	char *stop;
	double v;

	s += strspn(s, " \t:='\"");
	if ((*s == '-' || *s == '+') && (isdigit((unsigned char)s[1]) || s[1] == '.'))
		digits[n++] = *s++;
	if (end)
		*end = s;
	if (!isdigit((unsigned char)*s) && !(*s == '.' && isdigit((unsigned char)s[1])))
		return (double)NAN;
	for (; n + 1 < sizeof(digits); s++) {
		bool sign = (*s == '-' || *s == '+') && n && (digits[n - 1] | 32) == 'e';

		if (*s == ',' && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[2]) &&
		    isdigit((unsigned char)s[3]) && !isdigit((unsigned char)s[4]))
			continue;
		if ((*s == 'e' || *s == 'E') &&
		    !isdigit((unsigned char)s[s[1] == '-' || s[1] == '+' ? 2 : 1]))
			break;
		if (!isdigit((unsigned char)*s) && *s != '.' && *s != 'e' && *s != 'E' && !sign)
			break;
		digits[n++] = *s;
	}
	digits[n] = '\0';
	v = strtod(digits, &stop);
	s -= strlen(stop);
	if (end)
		*end = s;
	return isfinite(v) ? v : (double)NAN;
}

double read_after(const char *s, const char *key)
{
	const char *at = strstr(s, key);

	return at ? read_number(at + strlen(key), NULL) : (double)NAN;
}

long long read_whole(double v, long long otherwise)
{
	return v >= 0 && v <= 1e15 ? (long long)v : otherwise;
}

int read_rank(double v, int otherwise)
{
	return v >= 0 && v <= 1e6 ? (int)v : otherwise;
}

struct figure_seen read_seen(const struct read_place *p, enum figure_kind kind, double value)
{
	return (struct figure_seen){ .kind = kind,
				     .value = value,
				     .at = (double)NAN,
				     .over_s = (double)NAN,
				     .rank = p->rank,
				     .step = p->step,
				     .file = p->file,
				     .line = p->line };
}

void read_figure(const struct read_place *p, enum figure_kind kind, double value, const char *text)
{
	struct figure_seen f = read_seen(p, kind, value);

	f.text = text;
	evidence_figure(p->ev, f);
}

void read_total(const struct read_place *p, enum figure_kind kind, double value, double over_s,
		const char *text)
{
	struct figure_seen f = read_seen(p, kind, value);

	f.text = text;
	f.over_s = over_s;
	f.step = -1;
	f.total = true;
	evidence_figure(p->ev, f);
}

void read_trait(const struct read_place *p, enum trait_kind kind, const char *text, double value)
{
	evidence_trait(p->ev, (struct trait_seen){ .kind = kind,
						   .text = text,
						   .value = value,
						   .rank = p->rank,
						   .file = p->file,
						   .line = p->line });
}

void read_trait_count(const struct read_place *p, enum trait_kind kind, double value)
{
	TEXT_AUTO t = { 0 };

	if (!(value > 0) || !read_sane(value))
		return;
	text_printf(&t, "%.15g", value);
	read_trait(p, kind, t.s, value);
}

size_t read_words(char *s, const char *between, char **words, size_t most)
{
	size_t n = 0;
	char *save = NULL;

	for (char *w = strtok_r(s, between, &save); w && n < most;
	     w = strtok_r(NULL, between, &save))
		words[n++] = w;
	return n;
}

bool read_pair(const char **s, char *key, size_t most, double *value, const char **at)
{
	for (const char *p = *s; (p = strpbrk(p, "'\"")); p++) {
		const char *stop = strchr(p + 1, *p);
		size_t n;

		if (!stop)
			return false;
		n = (size_t)(stop - p - 1);
		if (stop[1] == ':' && n && n < most) {
			memcpy(key, p + 1, n);
			key[n] = '\0';
			*value = read_number(stop + 2, NULL);
			*s = stop + 2;
			if (at)
				*at = stop + 2;
			return true;
		}
		p = stop;
	}
	return false;
}
