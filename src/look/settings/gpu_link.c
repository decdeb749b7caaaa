/* SPDX-License-Identifier: Apache-2.0 */
/* Links between GPUs: NVLink, the NVSwitch fabric, peer-to-peer access. */
#include <string.h>

#include "look/settings/growth.h"
#include "look/settings/health_data.h"
#include "look/settings/tables.h"

/* What the links counted: since the driver was loaded, or since the earlier reading. */
static void link_errors(const struct question *q, struct verdict *v, size_t errors, bool counted)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	double crc_most = health_figure(q->s->id, "crc", NULL, 0),
	       recovery_most = health_figure(q->s->id, "recovery", NULL, 0);
	const struct list none = { 0 };
	const struct nvlink *worst = NULL;
	bool grew = false;

	LIST_FOR_EACH (struct nvlink, l, before ? &g->links : &none) {
		const struct nvlink *old = earlier_link(before, l);
		long long crc = old ? growth(&l->crc_errors, &old->crc_errors) : -1,
			  recovery = old ? growth(&l->recovery_errors, &old->recovery_errors) : -1;

		grew = grew || crc > 0;
		if (!worst && ((double)crc > crc_most * (double)growth_seconds(q->m) ||
			       (double)recovery > recovery_most))
			worst = l;
	}
	if (worst)
		verdict_fail(v, "no growth of link errors",
			     arena_printf(q->a, "the errors of link %u grew %s: the link fails",
					  worst->index, growth_span(q->a, q->m)));
	else if (errors && !before)
		verdict_na(
			v, CODE_NEEDS_EARLIER,
			arena_printf(q->a,
				     "all up; %zu counted errors since the driver was loaded, and "
				     "only growth is a fault: an earlier reading (--since) tells "
				     "whether they grow",
				     errors));
	else if (errors)
		verdict_pass(v, arena_printf(q->a,
					     grew ? "all up; their errors grew %s, but slower than "
						    "matters"
						  : "all up; their errors did not grow %s",
					     growth_span(q->a, q->m)));
	else
		verdict_pass(v, counted ? "all up, no errors counted"
					: "all up; their error counters were not asked");
}

static void nvlinks(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;
	size_t up = 0, errors = 0, all = g->links.n, chip;
	bool counted = true;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		up += fact_or(&l->active, 0) == 1;
		if (!seen_ok(&l->active.f))
			unseen = &l->active.f;
		counted = counted && seen_ok(&l->crc_errors.f);
		errors += fact_or(&l->recovery_errors, 0) > 0 || fact_or(&l->crc_errors, 0) > 0;
	}
	if (!g->links.n || unseen) {
		if (unseen)
			verdict_unseen(q, v, unseen, NULL);
		else
			verdict_na(v, CODE_NO_HARDWARE, "the GPU has no NVLink");
		return;
	}
	/* A link that firmware took out is not counted any more: the chip's own number is. */
	chip = (size_t)health_figure(q->s->id, "links", fact_text(&g->name, NULL), 0);
	if (q->platform == ON_HGX && chip > all)
		all = chip;
	v->current = arena_printf(q->a, "%zu of %zu up", up, all);
	if (up == 0 && q->m->gpu.gpus.n == 1)
		verdict_na(v, CODE_NO_EFFECT, "one GPU: nothing is linked to");
	else if (up == 0 && q->platform != ON_HGX)
		verdict_na(v, CODE_NO_EFFECT, "no bridge connects this GPU to another");
	else if (up < all)
		verdict_fail(v, arena_printf(q->a, "%zu up", all),
			     "NVLinks are down: collectives run on what is left");
	else
		link_errors(q, v, errors, counted);
}

/* Two bits a condition: 0 not told, 1 true, 2 false; then four bits of configuration, 1 is good.
 * Source: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*. */
static const char *fabric_trouble(long long mask)
{
	static const char *const troubles[] = { "bandwidth is degraded", "a route is being mended",
						"a route is unhealthy",
						"access timed out and recovers" };

	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if ((mask >> (2 * i) & 3) == 1)
			return troubles[i];
	return (mask >> 8 & 15) > 1 ? "its configuration is incorrect" : NULL;
}

