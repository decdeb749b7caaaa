/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCE on a fabric: pause by priority, trust, congestion control, and what an adapter's firmware
 * keeps. The right values follow from the switches, so that a machine is mostly held against itself
 * and against its peers; what a vendor sets stands beside it.
 */
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

const char *roce_differs(const struct roce_side *x, const struct roce_side *y)
{
	if (x->pfc && y->pfc && strcmp(x->pfc, y->pfc) != 0)
		return "PFC";
	if (x->trust && y->trust && strcmp(x->trust, y->trust) != 0)
		return "trust";
	if (x->ets && y->ets && strcmp(x->ets, y->ets) != 0)
		return "ETS";
	return NULL;
}

static struct roce_side side_of(const struct nic *n)
{
	return (struct roce_side){ fact_text(&n->pfc, NULL), fact_text(&n->trust, NULL),
				   fact_text(&n->ets, NULL) };
}

/* The RoCE port behind an interface that is up; NULL and *v. */
static const struct rdma_port *roce_port(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	const struct rdma_port *p = rdma_of(q->m, n);

	if (!p || !fact_is(&p->link_layer, "Ethernet"))
		verdict_na(v, CODE_NO_EFFECT, "no RoCE on the port");
	else if (!is_up(n))
		verdict_na(v, CODE_NO_EFFECT, "the link is down");
	else
		return p;
	return NULL;
}

/* A rail beside it: another RoCE port of its driver and speed that is up. */
static bool is_rail_of(const struct machine *m, const struct nic *n, const struct nic *other)
{
	const struct rdma_port *p = rdma_of(m, other);

	return other != n && p && fact_is(&p->link_layer, "Ethernet") && is_up(other) &&
	       strcmp(fact_text(&other->driver, ""), fact_text(&n->driver, "")) == 0 &&
	       fact_or(&other->speed_mbps, -1) == fact_or(&n->speed_mbps, -2);
}

/* The first rail that differs in what ("PFC", "trust"); NULL. */
static const struct nic *other_rail(const struct machine *m, const struct nic *n, const char *what)
{
	struct roce_side own = side_of(n);

	LIST_FOR_EACH (struct nic, other, &m->net.nics) {
		struct roce_side its = side_of(other);
		const char *differs = is_rail_of(m, n, other) ? roce_differs(&own, &its) : NULL;

		if (differs && strcmp(differs, what) == 0)
			return other;
	}
	return NULL;
}

/* What all other rails agree on, where there are two at least; NULL. */
static const char *rails_agree(const struct machine *m, const struct nic *n)
{
	const char *all = NULL;
	size_t count = 0;

	LIST_FOR_EACH (struct nic, other, &m->net.nics) {
		if (!is_rail_of(m, n, other) || !seen_ok(&other->pfc.f))
			continue;
		if (all && strcmp(all, other->pfc.v) != 0)
			return NULL;
		all = other->pfc.v;
		count++;
	}
	return count >= 2 ? all : NULL;
}

static void rule_pfc(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object, *other;

	if (!roce_port(q, v) || !is_seen(q, v, &n->pfc.f, "the driver has no data center bridging"))
		return;
	v->current = strcmp(n->pfc.v, "none") == 0 ? "none"
						   : arena_printf(q->a, "priority %s", n->pfc.v);
	other = other_rail(q->m, n, "PFC");
	if (other) {
		const char *others = rails_agree(q->m, n);

		verdict_fail(
			v,
			others ? arena_printf(q->a, "%s, same as all others", others)
			       : "the same on every rail",
			arena_printf(q->a,
				     "%s has %s: collectives wait for the rail that drops packets",
				     other->name, other->pfc.v));
	} else if (strcmp(n->pfc.v, "0-7") == 0 && !(q->wish && q->wish->value)) {
		verdict_fail(v, "only the priority of RoCE",
			     "every priority is paused: one slow receiver stops all traffic");
	} else if (!has_target(q, v)) {
		return;
	} else if (recommendation_met(q->wish, n->pfc.v)) {
		verdict_pass(
			v,
			"at target value; the switch must match, which only the switch can show");
	} else {
		verdict_fail(v, recommendation_text(q->a, q->wish, NULL),
			     "change the port together with every switch port along the path");
	}
}

static void remediate_pfc(const struct rule_ctx *q, struct remediations *out)
{
	const struct nic *n = q->object;
	const char *others = rails_agree(q->m, n);

	if (fact_is(&n->dcbx, "firmware"))
		remediate_by_hand(out, "the firmware negotiates PFC (DCBX): set it at the switch, "
				       "or hand DCBX to the host first");
	else if (service_active(q->m, "lldpad.service"))
		remediate_by_hand(out, "lldpad negotiates PFC and would reset it: \"lldptool -T -i "
				       "INTERFACE -V PFC enabled=PRIORITY\"");
	else if (other_rail(q->m, n, "PFC") && others)
		remediate_value(q, out, others);
	else if (q->wish && q->wish->rel != WANT_LEAVE)
		remediate_value(q, out, remediate_target(q));
	else
		remediate_by_hand(out, "give all rails the switch's priority: \"dcb pfc set dev "
				       "INTERFACE prio-pfc all:off PRIORITY:on\"");
}

