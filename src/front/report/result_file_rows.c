/* SPDX-License-Identifier: Apache-2.0 */
/* Which results a page can show when they come as files, and what of each. */
#include "front/report/result_file.h"

static const struct result_file_field check_pairs[] = {
	{ "profile.name", "Profile", GIVEN_TEXT, NULL },
	{ "summary.fail", "To fix", GIVEN_NUMBER, NULL },
	{ "summary.pass", "Right", GIVEN_NUMBER, NULL },
	{ "summary.unknown", "Could not be seen", GIVEN_NUMBER, NULL },
	{ "summary.score", "Score of 100", GIVEN_NUMBER, NULL },
};

static const struct result_file_field check_findings[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },	    { "target", "On", GIVEN_TEXT, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL }, { "severity", "Weight", GIVEN_WORD, NULL },
	{ "current", "Is", GIVEN_TEXT, NULL },	    { "wanted", "Should be", GIVEN_TEXT, NULL },
	{ "reason", "Because", GIVEN_TEXT, NULL },  { "read_from", "Read from", GIVEN_CODE, NULL },
	{ "risk", "Risk", GIVEN_TEXT, NULL },
};

static const struct result_file_table check_tables[] = {
	{ NULL,
	  "findings",
	  "Findings of the file",
	  GIVEN_FIELDS(check_findings),
	  "verdict",
	  { "pass", "na" },
	  true },
};

static const struct result_file_field prove_pairs[] = {
	{ "what", "Setting", GIVEN_CODE, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL },
	{ "why", "Why", GIVEN_TEXT, NULL },
	{ "effect", "After over before", GIVEN_TIMES, NULL },
	{ "effect.pairs", "Pairs", GIVEN_NUMBER, NULL },
	{ "effect.resolution", "Least that could be seen", GIVEN_SHARE, NULL },
	{ "measured_with.name", "Measured with", GIVEN_CODE, NULL },
	{ "kept", "Kept", GIVEN_YES, NULL },
	{ "took_s", "Took", GIVEN_NUMBER, "s" },
	{ "trouble", "Trouble", GIVEN_TEXT, NULL },
	{ "foreign", "Changed by others meanwhile", GIVEN_TEXT, NULL },
};

static const struct result_file_field prove_changes[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },
	{ "target", "On", GIVEN_TEXT, NULL },
	{ "before", "Before", GIVEN_TEXT, NULL },
	{ "after", "After", GIVEN_TEXT, NULL },
};

static const struct result_file_field prove_guards[] = {
	{ "figure", "Guard", GIVEN_CODE, NULL },
	{ "", "After over before", GIVEN_TIMES, NULL },
	{ "veto", "Got worse", GIVEN_YES, NULL },
};

static const struct result_file_field prove_members[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },
	{ "stays", "Stays", GIVEN_YES, NULL },
	{ "screened", "Screened", GIVEN_TIMES, NULL },
	{ "confirmed", "Confirmed", GIVEN_TIMES, NULL },
	{ "fault", "Fault", GIVEN_TEXT, NULL },
};

static const struct result_file_table prove_tables[] = {
	{ NULL, "changes", "What was switched", GIVEN_FIELDS(prove_changes), NULL, { NULL }, true },
	{ NULL, "guards", "Guards", GIVEN_FIELDS(prove_guards), NULL, { NULL }, false },
	{ NULL,
	  "members",
	  "Its settings, one by one",
	  GIVEN_FIELDS(prove_members),
	  NULL,
	  { NULL },
	  false },
};

static const struct result_file_ratios prove_ratios[] = {
	{ "",
	  "After over before",
	  { "what" },
	  "effect",
	  "verdict",
	  "interval of the proof",
	  "worse",
	  "better" },
	{ "guards",
	  "Guards: after over before",
	  { "figure" },
	  "",
	  NULL,
	  "90 % interval",
	  "worse",
	  "better" },
};

