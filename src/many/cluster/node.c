/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind many/cluster/node.h: key, title, unit and place of every fact. */
#include "many/cluster/node.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>

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
	FIELD_ROW(cluster_neighbor, name, FIELD_NAME, "name", "Port", NULL),
	FIELD_ROW(cluster_neighbor, way, FIELD_NAME, "way", "Way", NULL),
	FIELD_ROW(cluster_neighbor, node, FIELD_STR, "node", "Node", NULL),
	FIELD_ROW(cluster_neighbor, port, FIELD_STR, "port", "Their port", NULL),
	FIELD_ROW(cluster_neighbor, address, FIELD_STR, "address", "Address", NULL),
	FIELD_ROW(cluster_neighbor, pci, FIELD_STR, "pci", "PCI", NULL),
	FIELD_ROW(cluster_neighbor, port_name, FIELD_STR, "port_name", "Port name", NULL),
	FIELD_ROW(cluster_neighbor, switch_id, FIELD_STR, "switch_id", "Switch id", NULL),
	FIELD_ROW(cluster_neighbor, mtu, FIELD_INT, "mtu_bytes", "MTU", "bytes"),
	FIELD_ROW(cluster_neighbor, speed_mbps, FIELD_INT, "speed_mbps", "Speed", "Mb/s"),
	FIELD_ROW(cluster_neighbor, count, FIELD_INT, "count", "Times", NULL),
};
const struct schema schema_cluster_heard = SCHEMA(cluster_neighbor, heard_fields);

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

enum { DEPTH_MAX = 12, TEXT_MAX = 4096 };

/* Every text short and without control characters, and nothing nested without end. */
static bool cluster_node_is_valid(const json_t *j, unsigned depth)
{
	const char *key;
	json_t *v;
	size_t i;

	if (depth > DEPTH_MAX)
		return false;
	if (json_is_string(j)) {
		const char *s = json_string_value(j);
		size_t n = json_string_length(j);

		for (i = 0; i < n; i++)
			if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
				return false;
		return n <= TEXT_MAX;
	}
	json_array_foreach(j, i, v) if (!cluster_node_is_valid(v, depth + 1)) return false;
	json_object_foreach((json_t *)(uintptr_t)j, key,
			    v) if (!cluster_node_is_valid(v, depth + 1)) return false;
	return true;
}

