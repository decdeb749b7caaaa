/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation that leaves nobody to do the kernel's own work. See kernel-parameters: isolcpus,
 * nohz_full, rcu_nocbs. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/gate.h"

static bool isolates(const struct change *c)
{
	return c->knob.kind == KNOB_BOOTARG &&
	       (strcmp(c->knob.name, "isolcpus") == 0 || strcmp(c->knob.name, "nohz_full") == 0 ||
		strcmp(c->knob.name, "rcu_nocbs") == 0);
}

/* The list after the flags of "managed_irq,domain,4-7". */
static const char *list_of(const char *value)
{
	while (*value >= 'a' && *value <= 'z' && strchr(value, ','))
		value = strchr(value, ',') + 1;
	return value;
}

static unsigned last_of(const struct idset *s)
{
	return s->n ? s->r[s->n - 1].hi : 0;
}

/* "all" is every CPU, "N" the last one: "8-N". */
static bool parse(struct gates *g, const char *value, struct idset *out)
{
	const struct cpus *c = &g->m->cpu;
	const struct idset *all = seen_ok(&c->possible.f) ? &c->possible.v : &c->online.v;
	TEXT_AUTO list = { 0 };

	if (strcmp(list_of(value), "all") == 0) {
		*out = c->online.v;
		return true;
	}
	for (const char *at = list_of(value); *at; at++) {
		if (*at == 'N')
			text_printf(&list, "%u", last_of(all));
		else
			text_addc(&list, *at);
	}
	return idset_parse(g->a, list.s ? list.s : "", out) == 0;
}

const char *gate_housekeeping(struct gates *g, const struct change *c)
{
	const struct cpus *cpus = &g->m->cpu;
	const char *arg = c->knob.name;
	struct idset apart;

	if (!isolates(c) || !*c->after || strcmp(c->after, "not set") == 0)
		return NULL;
	if (!seen_ok(&cpus->online.f))
		return arena_printf(g->a,
				    "which CPUs are online is not known, so %s cannot be "
				    "judged: set it by hand",
				    arg);
	if (!parse(g, c->after, &apart))
		return arena_printf(g->a, "%s=%s is no list of CPUs: write it like 4-7,12", arg,
				    c->after);
	if (idset_contains(&apart, &cpus->online.v))
		return arena_printf(g->a,
				    "%s=%s takes every CPU and leaves none for the kernel's "
				    "own work: leave out at least CPU 0",
				    arg, c->after);
	if (idset_has(&apart, 0))
		return arena_printf(g->a,
				    "%s=%s takes CPU 0, which boots the machine and keeps "
				    "its time: leave it out",
				    arg, c->after);
	LIST_FOR_EACH (struct numa_node, n, &cpus->nodes)
		if (seen_ok(&n->cpus.f) && n->cpus.v.n && idset_contains(&apart, &n->cpus.v))
			return arena_printf(g->a,
					    "%s=%s leaves no CPU of node %u (%s) for the "
					    "kernel's own work there: leave out at least one",
					    arg, c->after, n->index,
					    idset_format(g->a, &n->cpus.v));
	return NULL;
}
