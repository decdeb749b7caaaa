/* SPDX-License-Identifier: Apache-2.0 */
/* Finding one object among a machine's facts by name, address or place. Knows the structs, not
 * their tables. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "machine/model/machine.h"

void *list_add(struct arena *a, struct list *l, size_t size)
{
	char *item;

	l->items = arena_grow(a, l->items, l->n, size);
	item = (char *)l->items + l->n++ * size;
	memset(item, 0, size);
	return item;
}

void list_reserve(struct arena *a, struct list *l, size_t n, size_t size)
{
	size_t room = 4;

	/* As arena_grow would have it, so that list_add can go on. */
	while (room < n)
		room *= 2;
	l->items = arena_array(a, room, size);
}

void *list_take(struct list *l, size_t size)
{
	return (char *)l->items + l->n++ * size;
}

const char *machine_command(struct arena *a, const struct machine *m, bool root, const char *words,
			    ...)
{
	const char *options = m ? root ? m->options : m->reading : NULL, *said;
	va_list args;

	va_start(args, words);
	said = arena_vprintf(a, words, args);
	va_end(args);
	return arena_printf(a, "%s%sgputune %s%s",
			    m && m->reading && (!options || !*options) ? MACHINE_THERE : "",
			    root && !options ? "sudo " : "", said, options ? options : "");
}

const char *machine_quoted(struct arena *a, const struct machine *m, const char *words)
{
	const char *said = machine_command(a, m, true, "%s", words);
	size_t n = str_starts(said, MACHINE_THERE) ? strlen(MACHINE_THERE) : 0;

	return arena_printf(a, "\"%s\"%s", said + n, n ? " on that machine" : "");
}

const char *machine_sentence(struct arena *a, const struct machine *m, const char *said)
{
	const char *root, *at;

	if (!said || !m || !m->reading)
		return said;
	if (!m->options || !*m->options)
		return arena_printf(a, MACHINE_THERE "%s", said);
	root = strstr(said, "\"sudo gputune ");
	at = root ? root + strlen("\"sudo ") : strstr(said, "\"gputune ");
	at = at && !root ? at + 1 : at;
	if (!at)
		return said;
	return arena_printf(a, "%.*s\"%.*s%s%s", (int)((root ? root : at - 1) - said), said,
			    (int)strcspn(at, "\""), at, root ? m->options : m->reading,
			    at + strcspn(at, "\""));
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static int by_address(const void *address, const void *function)
{
	const char *name = ((const struct pci_function *)function)->name;

	return pci_bus_order(address, name ? name : "");
}

struct pci_function *machine_pci(const struct machine *m, const char *address)
{
	struct pci_function *found;

	if (!address || !*address || !m->pci.n)
		return NULL;
	found = bsearch(address, m->pci.items, m->pci.n, sizeof(*found), by_address);
	if (found)
		return found;
	/* What was read from elsewhere may be in another order. */
	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		if (same(f->name, address))
			return f;
	return NULL;
}

struct gpu *machine_gpu(const struct machine *m, size_t i)
{
	return i < m->gpu.gpus.n ? (struct gpu *)m->gpu.gpus.items + i : NULL;
}

struct gpu *machine_gpu_at(const struct machine *m, const char *address)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (same(g->pci, address))
			return g;
	return NULL;
}

struct nic *machine_nic(const struct machine *m, const char *name)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics)
		if (same(n->name, name))
			return n;
	return NULL;
}

/*
 * A node of another socket is 20 and more away where 10 is the node itself; parts of one socket
 * (NPS, SNC) are nearer. Source: ACPI, System Locality Information Table.
 */
enum { OTHER_SOCKET = 20 };

static void lookup_add(struct arena *a, struct idset *to, const struct idset *more)
{
	IDSET_FOR_EACH (id, more)
		idset_add(a, to, id);
}

struct idset nic_cpus(struct arena *a, const struct machine *m, const struct nic *n, bool wide)
{
	const struct numa_node *own = NULL, *all = m->cpu.nodes.items;
	struct idset out = { 0 };
	const char *distance;

