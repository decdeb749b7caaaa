/* SPDX-License-Identifier: Apache-2.0 */
/* What GPU code says of itself, in its own first bytes. */
#ifndef STACK_SCAN_HEAD_H
#define STACK_SCAN_HEAD_H

#include "look/stack/fatbin.h"

/* .version and .target stand in the first lines of PTX. */
enum { PTX_HEAD = 4096 };

/* From the header of a cubin, by its ABI: 8 since CUDA 13, 7 before. */
void cubin_target(unsigned abi, uint32_t flags, unsigned *sm, char *suffix);
/* -EINVAL when text does not begin like PTX. ptx: 90 for ".version 9.0". */
int ptx_target(const char *text, unsigned *sm, char *suffix, unsigned *ptx);
/*
 * Unpacks the head of an entry and compares it with the entry's header. 0: they agree; -ENOTSUP:
 * such code says nothing of itself; anything else: they do not, or it cannot be unpacked, and *why
 * says so.
 */
int head_compare(struct arena *a, struct input *in, const struct fatbin_entry *entry,
		 const char **why);

/* True for a cubin without any kernel. Only small ones are looked into: a kernel takes room. */
bool head_empty(struct input *in, const struct fatbin_entry *entry);

#endif
