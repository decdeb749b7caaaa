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

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "look/stack/input.h"

/*
 * GPU code by target, and which GPU runs it. The rules are those of the CUDA programming guide:
 * machine code (cubin) of sm_XY runs on GPUs of major X with a minor of Y or more; sm_XYa on
 * exactly X.Y; sm_XYf on its family; PTX of compute_XY is compiled at load time (JIT) for X.Y and
 * everything newer, if the driver knows the PTX version. The integrated GPUs of Tegra run only what
 * was made for them.
 */

enum code_kind { CODE_CUBIN, CODE_PTX, CODE_LTO, CODE_OTHER, CODE_KINDS };

struct gpu_code {
	enum code_kind kind;
	unsigned sm;   /* 121: compute capability 12.1 */
	char suffix;   /* 'a': this one alone, 'f': its family, 0: none */
	unsigned ptx;  /* PTX version, 90: 9.0; 0: not PTX */
	size_t n;      /* entries */
	size_t empty;  /* of them without any kernel, as nvcc makes of files that have none */
	size_t inside; /* of them in a library's data, where its own code finds them: no tool
			* that reads sections lists these */
	uint64_t size; /* bytes as they lie in the file */
};

/* Distinct targets; more than CODE_SET_MAX are not made by any tool and count as the last one. */
enum { CODE_SET_MAX = 256 };
struct code_set {
	struct gpu_code *items;
	size_t n;
};

/* From best to worst. */
enum code_answer { CODE_NATIVE, CODE_FAMILY, CODE_JIT, CODE_CANNOT, CODE_NONE, CODE_ANSWERS };

struct gpu_target {
	unsigned sm;
	unsigned driver_cuda; /* newest CUDA version of the driver, 1300: 13.0; 0: not known */
};

enum { GPU_TARGETS_MAX = 8 };

void code_add(struct arena *a, struct code_set *set, const struct gpu_code *c);
/* Sorted: cubins before PTX, by target. */
void code_sort(struct code_set *set);
enum code_answer code_answer(const struct gpu_code *c, const struct gpu_target *gpu);
/* The best of all; CODE_NONE for an empty set. *by (may be NULL) gets what it is due to. */
enum code_answer code_best(const struct code_set *set, const struct gpu_target *gpu,
			   const struct gpu_code **by);
/* "native", "same-family", "ptx-jit", "cannot-run", "no-gpu-code" */
const char *code_answer_name(unsigned answer);
const char *code_kind_name(unsigned k);
/* "sm_121a", "compute_120 (PTX 9.0)", "lto_80" */
const char *code_name(struct arena *a, const struct gpu_code *c);
/* "sm_121", "121" or "12.1"; "sm_120a" asks for 12.0. -EINVAL and *e. */
int gpu_target_parse(const char *text, unsigned *sm, struct err *e);
/* The CUDA version, as driver_cuda, from which on PTX of this version (90: 9.0) is known. */
unsigned ptx_needs_cuda(unsigned ptx);
/* The CUDA releases whose compiler makes code for a GPU, as driver_cuda: from *since on, and before
 * *until (0: it goes on). false: it is not known here. */
bool cuda_makes(unsigned sm, unsigned *since, unsigned *until);

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
