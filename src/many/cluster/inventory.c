/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to a node: interfaces and the RDMA devices of the same PCI function become ports. */
#include "many/cluster/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"

static const struct rdma_port *rdma_by(const struct machine *m, const struct nic *n)
{
	LIST_FOR_EACH (struct rdma_port, r, &m->net.rdma)
		if (fact_is(&r->netdev, n->name))
			return r;
	if (!*n->pci)
		return NULL;
	LIST_FOR_EACH (struct rdma_port, r, &m->net.rdma)
		if (strcmp(r->pci, n->pci) == 0)
			return r;
	return NULL;
}

static struct fact_int number(long long v, const char *from)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .leaf = from }, .v = v };
}

static struct fact_str word(const char *v, const char *from)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = from }, .v = v };
}

static void rdma(const struct rdma_port *r, struct cluster_port *p)
{
	static const char from[] = "/sys/class/infiniband";

	if (!r) {
		p->rdma_device.f =
			(struct fact){ .seen = SEEN_ABSENT, .err = ENOENT, .leaf = from };
		return;
	}
	p->rdma_device = word(r->device, from);
	p->rdma_port = number(r->number, from);
	p->rdma_state = r->state;
	p->link_layer = r->link_layer;
	p->rdma_rate_mbps = r->rate_mbps;
	p->gids = r->gids;
	p->symbol_errors = r->symbol_errors;
	p->link_downed = r->link_downed;
	p->rcv_errors = r->rcv_errors;
	p->out_of_sequence = r->out_of_sequence;
}

static void addresses(struct arena *a, const struct nic *n, struct cluster_port *p)
{
	char *text = arena_strdup(a, fact_text(&n->ipv4, "")), *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		struct cluster_prefix prefix;

		if (p->addresses.n < CLUSTER_ADDRESSES_MAX && !cluster_prefix_parse(w, &prefix))
			((struct cluster_address *)list_add(a, &p->addresses,
							    sizeof(struct cluster_address)))
				->name = w;
	}
}

static void port(struct arena *a, const struct machine *m, const struct nic *n,
		 struct cluster_port *p)
{
	const struct pci_function *f = *n->pci ? machine_pci(m, n->pci) : NULL;

	p->name = n->name;
	p->pci = n->pci;
	p->port_name = n->port;
	p->switch_id = n->switch_id;
	p->driver = n->driver;
	p->firmware = n->firmware;
	p->mac = n->mac;
	p->operstate = n->operstate;
	p->owner = n->owner;
	p->bond_master = n->bond_master;
	p->carrier = n->carrier;
	p->speed_mbps = n->speed_mbps;
	p->mtu = n->mtu;
	p->max_mtu = n->max_mtu;
	p->wireless = n->wireless;
	p->rx_dropped = n->rx_dropped;
	p->rx_missed = n->rx_missed;
	p->rx_crc_errors = n->rx_crc_errors;
	if (f) {
		p->pci_speed_mts = f->speed_mts;
		p->pci_max_mts = f->max_speed_mts;
		p->pci_width = f->width;
		p->pci_max_width = f->max_width;
	}
	addresses(a, n, p);
	rdma(rdma_by(m, n), p);
}

/* Of virtual ones no driver was asked for. */
static bool is_virtual_link(const struct nic *n)
{
	return !n->driver.f.leaf;
}

/* On the bus, so that twins stand in the order of their halves; virtual ones last. */
static bool stands_before(const struct cluster_port *x, const struct cluster_port *y)
{
	if (!*x->pci || !*y->pci)
		return *x->pci && !*y->pci;
	return strcmp(x->pci, y->pci) < 0;
}

static void in_order(struct list *ports)
{
	struct cluster_port *p = ports->items;

	for (size_t i = 1; i < ports->n; i++)
		for (size_t k = i; k && stands_before(&p[k], &p[k - 1]); k--) {
			struct cluster_port between = p[k];

			p[k] = p[k - 1];
			p[k - 1] = between;
		}
}

static void ports(struct arena *a, const struct machine *m, bool all_links,
		  struct cluster_node *out)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		if (fact_is(&n->type, "loopback") || (is_virtual_link(n) && !all_links) ||
		    out->ports.n == CLUSTER_PORTS_MAX)
			continue;
		port(a, m, n, list_add(a, &out->ports, sizeof(struct cluster_port)));
	}
	in_order(&out->ports);
}

static struct fact_str nccl(const struct machine *m)
{
	LIST_FOR_EACH (struct library, l, &m->software.libraries)
		if (strcmp(l->name, "libnccl.so.2") == 0)
			return l->version;
	return (struct fact_str){
		.f = { .seen = SEEN_ABSENT, .err = ENOENT, .leaf = "libnccl.so.2" }
	};
}

/* 13000 is 13.0. */
static struct fact_str cuda(struct arena *a, const struct fact_int *driver)
{
	if (!seen_ok(&driver->f))
		return (struct fact_str){ .f = driver->f };
	return (struct fact_str){ .f = driver->f,
				  .v = arena_printf(a, "%lld.%lld", driver->v / 1000,
						    driver->v % 1000 / 10) };
}

static long long adapters(const struct machine *m)
{
	long long n = 0;

	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		n += is_connectx(f);
	return n;
}

void cluster_inventory(struct arena *a, const struct machine *m, bool all_links,
		       struct cluster_node *out)
{
	const struct gpu *g = machine_gpu(m, 0);

	out->hostname = m->nodename;
	out->platform = m->platform.kind;
	out->product = m->platform.product;
	out->os = m->software.os_name;
	out->kernel = m->kernel.release;
	out->arch = m->kernel.arch;
	out->driver = m->gpu.driver;
	out->cuda = cuda(a, &m->gpu.cuda_driver);
	out->nccl = nccl(m);
	out->gpus = m->gpu.count;
	out->gpu = g ? g->name
		     : (struct fact_str){ .f = { .seen = SEEN_ABSENT,
						 .err = ENODEV,
						 .leaf = "nvmlDeviceGetName" } };
	out->memory_bytes = m->memory.total_kb;
	out->memory_bytes.v *= 1024;
	out->euid = m->euid;
	out->captured = m->captured;
	out->adapters = number(adapters(m), "/sys/bus/pci/devices");
	out->hotplug = m->net.spark_hotplug;
	out->version = word(GPUTUNE_VERSION, "gputune");
	ports(a, m, all_links, out);
}
