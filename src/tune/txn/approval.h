/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that a person approves before somebody else applies them. A proposal is a file of the state
 * folder that holds the plan, the machine, its boot, what --allow lifts and when it expires; its
 * name is the digest of its bytes. Root approves it at a terminal, which is a file beside it, or
 * polkit asks an administrator for a password (action io.gputune.approve) when it is applied. Who
 * applies takes the approval, once: a folder is made, which only one can do, before anything is
 * written.
 */
#ifndef TXN_APPROVAL_H
#define TXN_APPROVAL_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "machine/host/host.h"
#include "tune/txn/journal.h"

#define APPROVAL_DIR TXN_DIR "/approvals"

enum {
	APPROVAL_HASH = 32,   /* hexadecimal digits of a SHA-256 digest */
	APPROVAL_S = 600,     /* from proposal to expiry, by the clock that boots begin at 0 */
	APPROVAL_WAITING = 32 /* proposals at a time */
};

/* Who requests something over a socket: the process that connected, as it was then. */
struct approval_asker {
	long long pid, uid;
	char began[24]; /* "": it had ended, or was another user's */
};

/* A proposal that holds here and now. */
struct approval {
	const char *hash;
	const json_t *plan;
	const char *allow; /* NULL: nothing */
	const char *state; /* waits, approved, used */
	long long left_ms;
	json_t *doc; /* owned: approval_free */
};

/* Keeps the plan, which it takes; *hash in the arena. 0 or -errno and *e. */
int approval_propose(struct host *h, struct arena *a, json_t *plan, const char *allow,
		     const char **hash, struct err *e);
/* Reads a proposal of this machine and boot that is whole and has not expired. */
int approval_read(struct host *h, struct arena *a, const char *hash, struct approval *out,
		  struct err *e);
void approval_free(struct approval *p);
/* Approves it for this process's terminal, whose person was asked. */
int approval_grant(struct host *h, struct arena *a, const struct approval *p, struct err *e);
/* Reads the process that has just connected, of the user that it had then. */
struct approval_asker approval_asker_of(long long pid, long long uid);
/*
 * Takes the approval of what approval_read read. -EPERM: nobody approved it, it was used, asker
 * (NULL: this process) has ended, or the approval came from its terminal, an ancestor of it or its
 * login session. Where polkit is asked it waits until an administrator answers or the plan expires.
 */
int approval_take(struct host *h, struct arena *a, const struct approval *p,
		  const struct approval_asker *asker, struct err *e);
/* Notes what came of it, for its undo. */
int approval_done(struct host *h, struct arena *a, const char *hash, unsigned long txn);
/* The transaction that applied it in this boot; 0 and *e: there is none. */
unsigned long approval_txn(struct host *h, struct arena *a, const char *hash, struct err *e);
/* Why this process cannot be a person at a terminal: a sentence; NULL: it can. */
const char *approval_no_person(struct arena *a);

#endif
