/* SPDX-License-Identifier: Apache-2.0 */
/* What figures are, how they are added, and which format a file has. */
#include "models/diagnose/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { HEAD_MAX = 65536, TEXT_MOST = 1024 };

const struct figure_type figure_types[FIGURE_KINDS] = {
	[FIGURE_STEP_S] = { "step time", "s" },
	[FIGURE_TOKENS_PER_S] = { "tokens", "tokens/s" },
	[FIGURE_TOKENS_PER_S_PER_GPU] = { "tokens a GPU", "tokens/s" },
	[FIGURE_SAMPLES_PER_S] = { "samples", "samples/s" },
	[FIGURE_TFLOPS_PER_GPU] = { "operations", "TFLOP/s" },
	[FIGURE_MFU] = { "MFU", "" },
	[FIGURE_LOSS] = { "loss", "" },
	[FIGURE_DATA_S] = { "data", "s" },
	[FIGURE_FORWARD_S] = { "forward", "s" },
	[FIGURE_BACKWARD_S] = { "backward", "s" },
	[FIGURE_OPTIMIZER_S] = { "optimizer", "s" },
	[FIGURE_COMPUTE_S] = { "compute", "s" },
	[FIGURE_COMM_S] = { "communication", "s" },
	[FIGURE_COMM_EXPOSED_S] = { "exposed communication", "s" },
	[FIGURE_COPY_S] = { "copies", "s" },
	[FIGURE_COPY_EXPOSED_S] = { "exposed copies", "s" },
	[FIGURE_IDLE_S] = { "idle", "s" },
	[FIGURE_SYNC_S] = { "host waits", "s" },
	[FIGURE_LAUNCH_S] = { "launching", "s" },
	[FIGURE_CHECKPOINT_S] = { "saving", "s" },
	[FIGURE_KERNELS] = { "kernels", "" },
	[FIGURE_BUSBW_GBS] = { "bus bandwidth", "GB/s" },
	[FIGURE_ALGBW_GBS] = { "algorithm bandwidth", "GB/s" },
	[FIGURE_COLLECTIVE_US] = { "collective", "us" },
	[FIGURE_GPU_UTIL] = { "GPU busy", "" },
	[FIGURE_SM_ACTIVITY] = { "SM activity", "" },
	[FIGURE_GPU_POWER_W] = { "GPU power", "W" },
	[FIGURE_GPU_POWER_LIMIT_W] = { "GPU power limit", "W" },
	[FIGURE_SM_MHZ] = { "SM clock", "MHz" },
	[FIGURE_SM_MAX_MHZ] = { "highest SM clock", "MHz" },
	[FIGURE_GPU_C] = { "GPU temperature", "C" },
	[FIGURE_THROTTLED] = { "held down", "" },
	[FIGURE_GPU_MEMORY] = { "GPU memory", "bytes" },
	[FIGURE_GPU_MEMORY_TOTAL] = { "all GPU memory", "bytes" },
	[FIGURE_CPU_BUSY] = { "CPU busy", "" },
	[FIGURE_CPU_ONE_MAX] = { "busiest CPU", "" },
	[FIGURE_NET_GBS] = { "network", "GB/s" },
	[FIGURE_DISK_GBS] = { "disk", "GB/s" },
	[FIGURE_NVLINK_GBS] = { "NVLink", "GB/s" },
	[FIGURE_ALLOC_RETRIES] = { "allocator retries", "" },
	[FIGURE_GEMM_S] = { "matrix products", "s" },
	[FIGURE_COPY_PAGEABLE_S] = { "pageable copies", "s" },
	[FIGURE_SYNCS] = { "waits", "" },
	[FIGURE_PROCESS_CPUS] = { "CPUs of the job", "CPUs" },
	[FIGURE_THREAD_BUSY] = { "busiest thread", "" },
	[FIGURE_WAITING_IO] = { "waiting for disks", "" },
	[FIGURE_CPUS] = { "CPUs", "CPUs" },
	[FIGURE_IDLE_IN_S] = { "idle in a range", "s" },
	[FIGURE_STEP_EXPOSED_S] = { "exposed communication of a step", "s" },
	[FIGURE_PCIE_GBS] = { "PCI Express", "GB/s" },
};

size_t evidence_warming_up(size_t n)
{
	enum { LONG = 10, SHORT = 4, LEAST = 2 };

	if (n < LONG)
		return n >= SHORT ? 1 : 0;
	return n / 10 > LEAST ? n / 10 : LEAST;
}

/* Each text once: a log names the same few a million times. */
static const char *evidence_once(struct run_evidence *ev, const char *text)
{
	char *cut = NULL;
	const char *key;
	void **place;

	if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
		text = cut = strndup(text, TEXT_MOST);
	if (!text)
		return "";
	place = map_at(ev->arena, &ev->texts, text);
	key = map_key(place);
	*place = ev;
	free(cut);
	return key;
}

void evidence_figure(struct run_evidence *ev, struct metric_sample f)
{
	if (!isfinite(f.value) || (f.value < 0 && f.kind != FIGURE_LOSS) || f.value >= 1e18)
		return;
	if (ev->n_figures >= EVIDENCE_FIGURES_MAX) {
		ev->dropped++;
		return;
	}
	f.text = f.text ? evidence_once(ev, f.text) : NULL;
	ev->figures = arena_grow(ev->arena, ev->figures, ev->n_figures, sizeof(*ev->figures));
	ev->figures[ev->n_figures++] = f;
}

void evidence_trait(struct run_evidence *ev, struct run_attribute t)
{
	if (!t.text)
		return;
	if (ev->n_traits >= EVIDENCE_TRAITS_MAX) {
		ev->dropped++;
		return;
	}
	t.text = evidence_once(ev, t.text);
	ev->traits = arena_grow(ev->arena, ev->traits, ev->n_traits, sizeof(*ev->traits));
	ev->traits[ev->n_traits++] = t;
}