static const struct result_file_field doctor_pairs[] = {
	{ "summary.found", "Found", GIVEN_NUMBER, NULL },
	{ "summary.not_tested", "Not tested", GIVEN_NUMBER, NULL },
	{ "summary.fine", "Fine", GIVEN_NUMBER, NULL },
};

static const struct result_file_field doctor_causes[] = {
	{ "^symptom", "Symptom", GIVEN_TEXT, NULL },  { "^state", "State", GIVEN_WORD, NULL },
	{ "title", "Cause", GIVEN_TEXT, NULL },	      { "likelihood", "Likely", GIVEN_WORD, NULL },
	{ "evidence", "Evidence", GIVEN_TEXT, NULL }, { "fix", "Fix", GIVEN_CODE, NULL },
	{ "by_hand", "By hand", GIVEN_TEXT, NULL },
};

static const struct result_file_field doctor_figures[] = {
	{ "bench", "Bench", GIVEN_TEXT, NULL },
	{ "case", "Case", GIVEN_TEXT, NULL },
	{ "figure", "Figure", GIVEN_TEXT, NULL },
	{ "median", "Median, measured", GIVEN_NUMBER, NULL },
	{ "unit", "Unit", GIVEN_TEXT, NULL },
	{ "samples", "Samples", GIVEN_NUMBER, NULL },
};

static const struct result_file_field doctor_fixes[] = {
	{ "settings", "Fix tried", GIVEN_CODE, NULL }, { "verdict", "Verdict", GIVEN_WORD, NULL },
	{ "measured", "Measured", GIVEN_TEXT, NULL },  { "kept", "Kept", GIVEN_YES, NULL },
	{ "left", "Not set", GIVEN_TEXT, NULL },       { "trouble", "Trouble", GIVEN_TEXT, NULL },
};

static const struct result_file_table doctor_tables[] = {
	{ "diagnoses",
	  "causes",
	  "Causes",
	  GIVEN_FIELDS(doctor_causes),
	  "likelihood",
	  { "excluded", "not here" },
	  true },
	{ NULL,
	  "measurements",
	  "What its tests measured",
	  GIVEN_FIELDS(doctor_figures),
	  NULL,
	  { NULL },
	  false },
	{ NULL,
	  "fixes",
	  "Fixes that were tried",
	  GIVEN_FIELDS(doctor_fixes),
	  NULL,
	  { NULL },
	  false },
};

static const struct result_file_field stack_pairs[] = {
	{ "rootfs", "Root file system", GIVEN_CODE, NULL },
	{ "gpus", "For GPUs", GIVEN_LIST, NULL },
	{ "summary.fail", "Wrong", GIVEN_NUMBER, NULL },
	{ "summary.unknown", "Could not be seen", GIVEN_NUMBER, NULL },
	{ "summary.pass", "Right", GIVEN_NUMBER, NULL },
};

static const struct result_file_field stack_findings[] = {
	{ "title", "What", GIVEN_TEXT, NULL },	     { "target", "Of", GIVEN_TEXT, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL },  { "current", "Is", GIVEN_TEXT, NULL },
	{ "wanted", "Should be", GIVEN_TEXT, NULL }, { "reason", "Because", GIVEN_TEXT, NULL },
	{ "command", "Fix", GIVEN_CODE, NULL },
};

static const struct result_file_field stack_items[] = {
	{ "component", "Component", GIVEN_STRONG, NULL },
	{ "version", "Version", GIVEN_TEXT, NULL },
	{ "version_from", "Told by", GIVEN_TEXT, NULL },
	{ "place", "Where", GIVEN_CODE, NULL },
	{ "gpu_code", "Code for", GIVEN_LIST, NULL },
};

static const struct result_file_table stack_tables[] = {
	{ NULL,
	  "findings",
	  "Software that does not go together",
	  GIVEN_FIELDS(stack_findings),
	  "verdict",
	  { "pass", "na" },
	  true },
	{ NULL, "items", "Installed", GIVEN_FIELDS(stack_items), NULL, { NULL }, false },
};

