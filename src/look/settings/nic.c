/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, queues, addresses, and the PCIe side. */
#include <errno.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static const char no_nic[] = "no network interface with hardware behind it";

static const struct recommendation jumbo[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU; both ends and every switch have to "
	  "change together",
	  NULL },
	{ PROFILE_DEFAULT, ON_GENERIC | ON_HOST, WANT_LEAVE, NULL,
	  "larger frames only where every machine and switch on the way agrees", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "9000",
	  "published: 9000 on both ends; every switch on the way has to agree", "S1; S3" },
	{ PROFILE_MAX_PERFORMANCE, ON_HOST, WANT_AT_LEAST, "9000",
	  "fewer packets; both ends and every switch have to change together", NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_GPU, WANT_AT_LEAST, "9000",
	  "fewer packets, and RoCE with its largest RDMA MTU; both ends and every switch have to "
	  "change together",
	  NULL },
	{ PROFILE_TRAINING, ON_GPU, WANT_AT_LEAST, "9000",
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
static bool is_beyond(const struct rule_ctx *q)
{
	const struct nic *n = q->object;
	long long want;

	return parse_i64(q->wish->value, &want) == 0 && seen_ok(&n->max_mtu.f) &&
	       n->max_mtu.v < want;
}

static void remediate_mtu(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;

	if (*fact_text(&n->bond_master, ""))
		remediate_by_hand(out,
				  arena_printf(q->a, "set it on %s, which decides for this port",
					       n->bond_master.v));
	else
		remediate_value(q, out, remediate_target(q));
}

static void rule_nic_mtu(const struct rule_ctx *q, struct verdict *v)
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
	if (!has_target(q, v))
		return;
	if (!is_seen(q, v, &n->mtu.f, NULL))
		return;
	v->why = q->wish->because;
	v->wanted = recommendation_text(q->a, q->wish, "bytes");
	roce = rdma_mtu(n->mtu.v);
	if (recommendation_met(q->wish, arena_printf(q->a, "%lld", n->mtu.v)))
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

/* The half without a link beside one that has it: the cable is in, so it is no resting port. */
static bool twin_has_link(const struct machine *m, const struct nic *n)
{
	const struct nic *twin = port_twin(m, n, NULL);

	return twin && is_up(twin);
}

/* Up, or meant to be: an address or a twin in use shows that somebody counts on it. */
static void carrier(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool meant = *fact_text(&n->ipv4, "") || *fact_text(&n->bond_master, "");

	/* The kernel refuses to read it from an interface that is switched off. */
	if (n->carrier.f.seen == SEEN_UNSUPPORTED || n->carrier.f.err == EINVAL) {
		v->current = "switched off";
		if (meant)
			verdict_fail(v, "up", "it has an address or a bond, but is switched off");
		else
			verdict_na(v, CODE_NO_EFFECT,
				   twin_has_link(q->m, n)
					   ? "switched off; its other half is up: see nic.twins"
					   : "switched off, and nothing is configured");
		return;
	}
	if (!is_seen(q, v, &n->carrier.f, NULL))
		return;
	v->current = n->carrier.v ? "link" : "no link";
	if (n->carrier.v)
		verdict_pass(v, "the link is up");
	else if (meant)
		verdict_fail(v, "link",
			     "configured, but without a link: cable, module, far end or its "
			     "switch port");
	else
		verdict_na(v, CODE_NO_EFFECT,
			   twin_has_link(q->m, n)
				   ? "its other half has a link: see nic.twins"
				   : "no cable or no far end, and nothing is configured");
}

static void rule_nic_speed(const struct rule_ctx *q, struct verdict *v)
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
	if ((q->platform & ON_SPARK) && fact_is(&n->driver, "mlx5_core") &&
	    n->speed_mbps.v < 200000)
		verdict_fail(v, "200 Gb/s",
			     "the cable or switch port negotiated less than the port can do");
	else
		verdict_pass(v, "as negotiated; what the port could do is not known here");
}