static void fabric(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const char *trouble = fabric_trouble(fact_or(&g->fabric_health, 0));

	if (!seen_ok(&g->fabric_state.f)) {
		verdict_unseen(q, v, &g->fabric_state.f, "the GPU belongs to no NVSwitch fabric");
		return;
	}
	v->current = g->fabric_state.v;
	if (strcmp(g->fabric_state.v, "not-supported") == 0)
		verdict_na(v, CODE_NO_HARDWARE,
			   "the GPU belongs to no NVSwitch fabric, or a virtual machine hides it");
	else if (strcmp(g->fabric_state.v, "in-progress") == 0)
		verdict_fail(
			v, "completed",
			"the GPU is still registering: CUDA does not start before; longer than "
			"some minutes after boot means trouble with Fabric Manager");
	else if (strcmp(g->fabric_state.v, "completed") != 0 || fact_or(&g->fabric_status, 0) != 0)
		verdict_fail(v, "completed",
			     "the GPU is not registered with the fabric: CUDA will not start");
	else if (trouble)
		verdict_fail(v, "completed and healthy",
			     arena_printf(q->a, "registered, but the fabric says: %s", trouble));
	else
		verdict_pass(v, "registered");
}

/* What the chips or their drivers never offer is no fault of this machine. */
static bool is_by_design(const struct fact_str *p2p)
{
	return fact_is(p2p, "gpu-not-supported") || fact_is(p2p, "not-supported");
}

static void peer_access(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;

	if (q->m->gpu.gpus.n < 2) {
		verdict_na(v, CODE_NO_HARDWARE, "no other GPU to reach");
		return;
	}
	if (!g->peers.n) {
		verdict_na(v, CODE_NEEDS_DEEP, "not asked, because it takes time: --deep asks");
		return;
	}
	LIST_FOR_EACH (struct gpu_peer, p, &g->peers) {
		const struct fact_str *bad =
			!fact_is(&p->p2p_read, "ok") ? &p->p2p_read : &p->p2p_write;

		if (!seen_ok(&bad->f))
			unseen = &bad->f;
		if (!seen_ok(&bad->f) || strcmp(bad->v, "ok") == 0)
			continue;
		v->current = arena_printf(q->a, "gpu%u: %s", p->index, bad->v);
		if (is_by_design(bad) && q->platform != ON_HGX)
			verdict_na(v, CODE_NO_SUPPORT,
				   "these GPUs offer no direct access: copies go through the host");
		else
			verdict_fail(v, "ok to every peer",
				     "no direct access to that GPU's memory: copies go through the "
				     "host");
		return;
	}
	if (unseen)
		verdict_unseen(q, v, unseen, "the driver does not say");
	else
		verdict_pass(v, "every peer's memory can be reached directly");
}

#define GPU .health = true, .scope = SCOPE_GPU

static const struct setting rows[] = {
	{ .id = "gpu.nvlink",
	  .title = "NVLinks",
	  GPU,
	  .read = "nvmlDeviceGetNvLinkState, error counters",
	  .not_when = "the GPU has no NVLink",
	  .why = "A missing link lowers every collective to the slowest GPU.",
	  .source = "nvml; S4",
	  .severity = SEVERITY_CRITICAL,
	  .judge = nvlinks,
	  .by_hand = "restart Fabric Manager where there is one; a link that stays down is a case "
		     "for the vendor" },
	{ .id = "gpu.fabric",
	  .title = "NVSwitch fabric registration",
	  GPU,
	  .read = "nvmlDeviceGetGpuFabricInfo",
	  .not_when = "there is no NVSwitch fabric",
	  .why = "Without it CUDA does not start.",
	  .source = "nvml",
	  .severity = SEVERITY_CRITICAL,
	  .judge = fabric,
	  .by_hand =
		  "look at the log of nvidia-fabricmanager, whose version has to be the driver's" },
	{ .id = "gpu.peer-access",
	  .title = "Peer-to-peer access",
	  GPU,
	  .read = "nvmlDeviceGetP2PStatus",
	  .not_when = "there is one GPU",
	  .why = "Refused by ACS, IOMMU or the chip, and then every copy goes through the host.",
	  .source = "nvml; nccl-troubleshooting",
	  .severity = SEVERITY_HIGH,
	  .judge = peer_access,
	  .by_hand =
		  "look at pcie.acs, pcie.iommu and gpu.mig: one of them is usually the reason" },
};

const struct setting_table settings_gpu_link = SETTING_TABLE(rows);
