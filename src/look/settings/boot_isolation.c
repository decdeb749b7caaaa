/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs set aside at boot for programs that poll: the arguments, and whether they agree. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

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
/* The published lists name the same CPUs for these as for isolcpus. */
static const struct opinion as_isolated[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, isolation_opt_in, NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "16-19", "published beside isolcpus", "S1" },
	{ PROFILE_PUBLISHED, ON_IGX, WANT_ONE_OF, "8-11 9-11", "published beside isolcpus", "S1" },
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

/* Flags in front of the list and no "domain" among them: load is still balanced onto these CPUs,
 * and the kernel does not list them as isolated. */
static bool is_balanced(const struct machine *m)
{
	const char *value = kernel_arg_value(&m->kernel, "isolcpus");
	size_t flags = value ? strcspn(value, "0123456789") : 0;

	return flags && !memmem(value, flags, "domain", strlen("domain"));
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
	else if (seen_ok(&c->isolated.f) && !is_balanced(q->m) &&
		 !idset_equal(&isolated, &c->isolated.v))
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

/* An argument that is not there: a fault where the profile wants it. */
static void judge_missing(const struct question *q, struct verdict *v)
{
	v->current = "not set";
	if (has_wish(q, v))
		verdict_fail(v, opinion_text(q->a, q->wish, NULL), q->wish->because);
}

/* The parameter is ignored without a word when the kernel lacks the option. */
static void nohz_active(const struct question *q, struct verdict *v)
{
	const struct fact_set *active = &q->m->cpu.nohz_full;
	struct idset asked;

	if (!parse_cpus(q, "nohz_full", &asked)) {
		judge_missing(q, v);
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

	if (!value) {
		judge_missing(q, v);
		return;
	}
	v->current = value;
	verdict_na(v, CODE_LEFT_ALONE, "judged together with isolcpus in boot.isolation");
}

/* CPUs that are there, and some left over for everything else. */
static bool is_possible(const struct question *q, const char *list)
{
	const struct cpus *c = &q->m->cpu;
	struct idset cpus;

	return idset_parse(q->a, cpu_list(list), &cpus) == 0 && cpus.n &&
	       (!seen_ok(&c->present.f) ||
		(idset_contains(&c->present.v, &cpus) && !idset_contains(&cpus, &c->present.v)));
}

/* The first of the lists that this machine has the CPUs for. */
static void aim_cpus(const struct question *q, struct aims *out)
{
	for (const char *p = q->wish->value; *p; p += strcspn(p, " ")) {
		const char *list;

		p += strspn(p, " ");
		list = arena_strndup(q->a, p, strcspn(p, " "));
		if (is_possible(q, list)) {
			aim_argument(q, out, q->s->name, list);
			return;
		}
	}
	aim_by_hand(out, "this machine does not have the CPUs that the profile names");
}

/* The CPUs of isolcpus where there is one already. What stands there and is not in force is no
 * matter of writing it again. */
static void aim_beside(const struct question *q, struct aims *out)
{
	const char *isolated = kernel_arg_value(&q->m->kernel, "isolcpus");

	if (kernel_arg_value(&q->m->kernel, q->s->name))
		return;
	if (isolated && is_possible(q, isolated))
		aim_argument(q, out, q->s->name, cpu_list(isolated));
	else
		aim_cpus(q, out);
}

/* What would be consistent, as words for the command line: CPU 0 keeps the house, and polling
 * belongs on big cores. */
static void aim_isolation(const struct question *q, struct aims *out)
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
	aim_by_hand(out,
		    arena_printf(q->a,
				 "one set of CPUs in all arguments, in place of what is on the "
				 "kernel command line: isolcpus=%s nohz_full=%s rcu_nocbs=%s "
				 "irqaffinity=%s",
				 list, list, list, idset_format(q->a, &rest)));
}

#define ARG .scope = SCOPE_HOST, .knob = KNOB_BOOTARG, .effect = EFFECT_REBOOT, .risk = RISK_DANGER

static const struct setting rows[] = {
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
	  .shown_by = "timer-wake-up/100us hand-over",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = isolation,
	  .aim = aim_isolation,
	  .by_hand = "choose CPUs that exist, leave CPU 0 and some others out, and name the same "
		     "ones in every argument" },
	{ .id = "boot.isolcpus",
	  .title = "isolcpus",
	  ARG,
	  .name = "isolcpus",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Keeps the scheduler's load balancing off the CPUs. Whatever runs there must be "
		 "placed by hand.",
	  .note = "16-19 is published for DGX Spark; its big cores are 5-9 and 15-19.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us hand-over",
	  .severity = SEVERITY_LOW,
	  OPINIONS(isolcpus),
	  .aim = aim_cpus },
	{ .id = "boot.irqaffinity",
	  .title = "irqaffinity",
	  ARG,
	  .name = "irqaffinity",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Default CPUs of interrupts from early boot on.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us",
	  .severity = SEVERITY_LOW,
	  OPINIONS(irqaffinity),
	  .aim = aim_cpus },
	{ .id = "boot.nohz-full",
	  .title = "nohz_full in force",
	  ARG,
	  .name = "nohz_full",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Stops the timer tick on a CPU that runs one thread. Ignored when the kernel "
		 "lacks the option.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us",
	  .severity = SEVERITY_LOW,
	  OPINIONS(as_isolated),
	  .judge = nohz_active,
	  .aim = aim_beside,
	  .by_hand = "boot a kernel that is built with adaptive ticks, and leave CPU 0 out of the "
		     "list" },
	{ .id = "boot.rcu-nocbs",
	  .title = "rcu_nocbs",
	  ARG,
	  .name = "rcu_nocbs",
	  .not_when = "nothing polls a NIC on dedicated CPUs",
	  .why = "Moves RCU callbacks off the CPUs; nohz_full implies it.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us",
	  .severity = SEVERITY_LOW,
	  OPINIONS(as_isolated),
	  .judge = rcu_nocbs,
	  .aim = aim_beside },
	{ .id = "boot.rcu-nocb-poll",
	  .title = "rcu_nocb_poll",
	  ARG,
	  .name = "rcu_nocb_poll",
	  .not_when = "rcu_nocbs is not in use",
	  .why = "Makes the callback threads poll instead of being woken: it costs power on the "
		 "housekeeping CPUs.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us",
	  .severity = SEVERITY_LOW,
	  OPINIONS(nocb_poll) },
};

const struct setting_table settings_boot_isolation = SETTING_TABLE(rows);
