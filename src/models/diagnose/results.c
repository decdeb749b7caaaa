/* SPDX-License-Identifier: Apache-2.0 */
/* What a diagnosis holds, a row a figure. Keys and meanings are API. */
#include "models/diagnose/page_diagnose.h"
#include "render/shape_page.h"

/* clang-format off */

#define A_FIGURE(type, m) SHAPE_REAL(type, m), .unknown = SHAPE_NULL
#define A_TEXT(type, m) SHAPE_TEXT(type, m), .unknown = SHAPE_NULL

static const struct shape cite_shape = SHAPE_OF(cite, cite,
	{ "file", NULL, SHAPE_TEXT(evidence_file, path), SHAPE_VIA(cite, file, evidence_file) },
	{ "line", "null: the whole file.", SHAPE_COUNT(cite, line), .unknown = SHAPE_ZERO },
	{ "says", NULL, SHAPE_TEXT(cite, says) });

static const char *cause_id(unsigned value)
{
	return cause_rows[value].id;
}

#define OF_ROW SHAPE_VIA(judged_cause, row, cause_row)

static const struct shape judged_cause_shape = SHAPE_OF(judged_cause, judged_cause,
	{ "id", NULL, SHAPE_TEXT(cause_row, id), OF_ROW, .name_of = cause_id, .n_names = CAUSES },
	{ "title", NULL, SHAPE_TEXT(cause_row, title), OF_ROW, .title = "cause" },
	{ "certainty", NULL, SHAPE_CHOICE_OF(judged_cause, how, certainty_names, CERTAINTIES) },
	{ "share", "Upper bound of its cost, as a share of a step.", A_FIGURE(judged_cause, share),
	  .title = "share of a step" },
	{ "says", NULL, A_TEXT(judged_cause, says), .title = "because" },
	{ "against", "Evidence against the cause.", A_TEXT(judged_cause, against) },
	{ "evidence", NULL, SHAPE_ARRAY(judged_cause, cites, n_cites, cite) },
	{ "mend", "Manual action.", SHAPE_TEXT(cause_row, mend), OF_ROW, .title = "to do" },
	{ "measure", "Measurement that would confirm or exclude the cause.", A_TEXT(cause_row, measure), OF_ROW,
	  .title = "to measure" });

#define PART(key, part) { key, NULL, A_FIGURE(step_split, s[part]), SHAPE_WHEN(step_split, told[part]) }

static const struct shape step_parts_shape = SHAPE_OF(step_split, step_parts,
	PART("compute_s", PART_COMPUTE),
	PART("exposed_communication_s", PART_COMM),
	PART("wait_s", PART_WAIT),
	PART("data_s", PART_DATA),
	PART("optimizer_s", PART_OPTIMIZER),
	PART("copy_s", PART_COPY),
	PART("host_s", PART_HOST),
	PART("checkpoint_s", PART_CHECKPOINT),
	PART("idle_s", PART_IDLE),
	{ "unexplained_s", NULL, SHAPE_REAL(step_split, s[PART_REST]) });

static const char *const clock_names[] = { "host", "gpu" };

static const struct shape step_split_shape = SHAPE_OF(step_split, step_split,
	{ "step_s", NULL, SHAPE_REAL(step_split, step_s) },
	{ "clock", NULL, SHAPE_EITHER(step_split, gpu_clock, clock_names) },
	{ "format", "Format of the source files.", A_TEXT(step_split, format) },
	{ "parts", "null: not in any file. All parts add up to step_s.", SHAPE_PART(step_parts_shape) });

