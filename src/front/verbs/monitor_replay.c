/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor FILE: a recording as it was, at any speed, forwards and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "front/verbs/monitor.h"
#include "look/monitor/recording.h"
#include "front/verbs/monitor_replay.h"
#include "front/verbs/page.h"
#include "front/verbs/report.h"
#include "look/monitor/page_contrast.h"

#define ROWS_BYTES_MAX ((size_t)1 << 29)

struct tape {
	struct recording rec;
	double *values; /* rows of rec.mon.n */
	int64_t *ms;
	unsigned char *asked; /* bit b: of beat b; bit b + 4: when is a guess */
	size_t n, cap;
	bool full;
	struct arena *arena;
	struct recording_rates rates;
	double *out;
};

static unsigned char asked_bits(struct tape *t, int64_t ms, const double *values)
{
	unsigned bits = 0;

	if (!t->out)
		t->out = arena_array(t->arena, t->rec.mon.n, sizeof(*t->out));
	recording_rates(t->arena, &t->rates, &t->rec.mon, 1e-3 * (double)ms, values, t->out);
	for (unsigned b = 0; b < BEATS; b++)
		bits |= (t->rates.asked[b] ? 1u << b : 0) | (t->rates.guessed[b] ? 16u << b : 0);
	return (unsigned char)bits;
}

static bool keep(void *ctx, int64_t ms, const double *values)
{
	struct tape *t = ctx;
	size_t width = t->rec.mon.n * sizeof(*values);

	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 256;
		double *v = cap * width <= ROWS_BYTES_MAX ? realloc(t->values, cap * width) : NULL;
		int64_t *ms_room = v ? realloc(t->ms, cap * sizeof(*ms_room)) : NULL;
		unsigned char *bits = ms_room ? realloc(t->asked, cap) : NULL;

		t->values = v ? v : t->values;
		t->ms = ms_room ? ms_room : t->ms;
		t->asked = bits ? bits : t->asked;
		if (!bits) {
			t->full = true;
			return false;
		}
		t->cap = cap;
	}
	memcpy(t->values + t->n * t->rec.mon.n, values, width);
	t->asked[t->n] = asked_bits(t, ms, values);
	t->ms[t->n++] = ms;
	return true;
}

