/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of fsdp_config.json as transformers' Trainer reads it (each may begin with fsdp_):
 * facts of src/transformers/training_args.py and of Accelerate's FullyShardedDataParallelPlugin,
 * read 2026-11-21; 5.17.0, where version 2 is usual, 2026-11-23. offload_params and
 * sharding_strategy are words of Accelerate's own file: people write them here, and nobody reads
 * them (lint_train_fsdp.c).
 */
#include "models/generate/train_keys.h"

/* clang-format off */
const struct train_key fsdp_keys[] = {
	{ "activation_checkpointing", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "auto_wrap_policy", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "backward_prefetch", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "cpu_offload", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "cpu_ram_efficient_loading", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "forward_prefetch", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fsdp_min_num_params", KEY_INT, "0", NULL, NULL, NULL, NULL },
	{ "fsdp_version", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "limit_all_gathers", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "min_num_params", KEY_INT, "0", NULL, NULL, NULL, NULL },
	{ "offload_params", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "reshard_after_forward", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "sharding_strategy", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "state_dict_type", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "sync_module_states", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "transformer_layer_cls_to_wrap", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "use_orig_params", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "version", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "xla", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "xla_fsdp_grad_ckpt", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "xla_fsdp_settings", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "xla_fsdp_v2", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
};
const size_t fsdp_keys_count = sizeof(fsdp_keys) / sizeof(fsdp_keys[0]);
