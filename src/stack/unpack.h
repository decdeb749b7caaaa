/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of packed data: LZ4 blocks by a decoder of our own, zstd by its library. */
#ifndef STACK_UNPACK_H
#define STACK_UNPACK_H

#include "stack/input.h"

/*
 * Unpacks up to n bytes. *got gets how many there are, which is less than n at the end of the data
 * or of `packed`. -EBADMSG for what no packer makes.
 */
int lz4_head(const unsigned char *packed, size_t size, unsigned char *out, size_t n, size_t *got);
/*
 * The same for the size bytes of in from at on, of which `whole` bytes are promised in all. A frame
 * that needs more memory than these, or than 16 MiB, is refused (-EBADMSG); 2 MiB it may have.
 */
int zstd_head(struct input *in, uint64_t at, uint64_t size, uint64_t whole, unsigned char *out,
	      size_t n, size_t *got);

#endif
