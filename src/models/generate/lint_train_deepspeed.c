/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSpeed's configuration without ZeRO: sizes of batches that have to multiply, number formats,
 * what costs time. Rules are those of its own checks (runtime/config.py, runtime/engine.py 0.19.6).
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

static const char source[] = "DeepSpeed's sources (runtime/config.py, engine.py)";

static bool lint_deepspeed_on(const struct train_doc *d, const char *section)
{
	const struct markup_node *n;
	char path[64];

	stpcpy(stpcpy(path, section), ".enabled");
	n = train_at(d, path);
	/* "true" in quotes switches it on as well. */
	return train_flag(d, path,
			  n && n->kind == MARKUP_SCALAR && n->quoted &&
				  strcasecmp(n->text, "true") == 0);
}

static void number_formats(const struct train_doc *d)
{
	bool bf16 = lint_deepspeed_on(d, "bf16") || lint_deepspeed_on(d, "bfloat16"),
	     fp16 = lint_deepspeed_on(d, "fp16");
	const char *wire = train_word(d, "communication_data_type");

	if (bf16 && fp16)
		train_finding(d, LINT_ERROR, "contradiction", "fp16",
			      "\"fp16\": {\"enabled\": false}", source,
			      "fp16 and bf16 are both on: DeepSpeed stops with an assertion at the "
			      "start");
	if (lint_deepspeed_on(d, "amp") && (bf16 || fp16))
		train_finding(d, LINT_ERROR, "contradiction", "amp", "take amp out", source,
			      "amp and %s are both on: DeepSpeed refuses that",
			      bf16 ? "bf16" : "fp16");
	if (strcasecmp(wire, "fp32") == 0 && (bf16 || fp16))
		train_finding(d, LINT_NOTE, "wire-fp32", "communication_data_type", NULL, source,
			      "gradients travel as FP32: twice the bytes of %s",
			      bf16 ? "bf16" : "fp16");
	if (strcasecmp(wire, "fp16") == 0 && bf16)
		train_finding(d, LINT_ERROR, "contradiction", "communication_data_type", "bf16",
			      NULL,
			      "gradients are bf16 and travel as fp16, whose range is smaller: they "
			      "overflow");
}

/* Numbers of processes that the sizes of batches allow. */
static void lint_deepspeed_batches(const struct train_doc *d)
{
	double all = train_number(d, "train_batch_size", 0);
	double micro = train_number(d, "train_micro_batch_size_per_gpu", 0);
	double steps = train_number(d, "gradient_accumulation_steps", 0), world;
	size_t gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (lint_deepspeed_on(d, "elasticity") &&
	    !train_flag(d, "elasticity.ignore_non_elastic_batch_info", false) &&
	    (all > 0 || micro > 0 || steps > 0))
		train_finding(d, LINT_ERROR, "contradiction", "elasticity",
			      "take the sizes of batches out", source,
			      "elasticity chooses the sizes of batches itself, and refuses a file "
			      "that has them too");
	if (all <= 0 || micro <= 0)
		return;
	if (fmod(all, micro * (steps > 0 ? steps : 1)) != 0) {
		train_finding(d, LINT_ERROR, "batch-arithmetic", "train_batch_size",
			      arena_printf(d->l->a,
					   "%.0f for each GPU, or leave train_batch_size out",
					   micro * (steps > 0 ? steps : 1)),
			      source,
			      "train_batch_size %.0f is no multiple of micro-batch %.0f x "
			      "accumulation %.0f: no number of GPUs gives it, and DeepSpeed stops",
			      all, micro, steps > 0 ? steps : 1);
		return;
	}
	if (steps <= 0)
		return;
	world = all / (micro * steps);
	if (gpus && fmod(world, (double)gpus) != 0 && fmod((double)gpus, world) != 0)
		train_finding(d, LINT_WARNING, "batch-arithmetic", "train_batch_size", NULL, source,
			      "%.0f = %.0f x %.0f x %.0f data-parallel processes, and this machine "
			      "has %zu GPUs: with another number DeepSpeed stops",
			      all, micro, steps, world, gpus);
}

