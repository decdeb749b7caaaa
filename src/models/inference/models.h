/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in list of models, and finding a shape by a name as people write it. Pure. */
#ifndef INFERENCE_MODELS_H
#define INFERENCE_MODELS_H

#include "base/arena.h"
#include "base/err.h"
#include "knowledge/knowledge.h"
#include "models/inference/arch.h"

/* What is known of a model besides its name; 0: unknown. */
struct model_hint {
	double total, active; /* parameters */
	int layers, hidden, kv_heads, head_dim;
};

/*
 * The model of the list that the name means; else a shape like that of the nearest model of the
 * sizes in the name ("27B", "30B-A3B", "8x7B") or in the hint, scaled to them. *taken says in a
 * sentence what was taken. -ENOENT: neither name nor sizes are known. known: NULL: what is compiled
 * in.
 */
int model_find(struct arena *a, const struct knowledge *known, const char *name,
	       const struct model_hint *hint, struct arch *out, const char **taken, struct err *e);
/* Sizes in a name, in parameters: total and active ("35B-A3B", "8x7B", "350M"); 0: none. */
void model_sizes(const char *name, double *total, double *active);

#endif
