/* SPDX-License-Identifier: Apache-2.0 */
/* One child at a time, waited for. No shell, and a PATH that no caller can bend. */
#include "stack/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define FIXED_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const char *program_find(const char *name, char *buf, size_t cap)
{
	const char *p = FIXED_PATH;

	if (*name == '/')
		return access(name, X_OK) == 0 ? name : NULL;
	if (strchr(name, '/'))
		return NULL;
	while (*p) {
		size_t n = strcspn(p, ":");

		snprintf(buf, cap, "%.*s/%s", (int)n, p, name);
		if (access(buf, X_OK) == 0)
			return buf;
		p += n + (p[n] == ':');
	}
	return NULL;
}

static void child(const struct program *p, const char *path)
{
	static char fixed[] = "PATH=" FIXED_PATH, locale[] = "LC_ALL=C";
	char home[4096] = "HOME=/";
	char *plain[] = { fixed, locale, home, NULL };
	int in = open(p->input ? p->input : "/dev/null", O_RDONLY | O_CLOEXEC);

	if (getenv("HOME"))
		snprintf(home, sizeof(home), "HOME=%s", getenv("HOME"));
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || (p->dir && chdir(p->dir)))
		_exit(126);
	if (p->output >= 0) {
		dup2(p->output, STDOUT_FILENO);
		dup2(p->output, STDERR_FILENO);
	}
	execve(path, p->argv, p->env ? p->env : plain);
	_exit(127);
}

/* Looks now and then where there is a limit: builds take minutes, a tenth of a second is nothing.
 */
static int wait_for(pid_t pid, const struct program *p, struct err *e)
{
	long long until = p->limit_s ? clock_mono_ms() + p->limit_s * 1000ll : 0;
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, until ? WNOHANG : 0)) <= 0) {
		if (got < 0 && errno != EINTR)
			return err_set(e, -errno, "%s: %s", p->argv[0], strerror(errno));
		if (got < 0 || !until)
			continue;
		if (clock_mono_ms() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return err_set(e, -ETIME, "%s was ended after %d s", p->argv[0],
				       p->limit_s);
		}
		usleep(20000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int program_run(const struct program *p, struct err *e)
{
	char buf[4096];
	const char *path = program_find(p->argv[0], buf, sizeof(buf));
	pid_t pid;

	if (!path) {
		err_set(e, -ENOENT, "there is no program %.200s here", p->argv[0]);
		return -ENOENT;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_set(e, -errno, "%s cannot be started: %s", p->argv[0], strerror(errno));
	if (pid == 0)
		child(p, path);
	return wait_for(pid, p, e);
}
