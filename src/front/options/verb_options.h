/* SPDX-License-Identifier: Apache-2.0 */
/* Which options each verb takes; for the table of verbs alone. */
#ifndef OPTIONS_VERB_OPTIONS_H
#define OPTIONS_VERB_OPTIONS_H

#include "front/verbs/cmd.h"

#define COMMON OPT_NO_COLOR, OPT_ASCII, OPT_WIDTH, OPT_HELP

static const enum option_id show_options[] = { OPT_HOST, OPT_OVERLAY, OPT_FORMAT,  OPT_AS,
					       OPT_DEEP, OPT_OUTPUT,  OPT_VERBOSE, COMMON };
static const enum option_id check_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_PROFILE,
						OPT_ONLY,  OPT_SKIP,	OPT_ALL,    OPT_DEEP,
						OPT_SINCE, OPT_OUTPUT,	OPT_QUIET,  OPT_VERBOSE,
						COMMON };
static const enum option_id plan_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_PROFILE,
					       OPT_ONLY,  OPT_SKIP,    OPT_ALLOW,  OPT_OUTPUT,
					       OPT_QUIET, OPT_VERBOSE, COMMON };
static const enum option_id apply_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT, OPT_PROFILE,
						OPT_ONLY,    OPT_SKIP,	  OPT_ALLOW,  OPT_YES,
						OPT_DRY_RUN, OPT_REASON,  OPT_BOOT,   OPT_OUTPUT,
						OPT_QUIET,   OPT_VERBOSE, COMMON };
static const enum option_id undo_options[] = { OPT_HOST,   OPT_OVERLAY, OPT_FORMAT, OPT_ONLY,
					       OPT_ALL,	   OPT_FORCE,	OPT_YES,    OPT_DRY_RUN,
					       OPT_REASON, OPT_OUTPUT,	OPT_QUIET,  OPT_VERBOSE,
					       COMMON };
static const enum option_id status_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT,	OPT_OUTPUT,
						 OPT_QUIET, OPT_VERBOSE, OPT_EXIT_CODE, COMMON };
static const enum option_id history_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_OUTPUT,
						  OPT_QUIET, OPT_VERBOSE, COMMON };
static const enum option_id verify_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT, OPT_BOOT,
						 OPT_REBOOT,  OPT_YES,	   OPT_OUTPUT, OPT_QUIET,
						 OPT_VERBOSE, COMMON };
static const enum option_id persist_options[] = {
	OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_PROFILE, OPT_ONLY,	  OPT_SKIP,
	OPT_ALLOW, OPT_YES,	OPT_NOW,    OPT_DRY_RUN, OPT_UPDATE_GRUB, OPT_REASON,
	OPT_FORCE, OPT_OUTPUT,	OPT_QUIET,  OPT_VERBOSE, COMMON
};
static const enum option_id journal_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_FORCE,
						  OPT_YES,   OPT_DRY_RUN, OPT_REASON, OPT_OUTPUT,
						  OPT_QUIET, COMMON };
static const enum option_id watch_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_INTERVAL,
						OPT_ONLY,  OPT_POLICY,	OPT_ONCE,   OPT_OUTPUT,
						OPT_QUIET, OPT_HELP };
static const enum option_id monitor_options[] = { OPT_INTERVAL, OPT_FOR,    OPT_ONCE, OPT_FORMAT,
						  OPT_HOST,	OPT_OUTPUT, COMMON };
static const enum option_id record_options[] = { OPT_INTERVAL, OPT_FOR, OPT_OUTPUT, OPT_QUIET,
						 OPT_HELP };
static const enum option_id report_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_PROFILE, OPT_ONLY,
						 OPT_SKIP,  OPT_STATE,	 OPT_FORMAT,  OPT_OUTPUT,
						 OPT_FORCE, COMMON };
static const enum option_id explain_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT,
						  OPT_PROFILE, OPT_OUTPUT,  COMMON };
static const enum option_id fleet_options[] = { OPT_FORMAT, OPT_GOLDEN, OPT_PROFILE, OPT_ONLY,
						OPT_SKIP,   OPT_VALUES, OPT_ALL,     OPT_OUTPUT,
						OPT_QUIET,  COMMON };
static const enum option_id slurm_options[] = { OPT_PROFILE, OPT_ONLY,	   OPT_SKIP,  OPT_SINCE,
						OPT_DRY_RUN, OPT_SCONTROL, OPT_QUIET, OPT_HELP };
