/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor, until it is told to end: on a screen, or as lines for programs. */
#include "verbs/monitor.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/terminal.h"
#include "verbs/verbs.h"

struct viewing {
	struct run *r;
	const struct monitor_ask *ask;
	struct monitor_looks looks;
	const struct verb_format *format; /* NULL: pages */
	struct screen *screen;
	struct term_style style;
	bool paused, once;
	double cost; /* of one CPU, since it began */
};

static struct term_style monitor_style(const struct run *r)
{
	struct term_style how = run_style(r);

	return (struct term_style){ how.width ? how.width : 80, how.colour, how.ascii };
}

static bool is_exposition(const struct verb_format *f)
{
	return f && strcmp(f->name, "json") != 0;
}

static void make_page(const struct monitor_moment *m, const struct term_style *how,
		      struct text *out)
{
	const struct monitor_head head = { m->when, m->note, *m->bad ? m->bad : NULL };

	monitor_page(&m->now, &m->first, &head, how, out);
}

/* As the format has it, or a page. */
static void print_moment(struct run *r, const struct verb_format *f, const struct monitor_moment *m)
{
	const struct term_style how = monitor_style(r);
	TEXT_AUTO page = { 0 };

	if (f) {
		f->write(r->out, r->ask, m, EXIT_CLEAN);
	} else {
		make_page(m, &how, &page);
		fputs(page.s, r->out);
	}
	fflush(r->out);
}

/* --- this machine ----------------------------------------------------------------------------- */

static void draw(struct viewing *s, const struct monitor_moment *m, bool again)
{
	TEXT_AUTO page = { 0 };

	make_page(m, &s->style, &page);
	text_printf(
		&page,
		"\n%s  q ends, space %s, + and - change how often; this costs %.2f %% of a CPU\n",
		s->paused ? "PAUSED" : "", s->paused ? "goes on" : "holds it", 100 * s->cost);
	screen_draw(s->screen, page.s, again);
}

static void show(struct viewing *s, bool again)
{
	struct monitor_moment m;

	monitor_show(&s->looks, &m);
	if (s->screen)
		draw(s, &m, again);
	else
		print_moment(s->r, s->format, &m);
}

static void take_key(struct viewing *s, char c)
{
	static const int steps[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
	int faster = steps[0], slower = steps[STEPS - 1];

	if (c == ' ')
		s->paused = !s->paused;
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i] < s->looks.interval_ms)
			faster = steps[i];
		if (steps[STEPS - 1 - i] > s->looks.interval_ms)
			slower = steps[STEPS - 1 - i];
	}
	if (c == '+')
		s->looks.interval_ms = faster;
	if (c == '-')
		s->looks.interval_ms = slower;
	s->looks.settings_due = 0;
}

/* Rates need a second look; an exposition has none. */
static bool done_once(const struct viewing *s)
{
	return s->once &&
	       (s->looks.rows > 1 || is_exposition(s->format) || s->looks.h->id.captured);
}

static void one_round(struct viewing *s, double began_s, double cpu_s)
{
	if (!s->paused)
		monitor_take(&s->looks, s->once && s->looks.rows == 1);
	s->cost = (clock_cpu_s() - cpu_s) / fmax(clock_mono_s() - began_s, 1);
	if (!s->once || done_once(s))
		show(s, false);
}

static int monitor_loop(struct viewing *s, struct waiter *w)
{
	long long begin = clock_mono_ms(), due = begin,
		  end = s->ask->for_s > 0 ? begin + (long long)(1e3 * s->ask->for_s) : 0;
	double began_s = clock_mono_s(), cpu_s = clock_cpu_s();

	for (;;) {
		enum wake k;

		one_round(s, began_s, cpu_s);
		if (done_once(s) || ferror(s->r->out))
			return EXIT_CLEAN;
		due += s->looks.interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		while ((k = waiter_until(w, end && end < due ? end : due)) != WAKE_TIME) {
			if (k == WAKE_STOP || (k == WAKE_KEY && w->key == 'q'))
				return EXIT_CLEAN;
			if (k == WAKE_KEY) {
				take_key(s, w->key);
				due = clock_mono_ms();
				break;
			}
			if (k == WAKE_SIZE && s->screen) {
				int lines;

				screen_size(&s->style.width, &lines);
				show(s, true);
			}
		}
		if (end && clock_mono_ms() >= end)
			return EXIT_CLEAN;
	}
}

