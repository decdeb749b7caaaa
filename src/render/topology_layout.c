/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI tree cut down to what a person asks about. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/model/pci.h"
#include "render/figure.h"
#include "render/topology.h"

enum {
	DEEPEST = 64,
	CLASS_PCI_BRIDGE = 0x0604,
	CLASS_NVME = 0x0108,
	PORT_ROOT = 4,
	PORT_UP = 5,
	PORT_DOWN = 6
};

/* A bridge on the way down, with its place and how its port is wired. */
struct step {
	const char *name;
	struct topology_place *place;
};

struct builder {
	struct arena *a;
	const struct machine *m;
	struct topology_place *machine;
	const struct narrow *spots;
	size_t n_spots;
};

static const char *safe(const char *s)
{
	return s ? s : "";
}

static struct topology_place *place_new(struct arena *a, enum place_kind kind, const char *label)
{
	struct topology_place *p = ARENA_NEW(a, struct topology_place);

	*p = (struct topology_place){ .kind = kind, .label = label, .detail = "", .address = "" };
	return p;
}

static void place_add(struct arena *a, struct topology_place *parent, struct topology_place *child)
{
	ARENA_ADD(a, parent->children, parent->n) = child;
}

static int by_path(const void *a, const void *b)
{
	const struct pci_function *x = *(const struct pci_function *const *)a;
	const struct pci_function *y = *(const struct pci_function *const *)b;
	int r = strcmp(safe(x->path), safe(y->path));

	return r ? r : strcmp(safe(x->name), safe(y->name));
}

static const struct gpu *gpu_at(const struct machine *m, const char *address)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (strcmp(safe(g->pci), address) == 0)
			return g;
	return NULL;
}

static void set_link(struct builder *b, struct topology_place *p, const struct pci_function *f)
{
	p->address = safe(f->name);
	p->link = figure_link(b->a, &f->speed_mts, &f->width);
	p->link_max = figure_link(b->a, &f->max_speed_mts, &f->max_width);
	for (size_t i = b->n_spots; i > 0; i--) {
		if (strcmp(b->spots[i - 1].address, p->address) != 0)
			continue;
		p->spot = i;
		p->link_narrow = p->link_narrow || (b->spots[i - 1].kind != NARROW_NVLINK &&
						    b->spots[i - 1].kind != NARROW_FAR);
	}
	p->degraded = p->spot && b->spots[p->spot - 1].fault;
}

static struct topology_place *gpu_place(struct builder *b, const struct pci_function *f)
{
	const struct gpu *g = gpu_at(b->m, safe(f->name));
	struct topology_place *p =
		place_new(b->a, PLACE_GPU, g ? arena_printf(b->a, "GPU %u", g->index) : "GPU");

	p->gpu = g;
	p->detail = g ? fact_text(&g->name, "") : pci_name(b->a, f);
	set_link(b, p, f);
	/* What an integrated GPU answers about its link stands for nothing. */
	if (g && fact_or(&g->integrated, 0)) {
		p->link = fact_or(&g->c2c, 0) ? "NVLink-C2C" : "on the chip";
		p->link_max = NULL;
	}
	return p;
}

static struct topology_place *nic_place(struct builder *b, const struct pci_function *f)
{
	struct topology_place *p = place_new(b->a, PLACE_NIC, NULL);
	long long speed = 0;
	bool up = true, carrier = false;

	LIST_FOR_EACH (struct rdma_port, r, &b->m->net.rdma) {
		if (p->label || strcmp(safe(r->pci), safe(f->name)) != 0)
			continue;
		p->label = r->device;
		/* A port without a partner still names a rate. */
		up = !seen_ok(&r->state.f) || fact_is(&r->state, "ACTIVE");
		speed = up ? fact_or(&r->rate_mbps, 0) : 0;
	}
	LIST_FOR_EACH (struct nic, n, &b->m->net.nics) {
		if (strcmp(safe(n->pci), safe(f->name)) != 0)
			continue;
		p->label = p->label ? p->label : n->name;
		speed = speed > 0 || !up ? speed : fact_or(&n->speed_mbps, 0);
		carrier = carrier || (up && fact_or(&n->carrier, 0) == 1);
	}
	p->label = p->label ? p->label : "NIC";
	p->detail = speed > 0 ? figure(b->a, "Mb/s", speed) : carrier ? "up" : "no link";
	set_link(b, p, f);
	return p;
}

