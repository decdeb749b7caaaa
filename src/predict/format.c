/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes by format and part. What checkpoints leave in BF16 is from their published quantization
 * settings; GGUF mixtures count the types that the quantizer gives to each matrix.
 */
#include "predict/format.h"

#include <ctype.h>
#include <string.h>

#define BITS(b) ((b) / 8.0)
#define NVFP4 0.5625  /* 4 bits and an FP8 scale for 16 */
#define MXFP4 0.53125 /* 4 bits and an 8-bit exponent for 32 */
#define INT4 0.5195   /* 4 bits, and scale and zero point for 128 */
#define Q8 BITS(8.5)

/* .kind 1: models with experts, 2: without, 0: both. Earlier rows win. */
static const struct row {
	const char *key;
	int kind;
	struct format f;
} rows[] = {
	{ "qat",
	  0,
	  { "q4_0", "trained for 4 bits; output head in Q6_K", MATH_GGML, BITS(4.5), BITS(4.5),
	    BITS(4.5), BITS(4.5), BITS(4.5), BITS(6.5625), BITS(4.5), true, 1.1 } },
	{ "iq2xxs",
	  0,
	  { "iq2_xxs", "experts in 2 bits, the rest in Q8_0", MATH_GGML, BITS(2.4), BITS(2.4), Q8,
	    Q8, Q8, Q8, BITS(4.5), true, 0 } },
	{ "iq1",
	  0,
	  { "iq1_s", NULL, MATH_GGML, BITS(1.9), BITS(1.9), BITS(2.5), BITS(2.5), BITS(2.5),
	    BITS(5.5), BITS(2.625), true, 0 } },
	{ "iq2",
	  0,
	  { "iq2_m", NULL, MATH_GGML, BITS(2.7), BITS(2.7), BITS(4.5), BITS(3.5), BITS(3.5),
	    BITS(5.5), BITS(3.4375), true, 0 } },
	{ "iq3",
	  0,
	  { "iq3_m", NULL, MATH_GGML, BITS(3.6), BITS(3.6), BITS(4.5), BITS(4.2), BITS(4.2),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "iq4nl",
	  0,
	  { "iq4_nl", NULL, MATH_GGML, BITS(4.6), BITS(4.6), BITS(5.5), BITS(4.8), BITS(4.8),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "iq4",
	  0,
	  { "iq4_xs", NULL, MATH_GGML, BITS(4.35), BITS(4.35), BITS(4.5), BITS(4.6), BITS(4.6),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q8kxl",
	  0,
	  { "q8_k_xl", "some matrices in BF16", MATH_GGML, BITS(9.2), BITS(9.2), BITS(12), BITS(12),
	    BITS(12), BITS(16), BITS(16), true, 0 } },
	{ "q6kxl",
	  0,
	  { "q6_k_xl", NULL, MATH_GGML, BITS(6.8), BITS(6.8), Q8, Q8, Q8, Q8, Q8, true, 0 } },
	{ "q5kxl",
	  0,
	  { "q5_k_xl", NULL, MATH_GGML, BITS(5.8), BITS(5.8), Q8, Q8, Q8, Q8, BITS(6.5625), true,
	    0 } },
	{ "q4kxl",
	  1,
	  { "q4_k_xl", "attention and shared experts in Q8_0", MATH_GGML, BITS(4.85), BITS(4.85),
	    Q8, Q8, Q8, BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q4kxl",
	  2,
	  { "q4_k_xl", NULL, MATH_GGML, BITS(4.9), BITS(4.9), BITS(5.5), BITS(5.2), BITS(5.2),
	    BITS(6.5625), BITS(5.5), true, 0 } },
	{ "q3kxl",
	  0,
	  { "q3_k_xl", NULL, MATH_GGML, BITS(4), BITS(4), BITS(5.5), BITS(5.5), BITS(5.5),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q2kxl",
	  0,
	  { "q2_k_xl", NULL, MATH_GGML, BITS(3), BITS(3), BITS(4.5), BITS(4.5), BITS(4.5),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q8", 0, { "q8_0", NULL, MATH_GGML, Q8, Q8, Q8, Q8, Q8, Q8, Q8, true, 0 } },
	{ "q6",
	  0,
	  { "q6_k", NULL, MATH_GGML, BITS(6.5625), BITS(6.5625), BITS(6.5625), BITS(6.5625),
	    BITS(6.5625), BITS(6.5625), BITS(6.5625), true, 0 } },
	{ "q5ks",
	  0,
	  { "q5_k_s", NULL, MATH_GGML, BITS(5.5), BITS(5.5), BITS(5.5), BITS(5.5), BITS(5.5),
	    BITS(6.5625), BITS(5.5), true, 0 } },
	{ "q5",
	  0,
	  { "q5_k_m", "half of the down and value matrices in Q6_K", MATH_GGML, BITS(5.69),
	    BITS(5.69), BITS(5.69), BITS(5.6), BITS(5.6), BITS(6.5625), BITS(5.5), true, 0 } },
	{ "q41",
	  0,
	  { "q4_1", NULL, MATH_GGML, BITS(5), BITS(5), BITS(5), BITS(5), BITS(5), BITS(6.5625),
	    BITS(5), true, 0 } },
	{ "q40",
	  0,
	  { "q4_0", "output head in Q6_K", MATH_GGML, BITS(4.5), BITS(4.5), BITS(4.5), BITS(4.5),
	    BITS(4.5), BITS(6.5625), BITS(4.5), true, 1.1 } },
	{ "q4ks",
	  0,
	  { "q4_k_s", NULL, MATH_GGML, BITS(4.55), BITS(4.55), BITS(4.55), BITS(4.6), BITS(4.6),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q4",
	  0,
	  { "q4_k_m", "half of the down and value matrices and the output head in Q6_K", MATH_GGML,
	    BITS(4.84), BITS(4.84), BITS(4.84), BITS(4.75), BITS(4.75), BITS(6.5625), BITS(4.5),
	    true, 0 } },
	{ "q3",
	  0,
	  { "q3_k_m", NULL, MATH_GGML, BITS(3.9), BITS(3.9), BITS(3.9), BITS(3.9), BITS(3.9),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "q2",
	  0,
	  { "q2_k", NULL, MATH_GGML, BITS(2.9), BITS(2.9), BITS(2.9), BITS(3), BITS(3),
	    BITS(6.5625), BITS(2.625), true, 0 } },
	{ "nvfp4",
	  1,
	  { "nvfp4", "attention, linear attention, output head and embedding in BF16", MATH_FP4,
	    NVFP4, NVFP4, NVFP4, 2, 2, 2, 2, false, 0 } },
	{ "nvfp4",
	  2,
	  { "nvfp4", "output head and embedding in BF16", MATH_FP4, NVFP4, NVFP4, NVFP4, NVFP4,
	    NVFP4, 2, 2, false, 0 } },
	{ "mxfp4all",
	  0,
	  { "mxfp4-all", "embedding in BF16", MATH_WEIGHT_ONLY, MXFP4, MXFP4, MXFP4, MXFP4, MXFP4,
	    MXFP4, 2, false, 0 } },
	{ "mxfp4",
	  1,
	  { "mxfp4", "attention, output head and embedding in BF16", MATH_WEIGHT_ONLY, MXFP4, MXFP4,
	    MXFP4, 2, 2, 2, 2, false, 0 } },
	{ "mxfp4",
	  2,
	  { "mxfp4", "output head and embedding in BF16", MATH_WEIGHT_ONLY, MXFP4, MXFP4, MXFP4,
	    MXFP4, MXFP4, 2, 2, false, 0 } },
	{ "fp8block",
	  0,
	  { "fp8-block", "output head, embedding and router in BF16", MATH_FP8_BLOCK, 1.0003,
	    1.0003, 1.0003, 1.0003, 1.0003, 2, 2, false, 0 } },
	{ "fp8tensor",
	  0,
	  { "fp8-tensor", "one scale a matrix; output head, embedding and router in BF16", MATH_FP8,
	    1, 1, 1, 1, 1, 2, 2, false, 0 } },
	{ "fp8",
	  0,
	  { "fp8", "output head, embedding and router in BF16", MATH_FP8, 1, 1, 1, 1, 1, 2, 2,
	    false, 0 } },
	{ "mxfp8",
	  0,
	  { "mxfp8", "output head, embedding and router in BF16", MATH_FP8, BITS(8.25), BITS(8.25),
	    BITS(8.25), BITS(8.25), BITS(8.25), 2, 2, false, 0 } },
	{ "fp4",
	  1,
	  { "nvfp4", "attention, linear attention, output head and embedding in BF16", MATH_FP4,
	    NVFP4, NVFP4, NVFP4, 2, 2, 2, 2, false, 0 } },
	{ "fp4",
	  2,
	  { "nvfp4", "output head and embedding in BF16", MATH_FP4, NVFP4, NVFP4, NVFP4, NVFP4,
	    NVFP4, 2, 2, false, 0 } },
	{ "autoround",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, 2,
	    INT4, 2, 2, 2, false, 0 } },
	{ "awq",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "w4a16",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "int4",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "gptq",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "4bit",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "w8a8",
	  0,
	  { "int8", "output head and embedding in BF16", MATH_FP8, 1, 1, 1, 1, 1, 2, 2, false,
	    0 } },
	{ "int8",
	  0,
	  { "int8", "output head and embedding in BF16", MATH_FP8, 1, 1, 1, 1, 1, 2, 2, false,
	    0 } },
	{ "8bit",
	  0,
	  { "int8", "output head and embedding in BF16", MATH_FP8, 1, 1, 1, 1, 1, 2, 2, false,
	    0 } },
	{ "bf16", 0, { "bf16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, false, 0 } },
	{ "fp16", 0, { "fp16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, false, 0 } },
	{ "f16", 0, { "f16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, true, 0 } },
	{ "half", 0, { "fp16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, false, 0 } },
	{ "fp32", 0, { "fp32", NULL, MATH_HALF, 4, 4, 4, 4, 4, 4, 4, false, 0 } },
	{ "f32", 0, { "f32", NULL, MATH_HALF, 4, 4, 4, 4, 4, 4, 4, true, 0 } },
};

/* gpt-oss in GGUF: the experts as published, everything else in Q8_0. */
static const struct format gguf_mxfp4 = { "mxfp4 (GGUF)",
					  "everything but the experts in Q8_0",
					  MATH_GGML,
					  MXFP4,
					  MXFP4,
					  Q8,
					  Q8,
					  Q8,
					  Q8,
					  Q8,
					  true,
					  0 };

/* Lower-case letters and digits alone. */
static void squeeze(char *to, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++)
		if (isalnum((unsigned char)*s))
			to[n++] = (char)tolower((unsigned char)*s);
	to[n] = '\0';
}

const struct format *format_find(const char *text, bool experts)
{
	char s[96];

	squeeze(s, sizeof(s), text);
	if (strstr(s, "mxfp4") && strstr(s, "gguf"))
		return &gguf_mxfp4;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(s, rows[i].key) && (!rows[i].kind || (rows[i].kind == 1) == experts))
			return &rows[i].f;
	return NULL;
}

const struct format *format_in_name(const char *name, bool experts)
{
	static const char *const sure[] = { "nvfp4", "mxfp4",	  "fp8",  "int4", "int8",  "awq",
					    "gptq",  "autoround", "q2_k", "q3_k", "q4_k",  "q4_0",
					    "q4_1",  "q5_k",	  "q5_0", "q6_k", "q8_0",  "q8_k",
					    "iq1_",  "iq2_",	  "iq3_", "iq4_", "w4a16", "w8a8",
					    "4bit",  "8bit",	  "bf16", "fp16", "fp4" };

	for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++) {
		const char *at = strcasestr(name, sure[i]);

		if (at)
			return format_find(at, experts);
	}
	return NULL;
}

double format_cache_bytes(const char *text)
{
	static const struct {
		const char *key;
		double bytes;
	} kinds[] = { { "fp8", 1 },	    { "int8", 1 },	{ "q80", BITS(8.5) },
		      { "q40", BITS(4.5) }, { "nvfp4", NVFP4 }, { "fp4", NVFP4 },
		      { "bf16", 2 },	    { "fp16", 2 },	{ "f16", 2 },
		      { "auto", 2 },	    { "half", 2 },	{ "f32", 4 } };
	char s[64];

	squeeze(s, sizeof(s), text);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(s, kinds[i].key))
			return kinds[i].bytes;
	return 0;
}
