/* SPDX-License-Identifier: Apache-2.0 */
/* PCI Express: links, errors, the way between GPU and NIC. What stands between peers is in
 * pcie_access.c. */
#include "look/settings/growth.h"
#include "look/settings/health_data.h"
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "machine/model/topology.h"

static const struct gpu *gpu_of(const struct machine *m, const struct pci_function *p)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcmp(g->pci, p->name) == 0)
			return g;
	return NULL;
}

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
	       (pci_base_class(p) == 0x02 && fact_or(&p->max_speed_mts, 0) >= 8000);
}

/* What the device and the port above it can both do. */
static long long both(const struct pci_function *p, const struct pci_function *up, bool speed)
{
	long long a = speed ? fact_or(&p->max_speed_mts, 0) : fact_or(&p->max_width, 0);
	long long b =
		up ? (speed ? fact_or(&up->max_speed_mts, 0) : fact_or(&up->max_width, 0)) : 0;

	return b && b < a ? b : a;
}

static void link(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *up = machine_pci(q->m, p->parent);
	const struct gpu *g = gpu_of(q->m, p);
	long long width = fact_or(&p->width, 0), speed = fact_or(&p->speed_mts, 0);
	bool slow, narrow;

	/* Without a driver that says so, the platform does. */
	if (g ? fact_or(&g->integrated, 0) == 1 : is_nvidia_display(p) && q->platform == ON_SPARK) {
		verdict_na(v, CODE_INTEGRATED,
			   "the PCIe link of this GPU is a placeholder: it talks to memory over "
			   "NVLink-C2C");
		return;
	}
	if (!seen_ok(&p->width.f) || !seen_ok(&p->max_width.f)) {
		verdict_unseen(q, v, seen_ok(&p->width.f) ? &p->max_width.f : &p->width.f,
			       fact_is(&p->runtime_status, "suspended")
				       ? "the device sleeps: its link is not looked at"
				       : NULL);
		return;
	}
	if (width == 0 || speed == 0) {
		verdict_na(v, CODE_VIRTUAL,
			   "the link reads 0: a virtual function or a virtual machine's device");
		return;
	}
	v->current = arena_printf(q->a, "%.1f GT/s x%lld", (double)speed / 1000, width);
	v->wanted = arena_printf(q->a, "%.1f GT/s x%lld", (double)both(p, up, true) / 1000,
				 both(p, up, false));
	narrow = width < both(p, up, false);
	slow = speed < both(p, up, true);
	/* GPUs lower their speed, never their width, while they rest. */
	if (slow && !narrow && is_nvidia_display(p) &&
	    (!g || !seen_ok(&g->pstate.f) || g->pstate.v > 0 ||
	     (fact_or(&g->event_reasons, 0) & EVENT_IDLE))) {
		verdict_na(v, CODE_NEEDS_LOAD,
			   "the width is right; a resting GPU lowers the speed, which only load "
			   "shows");
		return;
	}
	if ((narrow || slow) && (!is_placed(q->m, p) || (up && (!seen_ok(&up->max_speed_mts.f) ||
								!seen_ok(&up->max_width.f)))))
		verdict_unknown(v, CODE_ERROR,
				"less than the device can do; what the port above it can do could "
				"not be read");
	else if (narrow)
		verdict_fail(v, v->wanted,
			     is_virtual(q->m)
				     ? "lanes are missing, or the virtual bridge above shows more "
				       "than there are: the host's administrator can tell"
				     : "lanes are missing: reseat the card, look at the slot, the "
				       "riser, and whether firmware splits the slot");
	else if (slow)
		verdict_fail(v, v->wanted,
			     "the link trained at a lower speed than both ends can do");
	else
		verdict_pass(v, up && both(p, up, true) < fact_or(&p->max_speed_mts, 0)
					? "as fast as the slot allows"
					: "as fast as it can be");
}

