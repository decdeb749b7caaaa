/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions of training hold, a row a figure. Keys and meanings are API. */
#include "models/training/page_train.h"

/* clang-format off */

static const char *train_model_name(const void *object)
{
	const struct train_config *q = object;

	return q->arch.name && *q->arch.name ? q->arch.name : q->model;
}

static const struct shape_row train_config_rows[] = {
	{ "model", NULL, SHAPE_TEXT_OF(train_model_name), .unknown = SHAPE_NULL },
	{ "machine", NULL, SHAPE_TEXT(train_config, place.taken), .unknown = SHAPE_NULL },
	{ "gpu", NULL, SHAPE_TEXT(gpu_kind, name), SHAPE_VIA(train_config, place.gpu, gpu_kind) },
	{ "gpus", "Total of all machines.", SHAPE_COUNT(train_config, place.gpus) },
	{ "machines", NULL, SHAPE_COUNT(train_config, place.nodes) },
	{ "parallel", "How the data-parallel ranks shard the model.", SHAPE_CHOICE(train_config, way, train_way_names),
	  .title = "way" },
	{ "dp", "Data-parallel ranks.", SHAPE_COUNT(train_config, dp) },
	{ "shard", "Ranks per HSDP shard group.", SHAPE_COUNT(train_config, shard) },
	{ "tp", "Tensor-parallel ranks.", SHAPE_COUNT(train_config, tp) },
	{ "pp", "Pipeline stages.", SHAPE_COUNT(train_config, pp) },
	{ "cp", "Context-parallel ranks.", SHAPE_COUNT(train_config, cp) },
	{ "ep", "Expert-parallel ranks.", SHAPE_COUNT(train_config, ep) },
	{ "interleave", "Model chunks per stage; 1: plain 1F1B.", SHAPE_COUNT(train_config, interleave) },
	{ "micro_batch", "Sequences per forward pass.", SHAPE_COUNT(train_config, micro_batch),
	  .title = "micro-batch" },
	{ "accumulation", "Micro-batches per step and pipeline.", SHAPE_COUNT(train_config, accumulation) },
	{ "global_batch", "micro_batch x accumulation x dp.", SHAPE_COUNT(train_config, global_batch) },
	{ "sequence_tokens", "Tokens per sample.", SHAPE_COUNT(train_config, sequence) },
	{ "precision", NULL, SHAPE_CHOICE(train_config, precision, train_precision_names) },
	{ "checkpointing", NULL, SHAPE_CHOICE(train_config, recompute, train_recompute_names) },
	{ "optimizer", NULL, SHAPE_CHOICE(train_config, optimizer, train_optimizer_names) },
	{ "attention", NULL, SHAPE_CHOICE(train_config, attention, train_attention_names) },
	{ "overlap", "Communication overlaps with computation.", SHAPE_FLAG(train_config, overlap) },
	{ "tp_overlap", "Tensor-parallel communication overlaps with computation.", SHAPE_FLAG(train_config,
	  tp_overlap) },
	{ "compile", "torch.compile or fused kernels.", SHAPE_FLAG(train_config, compile) },
	{ "bucket_bytes", "Size of gradient buckets.", SHAPE_REAL(train_config, bucket_bytes) },
};
static const struct shape train_config_shape = SHAPE(train_config, train_config);

static const struct shape_row train_memory_rows[] = {
	{ "weights_bytes", "Weights, without gathered weights.",
	  SHAPE_REAL(train_memory, weights), .title = "weights", .unit = "GB" },
	{ "master_bytes", NULL, SHAPE_REAL(train_memory, master), .title = "FP32 master weights", .unit = "GB" },
	{ "gradients_bytes", NULL, SHAPE_REAL(train_memory, gradients), .title = "gradients", .unit = "GB" },
	{ "states_bytes", NULL, SHAPE_REAL(train_memory, states), .title = "optimizer states", .unit = "GB" },
	{ "activations_bytes", "Activations kept for the backward pass.",
	  SHAPE_REAL(train_memory, activations), .title = "activations", .unit = "GB" },
	{ "working_bytes", NULL,
	  SHAPE_REAL(train_memory, working), .title = "transient activations", .unit = "GB" },
	{ "logits_bytes", NULL, SHAPE_REAL(train_memory, logits), .title = "logits and loss", .unit = "GB" },
	{ "buffers_bytes", NULL,
	  SHAPE_REAL(train_memory, buffers), .title = "buckets, gathered weights", .unit = "GB" },
	{ "context_bytes", NULL, SHAPE_REAL(train_memory, context), .title = "CUDA context, NCCL", .unit = "GB" },
	{ "waste_bytes", "Allocator fragmentation.",
	  SHAPE_REAL(train_memory, waste), .title = "allocator fragmentation", .unit = "GB" },
	{ "reused_bytes", "Negative: gradients that reuse memory of activations freed by the backward pass.",
	  SHAPE_REAL(train_memory, reused), .title = "gradients in reused activation memory", .unit = "GB" },
	{ "limit_bytes", "Memory available to training.", SHAPE_REAL(train_memory, limit) },
	{ "total_bytes", NULL, SHAPE_OBJECT(train_memory, all, figure), .title = "memory per GPU" },
	{ "fits", NULL, SHAPE_FLAG(train_memory, fits) },
};
const struct shape train_memory_shape = SHAPE(train_memory, train_memory);

