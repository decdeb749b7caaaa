/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the next moment, a key, or a signal. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/verbs/monitor.h"

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