/* The nearest NIC of each GPU, by the way between them. */
static void gpu_nic(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	enum path_class best = PATH_UNKNOWN;
	const char *nearest = NULL;
	bool any_active = false;

	if (fact_or(&g->integrated, 0) == 1) {
		verdict_na(v, CODE_INTEGRATED,
			   "the GPU is part of the processor: NIC data land in the memory that it "
			   "uses");
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

		if (any_active && !fact_is(&p->state, "ACTIVE"))
			continue;
		if (c != PATH_UNKNOWN && (best == PATH_UNKNOWN || c < best)) {
			best = c;
			nearest = p->device;
		}
	}
	if (best == PATH_UNKNOWN) {
		verdict_na(v, is_virtual(q->m) ? CODE_VIRTUAL : CODE_NO_SUPPORT,
			   "the way between GPU and NIC cannot be seen here");
		return;
	}
	v->current = arena_printf(q->a, "%s to %s", path_class_name(best), nearest);
	if (best <= PATH_PXB)
		verdict_pass(v, "the nearest NIC is reached without the processor");
	else if (q->platform == ON_HGX && !is_superchip(q->m))
		verdict_fail(v, "PIX or PXB",
			     "this GPU has no active NIC behind its own switch: its traffic "
			     "crosses the processor");
	else if (best == PATH_SYS)
		verdict_fail(v, "NODE or nearer", "the nearest NIC is on the other socket");
	else if (q->platform == ON_IGX)
		verdict_fail(v, "PIX or PXB",
			     "the board's switch should connect them: another slot is better");
	else
		verdict_pass(v, "usual on machines without a PCIe switch");
}

static bool has_errors(const struct machine *m, const void *object)
{
	return has_fast_link(m, object) &&
	       seen_ok(&((const struct pci_function *)object)->aer_fatal.f);
}

/* Since the earlier reading: what was there before is no news. */
static void aer_growth(const struct question *q, struct verdict *v,
		       const struct pci_function *before)
{
	const struct pci_function *p = q->object;
	long long fatal = growth(&p->aer_fatal, &before->aer_fatal),
		  nonfatal = growth(&p->aer_nonfatal, &before->aer_nonfatal),
		  fixed = growth(&p->aer_correctable, &before->aer_correctable);
	const char *span = growth_span(q->a, q->m);

	v->current = arena_printf(q->a, "%lld fatal, %lld not fatal, %lld corrected more %s",
				  fatal < 0 ? 0 : fatal, nonfatal < 0 ? 0 : nonfatal,
				  fixed < 0 ? 0 : fixed, span);
	if (fatal > 0 || nonfatal > 0)
		verdict_fail(v, "0 uncorrected",
			     arena_printf(q->a,
					  "accesses over this link failed %s: card, slot or "
					  "riser",
					  span));
	else if ((double)fixed > health_figure(q->s->id, "corrected", NULL, 0))
		verdict_fail(v, "few corrected",
			     "the link repairs itself often: card, slot or riser");
	else
		verdict_pass(v, arena_printf(q->a, "no failure %s", span));
}

static void aer(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *before = earlier_pci(q->m, p);
	long long fatal = fact_or(&p->aer_fatal, 0), nonfatal = fact_or(&p->aer_nonfatal, 0),
		  fixed = fact_or(&p->aer_correctable, 0);
	double few = health_figure(q->s->id, "corrected", NULL, 0);

	if (before) {
		aer_growth(q, v, before);
		return;
	}
	v->current = arena_printf(q->a, "%lld fatal, %lld not fatal, %lld corrected", fatal,
				  nonfatal, fixed);
	if (fatal)
		verdict_fail(v, "0 fatal", "the link failed since boot: a transfer was lost");
	else if (nonfatal)
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "accesses over this link failed since boot: some at start-up are "
			   "harmless, growth is not; an earlier reading (--since) tells");
	else if ((double)fixed > few)
		verdict_na(
			v, CODE_NEEDS_EARLIER,
			"the link has repaired itself since boot: a count is no rate, an earlier "
			"reading (--since) tells whether it grows");
	else
		verdict_pass(v, "none that matters since boot");
}

