/* SPDX-License-Identifier: Apache-2.0 */
/* show gpu: a single GPU as names and values, several as one table a topic. */
#include <limits.h>

#include "base/text.h"
#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

/* Counts come from outside: their sum stops at the largest number. */
static long long sum(long long a, long long b)
{
	long long c;

	return __builtin_add_overflow(a, b, &c) ? (a < 0 ? LLONG_MIN : LLONG_MAX) : c;
}

static struct cell memory(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	/* An integrated GPU has no memory of its own; what NVML answers there is not a size to plan
	 * with. */
	if (fact_or(&g->integrated, 0))
		return seen_ok(&m->memory.total_kb.f)
			       ? cell_printf(d, STYLE_PLAIN, "the host's %s",
					     figure(d->arena, "KiB", m->memory.total_kb.v))
			       : cell("the host's");
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
	return cell_printf(d, STYLE_PLAIN, "%lld.%lld", g->cc_major.v, g->cc_minor.v);
}

/* The kernel's -1, "no node", is not a node. */
static struct cell node(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return fact_or(&g->numa_node, 0) < 0
		       ? (struct cell){ .text = "-", .style = STYLE_MUTED, .nothing = true }
		       : cell_int(d, &g->numa_node, NULL);
}

static struct cell sm_clock(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return cell_now_max(d, &g->clock_sm_mhz, &g->clock_sm_max_mhz, "MHz");
}

static struct cell memory_clock(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)m;
	return cell_now_max(d, &g->clock_mem_mhz, &g->clock_mem_max_mhz, "MHz");
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
	return seen_ok(&g->pstate.f) ? cell_printf(d, STYLE_PLAIN, "P%lld", g->pstate.v)
				     : cell_unseen(&g->pstate.f);
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
		{ EVENT_SW_THERMAL, "heat (driver)", true },
		{ EVENT_HW_THERMAL, "heat (hardware)", true },
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

static struct cell pcie(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;
	const char *now;

	(void)m;
	if (!seen_ok(&g->pcie_gen.f) || !seen_ok(&g->pcie_width.f))
		return cell_unseen(&g->pcie_gen.f);
	if (fact_or(&g->integrated, 0))
		return cell_as(STYLE_MUTED, "none: on the chip");
	now = arena_printf(d->arena, "Gen%lld x%lld", g->pcie_gen.v, g->pcie_width.v);
	if (fact_or(&g->pcie_gen_max, 0) <= g->pcie_gen.v &&
	    fact_or(&g->pcie_width_max, 0) <= g->pcie_width.v)
		return cell(now);
	return cell_printf(d, STYLE_PLAIN, "%s of Gen%lld x%lld", now,
			   fact_or(&g->pcie_gen_max, g->pcie_gen.v),
			   fact_or(&g->pcie_width_max, g->pcie_width.v));
}

/* Few GPUs have it: where none does, it is no column. */
static struct cell c2c(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;
	struct cell c = cell_bool(&g->c2c, "yes", "no");

	(void)d, (void)m;
	c.nothing |= seen_ok(&g->c2c.f) && !g->c2c.v;
	return c;
}

static struct cell ecc(struct doc *d, const struct machine *m, const void *object)
{
	const struct gpu *g = object;

	(void)d, (void)m;
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
	return cell_printf(d, STYLE_PLAIN, "%lld",
			   sum(g->remap_corrected.v, g->remap_uncorrected.v));
}

static struct cell nvlinks(struct doc *d, const struct machine *m, const void *object)
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

static struct cell link_errors(struct doc *d, const struct machine *m, const void *object)
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
	PICK_FIGURE(memory, "Memory"),
	PICK_FIGURE(memory_used, "Used"),
	PICK(gpu, sm_count, "SMs"),
	PICK_MADE(capability, "CC"),
	PICK_FIGURE(node, "NUMA"),
	PICK(gpu, architecture, "Architecture"),
	PICK(gpu, cpu_affinity, "CPUs near"),
	PICK(gpu, vbios, "VBIOS"),
};
static const struct pick clock_picks[] = {
	GPU_INDEX,
	PICK_FIGURE(sm_clock, "SM clock"),
	PICK_FIGURE(memory_clock, "Memory clock"),
	PICK(gpu, clock_app_sm_mhz, "Set clock"),
	PICK_FIGURE(power, "Power"),
	PICK(gpu, temperature_c, "Temp."),
	PICK(gpu, util_gpu_pct, "Busy"),
	{ .title = "Slowed by", .make = slowed_by, .wrap = true },
};
static const struct pick mode_picks[] = {
	GPU_INDEX,
	PICK_MADE(performance_state, "State"),
	PICK(gpu, persistence, "Persistence"),
	PICK(gpu, compute_mode, "Compute mode"),
	PICK(gpu, accounting, "Accounting"),
	PICK_MADE(ecc, "ECC"),
	PICK(gpu, mig, "MIG"),
	PICK(gpu, addressing_mode, "Addressing"),
	PICK_MADE(c2c, "C2C"),
	PICK(gpu, fabric_state, "Fabric"),
};
static const struct pick link_picks[] = {
	GPU_INDEX,
	PICK_MADE(pcie, "PCIe"),
	PICK(gpu, pcie_replays, "Replays"),
	PICK(gpu, bar1_bytes, "BAR1"),
	PICK_MADE(nvlinks, "NVLink"),
	PICK_FIGURE(link_errors, "Link errors"),
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
	PICK(gpu_xid, pci, "GPU at"),
	PICK(gpu_xid, index, "Xid"),
	PICK(gpu_xid, count, "Lines"),
	PICK(gpu_xid, age_s, "Last ago"),
};
static const struct pick process_picks[] = {
	PICK(gpu_process, index, "PID"),
	PICK(gpu_process, command, "Command"),
	PICK(gpu_process, kind, "Kind"),
	PICK(gpu_process, memory_bytes, "Memory"),
};

static const struct picks identity = PICKS(schema_gpu, identity_picks);
static const struct picks clocks = PICKS(schema_gpu, clock_picks);
static const struct picks modes = PICKS(schema_gpu, mode_picks);
static const struct picks links = PICKS(schema_gpu, link_picks);
static const struct picks health = PICKS(schema_gpu, health_picks);
static const struct picks driver = PICKS(schema_gpus, driver_picks);
static const struct picks xids = PICKS(schema_gpu_xid, xid_picks);
static const struct picks processes = PICKS(schema_gpu_process, process_picks);

struct doc *page_gpu(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);
	const struct list *l = &m->gpu.gpus;

	doc_heading(d, 1, "GPUs");
	if (!l->n)
		doc_text(d, "%s",
			 fact_or(&m->gpu.pci_count, 0) > 0
				 ? "The PCI bus has NVIDIA GPUs, but NVML shows none: the driver "
				   "is not loaded "
				   "or does not answer."
				 : "No NVIDIA GPU was seen.");
	show_object(d, m, NULL, &driver, &m->gpu);
	show_objects(d, m, "What they are", &identity, l);
	show_objects(d, m, "Clocks and power", &clocks, l);
	show_objects(d, m, "Modes", &modes, l);
	show_objects(d, m, "Links", &links, l);
	show_objects(d, m, "Health, and time slowed since the driver was loaded", &health, l);
	show_table(d, m, "Xid errors in the kernel's log of this boot", &xids, &m->gpu.xids);
	LIST_FOR_EACH (struct gpu, g, l)
		show_table(d, m, arena_printf(a, "Processes on GPU %u", g->index), &processes,
			   &g->processes);
	return d;
}
