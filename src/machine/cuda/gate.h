/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate that holds streams, of any GPUs, until the host opens it: work is queued behind it, then
 * runs without the host. It is a word of pinned memory that the hardware waits for, or, where the
 * driver cannot, a kernel of one thread that looks at the word and gives up after two seconds.
 * While it is closed nothing may be allocated, freed or run for the first time: the driver may wait
 * for the streams then. Streams take about 1000 entries before queueing blocks.
 */
#ifndef CUDA_GATE_H
#define CUDA_GATE_H

#include "machine/cuda/driver.h"

struct cuda_gate {
	struct cuda_gpu *gpu; /* that pinned the word */
	unsigned *word;	      /* what was opened last */
	cuda_address as;      /* the word as GPUs see it */
	unsigned turn;	      /* what opens it next */
	bool kernel;	      /* the hardware cannot wait */
};

enum { CUDA_GATE_QUEUE = 900 };

/* g must be current. */
int cuda_gate_make(struct cuda_gpu *g, struct cuda_gate *out, struct err *e);
void cuda_gate_end(struct cuda_gate *gate);
/* From now on streams can be held, until it is opened. */
void cuda_gate_shut(struct cuda_gate *gate);
/* What is queued in s afterwards waits. spin: the kernel "spin" of g's tools
 * (machine/cuda/kernels.h). */
int cuda_gate_hold(struct cuda_gate *gate, struct cuda_gpu *g, struct cuda_stream *s,
		   struct cuda_function *spin, struct err *e);
/* Any number of times. */
void cuda_gate_open(struct cuda_gate *gate);

#endif
