/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the gates share. A gate gives the sentence why a change is not made, or NULL.
 */
#ifndef PLAN_GATE_H
#define PLAN_GATE_H

#include "tune/plan/plan.h"

enum { GATE_NODES_MAX = 64 };

struct gates {
	struct arena *a;
	const struct machine *m;
	const struct plan *p;
	size_t i; /* the change at hand; those before it are judged */
	/* Memory that huge pages of the changes before take, in kB. */
	long long huge_kb, node_huge_kb[GATE_NODES_MAX];
};

/* Of --allow: where the gate can be lifted the sentence says how. */
const char *gate_limit(struct gates *g, const struct change *c);
const char *gate_huge_pages(struct gates *g, const struct change *c);
const char *gate_gpu_busy(struct gates *g, const struct change *c);
const char *gate_housekeeping(struct gates *g, const struct change *c);

/* One of the blank-separated words. */
bool gate_has_word(const char *words, const char *word);

#endif
