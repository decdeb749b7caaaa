/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA driver: whether it answers, for every GPU that the bus has, which kind it is, and
 * whether the GPUs are alike. */
#include <errno.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"
#include "knowledge/health.h"
#include "machine/host/nvml.h"

/* Given to a virtual machine: no business of the machine's driver. */
static bool is_passed_through(const struct pci_function *p)
{
	return fact_is(&p->driver, "vfio-pci");
}

static bool held_by(const struct machine *m, const char *driver)
{
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvidia_display(p) && fact_is(&p->driver, driver))
			return true;
	return false;
}

/* What the driver's library said when it was asked. NULL: nothing that has a sentence. */
static const struct nvml_trouble *trouble_of(const struct gpus *g)
{
	const struct fact *f = !seen_ok(&g->nvml.f) ? &g->nvml.f : &g->count.f;

	return seen_ok(f) ? NULL : nvml_trouble(f->err);
}

static void no_answer(const struct rule_ctx *q, struct verdict *v)
{
	const struct nvml_trouble *t = trouble_of(&q->m->gpu);

	if (t) {
		v->by_hand = t->mend;
		verdict_fail(v, seen_ok(&q->m->gpu.driver.f) ? "answers" : "loaded", t->is);
	} else {
		verdict_fail(v, "loaded",
			     "an NVIDIA GPU is on the bus, but the driver does not respond");
	}
}

static void gpu_driver_driver(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpus *g = &q->m->gpu;
	const struct fact *f = &g->driver.f;

	if (seen_ok(f) || machine_bus_gpus(q->m, false))
		v->current = fact_text(&g->driver, "not loaded");
	if (seen_ok(f) && g->gpus.n)
		verdict_pass(v, arena_printf(q->a, "driver %s responds", g->driver.v));
	else if (seen_ok(f) && g->nvml.f.seen == SEEN_DENIED)
		verdict_unseen(q, v, &g->nvml.f, NULL);
	else if (f->seen == SEEN_DENIED || (f->seen == SEEN_UNASKED && f->leaf) ||
		 (!machine_bus_gpus(q->m, false) && f->seen == SEEN_ERROR))
		verdict_unseen(q, v, f, NULL);
	else if (!machine_bus_gpus(q->m, false))
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
	else if (held_by(q->m, "nouveau"))
		verdict_fail(v, "loaded",
			     "the nouveau driver holds the GPU: CUDA requires NVIDIA's driver; "
			     "prevent nouveau from loading");
	else
		no_answer(q, v);
}

/* The GPUs of the bus that the driver does not list, blank-separated. */
static const char *gpu_driver_missing(const struct rule_ctx *q)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct pci_function, p, &q->m->pci) {
		bool known = false;

		if (!is_nvidia_display(p) || is_passed_through(p))
			continue;
		LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
			known = known || strcmp(g->pci, p->name) == 0;
		if (!known)
			text_printf(&t, "%s%s", t.len ? " " : "", p->name);
	}
	return arena_strdup(q->a, t.s ? t.s : "");
}

/* A card for a screen beside the baseboard is another kind, and counts as none of its. */
static bool of_one_kind(const struct machine *m)
{
	const struct gpu *first = machine_gpu(m, 0);

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (first && strcmp(fact_text(&g->name, ""), fact_text(&first->name, "")) != 0)
			return false;
	return true;
}

/* A GPU that NVML still lists, but answers GPU_IS_LOST for: it left the bus while the driver ran.
 */
static const struct gpu *lost_gpu(const struct machine *m)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (g->temperature_c.f.err == EHOSTDOWN || g->clock_sm_mhz.f.err == EHOSTDOWN ||
		    g->uuid.f.err == EHOSTDOWN)
			return g;
	return NULL;
}

