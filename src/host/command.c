/* SPDX-License-Identifier: Apache-2.0 */
/* Running one program: its search path, environment, signals, time and output are ours. */
#include "host/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

/* Takes what one of the two pipes holds; what does not fit of its errors is dropped. 1 at the end
 * of the pipe, 0, -EFBIG or another negative errno. */
static int take(int fd, size_t max, bool cut, struct text *out)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));
	size_t room = max - out->len;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if ((size_t)n > room && !cut)
		return -EFBIG;
	text_addn(out, buf, (size_t)n > room ? room : (size_t)n);
	return n == 0;
}

/* Reads both pipes until their end, the time limit or the size limit. 0, -ETIME or -EFBIG. */
static int collect(const int *fds, long long deadline, size_t max, struct text *out)
{
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN },
			       { .fd = fds[1], .events = POLLIN } };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		long long left = deadline - clock_mono_ms();
		int ready = left > 0 ? poll(p, 2, (int)left) : 0;

		if (ready == 0)
			return -ETIME;
		/* Interrupted: a read would wait without a limit. */
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			int r = p[i].fd >= 0 && p[i].revents
					? take(p[i].fd, i ? COMMAND_ERRORS_MAX : max, i, &out[i])
					: 0;

			if (r < 0)
				return r;
			if (r)
				p[i].fd = -1;
		}
	}
	return 0;
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
		if (clock_mono_ms() >= deadline)
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

static int redirect(posix_spawn_file_actions_t *actions, int output, int errors)
{
	int r = posix_spawn_file_actions_init(actions);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, output, 1);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, errors, 2);
	return r;
}

/* posix_spawnp() would search this process's PATH, not the child's. */
static int start(char *const *argv, int output, int errors, pid_t *pid)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	char *const environment[] = { path, locale, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = redirect(&actions, output, errors);

	if (r)
		return -r;
	r = attributes(&attr);
	if (r == 0)
		r = ENOENT;
	for (size_t i = 0; r == ENOENT && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char program[256];

		snprintf(program, sizeof(program), "%s/%s", dirs[i], argv[0]);
		/* Asked first: where vfork is a plain fork, posix_spawn does not tell a missing
		 * file. */
		if (access(program, X_OK) < 0) {
			r = ENOENT;
			continue;
		}
		r = posix_spawn(pid, program, &actions, &attr, argv, environment);
	}
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

/* Both pipes or none. */
static int open_pipes(int out[2], int err[2])
{
	int r = pipe2(out, O_CLOEXEC) < 0 ? -errno : 0;

	if (r)
		return r;
	if (pipe2(err, O_CLOEXEC) == 0)
		return 0;
	r = -errno;
	close(out[0]);
	close(out[1]);
	return r;
}

int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out)
{
	struct text text[2] = { { 0 } };
	long long deadline = clock_mono_ms() + limit_ms;
	int o[2], e[2], status = 0, r = open_pipes(o, e);
	pid_t pid = -1;

	if (r)
		return r;
	r = start(argv, o[1], e[1], &pid);
	close(o[1]);
	close(e[1]);
	if (r == 0 && pid > 0) {
		r = collect((const int[]){ o[0], e[0] }, deadline, max, text);
		if (r == 0)
			r = await(pid, deadline, &status);
		if (r) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
		} else {
			out->status =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			out->output = arena_strdup(a, text[0].s ? text[0].s : "");
			out->errors = arena_strdup(a, text[1].s ? text[1].s : "");
		}
	}
	close(o[0]);
	close(e[0]);
	text_free(&text[0]);
	text_free(&text[1]);
	return r;
}

int command_errno(const struct command_result *r)
{
	/* Words of systemctl, zpool and nvidia-smi, in the C locale. */
	static const struct {
		const char *word;
		int error;
	} said[] = {
		{ "ermission", EACCES },
		{ "Access denied", EACCES },
		{ "must be root", EACCES },
		{ "uthentication", EACCES },
		{ "ead-only", EPERM },
		{ "No devices were found", ENODEV },
		{ "not been booted", EOPNOTSUPP },
		{ "Failed to connect to bus", EOPNOTSUPP },
		{ "not supported", EOPNOTSUPP },
		{ "Not Supported", EOPNOTSUPP },
		{ "does not exist", ENOENT },
		{ "no such pool", ENOENT },
		{ "not found", ENOENT },
		{ "not loaded", ENOENT },
		{ "already exists", EEXIST },
		{ "is masked", EBUSY },
		{ "in use", EBUSY },
		{ "invalid property", EOPNOTSUPP },
		{ "out of range", EINVAL },
		{ "must be", EINVAL },
	};

	if (r->status == 0)
		return 0;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (strstr(r->errors, said[i].word) || strstr(r->output, said[i].word))
			return -said[i].error;
	return -EIO;
}

int command_say(struct arena *a, char *const *argv, int limit_ms, size_t max, const char **output)
{
	struct command_result result = { 0 };
	int r = command_run(a, argv, limit_ms, max, &result);

	if (r == 0)
		r = command_errno(&result);
	if (r == 0 && output)
		*output = result.output;
	return r;
}