static const struct opinion link_power[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "saves power while the link rests; waking takes microseconds (unmeasured here)", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_IS, "off",
	  "a resting link has to wake up before the first packet (unmeasured here)", NULL },
};

static void aspm(const struct question *q, struct verdict *v)
{
	static const char *const names[] = { "off", "L0s", "L1", "L0s and L1" };
	const struct pci_function *p = q->object;

	if (seen_ok(&p->aspm.f))
		v->current = names[p->aspm.v & 3];
	if (!has_wish(q, v))
		return;
	v->why = q->wish->because;
	v->wanted = opinion_text(q->a, q->wish, NULL);
	if (!v->current)
		verdict_unseen(q, v, &p->aspm.f, NULL);
	else if (opinion_met(q->wish, v->current))
		verdict_pass(v, "as wanted");
	else
		verdict_fail(v, v->wanted, "the link may sleep");
}

#define LINKED                                                                                     \
	.scope = SCOPE_PCI, .select = has_fast_link,                                               \
	.none = "no GPU, fast NIC or NVMe disk with a PCIe link is visible"

static const struct setting rows[] = {
	{ .id = "pcie.link",
	  .title = "PCIe link speed and width",
	  LINKED,
	  .health = true,
	  .read = "LnkSta and LnkCap of both ends",
	  .not_when = "the GPU shares the host's memory, or the device is virtual",
	  .why = "A link with missing lanes or a lower speed is the most common hardware fault of "
		 "GPU machines.",
	  .note = "The Gen1 x1 link of a GB10 is a placeholder and no fault.",
	  .source = "S0; S1; pcie-base",
	  .severity = SEVERITY_CRITICAL,
	  .judge = link,
	  .by_hand = "reseat the card, look at slot, riser and cable; in firmware setup whether "
		     "the slot is split or held to a lower speed" },
	{ .id = "pcie.errors",
	  .title = "PCIe errors",
	  .scope = SCOPE_PCI,
	  .select = has_errors,
	  .health = true,
	  .none = "no device reports PCIe errors",
	  .none_code = CODE_NO_SUPPORT,
	  .read = "aer_dev_{correctable,nonfatal,fatal}",
	  .not_when = "error reporting is not available",
	  .why = "Corrected errors cost time, uncorrected ones data.",
	  .source = "kernel PCI/pcieaer-howto.rst",
	  .severity = SEVERITY_HIGH,
	  .judge = aer,
	  .by_hand = "reseat or exchange the card, the riser or the cable; look whether the counts "
		     "grow" },
	{ .id = "pcie.gpu-nic-path",
	  .title = "Way between GPU and nearest NIC",
	  .scope = SCOPE_GPU,
	  .read = "sysfs PCI tree",
	  .not_when = "the GPU is part of the processor, or there is no RDMA device",
	  .why = "The fewer bridges between them, the faster GPUDirect.",
	  .note = "Any one near NIC satisfies a published check for all GPUs; here each GPU is "
		  "asked.",
	  .source = "S1; S4",
	  .severity = SEVERITY_MEDIUM,
	  .judge = gpu_nic,
	  .by_hand = "put the NIC into a slot below the GPU's switch or at least its socket, or "
		     "connect the near one" },
	{ .id = "pcie.aspm",
	  .title = "Link power saving",
	  LINKED,
	  .read = "LnkCtl bits 1:0",
	  .not_when = "the profile leaves it alone",
	  .why = "A link that sleeps has to wake up first. It costs nothing while the link is "
		 "busy.",
	  .source = "pcie-base",
	  .severity = SEVERITY_LOW,
	  OPINIONS(link_power),
	  .judge = aspm,
	  .by_hand = "switch ASPM off in firmware setup, or write performance to "
		     "/sys/module/pcie_aspm/parameters/policy, which holds for every link" },
};

const struct setting_table settings_pcie = SETTING_TABLE(rows);
