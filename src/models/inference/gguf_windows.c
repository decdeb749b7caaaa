/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers have a window. Files tell its width, few tell the pattern: llama.cpp knows it by the
 * family, and gives families that are not in its list none, whatever the file tells.
 */
#include <string.h>

#include "models/inference/gguf_parts.h"

/* Of period layers one sees everything: the last, or the first. */
static const struct family {
	const char *name;
	int period;
	bool first;
	int width;  /* where the file tells none */
	int layers; /* only the model with so many; 0: all */
} families[] = {
	{ .name = "gemma2", .period = 2, .width = 4096 },
	{ .name = "gemma3", .period = 6 },
	{ .name = "gemma3n", .period = 5 },
	{ .name = "cohere2", .period = 4 },
	{ .name = "cohere2moe", .period = 4, .first = true },
	{ .name = "olmo2", .period = 4 },
	{ .name = "gpt-oss", .period = 2 },
	{ .name = "llama4", .period = 4, .width = 8192 },
	{ .name = "exaone4", .period = 4, .width = 4096, .layers = 64 },
	{ .name = "exaone-moe", .period = 4, .width = 128 },
	{ .name = "smallthinker", .period = 4, .first = true },
	{ .name = "afmoe", .period = 4 },
	{ .name = "laguna", .period = 4, .first = true },
	{ .name = "plamo3", .period = 8 },
	{ .name = "mellum", .period = 4 },
};

static const struct family *family_of(const struct gguf_keys *k)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strcmp(families[i].name, k->family) == 0 &&
		    (!families[i].layers || families[i].layers == k->layers))
			return &families[i];
	return NULL;
}

/* Zero: every layer has a window. */
static bool in_period(int layer, int period, bool first)
{
	if (!period)
		return true;
	return first ? layer % period != 0 : layer % period < period - 1;
}

/* The width that llama.cpp gives layers with a window. */
static int width(const struct gguf_keys *k, const struct family *f)
{
	/* Llama 4's chunks, SmallThinker's windows: of one width whatever is told, unless none is.
	 */
	if (k->window && strcmp(k->family, "llama4") == 0)
		return 8192;
	if (k->window && strcmp(k->family, "smallthinker") == 0)
		return 4096;
	return k->told_window ? k->window : f ? f->width : 0;
}

int gguf_window(const struct gguf_keys *k, int layer)
{
	const struct family *f = family_of(k);
	bool has = false;

	/* A shorter list repeats itself. */
	if (k->windows_of.n)
		has = k->windows_of.v[layer % k->windows_of.n] > 0;
	else if (k->told_period || f)
		has = in_period(layer, k->told_period ? k->period : f->period, f && f->first);
	return has ? width(k, f) : 0;
}

bool gguf_window_unknown(const struct gguf_keys *k)
{
	return k->window && !k->told_period && !family_of(k);
}