static void all_visible(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *lost = lost_gpu(q->m);
	size_t bus = machine_bus_gpus(q->m, false), n = q->m->gpu.gpus.n, all = n > bus ? n : bus;

	/* Its GPU is part of the processor: nobody takes it out. */
	if (!n && !bus && q->platform & ON_SPARK && q->m->pci.n && !is_virtual(q->m) &&
	    !machine_bus_gpus(q->m, true)) {
		v->current = "0";
		verdict_fail(v, "1",
			     "the machine type has a GPU, but none is on the PCI bus: it fell "
			     "off, or firmware left it out. Power off, wait, and start again");
		return;
	}
	if (lost) {
		v->current = arena_printf(q->a, "gpu%u at %s is lost", lost->index, lost->pci);
		verdict_fail(v, "every GPU responds",
			     "NVML reports GPU_IS_LOST: the GPU fell off the bus while the driver "
			     "was loaded");
		return;
	}
	if (!n || !bus) {
		verdict_na(v, CODE_NO_HARDWARE,
			   n ? "the PCI bus is not visible here" : machine_no_gpu(q->a, q->m));
		return;
	}
	v->current = arena_printf(q->a, "%zu of %zu", n, bus);
	if (n < bus && seen_ok(&q->m->software.container.f))
		verdict_na(v, CODE_NO_EFFECT, "this container has access to only some of the GPUs");
	else if (n < bus)
		verdict_fail(
			v, arena_printf(q->a, "%zu", bus),
			arena_printf(q->a,
				     "on the bus but not reported by the driver: %s. It fell off, "
				     "another driver holds it, or this driver does not support it",
				     gpu_driver_missing(q)));
	/* Baseboards carry 4, 8 or 16: a GPU that left the bus too is missed here alone. */
	else if ((q->platform & ON_HGX) && !is_virtual(q->m) && !machine_bus_gpus(q->m, true) &&
		 !is_superchip(q->m) && of_one_kind(q->m) && all != 4 && all != 8 && all != 16)
		verdict_fail(v, "4, 8 or 16",
			     "GPUs are missing from the bus: an HGX baseboard has more");
	else
		verdict_pass(v, "the driver reports every GPU on the bus");
}

static void flavour(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *f = &q->m->gpu.driver_flavour;
	const char *needs_open = NULL;

	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (fact_or(&g->cc_major, 0) >= 10)
			needs_open = "Blackwell GPUs require the open kernel modules";
		else if (fact_or(&g->c2c, 0) == 1)
			needs_open = "Grace Hopper requires the open kernel modules";
	if (!q->m->gpu.gpus.n) {
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
		return;
	}
	if (!is_seen(q, v, &f->f, NULL))
		return;
	v->current = f->v;
	if (strcmp(f->v, "open") == 0)
		verdict_pass(v, "open kernel modules");
	else if (needs_open)
		verdict_fail(v, "open", needs_open);
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "proprietary modules: fine before Blackwell; GPUDirect then requires "
			   "nvidia-peermem");
}

/* GPUs of one name with different firmware: one was exchanged, or an update stopped half-way. */
static void gpu_driver_alike(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *first = machine_gpu(q->m, 0);

	if (q->m->gpu.gpus.n < 2) {
		verdict_na(v, CODE_NO_HARDWARE,
			   q->m->gpu.gpus.n ? "one GPU" : machine_no_gpu(q->a, q->m));
		return;
	}
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus) {
		if (!is_seen(q, v, &g->vbios.f, "VBIOS not reported by the driver"))
			return;
		if (strcmp(fact_text(&g->name, ""), fact_text(&first->name, "")) != 0) {
			verdict_na(v, CODE_NO_EFFECT, "GPUs of different models");
			return;
		}
	}
	v->current = first->vbios.v;
	LIST_FOR_EACH (struct gpu, g, &q->m->gpu.gpus)
		if (strcmp(g->vbios.v, first->vbios.v) != 0) {
			v->current = arena_printf(q->a, "gpu%u %s, gpu%u %s", first->index,
						  first->vbios.v, g->index, g->vbios.v);
			verdict_fail(v, "one version",
				     "GPUs of one model with different firmware may differ in "
				     "clocks and faults");
			return;
		}
	verdict_pass(v, "the same on every GPU");
}

/* Links between GPUs: NVLink, the NVSwitch fabric, peer-to-peer access. */

/* Counters of a link since the driver was loaded, or since the earlier reading; -1: unknown. */
struct link_counts {
	long long crc, recovery, replay;
};

static struct link_counts link_counts(const struct nvlink *l, const struct nvlink *old)
{
	if (old)
		return (struct link_counts){ growth(&l->crc_errors, &old->crc_errors),
					     growth(&l->recovery_errors, &old->recovery_errors),
					     growth(&l->replay_errors, &old->replay_errors) };
	return (struct link_counts){ fact_or(&l->crc_errors, -1), fact_or(&l->recovery_errors, -1),
				     fact_or(&l->replay_errors, -1) };
}

