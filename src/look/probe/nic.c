/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces. Virtual ones are named and no more is read of them. */
#include <ctype.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/text.h"
#include "machine/host/host.h"

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

static struct fact_str probe_nic_type_of(struct probe *p, const char *dir)
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
	/* It takes the NIC milliseconds to read its module. */
	if (p->deep && seen_ok(&n->rx_ring.f))
		n->module = probe_ask_str(p, api, n->name, "module");
}

/* virtio and USB devices have no node of their own: that of the function they hang from. */
static struct fact_int node_of(struct probe *p, const struct nic *n, const char *dir)
{
	struct fact_int node = probe_int(p, dir, "device/numa_node");
	const struct pci_function *f = seen_ok(&node.f) ? NULL : machine_pci(p->m, n->pci);

	return f ? f->numa_node : node;
}

static void probe_nic_hardware(struct probe *p, struct nic *n, const char *dir)
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

/* Who owns an interface's configuration, and whether addresses collide. */

#define SPARK_HOTPLUG "/opt/nvidia/dgx-spark-mlnx-hotplug"
#define NETWORKD "/etc/systemd/network"
#define NETWORKD_RUN "/run/systemd/network"

/*
 * netplan writes "10-netplan-NAME.network" and "netplan-NAME.nmconnection" for the program that
 * does its work; others are named by whoever wrote them, mostly after the interface.
 */
