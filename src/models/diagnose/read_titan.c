/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan (2024 to 2026): the line of a step, and what it says before training. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const double gib = 1073741824.0;

static bool titan_step(struct log *l, const char *s)
{
	const char *at = strstr(s, "step:"), *memory;
	double rate = read_after(s, "tps:"), v;

	rate = isnan(rate) ? read_after(s, "wps:") : rate;
	if (!at || isnan(rate))
		return false;
	l->at.step = read_whole(read_number(at + 5, NULL), -1);
	log_figure(l, FIGURE_TOKENS_PER_S_PER_GPU, rate, NULL);
	log_figure(l, FIGURE_LOSS, read_after(s, "loss:"), NULL);
	log_figure(l, FIGURE_TFLOPS_PER_GPU, read_after(s, "tflops:"), NULL);
	log_figure(l, FIGURE_MFU, read_after(s, "mfu:") / 100, NULL);
	memory = strstr(s, "memory:");
	v = memory ? read_number(memory + 7, &memory) : (double)NAN;
	if (!isnan(v) && str_starts(memory, "GiB"))
		log_figure(l, FIGURE_GPU_MEMORY, gib * v, "reserved by torch");
	return true;
}

/* "GPU capacity: NVIDIA H100 80GB HBM3 (0) with 79.11GiB memory" */
static bool capacity(struct log *l, const char *s)
{
	const char *at = strstr(s, " capacity: "), *with = strstr(s, " with "), *end;
	TEXT_AUTO t = { 0 };
	double v;

	if (!at || !with || with < at)
		return false;
	at += strlen(" capacity: ");
	for (end = with; end > at && (end[-1] == ')' || end[-1] == '('); end--)
		;
	/* The index that stands behind the name. */
	if (with > at + 3 && with[-1] == ')')
		for (end = with - 1; end > at && *end != '('; end--)
			;
	text_addn(&t, at, (size_t)(end - at));
	while (t.len && t.s[t.len - 1] == ' ')
		t.s[--t.len] = '\0';
	if (!t.len)
		return false;
	log_trait_once(l, TRAIT_GPU, t.s, (double)NAN);
	v = read_number(with + 6, &end);
	if (str_starts(end, "GiB"))
		log_figure(l, FIGURE_GPU_MEMORY_TOTAL, gib * v, NULL);
	return true;
}

/* "Model llama3 8B size: 8,030,261,248 total parameters" */
static bool titan_size(struct log *l, const char *s)
{
	const char *at = strstr(s, "Model "), *size_at = at ? strstr(at, " size: ") : NULL;
	TEXT_AUTO t = { 0 };

	if (!size_at || !strstr(size_at, "total parameters"))
		return false;
	text_addn(&t, at + 6, (size_t)(size_at - at - 6));
	log_trait_once(l, TRAIT_MODEL, t.s, (double)NAN);
	if (log_first(l, TRAIT_PARAMETERS, ""))
		read_trait_count(&l->at, TRAIT_PARAMETERS, read_number(size_at + 7, NULL));
	return true;
}

/* "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps
 * 1, sequence length 8192, ..."; before late 2025 "Training starts at step 1, with" all of it. */
static bool titan_starts(struct log *l, const char *s)
{
	static const struct {
		const char *words;
		enum trait_kind kind;
	} says[] = {
		{ "local batch size", TRAIT_MICRO_BATCH },
		{ "global batch size", TRAIT_GLOBAL_BATCH },
		{ "gradient accumulation steps", TRAIT_ACCUMULATION },
		{ "sequence length", TRAIT_SEQUENCE },
	};

	if (!strstr(s, "Training starts at step") && !strstr(s, "Trainer is initialized with"))
		return false;
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (log_first(l, says[i].kind, says[i].words))
			read_trait_count(&l->at, says[i].kind, read_after(s, says[i].words));
	return true;
}

