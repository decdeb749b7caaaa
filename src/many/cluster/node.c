/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind many/cluster/node.h: key, title, unit and place of every fact. */
#include "many/cluster/node.h"

#include <string.h>

static const struct field address_fields[] = {
	FIELD_ROW(cluster_address, name, FIELD_NAME, "address", "Address", NULL),
};
const struct schema schema_cluster_address = SCHEMA(cluster_address, address_fields);

static const struct field port_fields[] = {
	FIELD_ROW(cluster_port, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(cluster_port, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(cluster_port, port_name, FIELD_STR, "port_name", "Port", NULL),
	FIELD_ROW(cluster_port, switch_id, FIELD_STR, "switch_id", "Switch id", NULL),
	FIELD_ROW(cluster_port, driver, FIELD_STR, "driver", "Driver", NULL),
	FIELD_ROW(cluster_port, firmware, FIELD_STR, "firmware", "Firmware", NULL),
	FIELD_ROW(cluster_port, mac, FIELD_STR, "mac", "MAC", NULL),
	FIELD_ROW(cluster_port, operstate, FIELD_STR, "operstate", "Operstate", NULL),
	FIELD_ROW(cluster_port, owner, FIELD_STR, "owner", "Owner", NULL),
	FIELD_ROW(cluster_port, bond_master, FIELD_STR, "bond_master", "Bond master", NULL),
	FIELD_ROW(cluster_port, carrier, FIELD_BOOL, "carrier", "Carrier", NULL),
	FIELD_ROW(cluster_port, speed_mbps, FIELD_INT, "speed_mbps", "Speed", "Mb/s"),
	FIELD_ROW(cluster_port, mtu, FIELD_INT, "mtu_bytes", "MTU", "bytes"),
	FIELD_ROW(cluster_port, max_mtu, FIELD_INT, "max_mtu_bytes", "Maximum MTU", "bytes"),
	FIELD_ROW(cluster_port, pci_speed_mts, FIELD_INT, "pci_speed_mts", "PCIe speed", "MT/s"),
	FIELD_ROW(cluster_port, pci_max_mts, FIELD_INT, "pci_max_mts", "Maximum PCIe speed",
		  "MT/s"),
	FIELD_ROW(cluster_port, pci_width, FIELD_INT, "pci_width_lanes", "PCIe width", "lanes"),
	FIELD_ROW(cluster_port, pci_max_width, FIELD_INT, "pci_max_width_lanes",
		  "Maximum PCIe width", "lanes"),
	FIELD_ROW(cluster_port, wireless, FIELD_BOOL, "wireless", "Wireless", NULL),
	FIELD_SUB(cluster_port, addresses, FIELD_LIST, "addresses", "Addresses",
		  &schema_cluster_address),
	FIELD_ROW(cluster_port, rdma_device, FIELD_STR, "rdma_device", "RDMA device", NULL),
	FIELD_ROW(cluster_port, rdma_port, FIELD_INT, "rdma_port", "RDMA port", NULL),
	FIELD_ROW(cluster_port, rdma_state, FIELD_STR, "rdma_state", "RDMA state", NULL),
	FIELD_ROW(cluster_port, link_layer, FIELD_STR, "link_layer", "Link layer", NULL),
	FIELD_ROW(cluster_port, rdma_rate_mbps, FIELD_INT, "rdma_rate_mbps", "RDMA rate", "Mb/s"),
	FIELD_ROW(cluster_port, active_mtu, FIELD_INT, "rdma_mtu_bytes", "RDMA MTU", "bytes"),
	FIELD_SUB(cluster_port, gids, FIELD_LIST, "gids", "GIDs", &schema_rdma_gid),
	FIELD_ROW(cluster_port, rx_dropped, FIELD_INT, "rx_dropped", "RX dropped", NULL),
	FIELD_ROW(cluster_port, rx_missed, FIELD_INT, "rx_missed", "RX missed", NULL),
	FIELD_ROW(cluster_port, rx_crc_errors, FIELD_INT, "rx_crc_errors", "RX CRC errors", NULL),
	FIELD_ROW(cluster_port, symbol_errors, FIELD_INT, "symbol_errors", "Symbol errors", NULL),
	FIELD_ROW(cluster_port, link_downed, FIELD_INT, "link_downed", "Link downed", NULL),
	FIELD_ROW(cluster_port, rcv_errors, FIELD_INT, "rcv_errors", "Receive errors", NULL),
	FIELD_ROW(cluster_port, out_of_sequence, FIELD_INT, "out_of_sequence", "Out of sequence",
		  NULL),
	FIELD_ROW(cluster_port, listened, FIELD_STR, "listened", "Listened", NULL),
};
const struct schema schema_cluster_port = SCHEMA(cluster_port, port_fields);

static const struct field heard_fields[] = {
	FIELD_ROW(cluster_heard, name, FIELD_NAME, "name", "Port", NULL),
	FIELD_ROW(cluster_heard, way, FIELD_NAME, "way", "Way", NULL),
	FIELD_ROW(cluster_heard, node, FIELD_STR, "node", "Node", NULL),
	FIELD_ROW(cluster_heard, port, FIELD_STR, "port", "Their port", NULL),
	FIELD_ROW(cluster_heard, address, FIELD_STR, "address", "Address", NULL),
	FIELD_ROW(cluster_heard, pci, FIELD_STR, "pci", "PCI", NULL),
	FIELD_ROW(cluster_heard, port_name, FIELD_STR, "port_name", "Port name", NULL),
	FIELD_ROW(cluster_heard, switch_id, FIELD_STR, "switch_id", "Switch id", NULL),
	FIELD_ROW(cluster_heard, mtu, FIELD_INT, "mtu_bytes", "MTU", "bytes"),
	FIELD_ROW(cluster_heard, speed_mbps, FIELD_INT, "speed_mbps", "Speed", "Mb/s"),
	FIELD_ROW(cluster_heard, count, FIELD_INT, "count", "Times", NULL),
};
const struct schema schema_cluster_heard = SCHEMA(cluster_heard, heard_fields);

static const struct field route_fields[] = {
	FIELD_ROW(cluster_route, name, FIELD_NAME, "to", "To", NULL),
	FIELD_ROW(cluster_route, port, FIELD_STR, "port", "Leaves by", NULL),
};
const struct schema schema_cluster_route = SCHEMA(cluster_route, route_fields);

static const struct field node_fields[] = {
	FIELD_ROW(cluster_node, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(cluster_node, address, FIELD_NAME, "address", "Reached as", NULL),
	FIELD_ROW(cluster_node, failure, FIELD_NAME, "failure", "Failure", NULL),
	FIELD_ROW(cluster_node, hostname, FIELD_STR, "hostname", "Host name", NULL),
	FIELD_ROW(cluster_node, digest, FIELD_STR, "digest", "Digest", NULL),
	FIELD_ROW(cluster_node, version, FIELD_STR, "version", "gputune", NULL),
	FIELD_ROW(cluster_node, platform, FIELD_STR, "platform", "Platform", NULL),
	FIELD_ROW(cluster_node, product, FIELD_STR, "product", "Product", NULL),
	FIELD_ROW(cluster_node, os, FIELD_STR, "os", "System", NULL),
	FIELD_ROW(cluster_node, kernel, FIELD_STR, "kernel", "Kernel", NULL),
	FIELD_ROW(cluster_node, arch, FIELD_STR, "arch", "Architecture", NULL),
	FIELD_ROW(cluster_node, driver, FIELD_STR, "driver", "Driver", NULL),
	FIELD_ROW(cluster_node, cuda, FIELD_STR, "cuda", "CUDA", NULL),
	FIELD_ROW(cluster_node, nccl, FIELD_STR, "nccl", "NCCL", NULL),
	FIELD_ROW(cluster_node, gpu, FIELD_STR, "gpu", "GPU", NULL),
	FIELD_ROW(cluster_node, gpus, FIELD_INT, "gpus", "GPUs", NULL),
	FIELD_ROW(cluster_node, memory_bytes, FIELD_INT, "memory_bytes", "Memory", "bytes"),
	FIELD_ROW(cluster_node, euid, FIELD_INT, "euid", "User id", NULL),
	FIELD_ROW(cluster_node, captured, FIELD_BOOL, "captured", "Captured", NULL),
	FIELD_ROW(cluster_node, adapters, FIELD_INT, "adapters", "ConnectX functions", NULL),
	FIELD_ROW(cluster_node, hotplug, FIELD_STR, "hotplug", "Hot-plug scripts", NULL),
	FIELD_ROW(cluster_node, ip_forward, FIELD_BOOL, "ip_forward", "Forwarding", NULL),
	FIELD_ROW(cluster_node, forward, FIELD_STR, "forward", "FORWARD policy", NULL),
	FIELD_ROW(cluster_node, forward_by, FIELD_STR, "forward_by", "FORWARD chain", NULL),
	FIELD_ROW(cluster_node, default_route, FIELD_STR, "default_route", "Default route", NULL),
	FIELD_SUB(cluster_node, ports, FIELD_LIST, "ports", "Ports", &schema_cluster_port),
	FIELD_SUB(cluster_node, heard, FIELD_LIST, "heard", "Heard", &schema_cluster_heard),
	FIELD_SUB(cluster_node, routes, FIELD_LIST, "routes", "Routes", &schema_cluster_route),
};
const struct schema schema_cluster_node = SCHEMA(cluster_node, node_fields);

json_t *cluster_node_json(const struct cluster_node *n)
{
	return schema_to_json(&schema_cluster_node, n);
}

struct cluster_port *cluster_port_find(const struct cluster_node *n, const char *name)
{
	NODE_PORTS(p, n)
	if (strcmp(p->name, name) == 0)
		return p;
	return NULL;
}
