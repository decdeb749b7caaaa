/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces. Virtual ones are named and no more is read of them. */
#include "look/probe/nic.h"

#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NET "/sys/class/net"

const char *class_device_pci(struct probe *p, const char *dir)
{
	const char *link = arena_strndup(p->a, dir, strlen(dir) - 1), *last = "";
	char path[HOST_PATH_MAX];

	if (host_link_path(p->h, link, path, sizeof(path)))
		return "";
	/* The nearest PCI function above: a virtio or USB device stands below one. */
	for (const char *c = strchr(path, '/'); c; c = strchr(c, '/')) {
		size_t n = pci_address_length(++c);

		if (n)
			last = arena_strndup(p->a, c, n);
	}
	return last;
}

static struct fact_str type_of(struct probe *p, const char *dir)
{
	struct fact_int type = probe_int(p, dir, "type");

	if (!seen_ok(&type.f))
		return (struct fact_str){ .f = type.f };
	return fact_str_of(type.v == ARPHRD_ETHER	 ? "ethernet"
			   : type.v == ARPHRD_INFINIBAND ? "infiniband"
			   : type.v == ARPHRD_LOOPBACK	 ? "loopback"
							 : "other",
			   dir, "type");
}

static void queues(struct probe *p, struct nic *n)
{
	static const char api[] = "ethtool";

	n->driver_version = probe_ask_str(p, api, n->name, "version");
	n->firmware = probe_ask_str(p, api, n->name, "fw_version");
	n->rx_ring = probe_ask_int(p, api, n->name, "rx_pending");
	n->rx_ring_max = probe_ask_int(p, api, n->name, "rx_max_pending");
	n->tx_ring = probe_ask_int(p, api, n->name, "tx_pending");
	n->tx_ring_max = probe_ask_int(p, api, n->name, "tx_max_pending");
	n->rx_coalesce_us = probe_ask_int(p, api, n->name, "rx_coalesce_usecs");
	n->tx_coalesce_us = probe_ask_int(p, api, n->name, "tx_coalesce_usecs");
	n->adaptive_rx = probe_ask_int(p, api, n->name, "use_adaptive_rx_coalesce");
	n->channels = probe_ask_int(p, api, n->name, "combined_count");
	n->channels_max = probe_ask_int(p, api, n->name, "max_combined");
}

/* virtio and USB devices have no node of their own: that of the function they hang from. */
static struct fact_int node_of(struct probe *p, const struct nic *n, const char *dir)
{
	struct fact_int node = probe_int(p, dir, "device/numa_node");
	const struct pci_function *f = seen_ok(&node.f) ? NULL : machine_pci(p->m, n->pci);

	return f ? f->numa_node : node;
}

static void hardware(struct probe *p, struct nic *n, const char *dir)
{
	const char *stats = arena_printf(p->a, "%sstatistics/", dir);

	n->driver = probe_link_name(p, dir, "device/driver");
	n->mac = probe_str(p, dir, "address");
	/* Refused while the interface is down. */
	n->speed_mbps = probe_int(p, dir, "speed");
	/* -1, in some drivers without its sign: unknown. */
	if (seen_ok(&n->speed_mbps.f) && (n->speed_mbps.v < 0 || n->speed_mbps.v >= UINT32_MAX))
		n->speed_mbps.f = fact_unseen(-EOPNOTSUPP, dir, "speed");
	n->duplex = probe_str(p, dir, "duplex");
	n->port = probe_str(p, dir, "phys_port_name");
	n->switch_id = probe_str(p, dir, "phys_switch_id");
	n->numa_node = node_of(p, n, dir);
	n->wireless = fact_int_of(host_exists(p->h, arena_printf(p->a, "%sphy80211", dir)), dir,
				  "phy80211");
	n->rx_dropped = probe_int(p, stats, "rx_dropped");
	n->rx_missed = probe_int(p, stats, "rx_missed_errors");
	n->rx_crc_errors = probe_int(p, stats, "rx_crc_errors");
	queues(p, n);
}

static void add(struct probe *p, const char *name, const struct nic_owners *owners)
{
	const char *dir = arena_printf(p->a, NET "/%s/", name);
	struct fact_str type = type_of(p, dir);
	struct nic *n;

	/* "bonding_masters" stands there too and is a file. */
	if (type.f.seen == SEEN_ABSENT)
		return;
	n = list_add(p->a, &p->m->net.nics, sizeof(*n));
	n->name = name;
	n->type = type;
	n->pci = class_device_pci(p, dir);
	n->operstate = probe_str(p, dir, "operstate");
	n->carrier = probe_int(p, dir, "carrier");
	n->mtu = probe_int(p, dir, "mtu");
	n->ipv4 = probe_ask_str(p, "if", name, "ipv4");
	/* Containers have virtual ones by the hundred: no more is read of them. */
	if (!*n->pci && !host_exists(p->h, arena_printf(p->a, "%sdevice", dir)))
		return;
	n->max_mtu = probe_ask_int(p, "if", name, "max_mtu");
	n->bond_master = probe_link_name(p, dir, "master");
	n->owner = nic_owner(owners, name);
	hardware(p, n, dir);
}

/* Column 2 of each CPU's line, hexadecimal: packets dropped because the input queue was full. */
static struct fact_int softnet_dropped(struct probe *p)
{
	static const char from[] = "/proc/net/softnet_stat";
	long long sum = 0;
	char *text, *line, *save = NULL;
	int r = host_read(p->h, from, HOST_READ_MAX, p->a, &text, NULL);

	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", from) };
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned processed, dropped;

		if (sscanf(line, "%x %x", &processed, &dropped) == 2)
			sum += dropped;
	}
	return fact_int_of(sum, "", from);
}

void probe_nic(struct probe *p)
{
	const struct nic_owners *owners;
	char **names;
	size_t n;

	p->m->net.softnet_dropped = softnet_dropped(p);
	if (host_list(p->h, NET, p->a, &names, &n))
		return;
	owners = nic_owners_read(p);
	for (size_t i = 0; i < n; i++)
		add(p, names[i], owners);
	p->m->net.bad_subnets = nic_bad_subnets(&p->m->net.nics);
}
