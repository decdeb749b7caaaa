/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threads of a running process are: Python frames with file and line, read from outside
 * (process_vm_readv) while it runs on, what the kernel does for a thread, and the library that a
 * waiting thread is in. Nothing of the process is stopped or changed. Its memory moves while it is
 * read: every pointer is checked, and a stack that makes no sense is read again, then left out.
 *
 * CPython 3.10 to 3.12 by their layout, 3.13 and later by the offsets that they publish.
 */
#ifndef STACKS_STACKS_H
#define STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

enum { STACK_FRAMES_MAX = 200, STACK_THREADS_MAX = 4096, STACK_PROCESSES_MAX = 4096 };

struct stack_frame {
	const char *function, *file;
	int line;	    /* 0: not known */
	const char *source; /* of the innermost frames: the line itself; NULL: not read */
};

struct stack_thread {
	pid_t tid;
	char state; /* as /proc has it: R, S, D, T, Z */
	double cpu_s;
	const char *name;    /* comm */
	const char *wait;    /* the kernel's function that it sleeps in; "": none or hidden */
	const char *syscall; /* "futex"; "": running, or hidden */
	const char *library; /* that made the call: "libnccl.so.2"; "": not known */
	struct stack_frame *frames; /* innermost first */
	size_t n;
	/* C frames, file: the library. Of a thread that sleeps old ones may be among them. */
	struct stack_frame *c_frames;
	size_t n_c;
};

struct stack_process {
	pid_t pid;
	const char *command;
	int rank, local_rank; /* of its environment; -1: none */
	const char *python;   /* "3.11"; NULL: no interpreter */
	const char *missing;  /* why there are no Python frames; NULL: there are, or no Python */
	const char *nccl;     /* stacks_nccl, set by the caller that wants it */
	const char *ras;      /* where NCCL's RAS listens by its environment; NULL: as usual */
	bool ends;	      /* a zombie, or gone */
	struct stack_thread *threads;
	size_t n;
};

struct stack_reader;
/* Everything in the arena. NULL: there is no such process, or it is not to be read; *e says which.
 */
struct stack_reader *stacks_open(struct arena *a, pid_t pid, struct err *e);
/* As it is now, all threads or the main one alone; texts live in the arena given here. */
void stacks_read(struct stack_reader *r, struct arena *a, bool main_only,
		 struct stack_process *out);

/* A thread, to be looked at while it runs: once for each time that it is armed (running.c). */
struct stack_watch {
	int fd;
	unsigned char *ring;
	bool armed;
};
/* -errno, *e: what refused it. */
int stack_watch_open(struct stack_watch *w, pid_t tid, struct err *e);
void stack_watch_close(struct stack_watch *w);
void stack_watch_arm(struct stack_watch *w);
/* C frames of the look, innermost first, perhaps "[page fault]" of "kernel"; 0: there was none. */
size_t stacks_take(struct stack_reader *r, struct stack_watch *w, struct stack_frame *out,
		   size_t most);
/* Threads, beside the main one, that run just now: at most n; how many. */
size_t stacks_running(const struct stack_reader *r, pid_t *out, size_t n);

/* The libnccl that it has mapped: version and path, path alone, NULL: none. Reads the library. */
const char *stacks_nccl(struct stack_reader *r);

/* The rank that its environment says; -1. */
int stacks_rank(struct arena *a, pid_t pid);

/* The process and all below it, at most n; how many. */
size_t stacks_tree(pid_t pid, pid_t *out, size_t n);

/* --- pieces; not for others ------------------------------------------------------------------- */

/* Exactly n bytes of the process's memory; false: they are not to be read. */
bool stacks_peek(pid_t pid, unsigned long long at, void *to, size_t n);

/* Mapped parts of files. */
struct stack_map {
	unsigned long long from, to, offset;
	const char *path;
	bool code;
};
struct stack_maps {
	struct arena *a;
	pid_t pid;
	struct stack_map *items; /* in the order of addresses */
	size_t n;
	/* Functions that were found, and gaps between them: threads come there again. */
	struct stack_name {
		unsigned long long from, to;
		const char *name;
	} * names;
	size_t n_names;
	struct stack_rules *rules; /* unwind.c's; NULL: nothing yet */
	bool missed;		   /* a place was in no file */
};
/* Registers of a thread; 0: not known. */
struct stack_regs {
	unsigned long long pc, sp, fp, link; /* link: the return address, where a register has it */
};
/* The top of a stack: n bytes from begin on. */
struct stack_top {
	const unsigned char *bytes;
	unsigned long long begin;
	size_t n;
};
/* The word at this address; 0: it is not there. */
unsigned long long stack_word(const struct stack_top *t, unsigned long long at);
/* To the caller, by the rules of the file of this map; pc is 0 then where there is none. first: the
 * registers are the thread's own. False: no rule. */
bool unwind_step(struct stack_maps *m, const struct stack_map *map, const struct stack_top *t,
		 bool first, struct stack_regs *r);

struct input_file;
/* The mapped file itself, or, where the right for that is missing, what bears its name. */
bool stacks_open_mapped(const struct stack_maps *m, const struct stack_map *at,
			struct input_file *f);
/* C frames of a thread, innermost first, to where the interpreter begins: by its registers and the
 * n bytes of its stack from the stack pointer on. How many. */
size_t native_read(struct stack_maps *m, struct stack_regs r, const unsigned char *stack, size_t n,
		   struct stack_frame *out, size_t most);
bool native_libc(const char *file);
size_t stack_watch_take(struct stack_watch *w, struct stack_maps *m, struct stack_frame *out,
			size_t most);

struct python;
/* The interpreter at this address of _PyRuntime. minor: of the version 3.x; below 0: not known.
 * NULL, *e: nothing that this program knows. */
struct python *python_open(struct arena *a, pid_t pid, unsigned long long runtime, int minor,
			   struct err *e);
/* Frames of all its threads; give: innermost first. False: what was read made no sense. */
bool python_read(struct python *p, struct arena *a,
		 void (*give)(void *ctx, pid_t tid, struct stack_frame *frames, size_t n),
		 void *ctx);
int python_minor(const struct python *p);

#endif