static struct topology_place *disk_place(struct builder *b, const struct pci_function *f)
{
	struct topology_place *p = place_new(b->a, PLACE_DISK, "NVMe");

	LIST_FOR_EACH (struct disk, d, &b->m->storage.disks) {
		if (strcmp(safe(d->pci), safe(f->name)) != 0 || p->detail[0])
			continue;
		p->label = safe(d->name);
		p->detail = seen_ok(&d->size_bytes.f) ? figure(b->a, "bytes", d->size_bytes.v) : "";
	}
	set_link(b, p, f);
	return p;
}

/* NULL for what nobody asks about. Virtual functions are their device once more. */
static struct topology_place *device_place(struct builder *b, const struct pci_function *f)
{
	unsigned c = (unsigned)(fact_or(&f->class_, 0) >> 8) & 0xffff;

	if (fact_or(&f->is_vf, 0))
		return NULL;
	if (c >> 8 == 0x03 && fact_or(&f->vendor, 0) == 0x10de)
		return gpu_place(b, f);
	if (c >> 8 == 0x02 && !is_switch_management(f))
		return nic_place(b, f);
	return c == CLASS_NVME ? disk_place(b, f) : NULL;
}

/* Puts what stands below p into its parent's list, without bridges that lead nowhere or only
 * further. */
static void topology_layout_collect(struct arena *a, struct topology_place *parent,
				    struct topology_place *p, const struct machine *m)
{
	const struct pci_function *f = p->address[0] ? machine_pci(m, p->address) : NULL;
	long long port = f ? fact_or(&f->port_type, -1) : -1;
	struct topology_place **children = p->children;
	size_t n = p->n;

	if (p->kind != PLACE_SWITCH) {
		place_add(a, parent, p);
		return;
	}
	p->children = NULL;
	p->n = 0;
	for (size_t i = 0; i < n; i++)
		topology_layout_collect(a, p, children[i], m);
	if (p->n && (port == PORT_UP || (port != PORT_ROOT && port != PORT_DOWN && p->n > 1))) {
		place_add(a, parent, p);
		return;
	}
	for (size_t i = 0; i < p->n; i++)
		place_add(a, parent, p->children[i]);
}

static struct topology_place *node_place(struct builder *b, long long index)
{
	const char *label = index >= 0 ? arena_printf(b->a, "NUMA %lld", index) : "Host";
	struct topology_place *p;

	for (size_t i = 0; i < b->machine->n; i++)
		if (strcmp(b->machine->children[i]->label, label) == 0)
			return b->machine->children[i];
	p = place_new(b->a, PLACE_NODE, label);
	if (index < 0 && seen_ok(&b->m->cpu.online.f))
		p->detail = arena_printf(b->a, "CPUs %s", idset_format(b->a, &b->m->cpu.online.v));
	LIST_FOR_EACH (struct numa_node, n, &b->m->cpu.nodes)
		if ((long long)n->index == index && seen_ok(&n->cpus.f))
			p->detail =
				arena_printf(b->a, "CPUs %s%s%s", idset_format(b->a, &n->cpus.v),
					     seen_ok(&n->mem_total_bytes.f) ? ", " : "",
					     seen_ok(&n->mem_total_bytes.f)
						     ? figure(b->a, "bytes", n->mem_total_bytes.v)
						     : "");
	place_add(b->a, b->machine, p);
	return p;
}

/* Hangs a finished root into its NUMA node; an integrated GPU stands beside the roots, not behind
 * one. */
static void finish_root(struct builder *b, struct topology_place *root, long long node)
{
	struct topology_place kept = *root;
	struct topology_place *home;

	if (!root->n)
		return;
	/* On a machine with one node the kernel may say "none". */
	if (node < 0 && b->m->cpu.nodes.n == 1)
		node = ((const struct numa_node *)b->m->cpu.nodes.items)->index;
	kept.children = NULL;
	kept.n = 0;
	for (size_t i = 0; i < root->n; i++)
		topology_layout_collect(b->a, &kept, root->children[i], b->m);
	if (!kept.n)
		return;
	home = node_place(b, node);
	root->children = NULL;
	root->n = 0;
	for (size_t i = 0; i < kept.n; i++) {
		struct topology_place *p = kept.children[i];
		bool on_chip = p->gpu && fact_or(&p->gpu->integrated, 0);

		place_add(b->a, on_chip ? home : root, p);
	}
	if (root->n)
		place_add(b->a, home, root);
}

/* One function after another, in the order of the tree; way is the bridges above the one at hand.
 */
