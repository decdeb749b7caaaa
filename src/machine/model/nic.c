/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/nic.h: key, title, unit and place of every fact. */
#include "machine/model/nic.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct shape nic_shape = SHAPE_OF(nic, nic,
	FACT_NAME(nic, name, "Name"),
	FACT_NAME(nic, pci, "PCI"),
	FACT(nic, driver, "Driver", NULL),
	FACT(nic, firmware, "Firmware", NULL),
	FACT(nic, driver_version, "Driver version", NULL),
	FACT(nic, mac, "MAC", NULL),
	FACT(nic, operstate, "Operstate", NULL),
	FACT_FLAG(nic, carrier, "Carrier"),
	FACT(nic, speed_mbps, "Speed", "Mb/s"),
	FACT(nic, duplex, "Duplex", NULL),
	{ "mtu_bytes", NULL, "MTU", "bytes", SHAPE_FACT(nic, mtu) },
	{ "max_mtu_bytes", NULL, "Maximum MTU", "bytes", SHAPE_FACT(nic, max_mtu) },
	FACT(nic, type, "Type", NULL),
	FACT(nic, port, "Port", NULL),
	FACT(nic, switch_id, "Switch id", NULL),
	FACT(nic, numa_node, "NUMA node", NULL),
	FACT(nic, rx_ring, "RX ring", NULL),
	FACT(nic, rx_ring_max, "RX ring maximum", NULL),
	FACT(nic, tx_ring, "TX ring", NULL),
	FACT(nic, tx_ring_max, "TX ring maximum", NULL),
	FACT(nic, rx_coalesce_us, "RX coalesce", "us"),
	FACT(nic, tx_coalesce_us, "TX coalesce", "us"),
	FACT_FLAG(nic, adaptive_rx, "Adaptive RX"),
	FACT(nic, channels, "Channels", NULL),
	FACT(nic, channels_max, "Channels maximum", NULL),
	FACT(nic, rx_dropped, "RX dropped", NULL),
	FACT(nic, rx_missed, "RX missed", NULL),
	FACT(nic, rx_crc_errors, "RX CRC errors", NULL),
	FACT_FLAG(nic, wireless, "Wireless"),
	FACT(nic, owner, "Owner", NULL),
	FACT(nic, ipv4, "IPv4", NULL),
	FACT(nic, bond_master, "Bond master", NULL),
	FACT(nic, pfc, "PFC", NULL),
	FACT(nic, trust, "Trust", NULL),
	FACT(nic, dcbx, "DCBX", NULL),
	FACT(nic, ets, "ETS", NULL),
	FACT(nic, module, "Module", NULL),
	FACT(nic, firmware_settings, "Firmware settings", NULL),
	FACT(nic, irqs, "Interrupts", NULL),
	FACT(nic, irq_cpus, "Interrupt CPUs", NULL),
	FACT(nic, irqs_away, "Remote interrupts", NULL),
	FACT(nic, rps, "RPS", NULL),
	FACT(nic, tx_queues, "TX queues", NULL),
	FACT(nic, tx_queues_free, "TX queues without CPUs", NULL));

const struct shape rdma_gid_shape = SHAPE_OF(rdma_gid, rdma_gid,
	FACT_NUMBER(rdma_gid, index, "Index"),
	FACT(rdma_gid, gid, "GID", NULL),
	FACT(rdma_gid, type, "Type", NULL),
	FACT(rdma_gid, netdev, "Netdev", NULL));

