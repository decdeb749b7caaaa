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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum { LOOK_MS = 50, FACTOR = 2 };

/* A program under way. */
struct child {
	pid_t pid;
	int out, err; /* -1: at its end */
	double begin; /* seconds, monotonic */
	long long deadline;
	size_t max;
	bool tail; /* more than max bytes of output are cut at their beginning; else they are too
		      much */
	const atomic_bool *stop;
	struct text text, errors;
};

/* Keeps the last max bytes, when twice as many have come together. */
static void cut_head(struct text *t, size_t max)
{
	if (t->len < FACTOR * max)
		return;
	memmove(t->s, t->s + t->len - max, max);
	t->s[max] = '\0';
	t->len = max;
}

/* Takes what one of the two pipes holds; what does not fit of its errors is dropped. 1 at the end
 * of the pipe, 0, -EFBIG or another negative errno. */
static int take(struct child *c, bool errors)
{
	struct text *t = errors ? &c->errors : &c->text;
	char buf[4096];
	ssize_t n = read(errors ? c->err : c->out, buf, sizeof(buf));
	size_t room;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!errors && c->tail) {
		text_addn(t, buf, (size_t)n);
		cut_head(t, c->max);
		return n == 0;
	}
	room = (errors ? COMMAND_ERRORS_MAX : c->max) - t->len;
	if ((size_t)n > room && !errors)
		return -EFBIG;
	text_addn(t, buf, (size_t)n > room ? room : (size_t)n);
	return n == 0;
}

/* How long one wait may be; 0 when there is no more time. Who can be stopped looks now and then. */
static int slice(const struct child *c)
{
	long long left = c->deadline - clock_mono_ms();

	if (left <= 0)
		return 0;
	return c->stop && left > LOOK_MS ? LOOK_MS : (int)left;
}

static bool stopped(const struct child *c)
{
	return c->stop && atomic_load(c->stop);
}

/* Reads both pipes until their end, the time limit or the size limit. 0, -EINTR, -ETIME or
 * -EFBIG. */
static int collect(struct child *c)
{
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd p[2] = { { .fd = c->out, .events = POLLIN },
				       { .fd = c->err, .events = POLLIN } };
		int left = slice(c), ready = left > 0 ? poll(p, 2, left) : 0;

		if (stopped(c))
			return -EINTR;
		if (ready == 0 && slice(c) == 0)
			return -ETIME;
		/* Interrupted: a read would wait without a limit. */
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			int r = p[i].fd >= 0 && p[i].revents ? take(c, i) : 0;

			if (r < 0)
				return r;
			if (r)
				*(i ? &c->err : &c->out) = -1;
		}
	}
	return 0;
}

/* A program may close its output and go on: the limit holds for its end too. */
static int await(const struct child *c, int *status)
{
	/* Older kernels have no such descriptor: then it is looked for every millisecond. */
	int fd = (int)syscall(SYS_pidfd_open, c->pid, 0), result;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		pid_t r = waitpid(c->pid, status, WNOHANG);

		result = r == c->pid ? 0 : r < 0 && errno != EINTR ? -errno : 1;
		if (result == 1 && stopped(c))
			result = -EINTR;
		if (result == 1 && slice(c) == 0)
			result = -ETIME;
		if (result != 1)
			break;
		poll(&p, fd >= 0, fd >= 0 ? slice(c) : 1);
	}
	if (fd >= 0)
		close(fd);
	return result;
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
static int spawn_found(char *const *argv, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, pid_t *pid)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	char *const environment[] = { path, locale, NULL };
	int r = ENOENT;

	for (size_t i = 0; r == ENOENT && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char program[256];

		snprintf(program, sizeof(program), "%s/%s", dirs[i], argv[0]);
		/* Asked first: where vfork is a plain fork, posix_spawn does not tell a missing
		 * file. */
		if (access(program, X_OK) < 0) {
			r = ENOENT;
			continue;
		}
		r = posix_spawn(pid, program, actions, attr, argv, environment);
	}
	return r;
}

static int start(char *const *argv, int output, int errors, bool own, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = redirect(&actions, output, errors);

	if (r)
		return -r;
	r = attributes(&attr);
	if (r == 0)
		r = own ? posix_spawnp(pid, argv[0], &actions, &attr, argv, environ)
			: spawn_found(argv, &actions, &attr, pid);
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

/* Until it ends by itself or has to. */
static int attend(struct arena *a, struct child *c, struct command_result *out)
{
	int status = 0, r = collect(c);

	if (r == 0)
		r = await(c, &status);
	if (r) {
		kill(-c->pid, SIGKILL);
		while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
			;
		return r;
	}
	out->seconds = clock_mono_s() - c->begin;
	out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (c->tail && c->text.len > c->max) {
		memmove(c->text.s, c->text.s + c->text.len - c->max, c->max + 1);
		c->text.len = c->max;
	}
	out->output = arena_strdup(a, c->text.s ? c->text.s : "");
	out->errors = arena_strdup(a, c->errors.s ? c->errors.s : "");
	return 0;
}

static int run(struct arena *a, char *const *argv, const struct command_own *how, bool own,
	       struct command_result *out)
{
	struct child c = { .pid = -1,
			   .max = how->max,
			   .tail = own,
			   .stop = how->stop,
			   .begin = clock_mono_s(),
			   .deadline = clock_mono_ms() + how->limit_ms };
	int o[2], e[2], r = open_pipes(o, e);

	if (r)
		return r;
	r = start(argv, o[1], e[1], own, &c.pid);
	close(o[1]);
	close(e[1]);
	c.out = o[0];
	c.err = e[0];
	if (r == 0 && c.pid > 0)
		r = attend(a, &c, out);
	close(o[0]);
	close(e[0]);
	text_free(&c.text);
	text_free(&c.errors);
	return r;
}

int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out)
{
	return run(a, argv, &(struct command_own){ .limit_ms = limit_ms, .max = max }, false, out);
}

int command_run_own(struct arena *a, char *const *argv, const struct command_own *how,
		    struct command_result *out)
{
	return run(a, argv, how, true, out);
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
