/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own kernels as PTX text, which every driver compiles for its GPU: no compiler, no toolkit.
 * Streaming kernels come in shapes; which one is fastest is found on the GPU. All data is from a
 * counter-based generator, so that any element can be checked anywhere: cuda_random() is its twin
 * on the host.
 */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * The tools' kernels (PTX 7.4, compute capability 7.0 and later). n counts 64-bit words;
 * result is two of them: how many are wrong, and the lowest wrong index.
 *
 *   fill(to, n, seed, and, or)                       word i is cuda_random(seed, i) & and | or
 *   check(at, n, seed, and, or, result)              the same, compared
 *   check_triad(at, n, seed_b, seed_c, result)       two floats a word: b + CUDA_TRIAD c
 *   check_write(at, n, seed, result)                 what the write kernels leave
 *   add(n, seed, and, or, sum)                       adds up what fill would write
 *   chain(to, bits, stride, seed)                    2^bits words, each the address of the next
 *   chase(from, steps, out)                          walks; out: address, clocks, nanoseconds
 *   chase_far(from, steps, out)                      the same past all caches of the reader
 *   empty()
 *   flag(to, value)                                  one word of 32 bits, seen by the host
 *   spin(at, value)                                  until the word there is at least value, or 2 s
 *   echo(in, out, n)                                 answers words 1 to n of the host, or 2 s
 */
void cuda_tools_text(struct text *out);

enum { CUDA_TRIAD = 3 };

/* Words that are two floats between 1 and 2. */
#define CUDA_FLOAT_AND 0x007fffff007fffffull
#define CUDA_FLOAT_OR 0x3f8000003f800000ull

/* Word i of the stream that seed names (the finaliser of splitmix64). */
uint64_t cuda_random(uint64_t seed, uint64_t i);
/* Where step i of a chain over 2^bits places lies: a permutation of them. */
uint64_t cuda_chain_place(uint64_t i, unsigned bits, uint64_t seed);

enum cuda_op { CUDA_OP_READ, CUDA_OP_WRITE, CUDA_OP_COPY, CUDA_OP_TRIAD, CUDA_OPS };

/* How a streaming kernel goes about it. */
struct cuda_shape {
	enum cuda_op op;
	unsigned threads,
		unroll;	 /* a block's, and 16-byte accesses of a thread before it goes on */
	unsigned per_sm; /* blocks a multiprocessor that stay; 0: one block a piece */
	bool once;	 /* written with the hint that it is not used again */
	bool keep;	 /* read with the hint to keep it in the cache (8.0 and later) */
};

extern const struct cuda_shape cuda_shapes[];
extern const size_t cuda_shape_count;

/* "copy_512x4_p2": also the kernel's name. */
void cuda_shape_name(const struct cuda_shape *s, char *out, size_t size);
bool cuda_shape_runs(const struct cuda_shape *s, int cc_major);
/* Bytes that a block takes in one go: sizes must be multiples of it. */
size_t cuda_shape_piece(const struct cuda_shape *s);
/* Bytes moved for a size of each array: 1, 1, 2 or 3 times that. */
unsigned cuda_op_factor(enum cuda_op op);
/*
 * The PTX of the shapes of one operation, for a GPU of that compute capability. A kernel's
 * arguments: (to, from, other, bytes, seed, sum, passes), 64 bits each but passes, 32.
 * read adds all 64-bit words into *sum; write leaves words of index and seed; copy; triad:
 * to = from + CUDA_TRIAD other, of floats.
 */
void cuda_stream_text(struct text *out, enum cuda_op op, int cc_major);

#endif
