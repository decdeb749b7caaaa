/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of options and verbs. Help, manual page and completion are made from them. */
#include "cmd/cmd.h"

const struct option_row option_rows[OPTIONS] = {
	[OPT_HOST] = { OPT_HOST, "host", 'H', WORD_FILE, "CAPTURE",
		       "look at a captured machine (folder or tar) instead of this one" },
	[OPT_FORMAT] = { OPT_FORMAT, "format", 'f', WORD_FORMAT, "FORMAT",
			 "term (default), json, md, html; check also junit, prom, nagios and npd, "
			 "plan also "
			 "shell" },
	[OPT_PROFILE] = { OPT_PROFILE, "profile", 'p', WORD_PROFILE, "NAME|FILE",
			  "whose opinions hold: a built-in profile or an INI file (default: "
			  "default)" },
	[OPT_ONLY] = { OPT_ONLY, "only", 0, WORD_ID, "IDS",
		       "only these settings: ids or prefixes, comma-separated" },
	[OPT_SKIP] = { OPT_SKIP, "skip", 0, WORD_ID, "IDS", "all but these settings" },
	[OPT_ALL] = { OPT_ALL, "all", 'a', WORD_NONE, NULL,
		      "also what is right and what does not apply" },
	[OPT_OVERLAY] = { OPT_OVERLAY, "overlay", 0, WORD_FILE, "DIR",
			  "with --host: changes go to this folder, the capture stays as it is" },
	[OPT_ALLOW] = { OPT_ALLOW, "allow", 0, WORD_ID, "IDS",
			"also what is dangerous or disturbs running work: ids or prefixes" },
	[OPT_YES] = { OPT_YES, "yes", 'y', WORD_NONE, NULL, "do not ask" },
	[OPT_DRY_RUN] = { OPT_DRY_RUN, "dry-run", 'n', WORD_NONE, NULL,
			  "say what would be done and write nothing" },
	[OPT_FORCE] = { OPT_FORCE, "force", 0, WORD_NONE, NULL,
			"restore also what somebody changed since" },
	[OPT_REASON] = { OPT_REASON, "reason", 'm', WORD_TEXT, "TEXT", "why, for the history" },
	[OPT_UPDATE_GRUB] = { OPT_UPDATE_GRUB, "update-grub", 0, WORD_NONE, NULL,
			      "then run update-grub, or kernel-install where that makes the boot "
			      "entries, and look whether it did it" },
	[OPT_BOOT] = { OPT_BOOT, "boot", 0, WORD_NONE, NULL,
		       "what is kept for every boot: apply it, as the boot-time unit does; verify "
		       "it" },
	[OPT_REBOOT] = { OPT_REBOOT, "reboot", 0, WORD_NONE, NULL,
			 "reboot now; the boot-time unit reports what came of it" },
	[OPT_DEEP] = { OPT_DEEP, "deep", 0, WORD_NONE, NULL,
		       "also ask what costs up to seconds, such as starting the CUDA driver" },
	[OPT_OUTPUT] = { OPT_OUTPUT, "output", 'o', WORD_FILE, "PATH",
			 "write to PATH instead of standard output" },
	[OPT_NO_REDACT] = { OPT_NO_REDACT, "no-redact", 0, WORD_NONE, NULL,
			    "keep serial numbers, UUIDs, addresses and names" },
	[OPT_GOLDEN] = { OPT_GOLDEN, "golden", 0, WORD_FILE, "FILE",
			 "compare with the machine of this result or capture" },
	[OPT_VALUES] = { OPT_VALUES, "values", 0, WORD_NONE, NULL,
			 "compare also the values of what is right" },
	[OPT_SCONTROL] = { OPT_SCONTROL, "scontrol", 0, WORD_FILE, "PATH",
			   "where scontrol is, when it is not in /usr/bin or /usr/sbin" },
	[OPT_AS] = { OPT_AS, "as", 0, WORD_DRAWING, "DRAWING", "matrix (default), tree or svg" },
	[OPT_FACTS] = { OPT_FACTS, "facts", 0, WORD_NONE, NULL,
			"list the paths of all facts instead of the settings" },
	[OPT_INTERVAL] = { OPT_INTERVAL, "interval", 0, WORD_TEXT, "TIME",
			   "how often to look where nothing tells of changes (default: 30s)" },
	[OPT_POLICY] = { OPT_POLICY, "policy", 0, WORD_POLICY, "POLICY",
			 "report, re-apply or back-off, for everything; default: what "
			 "/etc/gputune/watch.conf says, and report" },
	[OPT_ONCE] = { OPT_ONCE, "once", 0, WORD_NONE, NULL, "one look, and the exit code of it" },
	[OPT_FOR] = { OPT_FOR, "for", 0, WORD_TEXT, "TIME",
		      "measure each case for this long: 10s, 500ms, 2m" },
	[OPT_RUNS] = { OPT_RUNS, "runs", 0, WORD_TEXT, "N", "take this many samples of each case" },
	[OPT_CPUS] = { OPT_CPUS, "cpus", 0, WORD_TEXT, "LIST", "run on these CPUs alone: 0-3,8" },
	[OPT_REQUIRE_IDLE] = { OPT_REQUIRE_IDLE, "require-idle", 0, WORD_NONE, NULL,
			       "refuse to measure a machine that is busy with other things" },
	[OPT_STATE] = { OPT_STATE, "state", 0, WORD_FILE, "DIR",
			"keep results in this folder (default: /var/lib/gputune)" },
	[OPT_JSON] = { OPT_JSON, "json", 0, WORD_FILE, "FILE", "write the result there as well" },
	[OPT_DIR] = { OPT_DIR, "dir", 0, WORD_FILE, "DIR",
		      "disk: measure with a file of its own in this folder" },
	[OPT_FILES] = { OPT_FILES, "files", 0, WORD_FILE, "PATH",
			"model-load: read this file, or the files of this folder" },
	[OPT_PEER] = { OPT_PEER, "peer", 0, WORD_TEXT, "HOST[:PORT]",
		       "tcp, rdma: the other machine, where \"bench serve\" runs" },
	[OPT_TOKEN] = { OPT_TOKEN, "token", 0, WORD_FILE, "FILE",
			"the file with the secret that both machines know" },
	[OPT_LISTEN] = { OPT_LISTEN, "listen", 0, WORD_TEXT, "ADDRESS[:PORT]",
			 "bench serve: listen there" },
	[OPT_GPUS] = { OPT_GPUS, "gpus", 0, WORD_TEXT, "LIST", "run on these GPUs alone: 0-3" },
	[OPT_NO_COLOR] = { OPT_NO_COLOR, "no-color", 0, WORD_NONE, NULL,
			   "no colours (also: NO_COLOR in the environment)" },
	[OPT_ASCII] = { OPT_ASCII, "ascii", 0, WORD_NONE, NULL,
			"draw tables and trees with ASCII alone" },
	[OPT_WIDTH] = { OPT_WIDTH, "width", 0, WORD_TEXT, "COLUMNS",
			"wrap tables to this many columns" },
	[OPT_QUIET] = { OPT_QUIET, "quiet", 'q', WORD_NONE, NULL,
			"no result on standard output, only the exit code" },
	[OPT_VERBOSE] = { OPT_VERBOSE, "verbose", 'v', WORD_NONE, NULL,
			  "more: reasons, sources, where each value was read" },
	[OPT_HELP] = { OPT_HELP, "help", 'h', WORD_NONE, NULL, "this help" },
	[OPT_VERSION] = { OPT_VERSION, "version", 'V', WORD_NONE, NULL, "the version" },
};

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
	OPT_FOR,    OPT_RUNS,	OPT_CPUS,   OPT_GPUS,	      OPT_DIR,	 OPT_FILES,
	OPT_PEER,   OPT_TOKEN,	OPT_LISTEN, OPT_REQUIRE_IDLE, OPT_STATE, OPT_JSON,
	OPT_FORMAT, OPT_OUTPUT, OPT_QUIET,  OPT_VERBOSE,      COMMON
};
static const enum option_id compare_options[] = { OPT_STATE, OPT_FORMAT, OPT_OUTPUT, OPT_QUIET,
						  COMMON };
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
