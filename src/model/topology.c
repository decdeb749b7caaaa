/* SPDX-License-Identifier: Apache-2.0 */
/* Path classes from places in the PCI tree. */
#include "model/topology.h"

#include <stdio.h>
#include <string.h>

const char *path_class_name(enum path_class c)
{
	static const char *const names[] = { "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS", "?" };

	return names[c];
}

/* What follows "/pciDDDD:BB" of a place, and the length of everything before it. */
static const char *below_root(const char *path, size_t *root)
{
	const char *p = path ? strstr(path, "/pci") : NULL, *end;

	if (!p)
		return NULL;
	end = strchr(p + 1, '/');
	if (!end)
		end = p + strlen(p);
	*root = (size_t)(end - path);
	return end;
}

static size_t components(const char *p)
{
	size_t n = 0;

	for (; *p; p++)
		n += *p == '/';
	return n;
}

/* Bytes of the longest common prefix that ends at a component's end. */
static size_t common(const char *a, const char *b)
{
	size_t i = 0, end = 0;

	while (a[i] && a[i] == b[i]) {
		i++;
		if ((a[i] == '/' || !a[i]) && (b[i] == '/' || !b[i]))
			end = i;
	}
	return end;
}

static enum path_class across(const struct machine *m, const struct pci_function *x, const struct pci_function *y)
{
	long long a = fact_or(&x->numa_node, -1), b = fact_or(&y->numa_node, -1);

	if (m->cpu.nodes.n <= 1)
		return PATH_NODE;
	/* A node of -1 means that firmware did not say: the worse is assumed. */
	return a >= 0 && a == b ? PATH_NODE : PATH_SYS;
}

/* "0000:01:00" of "0000:01:00.1": the device without its function. */
static size_t device_length(const char *address)
{
	return strcspn(address, ".");
}

static enum path_class between(const struct machine *m, const struct pci_function *x, const struct pci_function *y)
{
	size_t root_x, root_y, same;
	const char *a, *b;

	if (strcmp(x->name, y->name) == 0)
		return PATH_SELF;
	if (device_length(x->name) == device_length(y->name) && strncmp(x->name, y->name, device_length(x->name)) == 0)
		return PATH_PIX;
	a = below_root(x->path, &root_x);
	b = below_root(y->path, &root_y);
	if (!a || !b)
		return PATH_UNKNOWN;
	if (root_x != root_y || strncmp(x->path, y->path, root_x) != 0)
		return across(m, x, y);
	same = common(a, b);
	if (same == 0)
		return PATH_PHB;
	/*
	 * The last common bridge is a switch's upstream port (or a port that both hang from). Below it each way has the
	 * device itself and, behind one switch, one downstream port; every further switch adds two bridges.
	 */
	return components(a + same) <= 2 && components(b + same) <= 2 ? PATH_PIX : PATH_PXB;
}

enum path_class topology_path(const struct machine *m, const char *a, const char *b)
{
	const struct pci_function *x = machine_pci(m, a), *y = machine_pci(m, b);

	return x && y ? between(m, x, y) : PATH_UNKNOWN;
}

static size_t links(const struct gpu *g, const char *to, bool *switched)
{
	size_t n = 0;

	LIST_FOR_EACH(struct nvlink, l, &g->links) {
		if (fact_or(&l->active, 0) != 1)
			continue;
		if (fact_is(&l->remote_type, "switch")) {
			*switched = true;
			n++;
		} else if (fact_is(&l->remote, to)) {
			n++;
		}
	}
	return n;
}

/* In a virtual machine the far ends are hidden, but the driver still says whether peers meet over NVLink. */
static size_t hidden_links(const struct gpu *a, const struct gpu *b)
{
	size_t n = 0;

	LIST_FOR_EACH(struct gpu_peer, p, &a->peers)
		if (p->index == b->index && fact_is(&p->p2p_nvlink, "ok"))
			LIST_FOR_EACH(struct nvlink, l, &a->links)
				n += fact_or(&l->active, 0) == 1 && !seen_ok(&l->remote.f);
	return n;
}

size_t topology_nvlinks(const struct machine *m, const struct gpu *a, const struct gpu *b)
{
	bool switched_a = false, switched_b = false;
	size_t na, nb;

	(void)m;
	if (a == b)
		return 0;
	na = links(a, b->pci, &switched_a);
	nb = links(b, a->pci, &switched_b);
	if (na == 0 && nb == 0) {
		na = hidden_links(a, b);
		nb = hidden_links(b, a);
	}
	return na < nb ? na : nb;
}

enum path_class topology_gpus(const struct machine *m, const struct gpu *a, const struct gpu *b)
{
	if (a == b)
		return PATH_SELF;
	return topology_nvlinks(m, a, b) ? PATH_NV : topology_path(m, a->pci, b->pci);
}

static void add(struct arena *a, struct endpoint **list, size_t *n, const char *name, const char *pci,
		const struct gpu *gpu)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*list)[i].name, name) == 0)
			return;
	*list = arena_grow(a, *list, *n, sizeof(**list));
	(*list)[(*n)++] = (struct endpoint){ name, pci, gpu };
}

struct endpoint *topology_endpoints(struct arena *a, const struct machine *m, size_t *n)
{
	struct endpoint *list = NULL;

	*n = 0;
	LIST_FOR_EACH(struct gpu, g, &m->gpu.gpus)
		add(a, &list, n, arena_printf(a, "GPU%u", g->index), g->pci, g);
	LIST_FOR_EACH(struct rdma_port, p, &m->net.rdma)
		if (p->pci && *p->pci)
			add(a, &list, n, p->device, p->pci, NULL);
	if (!m->net.rdma.n)
		LIST_FOR_EACH(struct nic, c, &m->net.nics)
			if (c->pci && *c->pci)
				add(a, &list, n, c->name, c->pci, NULL);
	LIST_FOR_EACH(struct disk, d, &m->storage.disks)
		if (fact_is(&d->transport, "nvme") && d->pci && *d->pci)
			add(a, &list, n, d->name, d->pci, NULL);
	return list;
}

enum path_class topology_between(const struct machine *m, const struct endpoint *a, const struct endpoint *b)
{
	if (a->gpu && b->gpu)
		return topology_gpus(m, a->gpu, b->gpu);
	return topology_path(m, a->pci, b->pci);
}

const struct endpoint *topology_nearest_nic(const struct machine *m, const struct endpoint *list, size_t n,
					    const struct gpu *g)
{
	const struct endpoint *best = NULL;
	enum path_class nearest = PATH_UNKNOWN;

	for (size_t i = 0; i < n; i++) {
		enum path_class c;

		if (list[i].gpu || machine_disk(m, list[i].name))
			continue;
		c = topology_path(m, g->pci, list[i].pci);
		if (c < nearest) {
			nearest = c;
			best = &list[i];
		}
	}
	return best;
}
