/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of each table, and the list of them. A table is a NAME.rows, its columns and its line
 * in the list here, and its words in meson.build. */
#include "knowledge/tables.h"

#include <string.h>
#include <ctype.h>

#include "knowledge/bands.h"
#include "knowledge/dead_flags.h"
#include "knowledge/job.h"
#include "knowledge/engine_options.h"
#include "knowledge/gpus.h"
#include "knowledge/health.h"
#include "knowledge/models.h"
#include "knowledge/normals.h"
#include "knowledge/nccl_vars.h"
#include "knowledge/train_keys.h"
#include "knowledge/serving.h"
#include "knowledge/software_places.h"
#include "knowledge/value_rules.h"
#include "knowledge/vendor.h"
#include "knowledge/waits.h"

/* The columns of train_keys.rows. */

#define K struct train_key

static const char *const files[] = { "deepspeed", "accelerate", "trainer", "fsdp", NULL };
static const char *const types[] = { "bool", "int", "number", "text",	"words",
				     "list", "any", "object", "strict", NULL };

static const struct row_column key_columns[] = {
	ROW_NAME(K, path, .meaning = "the key after its enclosing maps, separated by dots"),
	ROW_CHOICE(K, file, "file", .choices = files, .required = true, .meaning = "whose"),
	ROW_CHOICE(K, type, "type", .choices = types, .required = true,
		   .meaning =
			   "words: one of words, case-insensitive; any: neither the key nor "
			   "its contents are checked; object, strict: a map whose unknown keys the "
			   "reader ignores (object) or rejects (strict)"),
	ROW_TEXT(K, usual, "usual", .meaning = "default of the key; not given: none is fixed"),
	ROW_TEXT(K, since, "since", .meaning = "first release that supports it"),
	ROW_TEXT(K, until, "until", .meaning = "first release that no longer supports it"),
	ROW_TEXT(K, instead, "instead", .meaning = "replacement for a deprecated key"),
	ROW_TEXT(K, words, "words", .meaning = "allowed values, separated by spaces"),
	ROW_COUNTS(K, stages, "stages", .min = 1, .max = 3,
		   .meaning = "zero_optimization only: first and last stage in which it has an "
			      "effect; not given: all"),
};

static const char *finish_key(void *row)
{
	K *k = row;

	if (!k->usual)
		k->usual = "";
	return (k->type == KEY_WORDS) == (k->words != NULL)
		       ? NULL
		       : "words and type=words must be given together";
}

const struct row_table train_key_table =
	ROW_TABLE("train_keys", struct train_key, train_keys, "knowledge/train_keys.h", key_columns,
		  .repeats = true, .finish = finish_key);

/* The columns of known_vars.rows and nccl_releases.rows. */

#define V struct known_var
#define R struct nccl_release

static const char *const flags[] = { "watched", "forces", "off", "set", NULL };
static const char *const value_kinds[] = { "any", "int", "bool", "words", "list", NULL };

static const struct row_column var_columns[] = {
	ROW_NAME(V, name, .meaning = "the variable"),
	ROW_TEXT(V, library, "library", .required = true,
		 .meaning = "program or library that reads the variable"),
	ROW_SET(V, flags, "flags", .choices = flags,
		.meaning =
			"watched: read from this shell's and GPU processes' environments; forces: "
			"debugging only, forces an algorithm or a path; off: disables the fast "
			"path if neither empty nor 0; set: has an effect whenever it is set"),
	ROW_CHOICE(V, values, "values", .choices = value_kinds,
		   .meaning = "int: digits with an optional sign; bool: 0 or 1; words: one of "
			      "words, case-insensitive; list: comma-separated words, or ^ and the "
			      "words to exclude"),
	ROW_TEXT(V, words, "words", .meaning = "words, separated by spaces"),
	ROW_TEXT(V, does, "does", .required = true, .meaning = "what it sets"),
	ROW_TEXT(V, harm, "harm", .meaning = "a sentence that says when the variable does harm"),
	ROW_TEXT(V, instead, "instead", .meaning = "replacement"),
	ROW_TEXT(V, source, "source", .required = true, .meaning = "source"),
	ROW_COUNT(V, least, "least", .meaning = "for values=int"),
	ROW_COUNT(V, most, "most", .meaning = "bounds for values=int; not given: unknown bounds"),
};

static const char *finish_var(void *row)
{
	const V *v = row;
	bool worded = v->values == VALUES_WORDS || v->values == VALUES_LIST;

	return worded == (v->words != NULL)
		       ? NULL
		       : "words must be given with values=words or values=list, and only there";
}

const struct row_table known_var_table =
	ROW_TABLE("known_vars", struct known_var, known_vars, "knowledge/nccl_vars.h", var_columns,
		  .finish = finish_var);