	if (m->cpu.nodes.n <= 1)
		return idset_minus(a, &m->cpu.online.v, &m->cpu.isolated.v);
	LIST_FOR_EACH (struct numa_node, node, &m->cpu.nodes)
		if ((long long)node->index == fact_or(&n->numa_node, -1))
			own = node;
	if (!own)
		return out;
	lookup_add(a, &out, &own->cpus.v);
	distance = wide ? fact_text(&own->distance, "") : "";
	for (size_t i = 0; i < m->cpu.nodes.n && *distance; i++) {
		char *end;

		if (strtol(distance, &end, 10) < OTHER_SOCKET)
			lookup_add(a, &out, &all[i].cpus.v);
		distance = end == distance ? "" : end;
	}
	return idset_minus(a, &out, &m->cpu.isolated.v);
}

struct disk *machine_disk(const struct machine *m, const char *name)
{
	LIST_FOR_EACH (struct disk, d, &m->storage.disks)
		if (same(d->name, name))
			return d;
	return NULL;
}

struct service *machine_service(const struct machine *m, const char *name)
{
	LIST_FOR_EACH (struct service, s, &m->software.services)
		if (same(s->name, name))
			return s;
	return NULL;
}

bool path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const struct mount *machine_mount_of(const struct machine *m, const char *path)
{
	const struct mount *best = NULL;

	/* Of mounts on one point the last hides the others. */
	LIST_FOR_EACH (struct mount, it, &m->storage.mounts)
		if (it->name && path_is_below(path, it->name) &&
		    (!best || strlen(it->name) >= strlen(best->name)))
			best = it;
	return best;
}

bool is_nvidia_display(const struct pci_function *p)
{
	return fact_or(&p->vendor, 0) == 0x10de && pci_base_class(p) == 0x03 &&
	       fact_or(&p->is_vf, 0) != 1;
}

const char *gb10_name(const struct pci_function *p)
{
	long long device = fact_or(&p->device, 0);

	/* Source: NVIDIA's kernel for DGX Spark, which takes 0x2e00 to 0x2e3f for this chip (its
	 * change 251 saw 2e2a); the two laptop parts by pci.ids. */
	if (!is_nvidia_display(p) || device < 0x2e00 || device > 0x2e3f)
		return NULL;
	return device == 0x2e03 || device == 0x2e06 ? "RTX Spark N1X" : "GB10";
}

bool is_nvswitch(const struct pci_function *p)
{
	return fact_or(&p->vendor, 0) == 0x10de && fact_or(&p->class_, 0) >> 8 == 0x0680;
}

bool is_switch_management(const struct pci_function *p)
{
	return fact_or(&p->switch_management, 0) == 1;
}

bool machine_soldered(const struct machine *m, const struct pci_function *f)
{
	return pci_base_class(f) == 0x02 &&
	       (fact_is(&m->platform.kind, "dgx-spark") || fact_is(&m->platform.kind, "igx-orin"));
}

static long long least(long long a, long long b)
{
	return b && b < a ? b : a;
}

/* The ConnectX-7 of a GB10 machine has two halves, four lanes each, in PCI domains of their own;
 * source: lspci of DGX Spark, and of an ASUS GX10 whose second half came up with two (NVIDIA's
 * forum, thread 367853). The port above may show two as well, so that only the twin tells. */
struct link_best machine_link_best(const struct machine *m, const struct pci_function *f)
{
	enum { MELLANOX = 0x15b3, HALF_LANES = 4 };
	const struct pci_function *up = machine_pci(m, f->parent);
	struct link_best b = {
		.width = least(fact_or(&f->max_width, 0), up ? fact_or(&up->max_width, 0) : 0),
		.speed_mts = least(fact_or(&f->max_speed_mts, 0),
				   up ? fact_or(&up->max_speed_mts, 0) : 0),
	};
	const char *place = strchr(f->name, ':');

	if (!place || !fact_is(&m->platform.kind, "dgx-spark") || pci_base_class(f) != 0x02 ||
	    fact_or(&f->vendor, 0) != MELLANOX)
		return b;
	LIST_FOR_EACH (struct pci_function, t, &m->pci) {
		const char *other = strchr(t->name, ':');

		if (t != f && other && strcmp(place, other) == 0 &&
		    fact_or(&t->vendor, 0) == MELLANOX && fact_or(&t->width, 0) > b.width) {
			b.width = t->width.v;
			b.twin = t;
		}
	}
	if (b.width < HALF_LANES)
		b.width = least(fact_or(&f->max_width, 0), HALF_LANES);
	return b;
}

