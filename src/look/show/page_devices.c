/* SPDX-License-Identifier: Apache-2.0 */
/* show gpu: a single GPU as names and values, several as one table a topic. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/figure.h"
#include "look/show/page.h"
#include "render/columns.h"
#include "machine/model/pci.h"

/* Counts come from outside: their sum stops at the largest number. */
static long long sum(long long a, long long b)
{
	long long c;

	return __builtin_add_overflow(a, b, &c) ? (a < 0 ? LLONG_MIN : LLONG_MAX) : c;
}

static struct cell devices_page_memory(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	/* An integrated GPU has no memory of its own; what NVML answers there is not a size to plan
	 * with. */
	if (fact_or(&g->integrated, 0))
		return seen_ok(&m->memory.total_kb.f)
			       ? cellf(d, "host memory, %s",
				       figure(d->arena, "KiB", m->memory.total_kb.v))
			       : cell("host memory");
	return cell_int(d, &g->memory_bytes, "bytes");
}

static struct cell memory_used(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return fact_or(&g->integrated, 0) ? (struct cell){ .nothing = true }
					  : cell_int(d, &g->memory_used_bytes, "bytes");
}

static struct cell capability(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	if (!seen_ok(&g->cc_major.f) || !seen_ok(&g->cc_minor.f))
		return cell_unseen(&g->cc_major.f);
	return cellf(d, "%lld.%lld", g->cc_major.v, g->cc_minor.v);
}

static struct cell power(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return cell_now_max(d, &g->power_mw,
			    seen_ok(&g->power_limit_enforced_mw.f) ? &g->power_limit_enforced_mw
								   : &g->power_limit_mw,
			    "mW");
}

static struct cell performance_state(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return seen_ok(&g->pstate.f) ? cellf(d, "P%lld", g->pstate.v) : cell_unseen(&g->pstate.f);
}

static struct cell slowed_by(struct doc *d, const struct machine *m, const void *object)
{
	static const struct {
		unsigned bit;
		const char *word;
		bool bad;
	} reasons[] = {
		{ EVENT_IDLE, "idle", false },
		{ EVENT_APP_CLOCKS, "clock setting", false },
		{ EVENT_SW_POWER, "power cap", false },
		{ EVENT_HW_SLOWDOWN, "hardware slowdown", true },
		{ EVENT_SYNC_BOOST, "sync boost", false },
		{ EVENT_SW_THERMAL, "thermal (driver)", true },
		{ EVENT_HW_THERMAL, "thermal (hardware)", true },
		{ EVENT_HW_POWER, "power brake", true },
		{ EVENT_DISPLAY, "display clocks", false },
	};
	const struct gpu *g = object;
	bool bad = false;
	TEXT_AUTO t = { 0 };

	(void)m;
	if (!seen_ok(&g->event_reasons.f))
		return cell_unseen(&g->event_reasons.f);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!((unsigned long long)g->event_reasons.v & reasons[i].bit))
			continue;
		text_printf(&t, "%s%s", t.len ? ", " : "", reasons[i].word);
		bad |= reasons[i].bad;
	}
	return t.len ? cell_as(bad ? STYLE_BAD : STYLE_PLAIN, arena_strndup(d->arena, t.s, t.len))
		     : cell("nothing");
}

static struct cell devices_page_pcie(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;
	const char *now;

	(void)m;
	if (!seen_ok(&g->pcie_gen.f) || !seen_ok(&g->pcie_width.f))
		return cell_unseen(&g->pcie_gen.f);
	if (fact_or(&g->integrated, 0))
		return cell_as(STYLE_MUTED, "none: the GPU is on the processor's chip");
	now = arena_printf(d->arena, "Gen%lld x%lld", g->pcie_gen.v, g->pcie_width.v);
	if (fact_or(&g->pcie_gen_max, 0) <= g->pcie_gen.v &&
	    fact_or(&g->pcie_width_max, 0) <= g->pcie_width.v)
		return cell(now);
	return cellf(d, "%s of Gen%lld x%lld", now, fact_or(&g->pcie_gen_max, g->pcie_gen.v),
		     fact_or(&g->pcie_width_max, g->pcie_width.v));
}

/* Few GPUs have it: where none does, it is no column. */
static struct cell c2c(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;
	struct cell c = cell_bool(&g->c2c, "yes", "no");

	(void)d;
	(void)m;
	c.nothing |= seen_ok(&g->c2c.f) && !g->c2c.v;
	return c;
}

