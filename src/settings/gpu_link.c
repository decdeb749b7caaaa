/* SPDX-License-Identifier: Apache-2.0 */
/* Links between GPUs: NVLink, the NVSwitch fabric, peer-to-peer access. */
#include <string.h>

#include "settings/tables.h"

static const char no_gpu[] = "no NVIDIA GPU";

static void nvlinks(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	size_t up = 0, errors = 0;

	if (!g->links.n) {
		verdict_na(v, CODE_NO_HARDWARE, "the GPU has no NVLink");
		return;
	}
	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		up += fact_or(&l->active, 0) == 1;
		errors += fact_or(&l->replay_errors, 0) > 0 ||
			  fact_or(&l->recovery_errors, 0) > 0 || fact_or(&l->crc_errors, 0) > 0;
	}
	v->current = arena_printf(q->a, "%zu of %zu up", up, g->links.n);
	if (up == 0 && q->m->gpu.gpus.n == 1)
		verdict_na(v, CODE_NO_EFFECT, "one GPU: nothing is linked to");
	else if (up < g->links.n)
		verdict_fail(v, arena_printf(q->a, "%zu up", g->links.n),
			     "NVLinks are down: collectives run on what is left");
	else if (errors)
		verdict_fail(v, "no link errors",
			     arena_printf(q->a,
					  "%zu links counted errors since the driver was loaded",
					  errors));
	else
		verdict_pass(v, "all up, no errors counted");
}

static void fabric(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&g->fabric_state.f)) {
		verdict_unseen(q, v, &g->fabric_state.f, "the GPU belongs to no NVSwitch fabric");
		return;
	}
	v->current = g->fabric_state.v;
	if (strcmp(g->fabric_state.v, "not-supported") == 0)
		verdict_na(v, CODE_NO_HARDWARE,
			   "the GPU belongs to no NVSwitch fabric, or a virtual machine hides it");
	else if (strcmp(g->fabric_state.v, "completed") == 0 && fact_or(&g->fabric_status, 0) == 0)
		verdict_pass(v, "registered");
	else
		verdict_fail(v, "completed",
			     "the GPU is not registered with the fabric: CUDA will not start");
}

static void peer_access(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	bool any = false;

	LIST_FOR_EACH (struct gpu_peer, p, &g->peers) {
		if (!seen_ok(&p->p2p_read.f))
			continue;
		any = true;
		if (strcmp(p->p2p_read.v, "ok") != 0) {
			v->current = arena_printf(q->a, "gpu%u: %s", p->index, p->p2p_read.v);
			verdict_fail(v, "ok to every peer",
				     "no direct access to that GPU's memory: copies go through the "
				     "host");
			return;
		}
	}
	if (any)
		verdict_pass(v, "every peer's memory can be reached directly");
	else
		verdict_na(v, CODE_NO_HARDWARE, "no other GPU to reach");
}

#define GPU .health = true, .scope = SCOPE_GPU, .none = no_gpu

static const struct setting rows[] = {
	{ .id = "gpu.nvlink",
	  .title = "NVLinks",
	  GPU,
	  .read = "nvmlDeviceGetNvLinkState, error counters",
	  .not_when = "the GPU has no NVLink",
	  .why = "A missing link lowers every collective to the slowest GPU.",
	  .source = "nvml; S4",
	  .severity = SEVERITY_CRITICAL,
	  .judge = nvlinks },
	{ .id = "gpu.fabric",
	  .title = "NVSwitch fabric registration",
	  GPU,
	  .read = "nvmlDeviceGetGpuFabricInfo",
	  .not_when = "there is no NVSwitch fabric",
	  .why = "Without it CUDA does not start.",
	  .source = "nvml",
	  .severity = SEVERITY_CRITICAL,
	  .judge = fabric },
	{ .id = "gpu.peer-access",
	  .title = "Peer-to-peer access",
	  GPU,
	  .read = "nvmlDeviceGetP2PStatus",
	  .not_when = "there is one GPU",
	  .why = "Refused by ACS, IOMMU or the chip, and then every copy goes through the host.",
	  .source = "nvml; nccl-troubleshooting",
	  .severity = SEVERITY_HIGH,
	  .judge = peer_access },
};

const struct setting_table settings_gpu_link = SETTING_TABLE(rows);
