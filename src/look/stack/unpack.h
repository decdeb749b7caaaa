/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of packed data: LZ4 blocks by a decoder of our own, zstd by its library. */
#ifndef STACK_UNPACK_H
#define STACK_UNPACK_H

#include "look/stack/input.h"

/*
 * Unpacks up to n bytes. *got gets how many there are, which is less than n at the end of the data
 * or of `packed`. -EBADMSG for what no packer makes.
 */
int lz4_head(const unsigned char *packed, size_t size, unsigned char *out, size_t n, size_t *got);

#endif
