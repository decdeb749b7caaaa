/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a run, taken by a thread and kept as a flag. */
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "front/verbs/cluster.h"

static void *watch(void *state)
{
	struct cluster_stop *s = state;

	for (;;) {
		struct pollfd p[2] = { { .fd = s->signals, .events = POLLIN },
				       { .fd = s->wake[0], .events = POLLIN } };
		struct signalfd_siginfo info;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return NULL;
		if (p[0].revents && read(s->signals, &info, sizeof(info)) == sizeof(info))
			atomic_store(&s->stop, true);
	}
}

void cluster_stop_begin(struct cluster_stop *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (pipe2(s->wake, O_CLOEXEC))
		return;
	pthread_sigmask(SIG_BLOCK, &set, &s->before);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->begun = s->signals >= 0 && pthread_create(&s->thread, NULL, watch, s) == 0;
	if (s->begun)
		return;
	/* Without it signals do what they always do. */
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	if (s->signals >= 0)
		close(s->signals);
	close(s->wake[0]);
	close(s->wake[1]);
}

void cluster_stop_end(struct cluster_stop *s)
{
	if (!s->begun)
		return;
	s->begun = false;
	close(s->wake[1]);
	pthread_join(s->thread, NULL);
	close(s->wake[0]);
	close(s->signals);
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
