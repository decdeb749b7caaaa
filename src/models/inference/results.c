/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions of inference and rooflines hold, a row a figure. Keys and meanings are API. */
#include "models/inference/page_predict.h"
#include "models/inference/page_roofline.h"

/* clang-format off */

static const char *const roof_origins[] = { "data-sheet", "measured" };

static const struct shape roof_limit_shape = SHAPE_OF(roof_limit, roof_limit,
	{ "value", NULL, SHAPE_REAL(roof_limit, value) },
	{ "is", NULL, SHAPE_EITHER(roof_limit, measured, roof_origins) },
	{ "source", NULL, SHAPE_TEXT(roof_limit, source), .unknown = SHAPE_NULL });

#define ROOF_LIMIT(m) SHAPE_OBJECT(roof, m, roof_limit), .unknown = SHAPE_ZERO

static const struct shape roof_math_shape = SHAPE_OF(roof, roof_math,
	{ "fp64", NULL, ROOF_LIMIT(math[ROOF_FP64]) },
	{ "fp32", NULL, ROOF_LIMIT(math[ROOF_FP32]) },
	{ "fp64_tensor", NULL, ROOF_LIMIT(math[ROOF_FP64_TENSOR]) },
	{ "tf32", NULL, ROOF_LIMIT(math[ROOF_TF32]) },
	{ "half", NULL, ROOF_LIMIT(math[ROOF_HALF]) },
	{ "fp8", NULL, ROOF_LIMIT(math[ROOF_FP8]) },
	{ "fp4", NULL, ROOF_LIMIT(math[ROOF_FP4]) },
	{ "int8", NULL, ROOF_LIMIT(math[ROOF_INT8]) });

