/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is against a change: the gates in the order in which they are asked, those that concern the
 * plan as a whole, the user's own connection and the kernel's lockdown. The first that holds is
 * the change's gate; those that somebody may lift come last.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/settings/predicates.h"
#include "tune/plan/plan.h"

enum { GATE_NODES_MAX = 64 };

struct gates {
	const struct plan_target *w;
	struct arena *a;
	const struct machine *m;
	const struct plan *p;
	size_t i; /* the change at hand; those before it are judged */
	/* Memory that huge pages of the changes before take, in kB. */
	long long huge_kb, node_huge_kb[GATE_NODES_MAX];
};

static const char perf[] = "pcie_bus_perf";

/* --- the present value ------------------------------------------------------------------------ */

static bool has_getter(const struct knob *k)
{
	return k->kind != KNOB_NVML || (strcmp(k->name, "gpu-clock-lock") != 0 &&
					strcmp(k->name, "memory-clock-lock") != 0);
}

static const char *unreadable(struct gates *g, const struct change *c)
{
	if (c->before || !has_getter(&c->knob))
		return NULL;
	return arena_printf(g->a,
			    "the current value of %s is unreadable, so it could not be restored: "
			    "run as root, or set it manually",
			    knob_text(g->a, &c->knob));
}

/* --- conflicts -------------------------------------------------------------------------------- */

