/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the format that words name. */
#include <ctype.h>
#include <string.h>

#include "models/inference/format.h"

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
 * anywhere, but a number is not part of a longer one, and "4B-it" is no "4bit".
 */
static bool stands_alone(const struct squeezed *s, size_t at, size_t len, bool gguf)
{
	char before = s->before[at], after = s->before[at + len];

	if (len > 3 && memcmp(s->text + at + len - 3, "bit", 3) == 0 &&
	    !isalpha((unsigned char)s->before[at + len - 2]))
		return false;
	if (!gguf)
		return !isdigit((unsigned char)s->text[at]) || !isdigit((unsigned char)before);
	if (isalnum((unsigned char)before))
		return false;
	return len > (s->text[at] == 'i' ? 3u : 2u) ||
	       (!isalnum((unsigned char)after) && after != '_');
}

static const char *format_word_at(const struct squeezed *s, const char *key, size_t len, bool gguf)
{
	const char *at = s->text;

	for (; (at = memmem(at, strlen(at), key, len)); at++)
		if (stands_alone(s, (size_t)(at - s->text), len, gguf))
			return at;
	return NULL;
}

/* Where the first of these words stands; NULL: none does. */
static const char *first_word(const struct squeezed *s, const char *keys, bool gguf)
{
	const char *first = NULL, *at;

	for (size_t len; *keys; keys += len + (keys[len] == ' ')) {
		len = strcspn(keys, " ");
		at = format_word_at(s, keys, len, gguf);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

/* Methods that leave activations as they are make four bits unless another width stands beside. */
static const char *width_beside(const struct squeezed *s)
{
	static const char methods[] = "awq gptq autoround hqq bnb bitsandbytes quanto";

	if (!first_word(s, methods, false) || first_word(s, "4bit int4 w4a16 w4a8", false))
		return NULL;
	return first_word(s, "8bit int8 w8a16", false)	 ? "w8a16"
	       : first_word(s, "3bit int3 w3a16", false) ? "int3"
	       : first_word(s, "2bit int2 w2a16", false) ? "int2"
							 : NULL;
}

const struct format *format_find(const char *text, bool experts)
{
	struct squeezed s;
	const char *width;

	squeeze(&s, text);
	/* gpt-oss: the experts as published, everything else in Q8_0. */
	if (strstr(s.text, "mxfp4") && strstr(s.text, "gguf"))
		squeeze(&s, "ggufmxfp4");
	if ((width = width_beside(&s)))
		squeeze(&s, width);
	for (size_t i = 0; i < n_format_rows; i++)
		if (first_word(&s, format_rows[i].keys, format_rows[i].f.gguf) &&
		    format_rows[i].of != (experts ? FORMAT_OF_DENSE : FORMAT_OF_EXPERTS))
			return &format_rows[i].f;
	return NULL;
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

	/* Of "maker/model" the model; what is longer is a path. */
	a = strchr(name, '/');
	if (a && a > name && !strchr(a + 1, '/'))
		name = a + 1;
	if (strlen(name) >= LONGEST)
		name += strlen(name) - LONGEST + 1;
	squeeze(&s, name);
	a = first_word(&s, others, false);
	b = first_word(&s, types, true);
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
	} kinds[] = { { "fp8", 1 },	  { "int8", 1 },	{ "q80", 8.5 / 8 },
		      { "q40", 4.5 / 8 }, { "nvfp4", 4.5 / 8 }, { "fp4", 4.5 / 8 },
		      { "bf16", 2 },	  { "fp16", 2 },	{ "f16", 2 },
		      { "auto", 2 },	  { "half", 2 },	{ "f32", 4 } };
	struct squeezed s;

	squeeze(&s, text);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(s.text, kinds[i].key))
			return kinds[i].bytes;
	return 0;
}
