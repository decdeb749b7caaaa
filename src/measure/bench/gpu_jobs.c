/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers and runs of copy jobs. Copies of memory that is not pinned, and those between GPUs that
 * cannot reach each other, are driven by the host while they run: they never wait behind a gate.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gpu_jobs.h"
#include "base/clock.h"
#include "measure/bench/memory_latency.h"
#include "machine/cuda/cublaslt.h"
#include "machine/cuda/driver.h"
#include "machine/cuda/guard.h"

enum { JOB_MOST_S = 60 };

static const uint64_t other_data = 0x5555aaaa00000000u;

/* --- buffers ------------------------------------------------------------------------------------
 */

static void host_fill(void *p, size_t bytes, uint64_t seed)
{
	uint64_t *w = p;

	for (size_t i = 0; i < bytes / 8; i++)
		w[i] = cuda_random(seed, i);
}

static int host_side(struct gpu_jobs *j, struct gpu_job *b, const struct bench_env *env,
		     struct err *e)
{
	int node = b->node, r;

	if (node < 0 && env->m->cpu.nodes.n > 1 && b->place->facts)
		node = (int)fact_or(&b->place->facts->numa_node, -1);
	r = memory_map(j->bytes, PAGES_HUGE, node, &b->host, e);
	if (r)
		return r;
	/* Touched, so that it is there. */
	host_fill(b->host, j->bytes, b->seed ^ (b->in ? 0 : other_data));
	return b->pageable ? 0 : cuda_host_pin(b->place->gpu, b->host, j->bytes, &b->far, e);
}

static int device_sides(struct gpu_jobs *j, struct gpu_job *b, struct err *e)
{
	int r = gpu_place_open(b->place, e);

	if (r == 0 && b->other) {
		r = gpu_place_open(b->other, e);
		if (r == 0 && !b->staged && b->other != b->place)
			r = cuda_peer(b->place->gpu, b->other->gpu, e);
		r = r ? r : cuda_use(b->other->gpu, e);
		r = r ? r : gpu_alloc(b->other, j->bytes, &b->far, e);
		r = r ? r : cuda_use(b->place->gpu, e);
	}
	r = r ? r : gpu_alloc(b->place, j->bytes, &b->near, e);
	return r;
}

/* By the GPU that owns the memory, where it has a stream, or through its peer. */
static struct gpu_place *filler(struct gpu_jobs *j, struct gpu_place *owner,
				struct gpu_place *driver)
{
	for (size_t i = 0; i < j->timer.n; i++)
		if (j->timer.lane[i].place == owner)
			return owner;
	return driver;
}

static int fill(struct gpu_jobs *j, struct gpu_job *b, struct err *e)
{
	struct gpu_data source = { b->seed, false }, poison = { b->seed ^ other_data, false };
	int r = gpu_fill(b->place, &j->timer, b->near, j->bytes, b->in ? poison : source, e);

	if (r || !b->other)
		return r;
	return gpu_fill(filler(j, b->other, b->place), &j->timer, b->far, j->bytes,
			b->in ? source : poison, e);
}

static int find_kernels(struct gpu_jobs *j, struct err *e)
{
	int r = 0;

	for (size_t i = 0; !j->shape && i < cuda_shape_count; i++)
		if (cuda_shapes[i].op == CUDA_OP_COPY && !cuda_shapes[i].keep)
			j->shape = &cuda_shapes[i];
	for (size_t i = 0; r == 0 && i < j->n; i++) {
		if (!j->job[i].kernel)
			continue;
		r = cuda_use(j->job[i].place->gpu, e);
		r = r ? r : gpu_stream_kernel(j->job[i].place, j->shape, &j->kernel[i], e);
	}
	return r;
}

int gpu_jobs_open(struct gpu_jobs *j, const struct bench_env *env, struct err *e)
{
	/* A staged copy is filled on both GPUs: a lane for the far one too. */
	struct gpu_place *places[2 * GPU_JOBS_MAX];
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		struct gpu_job *b = &j->job[i];

		b->seed = 0x67707574756e7000u + i;
		r = device_sides(j, b, e);
		r = r || b->other ? r : host_side(j, b, env, e);
		places[n++] = b->place;
	}
	for (size_t i = 0; r == 0 && i < j->n; i++)
		if (j->job[i].staged)
			places[n++] = j->job[i].other;
	r = r ? r : gpu_timer_make(&j->timer, places, n, e);
	for (size_t i = 0; r == 0 && i < j->n; i++)
		r = fill(j, &j->job[i], e);
	r = r ? r : find_kernels(j, e);
	if (r)
		gpu_jobs_close(j);
	return r;
}

