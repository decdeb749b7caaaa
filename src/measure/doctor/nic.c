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

	verdict_set(e, out, CAUSE_NOT_HERE, "no port of this machine has two halves");
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *t = port_twin(e->m, n, NULL);
		double mine = traffic_of(e, n), other = t ? traffic_of(e, t) : -1;

		if (!t || !is_up(n))
			continue;
		if (mine < 0 || other < 0) {
			if (!twins)
				verdict_set(e, out, CAUSE_UNSEEN, "what %s carried is not told",
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
			    "RDMA carried %.1f GB by %s and %.1f GB by its twin %s%s", mine,
			    n->name, other, t->name, mine < 10 ? ": too little to tell" : "");
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
		verdict_set(e, out, CAUSE_EXCLUDED, "nothing that can be seen sets NCCL_IB_HCA");
		return;
	}
	list = fact_text(&v->value, "");
	verdict_set(e, out, CAUSE_EXCLUDED, "%s names both halves, or no half of a port",
		    var_text(e, v));
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *t = port_twin(e->m, n, NULL);
		const struct rdma_port *p = rdma_of(e->m, n), *q = t ? rdma_of(e->m, t) : NULL;

		if (p && q && *list != '^' && var_list_names(list, p->device) &&
		    !var_list_names(list, q->device))
			verdict_set(e, out, CAUSE_CERTAIN,
				    "%s leaves out %s, the other half of %s's port", var_text(e, v),
				    q->device, p->device);
	}
}

static const struct cause half[] = {
	{ .id = "twin-down",
	  .title = "one half of the port is down or not configured",
	  BY_SETTING("nic.twins", CERTAIN),
	  .steps = SPARK_OR("where a half has no link, seat the cable again and boot with it in. "
			    "Give the second name of the same cage (enP2p...) an address in a "
			    "subnet of its own, MTU 9000, no link-local, in netplan",
			    "give the twin an address in a subnet of its own") },
	{ .id = "lanes",
	  .title = "one half has fewer PCIe lanes",
	  .rule = doctor_nic_link,
	  .setting = "pcie.link",
	  .weighs = true },
	{ .id = "list",
	  .title = "NCCL is told to use one half",
	  .rule = one_listed,
	  .judges = "seen.vars.value",
	  .steps = ANYWHERE("NCCL_IB_HCA with both devices of the port, exactly: =a,b") },
	{ .id = "traffic",
	  .title = "only one half carried traffic",
	  .rule = one_carries,
	  .judges = "seen.ports.sent seen.ports.received",
	  .steps = ANYWHERE("both halves in NCCL_IB_HCA; two streams at once when measuring") },
};

/* --- there, and fast -------------------------------------------------------------------------- */
static void unplugged(const struct rule_facts *e, struct judged *out)
{
	rule_by_setting(e, "nic.cable", CAUSE_LIKELY, out);
	/* Without a cable the machine takes the NIC away: nothing is broken, but it is why. */
	if (out->likelihood == CAUSE_NOT_HERE && is_spark(e) && seen_ok(&e->m->net.spark_hotplug.f))
		out->likelihood = CAUSE_POSSIBLE;
}

static const struct cause gone[] = {
	{ .id = "cable",
	  .title = "no cable, or a hot-plug fault",
	  .rule = unplugged,
	  .setting = "nic.cable",
	  .steps = ANYWHERE("plug the cable in at both ends, wait half a minute, look again; then "
			    "shut down and take all power off for a minute. Never rescan the PCI "
			    "bus: it panics or hangs the machine") },
	{ .id = "drivers",
	  .title = "drivers are not loaded",
	  BY_SETTING("nic.drivers", CERTAIN),
	  .steps = ANYWHERE("modprobe mlx5_core mlx5_ib") },
};

static const struct cause slow_link[] = {
	{ .id = "speed",
	  .title = "the link came up slower than the port can",
	  BY_SETTING("nic.speed", CERTAIN),
	  .steps = SPARK_OR("an approved 200G cable; at a switch set 200G (200G-baseCR4) by hand "
			    "instead of auto-negotiation",
			    "cable, module, the switch port's own setting") },
	{ .id = "rate",
	  .title = "an RDMA port is slower than its like",
	  BY_SETTING("rdma.rate", LIKELY),
	  .steps = ANYWHERE("cable, module, the switch port's own setting") },
	{ .id = "carrier",
	  .title = "no link",
	  BY_SETTING("nic.carrier", CERTAIN),
	  .steps = ANYWHERE("cable, far end, switch port") },
	{ .id = "state",
	  .title = "an RDMA port is not active",
	  BY_SETTING("rdma.state", LIKELY),
	  .steps = ANYWHERE("cable; on InfiniBand the subnet manager has to run") },
};