static const struct row_column release_columns[] = {
	ROW_NAME(R, version, .meaning = "first release that has the names"),
	ROW_TEXT(R, until, "until", .meaning = "first release without these names"),
	ROW_TEXT(R, names, "names", .required = true,
		 .meaning = "variables without NCCL_, separated by spaces"),
};

const struct row_table nccl_release_table =
	ROW_TABLE("nccl_releases", struct nccl_release, nccl_releases, "knowledge/nccl_vars.h",
		  release_columns, .repeats = true);

/* The columns of models.rows, and what follows from them. */

#define M struct model_row

#define ROW_STORED_PART(row, m, part)                                                              \
	ROW_REAL(row, m.part, #part "_bytes", .max = 8, .unit = "bytes",                           \
		 .meaning = "bytes per parameter of this part in the checkpoint; not given: as "   \
			    "usual in the format")
#define ROW_STORED(row, m)                                                                         \
	ROW_STORED_PART(row, m, attention), ROW_STORED_PART(row, m, linear),                       \
		ROW_STORED_PART(row, m, dense), ROW_STORED_PART(row, m, shared),                   \
		ROW_STORED_PART(row, m, experts), ROW_STORED_PART(row, m, head),                   \
		ROW_STORED_PART(row, m, embed)

static const struct row_column model_columns[] = {
	ROW_NAME(M, a.name, .meaning = "name as published by its maker"),
	ROW_TEXT(M, keys, "keys", .required = true,
		 .meaning = "words of the model's names in order, separated by |; spaces separate "
			    "alternative names"),
	ROW_COUNT(M, a.layers, "layers", .min = 1, .max = 4096, .required = true,
		  .meaning = "number of layers of all kinds"),
	ROW_COUNT(M, a.hidden, "hidden", .min = 16, .max = 1 << 20, .required = true,
		  .meaning = "hidden size"),
	ROW_COUNT(M, a.vocab, "vocab", .min = 16, .max = 1 << 24, .required = true,
		  .meaning = "vocabulary size"),
	ROW_FLAG(M, a.tied, "tied", .meaning = "output head and embedding share one matrix"),
	ROW_COUNT(M, a.heads, "heads", .max = 4096,
		  .meaning = "query heads of a full-attention layer"),
	ROW_COUNT(M, a.kv_heads, "kv_heads", .max = 4096,
		  .meaning = "KV heads of a full-attention layer"),
	ROW_COUNT(M, a.head_dim, "head_dim", .max = 65536, .meaning = "head dimension"),
	ROW_FLAG(M, a.qk_norm, "qk_norm", .meaning = "queries and keys are normalized"),
	ROW_FLAG(M, a.gated_attention, "gated_attention",
		 .meaning = "the query projection also computes a gate"),
	ROW_COUNT(M, a.ffn, "ffn", .max = 1 << 20,
		  .meaning = "intermediate size of a dense feed-forward block"),
	ROW_COUNT(M, a.ffn_mats, "ffn_mats", .max = 3,
		  .meaning = "matrices of a block: 3 (gated) by default"),
	ROW_COUNT(M, a.ffn_layers, "ffn_layers", .max = 4096,
		  .meaning = "layers with a dense block; default: all, or none if the model has "
			     "experts"),
	ROW_COUNT(M, a.moe_layers, "moe_layers", .max = 4096, .meaning = "layers with experts"),
	ROW_COUNT(M, a.experts, "experts", .max = 65536, .meaning = "experts of a layer"),
	ROW_COUNT(M, a.top, "top", .max = 65536, .meaning = "active experts per token"),
	ROW_COUNT(M, a.expert_ffn, "expert_ffn", .max = 1 << 20,
		  .meaning = "intermediate size of an expert"),
	ROW_COUNT(M, a.expert_in, "expert_in", .max = 1 << 20,
		  .meaning = "input width of the experts (default: hidden)"),
	ROW_COUNT(M, a.shared_ffn, "shared_ffn", .max = 1 << 20,
		  .meaning = "intermediate size of the shared expert"),
	ROW_COUNT(M, a.window_layers, "window_layers", .max = 4096,
		  .meaning = "layers with sliding-window attention"),
	ROW_COUNT(M, a.window, "window", .unit = "tokens",
		  .meaning = "size of the window in tokens"),
	ROW_COUNT(M, a.window_kv_heads, "window_kv_heads", .max = 4096,
		  .meaning = "KV heads of sliding-window layers; not given: kv_heads"),
	ROW_COUNT(M, a.window_head_dim, "window_head_dim", .max = 65536,
		  .meaning = "head dimension of sliding-window layers; not given: head_dim"),
	ROW_COUNT(M, a.attention_layers, "attention_layers", .min = -1, .max = 4096,
		  .meaning = "layers with full attention; if missing: all layers that have no "
			     "other kind; -1: none"),
	ROW_COUNT(M, a.kv_shared_layers, "kv_shared_layers", .max = 4096,
		  .meaning = "layers that reuse the KV cache of an earlier layer"),
	ROW_COUNT(M, a.cross_layers, "cross_layers", .max = 4096,
		  .meaning = "full-attention layers that compute no keys of their own"),
	ROW_COUNT(M, a.kv_lora, "kv_lora", .max = 1 << 20,
		  .meaning = "MLA (multi-head latent attention): rank of the compressed KV"),
	ROW_COUNT(M, a.rope_dim, "rope_dim", .max = 65536,
		  .meaning = "MLA: part of the head dimension with rotary embedding"),
	ROW_COUNT(M, a.nope_dim, "nope_dim", .max = 65536,
		  .meaning = "MLA: part of the head dimension without rotary embedding"),
	ROW_COUNT(M, a.v_dim, "v_dim", .max = 65536, .meaning = "value head dimension"),
	ROW_COUNT(M, a.q_lora, "q_lora", .max = 1 << 20,
		  .meaning = "MLA: rank of queries; not given: full rank"),
	ROW_COUNT(M, a.index_top, "index_top", .unit = "tokens",
		  .meaning = "maximum number of tokens that sparse attention reads"),
	ROW_COUNT(M, a.linear_layers, "linear_layers", .max = 4096,
		  .meaning = "layers of linear attention, state space or short convolution"),
	ROW_COUNTS(M, mamba, "mamba", .max = 1 << 20,
		   .meaning = "all layers Mamba: inner width, step rank, states"),
	ROW_COUNTS(M, mamba2, "mamba2", .max = 1 << 20,
		   .meaning = "all layers Mamba-2: inner width, groups, states, heads"),
	ROW_COUNTS(M, delta, "delta", .max = 4096,
		   .meaning = "all layers gated delta rule: key heads, value heads, each of "
			      "dimension 128"),
	ROW_FLAG(M, short_conv, "short_conv", .meaning = "all layers gated short convolutions"),
	ROW_REAL(M, a.linear_params, "linear_params", .max = 1e13,
		 .meaning = "parameters of a linear layer of any other kind"),
	ROW_REAL(M, a.linear_state, "linear_state", .max = 1e13, .unit = "bytes",
		 .meaning = "bytes of state per sequence in a linear layer"),
	ROW_REAL(M, a.fp4_shared, "fp4_shared", .max = 8, .unit = "bytes",
		 .meaning = "bytes per parameter of shared_ffn in FP4 checkpoints, if unusual"),
	ROW_REAL(M, a.fp4_linear, "fp4_linear", .max = 8, .unit = "bytes",
		 .meaning = "bytes per parameter of linear layers in FP4 checkpoints, if unusual"),
	ROW_FLAG(M, a.fp8_blocks, "fp8_blocks",
		 .meaning = "FP8 checkpoints have a scale for each block of a matrix"),
	ROW_REAL(M, a.aside, "aside", .max = 1e14,
		 .meaning = "parameters that are not read for every token"),
	ROW_REAL(M, a.total, "total", .max = 1e14,
		 .meaning = "parameters by the maker; not given: computed"),
	ROW_COUNT(M, a.trained, "context", .unit = "tokens",
		  .meaning = "context length that the model was trained for"),
	ROW_TEXT(M, a.format, "format",
		 .meaning = "format in which the model is published; default: bf16"),
	ROW_FLAG(M, a.guessed, "guessed", .meaning = "some figures are not verified"),
	ROW_STORED(M, a.stored),
	ROW_DATE(M, a.date, "date", .meaning = "date of the model's release"),
	ROW_TEXT(M, a.source, "source", .required = true, .meaning = "source of the figures"),
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
		return "mamba, mamba2, delta, short_conv and linear_params are mutually exclusive";
	if (a->linear_layers && !kinds)
		return "linear_layers requires a kind, or linear_params";
	if (a->attention_layers >= 0 &&
	    (!a->heads || (!a->kv_lora && (!a->kv_heads || !a->head_dim))))
		return "attention requires heads, kv_heads and head_dim";
	if (a->kv_heads > a->heads)
		return "kv_heads must not exceed heads";
	if (a->moe_layers && (!a->experts || !a->top || a->top > a->experts || !a->expert_ffn))
		return "moe_layers requires experts, top (at most experts) and expert_ffn";
	if (a->window_layers + a->linear_layers > a->layers || a->attention_layers > a->layers ||
	    a->ffn_layers > a->layers || a->moe_layers > a->layers)
		return "the layers of one kind must not exceed layers";
	if (a->window_layers && !a->window)
		return "window_layers requires window";
	count_linear(r);
	return NULL;
}

