/* SPDX-License-Identifier: Apache-2.0 */
/* show nic: interfaces and RDMA ports. */
#include <string.h>

#include "render/figure.h"
#include "look/show/page.h"
#include "render/pick.h"

static struct cell state(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)d, (void)m;
	if (fact_is(&n->operstate, "up"))
		return cell_as(STYLE_GOOD, "up");
	return cell_str(&n->operstate);
}

/* The kernel says -1 where there is no link. */
static struct cell speed(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	if (seen_ok(&n->speed_mbps.f) && n->speed_mbps.v <= 0)
		return (struct cell){ .text = "none", .style = STYLE_MUTED, .nothing = true };
	return cell_int(d, &n->speed_mbps, "Mb/s");
}

static struct cell mtu(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	return cell_int(d, &n->mtu, NULL);
}

static struct cell node(struct doc *d, const struct fact_int *f)
{
	if (seen_ok(&f->f) && f->v < 0)
		return (struct cell){ .text = "-", .style = STYLE_MUTED, .nothing = true };
	return cell_int(d, f, NULL);
}

static struct cell nic_node(struct doc *d, const struct machine *m, const void *object)
{
	(void)m;
	return node(d, &((const struct nic *)object)->numa_node);
}

static struct cell rdma_node(struct doc *d, const struct machine *m, const void *object)
{
	(void)m;
	return node(d, &((const struct rdma_port *)object)->numa_node);
}

static struct cell rx_ring(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	return cell_now_max(d, &n->rx_ring, &n->rx_ring_max, NULL);
}

static struct cell tx_ring(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	return cell_now_max(d, &n->tx_ring, &n->tx_ring_max, NULL);
}

static struct cell channels(struct doc *d, const struct machine *m, const void *object)
{
	const struct nic *n = object;

	(void)m;
	return cell_now_max(d, &n->channels, &n->channels_max, NULL);
}

static struct cell port_state(struct doc *d, const struct machine *m, const void *object)
{
	const struct rdma_port *p = object;

	(void)d, (void)m;
	return fact_is(&p->state, "ACTIVE") ? cell_as(STYLE_GOOD, "ACTIVE") : cell_str(&p->state);
}

/* The GID that RoCE v2 over IPv4 is spoken with, and its index: what NCCL_IB_GID_INDEX wants. */
static struct cell roce_gid(struct doc *d, const struct machine *m, const void *object)
{
	const struct rdma_port *p = object;

	(void)m;
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (fact_is(&g->type, "RoCE v2") && seen_ok(&g->gid.f) &&
		    strncmp(g->gid.v, "0000:0000:0000:0000:0000:ffff:", 30) == 0)
			return cell_printf(d, STYLE_PLAIN, "%u", g->index);
	return (struct cell){ .nothing = true };
}

static const struct pick nic_picks[] = {
	PICK(nic, name, "Interface"),	PICK_MADE(state, "State"),
	PICK_FIGURE(speed, "Speed"),	PICK_FIGURE(mtu, "MTU"),
	PICK(nic, type, "Type"),	PICK(nic, driver, "Driver"),
	PICK(nic, pci, "PCI"),		PICK_FIGURE(nic_node, "NUMA"),
	PICK(nic, ipv4, "IPv4"),	PICK(nic, owner, "Managed by"),
	PICK(nic, bond_master, "Bond"), PICK_WRAP(nic, firmware, "Firmware"),
};
static const struct pick queue_picks[] = {
	PICK(nic, name, "Interface"),	       PICK_FIGURE(rx_ring, "RX ring"),
	PICK_FIGURE(tx_ring, "TX ring"),       PICK_FIGURE(channels, "Channels"),
	PICK(nic, rx_coalesce_us, "RX waits"), PICK(nic, tx_coalesce_us, "TX waits"),
	PICK(nic, adaptive_rx, "Adaptive"),    PICK(nic, rx_dropped, "Dropped"),
	PICK(nic, rx_missed, "Missed"),	       PICK(nic, rx_crc_errors, "CRC errors"),
};
static const struct pick rdma_picks[] = {
	PICK(rdma_port, name, "Port"),	       PICK_MADE(port_state, "State"),
	PICK(rdma_port, link_layer, "Layer"),  PICK(rdma_port, rate_mbps, "Rate"),
	PICK(rdma_port, netdev, "Interface"),  PICK(rdma_port, pci, "PCI"),
	PICK_FIGURE(rdma_node, "NUMA"),	       PICK(rdma_port, hca_type, "HCA"),
	PICK(rdma_port, firmware, "Firmware"), PICK_FIGURE(roce_gid, "RoCE v2 GID"),
};
static const struct pick error_picks[] = {
	PICK(rdma_port, name, "Port"),
	PICK(rdma_port, symbol_errors, "Symbol errors"),
	PICK(rdma_port, link_downed, "Link downed"),
	PICK(rdma_port, rcv_errors, "Receive errors"),
	PICK(rdma_port, out_of_sequence, "Out of sequence"),
};
static const struct pick network_picks[] = {
	PICK(network, ib_core, "ib_core"),
	PICK(network, mlx5_core, "mlx5_core"),
	PICK(network, mlx5_ib, "mlx5_ib"),
	PICK(network, ofed_version, "OFED"),
	PICK(network, peermem, "nvidia-peermem"),
	PICK(network, peermem_client, "Peer memory client"),
	PICK(network, verbs_provider, "Verbs provider"),
	PICK(network, spark_hotplug, "NIC hotplug scripts"),
	PICK(network, softnet_dropped, "Packets dropped by CPUs"),
	PICK(network, bad_subnets, "Interfaces sharing a subnet"),
};

static const struct picks nics = PICKS(schema_nic, nic_picks);
static const struct picks queues = PICKS(schema_nic, queue_picks);
static const struct picks rdma = PICKS(schema_rdma_port, rdma_picks);
static const struct picks errors = PICKS(schema_rdma_port, error_picks);
static const struct picks network = PICKS(schema_network, network_picks);

struct doc *page_nic(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Network");
	show_table(d, m, "Interfaces", &nics, &m->net.nics);
	show_table(d, m, "Queues and counters", &queues, &m->net.nics);
	show_table(d, m, "RDMA ports", &rdma, &m->net.rdma);
	show_table(d, m, "RDMA errors since boot", &errors, &m->net.rdma);
	show_object(d, m, "Drivers and GPUDirect", &network, &m->net);
	return d;
}
