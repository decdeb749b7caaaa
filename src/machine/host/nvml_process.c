/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses a GPU: the lists of processes, in whichever of NVML's three versions the library has. */
#include <stdlib.h>
#include <string.h>

#include "machine/host/nvml_gpu.h"

enum { PROCESSES_MAX = 1024 };

typedef int list_fn(struct nvml_device *d, unsigned *n, struct nvml_process *out);
typedef int list_v1_fn(struct nvml_device *d, unsigned *n, struct nvml_process_v1 *out);

static int list_v1(struct nvml_gpu *g, list_v1_fn *fn, struct nvml_processes *p)
{
	struct nvml_process_v1 *old = calloc(PROCESSES_MAX, sizeof(*old));
	int r;

	if (!old)
		out_of_memory(0);
	r = fn(g->dev, &p->n, old);
	for (unsigned i = 0; r == 0 && i < p->n && i < PROCESSES_MAX; i++)
		p->items[i] = (struct nvml_process){ .pid = old[i].pid, .memory = old[i].memory };
	free(old);
	return r;
}

static int list(struct nvml_gpu *g, unsigned kind, struct nvml_processes *p)
{
	const struct nvml_api *api = &g->nvml->api;
	list_fn *const newest[] = { api->nvmlDeviceGetComputeRunningProcesses_v3,
				    api->nvmlDeviceGetGraphicsRunningProcesses_v3,
				    api->nvmlDeviceGetMPSComputeRunningProcesses_v3 };
	list_fn *const second[] = { api->nvmlDeviceGetComputeRunningProcesses_v2,
				    api->nvmlDeviceGetGraphicsRunningProcesses_v2 };
	list_v1_fn *const first[] = { api->nvmlDeviceGetComputeRunningProcesses,
				      api->nvmlDeviceGetGraphicsRunningProcesses };
	int r;

	p->n = PROCESSES_MAX;
	r = newest[kind](g->dev, &p->n, p->items);
	if (r == NVML_FUNCTION_NOT_FOUND && kind != NVML_MPS) {
		p->n = PROCESSES_MAX;
		r = second[kind](g->dev, &p->n, p->items);
	}
	if (r == NVML_FUNCTION_NOT_FOUND && kind != NVML_MPS) {
		p->n = PROCESSES_MAX;
		r = list_v1(g, first[kind], p);
	}
	if (p->n > PROCESSES_MAX)
		p->n = PROCESSES_MAX;
	/* More processes than fit: the count is cut, the ones not listed stay unknown. */
	if (r == NVML_INSUFFICIENT_SIZE)
		r = NVML_INSUFFICIENT_RESOURCES;
	return r;
}

int nvml_process_ask(struct nvml_gpu *g, unsigned kind, const char *rest, long long *out)
{
	struct nvml_processes *p = &g->processes[kind];
	const char *close = strchr(rest, ')');
	unsigned i = 0;

	/* Asking how many there are starts over; asking about one of them does not. */
	if (!p->asked || !*rest) {
		p->asked = true;
		if (!p->items)
			p->items = calloc(PROCESSES_MAX, sizeof(*p->items));
		if (!p->items)
			out_of_memory(0);
		p->result = list(g, kind, p);
	}
	if (p->result)
		return nvml_errno(p->result);
	if (!*rest) {
		*out = p->n;
		return 0;
	}
	if (*rest != '(' || !close ||
	    nvml_args_parse(&(struct nvml_args){ .numbers = PROCESSES_MAX }, rest + 1,
			    (size_t)(close - rest - 1), &i) ||
	    i >= p->n)
		return -EINVAL;
	if (strcmp(close, ").pid") == 0) {
		*out = p->items[i].pid;
		return 0;
	}
	if (strcmp(close, ").usedGpuMemory") != 0)
		return -EINVAL;
	if (p->items[i].memory == ~0ULL)
		return -EOPNOTSUPP;
	*out = (long long)p->items[i].memory;
	return 0;
}
