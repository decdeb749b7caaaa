/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind many/cluster/node.h: key, title, unit and place of every fact. */
#include "many/cluster/node.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>

#include <string.h>

/* clang-format off */
static const struct shape cluster_address_shape = SHAPE_OF(cluster_address, cluster_address,
	{ "address", NULL, "Address", NULL,
	  SHAPE_TEXT(cluster_address, name), .unknown = SHAPE_BLANK });

#define OF(key, m, title, unit) { key, NULL, title, unit, SHAPE_FACT(cluster_port, m) }
const struct shape cluster_port_shape = SHAPE_OF(cluster_port, cluster_port,
	FACT_NAME(cluster_port, name, "Name"),
	FACT_NAME(cluster_port, pci, "PCI"),
	OF("port_name", nic.port, "Port", NULL),
	OF("switch_id", nic.switch_id, "Switch id", NULL),
	OF("driver", nic.driver, "Driver", NULL),
	OF("firmware", nic.firmware, "Firmware", NULL),
	OF("mac", nic.mac, "MAC", NULL),
	OF("operstate", nic.operstate, "Operstate", NULL),
	OF("owner", nic.owner, "Owner", NULL),
	OF("bond_master", nic.bond_master, "Bond master", NULL),
	{ "carrier", NULL, "Carrier", NULL, SHAPE_FACT_FLAG(cluster_port, nic.carrier) },
	OF("speed_mbps", nic.speed_mbps, "Speed", "Mb/s"),
	OF("mtu_bytes", nic.mtu, "MTU", "bytes"),
	OF("max_mtu_bytes", nic.max_mtu, "Maximum MTU", "bytes"),
	OF("pci_speed_mts", function.speed_mts, "PCIe speed", "MT/s"),
	OF("pci_max_mts", function.max_speed_mts, "Maximum PCIe speed", "MT/s"),
	OF("pci_width_lanes", function.width, "PCIe width", "lanes"),
	OF("pci_max_width_lanes", function.max_width, "Maximum PCIe width", "lanes"),
	{ "wireless", NULL, "Wireless", NULL, SHAPE_FACT_FLAG(cluster_port, nic.wireless) },
	OF("type", nic.type, "Type", NULL),
	FACT_LIST(cluster_port, addresses, "Addresses", cluster_address),
	FACT(cluster_port, rdma_device, "RDMA device", NULL),
	FACT(cluster_port, rdma_port, "RDMA port", NULL),
	OF("rdma_state", rdma.state, "RDMA state", NULL),
	OF("rdma_phys_state", rdma.phys_state, "RDMA physical state", NULL),
	OF("link_layer", rdma.link_layer, "Link layer", NULL),
	OF("rdma_rate_mbps", rdma.rate_mbps, "RDMA rate", "Mb/s"),
	OF("rdma_mtu_bytes", active_mtu, "RDMA MTU", "bytes"),
	{ "gids", NULL, "GIDs", NULL, SHAPE_FACTS(cluster_port, rdma.gids, rdma_gid), .absent = true },
	OF("pfc", nic.pfc, "PFC", NULL),
	OF("trust", nic.trust, "Trust", NULL),
	OF("rx_dropped", nic.rx_dropped, "RX dropped", NULL),
	OF("rx_missed", nic.rx_missed, "RX missed", NULL),
	OF("rx_crc_errors", nic.rx_crc_errors, "RX CRC errors", NULL),
	OF("symbol_errors", rdma.symbol_errors, "Symbol errors", NULL),
	OF("link_downed", rdma.link_downed, "Link downed", NULL),
	OF("rcv_errors", rdma.rcv_errors, "Receive errors", NULL),
	OF("out_of_sequence", rdma.out_of_sequence, "Out of sequence", NULL),
	FACT(cluster_port, listened, "Listened", NULL));

static const struct shape cluster_neighbor_shape = SHAPE_OF(cluster_neighbor, cluster_neighbor,
	FACT_NAME(cluster_neighbor, name, "Port"),
	FACT_NAME(cluster_neighbor, way, "Way"),
	FACT(cluster_neighbor, node, "Node", NULL),
	FACT(cluster_neighbor, port, "Their port", NULL),
	FACT(cluster_neighbor, address, "Address", NULL),
	FACT(cluster_neighbor, pci, "PCI", NULL),
	FACT(cluster_neighbor, port_name, "Port name", NULL),
	FACT(cluster_neighbor, switch_id, "Switch id", NULL),
	{ "mtu_bytes", NULL, "MTU", "bytes", SHAPE_FACT(cluster_neighbor, mtu) },
	FACT(cluster_neighbor, speed_mbps, "Speed", "Mb/s"),
	FACT(cluster_neighbor, count, "Times", NULL));

static const struct shape cluster_route_shape = SHAPE_OF(cluster_route, cluster_route,
	{ "to", NULL, "To", NULL, SHAPE_TEXT(cluster_route, name), .unknown = SHAPE_BLANK },
	FACT(cluster_route, port, "Outgoing port", NULL));

