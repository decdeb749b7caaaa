/* SPDX-License-Identifier: Apache-2.0 */
/* A gate is opened by a number that only grows, so that a late look at an old one lets nobody in.
 */
#include "machine/cuda/gate.h"

#include <stdatomic.h>

static void store(unsigned *word, unsigned v)
{
	atomic_store_explicit((_Atomic unsigned *)word, v, memory_order_release);
}

int cuda_gate_make(struct cuda_gpu *g, struct cuda_gate *out, struct err *e)
{
	void *p = NULL;
	int r;

	*out = (struct cuda_gate){ .gpu = g };
	r = cuda_host_alloc(g, sizeof(unsigned), &p, &out->as, e);
	out->word = p;
	if (r == 0)
		store(out->word, 0);
	return r;
}

void cuda_gate_end(struct cuda_gate *gate)
{
	if (!gate->word)
		return;
	cuda_gate_open(gate);
	cuda_host_free(gate->gpu, gate->word);
	*gate = (struct cuda_gate){ 0 };
}

void cuda_gate_shut(struct cuda_gate *gate)
{
	gate->turn++;
}

int cuda_gate_hold(struct cuda_gate *gate, struct cuda_gpu *g, struct cuda_stream *s,
		   struct cuda_function *spin, struct err *e)
{
	void *args[] = { &gate->as, &gate->turn };
	int r = CUDA_ERROR_NOT_SUPPORTED;

	if (!gate->kernel)
		r = g->api->stream_wait_value(s, gate->as, gate->turn, CU_STREAM_WAIT_VALUE_GEQ);
	if (r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NOT_FOUND ||
	    r == CUDA_ERROR_NOT_PERMITTED) {
		gate->kernel = true;
		return cuda_launch(g, spin, 1, 1, s, args, e);
	}
	return cuda_check(g, r, e, "holding a stream");
}

void cuda_gate_open(struct cuda_gate *gate)
{
	if (gate->word)
		store(gate->word, gate->turn);
}