static void optimizer(const struct train_doc *d)
{
	const char *type = train_word(d, "optimizer.type");
	double stage = train_number(d, "zero_optimization.stage", 0);

	if (train_at(d, "optimizer.params.max_grad_norm"))
		train_finding(
			d, LINT_ERROR, "unknown-key", "optimizer.params.max_grad_norm",
			"gradient_clipping", source,
			"max_grad_norm is no parameter of an optimizer: DeepSpeed refuses it");
	if (stage > 0 &&
	    (strcasecmp(type, "onebitadam") == 0 || strcasecmp(type, "zerooneadam") == 0 ||
	     strcasecmp(type, "onebitlamb") == 0))
		train_finding(d, LINT_ERROR, "contradiction", "optimizer.type", NULL, source,
			      "%s cannot be used with ZeRO: DeepSpeed stops with an assertion",
			      type);
}

static bool any_auto(const struct markup_node *map, const struct markup_node **at, int depth)
{
	for (const struct markup_node *c = map->first; c; c = c->next) {
		if (c->kind == MARKUP_SCALAR && strcmp(c->text, "auto") == 0) {
			*at = c;
			return true;
		}
		if (c->kind == MARKUP_MAP && depth < 4 && any_auto(c, at, depth + 1))
			return true;
	}
	return false;
}

void lint_train_deepspeed(const struct train_doc *d)
{
	const struct markup_node *at;

	number_formats(d);
	lint_deepspeed_batches(d);
	optimizer(d);
	if (any_auto(d->root, &at, 0))
		lint_add(d->l, LINT_NOTE, "auto", at->line, at->key ? at->key->text : "auto", NULL,
			 "transformers and Accelerate documentation",
			 "\"auto\" is filled in by transformers' Trainer and by Accelerate; "
			 "deepspeed.initialize() alone cannot read it as a size of batches");
}

/*
 * DeepSpeed's zero_optimization: what does nothing in this stage, what cannot go together, buckets
 * and overlap, offload. Rules are those of runtime/zero and runtime/engine.py 0.19.6.
 */

static const char zero_source[] = "DeepSpeed's sources (runtime/zero)";

static void only_in_stage(const struct train_doc *d, int stage)
{
	for (size_t i = 0; i < n_train_keys; i++) {
		const struct train_key *k = &train_keys[i];
		int least = k->stages[0], most = k->stages[1];

		if (zero_key_dead(k, stage) && train_at(d, k->path))
			train_finding(
				d, LINT_WARNING, "dead-key", k->path,
				least == most
					? arena_printf(d->l->a, "stage %d, or take it out", least)
					: arena_printf(d->l->a, "stage %d to %d, or take it out",
						       least, most),
				zero_source, "%s does nothing with ZeRO stage %d",
				k->path + strlen("zero_optimization."), stage);
	}
}

static void lint_deepspeed_cannot(const struct train_doc *d, int stage)
{
	bool scatter = train_flag(d, "zero_optimization.reduce_scatter", true);

	if (stage >= 2 && scatter && train_flag(d, "prescale_gradients", false))
		train_finding(d, LINT_ERROR, "contradiction", "prescale_gradients", "false",
			      zero_source,
			      "ZeRO stages 2 and 3 with reduce_scatter refuse prescale_gradients");
	if (stage >= 2 && scatter && train_number(d, "gradient_predivide_factor", 1) != 1)
		train_finding(
			d, LINT_ERROR, "contradiction", "gradient_predivide_factor", "1",
			zero_source,
			"ZeRO stages 2 and 3 with reduce_scatter refuse a factor other than 1");
	if (stage == 3 && strcasecmp(train_word(d, "gradient_allreduce_op"), "sum") == 0)
		train_finding(d, LINT_ERROR, "contradiction", "gradient_allreduce_op", "mean",
			      zero_source, "ZeRO stage 3 refuses \"sum\"");
	if (stage >= 2 && train_at(d, "pipeline.stages") &&
	    train_number(d, "pipeline.stages", 0) > 1)
		train_finding(d, LINT_ERROR, "contradiction", "pipeline.stages", "ZeRO stage 1",
			      zero_source, "pipeline parallelism refuses ZeRO stages 2 and 3");
	if (stage != 3 && train_number(d, "zero_optimization.offload_optimizer.ratio", 1) < 1)
		train_finding(d, LINT_ERROR, "contradiction",
			      "zero_optimization.offload_optimizer.ratio", "1, or stage 3",
			      zero_source,
			      "a part of the optimizer is offloaded with stage 3 alone");
	if (stage < 2 && strcasecmp(train_word(d, "optimizer.type"), "muon") == 0 && stage == 0)
		train_finding(d, LINT_NOTE, "muon", "optimizer.type", NULL, zero_source,
			      "without ZeRO each GPU orthogonalises every matrix itself");
}

