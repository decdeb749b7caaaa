/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a software stack lies: this machine, a captured one, or the root file system of a container
 * image in a folder, every link of which is resolved inside that folder.
 */
#ifndef STACK_ROOT_H
#define STACK_ROOT_H

#include "machine/host/host.h"
#include "look/stack/input.h"

struct stack_root {
	struct host *h; /* texts, links and folders */
	int fd;		/* the root folder; -1: this machine's own */
	bool contents;	/* the insides of libraries can be read: not in a capture */
};

/* A root file system as a host that answers of files alone. NULL and *e. */
struct host *rootfs_open(const char *path, int *fd, struct err *e);
/* The same of a folder in such a root; links stay inside that. */
struct host *rootfs_open_below(int above, const char *path, int *fd, struct err *e);
/* Opens a library. -ENOMEDIUM where contents are not there, -errno of the system; *e says it. */
int stack_open(const struct stack_root *root, const char *path, struct input_file *out,
	       struct err *e);

#endif
