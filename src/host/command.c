/* SPDX-License-Identifier: Apache-2.0 */
/* Running one program: its search path, environment, signals, time and output are ours. */
#include "host/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads until the end, the time limit or the size limit. 0, -ETIME or -EFBIG. */
static int collect(int fd, long long deadline, size_t max, struct text *out)
{
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left = deadline - now_ms();
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		ssize_t n;

		if (ready == 0)
			return -ETIME;
		/* Interrupted: a read would wait without a limit. */
		if (ready < 0 && errno == EINTR)
			continue;
		n = ready < 0 ? -1 : read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		if ((size_t)n > max - out->len)
			return -EFBIG;
		text_addn(out, buf, (size_t)n);
	}
}

/* A program may close its output and go on: the limit holds for its end too. */
static int await(pid_t pid, long long deadline, int *status)
{
	for (;;) {
		pid_t r = waitpid(pid, status, WNOHANG);

		if (r == pid)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (now_ms() >= deadline)
			return -ETIME;
		poll(NULL, 0, 1);
	}
}

static int attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r = posix_spawnattr_init(attr);

	if (r)
		return r;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	/* Its own group, so that the time limit reaches its children too. */
	posix_spawnattr_setpgroup(attr, 0);
	return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
}

static int redirect(posix_spawn_file_actions_t *actions, int output)
{
	int r = posix_spawn_file_actions_init(actions);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, output, 1);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
	return r;
}

/* posix_spawnp() would search this process's PATH, not the child's. */
static int start(char *const *argv, int output, pid_t *pid)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	char *const environment[] = { path, locale, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = redirect(&actions, output);

	if (r)
		return -r;
	r = attributes(&attr);
	if (r == 0)
		r = ENOENT;
	for (size_t i = 0; r == ENOENT && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char program[256];

		snprintf(program, sizeof(program), "%s/%s", dirs[i], argv[0]);
		r = posix_spawn(pid, program, &actions, &attr, argv, environment);
	}
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out)
{
	TEXT_AUTO text = { 0 };
	long long deadline = now_ms() + limit_ms;
	int fds[2], status = 0, r;
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, fds[1], &pid);
	close(fds[1]);
	if (r == 0 && pid > 0) {
		r = collect(fds[0], deadline, max, &text);
		if (r == 0)
			r = await(pid, deadline, &status);
		if (r) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
		} else {
			out->status =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			out->output = arena_strdup(a, text.s ? text.s : "");
		}
	}
	close(fds[0]);
	return r;
}
