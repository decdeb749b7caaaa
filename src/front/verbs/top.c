/* SPDX-License-Identifier: Apache-2.0 */
/* gputune top: what monitor shows, on a screen with keys; live, or a recording. */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/terminal.h"
#include "look/monitor/page_top.h"
#include "verbs/monitor.h"

static const struct ask_row top_ask_rows[] = {
	MONITOR_ASK_ROWS,
};

struct topping {
	struct run *r;
	struct monitor_looks looks; /* without a tape */
	struct monitor_tape *tape;  /* NULL: live */
	double at, speed;	    /* of the tape: ms, and how fast */
	struct screen *screen;
	struct term_style style;
	struct top_view view;
	double *busy; /* TOP_HISTORY of each GPU */
	struct recorder *out;
	const char *path;
	char said[120]; /* of the recording that is made; what to say of it */
	double recorded_s, began_s, cpu_s, recorded_cpu_s;
	unsigned long long rows;
	bool paused, typing, again;
};

static const struct monitor *plan_of(const struct topping *s)
{
	return s->tape ? &s->tape->rec.mon : &s->looks.mon;
}

/* The rows that end with this one; live, one is added. */
static void fill_history(struct topping *s, size_t row)
{
	const struct monitor *mon = plan_of(s);

	for (size_t g = 0; g < mon->machine.n_gpus; g++) {
		double *busy = s->busy + g * TOP_HISTORY;
		char target[24];
		long i;

		snprintf(target, sizeof(target), "gpu%u", mon->machine.gpus[g].index);
		i = monitor_find(mon, "gpu.busy", target);
		if (!s->tape) {
			memmove(busy, busy + 1, (TOP_HISTORY - 1) * sizeof(*busy));
			busy[TOP_HISTORY - 1] = i < 0 ? (double)NAN : s->looks.now[i];
			continue;
		}
		for (size_t k = 0; k < TOP_HISTORY; k++)
			busy[TOP_HISTORY - 1 - k] =
				i < 0 || k > row ? (double)NAN
						 : s->tape->values[(row - k) * mon->n + (size_t)i];
	}
}

/* --- recording -------------------------------------------------------------------------------- */

static void record_end(struct topping *s)
{
	struct recording_end end = { .whole = true,
				     .status = -1,
				     .cpu_s = clock_cpu_s() - s->recorded_cpu_s,
				     .command_cpu_s = -1,
				     .rows = s->rows };

	if (!s->out)
		return;
	snprintf(s->said, sizeof(s->said), "%s: %s", s->path,
		 recorder_close(s->out, &end) ? "could not be written completely" : "recorded");
	s->out = NULL;
}

static void record_row(struct topping *s)
{
	if (!s->out)
		return;
	s->rows++;
	if (recorder_row(s->out, (int64_t)(1e3 * (s->looks.now_s - s->recorded_s)), s->looks.now))
		record_end(s);
}

static void record_begin(struct topping *s)
{
	time_t now = time(NULL);
	struct err e = { 0 };

	s->path = door_save_path(&s->r->door, SAVED_RECORDINGS, ".rec", &e);
	if (s->path)
		s->out = recorder_open(s->path, &s->looks.mon, NULL, (long long)now,
				       s->looks.interval_ms, &e);
	s->recorded_s = s->looks.now_s;
	s->recorded_cpu_s = clock_cpu_s();
	s->rows = 0;
	snprintf(s->said, sizeof(s->said), s->out ? "records to %.110s" : "%.110s",
		 s->out ? s->path : e.text);
	record_row(s);
}

/* --- the page --------------------------------------------------------------------------------- */

/* "[=====>        ]": where in a recording. */
static void time_bar(const struct topping *s, struct text *out)
{
	double end = (double)s->tape->ms[s->tape->n - 1];
	int width = s->style.width > 60 ? 40 : 20,
	    at = end > 0 ? (int)(s->at / end * (width - 1)) : width - 1;

	text_addc(out, '[');
	for (int i = 0; i < width; i++)
		text_addc(out, i < at ? '=' : i == at ? '>' : ' ');
	text_printf(out, "] speed %g", s->speed);
}

