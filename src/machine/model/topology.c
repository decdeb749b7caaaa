/* SPDX-License-Identifier: Apache-2.0 */
/* Path classes from places in the PCI tree. */
#include "machine/model/topology.h"

#include <stdlib.h>
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
	ARENA_ADD(a, *list, *n) = e;
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

/* Comparing every link with what stands at its ends. */

enum { CLASS_BRIDGE = 0x0604, CLASS_NVME = 0x0108, DEEPEST = 64, PORT_UP = 5 };

struct finder {
	struct arena *a;
	const struct machine *m;
	struct narrow *list;
	size_t n;
};

/* Names may be missing in what was not read from a machine. */
static const char *safe(const char *s)
{
	return s ? s : "";
}

static bool same(const char *a, const char *b)
{
	return strcmp(safe(a), safe(b)) == 0;
}

double pcie_mbs(long long mts, long long lanes)
{
	double coding = mts <= 5000 ? 0.8 : mts <= 32000 ? 128.0 / 130 : 236.0 / 256;

	return mts <= 0 || lanes <= 0 ? 0 : (double)mts * coding / 8 * (double)lanes;
}

static double now_of(const struct pci_function *f)
{
	return pcie_mbs(fact_or(&f->speed_mts, 0), fact_or(&f->width, 0));
}

static double most_of(const struct pci_function *f)
{
	return pcie_mbs(fact_or(&f->max_speed_mts, 0), fact_or(&f->max_width, 0));
}

static double best_mbs(const struct machine *m, const struct pci_function *f)
{
	struct link_best best = machine_link_best(m, f);

	return pcie_mbs(best.speed_mts, best.width);
}

static unsigned class_of(const struct pci_function *f)
{
	return (unsigned)(fact_or(&f->class_, 0) >> 8) & 0xffff;
}

/* A device that people ask about; its name is what they call it. NULL for others. */
static const char *device_name(struct finder *d, const struct pci_function *f)
{
	const struct gpu *g = machine_gpu_at(d->m, f->name);

	if (fact_or(&f->is_vf, 0) == 1)
		return NULL;
	if (g)
		return arena_printf(d->a, "GPU %u", g->index);
	if (is_nvidia_display(f))
		return arena_printf(d->a, "GPU %s", safe(f->name));
	LIST_FOR_EACH (struct rdma_port, p, &d->m->net.rdma)
		if (same(p->pci, f->name))
			return p->device;
	LIST_FOR_EACH (struct nic, c, &d->m->net.nics)
		if (same(c->pci, f->name))
			return c->name;
	if (class_of(f) == CLASS_NVME)
		LIST_FOR_EACH (struct disk, disk, &d->m->storage.disks)
			if (same(disk->pci, f->name))
				return disk->name;
	return class_of(f) == CLASS_NVME || class_of(f) >> 8 == 0x02 ? safe(f->name) : NULL;
}

static void narrow_add(struct finder *d, enum narrow_kind kind, const struct pci_function *f,
		       const char *name, double now, double could, const char *reason)
{
	ARENA_ADD(d->a, d->list, d->n) = (struct narrow){ .kind = kind,
							  .address = safe(f->name),
							  .name = name,
							  .now = now,
							  .could = could,
							  .reason = reason,
							  .fault = kind < NARROW_UPLINK };
}

static const char *rate(struct arena *a, double mbs)
{
	return arena_printf(a, mbs < 10000 ? "%.2f GB/s" : "%.1f GB/s", mbs / 1000);
}

/* The link of an integrated GPU is a placeholder; that of a resting one is slow for a reason. */
static bool is_placeholder(const struct finder *d, const struct pci_function *f)
{
	const struct gpu *g = machine_gpu_at(d->m, f->name);

	return g ? fact_or(&g->integrated, 0) == 1 : gb10_name(f) != NULL;
}

