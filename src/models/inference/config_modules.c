/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of matrices. Makers name the same one differently, engines join some of them, and layers of
 * some models have all their kinds under one name.
 */
#include "models/inference/config_modules.h"

struct list {
	const struct arch *arch;
	struct module *out;
	size_t n;
};

static void module(struct list *k, enum part part, double share, const char *names)
{
	if (share > 0 && k->n < MODULES)
		k->out[k->n++] = (struct module){ part, names, share };
}

static void attention_modules(struct list *k)
{
	const struct arch *a = k->arch;
	double h = a->hidden, q = arch_query_params(a, a->head_dim),
	       kv = h * a->kv_heads * a->head_dim, o = h * a->heads * a->head_dim,
	       all = q + 2 * kv + o;

	module(k, ATTENTION, q / all,
	       "self_attn.q_proj self_attn.qkv_proj attention.q_proj attn.q_proj attn.qkv_proj "
	       "mixer.q_proj self_attention.query_key_value");
	module(k, ATTENTION, kv / all,
	       "self_attn.k_proj self_attn.qkv_proj attention.k_proj attn.k_proj attn.qkv_proj "
	       "mixer.k_proj self_attention.query_key_value");
	module(k, ATTENTION, kv / all,
	       "self_attn.v_proj self_attn.qkv_proj attention.v_proj attn.v_proj attn.qkv_proj "
	       "mixer.v_proj self_attention.query_key_value");
	module(k, ATTENTION, o / all,
	       "self_attn.o_proj self_attn.out_proj self_attn.dense attention.o_proj attn.o_proj "
	       "mixer.o_proj self_attention.dense");
}

static void latent_modules(struct list *k)
{
	const struct arch *a = k->arch;
	double h = a->hidden, n = a->heads, qk = a->nope_dim + a->rope_dim;
	double qa = h * a->q_lora, qb = a->q_lora * n * qk, q = a->q_lora ? 0 : h * n * qk;
	double kva = h * (a->kv_lora + a->rope_dim),
	       kvb = a->kv_lora * n * (a->nope_dim + a->v_dim);
	double o = n * a->v_dim * h, all = qa + qb + q + kva + kvb + o;

	module(k, ATTENTION, qa / all,
	       "self_attn.q_a_proj self_attn.fused_qkv_a_proj self_attn.fused_qkv_a_proj_with_mqa");
	module(k, ATTENTION, qb / all, "self_attn.q_b_proj");
	module(k, ATTENTION, q / all, "self_attn.q_proj");
	module(k, ATTENTION, kva / all,
	       "self_attn.kv_a_proj_with_mqa self_attn.kv_a_proj self_attn.fused_qkv_a_proj "
	       "self_attn.fused_qkv_a_proj_with_mqa");
	module(k, ATTENTION, kvb / all, "self_attn.kv_b_proj");
	module(k, ATTENTION, o / all, "self_attn.o_proj");
}

/* Their widths are not kept apart: about so much of such a layer in the models that are known. */
static void linear_modules(struct list *k)
{
	module(k, LINEAR, 0.46,
	       "linear_attn.in_proj_qkv linear_attn.in_proj_qkvz mixer.in_proj mamba.in_proj "
	       "conv.in_proj short_conv.in_proj");
	module(k, LINEAR, 0.27,
	       "linear_attn.in_proj_z linear_attn.in_proj_qkvz mixer.in_proj mamba.in_proj "
	       "conv.in_proj short_conv.in_proj");
	module(k, LINEAR, 0.27,
	       "linear_attn.out_proj mixer.out_proj mamba.out_proj conv.out_proj "
	       "short_conv.out_proj");
}

static void dense_modules(struct list *k, double gate, double other)
{
	module(k, DENSE, gate,
	       "mlp.gate_proj mlp.gate_up_proj mlp.w1 feed_forward.gate_proj feed_forward.w1");
	module(k, DENSE, other,
	       "mlp.up_proj mlp.gate_up_proj mlp.w3 mlp.fc1 mlp.dense_h_to_4h "
	       "feed_forward.up_proj feed_forward.w3 mixer.up_proj");
	module(k, DENSE, other,
	       "mlp.down_proj mlp.w2 mlp.fc2 mlp.dense_4h_to_h feed_forward.down_proj "
	       "feed_forward.w2 mixer.down_proj");
}

static void expert_modules(struct list *k, double gate, double other)
{
	module(k, EXPERTS, gate,
	       "mlp.experts.0.gate_proj mlp.experts.gate_up_proj mlp.experts.gate_proj "
	       "block_sparse_moe.experts.0.w1 feed_forward.experts.gate_up_proj "
	       "feed_forward.experts.0.gate_proj");
	module(k, EXPERTS, other,
	       "mlp.experts.0.up_proj mlp.experts.gate_up_proj mlp.experts.up_proj "
	       "block_sparse_moe.experts.0.w3 feed_forward.experts.gate_up_proj "
	       "feed_forward.experts.0.up_proj mixer.experts.0.up_proj");
	module(k, EXPERTS, other,
	       "mlp.experts.0.down_proj mlp.experts.down_proj block_sparse_moe.experts.0.w2 "
	       "feed_forward.experts.down_proj feed_forward.experts.0.down_proj "
	       "mixer.experts.0.down_proj");
	module(k, SHARED, gate,
	       "mlp.shared_expert.gate_proj mlp.shared_experts.gate_proj "
	       "mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_up_proj "
	       "mlp.shared_mlp.gate_proj feed_forward.shared_expert.gate_proj "
	       "block_sparse_moe.shared_experts.gate_proj");
	module(k, SHARED, other,
	       "mlp.shared_expert.up_proj mlp.shared_experts.up_proj "
	       "mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_up_proj "
	       "mlp.shared_mlp.up_proj feed_forward.shared_expert.up_proj "
	       "block_sparse_moe.shared_experts.up_proj mixer.shared_experts.up_proj");
	module(k, SHARED, other,
	       "mlp.shared_expert.down_proj mlp.shared_experts.down_proj "
	       "mlp.shared_mlp.down_proj feed_forward.shared_expert.down_proj "
	       "block_sparse_moe.shared_experts.down_proj mixer.shared_experts.down_proj");
}

size_t config_modules(const struct arch *a, struct module *out)
{
	double gate = a->ffn_mats == 2 ? 0 : 1.0 / 3;
	struct list l = { .arch = a, .out = out };

	if (a->kv_lora)
		latent_modules(&l);
	else
		attention_modules(&l);
	linear_modules(&l);
	dense_modules(&l, gate, (1 - gate) / 2);
	expert_modules(&l, gate, (1 - gate) / 2);
	return l.n;
}
