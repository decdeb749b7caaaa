/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA ports, and the ways from a NIC into GPU memory. */
#include <stdio.h>
#include <string.h>

#include "machine/model/topology.h"
#include "look/settings/predicates.h"
#include "knowledge/health.h"
#include "look/settings/settings.h"
#include "base/text.h"

static bool is_active(const struct rdma_port *p)
{
	return fact_is(&p->state, "ACTIVE");
}

/* The same adapter: one bus and device number. */
static bool same_adapter(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return *a && strcspn(b, ".") == n && strncmp(a, b, n) == 0;
}

/* Behind the same switch as a GPU, and no second port of an adapter whose first is in use: such a
 * port is a rail of the node and has to be up. */
static bool is_rail(const struct machine *m, const struct rdma_port *p)
{
	LIST_FOR_EACH (struct rdma_port, other, &m->net.rdma)
		if (other != p && is_active(other) && same_adapter(p->pci, other->pci))
			return false;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (*p->pci && topology_path(m, g->pci, p->pci) <= PATH_PXB)
			return true;
	return false;
}

/* Why a port without a link is no fault; NULL when it says that it should have one. */
static const char *resting(const struct rule_ctx *q, const struct rdma_port *p)
{
	const struct nic *n = machine_nic(q->m, fact_text(&p->netdev, "")), *twin;

	if ((q->platform & ON_HGX) && is_rail(q->m, p))
		return NULL;
	/* Its interface has a link: then the port should have one. */
	if (n && fact_or(&n->carrier, 0) == 1)
		return NULL;
	twin = n && (q->platform & ON_SPARK) ? port_twin(q->m, n, NULL) : NULL;
	if (twin && is_up(twin))
		return "the other half of the port has a link: see nic.twins";
	/* An Ethernet port without a link says Disabled whatever the reason. */
	if (fact_is(&p->phys_state, "Disabled"))
		return fact_is(&p->link_layer, "InfiniBand")
			       ? "administratively down"
			       : "no cable, the far end is off, or the interface is disabled";
	return fact_is(&p->phys_state, "Polling") ? "no cable, or the far end is off" : NULL;
}

static void rule_rdma_state(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;

	if (!is_seen(q, v, &p->state.f, NULL))
		return;
	v->current = arena_printf(q->a, "%s, %s", p->state.v, fact_text(&p->phys_state, "?"));
	if (is_active(p))
		verdict_pass(v, "active");
	else if (!seen_ok(&p->phys_state.f))
		verdict_unseen(q, v, &p->phys_state.f, NULL);
	else if (resting(q, p))
		verdict_na(v, CODE_NO_EFFECT, resting(q, p));
	else if (strcmp(p->state.v, "INIT") == 0)
		verdict_fail(v, "ACTIVE", "the link is up but no subnet manager configured it");
	else
		verdict_fail(v, "ACTIVE",
			     (q->platform & ON_HGX) && is_rail(q->m, p)
				     ? "the link is down on a port near a GPU: every job has one "
				       "rail less"
				     : "the link is down");
}

/* On a node of a fabric all ports of one kind should have one rate. */
static void rule_rdma_rate(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	long long best = 0;
	size_t same = 0;

	if (!is_active(p)) {
		v->current = "not active";
		verdict_na(v, CODE_NO_EFFECT, "the port is not in state ACTIVE");
		return;
	}
	if (!is_seen(q, v, &p->rate_mbps.f, NULL))
		return;
	LIST_FOR_EACH (struct rdma_port, other, &q->m->net.rdma)
		if (is_active(other) &&
		    strcmp(fact_text(&other->link_layer, ""), fact_text(&p->link_layer, "?")) ==
			    0 &&
		    strcmp(fact_text(&other->hca_type, ""), fact_text(&p->hca_type, "?")) == 0) {
			same++;
			best = fact_or(&other->rate_mbps, 0) > best ? other->rate_mbps.v : best;
		}
	v->current =
		fact_text(&p->rate_text, arena_printf(q->a, "%lld Gb/s", p->rate_mbps.v / 1000));
	v->slight = same < 2;
	if (p->rate_mbps.v >= best)
		verdict_pass(v, same > 1 ? "as fast as the other ports of its model on the machine"
					 : "no other active port of its model to compare with");
	else
		verdict_fail(v, arena_printf(q->a, "%lld Gb/s", best / 1000),
			     "slower than the other ports of its model: check cable, module and "
			     "switch port");
}