static const struct shape_row train_time_rows[] = {
	{ "forward_s", NULL, SHAPE_REAL(train_time, forward), .title = "forward", .unit = "s" },
	{ "backward_s", NULL, SHAPE_REAL(train_time, backward), .title = "backward", .unit = "s" },
	{ "recompute_s", NULL, SHAPE_REAL(train_time, recompute), .title = "recomputed forward", .unit = "s" },
	{ "launch_s", NULL, SHAPE_REAL(train_time, launch), .title = "kernel launch wait", .unit = "s" },
	{ "optimizer_s", NULL, SHAPE_REAL(train_time, optimizer), .title = "weight update", .unit = "s" },
	{ "exposed_s", "Communication not overlapped with computation; the sum of exposed_s of communication.",
	  SHAPE_REAL(train_time, exposed), .title = "exposed communication", .unit = "s" },
	{ "contention_s", "Slowdown of computation by overlapped communication.",
	  SHAPE_REAL(train_time, contention), .title = "contention with communication", .unit = "s" },
	{ "communication_s", "All communication, overlapped or exposed; not part of the sum.",
	  SHAPE_REAL(train_time, comm) },
	{ "bubble_s", NULL, SHAPE_REAL(train_time, bubble), .title = "pipeline bubble", .unit = "s" },
	{ "loader_s", NULL, SHAPE_REAL(train_time, loader), .title = "loader wait", .unit = "s" },
	{ "waiting_s", NULL, SHAPE_REAL(train_time, slack), .title = "straggler wait", .unit = "s" },
	{ "step_s", NULL, SHAPE_OBJECT(train_time, total, figure), .title = "step time", .unit = "s" },
};
const struct shape train_time_shape = SHAPE(train_time, train_time);

static const struct shape_row train_comm_rows[] = {
	{ "collective", NULL, SHAPE_CHOICE(train_comm, what, train_collective_names) },
	{ "purpose", "Data that it transfers.", SHAPE_TEXT(train_comm, purpose), .title = "of" },
	{ "ranks", NULL, SHAPE_COUNT(train_comm, ranks) },
	{ "network", "Between machines.", SHAPE_FLAG(train_comm, between) },
	{ "count", "Calls per step.", SHAPE_REAL(train_comm, count) },
	{ "bytes", "Bytes per call, as nccl-tests counts them.", SHAPE_REAL(train_comm, bytes),
	  .title = "each", .unit = "bytes" },
	{ "bus_gb_per_s", "Bus bandwidth at that size.", SHAPE_REAL(train_comm, busbw_gbs),
	  .title = "bus", .unit = "GB/s" },
	{ "total_s", NULL, SHAPE_REAL(train_comm, total_s), .title = "total", .unit = "s" },
	{ "exposed_s", NULL, SHAPE_REAL(train_comm, exposed_s), .title = "exposed", .unit = "s" },
	{ "from", "Source of the bandwidth.", SHAPE_TEXT(train_comm, from) },
};
static const struct shape train_comm_shape = SHAPE(train_comm, train_comm);

static const struct shape_row train_change_rows[] = {
	{ "key", NULL, SHAPE_TEXT(train_change, key) },
	{ "name", NULL, SHAPE_TEXT(train_change, name), .title = "change" },
	{ "why", "Effect, with figures.", SHAPE_TEXT(train_change, why), .unknown = SHAPE_NULL },
	{ "fits", NULL, SHAPE_FLAG(train_change, fits) },
	{ "tokens_per_s", "Total of all GPUs.", SHAPE_REAL(train_change, tokens_s) },
	{ "memory_bytes", "Per GPU.", SHAPE_REAL(train_change, memory), .title = "memory" },
	{ "gain", "Ratio of tokens_per_s, after to before.", SHAPE_OBJECT(train_change, gain, figure),
	  .title = "speedup" },
	{ "after", NULL, SHAPE_OBJECT(train_change, q, train_config) },
	{ "state", NULL, SHAPE_WORD("predicted") },
};
static const struct shape train_change_shape = SHAPE(train_change, train_change);

