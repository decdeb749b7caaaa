/* SPDX-License-Identifier: Apache-2.0 */
/* gputune monitor: the machine from moment to moment, on a screen or as lines for programs. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "front/verbs/monitor.h"
#include "base/clock.h"
#include "front/verbs/page.h"
#include "machine/write/write.h"
#include "tune/txn/txn.h"
#include "tune/watch/policy.h"

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

static bool is_exposition(enum format f)
{
	return f == FORMAT_PROM || f == FORMAT_OPENMETRICS;
}

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
		complain_text(EXIT_USAGE,
			      "--for takes a time from 100ms to 24h, like 30s, 10m or 2h, not "
			      "\"%s\"",
			      text);
		return false;
	}
	return true;
}

/* --- our settings --------------------------------------------------------------------------------
 */

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

/* --- rows ----------------------------------------------------------------------------------------
 */

static void look(struct viewing *s)
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

static void show(struct viewing *s, bool again)
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
	text_printf(&page,
		    "\n%s  q ends, space %s, + and - change how often; this costs %.2f %% "
		    "of a CPU\n",
		    s->paused ? "PAUSED" : "", s->paused ? "goes on" : "holds it", 100 * s->cost);
	screen_draw(s->screen, page.s, again);
}

static void tell(struct viewing *s)
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
		show(s, false);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	if (!s->line)
		s->line = monitor_line_make(&s->r->arena, &s->mon);
	monitor_line_add(s->line, &f, (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, &line);
	fwrite(line.s, 1, line.len, s->r->out);
	fflush(s->r->out);
}

/* --- the loop ------------------------------------------------------------------------------------
 */

static void key(struct viewing *s, char c)
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

static void round_of(struct viewing *s, double began_s, double cpu_s)
{
	if (clock_mono_ms() >= s->settings_due) {
		look_at_settings(s);
		s->settings_due = clock_mono_ms() + SETTINGS_MS;
	}
	if (!s->paused)
		look(s);
	/* Not at each look: the driver takes longer for it. */
	if (!s->paused && !is_exposition(s->format) && clock_mono_ms() >= s->users_due) {
		monitor_processes(&s->mon, s->h, &s->users);
		s->users_due = clock_mono_ms() + USERS_MS;
	}
	s->cost = (clock_cpu_s() - cpu_s) / fmax(clock_mono_s() - began_s, 1);
	if (!s->once || done_once(s))
		tell(s);
}

