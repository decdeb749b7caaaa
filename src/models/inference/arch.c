/* SPDX-License-Identifier: Apache-2.0 */
/* Counting a shape: parameters by part, cache, state, operations. */
#include "models/inference/arch.h"

#include <math.h>

/* What sparse attention finds tokens by, of the width of what it finds. */
#define INDEX 0.125

int arch_dense_layers(const struct arch *a)
{
	return a->ffn_layers ? a->ffn_layers : a->moe_layers ? 0 : a->ffn ? a->layers : 0;
}

int arch_full_layers(const struct arch *a)
{
	int n = a->attention_layers ? a->attention_layers /* -1: none */
				    : a->layers - a->window_layers - a->linear_layers;

	return n > 0 ? n : 0;
}

double arch_query_params(const struct arch *a, int head_dim)
{
	double h = a->hidden, q = (double)a->heads * head_dim * (a->gated_attention ? 2 : 1);

	return a->q_lora ? a->q_lora * (h + q) : h * q;
}

/* One layer with heads and cached heads of these sizes. */
static double attention_params(const struct arch *a, int kv_heads, int head_dim)
{
	double h = a->hidden, o = (double)a->heads * head_dim;

	return arch_query_params(a, head_dim) + 2 * h * kv_heads * head_dim + o * h;
}

static double latent_params(const struct arch *a)
{
	double h = a->hidden, n = a->heads, qk = a->nope_dim + a->rope_dim;
	double q = a->q_lora ? h * a->q_lora + a->q_lora * n * qk : h * n * qk;

	return q + h * (a->kv_lora + a->rope_dim) + a->kv_lora * n * (a->nope_dim + a->v_dim) +
	       n * a->v_dim * h;
}

struct arch_parts arch_parts(const struct arch *a)
{
	struct arch_parts p = { 0 };
	double h = a->hidden, mats = a->ffn_mats ? a->ffn_mats : 3, s = a->scale > 0 ? a->scale : 1;
	int wkv = a->window_kv_heads ? a->window_kv_heads : a->kv_heads;
	int wdim = a->window_head_dim ? a->window_head_dim : a->head_dim;
	double in = a->expert_in ? a->expert_in : h;

	p.attention =
		a->kv_lora ? (arch_full_layers(a) + a->window_layers) * latent_params(a)
			   : arch_full_layers(a) * attention_params(a, a->kv_heads, a->head_dim) +
				     a->window_layers * attention_params(a, wkv, wdim) -
				     a->cross_layers * 2 * h * a->kv_heads * a->head_dim;
	p.linear = a->linear_layers * a->linear_params;
	p.dense = arch_dense_layers(a) * mats * h * a->ffn;
	p.one_expert = mats * in * a->expert_ffn * s;
	p.experts = a->moe_layers * (double)a->experts * mats * in * a->expert_ffn;
	p.shared = a->moe_layers * (mats * h * a->shared_ffn + (a->expert_in ? 2 * h * in : 0));
	p.router = a->moe_layers * h * a->experts;
	p.head = h * a->vocab;
	p.embed = a->tied ? 0 : h * a->vocab;
	p.aside = a->aside;
	p.attention *= s, p.linear *= s, p.dense *= s, p.shared *= s, p.experts *= s, p.router *= s;
	p.total = p.attention + p.linear + p.dense + p.shared + p.experts + p.router + p.head +
		  p.embed + p.aside;
	p.active = p.attention + p.linear + p.dense + p.shared + p.router + p.head +
		   a->moe_layers * (double)a->top * p.one_expert;
	return p;
}

/* Elements of one token in one layer. */
static double full_width(const struct arch *a)
{
	return a->kv_lora ? a->kv_lora + a->rope_dim : 2.0 * a->kv_heads * a->head_dim;
}

static double window_width(const struct arch *a)
{
	return 2.0 * (a->window_kv_heads ? a->window_kv_heads : a->kv_heads) *
	       (a->window_head_dim ? a->window_head_dim : a->head_dim);
}

double arch_cache_elements(const struct arch *a, double tokens)
{
	double own = 1, all = arch_full_layers(a) + a->window_layers;

	if (a->kv_shared_layers > 0 && all > 0)
		own = fmax(0, 1 - a->kv_shared_layers / all);
	return own * ((arch_full_layers(a) - a->cross_layers) * full_width(a) * tokens *
			      (1 + (a->index_top ? INDEX : 0)) +
		      a->window_layers * window_width(a) * fmin(tokens, a->window));
}

double arch_cache_read(const struct arch *a, double tokens)
{
	double seen = a->index_top ? fmin(tokens, a->index_top) + tokens * INDEX : tokens;

	return arch_full_layers(a) * full_width(a) * seen +
	       a->window_layers * window_width(a) * fmin(tokens, a->window);
}

double arch_state_bytes(const struct arch *a)
{
	return a->linear_layers * a->linear_state;
}

/* The sum over the prompt of how many tokens each sees. */
static double seen_sum(double n, double depth, double most)
{
	double early = fmax(0, fmin(n, most - depth));

	if (most <= 0)
		return n * depth + n * n / 2;
	return early * depth + early * early / 2 + (n - early) * most;
}

/* Heads wider than 128 do not fit the fast kernels' tiles: their cost grows with the square. Not
 * operations: a rate of them is told with those that there are. */
static double effort(int head_dim)
{
	return 2.0 * head_dim * fmax(1, head_dim / 128.0);
}

/* Of n tokens, where each pair of tokens costs so much in a layer that sees all and in one with a
 * window. */
static double pairs(const struct arch *a, double n, double depth, double full, double window)
{
	return 2.0 * a->heads *
	       (arch_full_layers(a) * full * seen_sum(n, depth, a->index_top) +
		a->window_layers * window * seen_sum(n, depth, fmax(a->window, 1)));
}

static int window_dim(const struct arch *a)
{
	return a->window_head_dim ? a->window_head_dim : a->head_dim;
}

static double latent_dims(const struct arch *a)
{
	return a->nope_dim + a->rope_dim + a->v_dim;
}

double arch_attention_ops(const struct arch *a, double n, double depth)
{
	double full = a->kv_lora ? latent_dims(a) : 2.0 * a->head_dim;

	return pairs(a, n, depth, full, 2.0 * window_dim(a));
}

double arch_attention_effort(const struct arch *a, double n, double depth)
{
	double full = a->kv_lora ? latent_dims(a) : effort(a->head_dim);

	return pairs(a, n, depth, full, effort(window_dim(a)));
}

double arch_recomputed_ops(const struct arch *a, double sequence)
{
	struct arch_parts p = arch_parts(a);

	return 2 * (p.active - p.head) + arch_attention_ops(a, sequence, 0) / sequence;
}

double arch_experts_reached(const struct arch *a, double tokens)
{
	if (!a->experts || a->top >= a->experts)
		return 1;
	return 1 - pow(1 - (double)a->top / a->experts, tokens);
}
