/* SPDX-License-Identifier: Apache-2.0 */
/* PCI Express: links, errors, the way between GPU and NIC, what stands between peers. */
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "knowledge/health.h"
#include "look/settings/settings.h"
#include "machine/model/topology.h"
#include "base/text.h"

static bool is_nvme(const struct pci_function *p)
{
	return fact_or(&p->class_, 0) == 0x010802;
}

/* Devices whose link matters: GPUs, fast NICs, NVMe. What a normal user may not read is asked all
 * the same, so that it is reported as unread and not as missing. */
static bool has_fast_link(const struct machine *m, const void *object)
{
	const struct pci_function *p = object;

	(void)m;
	if (p->pcie_cap.f.seen == SEEN_ABSENT || fact_or(&p->is_vf, 0) == 1)
		return false;
	return is_nvidia_display(p) || is_nvme(p) ||
	       (pci_base_class(p) == 0x02 && fact_or(&p->max_speed_mts, 0) >= 8000 &&
		!is_switch_management(p));
}

/* Why lanes are missing, or what is lost by it. */
static const char *missing_lanes(const struct rule_ctx *q, const struct link_best *best,
				 long long speed, long long width)
{
	if (is_virtual(q->m))
		return "lanes are missing, or the virtual bridge above reports too many: ask the "
		       "host's administrator";
	if (best->twin)
		return arena_printf(
			q->a,
			"lanes are missing: the adapter's other half, %.*s, has x%lld. The adapter "
			"is soldered in: update the BIOS, then ask the vendor's support",
			(int)strcspn(best->twin->name, "."), best->twin->name, best->width);
	if (machine_soldered(q->m, q->object))
		return "lanes are missing on a soldered part: update the BIOS, then ask the "
		       "vendor's support";
	return arena_printf(
		q->a, "lanes are missing: %lld of %lld are up, %.1f GB/s instead of %.1f GB/s",
		width, best->width, pcie_mbs(speed, width) / 1000,
		pcie_mbs(best->speed_mts, best->width) / 1000);
}

/* Whether a width or speed of the link, or the most that its device can, is not known. */
static bool is_link_unseen(const struct rule_ctx *q, struct verdict *v,
			   const struct pci_function *p)
{
	const struct fact_int *f = !seen_ok(&p->width.f)       ? &p->width
				   : !seen_ok(&p->max_width.f) ? &p->max_width
				   : !seen_ok(&p->speed_mts.f) ? &p->speed_mts
							       : &p->max_speed_mts;

	if (seen_ok(&f->f))
		return false;
	verdict_unseen(q, v, &f->f,
		       fact_is(&p->runtime_status, "suspended")
			       ? "the device is suspended: its link is not judged"
			       : NULL);
	return true;
}

static void link(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *up = machine_pci(q->m, p->parent);
	const struct gpu *g = machine_gpu_at(q->m, p->name);
	struct link_best best = machine_link_best(q->m, p);
	long long width = fact_or(&p->width, 0), speed = fact_or(&p->speed_mts, 0);
	bool slow, narrow;

	if (g && is_hidden(q, v, &g->integrated.f))
		return;
	if (g ? fact_or(&g->integrated, 0) == 1 : gb10_name(p) != NULL) {
		verdict_na(v, CODE_INTEGRATED,
			   "a placeholder: this GPU accesses memory over NVLink-C2C");
		return;
	}
	if (is_link_unseen(q, v, p))
		return;
	if (width == 0 || speed == 0) {
		verdict_na(v, CODE_VIRTUAL,
			   "the link reads 0: a virtual function or a virtual machine's device");
		return;
	}
	v->current = arena_printf(q->a, "%.1f GT/s x%lld", (double)speed / 1000, width);
	v->wanted =
		arena_printf(q->a, "%.1f GT/s x%lld", (double)best.speed_mts / 1000, best.width);
	if (machine_soldered(q->m, p))
		v->by_hand = "update the machine's BIOS and firmware; if that fails, shut down, "
			     "disconnect all power for a minute, then ask the vendor's support: "
			     "the part is soldered";
	narrow = width < best.width;
	slow = speed < best.speed_mts;
	/* GPUs lower their speed, never their width, while they rest. */
	if (slow && !narrow && is_nvidia_display(p) &&
	    (!g || !seen_ok(&g->pstate.f) || g->pstate.v > 0 ||
	     (fact_or(&g->event_reasons, 0) & EVENT_IDLE))) {
		verdict_na(v, CODE_NEEDS_LOAD,
			   "the width is right. An idle GPU lowers the link speed: check the speed "
			   "under load");
		return;
	}
	if ((narrow || slow) && (!is_placed(q->m, p) || (up && (!seen_ok(&up->max_speed_mts.f) ||
								!seen_ok(&up->max_width.f)))))
		verdict_unknown(v, CODE_ERROR,
				"below the device's maximum; the maximum of its upstream port is "
				"unreadable");
	else if (narrow)
		verdict_fail(v, v->wanted, missing_lanes(q, &best, speed, width));
	else if (slow) {
		/* A disk of half the speed slows loading; it is no broken machine. */
		v->slight = is_nvme(p);
		verdict_fail(v, v->wanted,
			     "the link trained at a lower speed than both ends support");
	} else
		verdict_pass(v, up && (best.speed_mts < fact_or(&p->max_speed_mts, 0) ||
				       best.width < fact_or(&p->max_width, 0))
					? "at the slot's maximum"
					: "at its maximum");
}

