/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which results a page can show when they come as files, and what of each: paths of its rows
 * ("asked.model|fits"; "%" before one: a share; "=Title" behind one: where no row has a better). A
 * path begins at an item of a list, after "^" at what the list lies in; "" is the item itself.
 */
#include "front/report/result_file.h"

/* clang-format off */

#define LIST(where, called, shown) .path = (where), .title = (called), .fields = (shown)

/* --- of machines ------------------------------------------------------------------------------ */

static const struct result_file_table check_tables[] = {
	{ LIST("findings", "Findings of the file", "id=Setting|target=Target|verdict|severity=Severity|"
	  "current=Current|wanted=Target value|reason=Reason|read_from|risk"),
	  .drop = "verdict", .words = { "pass", "na" }, .must = true },
};

static const struct result_file_table prove_tables[] = {
	{ LIST("changes", "Switched settings", "id=Setting|target=On|before|after"),
	  .must = true },
	{ LIST("guards", "Guards", "figure=Guard|=Ratio after / before|veto=Worse") },
	{ LIST("members", "Settings measured individually", "id=Setting|stays|screened|confirmed|fault") },
};
static const struct result_file_ratios prove_ratios[] = {
	{ "", "Ratio after / before", { "what" }, "effect", "verdict", "interval of the A/B test", "worse",
	  "better" },
	{ "guards", "Guards: ratio after / before", { "figure" }, "", NULL, "90 % interval", "worse", "better" },
};

static const struct result_file_table doctor_tables[] = {
	{ LIST("diagnoses[].causes", "Causes", "^symptom|^state|title=Cause|likelihood=Likely|evidence|fix|by_hand"),
	  .drop = "likelihood", .words = { "excluded", "not here" }, .must = true },
	{ LIST("measurements", "Measurements of the tests", "bench|case|figure|median=Median, measured|unit|samples") },
	{ LIST("fixes", "Fixes tried", "settings=Fix tried|verdict|measured|kept|left=Not set|trouble") },
};

static const struct result_file_table stack_tables[] = {
	{ LIST("findings", "Incompatible software", "title=Finding|target=Component|verdict|current=Current|"
	  "wanted=Required|reason=Reason|command=Fix"),
	  .drop = "verdict", .words = { "pass", "na" }, .must = true },
	{ LIST("items", "Installed", "component|version|version_from=Source|place=Path|gpu_code=Code for") },
};

static const struct result_file_table compare_tables[] = {
	{ LIST("rows", "Figures of both results", "bench|case|figure|median_a|median_b|unit|=Ratio after / before|"
	  "verdict|reason"),
	  .must = true },
};
/* B over A as it is: for a latency, left is better. */
static const struct result_file_ratios compare_ratios[] = {
	{ "rows", "Ratio after / before", { "bench", "case", "figure" }, "", "verdict",
	  "interval of the comparison", NULL, NULL },
};

/* --- of models -------------------------------------------------------------------------------- */

static const struct result_file_table predict_tables[] = {
	{ LIST("curve", "With higher concurrency", "batch|ttft_ms|tpot_ms|throughput_tok_s|fits"),
	  .must = true },
};

static const struct result_file_table train_tables[] = {
	{ LIST("communication", "Communication", "collective|purpose|ranks|bytes|bus_gb_per_s|total_s|"
	  "exposed_s|from"),
	  .must = true },
	{ LIST("what_if.changes", "Predicted effect of changes", "name|gain|fits|memory_bytes|why") },
	{ LIST("scale", "With more GPUs", "gpus|step_s|tokens_per_s|%efficiency_ratio.value|%exposed_ratio|"
	  "rest|why_not") },
	{ LIST("judgement.causes", "Reasons why figure and claim differ", "what|excluded|why|measure") },
};
static const struct result_file_ratios train_ratios[] = {
	{ "what_if.changes", "Predicted effect of changes, with intervals", { "name" }, "gain", NULL,
	  "interval of the prediction", "worse", "better" },
};

#define CHANGES "change|gain.answer|gain.ttft|gain.throughput|confidence|trade_off|to_measure"

static const struct result_file_table advise_tables[] = {
	{ LIST("changes", "Changes, best first", CHANGES),
	  .must = true },
	{ LIST("together", "Combined changes", CHANGES) },
	{ LIST("settings", "Settings of the machine", "id|target|verdict|=Ratio after / before|text") },
};
static const struct result_file_ratios advise_ratios[] = {
	{ "changes", "Predicted speed-up of an answer", { "change" }, "gain.answer", NULL,
	  "interval of the prediction", "worse", "better" },
};

