/* SPDX-License-Identifier: Apache-2.0 */
/* A fence around a process that only reads what may be hostile: a capture, others' results. */
#ifndef HOST_CONFINE_H
#define HOST_CONFINE_H

#include <stdbool.h>

enum { CONFINED_CALLS = 1, CONFINED_FILES = 2 };

/*
 * From now on this process can run no program, open no socket, load, mount, trace or reach into
 * other processes, set a clock, nor change a file's mode, owner or attributes (seccomp); with files
 * it can open nothing for writing either, nor make, rename or remove a name (Landlock). What is
 * open already stays as it is. Returns which of the two stand: a kernel may have neither, and a
 * fence that is not there is no reason not to read. Never to be lifted.
 */
unsigned confine(bool files);

#endif
