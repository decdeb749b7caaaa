/* SPDX-License-Identifier: Apache-2.0 */
/* What a run was, by the words that tools and people have for it. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/diagnose.h"

int run_way(struct arena *a, const struct run_summary *r)
{
	const char *s = run_trait(a, r, TRAIT_PARALLEL);

	for (int i = 0; i < TRAIN_WAYS; i++)
		if (strcmp(s, train_way_names[i]) == 0)
			return i;
	/* "fsdp2" */
	return str_starts(s, "fsdp") ? TRAIN_FSDP : -1;
}

int run_precision(struct arena *a, const struct run_summary *r)
{
	static const struct {
		const char *word;
		enum train_precision is;
	} words[] = {
		{ "fp8", TRAIN_FP8 },	  { "float8", TRAIN_FP8 }, { "bf16", TRAIN_BF16 },
		{ "bfloat", TRAIN_BF16 }, { "fp16", TRAIN_FP16 },  { "float16", TRAIN_FP16 },
		{ "tf32", TRAIN_TF32 },	  { "fp32", TRAIN_FP32 },  { "float32", TRAIN_FP32 }
	};
	const char *s = run_trait(a, r, TRAIT_PRECISION);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(s, words[i].word))
			return (int)words[i].is;
	return -1;
}

bool run_sums_fp32(struct arena *a, const struct run_summary *r)
{
	const char *by = run_trait(a, r, TRAIT_FRAMEWORK);
	int way = run_way(a, r);

	if (strcmp(by, "megatron-lm") == 0)
		return true;
	if (strcmp(by, "deepspeed") == 0)
		return false;
	return way < 0 || train_parallelism_fp32((enum train_parallelism)way);
}

bool run_alone(const struct run_summary *r)
{
	static const char *const many[] = { "megatron-lm", "deepspeed", "torchtitan", "nemo" };
	const struct run_attribute *by = r->traits[TRAIT_FRAMEWORK];

	if (isfinite(r->gpus))
		return r->gpus <= 1;
	for (size_t i = 0; by && i < sizeof(many) / sizeof(many[0]); i++)
		if (strcasecmp(by->text, many[i]) == 0)
			return false;
	return r->n_ranks <= 1;
}