static const struct result_file_table diagnose_tables[] = {
	{ LIST("runs", "Training runs", "name|verdict|figures.gpus|figures.step_s|figures.tokens_per_s|"
	  "%figures.mfu|sentence"),
	  .must = true },
	{ LIST("runs[].causes", "Bottlenecks", "^name|title|certainty|%share|says|mend|measure"),
	  .drop = "certainty", .words = { "excluded", "unseen" }, .must = true },
	{ LIST("scaling.points", "With more GPUs", "gpus|tokens_per_s|%efficiency|kind|why") },
};

/* Result files that report shows. Their rows: result_shapes(). */
const struct result_file_kind result_file_kinds[] = {
	{ .name = "check", .verb = "check", .part = "findings",
	  .says = "Current values were read from the machine at that time.",
	  .pairs = "profile.name=Profile|summary.fail=To fix|summary.pass=OK|summary.unknown=Unknown|"
	    "summary.score=Score of 100|summary.health=Health|summary.tuning=Tuning|summary.capped_by=Limited by",
	  GIVEN_TABLES(check_tables) },
	{ .name = "prove", .verb = "prove", .part = "proofs",
	  .says = "The figures were measured alternately with and without the setting.",
	  .pairs = "what=Setting|verdict|why|effect=Ratio after / before|effect.pairs|"
	    "%effect.resolution=Smallest detectable effect|measured_with.name=Measured with|kept|took_s|trouble|"
	    "foreign=Changed by others during the A/B test",
	  GIVEN_TABLES(prove_tables), GIVEN_RATIOS(prove_ratios) },
	{ .name = "doctor", .verb = "doctor", .part = "doctor",
	  .says = "Evidence was read or measured as stated.",
	  .pairs = "summary.found|summary.not_tested|summary.fine",
	  GIVEN_TABLES(doctor_tables) },
	{ .name = "stack-check", .verb = "stack check", .part = "stack",
	  .says = "Versions were read from files.",
	  .pairs = "rootfs=Root file system|gpus=For GPUs|summary.fail=Wrong|summary.unknown=Unknown|summary.pass=OK",
	  GIVEN_TABLES(stack_tables) },
	{ .name = "compare", .verb = "compare", .part = "benches", .says = "The figures were measured.",
	  .pairs = "a|b|summary.better|summary.worse|summary.no_difference|summary.not_comparable|%threshold",
	  GIVEN_TABLES(compare_tables), GIVEN_RATIOS(compare_ratios), .texts = { "differs" } },
	{ .name = "predict", .verb = "predict inference", .part = "predictions",
	  .says = "The figures are predicted, with intervals.",
	  .pairs = "asked.model|asked.machine|asked.engine|asked.weights|asked.batch|asked.tp|fits|"
	  "ttft_ms|tpot_ms|throughput_tok_s|memory_bytes|memory.limit_bytes|limit_reason|calibration",
	  GIVEN_TABLES(predict_tables),
	  .curve = { "curve", "Throughput over concurrency, predicted", "batch",
	  "throughput_tok_s", "concurrency", "tokens/s" },
	  .texts = { "notes" } },
	{ .name = "train", .verb = "predict training", .part = "predictions",
	  .says = "The figures are predicted, with intervals.",
	  .pairs = "asked.model|asked.machine|asked.parallel|asked.precision|asked.micro_batch|asked.global_batch|"
	    "step.step_s|tokens_per_s|tokens_per_s_per_gpu|%mfu_ratio.value|memory.fits|memory.total_bytes|"
	    "memory.limit_bytes=Available memory|limit_reason|interval_of|judgement.measured_tokens_per_s|"
	    "judgement.verdict",
	  GIVEN_TABLES(train_tables), GIVEN_RATIOS(train_ratios),
	  .curve = { "scale", "Throughput over GPUs, predicted", "gpus", "tokens_per_s", "GPUs", "tokens/s" },
	  .texts = { "notes" } },
	{ .name = "advise", .verb = "advise", .part = "predictions",
	  .says = "The figures are predicted; effects of settings are measured.",
	  .pairs = "asked.model|asked.machine|asked.engine|asked.weights|asked.goal|now.ttft_ms=Now: TTFT|"
	    "now.tpot_ms=Now: TPOT|now.throughput_tok_s=Now: throughput|limit|tried|calibration",
	  GIVEN_TABLES(advise_tables), GIVEN_RATIOS(advise_ratios), .texts = { "notes" } },
	{ .name = "diagnose", .verb = "diagnose training", .part = "doctor",
	  .says = "The figures are from the files of the runs.",
	  GIVEN_TABLES(diagnose_tables) },
	{ .name = NULL },
};
