/* SPDX-License-Identifier: Apache-2.0 */
/* Boot arguments, and what boot security blocks. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <string.h>

#include "base/text.h"

static const char isolation_opt_in[] =
	"only for programs that poll a NIC; it takes CPUs away from everything else";

/* Where the two published lists name CPUs, for the platform that they name them for. */
static const struct opinion isolcpus[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, isolation_opt_in, NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "16-19",
	  "published as the big cores of a DGX Spark", "S1" },
	{ PROFILE_PUBLISHED, ON_IGX, WANT_ONE_OF, "8-11 9-11", "published: one core a queue",
	  "S1" },
};
static const struct opinion irqaffinity[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, isolation_opt_in, NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "0-15", "published: the other cores", "S1" },
	{ PROFILE_PUBLISHED, ON_IGX, WANT_ONE_OF, "0-7 0-8", "published: the other cores", "S1" },
};
static const struct opinion nocb_poll[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it makes kernel threads poll on the housekeeping CPUs; unmeasured", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_IS, "", "published beside rcu_nocbs", "S1" },
};

/* isolcpus may carry flags before the list: "domain,managed_irq,15-19". */
static const char *cpu_list(const char *value)
{
	while (value && *value && (*value < '0' || *value > '9')) {
		const char *comma = strchr(value, ',');

		value = comma ? comma + 1 : "";
	}
	return value;
}

static bool parse_cpus(const struct question *q, const char *arg, struct idset *out)
{
	const char *value = kernel_arg_value(&q->m->kernel, arg);

	return value && idset_parse(q->a, cpu_list(value), out) == 0;
}

/*
 * When somebody does isolate: is the isolation consistent? Each argument alone may be right and the
 * set wrong.
 */
static void isolation(const struct question *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	const struct idset *big = machine_big_cpus(q->m);
	struct idset isolated = { 0 }, nohz = { 0 }, nocbs = { 0 }, irq = { 0 };
	bool asked = parse_cpus(q, "isolcpus", &isolated);

	if (!asked && !has_isolated_cpus(q->m)) {
		verdict_na(v, CODE_OPT_IN, isolation_opt_in);
		return;
	}
	if (!asked)
		isolated = c->isolated.v;
	v->current = idset_format(q->a, &isolated);
	if (idset_has(&isolated, 0))
		verdict_fail(v, "without CPU 0",
			     "CPU 0 keeps the machine's housekeeping and cannot be isolated");
	else if (seen_ok(&c->isolated.f) && !idset_equal(&isolated, &c->isolated.v))
		verdict_fail(v, v->current,
			     arena_printf(q->a, "asked for %s, the kernel isolated \"%s\"",
					  v->current, idset_format(q->a, &c->isolated.v)));
	else if (idset_contains(&isolated, &c->online.v))
		verdict_fail(v, "some CPUs for everything else", "every CPU is isolated");
	else if (parse_cpus(q, "irqaffinity", &irq) && idset_intersects(&irq, &isolated))
		verdict_fail(v, "irqaffinity apart from isolcpus",
			     "irqaffinity lets interrupts onto isolated CPUs");
	else if (parse_cpus(q, "nohz_full", &nohz) && !idset_equal(&nohz, &isolated))
		verdict_fail(v, "nohz_full as isolcpus",
			     "nohz_full names other CPUs than isolcpus");
	else if (parse_cpus(q, "rcu_nocbs", &nocbs) && !idset_contains(&nocbs, &isolated))
		verdict_fail(v, "rcu_nocbs as isolcpus", "rcu_nocbs leaves out isolated CPUs");
	else if (big && c->types.n > 1 && !idset_contains(big, &isolated))
		verdict_fail(v,
			     arena_printf(q->a, "among the big cores %s", idset_format(q->a, big)),
			     "small cores are isolated: polling belongs on the big ones");
	else
		verdict_pass(v, "consistent");
}

/* The parameter is ignored without a word when the kernel lacks the option. */
static void nohz_active(const struct question *q, struct verdict *v)
{
	const struct fact_set *active = &q->m->cpu.nohz_full;
	struct idset asked;

	if (!parse_cpus(q, "nohz_full", &asked)) {
		if (q->profile == PROFILE_PUBLISHED && (q->platform & (ON_SPARK | ON_IGX))) {
			v->current = "not set";
			verdict_fail(v, "as isolcpus", "published beside isolcpus");
		} else {
			verdict_na(v, CODE_OPT_IN, isolation_opt_in);
		}
		return;
	}
	v->current = seen_ok(&active->f) ? idset_format(q->a, &active->v) : "not in force";
	if (active->f.seen == SEEN_ABSENT)
		verdict_fail(v, idset_format(q->a, &asked),
			     "the kernel has no adaptive ticks and ignores the argument");
	else if (!seen_ok(&active->f))
		verdict_unseen(q, v, &active->f, NULL);
	else if (idset_equal(&active->v, &asked))
		verdict_pass(v, "in force as asked for");
	else
		verdict_fail(v, idset_format(q->a, &asked),
			     "the kernel took another list than was asked for");
}

static void rcu_nocbs(const struct question *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "rcu_nocbs");

	v->current = value ? value : "not set";
	if (value)
		verdict_na(v, CODE_LEFT_ALONE, "judged together with isolcpus in boot.isolation");
	else if (q->profile == PROFILE_PUBLISHED && (q->platform & (ON_SPARK | ON_IGX)))
		verdict_fail(v, "as isolcpus", "published beside isolcpus");
	else
		verdict_na(v, CODE_OPT_IN, isolation_opt_in);
}

