/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing NVML. Attaching to a GPU is the largest single cost (6 ms on an H200) and the
 * one thing that NVML does for several GPUs at a time, so that all handles are got at once.
 */
#include "machine/host/nvml_gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/vendor.h"

static void initialise(void *ctx)
{
	struct nvml *n = ctx;

	n->result = n->api.nvmlInit_v2();
	if (n->result == NVML_FUNCTION_NOT_FOUND)
		n->result = n->api.nvmlInit();
}

void nvml_open(struct nvml *n)
{
	n->error = nvml_load(&n->api, &n->lib);
	if (n->error)
		return;
	vendor_call(initialise, n);
	if (n->result)
		return;
	n->count_result = n->api.nvmlDeviceGetCount_v2(&n->n);
	if (n->count_result == NVML_FUNCTION_NOT_FOUND)
		n->count_result = n->api.nvmlDeviceGetCount(&n->n);
	if (n->count_result)
		n->n = 0;
	if (n->n > NVML_GPUS_MAX)
		n->n = NVML_GPUS_MAX;
}

/* A GPU's handle, into g. For threads. */
static void *attach(void *arg)
{
	struct nvml_gpu *g = arg;
	unsigned index = (unsigned)(g - g->nvml->gpus);

	g->result = g->nvml->api.nvmlDeviceGetHandleByIndex_v2(index, &g->dev);
	if (g->result == NVML_FUNCTION_NOT_FOUND)
		g->result = g->nvml->api.nvmlDeviceGetHandleByIndex(index, &g->dev);
	return NULL;
}

static void attach_all(struct nvml *n)
{
	pthread_t threads[NVML_GPUS_MAX];
	bool started[NVML_GPUS_MAX] = { false };

	/* The last one, often the only one, is for this thread. */
	for (unsigned i = 0; i + 1 < n->n; i++)
		started[i] = pthread_create(&threads[i], NULL, attach, &n->gpus[i]) == 0;
	for (unsigned i = 0; i < n->n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			attach(&n->gpus[i]);
}

struct nvml_gpu *nvml_gpu(struct nvml *n, unsigned index)
{
	if (n->gpus)
		return &n->gpus[index];
	n->gpus = calloc(n->n, sizeof(*n->gpus));
	if (!n->gpus)
		out_of_memory(0);
	for (unsigned i = 0; i < n->n; i++) {
		n->gpus[i].nvml = n;
		n->gpus[i].cache = calloc(nvml_questions_n, sizeof(*n->gpus[i].cache));
		if (!n->gpus[i].cache)
			out_of_memory(0);
	}
	attach_all(n);
	return &n->gpus[index];
}

void nvml_gpu_renew(struct nvml_gpu *g)
{
	memset(g->cache, 0, nvml_questions_n * sizeof(*g->cache));
	if (g->fields)
		memset(g->fields->fresh, 0, sizeof(g->fields->fresh));
	attach(g);
}

void nvml_shut(struct nvml *n)
{
	for (unsigned i = 0; n->gpus && i < n->n; i++) {
		for (unsigned k = 0; k < NVML_PROCESS_KINDS; k++)
			free(n->gpus[i].processes[k].items);
		free(n->gpus[i].fields);
		free(n->gpus[i].cache);
	}
	free(n->gpus);
	if (!n->error && !n->result)
		n->api.nvmlShutdown();
	vendor_close(n->lib);
}