static const enum option_id bench_options[] = {
	OPT_FOR,    OPT_RUNS,	OPT_CPUS,  OPT_GPUS,	OPT_DIR,
	OPT_FILES,  OPT_PEER,	OPT_TOKEN, OPT_LISTEN,	OPT_REQUIRE_IDLE,
	OPT_STATE,  OPT_JSON,	OPT_RANK,  OPT_RANKS,	OPT_LOCAL_PROCESSES,
	OPT_FORMAT, OPT_OUTPUT, OPT_QUIET, OPT_VERBOSE, COMMON
};
static const enum option_id doctor_options[] = { OPT_ONLY,    OPT_PASSIVE, OPT_FOR,	OPT_PEER,
						 OPT_TOKEN,   OPT_FILES,   OPT_DIR,	OPT_GPUS,
						 OPT_FIX,     OPT_KEEP,	   OPT_PROFILE, OPT_ALLOW,
						 OPT_YES,     OPT_DRY_RUN, OPT_REASON,	OPT_HOST,
						 OPT_OVERLAY, OPT_ALL,	   OPT_FORMAT,	OPT_OUTPUT,
						 OPT_QUIET,   COMMON };
static const enum option_id prove_options[] = {
	OPT_BENCH,   OPT_COMMAND, OPT_METRIC, OPT_BETTER, OPT_MIN_EFFECT, OPT_BUDGET, OPT_KEEP,
	OPT_ALL,     OPT_PROFILE, OPT_ONLY,   OPT_SKIP,	  OPT_ALLOW,	  OPT_FOR,    OPT_SETTLE,
	OPT_TIMEOUT, OPT_SEED,	  OPT_CPUS,   OPT_GPUS,	  OPT_DIR,	  OPT_FILES,  OPT_PEER,
	OPT_TOKEN,   OPT_STATE,	  OPT_JSON,   OPT_YES,	  OPT_DRY_RUN,	  OPT_REASON, OPT_FORMAT,
	OPT_OUTPUT,  OPT_QUIET,	  COMMON
};
static const enum option_id compare_options[] = { OPT_STATE, OPT_FORMAT, OPT_OUTPUT, OPT_QUIET,
						  COMMON };
static const enum option_id stack_options[] = {
	OPT_GPU,     OPT_ENV,	 OPT_ROOTFS, OPT_HOST,	 OPT_OVERLAY, OPT_DEEP,	   OPT_ALL,
	OPT_RUN,     OPT_PYTHON, OPT_ARCH,   OPT_KEY,	 OPT_FORCE,   OPT_BENCH,   OPT_FOR,
	OPT_GPUS,    OPT_FILES,	 OPT_DIR,    OPT_BUDGET, OPT_SEED,    OPT_TIMEOUT, OPT_MIN_EFFECT,
	OPT_DRY_RUN, OPT_FORMAT, OPT_OUTPUT, OPT_QUIET,	 OPT_VERBOSE, COMMON
};
static const enum option_id predict_options[] = {
	OPT_MODEL,	OPT_WEIGHTS,	   OPT_ON,	    OPT_HOST,	      OPT_ENGINE,
	OPT_CACHE,	OPT_PROMPT,	   OPT_ANSWER,	    OPT_BATCH,	      OPT_TP,
	OPT_PP,		OPT_DEPTH,	   OPT_CACHED,	    OPT_ROUNDS,	      OPT_CHUNK,
	OPT_DRAFT,	OPT_ACCEPT,	   OPT_DRAFT_COST,  OPT_EAGER,	      OPT_PARAMS,
	OPT_ACTIVE,	OPT_CLAIM,	   OPT_ROWS,	    OPT_CALIBRATION,  OPT_NO_CALIBRATION,
	OPT_PARALLEL,	OPT_GLOBAL_BATCH,  OPT_MICRO_BATCH, OPT_ACCUMULATION, OPT_SEQUENCE,
	OPT_PRECISION,	OPT_CHECKPOINTING, OPT_OPTIMIZER,   OPT_ATTENTION,    OPT_COMPILE,
	OPT_NO_OVERLAP, OPT_TP_OVERLAP,	   OPT_SHARD,	    OPT_CP,	      OPT_EP,
	OPT_INTERLEAVE, OPT_BUCKET,	   OPT_TRAINED,	    OPT_LOADER,	      OPT_WORKERS,
	OPT_NETWORK,	OPT_ALL_REDUCE,	   OPT_LARGEST,	    OPT_WHAT_IF,      OPT_SCALE,
	OPT_STRONG,	OPT_STATE,	   OPT_EXPLAIN,	    OPT_FORMAT,	      OPT_QUIET,
	COMMON
};
static const enum option_id advise_options[] = {
	OPT_MODEL,  OPT_WEIGHTS, OPT_ON,      OPT_HOST,	       OPT_OVERLAY,	   OPT_GOAL,
	OPT_SWEEP,  OPT_ENGINE,	 OPT_CACHE,   OPT_PROMPT,      OPT_ANSWER,	   OPT_CONTEXT,
	OPT_BATCH,  OPT_USERS,	 OPT_TP,      OPT_PP,	       OPT_COPIES,	   OPT_DEPTH,
	OPT_CACHED, OPT_ROUNDS,	 OPT_CHUNK,   OPT_DRAFT,       OPT_ACCEPT,	   OPT_DRAFT_COST,
	OPT_EAGER,  OPT_PARAMS,	 OPT_ACTIVE,  OPT_CALIBRATION, OPT_NO_CALIBRATION, OPT_STATE,
	OPT_FORMAT, OPT_QUIET,	 OPT_VERBOSE, COMMON
};
static const enum option_id cluster_options[] = {
	OPT_NODES,    OPT_NODES_FILE, OPT_RSH,	   OPT_NODE_COMMAND, OPT_KNOWN_HOSTS, OPT_KEY,
	OPT_FOR,      OPT_TIMEOUT,    OPT_FROM,	   OPT_AGAINST,	     OPT_ALL_LINKS,   OPT_HOST,
	OPT_OVERLAY,  OPT_TOPOLOGY,   OPT_APPLY,   OPT_SUBNETS,	     OPT_MTU,	      OPT_CONFIRM,
	OPT_NO_NAMES, OPT_YES,	      OPT_DRY_RUN, OPT_FORCE,	     OPT_QUICK,	      OPT_STATE,
	OPT_FORMAT,   OPT_AS,	      OPT_OUTPUT,  OPT_QUIET,	     OPT_VERBOSE,     COMMON
};
static const enum option_id generate_options[] = { OPT_HOST,
						   OPT_OVERLAY,
						   OPT_NODE,
						   OPT_CLUSTER,
						   OPT_ON,
						   OPT_NODES,
						   OPT_HEAD,
						   OPT_PORT,
						   OPT_LISTEN,
						   OPT_RANK,
						   OPT_MODEL,
						   OPT_WEIGHTS,
						   OPT_CACHE,
						   OPT_CONTEXT,
						   OPT_USERS,
						   OPT_TP,
						   OPT_PP,
						   OPT_PARAMS,
						   OPT_ACTIVE,
						   OPT_CALIBRATION,
						   OPT_NO_CALIBRATION,
						   OPT_STATE,
						   OPT_IMAGE,
						   OPT_PARALLEL,
						   OPT_GLOBAL_BATCH,
						   OPT_MICRO_BATCH,
						   OPT_ACCUMULATION,
						   OPT_SEQUENCE,
						   OPT_PRECISION,
						   OPT_CHECKPOINTING,
						   OPT_OPTIMIZER,
						   OPT_ATTENTION,
						   OPT_COMPILE,
						   OPT_NO_OVERLAP,
						   OPT_SHARD,
						   OPT_BUCKET,
						   OPT_TRAINED,
						   OPT_LOADER,
						   OPT_WORKERS,
						   OPT_NETWORK,
						   OPT_ALL_REDUCE,
						   OPT_EDIT,
						   OPT_FORMAT,
						   OPT_OUTPUT,
						   OPT_QUIET,
						   COMMON };
