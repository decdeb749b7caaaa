/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the format that words name. */
#include <ctype.h>
#include <string.h>

#include "models/inference/format.h"

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

#define LONGEST 256

/* Lower-case letters and digits alone; before: what stood before each of them, and at the end. */
struct squeezed {
	char text[LONGEST], before[LONGEST];
	size_t from[LONGEST]; /* where it stood */
};

static void squeeze(struct squeezed *to, const char *s)
{
	const char *start = s;
	size_t n = 0;
	char last = ' ';

	for (; *s && n + 1 < LONGEST; last = *s++)
		if (isalnum((unsigned char)*s)) {
			to->before[n] = last;
			to->from[n] = (size_t)(s - start);
			to->text[n++] = (char)tolower((unsigned char)*s);
		}
	to->text[n] = '\0';
	to->before[n] = *s ? *s : ' ';
}

/*
 * Names of GGUF types are short: they begin where a word begins ("awq-4bit" is no Q4), and one that
 * does not tell its kind ("q5") ends where it ends ("q5_9" is none that is known). Others stand
 * anywhere, but a number is not part of a longer one.
 */
static bool stands_alone(const struct squeezed *s, size_t at, size_t len, bool gguf)
{
	char before = s->before[at], after = s->before[at + len];

	if (!gguf)
		return !isdigit((unsigned char)s->text[at]) || !isdigit((unsigned char)before);
	if (isalnum((unsigned char)before))
		return false;
	return len > (s->text[at] == 'i' ? 3u : 2u) ||
	       (!isalnum((unsigned char)after) && after != '_');
}

static const char *word_at(const struct squeezed *s, const char *key, size_t len, bool gguf)
{
	const char *at = s->text;

	for (; (at = memmem(at, strlen(at), key, len)); at++)
		if (stands_alone(s, (size_t)(at - s->text), len, gguf))
			return at;
	return NULL;
}

