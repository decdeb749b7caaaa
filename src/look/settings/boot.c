/* SPDX-License-Identifier: Apache-2.0 */
/* Boot arguments, what boot security blocks, and CPU isolation. */
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

/* Every value of an argument that may stand there several times. */
static const char *all_of(const struct rule_ctx *q, const char *name)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args)
		if (strcmp(arg->name, name) == 0)
			text_printf(&t, "%s%s", t.len ? "," : "", fact_text(&arg->value, ""));
	return t.len ? arena_strdup(q->a, t.s) : "not set";
}

static void bus_config(const struct rule_ctx *q, struct verdict *v)
{
	const struct kernel *k = &q->m->kernel;

	if (!seen_ok(&q->m->kernel.cmdline.f)) {
		verdict_unseen(q, v, &q->m->kernel.cmdline.f, NULL);
		return;
	}
	v->current = all_of(q, "pci");
	if (kernel_arg_with(k, "pci", "pcie_bus_perf"))
		verdict_fail(v, "without pcie_bus_perf",
			     "this argument limits every read request to the payload size, which "
			     "prevents a large MRRS");
	else if (kernel_arg_with(k, "pci", "pcie_bus_peer2peer"))
		verdict_fail(v, "without pcie_bus_peer2peer",
			     "this argument sets every PCIe payload to 128 bytes");
	else if (kernel_arg_with(k, "pci", "pcie_bus_safe"))
		verdict_pass(v, "this argument sets the largest payload that every device on the "
				"path supports; read requests stay unchanged");
	else
		verdict_pass(v, "the kernel's default");
}

/* Arguments that add up when they stand there twice, and words of theirs that exclude each other.
 */
static bool rule_boot_exclude(const struct rule_ctx *q, struct verdict *v)
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
		verdict_fail(v, "only one of them", "these arguments exclude each other");
		return true;
	}
	return false;
}

/* The last one of two equal arguments wins, which surprises whoever wrote the first. */
static void rule_boot_duplicates(const struct rule_ctx *q, struct verdict *v)
{
	static const char single[] =
		"isolcpus nohz_full rcu_nocbs irqaffinity default_hugepagesz transparent_hugepage "
		"mitigations init_on_alloc iommu.passthrough iommu.strict intel_pstate amd_pstate "
		"intel_idle.max_cstate processor.max_cstate idle pcie_aspm numa_balancing "
		"cpufreq.default_governor preempt clocksource";

	if (!is_seen(q, v, &q->m->kernel.cmdline.f, NULL))
		return;
	LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args) {
		const char *last = kernel_arg_value(&q->m->kernel, arg->name);

		if (!str_has_word(single, arg->name) || strcmp(last, arg->value.v) == 0)
			continue;
		v->current = arena_printf(q->a, "%s=%s and %s=%s", arg->name, arg->value.v,
					  arg->name, last);
		verdict_fail(v, "only one of them",
			     "the argument occurs twice with different values");
		return;
	}
	if (!rule_boot_exclude(q, v))
		verdict_pass(v, "no argument contradicts another");
}

static void rule_boot_secure(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *f = &q->m->kernel.secure_boot;

	if (!is_seen(q, v, &f->f, "the machine was not booted through UEFI Secure Boot"))
		return;
	v->current = f->v ? "on" : "off";
	verdict_pass(v, !f->v ? "off"
			: is_locked_down(q->m)
				? "Secure Boot is on; the kernel is locked down (see boot.lockdown)"
				: "Secure Boot is on; the kernel is not locked down");
}

/* Of the built-in profile: what a file of the user's wants is not seen here. */
static const struct recommendation *target_of(const struct rule_ctx *q, const char *id)
{
	const struct recommendation *o =
		setting_recommendation(setting_find(id), q->profile, q->platform);

	return recommendation_hidden(q->m, o) ? NULL : o;
}