void gpu_jobs_close(struct gpu_jobs *j)
{
	struct err ignored;

	if (j->timer.n)
		gpu_timer_end(&j->timer);
	for (size_t i = 0; i < j->n; i++) {
		struct gpu_job *b = &j->job[i];

		if (b->other && b->far && cuda_use(b->other->gpu, &ignored) == 0)
			cuda_free(b->other->gpu, b->far);
		if (cuda_use(b->place->gpu, &ignored) == 0) {
			cuda_free(b->place->gpu, b->near);
			if (b->host && b->far && !b->other)
				cuda_host_unpin(b->place->gpu, b->host);
		}
		/* Memory that a lost GPU may still write to stays mapped. */
		if (!*b->place->gpu->lost)
			memory_unmap(b->host, j->bytes);
		b->near = b->far = 0;
		b->host = NULL;
	}
}

/* --- runs ---------------------------------------------------------------------------------------
 */

static int peer_copy(struct gpu_jobs *j, struct gpu_job *b, struct cuda_stream *s, struct err *e)
{
	struct cuda_gpu *g = b->place->gpu, *o = b->other->gpu;
	int r = b->in ? g->api->copy_peer(b->near, g->context, b->far, o->context, j->bytes, s)
		      : g->api->copy_peer(b->far, o->context, b->near, g->context, j->bytes, s);

	return cuda_check(g, r, e, "copying to GPU %s", o->pci);
}

static int kernel_copy(struct gpu_jobs *j, size_t i, struct cuda_stream *s, struct err *e)
{
	struct gpu_job *b = &j->job[i];
	cuda_address to = b->in ? b->near : b->far, from = b->in ? b->far : b->near, none = 0;
	uint64_t bytes = j->bytes, seed = 0;
	unsigned passes = 1, blocks = (unsigned)(j->bytes / cuda_shape_piece(j->shape));
	void *args[] = { &to, &from, &none, &bytes, &seed, &none, &passes };

	return cuda_launch(b->place->gpu, j->kernel[i], blocks, j->shape->threads, s, args, e);
}

static int work(void *ctx, size_t lane, struct err *e)
{
	struct gpu_jobs *j = ctx;
	struct gpu_job *b = &j->job[lane];
	struct cuda_gpu *g = b->place->gpu;
	struct cuda_stream *s = j->timer.lane[lane].s;

	if (lane >= j->n)
		return 0;
	if (b->kernel)
		return kernel_copy(j, lane, s, e);
	if (b->other)
		return peer_copy(j, b, s, e);
	return b->in ? cuda_check(g, g->api->copy_in(b->near, b->host, j->bytes, s), e,
				  "copying from the host")
		     : cuda_check(g, g->api->copy_out(b->host, b->near, j->bytes, s), e,
				  "copying to the host");
}

static bool driven(const struct gpu_jobs *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->job[i].pageable || j->job[i].staged)
			return true;
	return false;
}

/* By the host's clock, from the first call to the end of the last copy. */
static int run_driven(struct gpu_jobs *j, size_t n, double *seconds, struct err *e)
{
	double begin = clock_mono_s();
	int r = 0;

	cuda_guard_touch(&j->timer.guard);
	for (size_t k = 0; r == 0 && k < n; k++)
		for (size_t i = 0; r == 0 && i < j->n; i++) {
			r = cuda_use(j->job[i].place->gpu, e);
			r = r ? r : work(j, i, e);
		}
	for (size_t i = 0; r == 0 && i < j->n; i++) {
		r = cuda_use(j->job[i].place->gpu, e);
		r = r ? r
		      : cuda_wait_stream(j->job[i].place->gpu, j->timer.lane[i].s, JOB_MOST_S,
					 "a copy", e);
	}
	*seconds = clock_mono_s() - begin;
	return r;
}

int gpu_jobs_run(struct gpu_jobs *j, size_t n, double *seconds, struct err *e)
{
	return driven(j) ? run_driven(j, n, seconds, e)
			 : gpu_window(&j->timer, work, j, n, seconds, e);
}

int gpu_jobs_fit(struct gpu_jobs *j, double seconds, size_t *n, struct err *e)
{
	double one = 0;
	int r;

	if (!driven(j))
		return gpu_window_fit(&j->timer, work, j, seconds, n, e);
	r = run_driven(j, 1, &one, e);
	r = r ? r : run_driven(j, 1, &one, e);
	*n = one > 0 ? (size_t)fmin(seconds / one, CUDA_GATE_QUEUE) : 1;
	*n = *n ? *n : 1;
	return r;
}

