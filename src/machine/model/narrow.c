/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing every link with what stands at its ends. */
#include "machine/model/narrow.h"

#include <stdlib.h>
#include <string.h>

#include "machine/model/topology.h"

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

static long long lesser(long long a, long long b)
{
	return b > 0 && b < a ? b : a;
}

/* What both ends of the link can do; the upper one is not always seen. */
static double both_mbs(const struct pci_function *f, const struct pci_function *up)
{
	return pcie_mbs(
		lesser(fact_or(&f->max_speed_mts, 0), up ? fact_or(&up->max_speed_mts, 0) : 0),
		lesser(fact_or(&f->max_width, 0), up ? fact_or(&up->max_width, 0) : 0));
}

static const struct gpu *gpu_at(const struct machine *m, const char *address)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (same(g->pci, address))
			return g;
	return NULL;
}

static unsigned class_of(const struct pci_function *f)
{
	return (unsigned)(fact_or(&f->class_, 0) >> 8) & 0xffff;
}

/* A device that people ask about; its name is what they call it. NULL for others. */
static const char *device_name(struct finder *d, const struct pci_function *f)
{
	const struct gpu *g = gpu_at(d->m, f->name);

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
	d->list = arena_grow(d->a, d->list, d->n, sizeof(*d->list));
	d->list[d->n++] = (struct narrow){ .kind = kind,
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
	const struct gpu *g = gpu_at(d->m, f->name);

	return g ? fact_or(&g->integrated, 0) == 1
		 : is_nvidia_display(f) && fact_is(&d->m->platform.kind, "dgx-spark");
}

static bool rests(const struct finder *d, const struct pci_function *f)
{
	const struct gpu *g = gpu_at(d->m, f->name);

	return is_nvidia_display(f) && (!g || !seen_ok(&g->pstate.f) || g->pstate.v > 0 ||
					(fact_or(&g->event_reasons, 0) & EVENT_IDLE));
}

/* The link of one function against its two ends. */
static void narrow_own_link(struct finder *d, const struct pci_function *f, const char *name,
			    bool is_switch)
{
	const struct pci_function *up = machine_pci(d->m, f->parent);
	double now = now_of(f), could = both_mbs(f, up);
	long long width = fact_or(&f->width, 0),
		  lanes = lesser(fact_or(&f->max_width, 0), up ? fact_or(&up->max_width, 0) : 0);
	bool narrow = width > 0 && width < lanes;

	if (now <= 0 || could <= 0)
		return;
	if (narrow)
		narrow_add(
			d, NARROW_LANES, f, name, now, could,
			arena_printf(d->a,
				     "%lld of %lld lanes came up: %s instead of %s each way; seat, "
				     "slot or riser",
				     width, lanes, rate(d->a, now), rate(d->a, could)));
	else if (now < could && !rests(d, f))
		narrow_add(
			d, NARROW_SPEED, f, name, now, could,
			arena_printf(d->a,
				     "the link trained at a lower speed than both ends can do: %s "
				     "instead of %s each way",
				     rate(d->a, now), rate(d->a, could)));
	else if (!is_switch && could < most_of(f) && up && most_of(up) > 0)
		narrow_add(d, NARROW_SLOT, f, name, could, most_of(f),
			   arena_printf(
				   d->a,
				   "the port above it gives %s each way, the device could take %s: "
				   "this is how the board is built",
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
	double link = both_mbs(f, machine_pci(d->m, f->parent)), wire = narrow_wire_of(d, f);

	if (link > 0 && wire > link)
		narrow_add(
			d, NARROW_PORT, f, name, link, wire,
			arena_printf(
				d->a,
				"the port runs at %.0f Gb/s, its PCIe link carries at most %.0f: "
				"one function alone cannot fill the cable",
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
	const struct pci_function *up = machine_pci(d->m, f->parent);
	double way = both_mbs(f, up), most = 0;
	const char *who = NULL;

	if (class_of(f) != CLASS_BRIDGE || fact_or(&f->port_type, -1) != PORT_UP || way <= 0)
		return;
	LIST_FOR_EACH (struct pci_function, p, &d->m->pci) {
		const char *name = below(p, f) ? device_name(d, p) : NULL;
		double takes = name ? both_mbs(p, machine_pci(d->m, p->parent)) : 0;

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
		narrow_add(
			d, NARROW_UPLINK, f, arena_printf(d->a, "switch %s", f->name), way, most,
			arena_printf(
				d->a,
				"its way up carries %s each way, %s below it could take %s: what "
				"goes past the switch shares that",
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
		narrow_add(
			d, NARROW_FAR, f, arena_printf(d->a, "GPU %u", g->index), 0, 0,
			arena_printf(d->a,
				     "no NIC behind its own switch, while other GPUs have one: its "
				     "traffic crosses the processor (%s to %s)",
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
