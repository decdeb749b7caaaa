/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a transformer, as far as memory and speed follow from it: layers by kind, widths,
 * experts, cache of a token. Pure; figures come from a table, a configuration or a file's header.
 */
#ifndef INFERENCE_ARCH_H
#define INFERENCE_ARCH_H

#include "base/arena.h"
#include "base/err.h"
#include "knowledge/knowledge.h"
#include "knowledge/models.h"

/* Parameters by part, of the whole model. */
struct arch_parts {
	double attention, linear, dense, shared, experts, router, head, embed, aside;
	double one_expert; /* parameters of one expert of one layer */
	double total, active;
};

struct arch_parts arch_parts(const struct arch *a);
/* What makes a layer's queries, of heads so wide, where attention is not latent. */
double arch_query_params(const struct arch *a, int head_dim);
/* Layers with full attention that keep a cache of their own, and those with a window. */
int arch_full_layers(const struct arch *a);
/* Layers with a dense block. */
int arch_dense_layers(const struct arch *a);
/* Elements that a sequence of this many tokens keeps in the cache: (keys and values) by layers. */
double arch_cache_elements(const struct arch *a, double tokens);
/* Elements that one more token reads of it. */
double arch_cache_read(const struct arch *a, double tokens);
/* Bytes of state besides the cache that a sequence keeps, whatever its length. */
double arch_state_bytes(const struct arch *a);
/* Operations of attention itself (scores and values) for a prompt of n tokens behind depth others.
 */
double arch_attention_ops(const struct arch *a, double n, double depth);
/* The same as what it costs: heads wider than kernels are made for take longer than their
 * operations say. */
double arch_attention_effort(const struct arch *a, double n, double depth);
/* Operations that a token of a sequence of so many costs once more where every layer is computed
 * again before its backward pass; the head is not. */
double arch_recomputed_ops(const struct arch *a, double sequence);
/* The part of all experts of a layer that tokens' choices reach on average. even: how evenly they
 * are chosen, 0 to 1: their popularity has a gamma distribution of shape even / (1 - even). */
double arch_experts_reached(const struct arch *a, double tokens, double even);

/* The built-in list of models, and finding a shape by a name as people write it. Pure. */

/* What is known of a model besides its name; 0: unknown. */
struct model_hint {
	double total, active; /* parameters */
	int layers, hidden, kv_heads, head_dim;
};

/*
 * The model of the list that the name means; else a shape like that of the nearest model of the
 * sizes in the name ("27B", "30B-A3B", "8x7B") or in the hint, scaled to them. *taken says in a
 * sentence what was taken. -ENOENT: neither name nor sizes are known. known: NULL: the built-in.
 */
int model_find(struct arena *a, const struct knowledge *known, const char *name,
	       const struct model_hint *hint, struct arch *out, const char **taken, struct err *e);
/* "401 B parameters, 16 B active"; a dense model has all of them active. */
const char *arch_size(struct arena *a, const struct arch *m);
/* Sizes in a name, in parameters: total and active ("35B-A3B", "8x7B", "350M"); 0: none. */
void model_sizes(const char *name, double *total, double *active);

#endif