/* The nearest NIC of each GPU, by the way between them. */
static void gpu_nic(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	enum path_class best = PATH_UNKNOWN;
	const char *nearest = NULL;
	bool any_active = false;

	if (fact_or(&g->integrated, 0) == 1) {
		verdict_na(v, CODE_INTEGRATED,
			   "the GPU uses host memory, so a NIC writes directly to it");
		return;
	}
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "no RDMA device");
		return;
	}
	/* A port that carries nothing is no way out, unless none does. */
	LIST_FOR_EACH (struct rdma_port, p, &q->m->net.rdma)
		any_active = any_active || fact_is(&p->state, "ACTIVE");
	LIST_FOR_EACH (struct rdma_port, p, &q->m->net.rdma) {
		enum path_class c = *p->pci ? topology_path(q->m, g->pci, p->pci) : PATH_UNKNOWN;

		if (any_active && seen_ok(&p->state.f) && !fact_is(&p->state, "ACTIVE"))
			continue;
		if (c != PATH_UNKNOWN && (best == PATH_UNKNOWN || c < best)) {
			best = c;
			nearest = p->device;
		}
	}
	if (best == PATH_UNKNOWN) {
		verdict_na(v, is_virtual(q->m) ? CODE_VIRTUAL : CODE_NO_SUPPORT,
			   "the path between GPU and NIC is not visible");
		return;
	}
	v->current = arena_printf(q->a, "%s to %s", path_class_name(best), nearest);
	if (best <= PATH_PXB)
		verdict_pass(v, "the nearest NIC is reachable without crossing the processor");
	else if ((q->platform & ON_HGX) && !is_superchip(q->m))
		verdict_fail(v, "PIX or PXB",
			     "no active NIC is behind this GPU's PCIe switch: its traffic crosses "
			     "the processor");
	else if (best == PATH_SYS)
		verdict_fail(v, "NODE or nearer", "the nearest NIC is on the other socket");
	else if ((q->platform & ON_IGX))
		verdict_fail(v, "PIX or PXB",
			     "the board's switch should connect them: use another slot");
	else
		verdict_pass(v, "usual on machines without a PCIe switch");
}

static bool has_errors(const struct machine *m, const void *object)
{
	const struct fact *f = &((const struct pci_function *)object)->aer_fatal.f;

	return has_fast_link(m, object) && (seen_ok(f) || f->seen == SEEN_ERROR);
}

/*
 * The port on the way to p that lost a transfer: a link that dies is counted above it, by who waits
 * for the answer. since: more than then alone. NULL: none.
 */
static const struct pci_function *failed_above(const struct machine *m,
					       const struct pci_function *p, bool since)
{
	const struct pci_function *up = machine_pci(m, p->parent);

	for (size_t hops = 0; up && hops < 32; hops++, up = machine_pci(m, up->parent)) {
		const struct pci_function *then = since ? earlier_pci(m, up) : NULL;

		if (since && (!then || !went_back(&up->aer_fatal, &then->aer_fatal))
			    ? then && growth(&up->aer_fatal, &then->aer_fatal) > 0
			    : fact_or(&up->aer_fatal, 0) > 0)
			return up;
	}
	return NULL;
}

