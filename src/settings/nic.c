/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, addresses, queues. Their PCIe side is in nic_function.c. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char no_nic[] = "no network interface with hardware behind it";

/* A port for data: a NIC whose RDMA device or speed says so, that is up. Management ports keep MTU
 * 1500. */
static bool is_data_port(const struct machine *m, const struct nic *n)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->netdev, n->name) || (*p->pci && strcmp(p->pci, n->pci) == 0))
			return true;
	return fact_or(&n->speed_mbps, 0) >= 25000;
}

static bool selects_data_ports(const struct machine *m, const void *object)
{
	return is_data_port(m, object);
}

static bool is_up(const struct nic *n)
{
	return fact_is(&n->operstate, "up") || fact_or(&n->carrier, 0) == 1;
}

static void mtu(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (fact_is(&n->type, "infiniband")) {
		verdict_na(v, CODE_NO_EFFECT,
			   "an InfiniBand link: its MTU belongs to the subnet manager");
		return;
	}
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!seen_ok(&n->mtu.f)) {
		verdict_unseen(q, v, &n->mtu.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld bytes", n->mtu.v);
	v->wanted = "9000 bytes";
	if (fact_or(&n->max_mtu, 9000) < 9000)
		verdict_na(v, CODE_NO_SUPPORT,
			   arena_printf(q->a, "the hardware's largest MTU is %lld bytes",
					n->max_mtu.v));
	else if (n->mtu.v >= 9000)
		verdict_pass(v, "jumbo frames; both ends and the switch must agree, which only an "
				"active test shows");
	else
		verdict_fail(v, v->wanted,
			     "small frames: RoCE runs with an RDMA MTU of 1024 instead of 4096. "
			     "Both ends and the switch "
			     "have to change together");
}

static void speed(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!seen_ok(&n->speed_mbps.f) || n->speed_mbps.v <= 0) {
		verdict_unseen(q, v, &n->speed_mbps.f, "the driver does not report a speed");
		return;
	}
	v->current = arena_printf(q->a, "%lld Gb/s", n->speed_mbps.v / 1000);
	if (q->platform == ON_SPARK && fact_is(&n->driver, "mlx5_core") && n->speed_mbps.v < 200000)
		verdict_fail(v, "200 Gb/s",
			     "the cable or switch port negotiated less than the port can do");
	else
		verdict_pass(v, "as negotiated");
}

/* Counted since boot; the share of all packets is not known here, so only the fact is stated. */
static void errors(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	long long crc = fact_or(&n->rx_crc_errors, -1), missed = fact_or(&n->rx_missed, -1);

	/* A pass needs both counters; an error in one is certain without the other. */
	if ((crc < 0 || missed < 0) && crc <= 0 && missed <= 0) {
		verdict_unseen(q, v, &n->rx_crc_errors.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld CRC errors, %lld missed", crc < 0 ? 0 : crc,
				  missed < 0 ? 0 : missed);
	if (crc > 0)
		verdict_fail(v, "0 CRC errors", "damaged frames since boot: cable, module or port");
	else if (missed > 0)
		verdict_fail(v, "0 missed",
			     "packets were lost for want of receive buffers since boot: larger "
			     "rings or more queues");
	else
		verdict_pass(v, "none since boot");
}

static void rings(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!seen_ok(&n->rx_ring.f)) {
		verdict_unseen(q, v, &n->rx_ring.f, "the driver has no ring sizes");
		return;
	}
	v->current = arena_printf(q->a, "rx %lld of %lld, tx %lld of %lld", n->rx_ring.v,
				  fact_or(&n->rx_ring_max, 0), fact_or(&n->tx_ring, 0),
				  fact_or(&n->tx_ring_max, 0));
	if (fact_or(&n->rx_missed, 0) > 0 && n->rx_ring.v < fact_or(&n->rx_ring_max, 0))
		verdict_fail(v, arena_printf(q->a, "rx %lld", n->rx_ring_max.v),
			     "packets were lost for want of receive buffers");
	else
		verdict_na(v, CODE_LEFT_ALONE, "no packet was lost for want of receive buffers");
}

