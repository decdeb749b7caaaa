/* SPDX-License-Identifier: Apache-2.0 */
/* Which results a page can show when they come as files, and what of each: check, prove, doctor,
 * stack check, compare. given_rows_model.c has those of models and training. */
#include "front/report/given_rows.h"

static const struct given_field check_pairs[] = {
	{ "profile.name", "Profile", GIVEN_TEXT, NULL },
	{ "summary.fail", "To fix", GIVEN_NUMBER, NULL },
	{ "summary.pass", "Right", GIVEN_NUMBER, NULL },
	{ "summary.unknown", "Could not be seen", GIVEN_NUMBER, NULL },
	{ "summary.score", "Score of 100", GIVEN_NUMBER, NULL },
};

static const struct given_field check_findings[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },	    { "target", "On", GIVEN_TEXT, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL }, { "severity", "Weight", GIVEN_WORD, NULL },
	{ "current", "Is", GIVEN_TEXT, NULL },	    { "wanted", "Should be", GIVEN_TEXT, NULL },
	{ "reason", "Because", GIVEN_TEXT, NULL },  { "read_from", "Read from", GIVEN_CODE, NULL },
	{ "risk", "Risk", GIVEN_TEXT, NULL },
};

static const struct given_table check_tables[] = {
	{ NULL,
	  "findings",
	  "Findings of the file",
	  GIVEN_FIELDS(check_findings),
	  "verdict",
	  { "pass", "na" },
	  true },
};

static const struct given_field prove_pairs[] = {
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

static const struct given_field prove_changes[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },
	{ "target", "On", GIVEN_TEXT, NULL },
	{ "before", "Before", GIVEN_TEXT, NULL },
	{ "after", "After", GIVEN_TEXT, NULL },
};

static const struct given_field prove_guards[] = {
	{ "figure", "Guard", GIVEN_CODE, NULL },
	{ "", "After over before", GIVEN_TIMES, NULL },
	{ "veto", "Got worse", GIVEN_YES, NULL },
};

static const struct given_field prove_members[] = {
	{ "id", "Setting", GIVEN_CODE, NULL },
	{ "stays", "Stays", GIVEN_YES, NULL },
	{ "screened", "Screened", GIVEN_TIMES, NULL },
	{ "confirmed", "Confirmed", GIVEN_TIMES, NULL },
	{ "fault", "Fault", GIVEN_TEXT, NULL },
};

static const struct given_table prove_tables[] = {
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

static const struct given_ratios prove_ratios[] = {
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

static const struct given_field doctor_pairs[] = {
	{ "summary.found", "Found", GIVEN_NUMBER, NULL },
	{ "summary.not_tested", "Not tested", GIVEN_NUMBER, NULL },
	{ "summary.fine", "Fine", GIVEN_NUMBER, NULL },
};

static const struct given_field doctor_causes[] = {
	{ "^symptom", "Symptom", GIVEN_TEXT, NULL },  { "^state", "State", GIVEN_WORD, NULL },
	{ "title", "Cause", GIVEN_TEXT, NULL },	      { "likelihood", "Likely", GIVEN_WORD, NULL },
	{ "evidence", "Evidence", GIVEN_TEXT, NULL }, { "fix", "Fix", GIVEN_CODE, NULL },
	{ "by_hand", "By hand", GIVEN_TEXT, NULL },
};

static const struct given_field doctor_figures[] = {
	{ "bench", "Bench", GIVEN_TEXT, NULL },
	{ "case", "Case", GIVEN_TEXT, NULL },
	{ "figure", "Figure", GIVEN_TEXT, NULL },
	{ "median", "Median, measured", GIVEN_NUMBER, NULL },
	{ "unit", "Unit", GIVEN_TEXT, NULL },
	{ "samples", "Samples", GIVEN_NUMBER, NULL },
};

static const struct given_field doctor_fixes[] = {
	{ "settings", "Fix tried", GIVEN_CODE, NULL }, { "verdict", "Verdict", GIVEN_WORD, NULL },
	{ "measured", "Measured", GIVEN_TEXT, NULL },  { "kept", "Kept", GIVEN_YES, NULL },
	{ "left", "Not set", GIVEN_TEXT, NULL },       { "trouble", "Trouble", GIVEN_TEXT, NULL },
};

static const struct given_table doctor_tables[] = {
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

static const struct given_field stack_pairs[] = {
	{ "rootfs", "Root file system", GIVEN_CODE, NULL },
	{ "gpus", "For GPUs", GIVEN_LIST, NULL },
	{ "summary.fail", "Wrong", GIVEN_NUMBER, NULL },
	{ "summary.unknown", "Could not be seen", GIVEN_NUMBER, NULL },
	{ "summary.pass", "Right", GIVEN_NUMBER, NULL },
};

static const struct given_field stack_findings[] = {
	{ "title", "What", GIVEN_TEXT, NULL },	     { "target", "Of", GIVEN_TEXT, NULL },
	{ "verdict", "Verdict", GIVEN_WORD, NULL },  { "current", "Is", GIVEN_TEXT, NULL },
	{ "wanted", "Should be", GIVEN_TEXT, NULL }, { "reason", "Because", GIVEN_TEXT, NULL },
	{ "command", "Fix", GIVEN_CODE, NULL },
};

static const struct given_field stack_items[] = {
	{ "component", "Component", GIVEN_STRONG, NULL },
	{ "version", "Version", GIVEN_TEXT, NULL },
	{ "version_from", "Told by", GIVEN_TEXT, NULL },
	{ "place", "Where", GIVEN_CODE, NULL },
	{ "gpu_code", "Code for", GIVEN_LIST, NULL },
};

static const struct given_table stack_tables[] = {
	{ NULL,
	  "findings",
	  "Software that does not go together",
	  GIVEN_FIELDS(stack_findings),
	  "verdict",
	  { "pass", "na" },
	  true },
	{ NULL, "items", "Installed", GIVEN_FIELDS(stack_items), NULL, { NULL }, false },
};

static const struct given_field compare_pairs[] = {
	{ "a", "Before", GIVEN_CODE, NULL },
	{ "b", "After", GIVEN_CODE, NULL },
	{ "summary.better", "Better", GIVEN_NUMBER, NULL },
	{ "summary.worse", "Worse", GIVEN_NUMBER, NULL },
	{ "summary.no_difference", "No difference", GIVEN_NUMBER, NULL },
	{ "summary.not_comparable", "Not comparable", GIVEN_NUMBER, NULL },
	{ "threshold", "Least difference that counts", GIVEN_SHARE, NULL },
};

static const struct given_field compare_rows[] = {
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

static const struct given_table compare_tables[] = {
	{ NULL, "rows", "Figures of both", GIVEN_FIELDS(compare_rows), NULL, { NULL }, true },
};

/* B over A as it is: for a latency, left is better. */
static const struct given_ratios compare_ratios[] = {
	{ "rows",
	  "After over before",
	  { "bench", "case", "figure" },
	  "",
	  "verdict",
	  "interval of the comparison",
	  NULL,
	  NULL },
};

const struct given_kind given_machine_kinds[] = {
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
