/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, queues. Addresses are in nic_address.c, the PCIe side in
 * nic_function.c. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <errno.h>
#include <string.h>

static const char no_nic[] = "no network interface with hardware behind it";

static const struct opinion jumbo[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU", NULL },
	{ PROFILE_DEFAULT, ON_GENERIC, WANT_LEAVE, NULL,
	  "larger frames only where every machine and switch on the way agrees", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "9000",
	  "published: 9000 on both ends", "S1; S3" },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU", NULL },
	{ PROFILE_TRAINING, ON_ALL, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU", NULL },
};

/* What RoCE makes of an interface's MTU: the kernel takes off 96 bytes of headers and the next
 * power of two below, 256 to 4096. Source: include/rdma/ib_addr.h, iboe_get_mtu(). */
static long long rdma_mtu(long long mtu)
{
	long long n = 4096;

	while (n > 256 && n > mtu - 96)
		n /= 2;
	return n;
}

static void mtu(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	long long roce;

	if (fact_is(&n->type, "infiniband")) {
		verdict_na(v, CODE_NO_EFFECT,
			   "an InfiniBand link: its MTU belongs to the subnet manager");
		return;
	}
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!has_wish(q, v))
		return;
	if (!seen_ok(&n->mtu.f)) {
		verdict_unseen(q, v, &n->mtu.f, NULL);
		return;
	}
	v->why = q->wish->because;
	v->wanted = opinion_text(q->a, q->wish, "bytes");
	roce = rdma_mtu(n->mtu.v);
	if (opinion_met(q->wish, arena_printf(q->a, "%lld", n->mtu.v)))
		verdict_pass(v, "both ends and the switch must agree, which only an active test "
				"shows");
	else if (seen_ok(&n->max_mtu.f) && n->max_mtu.v < 9000)
		verdict_na(v, CODE_NO_SUPPORT,
			   arena_printf(q->a, "the hardware's largest MTU is %lld bytes",
					n->max_mtu.v));
	else
		verdict_fail(v, v->wanted,
			     rdma_of(q->m, n)
				     ? arena_printf(q->a,
						    "RoCE runs with an RDMA MTU of %lld of 4096. "
						    "Both ends and the switch have to change "
						    "together",
						    roce)
				     : "small frames. Both ends and the switch have to change "
				       "together");
}

/* Up, or meant to be: an address or a twin in use shows that somebody counts on it. */
static void carrier(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool meant = *fact_text(&n->ipv4, "") || *fact_text(&n->bond_master, "");

	/* The kernel refuses to read it from an interface that is switched off. */
	if (n->carrier.f.seen == SEEN_UNSUPPORTED || n->carrier.f.err == EINVAL) {
		v->current = "switched off";
		if (meant)
			verdict_fail(v, "up", "it has an address or a bond, but is switched off");
		else
			verdict_na(v, CODE_NO_EFFECT, "switched off, and nothing is configured");
		return;
	}
	if (!seen_ok(&n->carrier.f)) {
		verdict_unseen(q, v, &n->carrier.f, NULL);
		return;
	}
	v->current = n->carrier.v ? "link" : "no link";
	if (n->carrier.v)
		verdict_pass(v, "the link is up");
	else if (meant)
		verdict_fail(v, "link",
			     "configured, but without a link: cable, module, far end or its "
			     "switch port");
	else
		verdict_na(v, CODE_NO_EFFECT, "no cable or no far end, and nothing is configured");
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
		verdict_pass(v, "as negotiated; what the port could do is not known here");
}

/* Counted since boot: a link that comes up damages a frame or two, a burst overruns once. What the
 * counts grow by is not seen in one look. */
static void errors(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	long long crc = fact_or(&n->rx_crc_errors, -1), missed = fact_or(&n->rx_missed, -1);

	/* A pass needs both counters; many errors in one are certain without the other. */
	if ((crc < 0 || missed < 0) && crc <= 10 && missed <= 1000) {
		verdict_unseen(q, v, crc < 0 ? &n->rx_crc_errors.f : &n->rx_missed.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld CRC errors, %lld missed", crc < 0 ? 0 : crc,
				  missed < 0 ? 0 : missed);
	if (crc > 10)
		verdict_fail(v, "few CRC errors",
			     "damaged frames since boot: cable, module or port, if it still grows");
	else if (missed > 1000)
		verdict_fail(v, "few missed",
			     "packets were lost for want of receive buffers since boot: larger "
			     "rings or more queues, if it still grows");
	else
		verdict_pass(v, crc > 0 || missed > 0 ? "few since boot: only growth is a fault"
						      : "none since boot");
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
	if (!seen_ok(&n->rx_missed.f))
		verdict_na(v, CODE_LEFT_ALONE, "whether packets were lost is not counted here");
	else if (n->rx_missed.v <= 1000)
		verdict_na(v, CODE_LEFT_ALONE,
			   "no packets to speak of were lost for want of receive buffers");
	else if (n->rx_ring.v < fact_or(&n->rx_ring_max, 0))
		verdict_fail(
			v, arena_printf(q->a, "rx %lld", n->rx_ring_max.v),
			"packets were lost for want of receive buffers. Changing it resets the "
			"link");
	else
		verdict_na(v, CODE_NO_SUPPORT,
			   "packets were lost, but the ring is as large as it can be: more queues "
			   "or faster readers");
}

static const struct opinion moderation[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "adaptive or the driver's default; 0 us is for programs that poll for latency", NULL },
};

