/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group (version 2) for one job: what the job starts stays in it, also what leaves its
 * process group, and the kernel can bound the memory of all of it together.
 */
#ifndef FRONT_JOB_GROUP_H
#define FRONT_JOB_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "machine/host/host.h"

struct job_group {
	const char *dir;  /* the group's folder; NULL: there is none */
	const char *name; /* of its last part */
	bool ours;	  /* the folder was made here, not by systemd */
	bool limits;	  /* memory.high and memory.max are in force */
	const char *why;  /* no group, or none that bounds memory: a sentence; NULL */
	long long high_bytes, max_bytes;
};

/*
 * Puts a process that waits for its start into a group of its own: a scope that systemd makes
 * (the user's manager where we are not root), or where no systemd runs a folder below our own
 * group. What it may hold is max_bytes; at high_bytes the kernel slows it down. Strings lie in a.
 */
void job_group_make(struct host *h, struct arena *a, pid_t pid, long long high_bytes,
		    long long max_bytes, struct job_group *out);

/* What the kernel says of the group; -1: it says nothing. */
struct job_group_state {
	bool populated; /* some process of it runs */
	long long held_bytes, oom_kills;
	double full; /* part of ten seconds in which all of it waited for memory, % */
};
void job_group_look(struct host *h, const struct job_group *g, struct job_group_state *out);
/* To every process of it. SIGKILL: also to those of groups below. */
void job_group_signal(struct host *h, const struct job_group *g, int signal);
/* Removes the folder where it is ours and empty. */
void job_group_end(struct host *h, const struct job_group *g);

/* The number behind a word that begins a line or follows a blank ("oom_kill", "full avg10="); -1:
 * there is none. */
double kernel_figure(const char *text, const char *word);

#endif