static const struct shape roof_shape = SHAPE_OF(roof, roof,
	{ "memory_gb_per_s", NULL, ROOF_LIMIT(memory) },
	{ "arithmetic_tflop_per_s", NULL, SHAPE_PART(roof_math_shape) },
	{ "host_to_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_H2D]) },
	{ "gpu_to_host_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_D2H]) },
	{ "within_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_D2D]) },
	{ "gpu_to_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_P2P]) },
	{ "setting_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_SET]) },
	{ "launch_us", "Interval between two empty kernels.", ROOF_LIMIT(launch) });

/* A figure that was counted, or null. */
#define ROOF_FIGURE(m) SHAPE_REAL(roof_point, m), .unknown = SHAPE_ZERO

static const struct shape roof_point_shape = SHAPE_OF(roof_point, roof_point,
	{ "name", NULL, SHAPE_TEXT(roof_point, name) },
	{ "time_ms", "Total of all launches.", ROOF_FIGURE(time_ms) },
	{ "time_ratio", "Share of the time of all points.", ROOF_FIGURE(share_of_time) },
	{ "launches", NULL, ROOF_FIGURE(launches) },
	{ "shortest_ms", NULL, ROOF_FIGURE(shortest_ms) },
	{ "longest_ms", NULL, ROOF_FIGURE(longest_ms) },
	{ "operations", NULL, ROOF_FIGURE(ops) },
	{ "bytes", NULL, ROOF_FIGURE(bytes) },
	{ "operations_per_byte", NULL, ROOF_FIGURE(intensity) },
	{ "tflop_per_s", NULL, ROOF_FIGURE(tflops) },
	{ "gb_per_s", NULL, ROOF_FIGURE(gb_s) },
	{ "memory_ratio", "Share of the peak, from the profiler.", ROOF_FIGURE(memory_share) },
	{ "cache_ratio", "Share of its peak that the busiest of L1, L2 and DRAM reaches.", ROOF_FIGURE(cache_share) },
	{ "compute_ratio", "Share of the peak, from the profiler.", ROOF_FIGURE(compute_share) },
	{ "occupancy_ratio", NULL, ROOF_FIGURE(occupancy) },
	{ "blocks", "Average per launch.", ROOF_FIGURE(blocks) },
	{ "reached_ratio", "Share of the roof.", ROOF_FIGURE(reached) },
	{ "format", "Format of most of its operations.",
	  SHAPE_CHOICE_OF(roof_point, math, roof_math_names, ROOF_MATHS),
	  .unknown = SHAPE_NULL },
	{ "bound", NULL, SHAPE_CHOICE(roof_point, bound, roof_bound_names) },
	{ "above_roof", "true: above the roof, so the limit or a count is wrong.", SHAPE_FLAG(roof_point, over) },
	{ "reason", NULL, SHAPE_TEXT(roof_point, why) },
	{ "next", "Change to make next.", SHAPE_TEXT(roof_point, next) });

#define OF_PROFILE SHAPE_VIA(roofline_page, profile, roof_profile)

static const struct shape roofline_shape = SHAPE_OF(roofline_page, roofline,
	{ "machine", NULL, SHAPE_TEXT(roof, machine), SHAPE_VIA(roofline_page, roof, roof) },
	{ "source", "File or saved results that were read.", SHAPE_TEXT(roofline_page, source) },
	{ "kind", "Kind of profile.", SHAPE_TEXT(roof_profile, source), OF_PROFILE },
	{ "gpu", "GPU name in the profile.", SHAPE_TEXT(roof_profile, gpu), OF_PROFILE, .unknown = SHAPE_NULL },
	{ "span_ms", "From the start of the first launch to the end of the last.",
	  SHAPE_REAL(roof_profile, span_ms), OF_PROFILE, .unknown = SHAPE_ZERO },
	{ "busy_ms", "Time in which the GPU was busy.",
	  SHAPE_REAL(roof_profile, busy_ms), OF_PROFILE, .unknown = SHAPE_ZERO },
	{ "host_bound", "Sentence if the GPU waits for the host; else null.",
	  SHAPE_TEXT(roof_profile, host_bound), OF_PROFILE, .unknown = SHAPE_NULL },
	{ "dropped_rows", "Invalid rows that were ignored.", SHAPE_COUNT(roof_profile, dropped), OF_PROFILE },
	{ "limits", NULL, SHAPE_POINTER(roofline_page, roof, roof) },
	{ "points", NULL, SHAPE_LIST(roof_profile, points, n, roof_point), OF_PROFILE });

const struct result_shape roofline_result = {
	.name = "roofline",
	.title = "gputune roofline",
	.meaning = "Measured work on a GPU's roofline, longest first (bench results: farthest below its roof first). "
		"null: not counted or unknown.",
	.shape = &roofline_shape,
	.list = "points",
	.exit_codes = 1u << 0,
};

/* --- predict inference --- */

SHAPE_GIVES(double, model_parameters, prediction, arch_parts(&x->q.arch).total)
SHAPE_GIVES(double, model_active, prediction, arch_parts(&x->q.arch).active)
SHAPE_GIVES(double, footprint_spare, memory_footprint, x->limit - x->total)
SHAPE_GIVES(double, step_read, decode_step,
	x->dense_bytes + x->expert_bytes + x->head_bytes + x->cache_read + x->state_read)
SHAPE_GIVES(long long, prompt_chunks, prompt, (long long)x->chunks)

static const struct shape predict_asked_shape = SHAPE_OF(prediction, predict_asked,
	{ "model", NULL, SHAPE_TEXT(prediction, q.arch.name) },
	{ "model_source", NULL, SHAPE_TEXT(prediction, q.arch.source) },
	{ "weights", NULL, SHAPE_TEXT(format, name), SHAPE_VIA(prediction, q.ask.weights, format) },
	{ "kv", "KV cache format.", SHAPE_TEXT(prediction, q.ask.cache_name) },
	{ "engine", NULL, SHAPE_CHOICE(prediction, q.ask.engine, engine_names) },
	{ "machine", NULL, SHAPE_TEXT(prediction, q.ask.place.taken) },
	{ "gpus", NULL, SHAPE_COUNT(prediction, q.ask.place.gpus) },
	{ "tp", "Tensor parallelism.", SHAPE_COUNT(prediction, q.ask.tp), .title = "tensor parallel" },
	{ "pp", "Pipeline stages.", SHAPE_COUNT(prediction, q.ask.pp) },
	{ "batch", "Concurrency.", SHAPE_COUNT(prediction, q.ask.batch), .title = "concurrency" },
	{ "prompt_tokens", NULL, SHAPE_REAL(prediction, q.ask.prompt) },
	{ "output_tokens", NULL, SHAPE_REAL(prediction, q.ask.output) },
	{ "parameters", NULL, SHAPE_REAL_OF(model_parameters) },
	{ "active_parameters", NULL, SHAPE_REAL_OF(model_active) },
	{ "model_bytes", "Parameters of the whole model.", SHAPE_REAL(prediction, weight_bytes) });

/* A figure with what its interval is known from; without that it is a guess. */
#define PREDICT_FIGURE(m, i)                                                                                \
	{ "value", NULL, SHAPE_REAL(prediction, m.value) },                                                 \
	{ "low", "80 % prediction interval: low to high.", SHAPE_REAL(prediction, m.low) },    \
	{ "high", NULL, SHAPE_REAL(prediction, m.high) },                                                   \
	{ "rows", "Number of measurements of this kind; none: a guess.", SHAPE_COUNT(spread, rows),                   \
	  SHAPE_VIA(prediction, spread[i], spread), .absent = true },                                       \
	{ "families", "Number of model families.", SHAPE_COUNT(spread, families), \
	  SHAPE_VIA(prediction, spread[i], spread), .absent = true },                                       \
	{ "measured_on", NULL, SHAPE_TEXT(prediction, whose[i]), .absent = true }

static const struct shape_row predict_ttft_rows[] = { PREDICT_FIGURE(ttft, MEASURE_TTFT) };
static const struct shape_row predict_tpot_rows[] = { PREDICT_FIGURE(tpot, MEASURE_TPOT) };
static const struct shape_row predict_throughput_rows[] = { PREDICT_FIGURE(throughput, MEASURE_THROUGHPUT) };
static const struct shape predict_ttft_shape = SHAPE(prediction, predict_ttft);
static const struct shape predict_tpot_shape = SHAPE(prediction, predict_tpot);
static const struct shape predict_throughput_shape = SHAPE(prediction, predict_throughput);

static const struct shape memory_footprint_shape = SHAPE_OF(memory_footprint, memory_footprint,
	{ "weights_bytes", NULL, SHAPE_REAL(memory_footprint, weights) },
	{ "cache_bytes", "KV cache.", SHAPE_REAL(memory_footprint, cache) },
	{ "state_bytes", "State of linear-attention layers.", SHAPE_REAL(memory_footprint, state) },
	{ "activations_bytes", NULL, SHAPE_REAL(memory_footprint, activations) },
	{ "workspace_bytes", NULL, SHAPE_REAL(memory_footprint, workspace) },
	{ "graphs_bytes", "CUDA graphs.", SHAPE_REAL(memory_footprint, graphs) },
	{ "framework_bytes", "Libraries and context.", SHAPE_REAL(memory_footprint, framework) },
	{ "left_free_bytes", NULL, SHAPE_REAL(memory_footprint, reserve) },
	{ "together_bytes", NULL, SHAPE_REAL(memory_footprint, total) },
	{ "limit_bytes", "Available memory; with unified memory, that of the machine.", SHAPE_REAL(memory_footprint,
	  limit),
	  .title = "available memory" },
	{ "spare_bytes", "Bytes left; below 0: missing bytes.", SHAPE_REAL_OF(footprint_spare) },
	{ "most_requests", "Requests of this length that fit if the engine takes all memory.",
	  SHAPE_REAL(memory_footprint, most_requests) },
	{ "most_context_tokens", "Tokens per request that fit.", SHAPE_REAL(memory_footprint, most_context) },
	{ "bytes_a_request", "Bytes per further request.", SHAPE_REAL(memory_footprint, per_sequence) },
	{ "bytes_a_token", "Bytes per further token of a request.", SHAPE_REAL(memory_footprint, per_token) });

static const struct shape decode_step_shape = SHAPE_OF(decode_step, decode_step,
	{ "weights_ms", "Time of reading the weights that every token uses.", SHAPE_REAL(decode_step, dense) },
	{ "experts_ms", "Time of reading expert weights.", SHAPE_REAL(decode_step, expert) },
	{ "head_ms", "Time of reading the output head.", SHAPE_REAL(decode_step, head) },
	{ "cache_ms", "Time of reading the KV cache.", SHAPE_REAL(decode_step, cache) },
	{ "state_ms", NULL, SHAPE_REAL(decode_step, state) },
	{ "reading_ms", "Total time of reading; the step takes the longer of this and multiplying_ms.",
	  SHAPE_REAL(decode_step, memory) },
	{ "multiplying_ms", NULL, SHAPE_REAL(decode_step, compute) },
	{ "launches_ms", NULL, SHAPE_REAL(decode_step, launch) },
	{ "sequences_ms", "Time per request.", SHAPE_REAL(decode_step, sequence) },
	{ "links_ms", "Between GPUs.", SHAPE_REAL(decode_step, link) },
	{ "host_ms", "CPU work, overlapped.", SHAPE_REAL(decode_step, host) },
	{ "step_ms", NULL, SHAPE_REAL(decode_step, total) },
	{ "experts_reached_ratio", "Share of the experts that is read.", SHAPE_REAL(decode_step, reached) },
	{ "read_bytes", NULL, SHAPE_REAL_OF(step_read) });

static const struct shape prompt_shape = SHAPE_OF(prompt, prompt,
	{ "multiplying_ms", NULL, SHAPE_REAL(prompt, multiply) },
	{ "weights_ms", "Time of reading the weights; the step takes the longer of this and multiplying_ms.",
	  SHAPE_REAL(prompt, weights) },
	{ "attention_ms", NULL, SHAPE_REAL(prompt, attention) },
	{ "linear_attention_ms", NULL, SHAPE_REAL(prompt, scan) },
	{ "launches_ms", NULL, SHAPE_REAL(prompt, launch) },
	{ "links_ms", NULL, SHAPE_REAL(prompt, link) },
	{ "prompt_ms", NULL, SHAPE_REAL(prompt, total) },
	{ "chunks", "Number of steps that process the prompt (chunks).", SHAPE_COUNT_OF(prompt_chunks) });

static const struct shape curve_point_shape = SHAPE_OF(curve_point, curve_point,
	{ "batch", "Concurrency.", SHAPE_COUNT(curve_point, batch), .title = "concurrency" },
	{ "ttft_ms", NULL, SHAPE_REAL(curve_point, ttft), .title = "TTFT", .unit = "ms" },
	{ "tpot_ms", NULL, SHAPE_REAL(curve_point, tpot), .title = "TPOT", .unit = "ms" },
	{ "throughput_tok_s", NULL, SHAPE_REAL(curve_point, throughput),
	  .title = "throughput", .unit = "tokens/s" },
	{ "fits", NULL, SHAPE_FLAG(curve_point, fits) });

static const struct shape claim_shape = SHAPE_OF(claim, claim,
	{ "tok_s", "Figures of one request.", SHAPE_REAL(claim, tokens_s) },
	{ "verdict", "impossible, outside the interval, or inside.", SHAPE_TEXT(claim, verdict) },
	{ "reason", NULL, SHAPE_TEXT(claim, why) });

static const struct shape percentiles_shape = SHAPE_OF(percentiles, percentiles,
	{ "mean", NULL, SHAPE_REAL(percentiles, mean) },
	{ "p50", NULL, SHAPE_REAL(percentiles, p50) },
	{ "p95", NULL, SHAPE_REAL(percentiles, p95) },
	{ "p99", NULL, SHAPE_REAL(percentiles, p99) });

const struct shape schedule_shape = SHAPE_OF(schedule, schedule,
	{ "requests", "Simulated requests.", SHAPE_COUNT(schedule, requests), .unknown = SHAPE_ZERO },
	{ "ttft_ms", "Time to first token.", SHAPE_OBJECT(schedule, ttft, percentiles),
	  .title = "TTFT", .unit = "ms" },
	{ "tpot_ms", "Time per output token.", SHAPE_OBJECT(schedule, tpot, percentiles),
	  .title = "TPOT", .unit = "ms" },
	{ "e2e_ms", "From arrival to the last token.", SHAPE_OBJECT(schedule, e2e, percentiles),
	  .title = "end to end", .unit = "ms" },
	{ "throughput_tok_s", "Output tokens of all requests.", SHAPE_REAL(schedule, throughput),
	  .title = "throughput", .unit = "tokens/s" },
	{ "answered_per_s", "Requests per second.", SHAPE_REAL(schedule, rate) },
	{ "running", "Concurrent requests, mean over time.", SHAPE_REAL(schedule, running) },
	{ "preempted", "Requests that were preempted and recomputed.",
	  SHAPE_COUNT(schedule, preempted) },
	{ "overloaded", "true: requests arrive faster than they are answered.", SHAPE_FLAG(schedule, behind) });

static const struct shape prediction_shape = SHAPE_OF(prediction, prediction,
	{ "asked", NULL, SHAPE_PART(predict_asked_shape) },
	{ "ttft_ms", "Time to first token.", SHAPE_PART(predict_ttft_shape),
	  .title = "TTFT", .unit = "ms" },
	{ "tpot_ms", "Time per output token.", SHAPE_PART(predict_tpot_shape),
	  .title = "TPOT", .unit = "ms" },
	{ "throughput_tok_s", "Total of all requests.", SHAPE_PART(predict_throughput_shape),
	  .title = "throughput", .unit = "tokens/s" },
	{ "memory_bytes", NULL, SHAPE_OBJECT(prediction, bytes, figure), .title = "memory in use per GPU" },
	{ "fits", NULL, SHAPE_FLAG(prediction, memory.fits) },
	{ "limit", "What limits decoding.", SHAPE_CHOICE(prediction, limit, limit_names) },
	{ "limit_reason", NULL, SHAPE_TEXT(prediction, limit_why), .title = "limit" },
	{ "prompt_limit", NULL, SHAPE_CHOICE(prediction, prompt_limit, limit_names) },
	{ "running_requests", "Concurrent requests; other requests wait.", SHAPE_REAL(prediction, served.running) },
	{ "waiting_ms", "Waiting time, part of ttft_ms.", SHAPE_REAL(prediction, served.waiting) },
	{ "memory", NULL, SHAPE_OBJECT(prediction, memory, memory_footprint) },
	{ "step", "A decode step: one token per request.", SHAPE_OBJECT(prediction, step, decode_step) },
	{ "prompt", "Prefill of one request.", SHAPE_OBJECT(prediction, prompt, prompt) },
	{ "schedule", "Simulated scheduler: several requests.", SHAPE_OBJECT(prediction, schedule, schedule),
	  .unknown = SHAPE_ZERO },
	{ "curve", "Higher concurrency.", SHAPE_ARRAY(prediction, curve, n_curve, curve_point) },
	{ "calibration", NULL, SHAPE_TEXT(prediction, calibration), .title = "constants" },
	{ "notes", NULL, SHAPE_TEXT_ARRAY(prediction, q.notes, q.n_notes) },
	{ "explain", NULL, SHAPE_TEXT_ARRAY(prediction, lines, n_lines) },
	{ "claim", "A figure to check.", SHAPE_OBJECT(prediction, claim, claim), .unknown = SHAPE_ZERO });

const struct result_shape predict_result = {
	.name = "predict",
	.title = "gputune predict",
	.meaning = "A prediction of inference: figures with intervals, memory by part, the limit. Bytes are per GPU.",
	.shape = &prediction_shape,
	.exit_codes = 1u << 0 | 1u << 1,
};

#define ROW_FIGURES(i)                                                                            \
	{ "measured", NULL, SHAPE_REAL(row_result, measured[i]), .unknown = SHAPE_ZERO },         \
	{ "predicted", NULL, SHAPE_REAL(row_result, predicted[i].value), .unknown = SHAPE_ZERO }, \
	{ "low", "80 % prediction interval: low to high.",                                        \
	  SHAPE_REAL(row_result, predicted[i].low), .unknown = SHAPE_ZERO },                      \
	{ "high", NULL, SHAPE_REAL(row_result, predicted[i].high), .unknown = SHAPE_ZERO }

static const struct shape_row row_ttft_rows[] = { ROW_FIGURES(MEASURE_TTFT) };
static const struct shape_row row_tpot_rows[] = { ROW_FIGURES(MEASURE_TPOT) };
static const struct shape_row row_throughput_rows[] = { ROW_FIGURES(MEASURE_THROUGHPUT) };
static const struct shape row_ttft_shape = SHAPE(row_result, row_ttft);
static const struct shape row_tpot_shape = SHAPE(row_result, row_tpot);
static const struct shape row_throughput_shape = SHAPE(row_result, row_throughput);

static const struct shape row_result_shape = SHAPE_OF(row_result, row_result,
	{ "line", "Line number in the table.", SHAPE_COUNT(row_result, line) },
	{ "model", NULL, SHAPE_TEXT(row_result, model) },
	{ "hardware", NULL, SHAPE_TEXT(row_result, hardware) },
	{ "engine", NULL, SHAPE_TEXT(row_result, engine) },
	{ "weights", NULL, SHAPE_TEXT(row_result, weights) },
	{ "family", "Family of model shapes; rows of one family are not independent.",
	  SHAPE_TEXT(row_result, family), .unknown = SHAPE_NULL },
	{ "batch", NULL, SHAPE_COUNT(row_result, batch) },
	{ "tp", NULL, SHAPE_COUNT(row_result, tp) },
	{ "fits", NULL, SHAPE_FLAG(row_result, fits) },
	{ "speculative", NULL, SHAPE_FLAG(row_result, speculative) },
	{ "skipped", "Why it was not predicted.", SHAPE_TEXT(row_result, skipped), .unknown = SHAPE_NULL },
	{ "crowding", "TTFT divided by that of a single request.", SHAPE_REAL(row_result, crowding),
	  .unknown = SHAPE_ZERO },
	{ "ttft_ms", NULL, SHAPE_PART(row_ttft_shape) },
	{ "tpot_ms", NULL, SHAPE_PART(row_tpot_shape) },
	{ "throughput_tok_s", NULL, SHAPE_PART(row_throughput_shape) });

static const struct shape predict_rows_shape = SHAPE_OF(rows, predict_rows,
	{ "rows", NULL, SHAPE_LIST(rows, items, n, row_result) });

const struct result_shape predict_rows_result = {
	.name = "predict-rows",
	.title = "gputune predict --rows",
	.meaning = "Measurements, each with its prediction.",
	.shape = &predict_rows_shape,
	.list = "rows",
	.exit_codes = 1u << 0,
};