static void judge_above(const struct rule_ctx *q, struct verdict *v, const struct pci_function *up,
			const char *span)
{
	const char *after = is_connectx(q->object)
				    ? ". The kernel's recovery of a ConnectX can then hang the "
				      "host: reboot before using the adapter"
				    : "";

	v->current = arena_printf(q->a, "%lld fatal at %s", fact_or(&up->aer_fatal, 0), up->name);
	/* A link that goes away under its port is such an error. */
	if (!q->m->earlier && is_connectx(q->object) && seen_ok(&q->m->net.spark_hotplug.f))
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "the machine removes the adapter when no cable is plugged in, which "
			   "counts as an error; compare with an earlier reading (--since)");
	else
		verdict_fail(v, "0 fatal",
			     arena_printf(q->a, "its upstream port, %s, lost a transfer %s%s",
					  up->name, span, after));
}

/* Since the earlier reading: what was there before is no news. */
static void aer_growth(const struct rule_ctx *q, struct verdict *v,
		       const struct pci_function *before)
{
	const struct pci_function *p = q->object;
	long long fatal = growth(&p->aer_fatal, &before->aer_fatal),
		  nonfatal = growth(&p->aer_nonfatal, &before->aer_nonfatal),
		  fixed = growth(&p->aer_correctable, &before->aer_correctable);
	const char *span = growth_span(q->a, q->m);

	v->current = arena_printf(q->a, "%lld more fatal, %lld non-fatal, %lld corrected %s",
				  fatal < 0 ? 0 : fatal, nonfatal < 0 ? 0 : nonfatal,
				  fixed < 0 ? 0 : fixed, span);
	if (fatal <= 0 && failed_above(q->m, p, true))
		judge_above(q, v, failed_above(q->m, p, true), span);
	else if (fatal > 0 || nonfatal > 0)
		verdict_fail(
			v, "0 uncorrected",
			arena_printf(
				q->a,
				"accesses over this link failed %s: check card, slot and riser",
				span));
	else if ((double)fixed > health_figure(q->s->id, "corrected", NULL, 0))
		verdict_fail(v, "few corrected",
			     "the link often corrects errors: check card, slot and riser");
	else
		verdict_pass(v, arena_printf(q->a, "no failure %s", span));
}

static void pcie_aer(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *before = earlier_pci(q->m, p);
	long long fatal = fact_or(&p->aer_fatal, 0), nonfatal = fact_or(&p->aer_nonfatal, 0),
		  fixed = fact_or(&p->aer_correctable, 0);
	double few = health_figure(q->s->id, "corrected", NULL, 0);

	if (is_hidden(q, v, &p->aer_fatal.f) || is_hidden(q, v, &p->aer_nonfatal.f))
		return;
	if (before && !went_back(&p->aer_fatal, &before->aer_fatal) &&
	    !went_back(&p->aer_nonfatal, &before->aer_nonfatal) &&
	    !went_back(&p->aer_correctable, &before->aer_correctable)) {
		aer_growth(q, v, before);
		return;
	}
	v->current = arena_printf(q->a, "%lld fatal, %lld non-fatal, %lld corrected", fatal,
				  nonfatal, fixed);
	if (fatal)
		verdict_fail(v, "0 fatal", "the link failed since boot: a transfer was lost");
	else if (failed_above(q->m, p, false))
		judge_above(q, v, failed_above(q->m, p, false), "since boot");
	else if (nonfatal)
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "accesses over this link failed since boot. A few at startup are "
			   "harmless, growth is not: compare with an earlier reading (--since)");
	else if ((double)fixed > few)
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "the link corrected errors since boot: a count is not a rate; an "
			   "earlier reading (--since) shows whether it grows");
	else
		verdict_pass(v, "no relevant errors since boot");
}

static void aspm(const struct rule_ctx *q, struct verdict *v)
{
	static const char *const names[] = { "off", "L0s", "L1", "L0s and L1" };
	const struct pci_function *p = q->object;

	if (seen_ok(&p->aspm.f))
		v->current = names[p->aspm.v & 3];
	if (!has_target(q, v))
		return;
	v->why = q->wish->because;
	v->wanted = recommendation_text(q->a, q->wish, NULL);
	if (!v->current)
		verdict_unseen(q, v, &p->aspm.f, NULL);
	else if (recommendation_met(q->wish, v->current))
		verdict_pass(v, "at target value");
	else
		verdict_fail(v, v->wanted, "the link can enter a low-power state");
}