static int loop(struct viewing *s, struct waiter *w, long long for_ms)
{
	long long begin = clock_mono_ms(), due = begin, end = for_ms ? begin + for_ms : 0;
	double began_s = clock_mono_s(), cpu_s = clock_cpu_s();

	for (;;) {
		enum wake k;

		round_of(s, began_s, cpu_s);
		if (done_once(s) || ferror(s->r->out))
			return EXIT_CLEAN;
		due += s->interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		while ((k = waiter_until(w, end && end < due ? end : due)) != WAKE_TIME) {
			if (k == WAKE_STOP || (k == WAKE_KEY && w->key == 'q'))
				return EXIT_CLEAN;
			if (k == WAKE_KEY) {
				key(s, w->key);
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
	code = loop(s, &w, for_ms);
	waiter_close(&w);
	screen_close(s->screen);
	monitor_state_free(&s->state);
	return code;
}

static int format_of(struct run *r, enum format *out)
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
		return complain_text(EXIT_USAGE,
				     "--format %s goes with --once: a collector reads one "
				     "exposition at a time",
				     f);
	return 0;
}

int verb_monitor(struct run *r)
{
	struct viewing s = { .r = r, .style = monitor_style_of(r) };
	struct machine *m;
	long long for_ms;
	int code = format_of(r, &s.format);

	if (code || !monitor_interval(r, STANDARD_MS, &s.interval_ms) || !monitor_for(r, &for_ms))
		return EXIT_USAGE;
	if (for_ms && r->value[OPT_ONCE])
		return complain_text(EXIT_USAGE, "--once is one look: no --for");
	if (r->n_args && (for_ms || r->value[OPT_HOST] || r->value[OPT_INTERVAL]))
		return complain_text(EXIT_USAGE,
				     "%s is played as it was taken: no --host, "
				     "--interval or --for",
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

static sigset_t heard(void)
{
	struct sigaction hangup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCHLD);
	/* Somebody (nohup) may have said that a lost terminal must not end it. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	return set;
}

bool waiter_open(struct waiter *w, bool keys)
{
	sigset_t set = heard();

	*w = (struct waiter){ .keys = keys ? STDIN_FILENO : -1 };
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals >= 0;
}

void waiter_close(struct waiter *w)
{
	sigset_t set = heard();

	close(w->signals);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static enum wake take_signal(struct waiter *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return WAKE_TIME;
	w->signal = (int)info.ssi_signo;
	return info.ssi_signo == SIGWINCH  ? WAKE_SIZE
	       : info.ssi_signo == SIGCHLD ? WAKE_CHILD
					   : WAKE_STOP;
}

/* A byte that is there already: what a terminal sends for a key comes at once. */
static bool more(int fd, char *out)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, 0) == 1 && read(fd, out, 1) == 1;
}

/* Bytes of one key. */
enum { ESCAPE_MAX = 16 };

static enum wake take_key(struct waiter *w)
{
	char first = 0, c = 0;

	/* One key at a time: the next ones wait for their turn. */
	if (read(w->keys, &w->key, 1) != 1) {
		/* The other end is gone. */
		w->keys = -1;
		return WAKE_TIME;
	}
	if (w->key != '\033' || !more(w->keys, &first) || (first != '[' && first != 'O'))
		return WAKE_KEY;
	/* Numbers and semicolons, then the byte that says which key it was. */
	for (int n = 0; n < ESCAPE_MAX && more(w->keys, &c) && (c < 0x40 || c == '['); n++)
		;
	w->key = c == 'C' ? '>' : c == 'D' ? '<' : '\033';
	return WAKE_KEY;
}

enum wake waiter_until(struct waiter *w, long long end_ms)
{
	for (;;) {
		struct pollfd p[2] = { { w->signals, POLLIN, 0 }, { w->keys, POLLIN, 0 } };
		long long left = end_ms - clock_mono_ms();
		int n = poll(p, 2, left > 0 ? (int)(left < 3600000 ? left : 3600000) : 0);
		enum wake k;

		if (n < 0 && errno != EINTR)
			return WAKE_STOP;
		if (n > 0 && p[0].revents) {
			k = take_signal(w);
			if (k != WAKE_TIME)
				return k;
		}
		if (n > 0 && p[1].revents && take_key(w) == WAKE_KEY)
			return WAKE_KEY;
		if (clock_mono_ms() >= end_ms)
			return WAKE_TIME;
	}
}

/* A terminal that is drawn on line by line, only where something has changed. */

struct screen {
	struct termios before;
	char *drawn; /* text that stands there */
	int lines;
};

static void put(const char *s, size_t n)
{
	while (n) {
		ssize_t k = write(STDOUT_FILENO, s, n);

		if (k <= 0)
			return;
		s += k;
		n -= (size_t)k;
	}
}

void screen_size(int *columns, int *lines)
{
	struct winsize w;

	*columns = 80;
	*lines = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row) {
		*columns = w.ws_col;
		*lines = w.ws_row;
	}
}

struct screen *screen_open(void)
{
	static const char begin[] = "\033[?1049h\033[?25l\033[2J";
	struct screen *s;
	struct termios raw;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s || tcgetattr(STDIN_FILENO, &s->before)) {
		free(s);
		return NULL;
	}
	raw = s->before;
	/* Ctrl-C stays a signal. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	put(begin, sizeof(begin) - 1);
	return s;
}

static size_t line_of(const char *s)
{
	return strcspn(s, "\n");
}

void screen_draw(struct screen *s, const char *text, bool again)
{
	const char *old = s->drawn && !again ? s->drawn : "", *now = text;
	TEXT_AUTO out = { 0 };
	int columns, lines, at = 0;

	screen_size(&columns, &lines);
	if (lines != s->lines)
		old = "";
	again = again || lines != s->lines;
	if (again)
		text_add(&out, "\033[2J");
	s->lines = lines;
	/* A line of its own for each; beyond the last one nothing can be seen. */
	for (; (*now || *old) && at < lines; at++) {
		size_t n = line_of(now), k = line_of(old);

		if (again || n != k || strncmp(now, old, n) != 0 || !*old) {
			text_printf(&out, "\033[%d;1H", at + 1);
			text_addn(&out, now, n);
			text_add(&out, "\033[K");
		}
		now += n + (now[n] == '\n');
		old += k + (old[k] == '\n');
	}
	if (out.len)
		put(out.s, out.len);
	free(s->drawn);
	s->drawn = strdup(text);
}

void screen_close(struct screen *s)
{
	static const char end[] = "\033[?25h\033[?1049l";

	if (!s)
		return;
	put(end, sizeof(end) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	free(s->drawn);
	free(s);
}
