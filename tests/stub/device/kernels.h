/* SPDX-License-Identifier: Apache-2.0 */
/* What our kernels do, written once more in C, from their contracts in machine/cuda/kernels.h. */
#ifndef STUB_DEVICE_KERNELS_H
#define STUB_DEVICE_KERNELS_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* A kernel's argument as what it is: a number, or the place of an array. */
static inline uint64_t u64(void *arg)
{
	uint64_t v;

	memcpy(&v, arg, sizeof(v));
	return v;
}

static inline uint32_t u32(void *arg)
{
	uint32_t v;

	memcpy(&v, arg, sizeof(v));
	return v;
}

static inline uint64_t *words(void *arg)
{
	return (uint64_t *)(uintptr_t)u64(arg);
}

struct stub_echo {
	atomic_uint *in, *out;
	unsigned n;
};

/* Of matrix products and collectives (products.c): -1 when it is none of theirs. */
int stub_product_kernel(const char *name, void **args);
/* Runs the kernel of that name. 0, or CUDA's number. */
int stub_kernel(const char *name, void **args);
struct stub_echo stub_echo_of(void **args);
/* Answers all words, or gives up after two seconds. */
void stub_answer(const struct stub_echo *e);

#endif