static size_t visit(struct builder *b, struct step *way, size_t depth, struct topology_place *root,
		    const struct pci_function *f)
{
	struct topology_place *p = device_place(b, f), *parent;

	while (depth && strcmp(way[depth - 1].name, safe(f->parent)) != 0)
		depth--;
	parent = depth ? way[depth - 1].place : root;
	if (p) {
		place_add(b->a, parent, p);
		return depth;
	}
	if (((fact_or(&f->class_, 0) >> 8) & 0xffff) != CLASS_PCI_BRIDGE || depth == DEEPEST)
		return depth;
	p = place_new(b->a, PLACE_SWITCH, "switch");
	p->detail = pci_name(b->a, f);
	set_link(b, p, f);
	place_add(b->a, parent, p);
	way[depth] = (struct step){ safe(f->name), p };
	return depth + 1;
}

static void count_leaves(struct topology_place *p)
{
	p->leaves = p->n == 0;
	for (size_t i = 0; i < p->n; i++) {
		count_leaves(p->children[i]);
		p->leaves += p->children[i]->leaves;
	}
}

struct topology_place *places_of(struct arena *a, const struct machine *m,
				 const struct narrow *spots, size_t n_spots)
{
	struct builder b = { .a = a,
			     .m = m,
			     .machine = place_new(a, PLACE_MACHINE, "machine"),
			     .spots = spots,
			     .n_spots = n_spots };
	const struct pci_function **order = arena_array(a, m->pci.n, sizeof(*order));
	struct step way[DEEPEST];
	struct topology_place *root = NULL;
	size_t n = 0, depth = 0;
	long long node = -1;

	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		order[n++] = f;
	qsort(order, n, sizeof(*order), by_path);
	for (size_t i = 0; i < n; i++) {
		if (!root || strcmp(root->label, safe(order[i]->root)) != 0) {
			if (root)
				finish_root(&b, root, node);
			root = place_new(a, PLACE_ROOT, safe(order[i]->root));
			depth = 0;
			node = -1;
		}
		depth = visit(&b, way, depth, root, order[i]);
		if (node < 0)
			node = fact_or(&order[i]->numa_node, -1);
	}
	if (root)
		finish_root(&b, root, node);
	count_leaves(b.machine);
	return b.machine;
}

/* Sentences from places, NVLinks and narrow spots. The same facts give the same words. */

enum { ENDS_MAX = 36 };

size_t nvlinks_up(const struct gpu *g)
{
	size_t n = 0;

	if (g)
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			n += fact_or(&l->active, 0) == 1;
	return n;
}

static bool to_switch(const struct nvlink *l)
{
	return fact_or(&l->active, 0) == 1 && fact_is(&l->remote_type, "switch");
}

const char *fabric_text(struct arena *a, const struct machine *m)
{
	size_t gpus = 0, fewest = (size_t)-1, most = 0;
	bool switched = false;
	long long speed = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		size_t n = nvlinks_up(g);

		if (!n)
			continue;
		gpus++;
		fewest = n < fewest ? n : fewest;
		most = n > most ? n : most;
		LIST_FOR_EACH (struct nvlink, l, &g->links) {
			speed = fact_or(&l->active, 0) ? fact_or(&l->speed_mbs, speed) : speed;
			switched = switched || to_switch(l);
		}
	}
	if (!gpus)
		return NULL;
	return arena_printf(a, "%s: %zu GPUs, %zu%s%s links each%s%s%s",
			    switched ? "NVSwitch" : "NVLink between GPUs", gpus, fewest,
			    most > fewest ? " to " : "",
			    most > fewest ? arena_printf(a, "%zu", most) : "", speed ? ", " : "",
			    speed ? figure(a, "MB/s", speed) : "",
			    speed ? " per link and direction" : "");
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct nvswitch *)a)->address, ((const struct nvswitch *)b)->address);
}

/* Counts one more link to address. */
static size_t count_end(struct nvswitch *ends, size_t n, size_t most, const char *address)
{
	size_t i = 0;

	while (i < n && strcmp(ends[i].address, address) != 0)
		i++;
	if (i == n) {
		if (n == most)
			return n;
		ends[n++] = (struct nvswitch){ .address = address };
	}
	ends[i].links++;
	return n;
}

struct nvswitch *nvswitches(struct arena *a, const struct machine *m, size_t *n)
{
	struct nvswitch *ends = arena_array(a, ENDS_MAX, sizeof(*ends));

