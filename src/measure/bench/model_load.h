/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are only read, and the ways to read them all. */
#ifndef BENCH_MODEL_LOAD_H
#define BENCH_MODEL_LOAD_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	LOAD_FILES = 512,
	LOAD_DEPTH = 4,	   /* folders below the one that was named */
	LOAD_LOOKS = 8192, /* entries looked at */
	LOAD_BLOCK = 4 << 20,
	LOAD_THREADS = 16
};

struct load_file {
	const char *name; /* below the folder; the path itself for one file */
	dev_t dev;
	ino_t ino;
	uint64_t size;	/* of the file */
	uint64_t bytes; /* that are read of it, from its beginning */
	uint64_t base;	/* bytes of the files before it */
	int fd;		/* -1: not open */
};

struct load_set {
	const char *path;   /* as it was named, absolute */
	const char *folder; /* path, or the folder of the one file */
	struct load_file *files;
	size_t n;
	uint64_t bytes, all_bytes; /* that are read; of all files that were found */
	size_t n_all, left_out;	   /* left out: links that lead out of the folder */
};

/*
 * Regular files of at least least bytes below path, in natural order, until most bytes are
 * together; each once, however many names it has. Links count where they stay below the folder.
 * Opens nothing for longer than a look. -errno and *e.
 */
int load_find(struct arena *a, const char *path, uint64_t least, uint64_t most,
	      struct load_set *out, struct err *e);
/* Opens them all. -errno and *e: one cannot be read, or is another one than before. */
int load_open(struct load_set *set, struct err *e);
void load_close(struct load_set *set);
/* All still as large as they were. -errno and *e. */
int load_same(const struct load_set *set, struct err *e);

/* Past the page cache from now on, or through it again. */
void load_direct(const struct load_set *set, bool on);

enum load_way { LOAD_MMAP, LOAD_POPULATE, LOAD_READ, LOAD_PARALLEL, LOAD_DIRECT };

/* One load. */
struct load_job {
	const struct load_set *set;
	enum load_way way;
	unsigned threads; /* of the parallel ways */
	char *buffers;	  /* LOAD_BLOCK bytes each thread; aligned to 2 MiB */
	const atomic_bool *stop;
	bool sum; /* add up what was read, for checking */
};

struct load_result {
	uint64_t bytes;
	uint64_t sum; /* depends on every byte and its place, not on the order of reading */
};

/* -errno and *e; -EINTR: stopped. */
int load_run(const struct load_job *job, struct load_result *out, struct err *e);
/* MADV_POPULATE_READ is known to the kernel. */
bool load_can_populate(void);

/*
 * A mapped file that somebody cuts while it is read: touching what is gone sends SIGBUS, which
 * would end the program. Between begin and end this thread reads zeros there instead, and is told.
 */

struct map_guard_ctx;

struct map_guard {
	struct map_guard_ctx *ctx;
	struct sigaction action; /* as it was */
	stack_t stack;
};

/* n bytes at p, mapped readable. One guard at a time in a program; 0 or -errno. */
int map_guard_begin(struct map_guard *g, void *p, size_t n);
/* Whether something was gone; from the first such page on all is zeros then. */
bool map_guard_lost(const struct map_guard *g);
/* Before munmap. */
void map_guard_end(struct map_guard *g);

#endif