const struct shape cluster_node_shape = SHAPE_OF(cluster_node, cluster_node,
	FACT_NAME(cluster_node, name, "Name"),
	FACT_NAME(cluster_node, address, "Reached as"),
	FACT_NAME(cluster_node, failure, "Failure"),
	FACT(cluster_node, hostname, "Host name", NULL),
	FACT(cluster_node, digest, "Digest", NULL),
	FACT(cluster_node, version, "gputune", NULL),
	FACT(cluster_node, platform, "Platform", NULL),
	FACT(cluster_node, product, "Product", NULL),
	FACT(cluster_node, os, "System", NULL),
	FACT(cluster_node, kernel, "Kernel", NULL),
	FACT(cluster_node, arch, "Architecture", NULL),
	FACT(cluster_node, driver, "Driver", NULL),
	FACT(cluster_node, cuda, "CUDA", NULL),
	FACT(cluster_node, nccl, "NCCL", NULL),
	FACT(cluster_node, nccl_conf, "/etc/nccl.conf", NULL),
	FACT(cluster_node, gpu, "GPU", NULL),
	FACT(cluster_node, gpus, "GPUs", NULL),
	FACT(cluster_node, memory_bytes, "Memory", "bytes"),
	FACT(cluster_node, euid, "User id", NULL),
	FACT_FLAG(cluster_node, captured, "Captured"),
	FACT(cluster_node, adapters, "ConnectX functions", NULL),
	FACT(cluster_node, hotplug, "Hot-plug scripts", NULL),
	FACT_FLAG(cluster_node, ip_forward, "Forwarding"),
	FACT(cluster_node, forward, "FORWARD policy", NULL),
	FACT(cluster_node, forward_by, "FORWARD chain", NULL),
	FACT(cluster_node, default_route, "Default route", NULL),
	FACT_LIST(cluster_node, ports, "Ports", cluster_port),
	FACT_LIST(cluster_node, heard, "Heard", cluster_neighbor),
	FACT_LIST(cluster_node, routes, "Routes", cluster_route));
/* clang-format on */

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
		return err_set(e, -EINVAL, "a port has an invalid interface name");
	if (cluster_port_find(n, p->name) != p)
		return err_set(e, -EINVAL, "two ports are named %s", p->name);
	if (*p->pci && pci_address_length(p->pci) != strlen(p->pci))
		return err_set(e, -EINVAL, "%s: invalid PCI address \"%.32s\"", p->name, p->pci);
	if (!within(&p->rdma_port, 1, 255))
		return err_set(e, -EINVAL, "%s: invalid RDMA port number %lld", p->name,
			       p->rdma_port.v);
	if (p->addresses.n > CLUSTER_ADDRESSES_MAX || p->rdma.gids.n > CLUSTER_GIDS_MAX)
		return err_set(e, -EINVAL, "%s has too many addresses", p->name);
	LIST_FOR_EACH (struct cluster_address, a, &p->addresses)
		if (cluster_prefix_parse(a->name, &prefix))
			return err_set(e, -EINVAL, "%s: invalid address \"%.64s\"", p->name,
				       a->name);
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
			return err_set(e, -EINVAL, "no announcement can be received by \"%.32s\"",
				       h->way);
		if (!cluster_port_find(n, h->name))
			return err_set(
				e, -EINVAL,
				"an announcement was received on \"%.32s\", which is not a port",
				h->name);
	}
	return 0;
}

static int cluster_node_check(const struct cluster_node *n, struct err *e)
{
	struct cluster_prefix prefix;
	int r = 0;

	if (!cluster_name_valid(n->name) || !cluster_name_valid(n->address))
		return err_set(e, -EINVAL, "invalid node name");
	if (n->ports.n > CLUSTER_PORTS_MAX || n->heard.n > CLUSTER_HEARD_MAX ||
	    n->routes.n > CLUSTER_ROUTES_MAX)
		return err_set(e, -EINVAL, "too many ports or announcements for a node");
	if (!within(&n->gpus, 0, CLUSTER_GPUS_MAX) ||
	    !within(&n->memory_bytes, 0, CLUSTER_MEMORY_MAX))
		return err_set(e, -EINVAL, "invalid for a node: %lld GPUs and %lld bytes of memory",
			       n->gpus.v, n->memory_bytes.v);
	NODE_PORTS(p, n)
	{
		r = check_port(n, p, e);
		if (r)
			return r;
	}
	LIST_FOR_EACH (struct cluster_route, t, &n->routes)
		if (cluster_prefix_parse(t->name, &prefix))
			return err_set(e, -EINVAL, "invalid address \"%.64s\"", t->name);
	return check_neighbors(n, e);
}

int cluster_node_read(struct arena *a, const json_t *j, struct cluster_node *out, struct err *e)
{
	struct cluster_node n = { 0 };
	int r;

	if (!cluster_node_is_valid(j, 0))
		return err_set(e, -EINVAL, "a text is too long or contains control characters");
	r = shape_read(a, &cluster_node_shape, j, &n, e);
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

unsigned cluster_prefix_length(const struct sockaddr *mask)
{
	bool six = mask && mask->sa_family == AF_INET6;
	const unsigned char *p =
		six ? (const void *)&((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr
		    : (const void *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr;
	unsigned bits = 0;

	for (size_t i = 0; mask && i < (six ? 16 : 4); i++)
		bits += (unsigned)__builtin_popcount(p[i]);
	return bits;
}

bool cluster_gid_ipv4(const struct rdma_gid *g, unsigned char out[4])
{
	struct in6_addr six;

	if (!fact_is(&g->type, "RoCE v2") || !seen_ok(&g->gid.f) ||
	    inet_pton(AF_INET6, g->gid.v, &six) != 1 || !IN6_IS_ADDR_V4MAPPED(&six))
		return false;
	memcpy(out, six.s6_addr + 12, 4);
	return true;
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