static const struct result_file_field compare_pairs[] = {
	{ "a", "Before", GIVEN_CODE, NULL },
	{ "b", "After", GIVEN_CODE, NULL },
	{ "summary.better", "Better", GIVEN_NUMBER, NULL },
	{ "summary.worse", "Worse", GIVEN_NUMBER, NULL },
	{ "summary.no_difference", "No difference", GIVEN_NUMBER, NULL },
	{ "summary.not_comparable", "Not comparable", GIVEN_NUMBER, NULL },
	{ "threshold", "Least difference that counts", GIVEN_SHARE, NULL },
};

static const struct result_file_field compare_rows[] = {
	{ "bench", "Bench", GIVEN_TEXT, NULL },
	{ "case", "Case", GIVEN_STRONG, NULL },
	{ "figure", "Figure", GIVEN_TEXT, NULL },
	{ "median_a", "Before", GIVEN_NUMBER, NULL },
	{ "median_b", "After", GIVEN_NUMBER, NULL },
	{ "unit", "Unit", GIVEN_TEXT, NULL },
	{ "", "After over before", GIVEN_TIMES, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL },
	{ "reason", "Because", GIVEN_TEXT, NULL },
};

static const struct result_file_table compare_tables[] = {
	{ NULL, "rows", "Figures of both", GIVEN_FIELDS(compare_rows), NULL, { NULL }, true },
};

/* B over A as it is: for a latency, left is better. */
static const struct result_file_ratios compare_ratios[] = {
	{ "rows",
	  "After over before",
	  { "bench", "case", "figure" },
	  "",
	  "verdict",
	  "interval of the comparison",
	  NULL,
	  NULL },
};

const struct result_file_kind given_machine_kinds[] = {
	{ .schema = "gputune.check/1",
	  .verb = "check",
	  .part = "findings",
	  .says = "What is was read from the machine at that time.",
	  GIVEN_PAIRS(check_pairs),
	  GIVEN_TABLES(check_tables) },
	{ .schema = "gputune.prove/1",
	  .verb = "prove",
	  .part = "proofs",
	  .says = "Its figures were measured, with the setting and without it in turns.",
	  GIVEN_PAIRS(prove_pairs),
	  GIVEN_TABLES(prove_tables),
	  GIVEN_RATIOS(prove_ratios) },
	{ .schema = "gputune.doctor/1",
	  .verb = "doctor",
	  .part = "doctor",
	  .says = "Evidence was read or measured as it says.",
	  GIVEN_PAIRS(doctor_pairs),
	  GIVEN_TABLES(doctor_tables) },
	{ .schema = "gputune.stack-check/1",
	  .verb = "stack check",
	  .part = "stack",
	  .says = "Versions were read from files.",
	  GIVEN_PAIRS(stack_pairs),
	  GIVEN_TABLES(stack_tables) },
	{ .schema = "gputune.compare/1",
	  .verb = "compare",
	  .part = "benches",
	  .says = "Its figures were measured.",
	  GIVEN_PAIRS(compare_pairs),
	  GIVEN_TABLES(compare_tables),
	  GIVEN_RATIOS(compare_ratios),
	  .texts = { "differs" } },
	{ .schema = NULL },
};

/* Results about models and training that a page can show when they come as files: predict, predict
 * training, advise, diagnose. */

static const struct result_file_field predict_pairs[] = {
	{ "asked.model", "Model", GIVEN_STRONG, NULL },
	{ "asked.machine", "Machine", GIVEN_TEXT, NULL },
	{ "asked.engine", "Engine", GIVEN_TEXT, NULL },
	{ "asked.weights", "Weights", GIVEN_CODE, NULL },
	{ "asked.batch", "Requests at a time", GIVEN_NUMBER, NULL },
	{ "asked.tp", "Tensor parallel", GIVEN_NUMBER, NULL },
	{ "fits", "Fits", GIVEN_YES, NULL },
	{ "ttft_ms", "Time to first token", GIVEN_INTERVAL, "ms" },
	{ "tpot_ms", "Time per output token", GIVEN_INTERVAL, "ms" },
	{ "throughput_tok_s", "Throughput", GIVEN_INTERVAL, "tokens/s" },
	{ "memory_bytes", "Memory of one GPU", GIVEN_BYTES, NULL },
	{ "memory.limit_bytes", "that it has", GIVEN_BYTES, NULL },
	{ "limit_reason", "What binds", GIVEN_TEXT, NULL },
	{ "calibration", "Constants", GIVEN_TEXT, NULL },
};

