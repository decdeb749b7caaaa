/* SPDX-License-Identifier: Apache-2.0 */
/* What our kernels do, written once more in C, from their contracts in cuda/kernels.h. */
#ifndef STUB_DEVICE_KERNELS_H
#define STUB_DEVICE_KERNELS_H

#include <stdatomic.h>

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