const struct row_table model_table =
	ROW_TABLE("models", struct model_row, model_rows, "knowledge/models.h", model_columns,
		  .finish = finish_model);

/* The columns of checkpoints.rows and model_classes.rows. */

#define C struct checkpoint_row
#define W struct model_class_row

static const struct row_column checkpoint_columns[] = {
	ROW_NAME(C, name, .meaning = "the checkpoint's repository"),
	ROW_TEXT(C, model, "model", .required = true,
		 .meaning = "row of models.rows with the checkpoint's shape"),
	ROW_TEXT(C, format, "format", .meaning = "format of its weights; default: bf16"),
	ROW_STORED(C, stored),
	ROW_TEXT(C, source, "source", .required = true, .meaning = "source of its configuration"),
	ROW_DATE(C, date, "date", .required = true, .meaning = "date of the source"),
};

static const struct row_table checkpoint_table =
	ROW_TABLE("checkpoints", struct checkpoint_row, checkpoint_rows, "knowledge/models.h",
		  checkpoint_columns, .finish = NULL);

const char *const model_class_names[] = { "text",  "embedding", "reranker", "speech",  "vision",
					  "image", "video",	"reward",   "drafter", NULL };

static const struct row_column class_columns[] = {
	ROW_NAME(W, name, .meaning = "words of the names in order, separated by |"),
	ROW_CHOICE(W, class, "class", .choices = model_class_names, .required = true,
		   .meaning = "purpose of such a model"),
	ROW_TEXT(W, source, "source", .required = true,
		 .meaning = "example of a model with such a name"),
};

