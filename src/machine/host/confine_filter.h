/* SPDX-License-Identifier: Apache-2.0 */
/* The program for seccomp behind confine(): which calls it lets through. For confine.c and its
 * test alone. */
#ifndef HOST_CONFINE_FILTER_H
#define HOST_CONFINE_FILTER_H

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

#endif
