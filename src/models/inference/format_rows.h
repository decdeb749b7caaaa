/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats: words that name one, and its bytes by part. */
#ifndef INFERENCE_FORMAT_ROWS_H
#define INFERENCE_FORMAT_ROWS_H

#include "models/inference/format.h"

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