/* --- what came of it ----------------------------------------------------------------------------
 */

static int verify_host(const struct gpu_jobs *j, const struct gpu_job *b, struct err *e)
{
	const uint64_t *w = b->host;

	for (size_t i = 0; i < j->bytes / 8; i++)
		if (w[i] != cuda_random(b->seed, i))
			return err_set(e, -EILSEQ,
				       "GPU %u: the copy to the host: word %zu of %zu is wrong",
				       b->place->index, i, j->bytes / 8);
	return 0;
}

int gpu_jobs_verify(struct gpu_jobs *j, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		struct gpu_job *b = &j->job[i];
		struct gpu_data d = { b->seed, false };

		if (!b->in && b->pageable)
			r = verify_host(j, b, e);
		else if (b->in)
			r = gpu_verify(b->place, &j->timer, GPU_CHECK_DATA, b->near, j->bytes, d, 0,
				       b->other ? "the copy from the other GPU"
						: "the copy from the host",
				       e);
		else
			r = gpu_verify(
				b->other ? filler(j, b->other, b->place) : b->place, &j->timer,
				GPU_CHECK_DATA, b->far, j->bytes, d, 0,
				b->other ? "the copy to the other GPU" : "the copy to the host", e);
	}
	return r;
}

/* Two threads: one opens the driver and then a context, the other loads cuBLASLt. */

struct begun {
	pthread_t thread;
	bool running, taken;
	int r;
	struct err e;
};

struct gpu_ahead {
	struct begun driver, library;
	bool named; /* GPUs were asked for by name: which, the facts tell */
	struct cuda cuda;
	struct cublaslt lt;
};

static void *open_driver(void *arg)
{
	struct gpu_ahead *h = arg;
	struct cuda_guard guard;
	struct err ignored = { 0 };

	h->driver.r = cuda_open(&h->cuda, &h->driver.e);
	if (h->driver.r || (h->named && h->cuda.n > 1))
		return NULL;
	/* A failure is met again, and told, where the context is used. */
	cuda_guard_begin(&guard, CUDA_GUARD_S, h->cuda.gpu[0].pci);
	cuda_use(&h->cuda.gpu[0], &ignored);
	cuda_guard_end(&guard);
	return NULL;
}

static void *open_library(void *arg)
{
	struct gpu_ahead *h = arg;

	h->library.r = cublaslt_load(&h->lt, &h->library.e);
	return NULL;
}

static struct gpu_ahead *gpu_ahead_begin(const struct bench_ask *ask, const char *name,
					 bool cublaslt)
{
	struct gpu_ahead *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->named = ask->gpus || (name && strstr(name, "gpu"));
	/* While this is the only thread. */
	cuda_environment();
	if (cublaslt) {
		cublaslt_clear(&h->lt);
		h->library.running = pthread_create(&h->library.thread, NULL, open_library, h) == 0;
	}
	h->driver.running = pthread_create(&h->driver.thread, NULL, open_driver, h) == 0;
	return h;
}

struct gpu_ahead *gpu_ahead_products(const struct bench_ask *ask, const char *name)
{
	return gpu_ahead_begin(ask, name, true);
}

struct gpu_ahead *gpu_ahead_plain(const struct bench_ask *ask, const char *name)
{
	return gpu_ahead_begin(ask, name, false);
}

static void join(struct begun *b)
{
	if (b->running)
		pthread_join(b->thread, NULL);
	b->running = false;
}

static bool take(struct begun *b, int *r, struct err *e)
{
	if (!b->running || b->taken)
		return false;
	join(b);
	b->taken = true;
	*r = b->r;
	*e = b->e;
	return true;
}

bool gpu_ahead_driver(struct gpu_ahead *h, struct cuda **out, int *r, struct err *e)
{
	if (!h || !take(&h->driver, r, e))
		return false;
	*out = &h->cuda;
	return true;
}

bool gpu_ahead_cublaslt(struct gpu_ahead *h, struct cublaslt *out, int *r, struct err *e)
{
	if (!h || !take(&h->library, r, e))
		return false;
	*out = h->lt;
	return true;
}

void gpu_ahead_end(struct gpu_ahead *h)
{
	if (!h)
		return;
	join(&h->driver);
	join(&h->library);
	free(h);
}