static const struct result_file_field predict_curve[] = {
	{ "batch", "Requests at a time", GIVEN_NUMBER, NULL },
	{ "ttft_ms", "Time to first token", GIVEN_NUMBER, "ms" },
	{ "tpot_ms", "Time per output token", GIVEN_NUMBER, "ms" },
	{ "throughput_tok_s", "Throughput", GIVEN_NUMBER, "tokens/s" },
	{ "fits", "Fits", GIVEN_YES, NULL },
};

static const struct result_file_table predict_tables[] = {
	{ NULL,
	  "curve",
	  "With more requests at a time",
	  GIVEN_FIELDS(predict_curve),
	  NULL,
	  { NULL },
	  true },
};

static const struct result_file_field train_pairs[] = {
	{ "asked.model", "Model", GIVEN_STRONG, NULL },
	{ "asked.machine", "Machine", GIVEN_TEXT, NULL },
	{ "asked.parallel", "Way", GIVEN_CODE, NULL },
	{ "asked.precision", "Precision", GIVEN_CODE, NULL },
	{ "asked.micro_batch", "Micro-batch", GIVEN_NUMBER, NULL },
	{ "asked.global_batch", "Global batch", GIVEN_NUMBER, NULL },
	{ "step.step_s", "A step", GIVEN_INTERVAL, "s" },
	{ "tokens_per_s", "Throughput", GIVEN_INTERVAL, "tokens/s" },
	{ "tokens_per_s_per_gpu", "of one GPU", GIVEN_INTERVAL, "tokens/s" },
	{ "mfu_ratio.value", "MFU", GIVEN_SHARE, NULL },
	{ "memory.fits", "Fits", GIVEN_YES, NULL },
	{ "memory.total_bytes", "Memory of one GPU", GIVEN_BYTES, NULL },
	{ "memory.limit_bytes", "that it has", GIVEN_BYTES, NULL },
	{ "limit_reason", "What binds", GIVEN_TEXT, NULL },
	{ "interval_of", "Intervals from", GIVEN_TEXT, NULL },
	{ "judgement.measured_tokens_per_s", "Claimed", GIVEN_NUMBER, "tokens/s" },
	{ "judgement.verdict", "The claim", GIVEN_TEXT, NULL },
};

static const struct result_file_field train_links[] = {
	{ "collective", "Collective", GIVEN_CODE, NULL },
	{ "purpose", "Of", GIVEN_TEXT, NULL },
	{ "ranks", "Ranks", GIVEN_NUMBER, NULL },
	{ "bytes", "Each", GIVEN_BYTES, NULL },
	{ "bus_gb_per_s", "Bus", GIVEN_NUMBER, "GB/s" },
	{ "total_s", "Together", GIVEN_NUMBER, "s" },
	{ "exposed_s", "That nothing hides", GIVEN_NUMBER, "s" },
	{ "from", "From", GIVEN_TEXT, NULL },
};

static const struct result_file_field train_changes[] = {
	{ "name", "Change", GIVEN_STRONG, NULL }, { "gain", "Times as fast", GIVEN_TIMES, NULL },
	{ "fits", "Fits", GIVEN_YES, NULL },	  { "memory_bytes", "Memory", GIVEN_BYTES, NULL },
	{ "why", "Why", GIVEN_TEXT, NULL },
};