static struct cell devices_page_ecc(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)d;
	(void)m;
	if (seen_ok(&g->ecc.f) && seen_ok(&g->ecc_pending.f) && g->ecc.v != g->ecc_pending.v)
		return cell_as(STYLE_WARN,
			       g->ecc.v ? "on, off after reset" : "off, on after reset");
	return cell_bool(&g->ecc, "on", "off");
}

static struct cell bad_count(struct doc *d, const struct fact_int *f)
{
	struct cell c = cell_int(d, f, NULL);

	if (seen_ok(&f->f) && f->v)
		c.style = STYLE_BAD;
	return c;
}

static struct cell uncorrected(struct doc *d, const struct machine *m, const void *object)
{
	(void)m;
	return bad_count(d, &((const struct gpu *)object)->ecc_uncorrected);
}

static struct cell remapped(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	if (!seen_ok(&g->remap_corrected.f) || !seen_ok(&g->remap_uncorrected.f))
		return cell_unseen(&g->remap_corrected.f);
	if (fact_or(&g->remap_failed, 0) || fact_or(&g->remap_pending, 0))
		return cell_printf(d, STYLE_BAD, "%lld, %s",
				   sum(g->remap_corrected.v, g->remap_uncorrected.v),
				   fact_or(&g->remap_failed, 0) ? "failed" : "pending");
	return cellf(d, "%lld", sum(g->remap_corrected.v, g->remap_uncorrected.v));
}

static struct cell devices_page_nvlinks(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;
	const char *to = NULL;
	long long active = 0, speed = 0;

	(void)m;
	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		if (!fact_or(&l->active, 0))
			continue;
		active++;
		speed = sum(speed, fact_or(&l->speed_mbs, 0));
		to = fact_text(&l->remote_type, to);
	}
	if (!g->links.n)
		return (struct cell){ .nothing = true };
	return cell_printf(d, active == (long long)g->links.n ? STYLE_PLAIN : STYLE_WARN,
			   "%lld of %zu%s%s%s%s", active, g->links.n, to ? " to " : "",
			   to ? to : "", speed ? ", " : "",
			   speed ? figure(d->arena, "MB/s", speed) : "");
}

static struct cell devices_page_link_errors(struct doc *d, const struct machine *m,
					    const void *object)
{
	const struct gpu *g = object;
	struct fact_int total = { 0 };

	(void)m;
	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		const struct fact_int *counts[] = { &l->crc_errors, &l->replay_errors,
						    &l->recovery_errors };

		for (size_t i = 0; i < 3; i++) {
			if (!seen_ok(&counts[i]->f))
				continue;
			total.f.seen = SEEN_OK;
			total.v = sum(total.v, counts[i]->v);
		}
	}
	return bad_count(d, &total);
}

#define GPU_INDEX PICK(gpu, index, "GPU")

