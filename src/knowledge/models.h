/* SPDX-License-Identifier: Apache-2.0 */
/* Models: shapes by name, types of configurations, formats of weights (rows). */
#ifndef KNOWLEDGE_MODELS_H
#define KNOWLEDGE_MODELS_H

#include "base/rows.h"

/* Bytes a parameter, by part; 0: as is usual in the format. */
struct part_bytes {
	double experts, dense, shared, attention, linear, head, embed;
};

/* Zero: has none of it. Widths in elements. */
struct arch {
	const char *name;	  /* "Qwen3-8B" */
	const char *source;	  /* where the figures are from: the configuration's name */
	const char *format;	  /* in which format its maker publishes it; NULL: BF16 */
	const char *date;	  /* of its release, year and month; NULL: unknown */
	struct part_bytes stored; /* in that format, where its quantization says so */
	bool guessed;		  /* shape taken from a model of a similar size, or not checked */
	double total;		  /* published number of parameters; 0: counted from the shape */
	double scale;		  /* what the counted parts are multiplied by; 0: 1 */
	int trained;		  /* tokens of context that it was made for; 0: not known */
	int layers, hidden, vocab;
	bool tied;		       /* output head and embedding are one matrix */
	int heads, kv_heads, head_dim; /* of the layers with full attention */
	bool gated_attention;	       /* the query projection makes a gate as well */
	bool qk_norm;		       /* queries and keys are normalized */
	int ffn;		       /* inner width of a dense feed-forward block */
	int ffn_mats;		       /* matrices of a block: 3 (gated) unless given; 2 */
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

/*
 * keys: how names of the model are recognised: words that have to follow each other in it, letters
 * and digits alone ("qwen3|8b"); several alternatives are separated by blanks.
 */
struct model_row {
	const char *keys;
	struct arch a;
	/* What a.linear_params and a.linear_state follow from; 0: they are told themselves. */
	int mamba[3];	 /* inner width, rank of steps, states */
	int mamba2[4];	 /* inner width, groups, states, heads */
	int delta[2];	 /* gated delta rule: heads of keys and of values, each 128 wide */
	bool short_conv; /* a gated short convolution */
};

extern const struct row_table model_table;
extern const struct model_row model_rows[];
extern const size_t n_model_rows;

/* What a model does. Only text is predicted; what reads pictures and writes text is text. */
enum model_class {
	CLASS_TEXT,
	CLASS_EMBEDDING,
	CLASS_RERANKER,
	CLASS_SPEECH,
	CLASS_VISION, /* detection, segmentation, recognition of text in pictures */
	CLASS_IMAGE,  /* makes pictures */
	CLASS_VIDEO,
	CLASS_REWARD,  /* scores what others wrote */
	CLASS_DRAFTER, /* guesses ahead for another model */
	MODEL_CLASSES,
};

extern const char *const model_class_names[];

/* A published checkpoint whose configuration was read: its repository's name, the row of models
 * that has its shape, and what its quantization keeps in which format. */
struct checkpoint_row {
	const char *name, *model, *format;
	struct part_bytes stored;
	const char *source, *date;
};

extern const struct checkpoint_row checkpoint_rows[];
extern const size_t n_checkpoint_rows;

/* Words of names that tell a class which is not predicted. */
struct model_class_row {
	const char *name; /* a word, or several in order with | between them */
	enum model_class class;
	const char *source;
};

extern const struct model_class_row model_class_rows[];
extern const size_t n_model_class_rows;

/* Configuration classes of models by model_type: rows of model_types.rows. */

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
	TYPE_QK_NORM = 128,
	TYPE_FALCON = 64, /* multi_query unless given, and what new_decoder_architecture changes */
};

extern const struct row_table model_type_table;
extern const struct model_type model_types[];
extern const size_t n_model_types;

/* Formats that weights are stored in: rows of formats.rows. */

/* In which number type the big multiplications of a prompt run. */
enum math { MATH_HALF, MATH_FP8, MATH_FP8_BLOCK, MATH_FP4, MATH_WEIGHT_ONLY, MATH_GGML };

/* Bytes a parameter, scales included. */
struct format {
	const char *name;
	const char *note; /* what stays in another format, in a sentence; NULL: nothing */
	enum math math;
	double experts, dense, shared, attention, linear, head, embed;
	bool gguf;
	double read; /* how fast it is read against others of its engine; 0: 1 */
};

enum format_of { FORMAT_OF_ALL, FORMAT_OF_EXPERTS, FORMAT_OF_DENSE };

/* keys: words, without what people write between letters. Earlier rows win. */
struct format_row {
	const char *keys;
	enum format_of of; /* models with experts, or without */
	double bits;	   /* a parameter of the parts that are not known */
	struct format f;
};

extern const struct row_table format_table;
extern const struct format_row format_rows[];
extern const size_t n_format_rows;

#endif