static const struct result_file_field train_scale[] = {
	{ "gpus", "GPUs", GIVEN_NUMBER, NULL },
	{ "step_s", "A step", GIVEN_NUMBER, "s" },
	{ "tokens_per_s", "Throughput", GIVEN_NUMBER, "tokens/s" },
	{ "efficiency_ratio.value", "Efficiency", GIVEN_SHARE, NULL },
	{ "exposed_ratio", "Communication not hidden", GIVEN_SHARE, NULL },
	{ "rest", "The rest", GIVEN_TEXT, NULL },
	{ "why_not", "Why not", GIVEN_TEXT, NULL },
};

static const struct result_file_field train_causes[] = {
	{ "what", "What may be missing", GIVEN_TEXT, NULL },
	{ "excluded", "Excluded", GIVEN_YES, NULL },
	{ "why", "Why", GIVEN_TEXT, NULL },
	{ "measure", "Measure", GIVEN_TEXT, NULL },
};

static const struct result_file_table train_tables[] = {
	{ NULL, "communication", "Communication", GIVEN_FIELDS(train_links), NULL, { NULL }, true },
	{ NULL,
	  "what_if.changes",
	  "What changes would bring",
	  GIVEN_FIELDS(train_changes),
	  NULL,
	  { NULL },
	  false },
	{ NULL, "scale", "With more GPUs", GIVEN_FIELDS(train_scale), NULL, { NULL }, false },
	{ NULL,
	  "judgement.causes",
	  "What the claim lacks",
	  GIVEN_FIELDS(train_causes),
	  NULL,
	  { NULL },
	  false },
};

static const struct result_file_ratios train_ratios[] = {
	{ "what_if.changes",
	  "What changes would bring, predicted",
	  { "name" },
	  "gain",
	  NULL,
	  "interval of the prediction",
	  "worse",
	  "better" },
};

static const struct result_file_field advise_pairs[] = {
	{ "asked.model", "Model", GIVEN_STRONG, NULL },
	{ "asked.machine", "Machine", GIVEN_TEXT, NULL },
	{ "asked.engine", "Engine", GIVEN_TEXT, NULL },
	{ "asked.weights", "Weights", GIVEN_CODE, NULL },
	{ "asked.goal", "Goal", GIVEN_TEXT, NULL },
	{ "now.ttft_ms", "Now: time to first token", GIVEN_NUMBER, "ms" },
	{ "now.tpot_ms", "Now: time per output token", GIVEN_NUMBER, "ms" },
	{ "now.throughput_tok_s", "Now: throughput", GIVEN_NUMBER, "tokens/s" },
	{ "limit", "What binds", GIVEN_TEXT, NULL },
	{ "tried", "Ways looked at", GIVEN_NUMBER, NULL },
	{ "calibration", "Constants", GIVEN_TEXT, NULL },
};

static const struct result_file_field advise_changes[] = {
	{ "change", "Change", GIVEN_STRONG, NULL },
	{ "gain.answer", "Answer, times as fast", GIVEN_TIMES, NULL },
	{ "gain.ttft", "First token", GIVEN_TIMES, NULL },
	{ "gain.throughput", "Throughput", GIVEN_TIMES, NULL },
	{ "confidence", "Confidence", GIVEN_TEXT, NULL },
	{ "trade_off", "Paid with", GIVEN_TEXT, NULL },
	{ "to_measure", "Measure first", GIVEN_TEXT, NULL },
};

static const struct result_file_field advise_settings[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },
	{ "target", "On", GIVEN_TEXT, NULL },
	{ "verdict", "Verdict, measured", GIVEN_WORD, NULL },
	{ "", "After over before", GIVEN_TIMES, NULL },
	{ "text", "Why", GIVEN_TEXT, NULL },
};

static const struct result_file_table advise_tables[] = {
	{ NULL,
	  "changes",
	  "Changes, the best first",
	  GIVEN_FIELDS(advise_changes),
	  NULL,
	  { NULL },
	  true },
	{ NULL,
	  "together",
	  "Several at once",
	  GIVEN_FIELDS(advise_changes),
	  NULL,
	  { NULL },
	  false },
	{ NULL,
	  "settings",
	  "Settings of the machine",
	  GIVEN_FIELDS(advise_settings),
	  NULL,
	  { NULL },
	  false },
};

