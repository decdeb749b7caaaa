/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model that is several GGUF files, or one: the first one has the shape, each its own tensors.
 */
#ifndef INFERENCE_GGUF_H
#define INFERENCE_GGUF_H

#include "models/inference/config.h"

struct gguf;

/* The first file, or the only one; the data has to stay. -EINVAL; -ENODATA: more of it is needed.
 */
int gguf_open(struct arena *a, const char *name, const uint8_t *data, size_t len, struct gguf **out,
	      struct err *e);
/* How many files the model is. */
int gguf_files(const struct gguf *g);
/* The next file, in order. */
int gguf_more(struct gguf *g, const char *name, const uint8_t *data, size_t len, struct err *e);
/* -EINVAL: the shape is not known, or files are missing. */
int gguf_model(const struct gguf *g, struct model_file *out, struct err *e);

/* Parts of reading GGUF files: values, keys, tensors, the shape. */

#define GGUF_LAYERS 4096

struct gguf_reader {
	const uint8_t *at, *end;
	bool short_of; /* the data ended before the header did */
};

/* A number, a text, or an array: of that, its length and where its items are if all are of one
 * size. */
struct gguf_value {
	double number;
	const char *text;
	size_t len;
	uint64_t length;
	const uint8_t *items;
	uint32_t of;
};

bool gguf_take(struct gguf_reader *r, void *to, size_t n);
bool gguf_take_text(struct gguf_reader *r, const char **s, uint64_t *len);
bool gguf_take_value(struct gguf_reader *r, struct gguf_value *v);
/* An integer; anything else is 0. */
double gguf_item(const struct gguf_value *v, uint64_t i);

/* One number for each layer. */
struct gguf_list {
	const int *v;
	int n;
};

/* Zero: not known. */
struct gguf_keys {
	char family[48]; /* "deepseek2" */
	int layers, trained, hidden, heads, kv_heads, vocab, tokens;
	int key, value, key_mla, value_mla, key_window, value_window;
	int window, period, shared_kv, kv_lora, q_lora, rope, index_top;
	int experts, top;
	int inner, state, kda, conv; /* of state spaces; conv: tokens of a short convolution */
	int guess_layers;	     /* the last ones: for guesses alone */
	int part, parts, tensors;    /* of a model in several files */
	bool told_window, told_period, told_kv_heads;
	struct gguf_list heads_of, kv_heads_of, windows_of;
};

void gguf_keep(struct arena *a, struct gguf_keys *k, const char *key, size_t len,
	       const struct gguf_value *v);
/* The list's number of a layer; without a list the fallback. */
int gguf_of(const struct gguf_list *l, int layer, int fallback);
/* The width of the window of a layer, as llama.cpp gives that family windows; 0: it has none. */
int gguf_window(const struct gguf_keys *k, int layer);
/* A window is given, and not which layers have it. */
bool gguf_window_unknown(const struct gguf_keys *k);

struct gguf_sum {
	double params, bytes;
};

/* What the tensors of a layer show: widths, and of which kind it is. */
struct gguf_layer {
	struct gguf_sum attention, linear;
	double q, k, gate, latent, ffn, expert_ffn, expert_in, shared;
	bool attends, out, states, states_out, convolves, absorbed;
};

struct gguf_tensors {
	struct gguf_layer *layers;
	int n; /* layers that every token goes through */
	struct gguf_sum attention, linear, dense, shared, experts, router, other, head, embed,
		aside, guess;
	double dense_down, experts_down; /* parameters of one of a block's matrices */
	double vocab, in, expert_count;
	double count;
	double by_type[48];
	const char *most; /* the type that most bytes are in */
};

/* One tensor's name, widths and type. false: no such thing; *type is set if that was it. */
bool gguf_take_tensor(struct gguf_reader *r, const struct gguf_keys *k, struct gguf_tensors *t,
		      uint32_t *unknown);
/* Whose attention's tensors are, where a layer has both kinds. */
bool gguf_is_linear(const struct gguf_layer *l);
bool gguf_is_attention(const struct gguf_layer *l);

/* What has to be said ("": nothing), and whether a figure is in doubt for it. */
struct gguf_notes {
	const char *text;
	bool doubt;
};

/* Add a sentence. */
void gguf_note(struct arena *a, struct gguf_notes *said, const char *text);
void gguf_doubt(struct arena *a, struct gguf_notes *said, const char *text);
/* The shape that both give. -EINVAL. */
int gguf_shape(struct arena *a, const char *name, const struct gguf_keys *k,
	       const struct gguf_tensors *t, struct arch *s, struct gguf_notes *said,
	       struct err *e);
/* Bytes a parameter of each part, so that the bytes are what the file has; adds to what is said. */
void gguf_format(struct arena *a, const struct gguf_tensors *t, const struct arch *s,
		 struct format *f, struct gguf_notes *said);

#endif