/* By what ends jobs first. */
static bool is_worse(const struct link_counts *x, const struct link_counts *y)
{
	return x->recovery != y->recovery ? x->recovery > y->recovery
	       : x->crc != y->crc	  ? x->crc > y->crc
					  : x->replay > y->replay;
}

static bool is_none(const struct link_counts *n)
{
	return n->crc <= 0 && n->recovery <= 0 && n->replay <= 0;
}

/* No counter reaches this: it wrapped, or is invalid. */
static bool is_beyond(const struct link_counts *n)
{
	const long long most = 1ll << 48;

	return n->crc > most || n->recovery > most || n->replay > most;
}

static const char *link_text(const struct rule_ctx *q, const struct nvlink *l,
			     const struct link_counts *n, bool grown)
{
	const char *rate = grown && n->crc > 0
				   ? arena_printf(q->a, " (%.2g per second)",
						  (double)n->crc / (double)growth_seconds(q->m))
				   : "";

	return arena_printf(q->a, "link %u: %lld CRC errors%s, %lld recoveries, %lld replays %s",
			    l->index, n->crc < 0 ? 0 : n->crc, rate,
			    n->recovery < 0 ? 0 : n->recovery, n->replay < 0 ? 0 : n->replay,
			    grown ? growth_span(q->a, q->m) : "since driver load");
}

static void gpu_driver_link_growth(const struct rule_ctx *q, struct verdict *v,
				   const struct link_counts *n)
{
	double crc_most = health_figure(q->s->id, "crc", NULL, 0),
	       recovery_most = health_figure(q->s->id, "recovery", NULL, 0);

	if ((double)n->crc > crc_most * (double)growth_seconds(q->m) ||
	    (double)n->recovery > recovery_most)
		verdict_fail(
			v, "link errors did not grow",
			"the errors grow: the link is failing, and jobs that use it may abort");
	else
		verdict_pass(v, is_none(n) ? "the errors did not grow"
					   : "the errors grew slower than the limit");
}

/* One reading gives no rate: what training a link leaves behind is no fault. */
static void gpu_driver_link_total(const struct rule_ctx *q, struct verdict *v,
				  const struct link_counts *n)
{
	if ((double)n->crc > health_figure(q->s->id, "few", NULL, 0) ||
	    (double)n->recovery > health_figure(q->s->id, "recoveries", NULL, 0))
		verdict_fail(v, "few link errors",
			     "many errors since driver load: check with --since whether they grow");
	else
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "few errors, and only growth is a fault: compare with an earlier "
			   "reading (--since)");
}

/* The link with the most errors; *unseen: a counter that could not be read. */
static const struct nvlink *worst_link(const struct rule_ctx *q, struct link_counts *most,
				       bool *grown, const struct fact **unseen)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	const struct nvlink *worst = NULL;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		const struct nvlink *old = before ? earlier_link(before, l) : NULL;
		struct link_counts n;

		if (old && (went_back(&l->crc_errors, &old->crc_errors) ||
			    went_back(&l->recovery_errors, &old->recovery_errors)))
			old = NULL;
		n = link_counts(l, old);
		if (!seen_ok(&l->crc_errors.f) || !seen_ok(&l->recovery_errors.f))
			*unseen = seen_ok(&l->crc_errors.f) ? &l->recovery_errors.f
							    : &l->crc_errors.f;
		if (worst && !is_worse(&n, most))
			continue;
		worst = l;
		*most = n;
		*grown = old != NULL;
	}
	return worst;
}

static const char *no_nvlink(const struct rule_ctx *q)
{
	return is_virtual(q->m) ? "no NVLink: the GPU has none, or the virtual machine hides it"
				: "the GPU has no NVLink";
}

