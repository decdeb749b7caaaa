/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subjects, and the page that needs nothing but the rows of facts. */
#include <string.h>

#include "look/show/page.h"
#include "render/columns.h"
#include "base/text.h"
#include "render/figure.h"
#include "look/settings/findings.h"
#include "machine/model/topology.h"

const struct page pages[] = {
	{ "", "", "this machine on one screen", NULL, page_overview },
	{ "cpu", "processor processors cores numa", "cores, frequencies, idle states, NUMA", "cpu",
	  page_cpu },
	{ "memory", "mem ram swap hugepages dimm", "sizes, huge pages, swap", "memory",
	  page_memory },
	{ "gpu", "graphics nvlink card cards vram", "GPUs: clocks, power, health, NVLink", "gpu",
	  page_gpu },
	{ "pci", "pcie bus", "the PCI tree with links", "pci", page_pci },
	{ "nic", "net network networks ethernet rdma infiniband interface",
	  "network interfaces and RDMA", "net", page_nic },
	{ "disk", "storage ssd nvme drive zfs filesystem", "block devices, file systems, ZFS",
	  "storage", page_disk },
	{ "kernel", "boot cmdline linux", "kernel, boot and its arguments", "kernel", page_kernel },
	{ "software", "os services driver libraries packages", "distribution, services, libraries",
	  "software", page_software },
	{ "topology", "topo matrix affinity", "distances between devices", NULL, page_topology },
};
const size_t page_count = sizeof(pages) / sizeof(pages[0]);

const struct page *page_find(const char *name)
{
	for (size_t i = 0; i < page_count; i++)
		if (strcmp(pages[i].name, name) == 0)
			return &pages[i];
	return NULL;
}

struct doc *page_facts(struct arena *a, const struct machine *m, const struct page *p)
{
	struct doc *d = doc_new(a);

	for (size_t i = 0; i < machine_shape.n; i++) {
		const struct shape_row *r = &machine_shape.rows[i];
		/* A shape of this one row, so that parts and lists are shown alike. */
		struct shape one = {
			.name = r->key, .rows = r, .n = 1, .size = machine_shape.size
		};

		if (!p->key || strcmp(p->key, r->key) == 0)
			show_shape(d, 2, &one, m);
	}
	return d;
}

void page_disagreements(struct doc *d, const struct machine *m, const struct page *p)
{
	struct node *t =
		DOC_TABLE(d, "Sources that disagree", "!On", "!Fact", "~Used", "~Not used");
	size_t n = p->key ? strlen(p->key) : 0;

	LIST_FOR_EACH (struct disagreement, x, &m->disagreements)
		if (!n || (strncmp(x->fact, p->key, n) == 0 && x->fact[n] == '.'))
			NODE_ROW(d, t, cell(*x->name ? x->name : "machine"), cell(x->fact),
				 cellf(d, "%s (%s)", x->taken.v, fact_from(d->arena, &x->taken.f)),
				 cellf(d, "%s (%s)", x->other.v, fact_from(d->arena, &x->other.f)));
	node_drop_empty(t);
}

/* show, alone: one screen that says what this machine is. Equal things are counted, not listed. */

/* Things that are the same to a reader, and how many there are. */
struct tally {
	const char *what;
	size_t n;
};

struct tallies {
	struct tally *items;
	size_t n;
};

static void tally_add(struct arena *a, struct tallies *t, const char *what)
{
	for (size_t i = 0; i < t->n; i++) {
		if (strcmp(t->items[i].what, what) == 0) {
			t->items[i].n++;
			return;
		}
	}
	ARENA_ADD(a, t->items, t->n) = (struct tally){ what, 1 };
}

/* A pair a kind: "GPU  8 x NVIDIA H200"; the name stands before the first alone. */
static void tally_pairs(struct doc *d, struct node *n, const char *name, const struct tallies *t)
{
	for (size_t i = 0; i < t->n; i++)
		node_pair(d, n, i ? "" : name,
			  t->items[i].n > 1 ? cellf(d, "%zu x %s", t->items[i].n, t->items[i].what)
					    : cell(t->items[i].what));
}

static const char *finish(struct arena *a, struct text *t)
{
	return t->len ? arena_strndup(a, t->s, t->len) : NULL;
}