static const struct pick identity_picks[] = {
	GPU_INDEX,
	PICK(gpu, name, "Name"),
	PICK(gpu, pci, "PCI"),
	PICK_FIGURE(devices_page_memory, "Memory"),
	PICK_FIGURE(memory_used, "Used"),
	PICK(gpu, sm_count, "SMs"),
	PICK_MADE(capability, "CC"),
	PICK(gpu, numa_node, "NUMA"),
	PICK(gpu, architecture, "Architecture"),
	PICK(gpu, cpu_affinity, "Local CPUs"),
	PICK(gpu, vbios, "VBIOS"),
};
static const struct pick clock_picks[] = {
	GPU_INDEX,
	PICK_OF(gpu, clock_sm_mhz, clock_sm_max_mhz, "SM clock"),
	PICK_OF(gpu, clock_mem_mhz, clock_mem_max_mhz, "Memory clock"),
	PICK(gpu, clock_app_sm_mhz, "App clock"),
	PICK_FIGURE(power, "Power"),
	PICK(gpu, temperature_c, "Temp."),
	PICK(gpu, util_gpu_pct, "Busy"),
	{ .title = "Throttled by", .make = slowed_by, .wrap = true },
};
static const struct pick mode_picks[] = {
	GPU_INDEX,
	PICK_MADE(performance_state, "State"),
	PICK(gpu, persistence, "Persistence"),
	PICK(gpu, compute_mode, "Compute mode"),
	PICK(gpu, accounting, "Accounting"),
	PICK_MADE(devices_page_ecc, "ECC"),
	PICK(gpu, mig, "MIG"),
	PICK(gpu, addressing_mode, "Addressing"),
	PICK_MADE(c2c, "C2C"),
	PICK(gpu, fabric_state, "Fabric"),
};
static const struct pick link_picks[] = {
	GPU_INDEX,
	PICK_MADE(devices_page_pcie, "PCIe"),
	PICK(gpu, pcie_replays, "Replays"),
	PICK(gpu, bar1_bytes, "BAR1"),
	PICK_MADE(devices_page_nvlinks, "NVLink"),
	PICK_FIGURE(devices_page_link_errors, "Link errors"),
	PICK(gpu, cuda_gpudirect_rdma, "GPUDirect RDMA"),
	PICK(gpu, cuda_dma_buf, "dma-buf"),
};
static const struct pick health_picks[] = {
	GPU_INDEX,
	PICK(gpu, ecc_corrected, "Corrected"),
	PICK_FIGURE(uncorrected, "Uncorrected"),
	PICK_FIGURE(remapped, "Rows remapped"),
	PICK(gpu, event_hw_thermal_us, "Heat"),
	PICK(gpu, event_hw_power_us, "Brake"),
	PICK(gpu, event_sw_power_us, "Power cap"),
};
static const struct pick driver_picks[] = {
	PICK(gpus, driver, "Driver"),
	PICK(gpus, driver_flavour, "Flavour"),
	PICK(gpus, nvml, "NVML"),
	PICK(gpus, count, "GPUs seen by NVML"),
	PICK(gpus, pci_count, "NVIDIA GPUs on the PCI bus"),
	PICK(gpus, fabric_manager, "Fabric manager"),
	PICK(gpus, fabric_manager_version, "Fabric manager version"),
	PICK(gpus, xid_events, "Xid events in the log"),
	PICK(gpus, sxid_fatal, "Fatal SXid events in the log"),
	PICK(gpus, sxid_nonfatal, "Other SXid events in the log"),
};
static const struct pick xid_picks[] = {
	PICK(gpu_xid, pci, "GPU address"),
	PICK(gpu_xid, index, "Xid"),
	PICK(gpu_xid, count, "Lines"),
	PICK(gpu_xid, age_s, "Since last"),
};
static const struct pick process_picks[] = {
	PICK(gpu_process, index, "PID"),
	PICK(gpu_process, command, "Command"),
	PICK(gpu_process, kind, "Kind"),
	PICK(gpu_process, memory_bytes, "Memory"),
};

struct doc *page_gpu(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);
	const struct list *l = &m->gpu.gpus;

	doc_heading(d, 1, "GPUs");
	if (!l->n)
		doc_text(d, "%s",
			 fact_or(&m->gpu.pci_count, 0) > 0
				 ? "The PCI bus has NVIDIA GPUs, but NVML reports none: the driver "
				   "is not loaded or does not respond."
				 : "No NVIDIA GPU found.");
	show_object(d, m, NULL, PICKS(gpus_shape, driver_picks), &m->gpu);
	show_objects(d, m, "Models", PICKS(gpu_shape, identity_picks), l);
	show_objects(d, m, "Clocks and power", PICKS(gpu_shape, clock_picks), l);
	show_objects(d, m, "Modes", PICKS(gpu_shape, mode_picks), l);
	show_objects(d, m, "Links", PICKS(gpu_shape, link_picks), l);
	show_objects(d, m, "Health, and throttled time since driver load",
		     PICKS(gpu_shape, health_picks), l);
	show_table(d, m, "Xid errors in the kernel's log of this boot",
		   PICKS(gpu_xid_shape, xid_picks), &m->gpu.xids);
	LIST_FOR_EACH (struct gpu, g, l)
		show_table(d, m, arena_printf(a, "Processes on GPU %u", g->index),
			   PICKS(gpu_process_shape, process_picks), &g->processes);
	return d;
}

/* show nic: interfaces and RDMA ports. */

static struct cell devices_page_state(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)d;
	(void)m;
	if (fact_is(&n->operstate, "up"))
		return cell_as(STYLE_GOOD, "up");
	return cell_str(&n->operstate);
}

/* The kernel says -1 where there is no link. */
static struct cell devices_page_speed(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	if (seen_ok(&n->speed_mbps.f) && n->speed_mbps.v <= 0)
		return (struct cell){ .text = "none", .style = STYLE_MUTED, .nothing = true };
	return cell_int(d, &n->speed_mbps, "Mb/s");
}

static struct cell mtu(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	return cell_int(d, &n->mtu, NULL);
}

static struct cell port_state(struct doc *d, const struct machine *m, const void *object)
{
	const struct rdma_port *p = object;