/* Counted since boot: a link that comes up damages a frame or two, a burst overruns once. What the
 * counts grow by is not seen in one look. */
static void rule_nic_errors(const struct rule_ctx *q, struct verdict *v)
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

static void rule_nic_judge_twin(const struct rule_ctx *q, struct verdict *v, const struct nic *twin)
{
	const struct nic *n = q->object;
	bool addressed = *fact_text(&twin->ipv4, "");

	v->current =
		arena_printf(q->a, "twin %s: %s%s", twin->name,
			     addressed ? twin->ipv4.v : "no address", is_up(twin) ? "" : ", down");
	if (!is_up(twin) && !seen_ok(&twin->operstate.f))
		verdict_unseen(q, v, &twin->operstate.f, NULL);
	else if (!is_up(twin))
		verdict_fail(v, arena_printf(q->a, "%s up", twin->name),
			     "the cable is in, and one half of the port has no link: it reaches "
			     "about 100 Gb/s of its 200");
	else if (!seen_ok(&n->ipv4.f))
		verdict_unseen(q, v, &n->ipv4.f, NULL);
	else if (!*n->ipv4.v) {
		v->current = "no address";
		verdict_na(v, CODE_NO_EFFECT, "this half has no address: see nic.address");
	} else if (addressed)
		verdict_pass(v, "both halves of the port are configured");
	else
		verdict_fail(v,
			     arena_printf(q->a, "%s up with an address in a subnet of its own",
					  twin->name),
			     "one half of the port reaches about 100 Gb/s of its 200");
}

/* The link that says where it is on the bus could not be read. */
static bool has_unplaced_port(const struct machine *m)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (!*n->pci && fact_is(&n->driver, "mlx5_core"))
			return true;
	return false;
}

/* The port's two halves on a DGX Spark: each reaches half the speed. */
static void rule_nic_twins(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object, *twin;
	const struct fact *unseen = NULL;

	if (!(q->platform & ON_SPARK) || !fact_is(&n->driver, "mlx5_core")) {
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
	twin = port_twin(q->m, n, &unseen);
	if (twin)
		rule_nic_judge_twin(q, v, twin);
	else if (unseen)
		verdict_unseen(q, v, unseen, "an interface does not tell its port");
	else if (has_unplaced_port(q->m))
		verdict_unknown(v, CODE_ERROR, "an interface's place on the PCI bus is unreadable");
	else
		verdict_fail(v, "its twin present", "the other half of this port is missing");
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
	  .judge = rule_nic_errors,
	  .by_hand = "cable, module or port: exchange one at a time and look whether the count "
		     "still grows" },
	{ .id = "nic.carrier",
	  .title = "Link up",
	  DATA_PORT,
	  .health = true,
	  .of = &nic_shape,
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
	  .of = &nic_shape,
	  .fact = "speed_mbps",
	  .not_when = "the link is down",
	  .why = "What cable and far end agreed on.",
	  .source = "S1; S3",
	  .severity = SEVERITY_HIGH,
	  .judge = rule_nic_speed,
	  .by_hand = "a cable and a far end of the port's own speed" },
	{ .id = "nic.twins",
	  .title = "Both halves of a port in use",
	  DATA_PORT,
	  .not_when = "the machine is no DGX Spark, this half is down, or none has an address",
	  .read = "phys_port_name and addresses of all interfaces",
	  .why = "Each QSFP port of a DGX Spark is reached over two PCIe functions of about 100 "
		 "Gb/s each.",
	  .note = "One half alone is published as the 200 Gb/s link; NVIDIA's own 189.85 Gb/s is "
		  "the sum of both.",
	  .source = "S3; NVIDIA DGX Spark playbooks",
	  .severity = SEVERITY_HIGH,
	  .judge = rule_nic_twins,
	  .by_hand = "where a half has no link, switch it on, seat the cable again, then boot with "
		     "the cable in; give each half an address in a subnet of its own" },
	{ .id = "nic.mtu",
	  .title = "MTU",
	  DATA_PORT,
	  .knob = KNOB_LINK,
	  .name = "mtu",
	  .of = &nic_shape,
	  .fact = "mtu_bytes",
	  .unit = "bytes",
	  .not_when = "the link is down, is InfiniBand, or is a management port",
	  .why = "Larger frames mean fewer packets; from 4192 bytes on RoCE can use its largest "
		 "RDMA MTU. Both ends and every switch have to agree.",
	  .why_host = "Larger frames mean fewer packets. Both ends and every switch have to agree.",
	  .note = "A check that demands more than 1518 accepts 1600. A published networkd recipe "
		  "puts MTU= into a section that ignores it.",
	  .source = "S1; S3",
	  .shown_by = "tcp/send:1 tcp/receive:1 tcp-latency/4096B",
	  .settle_s = 10,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  RECOMMENDATIONS(jumbo),
	  .judge = rule_nic_mtu,
	  .remediate = remediate_mtu },
};

