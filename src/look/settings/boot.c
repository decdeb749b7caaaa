/* SPDX-License-Identifier: Apache-2.0 */
/* Boot arguments, and what boot security blocks. CPU isolation is in boot_isolation.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "base/text.h"

/* Every value of an argument that may stand there several times. */
static const char *all_of(const struct question *q, const char *name)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args)
		if (strcmp(arg->name, name) == 0)
			text_printf(&t, "%s%s", t.len ? "," : "", fact_text(&arg->value, ""));
	return t.len ? arena_strdup(q->a, t.s) : "not set";
}

static void bus_config(const struct question *q, struct verdict *v)
{
	const struct kernel *k = &q->m->kernel;

	v->current = all_of(q, "pci");
	if (kernel_arg_with(k, "pci", "pcie_bus_perf"))
		verdict_fail(v, "without pcie_bus_perf",
			     "it clamps every read request to the payload size: the opposite of a "
			     "large MRRS");
	else if (kernel_arg_with(k, "pci", "pcie_bus_peer2peer"))
		verdict_fail(v, "without pcie_bus_peer2peer", "it sets every payload to 128 bytes");
	else if (kernel_arg_with(k, "pci", "pcie_bus_safe"))
		verdict_pass(v, "the largest payload that every device on the way takes; read "
				"requests stay as they are");
	else
		verdict_pass(v, "the kernel's default");
}

/* Arguments that add up when they stand there twice, and words of theirs that exclude each other.
 */
static bool exclude(const struct question *q, struct verdict *v)
{
	static const struct {
		const char *name, *x, *y;
	} rows[] = { { "iommu", "pt", "nopt" },
		     { "iommu", "pt", "off" },
		     { "iommu", "force", "off" },
		     { "intel_iommu", "on", "off" },
		     { "pci", "pcie_bus_perf", "pcie_bus_safe" },
		     { "pci", "pcie_bus_perf", "pcie_bus_peer2peer" },
		     { "pci", "pcie_bus_safe", "pcie_bus_peer2peer" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!kernel_arg_with(&q->m->kernel, rows[i].name, rows[i].x) ||
		    !kernel_arg_with(&q->m->kernel, rows[i].name, rows[i].y))
			continue;
		v->current = arena_printf(q->a, "%s=%s and %s=%s", rows[i].name, rows[i].x,
					  rows[i].name, rows[i].y);
		verdict_fail(v, "one of them", "the two exclude each other");
		return true;
	}
	return false;
}

/* The last one of two equal arguments wins, which surprises whoever wrote the first. */
static void duplicates(const struct question *q, struct verdict *v)
{
	static const char *const single[] = { "isolcpus",	    "nohz_full",
					      "rcu_nocbs",	    "irqaffinity",
					      "default_hugepagesz", "transparent_hugepage",
					      "mitigations",	    "init_on_alloc" };

	if (!seen_ok(&q->m->kernel.cmdline.f)) {
		verdict_unseen(q, v, &q->m->kernel.cmdline.f, NULL);
		return;
	}
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		const char *first = NULL;

		LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args) {
			if (strcmp(arg->name, single[i]) != 0)
				continue;
			if (first && strcmp(first, arg->value.v) != 0) {
				v->current = arena_printf(q->a, "%s=%s and %s=%s", single[i], first,
							  single[i], arg->value.v);
				verdict_fail(
					v, "one of them",
					"the argument stands there twice with different values");
				return;
			}
			first = arg->value.v;
		}
	}
	if (!exclude(q, v))
		verdict_pass(v, "no argument contradicts another");
}

static void secure_boot(const struct question *q, struct verdict *v)
{
	const struct fact_int *f = &q->m->kernel.secure_boot;

	if (!seen_ok(&f->f)) {
		verdict_unseen(q, v, &f->f, "this machine was not booted through UEFI Secure Boot");
		return;
	}
	v->current = f->v ? "on" : "off";
	if (f->v && is_locked_down(q->m))
		verdict_pass(v, "on, and the kernel is locked down: see boot.lockdown for what "
				"that blocks");
	else
		verdict_pass(v, f->v ? "on; the kernel is not locked down" : "off");
}

/* Of the built-in profile: what a file of the user's wants is not seen here. */
static const struct opinion *wish_of(const struct question *q, const char *id)
{
	return setting_opinion(setting_find(id), q->profile, q->platform);
}

/* A precondition of others: what cannot be written, and which wishes that meets. */
static void lockdown(const struct question *q, struct verdict *v)
{
	static const struct {
		const char *id;
		bool (*wanted)(const struct machine *m, const struct pci_function *p,
			       const struct opinion *wish);
	} writes[] = { { "pcie.acs", wants_no_redirect }, { "nic.mrrs", wants_larger_reads } };
	const struct fact_str *f = &q->m->kernel.lockdown;
	const char *blocked = NULL, *id = NULL;

	if (!seen_ok(&f->f)) {
		verdict_unseen(q, v, &f->f, "the kernel has no lockdown");
		return;
	}
	v->current = f->v;
	if (!is_locked_down(q->m)) {
		verdict_pass(v, "nothing is blocked");
		return;
	}
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
			if (!blocked && writes[i].wanted(q->m, p, wish_of(q, writes[i].id))) {
				blocked = p->name;
				id = writes[i].id;
			}
	if (blocked)
		verdict_fail(v, arena_printf(q->a, "none while %s is changed", id),
			     arena_printf(q->a,
					  "PCI configuration space cannot be written (%s, for %s); "
					  "only switching off Secure Boot lifts it, which is a "
					  "security decision",
					  blocked, id));
	else
		verdict_pass(v, "PCI configuration space and unsigned modules are blocked; nothing "
				"wanted here needs them");
}