/* Where the first of these words stands; NULL: none does. */
static const char *says(const struct squeezed *s, const char *keys, bool gguf)
{
	const char *first = NULL, *at;

	for (size_t len; *keys; keys += len + (keys[len] == ' ')) {
		len = strcspn(keys, " ");
		at = word_at(s, keys, len, gguf);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

/* Methods that leave activations as they are make four bits unless another width stands beside. */
static const char *width_beside(const struct squeezed *s)
{
	static const char methods[] = "awq gptq autoround hqq bnb bitsandbytes quanto";

	if (!says(s, methods, false) || says(s, "4bit int4 w4a16 w4a8", false))
		return NULL;
	return says(s, "8bit int8 w8a16", false)   ? "w8a16"
	       : says(s, "3bit int3 w3a16", false) ? "int3"
	       : says(s, "2bit int2 w2a16", false) ? "int2"
						   : NULL;
}

const struct format *format_find(const char *text, bool experts)
{
	struct squeezed s;
	const char *width;

	squeeze(&s, text);
	if (strstr(s.text, "mxfp4") && strstr(s.text, "gguf"))
		return &gguf_mxfp4;
	if ((width = width_beside(&s)))
		squeeze(&s, width);
	for (size_t i = 0; i < n_format_rows; i++)
		if (says(&s, format_rows[i].keys, format_rows[i].f.gguf) &&
		    (!format_rows[i].kind || (format_rows[i].kind == 1) == experts))
			return &format_rows[i].f;
	return NULL;
}

/* Of "maker/model" the model; what is longer is a path. */
static const char *without_maker(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && slash > name && !strchr(slash + 1, '/') ? slash + 1 : name;
}

const struct format *format_in_name(const char *name, bool experts)
{
	static const char others[] = "nvfp4 mxfp4 mxfp8 fp8 fp4 int4 int8 int3 int2 awq gptq "
				     "autoround w4a16 w8a16 w8a8 w4a8 w4afp8 2bit 3bit 4bit 8bit "
				     "bf16 fp16";
	static const char types[] = "q2k q3k q4k q40 q41 q5k q50 q51 q6k q80 q8k iq1s iq1m iq2xxs "
				    "iq2xs iq2s iq2m iq3xxs iq3xs iq3s iq3m iq4xs iq4nl tq10 tq20";
	struct squeezed s;
	const char *a, *b;

	name = without_maker(name);
	if (strlen(name) >= LONGEST)
		name += strlen(name) - LONGEST + 1;
	squeeze(&s, name);
	a = says(&s, others, false);
	b = says(&s, types, true);
	if (!a && !b)
		return NULL;
	/* What stands before the first sure word is the model's own name. */
	a = a && (!b || a < b) ? a : b;
	return format_find(name + s.from[a - s.text], experts);
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
	struct squeezed s;

	squeeze(&s, text);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(s.text, kinds[i].key))
			return kinds[i].bytes;
	return 0;
}

/*
 * Bytes by format and part. What checkpoints leave in BF16 is from their published quantization
 * settings; GGUF mixtures count the types that the quantizer gives to each matrix, and the small
 * ones what files of known models weigh.
 */

const struct format_row format_rows[] = {
	{ "qat",
	  0,
	  { "q4_0", "trained for 4 bits; output head in Q6_K", MATH_GGML, BITS(4.5), BITS(4.5),
	    BITS(4.5), BITS(4.5), BITS(4.5), BITS(6.5625), BITS(4.5), true, 1.1 } },
	{ "iq2xxsq2k",
	  0,
	  { "iq2_xxs", "experts in 2 bits, the rest in Q8_0", MATH_GGML, BITS(2.4), BITS(2.4), Q8,
	    Q8, Q8, Q8, BITS(4.5), true, 0 } },
	{ "iq1m",
	  0,
	  { "iq1_m", NULL, MATH_GGML, BITS(1.8), BITS(1.8), BITS(2.14), BITS(2.14), BITS(2.14),
	    BITS(5.5), BITS(2.625), true, 0 } },
	{ "iq1s iq1",
	  0,
	  { "iq1_s", NULL, MATH_GGML, BITS(1.62), BITS(1.62), BITS(2.05), BITS(2.05), BITS(2.05),
	    BITS(5.5), BITS(2.625), true, 0 } },
	{ "iq2xxs",
	  0,
	  { "iq2_xxs", NULL, MATH_GGML, BITS(2.1), BITS(2.1), BITS(2.31), BITS(2.31), BITS(2.31),
	    BITS(5.5), BITS(2.625), true, 0 } },
	{ "iq2xs",
	  0,
	  { "iq2_xs", NULL, MATH_GGML, BITS(2.34), BITS(2.34), BITS(2.55), BITS(2.55), BITS(2.55),
	    BITS(5.5), BITS(2.625), true, 0 } },
	{ "iq2s",
	  0,
	  { "iq2_s", NULL, MATH_GGML, BITS(2.45), BITS(2.45), BITS(2.66), BITS(2.66), BITS(2.66),
	    BITS(5.5), BITS(3.4375), true, 0 } },
	{ "iq2m iq2",
	  0,
	  { "iq2_m", NULL, MATH_GGML, BITS(2.68), BITS(2.68), BITS(2.83), BITS(2.83), BITS(2.83),
	    BITS(5.5), BITS(3.4375), true, 0 } },
	{ "iq3xxs",
	  0,
	  { "iq3_xxs", NULL, MATH_GGML, BITS(3.07), BITS(3.07), BITS(2.69), BITS(2.69), BITS(2.69),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "iq3xs",
	  0,
	  { "iq3_xs", NULL, MATH_GGML, BITS(3.3), BITS(3.3), BITS(3.21), BITS(3.21), BITS(3.21),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "iq3s",
	  0,
	  { "iq3_s", NULL, MATH_GGML, BITS(3.4375), BITS(3.4375), BITS(3.59), BITS(3.59),
	    BITS(3.59), BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "iq3m iq3",
	  0,
	  { "iq3_m", NULL, MATH_GGML, BITS(3.54), BITS(3.54), BITS(3.75), BITS(3.75), BITS(3.75),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "iq4nl",
	  0,
	  { "iq4_nl", NULL, MATH_GGML, BITS(4.6), BITS(4.6), BITS(5.5), BITS(4.8), BITS(4.8),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "iq4xs iq4",
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
	{ "q80 q8", 0, { "q8_0", NULL, MATH_GGML, Q8, Q8, Q8, Q8, Q8, Q8, Q8, true, 0 } },
	{ "q6kl",
	  0,
	  { "q6_k_l", "output head and embedding in Q8_0", MATH_GGML, BITS(6.5625), BITS(6.5625),
	    BITS(6.5625), BITS(6.5625), BITS(6.5625), Q8, Q8, true, 0 } },
	{ "q6k q6",
	  0,
	  { "q6_k", NULL, MATH_GGML, BITS(6.5625), BITS(6.5625), BITS(6.5625), BITS(6.5625),
	    BITS(6.5625), BITS(6.5625), BITS(6.5625), true, 0 } },
	{ "q51",
	  0,
	  { "q5_1", "output head in Q6_K", MATH_GGML, BITS(6), BITS(6), BITS(6), BITS(6), BITS(6),
	    BITS(6.5625), BITS(6), true, 0 } },
	{ "q50",
	  0,
	  { "q5_0", "output head in Q6_K", MATH_GGML, BITS(5.5), BITS(5.5), BITS(5.5), BITS(5.5),
	    BITS(5.5), BITS(6.5625), BITS(5.5), true, 0 } },
	{ "q5kl",
	  0,
	  { "q5_k_l", "as q5_k_m; output head and embedding in Q8_0", MATH_GGML, BITS(5.69),
	    BITS(5.69), BITS(5.6), BITS(5.6), BITS(5.6), Q8, Q8, true, 0 } },
	{ "q5ks",
	  0,
	  { "q5_k_s", NULL, MATH_GGML, BITS(5.5), BITS(5.5), BITS(5.5), BITS(5.5), BITS(5.5),
	    BITS(6.5625), BITS(5.5), true, 0 } },
	{ "q5k q5",
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
	{ "q4kl",
	  0,
	  { "q4_k_l", "as q4_k_m; output head and embedding in Q8_0", MATH_GGML, BITS(4.84),
	    BITS(4.84), BITS(4.75), BITS(4.75), BITS(4.75), Q8, Q8, true, 0 } },
	{ "q4ks",
	  0,
	  { "q4_k_s", NULL, MATH_GGML, BITS(4.55), BITS(4.55), BITS(4.55), BITS(4.6), BITS(4.6),
	    BITS(6.5625), BITS(4.5), true, 0 } },
	{ "q4k q4",
	  0,
	  { "q4_k_m", "half of the down and value matrices and the output head in Q6_K", MATH_GGML,
	    BITS(4.84), BITS(4.84), BITS(4.84), BITS(4.75), BITS(4.75), BITS(6.5625), BITS(4.5),
	    true, 0 } },
	{ "q3ks",
	  0,
	  { "q3_k_s", "output head in Q6_K", MATH_GGML, BITS(3.4375), BITS(3.4375), BITS(3.4375),
	    BITS(3.4375), BITS(3.4375), BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "q3kl",
	  0,
	  { "q3_k_l", "down, value and output matrices in Q5_K", MATH_GGML, BITS(4.125),
	    BITS(4.125), BITS(4.47), BITS(4.47), BITS(4.47), BITS(6.5625), BITS(3.4375), true,
	    0 } },
	{ "q3k q3",
	  0,
	  { "q3_k_m", NULL, MATH_GGML, BITS(3.9), BITS(3.9), BITS(3.9), BITS(3.9), BITS(3.9),
	    BITS(6.5625), BITS(3.4375), true, 0 } },
	{ "q2ks",
	  0,
	  { "q2_k_s", NULL, MATH_GGML, BITS(2.72), BITS(2.72), BITS(2.8), BITS(2.8), BITS(2.8),
	    BITS(6.5625), BITS(2.625), true, 0 } },
	{ "q2kl",
	  0,
	  { "q2_k_l", "as q2_k; output head and embedding in Q8_0", MATH_GGML, BITS(2.9), BITS(2.9),
	    BITS(3), BITS(3), BITS(3), Q8, Q8, true, 0 } },
	{ "q2k q2",
	  0,
	  { "q2_k", NULL, MATH_GGML, BITS(2.9), BITS(2.9), BITS(2.9), BITS(3), BITS(3),
	    BITS(6.5625), BITS(2.625), true, 0 } },
	{ "tq10",
	  0,
	  { "tq1_0", "output head in Q6_K", MATH_GGML, BITS(1.6875), BITS(1.6875), BITS(1.6875),
	    BITS(1.6875), BITS(1.6875), BITS(6.5625), BITS(4.5), true, 0 } },
	{ "tq20",
	  0,
	  { "tq2_0", "output head in Q6_K", MATH_GGML, BITS(2.0625), BITS(2.0625), BITS(2.0625),
	    BITS(2.0625), BITS(2.0625), BITS(6.5625), BITS(4.5), true, 0 } },
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
	{ "w4a8 w4afp8",
	  0,
	  { "w4a8", "multiplied in 8 bits; output head, embedding and router in BF16", MATH_FP8,
	    INT4, INT4, INT4, INT4, INT4, 2, 2, false, 0 } },
	{ "mxfp8",
	  0,
	  { "mxfp8", "output head, embedding and router in BF16", MATH_FP8, BITS(8.25), BITS(8.25),
	    BITS(8.25), BITS(8.25), BITS(8.25), 2, 2, false, 0 } },
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
	{ "fp4",
	  1,
	  { "nvfp4", "attention, linear attention, output head and embedding in BF16", MATH_FP4,
	    NVFP4, NVFP4, NVFP4, 2, 2, 2, 2, false, 0 } },
	{ "fp4",
	  2,
	  { "nvfp4", "output head and embedding in BF16", MATH_FP4, NVFP4, NVFP4, NVFP4, NVFP4,
	    NVFP4, 2, 2, false, 0 } },
	{ "w8a16 eetq",
	  0,
	  { "w8a16", "8 bits, multiplied in BF16; output head, embedding and router in BF16",
	    MATH_WEIGHT_ONLY, INT8, INT8, INT8, INT8, INT8, 2, 2, false, 0 } },
	{ "int3 3bit w3a16",
	  0,
	  { "int3", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT3, INT3, INT3,
	    INT3, INT3, 2, 2, false, 0 } },
	{ "int2 2bit w2a16",
	  0,
	  { "int2", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT2, INT2, INT2,
	    INT2, INT2, 2, 2, false, 0 } },
	{ "autoround",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, 2,
	    INT4, 2, 2, 2, false, 0 } },
	{ "awq w4a16 int4 gptq 4bit",
	  0,
	  { "int4", "output head, embedding and router in BF16", MATH_WEIGHT_ONLY, INT4, INT4, INT4,
	    INT4, INT4, 2, 2, false, 0 } },
	{ "w8a8 int8 8bit",
	  0,
	  { "int8", "output head and embedding in BF16", MATH_FP8, 1, 1, 1, 1, 1, 2, 2, false,
	    0 } },
	{ "bf16", 0, { "bf16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, false, 0 } },
	{ "fp16 half", 0, { "fp16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, false, 0 } },
	{ "f16", 0, { "f16", NULL, MATH_HALF, 2, 2, 2, 2, 2, 2, 2, true, 0 } },
	{ "fp32", 0, { "fp32", NULL, MATH_HALF, 4, 4, 4, 4, 4, 4, 4, false, 0 } },
	{ "f32", 0, { "f32", NULL, MATH_HALF, 4, 4, 4, 4, 4, 4, 4, true, 0 } },
};

const size_t n_format_rows = sizeof(format_rows) / sizeof(format_rows[0]);
