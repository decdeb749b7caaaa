/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's facts as a place to run a model: which GPUs, how much memory is there. */
#include <errno.h>

#include "machine/model/machine.h"
#include "models/inference/predict.h"

/* Memory that processes can have: what the kernel counts, or what the driver tells of a card. */
static void memory_of(struct arena *a, const struct machine *m, const struct gpu *g,
		      struct place *p)
{
	long long kb = fact_or(&m->memory.total_kb, 0), card = fact_or(&g->memory_bytes, 0);

	if (p->gpu->unified && kb > 0) {
		p->memory = (double)kb * 1024;
		p->memory_from = arena_strdup(a, "read: MemTotal");
	} else if (!p->gpu->unified && card > 0) {
		p->memory = (double)card;
		p->memory_from = arena_strdup(a, "read: the driver's total");
	}
}

int place_per_node(const struct place *p)
{
	int each = p->gpu->per_node, even = (p->gpus + p->nodes - 1) / p->nodes;

	/* Full machines but for the last, unless somebody told how many there are. */
	return p->nodes > 1 && each > even && (p->gpus + each - 1) / each == p->nodes ? each : even;
}

int place_of(struct arena *a, const struct machine *m, struct place *out, struct err *e)
{
	const struct gpu *first = m->gpu.gpus.n ? m->gpu.gpus.items : NULL;
	const char *name = first ? fact_text(&first->name, NULL) : NULL;
	const struct gpu_kind *k = name ? gpu_kind_of(name) : NULL;

	if (!k) {
		err_set(e, -ENOENT,
			name ? "the GPU \"%.80s\" is not in the list"
			     : "no GPU is seen on the machine that was looked at%.0s",
			name ? name : "");
		err_hint(e, "name a machine: --on dgx-spark, --on \"2x dgx-spark\", --on "
			    "\"h100-sxm x8\"");
		return -ENOENT;
	}
	*out = (struct place){ .gpu = k, .gpus = (int)m->gpu.gpus.n, .nodes = 1 };
	memory_of(a, m, first, out);
	out->taken = arena_printf(a, "%zu x %s", m->gpu.gpus.n, k->name);
	return 0;
}
