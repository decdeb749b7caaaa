/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fat binaries: containers that hold the same GPU code for several targets. The layout is not
 * documented by NVIDIA; it was held against files that nvcc 13.0 makes with each of its compression
 * modes and against the CUDA 13.0 libraries:
 *   container: u32 0xba55ed50, u16 version 1, u16 header size 16, u64 size of what follows
 *   entry:     u16 kind (1 PTX, 2 cubin, 8 LTO-IR), u16 0x101, u32 header size (64 or more),
 *              u64 padded size, u32 packed size, u32 options, u16 minor, u16 major (PTX version),
 *              u32 sm, u32, u32, u64 flags, u64, u64 unpacked size
 *   flags:     0x2000 LZ4, 0x8000 zstd, bit 20 target "a", bit 21 target "f"
 */
#ifndef STACK_FATBIN_H
#define STACK_FATBIN_H

#include "look/stack/gpu_code.h"
#include "look/stack/input.h"

#define FATBIN_MAGIC 0xba55ed50u
enum { FATBIN_HEADER = 16, FATBIN_ENTRY = 64 };
enum fatbin_packing { FATBIN_PLAIN, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
	struct gpu_code code; /* n is 1 */
	enum fatbin_packing packing;
	uint64_t at;   /* of the payload in the input */
	uint64_t size; /* of the payload without padding, as it lies there */
	uint64_t unpacked_size;
};

struct fatbin_visitor {
	void *ctx;
	void (*entry)(void *ctx, struct input *in, const struct fatbin_entry *e);
	void (*container)(void *ctx); /* after the last entry of each */
	/* What is broken; the walk goes on behind it where it can. */
	void (*problem)(void *ctx, uint64_t at, const char *what);
};

/* Walks the containers in size bytes of in from at on. 0, or -errno when reading failed. */
int fatbin_walk(struct input *in, uint64_t at, uint64_t size, const struct fatbin_visitor *v);
/*
 * The same for bytes that hold anything else as well (libcufft keeps its kernels among its data):
 * only what is a container from its first to its last entry counts, and nothing is a problem.
 */
int fatbin_search(struct input *in, uint64_t at, uint64_t size, const struct fatbin_visitor *v);
/*
 * The first n bytes of an entry's payload, unpacked; *got gets how many there are. -EBADMSG when it
 * cannot be unpacked.
 */
int fatbin_head(struct input *in, const struct fatbin_entry *entry, unsigned char *out, size_t n,
		size_t *got);

/*
 * Unpacks up to n bytes. *got gets how many there are, which is less than n at the end of the data
 * or of `packed`. -EBADMSG for what no packer makes.
 */
int lz4_head(const unsigned char *packed, size_t size, unsigned char *out, size_t n, size_t *got);

#endif
