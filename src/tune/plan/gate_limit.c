/* SPDX-License-Identifier: Apache-2.0 */
/* Values that the hardware or the kernel does not take: the machine's own maxima where they are
 * facts. Memory for huge pages is in gate_memory.c. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/gate.h"

static const char *above(struct gates *g, const struct change *c, const struct fact_int *max,
			 const char *unit)
{
	long long v;

	if (parse_i64(c->after, &v) || !seen_ok(&max->f) || v <= max->v)
		return NULL;
	return arena_printf(g->a, "%s takes %lld%s at most, not %lld", knob_text(g->a, &c->knob),
			    max->v, unit, v);
}

static const char *below(struct gates *g, const struct change *c, long long min, const char *unit)
{
	long long v;

	if (parse_i64(c->after, &v) || v >= min)
		return NULL;
	return arena_printf(g->a, "%s takes %lld%s at least, not %lld", knob_text(g->a, &c->knob),
			    min, unit, v);
}

static const char *no_such_word(struct gates *g, const struct change *c, const char *words)
{
	if (gate_has_word(words, c->after))
		return NULL;
	return arena_printf(g->a, "%s offers %s, not %s", knob_text(g->a, &c->knob), words,
			    c->after);
}

/* --- GPUs --------------------------------------------------------------------------------------
 */

static const char *clock_lock(struct gates *g, const struct change *c, const struct gpu *gpu,
			      const struct fact_int *max)
{
	long long low, high;

	if (sscanf(c->after, "%lld,%lld", &low, &high) != 2)
		return NULL;
	if (low > high)
		return arena_printf(g->a,
				    "a lock from %lld to %lld MHz is empty: the lower clock "
				    "comes first",
				    low, high);
	if (!seen_ok(&max->f) || high <= max->v)
		return NULL;
	return arena_printf(g->a, "gpu%u reaches %lld MHz at most, not %lld: ask for %lld or less",
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
			       : below(g, c, gpu->power_limit_min_mw.v, " mW");
	}
	return NULL;
}

/* --- links, PCI ---------------------------------------------------------------------------------
 */

enum { MTU_MIN = 68, MRRS_MIN = 128, MRRS_MAX = 4096 };

static const char *link_limit(struct gates *g, const struct change *c)
{
	const struct nic *n = machine_nic(g->m, c->knob.object);
	const char *why;

	if (!n)
		return NULL;
	if (strcmp(c->knob.name, "mtu") == 0) {
		why = above(g, c, &n->max_mtu, " bytes");
		return why ? why : below(g, c, MTU_MIN, " bytes");
	}
	if (strcmp(c->knob.name, "rx-ring") == 0)
		return above(g, c, &n->rx_ring_max, "");
	if (strcmp(c->knob.name, "tx-ring") == 0)
		return above(g, c, &n->tx_ring_max, "");
	if (strcmp(c->knob.name, "channels") == 0) {
		why = above(g, c, &n->channels_max, "");
		return why ? why : below(g, c, 1, "");
	}
	return below(g, c, 0, "");
}

/* Three bits of Device Control: 128 shifted by 0 to 5. */
static const char *pci_limit(struct gates *g, const struct change *c)
{
	long long v;

	if (strcmp(c->knob.name, "mrrs") != 0 || parse_i64(c->after, &v))
		return NULL;
	if (v >= MRRS_MIN && v <= MRRS_MAX && (v & (v - 1)) == 0)
		return NULL;
	return arena_printf(g->a, "a read request size is a power of two from %d to %d, not %lld",
			    MRRS_MIN, MRRS_MAX, v);
}

/* --- files --------------------------------------------------------------------------------------
 */

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
		return why ? why : below(g, c, 0, " KiB");
	}
	if (strcmp(leaf, "nr_requests") != 0)
		return NULL;
	/* Without a scheduler there is only the device's own queue. */
	if (strcmp(scheduler_then(g, d), "none") == 0)
		most = d->queue_depth;
	why = above(g, c, &most, " requests");
	return why ? why : below(g, c, REQUESTS_MIN, " requests");
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
		return why || !seen_ok(&p->hw_min_khz.f) ? why
							 : below(g, c, p->hw_min_khz.v, " kHz");
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

/* --- sysctls ------------------------------------------------------------------------------------
 */

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

const char *gate_limit(struct gates *g, const struct change *c)
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
