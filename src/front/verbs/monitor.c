/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor: the machine from moment to moment, on a screen or as lines for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "front/terminal.h"
#include "base/clock.h"
#include "front/session.h"
#include "tune/txn/txn.h"
#include "tune/watch/policy.h"
#include "look/monitor/contrast.h"
#include "look/monitor/recording.h"

enum { SETTINGS_MS = 15000, USERS_MS = 3000, STANDARD_MS = 1000 };

enum format { FORMAT_SCREEN, FORMAT_PAGE, FORMAT_JSON, FORMAT_PROM, FORMAT_OPENMETRICS };

struct viewing {
	struct run *r;
	struct host *h;
	struct monitor mon;
	struct monitor_state state;
	double *first, *before, *now; /* rows */
	double before_s, now_s;
	size_t rows;
	enum format format;
	struct monitor_line *line;
	struct screen *screen;
	struct term_style style;
	int interval_ms;
	bool paused, once;
	char note[160], bad[200];
	long long settings_due, users_due;
	struct monitor_processes users;
	double cost; /* of one CPU, since it began */
};

struct term_style monitor_style_of(const struct run *r)
{
	struct term_style how = run_style(r);

	return (struct term_style){ how.width ? how.width : 80, how.colour, how.ascii };
}

bool monitor_interval(struct run *r, int standard_ms, int *out)
{
	const char *text = r->value[OPT_INTERVAL];
	long long ms = standard_ms;

	if (text && (interval_parse(text, &ms) || ms < 100 || ms > 3600000)) {
		complain_text(EXIT_USAGE, "--interval takes a time from 100ms to 1h, not \"%s\"",
			      text);
		return false;
	}
	*out = (int)ms;
	return true;
}

bool monitor_for(struct run *r, long long *out)
{
	const char *text = r->value[OPT_FOR];

	*out = 0;
	if (text && interval_parse(text, out)) {
		complain_text(
			EXIT_USAGE,
			"--for takes a time from 100ms to 24h, like 30s, 10m or 2h, not \"%s\"",
			text);
		return false;
	}
	return true;
}

static bool is_exposition(enum format f)
{
	return f == FORMAT_PROM || f == FORMAT_OPENMETRICS;
}

/* --- our settings ----------------------------------------------------------------------------- */