/* Integrity errors do not come on a healthy link, and a link in use does not go down. */
static void error_growth(const struct rule_ctx *q, struct verdict *v, const struct rdma_port *old)
{
	const struct rdma_port *p = q->object;
	long long symbol = growth(&p->symbol_errors, &old->symbol_errors),
		  rcv = growth(&p->rcv_errors, &old->rcv_errors),
		  down = growth(&p->link_downed, &old->link_downed);
	const char *span = growth_span(q->a, q->m);

	v->current = arena_printf(
		q->a, "%lld more symbol errors, %lld receive errors, %lld link-downs %s",
		symbol < 0 ? 0 : symbol, rcv < 0 ? 0 : rcv, down < 0 ? 0 : down, span);
	if ((double)down > health_figure(q->s->id, "flaps", NULL, 0))
		verdict_fail(
			v, "no increase",
			arena_printf(q->a,
				     "the link went down %s: check cable, module and switch port",
				     span));
	else if (symbol > 0 || rcv > 0)
		verdict_fail(v, "no increase",
			     arena_printf(q->a, "integrity errors grew %s: check cable and module",
					  span));
	else
		verdict_pass(v, arena_printf(q->a, "no increase %s", span));
}

static void rule_rdma_errors(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object, *before = earlier_port(q->m, p);
	double few = health_figure(q->s->id, "few", NULL, 0),
	       downs = health_figure(q->s->id, "downs", NULL, 0);
	long long symbol = fact_or(&p->symbol_errors, -1), rcv = fact_or(&p->rcv_errors, -1),
		  down = fact_or(&p->link_downed, -1);

	const struct fact *const counts[] = { &p->symbol_errors.f, &p->rcv_errors.f,
					      &p->link_downed.f };
	const struct fact *unread = first_untold(counts, 3);

	if (symbol < 0 && rcv < 0 && down < 0) {
		verdict_unseen(q, v, &p->symbol_errors.f, "not counted by the driver");
		return;
	}
	v->current = arena_printf(q->a, "%lld symbol, %lld receive, %lld link-down",
				  symbol < 0 ? 0 : symbol, rcv < 0 ? 0 : rcv, down < 0 ? 0 : down);
	/* One look gives no rate: what a few training rounds of a link leave behind is no fault. */
	if (before && !went_back(&p->symbol_errors, &before->symbol_errors) &&
	    !went_back(&p->rcv_errors, &before->rcv_errors) &&
	    !went_back(&p->link_downed, &before->link_downed))
		error_growth(q, v, before);
	else if ((double)symbol > few || (double)rcv > few)
		verdict_fail(v, "few symbol and receive errors",
			     "many errors since the counters were reset: watch whether they grow, "
			     "then replace cable or module");
	else if ((double)down > downs)
		verdict_fail(v, "few link-down events",
			     "the link often went down since driver load: if it continues, check "
			     "cable, module and switch port");
	else if (unread)
		verdict_unseen(q, v, unread, "the driver does not count all of them");
	else
		verdict_pass(
			v,
			symbol > 0 || rcv > 0
				? "few errors since the counters were reset: only growth is a fault"
				: "no integrity error counted");
}

static void rule_rdma_link_layer(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	bool ethernet = (q->platform & ON_SPARK) || (q->platform & ON_IGX);
	const char *set =
		arena_printf(q->a, "mlxconfig -d %s set LINK_TYPE_P%u=2", p->pci, p->number);

	if (!is_seen(q, v, &p->link_layer.f, NULL))
		return;
	v->current = p->link_layer.v;
	if (!ethernet) {
		verdict_na(v, CODE_LEFT_ALONE, "determined by the site's fabric");
	} else if (strcmp(p->link_layer.v, "Ethernet") == 0) {
		verdict_pass(v, "Ethernet");
	} else if (!is_seen(q, v, &p->state.f, NULL)) {
		return;
	} else if (strcmp(p->state.v, "DOWN") == 0) {
		verdict_na(
			v, CODE_NO_EFFECT,
			arena_printf(q->a, "the port is down; for Ethernet: %s, then reboot", set));
	} else {
		verdict_fail(v, "Ethernet", "RoCE and raw Ethernet need an Ethernet port");
		v->by_hand = arena_printf(q->a,
					  "sudo %s (Ethernet), then reboot; the fabric must have "
					  "the same link layer",
					  set);
	}
}

/* "192.0.2.1" at the beginning of text as a GID of RoCE v2 holds it. */
static bool gid_text(const char *text, char out[40])
{
	unsigned x[4];

	if (sscanf(text, "%3u.%3u.%3u.%3u", &x[0], &x[1], &x[2], &x[3]) != 4 || x[0] > 255 ||
	    x[1] > 255 || x[2] > 255 || x[3] > 255)
		return false;
	snprintf(out, 40, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", x[0], x[1], x[2],
		 x[3]);
	return true;
}

