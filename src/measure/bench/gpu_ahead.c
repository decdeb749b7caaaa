/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads: one opens the driver and then a context, the other loads cuBLASLt. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/gpu_ahead.h"
#include "machine/cuda/cublaslt.h"
#include "machine/cuda/driver.h"
#include "machine/cuda/guard.h"

struct begun {
	pthread_t thread;
	bool running, taken;
	int r;
	struct err e;
};

struct gpu_preinit {
	struct begun driver, library;
	bool named; /* GPUs were asked for by name: which, the facts tell */
	struct cuda cuda;
	struct cublaslt lt;
};

static void *open_driver(void *arg)
{
	struct gpu_preinit *h = arg;
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
	struct gpu_preinit *h = arg;

	h->library.r = cublaslt_load(&h->lt, &h->library.e);
	return NULL;
}

static struct gpu_preinit *gpu_preinit_begin(const struct bench_ask *ask, const char *name,
					     bool cublaslt)
{
	struct gpu_preinit *h = heap_array(1, sizeof(*h));

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

struct gpu_preinit *gpu_preinit_products(const struct bench_ask *ask, const char *name)
{
	return gpu_preinit_begin(ask, name, true);
}

struct gpu_preinit *gpu_preinit_plain(const struct bench_ask *ask, const char *name)
{
	return gpu_preinit_begin(ask, name, false);
}

static void join(struct begun *b)
{
	if (b->running)
		pthread_join(b->thread, NULL);
	b->running = false;
}

static bool gpu_ahead_take(struct begun *b, int *r, struct err *e)
{
	if (!b->running || b->taken)
		return false;
	join(b);
	b->taken = true;
	*r = b->r;
	*e = b->e;
	return true;
}

bool gpu_preinit_driver(struct gpu_preinit *h, struct cuda **out, int *r, struct err *e)
{
	if (!h || !gpu_ahead_take(&h->driver, r, e))
		return false;
	*out = &h->cuda;
	return true;
}

bool gpu_preinit_cublaslt(struct gpu_preinit *h, struct cublaslt *out, int *r, struct err *e)
{
	if (!h || !gpu_ahead_take(&h->library, r, e))
		return false;
	*out = h->lt;
	return true;
}

void gpu_preinit_end(struct gpu_preinit *h)
{
	if (!h)
		return;
	join(&h->driver);
	join(&h->library);
	free(h);
}