	(void)d;
	(void)m;
	return fact_is(&p->state, "ACTIVE") ? cell_as(STYLE_GOOD, "ACTIVE") : cell_str(&p->state);
}

/* The GID that RoCE v2 over IPv4 is spoken with, and its index: what NCCL_IB_GID_INDEX wants. */
static struct cell roce_gid(struct doc *d, const struct machine *m, const void *object)
{
	const struct rdma_port *p = object;

	(void)m;
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (fact_is(&g->type, "RoCE v2") && seen_ok(&g->gid.f) &&
		    strncmp(g->gid.v, "0000:0000:0000:0000:0000:ffff:", 30) == 0)
			return cellf(d, "%u", g->index);
	return (struct cell){ .nothing = true };
}

static const struct pick nic_picks[] = {
	PICK(nic, name, "Interface"),
	PICK_MADE(devices_page_state, "State"),
	PICK_FIGURE(devices_page_speed, "Speed"),
	PICK_FIGURE(mtu, "MTU"),
	PICK(nic, type, "Type"),
	PICK(nic, driver, "Driver"),
	PICK(nic, pci, "PCI"),
	PICK(nic, numa_node, "NUMA"),
	PICK(nic, ipv4, "IPv4"),
	PICK(nic, owner, "Managed by"),
	PICK(nic, bond_master, "Bond"),
	PICK_WRAP(nic, firmware, "Firmware"),
};
static const struct pick queue_picks[] = {
	PICK(nic, name, "Interface"),
	PICK_OF(nic, rx_ring, rx_ring_max, "RX ring"),
	PICK_OF(nic, tx_ring, tx_ring_max, "TX ring"),
	PICK_OF(nic, channels, channels_max, "Channels"),
	PICK(nic, rx_coalesce_us, "RX coalesce"),
	PICK(nic, tx_coalesce_us, "TX coalesce"),
	PICK(nic, adaptive_rx, "Adaptive"),
	PICK(nic, rx_dropped, "Dropped"),
	PICK(nic, rx_missed, "Missed"),
	PICK(nic, rx_crc_errors, "CRC errors"),
};
static const struct pick rdma_picks[] = {
	PICK(rdma_port, name, "Port"),	       PICK_MADE(port_state, "State"),
	PICK(rdma_port, link_layer, "Layer"),  PICK(rdma_port, rate_mbps, "Rate"),
	PICK(rdma_port, netdev, "Interface"),  PICK(rdma_port, pci, "PCI"),
	PICK(rdma_port, numa_node, "NUMA"),    PICK(rdma_port, hca_type, "HCA"),
	PICK(rdma_port, firmware, "Firmware"), PICK_FIGURE(roce_gid, "RoCE v2 GID"),
};
static const struct pick error_picks[] = {
	PICK(rdma_port, name, "Port"),
	PICK(rdma_port, symbol_errors, "Symbol errors"),
	PICK(rdma_port, link_downed, "Link downed"),
	PICK(rdma_port, rcv_errors, "Receive errors"),
	PICK(rdma_port, out_of_sequence, "Out of sequence"),
};
static const struct pick network_picks[] = {
	PICK(network, ib_core, "ib_core"),
	PICK(network, mlx5_core, "mlx5_core"),
	PICK(network, mlx5_ib, "mlx5_ib"),
	PICK(network, ofed_version, "OFED"),
	PICK(network, peermem, "nvidia-peermem"),
	PICK(network, peermem_client, "Peer memory client"),
	PICK(network, verbs_provider, "Verbs provider"),
	PICK(network, spark_hotplug, "NIC hotplug scripts"),
	PICK(network, cable_present, "Cable seen"),
	PICK(network, cables_plugged, "Cables plugged in since boot"),
	PICK(network, softnet_dropped, "Packets dropped by CPUs"),
	PICK(network, bad_subnets, "Interfaces sharing a subnet"),
};

struct doc *page_nic(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Network");
	show_table(d, m, "Interfaces", PICKS(nic_shape, nic_picks), &m->net.nics);
	show_table(d, m, "Queues and counters", PICKS(nic_shape, queue_picks), &m->net.nics);
	show_table(d, m, "RDMA ports", PICKS(rdma_port_shape, rdma_picks), &m->net.rdma);
	show_table(d, m, "NVSwitch management", PICKS(rdma_port_shape, rdma_picks),
		   &m->net.switch_ports);
	show_table(d, m, "RDMA errors since boot", PICKS(rdma_port_shape, error_picks),
		   &m->net.rdma);
	show_object(d, m, "Drivers and GPUDirect", PICKS(network_shape, network_picks), &m->net);
	return d;
}

