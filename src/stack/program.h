/* SPDX-License-Identifier: Apache-2.0 */
/* Running one program in the foreground: rsync, ssh-keygen, a build step. By argument vector. */
#ifndef STACK_PROGRAM_H
#define STACK_PROGRAM_H

#include <errno.h>
#include <stddef.h>

#include "base/err.h"

struct program {
	char *const *argv; /* argv[0]: a name looked for in the fixed PATH, or an absolute path */
	const char *dir;   /* where it runs; NULL: here */
	char *const *env;  /* NULL: PATH, LC_ALL=C and HOME alone */
	const char *input; /* file on its standard input; NULL: none */
	int output;	   /* descriptor for what it prints and says; -1: ours */
	int limit_s;	   /* 0: none */
};

/*
 * Its exit status, or 128 + signal. -ENOENT when there is no such program, -ETIME when it was ended
 * because it ran too long; *e says so. An interrupt from the keyboard reaches it too.
 */
int program_run(const struct program *p, struct err *e);
/* What one finds there: "/usr/bin/rsync"; NULL. Into buf. */
const char *program_find(const char *name, char *buf, size_t cap);

#endif
