/* SPDX-License-Identifier: Apache-2.0 */
/* System-wide network settings. What belongs to one interface is in nic.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"

static const struct recommendation buffer_max[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "16777216",
	  "a ceiling only: programs that ask for large buffers (message passing, RPC) get them",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "16777216",
	  "published as: prevents drops of large responses", "S0" },
};
static const struct recommendation buffer_default[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "tcp_rmem and tcp_wmem override it for TCP; 1 MiB for every UDP, raw and unix socket "
	  "wastes memory",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "1048576",
	  "set by the published script beside the maxima", "S0" },
};
static const struct recommendation backlog[] = {
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "5000", "published as: prevents drops during bursts",
	  "S0" },
};
static const struct recommendation fastopen[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "bit 2 only permits servers that set TCP_FASTOPEN themselves; without such a server "
	  "nothing changes",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "3", "published as: lower first-request latency",
	  "S0" },
};
static const struct recommendation slow_start[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_IS, "0",
	  "keeps the congestion window of long-lived connections between bursts on a local network",
	  NULL },
	{ PROFILE_DEFAULT, ON_GENERIC | ON_HOST, WANT_LEAVE, NULL,
	  "on a shared wide-area path the reset protects others; a server on a local network can "
	  "choose 0",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "0", "published as: no ramp-up between generations",
	  "S0" },
	{ PROFILE_INFERENCE, ON_GENERIC, WANT_IS, "0",
	  "clients that hold their connection pause between requests (gain unmeasured)", NULL },
};
static const struct recommendation arp_announce[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_HGX | ON_GRACE, WANT_IS, "2",
	  "a question that names another interface's address teaches the neighbours a wrong way",
	  NULL },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it matters where two interfaces share a subnet: see nic.subnets", NULL },
};
static const struct recommendation arp_ignore[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_HGX | ON_GRACE, WANT_ONE_OF, "1 2",
	  "an interface that answers for another's address draws its traffic to the wrong port",
	  NULL },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it matters where two interfaces share a subnet: see nic.subnets", NULL },
};
static const struct recommendation congestion[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "the kernel's default serves a local network; BBR is for long or lossy paths", NULL },
};
static const struct recommendation qdisc[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it matters to BBR, and to interfaces that are set up after it changed", NULL },
};
static const struct recommendation somaxconn[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "4096", "the kernel's own default since 5.4",
	  NULL },
};

static const struct recommendation tcp_largest[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "16777216",
	  "autotuning may then reach the bandwidth-delay product of a 25 Gb/s path of 5 ms", NULL },
};

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
			   "no interface of 25 Gb/s or more is up: the kernel's default covers its "
			   "bandwidth-delay product");
		return;
	}
	v->wanted = arena_printf(q->a, "largest %s", recommendation_text(q->a, q->wish, "bytes"));
	if (recommendation_met(q->wish, arena_printf(q->a, "%lld", largest)))
		verdict_pass(
			v, "autotuning may reach the bandwidth-delay product of a fast local path");
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

#define SYSCTL_ROW .scope = SCOPE_HOST, .knob = KNOB_SYSCTL, .effect = EFFECT_NOW

static const struct setting rows[] = {
	{ .id = "net.rmem-max",
	  .title = "Largest receive buffer a program may ask for",
	  SYSCTL_ROW,
	  .name = "net.core.rmem_max",
	  .unit = "bytes",
	  .why = "Only programs that call setsockopt(SO_RCVBUF) are bounded by it. TCP autotuning "
		 "is not: that is tcp_rmem.",
	  .note = "Published as TCP throughput for an API server; such a server does not set the "
		  "buffer and is governed by tcp_rmem.",
	  .source = "S0; net.rst; ip-sysctl.rst",
	  .not_shown = "only programs that set a socket's buffer themselves feel it; no bench of "
		       "ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(buffer_max) },
	{ .id = "net.wmem-max",
	  .title = "Largest send buffer a program may ask for",
	  SYSCTL_ROW,
	  .name = "net.core.wmem_max",
	  .unit = "bytes",
	  .why = "Only programs that call setsockopt(SO_SNDBUF) are bounded by it. TCP autotuning "
		 "is not: that is tcp_wmem.",
	  .source = "S0; net.rst; ip-sysctl.rst",
	  .not_shown = "only programs that set a socket's buffer themselves feel it; no bench of "
		       "ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(buffer_max) },
	{ .id = "net.rmem-default",
	  .title = "Receive buffer of sockets other than TCP",
	  SYSCTL_ROW,
	  .name = "net.core.rmem_default",
	  .unit = "bytes",
	  .why = "The initial receive buffer of UDP, raw and unix sockets.",
	  .source = "S0; net.rst",
	  .not_shown =
		  "TCP has limits of its own (net.tcp-rmem), and no bench of ours sends datagrams",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(buffer_default) },
	{ .id = "net.wmem-default",
	  .title = "Send buffer of sockets other than TCP",
	  SYSCTL_ROW,
	  .name = "net.core.wmem_default",
	  .unit = "bytes",
	  .why = "The initial send buffer of UDP, raw and unix sockets.",
	  .source = "S0; net.rst",
	  .not_shown =
		  "TCP has limits of its own (net.tcp-wmem), and no bench of ours sends datagrams",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(buffer_default) },
	{ .id = "net.tcp-rmem",
	  .title = "TCP receive autotuning limits",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_rmem",
	  .why = "Lowest, initial and largest receive buffer of a TCP connection, bytes. The "
		 "largest bounds throughput times round trip.",
	  .note = "None of the published guides sets it, although it is what bounds TCP.",
	  .source = "ip-sysctl.rst",
	  .shown_by = "tcp/receive:1 tcp/send:1",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(tcp_largest),
	  .judge = tcp_mem,
	  .remediate = remediate_tcp_mem },
	{ .id = "net.tcp-wmem",
	  .title = "TCP send autotuning limits",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_wmem",
	  .why = "Lowest, initial and largest send buffer of a TCP connection, bytes. The largest "
		 "bounds throughput times round trip.",
	  .source = "ip-sysctl.rst",
	  .shown_by = "tcp/send:1 tcp/receive:1",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(tcp_largest),
	  .judge = tcp_mem,
	  .remediate = remediate_tcp_mem },
	{ .id = "net.tcp-fastopen",
	  .title = "TCP Fast Open",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_fastopen",
	  .why = "Lets data travel in the first packet of a connection, where client and server "
		 "both ask for it.",
	  .note = "3 is published as an automatic gain. The server must set TCP_FASTOPEN on its "
		  "socket and the client send with MSG_FASTOPEN; 0x400 would open every listener.",
	  .source = "S0; ip-sysctl.rst",
	  .shown_by = "tcp-connect/fast-open",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(fastopen) },
	{ .id = "net.tcp-slow-start-after-idle",
	  .title = "TCP window reset after idle",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_slow_start_after_idle",
	  .why = "With 1 a connection that was idle for a retransmission time-out starts again "
		 "with a small window.",
	  .source = "S0; ip-sysctl.rst",
	  .shown_by = "tcp-idle",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(slow_start) },
	{ .id = "net.netdev-max-backlog",
	  .title = "Per-CPU input queue",
	  SYSCTL_ROW,
	  .name = "net.core.netdev_max_backlog",
	  .unit = "packets",
	  .why = "Packets that may wait for a CPU behind RPS, veth or loopback. Drivers of fast "
		 "NICs poll and do not use it.",
	  .source = "S0; net.rst",
	  .shown_by = "tcp/receive",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(backlog),
	  .want = want_backlog },
	{ .id = "net.arp-announce",
	  .title = "Address that ARP asks with",
	  SYSCTL_ROW,
	  .name = "net.ipv4.conf.all.arp_announce",
	  .applies = several_addressed,
	  .not_when = "fewer than two interfaces have an address",
	  .why = "With 0 an interface asks with any address of the machine: with two in one subnet "
		 "RDMA traffic then comes in by the wrong one.",
	  .source = "ip-sysctl.rst; NVIDIA DGX OS, 20-nvidia-defaults.conf",
	  .not_shown = "it decides which port receives packets; no bench measures that",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(arp_announce) },
	{ .id = "net.arp-ignore",
	  .title = "Interfaces that ARP answers for",
	  SYSCTL_ROW,
	  .name = "net.ipv4.conf.all.arp_ignore",
	  .applies = several_addressed,
	  .not_when = "fewer than two interfaces have an address",
	  .why = "With 0 every interface answers for every address of the machine: with two in one "
		 "subnet RDMA traffic then comes in by the wrong one.",
	  .source = "ip-sysctl.rst; NVIDIA DGX OS, 20-nvidia-defaults.conf",
	  .not_shown = "it decides which port receives packets; no bench measures that",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(arp_ignore) },
	{ .id = "net.tcp-congestion-control",
	  .title = "TCP congestion control",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_congestion_control",
	  .why = "How fast a TCP connection sends. RDMA does not use it.",
	  .why_host = "How fast a TCP connection sends.",
	  .source = "ip-sysctl.rst; NVIDIA nodewright-packages nvidia-tuned",
	  .shown_by = "tcp/send:1",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(congestion) },
	{ .id = "net.default-qdisc",
	  .title = "Queue discipline of new interfaces",
	  SYSCTL_ROW,
	  .name = "net.core.default_qdisc",
	  .why = "fq paces what BBR sends. Interfaces keep theirs until they are set up anew.",
	  .source = "net.rst; NVIDIA nodewright-packages nvidia-tuned",
	  .not_shown = "interfaces that are up keep the discipline that they have",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(qdisc) },
	{ .id = "net.somaxconn",
	  .title = "Listen backlog ceiling",
	  SYSCTL_ROW,
	  .name = "net.core.somaxconn",
	  .unit = "connections",
	  .why = "Connections that may wait for accept(); a server asks for less or equal.",
	  .source = "net.rst",
	  .not_shown = "it shows only when connections come faster than a server takes them, and "
		       "tcp-connect makes one after the other",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(somaxconn) },
};

const struct setting_table settings_net = SETTING_TABLE(rows);

/* NICs as PCI functions: on the bus at all, drivers, read request and payload sizes. */

