/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of model_types.rows. */
#include "knowledge/model_types.h"

#define T struct model_type

/* By the bits of enum type_flag. */
static const char *const type_flags[] = { "tied",    "untold", "plain",	 "four",
					  "windows", "asked",  "falcon", NULL };

static const struct row_column type_columns[] = {
	ROW_NAME(T, name, .meaning = "the model_type"),
	ROW_SET(T, flags, "flags", .choices = type_flags,
		.meaning = "tied: head and embedding are one matrix; untold: no class says whether "
			   "they are; plain: blocks of two matrices; four: a block is four times "
			   "as wide as the model; windows: a window is that of all layers; asked: "
			   "a window counts where use_sliding_window is true alone; falcon: "
			   "multi_query unless told, and what new_decoder_architecture changes"),
	ROW_COUNT(T, every, "every", .max = 4096,
		  .meaning = "one layer of so many sees more than the window"),
	ROW_COUNT(T, heads, "heads", .max = 4096, .meaning = "num_attention_heads"),
	ROW_COUNT(T, kv_heads, "kv_heads", .max = 4096, .meaning = "num_key_value_heads"),
	ROW_COUNT(T, head_dim, "head_dim", .max = 65536, .meaning = "head_dim"),
	ROW_COUNT(T, vocab, "vocab", .max = 1 << 24, .meaning = "vocab_size"),
	ROW_COUNT(T, window, "window", .meaning = "sliding_window"),
	ROW_COUNT(T, shared, "shared", .max = 4096, .meaning = "num_kv_shared_layers"),
	ROW_COUNT(T, inputs, "inputs", .max = 1 << 20, .meaning = "hidden_size_per_layer_input"),
};

const struct row_table model_type_table =
	ROW_TABLE("model_types", struct model_type, model_types, "knowledge/model_types.h",
		  type_columns, .finish = NULL);