static const struct shape run_summary_shape = SHAPE_OF(run_summary, run_summary,
	{ "gpus", NULL, A_FIGURE(run_summary, gpus), .title = "GPUs" },
	{ "steps", "Steps with a known time, without warm-up.", SHAPE_COUNT(run_summary, steps) },
	{ "step_s", NULL, A_FIGURE(run_summary, step_s), .title = "step time, measured", .unit = "s" },
	{ "step_p95_s", NULL, A_FIGURE(run_summary, step_p95_s) },
	{ "drift", "Step time of the last quarter over the first, minus 1.", A_FIGURE(run_summary, drift) },
	{ "tokens_per_s", NULL, A_FIGURE(run_summary, tokens_s),
	  .title = "throughput, measured", .unit = "tokens/s" },
	{ "tokens_per_s_per_gpu", NULL, A_FIGURE(run_summary, tokens_s_gpu) },
	{ "tokens_from", NULL, A_TEXT(run_summary, tokens_from) },
	{ "mfu", NULL, A_FIGURE(run_summary, mfu), .title = "MFU" },
	{ "mfu_with_attention", NULL, A_FIGURE(run_summary, mfu_attention) },
	{ "hfu", NULL, A_FIGURE(run_summary, hfu) },
	{ "flops_per_token", NULL, A_FIGURE(run_summary, flops_token) },
	{ "flops_per_token_with_attention", NULL, A_FIGURE(run_summary, attention_flops_token) },
	{ "formula", "Of flops_per_token.", A_TEXT(run_summary, formula) },
	{ "peak_flops", "Per GPU, dense.", A_FIGURE(run_summary, peak_flops) },
	{ "peak_from", NULL, A_TEXT(run_summary, peak_from) },
	{ "gpu_busy", NULL, A_FIGURE(run_summary, sums[FIGURE_GPU_UTIL].mean) },
	{ "sm_activity", NULL, A_FIGURE(run_summary, sums[FIGURE_SM_ACTIVITY].mean) },
	{ "gpu_memory_used_bytes", "Peak of the fullest GPU.", A_FIGURE(run_summary, memory_used) },
	{ "gpu_memory_bytes", NULL, A_FIGURE(run_summary, memory_total) },
	{ "sm_clock_mhz", NULL, A_FIGURE(run_summary, sums[FIGURE_SM_MHZ].mean) },
	{ "cpu_busy", NULL, A_FIGURE(run_summary, sums[FIGURE_CPU_BUSY].mean) },
	{ "job_cpus", NULL, A_FIGURE(run_summary, sums[FIGURE_PROCESS_CPUS].mean) });

static const struct shape rank_summary_shape = SHAPE_OF(rank_summary, rank_summary,
	{ "rank", NULL, SHAPE_COUNT(rank_summary, rank) },
	{ "own_s", "Step time without exposed communication.", A_FIGURE(rank_summary, own_s) },
	{ "wait_s", "Exposed communication.", A_FIGURE(rank_summary, wait_s) },
	{ "sm_clock_mhz", NULL, A_FIGURE(rank_summary, clock_mhz) });

#define OF_CHANGE SHAPE_VIA(judged_gain, change, train_change)

static const struct shape judged_gain_shape = SHAPE_OF(judged_gain, judged_gain,
	{ "cause", NULL, SHAPE_TEXT(cause_row, id), SHAPE_VIA(judged_gain, cause, cause_row) },
	{ "change", NULL, SHAPE_TEXT(train_change, name), OF_CHANGE },
	{ "gain", "Ratio of tokens per second, after to before.", SHAPE_OBJECT(train_change, gain, figure),
	  OF_CHANGE });

static const struct shape judged_gains_shape = SHAPE_OF(judged_gains, judged_gains,
	{ "tokens_per_s", "true: with the current setup.", SHAPE_OBJECT(judged_gains, tokens_s, figure) },
	{ "gains", NULL, SHAPE_ARRAY(judged_gains, items, n, judged_gain) });

static const char *const run_verdict_names[] = { "bottleneck", "healthy", "cannot-tell" };

SHAPE_GIVES(const char *, run_verdict_name, run_verdict, run_verdict_names[x->main ? 0 : x->healthy ? 1 : 2])

static const char *run_work(const void *object)
{
	const struct run_attribute *t = ((const struct run_verdict *)object)->run->traits[TRAIT_WORK];

	return t ? t->text : NULL;
}

#define OF_RUN SHAPE_VIA(run_verdict, run, run_summary)

