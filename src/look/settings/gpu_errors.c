/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that the driver and the links of a GPU count or log. What they are measured by stands in
 * health_data.c. */
#include <string.h>

#include "base/text.h"
#include "look/settings/growth.h"
#include "look/settings/health_data.h"
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

enum { KINDS_SHOWN = 6 };

static bool is_gpu_function(const struct machine *m, const void *object)
{
	const struct pci_function *p = object;

	(void)m;
	return is_nvidia_display(p) && fact_or(&p->is_vf, 0) != 1;
}

static const char *ago(struct arena *a, const struct gpu_xid *x)
{
	long long s = fact_or(&x->age_s, -1);

	if (s < 0)
		return "";
	return s >= 7200  ? arena_printf(a, ", last %lld h ago", s / 3600)
	       : s >= 120 ? arena_printf(a, ", last %lld min ago", s / 60)
			  : arena_printf(a, ", last %lld s ago", s);
}

/* Who gives an earlier reading asks for what came after it: of the GPU that was reset meanwhile,
 * too, of which no log tells. */
static bool came_before(const struct question *q, const struct gpu_xid *x)
{
	return growth_seconds(q->m) > 0 && fact_or(&x->age_s, 0) > growth_seconds(q->m);
}

/* How much an error number matters: 0 nothing, 1 fresh and unknown, 2 fresh, 3 as long as the log
 * has it. */
static int weight(const struct question *q, const struct gpu_xid *x, const struct xid_row *row)
{
	double window = health_figure("gpu.xid", "window", NULL, 0);
	long long age = fact_or(&x->age_s, 0);

	if (came_before(q, x))
		return 0;
	if (row && row->kind == XID_LASTING)
		return 3;
	if ((row && row->kind == XID_PROGRAM) || (double)age > window)
		return 0;
	return row ? 2 : 1;
}

static void xid_says(const struct question *q, struct verdict *v, const struct gpu_xid *worst,
		     int heavy)
{
	const struct xid_row *row = worst ? xid_find(worst->index) : NULL;

	if (!worst)
		verdict_pass(v, "none in the kernel's log of this boot");
	else if (heavy == 0 && row && row->kind == XID_PROGRAM)
		verdict_pass(v, "of programs alone: the GPU is not to blame");
	else if (heavy == 0 && came_before(q, worst))
		verdict_pass(v, arena_printf(q->a,
					     "none %s: the last one of hardware (Xid %u) is older",
					     growth_span(q->a, q->m), worst->index));
	else if (heavy == 0)
		verdict_pass(v, arena_printf(q->a,
					     "the last one of hardware (Xid %u) was survived long "
					     "ago",
					     worst->index));
	else if (!row)
		verdict_fail(v, "none of hardware",
			     arena_printf(q->a,
					  "Xid %u is not in our table: NVIDIA's Xid catalog says "
					  "what it means",
					  worst->index));
	else
		verdict_fail(
			v, "none of hardware",
			arena_printf(q->a, "Xid %u, %s: %s", worst->index, row->what, row->todo));
}

static void xid(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object;
	const struct gpu_xid *worst = NULL;
	TEXT_AUTO t = { 0 };
	int heavy = -1;
	size_t kinds = 0;

	if (!seen_ok(&q->m->gpu.xid_events.f)) {
		verdict_unseen(q, v, &q->m->gpu.xid_events.f, "there is no kernel log here");
		return;
	}
	LIST_FOR_EACH (struct gpu_xid, x, &q->m->gpu.xids) {
		int w = weight(q, x, xid_find(x->index));

		if (strcmp(x->pci, p->name) != 0)
			continue;
		if (kinds++ < KINDS_SHOWN)
			text_printf(&t, "%sXid %u x%lld%s", t.len ? "; " : "", x->index,
				    fact_or(&x->count, 0), ago(q->a, x));
		if (w > heavy) {
			heavy = w;
			worst = x;
		}
	}
	if (kinds > KINDS_SHOWN)
		text_printf(&t, "; %zu more", kinds - KINDS_SHOWN);
	v->current = t.len ? arena_strndup(q->a, t.s, t.len) : "none";
	xid_says(q, v, worst, heavy);
}