/* The first GID of RoCE v2 that begins so. */
static const struct rdma_gid *gid_of(const struct rdma_port *p, const char *begins)
{
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (fact_is(&g->type, "RoCE v2") && str_starts(fact_text(&g->gid, ""), begins))
			return g;
	return NULL;
}

/* The first of an interface's addresses that no GID holds; NULL: all have one. */
static const char *without_gid(struct arena *a, const struct rdma_port *p, const char *addresses)
{
	for (const char *w = addresses + strspn(addresses, " "); *w; w += strspn(w, " ")) {
		size_t len = strcspn(w, " ");
		char text[40];

		if (!str_starts(w, "169.254.") && gid_text(w, text) && !gid_of(p, text))
			return arena_strndup(a, w, len);
		w += len;
	}
	return NULL;
}

/* A GID that could not be read may be the right one. */
static const struct fact *untold_gid(const struct rdma_port *p)
{
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids) {
		const struct fact *const both[] = { &g->gid.f, &g->type.f };

		if (first_untold(both, 2))
			return first_untold(both, 2);
	}
	return NULL;
}

static void gid(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	const struct rdma_gid *any = gid_of(p, "0000:0000:0000:0000:0000:ffff:");
	const struct nic *n = machine_nic(q->m, fact_text(&p->netdev, ""));
	const char *addresses = n ? fact_text(&n->ipv4, "") : "", *lacks;

	if (is_hidden(q, v, &p->link_layer.f) || is_hidden(q, v, &p->netdev.f))
		return;
	if (fact_is(&p->link_layer, "InfiniBand")) {
		verdict_na(v, CODE_NO_EFFECT, "InfiniBand does not select by GID type");
		return;
	}
	if (!is_active(p)) {
		verdict_na(v, CODE_NO_EFFECT, "the port is not in state ACTIVE");
		return;
	}
	if (!p->gids.n) {
		verdict_unknown(v, CODE_ERROR, "an active port has GIDs, but none is readable");
		return;
	}
	lacks = without_gid(q->a, p, addresses);
	v->current = any ? arena_printf(q->a, "index %u", any->index)
			 : arena_printf(q->a, "none of %zu", p->gids.n);
	if (lacks && untold_gid(p))
		verdict_unseen(q, v, untold_gid(p), NULL);
	else if (lacks)
		verdict_fail(
			v, "a RoCE v2 GID for each IPv4 address",
			any ? arena_printf(q->a,
					   "%s has no GID: RDMA from that address reaches no peer",
					   lacks)
			    : "RoCE v2 falls back to link-local addresses, which do not reach "
			      "other subnets");
	else if (any)
		verdict_pass(v, "a RoCE v2 GID for IPv4 exists; its index can change, so let NCCL "
				"select it");
	/* What the interface has decides between "nothing to make one from" and a fault. */
	else if (!n)
		verdict_unknown(v, CODE_ERROR, "network interface of the port not found");
	else if (is_seen(q, v, &n->ipv4.f, NULL))
		verdict_na(
			v, CODE_NO_EFFECT,
			"the interface has no IPv4 address to derive a GID from: see nic.address");
}

/* Adapters of one board with different firmware: an update stopped half-way, or one was exchanged.
 */
static void rule_rdma_firmware(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object;
	size_t alike = 0;

	if (!seen_ok(&p->firmware.f) || !seen_ok(&p->board_id.f)) {
		verdict_unseen(q, v, seen_ok(&p->firmware.f) ? &p->board_id.f : &p->firmware.f,
			       "not reported by the driver");
		return;
	}
	v->current = p->firmware.v;
	LIST_FOR_EACH (struct rdma_port, other, &q->m->net.rdma) {
		if (other == p || !fact_is(&other->board_id, p->board_id.v) ||
		    !seen_ok(&other->firmware.f))
			continue;
		alike++;
		if (strcmp(other->firmware.v, p->firmware.v) != 0) {
			verdict_fail(v, "the same version on boards of one model",
				     arena_printf(q->a,
						  "%s has %s: boards of one model (%s) with "
						  "different firmware behave differently",
						  other->device, other->firmware.v, p->board_id.v));
			return;
		}
	}
	if (alike)
		verdict_pass(v, "the same on all boards of this model");
	else
		verdict_na(v, CODE_NO_EFFECT, "no second board of its model");
}

/* The ways from a NIC into GPU memory, and the libraries that programs need for RDMA. */

