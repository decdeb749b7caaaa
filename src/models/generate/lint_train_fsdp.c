/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of FSDP, version 1 and 2: what the version does not know, what overlaps nothing. Facts of
 * Accelerate's FullyShardedDataParallelPlugin (utils/dataclasses.py, 1.15.0) and of what the
 * Trainer hands to it (training_args.py, 5.17.0).
 */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/generate/lint_train.h"

static const char source[] = "Accelerate's sources (utils/dataclasses.py)";
static const char trainer_source[] = "transformers' sources (training_args.py)";

/* With or without "fsdp_" in front. */
static const struct markup_node *key(const struct markup_node *fsdp, const char *name)
{
	const struct markup_node *n = markup_get(fsdp, name);
	char full[64] = "fsdp_";

	if (!n && strlen(name) < sizeof(full) - 6) {
		stpcpy(full + 5, name);
		n = markup_get(fsdp, full);
	}
	return n && !markup_null(n) ? n : NULL;
}

static void say(const struct train_doc *d, enum lint_level level, const char *code,
		const struct markup_node *n, const char *fix, const char *says)
{
	lint_add(d->l, level, code, n->key ? n->key->line : n->line, n->key ? n->key->text : "",
		 fix, source, "%s", says);
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
		n = key(fsdp, gone[i].name);
		if (n)
			say(d, LINT_WARNING, "dead-key", n, gone[i].fix,
			    arena_printf(d->l->a,
					 "%s is a key of FSDP 1: version 2 does not use it",
					 gone[i].name));
	}
	n = key(fsdp, "reshard_after_forward");
	if (n && !markup_bool(n, &v))
		say(d, LINT_ERROR, "bad-value", n,
		    called(n, "SHARD_GRAD_OP") || called(n, "NO_SHARD") ? "false" : "true",
		    "FSDP 2 takes true or false here: the words are those of version 1");
	n = key(fsdp, "state_dict_type");
	if (n && called(n, "LOCAL_STATE_DICT"))
		say(d, LINT_ERROR, "bad-value", n, "SHARDED_STATE_DICT",
		    "FSDP 2 has no LOCAL_STATE_DICT");
}

static void version_one(const struct train_doc *d, const struct markup_node *fsdp)
{
	const struct markup_node *n = key(fsdp, "reshard_after_forward");
	bool v;

	if (n && markup_bool(n, &v))
		say(d, LINT_ERROR, "bad-value", n, "fsdp_version: 2",
		    "true and false are of FSDP 2; version 1 (the usual one) takes FULL_SHARD and "
		    "the like");
	n = key(fsdp, "cpu_ram_efficient_loading");
	if (is(n, false) && !is(key(fsdp, "sync_module_states"), true))
		say(d, LINT_ERROR, "contradiction", n, "sync_module_states: true",
		    "all ranks but the first have empty weights, and nobody sends them any");
	n = key(fsdp, "backward_prefetch");
	if (n && (called(n, "NO_PREFETCH") || called(n, "BACKWARD_POST")))
		say(d, LINT_WARNING, "no-prefetch", n, "BACKWARD_PRE",
		    called(n, "NO_PREFETCH")
			    ? "the next weights are gathered when they are needed: nothing hides it"
			    : "the next weights are gathered after the computation that could "
			      "hide it");
	n = d->format == ACCELERATE_FILE ? key(fsdp, "sharding_strategy") : NULL;
	if (n && (called(n, "NO_SHARD") || called(n, "3")))
		say(d, LINT_NOTE, "no-shard", n, "DDP", "nothing is sharded: that is DDP, slower");
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
	version = key(fsdp, "version");
	if (!markup_number(version, &number))
		number = 1;
	if (!version && d->format != ACCELERATE_FILE)
		say(d, LINT_NOTE, "fsdp-version", fsdp, "version: 2",
		    "without it transformers 4 takes FSDP 1, and 5.17 FSDP 2: what the other keys "
		    "do depends on that");
	else if (number != 1 && number != 2)
		say(d, LINT_ERROR, "bad-value", version, "2", "there are versions 1 and 2");
	else if (number == 2)
		version_two(d, fsdp);
	else
		version_one(d, fsdp);
	wrap = key(fsdp, "auto_wrap_policy");
	if (wrap && called(wrap, "NO_WRAP"))
		say(d, LINT_WARNING, "one-unit", wrap, "TRANSFORMER_BASED_WRAP",
		    "the whole model is one unit: all weights are gathered at once, and nothing "
		    "hides it");
	n = key(fsdp, "transformer_layer_cls_to_wrap");
	if (wrap && n && called(wrap, "SIZE_BASED_WRAP"))
		say(d, LINT_WARNING, "dead-key", n, "TRANSFORMER_BASED_WRAP",
		    "with SIZE_BASED_WRAP classes are not looked at");
	if (d->format != ACCELERATE_FILE)
		of_accelerate(d, key(fsdp, "offload_params"), "cpu_offload", "the word offload");
	if (d->format != ACCELERATE_FILE && number != 2)
		of_accelerate(d, key(fsdp, "sharding_strategy"), "reshard_after_forward",
			      "a word like full_shard");
	n = key(fsdp, d->format == ACCELERATE_FILE ? "offload_params" : "cpu_offload");
	if (is(n, false))
		say(d, LINT_NOTE, "offload", n,
		    "only where it does not fit without: gputune predict training",
		    "weights and gradients go over PCIe in each step, and the CPU updates them");
}
