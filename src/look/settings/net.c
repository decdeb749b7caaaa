/* SPDX-License-Identifier: Apache-2.0 */
/* System-wide network settings. What belongs to one interface is in nic.c. */
#include <stdio.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"

static bool several_addressed(const struct rule_ctx *q, struct verdict *v)
{
	size_t n = 0;

	LIST_FOR_EACH (struct nic, it, &q->m->net.nics)
		n += *it->pci && seen_ok(&it->ipv4.f) && *it->ipv4.v;
	if (n < 2)
		verdict_na(v, CODE_NO_EFFECT, "fewer than two interfaces have an address");
	return n >= 2;
}

/* The third number of tcp_rmem or tcp_wmem bounds what autotuning may reach. */
static void tcp_mem(const struct rule_ctx *q, struct verdict *v)
{
	long long lowest, initial, largest;
	bool fast = false;

	if (!has_target(q, v))
		return;
	if (!is_seen(q, v, &q->current.f, NULL))
		return;
	if (sscanf(q->current.v, "%lld %lld %lld", &lowest, &initial, &largest) != 3) {
		verdict_unknown(v, CODE_ERROR, "not three numbers");
		return;
	}
	LIST_FOR_EACH (struct nic, n, &q->m->net.nics)
		fast = fast || fact_or(&n->speed_mbps, 0) >= 25000;
	if (!fast) {
		verdict_na(v, CODE_NO_EFFECT,
			   "no interface of 25 Gb/s or more is up: the kernel's default covers the "
			   "bandwidth-delay product");
		return;
	}
	v->wanted = arena_printf(q->a, "largest %s", recommendation_text(q->a, q->wish, "bytes"));
	if (recommendation_met(q->wish, arena_printf(q->a, "%lld", largest)))
		verdict_pass(
			v, "autotuning can reach the bandwidth-delay product of a fast local path");
	else
		verdict_fail(v, v->wanted,
			     "autotuning stops below the bandwidth-delay product of a 25 Gb/s path "
			     "of 5 ms");
}

/* The first two numbers are the administrator's. */
static void remediate_tcp_mem(const struct rule_ctx *q, struct remediations *out)
{
	long long lowest, initial;

	/* It is read anew, and may have gone since it was judged. */
	if (seen_ok(&q->current.f) && sscanf(q->current.v, "%lld %lld", &lowest, &initial) == 2)
		remediate_value(
			q, out,
			arena_printf(q->a, "%lld %lld %s", lowest, initial, remediate_target(q)));
}

/* NAPI drivers bypass this queue unless RPS or a virtual interface puts packets there. */
static bool want_backlog(const struct rule_ctx *q, struct recommendation *o)
{
	if (q->profile == PROFILE_PUBLISHED)
		return false;
	if (!seen_ok(&q->m->net.softnet_dropped.f) || q->m->net.softnet_dropped.v == 0) {
		*o = (struct recommendation){
			.rel = WANT_LEAVE,
			.because = "no packet was dropped at this queue since boot"
		};
		return true;
	}
	*o = (struct recommendation){
		.rel = WANT_AT_LEAST,
		.value = "5000",
		.because = arena_printf(q->a, "%lld packets were dropped at this queue since boot",
					q->m->net.softnet_dropped.v)
	};
	return true;
}

/* NICs as PCI functions: on the bus at all, drivers, read request and payload sizes. */

static bool is_data_function(const struct machine *m, const void *object)
{
	(void)m;
	return is_connectx(object);
}

static size_t data_functions(const struct machine *m)
{
	size_t n = 0;

	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		n += is_connectx(p);
	return n;
}

/* No cable on a DGX Spark means no PCI function: people debug firmware for nothing. With one in it,
 * the same picture is a fault, and a rescan of the bus panics or hangs the machine. */
