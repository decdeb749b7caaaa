/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. Help, manual page and completion are made from it. */
#include "cmd/cmd.h"

#define COMMON OPT_NO_COLOR, OPT_ASCII, OPT_WIDTH, OPT_HELP
#define OPTION_LIST(list) .options = (list), .n_options = sizeof(list) / sizeof((list)[0])

static const enum option_id show_options[] = { OPT_HOST, OPT_OVERLAY, OPT_FORMAT,  OPT_AS,
					       OPT_DEEP, OPT_OUTPUT,  OPT_VERBOSE, COMMON };
static const enum option_id check_options[] = { OPT_HOST,   OPT_OVERLAY, OPT_FORMAT,  OPT_PROFILE,
						OPT_ONLY,   OPT_SKIP,	 OPT_ALL,     OPT_DEEP,
						OPT_OUTPUT, OPT_QUIET,	 OPT_VERBOSE, COMMON };
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
static const enum option_id status_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_OUTPUT,
						 OPT_QUIET, OPT_VERBOSE, COMMON };
static const enum option_id verify_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT, OPT_BOOT,
						 OPT_REBOOT,  OPT_YES,	   OPT_OUTPUT, OPT_QUIET,
						 OPT_VERBOSE, COMMON };
static const enum option_id persist_options[] = {
	OPT_HOST,   OPT_OVERLAY, OPT_FORMAT,  OPT_PROFILE,     OPT_ONLY,   OPT_SKIP,
	OPT_ALLOW,  OPT_YES,	 OPT_DRY_RUN, OPT_UPDATE_GRUB, OPT_REASON, OPT_FORCE,
	OPT_OUTPUT, OPT_QUIET,	 OPT_VERBOSE, COMMON
};
static const enum option_id watch_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_INTERVAL,
						OPT_ONLY,  OPT_POLICY,	OPT_ONCE,   OPT_OUTPUT,
						OPT_QUIET, OPT_HELP };
static const enum option_id explain_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT,
						  OPT_PROFILE, OPT_OUTPUT,  COMMON };
static const enum option_id fleet_options[] = { OPT_FORMAT, OPT_GOLDEN, OPT_PROFILE, OPT_ONLY,
						OPT_SKIP,   OPT_VALUES, OPT_ALL,     OPT_OUTPUT,
						OPT_QUIET,  COMMON };
static const enum option_id slurm_options[] = { OPT_PROFILE,  OPT_ONLY,	 OPT_SKIP, OPT_DRY_RUN,
						OPT_SCONTROL, OPT_QUIET, OPT_HELP };
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
static const enum option_id stack_options[] = { OPT_GPU,     OPT_ENV,	 OPT_ROOTFS, OPT_HOST,
						OPT_OVERLAY, OPT_DEEP,	 OPT_ALL,    OPT_RUN,
						OPT_PYTHON,  OPT_ARCH,	 OPT_KEY,    OPT_FORCE,
						OPT_DRY_RUN, OPT_FORMAT, OPT_OUTPUT, OPT_QUIET,
						OPT_VERBOSE, COMMON };
static const enum option_id predict_options[] = {
	OPT_MODEL,   OPT_WEIGHTS, OPT_ON,     OPT_HOST,	 OPT_ENGINE, OPT_CACHE,
	OPT_PROMPT,  OPT_ANSWER,  OPT_BATCH,  OPT_TP,	 OPT_PP,     OPT_DEPTH,
	OPT_CACHED,  OPT_ROUNDS,  OPT_CHUNK,  OPT_DRAFT, OPT_ACCEPT, OPT_DRAFT_COST,
	OPT_EAGER,   OPT_PARAMS,  OPT_ACTIVE, OPT_CLAIM, OPT_ROWS,   OPT_CALIBRATION,
	OPT_EXPLAIN, OPT_FORMAT,  OPT_QUIET,  COMMON
};
static const enum option_id list_options[] = { OPT_FORMAT, OPT_ONLY,   OPT_SKIP,
					       OPT_FACTS,  OPT_OUTPUT, COMMON };
static const enum option_id capture_options[] = { OPT_HOST, OPT_OUTPUT, OPT_NO_REDACT, OPT_QUIET,
						  OPT_HELP };
static const enum option_id completion_options[] = { OPT_HELP };