/* Adds a part after a comma. */
static void show_page_part(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void show_page_part(struct text *t, const char *fmt, ...)
{
	va_list ap;

	if (t->len)
		text_add(t, ", ");
	va_start(ap, fmt);
	text_vprintf(t, fmt, ap);
	va_end(ap);
}

static struct cell machine_cell(struct doc *d, const struct machine *m)
{
	TEXT_AUTO t = { 0 };

	if (seen_ok(&m->platform.product.f))
		show_page_part(&t, "%s", m->platform.product.v);
	if (seen_ok(&m->platform.vendor.f))
		show_page_part(&t, "%s", m->platform.vendor.v);
	if (fact_or(&m->platform.virtual_, 0))
		show_page_part(&t, "virtual machine");
	if (seen_ok(&m->software.container.f))
		show_page_part(&t, "in a container (%s)", m->software.container.v);
	return cell_as(STYLE_STRONG, finish(d->arena, &t));
}

static struct cell system_cell(struct doc *d, const struct machine *m)
{
	TEXT_AUTO t = { 0 };

	if (seen_ok(&m->software.os_name.f))
		show_page_part(&t, "%s", m->software.os_name.v);
	if (seen_ok(&m->kernel.release.f))
		show_page_part(&t, "Linux %s", m->kernel.release.v);
	if (seen_ok(&m->kernel.arch.f))
		show_page_part(&t, "%s", m->kernel.arch.v);
	if (seen_ok(&m->software.dgx_release.f))
		show_page_part(&t, "DGX OS %s", m->software.dgx_release.v);
	return cell(finish(d->arena, &t));
}

static struct cell cpu_cell(struct doc *d, const struct machine *m)
{
	const struct cpus *c = &m->cpu;
	TEXT_AUTO t = { 0 };

	if (c->types.n > 1) {
		LIST_FOR_EACH (struct core_type, type, &c->types) {
			const char *set = seen_ok(&type->cpus.f)
						  ? idset_format(d->arena, &type->cpus.v)
						  : "?";

			show_page_part(&t, "%zu x %s", idset_count(&type->cpus.v), type->name);
			if (seen_ok(&type->max_khz.f))
				text_printf(&t, " to %s", figure(d->arena, "kHz", type->max_khz.v));
			text_printf(&t, " (%s)", set);
		}
		return cell(finish(d->arena, &t));
	}
	if (seen_ok(&c->model.f))
		show_page_part(&t, "%s", c->model.v);
	if (seen_ok(&c->sockets.f) && seen_ok(&c->cores.f))
		show_page_part(&t, "%lld socket%s, %lld cores", c->sockets.v, PLURAL(c->sockets.v),
			       c->cores.v);
	if (seen_ok(&c->threads.f))
		show_page_part(&t, "%lld threads", c->threads.v);
	if (c->nodes.n > 1)
		show_page_part(&t, "%zu NUMA nodes", c->nodes.n);
	return cell(finish(d->arena, &t));
}

static struct cell show_page_memory_cell(struct doc *d, const struct machine *m)
{
	const struct memory *mem = &m->memory;
	TEXT_AUTO t = { 0 };

	if (!seen_ok(&mem->total_kb.f))
		return cell_unseen(&mem->total_kb.f);
	show_page_part(&t, "%s", figure(d->arena, "KiB", mem->total_kb.v));
	if (seen_ok(&mem->available_kb.f))
		show_page_part(&t, "%s available", figure(d->arena, "KiB", mem->available_kb.v));
	if (seen_ok(&mem->swap_total_kb.f))
		show_page_part(&t, mem->swap_total_kb.v ? "swap %s" : "no swap",
			       figure(d->arena, "KiB", mem->swap_total_kb.v));
	if (fact_or(&mem->hugetlb_kb, 0) > 0)
		show_page_part(&t, "%s in huge pages", figure(d->arena, "KiB", mem->hugetlb_kb.v));
	return cell(finish(d->arena, &t));
}

static void show_page_gpus(struct doc *d, struct node *n, const struct machine *m)
{
	struct tallies t = { 0 };

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		TEXT_AUTO s = { 0 };

		show_page_part(&s, "%s", fact_text(&g->name, "unnamed GPU"));
		if (fact_or(&g->integrated, 0))
			show_page_part(&s, "shares the host's memory");
		else if (seen_ok(&g->memory_bytes.f))
			show_page_part(&s, "%s", figure(d->arena, "bytes", g->memory_bytes.v));
		if (g->links.n)
			show_page_part(&s, "%zu NVLinks", g->links.n);
		tally_add(d->arena, &t, finish(d->arena, &s));
	}
	tally_pairs(d, n, "GPU", &t);
	if (t.n)
		return;
	node_pair(d, n, "GPU",
		  fact_or(&m->gpu.pci_count, 0) > 0
			  ? cell_printf(d, STYLE_BAD, "%lld on the PCI bus, none through NVML",
					m->gpu.pci_count.v)
			  : cell_as(STYLE_MUTED, "none"));
}

