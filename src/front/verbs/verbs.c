/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. Help, manual page and completion are made from it. */
#include "front/session.h"
#include "verbs/verbs.h"

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