const struct setting_table settings_nic = SETTING_TABLE(rows);

/* The queues of network interfaces: rings and interrupt coalescing. */

/* The other ring has room left too. */
static bool has_room_to_send(const struct nic *n)
{
	return seen_ok(&n->tx_ring.f) && n->tx_ring.v < fact_or(&n->tx_ring_max, 0);
}

static void rings(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!is_seen(q, v, &n->rx_ring.f, "the driver has no ring sizes"))
		return;
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
			v,
			has_room_to_send(n) ? arena_printf(q->a, "rx %lld, tx %lld",
							   n->rx_ring_max.v, n->tx_ring_max.v)
					    : arena_printf(q->a, "rx %lld", n->rx_ring_max.v),
			"packets were lost for want of receive buffers. Changing it resets the "
			"link");
	else
		verdict_na(v, CODE_NO_SUPPORT,
			   "packets were lost, but the ring is as large as it can be: more queues "
			   "or faster readers");
}

/* Both: what loses packets to bursts that come in answers with bursts, and one reset of the link is
 * as bad as two. */
static void remediate_rings(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;

	remediate_value(q, out, arena_printf(q->a, "%lld", n->rx_ring_max.v));
	if (has_room_to_send(n))
		remediate_knob(q, out, (struct knob){ KNOB_LINK, "tx-ring", n->name },
			       arena_printf(q->a, "%lld", n->tx_ring_max.v));
}

static const struct recommendation moderation[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "adaptive or the driver's default; 0 us is for programs that poll for latency", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_IS, "0",
	  "no packet waits for a timer; it costs an interrupt for every burst (gain unmeasured)",
	  NULL },
};

static void coalesce(const struct rule_ctx *q, struct verdict *v)
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
	if (!has_target(q, v))
		return;
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	v->wanted = recommendation_text(q->a, q->wish, "us");
	v->why = q->wish->because;
	if (fact_or(&n->adaptive_rx, 0) == 0 && seen_ok(&n->rx_coalesce_us.f) &&
	    recommendation_met(q->wish, arena_printf(q->a, "%lld", n->rx_coalesce_us.v)))
		verdict_pass(v, "as the profile wants");
	else
		verdict_fail(v, v->wanted, "not the fixed time that the profile wants");
}

/* Adaptive moderation would set the time again. */
static void remediate_coalesce(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;

	if (fact_or(&n->adaptive_rx, 0))
		remediate_knob(q, out, (struct knob){ KNOB_LINK, "adaptive-rx", n->name }, "0");
	if (seen_ok(&n->rx_coalesce_us.f) &&
	    !recommendation_met(q->wish, arena_printf(q->a, "%lld", n->rx_coalesce_us.v)))
		remediate_value(q, out, remediate_target(q));
}