static void bus_config(const struct question *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "pci");

	v->current = value ? value : "not set";
	if (value && strstr(value, "pcie_bus_perf"))
		verdict_fail(v, "without pcie_bus_perf",
			     "it clamps every read request to the payload size: the opposite of a "
			     "large MRRS");
	else if (value && strstr(value, "pcie_bus_peer2peer"))
		verdict_fail(v, "without pcie_bus_peer2peer", "it sets every payload to 128 bytes");
	else
		verdict_pass(v, "the kernel's default");
}

/* The last one of two equal arguments wins, which surprises whoever wrote the first. */
static void duplicates(const struct question *q, struct verdict *v)
{
	static const char *const single[] = { "isolcpus",
					      "nohz_full",
					      "rcu_nocbs",
					      "irqaffinity",
					      "default_hugepagesz",
					      "transparent_hugepage",
					      "iommu",
					      "intel_iommu",
					      "amd_iommu",
					      "mitigations",
					      "pci",
					      "init_on_alloc" };

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

/* A precondition of others: what cannot be written, and which wishes that meets. */
static void lockdown(const struct question *q, struct verdict *v)
{
	const struct fact_str *f = &q->m->kernel.lockdown;
	const char *blocked = NULL;

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
		if (pci_base_class(p) == 0x02 && seen_ok(&p->mrrs.f) && p->mrrs.v < 4096 &&
		    q->profile == PROFILE_PUBLISHED)
			blocked = p->name;
	if (blocked)
		verdict_fail(v, "none while nic.mrrs is changed",
			     arena_printf(q->a,
					  "PCI configuration space cannot be written (%s wants "
					  "another MRRS); only switching off "
					  "Secure Boot lifts it, which is a security decision",
					  blocked));
	else
		verdict_pass(v, "PCI configuration space and unsigned modules are blocked; nothing "
				"wanted here needs them");
}

static void mitigations(const struct question *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "mitigations");

	v->current = value ? value : "not set";
	if (value && strcmp(value, "off") == 0)
		verdict_fail(v, "auto",
			     "the processor's security mitigations are off; gputune never "
			     "recommends that");
	else
		verdict_pass(v, "on");
}

#define ARG .scope = SCOPE_HOST, .knob = KNOB_BOOTARG, .effect = EFFECT_REBOOT, .risk = RISK_SERVICE

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
	  .judge = lockdown },
	{ .id = "boot.arguments",
	  .title = "Contradicting boot arguments",
	  .scope = SCOPE_HOST,
	  .read = "/proc/cmdline",
	  .why = "The last of two wins, and drop-ins append.",
	  .source = "kernel-parameters",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = duplicates },
	{ .id = "boot.isolation",
	  .title = "CPU isolation is consistent",
	  .scope = SCOPE_HOST,
	  .read = "/proc/cmdline, /sys/devices/system/cpu/isolated",
	  .not_when = "no CPU is isolated",
	  .why = "isolcpus, irqaffinity, nohz_full and rcu_nocbs belong together and on big cores.",
	  .note = "A published map of DGX Spark names CPUs 16-19 as the big cores; by MIDR they "
		  "are 5-9 and 15-19, so core 15 is "
		  "left out and 5-9 keep taking interrupts.",
	  .source = "S1; kernel-parameters; flame/blis pull request 938",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = isolation },
	{ .id = "boot.isolcpus",
	  .title = "isolcpus",
	  ARG,
	  .name = "isolcpus",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Keeps the scheduler's load balancing off the CPUs. Whatever runs there must be "
		 "placed by hand.",
	  .note = "16-19 is published for DGX Spark; its big cores are 5-9 and 15-19.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_LOW,
	  OPINIONS(isolcpus) },
	{ .id = "boot.irqaffinity",
	  .title = "irqaffinity",
	  ARG,
	  .name = "irqaffinity",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Default CPUs of interrupts from early boot on.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_LOW,
	  OPINIONS(irqaffinity) },
	{ .id = "boot.nohz-full",
	  .title = "nohz_full in force",
	  ARG,
	  .name = "nohz_full",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Stops the timer tick on a CPU that runs one thread. Ignored when the kernel "
		 "lacks the option.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_LOW,
	  .judge = nohz_active },
	{ .id = "boot.rcu-nocbs",
	  .title = "rcu_nocbs",
	  ARG,
	  .name = "rcu_nocbs",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Moves RCU callbacks off the CPUs; nohz_full implies it.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_LOW,
	  .judge = rcu_nocbs },
	{ .id = "boot.rcu-nocb-poll",
	  .title = "rcu_nocb_poll",
	  ARG,
	  .name = "rcu_nocb_poll",
	  .not_when = "rcu_nocbs is not in use",
	  .why = "Makes the callback threads poll instead of being woken: it costs power on the "
		 "housekeeping CPUs.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_LOW,
	  OPINIONS(nocb_poll) },
	{ .id = "boot.pcie-bus",
	  .title = "PCIe bus policy",
	  ARG,
	  .name = "pci",
	  .why = "pcie_bus_perf and pcie_bus_peer2peer rewrite payload and read request sizes of "
		 "every device.",
	  .note = "MPS is published as not configurable; these arguments configure it, and are not "
		  "what one wants.",
	  .source = "kernel-parameters; kernel drivers/pci/probe.c",
	  .severity = SEVERITY_MEDIUM,
	  .judge = bus_config },
	{ .id = "boot.mitigations",
	  .title = "Security mitigations",
	  ARG,
	  .name = "mitigations",
	  .why = "Guides that switch them off trade security for a gain that they do not measure.",
	  .source = "kernel-parameters",
	  .severity = SEVERITY_MEDIUM,
	  .judge = mitigations },
};

const struct setting_table settings_boot = SETTING_TABLE(rows);