static struct cell driver_cell(struct doc *d, const struct machine *m)
{
	TEXT_AUTO t = { 0 };

	if (seen_ok(&m->gpu.driver.f))
		show_page_part(&t, "NVIDIA %s%s%s", m->gpu.driver.v,
			       seen_ok(&m->gpu.driver_flavour.f) ? " " : "",
			       fact_text(&m->gpu.driver_flavour, ""));
	if (fact_or(&m->gpu.cuda_driver, 0) > 0)
		show_page_part(&t, "CUDA up to %lld.%lld", m->gpu.cuda_driver.v / 1000,
			       m->gpu.cuda_driver.v % 1000 / 10);
	if (seen_ok(&m->software.cuda_toolkit.f))
		show_page_part(&t, "toolkit %s", m->software.cuda_toolkit.v);
	return cell(finish(d->arena, &t));
}

/* Interfaces with hardware behind them; what a bridge or a tunnel is called helps nobody here. */
static void nics(struct doc *d, struct node *n, const struct machine *m)
{
	struct tallies t = { 0 };

	LIST_FOR_EACH (struct nic, nic, &m->net.nics) {
		const struct pci_function *f =
			nic->pci && *nic->pci ? machine_pci(m, nic->pci) : NULL;
		TEXT_AUTO s = { 0 };

		if (!nic->pci || !*nic->pci || (f && fact_or(&f->is_vf, 0)))
			continue;
		show_page_part(&s, "%s", fact_text(&nic->driver, "no driver"));
		if (fact_or(&nic->speed_mbps, 0) > 0)
			show_page_part(&s, "%s", figure(d->arena, "Mb/s", nic->speed_mbps.v));
		if (seen_ok(&nic->operstate.f))
			show_page_part(&s, "%s", nic->operstate.v);
		tally_add(d->arena, &t, finish(d->arena, &s));
	}
	tally_pairs(d, n, "Network", &t);
	t = (struct tallies){ 0 };
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
		TEXT_AUTO s = { 0 };

		show_page_part(&s, "%s", fact_text(&p->link_layer, "unknown link layer"));
		if (fact_or(&p->rate_mbps, 0) > 0 && fact_is(&p->state, "ACTIVE"))
			show_page_part(&s, "%s", figure(d->arena, "Mb/s", p->rate_mbps.v));
		show_page_part(&s, "%s", fact_text(&p->state, "state unknown"));
		tally_add(d->arena, &t, finish(d->arena, &s));
	}
	tally_pairs(d, n, "RDMA", &t);
}

static void disks(struct doc *d, struct node *n, const struct machine *m)
{
	struct tallies t = { 0 };

	LIST_FOR_EACH (struct disk, k, &m->storage.disks) {
		TEXT_AUTO s = { 0 };

		if (seen_ok(&k->role.f) && !fact_is(&k->role, "disk"))
			continue;
		show_page_part(&s, "%s", fact_text(&k->model, k->name));
		if (seen_ok(&k->size_bytes.f))
			show_page_part(&s, "%s", figure(d->arena, "bytes", k->size_bytes.v));
		if (seen_ok(&k->transport.f))
			show_page_part(&s, "%s", k->transport.v);
		tally_add(d->arena, &t, finish(d->arena, &s));
	}
	tally_pairs(d, n, "Storage", &t);
}

struct doc *page_overview(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);
	struct node *n;

	doc_heading(d, 1, fact_text(&m->nodename, "This machine"));
	n = doc_pairs(d, NULL);
	node_pair(d, n, "Machine", machine_cell(d, m));
	if (seen_ok(&m->platform.kind.f))
		node_pairf(d, n, "Platform", "%s%s%s", m->platform.kind.v,
			   seen_ok(&m->platform.why.f) ? ": " : "",
			   fact_text(&m->platform.why, ""));
	node_pair(d, n, "System", system_cell(d, m));
	node_pair(d, n, "CPU", cpu_cell(d, m));
	node_pair(d, n, "Memory", show_page_memory_cell(d, m));
	show_page_gpus(d, n, m);
	node_pair(d, n, "Driver", driver_cell(d, m));
	nics(d, n, m);
	disks(d, n, m);
	if (fact_or(&m->captured, 0) && seen_ok(&m->time_s.f))
		node_pair(d, n, "Captured", cell(figure_time(a, m->time_s.v)));
	node_drop_empty(n);
	return d;
}

