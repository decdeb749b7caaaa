/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the shape of a model from files: a Hugging Face config.json, the header of a GGUF file,
 * the headers of safetensors files. All of it is somebody else's data: bounded and checked.
 */
#ifndef INFERENCE_CONFIG_H
#define INFERENCE_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "knowledge/models.h"
#include "models/inference/arch.h"
#include "models/inference/format.h"

struct model_file {
	struct arch arch;
	const char *format;  /* of the weights, as a name for format_find; NULL: not known */
	const char *cache;   /* keys and values, of format_cache_bytes; NULL: not known */
	bool cache_scheme;   /* as compressed tensors tell it, which not every engine reads */
	const char *kept;    /* modules that stay in BF16, in a sentence; NULL: not known */
	double bytes;	     /* exact, of all tensors; 0: not known */
	bool besides;	     /* its files have what sees or hears besides, which is not counted */
	bool quantized;	     /* it speaks of a quantization, understood or not */
	const char *unknown; /* the quantization that it names and that is not understood */
	struct format exact; /* bytes by part as the file has them; name NULL: not known */
	const char *taken;   /* what was read, in a sentence */
};

/* text: a whole config.json, at most 4 MiB. -EINVAL says what is missing. */
int config_read(struct arena *a, const char *name, const char *text, size_t len,
		struct model_file *out, struct err *e);
/*
 * What a file beside config.json says of the weights where config.json itself says nothing:
 * hf_quant_config.json of Model Optimizer, quantize_config.json of AutoGPTQ, quant_config.json of
 * AutoAWQ. out has what config_read put there. -EINVAL: it is no such file.
 */
int config_quantization_beside(struct arena *a, const char *name, const char *text, size_t len,
			       struct model_file *out, struct err *e);
/*
 * The JSON header of a safetensors file (after its 8 bytes of length), or of a
 * model.safetensors.index.json; adds the bytes of its tensors to *bytes. 0, -EINVAL.
 */
int safetensors_read(const char *text, size_t len, double *bytes, struct err *e);

/* Parts of reading a config.json. */

#define CONFIG_BYTES (4u << 20)

/* A file as Python writes JSON: numbers may be Infinity and NaN, which are 0 here. NULL: bad tells.
 */
json_t *config_json(struct arena *a, const char *text, size_t len, json_error_t *bad);
/* The first of these members that is an integer from 1 to 2^24; else the fallback. */
int config_int(const json_t *o, const char *const *names, int fallback);

#define CONFIG_DOUBTS 6
#define CONFIG_SEEN 160

/* A configuration while it is read. */
struct config_reading {
	struct arena *a;
	const json_t *root, *c;		/* the file, and what in it speaks of the language model */
	const char *type;		/* "": not known */
	const struct model_type *known; /* NULL: not known */
	struct arch *s;
	const char *doubts[CONFIG_DOUBTS]; /* what is not understood, each a clause */
	size_t n_doubts, n_more;
	const char *seen[CONFIG_SEEN]; /* members that were looked for and found */
	size_t n_seen;
};

bool config_is(const struct config_reading *r, unsigned flag);
bool config_type_is(const struct config_reading *r, const char *name);

__attribute__((format(printf, 2, 3))) void config_doubt(struct config_reading *r, const char *fmt,
							...);
/* All doubts in one clause; NULL: none. */
const char *config_doubts(struct config_reading *r);
void config_unknown(struct config_reading *r);
/* Members of a model_type that is not known which speak of experts or of kinds of layers and were
 * not read. */
void config_unread(struct config_reading *r);

/* A member of the language part; null is as if it were not there. */
const json_t *config_get(struct config_reading *r, const char *name);
/* Whether the file does not have it at all, not even as null: then it is as in the class. */
bool config_absent(const struct config_reading *r, const char *name);
bool config_true(struct config_reading *r, const char *name);
bool config_false(struct config_reading *r, const char *name);
/* The first of these members that is a whole number above 0, or a list of such (their mean);
 * else the fallback. What has another shape is a doubt. */
int config_num(struct config_reading *r, const json_t *o, int fallback, const char *const *names);
/* Members of the list that are true, not 0, or contain the word; -1: it is no list. */
int config_count(const json_t *list, const char *word);

void config_attention(struct config_reading *r);
void config_feed_forward(struct config_reading *r);
/* Which layers are of which kind: windows, linear attention, state spaces, convolutions. */
void config_layers(struct config_reading *r);
/* How many parameters and how much state a layer of a kind has. */
void config_mamba(struct config_reading *r);
void config_kimi(struct config_reading *r, const json_t *linear);
/* SambaY, of Phi-4-mini-flash: all kinds of layers but those with a window. */
void config_sambay(struct config_reading *r);
/* Layers that are told one by one ("block_configs"). -EINVAL: not all, or not understood. */
int config_blocks(struct config_reading *r, struct err *e);

/* What "quantization_config" says of the format, and of the parts that it leaves as they are. */
void config_quantization(struct arena *a, const json_t *root, const json_t *c,
			 struct model_file *out);

/* Which modules of a checkpoint are not in its format: names, globs and expressions from its
 * configuration, counted by matrix and by layer. */

/* Whether s contains one of the words, which end with NULL. */
bool has_word(const char *s, const char *const *words);

struct stored_sizes;

/* The shape has to be whole: shares follow from it. */
struct stored_sizes *stored_sizes_new(struct arena *a, const struct arch *arch);
/* The modules of this name have so many bytes a parameter. What an earlier one names stays. */
void stored_sizes_add(struct stored_sizes *k, const char *name, double bytes);
/* The parts' bytes, where everything not named has base; a sentence about it, or NULL. */
const char *stored_sizes_apply(struct stored_sizes *k, double base, struct format *f);

#endif