static const struct row_table model_class_table =
	ROW_TABLE("model_classes", struct model_class_row, model_class_rows, "knowledge/models.h",
		  class_columns, .finish = NULL);

#undef C
#undef W

/* The columns of model_types.rows. */

#define T struct model_type

/* By the bits of enum type_flag. */
static const char *const type_flags[] = { "tied",  "untold", "plain",	"four", "windows",
					  "asked", "falcon", "qk_norm", NULL };

static const struct row_column type_columns[] = {
	ROW_NAME(T, name, .meaning = "the model_type"),
	ROW_SET(T, flags, "flags", .choices = type_flags,
		.meaning = "tied: head and embedding share one matrix; untold: no configuration "
			   "class defines it; plain: blocks of two matrices; four: a block is four "
			   "times as wide as the model; windows: the window applies to all layers; "
			   "asked: the window applies only if use_sliding_window is true; falcon: "
			   "multi_query is the default, and new_decoder_architecture is honoured; "
			   "qk_norm: queries and keys are normalized"),
	ROW_COUNT(T, every, "every", .max = 4096,
		  .meaning = "one layer in this many has full attention"),
	ROW_COUNT(T, heads, "heads", .max = 4096, .meaning = "num_attention_heads"),
	ROW_COUNT(T, kv_heads, "kv_heads", .max = 4096, .meaning = "num_key_value_heads"),
	ROW_COUNT(T, head_dim, "head_dim", .max = 65536, .meaning = "head_dim"),
	ROW_COUNT(T, vocab, "vocab", .max = 1 << 24, .meaning = "vocab_size"),
	ROW_COUNT(T, window, "window", .meaning = "sliding_window"),
	ROW_COUNT(T, shared, "shared", .max = 4096, .meaning = "num_kv_shared_layers"),
	ROW_COUNT(T, inputs, "inputs", .max = 1 << 20, .meaning = "hidden_size_per_layer_input"),
};

const struct row_table model_type_table =
	ROW_TABLE("model_types", struct model_type, model_types, "knowledge/models.h", type_columns,
		  .finish = NULL);

/* The columns of health_limits.rows and xids.rows. */

#define H struct health_limit
#define X struct xid_row

static const struct row_column health_columns[] = {
	ROW_NAME(H, setting, .meaning = "id of the setting that uses the limit"),
	ROW_TEXT(H, key, "key", .required = true,
		 .meaning = "key of the figure within the setting"),
	ROW_TEXT(H, gpu, "gpu", .meaning = "a word of the GPU's name; not given: any GPU"),
	ROW_REAL(H, value, "value", .required = true, .meaning = "the figure"),
	ROW_TEXT(H, unit, "unit", .required = true, .meaning = "unit of value"),
	ROW_TEXT(H, what, "what", .required = true, .meaning = "the figure in words"),
	ROW_TEXT(H, source, "source", .required = true, .meaning = "source"),
	ROW_DATE(H, date, "date", .required = true, .meaning = "date of the source"),
};

const struct row_table health_limit_table =
	ROW_TABLE("health_limits", struct health_limit, health_limits, "knowledge/health.h",
		  health_columns, .repeats = true);

static const char *const kinds[] = { "program", "event", "lasting", NULL };