static bool has_cpus(const struct machine *m, long long node)
{
	LIST_FOR_EACH (struct numa_node, x, &m->cpu.nodes)
		if ((long long)x->index == node)
			return x->cpus.v.n > 0;
	return false;
}

/* Some CPU is far from the interface, or set aside. */
static bool irqs_matter(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!q->m->gpu.gpus.n && !has_rdma(q->m))
		verdict_na(v, CODE_NO_EFFECT,
			   "neither a GPU nor RDMA: which CPUs work on its data is not known");
	else if (!is_numa(q->m) && !has_isolated_cpus(q->m))
		verdict_na(v, CODE_NO_EFFECT, "one NUMA node, and no CPU is set aside");
	else if (is_numa(q->m) && fact_or(&n->numa_node, -1) < 0)
		verdict_unknown(v, CODE_ERROR,
				"firmware does not say which node the adapter is at");
	else if (is_numa(q->m) && !has_cpus(q->m, n->numa_node.v))
		verdict_na(v, CODE_NO_EFFECT, "the adapter's NUMA node has no CPU");
	else
		return true;
	return false;
}

static size_t count_words(const char *list)
{
	size_t n = 0;

	for (const char *p = list + strspn(list, " "); *p; p += strspn(p, " "), n++)
		p += strcspn(p, " ");
	return n;
}

static void irq_placement(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	const struct fact *where = &n->irqs_away.f;
	struct idset near = nic_cpus(q->a, q->m, n, false);
	size_t away;

	if (!irqs_matter(q, v) || !is_seen(q, v, &n->irqs.f, "the device has no MSI interrupts"))
		return;
	if (!n->irqs.v) {
		verdict_na(v, CODE_NO_EFFECT, "no interrupt of it is in use");
		return;
	}
	away = count_words(fact_text(&n->irqs_away, ""));
	v->current = arena_printf(q->a, "%lld on CPUs %s%s", n->irqs.v,
				  idset_format(q->a, &n->irq_cpus.v),
				  away ? arena_printf(q->a, ", %zu of them away", away) : "");
	if (first_untold(&where, 1))
		verdict_unseen(q, v, where, NULL);
	else if (!away)
		verdict_pass(v, "every interrupt is served near the adapter");
	else
		verdict_fail(v, arena_printf(q->a, "CPUs %s", idset_format(q->a, &near)),
			     is_numa(q->m)
				     ? arena_printf(q->a,
						    "data cross to another socket before a CPU "
						    "sees them%s",
						    has_isolated_cpus(q->m)
							    ? ", or disturb CPUs set aside"
							    : "")
				     : "interrupts disturb CPUs that are set aside");
}

/* Only those that are away: where the driver put the others is its own choice. */
static void remediate_irqs(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;
	struct idset near = nic_cpus(q->a, q->m, n, false);
	const char *cpus = idset_format(q->a, &near);

	if (service_active(q->m, "irqbalance.service")) {
		remediate_by_hand(out, "irqbalance runs and would move them again: exclude them in "
				       "its options (--banmod, --policyscript) or stop it");
		return;
	}
	if (!near.n) {
		remediate_by_hand(out, "every CPU of the adapter's node is set aside: isolate "
				       "others, or leave one for its interrupts");
		return;
	}
	for (const char *p = n->irqs_away.v; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		struct knob k = { KNOB_LINK, NULL, n->name };

		k.name = arena_printf(q->a, "irq-%.*s", (int)strcspn(p, ":"), p);
		remediate_knob(q, out, k, cpus);
	}
}