static const char no_nic_function[] = "no network controller of a fast NIC vendor on the PCI bus";

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
			     "a cable is seen and the NIC is absent: a hot-plug fault. Shut down "
			     "and take all power off for a minute; never rescan the bus");
	} else if (fact_or(&n->hotplug_enabled, 1) == 0) {
		verdict_fail(v, four,
			     "the NIC is absent although hot plug is off. Shut down and take all "
			     "power off for a minute; never rescan the bus");
	} else if (seen_ok(&n->absent_port.f)) {
		verdict_fail(v, four,
			     arena_printf(q->a,
					  "%s is configured, and the NIC is absent: %s. Plug the "
					  "cable in, or take all power off; never rescan the bus",
					  n->absent_port.v,
					  seen_ok(&n->cable_present.f)
						  ? "no cable is seen"
						  : "no cable, or a hot-plug fault"));
	} else if (seen_ok(&n->cable_present.f)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   "absent: no cable is seen. Plug one in and wait half a minute; with a "
			   "cable in, it is a hot-plug fault: take all power off, never rescan");
	} else if (seen_ok(&n->spark_hotplug.f)) {
		verdict_na(v, CODE_NO_HARDWARE,
			   "absent: no cable, or a hot-plug fault. Plug a cable in; where one is "
			   "in, take all power off for a minute, and never rescan the bus");
	} else {
		v->slight = true;
		verdict_fail(
			v, four,
			"the NIC is not on the bus, and the scripts that take it off without a "
			"cable are not installed: plug a cable in, then look at firmware");
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
			     "a part of the NIC is missing: two ports are reached over two "
			     "functions each");
	else if (!q->m->pci.n)
		verdict_unknown(v, CODE_ERROR, "the PCI bus could not be looked at");
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
	v->current = arena_printf(q->a, "%lld plugged in since boot", n->v);
	if (n->v > 0)
		verdict_fail(v, "in since boot",
			     "the NIC came onto the bus by hot plug: such a link carries about "
			     "13 Gb/s until both machines boot with the cable in");
	else
		verdict_pass(v, "the cable was in at boot, as far as the kernel's log goes back");
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
				     : "loaded, the kernel's own");
	else
		verdict_fail(v, "all loaded", "RDMA is not available without them");
}