static const struct result_file_ratios advise_ratios[] = {
	{ "changes",
	  "Times as fast an answer, predicted",
	  { "change" },
	  "gain.answer",
	  NULL,
	  "interval of the prediction",
	  "worse",
	  "better" },
};

static const struct result_file_field diagnose_runs[] = {
	{ "name", "Run", GIVEN_STRONG, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL },
	{ "figures.gpus", "GPUs", GIVEN_NUMBER, NULL },
	{ "figures.step_s", "A step, measured", GIVEN_NUMBER, "s" },
	{ "figures.tokens_per_s", "Throughput, measured", GIVEN_NUMBER, "tokens/s" },
	{ "figures.mfu", "MFU", GIVEN_SHARE, NULL },
	{ "sentence", "What holds it back", GIVEN_TEXT, NULL },
};

static const struct result_file_field diagnose_causes[] = {
	{ "^name", "Run", GIVEN_STRONG, NULL },
	{ "title", "Cause", GIVEN_TEXT, NULL },
	{ "certainty", "Certainty", GIVEN_WORD, NULL },
	{ "share", "Part of a step", GIVEN_SHARE, NULL },
	{ "says", "Because", GIVEN_TEXT, NULL },
	{ "mend", "To do", GIVEN_TEXT, NULL },
	{ "measure", "To measure", GIVEN_TEXT, NULL },
};

static const struct result_file_field diagnose_scale[] = {
	{ "gpus", "GPUs", GIVEN_NUMBER, NULL },
	{ "tokens_per_s", "Throughput", GIVEN_NUMBER, "tokens/s" },
	{ "efficiency", "Efficiency", GIVEN_SHARE, NULL },
	{ "kind", "Kind", GIVEN_TEXT, NULL },
	{ "why", "Why", GIVEN_TEXT, NULL },
};

static const struct result_file_table diagnose_tables[] = {
	{ NULL, "runs", "Training runs", GIVEN_FIELDS(diagnose_runs), NULL, { NULL }, true },
	{ "runs",
	  "causes",
	  "What holds them back",
	  GIVEN_FIELDS(diagnose_causes),
	  "certainty",
	  { "excluded", "unseen" },
	  true },
	{ NULL,
	  "scaling.points",
	  "With more GPUs",
	  GIVEN_FIELDS(diagnose_scale),
	  NULL,
	  { NULL },
	  false },
};

const struct result_file_kind given_model_kinds[] = {
	{ .schema = "gputune.predict/1",
	  .verb = "predict inference",
	  .part = "predictions",
	  .says = "Its figures are predicted, with intervals.",
	  GIVEN_PAIRS(predict_pairs),
	  GIVEN_TABLES(predict_tables),
	  .curve = { "curve", "Throughput over requests at a time, predicted", "batch",
		     "throughput_tok_s", "requests at a time", "tokens/s" },
	  .texts = { "notes" } },
	{ .schema = "gputune.train/1",
	  .verb = "predict training",
	  .part = "predictions",
	  .says = "Its figures are predicted, with intervals.",
	  GIVEN_PAIRS(train_pairs),
	  GIVEN_TABLES(train_tables),
	  GIVEN_RATIOS(train_ratios),
	  .curve = { "scale", "Throughput over GPUs, predicted", "gpus", "tokens_per_s", "GPUs",
		     "tokens/s" },
	  .texts = { "notes" } },
	{ .schema = "gputune.advise/1",
	  .verb = "advise",
	  .part = "predictions",
	  .says = "Its figures are predicted, those of settings measured.",
	  GIVEN_PAIRS(advise_pairs),
	  GIVEN_TABLES(advise_tables),
	  GIVEN_RATIOS(advise_ratios),
	  .texts = { "notes" } },
	{ .schema = "gputune.diagnose/1",
	  .verb = "diagnose training",
	  .part = "doctor",
	  .says = "Its figures are from the files of the runs.",
	  GIVEN_TABLES(diagnose_tables) },
	{ .schema = NULL },
};
