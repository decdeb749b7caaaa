/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one program: keeping what it prints, or in the foreground for the user to see. Knows
 * nothing of which programs may be run.
 */
#ifndef HOST_COMMAND_H
#define HOST_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

struct host;

/* A process or thread, by its file "stat" (proc(5)). */
struct process_stat {
	char name[32]; /* may hold anything */
	char state;
	int parent, tty;
	unsigned long long ticks, began; /* of CPU, user and kernel; its start, since boot */
};
/* tid: a thread of it; 0: itself. false: it is gone, or cannot be seen. */
bool process_stat_read(struct host *h, long long pid, int tid, struct process_stat *out);

/* Starting one program: where it is looked for, and what of this process it gets. No shell. */

/* Where programs are looked for whatever this process's own PATH says; /usr/local only where local
 * is asked for. */
#define SPAWN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct spawn {
	const char *path;  /* absolute; NULL: argv[0] is looked for by this process's own PATH */
	char *const *argv; /* by argument vector, NULL-terminated */
	char *const *env;
	const char *dir;    /* where it runs; NULL: here */
	const char *input;  /* file on its standard input; NULL: nothing to read */
	int from;	    /* a descriptor instead of input; 0: none */
	int output, errors; /* descriptors; -1: ours */
	bool front; /* in this process's group, so that the keyboard's interrupt reaches it too */
	bool apart; /* in a new session, without our open files */
};

/* Starts it: 0 and *pid, or -errno. Every signal has its default in it, and none is blocked. */
int spawn_start(const struct spawn *s, pid_t *pid);

/*
 * The file behind a name in /usr/sbin, /usr/bin, /sbin and /bin (local: in the same below
 * /usr/local before them); of an absolute path itself. NULL when there is none. Into buf.
 */
const char *spawn_find(const char *name, bool local, char *buf, size_t cap);

/* Children's ends, awaited for so long and no longer. */

/*
 * Waits at most limit_ms (0: looks) for this child to end. 0 and its status, as waitpid gives it;
 * -ETIME while it runs; -ECHILD for none of ours. *used (may be NULL): what it used.
 */
int reap_wait(pid_t pid, int limit_ms, int *status, struct rusage *used);
/*
 * Ends it, its whole group when asked, and takes its status. One that a driver holds inside the
 * kernel does not end, and waiting for it would hold us too: after two seconds it is left, and
 * false.
 */
bool reap_kill(pid_t pid, bool group, int *status, struct rusage *used);

struct command_result {
	int status;	    /* exit status, or 128 + signal */
	const char *output; /* what it wrote to its standard output, in the arena */
	const char *errors; /* to its standard error, cut at COMMAND_ERRORS_MAX bytes */
	double seconds;	    /* from its start to its end */
};
enum { COMMAND_ERRORS_MAX = 4096 };

/*
 * Runs argv by argument vector, without a shell, from /usr/sbin, /usr/bin, /sbin or /bin whatever
 * this process's own PATH says, with an environment of PATH and LC_ALL=C, and no input. -ENOENT
 * when none of the folders has it; -ETIME when it still runs after limit_ms, -EFBIG when it prints
 * more than max bytes: it and its children are killed then. out is untouched on failure.
 */
int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out);
/* How a program runs that is not the machine's but the user's own. */
struct command_of_user {
	int limit_ms;
	size_t max; /* of its output the last so many bytes are kept */
	const atomic_bool
		*stop;	  /* somebody else sets it: the program is ended. NULL: nobody does */
	char *const *env; /* NULL: this process's */
};

/* As command_run, but found by this process's PATH, with its environment and in its folder. -EINTR:
 * stopped. */
int command_run_own(struct arena *a, char *const *argv, const struct command_of_user *how,
		    struct command_result *out);
/* Whether s is a PCI address and nothing else, so that a program may be given it. */
bool command_is_pci(const char *s);
/* One program in the foreground, or into a file: rsync, ssh-keygen, a build step. */
struct command_front {
	char *const
		*argv;	  /* argv[0]: looked for as by spawn_find with local, or an absolute path */
	const char *dir;  /* where it runs; NULL: here */
	char *const *env; /* NULL: PATH, LC_ALL=C and HOME alone */
	const char *input; /* file on its standard input; NULL: none */
	int output;	   /* descriptor for what it prints and says; -1: ours */
	bool errors_apart; /* what it says goes to our standard error all the same */
	int limit_s;	   /* 0: none */
};
/*
 * Its exit status, or 128 + signal. -ENOENT when there is no such program, -ETIME when it was ended
 * because it ran too long; *e says so. An interrupt from the keyboard reaches it too.
 */
int command_front(const struct command_front *f, struct err *e);
/*
 * What a result means to who asked for it: 0 for success, else from what the program said -EACCES,
 * -ENOENT, -EEXIST, -EBUSY or -EOPNOTSUPP, and -EIO where it said none of what is known.
 */
int command_errno(const struct command_result *r);
/* Both: a run that ended well, or why not. limit_ms and max as above; *output may be NULL. */
int command_report(struct arena *a, char *const *argv, int limit_ms, size_t max,
		   const char **output);
/* The last line of what a program said, without control characters; of a longer one its last max
 * bytes. */
const char *command_last_line(struct arena *a, const char *text, size_t max);

#endif
