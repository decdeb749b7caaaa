/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a command that has our terminal, and its end. Knows nothing of what it is started for.
 */
#include "front/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who is not in the foreground may set it only while this signal is ignored. */
static void keyboard_to(pid_t group)
{
	void (*before)(int) = signal(SIGTTOU, SIG_IGN);

	if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) >= 0)
		(void)!tcsetpgrp(STDIN_FILENO, group);
	signal(SIGTTOU, before);
}

/* Waits until the parent has placed this process; ends where the parent is gone. */
static void child_waits(const int hold[2])
{
	char go;

	close(hold[1]);
	if (read(hold[0], &go, 1) != 1)
		_exit(JOB_NOT_RUN);
}

static void child(char **argv, const struct job_how *how, const int hold[2], int report)
{
	sigset_t none;
	int error;

	if (how->own_group && setpgid(0, 0) == 0)
		keyboard_to(getpid());
	if (how->place)
		child_waits(hold);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	error = errno;
	_exit(write(report, &error, sizeof(error)) == (ssize_t)sizeof(error) && error == ENOENT
		      ? JOB_NOT_FOUND
		      : JOB_NOT_RUN);
}

/* Puts the child that waits into its place, and lets it go. */
static void job_place(const struct job *j, const struct job_how *how, const int hold[2])
{
	if (how->place && j->pid > 0) {
		how->place(how->ctx, j->pid);
		/* Our own end stays open: where it was killed meanwhile, there still is a reader.
		 */
		(void)!write(hold[1], "", 1);
	}
	close(hold[0]);
	close(hold[1]);
}

int job_start(struct job *j, char **argv, const struct job_how *how, struct err *e)
{
	int fds[2], hold[2], error = 0;

	if (pipe2(fds, O_CLOEXEC))
		return err_set(e, -errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(hold, O_CLOEXEC)) {
		error = errno;
		close(fds[0]);
		close(fds[1]);
		return err_set(e, -error, "cannot create a pipe: %s", strerror(error));
	}
	*j = (struct job){ .group = how->own_group, .pid = fork() };
	if (j->pid == 0)
		child(argv, how, hold, fds[1]);
	close(fds[1]);
	job_place(j, how, hold);
	if (j->pid < 0) {
		close(fds[0]);
		return err_set(e, -errno, "cannot create a process: %s", strerror(errno));
	}
	if (read(fds[0], &error, sizeof(error)) == (ssize_t)sizeof(error) && error) {
		waitpid(j->pid, NULL, 0);
		job_over(j);
		j->pid = 0;
		err_set(e, -error, "cannot run %s: %s", argv[0], strerror(error));
	}
	close(fds[0]);
	return -error;
}

void job_reap(struct job *j)
{
	struct rusage u;
	int status;

	if (!j->pid || j->ended || wait4(j->pid, &status, WNOHANG, &u) != j->pid)
		return;
	j->ended = true;
	j->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	j->cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		   (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void job_signal(const struct job *j, int signal)
{
	if (j->pid)
		kill(j->group ? -j->pid : j->pid, signal);
}

void job_over(const struct job *j)
{
	if (j->group)
		keyboard_to(getpgrp());
}
