/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a transformer, as far as memory and speed follow from it: layers by kind, widths,
 * experts, what a token leaves in the cache. Pure; figures come from a table, a configuration or
 * a file's header.
 */
#ifndef INFERENCE_ARCH_H
#define INFERENCE_ARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Zero: has none of it. Widths in elements. */
struct arch {
	const char *name;   /* "Qwen3-8B" */
	const char *source; /* where the figures are from: the configuration's name */
	const char *format; /* in which format its maker publishes it; NULL: BF16 */
	bool guessed;	    /* shape taken from a model of a similar size, or not checked */
	double total;	    /* published number of parameters; 0: counted from the shape */
	double scale;	    /* what the counted parts are multiplied by; 0: 1 */
	int trained;	    /* tokens of context that it was made for; 0: not told */
	int layers, hidden, vocab;
	bool tied;		       /* output head and embedding are one matrix */
	int heads, kv_heads, head_dim; /* of the layers with full attention */
	bool gated_attention;	       /* the query projection makes a gate as well */
	int ffn;		       /* inner width of a dense feed-forward block */
	int ffn_mats;		       /* matrices of a block: 3 (gated) unless told; 2 */
	int ffn_layers;		       /* layers with a dense block; 0: all that have no experts */
	int moe_layers, experts, top, expert_ffn, expert_in; /* expert_in 0: hidden */
	int shared_ffn;			      /* inner width of what every token takes */
	int window_layers, window;	      /* layers that see the last window tokens alone */
	int window_kv_heads, window_head_dim; /* 0: as above */
	int attention_layers; /* with full attention; 0: all that are of no other kind; -1: none */
	int kv_shared_layers; /* that use the cache of an earlier layer */
	int cross_layers;     /* of those with full attention: see another's keys, and make none */
	int kv_lora, rope_dim, nope_dim, v_dim; /* latent attention */
	int q_lora;				/* queries pass by so few; 0: directly */
	int index_top;	      /* sparse attention reads at most this many tokens */
	int linear_layers;    /* linear attention, state space, short convolution */
	double linear_params; /* of one of them */
	double linear_state;  /* bytes that one sequence keeps in one of them */
	double fp4_shared,
		fp4_linear; /* bytes a parameter in FP4 checkpoints, where not as usual */
	bool fp8_blocks;    /* FP8 checkpoints have a scale for each block of a matrix */
	double aside; /* parameters that a token does not read: per-layer embeddings, a vision tower
		       */
};

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
/* The part of all experts of a layer that tokens' choices reach on average. */
double arch_experts_reached(const struct arch *a, double tokens);

#endif