static void lint_deepspeed_traffic(const struct train_doc *d, int stage)
{
	double bucket = train_number(d, "zero_optimization.reduce_bucket_size", 5e8);
	bool overlap = train_flag(d, "zero_optimization.overlap_comm", stage == 3);
	bool told = train_at(d, "zero_optimization.overlap_comm") != NULL;

	if (stage > 0 && !overlap)
		train_finding(
			d, told ? LINT_WARNING : LINT_NOTE, "no-overlap",
			told ? "zero_optimization.overlap_comm" : "zero_optimization",
			"\"overlap_comm\": true", zero_source,
			"%sgradients are reduced beside nothing: all of that time is waited for",
			told ? "overlap_comm is off: "
			     : "overlap_comm is off unless it is set (it is on by itself with "
			       "stage 3 alone): ");
	if (stage > 0 && overlap && bucket > 0 && bucket < 1e7)
		train_finding(
			d, LINT_WARNING, "small-bucket", "zero_optimization.reduce_bucket_size",
			"50000000 or more", zero_source,
			"buckets of %.0f elements (%.1f MB in 16 bit): collectives this small "
			"are bound by latency, and overlapping them hides little",
			bucket, bucket * 2 / 1e6);
	if (stage > 0 && overlap && bucket > 1e9)
		train_finding(
			d, LINT_NOTE, "large-bucket", "zero_optimization.reduce_bucket_size",
			"500000000", zero_source,
			"buckets of %.0f elements: with overlap two of them and copies are held, "
			"about %.0f GB",
			bucket, bucket * 2 * 4.5 / 1e9);
	if (stage > 0 && stage < 3 && !train_flag(d, "zero_optimization.reduce_scatter", true))
		train_finding(d, LINT_WARNING, "all-reduce", "zero_optimization.reduce_scatter",
			      "true", zero_source,
			      "each GPU gets all gradients and keeps its part: twice the traffic");
	if (!train_flag(d, "zero_optimization.allgather_partitions", true))
		train_finding(d, LINT_NOTE, "dead-key", "zero_optimization.allgather_partitions",
			      "take it out", zero_source,
			      "0.19.6 reads this key and does nothing with it");
	if (!train_flag(d, "zero_optimization.contiguous_gradients", true))
		train_finding(d, LINT_NOTE, "fragments", "zero_optimization.contiguous_gradients",
			      "true", zero_source,
			      "gradients are not copied together: memory fragments");
	if (stage == 3 && train_at(d, "zero_optimization.stage3_prefetch_bucket_size") &&
	    train_number(d, "zero_optimization.stage3_prefetch_bucket_size", 1) == 0)
		train_finding(d, LINT_WARNING, "no-prefetch",
			      "zero_optimization.stage3_prefetch_bucket_size", "50000000",
			      zero_source,
			      "weights are fetched when they are needed: nothing hides it");
}

static void lint_deepspeed_offload(const struct train_doc *d, const char *what, const char *cost)
{
	const char *section = arena_printf(d->l->a, "zero_optimization.offload_%s", what);
	const char *device = train_word(d, arena_printf(d->l->a, "%s.device", section));

	if (strcasecmp(device, "cpu") != 0 && strcasecmp(device, "nvme") != 0)
		return;
	train_finding(d, LINT_NOTE, "offload", arena_printf(d->l->a, "%s.device", section),
		      "only where it does not fit without: gputune predict training", zero_source,
		      "%s", cost);
	if (!train_flag(d, arena_printf(d->l->a, "%s.pin_memory", section), true))
		train_finding(
			d, LINT_WARNING, "pageable",
			arena_printf(d->l->a, "%s.pin_memory", section), "true", zero_source,
			"copies from memory that is not pinned run at a part of the speed and "
			"beside nothing");
	if (strcasecmp(device, "nvme") == 0 &&
	    !train_at(d, arena_printf(d->l->a, "%s.nvme_path", section)))
		train_finding(d, LINT_ERROR, "no-value", section, "nvme_path", zero_source,
			      "offload to NVMe needs nvme_path");
}

