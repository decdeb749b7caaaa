/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of DeepSpeed's zero_optimization, releases 0.9.0 to 0.19.6: facts of
 * deepspeed/runtime/zero/config.py and its parts, read 2026-11-21.
 */
#include "models/generate/train_keys.h"

#include <string.h>

/* clang-format off */
const struct train_key zero_keys[] = {
	{ "zero_optimization", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.allgather_bucket_size", KEY_INT, "500000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.allgather_partitions", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.allgather_sequential", KEY_BOOL, "false", "0.18.5", NULL, NULL, NULL },
	{ "zero_optimization.contiguous_gradients", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.cpu_offload", KEY_BOOL, "", NULL, NULL, "offload_optimizer", NULL },
	{ "zero_optimization.cpu_offload_param", KEY_BOOL, "", NULL, NULL, "offload_param", NULL },
	{ "zero_optimization.cpu_offload_use_pin_memory", KEY_BOOL, "", NULL, NULL,
	  "offload_param or offload_optimizer", NULL },
	{ "zero_optimization.elastic_checkpoint", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.enable_sanity_checks", KEY_BOOL, "false", "0.17.6", NULL, NULL, NULL },
	{ "zero_optimization.gather_16bit_weights_on_model_save", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.ignore_unused_parameters", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.leaf_module", KEY_STRICT, "", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.leaf_module.classes", KEY_LIST, "", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.leaf_module.name_suffixes", KEY_LIST, "", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.leaf_module.names", KEY_LIST, "", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.legacy_stage1", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.load_from_fp32_weights", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.log_trace_cache_warnings", KEY_BOOL, "false", "0.16.4", NULL, NULL, NULL },
	{ "zero_optimization.max_live_parameters", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.max_reuse_distance", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.memory_efficient_linear", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.mics_hierarchical_params_gather", KEY_BOOL, "false", "0.9.2", NULL, NULL, NULL },
	{ "zero_optimization.mics_shard_size", KEY_INT, "-1", "0.9.2", NULL, NULL, NULL },
	{ "zero_optimization.model_persistence_threshold", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.module_granularity_threshold", KEY_INT, "0", "0.16.0", NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.buffer_count", KEY_INT, "4", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.cpuadam_cores_perc", KEY_NUMBER, "0.8", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.device", KEY_WORDS, "none", NULL, NULL, NULL, "none cpu nvme" },
	{ "zero_optimization.offload_optimizer.fast_init", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.nvme_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.pin_memory", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.pipeline_read", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.pipeline_write", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.ratio", KEY_NUMBER, "1", "0.12.3", NULL, NULL, NULL },
	{ "zero_optimization.offload_optimizer.super_offload", KEY_BOOL, "false", "0.18.0", NULL, NULL, NULL },
	{ "zero_optimization.offload_param", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_param.buffer_count", KEY_INT, "5", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_param.buffer_size", KEY_INT, "100000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_param.device", KEY_WORDS, "none", NULL, NULL, NULL, "none cpu nvme" },
	{ "zero_optimization.offload_param.max_in_cpu", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_param.nvme_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.offload_param.pin_memory", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.overlap_comm", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.override_module_apply", KEY_BOOL, "true", "0.10.1", NULL, NULL, NULL },
	{ "zero_optimization.param_persistence_threshold", KEY_INT, "100000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.pipeline_loading_checkpoint", KEY_BOOL, "false", "0.10.1", NULL, NULL, NULL },
	{ "zero_optimization.prefetch_bucket_size", KEY_INT, "50000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.reduce_bucket_size", KEY_INT, "500000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.reduce_scatter", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "zero_optimization.round_robin_gradients", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.save_muon_momentum_buffer_in_memory", KEY_BOOL, "false", "0.18.9", NULL, NULL, NULL },
	{ "zero_optimization.stage", KEY_INT, "0", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_allgather_sequential", KEY_BOOL, "false", "0.18.5", NULL, NULL, NULL },
	{ "zero_optimization.stage3_gather_16bit_weights_on_model_save", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_gather_fp16_weights_on_model_save", KEY_BOOL, "false", NULL, NULL,
	  "gather_16bit_weights_on_model_save", NULL },
	{ "zero_optimization.stage3_max_live_parameters", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_max_reuse_distance", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_model_persistence_threshold", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_module_granularity_threshold", KEY_INT, "0", "0.16.0", NULL, NULL, NULL },
	{ "zero_optimization.stage3_param_persistence_threshold", KEY_INT, "100000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_prefetch_bucket_size", KEY_INT, "50000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.stage3_use_all_reduce_for_fetch_params", KEY_BOOL, "false", "0.14.3", NULL, NULL, NULL },
	{ "zero_optimization.sub_group_size", KEY_INT, "1000000000", NULL, NULL, NULL, NULL },
	{ "zero_optimization.use_all_reduce_for_fetch_params", KEY_BOOL, "false", "0.14.3", NULL, NULL, NULL },
	{ "zero_optimization.use_multi_rank_bucket_allreduce", KEY_BOOL, "true", "0.12.4", NULL, NULL, NULL },
	{ "zero_optimization.zenflow", KEY_STRICT, "", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.auto_ratio", KEY_NUMBER, "0.99", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.full_warm_up_rounds", KEY_INT, "0", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.offload", KEY_BOOL, "false", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.overlap_step", KEY_BOOL, "false", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.pt_reserved_cores_perc", KEY_NUMBER, "0.5", "0.17.6", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.select_interval", KEY_ANY, "auto", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.select_strategy", KEY_TEXT, "auto", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.steps_per_epoch", KEY_INT, "", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.topk_ratio", KEY_NUMBER, "0.1", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zenflow.update_interval", KEY_ANY, "auto", "0.17.5", NULL, NULL, NULL },
	{ "zero_optimization.zero_hpz_partition_size", KEY_INT, "1", "0.10.0", NULL, NULL, NULL },
	{ "zero_optimization.zero_quantized_gradients", KEY_BOOL, "false", "0.10.0", NULL, NULL, NULL },
	{ "zero_optimization.zero_quantized_nontrainable_weights", KEY_BOOL, "false", "0.10.2", NULL, NULL, NULL },
	{ "zero_optimization.zero_quantized_weights", KEY_BOOL, "false", "0.10.0", NULL, NULL, NULL },
	{ "zero_optimization.zeropp_loco_param", KEY_ANY, "", "0.16.2", NULL, NULL, NULL },
};
const size_t zero_keys_count = sizeof(zero_keys) / sizeof(zero_keys[0]);

/* runtime/zero/config.py says it of most; engine.py makes no ZeRO optimizer in stage 0, and the one
 * of stage 3 is given none of the keys of stages 1 and 2. */
const struct zero_stage_key zero_stage_keys[] = {
	{ "offload_param", 3, 3 },
	{ "stage3_prefetch_bucket_size", 3, 3 },
	{ "stage3_param_persistence_threshold", 3, 3 },
	{ "stage3_model_persistence_threshold", 3, 3 },
	{ "stage3_max_live_parameters", 3, 3 },
	{ "stage3_max_reuse_distance", 3, 3 },
	{ "stage3_gather_16bit_weights_on_model_save", 3, 3 },
	{ "stage3_module_granularity_threshold", 3, 3 },
	{ "stage3_allgather_sequential", 3, 3 },
	{ "stage3_use_all_reduce_for_fetch_params", 3, 3 },
	{ "zero_hpz_partition_size", 3, 3 },
	{ "zero_quantized_weights", 3, 3 },
	{ "zero_quantized_nontrainable_weights", 3, 3 },
	{ "mics_shard_size", 3, 3 },
	{ "sub_group_size", 3, 3 },
	{ "offload_optimizer", 1, 3 },
	{ "overlap_comm", 1, 3 },
	{ "reduce_bucket_size", 1, 3 },
	{ "reduce_scatter", 1, 3 },
	{ "contiguous_gradients", 1, 3 },
	{ "allgather_bucket_size", 1, 2 },
	{ "use_multi_rank_bucket_allreduce", 1, 2 },
	{ "round_robin_gradients", 1, 2 },
};
const size_t zero_stage_keys_count = sizeof(zero_stage_keys) / sizeof(zero_stage_keys[0]);

bool zero_key_dead(const char *name, int stage)
{
	for (size_t i = 0; i < zero_stage_keys_count; i++)
		if (strcmp(zero_stage_keys[i].name, name) == 0)
			return stage < zero_stage_keys[i].least || stage > zero_stage_keys[i].most;
	return false;
}