static void coalesce(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!seen_ok(&n->rx_coalesce_us.f) && !seen_ok(&n->adaptive_rx.f)) {
		verdict_unseen(q, v, &n->rx_coalesce_us.f,
			       "the driver has no interrupt coalescing");
		return;
	}
	v->current = fact_or(&n->adaptive_rx, 0) ? "adaptive"
		     : seen_ok(&n->rx_coalesce_us.f)
			     ? arena_printf(q->a, "%lld us", n->rx_coalesce_us.v)
			     : "fixed";
	if (!has_wish(q, v))
		return;
	v->wanted = opinion_text(q->a, q->wish, "us");
	v->why = q->wish->because;
	if (fact_or(&n->adaptive_rx, 0) == 0 && seen_ok(&n->rx_coalesce_us.f) &&
	    opinion_met(q->wish, arena_printf(q->a, "%lld", n->rx_coalesce_us.v)))
		verdict_pass(v, "as the profile wants");
	else
		verdict_fail(v, v->wanted, "not the fixed time that the profile wants");
}

/* The other function of the same port; *unseen is set when an interface did not tell its port. */
static const struct nic *find_twin(const struct machine *m, const struct nic *n,
				   const struct fact **unseen)
{
	LIST_FOR_EACH (struct nic, other, &m->net.nics) {
		if (other == n || !*other->pci || strcmp(other->pci, n->pci) == 0 ||
		    !fact_is(&other->driver, "mlx5_core"))
			continue;
		if (fact_is(&other->port, n->port.v))
			return other;
		if (!seen_ok(&other->port.f))
			*unseen = &other->port.f;
	}
	return NULL;
}

static void judge_twin(const struct question *q, struct verdict *v, const struct nic *twin,
		       const struct fact *unseen)
{
	bool addressed = twin && *fact_text(&twin->ipv4, "");

	if (!twin && unseen) {
		verdict_unseen(q, v, unseen, "an interface does not tell its port");
		return;
	}
	if (!twin) {
		verdict_fail(v, "its twin present", "the other half of this port is missing");
		return;
	}
	v->current =
		arena_printf(q->a, "twin %s: %s%s", twin->name,
			     addressed ? twin->ipv4.v : "no address", is_up(twin) ? "" : ", down");
	if (is_up(twin) && addressed)
		verdict_pass(v, "both halves of the port are configured");
	else
		verdict_fail(v,
			     arena_printf(q->a, "%s up with an address in a subnet of its own",
					  twin->name),
			     "one half of the port reaches about 100 Gb/s of its 200");
}

/* The port's two halves on a DGX Spark: each reaches half the speed. */
static void twins(const struct question *q, struct verdict *v)
{
	const struct nic *n = q->object;
	const struct fact *unseen = NULL;

	if (q->platform != ON_SPARK || !fact_is(&n->driver, "mlx5_core")) {
		verdict_na(v, CODE_NOT_HERE,
			   "DGX Spark only: one port is reached over two PCIe functions");
		return;
	}
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!seen_ok(&n->port.f) || !seen_ok(&n->ipv4.f)) {
		verdict_unseen(q, v, seen_ok(&n->port.f) ? &n->ipv4.f : &n->port.f, NULL);
		return;
	}
	if (!*n->ipv4.v) {
		v->current = "no address";
		verdict_na(v, CODE_NO_EFFECT, "this half has no address: see nic.address");
		return;
	}
	judge_twin(q, v, find_twin(q->m, n, &unseen), unseen);
}

#define PORT .scope = SCOPE_NIC, .none = no_nic
#define DATA_PORT                                                                                  \
	.scope = SCOPE_NIC, .select = is_data_port,                                                \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting rows[] = {
	{ .id = "nic.errors",
	  .title = "Receive errors",
	  PORT,
	  .health = true,
	  .read = "statistics/{rx_crc_errors,rx_missed_errors}",
	  .why = "Counted since boot by the interface: a count is no rate.",
	  .source = "kernel networking/statistics.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = errors },
	{ .id = "nic.carrier",
	  .title = "Link up",
	  DATA_PORT,
	  .health = true,
	  .of = &schema_nic,
	  .fact = "carrier",
	  .not_when = "nothing is configured on it",
	  .why = "A port that is configured and has no link carries nothing.",
	  .source = "S1; S3",
	  .severity = SEVERITY_HIGH,
	  .judge = carrier },
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
	  .not_when = "the machine is no DGX Spark, or this half has no address",
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
	  .unit = "bytes",
	  .not_when = "the link is down, is InfiniBand, or is a management port",
	  .why = "Larger frames mean fewer packets; from 4192 bytes on RoCE can use its largest "
		 "RDMA MTU. Both ends and every switch have to agree.",
	  .note = "A check that demands more than 1518 accepts 1600. A published networkd recipe "
		  "puts MTU= into a section that "
		  "ignores it.",
	  .source = "S1; S3",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  OPINIONS(jumbo),
	  .judge = mtu },
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
	  OPINIONS(moderation),
	  .judge = coalesce },
};

const struct setting_table settings_nic = SETTING_TABLE(rows);