static const struct {
	const char *dir, *part, *owner;
} places[] = {
	{ NETWORKD_RUN, "netplan-", "netplan" },
	{ "/run/NetworkManager/system-connections", "netplan-", "netplan" },
	{ "/etc/NetworkManager/system-connections", "", "NetworkManager" },
	{ "/run/NetworkManager/system-connections", "", "NetworkManager" },
	{ NETWORKD, "", "networkd" },
	{ "/etc/network/interfaces.d", "", "ifupdown" },
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

struct nic_owners {
	struct {
		char **names;
		size_t n;
	} files[PLACES];
	int why; /* of seeing none: -ENOENT, or the last refusal */
};

static void note(struct nic_owners *o, int why)
{
	if (why && why != -ENOENT && why != -ENOTDIR)
		o->why = why;
}

/* Of one name /etc has the say, also over what netplan made; a link to /dev/null says that none
 * shall count. */
static void read_networkd(struct probe *p, struct nic_owners *o)
{
	static const char *const folders[] = { NETWORKD, NETWORKD_RUN };
	int why[2];
	size_t n;
	char **paths = host_merged(p->h, p->a, folders, 2, "", why, &n);

	note(o, why[1]);
	note(o, why[0]);
	for (size_t i = 0; i < PLACES; i++) {
		size_t dir = strlen(places[i].dir);

		if (strcmp(places[i].dir, NETWORKD) != 0 &&
		    strcmp(places[i].dir, NETWORKD_RUN) != 0)
			continue;
		o->files[i].names = arena_array(p->a, n + 1, sizeof(*o->files[i].names));
		for (size_t k = 0; k < n; k++)
			if (str_starts(paths[k], places[i].dir) && paths[k][dir] == '/')
				o->files[i].names[o->files[i].n++] = paths[k] + dir + 1;
	}
}

static const struct nic_owners *nic_owners_read(struct probe *p)
{
	struct nic_owners *o = ARENA_NEW(p->a, struct nic_owners);

	o->why = -ENOENT;
	for (size_t i = 0; i < PLACES; i++) {
		int r;

		if (strcmp(places[i].dir, NETWORKD) == 0 ||
		    strcmp(places[i].dir, NETWORKD_RUN) == 0)
			continue;
		r = host_list(p->h, places[i].dir, p->a, &o->files[i].names, &o->files[i].n);
		if (r)
			o->files[i].n = 0;
		note(o, r);
	}
	read_networkd(p, o);
	return o;
}

/* True when name stands in file as a whole word: "eth1" is not in "10-eth10.network". */
static bool names_it(const char *file, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(file, name); at; at = strstr(at + 1, name))
		if ((at == file || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

/* Who configures an interface: the first of them that names it. */
static struct fact_str nic_owner(const struct nic_owners *owners, const char *name)
{
	for (size_t i = 0; i < PLACES; i++)
		for (size_t k = 0; k < owners->files[i].n; k++) {
			const char *file = owners->files[i].names[k];

			if (strstr(file, places[i].part) && names_it(file, name))
				return fact_str_of(places[i].owner, "", places[i].dir);
		}
	return (struct fact_str){ .f = fact_unseen(owners->why, "",
						   "netplan, NetworkManager and networkd files") };
}

/*
 * The ports of a DGX Spark's NIC that files configure although the NIC is not on the bus: their
 * author expects a cable. netplan names ports in its files, the others in names of files.
 */
static const char *const spark_ports[] = { "enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0",
					   "enP2p1s0f1np1" };
enum { SPARK_PORTS = sizeof(spark_ports) / sizeof(spark_ports[0]) };

static const char *port_in_name(const struct nic_owners *owners, struct arena *a, const char *name)
{
	for (size_t i = 0; i < PLACES; i++)
		for (size_t k = 0; k < owners->files[i].n; k++)
			if (names_it(owners->files[i].names[k], name))
				return arena_printf(a, "%s in %s/%s", name, places[i].dir,
						    owners->files[i].names[k]);
	return NULL;
}

/* Blanks out what follows a "#" in its line. */
static void blank_comments(char *text)
{
	for (char *at = strchr(text, '#'); at; at = strchr(at, '#'))
		memset(at, ' ', strcspn(at, "\n"));
}

static struct fact_str absent_port(struct probe *p, const struct nic_owners *owners)
{
	static const char dir[] = "/etc/netplan";
	const char *found = NULL;
	char **names, *text;
	size_t n;
	int why = owners->why, r = host_list(p->h, dir, p->a, &names, &n);

	for (size_t s = 0; s < SPARK_PORTS && !found; s++)
		found = port_in_name(owners, p->a, spark_ports[s]);
	for (size_t i = 0; !r && i < n && !found; i++) {
		const char *path = arena_printf(p->a, "%s/%s", dir, names[i]);
		int failed;

		if (!str_ends(names[i], ".yaml"))
			continue;
		failed = host_read(p->h, path, 1 << 16, p->a, &text, NULL);
		why = failed ? failed : why;
		if (!failed)
			blank_comments(text);
		for (size_t s = 0; !failed && s < SPARK_PORTS && !found; s++)
			if (names_it(text, spark_ports[s]))
				found = arena_printf(p->a, "%s in %s", spark_ports[s], path);
	}
	if (found)
		return fact_str_of(found, "", dir);
	return (struct fact_str){ .f = fact_unseen(r && r != -ENOENT ? r : why, "", dir) };
}

static bool on_bus(const struct machine *m)
{
	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		if (fact_or(&f->vendor, 0) == 0x15b3)
			return true;
	return false;
}

/* Nobody's way to another machine: see is_switch_management(). */
static bool manages_switches(const struct probe *p, const char *pci)
{
	const struct pci_function *f = *pci ? machine_pci(p->m, pci) : NULL;

	return f && is_switch_management(f);
}

/*
 * Which CPUs serve an interface's interrupts. An interrupt's MSI number outlives the driver, the
 * kernel's own number does not: it is the low bits of hwirq, of which older kernels use the rest
 * for the function. Source: drivers/pci/msi/irqdomain.c, pci_msi_domain_calc_hwirq().
 */
enum { MSI_NUMBER = 0x7ff, IRQS_MAX = 2048 };

/* What the kernel does with an interrupt; before 4.15 only what it may do was told. */
static struct fact_set served_by(struct probe *p, const char *irq)
{
	const char *dir = arena_printf(p->a, "/proc/irq/%s/", irq);
	struct fact_set cpus = probe_set(p, dir, "effective_affinity_list");

	return cpus.f.seen == SEEN_ABSENT ? probe_set(p, dir, "smp_affinity_list") : cpus;
}

/* Without interrupt remapping one moves when it comes the next time: where it may go counts. */
static bool moves_near(struct probe *p, const struct idset *near, const char *irq)
{
	struct fact_set may =
		probe_set(p, arena_printf(p->a, "/proc/irq/%s/", irq), "smp_affinity_list");

	return seen_ok(&may.f) && may.v.n && idset_contains(near, &may.v);
}

static int msi_number(struct probe *p, const char *irq, unsigned *out)
{
	struct fact_int hw = probe_int(p, arena_printf(p->a, "/sys/kernel/irq/%s/", irq), "hwirq");

	*out = (unsigned)(fact_or(&hw, 0) & MSI_NUMBER);
	return seen_ok(&hw.f) ? 0 : -hw.f.err;
}

/* 0 or why nothing is known of this one. */
static int add_irq(struct probe *p, struct nic *n, const struct idset *near, const char *irq,
		   struct text *away)
{
	struct fact_set cpus = served_by(p, irq);
	unsigned number;
	int r;

	if (!seen_ok(&cpus.f))
		return -cpus.f.err;
	/* One that nobody has asked for yet is served nowhere. */
	if (!cpus.v.n)
		return 0;
	n->irqs.v++;
	IDSET_FOR_EACH (cpu, &cpus.v)
		idset_add(p->a, &n->irq_cpus.v, cpu);
	if (idset_intersects(&cpus.v, near) || moves_near(p, near, irq))
		return 0;
	r = msi_number(p, irq, &number);
	if (r == 0)
		text_printf(away, "%s%u:%s", away->len ? " " : "", number,
			    idset_format(p->a, &cpus.v));
	return r;
}

static void probe_nic_irqs(struct probe *p, struct nic *n, const char *dir)
{
	const char *list = arena_printf(p->a, "%sdevice/msi_irqs", dir);
	const struct pci_function *f = machine_pci(p->m, n->pci);
	struct idset near = nic_cpus(p->a, p->m, n, true);
	TEXT_AUTO away = { 0 };
	char **irqs;
	size_t count;
	int r;

	if ((p->m->cpu.nodes.n < 2 && !p->m->cpu.isolated.v.n) || !f || fact_or(&f->is_vf, 0) == 1)
		return;
	r = host_list(p->h, list, p->a, &irqs, &count);
	for (size_t i = 0; r == 0 && i < count && i < IRQS_MAX; i++)
		r = add_irq(p, n, &near, irqs[i], &away);
	n->irqs.f = r ? fact_unseen(r, "", list) : fact_seen("", list);
	n->irq_cpus.f = n->irqs.f;
	n->irqs_away = r ? (struct fact_str){ .f = n->irqs.f }
			 : fact_str_of(arena_strdup(p->a, away.s ? away.s : ""), "", list);
}

/* Which CPUs process the packets of a receive queue (RPS) or send on a transmit queue (XPS). One
 * file per queue: hundreds. */
static void probe_nic_steering(struct probe *p, struct nic *n, const char *dir)
{
	const char *queues = arena_printf(p->a, "%squeues/", dir);
	TEXT_AUTO on = { 0 };
	struct fact read = fact_seen(queues, "rx-*/rps_cpus"),
		    sent = fact_seen(queues, "tx-*/xps_cpus");
	long long n_tx = 0, n_free = 0;
	char **names;
	size_t count = 0;
	int r = host_list(p->h, queues, p->a, &names, &count);

	for (size_t i = 0; i < count; i++) {
		bool rx = str_starts(names[i], "rx-");
		struct fact_str mask = probe_str(
			p, queues,
			arena_printf(p->a, "%s/%s", names[i], rx ? "rps_cpus" : "xps_cpus"));
		bool none = seen_ok(&mask.f) && mask.v[strspn(mask.v, "0,")] == '\0';

		if (!seen_ok(&mask.f))
			*(rx ? &read : &sent) = mask.f;
		else if (rx && !none)
			text_printf(&on, "%s%s=%s", on.len ? " " : "", names[i], mask.v);
		n_tx += !rx;
		n_free += !rx && none;
	}
	if (r)
		read = sent = fact_unseen(r, queues, "");
	n->rps = (struct fact_str){ .f = read, .v = on.s ? arena_strdup(p->a, on.s) : "" };
	n->tx_queues = (struct fact_int){ .f = sent, .v = n_tx };
	n->tx_queues_free = (struct fact_int){ .f = sent, .v = n_free };
}

static void probe_nic_add(struct probe *p, const char *name, const struct nic_owners *owners)
{
	const char *dir = arena_printf(p->a, NET "/%s/", name);
	struct fact_str type = probe_nic_type_of(p, dir);
	struct fact_int state;
	const char *pci;
	struct nic *n;

	/* "bonding_masters" stands there too and is a file. */
	if (type.f.seen == SEEN_ABSENT)
		return;
	pci = class_device_pci(p, dir);
	if (manages_switches(p, pci))
		return;
	n = list_add(p->a, &p->m->net.nics, sizeof(*n));
	n->name = name;
	n->type = type;
	n->pci = pci;
	n->operstate = probe_str(p, dir, "operstate");
	n->carrier = probe_int(p, dir, "carrier");
	state = (struct fact_int){ .f = n->operstate.f, .v = fact_is(&n->operstate, "up") };
	if (state.v || fact_is(&n->operstate, "down"))
		probe_differ_int(p, name, "net.nics.carrier", &n->carrier, &state);
	n->mtu = probe_int(p, dir, "mtu");
	n->ipv4 = probe_ask_str(p, "if", name, "ipv4");
	/* Containers have virtual ones by the hundred: no more is read of them. */
	if (!*n->pci && !host_exists(p->h, arena_printf(p->a, "%sdevice", dir)))
		return;
	n->max_mtu = probe_ask_int(p, "if", name, "max_mtu");
	n->bond_master = probe_link_name(p, dir, "master");
	n->owner = nic_owner(owners, name);
	probe_nic_hardware(p, n, dir);
	probe_nic_irqs(p, n, dir);
	if (p->deep)
		probe_nic_steering(p, n, dir);
}

/* Pairs of physical interfaces that are up and share an IPv4 subnet. */
static struct fact_int nic_bad_subnets(const struct list *nics)
{
	const struct nic *n = nics->items;
	long long pairs = 0;

	for (size_t i = 0; i < nics->n; i++)
		for (size_t j = i + 1; j < nics->n; j++)
			pairs += nics_collide(&n[i], &n[j]);
	return fact_int_of(pairs, "", "if * ipv4");
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
		probe_nic_add(p, names[i], owners);
	if (!on_bus(p->m) && host_exists(p->h, SPARK_HOTPLUG))
		p->m->net.absent_port = absent_port(p, owners);
	p->m->net.bad_subnets = nic_bad_subnets(&p->m->net.nics);
}

/* RDMA ports and the modules behind them. */

#define CLASS "/sys/class/infiniband"

enum { GIDS_MAX = 256, EMPTY_GIDS = 16 };

/* "4: ACTIVE" -> "ACTIVE" */
static struct fact_str after_colon(struct probe *p, const char *dir, const char *leaf)
{
	struct fact_str f = probe_str(p, dir, leaf);
	const char *colon = seen_ok(&f.f) ? strchr(f.v, ':') : NULL;

	if (colon)
		f.v = colon + 1 + strspn(colon + 1, " ");
	return f;
}

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" */
static struct fact_int probe_nic_rate(const struct fact_str *text)
{
	double gbit;

	if (!seen_ok(&text->f))
		return (struct fact_int){ .f = text->f };
	if (sscanf(text->v, "%lf Gb/sec", &gbit) != 1 || !(gbit >= 0 && gbit <= 1e6))
		return (struct fact_int){ .f = fact_unseen(-EPROTO, text->f.dir, text->f.leaf) };
	return fact_int_of((long long)(gbit * 1000 + 0.5), text->f.dir, text->f.leaf);
}

static bool is_zero(const char *gid)
{
	return strspn(gid, "0:") == strlen(gid);
}

/* Tables have 256 places and few entries: a run of empty ones ends the reading. */
static void gids(struct probe *p, struct rdma_port *port, const char *dir)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < GIDS_MAX && empty < EMPTY_GIDS; i++) {
		struct fact_str gid = probe_str(p, dir, arena_printf(p->a, "gids/%u", i));
		struct rdma_gid *g;

		if (gid.f.seen == SEEN_ABSENT)
			return;
		if (!seen_ok(&gid.f) || is_zero(gid.v)) {
			empty++;
			continue;
		}
		empty = 0;
		g = list_add(p->a, &port->gids, sizeof(*g));
		g->index = i;
		g->gid = gid;
		g->type = probe_str(p, dir, arena_printf(p->a, "gid_attrs/types/%u", i));
		g->netdev = probe_str(p, dir, arena_printf(p->a, "gid_attrs/ndevs/%u", i));
	}
}

static struct fact_str netdev(struct probe *p, const char *port_dir, const char *device_dir)
{
	struct fact_str f = probe_str(p, port_dir, "gid_attrs/ndevs/0");
	const char *dir = arena_printf(p->a, "%sdevice/net", device_dir);
	char **names;
	size_t n;

	if (seen_ok(&f.f) || host_list(p->h, dir, p->a, &names, &n) || n == 0)
		return f;
	return fact_str_of(names[0], "", dir);
}

/* A port's link and firmware against what its interface says. Under 10 Gb/s the rate of a port has
 * no name of its own. */
static void probe_rdma_twice(struct probe *p, const struct rdma_port *port)
{
	const struct nic *n = machine_nic(p->m, fact_text(&port->netdev, ""));

	if (!n || !fact_is(&port->link_layer, "Ethernet"))
		return;
	if (fact_is(&port->state, "ACTIVE") && fact_or(&n->speed_mbps, 0) >= 10000)
		probe_differ_int(p, port->name, "net.rdma.rate_mbps", &port->rate_mbps,
				 &n->speed_mbps);
	/* The interface adds the board's name. */
	if (seen_ok(&port->firmware.f) && seen_ok(&n->firmware.f) &&
	    !str_starts(n->firmware.v, port->firmware.v))
		probe_differ(p, port->name, "net.rdma.firmware", &port->firmware, &n->firmware);
}

static void probe_nic_add_port(struct probe *p, const char *device, const char *device_dir,
			       const char *number, const char *pci, struct list *list)
{
	const char *dir = arena_printf(p->a, "%sports/%s/", device_dir, number);
	struct rdma_port *port;
	long long n;

	/* Ports are numbered from 1 in one byte. */
	if (parse_i64(number, &n) || n < 1 || n > 255)
		return;
	port = list_add(p->a, list, sizeof(*port));
	port->name = arena_printf(p->a, "%s/%s", device, number);
	port->device = device;
	port->number = (unsigned)n;
	port->pci = pci;
	port->state = after_colon(p, dir, "state");
	port->phys_state = after_colon(p, dir, "phys_state");
	port->link_layer = probe_str(p, dir, "link_layer");
	port->rate_text = probe_str(p, dir, "rate");
	port->rate_mbps = probe_nic_rate(&port->rate_text);
	port->firmware = fact_filled(probe_str(p, device_dir, "fw_ver"));
	port->board_id = probe_str(p, device_dir, "board_id");
	port->hca_type = probe_str(p, device_dir, "hca_type");
	port->node_type = after_colon(p, device_dir, "node_type");
	port->numa_node = probe_int(p, device_dir, "device/numa_node");
	port->netdev = netdev(p, dir, device_dir);
	port->symbol_errors = probe_int(p, dir, "counters/symbol_error");
	port->link_downed = probe_int(p, dir, "counters/link_downed");
	port->rcv_errors = probe_int(p, dir, "counters/port_rcv_errors");
	port->out_of_sequence = probe_int(p, dir, "hw_counters/out_of_sequence");
	gids(p, port, dir);
	probe_rdma_twice(p, port);
}

static void add_device(struct probe *p, const char *device)
{
	const char *dir = arena_printf(p->a, CLASS "/%s/", device);
	const char *pci = class_device_pci(p, dir);
	struct list *list = manages_switches(p, pci) ? &p->m->net.switch_ports : &p->m->net.rdma;
	char **ports;
	size_t n;

	if (host_list(p->h, arena_printf(p->a, "%sports", dir), p->a, &ports, &n))
		return;
	for (size_t i = 0; i < n; i++)
		probe_nic_add_port(p, device, dir, ports[i], pci, list);
}

static struct fact_str probe_nic_module(struct probe *p, const char *name)
{
	return probe_there(p, arena_printf(p->a, "/sys/module/%s", name), "loaded");
}

/* The driver that takes the NIC of a DGX Spark off the bus. Source: NVIDIA/NV-Kernels, change 271.
 */
static void probe_nic_hotplug(struct probe *p)
{
	static const char dir[] = "/sys/devices/platform/MTKP0001:00/pcie_hotplug/";
	struct network *net = &p->m->net;

	net->spark_hotplug = probe_there(p, SPARK_HOTPLUG, "present");
	net->hotplug_marker = probe_there(p, "/etc/nvidia/cx7-hotplug-enabled", "present");
	net->hotplug_enabled = probe_int(p, dir, "hotplug_enabled");
	net->cable_present = probe_int(p, dir, "debug_state");
	net->cables_plugged = net->hotplug_enabled;
	if (net->hotplug_enabled.f.seen != SEEN_ABSENT)
		net->cables_plugged =
			probe_ask_int(p, "kernel-log", "", "lines(MTKP0001:00: Cable plugin)");
}

void probe_rdma(struct probe *p)
{
	struct network *net = &p->m->net;
	char **devices;
	size_t n;

	net->ib_core = probe_nic_module(p, "ib_core");
	net->ib_umad = probe_nic_module(p, "ib_umad");
	/* Built into the kernel it has no folder of a module. */
	if (!seen_ok(&net->ib_umad.f) && host_exists(p->h, "/sys/class/infiniband_mad"))
		net->ib_umad = fact_str_of("built in", "", "/sys/class/infiniband_mad");
	net->mlx5_core = probe_nic_module(p, "mlx5_core");
	net->mlx5_ib = probe_nic_module(p, "mlx5_ib");
	net->peermem = probe_nic_module(p, "nvidia_peermem");
	/* The kernel's own driver has no version; the vendor's has. */
	net->ofed_version = probe_str(p, "/sys/module/mlx5_core/", "version");
	net->peermem_client = probe_str(p, "/sys/kernel/mm/memory_peers/nv_mem/", "version");
	net->verbs_provider = probe_there(p, "/etc/libibverbs.d/mlx5.driver", "present");
	probe_nic_hotplug(p);
	if (host_list(p->h, CLASS, p->a, &devices, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add_device(p, devices[i]);
}
