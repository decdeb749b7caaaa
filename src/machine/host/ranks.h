/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several processes this one is, as launchers tell theirs by environment; and processes of
 * this program that it starts itself.
 */
#ifndef HOST_RANKS_H
#define HOST_RANKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* RANKS_MAX: of a collective, which moves data between all; RANKS_MOST: of a launcher. */
enum { RANKS_MAX = 64, RANKS_MOST = 1 << 14 };

struct ranks {
	unsigned rank, ranks;	/* ranks 0: nobody told of others */
	unsigned local, locals; /* among those of this machine; locals 0: not known */
	const char *by;		/* "Slurm", "--ranks" */
	/* All on this machine: what names their meeting place. NULL: they meet at an address. */
	const char *job;
	const char *meet; /* where rank 0 listens: "host", "host:port"; NULL: not known */
	/* Names of the machines, one a rank, as Slurm writes them; NULL: not known. */
	const char *hosts;
	bool pmix; /* its launcher speaks PMIx: machine/host/pmix.h */
};

/*
 * From what launchers set, the first that tells of several processes; their order is that of the
 * table in ranks.c. get: getenv. Pure. 0, with out->ranks 0 when none did; -EINVAL and *e: what
 * stands there makes no sense.
 */
int ranks_from_environment(struct arena *a, const char *(*get)(void *ctx, const char *name),
			   void *ctx, struct ranks *out, struct err *e);
/* The same of this process; where no variable tells, by PMIx. */
int ranks_find(struct arena *a, struct ranks *out, struct err *e);
/* A name of a list as Slurm writes it: of "n[07-09,12],x" the second is "n08". NULL: none, or a
 * list with several brackets in a name. Pure. */
const char *ranks_host(struct arena *a, const char *list, unsigned which);

/* --- children --------------------------------------------------------------------------------- */
struct ranks_children {
	pid_t pid[RANKS_MAX];
	size_t n;
};

/* ranks - 1 processes of this program with these arguments, ranks 1 and up of a job of that name;
 * they end when this process does. -errno and *e, and none is left. */
int ranks_spawn(char *const *argv, unsigned ranks, const char *job, struct ranks_children *out,
		struct err *e);
/* Waits for them, and ends those that take longer than that. */
void ranks_reap(struct ranks_children *c, double seconds);

#endif