static int look_on(struct viewing *s, bool drawn)
{
	struct waiter w;
	int code = monitor_open(&s->r->door, s->ask, &s->looks);

	if (code)
		return -code;
	s->once = s->ask->once || s->looks.h->id.captured;
	s->looks.alone = is_exposition(s->format);
	s->screen = drawn && !s->once ? screen_open() : NULL;
	if (waiter_open(&w, s->screen != NULL)) {
		code = monitor_loop(s, &w);
		waiter_close(&w);
	} else {
		code = -1;
	}
	screen_close(s->screen);
	monitor_close(&s->looks);
	return code < 0 ? complain_text(EXIT_BLIND, "no descriptor for signals is to be had")
			: code;
}

/* --- a recording ------------------------------------------------------------------------------ */

static void tape_page(const struct monitor_tape *t, size_t i, double speed, bool paused,
		      const struct term_style *how, struct text *out)
{
	struct monitor_moment m;

	monitor_tape_show(t, i, &m);
	make_page(&m, how, out);
	text_printf(out,
		    "\n%s  q ends, space %s, arrows go back and on, + and - change the speed "
		    "(%g)\n",
		    paused ? "PAUSED" : "", paused ? "goes on" : "holds it", speed);
}

static int play(struct run *r, const struct monitor_tape *t, struct screen *screen)
{
	struct term_style how = monitor_style(r);
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
		tape_page(t, monitor_tape_at(t, at), speed, paused, &how, &page);
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

static int show_tape(struct viewing *s, bool drawn)
{
	struct monitor_tape t;
	int code = -monitor_tape_read(&s->r->door, s->ask, &t);
	/* All lines, but of --once and of pages the last one alone. */
	size_t first = s->format && !s->ask->once ? 0 : t.n - 1;

	s->screen = !code && drawn ? screen_open() : NULL;
	if (s->screen) {
		code = play(s->r, &t, s->screen);
		screen_close(s->screen);
	} else {
		for (size_t i = first; i < t.n && !code; i++) {
			struct monitor_moment m;

			monitor_tape_show(&t, i, &m);
			print_moment(s->r, s->format, &m);
		}
	}
	monitor_tape_free(&t);
	return code;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int monitor_format(struct run *r, const struct verb_format **out)
{
	const struct monitor_ask *ask = r->ask;
	const char *name = r->print.format;
	const struct verb_format *f = monitor_verb.formats;

	/* In a pipe a program reads it. */
	name = name ? name : r->tty || ask->once ? "term" : "json";
	*out = NULL;
	if (strcmp(name, "term") == 0)
		return 0;
	while (strcmp(f->name, name) != 0)
		f++;
	*out = f;
	if (is_exposition(f) && ask->recording)
		return complain_text(EXIT_USAGE, "a recording is shown as term or json");
	if (is_exposition(f) && !ask->once)
		return complain_text(
			EXIT_USAGE,
			"--format %s goes with --once: a collector reads one exposition at a time",
			name);
	return 0;
}

bool monitor_draws(const struct run *r)
{
	const struct monitor_ask *ask = r->ask;
	const char *format = r->print.format;

	return r->verb == &monitor_verb && r->tty && isatty(STDIN_FILENO) && !ask->once &&
	       (!format || strcmp(format, "term") == 0);
}

int verb_monitor(struct run *r)
{
	struct viewing s = { .r = r, .ask = r->ask, .style = monitor_style(r) };
	int code = monitor_format(r, &s.format);

	if (code)
		return code;
	return s.ask->recording ? show_tape(&s, monitor_draws(r)) : look_on(&s, monitor_draws(r));
}
