/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the GPUs of a machine: what the driver was loaded with, memory shared over nodes
 * (IMEX), and the daemon that shares a GPU (MPS). */
#include <ctype.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/text.h"

enum { NODES_MAX = 1 << 20 };

/* "RmProfilingAdminOnly: 1". An older or newer driver lacks some of them. */
static const char params[] = "/proc/driver/nvidia/params";

static struct fact_int param_int(struct probe *p, const char *text, int r, const char *name)
{
	const char *value = r ? NULL : str_value(p->a, text, name, ':');
	long long v = 0;

	if (!value || parse_i64(value, &v))
		return (struct fact_int){ .f = fact_unseen(r	   ? r
							   : value ? -EPROTO
								   : -ENOENT,
							   params, "") };
	return fact_int_of(v, params, "");
}

/* Texts stand in quotes: CoherentGPUMemoryMode: "driver". */
static struct fact_str param_str(struct probe *p, const char *text, int r, const char *name)
{
	char *value = r ? NULL : str_value(p->a, text, name, ':');
	size_t n = value ? strlen(value) : 0;

	if (!value)
		return (struct fact_str){ .f = fact_unseen(r ? r : -ENOENT, params, "") };
	if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
		value[n - 1] = '\0';
		value++;
	}
	return fact_str_of(value, params, "");
}

static void probe_params(struct probe *p, struct gpus *g)
{
	char *text = NULL;
	int r = host_read(p->h, params, HOST_READ_MAX, p->a, &text, NULL);

	g->profiling_restricted = param_int(p, text, r, "RmProfilingAdminOnly");
	g->relaxed_ordering = param_int(p, text, r, "EnablePCIERelaxedOrderingMode");
	g->preserve_memory = param_int(p, text, r, "PreserveVideoMemoryAllocations");
	g->stream_memops = param_int(p, text, r, "EnableStreamMemOPs");
	g->coherent_mode = param_str(p, text, r, "CoherentGPUMemoryMode");
	g->registry_dwords = param_str(p, text, r, "RegistryDwords");
}

/* Lines that name a machine; '#' begins a comment. */
static struct fact_int nodes(struct probe *p)
{
	static const char path[] = "/etc/nvidia-imex/nodes_config.cfg";
	char *text = NULL, *line, *save = NULL;
	int r = host_read(p->h, path, NODES_MAX, p->a, &text, NULL);
	long long n = 0;

	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", path) };
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t\r");
		n += isalnum((unsigned char)*line) || *line == ':';
	}
	return fact_int_of(n, "", path);
}

static struct fact_int channels(struct probe *p)
{
	static const char path[] = "/dev/nvidia-caps-imex-channels";
	char **names;
	size_t n;
	int r = host_list(p->h, path, p->a, &names, &n);

	return r ? (struct fact_int){ .f = fact_unseen(r, "", path) }
		 : fact_int_of((long long)n, "", path);
}

void probe_gpu_host(struct probe *p)
{
	static const char mps[] = "/tmp/nvidia-mps/control";
	struct gpus *g = &p->m->gpu;

	probe_params(p, g);
	g->mps = probe_there(p, mps, "running");
	if (seen_ok(&g->mps.f)) {
		g->mps_threads = probe_ask_str(p, "mps", "", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
		g->mps_memory = probe_ask_str(p, "mps", "", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
	}
	if (machine_fabric(p->m) != FABRIC_RACK)
		return;
	g->imex_nodes = nodes(p);
	g->imex_channels = channels(p);
	/* It costs a process, on machines of a rack alone. */
	g->imex_state = probe_ask_str(p, "imex", "", "state");
}
