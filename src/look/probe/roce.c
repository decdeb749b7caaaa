/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps RoCE from losing packets: pause by priority, what packets are sorted by, and how
 * congestion is told. Asked of ports whose RDMA runs over Ethernet alone.
 */
#include "look/probe/probe.h"

#include <string.h>

enum { PRIORITIES = 8 };

/*
 * The vendor's drivers have a file. The kernel's mlx5 trusts the DSCP while its table has an entry,
 * and the VLAN tag otherwise. Source: mlx5/core/en_dcbnl.c, mlx5e_dcbnl_ieee_setapp() and
 * _delapp().
 */
static struct fact_str trust_of(struct probe *p, const struct nic *n)
{
	const char *dir = arena_printf(p->a, "/sys/class/net/%s/", n->name);
	struct fact_str own = probe_str(p, dir, "qos/trust"), table;

	if (own.f.seen != SEEN_ABSENT)
		return own;
	own = probe_ask_str(p, "dcb", n->name, "trust");
	table = probe_ask_str(p, "dcb", n->name, "dscp_prio");
	if (seen_ok(&own.f) || !seen_ok(&table.f) || !fact_is(&n->driver, "mlx5_core"))
		return own;
	own.f = table.f;
	own.v = strcmp(table.v, "none") == 0 ? "pcp" : "dscp";
	return own;
}

/* Of the vendor's drivers: a switch for each side and priority. */
static struct fact_set ecn_off(struct probe *p, const char *ecn)
{
	static const char *const sides[] = { "roce_np", "roce_rp" };
	struct fact_set out = { .f = fact_seen(ecn, "") };

	for (unsigned i = 0; i < 2 * PRIORITIES; i++) {
		struct fact_int on = probe_int(
			p, ecn,
			arena_printf(p->a, "%s/enable/%u", sides[i / PRIORITIES], i % PRIORITIES));

		if (!seen_ok(&on.f))
			return (struct fact_set){ .f = on.f };
		if (on.v == 0 && !idset_has(&out.v, i % PRIORITIES))
			idset_add(p->a, &out.v, i % PRIORITIES);
	}
	return out;
}

/* The kernel's own driver shows it below debugfs, to root alone. Source: mlx5/cong.c. */
static void congestion(struct probe *p, struct rdma_port *port, const struct nic *n)
{
	const char *ecn = arena_printf(p->a, "/sys/class/net/%s/ecn/", n->name);
	const char *own = arena_printf(p->a, "/sys/kernel/debug/mlx5/%s/cc_params/", port->pci);

	port->cnp_dscp = probe_int(p, ecn, "roce_np/cnp_dscp");
	if (port->cnp_dscp.f.seen == SEEN_ABSENT && fact_is(&n->driver, "mlx5_core")) {
		port->cnp_dscp = probe_int(p, own, "np_cnp_dscp");
		port->cnp_priority = probe_int(p, own, "np_cnp_prio");
		return;
	}
	port->cnp_priority = probe_int(p, ecn, "roce_np/cnp_802p_prio");
	if (seen_ok(&port->cnp_dscp.f))
		port->ecn_off = ecn_off(p, ecn);
}

/* The settings that vendors write about; settings/roce.c judges them. */
static const char firmware_names[] =
	"ATS_ENABLED ROCE_CC_PRIO_MASK_P1 ROCE_CC_PRIO_MASK_P2 CNP_DSCP_P1 CNP_802P_PRIO_P1 "
	"MAX_ACC_OUT_READ PCI_WR_ORDERING ADVANCED_PCI_SETTINGS";

static void firmware(struct probe *p)
{
	LIST_FOR_EACH (struct nic, n, &p->m->net.nics) {
		const struct pci_function *f = machine_pci(p->m, n->pci);

		if (f && fact_is(&n->driver, "mlx5_core") && fact_or(&f->is_vf, 0) != 1)
			n->firmware_settings =
				probe_ask_str(p, "mlxconfig", n->pci, firmware_names);
	}
}

void probe_roce(struct probe *p)
{
	/* A second an adapter. */
	if (p->deep)
		firmware(p);
	LIST_FOR_EACH (struct rdma_port, port, &p->m->net.rdma) {
		struct nic *n = machine_nic(p->m, fact_text(&port->netdev, ""));

		if (!n || !fact_is(&port->link_layer, "Ethernet"))
			continue;
		n->pfc = probe_ask_str(p, "dcb", n->name, "pfc");
		n->dcbx = probe_ask_str(p, "dcb", n->name, "dcbx");
		n->ets = probe_ask_str(p, "dcb", n->name, "ets");
		n->trust = trust_of(p, n);
		congestion(p, port, n);
	}
}
