/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs work on a NIC's queues beside its interrupts: RPS and XPS. */
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"

static bool was_asked(const struct fact *f, struct verdict *v)
{
	if (f->seen == SEEN_UNASKED)
		verdict_na(v, CODE_NEEDS_DEEP,
			   "one file per queue, hundreds in total: --deep reads them");
	return f->seen != SEEN_UNASKED;
}

/* RPS helps an adapter with fewer queues than CPUs; with one queue per CPU it only adds work. */
static void rps(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	struct idset near = nic_cpus(q->a, q->m, n, false);
	unsigned long long cpus = idset_count(&near);

	if (!was_asked(&n->rps.f, v) ||
	    !is_seen(q, v, &n->rps.f, "not visible on any receive queue"))
		return;
	v->current = *n->rps.v ? n->rps.v : "off";
	if (!*n->rps.v)
		verdict_pass(v, "a packet stays on the CPU that handled its interrupt");
	else if (!is_seen(q, v, &n->channels.f, "number of queues not reported by the driver"))
		return;
	else if ((unsigned long long)n->channels.v >= cpus)
		verdict_fail(v, "off",
			     "every CPU near the adapter has a queue: steering only adds an "
			     "interrupt between CPUs");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   arena_printf(q->a,
					"only %lld queues for %llu CPUs near the adapter: steering "
					"may be intended",
					n->channels.v, cpus));
}

/* Keeps the width of the mask that the kernel shows: "rx-3=00000000,000000ff". */
static void remediate_rps(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;

	for (const char *p = n->rps.v; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		size_t name = strcspn(p, "="), mask = strcspn(p + name, " ");
		struct knob k = { KNOB_SYSFS, NULL, "" };
		char *off = arena_strndup(q->a, p + name + 1, mask - 1);

		k.name = arena_printf(q->a, "/sys/class/net/%s/queues/%.*s/rps_cpus", n->name,
				      (int)name, p);
		for (char *c = off; *c; c++)
			*c = *c == ',' ? ',' : '0';
		remediate_knob(q, out, k, off);
	}
}

static void xps(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	long long all = fact_or(&n->tx_queues, 0), unset = fact_or(&n->tx_queues_free, 0);

	if (!was_asked(&n->tx_queues.f, v) ||
	    !is_seen(q, v, &n->tx_queues.f,
		     "not visible on any transmit queue: only one queue, or a kernel without XPS"))
		return;
	v->current = arena_printf(q->a, "%lld of %lld queues have CPUs", all - unset, all);
	if (all < 2)
		verdict_na(v, CODE_NO_EFFECT, "one transmit queue");
	else if (unset == all)
		verdict_fail(
			v, "one queue per CPU",
			"CPUs of all sockets send on the same queues and contend for their locks");
	else
		verdict_pass(v, "CPUs send on their own queues");
}

#include "look/settings_steering_rows.h"