void lint_train_zero(const struct train_doc *d)
{
	double stage = train_number(d, "zero_optimization.stage", 0);
	bool flag;

	if (markup_bool(train_at(d, "zero_optimization"), &flag)) {
		train_finding(d, LINT_WARNING, "old-key", "zero_optimization",
			      "\"zero_optimization\": {\"stage\": 1}", zero_source,
			      "a switch instead of a section is an old form");
		return;
	}
	if (stage < 0 || stage > 3) {
		train_finding(d, LINT_ERROR, "bad-value", "zero_optimization.stage", "0 to 3",
			      zero_source, "there is no ZeRO stage %g", stage);
		return;
	}
	if (!train_at(d, "zero_optimization") ||
	    strcmp(train_word(d, "zero_optimization.stage"), "auto") == 0)
		return;
	only_in_stage(d, (int)stage);
	lint_deepspeed_cannot(d, (int)stage);
	lint_deepspeed_traffic(d, (int)stage);
	if (stage > 0)
		lint_deepspeed_offload(
			d, "optimizer",
			"gradients go to the host, the CPU updates the weights, and these come "
			"back: in each step, over PCIe");
	if (stage == 3)
		lint_deepspeed_offload(
			d, "param",
			"weights come from the host for each forward and backward pass, over PCIe");
}

/*
 * Keys of FSDP, version 1 and 2: what the version does not know, what overlaps nothing. Facts of
 * Accelerate's FullyShardedDataParallelPlugin (utils/dataclasses.py, 1.15.0) and of what the
 * Trainer hands to it (training_args.py, 5.17.0).
 */

static const char fsdp_source[] = "Accelerate's sources (utils/dataclasses.py)";
static const char trainer_source[] = "transformers' sources (training_args.py)";

/* With or without "fsdp_" in front. */
static const struct markup_node *lint_deepspeed_key(const struct markup_node *fsdp,
						    const char *name)
{
	const struct markup_node *n = markup_get(fsdp, name);
	char full[64] = "fsdp_";

	if (!n && strlen(name) < sizeof(full) - 6) {
		stpcpy(full + 5, name);
		n = markup_get(fsdp, full);
	}
	return n && !markup_null(n) ? n : NULL;
}

static void lint_deepspeed_add(const struct train_doc *d, enum lint_level level, const char *code,
			       const struct markup_node *n, const char *fix, const char *says)
{
	lint_add(d->l, level, code, n->key ? n->key->line : n->line, n->key ? n->key->text : "",
		 fix, fsdp_source, "%s", says);
}

static bool is(const struct markup_node *n, bool usual)
{
	bool v;

	return n && markup_bool(n, &v) ? v : usual;
}

static bool called(const struct markup_node *n, const char *name)
{
	const char *s = markup_text(n);

	return s && strcasecmp(s, name) == 0;
}

static void version_two(const struct train_doc *d, const struct markup_node *fsdp)
{
	static const struct {
		const char *name, *fix;
	} gone[] = {
		{ "sharding_strategy", "fsdp_reshard_after_forward: true or false" },
		{ "backward_prefetch", "take it out: version 2 prefetches by itself" },
		{ "forward_prefetch", "take it out" },
		{ "use_orig_params", "take it out: version 2 always does" },
		{ "sync_module_states", "take it out" },
		{ "limit_all_gathers", "take it out" },
	};
	const struct markup_node *n;
	bool v;

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		n = lint_deepspeed_key(fsdp, gone[i].name);
		if (n)
			lint_deepspeed_add(
				d, LINT_WARNING, "dead-key", n, gone[i].fix,
				arena_printf(d->l->a,
					     "%s is a key of FSDP 1: version 2 does not use it",
					     gone[i].name));
	}
	n = lint_deepspeed_key(fsdp, "reshard_after_forward");
	if (n && !markup_bool(n, &v))
		lint_deepspeed_add(
			d, LINT_ERROR, "bad-value", n,
			called(n, "SHARD_GRAD_OP") || called(n, "NO_SHARD") ? "false" : "true",
			"FSDP 2 takes true or false here: the words are those of version 1");
	n = lint_deepspeed_key(fsdp, "state_dict_type");
	if (n && called(n, "LOCAL_STATE_DICT"))
		lint_deepspeed_add(d, LINT_ERROR, "bad-value", n, "SHARDED_STATE_DICT",
				   "FSDP 2 has no LOCAL_STATE_DICT");
}

