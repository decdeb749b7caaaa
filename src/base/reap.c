/* SPDX-License-Identifier: Apache-2.0 */
/* Waits by a descriptor of the child, where the kernel has such, and never without an end. */
#include "base/reap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { GRACE_MS = 2000 };

int reap_wait(pid_t pid, int limit_ms, int *status, struct rusage *used)
{
	/* Older kernels have no such descriptor: then it is looked for every millisecond. */
	int fd = limit_ms > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, r = 1;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long long until = clock_mono_ms() + limit_ms;

	while (r == 1) {
		pid_t got = wait4(pid, status, WNOHANG, used);
		long long left = until - clock_mono_ms();

		if (got == pid)
			r = 0;
		else if (got < 0 && errno != EINTR)
			r = -errno;
		else if (left <= 0)
			r = -ETIME;
		else
			poll(&p, fd >= 0, fd >= 0 ? (int)left : 1);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

bool reap_kill(pid_t pid, bool group, int *status, struct rusage *used)
{
	kill(group ? -pid : pid, SIGKILL);
	return reap_wait(pid, GRACE_MS, status, used) != -ETIME;
}