/* --- MTU -------------------------------------------------------------------------------------- */

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
	verdict_set(e, out, CAUSE_NOT_HERE, "no two data ports of one kind are up");
	LIST_FOR_EACH (struct nic, n, &e->m->net.nics) {
		const struct nic *first = has_mtu(e, n) ? first_alike(e, n) : n;

		if (first == n)
			continue;
		if (first->mtu.v != n->mtu.v) {
			verdict_set(e, out, CAUSE_LIKELY, "%s has %lld bytes, %s %lld", first->name,
				    first->mtu.v, n->name, n->mtu.v);
			return;
		}
		verdict_set(e, out, CAUSE_EXCLUDED, "every data port that is up has %lld bytes",
			    first->mtu.v);
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
		verdict_set(e, out, CAUSE_UNSEEN, "the connection does not tell its segment size");
	else if (p->segment + HEADERS + OPTIONS + SLACK < p->own_segment)
		verdict_set(
			e, out, CAUSE_CERTAIN,
			"%s has %lld bytes here, but %s takes segments of %lld: its end has about "
			"%lld",
			p->interface, p->mtu, p->to, p->segment, p->segment + HEADERS + OPTIONS);
	else if (p->path_mtu && p->mtu && p->path_mtu < p->mtu)
		verdict_set(e, out, CAUSE_CERTAIN, "%s has %lld bytes, the way to %s carries %lld",
			    p->interface, p->mtu, p->to, p->path_mtu);
	else
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "%s has %lld bytes and %s takes segments of %lld", p->interface, p->mtu,
			    p->to, p->segment);
}

static const struct cause mtu[] = {
	{ .id = "far-end",
	  .title = "the other end or the way has a smaller MTU",
	  .rule = far_end,
	  .steps = SPARK_OR("mtu: 9000 in netplan on both machines and on the switch, then "
			    "netplan apply on both",
			    "one MTU on both ends and on everything between them") },
	{ .id = "own-ports",
	  .title = "this machine's ports differ",
	  .rule = own_ports,
	  .given = "net.nics.*",
	  .fix = "nic.mtu",
	  .steps = ANYWHERE("one MTU on every port of one network") },
};

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
			verdict_set(e, out, CAUSE_POSSIBLE, "%s has %s, and no file names it",
				    n->name, n->ipv4.v);
}

static const struct cause lost[] = {
	{ .id = "unowned",
	  .title = "an address that no file gives",
	  .rule = unowned,
	  .setting = "nic.owner",
	  .weighs = true,
	  .steps = SPARK_OR("write it into a netplan file of its own (mode 600); edits by nmcli "
			    "live in /run where netplan owns the port",
			    "write it into the files of whoever owns the port") },
	{ .id = "no-address",
	  .title = "a data port without an address",
	  BY_SETTING("nic.address", LIKELY),
	  .steps = ANYWHERE("an address of a private range, one subnet a path") },
	{ .id = "two-owners",
	  .title = "two managers, or the wrong one",
	  BY_SETTING("nic.owner", LIKELY),
	  .steps = ANYWHERE("leave the port to one manager and take it out of the other's files") },
};

static const struct cause rewritten[] = {
	{ .id = "owner",
	  .title = "several managers configure the port",
	  BY_SETTING("nic.owner", LIKELY),
	  .steps = SPARK_OR("let one tool own netplan; a cluster assistant that applies netplan "
			    "again empties the table of addresses under a running engine",
			    "leave the port to one manager") },
	{ .id = "spark-service",
	  .title = "a service of the machine changes the NIC",
	  BY_SETTING("service.spark-nic", POSSIBLE),
	  .steps = ANYWHERE("know what it does before changing it: gputune explain "
			    "service.spark-nic") },
};

static const struct diagnosis rows[] = {
	{ .id = "nic.half-speed-twin",
	  .part = PART_DATA_PORT,
	  .symptom = "the network runs at exactly half its speed",
	  .words = "half 100 gb 96 110 11 13.5 12 bandwidth twin connectx spark 200g nccl qsfp",
	  .missing = "what it carries was not measured: --peer and --token, with \"gputune bench "
		     "serve\" on the other machine",
	  .missing_test = TEST_BIT(TEST_RDMA) | TEST_BIT(TEST_TCP),
	  .tests = TEST_BIT(TEST_RDMA) | TEST_BIT(TEST_TCP),
	  CAUSES(half) },
	{ .id = "nic.gone",
	  .symptom = "there is no ConnectX NIC",
	  .words = "missing lspci cx7 cx-7 hot-plug no device mlx5 interface",
	  CAUSES(gone) },
	{ .id = "nic.slow-link",
	  .part = PART_DATA_PORT,
	  .symptom = "the link came up at 100 Gb/s, or not at all",
	  .words = "negotiation switch speed 200g down cable carrier slow network",
	  CAUSES(slow_link) },
	{ .id = "nic.mtu-mismatch",
	  .symptom = "it worked until a reboot or update, now transfers hang or retry",
	  .words = "mtu 9000 1500 jumbo ibv_wc_retry_exc_err 12 timeout mismatch frames",
	  .missing = "the other end's MTU: --peer",
	  .missing_test = TEST_BIT(TEST_PATH),
	  .tests = TEST_BIT(TEST_PATH),
	  CAUSES(mtu) },
	{ .id = "nic.address-lost",
	  .part = PART_DATA_PORT,
	  .symptom = "addresses vanish after a reboot",
	  .words = "ip netplan nmcli networkmanager lost gone link-local repeat",
	  CAUSES(lost) },
	{ .id = "nic.rewritten",
	  .part = PART_DATA_PORT,
	  .symptom = "a running engine dies minutes after it started, the GPU stays busy at 20 W",
	  .words = "gid table netplan apply sync assistant hang 96 percent util",
	  .missing = "whether the network is configured again while it runs: look at the times in "
		     "journalctl -u systemd-networkd and NetworkManager",
	  CAUSES(rewritten) },
};
const struct diagnosis_table diagnoses_nic = DIAGNOSIS_TABLE(rows);
