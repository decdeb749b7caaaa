/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. Help, manual page and completion are made from it. */
#include "front/session.h"
#include "verbs/verbs.h"

#define PAGE OPT_NO_COLOR, OPT_ASCII, OPT_WIDTH, OPT_HELP
#define COMMON OPT_COMPACT, OPT_FIELDS, PAGE

static const enum option_id doctor_options[] = { OPT_ONLY,    OPT_PASSIVE, OPT_FOR,	OPT_PEER,
						 OPT_TOKEN,   OPT_FILES,   OPT_DIR,	OPT_GPUS,
						 OPT_FIX,     OPT_KEEP,	   OPT_PROFILE, OPT_ALLOW,
						 OPT_YES,     OPT_DRY_RUN, OPT_REASON,	OPT_HOST,
						 OPT_OVERLAY, OPT_ALL,	   OPT_FORMAT,	OPT_OUTPUT,
						 OPT_QUIET,   COMMON };

#define OPTION_LIST(list) .options = (list), .n_options = sizeof(list) / sizeof((list)[0])

static const struct verb_legacy doctor_legacy = {
	.args = "[SYMPTOM...]", .word = WORD_SYMPTOM, .max_args = 64, OPTION_LIST(doctor_options)
};
static const struct verb doctor_verb = {
	.name = "doctor",
	.run = verb_doctor,
	.summary = "from a symptom to its cause, and after the fix measured again",
	.about = "SYMPTOM is an id, a topic (gpu, nic) or words: \"slow nccl\", half speed; "
		 "without any everything is looked at. Each cause is certain, likely, possible "
		 "or excluded, with what it was judged by: facts, settings, counters that grow, "
		 "and short tests of the benches where those do not tell. Network tests need "
		 "--peer and --token, loading --files or --dir; a GPU in use is not loaded. "
		 "--fix sets what mends a found cause, measures the same again and takes it back "
		 "unless it is better (or, where nothing measures it, the cause is gone); should "
		 "the process be killed in between, the next command that writes takes it back. "
		 "What was not tested is listed and never called fine. \"doctor list\" lists "
		 "all. Exit code 0: nothing found in what was tested, 1: found, 5: what was "
		 "asked for could not be tested.",
	.legacy = &doctor_legacy,
};

/* clang-format off */
const struct verb *const verbs[] = {
	&show_verb, &check_verb, &explain_verb, &plan_verb, &apply_verb, &undo_verb,
	&status_verb, &history_verb, &verify_verb, &persist_verb, &journal_verb, &monitor_verb,
	&record_verb, &watch_verb, &fleet_verb, &slurm_verb, &bench_verb, &compare_verb,
	&stack_verb, &prove_verb, &doctor_verb, &predict_verb, &advise_verb, &cluster_verb,
	&diagnose_verb, &generate_verb, &lint_verb, &calibrate_verb, &roofline_verb,
	&report_verb, &list_verb, &capture_verb, &completion_verb,
	NULL,
};
/* clang-format on */
