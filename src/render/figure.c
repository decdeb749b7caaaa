/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling and wording of single facts. Knows units, not subjects. */
#include "render/figure.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

/* Three digits that mean something: "1.88", "119.7" (four where the whole part has three), "128".
 */
static const char *figure_scaled(struct arena *a, double v, const char *unit)
{
	int digits = v >= 10 || v <= -10 ? 1 : 2;
	char *s = arena_printf(a, "%.*f", digits, v);

	if (strchr(s, '.')) {
		size_t n = strlen(s);

		while (s[n - 1] == '0')
			s[--n] = '\0';
		if (s[n - 1] == '.')
			s[n - 1] = '\0';
	}
	return arena_printf(a, "%s %s", s, unit);
}

static const char *figure_bytes(struct arena *a, double v)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	while ((v >= 1024 || v <= -1024) && i + 1 < sizeof(names) / sizeof(names[0])) {
		v /= 1024;
		i++;
	}
	return figure_scaled(a, v, names[i]);
}

/* From here on sizes are said in larger units: packets and frames are known by their bytes. */
enum { BYTES_SHOWN = 10240 };

static const char *thousands(struct arena *a, double v, const char *small, const char *big,
			     double per)
{
	return v >= per || v <= -per ? figure_scaled(a, v / per, big) : figure_scaled(a, v, small);
}

const char *figure(struct arena *a, const char *unit, long long v)
{
	if (!unit)
		return arena_printf(a, "%lld", v);
	if (strcmp(unit, "bytes") == 0)
		return v % 512 && v > 0 && v < BYTES_SHOWN ? arena_printf(a, "%lld B", v)
							   : figure_bytes(a, (double)v);
	if (strcmp(unit, "KiB") == 0)
		return v < (1ll << 50) && v > -(1ll << 50) ? figure_bytes(a, (double)v * 1024)
							   : "too large";
	if (strcmp(unit, "kHz") == 0)
		return v >= 1000000 ? figure_scaled(a, (double)v / 1e6, "GHz")
				    : thousands(a, (double)v, "kHz", "MHz", 1e3);
	if (strcmp(unit, "Mb/s") == 0)
		return thousands(a, (double)v, "Mb/s", "Gb/s", 1e3);
	if (strcmp(unit, "MB/s") == 0)
		return thousands(a, (double)v, "MB/s", "GB/s", 1e3);
	if (strcmp(unit, "MT/s") == 0)
		return thousands(a, (double)v, "MT/s", "GT/s", 1e3);
	if (strcmp(unit, "mW") == 0)
		return thousands(a, (double)v, "mW", "W", 1e3);
	if (strcmp(unit, "us") == 0)
		return v >= 1000000 ? figure_scaled(a, (double)v / 1e6, "s")
				    : thousands(a, (double)v, "us", "ms", 1e3);
	if (strcmp(unit, "lanes") == 0)
		return arena_printf(a, "x%lld", v);
	if (strcmp(unit, "%") == 0)
		return arena_printf(a, "%lld%%", v);
	return arena_printf(a, "%lld %s", v, unit);
}

/* How many bytes these words are; 0: they are no such unit. n: how long the unit is. */
static long long bytes_of(const char *unit, size_t *n)
{
	static const struct {
		const char *name;
		long long bytes;
	} units[] = { { "bytes", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		*n = strlen(units[i].name);
		if (str_starts(unit, units[i].name) && !isalnum((unsigned char)unit[*n]))
			return units[i].bytes;
	}
	return 0;
}

/* Whether a number of n digits at s stands by itself: no part of a name, version or fraction. */
static bool stands_alone(const char *start, const char *s, size_t n)
{
	return (s == start || strchr(" (", s[-1])) && (!s[n] || strchr(" ,:;)", s[n]));
}

static const char *figure_value(struct arena *a, const char *unit, const char *text)
{
	TEXT_AUTO out = { 0 };
	bool plain = text && text[strspn(text, "0123456789 ")] == '\0';
	long long from = plain && strchr(text, ' ') ? 1024 : BYTES_SHOWN;
	size_t n, of;

	if (!text)
		return NULL;
	for (const char *s = text; *s; s += n) {
		long long v, per = 0;

		n = strspn(s, "0123456789");
		if (n && stands_alone(text, s, n) && parse_i64(arena_strndup(a, s, n), &v) == 0) {
			per = s[n] == ' ' ? bytes_of(s + n + 1, &of) : 0;
			if (!per && plain && unit)
				per = bytes_of(unit, &of), of = SIZE_MAX;
		}
		if (per && v > 0 && v < LLONG_MAX / per && v * per >= from) {
			text_add(&out, figure_bytes(a, (double)(v * per)));
			n += of == SIZE_MAX ? 0 : 1 + of;
			continue;
		}
		n = n ? n : 1;
		text_addn(&out, s, n);
	}
	/* One number has its unit. */
	if (plain && unit && *text && !strchr(text, ' ') && strcmp(out.s, text) == 0)
		text_printf(&out, " %s", unit);
	return arena_strdup(a, out.s ? out.s : "");
}

void figure_values(struct arena *a, const char *unit, const char **now, const char **wanted)
{
	const char *x = figure_value(a, unit, *now), *y = figure_value(a, unit, *wanted);

	if (x && y && strcmp(x, y) == 0 && strcmp(*now, *wanted) != 0)
		return;
	*now = x;
	*wanted = y;
}

const char *figure_time(struct arena *a, long long seconds)
{
	char buf[64];
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M UTC", &tm))
		return arena_printf(a, "%lld s", seconds);
	return arena_strdup(a, buf);
}

int pcie_generation(long long mts)
{
	static const long long rates[] = { 2500, 5000, 8000, 16000, 32000, 64000, 128000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i] == mts)
			return (int)i + 1;
	return 0;
}

