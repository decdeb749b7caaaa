/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/nic.h: key, title, unit and place of every fact. */
#include "machine/model/nic.h"

static const struct field nic_fields[] = {
	FIELD_ROW(nic, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(nic, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(nic, driver, FIELD_STR, "driver", "Driver", NULL),
	FIELD_ROW(nic, firmware, FIELD_STR, "firmware", "Firmware", NULL),
	FIELD_ROW(nic, driver_version, FIELD_STR, "driver_version", "Driver version", NULL),
	FIELD_ROW(nic, mac, FIELD_STR, "mac", "MAC", NULL),
	FIELD_ROW(nic, operstate, FIELD_STR, "operstate", "Operstate", NULL),
	FIELD_ROW(nic, carrier, FIELD_BOOL, "carrier", "Carrier", NULL),
	FIELD_ROW(nic, speed_mbps, FIELD_INT, "speed_mbps", "Speed", "Mb/s"),
	FIELD_ROW(nic, duplex, FIELD_STR, "duplex", "Duplex", NULL),
	FIELD_ROW(nic, mtu, FIELD_INT, "mtu_bytes", "MTU", "bytes"),
	FIELD_ROW(nic, max_mtu, FIELD_INT, "max_mtu_bytes", "Maximum MTU", "bytes"),
	FIELD_ROW(nic, type, FIELD_STR, "type", "Type", NULL),
	FIELD_ROW(nic, port, FIELD_STR, "port", "Port", NULL),
	FIELD_ROW(nic, switch_id, FIELD_STR, "switch_id", "Switch id", NULL),
	FIELD_ROW(nic, numa_node, FIELD_INT, "numa_node", "NUMA node", NULL),
	FIELD_ROW(nic, rx_ring, FIELD_INT, "rx_ring", "RX ring", NULL),
	FIELD_ROW(nic, rx_ring_max, FIELD_INT, "rx_ring_max", "RX ring maximum", NULL),
	FIELD_ROW(nic, tx_ring, FIELD_INT, "tx_ring", "TX ring", NULL),
	FIELD_ROW(nic, tx_ring_max, FIELD_INT, "tx_ring_max", "TX ring maximum", NULL),
	FIELD_ROW(nic, rx_coalesce_us, FIELD_INT, "rx_coalesce_us", "RX coalesce", "us"),
	FIELD_ROW(nic, tx_coalesce_us, FIELD_INT, "tx_coalesce_us", "TX coalesce", "us"),
	FIELD_ROW(nic, adaptive_rx, FIELD_BOOL, "adaptive_rx", "Adaptive RX", NULL),
	FIELD_ROW(nic, channels, FIELD_INT, "channels", "Channels", NULL),
	FIELD_ROW(nic, channels_max, FIELD_INT, "channels_max", "Channels maximum", NULL),
	FIELD_ROW(nic, rx_dropped, FIELD_INT, "rx_dropped", "RX dropped", NULL),
	FIELD_ROW(nic, rx_missed, FIELD_INT, "rx_missed", "RX missed", NULL),
	FIELD_ROW(nic, rx_crc_errors, FIELD_INT, "rx_crc_errors", "RX CRC errors", NULL),
	FIELD_ROW(nic, wireless, FIELD_BOOL, "wireless", "Wireless", NULL),
	FIELD_ROW(nic, owner, FIELD_STR, "owner", "Owner", NULL),
	FIELD_ROW(nic, ipv4, FIELD_STR, "ipv4", "IPv4", NULL),
	FIELD_ROW(nic, bond_master, FIELD_STR, "bond_master", "Bond master", NULL),
};
const struct schema schema_nic = SCHEMA(nic, nic_fields);

static const struct field rdma_gid_fields[] = {
	FIELD_ROW(rdma_gid, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(rdma_gid, gid, FIELD_STR, "gid", "GID", NULL),
	FIELD_ROW(rdma_gid, type, FIELD_STR, "type", "Type", NULL),
	FIELD_ROW(rdma_gid, netdev, FIELD_STR, "netdev", "Netdev", NULL),
};
const struct schema schema_rdma_gid = SCHEMA(rdma_gid, rdma_gid_fields);

static const struct field rdma_port_fields[] = {
	FIELD_ROW(rdma_port, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(rdma_port, device, FIELD_NAME, "device", "Device", NULL),
	FIELD_ROW(rdma_port, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(rdma_port, number, FIELD_ID, "number", "Number", NULL),
	FIELD_ROW(rdma_port, state, FIELD_STR, "state", "State", NULL),
	FIELD_ROW(rdma_port, phys_state, FIELD_STR, "phys_state", "Phys state", NULL),
	FIELD_ROW(rdma_port, link_layer, FIELD_STR, "link_layer", "Link layer", NULL),
	FIELD_ROW(rdma_port, rate_mbps, FIELD_INT, "rate_mbps", "Rate", "Mb/s"),
	FIELD_ROW(rdma_port, rate_text, FIELD_STR, "rate_text", "Rate text", NULL),
	FIELD_ROW(rdma_port, firmware, FIELD_STR, "firmware", "Firmware", NULL),
	FIELD_ROW(rdma_port, board_id, FIELD_STR, "board_id", "Board id", NULL),
	FIELD_ROW(rdma_port, hca_type, FIELD_STR, "hca_type", "Hca type", NULL),
	FIELD_ROW(rdma_port, node_type, FIELD_STR, "node_type", "Node type", NULL),
	FIELD_ROW(rdma_port, netdev, FIELD_STR, "netdev", "Netdev", NULL),
	FIELD_ROW(rdma_port, numa_node, FIELD_INT, "numa_node", "NUMA node", NULL),
	FIELD_ROW(rdma_port, symbol_errors, FIELD_INT, "symbol_errors", "Symbol errors", NULL),
	FIELD_ROW(rdma_port, link_downed, FIELD_INT, "link_downed", "Link downed", NULL),
	FIELD_ROW(rdma_port, rcv_errors, FIELD_INT, "rcv_errors", "Rcv errors", NULL),
	FIELD_ROW(rdma_port, out_of_sequence, FIELD_INT, "out_of_sequence", "Out of sequence",
		  NULL),
	FIELD_SUB(rdma_port, gids, FIELD_LIST, "gids", "Gids", &schema_rdma_gid),
};
const struct schema schema_rdma_port = SCHEMA(rdma_port, rdma_port_fields);

static const struct field network_fields[] = {
	FIELD_ROW(network, ib_core, FIELD_STR, "ib_core", "ib core", NULL),
	FIELD_ROW(network, mlx5_core, FIELD_STR, "mlx5_core", "Mlx5 core", NULL),
	FIELD_ROW(network, mlx5_ib, FIELD_STR, "mlx5_ib", "Mlx5 ib", NULL),
	FIELD_ROW(network, ofed_version, FIELD_STR, "ofed_version", "OFED version", NULL),
	FIELD_ROW(network, peermem, FIELD_STR, "peermem", "Peermem", NULL),
	FIELD_ROW(network, peermem_client, FIELD_STR, "peermem_client", "Peermem client", NULL),
	FIELD_ROW(network, verbs_provider, FIELD_STR, "verbs_provider", "Verbs provider", NULL),
	FIELD_ROW(network, spark_hotplug, FIELD_STR, "spark_hotplug", "Spark hotplug", NULL),
	FIELD_ROW(network, softnet_dropped, FIELD_INT, "softnet_dropped", "Softnet dropped", NULL),
	FIELD_ROW(network, bad_subnets, FIELD_INT, "bad_subnets", "Bad subnets", NULL),
	FIELD_SUB(network, nics, FIELD_LIST, "nics", "Nics", &schema_nic),
	FIELD_SUB(network, rdma, FIELD_LIST, "rdma", "RDMA", &schema_rdma_port),
};
const struct schema schema_network = SCHEMA(network, network_fields);
