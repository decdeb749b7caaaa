/* SPDX-License-Identifier: Apache-2.0 */
/* System-wide network settings. What belongs to one interface is in nic.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opinion buffer_max[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "16777216",
	  "a ceiling only: programs that ask for large buffers (NCCL sockets, RPC) get them",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "16777216",
	  "published as: prevents drops of large responses", "S0" },
};
static const struct opinion buffer_default[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "tcp_rmem and tcp_wmem override it for TCP; 1 MiB for every UDP, raw and unix socket "
	  "wastes memory",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "1048576",
	  "set by the published script beside the maxima", "S0" },
};
static const struct opinion backlog[] = {
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "5000", "published as: prevents drops during bursts",
	  "S0" },
};
static const struct opinion fastopen[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "bit 2 only permits servers that set TCP_FASTOPEN themselves; without such a server "
	  "nothing changes",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "3", "published as: lower first-request latency",
	  "S0" },
};
static const struct opinion slow_start[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_IS, "0",
	  "keeps the congestion window of long-lived connections between bursts on a local network",
	  NULL },
	{ PROFILE_DEFAULT, ON_GENERIC, WANT_LEAVE, NULL,
	  "on a shared wide-area path the reset protects others; a server on a local network can "
	  "choose 0",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "0", "published as: no ramp-up between generations",
	  "S0" },
	{ PROFILE_INFERENCE, ON_GENERIC, WANT_IS, "0",
	  "clients that hold their connection pause between requests (gain unmeasured)", NULL },
};
static const struct opinion somaxconn[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "4096", "the kernel's own default since 5.4",
	  NULL },
};

static const struct opinion tcp_largest[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "16777216",
	  "autotuning may then reach the bandwidth-delay product of a 25 Gb/s path of 5 ms", NULL },
};

/* The third number of tcp_rmem or tcp_wmem bounds what autotuning may reach. */
static void tcp_mem(const struct question *q, struct verdict *v)
{
	long long lowest, initial, largest;
	bool fast = false;

	if (!has_wish(q, v))
		return;
	if (!seen_ok(&q->current.f)) {
		verdict_unseen(q, v, &q->current.f, NULL);
		return;
	}
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
	v->wanted = arena_printf(q->a, "largest %s", opinion_text(q->a, q->wish, "bytes"));
	if (opinion_met(q->wish, arena_printf(q->a, "%lld", largest)))
		verdict_pass(
			v, "autotuning may reach the bandwidth-delay product of a fast local path");
	else
		verdict_fail(v, v->wanted,
			     "autotuning stops below the bandwidth-delay product of a 25 Gb/s path "
			     "of 5 ms");
}

/* The first two numbers are the administrator's. */
static void aim_tcp_mem(const struct question *q, struct aims *out)
{
	long long lowest, initial;

	/* It is read anew, and may have gone since it was judged. */
	if (seen_ok(&q->current.f) && sscanf(q->current.v, "%lld %lld", &lowest, &initial) == 2)
		aim_value(q, out,
			  arena_printf(q->a, "%lld %lld %s", lowest, initial, aim_wished(q)));
}

/* NAPI drivers bypass this queue unless RPS or a virtual interface puts packets there. */
static bool want_backlog(const struct question *q, struct opinion *o)
{
	if (q->profile == PROFILE_PUBLISHED)
		return false;
	if (!seen_ok(&q->m->net.softnet_dropped.f) || q->m->net.softnet_dropped.v == 0) {
		*o = (struct opinion){ .rel = WANT_LEAVE,
				       .because =
					       "no packet was dropped at this queue since boot" };
		return true;
	}
	*o = (struct opinion){ .rel = WANT_AT_LEAST,
			       .value = "5000",
			       .because = arena_printf(
				       q->a, "%lld packets were dropped at this queue since boot",
				       q->m->net.softnet_dropped.v) };
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
		 "is not: that is "
		 "tcp_rmem.",
	  .note = "Published as TCP throughput for an API server; such a server does not set the "
		  "buffer and is governed by "
		  "tcp_rmem.",
	  .source = "S0; net.rst; ip-sysctl.rst",
	  .not_shown = "only programs that set a socket's buffer themselves feel it; no bench of "
		       "ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(buffer_max) },
	{ .id = "net.wmem-max",
	  .title = "Largest send buffer a program may ask for",
	  SYSCTL_ROW,
	  .name = "net.core.wmem_max",
	  .unit = "bytes",
	  .why = "Only programs that call setsockopt(SO_SNDBUF) are bounded by it. TCP autotuning "
		 "is not: that is "
		 "tcp_wmem.",
	  .source = "S0; net.rst; ip-sysctl.rst",
	  .not_shown = "only programs that set a socket's buffer themselves feel it; no bench of "
		       "ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(buffer_max) },
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
	  OPINIONS(buffer_default) },
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
	  OPINIONS(buffer_default) },
	{ .id = "net.tcp-rmem",
	  .title = "TCP receive autotuning limits",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_rmem",
	  .why = "Lowest, initial and largest receive buffer of a TCP connection, bytes. The "
		 "largest bounds throughput "
		 "times round trip.",
	  .note = "None of the published guides sets it, although it is what bounds TCP.",
	  .source = "ip-sysctl.rst",
	  .shown_by = "tcp/receive:1 tcp/send:1",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(tcp_largest),
	  .judge = tcp_mem,
	  .aim = aim_tcp_mem },
	{ .id = "net.tcp-wmem",
	  .title = "TCP send autotuning limits",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_wmem",
	  .why = "Lowest, initial and largest send buffer of a TCP connection, bytes. The largest "
		 "bounds throughput "
		 "times round trip.",
	  .source = "ip-sysctl.rst",
	  .shown_by = "tcp/send:1 tcp/receive:1",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(tcp_largest),
	  .judge = tcp_mem,
	  .aim = aim_tcp_mem },
	{ .id = "net.tcp-fastopen",
	  .title = "TCP Fast Open",
	  SYSCTL_ROW,
	  .name = "net.ipv4.tcp_fastopen",
	  .why = "Lets data travel in the first packet of a connection, where client and server "
		 "both ask for it.",
	  .note = "3 is published as an automatic gain. The server must set TCP_FASTOPEN on its "
		  "socket and the client "
		  "send with MSG_FASTOPEN; 0x400 would open every listener.",
	  .source = "S0; ip-sysctl.rst",
	  .shown_by = "tcp-connect/fast-open",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(fastopen) },
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
	  OPINIONS(slow_start) },
	{ .id = "net.netdev-max-backlog",
	  .title = "Per-CPU input queue",
	  SYSCTL_ROW,
	  .name = "net.core.netdev_max_backlog",
	  .unit = "packets",
	  .why = "Packets that may wait for a CPU behind RPS, veth or loopback. Drivers of fast "
		 "NICs poll and do not use "
		 "it.",
	  .source = "S0; net.rst",
	  .shown_by = "tcp/receive",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(backlog),
	  .want = want_backlog },
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
	  OPINIONS(somaxconn) },
};

const struct setting_table settings_net = SETTING_TABLE(rows);