static void no_function(const struct rule_ctx *q, struct verdict *v)
{
	static const char four[] = "4 functions";
	const struct network *n = &q->m->net;

	if (fact_or(&n->cable_present, 0) == 1) {
		verdict_fail(v, four,
			     "a cable is detected, but the NIC is absent: a hot-plug fault. Shut "
			     "down and disconnect all power for a minute; never rescan the bus");
	} else if (fact_or(&n->hotplug_enabled, 1) == 0) {
		verdict_fail(v, four,
			     "the NIC is absent although hot plug is off. Shut down and disconnect "
			     "all power for a minute; never rescan the bus");
	} else if (seen_ok(&n->absent_port.f)) {
		verdict_fail(v, four,
			     arena_printf(q->a,
					  "%s is configured, and the NIC is absent: %s. Plug the "
					  "cable in, or disconnect all power; never rescan the bus",
					  n->absent_port.v,
					  seen_ok(&n->cable_present.f)
						  ? "no cable detected"
						  : "no cable, or a hot-plug fault"));
	} else if (seen_ok(&n->cable_present.f)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   "absent: no cable detected. Plug one in and wait half a minute; with a "
			   "cable in, it is a hot-plug fault: disconnect all power, never rescan");
	} else if (seen_ok(&n->spark_hotplug.f)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   "absent: no cable, or a hot-plug fault. Plug a cable in; if one is in, "
			   "disconnect all power for a minute, and never rescan the bus");
	} else {
		v->slight = true;
		verdict_fail(v, four,
			     "the NIC is not on the bus, and the scripts that remove it without a "
			     "cable are not installed: plug a cable in, then check firmware");
	}
}

static void spark_cable(const struct rule_ctx *q, struct verdict *v)
{
	size_t functions = data_functions(q->m);

	if (!(q->platform & ON_SPARK)) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only");
		return;
	}
	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		if (functions < 4 &&
		    (is_hidden(q, v, &p->vendor.f) || is_hidden(q, v, &p->class_.f)))
			return;
	v->current = arena_printf(q->a, "%zu ConnectX functions", functions);
	if (functions >= 4)
		verdict_pass(v, "the NIC is on the bus");
	else if (functions)
		verdict_fail(v, "4 functions",
			     "PCI functions of the NIC are missing: it has two ports of two each");
	else if (!q->m->pci.n)
		verdict_unknown(v, CODE_ERROR, "the PCI bus is unreadable");
	else
		no_function(q, v);
}

static void late_cable(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *n = &q->m->net.cables_plugged;

	if (!(q->platform & ON_SPARK)) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only");
		return;
	}
	if (!data_functions(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "the NIC is not on the bus: see nic.cable");
		return;
	}
	if (!is_seen(q, v, &n->f, "this kernel does not manage hot plug of the NIC"))
		return;
	v->current = arena_printf(q->a, "%lld cables plugged in since boot", n->v);
	if (n->v > 0)
		verdict_fail(v, "plugged in since boot",
			     "the NIC was hot-plugged: such a link carries about 13 Gb/s until "
			     "both machines boot with the cable in");
	else
		verdict_pass(v, "the cable was in at boot, as far as the kernel log shows");
}

static void drivers(const struct rule_ctx *q, struct verdict *v)
{
	const struct network *n = &q->m->net;
	const struct fact *const parts[] = { &n->ib_core.f, &n->mlx5_core.f, &n->mlx5_ib.f },
				 *unread = first_unread(parts, 3);
	bool card = false;

	LIST_FOR_EACH (struct pci_function, p, &q->m->pci)
		card = card || is_connectx(p);
	if (!card) {
		verdict_na(v, CODE_NO_HARDWARE, "no ConnectX or BlueField NIC");
		return;
	}
	v->current = arena_printf(
		q->a, "ib_core %s, mlx5_core %s, mlx5_ib %s", fact_text(&n->ib_core, "missing"),
		fact_text(&n->mlx5_core, "missing"), fact_text(&n->mlx5_ib, "missing"));
	if (unread)
		verdict_unseen(q, v, unread, NULL);
	else if (seen_ok(&n->ib_core.f) && seen_ok(&n->mlx5_core.f) && seen_ok(&n->mlx5_ib.f))
		verdict_pass(v,
			     seen_ok(&n->ofed_version.f)
				     ? arena_printf(q->a, "loaded, DOCA/OFED %s", n->ofed_version.v)
				     : "loaded, in-tree");
	else
		verdict_fail(v, "all loaded", "RDMA is not available without these modules");
}

/* What would stop the write, or take it back; NULL when nothing would. */
static const char *mrrs_obstacle(const struct machine *m)
{
	if (is_locked_down(m))
		return "kernel lockdown blocks the write while Secure Boot is on";
	if (kernel_arg_with(&m->kernel, "pci", "pcie_bus_perf"))
		return "pci=pcie_bus_perf on the kernel command line limits it to the payload size";
	return NULL;
}