static bool has_switches(const struct machine *m, const void *object)
{
	(void)object;
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvswitch(p))
			return true;
	return false;
}

static void sxid(const struct question *q, struct verdict *v)
{
	const struct gpus *g = &q->m->gpu;

	if (!seen_ok(&g->sxid_fatal.f)) {
		verdict_unseen(q, v, &g->sxid_fatal.f, "there is no kernel log here");
		return;
	}
	v->current = arena_printf(q->a, "%lld fatal, %lld not fatal", g->sxid_fatal.v,
				  fact_or(&g->sxid_nonfatal, 0));
	if (g->sxid_fatal.v > 0 && growth_seconds(q->m) > 0 &&
	    growth(&g->sxid_fatal, &q->m->earlier->gpu.sxid_fatal) == 0)
		verdict_pass(v, arena_printf(q->a, "no fatal one %s", growth_span(q->a, q->m)));
	else if (g->sxid_fatal.v > 0)
		verdict_fail(v, "0 fatal",
			     "an NVSwitch met a fatal error: jobs over NVLink fail until the "
			     "fabric and its GPUs are reset");
	else
		verdict_pass(v, fact_or(&g->sxid_nonfatal, 0) > 0
					? "none that ends jobs; watch whether the others go on"
					: "none in the kernel's log of this boot");
}

static void replays(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	const char *key = arena_printf(q->a, "gen%lld", fact_or(&g->pcie_gen, 0));
	double lane = health_figure(q->s->id, key, fact_text(&g->name, NULL), -1), most;
	long long n;

	if (!not_integrated(q, v, "the PCIe link of this GPU is a placeholder"))
		return;
	if (!seen_ok(&g->pcie_replays.f)) {
		verdict_unseen(q, v, &g->pcie_replays.f, "the driver does not count them");
		return;
	}
	n = before ? growth(&g->pcie_replays, &before->pcie_replays) : -1;
	v->current = arena_printf(q->a, "%lld since the driver was loaded", g->pcie_replays.v);
	if (n < 0) {
		if (g->pcie_replays.v == 0)
			verdict_pass(v, "the link never had to send anything again");
		else
			verdict_na(v, CODE_NEEDS_EARLIER,
				   "a count is no rate: an earlier reading (--since) tells whether "
				   "it grows");
		return;
	}
	v->current = arena_printf(q->a, "%lld more %s", n, growth_span(q->a, q->m));
	most = lane * (double)fact_or(&g->pcie_width, 16) * ((double)growth_seconds(q->m) / 60 + 1);
	if (most < 0)
		verdict_na(v, CODE_NO_SUPPORT, "the generation of the link was not told");
	else if ((double)n > most)
		verdict_fail(v, arena_printf(q->a, "<= %.0f", most),
			     "the link sends more again than its generation may: card, slot or "
			     "riser");
	else
		verdict_pass(v, n ? "within what a link of its generation may" : "did not grow");
}

/* The slowest active link; unseen is one whose speed was not told. */
static long long slowest(const struct gpu *g, long long *fastest, size_t *up,
			 const struct fact **unseen)
{
	long long least = -1;

	*fastest = 0;
	*up = 0;
	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		if (fact_or(&l->active, 0) != 1)
			continue;
		++*up;
		if (!seen_ok(&l->speed_mbs.f)) {
			*unseen = &l->speed_mbs.f;
			continue;
		}
		if (least < 0 || l->speed_mbs.v < least)
			least = l->speed_mbs.v;
		if (l->speed_mbs.v > *fastest)
			*fastest = l->speed_mbs.v;
	}
	return least;
}

