/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's log tells of GPUs and of the switches between them. On a machine without any
 * the log is not asked. Who may not read it leaves facts that were denied. GPUs are told by their
 * place on the bus: the driver has no name any more for one that fell off it.
 */
#include <stdio.h>

#include "look/probe/gpu.h"

enum { KINDS_MAX = 64, ALL_MAX = 4096 };
static const char api[] = "kernel-log", field[] = "xids";

static struct fact_int seconds(long long age, const struct fact *from)
{
	if (age >= 0)
		return fact_int_of(age, from->dir, from->leaf);
	return (struct fact_int){ .f = fact_unseen(-EOPNOTSUPP, from->dir, from->leaf) };
}

/* "79:1:340 119:2:-1", as machine/host/xid.h has it. */
static void xids(struct probe *p, const char *pci)
{
	struct fact_str said = probe_ask_str(p, api, pci, field);
	struct list *all = &p->m->gpu.xids;
	unsigned number;
	long long count, age;
	int n, kinds = 0;

	if (!seen_ok(&said.f))
		return;
	for (const char *s = said.v; kinds < KINDS_MAX && all->n < ALL_MAX; s += n, kinds++) {
		struct gpu_xid *x;

		n = 0;
		if (sscanf(s, " %5u:%18lld:%18lld%n", &number, &count, &age, &n) != 3 || n == 0)
			return;
		x = list_add(p->a, all, sizeof(*x));
		x->pci = pci;
		x->index = number;
		x->count = fact_int_of(count, said.f.dir, said.f.leaf);
		x->age_s = seconds(age, &said.f);
	}
}

void probe_gpu_log(struct probe *p)
{
	struct gpus *g = &p->m->gpu;
	bool switches = false;

	if (!g->gpus.n && fact_or(&g->pci_count, 0) == 0)
		return;
	g->xid_events = probe_ask_int(p, api, "", "lines(NVRM: Xid)");
	/* One question where the log has none or may not be read, which is the rule. */
	LIST_FOR_EACH (struct pci_function, f, &p->m->pci) {
		if (is_nvidia_display(f) && fact_or(&g->xid_events, 0) > 0)
			xids(p, f->name);
		switches = switches || is_nvswitch(f);
	}
	if (!switches)
		return;
	g->sxid_fatal = probe_ask_int(p, api, "", "sxids(Fatal)");
	g->sxid_nonfatal = probe_ask_int(p, api, "", "sxids(Non-fatal)");
}
