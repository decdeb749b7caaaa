/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: gone, slow, half used, of different sizes, not configured as they were. */
#include <string.h>

#include "measure/doctor/rule.h"
#include "knowledge/nccl_vars.h"

/* --- twins ------------------------------------------------------------------------------------ */
static const struct observed_port *counters_of(const struct rule_facts *e, const struct nic *n)
{
	const struct rdma_port *p = rdma_of(e->m, n);

	LIST_FOR_EACH (struct observed_port, s, &e->signs->ports)
		if (p && strcmp(s->name, p->name) == 0)
			return s;
	return NULL;
}

/* Gigabytes that a port sent and received since its driver was loaded; negative: not known. */
static double traffic_of(const struct rule_facts *e, const struct nic *n)
{
	const struct observed_port *s = counters_of(e, n);

	return s && seen_ok(&s->sent.f) && seen_ok(&s->received.f)
		       ? 4e-9 * ((double)s->sent.v + (double)s->received.v)
		       : -1;
}

/* Counters of what was carried tell more than what is configured. */
static void one_carries(const struct rule_facts *e, struct judged *out)
{
	bool twins = false;

	verdict_set(e, out, CAUSE_NOT_HERE, "no port of the machine has two PCIe functions");
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *t = port_twin(e->m, n, NULL);
		double mine = traffic_of(e, n), other = t ? traffic_of(e, t) : -1;

		if (!t || !is_up(n))
			continue;
		if (mine < 0 || other < 0) {
			if (!twins)
				verdict_set(e, out, CAUSE_UNSEEN, "the traffic of %s is unknown",
					    n->name);
			twins = true;
			continue;
		}
		twins = true;
		/* Below ten gigabytes nobody has used the port for work. */
		verdict_set(e, out,
			    mine < 10		? CAUSE_POSSIBLE
			    : other < mine / 10 ? CAUSE_LIKELY
						: CAUSE_EXCLUDED,
			    "RDMA transferred %.1f GB on %s and %.1f GB on its port's other "
			    "function %s%s",
			    mine, n->name, other, t->name,
			    mine < 10 ? ": too little for a verdict" : "");
		if (out->likelihood == CAUSE_LIKELY)
			return;
	}
}

/* The devices that a list names, of those that are up. "=a,b" is exact, "^a" excludes. */
static void one_listed(const struct rule_facts *e, struct judged *out)
{
	const struct observed_var *v = var_of(e, "NCCL_IB_HCA");
	const char *list;

	if (!v) {
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "no visible file or environment sets NCCL_IB_HCA");
		return;
	}
	list = fact_text(&v->value, "");
	verdict_set(e, out, CAUSE_EXCLUDED, "%s names both PCIe functions of each port, or none",
		    var_text(e, v));
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *t = port_twin(e->m, n, NULL);
		const struct rdma_port *p = rdma_of(e->m, n), *q = t ? rdma_of(e->m, t) : NULL;

		if (p && q && *list != '^' && var_list_names(list, p->device) &&
		    !var_list_names(list, q->device))
			verdict_set(e, out, CAUSE_CERTAIN,
				    "%s omits %s, the other PCIe function of %s's port",
				    var_text(e, v), q->device, p->device);
	}
}

/* --- there, and fast -------------------------------------------------------------------------- */
static void unplugged(const struct rule_facts *e, struct judged *out)
{
	rule_by_setting(e, "nic.cable", CAUSE_LIKELY, out);
	/* Without a cable the machine takes the NIC away: nothing is broken, but it is why. */
	if (out->likelihood == CAUSE_NOT_HERE && is_spark(e) && seen_ok(&e->m->net.spark_hotplug.f))
		out->likelihood = CAUSE_POSSIBLE;
}

static bool has_mtu(const struct rule_facts *e, const struct nic *n)
{
	return is_data_port(e->m, n) && is_up(n) && seen_ok(&n->mtu.f);
}

/* The first data port that is up in a network of this kind: frames of InfiniBand are none of
 * Ethernet's. */
static const struct nic *first_alike(const struct rule_facts *e, const struct nic *n)
{
	LIST_FOR_EACH (struct nic, it, &e->m->net.nics)
		if (has_mtu(e, it) &&
		    strcmp(fact_text(&it->type, ""), fact_text(&n->type, "")) == 0)
			return it;
	return n;
}

/* Ports of one kind that are up belong to one fabric. */
static void own_ports(const struct rule_facts *e, struct judged *out)
{
	verdict_set(e, out, CAUSE_NOT_HERE, "no two data ports of the same kind are up");
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *first = has_mtu(e, n) ? first_alike(e, n) : n;

		if (first == n)
			continue;
		if (first->mtu.v != n->mtu.v) {
			verdict_set(e, out, CAUSE_LIKELY, "%s has %lld bytes, %s %lld", first->name,
				    first->mtu.v, n->name, n->mtu.v);
			return;
		}
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "every data port that is up has an MTU of %lld bytes", first->mtu.v);
	}
}

/* An end announces what its own interface can take: 40 bytes of headers less, in IPv6 60. */
static void far_end(const struct rule_facts *e, struct judged *out)
{
	enum { HEADERS = 40, OPTIONS = 12, SLACK = 32 };
	const struct path_look *p = e->path;

	if (test_missing(e, TEST_PATH, out))
		return;
	if (!p || p->segment <= 0 || p->own_segment <= 0)
		verdict_set(e, out, CAUSE_UNSEEN,
			    "the connection does not report its segment size");
	else if (p->segment + HEADERS + OPTIONS + SLACK < p->own_segment)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "%s has an MTU of %lld bytes here, but %s uses segments of %lld: the "
			    "other end has about %lld",
			    p->interface, p->mtu, p->to, p->segment,
			    p->segment + HEADERS + OPTIONS);
	else if (p->path_mtu && p->mtu && p->path_mtu < p->mtu)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "%s has an MTU of %lld bytes, but the path to %s only carries %lld",
			    p->interface, p->mtu, p->to, p->path_mtu);
	else
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "%s has an MTU of %lld bytes, and %s uses segments of %lld",
			    p->interface, p->mtu, p->to, p->segment);
}

/* --- configuration ---------------------------------------------------------------------------- */
/* That no file names a port proves nothing: files may have other names. */
static void unowned(const struct rule_facts *e, struct judged *out)
{
	rule_by_setting(e, "nic.owner", CAUSE_LIKELY, out);
	if (out->likelihood != CAUSE_NOT_HERE)
		return;
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics)
		if (is_data_port(e->m, n) && *fact_text(&n->ipv4, "") &&
		    n->owner.f.seen == SEEN_ABSENT)
			verdict_set(e, out, CAUSE_POSSIBLE, "%s has %s", n->name, n->ipv4.v);
}

#include "measure/doctor_nic_rows.h"
