/* SPDX-License-Identifier: Apache-2.0 */
/* Starting one program: where it is looked for, and what of this process it gets. No shell. */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where programs are looked for whatever this process's own PATH says; /usr/local only where local
 * is asked for. */
#define SPAWN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct spawn {
	const char *path;  /* absolute; NULL: argv[0] is looked for by this process's own PATH */
	char *const *argv; /* by argument vector, NULL-terminated */
	char *const *env;
	const char *dir;    /* where it runs; NULL: here */
	const char *input;  /* file on its standard input; NULL: nothing to read */
	int output, errors; /* descriptors; -1: ours */
	bool front; /* in this process's group, so that the keyboard's interrupt reaches it too */
};

/* 0 and *pid, or a negative errno. Every signal has its default in it, and none is blocked. */
int spawn_start(const struct spawn *s, pid_t *pid);
/*
 * The file behind a name in /usr/sbin, /usr/bin, /sbin and /bin (local: in the same below
 * /usr/local before them); of an absolute path itself. NULL when there is none. Into buf.
 */
const char *spawn_find(const char *name, bool local, char *buf, size_t cap);

#endif