bool machine_has_switches(const struct machine *m)
{
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvswitch(p) || is_switch_management(p))
			return true;
	return false;
}

enum fabric machine_fabric(const struct machine *m)
{
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvswitch(p))
			return FABRIC_SWITCHES;
		else if (is_switch_management(p))
			return FABRIC_BRIDGED;
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (seen_ok(&g->fabric_state.f) && strcmp(g->fabric_state.v, "not-supported") != 0)
			return fact_or(&g->c2c, 0) == 1 ? FABRIC_RACK : FABRIC_ELSEWHERE;
	return FABRIC_NONE;
}

size_t machine_bus_gpus(const struct machine *m, bool given_away)
{
	size_t n = 0;

	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		n += is_nvidia_display(p) && fact_is(&p->driver, "vfio-pci") == given_away;
	return n;
}

const char *machine_no_gpu(struct arena *a, const struct machine *m)
{
	size_t n = machine_bus_gpus(m, false);

	if (n == 1)
		return "one NVIDIA GPU, but no driver for it responds";
	if (n)
		return arena_printf(a, "%zu NVIDIA GPUs, but no driver for them responds", n);
	return machine_bus_gpus(m, true) ? "every NVIDIA GPU is assigned to virtual machines"
					 : "no NVIDIA GPU";
}

const struct idset *machine_big_cpus(const struct machine *m)
{
	LIST_FOR_EACH (struct core_type, t, &m->cpu.types)
		if (fact_is(&t->role, "big") && seen_ok(&t->cpus.f))
			return &t->cpus.v;
	return seen_ok(&m->cpu.online.f) ? &m->cpu.online.v : NULL;
}

static void add_arg(struct arena *a, struct list *args, const char *s, size_t n, long long position)
{
	struct kernel_arg *arg = list_add(a, args, sizeof(*arg));
	const struct fact from = { .seen = SEEN_OK, .leaf = "/proc/cmdline" };
	const char *eq = memchr(s, '=', n);
	size_t name = eq ? (size_t)(eq - s) : n;
	const char *value = eq ? eq + 1 : "";
	size_t len = eq ? n - name - 1 : 0;

	/* The kernel strips quotes around a value, and around the whole argument. */
	if (name && s[0] == '"') {
		s++;
		name--;
		if (len && value[len - 1] == '"')
			len--;
	}
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value++;
		len -= 2;
	}
	arg->name = arena_strndup(a, s, name);
	arg->value = (struct fact_str){ .f = from, .v = arena_strndup(a, value, len) };
	arg->position = (struct fact_int){ .f = from, .v = position };
}

/* Splits at blanks outside double quotes, as the kernel's next_arg() does. */
void kernel_args_parse(struct arena *a, const char *line, struct list *args)
{
	long long position = 0;

	while (*line) {
		bool quoted = false;
		size_t n;

		line += strspn(line, " \t\n");
		for (n = 0; line[n] && (quoted || !strchr(" \t\n", line[n])); n++)
			if (line[n] == '"')
				quoted = !quoted;
		/* "--" ends the kernel's own arguments; the rest goes to init. */
		if (n == 2 && line[0] == '-' && line[1] == '-')
			return;
		if (n)
			add_arg(a, args, line, n, position++);
		line += n;
	}
}

const char *kernel_arg_value(const struct kernel *k, const char *name)
{
	const char *value = NULL;

	LIST_FOR_EACH (struct kernel_arg, arg, &k->args)
		if (same(arg->name, name))
			value = fact_text(&arg->value, "");
	return value;
}

const char *kernel_arg_with(const struct kernel *k, const char *name, const char *word)
{
	size_t n = strlen(word);

	LIST_FOR_EACH (struct kernel_arg, arg, &k->args) {
		if (!same(arg->name, name))
			continue;
		for (const char *at = fact_text(&arg->value, ""); *at;
		     at += strcspn(at, ","), at += *at == ',')
			if (strncmp(at, word, n) == 0 && (!at[n] || at[n] == ','))
				return arg->value.v;
	}
	return NULL;
}
