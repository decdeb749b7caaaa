/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, streams, events and kernels of one GPU, with sentences for errors and limits for waits.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "machine/cuda/driver.h"

enum { LOG_MAX = 4096, SPIN_NS = 200000, NAP_NS = 20000 };

/* CUjit_option */
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };

/* --- memory ----------------------------------------------------------------------------------- */

int cuda_alloc(struct cuda_gpu *g, size_t bytes, cuda_address *out, struct err *e)
{
	size_t left = 0, total = 0;
	int r = g->api->memory_alloc(out, bytes);

	/* What a call that failed left there is nothing to give back. */
	if (r)
		*out = 0;
	if (r != CUDA_ERROR_OUT_OF_MEMORY)
		return cuda_check(g, r, e, "allocating %zu MiB of GPU memory", bytes >> 20);
	g->api->memory_info(&left, &total);
	return err_set(e, -ENOMEM,
		       "GPU %s: cannot allocate %zu MiB of GPU memory: %zu of %zu MiB are free",
		       g->pci, (bytes + (1 << 20) - 1) >> 20, left >> 20, total >> 20);
}

void cuda_free(struct cuda_gpu *g, cuda_address at)
{
	if (at && !*g->lost)
		g->api->memory_free(at);
}

static int address_of(struct cuda_gpu *g, void *p, cuda_address *as, struct err *e)
{
	return as ? cuda_check(g, g->api->host_address(as, p, 0), e, "mapping host memory") : 0;
}

int cuda_host_alloc(struct cuda_gpu *g, size_t bytes, void **out, cuda_address *as, struct err *e)
{
	int r = cuda_check(g,
			   g->api->host_alloc(out, bytes,
					      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
			   e, "allocating %zu MiB of pinned host memory", bytes >> 20);

	if (r) {
		*out = NULL;
		return r;
	}
	r = address_of(g, *out, as, e);
	if (r) {
		cuda_host_free(g, *out);
		*out = NULL;
	}
	return r;
}

void cuda_host_free(struct cuda_gpu *g, void *p)
{
	if (p && !*g->lost)
		g->api->host_free(p);
}

int cuda_host_pin(struct cuda_gpu *g, void *p, size_t bytes, cuda_address *as, struct err *e)
{
	int r = cuda_check(g,
			   g->api->host_register(
				   p, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
			   e, "pinning %zu MiB of host memory", bytes >> 20);

	if (r)
		return r;
	r = address_of(g, p, as, e);
	if (r)
		cuda_host_unpin(g, p);
	return r;
}

void cuda_host_unpin(struct cuda_gpu *g, void *p)
{
	if (p && !*g->lost)
		g->api->host_unregister(p);
}

/* --- streams and events ----------------------------------------------------------------------- */

int cuda_stream_make(struct cuda_gpu *g, struct cuda_stream **out, struct err *e)
{
	int r = g->api->stream_create(out, CU_STREAM_NON_BLOCKING);

	if (r)
		*out = NULL;
	return cuda_check(g, r, e, "a stream");
}

void cuda_stream_end(struct cuda_gpu *g, struct cuda_stream *s)
{
	if (s && !*g->lost)
		g->api->stream_destroy(s);
}

int cuda_event_make(struct cuda_gpu *g, struct cuda_event **out, struct err *e)
{
	int r = g->api->event_create(out, 0);

	if (r)
		*out = NULL;
	return cuda_check(g, r, e, "creating an event");
}

void cuda_event_end(struct cuda_gpu *g, struct cuda_event *ev)
{
	if (ev && !*g->lost)
		g->api->event_destroy(ev);
}

int cuda_record(struct cuda_gpu *g, struct cuda_event *ev, struct cuda_stream *s, struct err *e)
{
	return cuda_check(g, g->api->event_record(ev, s), e, "recording an event");
}

/* Asks until the answer is another than "not yet": at once again at first, later after naps. */
static int calls_wait_for(struct cuda_gpu *g, struct cuda_event *ev, struct cuda_stream *s,
			  double seconds, const char *what, struct err *e)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	long long begin = clock_mono_ns(), at;
	int r = cuda_well(g, e);

	if (r)
		return r;
	for (;;) {
		r = ev ? g->api->event_query(ev) : g->api->stream_query(s);
		if (r != CUDA_ERROR_NOT_READY)
			return cuda_check(g, r, e, "%s", what);
		at = clock_mono_ns() - begin;
		if ((double)at > seconds * 1e9)
			break;
		if (at > SPIN_NS)
			nanosleep(&nap, NULL);
	}
	{
		char why[160];

		snprintf(why, sizeof(why), "%.80s did not finish within %.3g s", what, seconds);
		cuda_lose(g, e, why);
	}
	return -ETIME;
}

int cuda_wait_event(struct cuda_gpu *g, struct cuda_event *ev, double seconds, const char *what,
		    struct err *e)
{
	return calls_wait_for(g, ev, NULL, seconds, what, e);
}

int cuda_wait_stream(struct cuda_gpu *g, struct cuda_stream *s, double seconds, const char *what,
		     struct err *e)
{
	return calls_wait_for(g, NULL, s, seconds, what, e);
}

int cuda_elapsed(struct cuda_gpu *g, struct cuda_event *from, struct cuda_event *to, double *out,
		 struct err *e)
{
	float ms = 0;
	int r = cuda_check(g, g->api->event_elapsed(&ms, from, to), e,
			   "reading the time between events");

	*out = (double)ms / 1e3;
	if (r == 0 && !(ms > 0 && isfinite(ms)))
		return err_set(e, -ETIME, "GPU %s: invalid time between two CUDA events", g->pci);
	return r;
}

/* --- kernels ---------------------------------------------------------------------------------- */

int cuda_module_load(struct cuda_gpu *g, const char *ptx, struct cuda_module **out, struct err *e)
{
	static const int options[] = { JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE };
	char log[LOG_MAX] = "";
	/* The size travels as the pointer's own bits. */
	void *values[] = { log, (void *)(size_t)sizeof(log) };
	int r = g->api->module_load(out, ptx, 2, options, values);

	log[sizeof(log) - 1] = '\0';
	log[strcspn(log, "\n")] = '\0';
	if (r)
		*out = NULL;
	return *log ? cuda_check(g, r, e, "compiling kernels (%.120s)", log)
		    : cuda_check(g, r, e, "compiling kernels");
}

void cuda_module_end(struct cuda_gpu *g, struct cuda_module *m)
{
	if (m && !*g->lost)
		g->api->module_unload(m);
}

int cuda_function_find(struct cuda_gpu *g, struct cuda_module *m, const char *name,
		       struct cuda_function **out, struct err *e)
{
	return cuda_check(g, g->api->module_function(out, m, name), e, "finding kernel \"%s\"",
			  name);
}

int cuda_launch(struct cuda_gpu *g, struct cuda_function *f, unsigned blocks, unsigned threads,
		struct cuda_stream *s, void **args, struct err *e)
{
	return cuda_check(g, g->api->launch(f, blocks, 1, 1, threads, 1, 1, 0, s, args, NULL), e,
			  "launching a kernel");
}

/* A gate is opened by a number that only grows, so that a late look at an old one lets nobody in.
 */

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
	return cuda_check(g, r, e, "blocking a stream");
}

void cuda_gate_open(struct cuda_gate *gate)
{
	if (gate->word)
		store(gate->word, gate->turn);
}