static void mitigations(const struct question *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "mitigations");

	v->current = value ? value : "not set";
	/* Looked at in every profile; only a profile of one's own can want them off. */
	if (q->wish && q->wish->rel == WANT_IS) {
		if (opinion_met(q->wish, v->current))
			verdict_pass(v, "as the profile wants");
		else
			verdict_fail(v, q->wish->value, q->wish->because);
	} else if (value && strcmp(value, "off") == 0)
		verdict_fail(v, "auto",
			     "the processor's security mitigations are off; gputune never "
			     "recommends that");
	else
		verdict_pass(v, "on");
}

static const struct opinion protection[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_NOT, "off",
	  "the processor's security mitigations belong on; gputune never recommends otherwise",
	  NULL },
};
static const struct opinion zeroing[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "zeroed pages keep stale data from leaking; what it costs here is unmeasured", NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_HGX, WANT_IS, "0",
	  "large host allocations are not written twice; stale data may leak (gain unmeasured)",
	  NULL },
};

#define CMDLINE .scope = SCOPE_HOST, .read = "/proc/cmdline", .effect = EFFECT_REBOOT

static const struct setting rows[] = {
	{ .id = "boot.secure-boot",
	  .title = "Secure Boot",
	  .scope = SCOPE_HOST,
	  .read = "efivar SecureBoot",
	  .not_when = "the machine was not booted through UEFI",
	  .why = "Locks the kernel down on most distributions.",
	  .source = "S1",
	  .severity = SEVERITY_INFO,
	  .effect = EFFECT_FIRMWARE,
	  .judge = secure_boot },
	{ .id = "boot.lockdown",
	  .title = "Kernel lockdown",
	  .scope = SCOPE_HOST,
	  .of = &schema_kernel,
	  .fact = "lockdown",
	  .not_when = "the kernel has no lockdown",
	  .why = "Refuses writes to PCI configuration space and unsigned modules, so MRRS and BAR "
		 "tools fail with EPERM.",
	  .note = "Published as: disable Secure Boot. That is a trade, not a step.",
	  .source = "S1; kernel_lockdown(7)",
	  .severity = SEVERITY_LOW,
	  .effect = EFFECT_FIRMWARE,
	  .judge = lockdown,
	  .by_hand = "switching Secure Boot off in firmware setup lifts it, and with it what it "
		     "protects from: a decision for whoever answers for this machine's security" },
	{ .id = "boot.arguments",
	  .title = "Contradicting boot arguments",
	  .scope = SCOPE_HOST,
	  .read = "/proc/cmdline",
	  .why = "Of most arguments the last of two wins, and drop-ins append; those of pci= and "
		 "iommu= add up.",
	  .source = "kernel-parameters",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = duplicates,
	  .by_hand = "take all but one away where they were put: the boot loader's defaults and "
		     "their drop-ins" },
	{ .id = "boot.pcie-bus",
	  .title = "PCIe bus policy",
	  CMDLINE,
	  .why = "pcie_bus_perf and pcie_bus_peer2peer rewrite payload and read request sizes of "
		 "every device.",
	  .note = "MPS is published as not configurable; these arguments configure it, and are not "
		  "what one wants.",
	  .source = "kernel-parameters; kernel drivers/pci/probe.c",
	  .severity = SEVERITY_MEDIUM,
	  .judge = bus_config,
	  .by_hand = "take it out of pci= on the kernel command line, where it was put" },
	{ .id = "boot.mitigations",
	  .title = "Security mitigations",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "mitigations",
	  .effect = EFFECT_REBOOT,
	  .risk = RISK_DANGER,
	  .why = "Guides that switch them off trade security for a gain that they do not measure.",
	  .source = "kernel-parameters",
	  .shown_by = "hand-over tcp-latency/64B launch/seen",
	  .severity = SEVERITY_MEDIUM,
	  OPINIONS(protection),
	  .judge = mitigations,
	  .by_hand = "take mitigations=off out of the kernel command line, where it was put" },
	{ .id = "boot.init-on-alloc",
	  .title = "Pages zeroed at allocation",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "init_on_alloc",
	  .not_when = "the profile leaves it alone",
	  .why = "The kernel writes zeros over every page before it hands it out, once more than "
		 "programs that fill it need.",
	  .note = "NVIDIA's node tuner for H100 switches it off; no measurement of that is "
		  "published.",
	  .source = "kernel-parameters; NVIDIA node tuning profiles",
	  .shown_by = "disk/read-seq:128KiB:buffered model-load",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_DANGER,
	  .effect = EFFECT_REBOOT,
	  OPINIONS(zeroing) },
};

const struct setting_table settings_boot = SETTING_TABLE(rows);