static void gpu_driver_link_errors(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact *unseen = NULL;
	struct link_counts n = { -1, -1, -1 };
	bool grown = false;
	const struct nvlink *worst = worst_link(q, &n, &grown, &unseen);

	if (!worst) {
		verdict_na(v, CODE_NO_HARDWARE, no_nvlink(q));
		return;
	}
	if (is_beyond(&n)) {
		verdict_unknown(v, CODE_ERROR,
				arena_printf(q->a, "link %u: the counter wrapped or is invalid",
					     worst->index));
		return;
	}
	if (!is_none(&n))
		v->current = link_text(q, worst, &n, grown);
	if (n.crc <= 0 && n.recovery <= 0 && unseen && first_untold(&unseen, 1))
		verdict_unseen(q, v, unseen, NULL);
	else if (is_none(&n) && unseen)
		verdict_unseen(q, v, unseen, "not counted by the driver");
	else if (grown)
		gpu_driver_link_growth(q, v, &n);
	else if (n.crc <= 0 && n.recovery <= 0)
		verdict_pass(v,
			     is_none(&n) ? "no errors counted" : "replays only: no visible cost");
	else
		gpu_driver_link_total(q, v, &n);
}

static void gpu_driver_nvlinks(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;
	size_t up = 0, all = g->links.n, chip;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		up += fact_or(&l->active, 0) == 1;
		if (!seen_ok(&l->active.f))
			unseen = &l->active.f;
	}
	if (!g->links.n || unseen) {
		if (unseen)
			verdict_unseen(q, v, unseen, NULL);
		else
			verdict_na(v, CODE_NO_HARDWARE, no_nvlink(q));
		return;
	}
	/* A link that firmware took out is not counted any more: the chip's own number is. */
	chip = (size_t)health_figure(q->s->id, "links", fact_text(&g->name, NULL), 0);
	if ((q->platform & ON_HGX) && chip > all)
		all = chip;
	v->current = arena_printf(q->a, "%zu of %zu up", up, all);
	if (up == 0 && q->m->gpu.gpus.n == 1)
		verdict_na(v, CODE_NO_EFFECT, "one GPU: no NVLink peer");
	else if (up == 0 && !(q->platform & ON_HGX))
		verdict_na(v, CODE_NO_EFFECT, "no bridge connects this GPU to another");
	else if (up < all)
		verdict_fail(v, arena_printf(q->a, "%zu up", all),
			     "NVLinks are down: collectives use the remaining links");
	else
		verdict_pass(v, "all up");
}

/* The slowest active link; unseen is one whose speed was not known. */
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

static void nvlink_speed(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;
	long long fastest, least, want;
	size_t up;

	least = slowest(g, &fastest, &up, &unseen);
	if (up == 0) {
		verdict_na(v, CODE_NO_HARDWARE,
			   g->links.n ? "no NVLink is up: see gpu.nvlink" : no_nvlink(q));
		return;
	}
	if (unseen || least <= 0) {
		verdict_unseen(q, v, unseen ? unseen : &g->name.f,
			       "link speed not reported by the driver");
		return;
	}
	want = (long long)health_figure(q->s->id, "speed", fact_text(&g->name, NULL),
					(double)fastest);
	v->current =
		arena_printf(q->a, "%zu link%s, slowest %.1f GB/s, total %.0f GB/s one way", up,
			     PLURAL(up), (double)least / 1000, (double)least * (double)up / 1000);
	/* The driver rounds the figure to a MB/s. */
	if (least + 1 < want)
		verdict_fail(v, arena_printf(q->a, "%.1f GB/s per link", (double)want / 1000),
			     "a link trained at a lower speed: every collective waits for it");
	else
		verdict_pass(v, "every link at full speed");
}

/* Two bits a condition: 0 not known, 1 true, 2 false; then four bits of configuration, 1 is good.
 * Source: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*. */
static const char *fabric_trouble(long long mask)
{
	static const char *const troubles[] = { "bandwidth is degraded",
						"a route is being recovered",
						"a route is unhealthy",
						"access timed out and is recovering" };

	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if ((mask >> (2 * i) & 3) == 1)
			return troubles[i];
	return (mask >> 8 & 15) > 1 ? "the configuration is incorrect" : NULL;
}

/* Another GPU of the machine that is of another clique; NULL. */
static const struct gpu *in_another_clique(const struct machine *m, const struct gpu *g)
{
	LIST_FOR_EACH (struct gpu, other, &m->gpu.gpus)
		if (seen_ok(&g->fabric_clique.f) && seen_ok(&other->fabric_clique.f) &&
		    fact_is(&other->fabric_state, "completed") &&
		    other->fabric_clique.v != g->fabric_clique.v)
			return other;
	return NULL;
}

