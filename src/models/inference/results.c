/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions of inference and rooflines hold, a row a figure. Keys and meanings are API. */
#include "models/inference/page_roofline.h"

/* clang-format off */

static const char *const roof_origins[] = { "data-sheet", "measured" };

static const struct shape_row roof_limit_rows[] = {
	{ "value", NULL, SHAPE_REAL(roof_limit, value) },
	{ "is", NULL, SHAPE_EITHER(roof_limit, measured, roof_origins) },
	{ "source", NULL, SHAPE_TEXT(roof_limit, source), .unknown = SHAPE_NULL },
};
static const struct shape roof_limit_shape = SHAPE(roof_limit, roof_limit);

#define ROOF_LIMIT(m) SHAPE_OBJECT(roof, m, roof_limit), .unknown = SHAPE_ZERO

static const struct shape_row roof_math_rows[] = {
	{ "fp64", NULL, ROOF_LIMIT(math[ROOF_FP64]) },
	{ "fp32", NULL, ROOF_LIMIT(math[ROOF_FP32]) },
	{ "fp64_tensor", NULL, ROOF_LIMIT(math[ROOF_FP64_TENSOR]) },
	{ "tf32", NULL, ROOF_LIMIT(math[ROOF_TF32]) },
	{ "half", NULL, ROOF_LIMIT(math[ROOF_HALF]) },
	{ "fp8", NULL, ROOF_LIMIT(math[ROOF_FP8]) },
	{ "fp4", NULL, ROOF_LIMIT(math[ROOF_FP4]) },
	{ "int8", NULL, ROOF_LIMIT(math[ROOF_INT8]) },
};
static const struct shape roof_math_shape = SHAPE(roof, roof_math);

static const struct shape_row roof_rows[] = {
	{ "memory_gb_per_s", NULL, ROOF_LIMIT(memory) },
	{ "arithmetic_tflop_per_s", NULL, SHAPE_PART(roof_math_shape) },
	{ "host_to_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_H2D]) },
	{ "gpu_to_host_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_D2H]) },
	{ "within_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_D2D]) },
	{ "gpu_to_gpu_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_P2P]) },
	{ "setting_gb_per_s", NULL, ROOF_LIMIT(copy[COPY_SET]) },
	{ "launch_us", "From one empty kernel to the next.", ROOF_LIMIT(launch) },
};
static const struct shape roof_shape = SHAPE(roof, roof);

/* A figure that was counted, or null. */
#define ROOF_FIGURE(m) SHAPE_REAL(roof_point, m), .unknown = SHAPE_ZERO

static const struct shape_row roof_point_rows[] = {
	{ "name", NULL, SHAPE_TEXT(roof_point, name) },
	{ "time_ms", "Of all launches.", ROOF_FIGURE(time_ms) },
	{ "time_ratio", "Of all points.", ROOF_FIGURE(share_of_time) },
	{ "launches", NULL, ROOF_FIGURE(launches) },
	{ "shortest_ms", NULL, ROOF_FIGURE(shortest_ms) },
	{ "longest_ms", NULL, ROOF_FIGURE(longest_ms) },
	{ "operations", NULL, ROOF_FIGURE(ops) },
	{ "bytes", NULL, ROOF_FIGURE(bytes) },
	{ "operations_per_byte", NULL, ROOF_FIGURE(intensity) },
	{ "tflop_per_s", NULL, ROOF_FIGURE(tflops) },
	{ "gb_per_s", NULL, ROOF_FIGURE(gb_s) },
	{ "memory_ratio", "Of the peak, as the profiler has it.", ROOF_FIGURE(memory_share) },
	{ "cache_ratio", "Of the busiest of L1, L2 and DRAM.", ROOF_FIGURE(cache_share) },
	{ "compute_ratio", "Of the peak, as the profiler has it.", ROOF_FIGURE(compute_share) },
	{ "occupancy_ratio", NULL, ROOF_FIGURE(occupancy) },
	{ "blocks", "Of a launch on average.", ROOF_FIGURE(blocks) },
	{ "reached_ratio", "Of the roof above it.", ROOF_FIGURE(reached) },
	{ "format", "Of the largest part of its operations.", SHAPE_CHOICE_OF(roof_point, math, roof_math_names, ROOF_MATHS),
	  .unknown = SHAPE_NULL },
	{ "bound", NULL, SHAPE_CHOICE(roof_point, bound, roof_bound_names) },
	{ "above_roof", "The limit or a count is wrong.", SHAPE_FLAG(roof_point, over) },
	{ "reason", NULL, SHAPE_TEXT(roof_point, why) },
	{ "next", "What to change.", SHAPE_TEXT(roof_point, next) },
};
static const struct shape roof_point_shape = SHAPE(roof_point, roof_point);

#define OF_PROFILE SHAPE_VIA(roofline_page, profile, roof_profile)

static const struct shape_row roofline_rows[] = {
	{ "machine", NULL, SHAPE_TEXT(roof, machine), SHAPE_VIA(roofline_page, roof, roof) },
	{ "source", "The file, or which results.", SHAPE_TEXT(roofline_page, source) },
	{ "kind", "Of the profile.", SHAPE_TEXT(roof_profile, source), OF_PROFILE },
	{ "gpu", "As the profile names it.", SHAPE_TEXT(roof_profile, gpu), OF_PROFILE, .unknown = SHAPE_NULL },
	{ "span_ms", "From the first launch to the end of the last.",
	  SHAPE_REAL(roof_profile, span_ms), OF_PROFILE, .unknown = SHAPE_ZERO },
	{ "busy_ms", "The part of it in which anything ran.",
	  SHAPE_REAL(roof_profile, busy_ms), OF_PROFILE, .unknown = SHAPE_ZERO },
	{ "host_bound", "The GPU waits for the host.",
	  SHAPE_TEXT(roof_profile, host_bound), OF_PROFILE, .unknown = SHAPE_NULL },
	{ "dropped_rows", "They made no sense.", SHAPE_COUNT(roof_profile, dropped), OF_PROFILE },
	{ "limits", NULL, SHAPE_POINTER(roofline_page, roof, roof) },
	{ "points", NULL, SHAPE_LIST(roof_profile, points, n, roof_point), OF_PROFILE },
};
static const struct shape roofline_shape = SHAPE(roofline_page, roofline);

const struct result_shape roofline_result = {
	.name = "roofline",
	.title = "gputune roofline",
	.meaning = "Measured work under the roofs of a GPU, the longest first (results of benches: the farthest below its roof first). "
		   "null: not counted or not known.",
	.shape = &roofline_shape,
	.exit_codes = 1u << 0,
};
