/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of network interfaces: rings and interrupt coalescing. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

/* The other ring has room left too. */
static bool has_room_to_send(const struct nic *n)
{
	return seen_ok(&n->tx_ring.f) && n->tx_ring.v < fact_or(&n->tx_ring_max, 0);
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
static void aim_rings(const struct question *q, struct aims *out)
{
	const struct nic *n = q->object;

	aim_value(q, out, arena_printf(q->a, "%lld", n->rx_ring_max.v));
	if (has_room_to_send(n))
		aim_knob(q, out, (struct knob){ KNOB_LINK, "tx-ring", n->name },
			 arena_printf(q->a, "%lld", n->tx_ring_max.v));
}

static const struct opinion moderation[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "adaptive or the driver's default; 0 us is for programs that poll for latency", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_IS, "0",
	  "no packet waits for a timer; it costs an interrupt for every burst (gain unmeasured)",
	  NULL },
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
	if (!is_up(n)) {
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
		return;
	}
	v->wanted = opinion_text(q->a, q->wish, "us");
	v->why = q->wish->because;
	if (fact_or(&n->adaptive_rx, 0) == 0 && seen_ok(&n->rx_coalesce_us.f) &&
	    opinion_met(q->wish, arena_printf(q->a, "%lld", n->rx_coalesce_us.v)))
		verdict_pass(v, "as the profile wants");
	else
		verdict_fail(v, v->wanted, "not the fixed time that the profile wants");
}

/* Adaptive moderation would set the time again. */
static void aim_coalesce(const struct question *q, struct aims *out)
{
	const struct nic *n = q->object;

	if (fact_or(&n->adaptive_rx, 0))
		aim_knob(q, out, (struct knob){ KNOB_LINK, "adaptive-rx", n->name }, "0");
	if (seen_ok(&n->rx_coalesce_us.f) &&
	    !opinion_met(q->wish, arena_printf(q->a, "%lld", n->rx_coalesce_us.v)))
		aim_value(q, out, aim_wished(q));
}

#define DATA_PORT                                                                                  \
	.scope = SCOPE_NIC, .select = is_data_port, .knob = KNOB_LINK,                             \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting rows[] = {
	{ .id = "nic.rings",
	  .title = "Ring sizes",
	  DATA_PORT,
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
	  .aim = aim_rings },
	{ .id = "nic.coalesce",
	  .title = "Interrupt coalescing",
	  DATA_PORT,
	  .name = "rx-usecs",
	  .read = "ETHTOOL_GCOALESCE",
	  .not_when = "a user-space driver owns the port",
	  .why = "How long the NIC waits before it interrupts.",
	  .source = "ethtool(8)",
	  .shown_by = "tcp-latency/64B tcp/receive:1",
	  .settle_s = 2,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(moderation),
	  .judge = coalesce,
	  .aim = aim_coalesce,
	  .by_hand = "the driver lets nobody choose the time" },
};

const struct setting_table settings_nic_queue = SETTING_TABLE(rows);
