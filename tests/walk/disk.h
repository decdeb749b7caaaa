/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulated machine holds, in memory: takes the place of machine/host/store.h's folder, so
 * that a run costs no system calls and a crash can leave whatever a real disk may leave. Two of
 * them live at once: the machine, and its twin that gputune never touched.
 */
#ifndef WALK_DISK_H
#define WALK_DISK_H

#include "machine/host/host.h"

enum node_kind { NODE_LOWER, NODE_FILE, NODE_DIR, NODE_LINK, NODE_GONE };

struct node {
	enum node_kind kind; /* NODE_LOWER: as the capture has it */
	char *data;	     /* of a file, or the target of a link */
	size_t len;
	unsigned mode;
};

enum disk_name { DISK_MACHINE, DISK_TWIN, DISKS };

/* The one that host_open_overlay opens from now on. */
void disk_use(enum disk_name which);
/* Both as the capture has them. */
void disk_clear(void);
/* What a boot forgets: values of the kernel and of devices. */
void disk_boot(void);
/* Puts text below root/, without asking what stands there. */
void disk_set(const char *path, const char *text);
/* Calls visit for everything that is not as in the capture, by its path in the store. */
void disk_each(void (*visit)(void *ctx, const char *path, const struct node *n), void *ctx);
const struct node *disk_node(const char *path);
/* Takes n's data. */
void disk_put(const char *path, struct node n);

#endif