const char *figure_link(struct arena *a, const struct fact_int *mts, const struct fact_int *lanes)
{
	int gen;

	if (!seen_ok(&mts->f) || !seen_ok(&lanes->f))
		return NULL;
	gen = pcie_generation(mts->v);
	if (!gen || lanes->v <= 0)
		return "down";
	return arena_printf(a, "Gen%d x%lld", gen, lanes->v);
}

struct cell cell_unseen(const struct fact *f)
{
	switch (f->seen) {
	case SEEN_ABSENT:
		return (struct cell){ .text = "absent", .style = STYLE_MUTED, .nothing = true };
	case SEEN_UNSUPPORTED:
		return (struct cell){ .text = "n/a", .style = STYLE_MUTED, .nothing = true };
	case SEEN_DENIED:
		return cell_as(STYLE_UNKNOWN, "denied");
	case SEEN_ERROR:
		return cell_as(STYLE_UNKNOWN, "error");
	default:
		return (struct cell){ .text = "", .nothing = true };
	}
}

struct cell cell_int(struct doc *d, const struct fact_int *f, const char *unit)
{
	return seen_ok(&f->f) ? cell(figure(d->arena, unit, f->v)) : cell_unseen(&f->f);
}

struct cell cell_bool(const struct fact_int *f, const char *yes, const char *no)
{
	return seen_ok(&f->f) ? cell(f->v ? yes : no) : cell_unseen(&f->f);
}

struct cell cell_str(const struct fact_str *f)
{
	return seen_ok(&f->f) ? cell(f->v) : cell_unseen(&f->f);
}

struct cell cell_set(struct doc *d, const struct fact_set *f)
{
	if (!seen_ok(&f->f))
		return cell_unseen(&f->f);
	if (!f->v.n)
		return (struct cell){ .text = "none", .style = STYLE_MUTED, .nothing = true };
	return cell(idset_format(d->arena, &f->v));
}

struct cell cell_now_max(struct doc *d, const struct fact_int *now, const struct fact_int *max,
			 const char *unit)
{
	const char *high;
	char *low;
	size_t n, k;

	if (!seen_ok(&now->f) || !seen_ok(&max->f))
		return cell_int(d, seen_ok(&max->f) ? max : now, unit);
	high = figure(d->arena, unit, max->v);
	low = arena_strdup(d->arena, figure(d->arena, unit, now->v));
	n = strlen(low);
	k = strcspn(high, " ");
	/* The unit once where both have the same. */
	if (high[k] && n > strlen(high + k) && strcmp(low + n - strlen(high + k), high + k) == 0)
		low[n - strlen(high + k)] = '\0';
	return cell_printf(d, STYLE_PLAIN, "%s / %s", low, high);
}

enum { SMALLEST = 12 }; /* places */

const char *figure_number(struct arena *a, double v)
{
	double m = fabs(v);
	int digits = m >= 1000 ? 0 : m >= 100 ? 1 : m >= 10 ? 2 : 3;

	/* Three that mean something, however small it is. */
	for (; m > 0 && m < 0.1 && digits < SMALLEST; m *= 10)
		digits++;
	return arena_printf(a, "%.*f", digits, v);
}

const char *figure_ms(struct arena *a, double ms)
{
	return ms >= 10000 ? arena_printf(a, "%.1f s", ms / 1e3)
			   : arena_printf(a, "%s ms", figure_number(a, ms));
}