/* show pci: the tree below each host bridge, with every link now and at most. */

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* By place in the tree: a bridge before what lies behind it. */
static int by_path(const void *a, const void *b)
{
	const struct pci_function *x = *(const struct pci_function *const *)a;
	const struct pci_function *y = *(const struct pci_function *const *)b;
	int r = strcmp(text_or_empty(x->path), text_or_empty(y->path));

	return r ? r : strcmp(text_or_empty(x->name), text_or_empty(y->name));
}

/* Below what its link can do; the slower end decides, and that may be either. */
static bool link_degraded(const struct pci_function *f)
{
	return (seen_ok(&f->speed_mts.f) && seen_ok(&f->max_speed_mts.f) &&
		f->speed_mts.v < f->max_speed_mts.v) ||
	       (seen_ok(&f->width.f) && seen_ok(&f->max_width.f) && f->width.v < f->max_width.v);
}

/* "Gen5 x16"; where it is less, also of what: "Gen5 x8 of x16", "Gen1 x16 of Gen5", "Gen4 x8 of
 * Gen5 x16". */
static struct cell link_cell(struct doc *d, const struct pci_function *f)
{
	const char *now = figure_link(d->arena, &f->speed_mts, &f->width);
	const char *most = figure_link(d->arena, &f->max_speed_mts, &f->max_width);

	if (!now)
		return cell_unseen(&f->speed_mts.f);
	if (!most || !link_degraded(f))
		return cell(now);
	if (f->speed_mts.v == f->max_speed_mts.v)
		most = strchr(most, 'x') ? strchr(most, 'x') : most;
	else if (f->width.v == f->max_width.v)
		most = arena_strndup(d->arena, most, strcspn(most, " "));
	return cell_printf(d, STYLE_WARN, "%s of %s", now, most);
}

/* Conventional functions have none of this; a dash keeps them out of the way. */
static struct cell quiet(struct cell c)
{
	return c.nothing ? (struct cell){ .text = "-", .style = STYLE_MUTED, .nothing = true } : c;
}

static void function_row(struct doc *d, struct cell *row, const struct pci_function *f)
{
	row[0] = cell(text_or_empty(f->name));
	row[1] = cell(pci_name(d->arena, f));
	row[2] = quiet(link_cell(d, f));
	row[3] = quiet(cell_now_max(d, &f->mps, &f->mps_cap, NULL));
	row[4] = quiet(cell_int(d, &f->mrrs, NULL));
	row[5] = quiet(cell_str(&f->driver));
	row[6] = fact_or(&f->numa_node, 0) < 0 ? quiet((struct cell){ .nothing = true })
					       : quiet(cell_int(d, &f->numa_node, NULL));
	row[7] = quiet(cell_int(d, &f->iommu_group, NULL));
}

/* How many of the bridges on the way down to the last row are also above f; the way is cut to them.
 */
static size_t depth_of(const char **way, size_t n, const struct pci_function *f)
{
	while (n && strcmp(way[n - 1], text_or_empty(f->parent)) != 0)
		n--;
	return n;
}

struct doc *page_pci(struct arena *a, const struct machine *m)
{
	enum { DEEPEST = 256 };
	const struct pci_function **order = arena_array(a, m->pci.n, sizeof(*order));
	const char *way[DEEPEST], *root = NULL;
	struct doc *d = doc_new(a);
	struct node *t;
	size_t n = 0, depth = 0;

	doc_heading(d, 1, "PCI");
	if (!m->pci.n)
		doc_text(d, "No PCI function found.");
	t = DOC_TREE(d, NULL, "Function", "~Device", "Link", ">MPS, bytes", ">MRRS", "Driver",
		     ">NUMA", ">IOMMU");
	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		order[n++] = f;
	qsort(order, n, sizeof(*order), by_path);
	for (size_t i = 0; i < n; i++) {
		if (!root || strcmp(root, text_or_empty(order[i]->root)) != 0) {
			root = text_or_empty(order[i]->root);
			node_branch(d, t, 0)[0] = cell_as(STYLE_STRONG, root);
			depth = 0;
		}
		depth = depth_of(way, depth, order[i]);
		function_row(d, node_branch(d, t, (unsigned)depth + 1), order[i]);
		if (depth < DEEPEST)
			way[depth++] = text_or_empty(order[i]->name);
	}
	node_drop_empty(t);
	return d;
}