static const enum option_id lint_options[] = { OPT_HOST,   OPT_OVERLAY, OPT_ROOTFS,
					       OPT_ENV,	   OPT_NCCL,	OPT_FORMAT,
					       OPT_OUTPUT, OPT_QUIET,	COMMON };
static const enum option_id calibrate_options[] = {
	OPT_LOG,    OPT_FROM_BENCH, OPT_MODEL,	OPT_WEIGHTS, OPT_ON,	 OPT_HOST,   OPT_OVERLAY,
	OPT_ENGINE, OPT_CACHE,	    OPT_PROMPT, OPT_ANSWER,  OPT_BATCH,	 OPT_TP,     OPT_PP,
	OPT_DEPTH,  OPT_ROUNDS,	    OPT_EAGER,	OPT_PARAMS,  OPT_ACTIVE, OPT_FORGET, OPT_DRY_RUN,
	OPT_STATE,  OPT_FORMAT,	    OPT_QUIET,	OPT_VERBOSE, COMMON
};
static const enum option_id roofline_options[] = { OPT_FROM_BENCH, OPT_NSYS,  OPT_NCU,
						   OPT_ON,	   OPT_STATE, OPT_FORMAT,
						   OPT_OUTPUT,	   OPT_QUIET, OPT_VERBOSE,
						   COMMON };
static const enum option_id diagnose_options[] = { OPT_RUN_FILES, OPT_MODEL, OPT_ATTACH, OPT_FOR,
						   OPT_INTERVAL,  OPT_HOST,  OPT_ALL,	 OPT_FORMAT,
						   OPT_OUTPUT,	  OPT_QUIET, COMMON };
static const enum option_id list_options[] = { OPT_FORMAT, OPT_ONLY,   OPT_SKIP,
					       OPT_FACTS,  OPT_OUTPUT, OPT_HELP };
static const enum option_id capture_options[] = { OPT_HOST, OPT_OUTPUT, OPT_NO_REDACT, OPT_QUIET,
						  OPT_HELP };
static const enum option_id completion_options[] = { OPT_HELP };

#endif
