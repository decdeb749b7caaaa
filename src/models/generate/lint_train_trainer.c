/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of transformers' Trainer, in a file or behind a command: number formats, recomputation,
 * loaders of data, what two of them together cannot be. Facts of transformers' sources and of
 * PyTorch's DataLoader, DistributedDataParallel and FSDP documentation, read 2026-11-21.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

static const char source[] = "transformers documentation (Trainer)";
static const char torch_source[] = "PyTorch documentation";

static bool set(const struct train_doc *d, const char *key)
{
	const struct markup_node *n = train_at(d, key);
	bool v;

	if (!n || (n->kind == MARKUP_SCALAR && !*n->text))
		return false;
	if ((n->kind == MARKUP_LIST || n->kind == MARKUP_MAP) && !n->first)
		return false;
	return !markup_bool(n, &v) || v;
}

static void number_formats(const struct train_doc *d)
{
	bool bf16 = train_flag(d, "bf16", false), fp16 = train_flag(d, "fp16", false);

	if (bf16 && fp16)
		train_say(d, LINT_ERROR, "contradiction", "fp16", "one of them", source,
			  "fp16 and bf16 are both on: the Trainer stops with an error");
	if (!d->command && !bf16 && !fp16 && train_at(d, "tf32") && !train_flag(d, "tf32", true))
		train_say(d, LINT_WARNING, "fp32", "tf32", "bf16: true", source,
			  "neither bf16 nor fp16 nor tf32: all multiplications run as FP32, "
			  "without tensor cores");
}

static void recomputation(const struct train_doc *d)
{
	const struct markup_node *kwargs =
		markup_real(train_at(d, "gradient_checkpointing_kwargs"));
	const struct markup_node *how = kwargs ? markup_get(kwargs, "use_reentrant") : NULL;
	bool reentrant = true, on = train_flag(d, "gradient_checkpointing", false);

	if (how)
		markup_bool(how, &reentrant);
	if (on && how && reentrant)
		train_say(d, LINT_WARNING, "reentrant", "gradient_checkpointing_kwargs",
			  "use_reentrant: false", torch_source,
			  "re-entrant checkpointing recomputes all of a block, runs the backward "
			  "pass in one of its own, and fails with DDP's unused parameters");
	else if (on && !how && !(kwargs && kwargs->kind == MARKUP_SCALAR))
		train_say(d, LINT_NOTE, "reentrant", "gradient_checkpointing",
			  "gradient_checkpointing_kwargs: {use_reentrant: false}", torch_source,
			  "which kind of checkpointing is used depends on the releases of PyTorch "
			  "and transformers");
	if (on && reentrant && train_flag(d, "ddp_find_unused_parameters", false))
		train_say(d, LINT_ERROR, "contradiction", "ddp_find_unused_parameters", "false",
			  torch_source,
			  "with re-entrant gradient checkpointing parameters are marked ready "
			  "twice: DDP stops with an error");
	if (on && set(d, "fsdp") && train_flag(d, "fsdp_config.activation_checkpointing", false))
		train_say(d, LINT_ERROR, "contradiction", "gradient_checkpointing", "false", source,
			  "checkpointing is on twice: here and in fsdp_config");
	else if (on && set(d, "fsdp") && strstr(train_word(d, "fsdp"), "full_shard"))
		train_say(d, LINT_WARNING, "gathered-twice", "gradient_checkpointing",
			  "fsdp_config: {activation_checkpointing: true}", source,
			  "with full shard this gathers the weights once more in the backward "
			  "pass; FSDP's own checkpointing does not");
}

static void together(const struct train_doc *d)
{
	double eval = train_number(d, "eval_steps", 0), save = train_number(d, "save_steps", 0);
	const char *when = train_word(d, train_at(d, "eval_strategy") ? "eval_strategy"
								      : "evaluation_strategy");

	if (set(d, "deepspeed") && set(d, "fsdp"))
		train_say(d, LINT_ERROR, "contradiction", "fsdp", "one of them", source,
			  "deepspeed and fsdp are both on: each wants to shard the model");
	/* By epochs neither number counts. */
	if (train_flag(d, "load_best_model_at_end", false) && eval >= 1 && save >= 1 &&
	    (!*when || strcasecmp(when, "steps") == 0) && fmod(save, eval) != 0)
		train_say(d, LINT_ERROR, "contradiction", "save_steps", "a multiple of eval_steps",
			  source,
			  "load_best_model_at_end: save_steps %g is no multiple of eval_steps %g, "
			  "and the Trainer stops",
			  save, eval);
	if (set(d, "warmup_ratio") && train_number(d, "warmup_steps", 0) > 0)
		train_say(d, LINT_NOTE, "dead-key", "warmup_ratio", "take it out", source,
			  "warmup_steps overrides it");
	if (train_number(d, "max_steps", -1) > 0 && set(d, "num_train_epochs"))
		train_say(d, LINT_NOTE, "dead-key", "num_train_epochs", "take it out", source,
			  "max_steps overrides it");
	if (train_flag(d, "auto_find_batch_size", false))
		train_say(d, LINT_WARNING, "batch-changes", "auto_find_batch_size",
			  "the largest that fits: gputune predict training", source,
			  "after running out of memory it goes on with half the batch, and the "
			  "global batch is another one without a word");
}