	*n = 0;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			if (to_switch(l) && seen_ok(&l->remote.f))
				*n = count_end(ends, *n, ENDS_MAX, l->remote.v);
	if (*n)
		qsort(ends, *n, sizeof(*ends), by_address);
	return ends;
}

static const char *gpu_name(struct arena *a, const struct machine *m, const char *address)
{
	const struct gpu *g = machine_gpu_at(m, address);

	return g ? arena_printf(a, "GPU %u", g->index) : address;
}

const char *nvlink_ends(struct arena *a, const struct machine *m, const struct gpu *g)
{
	struct nvswitch ends[ENDS_MAX] = { 0 };
	bool switched = false;
	TEXT_AUTO t = { 0 };
	size_t n = 0;

	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		if (fact_or(&l->active, 0) != 1 || !seen_ok(&l->remote.f))
			continue;
		switched = switched || to_switch(l);
		n = count_end(ends, n, ENDS_MAX, l->remote.v);
	}
	if (!n)
		return nvlinks_up(g) ? "ends not visible here" : "";
	qsort(ends, n, sizeof(ends[0]), by_address);
	for (size_t i = 0; i < n; i++)
		if (switched)
			text_printf(&t, "%s%zu", i ? "+" : "", ends[i].links);
		else
			text_printf(&t, "%s%s x%zu", i ? ", " : "", gpu_name(a, m, ends[i].address),
				    ends[i].links);
	if (switched)
		text_printf(&t, " to %zu NVSwitch%s", n, n > 1 ? "es" : "");
	return arena_strndup(a, t.s, t.len);
}

const char *link_text(struct arena *a, const struct topology_place *p)
{
	if (!p->link || !p->link_max || strcmp(p->link, p->link_max) == 0)
		return p->link;
	return arena_printf(a, "%s of %s", p->link, p->link_max);
}

static bool any_link(const struct topology_place *p)
{
	bool any = p->link && p->link_max;

	for (size_t i = 0; i < p->n; i++)
		any = any || any_link(p->children[i]);
	return any;
}

const char *bottleneck_text(struct arena *a, const struct narrow *spots, size_t n,
			    const struct topology_place *machine)
{
	if (n)
		return arena_printf(
			a, "%s: %s%s%s%s: %s",
			spots[0].fault ? "Bottleneck" : "Slowest link, by design", spots[0].name,
			strstr(spots[0].name, spots[0].address) ? "" : " (",
			strstr(spots[0].name, spots[0].address) ? "" : spots[0].address,
			strstr(spots[0].name, spots[0].address) ? "" : ")", spots[0].reason);
	if (!machine->n)
		return "";
	return any_link(machine)
		       ? "No bottleneck: every visible link is as fast as both of its ends."
		       : "No PCI Express link found here.";
}

static void place_words(struct arena *a, struct text *t, const struct topology_place *p)
{
	const char *link = link_text(a, p);

	text_printf(t, "%s%s%s%s%s", p->label, *p->detail ? ", " : "", p->detail, link ? ", " : "",
		    link ? link : "");
	for (size_t i = 0; i < p->n; i++) {
		text_add(t, i ? "; " : ": ");
		place_words(a, t, p->children[i]);
	}
	if (p->n && p->kind == PLACE_SWITCH)
		text_add(t, "; at the switch");
}

static void nvlink_words(struct arena *a, struct text *t, const struct machine *m)
{
	const char *fabric = fabric_text(a, m);

	if (!fabric)
		return;
	text_printf(t, "%s. ", fabric);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (nvlinks_up(g) < g->links.n)
			text_printf(t, "GPU %u has %zu of %zu NVLinks up. ", g->index,
				    nvlinks_up(g), g->links.n);
}

const char *topology_words(struct arena *a, const struct machine *m,
			   const struct topology_place *machine, const struct narrow *spots,
			   size_t n)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < machine->n; i++) {
		place_words(a, &t, machine->children[i]);
		text_add(&t, ". ");
	}
	nvlink_words(a, &t, m);
	if (!machine->n)
		text_add(&t, "No GPU, network adapter or NVMe disk found on the PCI bus.");
	else if (!n)
		text_add(&t, bottleneck_text(a, spots, n, machine));
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%sNarrow spot %zu%s: %s: %s.", i ? " " : "", i + 1,
			    i == 0 && spots[0].fault ? ", the bottleneck" : "", spots[i].name,
			    spots[i].reason);
	return arena_strndup(a, t.s, t.len);
}