static void coalesce(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!seen_ok(&n->rx_coalesce_us.f) && !seen_ok(&n->adaptive_rx.f)) {
		verdict_unseen(q, v, &n->rx_coalesce_us.f,
			       "the driver has no interrupt coalescing");
		return;
	}
	v->current = fact_or(&n->adaptive_rx, 0)
			     ? "adaptive"
			     : arena_printf(q->a, "%lld us", fact_or(&n->rx_coalesce_us, 0));
	verdict_na(v, CODE_LEFT_ALONE,
		   "adaptive or the driver's default; 0 us is for programs that poll for latency");
}

/* RFC 1918, link-local, loopback and carrier-grade NAT: anything else on a data port shadows
 * somebody's address. */
static bool is_private(unsigned a, unsigned b)
{
	return a == 10 || (a == 172 && b >= 16 && b < 32) || (a == 192 && b == 168) ||
	       (a == 169 && b == 254) || a == 127 || (a == 100 && b >= 64 && b < 128);
}

static void address(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	unsigned a, b;

	if (fact_is(&n->type, "infiniband") || !is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT,
			   is_up(n) ? "an InfiniBand link needs no IP address"
				    : "the link is down");
		return;
	}
	if (!seen_ok(&n->ipv4.f)) {
		verdict_unseen(q, v, &n->ipv4.f, NULL);
		return;
	}
	v->current = *n->ipv4.v ? n->ipv4.v : "none";
	if (!*n->ipv4.v)
		verdict_fail(v, "a private IPv4 address",
			     "RDMA connections and RoCE v2 addresses derive from it");
	else if (sscanf(n->ipv4.v, "%u.%u.", &a, &b) == 2 && !is_private(a, b) &&
		 q->profile == PROFILE_PUBLISHED)
		verdict_na(v, CODE_LEFT_ALONE,
			   "public, as published; see what the default profile says of it");
	else if (sscanf(n->ipv4.v, "%u.%u.", &a, &b) == 2 && (a == 1 || a == 2))
		verdict_fail(v, "a private range, one /24 a path",
			     "1.1.1.0/24 and 2.2.2.0/24 are other people's networks: the published "
			     "example hides them from this machine");
	else
		verdict_pass(v, "set");
}