bool wants_larger_reads(const struct machine *m, const struct pci_function *p,
			const struct recommendation *wish)
{
	char now[24];

	snprintf(now, sizeof(now), "%lld", fact_or(&p->mrrs, 0));
	return wish && is_data_function(m, p) && seen_ok(&p->mrrs.f) &&
	       !recommendation_met(wish, now);
}

static void mrrs(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object;
	const char *obstacle = mrrs_obstacle(q->m);

	if (!has_target(q, v))
		return;
	v->wanted = recommendation_text(q->a, q->wish, "bytes");
	v->why = q->wish->because;
	if (!is_seen(q, v, &p->mrrs.f, NULL))
		return;
	v->current = arena_printf(q->a, "%lld bytes", p->mrrs.v);
	if (recommendation_met(q->wish, arena_printf(q->a, "%lld", p->mrrs.v)))
		verdict_pass(v, p->mrrs.v >= 4096 ? "at its maximum" : q->wish->because);
	else
		verdict_fail(v, v->wanted,
			     arena_printf(q->a, "%s%s%s", q->wish->because, obstacle ? "; " : "",
					  obstacle ? obstacle : ""));
}

/* The outermost bridge above it, or itself. */
static const struct pci_function *root_port(const struct machine *m, const struct pci_function *p)
{
	const struct pci_function *up = machine_pci(m, p->parent);

	for (size_t hops = 0; up && hops < 32; hops++) {
		p = up;
		up = machine_pci(m, p->parent);
	}
	return p;
}

/*
 * A packet may be no larger than its receiver takes. All functions below one root port receive from
 * it, so firmware gives all of them the payload of the least capable: a GPU that takes 256 bytes
 * holds its neighbours to 256.
 */
static void mps(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *root = root_port(q->m, p), *least = p;
	bool whole = is_placed(q->m, p);
	long long twin = 0;

	if (!seen_ok(&p->mps.f) || !seen_ok(&p->mps_cap.f)) {
		verdict_unseen(q, v, seen_ok(&p->mps.f) ? &p->mps_cap.f : &p->mps.f, NULL);
		return;
	}
	LIST_FOR_EACH (struct pci_function, f, &q->m->pci) {
		if (seen_ok(&f->mps.f) && f->mps.v > twin && f->vendor.v == p->vendor.v &&
		    f->device.v == p->device.v)
			twin = f->mps.v;
		if (f != root && !is_below(f, root))
			continue;
		/* Virtual functions and conventional devices have no payload of their own. */
		whole = whole && (seen_ok(&f->mps_cap.f) || fact_or(&f->is_vf, 0) == 1 ||
				  f->pcie_cap.f.seen == SEEN_ABSENT);
		if (seen_ok(&f->mps_cap.f) && f->mps_cap.v < least->mps_cap.v)
			least = f;
	}
	v->current = arena_printf(q->a, "%lld bytes", p->mps.v);
	v->wanted = arena_printf(q->a, "%lld bytes", least->mps_cap.v);
	if (p->mps.v >= least->mps_cap.v)
		verdict_pass(v, least == p ? "the NIC's maximum"
					   : "the maximum of all devices below its root port");
	else if (!whole && twin > p->mps.v)
		verdict_fail(v, arena_printf(q->a, "%lld bytes", twin),
			     "a NIC of the same model has the larger payload: firmware set less "
			     "here, or another device on its path allows no more");
	else if (!whole)
		verdict_unknown(v, CODE_ERROR,
				"below the NIC's maximum; the limits of the other devices on its "
				"path are unreadable");
	else
		verdict_fail(v, v->wanted,
			     "firmware set a smaller payload than all devices under the root port "
			     "support");
}

static void relaxed_ordering(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object;

	if (!is_seen(q, v, &p->relaxed_ordering.f, NULL))
		return;
	v->current = p->relaxed_ordering.v ? "on" : "off";
	if (p->relaxed_ordering.v)
		verdict_pass(v, "on");
	else
		verdict_fail(v, "on", "on some hosts, PCIe writes wait for each other without it");
}

#include "look/settings_net_rows.h"
