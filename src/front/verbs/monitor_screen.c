/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal that is drawn on line by line, only where something has changed. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "front/verbs/monitor.h"

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
