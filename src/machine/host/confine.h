/* SPDX-License-Identifier: Apache-2.0 */
/* The program for seccomp behind confine(): which calls it lets through. For confine.c and its
 * test alone. */
#ifndef HOST_CONFINE_H
#define HOST_CONFINE_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

enum confine_arch { CONFINE_X86_64, CONFINE_AARCH64, CONFINE_ARCHES };

/* What a process may need besides reading files and writing to what is open. */
enum confine_needs {
	CONFINE_THREADS = 1,  /* threads of its own */
	CONFINE_SCREEN = 2,   /* size and mode of its terminal, its keys and signals */
	CONFINE_CODE = 4,     /* to load a library */
	CONFINE_OPENAT2 = 8,  /* openat2, whose flags seccomp cannot see */
	CONFINE_WATCHED = 16, /* what a sanitizer, and who counts what is covered, do at the end */
};
enum { CONFINE_PROGRAM_MAX = 256 };

/*
 * Into out, CONFINE_PROGRAM_MAX instructions of room; returns how many. What is on no list is
 * refused: EPERM, or ENOSYS for calls that came with Linux 5.1 or later, so that a library takes
 * the older one. What no reader can mean ends the process, as does another architecture's call.
 */
unsigned short confine_program(enum confine_arch arch, unsigned needs, struct sock_filter *out);
/* How many calls it lets through, with any or with some arguments. */
size_t confine_allowed(enum confine_arch arch, unsigned needs);

/* A fence around a process that only reads what may be hostile: a capture, others' results. */

enum { CONFINED_CALLS = 1, CONFINED_FILES = 2, CONFINED_RIGHTS = 4 };

/*
 * From now on this process can read files, use memory, write to what is open, and end: every other
 * system call is refused (seccomp), and no file can be opened for writing, made, renamed or removed
 * (Landlock). needs: a set of enum confine_needs. openat2 is there where Landlock stands as well
 * and knows of truncation (Linux 6.2), or where needs say so. Returns which of the two stand: a
 * kernel may have neither, and a fence that is not there is no reason not to read. Never to be
 * lifted.
 */
unsigned confine(unsigned needs);
/*
 * Gives up what root may do but to read: user and group become nobody's, and of the capabilities
 * CAP_DAC_READ_SEARCH alone stays (where root lacks it, as in many containers, CAP_DAC_OVERRIDE),
 * so that a file that only root reads can still be read. The process has a session of its own,
 * without a terminal. Where there is no such user (a namespace with root alone) the capabilities go
 * all the same. CONFINED_RIGHTS: none of root's is left.
 */
unsigned confine_rights(void);

#endif