static void nvlink_speed(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;
	long long fastest, least, want;
	size_t up;

	least = slowest(g, &fastest, &up, &unseen);
	if (up == 0) {
		verdict_na(v, CODE_NO_HARDWARE,
			   g->links.n ? "no NVLink is up: see gpu.nvlink"
				      : "the GPU has no NVLink");
		return;
	}
	if (unseen || least <= 0) {
		verdict_unseen(q, v, unseen ? unseen : &g->name.f,
			       "the driver does not tell the speed of its links");
		return;
	}
	want = (long long)health_figure(q->s->id, "speed", fact_text(&g->name, NULL),
					(double)fastest);
	v->current = arena_printf(q->a, "%zu links, slowest %.1f GB/s, together %.0f GB/s one way",
				  up, (double)least / 1000, (double)least * (double)up / 1000);
	/* The figure is rounded to a MB/s by whoever tells it. */
	if (least + 1 < want)
		verdict_fail(v, arena_printf(q->a, "%.1f GB/s a link", (double)want / 1000),
			     "a link trained at a lower speed: every collective waits for it");
	else
		verdict_pass(v, "every link at full speed");
}

#define HEALTH .health = true

static const struct setting rows[] = {
	{ .id = "gpu.xid",
	  .title = "Xid errors in the log",
	  HEALTH,
	  .scope = SCOPE_PCI,
	  .select = is_gpu_function,
	  .none = "no NVIDIA GPU on the PCI bus",
	  .read = "kernel log, NVRM: Xid",
	  .not_when = "there is no NVIDIA GPU, or no kernel log",
	  .why = "The driver's own record of what went wrong. Most numbers are of programs; some "
		 "mean that the GPU needs a reset, a reboot or a person.",
	  .source = "NVIDIA Xid catalog; Azure HPC node health checks; leptonai gpud",
	  .severity = SEVERITY_CRITICAL,
	  .judge = xid,
	  .by_hand = "drain the GPU and do what the finding says; the kernel log has the line" },
	{ .id = "gpu.sxid",
	  .title = "NVSwitch errors in the log",
	  HEALTH,
	  .scope = SCOPE_HOST,
	  .select = has_switches,
	  .none = "no NVSwitch is visible on this machine",
	  .read = "kernel log, SXid",
	  .not_when = "no NVSwitch is visible, or there is no kernel log",
	  .why = "A fatal error of a switch ends every job whose traffic passes it.",
	  .source = "NVIDIA Fabric Manager user guide, SXid errors",
	  .severity = SEVERITY_CRITICAL,
	  .judge = sxid,
	  .by_hand = "end the jobs, restart nvidia-fabricmanager and reset the GPUs; one that "
		     "comes back is a case for the vendor" },
	{ .id = "gpu.pcie-replays",
	  .title = "PCIe replays",
	  HEALTH,
	  .scope = SCOPE_GPU,
	  .read = "nvmlDeviceGetPcieReplayCounter",
	  .not_when = "the GPU shares the host's memory, or no earlier reading is given",
	  .why = "What arrives damaged is sent again. A few are normal, and more the faster a "
		 "link is.",
	  .source = "NVIDIA DCGM health watches; nvml",
	  .severity = SEVERITY_MEDIUM,
	  .judge = replays,
	  .by_hand = "reseat or exchange the card, the riser or the cable" },
	{ .id = "gpu.nvlink-speed",
	  .title = "NVLink speed",
	  HEALTH,
	  .scope = SCOPE_GPU,
	  .read = "nvmlDeviceGetFieldValues(NVLINK_GET_SPEED)",
	  .not_when = "no NVLink is up",
	  .why = "One slow link slows every collective that passes it.",
	  .source = "nvml; S4",
	  .severity = SEVERITY_HIGH,
	  .judge = nvlink_speed,
	  .by_hand = "reset the GPUs of the board together; a link that stays slow is a case for "
		     "the vendor" },
};

const struct setting_table settings_gpu_errors = SETTING_TABLE(rows);
