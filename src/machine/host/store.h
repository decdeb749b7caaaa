/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a capture's files lie: a folder or a tar. Paths are relative to the capture
 * ("root/proc/meminfo", "meta.json") and free of links and of ".."; captured.c resolves links and
 * sees to that.
 */
#ifndef HOST_STORE_H
#define HOST_STORE_H

#include "machine/host/host.h"

struct store;

struct store_ops {
	/* As host_ops, but -ELOOP when the last component is a link (read), never following one. */
	int (*read)(struct store *s, const char *path, char *buf, size_t cap, size_t *len);
	int (*link)(struct store *s, const char *path, char *buf, size_t cap);
	int (*list)(struct store *s, const char *path, struct arena *a, char ***names, size_t *n);
	int (*kind)(struct store *s, const char *path, enum host_kind *out);
	void (*close)(struct store *s);
};

struct store {
	const struct store_ops *ops;
	/* read tells a link anywhere on the way (-ELOOP) from a missing name, so that a path can be
	 * tried as it is. */
	bool finds_links;
};

/* NULL and *e when it cannot be opened or is not valid. */
struct store *store_open_folder(const char *path, struct err *e);
struct store *store_open_tar(const char *path, struct err *e);
/* Whether a file begins as one that zstd has packed; false when it cannot be read. Such a tar is
 * unpacked into memory, at most 256 MiB, by libzstd: behind a fence it has to be open before. */
bool store_is_packed(const char *path);

/*
 * A store that takes writes over one that does not: what was written lies in a folder of its own
 * (root/, api/ as in a capture), what was removed is marked below gone/. The lower store is never
 * changed. Paths are as above. Knows nothing of machines.
 */

struct overlay {
	struct store store;
	struct store *lower, *upper;
	char *folder;
	int fd; /* the folder; -1: it is not there yet, and upper is empty */
};

/* Owns lower from then on, also when it fails. The folder is made by the first write when it is
 * missing; the one that it lies in has to be there. */
struct overlay *overlay_open(struct store *lower, const char *folder, struct err *e);

/* As host_put, host_append and so on. Folders on the way are made. */
int overlay_put(struct overlay *o, const char *path, const void *data, size_t len, unsigned mode);
int overlay_append(struct overlay *o, const char *path, const void *data, size_t len);
int overlay_make(struct overlay *o, enum host_kind kind, const char *path, const char *target,
		 unsigned mode);
int overlay_remove(struct overlay *o, const char *path);
/* The permission bits of what was written here; HOST_NOT_CAPTURED for what was not. */
int overlay_mode(struct overlay *o, const char *path, unsigned *out);
/* A descriptor that holds the lock until it is closed, or a negative errno. */
int overlay_lock(struct overlay *o, const char *path);

/* What was removed has this file in a folder of its name below gone/: a folder and what was in it
 * can both be gone. */
#define OVERLAY_MARK "/.gputune-gone"

#endif
