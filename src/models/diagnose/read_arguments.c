/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as Megatron-LM and DeepSpeed print them at the start: "  name ..... value". */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "models/diagnose/read.h"

static const struct {
	const char *name;
	enum trait_kind kind;
} names[] = {
	{ "world_size", TRAIT_WORLD_SIZE },
	{ "tensor_model_parallel_size", TRAIT_TP },
	{ "pipeline_model_parallel_size", TRAIT_PP },
	{ "micro_batch_size", TRAIT_MICRO_BATCH },
	{ "train_micro_batch_size_per_gpu", TRAIT_MICRO_BATCH },
	{ "global_batch_size", TRAIT_GLOBAL_BATCH },
	{ "train_batch_size", TRAIT_GLOBAL_BATCH },
	{ "gradient_accumulation_steps", TRAIT_ACCUMULATION },
	{ "seq_length", TRAIT_SEQUENCE },
	{ "num_workers", TRAIT_WORKERS },
	{ "recompute_granularity", TRAIT_CHECKPOINTING },
	{ "zero_optimization_stage", TRAIT_PARALLEL },
	{ "use_distributed_optimizer", TRAIT_PARALLEL },
	{ "bf16", TRAIT_PRECISION },
	{ "fp16", TRAIT_PRECISION },
	{ "fp8", TRAIT_PRECISION },
	{ "bfloat16_enabled", TRAIT_PRECISION },
	{ "fp16_enabled", TRAIT_PRECISION },
};

static bool on(const char *value)
{
	return strcasecmp(value, "true") == 0;
}

static bool word(struct log *l, enum trait_kind kind, const char *name, const char *value)
{
	char zero[] = "zero-?";

	if (strcmp(name, "zero_optimization_stage") == 0 && value[0] >= '1' && value[0] <= '3') {
		zero[5] = value[0];
		log_trait_once(l, kind, zero, value[0] - '0');
	} else if (strcmp(name, "zero_optimization_stage") == 0) {
		return true;
	} else if (kind == TRAIT_PARALLEL) {
		if (on(value))
			log_trait_once(l, kind, "zero-1", 1);
	} else if (kind == TRAIT_CHECKPOINTING) {
		log_trait_once(l, kind, strcmp(value, "None") == 0 ? "none" : value, (double)NAN);
	} else if (strcmp(name, "fp8") == 0) {
		if (strcmp(value, "None") != 0 && strcasecmp(value, "false") != 0)
			log_trait_once(l, kind, "fp8", (double)NAN);
	} else if (on(value)) {
		log_trait_once(l, kind, strstr(name, "bf") ? "bf16" : "fp16", (double)NAN);
	}
	return true;
}

static bool setting(struct log *l, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double v;

		if (strcmp(names[i].name, name) != 0)
			continue;
		v = read_number(value, NULL);
		if (strcmp(name, "tensor_model_parallel_size") == 0)
			l->tp = v;
		if (strcmp(name, "pipeline_model_parallel_size") == 0)
			l->pp = v;
		if (names[i].kind >= TRAIT_PRECISION && names[i].kind != TRAIT_WORKERS &&
		    names[i].kind != TRAIT_TP && names[i].kind != TRAIT_PP)
			return word(l, names[i].kind, name, value);
		if (v >= 0 && log_first(l, names[i].kind, value))
			read_trait(&l->at, names[i].kind, value, v);
		return v >= 0;
	}
	return false;
}

static bool line(struct log *l, const char *s)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = strstr(s, names[i].name), *p;
		char name[48], value[64];
		size_t n = strlen(names[i].name), m;

		/* The whole name, and nothing but dots up to the value. */
		if (!at || (at > s && at[-1] != ' ' && at[-1] != ']'))
			continue;
		p = at + n + strspn(at + n, " ");
		if (at[n] != ' ' || (*p == '.' && p[strspn(p, ".")] != ' '))
			continue;
		p += strspn(p, ".");
		p += strspn(p, " ");
		m = strcspn(p, " ");
		if (!m || m >= sizeof(value) || p[m + strspn(p + m, " ")])
			continue;
		memcpy(name, at, n);
		name[n] = '\0';
		memcpy(value, p, m);
		value[m] = '\0';
		return setting(l, name, value);
	}
	return false;
}

static const char *const marks[] = {
	"world_size .",
	"model_parallel_size .",
	"batch_size .",
	"batch_size_per_gpu ",
	"accumulation_steps .",
	"seq_length .",
	"num_workers .",
	"recompute_granularity .",
	"zero_optimization_stage .",
	"distributed_optimizer .",
	"bf16 .",
	"fp16 .",
	"fp8 .",
	"bfloat16_enabled .",
	"fp16_enabled .",
	NULL,
};
const struct log_reader log_arguments = { .marks = marks, .line = line };
