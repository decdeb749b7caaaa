/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the disk bench writes: pages that cannot be compressed or shared, each of which says where
 * it belongs, when it was written and what its every byte has to be.
 */
#ifndef BENCH_DISK_DATA_H
#define BENCH_DISK_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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

#endif