/* What stands between two devices that want to reach each other: access control, the IOMMU. */

/* Request redirect, completion redirect, upstream forwarding. */
enum { REDIRECT = 0x04 | 0x08 | 0x10 };

enum { PORT_ROOT = 4, PORT_UPSTREAM = 5, PORT_DOWNSTREAM = 6 };

/* Asked of every function for every bridge: the class decides most. */
static bool is_fast_device(const struct pci_function *p)
{
	switch (pci_base_class(p)) {
	case 0x03:
		return is_nvidia_display(p);
	case 0x02:
		return is_connectx(p);
	default:
		return false;
	}
}

/* Bridges above a GPU or fast NIC; redirect there sends peer traffic to the root. */
static bool above_fast_device(const struct machine *m, const void *object)
{
	const struct pci_function *b = object;

	if (fact_or(&b->class_, 0) >> 8 != 0x0604 || b->acs_cap.f.seen == SEEN_ABSENT ||
	    b->port_type.f.seen == SEEN_ABSENT ||
	    (seen_ok(&b->port_type.f) && b->port_type.v != PORT_DOWNSTREAM &&
	     b->port_type.v != PORT_ROOT))
		return false;
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_fast_device(p) && is_below(p, b))
			return true;
	return false;
}

/* The upstream port of the outermost switch that the port belongs to. */
static const struct pci_function *outermost(const struct machine *m, const struct pci_function *b)
{
	for (size_t hops = 0; hops < 32; hops++) {
		const struct pci_function *up = machine_pci(m, b->parent);

		if (!up || (fact_or(&up->port_type, 0) != PORT_UPSTREAM &&
			    fact_or(&up->port_type, 0) != PORT_DOWNSTREAM))
			return b;
		b = up;
	}
	return b;
}

/* Why redirect does no harm at this switch; NULL when it does. */
static const char *harmless(const struct machine *m, const struct pci_function *b,
			    const char **code)
{
	const struct pci_function *top = outermost(m, b);
	size_t gpus = 0, nics = 0;

	*code = CODE_NO_EFFECT;
	if (fact_or(&b->port_type, 0) == PORT_ROOT)
		return "a root port: peer traffic of its devices passes the root complex anyway";
	LIST_FOR_EACH (struct pci_function, p, &m->pci) {
		if (!is_below(p, top))
			continue;
		gpus += is_nvidia_display(p);
		nics += is_connectx(p);
		*code = fact_is(&p->driver, "vfio-pci") ? CODE_LEFT_ALONE : *code;
	}
	if (strcmp(*code, CODE_LEFT_ALONE) == 0)
		return "a device behind this switch is assigned to a virtual machine, which needs "
		       "the isolation";
	return gpus == 0 || gpus + nics < 2 ? "no GPU has a peer behind this switch" : NULL;
}

bool wants_no_redirect(const struct machine *m, const struct pci_function *b,
		       const struct recommendation *wish)
{
	const char *code;

	return wish && wish->rel == WANT_IS && strcmp(wish->value, "off") == 0 && !is_virtual(m) &&
	       seen_ok(&b->acs_ctrl.f) && b->acs_ctrl.v & REDIRECT && above_fast_device(m, b) &&
	       !harmless(m, b, &code);
}

static void acs(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *b = q->object;
	const char *why_not, *code;

	if (is_virtual(q->m)) {
		verdict_na(v, CODE_VIRTUAL,
			   "redirect isolates virtual machines, and a guest cannot change it");
		return;
	}
	if (!is_seen(q, v, &b->acs_ctrl.f, "the bridge has no access control"))
		return;
	v->current = b->acs_ctrl.v & REDIRECT
			     ? arena_printf(q->a, "redirect on (0x%llx)", b->acs_ctrl.v)
			     : "redirect off";
	if (!has_target(q, v))
		return;
	if (strcmp(q->wish->value, "off") != 0) {
		verdict_na(v, CODE_LEFT_ALONE,
			   "gputune can disable redirect, but never enables it");
		return;
	}
	why_not = harmless(q->m, b, &code);
	if (!(b->acs_ctrl.v & REDIRECT))
		verdict_pass(v, "peers behind this switch reach each other directly");
	else if (why_not)
		verdict_na(v, code, why_not);
	else
		verdict_fail(v, "redirect off (bare metal only)",
			     "traffic between GPU and NIC behind this switch goes up to the "
			     "processor and back. Disabling redirect weakens device isolation");
}

