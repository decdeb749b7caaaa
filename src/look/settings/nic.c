/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, queues. Addresses are in nic_address.c, the PCIe side in
 * nic_function.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static const char no_nic[] = "no network interface with hardware behind it";

static const struct opinion jumbo[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU; both ends and every switch have to "
	  "change together",
	  NULL },
	{ PROFILE_DEFAULT, ON_GENERIC, WANT_LEAVE, NULL,
	  "larger frames only where every machine and switch on the way agrees", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "9000",
	  "published: 9000 on both ends; every switch on the way has to agree", "S1; S3" },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU; both ends and every switch have to "
	  "change together",
	  NULL },
	{ PROFILE_TRAINING, ON_ALL, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU; both ends and every switch have to "
	  "change together",
	  NULL },
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

/* More than the hardware takes. */
static bool is_beyond(const struct question *q)
{
	const struct nic *n = q->object;
	long long want;

	return parse_i64(q->wish->value, &want) == 0 && seen_ok(&n->max_mtu.f) &&
	       n->max_mtu.v < want;
}

static void aim_mtu(const struct question *q, struct aims *out)
{
	const struct nic *n = q->object;

	if (*fact_text(&n->bond_master, ""))
		aim_by_hand(out, arena_printf(q->a, "set it on %s, which decides for this port",
					      n->bond_master.v));
	else
		aim_value(q, out, aim_wished(q));
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
	else if (is_beyond(q))
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
	  .judge = errors,
	  .by_hand = "cable, module or port: exchange one at a time and look whether the count "
		     "still grows" },
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
	  .judge = carrier,
	  .by_hand = "plug in or exchange the cable, look at the far end, or take the "
		     "configuration away" },
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
	  .judge = speed,
	  .by_hand = "a cable and a far end of the port's own speed" },
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
	  .judge = twins,
	  .by_hand = "give the twin an address in a subnet of its own, in the files of whoever "
		     "owns the interface" },
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
	  .shown_by = "tcp/send:1 tcp/receive:1 tcp-latency/4096B",
	  .settle_s = 10,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  OPINIONS(jumbo),
	  .judge = mtu,
	  .aim = aim_mtu },
};

const struct setting_table settings_nic = SETTING_TABLE(rows);
