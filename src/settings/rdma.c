/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA ports, and the ways from a NIC into GPU memory. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <string.h>

#include "base/text.h"

static const char no_rdma[] = "no RDMA device";

static bool is_cabled(const struct rdma_port *p)
{
	return !fact_is(&p->phys_state, "Disabled") && !fact_is(&p->phys_state, "Polling");
}

static void state(const struct question *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;

	if (!seen_ok(&p->state.f)) {
		verdict_unseen(q, v, &p->state.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%s, %s", p->state.v, fact_text(&p->phys_state, "?"));
	if (strcmp(p->state.v, "ACTIVE") == 0)
		verdict_pass(v, "active");
	else if (!seen_ok(&p->phys_state.f))
		verdict_unseen(q, v, &p->phys_state.f, NULL);
	else if (fact_is(&p->phys_state, "Disabled"))
		verdict_na(v, CODE_NO_EFFECT, "switched off by the administrator");
	else if (!is_cabled(p) && q->platform != ON_HGX)
		verdict_na(v, CODE_NO_EFFECT, "no cable, or the far end is off");
	else if (strcmp(p->state.v, "INIT") == 0)
		verdict_fail(v, "ACTIVE", "the link is up but no subnet manager configured it");
	else
		verdict_fail(v, "ACTIVE", "the link is down");
}

/* On a node of a fabric all ports of one kind should have one rate. */
static void rate(const struct question *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	long long best = 0;

	if (!fact_is(&p->state, "ACTIVE")) {
		verdict_na(v, CODE_NO_EFFECT, "the port is not active");
		return;
	}
	if (!seen_ok(&p->rate_mbps.f)) {
		verdict_unseen(q, v, &p->rate_mbps.f, NULL);
		return;
	}
	LIST_FOR_EACH (struct rdma_port, other, &q->m->net.rdma)
		if (fact_is(&other->state, "ACTIVE") &&
		    strcmp(fact_text(&other->link_layer, ""), fact_text(&p->link_layer, "?")) ==
			    0 &&
		    strcmp(fact_text(&other->hca_type, ""), fact_text(&p->hca_type, "?")) == 0 &&
		    fact_or(&other->rate_mbps, 0) > best)
			best = other->rate_mbps.v;
	v->current =
		fact_text(&p->rate_text, arena_printf(q->a, "%lld Gb/s", p->rate_mbps.v / 1000));
	if (p->rate_mbps.v >= best)
		verdict_pass(v, "as fast as its like on this machine");
	else
		verdict_fail(v, arena_printf(q->a, "%lld Gb/s", best / 1000),
			     "slower than the other ports of its kind: cable, module or switch "
			     "port");
}

static void errors(const struct question *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	long long symbol = fact_or(&p->symbol_errors, -1), rcv = fact_or(&p->rcv_errors, -1),
		  down = fact_or(&p->link_downed, -1);

	if (symbol < 0 && rcv < 0 && down < 0) {
		verdict_unseen(q, v, &p->symbol_errors.f, "the driver does not count them");
		return;
	}
	v->current = arena_printf(q->a, "%lld symbol, %lld receive, %lld times down",
				  symbol < 0 ? 0 : symbol, rcv < 0 ? 0 : rcv, down < 0 ? 0 : down);
	if (symbol > 0 || rcv > 0)
		verdict_fail(v, "0 symbol and receive errors",
			     "errors since the counters were reset: watch whether they grow, then "
			     "change "
			     "cable or module");
	else
		verdict_pass(v, "no integrity error counted");
}

static void link_layer(const struct question *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	bool ethernet = q->platform == ON_SPARK || q->platform == ON_IGX;

	if (!seen_ok(&p->link_layer.f)) {
		verdict_unseen(q, v, &p->link_layer.f, NULL);
		return;
	}
	v->current = p->link_layer.v;
	if (!ethernet) {
		verdict_na(v, CODE_LEFT_ALONE, "the site's fabric decides");
		return;
	}
	if (strcmp(p->link_layer.v, "Ethernet") == 0)
		verdict_pass(v, "Ethernet");
	else
		verdict_fail(v, "Ethernet",
			     "raw Ethernet and RoCE need it; the switch is in the NIC's own "
			     "configuration (LINK_TYPE) and needs a "
			     "reboot");
}

static void gid(const struct question *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;

	if (fact_is(&p->link_layer, "InfiniBand")) {
		verdict_na(v, CODE_NO_EFFECT, "InfiniBand does not choose by GID type");
		return;
	}
	if (!fact_is(&p->state, "ACTIVE")) {
		verdict_na(v, CODE_NO_EFFECT, "the port is not active");
		return;
	}
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (fact_is(&g->type, "RoCE v2") && seen_ok(&g->gid.f) &&
		    strstr(g->gid.v, "0000:0000:0000:0000:0000:ffff:")) {
			v->current = arena_printf(q->a, "index %u", g->index);
			verdict_pass(v, "a RoCE v2 address from IPv4 exists; its index moves, so "
					"let NCCL choose");
			return;
		}
	v->current = arena_printf(q->a, "none of %zu", p->gids.n);
	verdict_fail(v, "one RoCE v2 GID from IPv4",
		     "without an IPv4 address on the interface RoCE v2 falls back to link-local "
		     "addresses");
}

static bool any_discrete(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->integrated, 0) != 1)
			return true;
	return false;
}