static void subnets(const struct question *q, struct verdict *v)
{
	const struct fact_int *bad = &q->m->net.bad_subnets;

	if (!q->m->net.nics.n) {
		verdict_na(v, CODE_NO_HARDWARE, "no network interface was seen");
		return;
	}
	if (!seen_ok(&bad->f)) {
		verdict_unseen(q, v, &bad->f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld pairs", bad->v);
	if (bad->v == 0)
		verdict_pass(v, "every interface has a subnet of its own");
	else
		verdict_fail(v, "0 pairs",
			     "two interfaces in one subnet answer for each other and send by the "
			     "wrong one");
}

static void owner(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool nm = service_active(q->m, "NetworkManager.service"),
	     networkd = service_active(q->m, "systemd-networkd.service");

	v->current = fact_text(&n->owner, "none seen");
	if (!seen_ok(&n->owner.f)) {
		verdict_unseen(q, v, &n->owner.f,
			       nm && networkd ? "NetworkManager and systemd-networkd both run; no "
						"file names this "
						"interface"
					      : "no configuration file names this interface");
		return;
	}
	verdict_pass(v, "changes have to be kept there, or they are lost at the next boot");
}

/* The port's two halves on a DGX Spark: each reaches half the speed. */
static void twins(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (q->platform != ON_SPARK || !fact_is(&n->driver, "mlx5_core")) {
		verdict_na(v, CODE_NOT_HERE,
			   "DGX Spark only: one port is reached over two PCIe functions");
		return;
	}
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!seen_ok(&n->port.f)) {
		verdict_unseen(q, v, &n->port.f, NULL);
		return;
	}
	LIST_FOR_EACH (struct nic, other, &q->m->net.nics) {
		if (other == n || !fact_is(&other->port, n->port.v) ||
		    strcmp(other->pci, n->pci) == 0 || !*other->pci)
			continue;
		v->current =
			arena_printf(q->a, "twin %s: %s", other->name,
				     *fact_text(&other->ipv4, "") ? other->ipv4.v : "no address");
		if (is_up(other) && *fact_text(&other->ipv4, ""))
			verdict_pass(v, "both halves of the port are configured");
		else
			verdict_fail(v,
				     arena_printf(q->a,
						  "%s up with an address in a subnet of its own",
						  other->name),
				     "one half of the port reaches about 100 Gb/s of its 200");
		return;
	}
	verdict_fail(v, "its twin present", "the other half of this port is missing");
}

#define PORT .scope = SCOPE_NIC, .none = no_nic
#define DATA_PORT                                                                                  \
	.scope = SCOPE_NIC, .select = selects_data_ports,                                          \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting rows[] = {
	{ .id = "nic.errors",
	  .title = "Receive errors",
	  PORT,
	  .health = true,
	  .read = "statistics/{rx_crc_errors,rx_missed_errors}",
	  .why = "Counted since boot by the interface.",
	  .source = "kernel networking/statistics.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = errors },
	{ .id = "nic.speed",
	  .title = "Link speed",
	  DATA_PORT,
	  .health = true,
	  .of = &schema_nic,
	  .fact = "speed_mbps",
	  .not_when = "the link is down",
	  .why = "What cable and far end agreed on.",
	  .source = "S1; S3",
	  .severity = SEVERITY_HIGH,
	  .judge = speed },
	{ .id = "nic.twins",
	  .title = "Both halves of a port in use",
	  DATA_PORT,
	  .not_when = "the machine is no DGX Spark",
	  .read = "phys_port_name and addresses of all interfaces",
	  .why = "Each QSFP port of a DGX Spark is reached over two PCIe functions of about 100 "
		 "Gb/s each.",
	  .note = "One half alone is published as the 200 Gb/s link; NVIDIA's own 189.85 Gb/s is "
		  "the sum of both.",
	  .source = "S3; NVIDIA DGX Spark playbooks",
	  .severity = SEVERITY_HIGH,
	  .judge = twins },
	{ .id = "nic.mtu",
	  .title = "MTU",
	  DATA_PORT,
	  .knob = KNOB_LINK,
	  .name = "mtu",
	  .of = &schema_nic,
	  .fact = "mtu_bytes",
	  .not_when = "the link is down, is InfiniBand, or is a management port",
	  .why = "Larger frames mean fewer packets; from 4200 bytes on RoCE can use its largest "
		 "RDMA MTU.",
	  .note = "A check that demands more than 1518 accepts 1600. A published networkd recipe "
		  "puts MTU= into a section that "
		  "ignores it.",
	  .source = "S1; S3",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .judge = mtu },
	{ .id = "nic.address",
	  .title = "IPv4 address of a data port",
	  DATA_PORT,
	  .of = &schema_nic,
	  .fact = "ipv4",
	  .not_when = "the link is down or is InfiniBand",
	  .why = "RoCE v2 and RDMA connection set-up use it.",
	  .note = "1.1.1.1/24 and 2.2.2.2/24 are published; both are public networks of others.",
	  .source = "S1; S3",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  .judge = address },
	{ .id = "nic.subnets",
	  .title = "One subnet an interface",
	  .scope = SCOPE_HOST,
	  .read = "addresses of all interfaces",
	  .why = "With two interfaces in a subnet Linux answers for either on both.",
	  .source = "S3; arp_ignore in ip-sysctl.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = subnets },
	{ .id = "nic.owner",
	  .title = "Who configures the interface",
	  DATA_PORT,
	  .of = &schema_nic,
	  .fact = "owner",
	  .not_when = "no configuration file names it",
	  .why = "A change made with another tool is lost at boot. On DGX OS the owner is netplan.",
	  .source = "S1; S3",
	  .severity = SEVERITY_INFO,
	  .judge = owner },
	{ .id = "nic.rings",
	  .title = "Ring sizes",
	  DATA_PORT,
	  .knob = KNOB_LINK,
	  .name = "rings",
	  .read = "ETHTOOL_GRINGPARAM",
	  .not_when = "no packet was lost for want of buffers",
	  .why = "Descriptors that hold a burst.",
	  .source = "ethtool(8)",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  .judge = rings },
	{ .id = "nic.coalesce",
	  .title = "Interrupt coalescing",
	  DATA_PORT,
	  .knob = KNOB_LINK,
	  .name = "coalesce",
	  .read = "ETHTOOL_GCOALESCE",
	  .not_when = "a user-space driver owns the port",
	  .why = "How long the NIC waits before it interrupts.",
	  .source = "ethtool(8)",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = coalesce },
};

const struct setting_table settings_nic = SETTING_TABLE(rows);
