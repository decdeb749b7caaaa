/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as a result and as it is kept, a row a figure. Keys and meanings are API. */
#include "models/inference/page_calibrate.h"

/* clang-format off */

/* --- calibrate --- */

static const struct shape calibrate_figure_shape = SHAPE_OF(calibrate_figure, calibrate_figure,
	{ "figure", NULL, SHAPE_CHOICE(calibrate_figure, what, log_figure_names) },
	{ "measured", NULL, SHAPE_REAL(calibrate_figure, measured) },
	{ "built_in", "Predicted with the built-in constants.",
	  SHAPE_REAL(calibrate_figure, built_in), .unknown = SHAPE_NULL },
	{ "fitted", NULL, SHAPE_REAL(calibrate_figure, fitted), .unknown = SHAPE_NULL },
	{ "left_out", "Predicted with a fit that excludes this run.",
	  SHAPE_REAL(calibrate_figure, left_out), .unknown = SHAPE_ZERO });

SHAPE_GIVES(bool, run_counts, calibrate_run, !x->skipped)
SHAPE_GIVES(const char *, run_model, calibrate_run, x->skipped ? x->log->model : x->q.arch.name)
SHAPE_GIVES(const char *, run_weights, calibrate_run, x->skipped ? x->log->weights : x->q.ask.weights->name)

#define OF_LOG SHAPE_VIA(calibrate_run, log, log_run)
#define WHERE_IT_COUNTS .when_of = run_counts

static const struct shape calibrate_run_shape = SHAPE_OF(calibrate_run, calibrate_run,
	{ "where", NULL, SHAPE_TEXT(log_run, where), OF_LOG },
	{ "tool", NULL, SHAPE_CHOICE(log_run, tool, log_tool_names), OF_LOG },
	{ "model", NULL, SHAPE_TEXT_OF(run_model), .unknown = SHAPE_NULL },
	{ "weights", NULL, SHAPE_TEXT_OF(run_weights), .unknown = SHAPE_NULL },
	{ "engine", NULL, SHAPE_CHOICE(calibrate_run, q.ask.engine, engine_names), WHERE_IT_COUNTS },
	{ "tp", NULL, SHAPE_COUNT(calibrate_run, q.ask.tp), WHERE_IT_COUNTS },
	{ "batch", NULL, SHAPE_COUNT(calibrate_run, q.ask.batch), WHERE_IT_COUNTS },
	{ "prompt_tokens", NULL, SHAPE_REAL(calibrate_run, q.ask.prompt), WHERE_IT_COUNTS },
	{ "output_tokens", NULL, SHAPE_REAL(calibrate_run, q.ask.output), WHERE_IT_COUNTS },
	{ "skipped", "Reason why the run is not used.", SHAPE_TEXT(calibrate_run, skipped), .unknown = SHAPE_NULL },
	{ "figures", NULL, SHAPE_LIST(calibrate_run, figures, n_figures, calibrate_figure) });

static const char *const constant_state_names[] = {
	[CONSTANT_FITTED] = "fitted", [CONSTANT_EXPECTED] = "moved-by-bench", [CONSTANT_OPEN] = "open",
	[CONSTANT_UNTOUCHED] = "untouched",
};

SHAPE_GIVES(bool, constant_not_fitted, calibrate_constant, x->state != CONSTANT_FITTED)

static const struct shape calibrate_constant_shape = SHAPE_OF(calibrate_constant, calibrate_constant,
	{ "name", NULL, SHAPE_CHOICE(calibrate_constant, id, fit_names) },
	{ "state", NULL, SHAPE_CHOICE(calibrate_constant, state, constant_state_names) },
	{ "built_in", NULL, SHAPE_REAL(calibrate_constant, built_in) },
	{ "value", NULL, SHAPE_REAL(calibrate_constant, value) },
	{ "width_ratio", "Standard deviation of the constant's logarithm.",
	  SHAPE_REAL(calibrate_constant, sigma), .unknown = SHAPE_ZERO },
	{ "missing", "Measurement that would determine it.",
	  SHAPE_TEXT(calibrate_constant, missing), .unknown = SHAPE_NULL, .when_of = constant_not_fitted },
	{ "bench", "Bench result for the constant.", SHAPE_TEXT(calibrate_constant, from), .unknown = SHAPE_NULL });

static const void *group_constants(struct arena *a, const void *object, size_t *n)
{
	(void)a;
	*n = FITS;
	return ((const struct calibrate_group *)object)->constants;
}

