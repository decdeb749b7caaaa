/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine this is and what runs it, from facts: what figures depend on. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/bench.h"

struct idset bench_allowed(struct arena *a)
{
	enum { MOST = 1 << 16 };
	size_t size = CPU_ALLOC_SIZE(MOST);
	cpu_set_t *set = CPU_ALLOC(MOST);
	struct idset out = { 0 };

	if (set && sched_getaffinity(0, size, set) == 0)
		for (unsigned i = 0; i < MOST; i++)
			if (CPU_ISSET_S(i, size, set))
				idset_add(a, &out, i);
	if (set)
		CPU_FREE(set);
	return out;
}

static void pair(struct arena *a, struct record *r, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	r->fingerprint = arena_grow(a, r->fingerprint, r->n_fingerprint, sizeof(*r->fingerprint));
	r->fingerprint[r->n_fingerprint++] = (struct record_pair){ name, value };
}

static void number(struct arena *a, struct record *r, const char *name, const struct fact_int *f)
{
	if (seen_ok(&f->f))
		pair(a, r, name, arena_printf(a, "%lld", f->v));
}

static void gpu_pairs(struct arena *a, const struct machine *m, struct record *r)
{
	size_t i = 0;

	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus) {
		pair(a, r, arena_printf(a, "gpu%zu", i), fact_text(&g->name, NULL));
		pair(a, r, arena_printf(a, "gpu%zu_vbios", i), fact_text(&g->vbios, NULL));
		i++;
	}
	pair(a, r, "gpu_driver", fact_text(&m->gpu.driver, NULL));
}

/* "cache_l2_unified": "10 x 2048 KiB". One pair a level and kind, however many sizes it has. */
static void cache_pairs(struct arena *a, const struct machine *m, struct record *r)
{
	LIST_FOR_EACH (const struct cpu_cache, c, &m->cpu.caches) {
		const char *kind = fact_text(&c->type, "");
		const char *name = arena_printf(a, "cache_l%u_%s", c->level, kind);
		const char *value = arena_printf(a, "%lld x %lld KiB", fact_or(&c->count, 0),
						 fact_or(&c->size_bytes, 0) >> 10);
		struct record_pair *last = r->fingerprint + r->n_fingerprint - 1;

		if (strcmp(kind, "Instruction") == 0 || !seen_ok(&c->size_bytes.f))
			continue;
		if (r->n_fingerprint && strcmp(last->name, name) == 0)
			last->value = arena_printf(a, "%s, %s", last->value, value);
		else
			pair(a, r, name, value);
	}
}

struct adapter {
	long long vendor, device;
	size_t count;
};

static int by_id(const void *a, const void *b)
{
	const struct adapter *x = a, *y = b;

	if (x->vendor != y->vendor)
		return x->vendor < y->vendor ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* "8 x 15b3:1021, 2 x 15b3:101f": network adapters by PCI id, whatever their links do now. Virtual
 * functions come and go and are no adapters. */
static void adapter_pair(struct arena *a, const struct machine *m, struct record *r)
{
	const char *text = NULL;
	size_t n = 0;
	struct adapter *seen = NULL;

	LIST_FOR_EACH (const struct pci_function, p, &m->pci) {
		size_t i = 0;

		if (pci_base_class(p) != 0x02 || fact_or(&p->is_vf, 0) || !seen_ok(&p->vendor.f) ||
		    !seen_ok(&p->device.f))
			continue;
		while (i < n && (seen[i].vendor != p->vendor.v || seen[i].device != p->device.v))
			i++;
		if (i == n) {
			seen = arena_grow(a, seen, n, sizeof(*seen));
			seen[n++] = (struct adapter){ p->vendor.v, p->device.v, 0 };
		}
		seen[i].count++;
	}
	if (n)
		qsort(seen, n, sizeof(*seen), by_id);
	for (size_t i = 0; i < n; i++)
		text = arena_printf(a, "%s%s%zu x %04llx:%04llx", text ? text : "",
				    text ? ", " : "", seen[i].count,
				    (unsigned long long)seen[i].vendor,
				    (unsigned long long)seen[i].device);
	pair(a, r, "adapters", text);
}

void record_fingerprint(struct arena *a, struct host *h, const struct machine *m, struct record *r)
{
	char id[64] = "";
	struct record_pair who[4];

	if (host_read_line(h, "/etc/machine-id", id, sizeof(id)))
		id[0] = '\0';
	who[0] = (struct record_pair){ "id", arena_strdup(a, id) };
	who[1] = (struct record_pair){ "name", fact_text(&m->nodename, "") };
	who[2] = (struct record_pair){ "cpu", fact_text(&m->cpu.model, "") };
	who[3] = (struct record_pair){ "product", fact_text(&m->platform.product, "") };
	r->machine = record_digest(a, who, 4);

	pair(a, r, "product", fact_text(&m->platform.product, NULL));
	pair(a, r, "firmware", fact_text(&m->platform.bios_version, NULL));
	pair(a, r, "cpu", fact_text(&m->cpu.model, NULL));
	number(a, r, "sockets", &m->cpu.sockets);
	number(a, r, "cores", &m->cpu.cores);
	number(a, r, "threads", &m->cpu.threads);
	number(a, r, "numa_nodes",
	       &(struct fact_int){ { .seen = SEEN_OK }, (long long)m->cpu.nodes.n });
	number(a, r, "memory_kib", &m->memory.total_kb);
	cache_pairs(a, m, r);
	pair(a, r, "kernel", fact_text(&m->kernel.release, NULL));
	pair(a, r, "kernel_build", fact_text(&m->kernel.version, NULL));
	pair(a, r, "kernel_arguments", fact_text(&m->kernel.cmdline, NULL));
	pair(a, r, "preempt", fact_text(&m->kernel.preempt, NULL));
	pair(a, r, "clocksource", fact_text(&m->kernel.clocksource, NULL));
	pair(a, r, "glibc", fact_text(&m->software.glibc, NULL));
	pair(a, r, "transparent_hugepages", fact_text(&m->memory.thp_enabled, NULL));
	gpu_pairs(a, m, r);
	adapter_pair(a, m, r);
}