static const struct row_column xid_columns[] = {
	ROW_NAME(X, what, .meaning = "meaning of the Xid"),
	ROW_COUNT(X, first, "first", .min = 1, .required = true, .meaning = "number of the Xid"),
	ROW_COUNT(X, last, "last", .min = 1,
		  .meaning = "last number with the same meaning; not given: the number in first"),
	ROW_CHOICE(X, kind, "kind", .choices = kinds, .required = true,
		   .meaning = "program: fault of the program, or a trace of its exit; event: "
			      "hardware, fixed or survived; lasting: the GPU needs a reset, a "
			      "reboot or manual repair"),
	ROW_TEXT(X, todo, "todo", .meaning = "what to do; not given for kind=program"),
};

static const char *finish_xid(void *row)
{
	X *x = row;

	if (!x->last)
		x->last = x->first;
	return (x->kind == XID_PROGRAM) == !x->todo
		       ? NULL
		       : "todo is required, except for kind=program, where it is not allowed";
}

const struct row_table xid_table = ROW_TABLE("xids", struct xid_row, xid_rows, "knowledge/health.h",
					     xid_columns, .repeats = true, .finish = finish_xid);

/* The columns of gpus.rows. */

#define G struct gpu_kind

static const struct row_column gpu_columns[] = {
	ROW_NAME(G, name, .meaning = "name as reported by NVML"),
	ROW_TEXT(
		G, keys, "keys", .required = true,
		.meaning =
			"words of its name, in lower-case letters and digits, separated by spaces"),
	ROW_REAL(G, memory, "memory", .min = 1, .max = 1e5, .required = true, .unit = "GB",
		 .meaning = "memory by data sheet"),
	ROW_REAL(G, bandwidth, "bandwidth", .min = 1, .max = 1e6, .required = true, .unit = "GB/s",
		 .meaning = "memory bandwidth by data sheet"),
	ROW_REAL(G, half, "half", .min = 0.1, .max = 1e6, .required = true, .unit = "TFLOP/s",
		 .meaning = "BF16 and FP16 with tensor cores, without sparsity"),
	ROW_REAL(G, fp8, "fp8", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP8, without sparsity; 0: not supported"),
	ROW_REAL(G, fp4, "fp4", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP4, without sparsity; 0: not supported"),
	ROW_REAL(G, int8, "int8", .max = 1e6, .unit = "TOP/s",
		 .meaning = "INT8, without sparsity; 0: not supported"),
	ROW_REAL(G, fp32, "fp32", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP32 without tensor cores; not given: 1/16 of the column half"),
	ROW_REAL(G, tf32, "tf32", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "TF32, without sparsity; if given, benches use the row as a limit"),
	ROW_REAL(G, fp64, "fp64", .max = 1e6, .unit = "TFLOP/s",
		 .meaning = "FP64, with tensor cores if supported"),
	ROW_REAL(G, link, "link", .max = 1e5, .unit = "GB/s",
		 .meaning = "bandwidth to another GPU of the same machine in one direction; 0: no "
			    "link"),
	ROW_COUNT(G, per_node, "per_node", .min = 1, .max = 1024, .required = true,
		  .meaning = "GPUs in one machine, or in one rack whose GPUs share a link"),
	ROW_COUNT(G, joined, "joined", .max = 1024,
		  .meaning = "GPUs that the link connects, if PCIe connects the others; 0: all "
			     "GPUs of a machine"),
	ROW_REAL(G, shown, "shown", .max = 1e9, .unit = "MiB",
		 .meaning = "memory that the driver reports; 0: not measured"),
	ROW_FLAG(G, unified, "unified", .meaning = "the GPU shares its memory with the CPU"),
	ROW_FLAG(G, server, "server", .meaning = "has HBM"),
	ROW_FLAG(G, measured, "measured",
		 .meaning = "predictions were calibrated on measurements of this GPU"),
	ROW_TEXT(G, source, "source", .required = true, .meaning = "source of the figures"),
	ROW_DATE(G, date, "date", .required = true, .meaning = "date of the source"),
	ROW_TEXT(G, math_source, "math_source",
		 .meaning = "source of the columns half to fp64 (default: the column source)"),
};

static const char *finish_gpu(void *row)
{
	struct gpu_kind *g = row;

	for (const char *s = g->keys; *s; s++)
		if (*s != ' ' && !isdigit((unsigned char)*s) && !islower((unsigned char)*s))
			return "keys must be lower-case letters and digits, separated by spaces";
	if (!g->math_source)
		g->math_source = g->source;
	return NULL;
}

const struct row_table gpu_table = ROW_TABLE("gpus", struct gpu_kind, gpu_kinds, "knowledge/gpus.h",
					     gpu_columns, .finish = finish_gpu);

/* The columns of formats.rows. */

#define F struct format_row
#define PART(m, what)                                                                              \
	ROW_REAL(F, f.m, #m, .max = 64, .unit = "bits", .meaning = what "; not given: bits")

static const char *const maths[] = {
	"half", "fp8", "fp8-block", "fp4", "weight-only", "ggml", NULL
};
static const char *const models_of[] = { "all", "experts", "dense", NULL };

static const struct row_column format_columns[] = {
	ROW_NAME(F, f.name, .meaning = "name in answers"),
	ROW_TEXT(
		F, keys, "keys", .required = true,
		.meaning =
			"words of its name, in lower-case letters and digits, separated by spaces"),
	ROW_CHOICE(F, of, "of", .choices = models_of, .meaning = "models with experts, or without"),
	ROW_CHOICE(F, f.math, "math", .choices = maths, .required = true,
		   .meaning = "number type of the large matrix multiplications during prefill"),
	ROW_FLAG(F, f.gguf, "gguf", .meaning = "GGUF file type"),
	ROW_REAL(F, bits, "bits", .min = 0.5, .max = 64, .required = true, .unit = "bits",
		 .meaning = "bits per parameter of most parts, scales included"),
	PART(experts, "bits per parameter of experts"),
	PART(dense, "bits per parameter of dense blocks"),
	PART(shared, "bits per parameter of shared experts"),
	PART(attention, "bits per parameter of attention"),
	PART(linear, "bits per parameter of linear attention and state spaces"),
	PART(head, "bits per parameter of the output head"),
	PART(embed, "bits per parameter of the embedding"),
	ROW_REAL(F, f.read, "read", .max = 10,
		 .meaning = "read speed divided by that of the engine's other formats; default: 1"),
	ROW_TEXT(F, f.note, "note", .meaning = "parts that stay in another format"),
};

/* Bits as people count them become bytes. */
static const char *finish_format(void *row)
{
	struct format_row *r = row;
	double *const parts[] = { &r->f.experts, &r->f.dense, &r->f.shared, &r->f.attention,
				  &r->f.linear,	 &r->f.head,  &r->f.embed };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = (*parts[i] > 0 ? *parts[i] : r->bits) / 8;
	return NULL;
}

const struct row_table format_table =
	ROW_TABLE("formats", struct format_row, format_rows, "knowledge/models.h", format_columns,
		  .repeats = true, .finish = finish_format);

/* The columns of engine_options.rows. */

#define O struct engine_option

static const char *const engines[] = { "vllm", "sglang", "trtllm", "llamacpp", NULL };
static const char *const meanings[] = { "model", "host",      "port",	   "tp",     "pp",
					"ep",	 "context",   "users",	   "memory", "kv-bytes",
					"kv",	 "kv-values", "weights",   "chunk",  "nodes",
					"rank",	 "head",      "head-port", "layers", "flash",
					"eager", "workers",   "other",	   NULL };

static const struct row_column option_columns[] = {
	ROW_NAME(O, name, .meaning = "spelling of the engine"),
	ROW_CHOICE(O, engine, "engine", .choices = engines, .required = true, .meaning = "whose"),
	ROW_TEXT(O, also, "also", .meaning = "other spellings, separated by spaces"),
	ROW_CHOICE(O, means, "means", .choices = meanings, .required = true,
		   .meaning = "meaning of the option, by a name that is common to all engines"),
	ROW_FLAG(O, flag, "flag", .meaning = "the option takes no value"),
	ROW_TEXT(O, note, "note", .meaning = "common mistake"),
};

const struct row_table engine_option_table =
	ROW_TABLE("engine_options", struct engine_option, engine_options,
		  "knowledge/engine_options.h", option_columns, .repeats = true);

/* The columns of dead_flags.rows. */

#define D struct dead_flag

static const struct row_column flag_columns[] = {
	ROW_NAME(D, flag, .meaning = "spelling in recipes"),
	ROW_TEXT(D, why, "why", .required = true, .meaning = "why the flag is wrong"),
	ROW_TEXT(D, instead, "instead", .meaning = "replacement; not given: remove it"),
	ROW_TEXT(D, name, "variable", .meaning = "variable of the environment that is checked"),
};

const struct row_table dead_flag_table =
	ROW_TABLE("dead_flags", struct dead_flag, dead_flags, "knowledge/dead_flags.h",
		  flag_columns, .finish = NULL);

/* The columns of bands.rows and memory_limits.rows. */

#define B struct band
#define L struct limit_row

static const struct row_column band_columns[] = {
	ROW_NAME(B, hardware,
		 .meaning = "a platform, part of the CPU's model name, or a GPU's name as "
			    "reported by NVML"),
	ROW_TEXT(B, bench, "bench", .required = true, .meaning = "a bench or a cluster test"),
	ROW_TEXT(B, name, "case", .required = true,
		 .meaning = "name of the case; * and ? as in file names"),
	ROW_TEXT(B, figure, "figure", .required = true, .meaning = "key of the figure"),
	ROW_TEXT(B, unit, "unit", .required = true,
		 .meaning = "unit of the figure, as the suffix of its key"),
	ROW_COUNT(B, sockets, "sockets",
		  .meaning = "number of sockets of the machine; not given: any"),
	ROW_REAL(B, low, "low", .required = true, .meaning = "lowest usual value"),
	ROW_REAL(B, high, "high", .required = true, .meaning = "highest usual value"),
	ROW_TEXT(B, source, "source", .required = true, .meaning = "who measured, and what"),
	ROW_DATE(B, date, "date", .required = true, .meaning = "date of the source"),
};

static const char *finish_band(void *row)
{
	const B *b = row;

	return b->low < b->high ? NULL : "low must be less than high";
}

const struct row_table band_table = ROW_TABLE("bands", struct band, bands, "knowledge/bands.h",
					      band_columns, .repeats = true, .finish = finish_band);

static const struct row_column limit_columns[] = {
	ROW_NAME(L, part, .meaning = "part of the CPU's model name, or a platform"),
	ROW_FLAG(L, platform, "platform", .meaning = "the name is a platform"),
	ROW_REAL(L, gb_s, "gb_s", .min = 1, .required = true, .unit = "GB/s",
		 .meaning = "bandwidth per socket with memory in all channels"),
	ROW_TEXT(L, what, "what", .required = true, .meaning = "channels and data rate"),
	ROW_TEXT(L, source, "source", .required = true, .meaning = "source"),
	ROW_DATE(L, date, "date", .required = true, .meaning = "date of the source"),
};

const struct row_table memory_limit_table =
	ROW_TABLE("memory_limits", struct limit_row, memory_limits, "knowledge/bands.h",
		  limit_columns, .finish = NULL);

/* The columns of value_rules.rows. */

#define VR struct value_rule

static const char *const readers[] = { "deepspeed", "accelerate", "trainer", "fsdp",	 "vllm",
				       "sglang",    "llamacpp",	  "trtllm",  "variable", NULL };
static const char *const value_levels[] = { "error", "warning", "note", NULL };

static const struct row_column value_columns[] = {
	ROW_NAME(VR, name, .meaning = "the key with its enclosing maps, an option, or a variable"),
	ROW_SET(VR, in, "in", .choices = readers, .required = true,
		.meaning = "program or library that reads the variable"),
	ROW_TEXT(VR, when, "when",
		 .meaning = "conditions, all required, separated by spaces: NAME=VALUE,VALUE (or "
			    "!= < <= > >=); NAME: it (the value itself), another key or option, "
			    "$VARIABLE, @cc, @gpus, @unified; VALUE -: absent"),
	ROW_TEXT(VR, known, "known",
		 .meaning = "allowed values, separated by spaces; any other value is a finding"),
	ROW_FLAG(VR, exact, "exact", .meaning = "known is case-sensitive"),
	ROW_CHOICE(VR, level, "level", .choices = value_levels, .required = true,
		   .meaning = "error: the program fails or gives wrong results; warning: the value "
			      "costs speed or safety"),
	ROW_TEXT(VR, code, "code", .required = true, .meaning = "id of the finding; never renamed"),
	ROW_TEXT(VR, says, "says", .required = true, .meaning = "a sentence with the value as {}"),
	ROW_TEXT(VR, fix, "fix", .meaning = "replacement"),
	ROW_TEXT(VR, source, "source", .required = true, .meaning = "source"),
	ROW_DATE(VR, date, "date", .required = true, .meaning = "date of the source"),
};

const struct row_table value_rule_table =
	ROW_TABLE("value_rules", struct value_rule, value_rules, "knowledge/value_rules.h",
		  value_columns, .repeats = true);

/* The columns of vendor_opinions.rows. */

#define VW struct vendor_opinion

/* In the order of enum on and enum relation of the settings. */
static const char *const vendor_machines[] = { "dgx-spark", "igx-orin", "hgx", "generic",
					       "no-gpu",    "grace",	NULL };
static const char *const vendor_relations[] = { "leave",  "is",	 "at-least", "at-most",
						"one-of", "not", NULL };
static const char *const vendor_evidences[] = { "vendor-text", "decoded-package", "field-capture",
						"third-party", NULL };

static const struct row_column vendor_columns[] = {
	ROW_NAME(VW, setting, .meaning = "id of the setting"),
	ROW_FLAG(VW, maker, "maker",
		 .meaning = "the machine's or GPU's maker recommends it (profile vendor)"),
	ROW_TEXT(VW, by, "by", .required = true, .meaning = "the vendor"),
	ROW_TEXT(VW, where, "where", .required = true, .meaning = "product, image or profile"),
	ROW_SET(VW, on, "on", .choices = vendor_machines, .required = true,
		.meaning = "types of machines"),
	ROW_CHOICE(VW, relation, "relation", .choices = vendor_relations, .required = true,
		   .meaning = "relation of the setting to value"),
	ROW_TEXT(VW, value, "value", .meaning = "not given: unchanged"),
	ROW_TEXT(VW, says, "says", .required = true, .meaning = "value in words"),
	ROW_TEXT(VW, differs, "differs",
		 .meaning = "why the profile default differs; not given: it does not"),
	ROW_TEXT(VW, source, "source", .required = true, .meaning = "source"),
	ROW_DATE(VW, date, "date", .required = true, .meaning = "date of the source"),
	ROW_CHOICE(VW, evidence, "evidence", .choices = vendor_evidences, .required = true,
		   .meaning = "vendor-text: the vendor's repository or manual; decoded-package: a "
			      "third party's decoding of the vendor's package; field-capture: read "
			      "from a machine as shipped; third-party: a third party's recipe"),
};

static const char *finish_vendor(void *row)
{
	const VW *w = row;

	return !w->value == !w->relation ? NULL : "value may only be absent if relation is leave";
}

static const struct row_table vendor_opinion_table =
	ROW_TABLE("vendor_opinions", struct vendor_opinion, vendor_opinions, "knowledge/vendor.h",
		  vendor_columns, .repeats = true, .finish = finish_vendor);

/* The columns of setting_uses.rows and job_vars.rows. */

#define U struct setting_use
#define J struct job_var

const char *const job_use_names[] = { "cpu",  "wake", "memory", "faults", "disk", "net",
				      "rdma", "gpu",  "copy",	"pinned", NULL };

static const struct row_column use_columns[] = {
	ROW_NAME(U, name, .meaning = "a bench, or a group of settings"),
	ROW_SET(U, uses, "uses", .choices = job_use_names, .required = true,
		.meaning = "resources; the setting only matters to a job that uses one of them"),
};

static const char *finish_use(void *row)
{
	return ((const U *)row)->uses ? NULL : "uses is empty";
}

static const struct row_table setting_use_table =
	ROW_TABLE("setting_uses", struct setting_use, setting_uses, "knowledge/job.h", use_columns,
		  .finish = finish_use);

static const struct row_column gain_columns[] = {
	ROW_NAME(struct job_gain, name, .meaning = "a setting, env.NAME or arg.name"),
	ROW_SET(struct job_gain, uses, "uses", .choices = job_use_names, .required = true,
		.meaning = "resources, of which the job uses at least one"),
	ROW_REAL(struct job_gain, gain, "gain", .unit = "%", .required = true,
		 .meaning = "largest measured gain"),
};

static const struct row_table job_gain_table =
	ROW_TABLE("job_gains", struct job_gain, job_gains, "knowledge/job.h", gain_columns, );

static const struct row_column job_var_columns[] = {
	ROW_NAME(J, name,
		 .meaning = "NAME=VALUE or --argument=VALUE ({cores}: physical cores, {workers}: "
			    "those per GPU); for a hint, an id"),
	ROW_TEXT(J, library, "library",
		 .meaning = "beginning of a mapped file's name; not given: any program"),
	ROW_SET(J, uses, "uses", .choices = job_use_names,
		.meaning = "resources, of which the job must use at least one"),
	ROW_COUNT(J, gpus, "gpus", .max = 64, .meaning = "smallest number of GPUs"),
	ROW_COUNT(J, cores, "cores", .max = 4096, .meaning = "smallest number of cores"),
	ROW_FLAG(J, rounds, "rounds", .meaning = "results change by rounding errors only"),
	ROW_FLAG(J, hint, "hint", .meaning = "the user changes the job; gputune sets no variable"),
	ROW_TEXT(J, does, "does", .required = true, .meaning = "what it does"),
	ROW_TEXT(J, source, "source", .required = true, .meaning = "source"),
};

static const char *finish_job_var(void *row)
{
	const J *v = row;

	return v->hint == !strchr(v->name, '=') ? NULL : "a variable needs the form NAME=VALUE";
}

static const struct row_table job_var_table =
	ROW_TABLE("job_vars", struct job_var, job_vars, "knowledge/job.h", job_var_columns,
		  .finish = finish_job_var);

const struct row_table *const row_tables[] = {
	&gpu_table,
	&model_table,
	&model_type_table,
	&checkpoint_table,
	&model_class_table,
	&format_table,
	&band_table,
	&dead_flag_table,
	&engine_option_table,
	&health_limit_table,
	&xid_table,
	&known_var_table,
	&memory_limit_table,
	&nccl_release_table,
	&normal_figure_table,
	&normal_band_table,
	&output_line_table,
	&train_key_table,
	&value_rule_table,
	&vendor_opinion_table,
	&setting_use_table,
	&job_gain_table,
	&job_var_table,
	&wait_sign_table,
	&serving_figure_table,
	&serving_log_table,
	&serving_cause_table,
	&software_place_table,
	NULL,
};
