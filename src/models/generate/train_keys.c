/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up keys: by path, by what is near, by where else the name belongs. */
#include <string.h>

#include "models/generate/train_keys.h"
#include "base/text.h"

const struct train_schema train_schemas[TRAIN_FORMATS] = {
	[DEEPSPEED_FILE] = { "DeepSpeed",
			     "0.9.0",
			     "0.19.6",
			     "DeepSpeed's sources (runtime/config.py)",
			     { deepspeed_keys, zero_keys },
			     { &deepspeed_keys_count, &zero_keys_count } },
	[ACCELERATE_FILE] = { "Accelerate",
			      "0.20.0",
			      "1.15.0",
			      "Accelerate's sources (commands/launch.py)",
			      { accelerate_keys, NULL },
			      { &accelerate_keys_count, NULL } },
	[TRAINER_FILE] = { "transformers",
			   "4.40",
			   "5",
			   "transformers' sources (training_args.py)",
			   { trainer_keys, NULL },
			   { &trainer_keys_count, NULL } },
	[FSDP_FILE] = { "FSDP",
			"4.40",
			"5",
			"transformers' sources (training_args.py)",
			{ fsdp_keys, NULL },
			{ &fsdp_keys_count, NULL } },
};

static const struct train_key *exactly(enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];

	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++)
			if (strcmp(s->keys[p][i].path, path) == 0)
				return &s->keys[p][i];
	return NULL;
}

/* "fsdp_config.version" is "fsdp_config.fsdp_version"; the Trainer's own file has it the other way.
 */
static const struct train_key *with_prefix(enum train_format f, const char *path)
{
	static const char *const sections[][2] = {
		{ "fsdp_config.", "fsdp_" },
		{ "dynamo_config.", "dynamo_" },
		{ "fp8_config.", "fp8_" },
		{ "parallelism_config.", "parallelism_config_" },
	};
	char full[192];

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		size_t n = strlen(sections[i][0]);

		if (!str_starts(path, sections[i][0]) || strlen(path) > 128)
			continue;
		memcpy(full, sections[i][0], n);
		memcpy(full + n, sections[i][1], strlen(sections[i][1]));
		memcpy(full + n + strlen(sections[i][1]), path + n, strlen(path + n) + 1);
		return exactly(f, full);
	}
	return NULL;
}

const struct train_key *train_key(enum train_format f, const char *path)
{
	const struct train_key *k = exactly(f, path);

	if (!k && f == ACCELERATE_FILE)
		k = with_prefix(f, path);
	if (!k && f == FSDP_FILE && str_starts(path, "fsdp_"))
		k = exactly(f, path + strlen("fsdp_"));
	return k;
}

static const char *last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

const char *train_key_near(struct arena *a, enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];
	const char *name = last_name(path), *best = NULL;
	size_t front = (size_t)(name - path), nearest = 3 + strlen(name) / 12;

	if (strlen(name) < 4)
		nearest = 2;
	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++) {
			const char *other = s->keys[p][i].path, *theirs = last_name(other);
			size_t d;

			if ((size_t)(theirs - other) != front || strncmp(other, path, front) != 0)
				continue;
			d = str_distance(name, theirs, nearest - 1);
			if (d < nearest) {
				nearest = d;
				best = theirs;
			}
		}
	return best ? arena_strdup(a, best) : NULL;
}

const char *train_key_elsewhere(enum train_format f, const char *path)
{
	const struct train_schema *s = &train_schemas[f];
	const char *name = last_name(path), *found = NULL;

	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; s->keys[p] && i < *s->n[p]; i++) {
			if (strcmp(last_name(s->keys[p][i].path), name) != 0)
				continue;
			if (found)
				return NULL;
			found = s->keys[p][i].path;
		}
	return found;
}

/*
 * Every key that Accelerate's configuration file may have, releases 0.20.0 to 1.15.0: facts of
 * src/accelerate/commands/launch.py and commands/config/config_args.py, read 2026-11-21 (1.15.0:
 * 2026-11-23). since NULL: the oldest or earlier.
 */

