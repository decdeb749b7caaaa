/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few programs whose answers nothing else gives. Object: the command line, which must be one of
 * the list below; it is run by argument vector, never by a shell, with a fixed PATH, no input and a
 * time limit.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "host/ask.h"

enum { WORDS = 8, LIMIT_MS = 5000, OUTPUT_MAX = 256 * 1024 };

static char *const commands[][WORDS] = {
	{ "nvidia-smi", "boost-slider", "-l", NULL },
	{ "zpool", "get", "-Hp", "-o", "name,value", "autotrim", NULL },
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

struct ran {
	bool done;
	int error;  /* negative errno: it could not be run */
	int status; /* exit status, or 128 + signal */
	const char *output;
};

struct exec_state {
	struct ran ran[COMMANDS];
};

static bool is_command(char *const *argv, const char *line)
{
	for (; *argv; argv++) {
		size_t n = strlen(*argv);

		if (strncmp(line, *argv, n) != 0 || line[n] != (argv[1] ? ' ' : '\0'))
			return false;
		line += n + (argv[1] ? 1 : 0);
	}
	return true;
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads until the end, the time limit or the size limit. 0, -ETIME or -EFBIG. */
static int collect(int fd, struct text *out)
{
	long long deadline = now_ms() + LIMIT_MS;
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left = deadline - now_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -ETIME;
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		if (out->len + (size_t)n > OUTPUT_MAX)
			return -EFBIG;
		text_addn(out, buf, (size_t)n);
	}
}

static int start(char *const *argv, int output, pid_t *pid)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	char *const environment[] = { path, locale, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	/* Its own group, so that the time limit reaches its children too. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attr, 0);
	r = posix_spawnp(pid, argv[0], &actions, &attr, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

static void run(struct arena *a, char *const *argv, struct ran *ran)
{
	TEXT_AUTO out = { 0 };
	int fds[2], status = 0;
	pid_t pid;

	ran->done = true;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		ran->error = -errno;
		return;
	}
	ran->error = start(argv, fds[1], &pid);
	close(fds[1]);
	if (ran->error == 0) {
		ran->error = collect(fds[0], &out);
		if (ran->error)
			kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		ran->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		ran->output = arena_strdup(a, out.s ? out.s : "");
	}
	close(fds[0]);
}

static int exec_ask(void **state, struct arena *a, const char *object, const char *field,
		    struct answer *out)
{
	struct exec_state *s = *state;
	size_t i = 0;

	while (i < COMMANDS && !is_command(commands[i], object))
		i++;
	if (i == COMMANDS)
		return -EPERM;
	if (!s) {
		s = *state = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
	}
	if (!s->ran[i].done)
		run(a, commands[i], &s->ran[i]);
	if (s->ran[i].error)
		return s->ran[i].error;
	if (strcmp(field, "status") == 0)
		answer_int(out, s->ran[i].status);
	else if (strcmp(field, "stdout") == 0)
		answer_text(out, s->ran[i].output);
	else
		return -EINVAL;
	return 0;
}

const struct provider provider_exec = { .api = "exec", .ask = exec_ask, .close = free };