static void foot(const struct topping *s, struct text *out)
{
	TEXT_AUTO line = { 0 };

	if (s->typing)
		text_printf(&line, "filter: %s_", s->view.filter);
	else if (s->paused)
		text_add(&line, "PAUSED ");
	if (s->tape)
		time_bar(s, &line);
	else if (*s->said)
		text_add(&line, s->said);
	else if (!s->typing)
		text_printf(&line, "gputune top uses %.2f %% of a CPU",
			    100 * (clock_cpu_s() - s->cpu_s) /
				    fmax(clock_mono_s() - s->began_s, 1));
	text_printf(out, "%.*s\n%.*s\n", s->style.width, line.s ? line.s : "", s->style.width,
		    "q quits, space pauses, s sort, / filter, n e f findings, r record, h help");
}

static void draw(struct topping *s)
{
	struct monitor_moment m;
	struct monitor_head head = { 0 };
	TEXT_AUTO page = { 0 };
	TEXT_AUTO below = { 0 };

	if (s->tape) {
		size_t row = monitor_tape_at(s->tape, s->at);

		monitor_tape_show(s->tape, row, &m);
		fill_history(s, row);
	} else {
		monitor_show(&s->looks, &m);
	}
	head = (struct monitor_head){ m.when, m.note, *m.bad ? m.bad : NULL };
	foot(s, &below);
	s->view.foot = below.s;
	s->view.busy = s->busy;
	top_page(&m.now, &m.first, &head, &s->style, &s->view, &page);
	screen_draw(s->screen, page.s, s->again);
	s->again = false;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void type_filter(struct topping *s, char c)
{
	size_t n = strlen(s->view.filter);

	s->typing = c != '\n' && c != '\r' && c != '\033';
	if (c == '\033')
		s->view.filter[0] = '\0';
	else if ((c == 127 || c == 8) && n)
		s->view.filter[n - 1] = '\0';
	else if (c > ' ' && c < 127 && n + 1 < sizeof(s->view.filter))
		s->view.filter[n] = c;
}

static void change_pace(struct topping *s, bool faster)
{
	static const int steps[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
	int ms = s->looks.interval_ms;

	if (s->tape) {
		s->speed = faster ? fmin(s->speed * 2, 64) : fmax(s->speed / 2, 0.125);
		return;
	}
	for (size_t i = 0; i < STEPS; i++) {
		int step = steps[faster ? STEPS - 1 - i : i];

		if (faster ? step < ms : step > ms) {
			s->looks.interval_ms = step;
			break;
		}
	}
	s->looks.settings_due = 0;
}

static void toggle(enum top_over *over, enum top_over to)
{
	*over = *over == to ? TOP_PAGE : to;
}

static void take_key(struct topping *s, char c)
{
	struct top_view *v = &s->view;
	double end = s->tape ? (double)s->tape->ms[s->tape->n - 1] : 0;

	s->said[0] = '\0';
	if (s->typing)
		type_filter(s, c);
	else if (c == ' ')
		s->paused = !s->paused;
	else if (c == '+' || c == '-')
		change_pace(s, c == '+');
	else if (c == 's')
		v->sort = (v->sort + 1) % TOP_SORTS;
	else if (c == '/')
		s->typing = true;
	else if (c == 'n')
		v->chosen++;
	else if (c == 'h' || c == '?')
		toggle(&v->over, TOP_HELP);
	else if (c == 'e')
		toggle(&v->over, TOP_EXPLAIN);
	else if (c == 'f')
		toggle(&v->over, TOP_FIX);
	else if (c == '\033')
		v->over = TOP_PAGE;
	else if (c == 'r' && !s->tape)
		(s->out ? record_end : record_begin)(s);
	s->at = fmin(fmax(s->at + (c == '>' ? 10000 : c == '<' ? -10000 : 0), 0), end);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void look(struct topping *s)
{
	if (s->paused)
		return;
	monitor_take(&s->looks, false);
	fill_history(s, 0);
	record_row(s);
}

/* Until it is told to end, or end_ms (0: never). */
static int top_loop(struct topping *s, struct waiter *w, long long end_ms)
{
	long long due = clock_mono_ms(), last = due;

	for (;;) {
		long long now = clock_mono_ms(), until;
		enum wake k;

		if (s->tape && !s->paused)
			s->at = fmin(s->at + s->speed * (double)(now - last),
				     (double)s->tape->ms[s->tape->n - 1]);
		last = now;
		if (!s->tape && now >= due) {
			look(s);
			due = due + s->looks.interval_ms > now ? due + s->looks.interval_ms : now;
		}
		draw(s);
		until = s->tape ? now + (s->paused ? 60000 : 100) : due;
		k = waiter_until(w, end_ms && end_ms < until ? end_ms : until);
		if (k == WAKE_STOP || (k == WAKE_KEY && w->key == 'q' && !s->typing) ||
		    w->keys < 0 || (end_ms && clock_mono_ms() >= end_ms))
			return EXIT_CLEAN;
		if (k == WAKE_KEY)
			take_key(s, w->key);
		if (k == WAKE_SIZE) {
			screen_size(&s->style.width, &s->view.lines);
			s->again = true;
		}
	}
}

static int top_show(struct topping *s, double for_s)
{
	size_t n = plan_of(s)->machine.n_gpus * TOP_HISTORY;
	struct waiter w;
	int code;

	s->busy = arena_array(&s->r->arena, n + 1, sizeof(*s->busy));
	for (size_t i = 0; i < n; i++)
		s->busy[i] = NAN;
	if (!waiter_open(&w, true))
		return complain_text(EXIT_BLIND, "no file descriptor left for signals");
	s->screen = screen_open();
	s->began_s = clock_mono_s();
	s->cpu_s = clock_cpu_s();
	screen_size(&s->style.width, &s->view.lines);
	code = top_loop(s, &w, for_s > 0 ? clock_mono_ms() + (long long)(1e3 * for_s) : 0);
	record_end(s);
	screen_close(s->screen);
	waiter_close(&w);
	if (*s->said)
		fprintf(stderr, "gputune: %s\n", s->said);
	return code;
}

bool top_draws(const struct run *r)
{
	return r->verb == &top_verb && r->tty && isatty(STDIN_FILENO);
}

static int verb_top(struct run *r)
{
	const struct monitor_ask *ask = r->ask;
	struct topping s = { .r = r, .style = run_style(r), .speed = 1 };
	struct monitor_tape tape;
	int code;

	if (!top_draws(r))
		return complain_text(EXIT_USAGE, "top needs a terminal; for a pipe there is "
						 "\"gputune monitor\"");
	if (ask->recording) {
		code = -monitor_tape_read(&r->door, ask, &tape);
		s.tape = &tape;
		code = code ? code : top_show(&s, 0);
		monitor_tape_free(&tape);
		return code;
	}
	code = -monitor_open(&r->door, ask, &s.looks);
	if (code)
		return code;
	code = top_show(&s, ask->for_s);
	monitor_close(&s.looks);
	return code;
}

SHAPE_GIVES(bool, top_plays, monitor_ask, x->recording != NULL)

const struct verb top_verb = {
	.name = "top",
	.group = VERB_LOOK,
	.summary = "live screen of GPUs, processes and findings, controlled by keyboard",
	.about = "Shows GPUs with history and why each is slowed down; links, processes, "
		 "containers, CPUs, memory, networks, disks, findings and drift. Key h lists the "
		 "keys. A RECORDING is replayed.",
	.words = "htop nvtop btop nvitop live stats stat",
	.examples = EXAMPLES({ "top", "the screen, until q" },
			     { "top job.rec", "replay a recording, with a time bar" }),
	.ask = ASK_OF(monitor_ask, NULL, top_ask_rows),
	.prints = PRINTS_PAGE,
	.run = verb_top,
	.reads = READS_FILES,
	.reads_now = top_plays,
};
