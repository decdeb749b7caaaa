/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of models.rows, and what follows from them. */
#include "knowledge/models.h"

#define M struct model_row

static const struct row_column model_columns[] = {
	ROW_NAME(M, a.name, .meaning = "as its maker writes it"),
	ROW_TEXT(M, keys, "keys", .required = true,
		 .meaning = "words of its names in order, a bar between words, a blank between "
			    "alternatives"),
	ROW_COUNT(M, a.layers, "layers", .min = 1, .max = 4096, .required = true,
		  .meaning = "layers of all kinds"),
	ROW_COUNT(M, a.hidden, "hidden", .min = 16, .max = 1 << 20, .required = true,
		  .meaning = "width of the model"),
	ROW_COUNT(M, a.vocab, "vocab", .min = 16, .max = 1 << 24, .required = true,
		  .meaning = "size of the vocabulary"),
	ROW_FLAG(M, a.tied, "tied", .meaning = "output head and embedding are one matrix"),
	ROW_COUNT(M, a.heads, "heads", .max = 4096,
		  .meaning = "query heads of a layer with full attention"),
	ROW_COUNT(M, a.kv_heads, "kv_heads", .max = 4096,
		  .meaning = "its heads of keys and values"),
	ROW_COUNT(M, a.head_dim, "head_dim", .max = 65536, .meaning = "width of a head"),
	ROW_FLAG(M, a.gated_attention, "gated_attention",
		 .meaning = "the query projection makes a gate as well"),
	ROW_COUNT(M, a.ffn, "ffn", .max = 1 << 20,
		  .meaning = "inner width of a dense feed-forward block"),
	ROW_COUNT(M, a.ffn_mats, "ffn_mats", .max = 3,
		  .meaning = "matrices of a block: 3 (gated) unless told"),
	ROW_COUNT(M, a.ffn_layers, "ffn_layers", .max = 4096,
		  .meaning = "layers with a dense block; not told: all, or none beside experts"),
	ROW_COUNT(M, a.moe_layers, "moe_layers", .max = 4096, .meaning = "layers with experts"),
	ROW_COUNT(M, a.experts, "experts", .max = 65536, .meaning = "experts of such a layer"),
	ROW_COUNT(M, a.top, "top", .max = 65536, .meaning = "experts that a token takes"),
	ROW_COUNT(M, a.expert_ffn, "expert_ffn", .max = 1 << 20,
		  .meaning = "inner width of an expert"),
	ROW_COUNT(M, a.expert_in, "expert_in", .max = 1 << 20,
		  .meaning = "width that experts see; not told: hidden"),
	ROW_COUNT(M, a.shared_ffn, "shared_ffn", .max = 1 << 20,
		  .meaning = "inner width of what every token takes beside experts"),
	ROW_COUNT(M, a.window_layers, "window_layers", .max = 4096,
		  .meaning = "layers that see the last window tokens alone"),
	ROW_COUNT(M, a.window, "window", .unit = "tokens", .meaning = "how many these are"),
	ROW_COUNT(M, a.window_kv_heads, "window_kv_heads", .max = 4096,
		  .meaning = "heads of keys and values there; not told: kv_heads"),
	ROW_COUNT(M, a.window_head_dim, "window_head_dim", .max = 65536,
		  .meaning = "width of a head there; not told: head_dim"),
	ROW_COUNT(M, a.attention_layers, "attention_layers", .min = -1, .max = 4096,
		  .meaning =
			  "layers with full attention; not told: all of no other kind; -1: none"),
	ROW_COUNT(M, a.kv_shared_layers, "kv_shared_layers", .max = 4096,
		  .meaning = "layers that use the cache of an earlier one"),
	ROW_COUNT(M, a.cross_layers, "cross_layers", .max = 4096,
		  .meaning = "layers with full attention that make no keys of their own"),
	ROW_COUNT(M, a.kv_lora, "kv_lora", .max = 1 << 20,
		  .meaning = "latent attention: rank of keys and values"),
	ROW_COUNT(M, a.rope_dim, "rope_dim", .max = 65536,
		  .meaning = "of a head there, what turns with the place"),
	ROW_COUNT(M, a.nope_dim, "nope_dim", .max = 65536, .meaning = "and what does not"),
	ROW_COUNT(M, a.v_dim, "v_dim", .max = 65536, .meaning = "width of a head's values there"),
	ROW_COUNT(M, a.q_lora, "q_lora", .max = 1 << 20,
		  .meaning = "rank of queries; not told: they are made directly"),
	ROW_COUNT(M, a.index_top, "index_top", .unit = "tokens",
		  .meaning = "sparse attention reads at most so many"),
	ROW_COUNT(M, a.linear_layers, "linear_layers", .max = 4096,
		  .meaning = "layers of linear attention, state space or short convolution"),
	ROW_COUNTS(M, mamba, "mamba", .max = 1 << 20,
		   .meaning = "each a Mamba: inner width, rank of steps, states"),
	ROW_COUNTS(M, mamba2, "mamba2", .max = 1 << 20,
		   .meaning = "each a Mamba-2: inner width, groups, states, heads"),
	ROW_COUNTS(M, delta, "delta", .max = 4096,
		   .meaning = "each a gated delta rule: key heads, value heads, of 128"),
	ROW_FLAG(M, short_conv, "short_conv", .meaning = "each a gated short convolution"),
	ROW_REAL(M, a.linear_params, "linear_params", .max = 1e13,
		 .meaning = "parameters of one of another kind"),
	ROW_REAL(M, a.linear_state, "linear_state", .max = 1e13, .unit = "bytes",
		 .meaning = "state of a sequence in it"),
	ROW_REAL(M, a.fp4_shared, "fp4_shared", .max = 8, .unit = "bytes",
		 .meaning = "a parameter of shared_ffn in FP4 checkpoints, where not as usual"),
	ROW_REAL(M, a.fp4_linear, "fp4_linear", .max = 8, .unit = "bytes",
		 .meaning = "the same of linear layers"),
	ROW_FLAG(M, a.fp8_blocks, "fp8_blocks",
		 .meaning = "FP8 checkpoints have a scale for each block of a matrix"),
	ROW_REAL(M, a.aside, "aside", .max = 1e14,
		 .meaning = "parameters that a token does not read"),
	ROW_REAL(M, a.total, "total", .max = 1e14,
		 .meaning = "published parameters; not told: counted"),
	ROW_COUNT(M, a.trained, "context", .unit = "tokens",
		  .meaning = "context that it was made for"),
	ROW_TEXT(M, a.format, "format",
		 .meaning = "in which its maker publishes it; not told: bf16"),
	ROW_FLAG(M, a.guessed, "guessed", .meaning = "not all figures were checked"),
	ROW_TEXT(M, a.source, "source", .required = true, .meaning = "where the figures are from"),
};

