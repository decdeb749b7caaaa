/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor, until it is told to end: pages, or lines for programs. */
#include "verbs/monitor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "front/terminal.h"
#include "machine/host/post.h"

enum { POST_MS = 5000 };

struct viewing {
	struct run *r;
	const struct monitor_ask *ask;
	struct monitor_looks looks;
	const struct verb_format *format; /* NULL: pages */
	bool once;
	int code; /* of what was posted last */
};

static struct term_style monitor_style(const struct run *r)
{
	struct term_style how = run_style(r);

	return (struct term_style){ how.width ? how.width : 80, how.colour, how.ascii };
}

static bool is_exposition(const struct verb_format *f)
{
	return f && strcmp(f->name, "json") != 0 && strcmp(f->name, "otlp") != 0;
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

	if (f && (r->print.compact || r->print.fields || r->print.budget || r->print.top)) {
		if (run_add_json(r, monitor_verb.json(m), true, &page) == 0)
			fputs(page.s, r->out);
	} else if (f) {
		f->write(r->out, r->ask, m, EXIT_CLEAN);
	} else {
		make_page(m, &how, &page);
		fputs(page.s, r->out);
	}
	fflush(r->out);
}

/* A collector that is away misses a look, and is asked again at the next. */
static int send_moment(const struct viewing *s, const struct monitor_moment *m)
{
	TEXT_AUTO line = { 0 };
	struct err e = { 0 };

	monitor_otlp(&line, &m->now, m->time_ms);
	if (post_json(s->ask->otlp, getenv("OTEL_EXPORTER_OTLP_HEADERS"), line.s, line.len, POST_MS,
		      &e))
		return complain(EXIT_BLIND, &e);
	return EXIT_CLEAN;
}

/* --- this machine ----------------------------------------------------------------------------- */

static void show(struct viewing *s)
{
	struct monitor_moment m;

	monitor_show(&s->looks, &m);
	if (s->ask->otlp)
		s->code = send_moment(s, &m);
	else
		print_moment(s->r, s->format, &m);
}

/* Rates need a second look; an exposition has none. */
static bool done_once(const struct viewing *s)
{
	return s->once &&
	       (s->looks.rows > 1 || is_exposition(s->format) || s->looks.h->id.captured);
}

static int monitor_loop(struct viewing *s, struct waiter *w)
{
	long long due = clock_mono_ms(),
		  end = s->ask->for_s > 0 ? due + (long long)(1e3 * s->ask->for_s) : 0;

	for (;;) {
		enum wake k;

		monitor_take(&s->looks, s->once && s->looks.rows == 1);
		if (!s->once || done_once(s))
			show(s);
		if (done_once(s) || ferror(s->r->out) || s->r->refused)
			return s->r->refused ? EXIT_USAGE : EXIT_CLEAN;
		due += s->looks.interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		while ((k = waiter_until(w, end && end < due ? end : due)) != WAKE_TIME)
			if (k == WAKE_STOP)
				return EXIT_CLEAN;
		if (end && clock_mono_ms() >= end)
			return EXIT_CLEAN;
	}
}

static int look_on(struct viewing *s)
{
	struct waiter w;
	int code = monitor_open(&s->r->door, s->ask, &s->looks);

	if (code)
		return -code;
	s->once = s->ask->once || s->looks.h->id.captured;
	s->looks.alone = is_exposition(s->format);
	if (waiter_open(&w, false)) {
		code = monitor_loop(s, &w);
		waiter_close(&w);
	} else {
		code = complain_text(EXIT_BLIND, "no file descriptor left for signals");
	}
	monitor_close(&s->looks);
	return code ? code : s->code;
}

/* --- a recording ------------------------------------------------------------------------------ */

static int show_tape(struct viewing *s)
{
	struct monitor_tape t;
	int code = -monitor_tape_read(&s->r->door, s->ask, &t);

	/* All lines, but of --once and of pages the last one alone. */
	for (size_t i = s->format && !s->ask->once ? 0 : t.n - 1; i < t.n && !code; i++) {
		struct monitor_moment m;

		monitor_tape_show(&t, i, &m);
		print_moment(s->r, s->format, &m);
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
	if (ask->otlp && (ask->recording || r->print.format))
		return complain_text(EXIT_USAGE, "--otlp posts live samples: a recording or "
						 "--format cannot be combined with it");
	if (strcmp(name, "term") == 0)
		return 0;
	while (strcmp(f->name, name) != 0)
		f++;
	*out = f;
	if (is_exposition(f) && ask->recording)
		return complain_text(EXIT_USAGE, "a recording requires --format term or json");
	if (is_exposition(f) && !ask->once)
		return complain_text(
			EXIT_USAGE,
			"--format %s requires --once: a collector reads one exposition at a time",
			name);
	return 0;
}

int verb_monitor(struct run *r)
{
	struct viewing s = { .r = r, .ask = r->ask };
	int code = monitor_format(r, &s.format);

	if (code)
		return code;
	return s.ask->recording ? show_tape(&s) : look_on(&s);
}