/* A precondition of others: what cannot be written, and which target values that meets. */
static void rule_boot_lockdown(const struct rule_ctx *q, struct verdict *v)
{
	static const struct {
		const char *id;
		bool (*wanted)(const struct machine *m, const struct pci_function *p,
			       const struct recommendation *wish);
	} writes[] = { { "pcie.acs", wants_no_redirect }, { "nic.mrrs", wants_larger_reads } };
	const struct fact_str *f = &q->m->kernel.lockdown;
	const char *blocked = NULL, *id = NULL;

	if (!is_seen(q, v, &f->f, "the kernel does not support lockdown"))
		return;
	v->current = f->v;
	if (!is_locked_down(q->m)) {
		verdict_pass(v, "the kernel blocks no writes");
		return;
	}
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
			if (!blocked && writes[i].wanted(q->m, p, target_of(q, writes[i].id))) {
				blocked = p->name;
				id = writes[i].id;
			}
	if (blocked)
		verdict_fail(
			v, arena_printf(q->a, "no write access (required to change %s)", id),
			arena_printf(
				q->a,
				"PCI configuration space is not writable (%s, for %s); only "
				"disabling Secure Boot changes that, which is a security decision",
				blocked, id));
	else
		verdict_pass(v, "PCI configuration space and unsigned modules are blocked; no "
				"recommended setting needs them");
}

static void mitigations(const struct rule_ctx *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "mitigations");

	if (!seen_ok(&q->m->kernel.cmdline.f)) {
		verdict_unseen(q, v, &q->m->kernel.cmdline.f, NULL);
		return;
	}
	v->current = value ? value : "not set";
	/* Looked at in every profile; only a profile of one's own can want them off. */
	if (q->wish && q->wish->rel == WANT_IS) {
		if (recommendation_met(q->wish, v->current))
			verdict_pass(v, "as the profile recommends");
		else
			verdict_fail(v, q->wish->value, q->wish->because);
	} else if (value && strcmp(value, "off") == 0)
		verdict_fail(
			v, "auto",
			"the CPU's security mitigations are off; gputune never recommends this");
	else
		verdict_pass(v, "on");
}

/* DGX OS leaves it out in guests too. */
static bool not_virtual(const struct rule_ctx *q, struct verdict *v)
{
	return is_bare_metal(q, v, "virtual machine: NVIDIA sets this only on bare metal");
}

/* CPUs set aside at boot for programs that poll: the arguments, and whether they agree. */

static const char isolation_opt_in[] =
	"this is only for programs that poll a NIC: isolation takes CPUs from all other programs";

/* isolcpus may carry flags before the list: "domain,managed_irq,15-19". */
static const char *rule_boot_cpu_list(const char *value)
{
	while (value && *value && (*value < '0' || *value > '9')) {
		const char *comma = strchr(value, ',');

		value = comma ? comma + 1 : "";
	}
	return value;
}

/* Flags in front of the list and no "domain" among them: load is still balanced onto these CPUs,
 * and the kernel does not list them as isolated. */
static bool is_balanced(const struct machine *m)
{
	const char *value = kernel_arg_value(&m->kernel, "isolcpus");
	size_t flags = value ? strcspn(value, "0123456789") : 0;

	return flags && !memmem(value, flags, "domain", strlen("domain"));
}

static bool parse_cpus(const struct rule_ctx *q, const char *arg, struct idset *out)
{
	const char *value = kernel_arg_value(&q->m->kernel, arg);

	return value && idset_parse(q->a, rule_boot_cpu_list(value), out) == 0;
}

/*
 * When somebody does isolate: is the isolation consistent? Each argument alone may be right and the
 * set wrong.
 */
static void isolation(const struct rule_ctx *q, struct verdict *v)
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
			     "CPU 0 is required for housekeeping and cannot be isolated");
	else if (seen_ok(&c->isolated.f) && !is_balanced(q->m) &&
		 !idset_equal(&isolated, &c->isolated.v))
		verdict_fail(v, v->current,
			     arena_printf(q->a, "requested %s, but the kernel isolated \"%s\"",
					  v->current, idset_format(q->a, &c->isolated.v)));
	else if (idset_contains(&isolated, &c->online.v))
		verdict_fail(v, "at least one CPU that is not isolated", "every CPU is isolated");
	else if (parse_cpus(q, "irqaffinity", &irq) && idset_intersects(&irq, &isolated))
		verdict_fail(v, "irqaffinity contains no CPU of isolcpus",
			     "irqaffinity allows interrupts on isolated CPUs");
	else if (parse_cpus(q, "nohz_full", &nohz) && !idset_equal(&nohz, &isolated))
		verdict_fail(v, "nohz_full equal to isolcpus", "nohz_full differs from isolcpus");
	else if (parse_cpus(q, "rcu_nocbs", &nocbs) && !idset_contains(&nocbs, &isolated))
		verdict_fail(v, "rcu_nocbs equal to isolcpus", "rcu_nocbs omits isolated CPUs");
	else if (big && c->types.n > 1 && !idset_contains(big, &isolated))
		verdict_fail(v, arena_printf(q->a, "big cores, %s", idset_format(q->a, big)),
			     "small cores are isolated: use big cores for polling");
	else
		verdict_pass(v, "consistent");
}