static void loader(const struct train_doc *d)
{
	bool told = train_at(d, "dataloader_num_workers") != NULL;
	double workers = train_number(d, "dataloader_num_workers", 0);
	size_t cpus = train_cpus(d->l), gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (workers <= 0 && train_number(d, "dataloader_prefetch_factor", 0) > 0)
		train_say(d, LINT_ERROR, "contradiction", "dataloader_prefetch_factor",
			  "dataloader_num_workers: 2 or more", torch_source,
			  "without loader workers a prefetch factor is an error of DataLoader");
	if (workers <= 0 && train_flag(d, "dataloader_persistent_workers", false))
		train_say(d, LINT_ERROR, "contradiction", "dataloader_persistent_workers",
			  "dataloader_num_workers: 2 or more", torch_source,
			  "without loader workers none can be kept: an error of DataLoader");
	if (told && workers <= 0)
		train_say(d, LINT_WARNING, "no-workers", "dataloader_num_workers", "2 or more",
			  torch_source,
			  "the training process loads each batch itself while the GPU waits");
	if (workers > 0 && cpus && gpus && workers * (double)gpus > (double)cpus)
		train_say(d, LINT_WARNING, "too-many-workers", "dataloader_num_workers",
			  arena_printf(d->l->a, "%zu", cpus / gpus > 2 ? cpus / gpus - 1 : 1), NULL,
			  "%.0f workers for each of %zu GPUs are %.0f processes on %zu CPUs",
			  workers, gpus, workers * (double)gpus, cpus);
	if (!train_flag(d, "dataloader_pin_memory", true))
		train_say(d, LINT_WARNING, "pageable", "dataloader_pin_memory", "true",
			  torch_source,
			  "batches are copied from memory that is not pinned: slower, and the "
			  "training process waits for it");
}

static void slow(const struct train_doc *d)
{
	static const struct {
		const char *key, *says, *fix;
	} flags[] = {
		{ "full_determinism", "deterministic kernels are slower; it is for finding faults",
		  "false" },
		{ "ddp_find_unused_parameters",
		  "DDP walks the graph in each step to find what got no gradient", "false" },
	};
	const char *backend = train_word(d, "ddp_backend");
	double bucket = train_number(d, "ddp_bucket_cap_mb", 25);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (train_flag(d, flags[i].key, false))
			train_say(d, LINT_WARNING, "slow", flags[i].key, flags[i].fix, source,
				  "%s: %s", flags[i].key, flags[i].says);
	if (!train_flag(d, "skip_memory_metrics", true))
		train_say(d, LINT_WARNING, "slow", "skip_memory_metrics", "true", source,
			  "memory is traced in each step");
	if (strcmp(backend, "gloo") == 0 || strcmp(backend, "mpi") == 0)
		train_say(d, LINT_ERROR, "harmful", "ddp_backend", "nccl", torch_source,
			  "%s takes gradients through host memory", backend);
	if (bucket < 10)
		train_say(d, LINT_WARNING, "small-bucket", "ddp_bucket_cap_mb", "25 or more",
			  torch_source,
			  "buckets of %g MB: collectives this small are bound by latency", bucket);
	if (train_number(d, "logging_steps", 500) == 1)
		train_say(d, LINT_NOTE, "measuring-left", "logging_steps", "10 or more", source,
			  "the loss is fetched in every step, and the CPU waits for the GPU");
	if (train_number(d, "torch_empty_cache_steps", 0) > 0)
		train_say(d, LINT_NOTE, "slow", "torch_empty_cache_steps", "take it out", source,
			  "memory is given back and taken again each time");
	if (strstr(train_word(d, "debug"), "underflow_overflow"))
		train_say(d, LINT_WARNING, "slow", "debug", "take it out", source,
			  "each module's values are looked at; it is for finding faults");
}

static void sharding(const struct train_doc *d)
{
	const char *fsdp = train_word(d, "fsdp");

	static const char words[][20] = {
		"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2",
		"offload",    "auto_wrap",     "true",	   "false"
	};

	if (!*fsdp)
		return;
	for (const char *at = fsdp; *at && !strpbrk(fsdp, "$<{[");) {
		size_t n = strcspn(at, " ,"), k = 0;

		while (k < sizeof(words) / sizeof(words[0]) &&
		       (strlen(words[k]) != n || strncasecmp(words[k], at, n) != 0))
			k++;
		if (n && k == sizeof(words) / sizeof(words[0]))
			train_say(d, LINT_ERROR, "bad-value", "fsdp",
				  "full_shard, shard_grad_op, no_shard, hybrid_shard, "
				  "hybrid_shard_zero2, offload, auto_wrap",
				  source, "\"%.*s\" is no word that fsdp knows", (int)n, at);
		at += n + strspn(at + n, " ,");
	}
	if (strstr(fsdp, "offload"))
		train_say(d, LINT_NOTE, "offload", "fsdp",
			  "only where it does not fit without: gputune predict training", source,
			  "weights and gradients go over PCIe in each step");
	if (!strstr(fsdp, "auto_wrap") && strstr(fsdp, "shard"))
		train_say(d, LINT_WARNING, "one-unit", "fsdp",
			  arena_printf(d->l->a, "%.60s auto_wrap", fsdp), source,
			  "the whole model is one unit: all weights are gathered at once and "
			  "nothing hides it");
}

void lint_train_trainer(const struct train_doc *d)
{
	number_formats(d);
	recomputation(d);
	together(d);
	loader(d);
	slow(d);
	sharding(d);
}