/* Others are never fitted. */
static bool constant_is_fitted(const void *item, const void *object)
{
	(void)object;
	return ((const struct calibrate_constant *)item)->missing;
}

#define GROUP_ERROR(name, m)                                                                     \
	static const struct shape_row name##_rows[] = {                                          \
		{ "median_ratio", NULL, SHAPE_REAL(calibrate_group, m[0]) },                     \
		{ "p90_ratio", NULL, SHAPE_REAL(calibrate_group, m[1]) },                        \
	};                                                                                       \
	static const struct shape name##_shape = SHAPE(calibrate_group, name)

GROUP_ERROR(error_built_in, built_in);
GROUP_ERROR(error_fitted, fitted);
GROUP_ERROR(error_left_out, left_out);
GROUP_ERROR(error_left_model, left_model);

SHAPE_GIVES(bool, group_has_runs, calibrate_group, x->runs > 0)

static const struct shape calibrate_group_shape = SHAPE_OF(calibrate_group, calibrate_group,
	{ "engine", NULL, SHAPE_CHOICE(calibrate_group, engine, engine_names) },
	{ "hardware", NULL, SHAPE_CHOICE(calibrate_group, hardware, hardware_names) },
	{ "runs", NULL, SHAPE_COUNT(calibrate_group, runs) },
	{ "figures", NULL, SHAPE_COUNT(calibrate_group, figures) },
	{ "kept", "Whether the fit is used from now on.", SHAPE_FLAG(calibrate_group, kept) },
	{ "every_model", "true: used for every model; false: only for the models listed.", SHAPE_FLAG(calibrate_group,
	  general) },
	{ "moved_by_benches", NULL, SHAPE_FLAG(calibrate_group, hinted) },
	{ "models", NULL, SHAPE_TEXT_LIST(calibrate_group, models, n_models) },
	{ "reason", "Why the fit is or is not used.", SHAPE_TEXT(calibrate_group, why) },
	{ "error_built_in", "|predicted / measured - 1| with the built-in constants.",
	  SHAPE_PART(error_built_in_shape), .when_of = group_has_runs },
	{ "error_fitted", NULL, SHAPE_PART(error_fitted_shape), .when_of = group_has_runs },
	{ "error_left_out", "|predicted / measured - 1| of each run, with constants fitted to the other runs.",
	  SHAPE_PART(error_left_out_shape), SHAPE_WHEN(calibrate_group, tried) },
	{ "error_left_model", "|predicted / measured - 1| of each model, with constants fitted to the other models.",
	  SHAPE_PART(error_left_model_shape), SHAPE_WHEN(calibrate_group, tried_models) },
	{ "constants", NULL, SHAPE_LIST_MADE(group_constants, calibrate_constant), .keeps = constant_is_fitted });

#define OF_CALIBRATION SHAPE_VIA(calibrate_page, c, calibration)

static const struct shape calibrate_shape = SHAPE_OF(calibrate_page, calibrate,
	{ "machine", NULL, SHAPE_TEXT(calibrate_page, taken) },
	{ "gpu", NULL, SHAPE_TEXT(calibrate_page, gpu) },
	{ "bench_cases", "Valid cases of stored results.", SHAPE_COUNT(calibrate_page, bench_cases) },
	{ "kept_in", "File that it was stored in; null: not stored.", SHAPE_TEXT(calibrate_page, stored),
	  .unknown = SHAPE_NULL },
	{ "runs", NULL, SHAPE_LIST(calibration, runs, n_runs, calibrate_run), OF_CALIBRATION },
	{ "groups", "One group per engine and kind of hardware.",
	  SHAPE_LIST(calibration, groups, n_groups, calibrate_group), OF_CALIBRATION });

const struct result_shape calibrate_result = {
	.name = "calibrate",
	.title = "gputune calibrate",
	.meaning = "Prediction constants fitted to measurements: each run with predictions before, after, and with a "
		"fit that excludes it; each constant with its state.",
	.shape = &calibrate_shape,
	.list = "runs",
	.exit_codes = 1u << 0 | 1u << 1,
};

/* --- calibrate without files: what is kept --- */

SHAPE_GIVES(bool, file_is_used, calibration_file, !x->why_not)

