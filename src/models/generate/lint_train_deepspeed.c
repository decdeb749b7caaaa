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

/* Numbers of processes that the sizes of batches allow. */
static void lint_deepspeed_batches(const struct train_doc *d)
{
	double all = train_number(d, "train_batch_size", 0);
	double micro = train_number(d, "train_micro_batch_size_per_gpu", 0);
	double steps = train_number(d, "gradient_accumulation_steps", 0), world;
	size_t gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (all <= 0 || micro <= 0)
		return;
	if (fmod(all, micro * (steps > 0 ? steps : 1)) != 0) {
		train_finding(d, LINT_ERROR, "batch-arithmetic", "train_batch_size",
			      arena_printf(d->l->a, "%.0f per GPU, or remove train_batch_size",
					   micro * (steps > 0 ? steps : 1)),
			      source,
			      "train_batch_size %.0f is not a multiple of micro-batch %.0f x "
			      "accumulation %.0f: DeepSpeed fails with any number of GPUs",
			      all, micro, steps > 0 ? steps : 1);
		return;
	}
	if (steps <= 0)
		return;
	world = all / (micro * steps);
	if (gpus && fmod(world, (double)gpus) != 0 && fmod((double)gpus, world) != 0)
		train_finding(d, LINT_WARNING, "batch-arithmetic", "train_batch_size", NULL, source,
			      "%.0f = %.0f x %.0f x %.0f data-parallel processes, but the machine "
			      "has %zu GPU%s: DeepSpeed fails if they differ",
			      all, micro, steps, world, gpus, PLURAL(gpus));
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

	lint_deepspeed_batches(d);
	if (any_auto(d->root, &at, 0))
		lint_add(d->l, LINT_NOTE, "auto", at->line, at->key ? at->key->text : "auto", NULL,
			 "transformers and Accelerate documentation",
			 "\"auto\" is filled in by transformers' Trainer and by Accelerate; "
			 "deepspeed.initialize() does not accept it as a batch size");
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
					? arena_printf(d->l->a, "stage %d, or remove it", least)
					: arena_printf(d->l->a, "stage %d to %d, or remove it",
						       least, most),
				zero_source, "%s has no effect with ZeRO stage %d",
				k->path + strlen("zero_optimization."), stage);
	}
}

void lint_train_zero(const struct train_doc *d)
{
	double stage = train_number(d, "zero_optimization.stage", 0);

	if (stage < 0 || stage > 3)
		return;
	if (!train_at(d, "zero_optimization") ||
	    strcmp(train_word(d, "zero_optimization.stage"), "auto") == 0)
		return;
	only_in_stage(d, (int)stage);
}

/*
 * FSDP, version 1 and 2. Its keys stand with or without "fsdp_" in front.
 */
struct fsdp_map {
	const struct train_doc *d;
	const struct markup_node *map;
};

static const char *fsdp_value(void *ctx, const char *name, unsigned *line)
{
	const struct fsdp_map *f = ctx;
	const struct markup_node *n = markup_get(f->map, name);

	if (strcmp(name, ".file") == 0)
		return f->d->format == ACCELERATE_FILE ? "accelerate" : "other";
	if (!n)
		n = markup_get(f->map, arena_printf(f->d->l->a, "fsdp_%s", name));
	if (n && !markup_null(n))
		return train_value(n, line);
	/* Without a version Accelerate takes 1, transformers one or the other. */
	if (strcmp(name, "version") == 0)
		return f->d->format == ACCELERATE_FILE ? "1" : "unknown";
	return NULL;
}

void lint_train_fsdp(const struct train_doc *d, const struct markup_node *fsdp)
{
	struct fsdp_map f = { d, fsdp };
	unsigned line;

	if (!fsdp || fsdp->kind != MARKUP_MAP)
		return;
	lint_values(&(struct lint_values){ d->l, VALUE_FSDP, fsdp_value, &f });
	if (d->format != ACCELERATE_FILE &&
	    strcmp(fsdp_value(&f, "version", &line), "unknown") == 0)
		lint_add(d->l, LINT_NOTE, "fsdp-version", fsdp->key ? fsdp->key->line : fsdp->line,
			 fsdp->key ? fsdp->key->text : "", "version: 2",
			 "Accelerate's sources (utils/dataclasses.py)",
			 "the default is FSDP 1 in transformers 4 and FSDP 2 in 5.17, which "
			 "changes the meaning of the other keys");
}

/*
 * Arguments of transformers' Trainer, in a file or behind a command: number formats, recomputation,
 * loaders of data, what two of them together cannot be. Facts of transformers' sources and of
 * PyTorch's DataLoader, DistributedDataParallel and FSDP documentation, read 2026-11-21.
 */

static const char lint_train_trainer_source[] = "transformers documentation (Trainer)";

static bool lint_deepspeed_set(const struct train_doc *d, const char *key)
{
	const struct markup_node *n = train_at(d, key);
	bool v;

	if (!n || (n->kind == MARKUP_SCALAR && !*n->text))
		return false;
	return ((n->kind != MARKUP_LIST && n->kind != MARKUP_MAP) || n->first) &&
	       (!markup_bool(n, &v) || v);
}

static void lint_deepspeed_together(const struct train_doc *d)
{
	double eval = train_number(d, "eval_steps", 0), save = train_number(d, "save_steps", 0);
	const char *when = train_word(d, train_at(d, "eval_strategy") ? "eval_strategy"
								      : "evaluation_strategy");

	if (lint_deepspeed_set(d, "deepspeed") && lint_deepspeed_set(d, "fsdp"))
		train_finding(d, LINT_ERROR, "contradiction", "fsdp", "use only one of them",
			      lint_train_trainer_source,
			      "deepspeed and fsdp are both on: both shard the model");
	/* By epochs neither number counts. */
	if (train_flag(d, "load_best_model_at_end", false) && eval >= 1 && save >= 1 &&
	    (!*when || strcasecmp(when, "steps") == 0) && fmod(save, eval) != 0)
		train_finding(d, LINT_ERROR, "contradiction", "save_steps",
			      "a multiple of eval_steps", lint_train_trainer_source,
			      "load_best_model_at_end: save_steps %g is not a multiple of "
			      "eval_steps %g; the Trainer fails",
			      save, eval);
}

static void lint_deepspeed_loader(const struct train_doc *d)
{
	double workers = train_number(d, "dataloader_num_workers", 0);
	size_t cpus = train_cpus(d->l), gpus = d->l->on->node ? d->l->on->node->gpus : 0;

	if (workers > 0 && cpus && gpus && workers * (double)gpus > (double)cpus)
		train_finding(d, LINT_WARNING, "too-many-workers", "dataloader_num_workers",
			      arena_printf(d->l->a, "%zu", cpus / gpus > 2 ? cpus / gpus - 1 : 1),
			      NULL, "%.0f workers for each of %zu GPUs: %.0f processes on %zu CPUs",
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
				      "one of full_shard, shard_grad_op, no_shard, hybrid_shard, "
				      "hybrid_shard_zero2, offload, auto_wrap",
				      lint_train_trainer_source, "unknown fsdp option \"%.*s\"",
				      (int)n, at);
		at += n + strspn(at + n, " ,");
	}
}

void lint_train_trainer(const struct train_doc *d)
{
	lint_deepspeed_together(d);
	lint_deepspeed_loader(d);
	sharding(d);
}