static bool rests(const struct finder *d, const struct pci_function *f)
{
	const struct gpu *g = machine_gpu_at(d->m, f->name);

	return is_nvidia_display(f) && (!g || !seen_ok(&g->pstate.f) || g->pstate.v > 0 ||
					(fact_or(&g->event_reasons, 0) & EVENT_IDLE));
}

/* The link of one function against its two ends. */
static void narrow_own_link(struct finder *d, const struct pci_function *f, const char *name,
			    bool is_switch)
{
	const struct pci_function *up = machine_pci(d->m, f->parent);
	struct link_best best = machine_link_best(d->m, f);
	double now = now_of(f), could = pcie_mbs(best.speed_mts, best.width);
	long long width = fact_or(&f->width, 0), lanes = best.width;
	bool narrow = width > 0 && width < lanes;

	if (now <= 0 || could <= 0)
		return;
	if (narrow)
		narrow_add(d, NARROW_LANES, f, name, now, could,
			   arena_printf(
				   d->a, "%lld of %lld lanes are up: %s instead of %s each way; %s",
				   width, lanes, rate(d->a, now), rate(d->a, could),
				   machine_soldered(d->m, f)
					   ? "update the BIOS, then contact the vendor's support"
					   : "check seating, slot and riser"));
	else if (now < could && !rests(d, f))
		narrow_add(d, NARROW_SPEED, f, name, now, could,
			   arena_printf(d->a,
					"the link trained at a lower speed than both ends support: "
					"%s instead of %s each way",
					rate(d->a, now), rate(d->a, could)));
	else if (!is_switch && could < most_of(f) && up && most_of(up) > 0)
		narrow_add(d, NARROW_SLOT, f, name, could, most_of(f),
			   arena_printf(d->a,
					"its upstream port supports %s each way, and the device "
					"%s: the board is designed so",
					rate(d->a, could), rate(d->a, most_of(f))));
}

/* What the port of a NIC carries, MB/s; 0 where it has no link. */
static double narrow_wire_of(const struct finder *d, const struct pci_function *f)
{
	double wire = 0;

	LIST_FOR_EACH (struct rdma_port, p, &d->m->net.rdma)
		if (same(p->pci, f->name) && fact_is(&p->state, "ACTIVE"))
			wire = (double)fact_or(&p->rate_mbps, 0) / 8;
	LIST_FOR_EACH (struct nic, c, &d->m->net.nics)
		if (wire <= 0 && same(c->pci, f->name) && fact_or(&c->carrier, 0) == 1)
			wire = (double)fact_or(&c->speed_mbps, 0) / 8;
	return wire;
}

/* A port faster than the way behind it. Ports of one adapter share no link here: each function is
 * asked by itself. */
static void narrow_port(struct finder *d, const struct pci_function *f, const char *name)
{
	double link = best_mbs(d->m, f), wire = narrow_wire_of(d, f);

	if (link > 0 && wire > link)
		narrow_add(d, NARROW_PORT, f, name, link, wire,
			   arena_printf(d->a,
					"the port runs at %.0f Gb/s, its PCIe link carries at most "
					"%.0f: one function cannot fill the cable",
					wire * 8 / 1000, link * 8 / 1000));
}

static bool below(const struct pci_function *f, const struct pci_function *b)
{
	const char *path = safe(f->path), *top = safe(b->path);
	size_t n = strlen(top);

	return n && strncmp(path, top, n) == 0 && path[n] == '/';
}

/* The way up of a switch, against the one device below it that could take most. */
static void uplink(struct finder *d, const struct pci_function *f)
{
	double way = best_mbs(d->m, f), most = 0;
	const char *who = NULL;

	if (class_of(f) != CLASS_BRIDGE || fact_or(&f->port_type, -1) != PORT_UP || way <= 0)
		return;
	LIST_FOR_EACH (struct pci_function, p, &d->m->pci) {
		const char *name = below(p, f) ? device_name(d, p) : NULL;
		double takes = name ? best_mbs(d->m, p) : 0;

		/* A NIC takes no more than its port brings. */
		if (pci_base_class(p) == 0x02 && narrow_wire_of(d, p) < takes)
			takes = narrow_wire_of(d, p);
		if (takes > most) {
			most = takes;
			who = name;
		}
	}
	/* A slow way up that still carries what the neediest device takes holds nobody back. */
	if (who && now_of(f) < most)
		narrow_own_link(d, f, arena_printf(d->a, "switch %s", f->name), true);
	if (most > way)
		narrow_add(d, NARROW_UPLINK, f, arena_printf(d->a, "switch %s", f->name), way, most,
			   arena_printf(d->a,
					"its uplink carries %s each way, but %s below it supports "
					"%s: traffic through the switch shares the uplink",
					rate(d->a, way), who, rate(d->a, most)));
}