const struct verb verbs[] = {
	{ .name = "show",
	  .args = "[SUBJECT]",
	  .word = WORD_SUBJECT,
	  .max_args = 1,
	  .run = verb_show,
	  .summary = "what this machine is",
	  .about = "Prints the facts of a machine: without a subject one screen, with one its "
		   "table or tree. Reading "
		   "needs no root; what this user may not see is said to be so.",
	  OPTION_LIST(show_options) },
	{ .name = "check",
	  .args = "",
	  .max_args = 0,
	  .run = verb_check,
	  .summary = "what holds this machine back",
	  .about = "Judges every setting by the machine's own facts: right, wrong, not applicable "
		   "(and why) or could not "
		   "be seen. Health comes first. Prints what is wrong or unseen; --all prints "
		   "everything. Nothing is "
		   "ever written.",
	  OPTION_LIST(check_options) },
	{ .name = "explain",
	  .args = "ID",
	  .word = WORD_ID,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_explain,
	  .summary = "everything about one setting",
	  .about = "What a setting is, why it matters, when it does not apply, how it is read, "
		   "written, kept and undone, "
		   "its risk, what each profile wants and why they differ, its sources, and its "
		   "state on this machine.",
	  OPTION_LIST(explain_options) },
	{ .name = "plan",
	  .args = "",
	  .max_args = 0,
	  .run = verb_plan,
	  .summary = "what would be changed, in which order, and what stands against it",
	  .about =
		  "Turns the findings of check into writes: before and after, why, risk, when each "
		  "takes effect, who else sets the value, and what is refused and why. With -o "
		  "FILE.json the plan is kept for apply; --format shell prints a commented script. "
		  "Writes nothing to the machine.",
	  OPTION_LIST(plan_options) },
	{ .name = "apply",
	  .args = "[PLAN]",
	  .word = WORD_FILE,
	  .max_args = 1,
	  .run = verb_apply,
	  .summary = "make the changes of a plan, so that each can be taken back",
	  .about =
		  "Applies PLAN (written by plan -o), or a fresh plan of the profile. Shows it and "
		  "asks, unless --yes. What was there goes into a journal before each write; every "
		  "value is read back; when one does not hold, all are taken back.",
	  OPTION_LIST(apply_options) },
	{ .name = "undo",
	  .args = "[TRANSACTION]",
	  .word = WORD_TEXT,
	  .max_args = 1,
	  .run = verb_undo,
	  .summary = "put back what was there before",
	  .about = "Takes back the newest transaction, the one of that number, the settings of "
		   "--only, or with --all everything. A value that somebody changed since is "
		   "theirs: it is reported and left alone, unless --force.",
	  OPTION_LIST(undo_options) },
	{ .name = "status",
	  .args = "",
	  .max_args = 0,
	  .run = verb_status,
	  .summary = "what became of our changes",
	  .about = "For each change that is not undone: still ours, changed by somebody, back, "
		   "lost at a reboot, or waiting for one. Exit code 1 when something is not as it "
		   "was left, 4 when a transaction is incomplete.",
	  OPTION_LIST(status_options) },
	{ .name = "history",
	  .args = "[TRANSACTION]",
	  .word = WORD_TEXT,
	  .max_args = 1,
	  .run = verb_history,
	  .summary = "who changed what, when and why",
	  .about = "Lists all transactions, newest first, or one with every change in it.",
	  OPTION_LIST(status_options) },
	{ .name = "verify",
	  .args = "[PLAN]",
	  .word = WORD_FILE,
	  .max_args = 1,
	  .run = verb_verify,
	  .summary = "requested against in force",
	  .about = "Compares what PLAN, or the journal, asks for with what the machine holds now, "
		   "and says what waits for a reboot. --boot compares what persist keeps for every "
		   "boot: the report of the boot-time unit, or what is to be seen now. --reboot "
		   "does the whole cycle.",
	  OPTION_LIST(verify_options) },
	{ .name = "persist",
	  .args = "ACTION",
	  .word = WORD_PERSIST,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_persist,
	  .summary = "keep settings over a reboot: install, status, diff or remove",
	  .about = "install writes files of our own (sysctl.d, tmpfiles.d, udev rules, modprobe.d, "
		   "boot arguments, the links' own configuration, and a boot-time unit for the "
		   "rest) "
		   "for what apply changed, or for what --profile and --only name. Nobody else's "
		   "file "
		   "is touched. status says what keeps what and who would win at boot, diff what "
		   "install would change, and remove takes all of it back, or with --only what it "
		   "names: a file that somebody "
		   "edited is reported and left, unless --force.",
	  OPTION_LIST(persist_options) },
	{ .name = "watch",
	  .args = "",
	  .max_args = 0,
	  .run = verb_watch,
	  .summary = "notice when somebody changes what was applied",
	  .about = "Watches every setting that was applied and not undone, until it is told to "
		   "stop (SIGTERM). Writes, links, devices and GPUs tell of changes by themselves; "
		   "everything else is looked at now and then, less often the longer nothing "
		   "changes. Each change is a line: from what to what, how it was noticed and, "
		   "where that is known, by whom. /etc/gputune/watch.conf says what is set again: "
		   "a section is a setting id or a prefix ([watch] is for all), with policy = "
		   "report, re-apply or back-off (re-apply what was reset, leave what a person "
		   "set) and limit = times an hour (default: 3); SIGHUP reads it again. What is "
		   "set back each time is given up. Nothing is undone at the end. --format json "
		   "writes a JSON object a line.",
	  OPTION_LIST(watch_options) },
	{ .name = "fleet",
	  .args = "FILE|DIR...",
	  .word = WORD_FILE,
	  .min_args = 1,
	  .max_args = 1 << 20,
	  .run = verb_fleet,
	  .summary = "many machines beside each other: what differs",
	  .about = "Reads what many machines said of themselves (the JSON of check, status and "
		   "verify; captures, which are checked here with --profile, --only and --skip) "
		   "and says which are equal, what differs, who stands alone among the machines "
		   "of its platform, and with --golden who differs from that one. Exit code 1 "
		   "when something differs, 5 when a file could not be read.",
	  OPTION_LIST(fleet_options) },
	{ .name = "slurm",
	  .args = "healthcheck|prolog",
	  .word = WORD_SLURM,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_slurm,
	  .summary = "for Slurm: drain this node when it is unfit, bring it back when it is fit",
	  .about = "healthcheck is a HealthCheckProgram: drains the node when a health check of "
		   "high severity fails (with --only: when anything of that list fails), with a "
		   "reason that begins with \"gputune:\", and brings back only a node with such "
		   "a reason. prolog does the first half and exits with 1, so that the job is "
		   "queued again. What could not be seen drains nothing and brings nothing back.",
	  OPTION_LIST(slurm_options) },
	{ .name = "bench",
	  .args = "NAME...",
	  .word = WORD_BENCH,
	  .min_args = 1,
	  .max_args = 64,
	  .run = verb_bench,
	  .summary = "measure what this machine does",
	  .about = "Measures NAME (\"bench list\" lists them; NAME/CASE is one case, all is "
		   "the short form of each): warms up until steady, takes samples in rounds "
		   "of fresh set-ups until the median is known to 1 %, checks the result, "
		   "and keeps every sample with the conditions and settings it was taken "
		   "under. \"bench show ID\" prints a kept result; \"bench serve\" is the other "
		   "machine of the network benches. Ctrl-C keeps what was measured until "
		   "then. Exit code 1 when a result was wrong.",
	  OPTION_LIST(bench_options) },
	{ .name = "compare",
	  .args = "A B",
	  .word = WORD_FILE,
	  .min_args = 2,
	  .max_args = 2,
	  .run = verb_compare,
	  .summary = "two measurements against each other",
	  .about = "Compares results of bench (files, or ids of kept ones): the ratio of the "
		   "medians with its interval, and better, worse, no difference, or not comparable "
		   "and why. Exit code 1 when something got worse, 5 when nothing compares.",
	  OPTION_LIST(compare_options) },
	{ .name = "stack",
	  .args = "PART...",
	  .word = WORD_STACK,
	  .min_args = 1,
	  .max_args = 1 << 16,
	  .run = verb_stack,
	  .summary = "is the software built for this GPU: stack arch, check, env, build-plan, "
		     "wheelhouse",
	  .about =
		  "arch FILE|DIR|WHEEL... reads which GPU architectures libraries, static "
		  "libraries, "
		  "wheels, cubins and PTX carry, and whether this machine's GPU (or --gpu) runs "
		  "them: "
		  "native, as code of its family, only after compiling PTX at each start, or not "
		  "at "
		  "all. check judges what the system, CUDA toolkits, Python environments (--env) "
		  "or an "
		  "image of a container (--rootfs) have; no Python is run, and only --deep loads "
		  "libraries, in a child process, to ask their versions. env says what to set for "
		  "building (--format shell), and which flags of common recipes are dead. "
		  "build-plan "
		  "DIR TARGET... lists the steps, and with --run does them, going on where it left "
		  "off. wheelhouse create|add|update|verify|list|diff|sync|use DIR keeps checked "
		  "wheels with a manifest that --key signs and verifies. Exit code 1 when "
		  "something "
		  "is wrong or was refused, 3 when a step failed, 5 when a file could not be read.",
	  OPTION_LIST(stack_options) },
	{ .name = "prove",
	  .args = "[ID[@TARGET][=VALUE]...]",
	  .word = WORD_ID,
	  .min_args = 0,
	  .max_args = 64,
	  .run = verb_prove,
	  .summary = "is this setting worth anything here? measure, then keep or revert",
	  .about = "Measures with the setting and without it in pairs of random order, each switch "
		   "a "
		   "transaction that is read back, until the difference is known or the budget is "
		   "over; before that the machine against itself, which says what can be seen at "
		   "all. Verdict: helps, hurts, no difference (and the largest one that could have "
		   "been missed) or undecided, and why. Afterwards everything is as it was, unless "
		   "--keep keeps what helps; should the process be killed, the next command puts "
		   "it back. With several settings, --all or --profile, groups of settings are "
		   "screened together, what helps is confirmed one by one and then as a whole. "
		   "ID=VALUE proves another value than the profile's. Verdicts are kept and shown "
		   "by check and explain. Exit code 0: decided, 1: it hurts, 3: it cannot be set, "
		   "5: undecided.",
	  OPTION_LIST(prove_options) },
	{ .name = "doctor",
	  .args = "[SYMPTOM...]",
	  .word = WORD_SYMPTOM,
	  .max_args = 64,
	  .run = verb_doctor,
	  .summary = "from a symptom to its cause, and after the fix measured again",
	  .about =
		  "SYMPTOM is an id, a topic (gpu, nic) or words: \"slow nccl\", half speed; "
		  "without any everything is looked at. Each cause is certain, likely, possible or "
		  "excluded, with what it was judged by: facts, settings, counters that grow, and "
		  "short tests of the benches where those do not tell. Network tests need --peer "
		  "and --token, loading --files or --dir; a GPU in use is not loaded. --fix sets "
		  "what mends a found cause, measures the same again and takes it back unless it "
		  "is better (or, where nothing measures it, the cause is gone); should the "
		  "process be killed in between, the next command that writes takes it back. "
		  "What was not tested is listed and never called fine. \"doctor list\" lists all. "
		  "Exit code 0: nothing found in what was tested, 1: found, 5: what was asked for "
		  "could not be tested.",
	  OPTION_LIST(doctor_options) },
	{ .name = "predict",
	  .args = "inference",
	  .word = WORD_TEXT,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_predict,
	  .summary = "will a model fit, how fast will it be, and what limits it",
	  .about = "Predicts memory, time to first token, time per output token and throughput of "
		   "--model in the format --weights on the machine --on (default: this one, or "
		   "--host), each with an interval from measurements of other models, and says "
		   "what binds. --explain shows the equations with the numbers put in, --rows "
		   "predicts every row of a table of measurements and shows the errors. Exit code "
		   "1 when the model does not fit.",
	  OPTION_LIST(predict_options) },
	{ .name = "list",
	  .args = "",
	  .max_args = 0,
	  .run = verb_list,
	  .summary = "all setting ids",
	  .about = "Lists every setting with its title, or with --facts every fact.",
	  OPTION_LIST(list_options) },
	{ .name = "capture",
	  .args = "",
	  .max_args = 0,
	  .run = verb_capture,
	  .summary = "store this machine as a folder or tar",
	  .about = "Records everything that check and show read, absences and refusals too, so "
		   "that every command can run "
		   "on it elsewhere with --host. Serial numbers, UUIDs, MAC and IP addresses and "
		   "names are replaced "
		   "unless --no-redact is given.",
	  OPTION_LIST(capture_options) },
	{ .name = "completion",
	  .args = "SHELL",
	  .word = WORD_TEXT,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_completion,
	  .summary = "completion script for bash, zsh or fish, or the manual page",
	  .about = "Prints a completion script for bash, zsh or fish, or (man) the manual page, "
		   "made from the same tables "
		   "that the program reads its command line with.",
	  OPTION_LIST(completion_options) },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);
