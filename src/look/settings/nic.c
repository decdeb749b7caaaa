/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces: link, MTU, queues, addresses, and the PCIe side. */
#include <errno.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

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
		remediate_by_hand(out, arena_printf(q->a, "set it on %s, which controls this port",
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
			   "an InfiniBand link: its MTU is controlled by the subnet manager");
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
		verdict_pass(v, "both ends and the switch must use the same MTU, which only a test "
				"with traffic shows");
	else if (is_beyond(q))
		verdict_na(v, CODE_NO_SUPPORT,
			   arena_printf(q->a, "the hardware's largest MTU is %lld bytes",
					n->max_mtu.v));
	else
		verdict_fail(
			v, v->wanted,
			rdma_of(q->m, n)
				? arena_printf(q->a,
					       "RoCE uses an RDMA MTU of %lld instead of 4096. "
					       "Change both ends and the switch together",
					       roce)
				: "the frames are small: increase the MTU of both ends and "
				  "the switch together");
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
		v->current = "administratively down";
		if (meant)
			verdict_fail(
				v, "up",
				"the port has an address or a bond, but is administratively down");
		else
			verdict_na(v, CODE_NO_EFFECT,
				   twin_has_link(q->m, n)
					   ? "administratively down; its other half is up: see "
					     "nic.twins"
					   : "administratively down, not configured");
		return;
	}
	if (!is_seen(q, v, &n->carrier.f, NULL))
		return;
	v->current = n->carrier.v ? "link" : "no link";
	if (n->carrier.v)
		verdict_pass(v, "the link is up");
	else if (meant)
		verdict_fail(v, "link",
			     "configured, but without a link: check cable, module, far end or its "
			     "switch port");
	else
		verdict_na(v, CODE_NO_EFFECT,
			   twin_has_link(q->m, n)
				   ? "the port's other half has a link: see nic.twins"
				   : "no cable or no far end, not configured");
}

static void rule_nic_speed(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool known = (q->platform & ON_SPARK) && fact_is(&n->driver, "mlx5_core");

	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	if (!seen_ok(&n->speed_mbps.f) || n->speed_mbps.v <= 0) {
		verdict_unseen(q, v, &n->speed_mbps.f, "speed not reported by the driver");
		return;
	}
	v->current = arena_printf(q->a, "%lld Gb/s", n->speed_mbps.v / 1000);
	v->slight = !known;
	if (known && n->speed_mbps.v < 200000)
		verdict_fail(v, "200 Gb/s",
			     "the cable or switch port negotiated less than the port supports");
	else
		verdict_pass(v, known ? "as fast as the port supports"
				      : "as negotiated; the port's maximum is unknown");
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
			     "damaged frames since boot: if the count still grows, check cable, "
			     "module and port");
	else if (missed > 1000)
		verdict_fail(v, "few missed",
			     "packets were dropped for lack of receive buffers since boot: if the "
			     "count still grows, use larger rings or more queues");
	else
		verdict_pass(v, crc > 0 || missed > 0 ? "few since boot: only growth is a fault"
						      : "none since boot");
}

static void rule_nic_judge_twin(const struct rule_ctx *q, struct verdict *v, const struct nic *twin)
{
	const struct nic *n = q->object;
	bool addressed = *fact_text(&twin->ipv4, "");

	v->current =
		arena_printf(q->a, "second interface %s: %s%s", twin->name,
			     addressed ? twin->ipv4.v : "no address", is_up(twin) ? "" : ", down");
	if (!is_up(twin) && !seen_ok(&twin->operstate.f))
		verdict_unseen(q, v, &twin->operstate.f, NULL);
	else if (!is_up(twin))
		verdict_fail(v, arena_printf(q->a, "%s up", twin->name),
			     "the cable is in, and one half of the port has no link: the port "
			     "reaches about 100 of its 200 Gb/s");
	else if (!seen_ok(&n->ipv4.f))
		verdict_unseen(q, v, &n->ipv4.f, NULL);
	else if (!*n->ipv4.v) {
		v->current = "no address";
		verdict_na(v, CODE_NO_EFFECT, "this half has no address: see nic.address");
	} else if (addressed)
		verdict_pass(v, "both halves of the port are configured");
	else
		verdict_fail(
			v,
			arena_printf(q->a, "%s up with an address in its own subnet", twin->name),
			"one half of the port reaches about 100 of its 200 Gb/s");
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
		verdict_na(v, CODE_NOT_HERE, "DGX Spark only: one port uses two PCIe functions");
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
		verdict_unseen(q, v, unseen, "an interface does not report its port");
	else if (has_unplaced_port(q->m))
		verdict_unknown(v, CODE_ERROR, "an interface's PCI address is unreadable");
	else
		verdict_fail(v, "both halves of the port",
			     "the other half of this port is missing");
}

/* The queues of network interfaces: rings and interrupt coalescing. */

/* The other ring has room left too. */
static bool has_room_to_send(const struct nic *n)
{
	return seen_ok(&n->tx_ring.f) && n->tx_ring.v < fact_or(&n->tx_ring_max, 0);
}

