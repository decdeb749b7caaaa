/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses the GPUs: the driver's list of processes, named by the kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "look/monitor/monitor.h"

static const struct {
	const char *question, *kind;
} lists[] = { { "nvmlDeviceGetComputeRunningProcesses", "compute" },
	      { "nvmlDeviceGetGraphicsRunningProcesses", "graphics" } };

static void add(struct host *h, const char *gpu, size_t list, long long i,
		struct monitor_processes *out)
{
	struct monitor_process *p = &out->items[out->n];
	char question[96], path[48];
	long long pid, memory;

	snprintf(question, sizeof(question), "%s(%lld).pid", lists[list].question, i);
	if (host_ask_int(h, "nvml", gpu, question, &pid) || pid <= 0 || pid > 1 << 22)
		return;
	if (out->n == MONITOR_PROCESSES_MAX) {
		out->left_out++;
		return;
	}
	*p = (struct monitor_process){ .gpu = (unsigned)strtoul(gpu, NULL, 10),
				       .pid = (int)pid,
				       .kind = lists[list].kind,
				       .memory = NAN };
	snprintf(question, sizeof(question), "%s(%lld).usedGpuMemory", lists[list].question, i);
	if (host_ask_int(h, "nvml", gpu, question, &memory) == 0)
		p->memory = (double)memory;
	/* In a container the driver may tell numbers of processes that are not ours to see. */
	snprintf(path, sizeof(path), "/proc/%lld/comm", pid);
	if (host_read_line(h, path, p->command, sizeof(p->command)) < 0)
		p->command[0] = '\0';
	out->n++;
}

static int by_memory(const void *a, const void *b)
{
	const struct monitor_process *x = a, *y = b;
	double m = isnan(x->memory) ? -1 : x->memory, n = isnan(y->memory) ? -1 : y->memory;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return m != n ? (m > n ? -1 : 1) : (x->pid > y->pid) - (x->pid < y->pid);
}

void monitor_processes(const struct monitor *mon, struct host *h, struct monitor_processes *out)
{
	out->n = out->left_out = 0;
	for (size_t g = 0; g < mon->machine.n_gpus; g++)
		for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
			char gpu[16];
			long long n;

			snprintf(gpu, sizeof(gpu), "%u", mon->machine.gpus[g].index);
			if (host_ask_int(h, "nvml", gpu, lists[l].question, &n))
				continue;
			for (long long i = 0; i < n && i < 1024; i++)
				add(h, gpu, l, i, out);
		}
	qsort(out->items, out->n, sizeof(*out->items), by_memory);
}