/*
 * Either way into GPU memory will do: dma-buf, by what CUDA says of the device, or nvidia-peermem.
 * What a module or /dev/dma_heap seems to promise is not asked.
 */
static void gpudirect(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	bool peermem = seen_ok(&q->m->net.peermem.f);

	if (fact_or(&g->integrated, 0) == 1) {
		verdict_na(v, CODE_INTEGRATED,
			   "not supported on unified memory, and not needed: register host memory, "
			   "it is the same");
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	v->current = arena_printf(q->a, "nvidia-peermem %s, dma-buf %s",
				  peermem ? "loaded" : "not loaded",
				  !seen_ok(&g->cuda_dma_buf.f) ? "not asked"
				  : g->cuda_dma_buf.v	       ? "yes"
							       : "no");
	if (seen_ok(&g->cuda_gpudirect_rdma.f) && g->cuda_gpudirect_rdma.v == 0)
		verdict_na(v, CODE_NO_SUPPORT, "CUDA says that this GPU has no GPUDirect RDMA");
	else if (peermem || fact_or(&g->cuda_dma_buf, 0) == 1)
		verdict_pass(v, peermem ? "through nvidia-peermem" : "through dma-buf");
	else if (seen_ok(&g->cuda_dma_buf.f))
		verdict_fail(v, "dma-buf or nvidia-peermem",
			     "NIC and GPU can only meet in host memory");
	else
		verdict_na(v, CODE_NEEDS_DEEP,
			   "nvidia-peermem is not loaded; whether dma-buf works takes starting "
			   "CUDA: --deep asks");
}

static void peermem(const struct question *q, struct verdict *v)
{
	if (!q->m->gpu.gpus.n || !any_discrete(q->m)) {
		verdict_na(v, q->m->gpu.gpus.n ? CODE_INTEGRATED : CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n
				   ? "no discrete GPU: the module refuses to load on unified memory"
				   : "no NVIDIA GPU");
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	v->current = fact_text(&q->m->net.peermem, "not loaded");
	if (seen_ok(&q->m->net.peermem.f))
		verdict_pass(v, "loaded");
	else if (q->m->net.peermem.f.seen != SEEN_ABSENT)
		verdict_unseen(q, v, &q->m->net.peermem.f, NULL);
	else if (q->platform == ON_IGX || q->profile == PROFILE_PUBLISHED)
		verdict_fail(v, "loaded",
			     seen_ok(&q->m->net.ofed_version.f)
				     ? "the published data path needs it; EINVAL at load means "
				       "that it was built without the NIC "
				       "driver's headers: rebuild the GPU driver's modules"
				     : "the published data path needs it; it loads only beside "
				       "DOCA/OFED drivers");
	else
		verdict_na(v, CODE_LEFT_ALONE, "dma-buf has replaced it: see rdma.gpudirect");
}

static void user_libraries(const struct question *q, struct verdict *v)
{
	const struct library *unread = NULL;
	bool library = false;

	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, no_rdma);
		return;
	}
	LIST_FOR_EACH (struct library, l, &q->m->software.libraries)
		if (strcmp(l->name, "libibverbs.so.1") == 0) {
			library = seen_ok(&l->path.f);
			unread = library ? NULL : l;
		}
	if (unread) {
		verdict_unseen(q, v, &unread->path.f, NULL);
		return;
	}
	v->current = library ? fact_text(&q->m->net.verbs_provider, "no provider file")
			     : "libibverbs missing";
	if (library)
		verdict_pass(v, "libibverbs is installed");
	else
		verdict_fail(
			v, "libibverbs.so.1",
			"the kernel has RDMA devices, but programs have no library to use them");
}

