/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of interfaces: whether data ports have one, whose it is, and who keeps it. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "base/text.h"

/* The ranges of the published example belong to others, who cannot be reached while they are used.
 */
static bool is_published_example(const char *addresses)
{
	return str_starts(addresses, "1.1.1.") || str_starts(addresses, "2.2.2.") ||
	       strstr(addresses, " 1.1.1.") || strstr(addresses, " 2.2.2.");
}

static void address(const struct question *q, struct verdict *v)
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

#define DATA_PORT                                                                                  \
	.scope = SCOPE_NIC, .select = is_data_port,                                                \
	.none = "no data port (RDMA, or 25 Gb/s and more)"

static const struct setting rows[] = {
	{ .id = "nic.address",
	  .title = "IPv4 address of a data port",
	  DATA_PORT,
	  .of = &schema_nic,
	  .fact = "ipv4",
	  .not_when = "the link is down, is InfiniBand or part of a bond, or has no RDMA device",
	  .why = "RoCE v2 and RDMA connection set-up use it.",
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
	  .judge = subnets,
	  .by_hand = "one subnet for each interface, in the files of whoever owns them" },
	{ .id = "nic.owner",
	  .title = "Who configures the interface",
	  DATA_PORT,
	  .of = &schema_nic,
	  .fact = "owner",
	  .not_when = "no configuration file names it",
	  .why = "A change made with another tool is lost at boot. On DGX OS the owner is netplan.",
	  .source = "S1; S3",
	  .severity = SEVERITY_LOW,
	  .judge = owner,
	  .by_hand = "leave the interface to one manager and take it out of the other's files" },
};

const struct setting_table settings_nic_address = SETTING_TABLE(rows);