static const char memory_no_rdma[] = "no RDMA device";

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
static void gpudirect(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	bool peermem = seen_ok(&q->m->net.peermem.f);

	if (fact_or(&g->integrated, 0) == 1) {
		verdict_na(v, CODE_INTEGRATED,
			   "not supported on unified memory: I/O cannot reach memory of "
			   "cudaMalloc; allocate buffers with cudaHostAlloc");
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, memory_no_rdma);
		return;
	}
	v->current = arena_printf(q->a, "nvidia-peermem %s, dma-buf %s",
				  peermem ? "loaded" : "not loaded",
				  g->cuda_dma_buf.f.seen == SEEN_UNASKED ? "skipped"
				  : !seen_ok(&g->cuda_dma_buf.f)	 ? "unknown"
				  : g->cuda_dma_buf.v			 ? "yes"
									 : "no");
	if (seen_ok(&g->cuda_gpudirect_rdma.f) && g->cuda_gpudirect_rdma.v == 0)
		verdict_na(v, CODE_NO_SUPPORT, "CUDA reports that this GPU has no GPUDirect RDMA");
	else if (peermem || fact_or(&g->cuda_dma_buf, 0) == 1)
		verdict_pass(v, peermem ? "through nvidia-peermem" : "through dma-buf");
	else if (seen_ok(&g->cuda_dma_buf.f))
		verdict_fail(v, "dma-buf or nvidia-peermem",
			     "NIC and GPU can only exchange data through host memory");
	else if (g->cuda_dma_buf.f.seen != SEEN_UNASKED)
		verdict_unseen(q, v, &g->cuda_dma_buf.f,
			       "this CUDA driver does not support dma-buf");
	else
		verdict_na(v, CODE_NEEDS_DEEP,
			   "nvidia-peermem is not loaded; checking dma-buf requires starting CUDA: "
			   "use --deep");
}

/* CUDA was asked, and a GPU has no dma-buf. */
static bool lacks_dma_buf(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (fact_or(&g->integrated, 0) != 1 && fact_or(&g->cuda_dma_buf, 1) == 0)
			return true;
	return false;
}

static void peermem(const struct rule_ctx *q, struct verdict *v)
{
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (is_hidden(q, v, &g->integrated.f))
			return;
	if (!q->m->gpu.gpus.n || !any_discrete(q->m)) {
		verdict_na(v, q->m->gpu.gpus.n ? CODE_INTEGRATED : CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n
				   ? "no discrete GPU: the module does not load on unified memory"
				   : machine_no_gpu(q->a, q->m));
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, memory_no_rdma);
		return;
	}
	v->current = fact_text(&q->m->net.peermem, "not loaded");
	if (seen_ok(&q->m->net.peermem.f))
		verdict_pass(v, "loaded");
	else if (q->m->net.peermem.f.seen != SEEN_ABSENT)
		verdict_unseen(q, v, &q->m->net.peermem.f, NULL);
	else if ((q->platform & ON_IGX) || lacks_dma_buf(q->m))
		verdict_fail(v, "loaded",
			     seen_ok(&q->m->net.ofed_version.f)
				     ? "required for access to GPU memory: dma-buf is missing, or "
				       "the published data path does not use it"
				     : "required to access GPU memory; the module loads only with "
				       "DOCA/OFED drivers");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "not needed: dma-buf has replaced it, see rdma.gpudirect");
}

/* Beside the kernel's own NIC driver it answers EINVAL. */
static void remediate_peermem(const struct rule_ctx *q, struct remediations *out)
{
	if (seen_ok(&q->m->net.ofed_version.f))
		remediate_value(q, out, "loaded");
}

static void user_libraries(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *provider = &q->m->net.verbs_provider;
	const struct library *unread = NULL;
	bool library = false, connectx = false;

	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, memory_no_rdma);
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
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		connectx = connectx || is_connectx(p);
	v->current = !library	? "libibverbs missing"
		     : connectx ? arena_printf(q->a, "libibverbs, provider mlx5 %s",
					       fact_text(provider, "missing"))
				: "libibverbs";
	if (!library)
		verdict_fail(v, "libibverbs.so.1",
			     "the kernel has RDMA devices, but programs have no library for them");
	else if (connectx && provider->f.seen == SEEN_ABSENT)
		verdict_fail(v, "the mlx5 provider",
			     "the library is installed, but not its driver for this NIC (package "
			     "ibverbs-providers): programs find no device");
	else if (connectx && !seen_ok(&provider->f))
		verdict_unseen(q, v, &provider->f, NULL);
	else
		verdict_pass(v, "libibverbs and its driver for the NIC are installed");
}

#include "look/settings_rdma_rows.h"
