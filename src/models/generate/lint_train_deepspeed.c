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

static bool on(const struct train_doc *d, const char *section)
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
	bool bf16 = on(d, "bf16") || on(d, "bfloat16"), fp16 = on(d, "fp16");
	const char *wire = train_word(d, "communication_data_type");

	if (bf16 && fp16)
		train_say(d, LINT_ERROR, "contradiction", "fp16", "\"fp16\": {\"enabled\": false}",
			  source,
			  "fp16 and bf16 are both on: DeepSpeed stops with an assertion at the "
			  "start");
	if (on(d, "amp") && (bf16 || fp16))
		train_say(d, LINT_ERROR, "contradiction", "amp", "take amp out", source,
			  "amp and %s are both on: DeepSpeed refuses that", bf16 ? "bf16" : "fp16");
	if (fp16 && train_number(d, "fp16.loss_scale", 0) > 0)
		train_say(d, LINT_WARNING, "loss-scale", "fp16.loss_scale", "0: it finds its own",
			  source,
			  "a fixed loss scale of %g: one overflow is one lost step, each time",
			  train_number(d, "fp16.loss_scale", 0));
	if (strcasecmp(wire, "fp32") == 0 && (bf16 || fp16))
		train_say(d, LINT_NOTE, "wire-fp32", "communication_data_type", NULL, source,
			  "gradients travel as FP32: twice the bytes of %s",
			  bf16 ? "bf16" : "fp16");
	if (strcasecmp(wire, "fp16") == 0 && bf16)
		train_say(d, LINT_ERROR, "contradiction", "communication_data_type", "bf16", NULL,
			  "gradients are bf16 and travel as fp16, whose range is smaller: they "
			  "overflow");
}

/* What is a number, and none that can be. */
static void ranges(const struct train_doc *d)
{
	static const struct {
		const char *path;
		double least;
		const char *says;
	} all[] = {
		{ "train_batch_size", 1, "samples of a step" },
		{ "train_micro_batch_size_per_gpu", 1, "samples of a GPU" },
		{ "gradient_accumulation_steps", 1, "micro-batches of a step" },
		{ "gradient_clipping", 0, "a norm, or 0 for none" },
		{ "zero_optimization.reduce_bucket_size", 1, "elements of a message" },
		{ "zero_optimization.allgather_bucket_size", 1, "elements of a message" },
		{ "fp16.loss_scale", 0, "a factor, or 0 to find its own" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		double v = train_number(d, all[i].path, all[i].least);

		if (v < all[i].least)
			train_say(d, LINT_ERROR, "bad-value", all[i].path,
				  arena_printf(d->l->a, "%g or more", all[i].least), source,
				  "%s is %g: it has to be %g or more (%s)", all[i].path, v,
				  all[i].least, all[i].says);
	}
}

/* Numbers of processes that the sizes of batches allow. */
static void batches(const struct train_doc *d)
{
	double all = train_number(d, "train_batch_size", 0);
	double micro = train_number(d, "train_micro_batch_size_per_gpu", 0);
	double steps = train_number(d, "gradient_accumulation_steps", 0), world;
	size_t gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (on(d, "elasticity") &&
	    !train_flag(d, "elasticity.ignore_non_elastic_batch_info", false) &&
	    (all > 0 || micro > 0 || steps > 0))
		train_say(d, LINT_ERROR, "contradiction", "elasticity",
			  "take the sizes of batches out", source,
			  "elasticity chooses the sizes of batches itself, and refuses a file "
			  "that has them too");
	if (all <= 0 || micro <= 0)
		return;
	if (fmod(all, micro * (steps > 0 ? steps : 1)) != 0) {
		train_say(d, LINT_ERROR, "batch-arithmetic", "train_batch_size",
			  arena_printf(d->l->a, "%.0f for each GPU, or leave train_batch_size out",
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
		train_say(d, LINT_WARNING, "batch-arithmetic", "train_batch_size", NULL, source,
			  "%.0f = %.0f x %.0f x %.0f data-parallel processes, and this machine "
			  "has %zu GPUs: with another number DeepSpeed stops",
			  all, micro, steps, world, gpus);
}

static void left_over(const struct train_doc *d)
{
	static const struct {
		const char *path, *does;
	} slow[] = {
		{ "wall_clock_breakdown", "its timers wait for the GPU several times a step" },
		{ "comms_logger.enabled", "each collective is waited for and timed" },
		{ "flops_profiler.enabled",
		  "it times every module of a step, and turns wall_clock_breakdown on" },
		{ "memory_breakdown", "memory is read and printed in each step" },
		{ "dump_state", "all of the configuration is printed" },
	};

	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (train_flag(d, slow[i].path, false))
			train_say(d, LINT_NOTE, "measuring-left", slow[i].path,
				  "false when all is measured", source, "%s is on: %s",
				  slow[i].path, slow[i].does);
	if (train_number(d, "steps_per_print", 10) == 1)
		train_say(d, LINT_NOTE, "measuring-left", "steps_per_print", "10 or more", source,
			  "a line is printed in every step");
}

static void optimizer(const struct train_doc *d)
{
	const char *type = train_word(d, "optimizer.type");
	double stage = train_number(d, "zero_optimization.stage", 0);

	if (train_at(d, "optimizer.params.max_grad_norm"))
		train_say(d, LINT_ERROR, "unknown-key", "optimizer.params.max_grad_norm",
			  "gradient_clipping", source,
			  "max_grad_norm is no parameter of an optimizer: DeepSpeed refuses it");
	if (stage > 0 &&
	    (strcasecmp(type, "onebitadam") == 0 || strcasecmp(type, "zerooneadam") == 0 ||
	     strcasecmp(type, "onebitlamb") == 0))
		train_say(d, LINT_ERROR, "contradiction", "optimizer.type", NULL, source,
			  "%s cannot be used with ZeRO: DeepSpeed stops with an assertion", type);
	if (train_number(d, "gradient_clipping", 1) == 0)
		train_say(d, LINT_NOTE, "no-clipping", "gradient_clipping", NULL, source,
			  "0: gradients are not clipped");
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
	ranges(d);
	batches(d);
	left_over(d);
	optimizer(d);
	if (any_auto(d->root, &at, 0))
		lint_add(d->l, LINT_NOTE, "auto", at->line, at->key ? at->key->text : "auto", NULL,
			 "transformers and Accelerate documentation",
			 "\"auto\" is filled in by transformers' Trainer and by Accelerate; "
			 "deepspeed.initialize() alone cannot read it as a size of batches");
	if (train_at(d, "activation_checkpointing") &&
	    train_flag(d, "activation_checkpointing.cpu_checkpointing", false))
		train_say(d, LINT_WARNING, "offload", "activation_checkpointing.cpu_checkpointing",
			  "only where nothing else fits", source,
			  "kept activations are copied to the host and back in each step");
}