#define QUEUE_DATA_PORT                                                                            \
	.scope = SCOPE_NIC, .select = is_data_port, .knob = KNOB_LINK,                             \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting queue_rows[] = {
	{ .id = "nic.rings",
	  .title = "Ring sizes",
	  QUEUE_DATA_PORT,
	  .name = "rx-ring",
	  .read = "ETHTOOL_GRINGPARAM",
	  .not_when = "no packet was lost for want of buffers",
	  .why = "Descriptors that hold a burst.",
	  .source = "ethtool(8)",
	  .shown_by = "tcp/receive tcp-latency/64B",
	  .settle_s = 10,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  .judge = rings,
	  .remediate = remediate_rings },
	{ .id = "nic.coalesce",
	  .title = "Interrupt coalescing",
	  QUEUE_DATA_PORT,
	  .name = "rx-usecs",
	  .read = "ETHTOOL_GCOALESCE",
	  .not_when = "a user-space driver owns the port",
	  .why = "How long the NIC waits before it interrupts.",
	  .source = "ethtool(8)",
	  .shown_by = "tcp-latency/64B tcp/receive:1",
	  .settle_s = 2,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(moderation),
	  .judge = coalesce,
	  .remediate = remediate_coalesce,
	  .by_hand = "the driver lets nobody choose the time" },
	{ .id = "nic.irq-affinity",
	  .title = "Interrupts near the adapter",
	  QUEUE_DATA_PORT,
	  .name = "irq-*",
	  .of = &nic_shape,
	  .fact = "irq_cpus",
	  .not_when =
		  "the machine has one NUMA node and no CPU is set aside, or has neither GPU nor "
		  "RDMA",
	  .why = "An interrupt that another socket serves fetches every packet across. NCCL polls; "
		 "TCP, storage and connection set-up wait for interrupts.",
	  .note = "Its driver spreads interrupts from the adapter's node on. irqbalance, tuned and "
		  "scripts of the vendor (set_irq_affinity_bynode.sh) move them later.",
	  .source = "kernel core-api/irq/irq-affinity.rst; NVIDIA mlnx-tools "
		    "set_irq_affinity_bynode.sh",
	  .shown_by = "tcp/receive:1 tcp-latency/64B",
	  .settle_s = 2,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = irq_placement,
	  .remediate = remediate_irqs,
	  .by_hand = "let its interrupts be served by CPUs of its own NUMA node" },
};

const struct setting_table settings_nic_queue = SETTING_TABLE(queue_rows);

/* Addresses of interfaces: whether data ports have one, whose it is, and who keeps it. */

/* The ranges of the published example belong to others, who cannot be reached while they are used.
 */
static bool is_published_example(const char *addresses)
{
	return str_starts(addresses, "1.1.1.") || str_starts(addresses, "2.2.2.") ||
	       strstr(addresses, " 1.1.1.") || strstr(addresses, " 2.2.2.");
}

static void address(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;

	v->current = seen_ok(&n->ipv4.f) && *n->ipv4.v ? n->ipv4.v : "none";
	if (fact_is(&n->type, "infiniband")) {
		v->current = "";
		verdict_na(v, CODE_NO_EFFECT, "an InfiniBand link needs no IP address");
	} else if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
	} else if (seen_ok(&n->bond_master.f) && *n->bond_master.v) {
		verdict_na(v, CODE_NO_EFFECT,
			   arena_printf(q->a, "the address belongs to %s", n->bond_master.v));
	} else if (!seen_ok(&n->ipv4.f)) {
		v->current = NULL;
		verdict_unseen(q, v, &n->ipv4.f, NULL);
	} else if (!*n->ipv4.v && !rdma_of(q->m, n)) {
		verdict_na(v, CODE_LEFT_ALONE, "no RDMA device needs one here");
	} else if (!*n->ipv4.v) {
		verdict_fail(v, "a private IPv4 address",
			     "RDMA connections and RoCE v2 addresses derive from it");
	} else if (is_published_example(n->ipv4.v) && q->profile != PROFILE_PUBLISHED) {
		verdict_fail(v, "a private range, one /24 a path",
			     "1.1.1.0/24 and 2.2.2.0/24 are other people's networks: the published "
			     "example hides them from this machine");
	} else {
		verdict_pass(v, "set");
	}
}