static const struct recommendation read_request[] = {
	{ PROFILE_DEFAULT, ON_SPARK, WANT_AT_LEAST, "512",
	  "not below the vendor's default; 4096 is for those who measured it", NULL },
	{ PROFILE_DEFAULT, ON_GPU, WANT_AT_LEAST, "4096",
	  "NVIDIA's Network Operator sets it for performance: larger reads fill the link better "
	  "(gain unmeasured here)",
	  "S1; NVIDIA nic-configuration-operator, pciPerformanceOptimized" },
	{ PROFILE_DEFAULT, ON_HOST, WANT_AT_LEAST, "512", "not below the vendor's default", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "4096",
	  "published: 4096 on all functions of the NIC", "S1" },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_AT_LEAST, "4096",
	  "larger reads fill the link better (gain unmeasured)", "S1" },
	{ PROFILE_BALANCED, ON_ALL, WANT_AT_LEAST, "512", "not below the vendor's default", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_AT_LEAST, "4096",
	  "larger reads fill the link better (gain unmeasured)", "S1" },
};

/* What would stop the write, or take it back; NULL when nothing would. */
static const char *mrrs_obstacle(const struct machine *m)
{
	if (is_locked_down(m))
		return "kernel lockdown blocks the write while Secure Boot is on";
	if (kernel_arg_with(&m->kernel, "pci", "pcie_bus_perf"))
		return "pci=pcie_bus_perf on the kernel command line clamps it to the payload size";
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
		verdict_pass(v, p->mrrs.v >= 4096 ? "as large as it can be" : q->wish->because);
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

	if (!seen_ok(&p->mps.f) || !seen_ok(&p->mps_cap.f)) {
		verdict_unseen(q, v, seen_ok(&p->mps.f) ? &p->mps_cap.f : &p->mps.f, NULL);
		return;
	}
	LIST_FOR_EACH (struct pci_function, f, &q->m->pci) {
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
		verdict_pass(v, least == p ? "as large as the NIC takes"
					   : "as large as everything below its root port takes");
	else if (!whole)
		verdict_unknown(v, CODE_ERROR,
				"below what the NIC takes; what the devices around it take could "
				"not be read");
	else
		verdict_fail(
			v, v->wanted,
			"firmware left the payload below what every device below the root port "
			"takes");
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
		verdict_fail(v, "on", "writes wait for each other on some hosts");
}

#define FUNCTION .scope = SCOPE_PCI, .select = is_data_function, .none = no_nic_function

static const struct setting nic_function_rows[] = {
	{ .id = "nic.cable",
	  .title = "NIC on the bus",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "PCI class 0x02 of vendor 15b3",
	  .not_when = "the machine is no DGX Spark, or no cable is plugged",
	  .why = "A DGX Spark takes its ConnectX-7 off the bus while no cable is plugged.",
	  .note = "The kernel's line of insufficient power on the PCIe slot (27W) is none of it: "
		  "machines at full speed have it too.",
	  .source = "S1; NVIDIA DGX Spark hot-plug scripts; NVIDIA/NV-Kernels 271",
	  .severity = SEVERITY_HIGH,
	  .judge = spark_cable,
	  .by_hand = "plug in a QSFP cable and wait half a minute; with a cable in, shut down and "
		     "take all power off for a minute. Never rescan the PCI bus" },
	{ .id = "nic.late-cable",
	  .title = "Cable in since boot",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "the kernel's log: MTKP0001:00: Cable plugin",
	  .not_when = "the machine is no DGX Spark, or its NIC is not on the bus",
	  .why = "A cable that is plugged in after boot gives a link at about 13 Gb/s of 100 a "
		 "half, with no sign in ethtool.",
	  .source = "NVIDIA/dgx-spark-playbooks issue 108; owners' measurements of 2026 (13.2 to "
		    "13.5 Gb/s, 98 to 109 after a boot)",
	  .severity = SEVERITY_HIGH,
	  .judge = late_cable,
	  .by_hand = "leave the cable in and reboot both machines" },
	{ .id = "nic.drivers",
	  .title = "RDMA drivers loaded",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "/sys/module/{ib_core,mlx5_core,mlx5_ib}",
	  .not_when = "there is no such NIC",
	  .why = "Needed for RDMA.",
	  .source = "S1",
	  .severity = SEVERITY_HIGH,
	  .judge = drivers,
	  .by_hand = "load mlx5_core and mlx5_ib; after a kernel update install the matching "
		     "driver package" },
	{ .id = "nic.mrrs",
	  .title = "Max Read Request Size",
	  FUNCTION,
	  .knob = KNOB_PCI,
	  .name = "mrrs",
	  .of = &pci_function_shape,
	  .fact = "mrrs_bytes",
	  .unit = "bytes",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "How much the NIC asks for in one read of host memory. Lost at reset and at "
		 "hot-plug.",
	  .note = "A fixed register 0x68 is published; the field lies 8 bytes into the PCI Express "
		  "capability, wherever that is. On a DGX Spark 0x68 reads all ones. The published "
		  "mask also covers the bit that resets the function.",
	  .source = "S1; pcie-base",
	  .shown_by = "rdma/read:1MiB rdma/write:1MiB tcp/send:1",
	  .settle_s = 2,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  RECOMMENDATIONS(read_request),
	  .judge = mrrs },
	{ .id = "nic.mps",
	  .title = "Max Payload Size",
	  FUNCTION,
	  .of = &pci_function_shape,
	  .fact = "mps_bytes",
	  .unit = "bytes",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "How much one packet carries. Everything below the same root port must take it.",
	  .note = "Comparing with the NIC alone warns for ever where the root port takes less (128 "
		  "of 512 on IGX Orin).",
	  .source = "S1; pcie-base",
	  .severity = SEVERITY_LOW,
	  .judge = mps,
	  .by_hand = "firmware sets it: look for the payload size in firmware setup. "
		     "pci=pcie_bus_* changes every device and its read requests too" },
	{ .id = "nic.relaxed-ordering",
	  .title = "Relaxed ordering",
	  FUNCTION,
	  .of = &pci_function_shape,
	  .fact = "relaxed_ordering",
	  .not_when = "no NIC of a fast vendor is there",
	  .why = "Lets writes pass each other on their way to memory.",
	  .source = "pcie-base; nccl-troubleshooting",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = relaxed_ordering,
	  .by_hand = "a setting of the NIC's own firmware (PCI_WR_ORDERING), or of the host's "
		     "firmware" },
};

const struct setting_table settings_nic_function = SETTING_TABLE(nic_function_rows);