/* Parameters and state of a linear layer by its kind; states are kept in FP32. */
static void count_linear(struct model_row *r)
{
	double hidden = r->a.hidden, *params = &r->a.linear_params, *state = &r->a.linear_state;

	if (*r->mamba) {
		double inner = r->mamba[0], rank = r->mamba[1], states = r->mamba[2];

		/* Values and gate, and values back; steps and states; steps by their rank. */
		*params = hidden * inner * 3 + inner * (rank + 2 * states) + rank * inner;
		*state = inner * states * 4;
	} else if (*r->mamba2) {
		double inner = r->mamba2[0], groups = r->mamba2[1], states = r->mamba2[2];

		/* Hidden to gate, values, two groups of states, a step a head; values back. */
		*params =
			hidden * (2 * inner + 2 * groups * states + r->mamba2[3]) + inner * hidden;
		*state = inner * states * 4;
	} else if (*r->delta) {
		double keys = r->delta[0] * 128.0, values = r->delta[1] * 128.0;

		/* Hidden to keys twice, values and gate, two figures a head; values back. */
		*params = hidden * (2 * keys + 3 * values + 2.0 * r->delta[1]);
		*state = values * 128 * 4;
	} else if (r->short_conv) {
		/* Hidden to three times hidden, and back; three tokens in BF16. */
		*params = 4 * hidden * hidden;
		*state = 3 * hidden * 2;
	}
}

static const char *finish_model(void *row)
{
	struct model_row *r = row;
	const struct arch *a = &r->a;
	int kinds = (*r->mamba > 0) + (*r->mamba2 > 0) + (*r->delta > 0) + r->short_conv +
		    (a->linear_params > 0);

	if (kinds > 1)
		return "mamba, mamba2, delta, short_conv and linear_params exclude each other";
	if (a->linear_layers && !kinds)
		return "linear_layers without their kind, or linear_params";
	if (a->attention_layers >= 0 &&
	    (!a->heads || (!a->kv_lora && (!a->kv_heads || !a->head_dim))))
		return "attention without heads, kv_heads and head_dim";
	if (a->kv_heads > a->heads)
		return "more kv_heads than heads";
	if (a->moe_layers && (!a->experts || !a->top || a->top > a->experts || !a->expert_ffn))
		return "moe_layers without experts, top of them and expert_ffn";
	if (a->window_layers + a->linear_layers > a->layers || a->attention_layers > a->layers ||
	    a->ffn_layers > a->layers || a->moe_layers > a->layers)
		return "more layers of a kind than layers";
	if (a->window_layers && !a->window)
		return "window_layers without a window";
	count_linear(r);
	return NULL;
}

const struct row_table model_table =
	ROW_TABLE("models", struct model_row, model_rows, "knowledge/models.h", model_columns,
		  .finish = finish_model);
