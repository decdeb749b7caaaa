/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which formats weights and cache are stored, by part of the model: a checkpoint of one name
 * keeps some matrices in another format. Pure.
 */
#ifndef INFERENCE_FORMAT_H
#define INFERENCE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

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

/* The format that a text names ("nvfp4", "int4 gptq-marlin", "Q4_K_M"), for a model with experts
 * or without; NULL: none is named in it. */
const struct format *format_find(const char *text, bool experts);
/* Of a file name or of a model's name: only words that can mean nothing else count. */
const struct format *format_in_name(const char *name, bool experts);
/* Bytes an element of the cache: "fp8", "bf16", "q8_0", "auto"; 0 when unknown. */
double format_cache_bytes(const char *text);

/* The table of formats: words that name one, and its bytes by part. */

#define BITS(b) ((b) / 8.0)
#define NVFP4 0.5625  /* 4 bits and an FP8 scale for 16 */
#define MXFP4 0.53125 /* 4 bits and an 8-bit exponent for 32 */
#define INT4 0.5195   /* 4 bits, and scale and zero point for 128 */
#define INT2 0.2676   /* the same with 2 bits, with 3 and with 8 */
#define INT3 0.3936
#define INT8 1.0234
#define Q8 BITS(8.5)

/* .kind 1: models with experts, 2: without, 0: both. Earlier rows win. keys: words, without what
 * people write between letters. */
struct format_row {
	const char *keys;
	int kind;
	struct format f;
};

extern const struct format_row format_rows[];
extern const size_t n_format_rows;

#endif