static void remediate_acs(const struct rule_ctx *q, struct remediations *out)
{
	const struct pci_function *b = q->object;

	remediate_value(q, out, arena_printf(q->a, "0x%llx", b->acs_ctrl.v & ~(long long)REDIRECT));
}

static bool is_untranslated(const char *mode)
{
	return strcmp(mode, "off") == 0 || strcmp(mode, "identity") == 0;
}

/* The mode's word on the command line; the translating modes are the kernel's own choice. */
static void remediate_iommu(const struct rule_ctx *q, struct remediations *out)
{
	if (str_starts(q->wish->value, "identity"))
		remediate_argument(q, out, "iommu", "pt");
	else if (str_starts(q->wish->value, "off"))
		remediate_argument(q, out, "iommu", "off");
}

static const char *passthrough_text(const struct rule_ctx *q)
{
	const char *value = kernel_arg_value(&q->m->kernel, "iommu.passthrough");

	return value ? arena_printf(q->a, "iommu.passthrough=%s", value)
		     : "without iommu.passthrough";
}

/* The driver binds a process's address space to the GPU by the SMMU, which kernels before 6.11
 * refuse where devices bypass it. */
static void arm_passthrough(const struct rule_ctx *q, struct verdict *v)
{
	const struct kernel *k = &q->m->kernel;
	const char *value = kernel_arg_value(k, "iommu.passthrough");
	int major, minor;

	if (!fact_is(&k->arch, "aarch64") || is_virtual(q->m)) {
		verdict_na(v, CODE_NOT_HERE, "for Arm machines");
		return;
	}
	if (!machine_bus_gpus(q->m, false)) {
		verdict_na(v, CODE_NO_HARDWARE, machine_no_gpu(q->a, q->m));
		return;
	}
	if (!is_seen(q, v, &k->cmdline.f, NULL) || !is_seen(q, v, &k->release.f, NULL))
		return;
	v->current = arena_printf(q->a, "%s, kernel %s", passthrough_text(q), k->release.v);
	if (sscanf(k->release.v, "%d.%d", &major, &minor) != 2)
		verdict_unknown(v, CODE_ERROR, "the kernel's version is unknown");
	else if (major * 100 + minor < 611 && value &&
		 (strcmp(value, "1") == 0 || strcmp(value, "on") == 0 || strcmp(value, "y") == 0))
		verdict_fail(v, "iommu.passthrough=0",
			     "CUDA does not start: Arm kernels before 6.11 cannot share process "
			     "memory with a device that bypasses the SMMU");
	else
		verdict_pass(v, "CUDA can share memory with the GPU");
}

static void pcie_iommu(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *f = &q->m->kernel.iommu;

	if (is_hidden(q, v, &q->m->kernel.arch.f))
		return;
	if ((q->platform & ON_SPARK) || strcmp(fact_text(&q->m->kernel.arch, ""), "aarch64") == 0) {
		verdict_na(v, CODE_NOT_HERE,
			   arena_printf(q->a,
					"on Arm gputune keeps the image's mode (%s; domains: %s): "
					"either mode reaches full speed on some machines",
					passthrough_text(q), fact_text(f, "unknown")));
		return;
	}
	if (!q->m->gpu.gpus.n || !has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "matters for machines with GPUs and RDMA NICs");
		return;
	}
	if (!is_seen(q, v, &f->f, NULL))
		return;
	v->current = f->v;
	if (is_virtual(q->m))
		verdict_na(v, CODE_VIRTUAL, "controlled by the host's IOMMU");
	else if (!has_target(q, v))
		return;
	else if (recommendation_met(q->wish, f->v))
		verdict_pass(v, is_untranslated(f->v) ? "addresses are not translated"
						      : "at target value");
	else
		verdict_fail(v, recommendation_text(q->a, q->wish, NULL),
			     is_untranslated(f->v) ? "differs from the profile" : q->wish->because);
}

/* Rails of a node: every GPU has a fast port of its own, behind its own switch. */

