/* SPDX-License-Identifier: Apache-2.0 */
/* What monitor, record and diagnose --attach share: waiting for time, keys and signals, and a
 * screen. */
#include <string.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "front/terminal.h"
#include "base/clock.h"

static sigset_t handled_signals(void)
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
	sigset_t set = handled_signals();

	*w = (struct waiter){ .keys = keys ? STDIN_FILENO : -1 };
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals >= 0;
}

void waiter_close(struct waiter *w)
{
	sigset_t set = handled_signals();

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

struct screen {
	struct termios before;
	char *drawn; /* text that stands there */
	int lines;
};

static void terminal_put(const char *s, size_t n)
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
	terminal_put(begin, sizeof(begin) - 1);
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
		terminal_put(out.s, out.len);
	free(s->drawn);
	s->drawn = strdup(text);
}

void screen_close(struct screen *s)
{
	static const char end[] = "\033[?25h\033[?1049l";

	if (!s)
		return;
	terminal_put(end, sizeof(end) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	free(s->drawn);
	free(s);
}