const struct shape rdma_port_shape = SHAPE_OF(rdma_port, rdma_port,
	FACT_NAME(rdma_port, name, "Name"),
	FACT_NAME(rdma_port, device, "Device"),
	FACT_NAME(rdma_port, pci, "PCI"),
	FACT_NUMBER(rdma_port, number, "Number"),
	FACT(rdma_port, state, "State", NULL),
	FACT(rdma_port, phys_state, "Physical state", NULL),
	FACT(rdma_port, link_layer, "Link layer", NULL),
	FACT(rdma_port, rate_mbps, "Rate", "Mb/s"),
	FACT(rdma_port, rate_text, "Rate text", NULL),
	FACT(rdma_port, firmware, "Firmware", NULL),
	FACT(rdma_port, board_id, "Board id", NULL),
	FACT(rdma_port, hca_type, "HCA type", NULL),
	FACT(rdma_port, node_type, "Node type", NULL),
	FACT(rdma_port, netdev, "Netdev", NULL),
	FACT(rdma_port, numa_node, "NUMA node", NULL),
	FACT(rdma_port, symbol_errors, "Symbol errors", NULL),
	FACT(rdma_port, link_downed, "Link downed", NULL),
	FACT(rdma_port, rcv_errors, "Receive errors", NULL),
	FACT(rdma_port, out_of_sequence, "Out of sequence", NULL),
	FACT(rdma_port, cnp_dscp, "CNP DSCP", NULL),
	FACT(rdma_port, cnp_priority, "CNP priority", NULL),
	FACT(rdma_port, ecn_off, "ECN off", NULL),
	FACT_LIST(rdma_port, gids, "Gids", rdma_gid));

const struct shape network_shape = SHAPE_OF(network, network,
	FACT(network, ib_core, "ib core", NULL),
	FACT(network, ib_umad, "ib umad", NULL),
	FACT(network, mlx5_core, "Mlx5 core", NULL),
	FACT(network, mlx5_ib, "Mlx5 ib", NULL),
	FACT(network, ofed_version, "OFED version", NULL),
	FACT(network, peermem, "Peermem", NULL),
	FACT(network, peermem_client, "Peermem client", NULL),
	FACT(network, verbs_provider, "Verbs provider", NULL),
	FACT(network, spark_hotplug, "Spark hotplug", NULL),
	FACT(network, hotplug_marker, "Hot plug requested", NULL),
	FACT_FLAG(network, hotplug_enabled, "Hot plug enabled"),
	FACT_FLAG(network, cable_present, "Cable seen"),
	FACT(network, cables_plugged, "Cables plugged in since boot", NULL),
	FACT(network, absent_port, "Configured but absent port", NULL),
	FACT(network, softnet_dropped, "Softnet drops", NULL),
	FACT(network, bad_subnets, "Overlapping subnets", NULL),
	FACT_LIST(network, nics, "Nics", nic),
	FACT_LIST(network, rdma, "RDMA", rdma_port),
	FACT_LIST(network, switch_ports, "Switch ports", rdma_port));
/* clang-format on */

struct subnet {
	unsigned long net;
	unsigned bits;
};

/* The subnets of "10.0.0.1/24 10.0.1.1/24"; at most max. */
static size_t nic_subnets(const char *text, struct subnet *out, size_t max)
{
	size_t n = 0;

	while (*text && n < max) {
		unsigned a, b, c, d, bits;

		text += strspn(text, " ");
		if (sscanf(text, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &bits) == 5 && bits &&
		    bits <= 32 && a < 256 && b < 256 && c < 256 && d < 256) {
			unsigned long address = (unsigned long)a << 24 | b << 16 | c << 8 | d;

			out[n++] = (struct subnet){ address >> (32 - bits), bits };
		}
		text += strcspn(text, " ");
	}
	return n;
}

static bool collide(const char *x, const char *y)
{
	enum { MAX = 16 };
	struct subnet a[MAX], b[MAX];
	size_t na = nic_subnets(x, a, MAX), nb = nic_subnets(y, b, MAX);

	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			if (a[i].bits == b[j].bits && a[i].net == b[j].net)
				return true;
	return false;
}

/* Of virtual ones no driver was asked for. They share their lower interface's subnet on purpose:
 * macvlan, VRRP. */
static bool counts(const struct nic *n)
{
	return n->driver.f.leaf && fact_is(&n->operstate, "up") && seen_ok(&n->ipv4.f);
}

bool nics_collide(const struct nic *x, const struct nic *y)
{
	return counts(x) && counts(y) && collide(x->ipv4.v, y->ipv4.v);
}