bool cluster_name_valid(const char *name)
{
	static const char may[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:%[]";

	return *name && *name != '-' && *name != '.' && strlen(name) <= CLUSTER_NAME_MAX &&
	       strspn(name, may) == strlen(name);
}

const char *cluster_clean_text(struct arena *a, const char *s, size_t most)
{
	TEXT_AUTO t = { 0 };
	uint32_t cp;

	text_add(&t, "");
	for (size_t n; (n = utf8_next(s, &cp)) > 0 && t.len + n <= most; s += n)
		if (cp == UTF8_BAD || !utf8_harmless(cp))
			text_addc(&t, '?');
		else
			text_addn(&t, s, n);
	return arena_strdup(a, t.s);
}

/* A number that was told lies in its range. */
static bool within(const struct fact_int *f, long long low, long long high)
{
	return !seen_ok(&f->f) || (f->v >= low && f->v <= high);
}

static bool interface_valid(const char *name)
{
	size_t n = strlen(name);

	return n && n < IF_NAMESIZE && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !strpbrk(name, "/ :");
}

static int check_port(const struct cluster_node *n, const struct cluster_port *p, struct err *e)
{
	struct cluster_prefix prefix;

	if (!interface_valid(p->name))
		return err_set(e, -EINVAL, "a port has a name that no interface can have");
	if (cluster_port_find(n, p->name) != p)
		return err_set(e, -EINVAL, "two ports are called %s", p->name);
	if (*p->pci && pci_address_length(p->pci) != strlen(p->pci))
		return err_set(e, -EINVAL, "%s: \"%.32s\" is no PCI address", p->name, p->pci);
	if (!within(&p->rdma_port, 1, 255))
		return err_set(e, -EINVAL, "%s: %lld is no number of an RDMA port", p->name,
			       p->rdma_port.v);
	if (p->addresses.n > CLUSTER_ADDRESSES_MAX || p->gids.n > CLUSTER_GIDS_MAX)
		return err_set(e, -EINVAL, "%s has more addresses than a port can have", p->name);
	LIST_FOR_EACH (struct cluster_address, a, &p->addresses)
		if (cluster_prefix_parse(a->name, &prefix))
			return err_set(e, -EINVAL, "%s: \"%.64s\" is no address", p->name, a->name);
	return 0;
}

static int check_neighbors(const struct cluster_node *n, struct err *e)
{
	static const char *const ways[] = { "link", "broadcast", "lldp", "ipv6", "echo" };

	LIST_FOR_EACH (struct cluster_neighbor, h, &n->heard) {
		size_t i = 0;

		while (i < sizeof(ways) / sizeof(ways[0]) && strcmp(ways[i], h->way) != 0)
			i++;
		if (i == sizeof(ways) / sizeof(ways[0]))
			return err_set(e, -EINVAL, "nothing is heard by \"%.32s\"", h->way);
		if (!cluster_port_find(n, h->name))
			return err_set(e, -EINVAL,
				       "something was heard on \"%.32s\", which is no port",
				       h->name);
	}
	return 0;
}

static int cluster_node_check(const struct cluster_node *n, struct err *e)
{
	struct cluster_prefix prefix;
	int r = 0;

	if (!cluster_name_valid(n->name) || !cluster_name_valid(n->address))
		return err_set(e, -EINVAL, "a node has a name that no machine can have");
	if (n->ports.n > CLUSTER_PORTS_MAX || n->heard.n > CLUSTER_HEARD_MAX ||
	    n->routes.n > CLUSTER_ROUTES_MAX)
		return err_set(e, -EINVAL, "more ports, or more heard, than a node can have");
	if (!within(&n->gpus, 0, CLUSTER_GPUS_MAX) ||
	    !within(&n->memory_bytes, 0, CLUSTER_MEMORY_MAX))
		return err_set(e, -EINVAL, "%lld GPUs and %lld bytes of memory are in no node",
			       n->gpus.v, n->memory_bytes.v);
	NODE_PORTS(p, n)
	{
		r = check_port(n, p, e);
		if (r)
			return r;
	}
	LIST_FOR_EACH (struct cluster_route, t, &n->routes)
		if (cluster_prefix_parse(t->name, &prefix))
			return err_set(e, -EINVAL, "\"%.64s\" is no address", t->name);
	return check_neighbors(n, e);
}

int cluster_node_read(struct arena *a, const json_t *j, struct cluster_node *out, struct err *e)
{
	struct cluster_node n = { 0 };
	int r;

	if (!cluster_node_is_valid(j, 0))
		return err_set(e, -EINVAL,
			       "a text that is too long or has control characters in it");
	r = schema_from_json(a, &schema_cluster_node, j, &n, e);
	if (r == 0)
		r = cluster_node_check(&n, e);
	if (r == 0)
		*out = n;
	return r;
}

int cluster_prefix_parse(const char *text, struct cluster_prefix *out)
{
	struct cluster_prefix p = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long long bits;
	char host[INET6_ADDRSTRLEN];

	p.bits = p.family == AF_INET6 ? 128 : 32;
	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_pton(p.family, host, p.bytes) != 1)
		return -EINVAL;
	if (slash) {
		if (slash[1] < '0' || slash[1] > '9' || parse_u64(slash + 1, &bits) ||
		    bits > p.bits)
			return -EINVAL;
		p.bits = (unsigned)bits;
	}
	*out = p;
	return 0;
}

bool cluster_prefix_same(const struct cluster_prefix *a, const struct cluster_prefix *b)
{
	unsigned whole = a->bits / 8, rest = a->bits % 8;
	unsigned char mask = (unsigned char)(0xff00 >> rest);

	if (a->family != b->family || a->bits != b->bits)
		return false;
	return memcmp(a->bytes, b->bytes, whole) == 0 &&
	       (!rest || ((a->bytes[whole] ^ b->bytes[whole]) & mask) == 0);
}

bool cluster_prefix_link_local(const struct cluster_prefix *p)
{
	if (p->family == AF_INET)
		return p->bytes[0] == 169 && p->bytes[1] == 254;
	return p->bytes[0] == 0xfe && (p->bytes[1] & 0xc0) == 0x80;
}
