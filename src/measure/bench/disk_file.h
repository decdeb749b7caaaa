/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the disk bench writes: pages that cannot be compressed or shared, each of which says where
 * it belongs, when it was written and what its every byte has to be.
 */
#ifndef BENCH_DISK_FILE_H
#define BENCH_DISK_FILE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"

/* How requests are put under way. */
enum disk_engine {
	ENGINE_BEST,	/* io_uring; threads where that is refused */
	ENGINE_THREADS, /* one a request under way */
	ENGINE_PLAIN,	/* pread and pwrite of the caller itself; one request at a time */
};

enum { DISK_PAGE = 4096 };

/* Begins each page; the rest of it follows from seed. */
struct disk_head {
	uint64_t file;	 /* the same in all pages of one file, in no other file */
	uint64_t offset; /* in the file, bytes */
	uint64_t turn;	 /* which write it was */
	uint64_t seed;
};

/* Fills the pages of a block of bytes (a multiple of DISK_PAGE) with data from seed on, one number
 * a page. disk_stamp still has to say where it goes. */
void disk_fill(void *block, size_t bytes, uint64_t file, uint64_t seed);
/* Before a write to offset: cheap enough for the measured loop. */
void disk_stamp(void *block, size_t bytes, uint64_t offset, uint32_t turn);
/* After a read: whether the block's first page is the right one. */
bool disk_is(const void *block, uint64_t file, uint64_t offset, uint32_t turn);
/* Every byte of the block. turns: of the whole file, one a page. -EILSEQ and *e, which says what is
 * wrong where. */
int disk_check(const void *block, size_t bytes, uint64_t file, uint64_t offset,
	       const uint32_t *turns, struct err *e);

/*
 * The disk bench's own file: without a name from the start, so that nothing is left behind however
 * the program ends; filled with data that proves itself; on written blocks only.
 */

struct disk_file {
	int fd; /* -1: there is none */
	uint64_t bytes, id;
	uint32_t *turns; /* of each page: its last write */
	uint32_t turn;
	bool spoiled; /* a write failed: who knows what stands there */
};

/* What the file system lets us do without the page cache. */
struct disk_direct {
	bool can;
	size_t align;	 /* of offsets, lengths and memory; bytes */
	const char *why; /* it cannot; static */
};

/* A nameless file in dir, empty. Its descriptor or -errno and *e, a sentence for people. */
int disk_file_make(const char *dir, struct err *e);
/*
 * Gives a file of disk_file_make a name in the folder it was made in, for who must open it by one;
 * the caller removes it. 0, or -errno and *e, and path is empty: not every file system can.
 */
int disk_file_lend(int fd, const char *dir, char *path, size_t cap, struct err *e);
struct disk_direct disk_file_direct(int fd);
/*
 * Bytes (a power of two) that a file there may have: not above most, half of what is free at
 * most; 0: less than least. *free_bytes gets what is free.
 */
uint64_t disk_file_room(int fd, uint64_t least, uint64_t most, uint64_t *free_bytes);
/*
 * Makes f and writes all of it, to the device. -errno and *e; -EINTR when stop is set. On an error
 * f holds nothing.
 */
int disk_file_open(struct disk_file *f, const char *dir, uint64_t bytes, bool direct,
		   const atomic_bool *stop, struct err *e);
/* Through the page cache or past it, from now on. */
int disk_file_mode(struct disk_file *f, bool direct, struct err *e);
/* Nothing of it in the page cache any more; what was written is on the device first. */
int disk_file_drop(const struct disk_file *f, struct err *e);
/* The same, and looks whether it worked: -EBUSY and *e where pages stay. *seen: the kernel told. */
int disk_file_cold(const struct disk_file *f, bool *seen, struct err *e);
void disk_file_close(struct disk_file *f);

/* Any file: drops its clean pages from the page cache. */
void page_cache_drop(int fd);
/* What may be left of a file that counts as cold. */
#define PAGE_CACHE_COLD 0.05
/* Drops until no more than that is left: the kernel itself holds pages for moments. What is left,
 * as page_cache_share, after half a second at most. */
double page_cache_empty(int fd, uint64_t bytes);

/* The calling thread, and those it starts, on some CPUs for a while. */

/* Where it ran before, for pin_back; NULL: it stays where it may run, because that was refused. */
cpu_set_t *pin_to(const struct idset *cpus);
void pin_back(cpu_set_t *before);

#endif