/* Some RDMA traffic goes over a VLAN, whose tag has a priority. */
static bool is_tagged(const struct rdma_port *p, const struct nic *n)
{
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (seen_ok(&g->netdev.f) && strcmp(g->netdev.v, n->name) != 0)
			return true;
	return false;
}

static void rule_trust(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object, *other;
	const struct rdma_port *p = roce_port(q, v);

	if (!p || !is_seen(q, v, &n->trust.f, "trust not reported by the driver"))
		return;
	v->current = n->trust.v;
	other = other_rail(q->m, n, "trust");
	if (other)
		verdict_fail(
			v, "the same on every rail",
			arena_printf(
				q->a,
				"%s trusts %s: on one rail the pauses do not affect its traffic",
				other->name, other->trust.v));
	else if (!seen_ok(&n->pfc.f) || strcmp(n->pfc.v, "none") == 0)
		verdict_na(v, CODE_NO_EFFECT, "no priority is paused, so trust does not matter");
	else if (strcmp(n->trust.v, "dscp") == 0)
		verdict_pass(v, "packets keep their priority without a VLAN tag");
	else if (is_tagged(p, n))
		verdict_pass(v, "trust is the VLAN tag, and the port's RDMA uses a VLAN");
	else
		verdict_fail(v, "dscp",
			     arena_printf(q->a,
					  "priority %s is paused, but packets without a VLAN tag "
					  "never have this priority",
					  n->pfc.v));
}

/* A class of ets ("CLASS:PRIORITIES:HOW ...") with a paused priority that also holds others, or
 * that is sent last (ETS with 0 %): *last. NULL: none. */
static const char *wrong_class(struct arena *a, const char *ets, const char *pfc, bool *last)
{
	struct idset paused = { 0 }, its;

	if (idset_parse(a, pfc, &paused))
		return NULL;
	for (const char *p = ets; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		const char *set = p + strcspn(p, ":"), *how;

		set += *set == ':';
		how = set + strcspn(set, ": ");
		if (*how != ':' ||
		    idset_parse(a, arena_strndup(a, set, (size_t)(how - set)), &its) ||
		    !idset_intersects(&its, &paused))
			continue;
		*last = strncmp(how, ":ets=0", 6) == 0 && strchr(" ", how[6]);
		if (*last || !idset_contains(&paused, &its))
			return arena_strndup(a, p, strcspn(p, " "));
	}
	return NULL;
}

static void rule_ets(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object, *other;
	const char *class;
	bool last = false;

	if (!roce_port(q, v) || !is_seen(q, v, &n->ets.f, "the driver has no traffic classes"))
		return;
	v->current = n->ets.v;
	other = other_rail(q->m, n, "ETS");
	if (other)
		verdict_fail(v, "the same on every rail",
			     arena_printf(q->a, "%s has %s: one rail is scheduled differently",
					  other->name, other->ets.v));
	else if (!seen_ok(&n->pfc.f) || strcmp(n->pfc.v, "none") == 0)
		verdict_na(v, CODE_NO_EFFECT, "no priority is paused");
	else if ((class = wrong_class(q->a, n->ets.v, n->pfc.v, &last)) != NULL)
		verdict_fail(
			v, last ? "each priority has a share" : "a class without other priorities",
			last ? arena_printf(q->a,
					    "class %s is sent only when no other class has data",
					    class)
			     : arena_printf(q->a,
					    "class %s also contains priorities that should not "
					    "pause, but stop with it",
					    class));
	else
		verdict_pass(v, "paused priorities have their own classes");
}

static bool has_other_port(const struct machine *m, const struct rdma_port *p)
{
	LIST_FOR_EACH (struct rdma_port, other, &m->net.rdma)
		if (other != p && fact_is(&other->link_layer, "Ethernet") &&
		    fact_is(&other->state, "ACTIVE"))
			return true;
	return false;
}

/* The other RoCE port whose notifications are marked otherwise; NULL. */
static const struct rdma_port *marks_otherwise(const struct machine *m, const struct rdma_port *p)
{
	LIST_FOR_EACH (struct rdma_port, o, &m->net.rdma)
		if (o != p && fact_is(&o->link_layer, "Ethernet") && fact_is(&o->state, "ACTIVE") &&
		    fact_or(&o->rate_mbps, -1) == fact_or(&p->rate_mbps, -2) &&
		    ((seen_ok(&o->cnp_dscp.f) && o->cnp_dscp.v != p->cnp_dscp.v) ||
		     (seen_ok(&o->cnp_priority.f) && o->cnp_priority.v != p->cnp_priority.v)))
			return o;
	return NULL;
}

/* A paused priority without congestion control; -1. */
static int uncontrolled(const struct machine *m, const struct rdma_port *p)
{
	const struct nic *n = machine_nic(m, fact_text(&p->netdev, ""));
	ARENA_AUTO a = { 0 };
	struct idset paused = { 0 };
	int found = -1;

	if (n && seen_ok(&n->pfc.f) && seen_ok(&p->ecn_off.f) &&
	    idset_parse(&a, n->pfc.v, &paused) == 0)
		IDSET_FOR_EACH (priority, &paused)
			if (found < 0 && idset_has(&p->ecn_off.v, priority))
				found = (int)priority;
	return found;
}

