/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration classes of models by model_type: rows of model_types.rows. */
#ifndef KNOWLEDGE_MODEL_TYPES_H
#define KNOWLEDGE_MODEL_TYPES_H

#include "base/rows.h"

/* What the class of a model_type has where the file says nothing. */
struct model_type {
	const char *name;
	unsigned flags; /* enum type_flag */
	int every;	/* one layer of so many sees more than the window; 0: told otherwise */
	int heads, kv_heads, head_dim, vocab; /* 0: the file has them */
	int window, shared, inputs;	      /* sliding_window, num_kv_shared_layers, and
						 hidden_size_per_layer_input */
};

enum type_flag {
	TYPE_TIED = 1,	   /* head and embedding are one matrix */
	TYPE_UNTOLD = 2,   /* no class says whether they are */
	TYPE_PLAIN = 4,	   /* blocks of two matrices */
	TYPE_FOUR = 8,	   /* a block is four times as wide as the model */
	TYPE_WINDOWS = 16, /* a window is that of all layers */
	TYPE_ASKED = 32,   /* a window counts where use_sliding_window is true alone */
	TYPE_FALCON = 64,  /* multi_query unless given, and what new_decoder_architecture changes */
};

extern const struct row_table model_type_table;
extern const struct model_type model_types[];
extern const size_t n_model_types;

#endif
