/* SPDX-License-Identifier: Apache-2.0 */
/* Path classes from places in the PCI tree. */
#include "machine/model/topology.h"

#include <string.h>

const char *path_class_name(enum path_class c)
{
	static const char *const names[] = { "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS", "?" };

	return names[c];
}

/* A place in the PCI tree, read from its path. */
struct place {
	const char *path;
	size_t root; /* bytes up to the end of the first host bridge, 0 when the path has none */
};

static struct place topology_place_of(const struct pci_function *f)
{
	struct place p = { f->path ? f->path : "", 0 };

	for (const char *c = strchr(p.path, '/'); c && !p.root; c = strchr(c, '/')) {
		size_t n = pci_root_length(++c);

		if (n)
			p.root = (size_t)(c - p.path) + n;
	}
	return p;
}

/* Functions on the way that s, the rest of a path, describes. */
static size_t functions(const char *s)
{
	size_t n = 0;

	for (s = strchr(s, '/'); s; s = strchr(s, '/'))
		n += pci_address_length(++s) != 0;
	return n;
}

/* Bytes of the longest common part of two paths that ends where a component ends. */
static size_t topology_common(const char *a, const char *b)
{
	size_t i = 0, end = 0;

	while (a[i] && a[i] == b[i]) {
		i++;
		if ((a[i] == '/' || !a[i]) && (b[i] == '/' || !b[i]))
			end = i;
	}
	return end;
}

/* Whether the last component of the first n bytes of path is a host bridge, or the one behind a
 * function (VMD). */
static bool ends_in_root(const char *path, size_t n)
{
	size_t at = n;

	while (at > 0 && path[at - 1] != '/')
		at--;
	return pci_root_length(path + at) == n - at;
}

/* No host bridge in common. */
static enum path_class topology_across(const struct machine *m, const struct pci_function *x,
				       const struct pci_function *y)
{
	long long a = fact_or(&x->numa_node, -1), b = fact_or(&y->numa_node, -1);

	if (a >= 0 && b >= 0)
		return a == b ? PATH_NODE : PATH_SYS;
	/* -1: firmware did not say. On a machine with one node, or a kernel without nodes, there is
	 * nothing to say. */
	return m->cpu.nodes.n <= 1 ? PATH_NODE : PATH_UNKNOWN;
}

/* Two functions of one device: the addresses differ in the last digit alone. */
static bool same_device(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return a[n] && strncmp(a, b, n + 1) == 0;
}

static enum path_class between(const struct machine *m, const struct pci_function *x,
			       const struct pci_function *y)
{
	struct place a, b;
	size_t same;

	if (strcmp(x->name, y->name) == 0)
		return PATH_SELF;
	if (same_device(x->name, y->name))
		return PATH_PIX;
	a = topology_place_of(x);
	b = topology_place_of(y);
	if (!a.root || !b.root)
		return PATH_UNKNOWN;
	same = topology_common(a.path, b.path);
	if (same < a.root)
		return topology_across(m, x, y);
	if (ends_in_root(a.path, same))
		return PATH_PHB;
	/*
	 * The last bridge in common is a switch's upstream port, or a port that both hang from.
	 * Below it each way has the device itself and, behind one switch, one downstream port;
	 * every further switch adds two bridges.
	 */
	return functions(a.path + same) <= 2 && functions(b.path + same) <= 2 ? PATH_PIX : PATH_PXB;
}

enum path_class topology_path(const struct machine *m, const char *a, const char *b)
{
	const struct pci_function *x = machine_pci(m, a), *y = machine_pci(m, b);

	return x && y ? between(m, x, y) : PATH_UNKNOWN;
}

static size_t topology_links(const struct gpu *g, const char *to, bool *switched)
{
	size_t n = 0;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
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

/* In a virtual machine the far ends are hidden, but the driver still says whether peers meet over
 * NVLink. */
static size_t hidden_links(const struct gpu *a, const struct gpu *b)
{
	size_t n = 0;

	LIST_FOR_EACH (struct gpu_peer, p, &a->peers)
		if (p->index == b->index && fact_is(&p->p2p_nvlink, "ok"))
			LIST_FOR_EACH (struct nvlink, l, &a->links)
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
	na = topology_links(a, b->pci, &switched_a);
	nb = topology_links(b, a->pci, &switched_b);
	if (na == 0 && nb == 0) {
		na = hidden_links(a, b);
		nb = hidden_links(b, a);
	}
	return na < nb ? na : nb;
}

static void topology_add(struct arena *a, const struct machine *m, struct endpoint **list,
			 size_t *n, struct endpoint e)
{
	if (!e.pci || !*e.pci)
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*list)[i].name, e.name) == 0)
			return;
	e.function = machine_pci(m, e.pci);
	*list = arena_grow(a, *list, *n, sizeof(**list));
	(*list)[(*n)++] = e;
}

struct endpoint *topology_endpoints(struct arena *a, const struct machine *m, size_t *n)
{
	struct endpoint *list = NULL;

	*n = 0;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		topology_add(a, m, &list, n,
			     (struct endpoint){ .name = arena_printf(a, "GPU%u", g->index),
						.pci = g->pci,
						.gpu = g });
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma)
		topology_add(a, m, &list, n,
			     (struct endpoint){ .name = p->device, .pci = p->pci, .nic = true });
	if (!m->net.rdma.n)
		LIST_FOR_EACH (struct nic, c, &m->net.nics)
			topology_add(
				a, m, &list, n,
				(struct endpoint){ .name = c->name, .pci = c->pci, .nic = true });
	LIST_FOR_EACH (struct disk, d, &m->storage.disks)
		if (fact_is(&d->transport, "nvme"))
			topology_add(a, m, &list, n,
				     (struct endpoint){ .name = d->name, .pci = d->pci });
	return list;
}

enum path_class topology_between(const struct machine *m, const struct endpoint *a,
				 const struct endpoint *b)
{
	if (a->gpu && b->gpu && (a->gpu == b->gpu || topology_nvlinks(m, a->gpu, b->gpu)))
		return a->gpu == b->gpu ? PATH_SELF : PATH_NV;
	return a->function && b->function ? between(m, a->function, b->function) : PATH_UNKNOWN;
}

const struct endpoint *topology_nearest_nic(const struct machine *m, const struct endpoint *list,
					    size_t n, const struct gpu *g)
{
	const struct pci_function *f = machine_pci(m, g->pci);
	const struct endpoint *best = NULL;
	enum path_class nearest = PATH_UNKNOWN;

	for (size_t i = 0; f && i < n; i++) {
		enum path_class c;

		if (!list[i].nic || !list[i].function)
			continue;
		c = between(m, f, list[i].function);
		if (c < nearest) {
			nearest = c;
			best = &list[i];
		}
	}
	return best;
}