static void count_once(struct log *l, enum trait_kind kind, double v)
{
	TEXT_AUTO t = { 0 };

	text_printf(&t, "%.0f", v);
	log_trait_once(l, kind, t.s, v);
}

static void mesh_dimension(struct log *l, const char *name, double degree)
{
	if (degree > 1 && degree <= 1e6 && strcmp(name, "tp") == 0)
		count_once(l, TRAIT_TP, degree);
	if (degree > 1 && degree <= 1e6 && strcmp(name, "pp") == 0)
		count_once(l, TRAIT_PP, degree);
}

/* "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]": all dimensions together are all GPUs.
 */
static double mesh_of_lists(struct log *l, const char *s)
{
	const char *names = strstr(s, "-D device mesh with ["), *sizes, *end;
	double all = 1;

	sizes = names ? strstr(names, "], [") : NULL;
	if (!sizes)
		return (double)NAN;
	names = strchr(names, '[') + 1;
	for (sizes += strlen("], ["); *sizes != ']'; sizes = end + strspn(end, ", ")) {
		double v = read_number(sizes, &end);
		char name[32] = "";
		size_t n;

		if (!(v >= 1) || end == sizes)
			return (double)NAN;
		all *= v;
		names += strspn(names, "', ");
		n = strcspn(names, "',]");
		if (n < sizeof(name))
			memcpy(name, names, n);
		mesh_dimension(l, name, v);
		names += n;
	}
	return all;
}

/* Since late 2025 "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1,
 * tp=1, ep=1": experts are spread over what the others have. */
static double mesh_of_pairs(struct log *l, const char *s)
{
	static const char *const names[] = { " pp=", " dp_replicate=", " dp_shard=", " cp=",
					     " tp=" };
	double all = 1;

	if (!strstr(s, "device mesh with parallelism:"))
		return (double)NAN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double v = read_after(s, names[i]);
		char name[24] = "";

		memcpy(name, names[i] + 1, strlen(names[i]) - 2);
		mesh_dimension(l, name, v);
		all *= v;
	}
	return all;
}

static bool mesh(struct log *l, const char *s)
{
	double all = mesh_of_lists(l, s);

	if (isnan(all))
		all = mesh_of_pairs(l, s);
	if (!(all >= 1) || all > 1e6)
		return false;
	count_once(l, TRAIT_WORLD_SIZE, all);
	return true;
}

/* "Applied FSDP to the model", "Applied selective activation checkpointing to the model" */
static bool titan_applied(struct log *l, const char *s)
{
	static const struct {
		const char *words, *text;
		enum trait_kind kind;
	} says[] = {
		{ "Applied FSDP", "fsdp", TRAIT_PARALLEL },
		{ "Applied HSDP", "hsdp", TRAIT_PARALLEL },
		{ "Applied DDP", "ddp", TRAIT_PARALLEL },
		{ "Applied selective activation checkpointing", "selective", TRAIT_CHECKPOINTING },
		{ "Applied full activation checkpointing", "full", TRAIT_CHECKPOINTING },
	};

	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (strstr(s, says[i].words)) {
			log_trait_once(l, says[i].kind, says[i].text, (double)NAN);
			return true;
		}
	return false;
}

static bool line(struct log *l, const char *s)
{
	return titan_step(l, s) || capacity(l, s) || titan_size(l, s) || titan_starts(l, s) ||
	       mesh(l, s) || titan_applied(l, s);
}

static const char *const marks[] = { "tps:",
				     "wps:",
				     "GPU capacity: ",
				     "CUDA capacity: ",
				     "total parameters",
				     "Training starts at step",
				     "Trainer is initialized with",
				     "device mesh with",
				     "Applied FSDP",
				     "Applied HSDP",
				     "Applied DDP",
				     "activation checkpointing to",
				     NULL };
const struct log_reader log_titan = {
	.framework = "torchtitan", .format = "torchtitan log", .marks = marks, .line = line
};
