/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path as it was asked ("/sys/class/net/eth0/mtu") to the place without links where it lies
 * ("/sys/devices/.../net/eth0/mtu"). Used where the kernel must not follow links for us: in a
 * capture, and where one is recorded.
 */
#ifndef HOST_RESOLVE_H
#define HOST_RESOLVE_H

#include "base/arena.h"
#include "machine/host/host.h"

struct resolver {
	void *ctx;
	/* What stands at a place without links, and a link's target. */
	int (*kind)(void *ctx, const char *phys, enum host_kind *out);
	int (*link)(void *ctx, const char *phys, char *buf, size_t cap);
	struct arena *arena;
	struct map folders; /* asked folder -> its place */
	/* The folder that resolve_saw() was called with last. */
	char plain[HOST_PATH_MAX];
};

/*
 * Walks path from the root: phys becomes the place without links. A link that climbs above the root
 * gives -EXDEV: on the machine it would have stopped there, but a capture that has one was tampered
 * with. More than 40 links: -ELOOP. The last component may be missing: phys then names where it
 * would be and the result is -ENOENT.
 */
int resolve_walk(struct resolver *r, const char *path, bool follow_last, char *phys, size_t cap);
/* The place of a folder; remembered, because probes read many files of one. "" is the root. */
int resolve_folder(struct resolver *r, const char *dir, const char **out);
/* The place of path with its folder resolved, its last component not. */
int resolve_place(struct resolver *r, const char *path, char *phys, size_t cap);
/* The same where the folder is known already; false, and nothing is looked up, where it is not. */
bool resolve_known(const struct resolver *r, const char *path, char *phys, size_t cap);
/* A file was read at path as it was asked, without a link on the way: its folder is its own place.
 * Told of every file, so only the last folder is kept. */
void resolve_saw(struct resolver *r, const char *path);
/* Folders may have become others. */
void resolve_forget(struct resolver *r);

#endif