/* The row that is shown at a time of the recording. */
static size_t row_at(const struct tape *t, double ms)
{
	size_t low = 0, high = t->n - 1;

	while (low < high) {
		size_t mid = (low + high + 1) / 2;

		if ((double)t->ms[mid] <= ms)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* The row at or before i that was asked for a beat; i + 1: none. */
static size_t asked_at(const struct tape *t, size_t i, unsigned beat)
{
	for (size_t k = i + 1; k-- > 0;)
		if (t->asked[k] & 1u << beat)
			return k;
	return i + 1;
}

static struct instant instant_at(const struct tape *t, size_t i)
{
	size_t n = t->rec.mon.n, k = i ? i - 1 : 0;
	double at_s = (double)t->ms[i] / 1e3;
	struct instant out = { .mon = &t->rec.mon,
			       .at_s = at_s,
			       .before_s = (double)t->ms[k] / 1e3,
			       .now = t->values + i * n,
			       .before = i ? t->values + k * n : NULL };

	for (unsigned b = BEAT_SLOW; b < BEATS; b++) {
		size_t last = asked_at(t, i, b),
		       then = last && last <= i ? asked_at(t, last - 1, b) : i;
		double to = last <= i ? (double)t->ms[last] / 1e3 : at_s, from;

		if (!last || last > i || then >= last)
			continue;
		from = recording_asked_s((enum monitor_beat)b, (double)t->ms[then] / 1e3,
					 t->asked[then] & 16u << b, to);
		out.beats[b] = (struct beat_asked){ to, from, t->values + then * n };
	}
	return out;
}

static void page_at(struct run *r, const struct tape *t, size_t i, double speed, bool paused,
		    const struct term_style *how, struct text *out)
{
	struct instant f = instant_at(t, i), first = instant_at(t, 0);
	char when[STAMP_SIZE] = "", note[120];
	struct monitor_head head = { when, note, t->rec.end.whole ? NULL : "cut off at its end" };

	(void)r;
	if (stamp_format(t->rec.started_s + t->ms[i] / 1000, when))
		when[0] = '\0';
	snprintf(note, sizeof(note), "recording, %.1f of %.1f s", (double)t->ms[i] / 1e3,
		 (double)t->ms[t->n - 1] / 1e3);
	monitor_page(&f, &first, &head, how, out);
	if (speed > 0)
		text_printf(out,
			    "\n%s  q ends, space %s, arrows go back and on, + and - change the "
			    "speed (%g)\n",
			    paused ? "PAUSED" : "", paused ? "goes on" : "holds it", speed);
}

static int play(struct run *r, const struct tape *t, struct screen *screen)
{
	struct term_style how = monitor_style_of(r);
	double at = 0, speed = 1, end = (double)t->ms[t->n - 1];
	long long last = clock_mono_ms();
	bool paused = false, again = false;
	struct waiter w;

	if (!waiter_open(&w, true))
		return complain_text(EXIT_BLIND, "no descriptor for signals is to be had");
	for (;;) {
		TEXT_AUTO page = { 0 };
		long long now = clock_mono_ms();
		enum wake k;

		at = paused ? at : fmin(at + speed * (double)(now - last), end);
		last = now;
		page_at(r, t, row_at(t, at), speed, paused, &how, &page);
		screen_draw(screen, page.s, again);
		again = false;
		k = waiter_until(&w, now + (paused || at >= end ? 60000 : 100));
		if (k == WAKE_STOP || (k == WAKE_KEY && w.key == 'q'))
			break;
		if (k == WAKE_SIZE) {
			int lines;

			screen_size(&how.width, &lines);
			again = true;
		}
		if (k != WAKE_KEY)
			continue;
		paused ^= w.key == ' ';
		speed = w.key == '+'   ? fmin(speed * 2, 64)
			: w.key == '-' ? fmax(speed / 2, 0.125)
				       : speed;
		at = fmin(fmax(at + (w.key == '>' ? 10000 : w.key == '<' ? -10000 : 0), 0), end);
		last = clock_mono_ms();
	}
	waiter_close(&w);
	return EXIT_CLEAN;
}

static int print_all(struct run *r, const struct tape *t)
{
	const struct monitor_line *line = monitor_line_make(&r->arena, &t->rec.mon);
	TEXT_AUTO out = { 0 };

	/* --once: the last one alone. */
	for (size_t i = r->value[OPT_ONCE] ? t->n - 1 : 0; i < t->n; i++) {
		struct instant f = instant_at(t, i);

		text_clear(&out);
		monitor_line_add(line, &f, t->rec.started_s * 1000 + t->ms[i], &out);
		fwrite(out.s, 1, out.len, r->out);
	}
	return EXIT_CLEAN;
}

static int show(struct run *r, const struct tape *t)
{
	const char *format = r->value[OPT_FORMAT];
	struct term_style how = monitor_style_of(r);
	TEXT_AUTO page = { 0 };
	struct screen *screen;
	int code;

	if (format ? strcmp(format, "json") == 0 : !r->tty && !r->value[OPT_ONCE])
		return print_all(r, t);
	screen = r->value[OPT_ONCE] ? NULL : screen_open();
	if (screen) {
		code = play(r, t, screen);
		screen_close(screen);
		return code;
	}
	page_at(r, t, t->n - 1, 0, false, &how, &page);
	fputs(page.s, r->out);
	return EXIT_CLEAN;
}

int monitor_replay(struct run *r, const char *path)
{
	struct tape t = { .arena = &r->arena };
	struct err e = { 0 };
	int code;

	code = recording_read(&r->arena, path, &t.rec, keep, &t, &e);
	if (code)
		code = complain(EXIT_USAGE, &e);
	else if (t.full)
		code = complain_text(EXIT_USAGE, "%s is longer than fits into 512 MiB", path);
	else if (!t.n)
		code = complain_text(EXIT_USAGE, "%s has no rows", path);
	else
		code = show(r, &t);
	free(t.values);
	free(t.asked);
	free(t.ms);
	return code;
}

/* gputune compare A B of two recordings. */

enum which { NEITHER, ONE, BOTH };

static enum which which(const struct run *r)
{
	int n = report_is_recording(r->args[0]) + report_is_recording(r->args[1]);

	return n == 2 ? BOTH : n == 1 ? ONE : NEITHER;
}

bool compare_are_recordings(struct run *r, int *code)
{
	const char *format = r->value[OPT_FORMAT];
	enum which n = which(r);
	struct err e = { 0 };
	struct contrast v;

	if (n == NEITHER)
		return false;
	if (n == ONE) {
		*code = complain_text(EXIT_USAGE, "one is a recording and the other is not: they "
						  "have nothing in common");
		return true;
	}
	if (contrast_read(&r->arena, r->args[0], r->args[1], &v, &e)) {
		*code = complain(EXIT_USAGE, &e);
		return true;
	}
	*code = v.n == v.count[CONTRAST_CANNOT] ? EXIT_BLIND : EXIT_CLEAN;
	if (r->value[OPT_QUIET])
		return true;
	if (format && strcmp(format, "json") == 0) {
		run_print_json(r, contrast_json(&v, (long long)time(NULL), *code));
	} else {
		int failed = run_print_doc(r, page_contrast(&r->arena, &v), "gputune compare");

		*code = failed ? failed : *code;
	}
	return true;
}