/* Why nothing can be said of an interface's addresses; NULL. */
static const struct fact *unseen_address(const struct machine *m)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (*n->pci && fact_is(&n->operstate, "up") && !seen_ok(&n->ipv4.f) &&
		    n->ipv4.f.seen != SEEN_ABSENT)
			return &n->ipv4.f;
	return NULL;
}

static void rule_nic_subnets(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->m->net.nics.items;
	const struct fact *unseen = unseen_address(q->m);
	size_t pairs = 0, all = q->m->net.nics.n;

	if (!all) {
		verdict_na(v, CODE_NO_HARDWARE, "no network interface was seen");
		return;
	}
	for (size_t i = 0; i < all; i++)
		for (size_t k = i + 1; k < all; k++)
			pairs += nics_collide(&n[i], &n[k]);
	v->current = arena_printf(q->a, "%zu pairs", pairs);
	if (pairs)
		verdict_fail(v, "0 pairs",
			     "two interfaces in one subnet answer for each other and send by the "
			     "wrong one");
	else if (unseen)
		verdict_unseen(q, v, unseen, NULL);
	else
		verdict_pass(v, "every interface has a subnet of its own");
}

static void rule_nic_owner(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool nm = service_active(q->m, "NetworkManager.service"),
	     networkd = service_active(q->m, "systemd-networkd.service");

	v->current = fact_text(&n->owner, "none seen");
	if (!seen_ok(&n->owner.f)) {
		verdict_unseen(q, v, &n->owner.f,
			       nm && networkd ? "NetworkManager and systemd-networkd both run; no "
						"file names this interface"
					      : "no configuration file names this interface");
		return;
	}
	if (fact_is(&n->owner, "NetworkManager") && !nm && networkd)
		verdict_fail(v, "networkd or netplan",
			     "a NetworkManager file names it, but systemd-networkd runs instead: "
			     "what the file says is not in force");
	else if (fact_is(&n->owner, "networkd") && !networkd && nm)
		verdict_fail(v, "NetworkManager or netplan",
			     "a systemd-networkd file names it, but NetworkManager runs instead: "
			     "what the file says is not in force");
	else
		verdict_pass(v, "changes have to be kept there, or they are lost at the next boot");
}

#define ADDRESS_DATA_PORT                                                                          \
	.scope = SCOPE_NIC, .select = is_data_port,                                                \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting address_rows[] = {
	{ .id = "nic.address",
	  .title = "IPv4 address of a data port",
	  ADDRESS_DATA_PORT,
	  .of = &nic_shape,
	  .fact = "ipv4",
	  .not_when = "the link is down, is InfiniBand or part of a bond, or has no RDMA device",
	  .why = "RoCE v2 and RDMA connection set-up use it.",
	  .why_host = "Nothing connects over a port without an address.",
	  .note = "1.1.1.1/24 and 2.2.2.2/24 are published; both are public networks of others.",
	  .source = "S1; S3",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  .judge = address,
	  .by_hand = "an address of a private range, in the files of whoever owns the interface: "
		     "nic.owner says who" },
	{ .id = "nic.subnets",
	  .title = "One subnet an interface",
	  .scope = SCOPE_HOST,
	  .read = "addresses of all interfaces",
	  .why = "With two interfaces in a subnet Linux answers for either on both.",
	  .source = "S3; arp_ignore in ip-sysctl.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = rule_nic_subnets,
	  .by_hand = "one subnet for each interface, in the files of whoever owns them" },
	{ .id = "nic.owner",
	  .title = "Who configures the interface",
	  ADDRESS_DATA_PORT,
	  .of = &nic_shape,
	  .fact = "owner",
	  .not_when = "no configuration file names it",
	  .why = "A change made with another tool is lost at boot. On DGX OS the owner is netplan.",
	  .source = "S1; S3",
	  .severity = SEVERITY_LOW,
	  .judge = rule_nic_owner,
	  .by_hand = "leave the interface to one manager and take it out of the other's files" },
};

const struct setting_table settings_nic_address = SETTING_TABLE(address_rows);
