/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing half of the host interface: changing the machine. Kept apart from host.h so that what
 * only looks cannot write; src/LAYERS lists who may include it.
 *
 * Every call returns 0 or a negative errno. -EROFS: this host takes no writes (a capture opened to
 * be looked at, a dry run). Nothing here creates a file of the kernel's or follows a link in the
 * last component of a path of ours.
 */
#ifndef WRITE_WRITE_H
#define WRITE_WRITE_H

#include "machine/host/host.h"

/*
 * Sets a file of the kernel that is there: one write(2) of the whole text. The kernel may take it
 * and do something else (clamp, round, grant less): read it back.
 */
int host_write(struct host *h, const char *path, const char *text);
/* len bytes at an offset of a binary file: configuration space. One pwrite(2). */
int host_write_at(struct host *h, const char *path, long long offset, const void *data, size_t len);
/*
 * Sets a value by a library, an ioctl or a program: afterwards host_ask with the same words should
 * answer value. Providers list which of their questions can be set, and what can only be set.
 */
int host_set(struct host *h, const char *api, const char *object, const char *field,
	     const struct answer *value);
int host_set_int(struct host *h, const char *api, const char *object, const char *field,
		 long long value);
int host_set_text(struct host *h, const char *api, const char *object, const char *field,
		  const char *value);

/* --- files that are ours ---------------------------------------------------------------------- */

/*
 * Makes or replaces a file as a whole: after a crash it is the old one or the new one, and the new
 * one's bytes may lie next to it under a name that ends in HOST_NEW. What is replaced hands on its
 * owner, group, access list and extended attributes, labels among them; other names of it (hard
 * links) stay with the old bytes. HOST_NOT_KEPT: one of these cannot be handed on, h->lost says
 * which, and nothing was changed. A file that is a mount point is written in its place, with what
 * it held under a name that ends in HOST_OLD meanwhile.
 */
int host_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode);
#define HOST_NOT_KEPT (-EBADE)
#define HOST_NEW ".gputune-new"
#define HOST_OLD ".gputune-old"
#define HOST_PART ".part" /* behind that, until it is whole */
/* Adds to the end of a file, made with mode 0600 when it is missing; on disk when it returns 0. */
int host_append(struct host *h, const char *path, const void *data, size_t len);
/* One folder or one link; -EEXIST when something is there. */
int host_make_dir(struct host *h, const char *path, unsigned mode);
int host_make_link(struct host *h, const char *path, const char *target);
/* What we keep is for its owner alone, mode 0700; one that is there already is as good. */
int host_own_dir(struct host *h, const char *path);
/* The same for what everybody may list, mode 0755: what is secret in it is a file of mode 0600. */
int host_open_dir(struct host *h, const char *path);
/* A file, a link or an empty folder. */
int host_remove(struct host *h, const char *path);
#define HOST_NOT_OURS (-EMEDIUMTYPE)
/* Takes the lock file, made when it is missing, and its folder, until the host is closed: whoever
 * removes the file lets nobody in. -EWOULDBLOCK: another process has one of them. HOST_NOT_OURS:
 * the folder is a link, belongs to somebody else than this user and root, or others may write to
 * it: what lies in it may be anybody's. */
int host_lock(struct host *h, const char *path);

/* --- hosts ------------------------------------------------------------------------------------ */

/*
 * A captured machine that takes writes: they go to the folder overlay (made when missing), the
 * capture stays as it is. Files of the kernel behave like the kernel's: bracketed choices move
 * their brackets, unknown words are refused, white space is kept.
 */
struct host *host_open_overlay(const char *capture, const char *overlay, struct err *e);
/* Passes every question on to inner, which it owns from then on, and refuses every write. */
struct host *host_open_readonly(struct host *inner);

#endif