/* One of the comma-separated words. */
static bool has_option(const char *value, const char *option)
{
	size_t n = strlen(option);

	for (const char *at = value; *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, option, n) == 0 && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* A larger read request than the payload size, which that argument makes the limit of both. */
static bool is_above_payload(const struct machine *m, const struct change *c)
{
	const struct pci_function *f = machine_pci(m, c->knob.object);
	long long bytes;

	return c->knob.kind == KNOB_PCI && strcmp(c->knob.name, "mrrs") == 0 && f &&
	       parse_i64(c->after, &bytes) == 0 && bytes > fact_or(&f->mps, 0);
}

static bool asks_perf(const struct change *c)
{
	return c->knob.kind == KNOB_BOOTARG && strcmp(c->knob.name, "pci") == 0 &&
	       has_option(c->after, perf);
}

/* The argument writes the same value as text; those with words of their own are left out. */
static bool is_plain_argument(const char *name)
{
	return strcmp(name, "numa_balancing") != 0 && strcmp(name, "noautogroup") != 0;
}

static bool argument_against(const struct machine *m, const struct change *argument,
			     const struct change *c)
{
	return argument->knob.kind == KNOB_BOOTARG && c->knob.kind != KNOB_BOOTARG &&
	       is_plain_argument(argument->knob.name) &&
	       argument_match(m, argument->knob.name, &c->knob) == MATCH_YES &&
	       strcmp(argument->after, c->after) != 0;
}

static bool plan_gate_exclude(const struct machine *m, const struct change *x,
			      const struct change *y)
{
	const char *partner;

	if (x->knob.kind == y->knob.kind && knob_equal(&x->knob, &y->knob))
		return strcmp(x->after, y->after) != 0;
	if (x->knob.kind == KNOB_SYSCTL && y->knob.kind == KNOB_SYSCTL) {
		partner = sysctl_partner(x->knob.name);
		return partner && strcmp(partner, y->knob.name) == 0;
	}
	if (x->knob.kind != KNOB_BOOTARG && y->knob.kind != KNOB_BOOTARG)
		return false;
	return argument_against(m, x, y) || argument_against(m, y, x) ||
	       (asks_perf(x) && is_above_payload(m, y)) || (asks_perf(y) && is_above_payload(m, x));
}

static const char *overridden(struct gates *g, const struct change *c)
{
	const char *pci = kernel_arg_with(&g->m->kernel, "pci", perf);

	if (pci && is_above_payload(g->m, c))
		return arena_printf(g->a,
				    "the kernel argument pci=%s limits read requests to the "
				    "payload size: remove it and reboot first",
				    pci);
	for (size_t i = 0; i < g->i; i++) {
		const struct change *x = &g->p->changes[i];

		if (!x->gate && plan_gate_exclude(g->m, x, c))
			return arena_printf(g->a,
					    "conflict: %s sets %s to %s in the same plan. Leave "
					    "one out with --skip %s or --skip %s",
					    x->s->id, knob_text(g->a, &x->knob), x->after, x->s->id,
					    c->s->id);
	}
	return NULL;
}

/* --- the user's own link, lockdown ------------------------------------------------------------ */

/* The driver takes the link down for these; coalescing changes in place. */
static bool resets_link(const struct change *c)
{
	static const char *const names[] = { "mtu", "rx-ring", "tx-ring", "rings", "channels" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(c->knob.name, names[i]) == 0)
			return true;
	return false;
}

/* The module of "mlx5_core.parameter" drives n. */
static bool is_driver_of(const struct nic *n, const char *parameter)
{
	const char *driver = fact_text(&n->driver, "");
	size_t len = strlen(driver);

	return len && strncmp(parameter, driver, len) == 0 && parameter[len] == '.';
}

/* The interface that the change would drop, of those that carry the connection. */
static const char *plan_gate_dropped(const struct machine *m, const struct change *c,
				     const char *links)
{
	static const char *const managers[] = { "NetworkManager.service",
						"systemd-networkd.service", "openibd.service" };

	if (c->knob.kind == KNOB_LINK && resets_link(c) &&
	    words_have(links, c->knob.object, strlen(c->knob.object)))
		return c->knob.object;
	for (size_t i = 0; c->knob.kind == KNOB_UNIT && i < 3; i++)
		if (strcmp(c->knob.name, managers[i]) == 0)
			return links;
	if (c->effect == EFFECT_DRIVER_RELOAD && c->knob.kind == KNOB_MODPARAM)
		LIST_FOR_EACH (struct nic, n, &m->net.nics)
			if (is_driver_of(n, c->knob.name) &&
			    words_have(links, n->name, strlen(n->name)))
				return n->name;
	return NULL;
}

static const char *plan_gate_own_link(struct gates *g, const struct change *c)
{
	const struct session *s = &g->m->config.session;
	const char *name;

	if (seen_ok(&s->links.f)) {
		name = plan_gate_dropped(g->m, c, s->links.v);
		return name ? arena_printf(
				      g->a,
				      "your own connection to %s uses %s, and the change takes the "
				      "link down for a moment: use the console, or give --allow %s",
				      fact_text(&s->address, "this machine"), name, c->s->id)
			    : NULL;
	}
	/* No connection, or nobody looked. One that could not be placed may be anywhere. */
	if (s->links.f.seen != SEEN_ERROR && s->links.f.seen != SEEN_DENIED)
		return NULL;
	if (c->knob.kind == KNOB_LINK && resets_link(c))
		return arena_printf(
			g->a,
			"the interface of your own connection is unknown, and the change takes the "
			"link of %s down for a moment: use the console, or give --allow %s",
			c->knob.object, c->s->id);
	return NULL;
}

static const char *plan_gate_lockdown(struct gates *g, const struct change *c)
{
	if (c->knob.kind != KNOB_PCI || !is_locked_down(g->m))
		return NULL;
	return arena_printf(g->a,
			    "kernel lockdown (%s) refuses writes to configuration space. Secure "
			    "Boot turns it on, and only firmware setup turns Secure Boot off",
			    g->m->kernel.lockdown.v);
}

static const char *dangerous(struct gates *g, const struct change *c)
{
	if (c->risk != RISK_DANGER)
		return NULL;
	return arena_printf(g->a, "%s: read \"gputune explain %s\", then give --allow %s",
			    c->s->danger ? c->s->danger : "the change is dangerous", c->s->id,
			    c->s->id);
}

/* What no machine is asked for, by a profile file: those above say more where they hold. */
static const char *out_of_bounds(struct gates *g, const struct change *c)
{
	const char *why = NULL;

	if (knob_known(&c->knob))
		(void)knob_allows(g->a, &c->knob, c->after, &why);
	return why;
}

/* Isolation that leaves nobody to do the kernel's own work. See kernel-parameters: isolcpus,
 * nohz_full, rcu_nocbs. */

static bool isolates(const struct change *c)
{
	return c->knob.kind == KNOB_BOOTARG &&
	       (strcmp(c->knob.name, "isolcpus") == 0 || strcmp(c->knob.name, "nohz_full") == 0 ||
		strcmp(c->knob.name, "rcu_nocbs") == 0);
}

/* The list after the flags of "managed_irq,domain,4-7". */
static const char *list_of(const char *value)
{
	while (*value >= 'a' && *value <= 'z' && strchr(value, ','))
		value = strchr(value, ',') + 1;
	return value;
}

static unsigned last_of(const struct idset *s)
{
	return s->n ? s->r[s->n - 1].hi : 0;
}

/* "all" is every CPU, "N" the last one: "8-N". */
static bool plan_gate_parse(struct gates *g, const char *value, struct idset *out)
{
	const struct cpus *c = &g->m->cpu;
	const struct idset *all = seen_ok(&c->possible.f) ? &c->possible.v : &c->online.v;
	TEXT_AUTO list = { 0 };

	if (strcmp(list_of(value), "all") == 0) {
		*out = c->online.v;
		return true;
	}
	for (const char *at = list_of(value); *at; at++) {
		if (*at == 'N')
			text_printf(&list, "%u", last_of(all));
		else
			text_addc(&list, *at);
	}
	return idset_parse(g->a, list.s ? list.s : "", out) == 0;
}

static const char *gate_housekeeping(struct gates *g, const struct change *c)
{
	const struct cpus *cpus = &g->m->cpu;
	const char *arg = c->knob.name;
	struct idset apart;

	if (!isolates(c) || !*c->after || strcmp(c->after, "not set") == 0)
		return NULL;
	if (!seen_ok(&cpus->online.f))
		return arena_printf(
			g->a,
			"the online CPUs are unknown, so %s cannot be judged: set it manually",
			arg);
	if (!plan_gate_parse(g, c->after, &apart))
		return arena_printf(g->a, "%s=%s is not a list of CPUs: write it like 4-7,12", arg,
				    c->after);
	if (idset_contains(&apart, &cpus->online.v))
		return arena_printf(g->a,
				    "%s=%s includes every CPU and leaves none for the kernel's own "
				    "work: leave out at least CPU 0",
				    arg, c->after);
	if (idset_has(&apart, 0))
		return arena_printf(g->a,
				    "%s=%s includes CPU 0, which boots the machine and handles its "
				    "timekeeping: leave it out",
				    arg, c->after);
	LIST_FOR_EACH (struct numa_node, n, &cpus->nodes)
		if (seen_ok(&n->cpus.f) && n->cpus.v.n && idset_contains(&apart, &n->cpus.v))
			return arena_printf(g->a,
					    "%s=%s leaves no CPU of node %u (%s) for the kernel's "
					    "own work: leave out at least one",
					    arg, c->after, n->index,
					    idset_format(g->a, &n->cpus.v));
	return NULL;
}

/* Changes that programs on a GPU would feel: a mode that throws them out, a lower clock or power
 * limit, the fabric between GPUs. */

enum { NAMED_MAX = 4 };

static bool lowers(const char *after, const struct fact_int *now)
{
	long long v;

	return parse_i64(after, &v) == 0 && seen_ok(&now->f) && v < now->v;
}

/* "MIN,MAX" holds the clock below what it is now, or below the most where that is unknown. */
static bool locks_below(const char *after, const struct fact_int *now, const struct fact_int *most)
{
	const struct fact_int *clock = seen_ok(&now->f) ? now : most;
	long long low, high;

	return sscanf(after, "%lld,%lld", &low, &high) == 2 && seen_ok(&clock->f) &&
	       high < clock->v;
}

/* Programs on this GPU would feel the change. */
static bool disturbs(const struct change *c, const struct gpu *g)
{
	const char *name = c->knob.name;

	if (strcmp(name, "compute-mode") == 0 || strcmp(name, "mig-mode") == 0 ||
	    strcmp(name, "ecc-mode") == 0)
		return true;
	if (strcmp(name, "persistence-mode") == 0)
		return strcmp(c->after, "0") == 0;
	if (strcmp(name, "power-limit") == 0)
		return lowers(c->after, &g->power_limit_mw);
	if (strcmp(name, "gpu-clock-lock") == 0)
		return locks_below(c->after, &g->clock_sm_mhz, &g->clock_sm_max_mhz);
	if (strcmp(name, "memory-clock-lock") == 0)
		return locks_below(c->after, &g->clock_mem_mhz, &g->clock_mem_max_mhz);
	return c->effect == EFFECT_DRIVER_RELOAD;
}

/* Changes that are about all GPUs at once. */
static bool disturbs_all(const struct change *c)
{
	if (c->knob.kind == KNOB_UNIT)
		return strcmp(c->knob.name, "nvidia-fabricmanager.service") == 0 ||
		       (strcmp(c->knob.name, "nvidia-persistenced.service") == 0 &&
			!str_starts(c->after, "enabled"));
	return c->knob.kind == KNOB_MODPARAM && c->effect == EFFECT_DRIVER_RELOAD &&
	       str_starts(c->knob.name, "nvidia");
}

static const char *plan_gate_sentence(struct gates *g, const struct change *c,
				      const struct gpu *gpu)
{
	const struct gpu_process *it = gpu->processes.items;
	size_t n = gpu->processes.n;
	TEXT_AUTO who = { 0 };

	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		text_printf(&who, "%s%s %u", i ? ", " : "", fact_text(&it[i].command, "process"),
			    it[i].index);
	if (n > NAMED_MAX)
		text_printf(&who, " and %zu more", n - NAMED_MAX);
	return arena_printf(g->a,
			    "gpu%u runs %zu program%s (%s) that would be disturbed: wait or stop "
			    "%s, or give --allow %s",
			    gpu->index, n, PLURAL(n), who.s, n == 1 ? "it" : "them", c->s->id);
}

static const char *gate_gpu_busy(struct gates *g, const struct change *c)
{
	bool all = disturbs_all(c);

	if (!all && c->knob.kind != KNOB_NVML)
		return NULL;
	LIST_FOR_EACH (struct gpu, gpu, &g->m->gpu.gpus) {
		bool mine = all || (strcmp(gpu->pci, c->knob.object) == 0 && disturbs(c, gpu));

		if (mine && gpu->processes.n)
			return plan_gate_sentence(g, c, gpu);
	}
	return NULL;
}

/* Huge pages beyond the memory that can be spared: a tenth of it stays with everything else. What
 * the plan's earlier changes take counts. */

enum { SPARE = 10 }; /* a tenth */

struct request {
	long long size_kb, pages; /* pages: more than there are */
	long long node;		  /* -1: the whole machine */
};

static bool memory_parse(const struct machine *m, const struct change *c, struct request *r)
{
	long long before, after;
	unsigned node;
	int n = 0;

	r->node = -1;
	if (c->knob.kind == KNOB_SYSCTL && strcmp(c->knob.name, "vm.nr_hugepages") == 0) {
		r->size_kb = fact_or(&m->memory.hugepage_size_kb, 0);
	} else if (c->knob.kind != KNOB_SYSFS) {
		return false;
	} else if (sscanf(c->knob.name,
			  "/sys/devices/system/node/node%u/hugepages/"
			  "hugepages-%lldkB/nr_hugepages%n",
			  &node, &r->size_kb, &n) == 2 &&
		   n) {
		r->node = node;
	} else if (sscanf(c->knob.name, "/sys/kernel/mm/hugepages/hugepages-%lldkB/nr_hugepages%n",
			  &r->size_kb, &n) != 1 ||
		   !n) {
		return false;
	}
	if (r->size_kb <= 0 || !c->before || parse_i64(c->before, &before) ||
	    parse_i64(c->after, &after) || before < 0)
		return false;
	r->pages = after - before;
	return r->pages > 0;
}

static const char *plan_gate_refuse(struct gates *g, const struct request *r, long long room,
				    const char *where)
{
	long long fit = room > 0 ? room / r->size_kb : 0;

	return arena_printf(
		g->a,
		"%lld more pages of %lld MiB require %.1f GiB, and %s %.1f GiB are available after "
		"reserving 10 %%: request at most %lld more, or free memory first",
		r->pages, r->size_kb / 1024, (double)r->pages * (double)r->size_kb / (1 << 20),
		where, room > 0 ? (double)room / (1 << 20) : 0.0, fit);
}

static const char *on_node(struct gates *g, const struct request *r, long long need_kb)
{
	LIST_FOR_EACH (struct numa_node, n, &g->m->cpu.nodes) {
		long long room;

		if (n->index != r->node || n->index >= GATE_NODES_MAX ||
		    !seen_ok(&n->mem_free_bytes.f))
			continue;
		room = n->mem_free_bytes.v / 1024 - fact_or(&n->mem_total_bytes, 0) / 1024 / SPARE -
		       g->node_huge_kb[n->index];
		if (need_kb > room)
			return plan_gate_refuse(g, r, room,
						arena_printf(g->a, "on node %u only", n->index));
		g->node_huge_kb[n->index] += need_kb;
		return NULL;
	}
	return NULL;
}

static const char *gate_huge_pages(struct gates *g, const struct change *c)
{
	const struct memory *mem = &g->m->memory;
	struct request r = { 0 };
	long long need_kb, room;
	const char *why;

	if (!memory_parse(g->m, c, &r))
		return NULL;
	if (__builtin_mul_overflow(r.pages, r.size_kb, &need_kb))
		return plan_gate_refuse(g, &r, 0, "only");
	if (seen_ok(&mem->available_kb.f) || seen_ok(&mem->free_kb.f)) {
		room = (seen_ok(&mem->available_kb.f) ? mem->available_kb.v : mem->free_kb.v) -
		       fact_or(&mem->total_kb, 0) / SPARE - g->huge_kb;
		if (need_kb > room)
			return plan_gate_refuse(g, &r, room, "only");
	}
	why = r.node >= 0 ? on_node(g, &r, need_kb) : NULL;
	if (!why)
		g->huge_kb += need_kb;
	return why;
}

/* Values that the hardware or the kernel does not take: the machine's own maxima where they are
 * facts. */

static const char *above(struct gates *g, const struct change *c, const struct fact_int *max,
			 const char *unit)
{
	long long v;

	if (parse_i64(c->after, &v) || !seen_ok(&max->f) || v <= max->v)
		return NULL;
	return arena_printf(g->a, "%s takes at most %lld%s, not %lld", knob_text(g->a, &c->knob),
			    max->v, unit, v);
}

static const char *plan_gate_below(struct gates *g, const struct change *c, long long min,
				   const char *unit)
{
	long long v;

	if (parse_i64(c->after, &v) || v >= min)
		return NULL;
	return arena_printf(g->a, "%s takes at least %lld%s, not %lld", knob_text(g->a, &c->knob),
			    min, unit, v);
}

static const char *no_such_word(struct gates *g, const struct change *c, const char *words)
{
	if (words_have(words, c->after, strlen(c->after)))
		return NULL;
	return arena_printf(g->a, "%s offers %s, not %s", knob_text(g->a, &c->knob), words,
			    c->after);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static const char *clock_lock(struct gates *g, const struct change *c, const struct gpu *gpu,
			      const struct fact_int *max)
{
	long long low, high;

	if (sscanf(c->after, "%lld,%lld", &low, &high) != 2)
		return NULL;
	if (low > high)
		return arena_printf(
			g->a,
			"the range from %lld to %lld MHz is empty: give the lower clock first", low,
			high);
	if (!seen_ok(&max->f) || high <= max->v)
		return NULL;
	return arena_printf(g->a, "gpu%u reaches at most %lld MHz, not %lld: request %lld or less",
			    gpu->index, max->v, high, max->v);
}

static const char *gpu_limit(struct gates *g, const struct change *c)
{
	LIST_FOR_EACH (struct gpu, gpu, &g->m->gpu.gpus) {
		const char *why;

		if (strcmp(gpu->pci, c->knob.object) != 0)
			continue;
		if (strcmp(c->knob.name, "gpu-clock-lock") == 0)
			return clock_lock(g, c, gpu,
					  seen_ok(&gpu->clock_graphics_max_mhz.f)
						  ? &gpu->clock_graphics_max_mhz
						  : &gpu->clock_sm_max_mhz);
		if (strcmp(c->knob.name, "memory-clock-lock") == 0)
			return clock_lock(g, c, gpu, &gpu->clock_mem_max_mhz);
		if (strcmp(c->knob.name, "power-limit") != 0)
			return NULL;
		why = above(g, c, &gpu->power_limit_max_mw, " mW");
		return why || !seen_ok(&gpu->power_limit_min_mw.f)
			       ? why
			       : plan_gate_below(g, c, gpu->power_limit_min_mw.v, " mW");
	}
	return NULL;
}

/* --- links, PCI ------------------------------------------------------------------------------- */

enum { MTU_MIN = 68, MRRS_MIN = 128, MRRS_MAX = 4096 };

static const char *link_limit(struct gates *g, const struct change *c)
{
	const struct nic *n = machine_nic(g->m, c->knob.object);
	const char *why;

	if (!n)
		return NULL;
	if (strcmp(c->knob.name, "mtu") == 0) {
		why = above(g, c, &n->max_mtu, " bytes");
		return why ? why : plan_gate_below(g, c, MTU_MIN, " bytes");
	}
	if (strcmp(c->knob.name, "rx-ring") == 0)
		return above(g, c, &n->rx_ring_max, "");
	if (strcmp(c->knob.name, "tx-ring") == 0)
		return above(g, c, &n->tx_ring_max, "");
	if (strcmp(c->knob.name, "channels") == 0) {
		why = above(g, c, &n->channels_max, "");
		return why ? why : plan_gate_below(g, c, 1, "");
	}
	return plan_gate_below(g, c, 0, "");
}

/* Three bits of Device Control: 128 shifted by 0 to 5. */
static const char *pci_limit(struct gates *g, const struct change *c)
{
	long long v;

	if (strcmp(c->knob.name, "mrrs") != 0 || parse_i64(c->after, &v))
		return NULL;
	if (v >= MRRS_MIN && v <= MRRS_MAX && (v & (v - 1)) == 0)
		return NULL;
	return arena_printf(g->a,
			    "a read request size must be a power of two from %d to %d, not %lld",
			    MRRS_MIN, MRRS_MAX, v);
}

/* --- files ------------------------------------------------------------------------------------ */

/* block/blk-mq: the most requests of a scheduler's queue, and the fewest of any. */
enum { REQUESTS_MIN = 4, REQUESTS_MAX = 2048 };

/* The leaf of "/sys/block/DISK/queue/LEAF" and the disk; NULL when path is no such file. */
static const char *gate_queue_leaf(const struct machine *m, const char *path, const struct disk **d)
{
	char name[64];
	int n = 0;

	if (sscanf(path, "/sys/block/%63[^/]/queue/%n", name, &n) != 1 || !n)
		return NULL;
	*d = machine_disk(m, name);
	return *d ? path + n : NULL;
}

/* The scheduler that the disk will have when this change is made. */
static const char *scheduler_then(struct gates *g, const struct disk *d)
{
	const char *word = fact_text(&d->scheduler, "");

	for (size_t i = 0; i < g->i; i++) {
		const struct change *c = &g->p->changes[i];
		const struct disk *other;
		const char *leaf;

		if (c->gate || c->knob.kind != KNOB_SYSFS)
			continue;
		leaf = gate_queue_leaf(g->m, c->knob.name, &other);
		if (leaf && other == d && strcmp(leaf, "scheduler") == 0)
			word = c->after;
	}
	return word;
}

static const char *queue_limit(struct gates *g, const struct change *c, const struct disk *d,
			       const char *leaf)
{
	struct fact_int most = { .f.seen = SEEN_OK, .v = REQUESTS_MAX };
	const char *why;

	if (strcmp(leaf, "scheduler") == 0)
		return seen_ok(&d->schedulers.f) ? no_such_word(g, c, d->schedulers.v) : NULL;
	if (strcmp(leaf, "max_sectors_kb") == 0)
		return above(g, c, &d->hw_sectors_kb, " KiB");
	if (strcmp(leaf, "read_ahead_kb") == 0) {
		most.v = UINT_MAX;
		why = above(g, c, &most, " KiB");
		return why ? why : plan_gate_below(g, c, 0, " KiB");
	}
	if (strcmp(leaf, "nr_requests") != 0)
		return NULL;
	/* Without a scheduler there is only the device's own queue. */
	if (strcmp(scheduler_then(g, d), "none") == 0)
		most = d->queue_depth;
	why = above(g, c, &most, " requests");
	return why ? why : plan_gate_below(g, c, REQUESTS_MIN, " requests");
}

static const char *policy_limit(struct gates *g, const struct change *c)
{
	unsigned index;
	char leaf[64];

	if (sscanf(c->knob.name, "/sys/devices/system/cpu/cpufreq/policy%u/%63[a-z_]", &index,
		   leaf) != 2)
		return NULL;
	LIST_FOR_EACH (struct freq_policy, p, &g->m->cpu.policies) {
		const char *why;

		if (p->index != index)
			continue;
		if (strcmp(leaf, "scaling_governor") == 0)
			return seen_ok(&p->governors.f) ? no_such_word(g, c, p->governors.v) : NULL;
		if (strcmp(leaf, "scaling_max_freq") != 0 && strcmp(leaf, "scaling_min_freq") != 0)
			return NULL;
		why = above(g, c, &p->hw_max_khz, " kHz");
		return why || !seen_ok(&p->hw_min_khz.f)
			       ? why
			       : plan_gate_below(g, c, p->hw_min_khz.v, " kHz");
	}
	return NULL;
}

static const char *file_limit(struct gates *g, const struct change *c)
{
	const struct disk *d;
	const char *leaf = gate_queue_leaf(g->m, c->knob.name, &d);

	if (leaf)
		return queue_limit(g, c, d, leaf);
	return policy_limit(g, c);
}

/* --- sysctls ---------------------------------------------------------------------------------- */

/* 200 came with Linux 5.8. */
static const char *sysctl_limit(struct gates *g, const struct change *c)
{
	const struct fact_int most = { .f.seen = SEEN_OK, .v = 100 };
	int major, minor;

	if (strcmp(c->knob.name, "vm.swappiness") != 0 ||
	    sscanf(fact_text(&g->m->kernel.release, ""), "%d.%d", &major, &minor) != 2 ||
	    major * 100 + minor >= 508)
		return NULL;
	return above(g, c, &most, "");
}

/* OpenZFS ignores a limit of all memory or more. */
static const char *parameter_limit(struct gates *g, const struct change *c)
{
	struct fact_int max = g->m->memory.total_kb;

	if (strcmp(c->knob.name, "zfs.zfs_arc_max") != 0 || !seen_ok(&max.f))
		return NULL;
	max.v = max.v * 1024 - 1;
	return above(g, c, &max, " bytes");
}

/* Of --allow: where the gate can be lifted the sentence says how. */
static const char *gate_limit(struct gates *g, const struct change *c)
{
	switch (c->knob.kind) {
	case KNOB_NVML:
		return gpu_limit(g, c);
	case KNOB_LINK:
		return link_limit(g, c);
	case KNOB_PCI:
		return pci_limit(g, c);
	case KNOB_SYSFS:
		return file_limit(g, c);
	case KNOB_SYSCTL:
		return sysctl_limit(g, c);
	case KNOB_MODPARAM:
		return parameter_limit(g, c);
	default:
		return NULL;
	}
}

bool plan_allows(const struct plan_target *w, const struct setting *s)
{
	for (size_t i = 0; i < w->n_allow; i++)
		if (id_matches(s->id, w->allow[i]))
			return true;
	return false;
}

static const char *policy_forbids(struct gates *g, const struct change *c)
{
	return g->w->site ? site_forbids(g->a, g->w->site, g->w->agent, g->w->profile->name, c->s)
			  : NULL;
}

static const struct {
	const char *code;
	bool lifts; /* by --allow */
	const char *(*why)(struct gates *g, const struct change *c);
} rows[] = {
	{ GATE_POLICY, false, policy_forbids },
	{ GATE_UNREADABLE, false, unreadable },
	{ GATE_OVERRIDDEN, false, overridden },
	{ GATE_LIMIT, false, gate_limit },
	{ GATE_HOUSEKEEPING, false, gate_housekeeping },
	{ GATE_LIMIT, false, out_of_bounds },
	{ GATE_LOCKDOWN, false, plan_gate_lockdown },
	{ GATE_OWN_LINK, true, plan_gate_own_link },
	{ GATE_GPU_BUSY, true, gate_gpu_busy },
	{ GATE_ALLOW, true, dangerous },
	/* Last, because it counts what all others let through. */
	{ GATE_LIMIT, false, gate_huge_pages },
};

void plan_gates(struct arena *a, const struct machine *m, const struct plan_target *w,
		struct plan *p)
{
	struct gates g = { .a = a, .m = m, .w = w, .p = p };

	for (g.i = 0; g.i < p->n; g.i++) {
		struct change *c = &p->changes[g.i];
		bool allowed = plan_allows(w, c->s);

		for (size_t k = 0; !c->gate && k < sizeof(rows) / sizeof(rows[0]); k++) {
			const char *why = allowed && rows[k].lifts ? NULL : rows[k].why(&g, c);

			if (why) {
				c->gate = rows[k].code;
				c->refusal = why;
			}
		}
	}
}
