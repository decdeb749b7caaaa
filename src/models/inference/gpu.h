/* SPDX-License-Identifier: Apache-2.0 */
/* Named machines: how many GPUs of which kind, and what joins them. Pure. */
#ifndef INFERENCE_GPU_H
#define INFERENCE_GPU_H

#include "base/arena.h"
#include "base/err.h"
#include "knowledge/knowledge.h"

struct target_hw {
	const struct gpu_kind *gpu;
	int gpus;	/* of all machines */
	int nodes;	/* machines */
	double memory;	/* bytes of one GPU that can be used at all; 0: by data sheet */
	double network; /* GB/s one way between machines; 0: what such machines have */
	const char *memory_from, *taken;
};

/* "2x dgx-spark", "gb10 x2", "h100-sxm x8", "hgx-h200"; "2x hgx-h100" are two machines with all
 * their GPUs. -ENOENT: names no machine of the list. known: NULL: what is compiled in. */
int place_parse(struct arena *a, const struct knowledge *known, const char *text,
		struct target_hw *out, struct err *e);
/* Bytes of one GPU, or of unified memory, that there are in all: read, as drivers show such a card,
 * or by data sheet. */
double place_memory_bytes(const struct target_hw *p);
/* GB/s one way between so many GPUs of one machine; 0: none. */
double gpu_link_gbs(const struct gpu_kind *g, int gpus);
/* GPUs of the fullest machine. */
int place_per_node(const struct target_hw *p);
/* By NVML's name; NULL: not in the list. */
const struct gpu_kind *gpu_kind_of(const struct knowledge *known, const char *nvml_name);

#endif
