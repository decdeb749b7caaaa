/* SPDX-License-Identifier: Apache-2.0 */
/* What stands between two devices that want to reach each other: access control, the IOMMU. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "base/text.h"

static const struct opinion redirect_off[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "off",
	  "traffic between GPU and NIC behind one switch is sent up to the processor and back",
	  NULL },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL,
	  "the isolation between devices is kept; direct traffic pays for it", NULL },
};
static const struct opinion untranslated[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "identity off",
	  "every access of a NIC to GPU memory is translated, and peer-to-peer may be refused",
	  NULL },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL,
	  "the isolation between devices is kept; direct traffic pays for it", NULL },
};

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
		return "a root port: traffic between its devices and others passes the root "
		       "anyway";
	LIST_FOR_EACH (struct pci_function, p, &m->pci) {
		if (!is_below(p, top))
			continue;
		gpus += is_nvidia_display(p);
		nics += is_connectx(p);
		*code = fact_is(&p->driver, "vfio-pci") ? CODE_LEFT_ALONE : *code;
	}
	if (strcmp(*code, CODE_LEFT_ALONE) == 0)
		return "a device behind this switch is given to a virtual machine, which needs the "
		       "isolation";
	return gpus == 0 || gpus + nics < 2 ? "no GPU has a peer behind this switch" : NULL;
}

bool wants_no_redirect(const struct machine *m, const struct pci_function *b,
		       const struct opinion *wish)
{
	const char *code;

	return wish && wish->rel == WANT_IS && strcmp(wish->value, "off") == 0 && !is_virtual(m) &&
	       seen_ok(&b->acs_ctrl.f) && b->acs_ctrl.v & REDIRECT && above_fast_device(m, b) &&
	       !harmless(m, b, &code);
}

static void acs(const struct question *q, struct verdict *v)
{
	const struct pci_function *b = q->object;
	const char *why_not, *code;

	if (is_virtual(q->m)) {
		verdict_na(v, CODE_VIRTUAL, "a virtual machine needs it, and cannot change it");
		return;
	}
	if (!seen_ok(&b->acs_ctrl.f)) {
		verdict_unseen(q, v, &b->acs_ctrl.f, "the bridge has no access control");
		return;
	}
	v->current = b->acs_ctrl.v & REDIRECT
			     ? arena_printf(q->a, "redirect on (0x%llx)", b->acs_ctrl.v)
			     : "redirect off";
	if (!has_wish(q, v))
		return;
	if (strcmp(q->wish->value, "off") != 0) {
		verdict_na(v, CODE_LEFT_ALONE, "it is only ever switched off, never on");
		return;
	}
	why_not = harmless(q->m, b, &code);
	if (!(b->acs_ctrl.v & REDIRECT))
		verdict_pass(v, "peers behind one switch reach each other directly");
	else if (why_not)
		verdict_na(v, code, why_not);
	else
		verdict_fail(v, "redirect off on bare metal",
			     "traffic between GPU and NIC behind this switch is sent up to the "
			     "processor and back. Switching it off weakens the isolation between "
			     "devices");
}

static void aim_acs(const struct question *q, struct aims *out)
{
	const struct pci_function *b = q->object;

	aim_value(q, out, arena_printf(q->a, "0x%llx", b->acs_ctrl.v & ~(long long)REDIRECT));
}

static bool is_untranslated(const char *mode)
{
	return strcmp(mode, "off") == 0 || strcmp(mode, "identity") == 0;
}

/* The mode's word on the command line; the translating modes are the kernel's own choice. */
static void aim_iommu(const struct question *q, struct aims *out)
{
	if (str_starts(q->wish->value, "identity"))
		aim_argument(q, out, "iommu", "pt");
	else if (str_starts(q->wish->value, "off"))
		aim_argument(q, out, "iommu", "off");
}

static void iommu(const struct question *q, struct verdict *v)
{
	const struct fact_str *f = &q->m->kernel.iommu;

	if (q->platform == ON_SPARK || strcmp(fact_text(&q->m->kernel.arch, ""), "aarch64") == 0) {
		verdict_na(v, CODE_NOT_HERE, "Arm: the SMMU stays in its default mode");
		return;
	}
	if (!q->m->gpu.gpus.n || !has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "matters for GPUs and RDMA NICs together");
		return;
	}
	if (!seen_ok(&f->f)) {
		verdict_unseen(q, v, &f->f, NULL);
		return;
	}
	v->current = f->v;
	if (is_virtual(q->m))
		verdict_na(v, CODE_VIRTUAL, "the host's IOMMU decides");
	else if (!has_wish(q, v))
		return;
	else if (opinion_met(q->wish, f->v))
		verdict_pass(v,
			     is_untranslated(f->v) ? "addresses are not translated" : "as wanted");
	else
		verdict_fail(v, opinion_text(q->a, q->wish, NULL),
			     is_untranslated(f->v) ? "not as the profile wants" : q->wish->because);
}

static const struct setting rows[] = {
	{ .id = "pcie.acs",
	  .title = "Access control redirect",
	  .scope = SCOPE_PCI,
	  .select = above_fast_device,
	  .none = "no bridge with access control stands above a GPU or fast NIC",
	  .none_code = CODE_NO_SUPPORT,
	  .knob = KNOB_PCI,
	  .name = "acs-control",
	  .read = "ACS extended capability 0x0d",
	  .not_when = "the machine is virtual or serves virtual machines, or no GPU has a peer "
		      "behind the switch",
	  .why = "Redirect sends peer-to-peer traffic up to the root complex, where it is slow or "
		 "refused.",
	  .source = "nccl-troubleshooting; pcie-base",
	  .shown_by = "copy/peer-write copy/peer-read collectives rdma/read:1MiB",
	  .settle_s = 2,
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_DANGER,
	  OPINIONS(redirect_off),
	  .judge = acs,
	  .aim = aim_acs },
	{ .id = "pcie.iommu",
	  .title = "IOMMU mode",
	  .scope = SCOPE_HOST,
	  .of = &schema_kernel,
	  .fact = "iommu",
	  .knob = KNOB_BOOTARG,
	  .name = "iommu",
	  .not_when = "the machine is Arm or virtual, or has no GPU and RDMA NIC together",
	  .why = "Translation costs time on every transfer and can forbid peer-to-peer. Without it "
		 "a device may reach all of memory.",
	  .source = "nccl-troubleshooting; gpudirect",
	  .shown_by = "copy/h2d copy/peer-write rdma-latency tcp/receive",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_DANGER,
	  .effect = EFFECT_REBOOT,
	  OPINIONS(untranslated),
	  .judge = iommu,
	  .aim = aim_iommu,
	  .by_hand = "take iommu= and the vendor's argument out of the kernel command line, where "
		     "they were put" },
};

const struct setting_table settings_pcie_access = SETTING_TABLE(rows);
