/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between live_write.c and the simulated disk: each system call changes the disk at once,
 * and is on it for good when it was synced. What was not, a power cut keeps or takes, each call by
 * itself: of data any part from the beginning, of names the new or the old one.
 */
#ifndef WALK_KERNEL_H
#define WALK_KERNEL_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "machine/write/write.h"

/* The protocol of live_write.c on this kernel. */
extern const struct host_writes walk_writes;

/* From now on the call with this number, counted from 0, is not made: cut is called instead, and
 * does not return. NULL: none. */
void kernel_cut_at(unsigned calls, void (*cut)(void *ctx), void *ctx);
/* All is on disk. */
void kernel_sync(void);
/* The power went; dice chooses. */
void kernel_lose(unsigned dice);

int kernel_openat(int at, const char *path, int flags, ...);
int kernel_close(int fd);
int kernel_statx(int at, const char *path, int flags, unsigned mask, struct statx *out);
int kernel_fsync(int fd);
int kernel_fdatasync(int fd);
int kernel_fchmod(int fd, mode_t mode);
int kernel_write_all(int fd, const void *data, size_t len);
int kernel_renameat(int from_at, const char *from, int to_at, const char *to);
int kernel_unlinkat(int at, const char *path, int flags);
int kernel_mkdirat(int at, const char *path, mode_t mode);
int kernel_fchmodat(int at, const char *path, mode_t mode, int flags);
int kernel_symlinkat(const char *target, int at, const char *path);

#endif
