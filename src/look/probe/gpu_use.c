/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses a GPU, what CUDA says of it, and whether it shares its memory with the processors. */
#include <string.h>

#include "base/word.h"
#include "look/probe/gpu.h"

enum { PROCESSES_MAX = 1024 };

static void add_processes(struct probe *p, struct gpu *g, const char *object, const char *question,
			  const char *kind)
{
	struct fact_int count = probe_ask_int(p, "nvml", object, question);

	for (unsigned i = 0; i < PROCESSES_MAX && i < fact_or(&count, 0); i++) {
		const char *pid_field = arena_printf(p->a, "%s(%u).pid", question, i);
		struct fact_int pid = probe_ask_int(p, "nvml", object, pid_field);
		struct gpu_process *process;

		if (!seen_ok(&pid.f) || pid.v <= 0 || pid.v > 1 << 22)
			continue;
		process = list_add(p->a, &g->processes, sizeof(*process));
		process->index = (unsigned)pid.v;
		process->kind = fact_str_of(kind, pid.f.dir, question);
		process->memory_bytes = probe_ask_int(
			p, "nvml", object, arena_printf(p->a, "%s(%u).usedGpuMemory", question, i));
		process->command = probe_str(p, arena_printf(p->a, "/proc/%lld/", pid.v), "comm");
	}
}

void probe_gpu_processes(struct probe *p, struct gpu *g, const char *object)
{
	add_processes(p, g, object, "nvmlDeviceGetComputeRunningProcesses", "compute");
	add_processes(p, g, object, "nvmlDeviceGetGraphicsRunningProcesses", "graphics");
}

static bool integrated_name(const struct gpu *g)
{
	static const char *const words[] = { "GB10", "Orin", "Thor", "Xavier", "nvgpu" };

	for (size_t i = 0; seen_ok(&g->name.f) && i < sizeof(words) / sizeof(words[0]); i++)
		if (word_in(g->name.v, words[i]))
			return true;
	return false;
}

/*
 * Never asked of the machine as a whole: an integrated and a discrete GPU may sit side by side. A
 * GPU with memory of its own reports it; coherent links (ATS) alone do not make a GPU integrated.
 */
static struct fact_int integrated(const struct gpu *g)
{
	const struct fact *memory = &g->memory_bytes.f;

	if (seen_ok(&g->cuda_integrated.f))
		return g->cuda_integrated;
	if (integrated_name(g))
		return fact_int_of(1, g->name.f.dir, g->name.f.leaf);
	if (seen_ok(memory) && g->memory_bytes.v > 0)
		return fact_int_of(0, memory->dir, memory->leaf);
	if (memory->seen != SEEN_UNSUPPORTED)
		return (struct fact_int){ .f = *memory };
	if (fact_is(&g->addressing_mode, "ats"))
		return fact_int_of(1, g->addressing_mode.f.dir, g->addressing_mode.f.leaf);
	if (g->bar1_bytes.f.seen == SEEN_UNSUPPORTED)
		return fact_int_of(1, g->bar1_bytes.f.dir, g->bar1_bytes.f.leaf);
	return (struct fact_int){ .f = *memory };
}

void probe_gpu_cuda(struct probe *p, struct gpu *g)
{
	if (p->deep && g->pci[0]) {
		g->cuda_integrated = probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(18)");
		g->cuda_gpudirect_rdma =
			probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(116)");
		g->cuda_dma_buf = probe_ask_int(p, "cuda", g->pci, "cuDeviceGetAttribute(124)");
	}
	g->integrated = integrated(g);
}