static const struct shape_row train_what_if_rows[] = {
	{ "changes", "Changes, largest gain first.", SHAPE_ARRAY(train_what_if, changes, n, train_change) },
	{ "best", "Best combination of changes.",
	  SHAPE_OBJECT(train_what_if, best, train_change), SHAPE_WHEN(train_what_if, has_best) },
};
static const struct shape train_what_if_shape = SHAPE(train_what_if, train_what_if);

static const struct shape_row train_point_rows[] = {
	{ "gpus", NULL, SHAPE_COUNT(train_point, gpus), .title = "GPUs" },
	{ "machines", NULL, SHAPE_COUNT(train_point, nodes) },
	{ "possible", "true: the split is valid and fits.", SHAPE_FLAG(train_point, possible) },
	{ "why_not", NULL, SHAPE_TEXT(train_point, why), .unknown = SHAPE_NULL },
	{ "step_s", NULL, SHAPE_REAL(train_point, step_s), SHAPE_WHEN(train_point, possible),
	  .title = "step time", .unit = "s" },
	{ "tokens_per_s", NULL, SHAPE_REAL(train_point, tokens_s), SHAPE_WHEN(train_point, possible),
	  .title = "throughput", .unit = "tokens/s" },
	{ "efficiency_ratio", "Rate per GPU relative to the first point that fits.",
	  SHAPE_OBJECT(train_point, efficiency, figure), SHAPE_WHEN(train_point, possible),
	  .title = "efficiency" },
	{ "exposed_ratio", "Share of exposed communication in a step.",
	  SHAPE_REAL(train_point, exposed_part), SHAPE_WHEN(train_point, possible),
	  .title = "exposed communication" },
	{ "rest", "Losses of a step.", SHAPE_TEXT(train_point, causes), .unknown = SHAPE_NULL,
	  .title = "losses" },
};
static const struct shape train_point_shape = SHAPE(train_point, train_point);

static const struct shape_row train_cause_rows[] = {
	{ "what", NULL, SHAPE_TEXT(train_cause, what), .title = "possible cause" },
	{ "excluded", "true: the figures exclude it.", SHAPE_FLAG(train_cause, excluded) },
	{ "needs", "Value that would explain the whole loss, in needs_unit.", SHAPE_REAL(train_cause, needs) },
	{ "needs_unit", NULL, SHAPE_TEXT(train_cause, needs_unit) },
	{ "why", NULL, SHAPE_TEXT(train_cause, why) },
	{ "measure", "Measurement that decides it.", SHAPE_TEXT(train_cause, measure) },
};
static const struct shape train_cause_shape = SHAPE(train_cause, train_cause);

static const struct shape_row train_judgement_rows[] = {
	{ "measured_tokens_per_s", "Total of all GPUs.", SHAPE_REAL(train_judgement, measured),
	  .title = "claimed", .unit = "tokens/s" },
	{ "inside", "true: within the interval.", SHAPE_FLAG(train_judgement, inside) },
	{ "missing_s", "Time per step beyond the prediction.", SHAPE_REAL(train_judgement, lost_s) },
	{ "needed_bus_gb_per_s", "Bandwidth at which communication would explain the whole loss; 0: none.",
	  SHAPE_REAL(train_judgement, busbw_needed_gbs) },
	{ "verdict", "A sentence.", SHAPE_TEXT(train_judgement, verdict), .title = "the claim" },
	{ "causes", NULL, SHAPE_ARRAY(train_judgement, causes, n, train_cause) },
};
static const struct shape train_judgement_shape = SHAPE(train_judgement, train_judgement);

static const struct shape_row train_largest_rows[] = {
	{ "micro_batch", "Largest micro-batch that fits; 0: not even one sequence fits.", SHAPE_COUNT(train_page,
	  largest) },
	{ "micro_batch_same_global_batch", NULL, SHAPE_COUNT(train_page, largest_held) },
};
static const struct shape train_largest_shape = SHAPE(train_page, train_largest);