static void narrow_nvlinks(struct finder *d)
{
	LIST_FOR_EACH (struct gpu, g, &d->m->gpu.gpus) {
		const struct pci_function *f = machine_pci(d->m, g->pci);
		size_t up = 0, others = 0;

		LIST_FOR_EACH (struct nvlink, l, &g->links)
			up += fact_or(&l->active, 0) == 1;
		LIST_FOR_EACH (struct gpu, other, &d->m->gpu.gpus)
			LIST_FOR_EACH (struct nvlink, l, &other->links)
				others += other != g && fact_or(&l->active, 0) == 1;
		/* Where no GPU has one up, nothing is linked by design. */
		if (!f || !g->links.n || up == g->links.n || (up == 0 && others == 0))
			continue;
		narrow_add(d, NARROW_NVLINK, f, arena_printf(d->a, "GPU %u", g->index), (double)up,
			   (double)g->links.n,
			   arena_printf(
				   d->a,
				   "%zu of %zu NVLinks are up: every collective waits for this GPU",
				   up, g->links.n));
	}
}

static void far_gpus(struct finder *d)
{
	size_t n, near = 0;
	const struct endpoint *list = topology_endpoints(d->a, d->m, &n), *nic;

	LIST_FOR_EACH (struct gpu, g, &d->m->gpu.gpus) {
		nic = topology_nearest_nic(d->m, list, n, g);
		near += nic && topology_path(d->m, g->pci, nic->pci) <= PATH_PXB;
	}
	LIST_FOR_EACH (struct gpu, g, &d->m->gpu.gpus) {
		const struct pci_function *f = machine_pci(d->m, g->pci);

		nic = topology_nearest_nic(d->m, list, n, g);
		if (!f || !nic || near == 0 || topology_path(d->m, g->pci, nic->pci) <= PATH_PXB)
			continue;
		narrow_add(d, NARROW_FAR, f, arena_printf(d->a, "GPU %u", g->index), 0, 0,
			   arena_printf(d->a,
					"no NIC is behind this GPU's PCIe switch, unlike other "
					"GPUs: the GPU's traffic crosses the CPU (%s to %s)",
					path_class_name(topology_path(d->m, g->pci, nic->pci)),
					nic->name));
	}
}

static double left(const struct narrow *s)
{
	return s->could > 0 ? s->now / s->could : 1;
}

static int worst_first(const void *a, const void *b)
{
	const struct narrow *x = a, *y = b;

	if (x->fault != y->fault)
		return x->fault ? -1 : 1;
	if (!x->fault && x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (left(x) < left(y) || left(x) > left(y))
		return left(x) < left(y) ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->address, y->address);
}

struct narrow *narrow_spots(struct arena *a, const struct machine *m, size_t *n)
{
	struct finder d = { .a = a, .m = m };

	LIST_FOR_EACH (struct pci_function, f, &m->pci) {
		const char *name = device_name(&d, f);

		if (name && !is_placeholder(&d, f)) {
			narrow_own_link(&d, f, name, false);
			narrow_port(&d, f, name);
		}
		uplink(&d, f);
	}
	narrow_nvlinks(&d);
	far_gpus(&d);
	if (d.n)
		qsort(d.list, d.n, sizeof(*d.list), worst_first);
	*n = d.n;
	return d.list;
}
