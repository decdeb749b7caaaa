/* SPDX-License-Identifier: Apache-2.0 */
/* A command that runs beside us with this terminal, environment and folder. */
#ifndef FRONT_JOB_H
#define FRONT_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* What a shell answers for what it cannot run. */
enum { JOB_NOT_RUN = 126, JOB_NOT_FOUND = 127 };

struct job {
	pid_t pid;  /* 0: none */
	bool group; /* it leads a process group of its own */
	bool ended;
	int status; /* exit status, or 128 + signal */
	double cpu_s;
};

struct job_how {
	bool own_group; /* to be ended with its children; it then has the terminal's keyboard */
	/* Called with its number while it waits to begin; NULL: it does not wait. */
	void (*place)(void *ctx, pid_t pid);
	void *ctx;
};

/* Starts it, with signals as they were. 0 or -errno with a sentence. */
int job_start(struct job *j, char **argv, const struct job_how *how, struct err *e);
/* Looks whether it ended. */
void job_reap(struct job *j);
/* Tells it, and its group where it has one. */
void job_signal(const struct job *j, int signal);
/* Takes the keyboard back from a group. */
void job_over(const struct job *j);

#endif