static void version_one(const struct train_doc *d, const struct markup_node *fsdp)
{
	const struct markup_node *n = lint_deepspeed_key(fsdp, "reshard_after_forward");
	bool v;

	if (n && markup_bool(n, &v))
		lint_deepspeed_add(d, LINT_ERROR, "bad-value", n, "fsdp_version: 2",
				   "true and false are of FSDP 2; version 1 (the usual one) takes "
				   "FULL_SHARD and "
				   "the like");
	n = lint_deepspeed_key(fsdp, "cpu_ram_efficient_loading");
	if (is(n, false) && !is(lint_deepspeed_key(fsdp, "sync_module_states"), true))
		lint_deepspeed_add(
			d, LINT_ERROR, "contradiction", n, "sync_module_states: true",
			"all ranks but the first have empty weights, and nobody sends them any");
	n = lint_deepspeed_key(fsdp, "backward_prefetch");
	if (n && (called(n, "NO_PREFETCH") || called(n, "BACKWARD_POST")))
		lint_deepspeed_add(
			d, LINT_WARNING, "no-prefetch", n, "BACKWARD_PRE",
			called(n, "NO_PREFETCH")
				? "the next weights are gathered when they are needed: nothing "
				  "hides it"
				: "the next weights are gathered after the computation that could "
				  "hide it");
	n = d->format == ACCELERATE_FILE ? lint_deepspeed_key(fsdp, "sharding_strategy") : NULL;
	if (n && (called(n, "NO_SHARD") || called(n, "3")))
		lint_deepspeed_add(d, LINT_NOTE, "no-shard", n, "DDP",
				   "nothing is sharded: that is DDP, slower");
}

/* Accelerate's own file and variables have these; the Trainer hands others on to its plugin. */
static void of_accelerate(const struct train_doc *d, const struct markup_node *n, const char *fix,
			  const char *word)
{
	if (n)
		lint_add(
			d->l, LINT_WARNING, "dead-key", n->key ? n->key->line : n->line,
			n->key ? n->key->text : "", fix, trainer_source,
			"transformers' Trainer does not read it: %s does it in 5.17, %s in fsdp in "
			"version 4",
			fix, word);
}

void lint_train_fsdp(const struct train_doc *d, const struct markup_node *fsdp)
{
	const struct markup_node *version, *wrap, *n;
	double number = 1;

	if (!fsdp || fsdp->kind != MARKUP_MAP)
		return;
	version = lint_deepspeed_key(fsdp, "version");
	if (!markup_number(version, &number))
		number = 1;
	if (!version && d->format != ACCELERATE_FILE)
		lint_deepspeed_add(d, LINT_NOTE, "fsdp-version", fsdp, "version: 2",
				   "without it transformers 4 takes FSDP 1, and 5.17 FSDP 2: what "
				   "the other keys "
				   "do depends on that");
	else if (number != 1 && number != 2)
		lint_deepspeed_add(d, LINT_ERROR, "bad-value", version, "2",
				   "there are versions 1 and 2");
	else if (number == 2)
		version_two(d, fsdp);
	else
		version_one(d, fsdp);
	wrap = lint_deepspeed_key(fsdp, "auto_wrap_policy");
	if (wrap && called(wrap, "NO_WRAP"))
		lint_deepspeed_add(d, LINT_WARNING, "one-unit", wrap, "TRANSFORMER_BASED_WRAP",
				   "the whole model is one unit: all weights are gathered at once, "
				   "and nothing "
				   "hides it");
	n = lint_deepspeed_key(fsdp, "transformer_layer_cls_to_wrap");
	if (wrap && n && called(wrap, "SIZE_BASED_WRAP"))
		lint_deepspeed_add(d, LINT_WARNING, "dead-key", n, "TRANSFORMER_BASED_WRAP",
				   "with SIZE_BASED_WRAP classes are not looked at");
	if (d->format != ACCELERATE_FILE)
		of_accelerate(d, lint_deepspeed_key(fsdp, "offload_params"), "cpu_offload",
			      "the word offload");
	if (d->format != ACCELERATE_FILE && number != 2)
		of_accelerate(d, lint_deepspeed_key(fsdp, "sharding_strategy"),
			      "reshard_after_forward", "a word like full_shard");
	n = lint_deepspeed_key(fsdp,
			       d->format == ACCELERATE_FILE ? "offload_params" : "cpu_offload");
	if (is(n, false))
		lint_deepspeed_add(d, LINT_NOTE, "offload", n,
				   "only where it does not fit without: gputune predict training",
				   "weights and gradients go over PCIe in each step, and the CPU "
				   "updates them");
}