static void rings(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;

	if (!is_seen(q, v, &n->rx_ring.f, "the driver reports no ring sizes"))
		return;
	v->current = arena_printf(q->a, "rx %lld of %lld, tx %lld of %lld", n->rx_ring.v,
				  fact_or(&n->rx_ring_max, 0), fact_or(&n->tx_ring, 0),
				  fact_or(&n->tx_ring_max, 0));
	if (!seen_ok(&n->rx_missed.f))
		verdict_na(v, CODE_LEFT_ALONE, "packet drops are not counted here");
	else if (n->rx_missed.v <= 1000)
		verdict_na(v, CODE_LEFT_ALONE,
			   "few or no packets dropped for lack of receive buffers");
	else if (n->rx_ring.v < fact_or(&n->rx_ring_max, 0))
		verdict_fail(v,
			     has_room_to_send(n) ? arena_printf(q->a, "rx %lld, tx %lld",
								n->rx_ring_max.v, n->tx_ring_max.v)
						 : arena_printf(q->a, "rx %lld", n->rx_ring_max.v),
			     "packets were dropped for lack of receive buffers. A larger ring "
			     "helps, but changing it resets the link");
	else
		verdict_na(v, CODE_NO_SUPPORT,
			   "packets were dropped, but the ring is at its maximum: use more queues "
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
		verdict_pass(v, "as the profile recommends");
	else
		verdict_fail(v, v->wanted, "the time differs from the profile's fixed time");
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
			   "without a GPU or RDMA it is unknown which CPUs process the data");
	else if (!is_numa(q->m) && !has_isolated_cpus(q->m))
		verdict_na(v, CODE_NO_EFFECT, "one NUMA node, and no CPU is reserved");
	else if (is_numa(q->m) && fact_or(&n->numa_node, -1) < 0)
		verdict_unknown(v, CODE_ERROR,
				"the adapter's NUMA node is not reported by firmware");
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
		verdict_na(v, CODE_NO_EFFECT, "none of its interrupts is in use");
		return;
	}
	away = count_words(fact_text(&n->irqs_away, ""));
	v->current = arena_printf(q->a, "%lld on CPUs %s%s", n->irqs.v,
				  idset_format(q->a, &n->irq_cpus.v),
				  away ? arena_printf(q->a, ", %zu of them remote", away) : "");
	if (first_untold(&where, 1))
		verdict_unseen(q, v, where, NULL);
	else if (!away)
		verdict_pass(v, "every interrupt is served near the adapter");
	else
		verdict_fail(v, arena_printf(q->a, "CPUs %s", idset_format(q->a, &near)),
			     is_numa(q->m) ? arena_printf(q->a,
							  "data crosses to another socket before a "
							  "CPU processes it%s",
							  has_isolated_cpus(q->m)
								  ? ", or disturbs reserved CPUs"
								  : "")
					   : "interrupts disturb reserved CPUs");
}

/* Only those that are away: where the driver put the others is its own choice. */
static void remediate_irqs(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;
	struct idset near = nic_cpus(q->a, q->m, n, false);
	const char *cpus = idset_format(q->a, &near);

	if (service_active(q->m, "irqbalance.service")) {
		remediate_by_hand(
			out, "irqbalance is running and would move the interrupts again: exclude "
			     "them in its options (--banmod, --policyscript) or stop it");
		return;
	}
	if (!near.n) {
		remediate_by_hand(out, "every CPU of the adapter's NUMA node is reserved: reserve "
				       "other CPUs, or leave one for its interrupts");
		return;
	}
	for (const char *p = n->irqs_away.v; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		struct knob k = { KNOB_LINK, NULL, n->name };

		k.name = arena_printf(q->a, "irq-%.*s", (int)strcspn(p, ":"), p);
		remediate_knob(q, out, k, cpus);
	}
}

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
		verdict_na(v, CODE_LEFT_ALONE, "no RDMA device uses it, so it needs no address");
	} else if (!*n->ipv4.v) {
		verdict_fail(v, "a private IPv4 address",
			     "RDMA connections and RoCE v2 GIDs need this address");
	} else if (is_published_example(n->ipv4.v) && q->profile != PROFILE_PUBLISHED) {
		verdict_fail(v, "a private range, one /24 per path",
			     "1.1.1.0/24 and 2.2.2.0/24 are public networks: the published example "
			     "makes them unreachable from the machine");
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
		verdict_na(v, CODE_NO_HARDWARE, "no network interface found");
		return;
	}
	for (size_t i = 0; i < all; i++)
		for (size_t k = i + 1; k < all; k++)
			pairs += nics_collide(&n[i], &n[k]);
	v->current = arena_printf(q->a, "%zu pair%s", pairs, PLURAL(pairs));
	if (pairs)
		verdict_fail(v, "0 pairs",
			     "two interfaces in one subnet answer for each other and send through "
			     "the wrong one");
	else if (unseen)
		verdict_unseen(q, v, unseen, NULL);
	else
		verdict_pass(v, "every interface has its own subnet");
}

static void rule_nic_owner(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	bool nm = service_active(q->m, "NetworkManager.service"),
	     networkd = service_active(q->m, "systemd-networkd.service");

	v->current = fact_text(&n->owner, "none found");
	if (!seen_ok(&n->owner.f)) {
		verdict_unseen(q, v, &n->owner.f,
			       nm && networkd ? "NetworkManager and systemd-networkd both run; no "
						"file configures this interface"
					      : "no configuration file names this interface");
		return;
	}
	if (fact_is(&n->owner, "NetworkManager") && !nm && networkd)
		verdict_fail(v, "networkd or netplan",
			     "a NetworkManager file names it, but systemd-networkd runs instead: "
			     "the file has no effect");
	else if (fact_is(&n->owner, "networkd") && !networkd && nm)
		verdict_fail(v, "NetworkManager or netplan",
			     "a systemd-networkd file names it, but NetworkManager runs instead: "
			     "the file has no effect");
	else
		verdict_pass(v, "save changes there, or they are lost at the next boot");
}

#include "look/settings_nic_rows.h"