static const struct shape stored_file_shape = SHAPE_OF(calibration_file, stored_file,
	{ "path", NULL, SHAPE_TEXT(calibration_file, path) },
	{ "time", NULL, SHAPE_TEXT(calibration_file, time), .unknown = SHAPE_NULL },
	{ "from", NULL, SHAPE_TEXT(calibration_file, from), .unknown = SHAPE_NULL },
	{ "used", "Whether predictions use the calibration.", SHAPE_FLAG_OF(file_is_used) },
	{ "reason", "Reason why it is not used.", SHAPE_TEXT(calibration_file, why_not), .unknown = SHAPE_NULL });

static const struct shape stored_set_shape = SHAPE_OF(calibration_set, stored_set,
	{ "models", "Models; null: all models.",
	  SHAPE_TEXT_LIST(calibration_set, models, n_models), .unknown = SHAPE_NULL },
	{ "constants", "One line per constant.", SHAPE_TEXT(calibration_set, lines) });

static const void *stored_sets(struct arena *a, const void *object, size_t *n)
{
	const struct calibration_file *f = ((const struct calibration_stored *)object)->file;

	(void)a;
	*n = f && !f->why_not ? f->n_sets : 0;
	return f ? f->sets : NULL;
}

static const struct shape calibration_stored_shape = SHAPE_OF(calibration_stored, calibration_stored,
	{ "machine", NULL, SHAPE_TEXT(calibration_stored, taken) },
	{ "kept", NULL, SHAPE_POINTER_AS(calibration_stored, file, calibration_file, stored_file_shape),
	  .unknown = SHAPE_NULL },
	{ "sets", NULL, SHAPE_LIST_MADE_AS(stored_sets, calibration_set, stored_set_shape) });

const struct result_shape calibration_show_result = {
	.name = "calibration-show",
	.title = "gputune calibrate, without files",
	.meaning = "The calibration stored for a machine, and whether predictions use it.",
	.shape = &calibration_stored_shape,
	.list = "sets",
	.exit_codes = 1u << 0 | 1u << 1,
};

/* --- the file --- */

static const struct shape calibration_value_shape = SHAPE_OF(calibration_value, calibration_value,
	{ NULL, NULL, SHAPE_REAL(calibration_value, value) });

static const struct shape calibration_set_shape = SHAPE_OF(calibration_set, calibration_set,
	{ "engine", NULL, SHAPE_TEXT(calibration_set, engine) },
	{ "hardware", NULL, SHAPE_TEXT(calibration_set, hardware) },
	{ "models", "Models; null: all models.",
	  SHAPE_TEXT_LIST(calibration_set, models, n_models), .unknown = SHAPE_NULL },
	{ "constants", NULL, SHAPE_LIST(calibration_set, values, n, calibration_value),
	  SHAPE_BY(calibration_value, name) },
	{ "runs", "Number of runs; 0: from benches only.", SHAPE_COUNT(calibration_set, runs) },
	{ "built_in_ratio", "Median of |predicted / measured - 1|.",
	  SHAPE_REAL(calibration_set, built_in), .unknown = SHAPE_NULL },
	{ "fitted_ratio", NULL, SHAPE_REAL(calibration_set, fitted), .unknown = SHAPE_NULL },
	{ "left_out_ratio", NULL, SHAPE_REAL(calibration_set, left_out), .unknown = SHAPE_NULL });

static const struct shape pair_value_shape = SHAPE_OF(record_pair, pair_value,
	{ NULL, NULL, SHAPE_TEXT(record_pair, value) });

static const struct shape calibration_file_shape = SHAPE_OF(calibration_file, calibration_file,
	{ "tool_version", NULL, SHAPE_TEXT(calibration_file, version) },
	{ "time", NULL, SHAPE_TEXT(calibration_file, time) },
	{ "machine", NULL, SHAPE_TEXT(calibration_file, taken) },
	{ "fingerprint", "Fingerprint of the machine at that time.",
	  SHAPE_LIST_AS(calibration_file, pairs, n_pairs, record_pair, pair_value_shape),
	  SHAPE_BY(record_pair, name) },
	{ "from", NULL, SHAPE_TEXT(calibration_file, from) },
	{ "sets", "Later sets override earlier ones.", SHAPE_LIST(calibration_file, sets, n_sets, calibration_set) });

const struct result_shape calibration_result = {
	.name = "calibration",
	.title = "A stored calibration",
	.meaning = "The file that gputune calibrate stores in the state folder.",
	.shape = &calibration_file_shape,
	.no_time = true,
	.no_version = true,
};
