/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk bench's own file: without a name from the start, so that nothing is left behind however
 * the program ends; filled with data that proves itself; on written blocks only.
 */
#ifndef BENCH_DISK_FILE_H
#define BENCH_DISK_FILE_H

#include <stdatomic.h>

#include "measure/bench/disk_data.h"

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
/* Share of the file's pages that are in the page cache, by a look at some of them that may itself
 * read those; negative: cannot be seen. */
double page_cache_share(int fd, uint64_t bytes);

#endif
