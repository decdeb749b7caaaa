/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, addresses, queues; and the PCIe side of NICs: MRRS and MPS. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char no_nic[] = "no network interface with hardware behind it";
static const char no_nic_function[] = "no network controller of a fast NIC vendor on the PCI bus";

enum { VENDOR_MELLANOX = 0x15b3 };

/* A port for data: a NIC whose RDMA device or speed says so, that is up. Management ports keep MTU 1500. */
static bool is_data_port(const struct machine *m, const struct nic *n)
{
	LIST_FOR_EACH(struct rdma_port, p, &m->net.rdma)
		if (fact_is(&p->netdev, n->name) || (*p->pci && strcmp(p->pci, n->pci) == 0))
			return true;
	return fact_or(&n->speed_mbps, 0) >= 25000;
}

static bool is_data_function(const struct machine *m, const void *object)
{
	const struct pci_function *p = object;

	(void)m;
	/* Virtual functions follow their physical one. */
	return pci_base_class(p) == 0x02 && fact_or(&p->vendor, 0) == VENDOR_MELLANOX && fact_or(&p->is_vf, 0) != 1;
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
		verdict_na(v, CODE_NO_EFFECT, "an InfiniBand link: its MTU belongs to the subnet manager");
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
		verdict_na(v, CODE_NO_SUPPORT, arena_printf(q->a, "the hardware's largest MTU is %lld bytes", n->max_mtu.v));
	else if (n->mtu.v >= 9000)
		verdict_pass(v, "jumbo frames; both ends and the switch must agree, which only an active test shows");
	else
		verdict_fail(v, v->wanted, "small frames: RoCE runs with an RDMA MTU of 1024 instead of 4096. Both ends and the switch "
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
		verdict_fail(v, "200 Gb/s", "the cable or switch port negotiated less than the port can do");
	else
		verdict_pass(v, "as negotiated");
}

/* Counted since boot; the share of all packets is not known here, so only the fact is stated. */
static void errors(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	long long crc = fact_or(&n->rx_crc_errors, -1), missed = fact_or(&n->rx_missed, -1);

	if (crc < 0 && missed < 0) {
		verdict_unseen(q, v, &n->rx_crc_errors.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld CRC errors, %lld missed", crc < 0 ? 0 : crc, missed < 0 ? 0 : missed);
	if (crc > 0)
		verdict_fail(v, "0 CRC errors", "damaged frames since boot: cable, module or port");
	else if (missed > 0)
		verdict_fail(v, "0 missed", "packets were lost for want of receive buffers since boot: larger rings or more queues");
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
	v->current = arena_printf(q->a, "rx %lld of %lld, tx %lld of %lld", n->rx_ring.v, fact_or(&n->rx_ring_max, 0),
				  fact_or(&n->tx_ring, 0), fact_or(&n->tx_ring_max, 0));
	if (fact_or(&n->rx_missed, 0) > 0 && n->rx_ring.v < fact_or(&n->rx_ring_max, 0))
		verdict_fail(v, arena_printf(q->a, "rx %lld", n->rx_ring_max.v), "packets were lost for want of receive buffers");
	else
		verdict_na(v, CODE_LEFT_ALONE, "no packet was lost for want of receive buffers");
}

static void coalesce(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!seen_ok(&n->rx_coalesce_us.f) && !seen_ok(&n->adaptive_rx.f)) {
		verdict_unseen(q, v, &n->rx_coalesce_us.f, "the driver has no interrupt coalescing");
		return;
	}
	v->current = fact_or(&n->adaptive_rx, 0) ? "adaptive" : arena_printf(q->a, "%lld us", fact_or(&n->rx_coalesce_us, 0));
	verdict_na(v, CODE_LEFT_ALONE, "adaptive or the driver's default; 0 us is for programs that poll for latency");
}

/* RFC 1918, link-local, loopback and carrier-grade NAT: anything else on a data port shadows somebody's address. */
static bool is_private(unsigned a, unsigned b)
{
	return a == 10 || (a == 172 && b >= 16 && b < 32) || (a == 192 && b == 168) || (a == 169 && b == 254) || a == 127 ||
	       (a == 100 && b >= 64 && b < 128);
}

static void address(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	unsigned a, b;

	if (fact_is(&n->type, "infiniband") || !is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, is_up(n) ? "an InfiniBand link needs no IP address" : "the link is down");
		return;
	}
	if (!seen_ok(&n->ipv4.f)) {
		verdict_unseen(q, v, &n->ipv4.f, NULL);
		return;
	}
	v->current = *n->ipv4.v ? n->ipv4.v : "none";
	if (!*n->ipv4.v)
		verdict_fail(v, "a private IPv4 address", "RDMA connections and RoCE v2 addresses derive from it");
	else if (sscanf(n->ipv4.v, "%u.%u.", &a, &b) == 2 && !is_private(a, b) && q->profile == PROFILE_PUBLISHED)
		verdict_na(v, CODE_LEFT_ALONE, "public, as published; see what the default profile says of it");
	else if (sscanf(n->ipv4.v, "%u.%u.", &a, &b) == 2 && (a == 1 || a == 2))
		verdict_fail(v, "a private range, one /24 a path", "1.1.1.0/24 and 2.2.2.0/24 are other people's networks: the published "
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
		verdict_fail(v, "0 pairs", "two interfaces in one subnet answer for each other and send by the wrong one");
}

static void owner(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool nm = service_active(q->m, "NetworkManager.service"), networkd = service_active(q->m, "systemd-networkd.service");

	v->current = fact_text(&n->owner, "none seen");
	if (!seen_ok(&n->owner.f)) {
		verdict_unseen(q, v, &n->owner.f, nm && networkd ? "NetworkManager and systemd-networkd both run; no file names this "
								      "interface" : "no configuration file names this interface");
		return;
	}
	verdict_pass(v, "changes have to be kept there, or they are lost at the next boot");
}

/* The port's two halves on a DGX Spark: each reaches half the speed. */
static void twins(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (q->platform != ON_SPARK || !fact_is(&n->driver, "mlx5_core")) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only: one port is reached over two PCIe functions");
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
	LIST_FOR_EACH(struct nic, other, &q->m->net.nics) {
		if (other == n || !fact_is(&other->port, n->port.v) || strcmp(other->pci, n->pci) == 0 || !*other->pci)
			continue;
		v->current = arena_printf(q->a, "twin %s: %s", other->name, *fact_text(&other->ipv4, "") ? other->ipv4.v : "no address");
		if (is_up(other) && *fact_text(&other->ipv4, ""))
			verdict_pass(v, "both halves of the port are configured");
		else
			verdict_fail(v, arena_printf(q->a, "%s up with an address in a subnet of its own", other->name),
				     "one half of the port reaches about 100 Gb/s of its 200");
		return;
	}
	verdict_fail(v, "its twin present", "the other half of this port is missing");
}

/* No cable on a DGX Spark means no PCI function: people debug firmware for nothing. */
static void spark_cable(const struct question *q, struct verdict *v)
{
	size_t functions = 0;

	if (q->platform != ON_SPARK) {
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only");
		return;
	}
	LIST_FOR_EACH(struct pci_function, p, &q->m->pci)
		functions += is_data_function(q->m, p);
	v->current = arena_printf(q->a, "%zu ConnectX functions", functions);
	if (functions)
		verdict_pass(v, "the NIC is on the bus");
	else if (!q->m->pci.n)
		verdict_unknown(v, CODE_ERROR, "the PCI bus could not be looked at");
	else
		verdict_fail(v, "4 functions", "without a QSFP cable the NIC is taken off the bus shortly after boot: plug a cable in first");
}

static void drivers(const struct question *q, struct verdict *v)
{
	const struct network *n = &q->m->net;
	const struct fact *const parts[] = { &n->ib_core.f, &n->mlx5_core.f, &n->mlx5_ib.f }, *unread = first_unread(parts, 3);
	bool card = false;

	LIST_FOR_EACH(struct pci_function, p, &q->m->pci)
		card = card || is_data_function(q->m, p);
	if (!card) {
		verdict_na(v, CODE_NO_HARDWARE, "no ConnectX or BlueField NIC");
		return;
	}
	v->current = arena_printf(q->a, "ib_core %s, mlx5_core %s, mlx5_ib %s", fact_text(&n->ib_core, "missing"),
				  fact_text(&n->mlx5_core, "missing"), fact_text(&n->mlx5_ib, "missing"));
	if (unread)
		verdict_unseen(q, v, unread, NULL);
	else if (seen_ok(&n->ib_core.f) && seen_ok(&n->mlx5_core.f) && seen_ok(&n->mlx5_ib.f))
		verdict_pass(v, seen_ok(&n->ofed_version.f) ? arena_printf(q->a, "loaded, DOCA/OFED %s", n->ofed_version.v)
							    : "loaded, the kernel's own");
	else
		verdict_fail(v, "all loaded", "RDMA is not available without them");
}

/* --- PCIe side ---------------------------------------------------------------------------------------- */

static void mrrs(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object;
	long long want = q->profile == PROFILE_PUBLISHED || q->profile == PROFILE_LOW_LATENCY ||
				 q->profile == PROFILE_MAX_PERFORMANCE || q->platform == ON_IGX ? 4096 : 512;

	if (!seen_ok(&p->mrrs.f)) {
		verdict_unseen(q, v, &p->mrrs.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld bytes", p->mrrs.v);
	v->wanted = arena_printf(q->a, ">= %lld bytes", want);
	if (p->mrrs.v >= want)
		verdict_pass(v, want == 4096 ? "as large as it can be" : "not below the vendor's default; 4096 is for those who measured it");
	else if (is_locked_down(q->m))
		verdict_fail(v, v->wanted, "larger reads fill the link better (gain unmeasured); kernel lockdown blocks the write while "
			     "Secure Boot is on");
	else
		verdict_fail(v, v->wanted, "larger reads fill the link better (gain unmeasured)");
}

/* The payload can be no larger than the smallest capability between the NIC and its root port. */
static void mps(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object, *up;
	long long least = fact_or(&p->mps_cap, 0);
	const char *who = p->name;
	bool whole = is_placed(q->m, p);
	size_t hops = 0;

	if (!seen_ok(&p->mps.f) || !seen_ok(&p->mps_cap.f)) {
		verdict_unseen(q, v, seen_ok(&p->mps.f) ? &p->mps_cap.f : &p->mps.f, NULL);
		return;
	}
	for (up = machine_pci(q->m, p->parent); up && hops++ < 32; up = machine_pci(q->m, up->parent)) {
		whole = whole && seen_ok(&up->mps_cap.f);
		if (seen_ok(&up->mps_cap.f) && up->mps_cap.v < least) {
			least = up->mps_cap.v;
			who = up->name;
		}
	}
	v->current = arena_printf(q->a, "%lld bytes", p->mps.v);
	v->wanted = arena_printf(q->a, "%lld bytes", least);
	if (p->mps.v >= least)
		verdict_pass(v, who == p->name ? "as large as the NIC takes"
					       : arena_printf(q->a, "as large as the path takes (%s)", who));
	else if (!whole)
		verdict_unknown(v, CODE_ERROR, "below what the NIC takes; what the bridges above it take could not be read");
	else
		verdict_fail(v, v->wanted, "firmware left the payload below what every device on the path takes");
}

static void relaxed_ordering(const struct question *q, struct verdict *v)
{
	const struct pci_function *p = q->object;

	if (!seen_ok(&p->relaxed_ordering.f)) {
		verdict_unseen(q, v, &p->relaxed_ordering.f, NULL);
		return;
	}
	v->current = p->relaxed_ordering.v ? "on" : "off";
	if (p->relaxed_ordering.v)
		verdict_pass(v, "on");
	else
		verdict_fail(v, "on", "writes wait for each other on some hosts");
}

#define PORT .scope = SCOPE_NIC, .none = no_nic
#define DATA_PORT .scope = SCOPE_NIC, .select = selects_data_ports, .none = "no data port (RDMA, or 25 Gb/s and more)"
#define FUNCTION .scope = SCOPE_PCI, .select = is_data_function, .none = no_nic_function

static const struct setting rows[] = {
	{ .id = "nic.cable", .title = "NIC on the bus", .scope = SCOPE_HOST, .health = true, .read = "PCI class 0x02 of vendor 15b3",
	  .not_when = "the machine is no DGX Spark", .why = "A DGX Spark takes its ConnectX-7 off the bus while no cable is plugged.",
	  .source = "S1; NVIDIA DGX Spark hot-plug scripts", .severity = SEVERITY_LOW, .judge = spark_cable },
	{ .id = "nic.drivers", .title = "RDMA drivers loaded", .scope = SCOPE_HOST, .health = true,
	  .read = "/sys/module/{ib_core,mlx5_core,mlx5_ib}", .not_when = "there is no such NIC", .why = "Needed for RDMA.",
	  .source = "S1", .severity = SEVERITY_HIGH, .judge = drivers },
	{ .id = "nic.errors", .title = "Receive errors", PORT, .health = true, .read = "statistics/{rx_crc_errors,rx_missed_errors}",
	  .why = "Counted since boot by the interface.", .source = "kernel networking/statistics.rst", .severity = SEVERITY_MEDIUM,
	  .judge = errors },
	{ .id = "nic.speed", .title = "Link speed", DATA_PORT, .health = true, .of = &schema_nic, .fact = "speed_mbps",
	  .not_when = "the link is down", .why = "What cable and far end agreed on.", .source = "S1; S3",
	  .severity = SEVERITY_HIGH, .judge = speed },
	{ .id = "nic.twins", .title = "Both halves of a port in use", DATA_PORT, .not_when = "the machine is no DGX Spark",
	  .read = "phys_port_name and addresses of all interfaces",
	  .why = "Each QSFP port of a DGX Spark is reached over two PCIe functions of about 100 Gb/s each.",
	  .note = "One half alone is published as the 200 Gb/s link; NVIDIA's own 189.85 Gb/s is the sum of both.",
	  .source = "S3; NVIDIA DGX Spark playbooks", .severity = SEVERITY_HIGH, .judge = twins },
	{ .id = "nic.mtu", .title = "MTU", DATA_PORT, .knob = KNOB_LINK, .name = "mtu", .of = &schema_nic, .fact = "mtu_bytes",
	  .not_when = "the link is down, is InfiniBand, or is a management port",
	  .why = "Larger frames mean fewer packets; from 4200 bytes on RoCE can use its largest RDMA MTU.",
	  .note = "A check that demands more than 1518 accepts 1600. A published networkd recipe puts MTU= into a section that "
		  "ignores it.",
	  .source = "S1; S3", .severity = SEVERITY_MEDIUM, .risk = RISK_SERVICE, .judge = mtu },
	{ .id = "nic.address", .title = "IPv4 address of a data port", DATA_PORT, .of = &schema_nic, .fact = "ipv4",
	  .not_when = "the link is down or is InfiniBand", .why = "RoCE v2 and RDMA connection set-up use it.",
	  .note = "1.1.1.1/24 and 2.2.2.2/24 are published; both are public networks of others.", .source = "S1; S3",
	  .severity = SEVERITY_LOW, .risk = RISK_SERVICE, .judge = address },
	{ .id = "nic.subnets", .title = "One subnet an interface", .scope = SCOPE_HOST, .read = "addresses of all interfaces",
	  .why = "With two interfaces in a subnet Linux answers for either on both.", .source = "S3; arp_ignore in ip-sysctl.rst",
	  .severity = SEVERITY_MEDIUM, .judge = subnets },
	{ .id = "nic.owner", .title = "Who configures the interface", DATA_PORT, .of = &schema_nic, .fact = "owner",
	  .not_when = "no configuration file names it",
	  .why = "A change made with another tool is lost at boot. On DGX OS the owner is netplan.", .source = "S1; S3",
	  .severity = SEVERITY_INFO, .judge = owner },
	{ .id = "nic.rings", .title = "Ring sizes", DATA_PORT, .knob = KNOB_LINK, .name = "rings", .read = "ETHTOOL_GRINGPARAM",
	  .not_when = "no packet was lost for want of buffers", .why = "Descriptors that hold a burst.",
	  .source = "ethtool(8)", .severity = SEVERITY_LOW, .risk = RISK_SERVICE, .judge = rings },
	{ .id = "nic.coalesce", .title = "Interrupt coalescing", DATA_PORT, .knob = KNOB_LINK, .name = "coalesce",
	  .read = "ETHTOOL_GCOALESCE", .not_when = "a user-space driver owns the port",
	  .why = "How long the NIC waits before it interrupts.", .source = "ethtool(8)", .severity = SEVERITY_LOW,
	  .risk = RISK_LOW, .judge = coalesce },
	{ .id = "nic.mrrs", .title = "Max Read Request Size", FUNCTION, .knob = KNOB_PCI, .name = "mrrs",
	  .of = &schema_pci_function, .fact = "mrrs_bytes", .not_when = "no NIC of a fast vendor is there",
	  .why = "How much the NIC asks for in one read of host memory. Lost at reset and at hot-plug.",
	  .note = "A fixed register 0x68 is published; the field lies 8 bytes into the PCI Express capability, wherever that is. On "
		  "a DGX Spark 0x68 reads all ones. The published mask also covers the bit that resets the function.",
	  .source = "S1; pcie-base", .severity = SEVERITY_LOW, .risk = RISK_SERVICE, .judge = mrrs },
	{ .id = "nic.mps", .title = "Max Payload Size", FUNCTION, .of = &schema_pci_function, .fact = "mps_bytes",
	  .not_when = "no NIC of a fast vendor is there", .why = "How much one packet carries. The whole path must take it.",
	  .note = "Comparing with the NIC alone warns for ever where the root port takes less (128 of 512 on IGX Orin).",
	  .source = "S1; pcie-base", .severity = SEVERITY_LOW, .judge = mps },
	{ .id = "nic.relaxed-ordering", .title = "Relaxed ordering", FUNCTION, .of = &schema_pci_function,
	  .fact = "relaxed_ordering", .not_when = "no NIC of a fast vendor is there",
	  .why = "Lets writes pass each other on their way to memory.", .source = "pcie-base; nccl-troubleshooting",
	  .severity = SEVERITY_LOW, .risk = RISK_LOW, .judge = relaxed_ordering },
};

const struct setting_table settings_nic = SETTING_TABLE(rows);
