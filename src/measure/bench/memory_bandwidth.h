/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over memory, one table a machine: read, write, copy, triad, each with the widest vectors
 * the processor has, through the cache and past it. Which one wins is found out by trying.
 */
#ifndef BENCH_MEMORY_BANDWIDTH_H
#define BENCH_MEMORY_BANDWIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_op { MEMORY_READ, MEMORY_WRITE, MEMORY_COPY, MEMORY_TRIAD, MEMORY_OPS };

/* What all triads and writes use: exact in a double. */
#define MEMORY_SCALE 3.0
#define MEMORY_FILL 7.5

/* n: doubles, a multiple of 64; arrays aligned to 64 bytes. */
struct memory_kernel {
	const char *name; /* "avx2, non-temporal" */
	bool (*usable)(void);
	/* The sum of all 64-bit words, as whole numbers. NULL: the plain one reads as fast. */
	uint64_t (*read)(const double *a, size_t n);
	void (*write)(double *a, size_t n);				      /* a = MEMORY_FILL */
	void (*copy)(double *a, const double *b, size_t n);		      /* a = b */
	void (*triad)(double *a, const double *b, const double *c, size_t n); /* a = b + 3 c */
};

extern const struct memory_kernel memory_kernels[];
extern const size_t memory_kernel_count;

#endif