/* An argument that is not there: a fault where the profile wants it. */
static void judge_missing(const struct rule_ctx *q, struct verdict *v)
{
	v->current = "not set";
	if (has_target(q, v))
		verdict_fail(v, recommendation_text(q->a, q->wish, NULL), q->wish->because);
}

/* The parameter is ignored without a word when the kernel lacks the option. */
static void nohz_active(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_set *active = &q->m->cpu.nohz_full;
	struct idset asked;

	if (!parse_cpus(q, "nohz_full", &asked)) {
		judge_missing(q, v);
		return;
	}
	v->current = seen_ok(&active->f) ? idset_format(q->a, &active->v) : "not in effect";
	if (active->f.seen == SEEN_ABSENT)
		verdict_fail(v, idset_format(q->a, &asked),
			     "the kernel lacks adaptive ticks and ignores the argument");
	else if (!seen_ok(&active->f))
		verdict_unseen(q, v, &active->f, NULL);
	else if (idset_equal(&active->v, &asked))
		verdict_pass(v, "in effect as requested");
	else
		verdict_fail(v, idset_format(q->a, &asked),
			     "the kernel uses another list than requested");
}

static void rcu_nocbs(const struct rule_ctx *q, struct verdict *v)
{
	const char *value = kernel_arg_value(&q->m->kernel, "rcu_nocbs");

	if (!value) {
		judge_missing(q, v);
		return;
	}
	v->current = value;
	verdict_na(v, CODE_LEFT_ALONE, "boot.isolation judges it with isolcpus");
}

/* CPUs that are there, and some left over for everything else. */
static bool is_possible(const struct rule_ctx *q, const char *list)
{
	const struct cpus *c = &q->m->cpu;
	struct idset cpus;

	return idset_parse(q->a, rule_boot_cpu_list(list), &cpus) == 0 && cpus.n &&
	       (!seen_ok(&c->present.f) ||
		(idset_contains(&c->present.v, &cpus) && !idset_contains(&cpus, &c->present.v)));
}

/* The first of the lists that the machine has the CPUs for. */
static void remediate_cpus(const struct rule_ctx *q, struct remediations *out)
{
	for (const char *p = q->wish->value; *p; p += strcspn(p, " ")) {
		const char *list;

		p += strspn(p, " ");
		list = arena_strndup(q->a, p, strcspn(p, " "));
		if (is_possible(q, list)) {
			remediate_argument(q, out, q->s->name, list);
			return;
		}
	}
	remediate_by_hand(out, "the machine lacks CPUs that the profile names");
}

/* The CPUs of isolcpus where there is one already. What stands there and is not in force is no
 * matter of writing it again. */
static void remediate_beside(const struct rule_ctx *q, struct remediations *out)
{
	const char *isolated = kernel_arg_value(&q->m->kernel, "isolcpus");

	if (kernel_arg_value(&q->m->kernel, q->s->name))
		return;
	if (isolated && is_possible(q, isolated))
		remediate_argument(q, out, q->s->name, rule_boot_cpu_list(isolated));
	else
		remediate_cpus(q, out);
}

/* What would be consistent, as words for the command line: CPU 0 keeps the house, and polling
 * belongs on big cores. */
static void remediate_isolation(const struct rule_ctx *q, struct remediations *out)
{
	const struct cpus *c = &q->m->cpu;
	const struct idset *big = machine_big_cpus(q->m);
	struct idset cpus = { 0 }, zero = { 0 }, rest;
	const char *list;

	if (!parse_cpus(q, "isolcpus", &cpus))
		cpus = c->isolated.v;
	idset_add(q->a, &zero, 0);
	cpus = idset_minus(q->a, &cpus, &zero);
	if (big && c->types.n > 1) {
		rest = idset_minus(q->a, &cpus, big);
		cpus = idset_minus(q->a, &cpus, &rest);
	}
	rest = idset_minus(q->a, &c->online.v, &cpus);
	list = idset_format(q->a, &cpus);
	if (!cpus.n || !rest.n)
		return;
	remediate_by_hand(out,
			  arena_printf(q->a,
				       "use one set of CPUs in all arguments of the kernel command "
				       "line: isolcpus=%s nohz_full=%s rcu_nocbs=%s irqaffinity=%s",
				       list, list, list, idset_format(q->a, &rest)));
}

#include "look/settings_boot_rows.h"