/* clang-format off */
const struct train_key accelerate_keys[] = {
	{ "command_file", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "commands", KEY_LIST, "", NULL, NULL, NULL, NULL },
	{ "compute_environment", KEY_WORDS, "", NULL, NULL, NULL, "LOCAL_MACHINE AMAZON_SAGEMAKER" },
	{ "debug", KEY_BOOL, "", "0.22.0", NULL, NULL, NULL },
	{ "deepspeed_config", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_config_file", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_exclusion_filter", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_hostfile", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_inclusion_filter", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_moe_layer_cls_names", KEY_TEXT, "", "0.30.0", NULL, NULL, NULL },
	{ "deepspeed_config.deepspeed_multinode_launcher", KEY_WORDS, "", NULL, NULL, NULL,
	  "pdsh standard openmpi mvapich mpich nossh slurm" },
	{ "deepspeed_config.gradient_accumulation_steps", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.gradient_clipping", KEY_NUMBER, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.offload_optimizer_device", KEY_WORDS, "", NULL, NULL, NULL, "none cpu nvme" },
	{ "deepspeed_config.offload_optimizer_nvme_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.offload_param_device", KEY_WORDS, "", NULL, NULL, NULL, "none cpu nvme" },
	{ "deepspeed_config.offload_param_nvme_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.zero3_init_flag", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.zero3_save_16bit_model", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "deepspeed_config.zero_stage", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "distributed_type", KEY_WORDS, "", NULL, NULL, NULL,
	  "NO MULTI_CPU MULTI_GPU MULTI_NPU MULTI_MLU MULTI_SDAA MULTI_MUSA MULTI_XPU DEEPSPEED FSDP XLA "
	  "MEGATRON_LM MULTI_HPU MULTI_NEURON TPU" },
	/* Of TPUs alone; "accelerate config" writes 'no'. */
	{ "downcast_bf16", KEY_WORDS, "no", NULL, NULL, NULL, "no yes true false" },
	{ "dynamo_backend", KEY_TEXT, "", NULL, NULL, "dynamo_config.dynamo_backend", NULL },
	{ "dynamo_config", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "dynamo_config.dynamo_backend", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "dynamo_config.dynamo_mode", KEY_WORDS, "default", NULL, NULL, NULL,
	  "default reduce-overhead max-autotune" },
	{ "dynamo_config.dynamo_use_dynamic", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "dynamo_config.dynamo_use_fullgraph", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "dynamo_config.dynamo_use_regional_compilation", KEY_BOOL, "false", "1.7.0", NULL, NULL, NULL },
	{ "enable_cpu_affinity", KEY_BOOL, "false", "0.29.0", NULL, NULL, NULL },
	{ "fp16", KEY_BOOL, "", NULL, NULL, "mixed_precision", NULL },
	{ "fp8_config", KEY_OBJECT, "", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.amax_compute_algorithm", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fp8_config.amax_history_length", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fp8_config.backend", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fp8_config.fp8_amax_compute_algo", KEY_TEXT, "most_recent", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_amax_history_len", KEY_INT, "1024", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_backend", KEY_WORDS, "", "0.34.0", NULL, NULL, "ao te msamp" },
	{ "fp8_config.fp8_enable_fsdp_float8_all_gather", KEY_BOOL, "true", "1.13.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_format", KEY_TEXT, "HYBRID", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_interval", KEY_INT, "1", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_margin", KEY_INT, "0", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_opt_level", KEY_TEXT, "O2", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_override_linear_precision", KEY_ANY, "(False, False, False)", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_pad_inner_dim", KEY_BOOL, "true", "1.13.0", NULL, NULL, NULL },
	{ "fp8_config.fp8_use_autocast_during_eval", KEY_BOOL, "false", "0.34.0", NULL, NULL, NULL },
	{ "fp8_config.optimization_level", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fsdp_config", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "fsdp_config.fsdp_activation_checkpointing", KEY_BOOL, "false", "0.31.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_activation_checkpointing_offload", KEY_BOOL, "false", "1.15.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_auto_wrap_policy", KEY_WORDS, "", NULL, NULL, NULL,
	  "TRANSFORMER_BASED_WRAP SIZE_BASED_WRAP NO_WRAP" },
	{ "fsdp_config.fsdp_backward_prefetch", KEY_WORDS, "", "0.26.0", NULL, NULL,
	  "BACKWARD_PRE BACKWARD_POST NO_PREFETCH" },
	{ "fsdp_config.fsdp_backward_prefetch_policy", KEY_TEXT, "", NULL, "1.0.0", "fsdp_backward_prefetch", NULL },
	{ "fsdp_config.fsdp_cpu_ram_efficient_loading", KEY_BOOL, "true", "0.24.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_forward_prefetch", KEY_BOOL, "false", "0.21.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_ignored_modules", KEY_TEXT, "", "1.8.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_min_num_params", KEY_INT, "100000000)", NULL, NULL, NULL, NULL },
	{ "fsdp_config.fsdp_offload_params", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fsdp_config.fsdp_reshard_after_forward", KEY_ANY, "true", "1.6.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_sharding_strategy", KEY_ANY, "FULL_SHARD", NULL, NULL, NULL, NULL },
	{ "fsdp_config.fsdp_state_dict_type", KEY_WORDS, "", NULL, NULL, NULL,
	  "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT" },
	{ "fsdp_config.fsdp_sync_module_states", KEY_BOOL, "true", "0.21.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_transformer_layer_cls_to_wrap", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fsdp_config.fsdp_use_orig_params", KEY_BOOL, "true", "0.21.0", NULL, NULL, NULL },
	{ "fsdp_config.fsdp_version", KEY_INT, "1", "1.6.0", NULL, NULL, NULL },
	{ "gpu_ids", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "ipex_config", KEY_OBJECT, "", NULL, "1.13.0", NULL, NULL },
	{ "ipex_config.ipex", KEY_BOOL, "", NULL, "1.10.0", NULL, NULL },
	{ "ipex_config.use_xpu", KEY_BOOL, "", NULL, "1.13.0", NULL, NULL },
	{ "machine_rank", KEY_INT, "0", NULL, NULL, NULL, NULL },
	{ "main_process_ip", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "main_process_port", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "main_training_function", KEY_TEXT, "main", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_attention_backend", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_attention_dropout", KEY_NUMBER, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_attention_softmax_in_fp32", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_calculate_per_token_loss", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_context_parallel_size", KEY_INT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_decoder_last_pipeline_num_layers", KEY_INT, "", "1.13.0", NULL, NULL,
	  NULL },
	{ "megatron_lm_config.megatron_lm_eod_mask_loss", KEY_BOOL, "false", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_expert_model_parallel_size", KEY_INT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_expert_tensor_parallel_size", KEY_INT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_gradient_clipping", KEY_NUMBER, "1", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_hidden_dropout", KEY_NUMBER, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_no_load_optim", KEY_BOOL, "false", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_no_save_optim", KEY_BOOL, "false", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_num_micro_batches", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_optimizer_cpu_offload", KEY_BOOL, "false", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_overlap_cpu_optimizer_d2h_h2d", KEY_BOOL, "false", "1.13.0", NULL, NULL,
	  NULL },
	{ "megatron_lm_config.megatron_lm_pp_degree", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_recompute_activations", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_recompute_granularity", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_recompute_method", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_recompute_num_layers", KEY_INT, "", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_sequence_parallelism", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_tp_degree", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_use_custom_fsdp", KEY_BOOL, "false", "1.13.0", NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_use_distributed_optimizer", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "megatron_lm_config.megatron_lm_use_precision_aware_optimizer", KEY_BOOL, "false", "1.13.0", NULL, NULL,
	  NULL },
	{ "megatron_lm_config.megatron_lm_use_rotary_position_embeddings", KEY_TEXT, "", "1.13.0", NULL, NULL, NULL },
	{ "mixed_precision", KEY_WORDS, "", NULL, NULL, NULL, "no fp16 bf16 fp8" },
	{ "mpirun_config", KEY_OBJECT, "", "0.28.0", NULL, NULL, NULL },
	{ "mpirun_config.mpirun_ccl", KEY_INT, "1", "0.28.0", "1.13.0", NULL, NULL },
	{ "mpirun_config.mpirun_hostfile", KEY_TEXT, "", "0.28.0", NULL, NULL, NULL },
	{ "num_machines", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "num_processes", KEY_INT, "-1", NULL, NULL, NULL, NULL },
	{ "parallelism_config", KEY_OBJECT, "", "1.10.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_cp_backend", KEY_TEXT, "torch", "1.12.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_cp_comm_strategy", KEY_TEXT, "allgather", "1.10.0", NULL, NULL,
	  NULL },
	{ "parallelism_config.parallelism_config_cp_size", KEY_INT, "1", "1.10.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_dp_replicate_size", KEY_INT, "1", "1.10.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_dp_shard_size", KEY_INT, "1", "1.10.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_sp_attn_implementation", KEY_TEXT, "sdpa", "1.12.0", NULL, NULL,
	  NULL },
	{ "parallelism_config.parallelism_config_sp_backend", KEY_TEXT, "deepspeed", "1.12.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_sp_seq_length", KEY_TEXT, "", "1.12.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_sp_seq_length_is_variable", KEY_BOOL, "true", "1.12.0", NULL, NULL,
	  NULL },
	{ "parallelism_config.parallelism_config_sp_size", KEY_INT, "1", "1.12.0", NULL, NULL, NULL },
	{ "parallelism_config.parallelism_config_tp_size", KEY_INT, "1", "1.10.0", NULL, NULL, NULL },
	{ "rdzv_backend", KEY_TEXT, "static", NULL, NULL, NULL, NULL },
	{ "same_network", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "tp_config", KEY_OBJECT, "", "1.4.0", "1.7.0", NULL, NULL },
	{ "tp_config.tp_size", KEY_INT, "1", "1.4.0", "1.7.0", NULL, NULL },
	{ "tpu_env", KEY_LIST, "", NULL, NULL, NULL, NULL },
	{ "tpu_name", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "tpu_use_cluster", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "tpu_use_sudo", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "tpu_vm", KEY_LIST, "", NULL, NULL, NULL, NULL },
	{ "tpu_zone", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "use_cpu", KEY_BOOL, "", NULL, NULL, NULL, NULL },
};
const size_t accelerate_keys_count = sizeof(accelerate_keys) / sizeof(accelerate_keys[0]);

/*
 * Every key that DeepSpeed's configuration reads, releases 0.9.0 to 0.19.6: facts of its sources
 * (deepspeed/runtime/config.py and the classes that it fills), read 2026-11-21. since NULL: the
 * oldest or earlier.
 */

/* clang-format off */
const struct train_key deepspeed_keys[] = {
	{ "activation_checkpointing", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.contiguous_memory_optimization", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.cpu_checkpointing", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.number_checkpoints", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.partition_activations", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.profile", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "activation_checkpointing.synchronize_checkpoint_boundary", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "aio", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "aio.block_size", KEY_INT, "1048576", NULL, NULL, NULL, NULL },
	{ "aio.intra_op_parallelism", KEY_INT, "1", "0.16.4", NULL, NULL, NULL },
	{ "aio.overlap_events", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "aio.queue_depth", KEY_INT, "8", NULL, NULL, NULL, NULL },
	{ "aio.single_submit", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "aio.thread_count", KEY_INT, "1", NULL, "0.16.4", NULL, NULL },
	{ "aio.use_gds", KEY_BOOL, "false", "0.15.0", NULL, NULL, NULL },
	{ "amp", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "autotuning", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "bf16", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "bf16.bf16_master_weights_and_grads", KEY_BOOL, "false", "0.18.3", NULL, NULL, NULL },
	{ "bf16.bf16_optimizer_states", KEY_BOOL, "false", "0.18.3", NULL, NULL, NULL },
	{ "bf16.check_grad_overflow", KEY_BOOL, "true", "0.17.1", NULL, NULL, NULL },
	{ "bf16.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "bf16.immediate_grad_update", KEY_BOOL, "false", "0.13.3", NULL, NULL, NULL },
	{ "bfloat16", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "checkpoint", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "comet", KEY_STRICT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.api_key", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.enabled", KEY_BOOL, "false", "0.14.3", NULL, NULL, NULL },
	{ "comet.experiment_key", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.experiment_name", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.mode", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.online", KEY_BOOL, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.project", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comet.samples_log_interval", KEY_INT, "100", "0.14.3", NULL, NULL, NULL },
	{ "comet.workspace", KEY_TEXT, "", "0.14.3", NULL, NULL, NULL },
	{ "comms_logger", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "comms_logger.debug", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "comms_logger.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "comms_logger.prof_all", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "comms_logger.prof_ops", KEY_LIST, "", NULL, NULL, NULL, NULL },
	{ "comms_logger.verbose", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "communication_data_type", KEY_WORDS, "", NULL, NULL, NULL, "fp16 bf16 fp32" },
	{ "compile", KEY_STRICT, "", "0.16.6", NULL, NULL, NULL },
	{ "compile.debug_log", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.deepcompile", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.double_buffer", KEY_BOOL, "true", "0.16.6", NULL, NULL, NULL },
	{ "compile.free_activation", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.free_activation_threshold", KEY_INT, "10485760", "0.18.0", NULL, NULL, NULL },
	{ "compile.keep_all_input_tensors", KEY_BOOL, "false", "0.17.2", NULL, NULL, NULL },
	{ "compile.keep_int_input_tensors", KEY_BOOL, "true", "0.17.2", NULL, NULL, NULL },
	{ "compile.offload_activation", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.offload_opt_states", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.offload_parameters", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.passes", KEY_LIST, "", "0.18.9", NULL, NULL, NULL },
	{ "compile.symmetric_memory", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.sync_after_allgather", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.sync_after_reduce", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.sync_before_allgather", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compile.sync_before_reduce", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "compression_training", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "csv_monitor", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "csv_monitor.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "csv_monitor.job_name", KEY_TEXT, "DeepSpeedJobName", NULL, NULL, NULL, NULL },
	{ "csv_monitor.output_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "curriculum_learning", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "data_efficiency", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "data_types", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "data_types.buffer_dtype", KEY_TEXT, "", "0.19.2", NULL, NULL, NULL },
	{ "data_types.grad_accum_dtype", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "data_types.param_dtype", KEY_TEXT, "", "0.19.2", NULL, NULL, NULL },
	{ "dataloader_drop_last", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "datastates_ckpt", KEY_ANY, "", "0.18.1", NULL, NULL, NULL },
	{ "disable_allgather", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "dump_state", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "eigenvalue", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "elasticity", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.enabled", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "elasticity.ignore_non_elastic_batch_info", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "elasticity.max_gpus", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.max_train_batch_size", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.micro_batch_sizes", KEY_LIST, "", NULL, NULL, NULL, NULL },
	{ "elasticity.min_gpus", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.min_time", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.model_parallel_size", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.num_gpus_per_node", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "elasticity.prefer_larger_batch", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "elasticity.version", KEY_NUMBER, "", NULL, NULL, NULL, NULL },
	{ "expert_parallel", KEY_ANY, "", "0.19.2", NULL, NULL, NULL },
	{ "flops_profiler", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "flops_profiler.detailed", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "flops_profiler.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "flops_profiler.module_depth", KEY_INT, "-1", NULL, NULL, NULL, NULL },
	{ "flops_profiler.output_file", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "flops_profiler.profile_step", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "flops_profiler.recompute_fwd_factor", KEY_NUMBER, "0", "0.9.3", NULL, NULL, NULL },
	{ "flops_profiler.top_modules", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "fp16", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "fp16.auto_cast", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fp16.consecutive_hysteresis", KEY_BOOL, "false", "0.9.3", NULL, NULL, NULL },
	{ "fp16.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fp16.fp16_master_weights_and_grads", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fp16.hysteresis", KEY_INT, "2", NULL, NULL, NULL, NULL },
	{ "fp16.initial_scale_power", KEY_INT, "16", NULL, NULL, NULL, NULL },
	{ "fp16.loss_scale", KEY_NUMBER, "0", NULL, NULL, NULL, NULL },
	{ "fp16.loss_scale_window", KEY_INT, "1000", NULL, NULL, NULL, NULL },
	{ "fp16.min_loss_scale", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "gradient_accumulation_steps", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "gradient_allreduce_op", KEY_WORDS, "mean", "0.19.5", NULL, NULL, "mean sum" },
	{ "gradient_clipping", KEY_NUMBER, "1", NULL, NULL, NULL, NULL },
	{ "gradient_predivide_factor", KEY_NUMBER, "1", NULL, NULL, NULL, NULL },
	{ "graph_harvesting", KEY_BOOL, "false", "0.12.6", NULL, NULL, NULL },
	{ "hybrid_engine", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.enable_cuda_graph", KEY_BOOL, "false", "0.19.6", NULL, NULL, NULL },
	{ "hybrid_engine.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.inference_tp_size", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.max_out_tokens", KEY_INT, "512", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.pin_parameters", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.release_inference_cache", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "hybrid_engine.tp_gather_partition_size", KEY_INT, "8", NULL, NULL, NULL, NULL },
	{ "log_level", KEY_TEXT, "", "0.19.3", NULL, NULL, NULL },
	{ "managed_gradient_accumulation", KEY_BOOL, "true", "0.19.4", NULL, NULL, NULL },
	{ "memory_breakdown", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "nebula", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "optimizer", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "optimizer.legacy_fusion", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "optimizer.params", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "optimizer.type", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "pipeline", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "prescale_gradients", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "progressive_layer_drop", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "quantize_training", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "scheduler", KEY_OBJECT, "", NULL, NULL, NULL, NULL },
	{ "scheduler.params", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "scheduler.type", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "seq_parallel_communication_data_type", KEY_WORDS, "fp32", "0.11.2", NULL, NULL, "fp16 bf16 fp32" },
	{ "sequence_parallel_size", KEY_INT, "1", "0.17.0", NULL, NULL, NULL },
	{ "sparse_attention", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "sparse_gradients", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "steps_per_print", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "tensor_parallel", KEY_STRICT, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.autotp_size", KEY_INT, "0", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.dtype", KEY_ANY, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.injection_policy_tuple", KEY_LIST, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.keep_module_on_host", KEY_BOOL, "false", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.kernel_inject", KEY_BOOL, "false", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.partition_config", KEY_ANY, "", "0.18.6", NULL, NULL, NULL },
	{ "tensor_parallel.preset_model", KEY_TEXT, "", "0.18.6", NULL, NULL, NULL },
	{ "tensor_parallel.replace_with_kernel_inject", KEY_BOOL, "false", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tensor_parallel", KEY_ANY, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp", KEY_STRICT, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp.mpu", KEY_ANY, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp.tp_grain_size", KEY_INT, "1", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp.tp_group", KEY_ANY, "", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp.tp_size", KEY_INT, "1", "0.16.4", NULL, NULL, NULL },
	{ "tensor_parallel.tp_overlap_comm", KEY_BOOL, "false", "0.16.6", NULL, NULL, NULL },
	{ "tensorboard", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "tensorboard.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "tensorboard.job_name", KEY_TEXT, "DeepSpeedJobName", NULL, NULL, NULL, NULL },
	{ "tensorboard.output_path", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "timers", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "torch_autocast", KEY_OBJECT, "", "0.17.2", NULL, NULL, NULL },
	{ "torch_autocast.dtype", KEY_TEXT, "", "0.17.2", NULL, NULL, NULL },
	{ "torch_autocast.enabled", KEY_BOOL, "false", "0.17.2", NULL, NULL, NULL },
	{ "torch_autocast.lower_precision_safe_modules", KEY_LIST, "", "0.17.2", NULL, NULL, NULL },
	{ "train_batch_size", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "train_micro_batch_size_per_gpu", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "use_data_before_expert_parallelism", KEY_BOOL, "false", "0.12.4", NULL, NULL, NULL },
	{ "vocabulary_size", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "wall_clock_breakdown", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "wandb", KEY_STRICT, "", NULL, NULL, NULL, NULL },
	{ "wandb.enabled", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "wandb.group", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "wandb.project", KEY_TEXT, "deepspeed", NULL, NULL, NULL, NULL },
	{ "wandb.team", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "weight_quantization", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "zero_allow_untested_optimizer", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "zero_force_ds_cpu_optimizer", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
};
const size_t deepspeed_keys_count = sizeof(deepspeed_keys) / sizeof(deepspeed_keys[0]);

/*
 * The keys of fsdp_config.json as transformers' Trainer reads it (each may begin with fsdp_):
 * facts of src/transformers/training_args.py and of Accelerate's FullyShardedDataParallelPlugin,
 * read 2026-11-21; 5.17.0, where version 2 is usual, 2026-11-23. offload_params and
 * sharding_strategy are words of Accelerate's own file: people write them here, and nobody reads
 * them (lint_train_fsdp.c).
 */

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

/*
 * The arguments of transformers' Trainer, 4.40 to 5.17: facts of src/transformers/training_args.py,
 * read 2026-11-21 and, of 5.17.0, 2026-11-23. until 5.0: version 4 knows it, version 5 may not.
 */

/* clang-format off */
const struct train_key trainer_keys[] = {
	{ "accelerator_config", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "adafactor", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "adam_beta1", KEY_NUMBER, "0.9", NULL, NULL, NULL, NULL },
	{ "adam_beta2", KEY_NUMBER, "0.999", NULL, NULL, NULL, NULL },
	{ "adam_epsilon", KEY_NUMBER, "1e-8", NULL, NULL, NULL, NULL },
	{ "auto_find_batch_size", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "average_tokens_across_devices", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "batch_eval_metrics", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "bf16", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "bf16_full_eval", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "data_seed", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "dataloader_drop_last", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "dataloader_in_order", KEY_BOOL, "true", "5.0", NULL, NULL, NULL },
	{ "dataloader_multiprocessing_context", KEY_WORDS, "", "5.0", NULL, NULL, "fork spawn forkserver" },
	{ "dataloader_num_workers", KEY_INT, "0", NULL, NULL, NULL, NULL },
	{ "dataloader_persistent_workers", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "dataloader_pin_memory", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "dataloader_prefetch_factor", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "ddp_backend", KEY_WORDS, "", NULL, NULL, NULL, "nccl gloo mpi xccl hccl cncl mccl ccl" },
	{ "ddp_broadcast_buffers", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "ddp_bucket_cap_mb", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "ddp_find_unused_parameters", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "ddp_static_graph", KEY_BOOL, "", "5.0", NULL, NULL, NULL },
	{ "ddp_timeout", KEY_INT, "1800", NULL, NULL, NULL, NULL },
	{ "debug", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "deepspeed", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "disable_tqdm", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "dispatch_batches", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "do_eval", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "do_predict", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "do_train", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "enable_jit_checkpoint", KEY_BOOL, "false", "5.0", NULL, NULL, NULL },
	{ "eval_accumulation_steps", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "eval_delay", KEY_NUMBER, "0", NULL, NULL, NULL, NULL },
	{ "eval_do_concat_batches", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "eval_on_start", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "eval_steps", KEY_NUMBER, "", NULL, NULL, NULL, NULL },
	{ "eval_strategy", KEY_WORDS, "no", "4.41", NULL, NULL, "no steps epoch" },
	{ "eval_use_gather_object", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "evaluation_strategy", KEY_WORDS, "no", NULL, "4.46", "eval_strategy", "no steps epoch" },
	{ "fp16", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fp16_backend", KEY_TEXT, "auto", NULL, "5.0", NULL, NULL },
	{ "fp16_full_eval", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "fp16_opt_level", KEY_TEXT, "O1", NULL, "5.0", NULL, NULL },
	{ "fsdp", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fsdp_config", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "fsdp_min_num_params", KEY_INT, "0", NULL, "5.0", "fsdp_config.min_num_params", NULL },
	{ "fsdp_transformer_layer_cls_to_wrap", KEY_TEXT, "", NULL, "5.0",
	  "fsdp_config.transformer_layer_cls_to_wrap", NULL },
	{ "full_determinism", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "gradient_accumulation_steps", KEY_INT, "1", NULL, NULL, NULL, NULL },
	{ "gradient_checkpointing", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "gradient_checkpointing_kwargs", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "greater_is_better", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "group_by_length", KEY_BOOL, "false", NULL, "5.0", "train_sampling_strategy: group_by_length", NULL },
	{ "half_precision_backend", KEY_TEXT, "auto", NULL, "5.0", NULL, NULL },
	{ "hub_always_push", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "hub_model_id", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "hub_private_repo", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "hub_revision", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "hub_strategy", KEY_TEXT, "every_save", NULL, NULL, NULL, NULL },
	{ "hub_token", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "ignore_data_skip", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "include_for_metrics", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "include_inputs_for_metrics", KEY_BOOL, "false", NULL, "5.0", "include_for_metrics", NULL },
	{ "include_num_input_tokens_seen", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "include_tokens_per_second", KEY_BOOL, "false", NULL, "5.0", "include_num_input_tokens_seen", NULL },
	{ "jit_mode_eval", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "label_names", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "label_smoothing_factor", KEY_NUMBER, "0", NULL, NULL, NULL, NULL },
	{ "learning_rate", KEY_NUMBER, "5e-5", NULL, NULL, NULL, NULL },
	{ "length_column_name", KEY_TEXT, "length", NULL, NULL, NULL, NULL },
	{ "liger_kernel_config", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "load_best_model_at_end", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "local_rank", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "log_level", KEY_TEXT, "passive", NULL, NULL, NULL, NULL },
	{ "log_level_replica", KEY_TEXT, "warning", NULL, NULL, NULL, NULL },
	{ "log_on_each_node", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "logging_dir", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "logging_first_step", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "logging_nan_inf_filter", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "logging_steps", KEY_NUMBER, "500", NULL, NULL, NULL, NULL },
	{ "logging_strategy", KEY_WORDS, "steps", NULL, NULL, NULL, "no steps epoch" },
	{ "lr_scheduler_kwargs", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "lr_scheduler_type", KEY_TEXT, "linear", NULL, NULL, NULL, NULL },
	{ "max_grad_norm", KEY_NUMBER, "1", NULL, NULL, NULL, NULL },
	{ "max_steps", KEY_INT, "-1", NULL, NULL, NULL, NULL },
	{ "metric_for_best_model", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "mp_parameters", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "neftune_noise_alpha", KEY_NUMBER, "", NULL, NULL, NULL, NULL },
	{ "no_cuda", KEY_BOOL, "false", NULL, "5.0", "use_cpu", NULL },
	{ "num_train_epochs", KEY_NUMBER, "3", NULL, NULL, NULL, NULL },
	{ "optim", KEY_TEXT, "adamw_torch_fused", NULL, NULL, NULL, NULL },
	{ "optim_args", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "optim_target_modules", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "output_dir", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "overwrite_output_dir", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "parallelism_config", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "past_index", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "per_device_eval_batch_size", KEY_INT, "8", NULL, NULL, NULL, NULL },
	{ "per_device_train_batch_size", KEY_INT, "8", NULL, NULL, NULL, NULL },
	{ "per_gpu_eval_batch_size", KEY_INT, "", NULL, "5.0", "per_device_eval_batch_size", NULL },
	{ "per_gpu_train_batch_size", KEY_INT, "", NULL, "5.0", "per_device_train_batch_size", NULL },
	{ "prediction_loss_only", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "project", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "push_to_hub", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "push_to_hub_model_id", KEY_TEXT, "", NULL, "5.0", "hub_model_id", NULL },
	{ "push_to_hub_organization", KEY_TEXT, "", NULL, "5.0", "hub_model_id", NULL },
	{ "push_to_hub_token", KEY_TEXT, "", NULL, "5.0", "hub_token", NULL },
	{ "ray_scope", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "remove_unused_columns", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "report_to", KEY_ANY, "", NULL, NULL, NULL, NULL },
	{ "restore_callback_states_from_checkpoint", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "resume_from_checkpoint", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "run_name", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "save_on_each_node", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "save_only_model", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "save_safetensors", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "save_steps", KEY_NUMBER, "500", NULL, NULL, NULL, NULL },
	{ "save_strategy", KEY_WORDS, "steps", NULL, NULL, NULL, "no steps epoch best" },
	{ "save_total_limit", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "seed", KEY_INT, "42", NULL, NULL, NULL, NULL },
	{ "sharded_ddp", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "skip_memory_metrics", KEY_BOOL, "true", NULL, NULL, NULL, NULL },
	{ "split_batches", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "tf32", KEY_BOOL, "", NULL, NULL, NULL, NULL },
	{ "torch_compile", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "torch_compile_backend", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "torch_compile_mode", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "torch_empty_cache_steps", KEY_INT, "", NULL, NULL, NULL, NULL },
	{ "torchdynamo", KEY_TEXT, "", NULL, "5.0", "torch_compile_backend", NULL },
	{ "tpu_metrics_debug", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "tpu_num_cores", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "trackio_bucket_id", KEY_TEXT, "", "5.0", NULL, NULL, NULL },
	{ "trackio_space_id", KEY_TEXT, "", NULL, NULL, NULL, NULL },
	{ "trackio_static_space_id", KEY_TEXT, "", "5.0", NULL, NULL, NULL },
	{ "train_sampling_strategy", KEY_WORDS, "random", "5.0", NULL, NULL, "random sequential group_by_length" },
	{ "use_cache", KEY_BOOL, "false", "5.0", NULL, NULL, NULL },
	{ "use_cpu", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "use_ipex", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "use_legacy_prediction_loop", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "use_liger_kernel", KEY_BOOL, "false", NULL, NULL, NULL, NULL },
	{ "use_mps_device", KEY_ANY, "", NULL, "5.0", NULL, NULL },
	{ "warmup_ratio", KEY_NUMBER, "0", NULL, "5.0", "warmup_steps, which takes a part of all steps as well",
	  NULL },
	{ "warmup_steps", KEY_NUMBER, "0", NULL, NULL, NULL, NULL },
	{ "weight_decay", KEY_NUMBER, "0", NULL, NULL, NULL, NULL },
	{ "xpu_backend", KEY_ANY, "", NULL, "5.0", NULL, NULL },
};
const size_t trainer_keys_count = sizeof(trainer_keys) / sizeof(trainer_keys[0]);

/*
 * The keys of DeepSpeed's zero_optimization, releases 0.9.0 to 0.19.6: facts of
 * deepspeed/runtime/zero/config.py and its parts, read 2026-11-21.
 */

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
