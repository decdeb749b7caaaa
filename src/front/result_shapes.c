/* SPDX-License-Identifier: Apache-2.0 */
/* The list alone; a result's rows stand beside its domain. */
#include "front/result_shapes.h"

#include "front/report/page_report.h"
#include "look/monitor/contrast.h"
#include "look/monitor/recording.h"
#include "look/settings/findings.h"
#include "look/show/page.h"
#include "look/stack/page_stack.h"
#include "many/cluster/messages.h"
#include "many/cluster/page_cluster.h"
#include "many/fleet/fleet.h"
#include "measure/bench/bench_json.h"
#include "measure/doctor/page_doctor.h"
#include "measure/prove/ledger_view.h"
#include "measure/prove/ledger.h"
#include "measure/prove/page_prove.h"
#include "measure/prove/page_stack_compare.h"
#include "models/diagnose/page_diagnose.h"
#include "models/generate/page_generate.h"
#include "models/inference/page_advise.h"
#include "models/inference/page_calibrate.h"
#include "models/inference/page_predict.h"
#include "models/inference/page_roofline.h"
#include "models/training/page_train.h"
#include "tune/persist/page_persist.h"
#include "tune/persist/persist.h"
#include "tune/plan/plan.h"
#include "tune/txn/results.h"
#include "tune/watch/event.h"
#include "verbs/stack/stack.h"
#include "verbs/verbs.h"

/* clang-format off */
const struct result_shape *const result_shapes[] = {
	&advise_result,
	&apply_result,
	&bench_list_result,
	&bench_result,
	&boot_report_result,
	&boot_result,
	&build_plan_result,
	&calibrate_result,
	&calibration_result,
	&calibration_show_result,
	&capture_result,
	&check_result,
	&cluster_check_result,
	&cluster_discover_result,
	&cluster_node_result,
	&cluster_plan_result,
	&cluster_undo_result,
	&compare_result,
	&contrast_result,
	&diagnose_result,
	&doctor_list_result,
	&doctor_result,
	&explain_result,
	&fleet_result,
	&generate_result,
	&house_use_result,
	&history_result,
	&journal_result,
	&ledger_result,
	&lint_result,
	&list_result,
	&persist_result,
	&plan_result,
	&predict_result,
	&predict_rows_result,
	&prove_result,
	&recording_result,
	&report_result,
	&roofline_result,
	&show_result,
	&slurm_result,
	&stack_arch_result,
	&stack_check_result,
	&stack_compare_result,
	&stack_env_result,
	&stack_window_result,
	&status_result,
	&sweep_result,
	&train_result,
	&train_rows_result,
	&undo_result,
	&verify_result,
	&watch_result,
	&wheelhouse_diff_result,
	&wheelhouse_result,
	NULL,
};