/*
 * Arguments of transformers' Trainer, in a file or behind a command: number formats, recomputation,
 * loaders of data, what two of them together cannot be. Facts of transformers' sources and of
 * PyTorch's DataLoader, DistributedDataParallel and FSDP documentation, read 2026-11-21.
 */

static const char lint_train_trainer_source[] = "transformers documentation (Trainer)";
static const char torch_source[] = "PyTorch documentation";

static bool lint_deepspeed_set(const struct train_doc *d, const char *key)
{
	const struct markup_node *n = train_at(d, key);
	bool v;

	if (!n || (n->kind == MARKUP_SCALAR && !*n->text))
		return false;
	if ((n->kind == MARKUP_LIST || n->kind == MARKUP_MAP) && !n->first)
		return false;
	return !markup_bool(n, &v) || v;
}

static void trainer_number_formats(const struct train_doc *d)
{
	bool bf16 = train_flag(d, "bf16", false), fp16 = train_flag(d, "fp16", false);

	if (bf16 && fp16)
		train_finding(d, LINT_ERROR, "contradiction", "fp16", "one of them",
			      lint_train_trainer_source,
			      "fp16 and bf16 are both on: the Trainer stops with an error");
	if (!d->command && !bf16 && !fp16 && train_at(d, "tf32") && !train_flag(d, "tf32", true))
		train_finding(d, LINT_WARNING, "fp32", "tf32", "bf16: true",
			      lint_train_trainer_source,
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
		train_finding(
			d, LINT_WARNING, "reentrant", "gradient_checkpointing_kwargs",
			"use_reentrant: false", torch_source,
			"re-entrant checkpointing recomputes all of a block, runs the backward "
			"pass in one of its own, and fails with DDP's unused parameters");
	else if (on && !how && !(kwargs && kwargs->kind == MARKUP_SCALAR))
		train_finding(
			d, LINT_NOTE, "reentrant", "gradient_checkpointing",
			"gradient_checkpointing_kwargs: {use_reentrant: false}", torch_source,
			"which kind of checkpointing is used depends on the releases of PyTorch "
			"and transformers");
	if (on && reentrant && train_flag(d, "ddp_find_unused_parameters", false))
		train_finding(d, LINT_ERROR, "contradiction", "ddp_find_unused_parameters", "false",
			      torch_source,
			      "with re-entrant gradient checkpointing parameters are marked ready "
			      "twice: DDP stops with an error");
	if (on && lint_deepspeed_set(d, "fsdp") &&
	    train_flag(d, "fsdp_config.activation_checkpointing", false))
		train_finding(d, LINT_ERROR, "contradiction", "gradient_checkpointing", "false",
			      lint_train_trainer_source,
			      "checkpointing is on twice: here and in fsdp_config");
	else if (on && lint_deepspeed_set(d, "fsdp") && strstr(train_word(d, "fsdp"), "full_shard"))
		train_finding(d, LINT_WARNING, "gathered-twice", "gradient_checkpointing",
			      "fsdp_config: {activation_checkpointing: true}",
			      lint_train_trainer_source,
			      "with full shard this gathers the weights once more in the backward "
			      "pass; FSDP's own checkpointing does not");
}

static void lint_deepspeed_together(const struct train_doc *d)
{
	double eval = train_number(d, "eval_steps", 0), save = train_number(d, "save_steps", 0);
	const char *when = train_word(d, train_at(d, "eval_strategy") ? "eval_strategy"
								      : "evaluation_strategy");

	if (lint_deepspeed_set(d, "deepspeed") && lint_deepspeed_set(d, "fsdp"))
		train_finding(d, LINT_ERROR, "contradiction", "fsdp", "one of them",
			      lint_train_trainer_source,
			      "deepspeed and fsdp are both on: each wants to shard the model");
	/* By epochs neither number counts. */
	if (train_flag(d, "load_best_model_at_end", false) && eval >= 1 && save >= 1 &&
	    (!*when || strcasecmp(when, "steps") == 0) && fmod(save, eval) != 0)
		train_finding(
			d, LINT_ERROR, "contradiction", "save_steps", "a multiple of eval_steps",
			lint_train_trainer_source,
			"load_best_model_at_end: save_steps %g is no multiple of eval_steps %g, "
			"and the Trainer stops",
			save, eval);
	if (lint_deepspeed_set(d, "warmup_ratio") && train_number(d, "warmup_steps", 0) > 0)
		train_finding(d, LINT_NOTE, "dead-key", "warmup_ratio", "take it out",
			      lint_train_trainer_source, "warmup_steps overrides it");
	if (train_number(d, "max_steps", -1) > 0 && lint_deepspeed_set(d, "num_train_epochs"))
		train_finding(d, LINT_NOTE, "dead-key", "num_train_epochs", "take it out",
			      lint_train_trainer_source, "max_steps overrides it");
}

static void lint_deepspeed_loader(const struct train_doc *d)
{
	bool told = train_at(d, "dataloader_num_workers") != NULL;
	double workers = train_number(d, "dataloader_num_workers", 0);
	size_t cpus = train_cpus(d->l), gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (workers <= 0 && train_number(d, "dataloader_prefetch_factor", 0) > 0)
		train_finding(d, LINT_ERROR, "contradiction", "dataloader_prefetch_factor",
			      "dataloader_num_workers: 2 or more", torch_source,
			      "without loader workers a prefetch factor is an error of DataLoader");
	if (workers <= 0 && train_flag(d, "dataloader_persistent_workers", false))
		train_finding(d, LINT_ERROR, "contradiction", "dataloader_persistent_workers",
			      "dataloader_num_workers: 2 or more", torch_source,
			      "without loader workers none can be kept: an error of DataLoader");
	if (told && workers <= 0)
		train_finding(d, LINT_WARNING, "no-workers", "dataloader_num_workers", "2 or more",
			      torch_source,
			      "the training process loads each batch itself while the GPU waits");
	if (workers > 0 && cpus && gpus && workers * (double)gpus > (double)cpus)
		train_finding(d, LINT_WARNING, "too-many-workers", "dataloader_num_workers",
			      arena_printf(d->l->a, "%zu", cpus / gpus > 2 ? cpus / gpus - 1 : 1),
			      NULL,
			      "%.0f workers for each of %zu GPUs are %.0f processes on %zu CPUs",
			      workers, gpus, workers * (double)gpus, cpus);
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
			train_finding(d, LINT_ERROR, "bad-value", "fsdp",
				      "full_shard, shard_grad_op, no_shard, hybrid_shard, "
				      "hybrid_shard_zero2, offload, auto_wrap",
				      lint_train_trainer_source,
				      "\"%.*s\" is no word that fsdp knows", (int)n, at);
		at += n + strspn(at + n, " ,");
	}
	if (strstr(fsdp, "offload"))
		train_finding(d, LINT_NOTE, "offload", "fsdp",
			      "only where it does not fit without: gputune predict training",
			      lint_train_trainer_source,
			      "weights and gradients go over PCIe in each step");
	if (!strstr(fsdp, "auto_wrap") && strstr(fsdp, "shard"))
		train_finding(d, LINT_WARNING, "one-unit", "fsdp",
			      arena_printf(d->l->a, "%.60s auto_wrap", fsdp),
			      lint_train_trainer_source,
			      "the whole model is one unit: all weights are gathered at once and "
			      "nothing hides it");
}

void lint_train_trainer(const struct train_doc *d)
{
	trainer_number_formats(d);
	recomputation(d);
	lint_deepspeed_together(d);
	lint_deepspeed_loader(d);
	if (strstr(train_word(d, "debug"), "underflow_overflow"))
		train_finding(d, LINT_WARNING, "slow", "debug", "take it out",
			      lint_train_trainer_source,
			      "each module's values are looked at; it is for finding faults");
	sharding(d);
}