static void look_at_settings(struct viewing *s)
{
	struct arena a = { 0 };
	struct journal j;
	struct hold_row *rows;
	struct err e = { 0 };
	size_t n = 0, held = 0, drifted = 0;
	const char *which = "";

	s->bad[0] = '\0';
	snprintf(s->note, sizeof(s->note), "every %.2g s", s->interval_ms / 1e3);
	if (journal_load(s->h, &a, false, &j, &e) == 0 &&
	    txn_status(s->h, &a, &j, &rows, &n) == 0) {
		for (size_t i = 0; i < n; i++) {
			bool gone = rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK ||
				    rows[i].hold == HOLD_LOST || rows[i].hold == HOLD_RESET;

			held += rows[i].hold == HOLD_OURS;
			if (gone && !drifted++)
				which = rows[i].e->id;
		}
	}
	if (held)
		snprintf(s->note + strlen(s->note), sizeof(s->note) - strlen(s->note),
			 ", %zu settings of ours in force", held);
	if (drifted)
		snprintf(s->bad, sizeof(s->bad),
			 "%zu of our settings not as we left them (%s%s); \"gputune status\" tells "
			 "more",
			 drifted, which, drifted > 1 ? ", ..." : "");
	arena_free(&a);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void verb_monitor_look(struct viewing *s)
{
	double *old = s->before;

	/* The last row becomes the one before; the first stays. */
	if (s->rows) {
		s->before = s->now;
		s->before_s = s->now_s;
		s->now = old;
	}
	s->now_s = clock_mono_s();
	/* Rates need a second look at everything. */
	s->state.all = s->once && s->rows == 1;
	monitor_look(&s->mon, s->h, &s->state, s->now_s, s->now);
	if (s->rows++ == 0)
		memcpy(s->first, s->now, s->mon.n * sizeof(*s->now));
}

static struct instant instant_now(const struct viewing *s)
{
	/* A capture is one moment: it has no rates. */
	struct instant f = { .mon = &s->mon, .now = s->now };

	if (!s->h->id.captured)
		f = instant_of(&s->mon, &s->state, s->now_s, s->now, s->before_s,
			       s->rows > 1 ? s->before : NULL);
	f.users = &s->users;
	return f;
}

static void verb_monitor_show(struct viewing *s, bool again)
{
	struct instant f = instant_now(s), first = { .mon = &s->mon, .now = s->first };
	time_t t = time(NULL);
	char when[32] = "";
	struct monitor_head head = { when, s->note, s->bad[0] ? s->bad : NULL };
	TEXT_AUTO page = { 0 };
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
	monitor_page(&f, &first, &head, &s->style, &page);
	if (!s->screen) {
		fputs(page.s, s->r->out);
		fflush(s->r->out);
		return;
	}
	text_printf(
		&page,
		"\n%s  q ends, space %s, + and - change how often; this costs %.2f %% of a CPU\n",
		s->paused ? "PAUSED" : "", s->paused ? "goes on" : "holds it", 100 * s->cost);
	screen_draw(s->screen, page.s, again);
}

static void verb_monitor_print_answer(struct viewing *s)
{
	struct instant f = instant_now(s);
	struct timespec ts;
	TEXT_AUTO line = { 0 };

	if (is_exposition(s->format)) {
		monitor_exposition(s->r->out, &f,
				   s->format == FORMAT_PROM ? EXPOSITION_TEXT
							    : EXPOSITION_OPENMETRICS);
		return;
	}
	if (s->format != FORMAT_JSON) {
		verb_monitor_show(s, false);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	if (!s->line)
		s->line = monitor_line_make(&s->r->arena, &s->mon);
	monitor_line_add(s->line, &f, (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, &line);
	fwrite(line.s, 1, line.len, s->r->out);
	fflush(s->r->out);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void verb_monitor_key(struct viewing *s, char c)
{
	static const int steps[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
	int faster = steps[0], slower = steps[STEPS - 1];

	if (c == ' ')
		s->paused = !s->paused;
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i] < s->interval_ms)
			faster = steps[i];
		if (steps[STEPS - 1 - i] > s->interval_ms)
			slower = steps[STEPS - 1 - i];
	}
	if (c == '+')
		s->interval_ms = faster;
	if (c == '-')
		s->interval_ms = slower;
	s->settings_due = 0;
}

/* Rates need a second look; an exposition has none. */
static bool done_once(const struct viewing *s)
{
	return s->once && (s->rows > 1 || is_exposition(s->format) || s->h->id.captured);
}

static void verb_monitor_round_of(struct viewing *s, double began_s, double cpu_s)
{
	if (clock_mono_ms() >= s->settings_due) {
		look_at_settings(s);
		s->settings_due = clock_mono_ms() + SETTINGS_MS;
	}
	if (!s->paused)
		verb_monitor_look(s);
	/* Not at each look: the driver takes longer for it. */
	if (!s->paused && !is_exposition(s->format) && clock_mono_ms() >= s->users_due) {
		monitor_processes(&s->mon, s->h, &s->users);
		s->users_due = clock_mono_ms() + USERS_MS;
	}
	s->cost = (clock_cpu_s() - cpu_s) / fmax(clock_mono_s() - began_s, 1);
	if (!s->once || done_once(s))
		verb_monitor_print_answer(s);
}

static int verb_monitor_loop(struct viewing *s, struct waiter *w, long long for_ms)
{
	long long begin = clock_mono_ms(), due = begin, end = for_ms ? begin + for_ms : 0;
	double began_s = clock_mono_s(), cpu_s = clock_cpu_s();

	for (;;) {
		enum wake k;

		verb_monitor_round_of(s, began_s, cpu_s);
		if (done_once(s) || ferror(s->r->out))
			return EXIT_CLEAN;
		due += s->interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		while ((k = waiter_until(w, end && end < due ? end : due)) != WAKE_TIME) {
			if (k == WAKE_STOP || (k == WAKE_KEY && w->key == 'q'))
				return EXIT_CLEAN;
			if (k == WAKE_KEY) {
				verb_monitor_key(s, w->key);
				due = clock_mono_ms();
				break;
			}
			if (k == WAKE_SIZE && s->screen) {
				int lines;

				screen_size(&s->style.width, &lines);
				verb_monitor_show(s, true);
			}
		}
		if (end && clock_mono_ms() >= end)
			return EXIT_CLEAN;
	}
}

static int run_session(struct viewing *s, long long for_ms)
{
	struct waiter w;
	int code;

	s->first = arena_array(&s->r->arena, s->mon.n + 1, sizeof(double));
	s->before = arena_array(&s->r->arena, s->mon.n + 1, sizeof(double));
	s->now = arena_array(&s->r->arena, s->mon.n + 1, sizeof(double));
	if (s->format == FORMAT_SCREEN) {
		s->screen = screen_open();
		s->format = s->screen ? FORMAT_SCREEN : FORMAT_PAGE;
	}
	if (!waiter_open(&w, s->screen != NULL)) {
		screen_close(s->screen);
		return complain_text(EXIT_BLIND, "no descriptor for signals is to be had");
	}
	code = verb_monitor_loop(s, &w, for_ms);
	waiter_close(&w);
	screen_close(s->screen);
	monitor_state_free(&s->state);
	return code;
}

static int verb_monitor_format_of(struct run *r, enum format *out)
{
	static const char *const names[] = { [FORMAT_PAGE] = "term",
					     [FORMAT_JSON] = "json",
					     [FORMAT_PROM] = "prom",
					     [FORMAT_OPENMETRICS] = "openmetrics" };
	const char *f = r->value[OPT_FORMAT];
	size_t i = FORMAT_PAGE;

	*out = r->tty && !r->value[OPT_ONCE] ? FORMAT_SCREEN : FORMAT_PAGE;
	/* In a pipe a program reads it. */
	if (!r->tty && !f && !r->value[OPT_ONCE])
		*out = FORMAT_JSON;
	if (!f || strcmp(f, "term") == 0)
		return 0;
	while (i < sizeof(names) / sizeof(names[0]) && strcmp(names[i], f) != 0)
		i++;
	if (i == sizeof(names) / sizeof(names[0]))
		return complain_text(EXIT_USAGE,
				     "monitor writes term, json, prom or openmetrics, not %s", f);
	*out = (enum format)i;
	if (!is_exposition(*out))
		return 0;
	if (r->n_args)
		return complain_text(EXIT_USAGE, "a recording is shown as term or json");
	if (!r->value[OPT_ONCE])
		return complain_text(
			EXIT_USAGE,
			"--format %s goes with --once: a collector reads one exposition at a time",
			f);
	return 0;
}

int verb_monitor(struct run *r)
{
	struct viewing s = { .r = r, .style = monitor_style_of(r) };
	struct machine *m;
	long long for_ms;
	int code = verb_monitor_format_of(r, &s.format);

	if (code || !monitor_interval(r, STANDARD_MS, &s.interval_ms) || !monitor_for(r, &for_ms))
		return EXIT_USAGE;
	if (for_ms && r->value[OPT_ONCE])
		return complain_text(EXIT_USAGE, "--once is one look: no --for");
	if (r->n_args && (for_ms || r->value[OPT_HOST] || r->value[OPT_INTERVAL]))
		return complain_text(EXIT_USAGE,
				     "%s is played as it was taken: no --host, --interval or --for",
				     r->args[0]);
	if (r->n_args)
		return monitor_replay(r, r->args[0]);
	s.h = run_host(r);
	if (!s.h)
		return EXIT_USAGE;
	s.once = r->value[OPT_ONCE] || s.h->id.captured;
	s.format = s.once && s.format == FORMAT_SCREEN ? FORMAT_PAGE : s.format;
	m = run_machine(r, s.h, false);
	monitor_make(&r->arena, s.h, m, &s.mon);
	code = run_session(&s, for_ms);
	host_close(s.h);
	return code;
}

/* Waiting for the next moment, a key, or a signal. */

/* A terminal that is drawn on line by line, only where something has changed. */

/* gputune monitor FILE: a recording as it was, at any speed, forwards and back. */

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

static bool verb_monitor_keep(void *ctx, int64_t ms, const double *values)
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
static size_t verb_monitor_row_at(const struct tape *t, double ms)
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
		page_at(r, t, verb_monitor_row_at(t, at), speed, paused, &how, &page);
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

static int show_tape(struct run *r, const struct tape *t)
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

	code = recording_read(&r->arena, path, &t.rec, verb_monitor_keep, &t, &e);
	if (code)
		code = complain(EXIT_USAGE, &e);
	else if (t.full)
		code = complain_text(EXIT_USAGE, "%s is longer than fits into 512 MiB", path);
	else if (!t.n)
		code = complain_text(EXIT_USAGE, "%s has no rows", path);
	else
		code = show_tape(r, &t);
	free(t.values);
	free(t.asked);
	free(t.ms);
	return code;
}
