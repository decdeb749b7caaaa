/* SPDX-License-Identifier: Apache-2.0 */
/* What firmware decides about processors and memory, as far as the kernel shows it. All of it is
 * set by hand, in firmware setup. */
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"

static bool bare_metal(const struct rule_ctx *q, struct verdict *v)
{
	return is_bare_metal(q, v, "virtual machine: the host's firmware controls it");
}

static void smt(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *on = &q->m->cpu.smt_active;

	if (!fact_is(&q->m->kernel.arch, "x86_64")) {
		verdict_na(v, CODE_NO_SUPPORT, "the CPU's cores have one thread each");
		return;
	}
	if (!is_seen(q, v, &on->f, "the kernel does not report this value"))
		return;
	v->current = on->v ? "on" : "off";
	verdict_na(
		v, CODE_LEFT_ALONE,
		q->platform & ON_HOST ? "SMT raises the throughput of many threads; it does not "
					"improve latencies of microseconds"
		: on->v ? "DGX systems ship with SMT on; AMD's table for GPU servers disables it. "
			  "SMT helps data loaders, not microsecond latency"
			: "off, as in AMD's table for GPU servers; DGX systems ship with SMT on");
}

/* Nodes with processors: those of memory alone (HBM, CXL, a GPU's) are no part of a socket. */
static void per_socket(const struct rule_ctx *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	long long nodes = 0;

	LIST_FOR_EACH (struct numa_node, n, &c->nodes) {
		if (is_hidden(q, v, &n->cpus.f))
			return;
		nodes += seen_ok(&n->cpus.f) && n->cpus.v.n > 0;
	}
	if (!nodes) {
		verdict_na(v, CODE_NO_SUPPORT, "the kernel reports no NUMA nodes");
		return;
	}
	if (!is_seen(q, v, &c->sockets.f, "the number of sockets is unknown"))
		return;
	if (c->sockets.v <= 0) {
		verdict_unknown(v, CODE_ERROR, "the kernel reports 0 sockets, which is impossible");
		return;
	}
	v->current = arena_printf(q->a, "%lld nodes on %lld sockets", nodes, c->sockets.v);
	if (nodes < c->sockets.v)
		verdict_fail(v, "at least one node per socket",
			     "firmware interleaves memory across sockets: half of all accesses go "
			     "to the other socket, and programs cannot place memory near a GPU");
	else
		verdict_pass(v, nodes == c->sockets.v ? "one node per socket"
						      : "sockets are divided (NPS, SNC): bind each "
							"process near its GPU and NIC");
}

/* POLL is no state of the processor. */
static void idle_allowed(const struct rule_ctx *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	size_t states = 0;

	if (!fact_is(&q->m->kernel.arch, "x86_64")) {
		verdict_na(v, CODE_NOT_HERE, "this setting applies to x86 servers only");
		return;
	}
	LIST_FOR_EACH (struct idle_group, g, &c->idle)
		LIST_FOR_EACH (struct idle_state, s, &g->states)
			states += !fact_is(&s->name, "POLL");
	v->current = states ? "offered" : "none available";
	if (states)
		verdict_pass(v, "cpu.idle-states checks how the offered idle states are used");
	else if (!seen_ok(&c->idle_driver.f))
		verdict_unseen(q, v, &c->idle_driver.f,
			       "the kernel was built or booted without idle states");
	else
		verdict_fail(v, "Global C-state Control: Auto",
			     "no core can sleep, so active cores get less power and thermal "
			     "headroom for boost");
}

static const char *const slow_profiles[] = { "low-power", "cool", "quiet" };

static void platform_profile(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_str *now = &q->m->cpu.platform_profile;

	if (!is_seen(q, v, &now->f, "firmware has no platform profiles"))
		return;
	v->current = now->v;
	for (size_t i = 0; i < sizeof(slow_profiles) / sizeof(slow_profiles[0]); i++)
		if (strcmp(now->v, slow_profiles[i]) == 0) {
			verdict_fail(v, "balanced or performance",
				     "the firmware's profile limits fans and power of the whole "
				     "machine");
			return;
		}
	verdict_pass(v, "unlimited");
}

#include "look/settings_firmware_rows.h"
