/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the GPU probe share. */
#ifndef PROBE_GPU_H
#define PROBE_GPU_H

#include "look/probe/probe.h"

/* Names of a vendor's small numbers, the number being the index; gaps are NULL. */
struct gpu_names {
	const char *const *names;
	size_t n;
};

/* The name of a number that was seen; a number without a name is an error that keeps its source. */
struct fact_str gpu_named(struct fact_int f, const struct gpu_names *names);
/*
 * NVML's "00000000:18:00.0" as the kernel writes it, "0000:18:00.0", in arena memory: lower case,
 * at least four digits of domain. NULL when it is no address, or the all-ones that stands for "not
 * visible".
 */
char *gpu_address(struct arena *a, const char *busid);

/* NVLinks and peers. */
void probe_gpu_links(struct probe *p, struct gpu *g, const char *object);
/* After all GPUs are there: which of them may reach which. */
void probe_gpu_peers(struct probe *p, struct gpu *g, const char *object);
/* Who uses it. */
void probe_gpu_processes(struct probe *p, struct gpu *g, const char *object);
/* Errors of GPUs and NVSwitches in the kernel's log; after all GPUs are there. */
void probe_gpu_log(struct probe *p);
/* What CUDA says of it, when p->deep; and whether it is integrated, from all that is known by then.
 */
void probe_gpu_cuda(struct probe *p, struct gpu *g);

#endif
