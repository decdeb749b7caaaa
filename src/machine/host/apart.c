/* SPDX-License-Identifier: Apache-2.0 */
/* A child that works, answers through a pipe, and ends without tidying up. */
#include "machine/host/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "machine/host/command.h"

static long long time_us(const struct timeval *t)
{
	return (long long)t->tv_sec * 1000000 + t->tv_usec;
}

/* Never returns. Its parent's end is its own. */
static void apart_child(void (*work)(void *ctx, struct text *reply), void *ctx, int fd,
			pid_t parent)
{
	struct text reply = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	work(ctx, &reply);
	_exit(reply.len <= APART_MAX && fd_write_all(fd, reply.s, reply.len) == 0 ? 0 : 1);
}

/* Until the end of what it says. 0, -ETIME or -EIO. */
static int take_reply(int fd, int limit_ms, struct text *reply)
{
	long long until = clock_mono_ms() + limit_ms;
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left = until - clock_mono_ms();
		ssize_t n;
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (ready == 0)
			return -ETIME;
		/* Not told that there is something: a read would wait without a limit. */
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return -EIO;
		n = read(fd, buf, sizeof(buf));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -EIO;
		if (n > 0)
			text_addn(reply, buf, (size_t)n);
		if (reply->len > APART_MAX)
			return -EIO;
	}
}

int apart_run(void (*work)(void *ctx, struct text *reply), void *ctx, int limit_ms,
	      struct text *reply, pid_t *stuck, long long *cpu_us)
{
	struct rusage used = { 0 };
	pid_t parent = getpid(), pid, left = 0;
	int ends[2], status = 0, r;

	stuck = stuck ? stuck : &left;
	if (*stuck && reap_wait(*stuck, 0, &status, NULL) == -ETIME)
		return -ETIME;
	*stuck = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -EIO;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		apart_child(work, ctx, ends[1], parent);
	}
	close(ends[1]);
	r = pid < 0 ? -EIO : take_reply(ends[0], limit_ms, reply);
	close(ends[0]);
	if (pid > 0 && r == 0)
		r = reap_wait(pid, limit_ms, &status, &used);
	if (pid > 0 && r && !reap_kill(pid, false, &status, &used))
		*stuck = pid;
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		r = -EIO;
	if (cpu_us)
		*cpu_us = time_us(&used.ru_utime) + time_us(&used.ru_stime);
	if (r)
		text_clear(reply);
	return r;
}