/* Registered: the mask tells what is wrong, newer drivers sum it up; either may speak alone. */
static void fabric_health(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object, *other = in_another_clique(q->m, g);
	const char *trouble = fabric_trouble(fact_or(&g->fabric_health, 0)),
		   *summary = fact_text(&g->fabric_summary, "");
	const struct fact *mask = &g->fabric_health.f;

	if (trouble || strcmp(summary, "unhealthy") == 0 ||
	    strcmp(summary, "limited-capacity") == 0)
		verdict_fail(v, "completed and healthy",
			     arena_printf(q->a, "registered, but the fabric reports: %s",
					  trouble ? trouble : summary));
	else if (other)
		verdict_fail(v, "one clique",
			     arena_printf(q->a,
					  "this GPU is in clique %lld, gpu%u in clique %lld: no "
					  "NVLink connects them",
					  g->fabric_clique.v, other->index,
					  other->fabric_clique.v));
	else if (first_untold(&mask, 1) && !*summary)
		verdict_unseen(q, v, mask, NULL);
	else
		verdict_pass(v, "registered");
}

/* What NVML says registering ended with: "status 15 (GPU_IS_LOST)". */
static const char *fabric_status(struct arena *a, const struct gpu *g)
{
	const char *name = nvml_name(g->fabric_status.v);

	return name ? arena_printf(a, "status %lld (%s)", g->fabric_status.v, name)
		    : arena_printf(a, "status %lld", g->fabric_status.v);
}

static const char *fabric_text(struct arena *a, const struct gpu *g)
{
	return fact_or(&g->fabric_status, 0) == 0
		       ? g->fabric_state.v
		       : arena_printf(a, "%s, %s", g->fabric_state.v, fabric_status(a, g));
}

static void fabric(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *status = &g->fabric_status.f;

	if (!is_seen(q, v, &g->fabric_state.f, "the GPU is not part of an NVSwitch fabric"))
		return;
	v->current = fabric_text(q->a, g);
	if (strcmp(g->fabric_state.v, "not-supported") == 0)
		verdict_na(
			v, CODE_NO_HARDWARE,
			"the GPU is not part of an NVSwitch fabric, or a virtual machine hides it");
	else if (strcmp(g->fabric_state.v, "in-progress") == 0)
		verdict_fail(v, "completed",
			     "the GPU is still registering, and CUDA starts only afterwards. "
			     "Several minutes after boot, suspect Fabric Manager");
	else if (strcmp(g->fabric_state.v, "not-started") == 0)
		verdict_fail(
			v, "completed",
			"Fabric Manager has not started to register the GPU: CUDA will not start");
	else if (strcmp(g->fabric_state.v, "completed") != 0)
		verdict_fail(v, "completed",
			     "the GPU is not registered with the fabric: CUDA will not start");
	else if (fact_or(&g->fabric_status, 0) != 0)
		verdict_fail(v, "completed, status 0",
			     arena_printf(q->a,
					  "fabric registration ended with %s: CUDA will not start",
					  fabric_status(q->a, g)));
	else if (first_untold(&status, 1))
		verdict_unseen(q, v, status, NULL);
	else
		fabric_health(q, v);
}

/* What the chips or their drivers never offer is no fault of the machine. */
static bool is_by_design(const struct fact_str *p2p)
{
	return fact_is(p2p, "gpu-not-supported") || fact_is(p2p, "not-supported");
}

static void peer_access(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *unseen = NULL;

	if (q->m->gpu.gpus.n < 2) {
		verdict_na(v, CODE_NO_HARDWARE, "no peer GPU");
		return;
	}
	if (!g->peers.n) {
		verdict_na(v, CODE_NEEDS_DEEP, "slow to read, so skipped; use --deep");
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
		if (is_by_design(bad) && !(q->platform & ON_HGX))
			verdict_na(v, CODE_NO_SUPPORT,
				   "these GPUs have no direct access: copies go through the host");
		else
			verdict_fail(v, "OK to every peer",
				     "no direct access to that GPU's memory: copies go through the "
				     "host");
		return;
	}
	if (unseen)
		verdict_unseen(q, v, unseen, "not reported by the driver");
	else
		verdict_pass(v, "every peer's memory is directly accessible");
}

#include "look/settings_gpu_driver_rows.h"