enum { GPUS_MAX = 64 };

/* A port of a fabric: what is much slower than the fastest is for management. Ports without a link
 * count by their like, because a rail that is down is still a rail. */
static bool is_fabric_port(const struct machine *m, const struct rdma_port *p)
{
	long long fastest = 0, mine = fact_or(&p->rate_mbps, 0);

	LIST_FOR_EACH (struct rdma_port, other, &m->net.rdma) {
		long long rate = fact_or(&other->rate_mbps, 0);

		if (rate > fastest)
			fastest = rate;
		if (rate > mine && seen_ok(&p->board_id.f) &&
		    fact_is(&other->board_id, p->board_id.v))
			mine = rate;
	}
	return *p->pci && mine * 4 >= fastest;
}

static bool has_near_port(const struct machine *m, const struct gpu *g)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (is_fabric_port(m, p) && topology_path(m, g->pci, p->pci) <= PATH_PXB)
			return true;
	return false;
}

/* Fabric ports that stand beside no GPU, or beside one that has another already. */
static void strays(const struct machine *m, const struct rdma_port *const *own, size_t n,
		   struct text *t)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
		bool taken = !is_fabric_port(m, p);

		for (size_t i = 0; i < n; i++)
			taken = taken || own[i] == p;
		if (!taken)
			text_printf(t, "%s%s", t->len ? ", " : "", p->device);
	}
}

/* The map as far as it is right: "gpu0 mlx5_0, gpu1 mlx5_1". A port serves the first GPU that has
 * it. */
static size_t pcie_assign(const struct machine *m, const struct rdma_port **own,
			  struct text *lacking)
{
	size_t n = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		const struct rdma_port *best = NULL;

		if (n == GPUS_MAX)
			break;
		LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
			bool taken = !is_fabric_port(m, p) ||
				     topology_path(m, g->pci, p->pci) > PATH_PXB;

			for (size_t i = 0; i < n; i++)
				taken = taken || own[i] == p;
			if (!taken && !best)
				best = p;
		}
		own[n++] = best;
		if (!best)
			text_printf(lacking, "%sgpu%u", lacking->len ? ", " : "", g->index);
	}
	return n;
}

static size_t fabric_ports(const struct machine *m)
{
	size_t n = 0;

	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		n += is_fabric_port(m, p);
	return n;
}

/* Names count up with the GPUs: who lists NICs by name gives every rank the near one. */
static bool in_order(const struct rdma_port *const *own, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (own[i] && own[i - 1] && str_natural(own[i - 1]->device, own[i]->device) > 0)
			return false;
	return true;
}

static void rails(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *own[GPUS_MAX] = { 0 };
	TEXT_AUTO lacking = { 0 };
	TEXT_AUTO stray = { 0 };
	const struct machine *m = q->m;
	size_t n, have = 0, lacks = 0;

	if (m->gpu.gpus.n < 2 || !has_rdma(m)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   m->gpu.gpus.n < 2 ? "fewer than two GPUs" : "no RDMA device");
		return;
	}
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		have += has_near_port(m, g);
	if (have == 0 || fabric_ports(m) < m->gpu.gpus.n) {
		verdict_na(v, is_virtual(m) ? CODE_VIRTUAL : CODE_NO_EFFECT,
			   have ? "fewer fast ports than GPUs: the machine has no rails"
				: "no GPU and NIC share a switch: the machine has no rails");
		return;
	}
	n = pcie_assign(m, own, &lacking);
	strays(m, own, n, &stray);
	for (size_t i = 0; i < n; i++)
		lacks += !own[i];
	v->current = arena_printf(q->a, "%zu of %zu GPUs have their own port", n - lacks, n);
	if (lacks) {
		verdict_fail(v, arena_printf(q->a, "%zu of %zu", n, n),
			     arena_printf(q->a,
					  "%s has no fast port behind its own PCIe switch%s%s: its "
					  "rail crosses the processor",
					  lacking.s,
					  stray.len ? ", and these ports have no GPU: " : "",
					  stray.len ? stray.s : ""));
	} else {
		verdict_pass(v, in_order(own, n) ? "one port per GPU, numbered like the GPUs"
						 : "one port per GPU, but numbered differently: "
						   "list them for NCCL in the order of the GPUs");
	}
}

#include "look/settings_pcie_rows.h"
