/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quantization_config's words for how wide weights are. Keys and defaults are those of
 * transformers' configuration classes, compressed-tensors, Model Optimizer and Quark.
 */
#ifndef INFERENCE_CONFIG_SCHEME_H
#define INFERENCE_CONFIG_SCHEME_H

#include <jansson.h>
#include <stdbool.h>

/* A name for format_find (NULL: not understood), and bytes a parameter; 0: as that format has. */
struct scheme {
	const char *name;
	double bytes;
};

/* Of the whole model. */
struct scheme scheme_read(const json_t *q);
/* "W4A16_AWQ", "NVFP4". */
struct scheme scheme_algorithm(const char *name, int group);
/* Of one group of compressed-tensors, of one layer of Quark, of an object with "bits". */
struct scheme scheme_of_group(const json_t *group);
struct scheme scheme_quark(const json_t *layer);
struct scheme scheme_gptq(const json_t *o);
double scheme_bytes(struct scheme s);
/* Whether a group is for all modules; whether there are groups and none is. */
bool group_for_all(const json_t *group);
bool no_group_for_all(const json_t *q);

/* "": no text. -1: one group a row, 0: not told. */
const char *quant_text(const json_t *o, const char *key);
int quant_group_size(const json_t *o);

#endif