static const struct shape_row train_page_rows[] = {
	{ "asked", "A training setup.", SHAPE_OBJECT(train_page, answer.q, train_config) },
	{ "parameters", NULL, SHAPE_REAL(train_page, answer.parameters) },
	{ "active_parameters", NULL, SHAPE_REAL(train_page, answer.active) },
	{ "model_flop_per_token", "Operations of forward and backward pass.", SHAPE_REAL(train_page,
	  answer.model_flops) },
	{ "hardware_flop_per_token", "Including recomputation.", SHAPE_REAL(train_page, answer.hardware_flops) },
	{ "peak_flop_per_s", "Peak per GPU, dense, from the data sheet.", SHAPE_REAL(train_page, answer.peak_flops) },
	{ "tokens_per_s", "Total of all GPUs.", SHAPE_OBJECT(train_page, answer.tokens_s, figure),
	  .title = "throughput", .unit = "tokens/s" },
	{ "tokens_per_s_per_gpu", NULL, SHAPE_OBJECT(train_page, answer.tokens_s_gpu, figure),
	  .title = "throughput per GPU", .unit = "tokens/s" },
	{ "mfu_ratio", "Of peak_flop_per_s.", SHAPE_OBJECT(train_page, answer.mfu, figure), .title = "MFU" },
	{ "hfu_ratio", NULL, SHAPE_OBJECT(train_page, answer.hfu, figure) },
	{ "limit", NULL, SHAPE_CHOICE(train_page, answer.limit, train_limit_names) },
	{ "limit_reason", NULL, SHAPE_TEXT(train_page, answer.limit_why), .title = "limit" },
	{ "interval_of", "Basis of the intervals.", SHAPE_TEXT(train_page, answer.interval_of),
	  .title = "intervals from" },
	{ "memory", "Memory of the fullest GPU.", SHAPE_OBJECT(train_page, answer.memory, train_memory) },
	{ "step", "Time of each part; all parts except communication_s add up to step_s.",
	  SHAPE_OBJECT(train_page, answer.time, train_time) },
	{ "communication", NULL, SHAPE_ARRAY(train_page, answer.comms, answer.n_comms, train_comm) },
	{ "largest", NULL, SHAPE_PART(train_largest_shape), SHAPE_WHEN(train_page, asked_largest) },
	{ "what_if", NULL, SHAPE_POINTER(train_page, what_if, train_what_if), .unknown = SHAPE_NULL },
	{ "scale", NULL, SHAPE_ARRAY(train_page, points, n_points, train_point) },
	{ "judgement", "A measured rate compared with the prediction.",
	  SHAPE_POINTER(train_page, judgement, train_judgement), .unknown = SHAPE_NULL },
	{ "constants", NULL, SHAPE_TEXT(train_page, origin) },
	{ "state", NULL, SHAPE_WORD("predicted") },
	{ "notes", NULL, SHAPE_TEXT_ARRAY(train_page, answer.q.notes, answer.q.n_notes) },
	{ "explain", NULL, SHAPE_TEXT_ARRAY(train_page, answer.lines, answer.n_lines) },
};
static const struct shape train_page_shape = SHAPE(train_page, train_page);

const struct result_shape train_result = {
	.name = "train",
	.title = "gputune predict training",
	.meaning = "Predicted cost of a training step: memory and time by part, communication, rates, and possible "
		"changes.",
	.shape = &train_page_shape,
	.exit_codes = 1u << 0 | 1u << 1,
};

static const struct shape_row train_row_rows[] = {
	{ "line", "Line number in the table, from 2.", SHAPE_COUNT(train_row, line) },
	{ "source", NULL, SHAPE_TEXT(train_row, source), .unknown = SHAPE_NULL },
	{ "model", NULL, SHAPE_TEXT(train_row, model), .unknown = SHAPE_NULL },
	{ "hardware", NULL, SHAPE_TEXT(train_row, hardware), .unknown = SHAPE_NULL },
	{ "precision", NULL, SHAPE_TEXT(train_row, precision), .unknown = SHAPE_NULL },
	{ "gpus", NULL, SHAPE_COUNT(train_row, gpus) },
	{ "machines", NULL, SHAPE_COUNT(train_row, nodes) },
	{ "experts", NULL, SHAPE_FLAG(train_row, experts) },
	{ "fits", NULL, SHAPE_FLAG(train_row, fits) },
	{ "measured_tokens_per_s_per_gpu", NULL, SHAPE_REAL(train_row, measured), .unknown = SHAPE_ZERO },
	{ "predicted_tokens_per_s_per_gpu", NULL, SHAPE_REAL(train_row, predicted), .unknown = SHAPE_ZERO },
	{ "low", "Prediction interval.", SHAPE_REAL(train_row, low), .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(train_row, high), .unknown = SHAPE_NULL },
	{ "measured_memory_gib", NULL, SHAPE_REAL(train_row, memory), .unknown = SHAPE_ZERO },
	{ "predicted_memory_gib", NULL, SHAPE_REAL(train_row, memory_predicted), .unknown = SHAPE_NULL },
	{ "skipped", "Reason why the row is not used.", SHAPE_TEXT(train_row, skipped), .unknown = SHAPE_NULL },
};
static const struct shape train_row_shape = SHAPE(train_row, train_row);

static const struct shape_row train_rows_rows[] = {
	{ "rows", NULL, SHAPE_LIST(train_rows, items, n, train_row) },
};
static const struct shape train_rows_shape = SHAPE(train_rows, train_rows);

const struct result_shape train_rows_result = {
	.name = "train-rows",
	.title = "gputune predict training --rows",
	.meaning = "Measured training runs, each with its prediction.",
	.shape = &train_rows_shape,
	.list = "rows",
	.exit_codes = 1u << 0,
};