static const struct shape run_verdict_shape = SHAPE_OF(run_verdict, run_verdict,
	{ "name", NULL, SHAPE_TEXT(run_summary, name), OF_RUN, .title = "run" },
	{ "work", "Kind of job, if it is not the training of a transformer.",
	  SHAPE_TEXT_OF(run_work), .unknown = SHAPE_NULL, .title = "work" },
	{ "verdict", NULL, SHAPE_TEXT_OF(run_verdict_name), SHAPE_NAMES(run_verdict_names) },
	{ "bottleneck", "Id of the cause.", A_TEXT(cause_row, id), SHAPE_VIA(run_verdict, main, cause_row) },
	{ "sentence", NULL, SHAPE_TEXT(run_verdict, verdict), .title = "bottleneck" },
	{ "found", "Number of causes found; they come first in the list.", SHAPE_COUNT(run_verdict, found) },
	{ "figures", NULL, SHAPE_PART(run_summary_shape), OF_RUN },
	{ "step", NULL, SHAPE_OBJECT(run_summary, split, step_split), OF_RUN, .unknown = SHAPE_ZERO },
	{ "ranks", "Rank, if ranks are distinguishable.", SHAPE_LIST(run_summary, ranks, n_ranks, rank_summary),
	  OF_RUN },
	{ "causes", "Figures, the most significant first.", SHAPE_ARRAY(run_verdict, causes, n_causes, judged_cause) },
	{ "missing", "Measurements required.", SHAPE_TEXT_LIST(run_verdict, missing, n_missing) },
	{ "notes", NULL, SHAPE_TEXT_LIST(run_summary, notes, n_notes), OF_RUN },
	{ "predicted", "Predicted by the training model, not measured.",
	  SHAPE_POINTER(run_verdict, predicted, judged_gains), .unknown = SHAPE_NULL });

static const struct shape scale_point_shape = SHAPE_OF(scale_point, scale_point,
	{ "run", "From 0.", SHAPE_COUNT(scale_point, run) },
	{ "gpus", NULL, A_FIGURE(scale_point, gpus), .title = "GPUs" },
	{ "tokens_per_s", NULL, A_FIGURE(scale_point, tokens_s), .title = "throughput", .unit = "tokens/s" },
	{ "efficiency", "Relative to the run with the fewest GPUs.", A_FIGURE(scale_point, efficiency) },
	{ "step_ratio", "Step time relative to the run with the fewest GPUs.", A_FIGURE(scale_point, step_ratio) },
	{ "kind", NULL, SHAPE_CHOICE_OF(scale_point, kind, scale_kind_names, SCALE_KINDS) },
	{ "why", NULL, A_TEXT(scale_point, why) });

static const struct shape scaling_shape = SHAPE_OF(scaling, scaling,
	{ "points", NULL, SHAPE_LIST(scaling, points, n, scale_point) },
	{ "bandwidth", "Whether the measured bandwidth explains the loss.",
	  SHAPE_TEXT(scaling, bandwidth.says), SHAPE_WHEN(scaling, bandwidth.told) });

static const struct shape evidence_file_shape = SHAPE_OF(evidence_file, evidence_file,
	{ "path", NULL, SHAPE_TEXT(evidence_file, path), .title = "~File", .style_of = shape_code },
	{ "format", NULL, A_TEXT(evidence_file, format), .title = "Read as" },
	{ "run", "From 0.", SHAPE_COUNT(evidence_file, run) },
	{ "lines", NULL, SHAPE_COUNT(evidence_file, lines), .title = "Lines" },
	{ "used", "Lines with usable data.", SHAPE_COUNT(evidence_file, used), .title = "Used" });

static const struct shape diagnose_trouble_shape = SHAPE_OF(diagnose_trouble, diagnose_trouble,
	{ "path", NULL, SHAPE_TEXT(diagnose_trouble, path) },
	{ "why", NULL, SHAPE_TEXT(diagnose_trouble, why) });

#define OF_DIAGNOSIS SHAPE_VIA(diagnose_view, d, diagnosis_of_runs)

static const struct shape diagnose_shape = SHAPE_OF(diagnose_view, diagnose,
	{ "runs", NULL, SHAPE_LIST(diagnosis_of_runs, verdicts, n, run_verdict), OF_DIAGNOSIS },
	{ "scaling", NULL, SHAPE_OBJECT(diagnosis_of_runs, scale, scaling), OF_DIAGNOSIS },
	{ "files", NULL, SHAPE_LIST(run_evidence, files, n_files, evidence_file),
	  SHAPE_VIA(diagnose_view, ev, run_evidence) },
	{ "not_read", "Number of tests that ran, including partial ones.", SHAPE_LIST(diagnose_view, troubles,
	  n_troubles, diagnose_trouble) },
	{ "model", "Interpretation of --model.", A_TEXT(diagnose_view, model_taken) });

const struct result_shape diagnose_result = {
	.name = "diagnose",
	.title = "gputune diagnose",
	.meaning = "Bottlenecks of training runs: each cause with the lines that prove it.",
	.shape = &diagnose_shape,
	.list = "runs",
	.exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
