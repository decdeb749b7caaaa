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

#endif
