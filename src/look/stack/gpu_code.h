/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU code by target, and which GPU runs it. The rules are those of the CUDA programming guide:
 * machine code (cubin) of sm_XY runs on GPUs of major X with a minor of Y or more; sm_XYa on
 * exactly X.Y; sm_XYf on its family; PTX of compute_XY is compiled at load time (JIT) for X.Y and
 * everything newer, if the driver knows the PTX version. The integrated GPUs of Tegra run only what
 * was made for them.
 */
#ifndef STACK_GPU_CODE_H
#define STACK_GPU_CODE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

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
const char *code_answer_name(enum code_answer answer);
const char *code_kind_name(enum code_kind k);
/* "sm_121a", "compute_120 (PTX 9.0)", "lto_80" */
const char *code_name(struct arena *a, const struct gpu_code *c);
/* "sm_121", "121" or "12.1"; "sm_120a" asks for 12.0. -EINVAL and *e. */
int gpu_target_parse(const char *text, unsigned *sm, struct err *e);
/* The CUDA version, as driver_cuda, from which on PTX of this version (90: 9.0) is known. */
unsigned ptx_needs_cuda(unsigned ptx);
/* The CUDA releases whose compiler makes code for a GPU, as driver_cuda: from *since on, and before
 * *until (0: it goes on). false: it is not known here. */
bool cuda_makes(unsigned sm, unsigned *since, unsigned *until);

#endif
