/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the next moment, a key, or a signal. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/monitor.h"

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

static enum wake take_key(struct waiter *w)
{
	char c[8];
	ssize_t n = read(w->keys, c, sizeof(c));

	if (n <= 0) {
		/* The other end is gone. */
		w->keys = -1;
		return WAKE_TIME;
	}
	w->key = c[0];
	if (n >= 3 && c[0] == '\033' && (c[1] == '[' || c[1] == 'O'))
		w->key = c[2] == 'C' ? '>' : c[2] == 'D' ? '<' : '\033';
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
