/* SPDX-License-Identifier: Apache-2.0 */
/* Other ranks of this machine as processes of their own: this program again, each told its rank. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reap.h"
#include "measure/bench/ranks.h"

extern char **environ;

enum { VARIABLES = 5, VARIABLE_MAX = 128 };

/* The environment of rank i: ours, with what tells a process its rank put before it. */
struct told {
	char text[VARIABLES][VARIABLE_MAX];
	char **all;
};

static int tell(struct told *t, unsigned rank, unsigned ranks, const char *job)
{
	size_t n = 0, k = VARIABLES;

	while (environ && environ[n])
		n++;
	t->all = calloc(n + VARIABLES + 1, sizeof(*t->all));
	if (!t->all)
		return -ENOMEM;
	snprintf(t->text[0], VARIABLE_MAX, "GPUTUNE_RANK=%u", rank);
	snprintf(t->text[1], VARIABLE_MAX, "GPUTUNE_RANKS=%u", ranks);
	snprintf(t->text[2], VARIABLE_MAX, "GPUTUNE_LOCAL_RANK=%u", rank);
	snprintf(t->text[3], VARIABLE_MAX, "GPUTUNE_LOCAL_RANKS=%u", ranks);
	snprintf(t->text[4], VARIABLE_MAX, "GPUTUNE_JOB=%s", job);
	for (size_t i = 0; i < VARIABLES; i++)
		t->all[i] = t->text[i];
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "GPUTUNE_RANK", 12) != 0 &&
		    strncmp(environ[i], "GPUTUNE_LOCAL_RANK", 18) != 0 &&
		    strncmp(environ[i], "GPUTUNE_JOB=", 12) != 0)
			t->all[k++] = environ[i];
	return 0;
}

/* Only what may be called between fork and exec in a process with threads. */
static void child_main(char *const *argv, char *const *environment, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	/* Ctrl-C reaches all; rank 0 decides, and its going ends the others. */
	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0)
		_exit(1);
	dup2(null, 0);
	dup2(null, 1);
	close_range(3, ~0u, 0);
	execve("/proc/self/exe", argv, environment);
	_exit(127);
}

int ranks_spawn(char *const *argv, unsigned ranks, const char *job, struct ranks_children *out,
		struct err *e)
{
	pid_t self = getpid();

	*out = (struct ranks_children){ .n = 0 };
	for (unsigned i = 1; i < ranks && i < RANKS_MAX; i++) {
		struct told t;
		pid_t pid;

		if (tell(&t, i, ranks, job)) {
			ranks_reap(out, 0);
			return err_set(e, -ENOMEM, "no memory");
		}
		pid = fork();
		if (pid == 0)
			child_main(argv, t.all, self);
		free(t.all);
		if (pid < 0) {
			ranks_reap(out, 0);
			return err_set(e, -EAGAIN, "no process for rank %u", i);
		}
		out->pid[out->n++] = pid;
	}
	return 0;
}

void ranks_reap(struct ranks_children *c, double seconds)
{
	long long until = clock_mono_ms() + (long long)(seconds * 1000);
	int status;

	for (size_t i = 0; i < c->n; i++) {
		long long left = until - clock_mono_ms();

		if (reap_wait(c->pid[i], left > 0 ? (int)left : 0, &status, NULL) == -ETIME)
			reap_kill(c->pid[i], false, &status, NULL);
	}
	c->n = 0;
}