static void rule_dcqcn(const struct rule_ctx *q, struct verdict *v)
{
	const struct rdma_port *p = q->object, *other;
	int off;

	if (!fact_is(&p->link_layer, "Ethernet") || !fact_is(&p->state, "ACTIVE")) {
		verdict_na(v, CODE_NO_EFFECT,
			   fact_is(&p->link_layer, "Ethernet")
				   ? "the port is not in state ACTIVE"
				   : "InfiniBand has its own congestion control");
		return;
	}
	if (!is_seen(q, v, &p->cnp_dscp.f, "congestion control not reported by the driver") ||
	    !is_seen(q, v, &p->cnp_priority.f,
		     "priority of notifications not reported by the driver"))
		return;
	v->current = arena_printf(q->a, "CNP with DSCP %lld, priority %lld", p->cnp_dscp.v,
				  p->cnp_priority.v);
	other = marks_otherwise(q->m, p);
	off = uncontrolled(q->m, p);
	if (off >= 0)
		verdict_fail(v, "on for every priority with PFC",
			     arena_printf(q->a,
					  "congestion control is off for priority %d, which is "
					  "paused: pauses spread to other traffic",
					  off));
	else if (other)
		verdict_fail(
			v, "the same on every rail",
			arena_printf(q->a,
				     "%s sends notifications with DSCP %lld, priority %lld, unlike "
				     "the other rails: the switch prioritizes only one kind",
				     other->name, fact_or(&other->cnp_dscp, -1),
				     fact_or(&other->cnp_priority, -1)));
	else if (!p->cnp_dscp.v)
		verdict_fail(v, "another DSCP, such as 48",
			     "with the DSCP of ordinary packets, notifications wait behind them");
	else
		verdict_pass(v, has_other_port(q->m, p)
					? "the same on every rail; the switch must assign that "
					  "DSCP to its fastest queue"
					: "the switch must assign that DSCP to its fastest queue");
}

/*
 * What vendors set in an adapter's firmware. Not in the list, because vendors contradict each
 * other: CNP_DSCP_P1 (4 by the operator, 48 by the driver, which most switches expect),
 * CNP_802P_PRIO_P1 (6), MAX_ACC_OUT_READ (44 on DGX A100, 0 in older releases of the operator,
 * ignored by later ones), PCI_WR_ORDERING (1 in a guide of AMD and Broadcom alone).
 */
static const struct firmware_wish {
	const char *name;
	long long value;
	bool bare; /* not in a virtual machine */
	const char *note;
} firmware_wishes[] = {
	{ "ATS_ENABLED", 0, true,
	  "with 1, translated requests bypass the PCIe switch, as for passed-through devices of "
	  "HGX Blackwell Ultra" },
	{ "ROCE_CC_PRIO_MASK_P1", 255, false, "congestion control for all priorities" },
	{ "ROCE_CC_PRIO_MASK_P2", 255, false, "congestion control for all priorities" },
};
enum { FIRMWARE_WISHES = sizeof(firmware_wishes) / sizeof(firmware_wishes[0]) };

/* Of "NAME=VALUE NAME=VALUE"; false: it is not there. */
static bool firmware_value(const char *settings, const char *name, long long *out)
{
	size_t n = strlen(name);

	for (const char *p = settings; *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			return sscanf(p + n + 1, "%lld", out) == 1;
	return false;
}

static void rule_firmware(const struct rule_ctx *q, struct verdict *v)
{
	const struct nic *n = q->object;
	const struct rdma_port *p = rdma_of(q->m, n);
	bool roce = p && fact_is(&p->link_layer, "Ethernet");

	if (!fact_is(&n->driver, "mlx5_core")) {
		verdict_na(v, CODE_NO_SUPPORT, "adapter not supported by mlxconfig");
		return;
	}
	if (n->firmware_settings.f.seen == SEEN_UNASKED) {
		verdict_na(v, CODE_NEEDS_DEEP, "mlxconfig takes a second per adapter: use --deep");
		return;
	}
	if (!is_seen(q, v, &n->firmware_settings.f, "neither mlxconfig nor mstconfig is installed"))
		return;
	v->current = n->firmware_settings.v;
	for (size_t i = 0; i < FIRMWARE_WISHES; i++) {
		const struct firmware_wish *w = &firmware_wishes[i];
		long long now;

		if ((w->bare && (is_virtual(q->m) || !q->m->gpu.gpus.n)) ||
		    (!roce && str_starts(w->name, "ROCE_")) ||
		    !firmware_value(n->firmware_settings.v, w->name, &now) || now == w->value)
			continue;
		verdict_fail(v, arena_printf(q->a, "%s=%lld", w->name, w->value), w->note);
		return;
	}
	verdict_pass(v, "the vendor's value, if vendors agree");
}

#include "look/settings_roce_rows.h"
