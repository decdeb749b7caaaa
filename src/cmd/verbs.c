/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of options and verbs. Help, manual page and completion are made from them. */
#include "cmd/cmd.h"

const struct option_row option_rows[OPTIONS] = {
	[OPT_HOST] = { OPT_HOST, "host", 'H', WORD_FILE, "CAPTURE",
		       "look at a captured machine (folder or tar) instead of this one" },
	[OPT_FORMAT] = { OPT_FORMAT, "format", 'f', WORD_FORMAT, "FORMAT",
			 "term (default), json, md, html; check also junit and prom, plan also "
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
	[OPT_DEEP] = { OPT_DEEP, "deep", 0, WORD_NONE, NULL,
		       "also ask what costs up to seconds, such as starting the CUDA driver" },
	[OPT_OUTPUT] = { OPT_OUTPUT, "output", 'o', WORD_FILE, "PATH",
			 "write to PATH instead of standard output" },
	[OPT_NO_REDACT] = { OPT_NO_REDACT, "no-redact", 0, WORD_NONE, NULL,
			    "keep serial numbers, UUIDs, addresses and names" },
	[OPT_AS] = { OPT_AS, "as", 0, WORD_DRAWING, "DRAWING", "matrix (default), tree or svg" },
	[OPT_FACTS] = { OPT_FACTS, "facts", 0, WORD_NONE, NULL,
			"list the paths of all facts instead of the settings" },
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
						OPT_DRY_RUN, OPT_REASON,  OPT_OUTPUT, OPT_QUIET,
						OPT_VERBOSE, COMMON };
static const enum option_id undo_options[] = { OPT_HOST,   OPT_OVERLAY, OPT_FORMAT, OPT_ONLY,
					       OPT_ALL,	   OPT_FORCE,	OPT_YES,    OPT_DRY_RUN,
					       OPT_REASON, OPT_OUTPUT,	OPT_QUIET,  OPT_VERBOSE,
					       COMMON };
static const enum option_id status_options[] = { OPT_HOST,  OPT_OVERLAY, OPT_FORMAT, OPT_OUTPUT,
						 OPT_QUIET, OPT_VERBOSE, COMMON };
static const enum option_id explain_options[] = { OPT_HOST,    OPT_OVERLAY, OPT_FORMAT,
						  OPT_PROFILE, OPT_OUTPUT,  COMMON };
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
		   "and says what waits for a reboot.",
	  OPTION_LIST(status_options) },
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
