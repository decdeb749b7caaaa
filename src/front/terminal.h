/* SPDX-License-Identifier: Apache-2.0 */
/* What monitor, top and record share: waiting, and a screen. */
#ifndef FRONT_TERMINAL_H
#define FRONT_TERMINAL_H

#include "front/session.h"
#include "look/monitor/page_monitor.h"

/* --- waiting ---------------------------------------------------------------------------------- */

enum wake {
	WAKE_TIME,
	WAKE_KEY,
	WAKE_STOP, /* Ctrl-C, SIGTERM, a lost terminal */
	WAKE_SIZE, /* of the terminal */
	WAKE_CHILD,
};

struct waiter {
	int signals, keys; /* descriptors; keys -1: none are read */
	char key;	   /* the last one; arrows are '<' and '>' */
	int signal;	   /* the last one */
};

/* From here on these signals come by waiter_until alone. keys: read single ones from standard
 * input. False: no descriptor is to be had. */
bool waiter_open(struct waiter *w, bool keys);
/* Until clock_mono_ms() is end_ms, or something comes. */
enum wake waiter_until(struct waiter *w, long long end_ms);
void waiter_close(struct waiter *w);

/* --- the screen ------------------------------------------------------------------------------- */

struct screen;

/* Takes the terminal over: alternate screen, single keys. NULL when standard input or output is
 * none. */
struct screen *screen_open(void);
/* Draws the lines of text that differ from those that stand there. again: all of them. */
void screen_draw(struct screen *s, const char *text, bool again);
/* Columns and lines as they are now. */
void screen_size(int *columns, int *lines);
/* Gives it back as it was. */
void screen_close(struct screen *s);

/* Whether it is top, and takes the terminal over. */
bool top_draws(const struct run *r);

#endif