#define PORT .scope = SCOPE_RDMA, .none = no_rdma

static const struct setting rows[] = {
	{ .id = "rdma.state",
	  .title = "Port state",
	  PORT,
	  .health = true,
	  .of = &schema_rdma_port,
	  .fact = "state",
	  .why = "A port that is not active carries nothing.",
	  .source = "S1; S3; S4",
	  .severity = SEVERITY_HIGH,
	  .judge = state },
	{ .id = "rdma.rate",
	  .title = "Port rate",
	  PORT,
	  .health = true,
	  .of = &schema_rdma_port,
	  .fact = "rate_mbps",
	  .not_when = "the port is not active",
	  .why = "One slow rail slows every collective.",
	  .source = "S4; Azure HPC node health checks",
	  .severity = SEVERITY_HIGH,
	  .judge = rate },
	{ .id = "rdma.errors",
	  .title = "Port errors",
	  PORT,
	  .health = true,
	  .read = "ports/N/counters",
	  .not_when = "the driver does not count them",
	  .why = "Integrity errors mean retransmission.",
	  .source = "kernel ABI sysfs-class-infiniband",
	  .severity = SEVERITY_MEDIUM,
	  .judge = errors },
	{ .id = "rdma.link-layer",
	  .title = "Link layer",
	  PORT,
	  .of = &schema_rdma_port,
	  .fact = "link_layer",
	  .not_when = "the site's fabric decides (HGX and generic machines)",
	  .why = "A VPI port speaks Ethernet or InfiniBand, chosen in its own flash.",
	  .source = "S1",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_DANGER,
	  .effect = EFFECT_REBOOT,
	  .judge = link_layer },
	{ .id = "rdma.gid",
	  .title = "RoCE v2 address",
	  PORT,
	  .read = "ports/N/gids, gid_attrs/types",
	  .not_when = "the link layer is InfiniBand or the port is down",
	  .why = "RoCE v2 over IPv4 is what routes and what NCCL chooses.",
	  .note = "Pinning NCCL_IB_GID_INDEX=3 is published; the index differs by host and moves.",
	  .source = "S4; NCCL 2.21 release "
		    "notes",
	  .severity = SEVERITY_MEDIUM,
	  .judge = gid },
	{ .id = "rdma.gpudirect",
	  .title = "GPUDirect RDMA",
	  .scope = SCOPE_GPU,
	  .none = "no NVIDIA GPU",
	  .read = "cuDeviceGetAttribute(116, 124), /sys/module/nvidia_peermem",
	  .not_when = "the GPU shares the host's memory or there is no RDMA device",
	  .why = "A NIC reads and writes GPU memory without a stop in host memory.",
	  .note = "Published as to be enabled on DGX Spark: NVIDIA documents it as not supported "
		  "there.",
	  .source = "S1; S3; gpudirect; spark-known-issues",
	  .severity = SEVERITY_HIGH,
	  .judge = gpudirect },
	{ .id = "rdma.peermem",
	  .title = "nvidia-peermem",
	  .scope = SCOPE_HOST,
	  .of = &schema_network,
	  .fact = "peermem",
	  .not_when = "there is no discrete GPU or no RDMA device, or dma-buf is in use",
	  .why = "The older way into GPU memory; it needs the NIC vendor's drivers.",
	  .note = "Its EINVAL on load is published as a GB10 property; it means on any machine "
		  "that the module was built without "
		  "peer-memory symbols.",
	  .source = "S1; gpudirect",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  .effect = EFFECT_DRIVER_RELOAD,
	  .judge = peermem },
	{ .id = "rdma.user-libraries",
	  .title = "RDMA user libraries",
	  .scope = SCOPE_HOST,
	  .read = "libibverbs.so.1",
	  .not_when = "there is no RDMA device",
	  .why = "NCCL and MPI load them.",
	  .source = "S1",
	  .severity = SEVERITY_MEDIUM,
	  .judge = user_libraries },
};

const struct setting_table settings_rdma = SETTING_TABLE(rows);