/* The facts of a machine, or of one of its parts. */

SHAPE_GIVES(bool, has_rate, narrow, x->could > 0)

/* A capture may claim any rate. */
static double whole(double v)
{
	return v < 1e15 ? (double)(long long)(v + 0.5) : v;
}

SHAPE_GIVES(double, rate_now, narrow, whole(x->now))
SHAPE_GIVES(double, rate_could, narrow, whole(x->could))
SHAPE_GIVES(const char *, rate_unit, narrow, x->kind == NARROW_NVLINK ? "links" : "MB/s")

static const char *const narrow_kinds[] = { "lanes",  "speed", "nvlink", "far",
					    "uplink", "port",  "slot" };
static const char *const rate_units[] = { "MB/s", "links" };

/* clang-format off */
static const struct shape narrow_shape = SHAPE_OF(narrow, narrow,
	{ "kind", NULL, SHAPE_CHOICE(narrow, kind, narrow_kinds) },
	{ "name", NULL, SHAPE_TEXT(narrow, name) },
	{ "address", "PCI address of the link's lower end.", SHAPE_TEXT(narrow, address) },
	{ "fault", "The link is slower than both ends support.", SHAPE_FLAG(narrow, fault) },
	{ "now", NULL, SHAPE_REAL_OF(rate_now), .when_of = has_rate },
	{ "could", NULL, SHAPE_REAL_OF(rate_could), .when_of = has_rate },
	{ "unit", NULL, SHAPE_TEXT_OF(rate_unit), SHAPE_NAMES(rate_units), .when_of = has_rate },
	{ "reason", NULL, SHAPE_TEXT(narrow, reason) });

/* The facts of one subject. */
#define SHOWN(subject, ...)                                                                        \
	static const struct shape_row show_##subject##_rows[] = {                                  \
		{ "subject", NULL, SHAPE_WORD(#subject) },                                         \
		{ "facts", NULL, __VA_ARGS__ },                                                    \
	};                                                                                         \
	static const struct shape show_##subject##_shape = SHAPE(show_answer, show_##subject)
#define SHOWN_PART(subject, part, inner)                                                           \
	SHOWN(subject, SHAPE_OBJECT(machine, part, inner), SHAPE_VIA(show_answer, m, machine))

SHOWN(all, SHAPE_POINTER(show_answer, m, machine));
SHOWN_PART(cpu, cpu, cpus);
SHOWN_PART(memory, memory, memory);
SHOWN_PART(gpu, gpu, gpus);
SHOWN(pci, SHAPE_FACTS(machine, pci, pci_function), SHAPE_VIA(show_answer, m, machine));
SHOWN_PART(nic, net, network);
SHOWN_PART(disk, storage, storage);
SHOWN_PART(kernel, kernel, kernel);
SHOWN_PART(software, software, software);

static const struct shape show_topology_shape = SHAPE_OF(show_answer, show_topology,
	{ "subject", NULL, SHAPE_WORD("topology") },
	{ "facts", NULL, SHAPE_POINTER(show_answer, m, machine) },
	{ "narrow", "Links below their maximum, worst first.",
	  SHAPE_LIST(show_answer, narrow, n_narrow, narrow) });
/* clang-format on */

/* In the order of pages. */
static const struct shape *const show_shapes[] = {
	&show_all_shape,      &show_cpu_shape,	    &show_memory_shape, &show_gpu_shape,
	&show_pci_shape,      &show_nic_shape,	    &show_disk_shape,	&show_kernel_shape,
	&show_software_shape, &show_topology_shape,
};

SHAPE_GIVES(unsigned, show_form, show_answer, x->page)

static const struct shape shown_shape = SHAPE_FORMS(show_answer, shown, show_shapes, show_form);

const struct result_shape show_result = {
	.name = "show",
	.title = "gputune show",
	.meaning = "The facts of a machine, or of one of its parts. Facts that were not requested "
		   "are omitted.",
	.shape = &shown_shape,
	.host = &host_shape,
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

struct show_answer show_answer_of(struct arena *a, const struct machine *m, const struct page *p)
{
	struct show_answer answer = { .m = m, .page = (unsigned)(p - pages) };

	if (show_shapes[answer.page] == &show_topology_shape)
		answer.narrow = narrow_spots(a, m, &answer.n_narrow);
	return answer;
}
