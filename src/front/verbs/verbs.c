/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs. Help, manual page and completion are made from it. */
#include "front/options/verb_options.h"
#include "front/options/verb_texts.h"

#define OPTION_LIST(list) .options = (list), .n_options = sizeof(list) / sizeof((list)[0])

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
		  "Applies PLAN (written by plan -o), or a fresh plan of the profile; --only and "
		  "--skip narrow either. Shows it and asks, unless --yes. What was there goes into "
		  "a journal before each write; every "
		  "value is read back; when one does not hold, all are taken back. What is refused "
		  "is left out and listed; that all of what was asked for is refused is exit code "
		  "3.",
	  OPTION_LIST(apply_options) },
	{ .name = "undo",
	  .args = "[TRANSACTION]",
	  .word = WORD_TEXT,
	  .max_args = 1,
	  .run = verb_undo,
	  .summary = "put back what was there before",
	  .about = "Takes back the newest transaction, the one of that number, the settings of "
		   "--only, or with --all everything. A value that somebody changed since is "
		   "theirs: it is reported and left alone, unless --force. What is not there just "
		   "now stays open, with exit code 4, unless --force gives it up.",
	  OPTION_LIST(undo_options) },
	{ .name = "status",
	  .args = "",
	  .max_args = 0,
	  .run = verb_status,
	  .summary = "what became of our changes",
	  .about = "For each change that is not undone: still ours, changed by somebody, back, "
		   "lost at a reboot, or waiting for one. Exit code 1 when something is not as it "
		   "was left, 4 when a transaction is incomplete. With --exit-code 1 as well when "
		   "anything of ours is held or kept for the next boot.",
	  OPTION_LIST(status_options) },
	{ .name = "history",
	  .args = "[TRANSACTION]",
	  .word = WORD_TEXT,
	  .max_args = 1,
	  .run = verb_history,
	  .summary = "who changed what, when and why",
	  .about = "Lists all transactions, newest first, or one with every change in it.",
	  OPTION_LIST(history_options) },
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
	  .about = about_persist,
	  OPTION_LIST(persist_options) },
	{ .name = "journal",
	  .args = "ACTION",
	  .word = WORD_JOURNAL,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_journal,
	  .summary = "the files that undo relies on",
	  .about = about_journal,
	  OPTION_LIST(journal_options) },
	{ .name = "monitor",
	  .args = "[RECORDING]",
	  .word = WORD_FILE,
	  .max_args = 1,
	  .run = verb_monitor,
	  .summary = "see what the machine does from moment to moment",
	  .about =
		  "Clock, power, temperature, memory and what holds back each GPU, with the time "
		  "spent in it; CPUs, memory, pressure, networks and disks; and whether our "
		  "settings are still as they were left. On a terminal a page that is drawn again "
		  "where it changed (q, space, + and -), in a pipe a JSON object a line, with "
		  "--once one page, JSON object or exposition: prom for a node exporter's textfile "
		  "folder, openmetrics for what asks for that. With a RECORDING of "
		  "\"gputune record\": plays it again.",
	  OPTION_LIST(monitor_options) },
	{ .name = "record",
	  .args = "[-- COMMAND...]",
	  .max_args = 4096,
	  .run = verb_record,
	  .summary = "keep what the machine does beside a job",
	  .about = "Runs COMMAND with this terminal, environment and folder, looks at the machine "
		   "until it ends (every 0.5 s) and keeps all of it in one file (-o FILE; default: "
		   "gputune-TIME.rec), readable up to the last second after a crash too: zstd over "
		   "lines of JSON. The exit code is the command's. Without a command: until Ctrl-C "
		   "or --for. \"gputune monitor FILE\" shows it.",
	  OPTION_LIST(record_options) },
	{ .name = "watch",
	  .args = "",
	  .max_args = 0,
	  .run = verb_watch,
	  .summary = "notice when somebody changes what was applied",
	  .about = about_watch,
	  OPTION_LIST(watch_options) },
	{ .name = "fleet",
	  .args = "FILE|DIR...",
	  .word = WORD_FILE,
	  .min_args = 1,
	  .max_args = 1 << 20,
	  .run = verb_fleet,
	  .summary = "many machines beside each other: what differs",
	  .about = "Reads what many machines said of themselves (the JSON of check, status, "
		   "verify and bench; captures, which are checked here with --profile, --only and "
		   "--skip) "
		   "and says which are equal, what differs, who stands alone among the machines "
		   "of its platform or measures far from those with its hardware, and with "
		   "--golden who differs from that one. Exit code 1 "
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
		   "then. Exit code 1 when a case failed or its result was wrong.",
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
		   "and why. Exit code 1 when something got worse, 5 when nothing compares. Of two "
		   "recordings (record -o) every quantity that both have: mean and quantiles of "
		   "each side, the difference with its interval, and higher, lower, no difference "
		   "or not comparable; how long both jobs took and how they ended. Which is better "
		   "is not judged then: the exit code is 0, or 5 when nothing compares.",
	  OPTION_LIST(compare_options) },
	{ .name = "stack",
	  .args = "PART...",
	  .word = WORD_STACK,
	  .min_args = 1,
	  .max_args = 1 << 16,
	  .run = verb_stack,
	  .summary = "is the software built for this GPU: stack arch, check, compare, env, "
		     "build-plan, wheelhouse",
	  .about = about_stack,
	  OPTION_LIST(stack_options) },
	{ .name = "prove",
	  .args = "[ID[@TARGET][=VALUE]...]",
	  .word = WORD_ID,
	  .min_args = 0,
	  .max_args = 64,
	  .run = verb_prove,
	  .summary = "is this setting worth anything here? measure, then keep or revert",
	  .about = about_prove,
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
	  .args = "inference|training",
	  .word = WORD_PREDICT,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_predict,
	  .summary = "will a model fit, how fast will it be, and what limits it",
	  .about = predict_about,
	  OPTION_LIST(predict_options) },
	{ .name = "advise",
	  .args = "",
	  .max_args = 0,
	  .run = verb_advise,
	  .summary = "what to change about a way to serve a model, and what it would bring",
	  .about = "Looks at changes of one thing each (format of weights and cache, how the GPUs "
		   "share the model, more machines, requests at a time, guesses ahead, prefix "
		   "cache, engine, another model) and at the best of them together, and ranks them "
		   "for --goal: the gain with its interval from pairs of measurements, what is "
		   "paid for it, and what to measure before believing it. Where the interval "
		   "holds no gain at all, that is said. --sweep predicts every mixture of lists "
		   "and shows those that no other beats in latency, throughput and memory. Exit "
		   "code 1 when what is asked (in a sweep: everything) does not fit.",
	  OPTION_LIST(advise_options) },
	{ .name = "cluster",
	  .args = "PART",
	  .word = WORD_CLUSTER,
	  .min_args = 1,
	  .max_args = 1,
	  .run = verb_cluster,
	  .summary = "the links between machines: cluster discover, check, plan, undo",
	  .about =
		  "discover starts \"gputune cluster node\" on each of --nodes over ssh (keys and "
		  "known_hosts as they are: no password, no new host key), lets all ports announce "
		  "themselves at once (for --for, default 500ms; LLDP of switches comes every 30 "
		  "s) and says which port hears which, by cable or by switch, which ports are "
		  "twins of a cage, with speed, MTU, addresses, RDMA and GIDs, what topology that "
		  "is, and what is wrong with it. --as svg draws it, --against FILE compares with "
		  "an earlier result. Nothing is changed anywhere. Frames need root on the nodes; "
		  "without it IPv6 datagrams tell less. Exit code 1 when something is wrong, 5 "
		  "when no node answered. check discovers and then measures every path in rounds "
		  "of "
		  "pairs (echoes, TCP, RDMA, NCCL between GPUs; --quick: echoes alone), tries what "
		  "was bad once more, names the node, port or cable to blame, and keeps the result "
		  "(--state) for the next check to compare with. plan shows which address, MTU, "
		  "names and files each node "
		  "needs for that topology and what stands against it (exit code 1 when something "
		  "would be changed); with --apply all nodes make it so at once, both ends are "
		  "looked at and pinged, and a node that is not confirmed within a minute takes "
		  "its "
		  "old configuration back by itself. undo takes it back to the byte on all nodes. "
		  "take-back is the program that does so.",
	  OPTION_LIST(cluster_options) },
	{ .name = "diagnose",
	  .args = "training FILES... | --attach [PID]",
	  .word = WORD_DIAGNOSE,
	  .max_args = 1024,
	  .run = verb_diagnose,
	  .summary = "what holds a training run back, by its files or while it runs",
	  .about = diagnose_about,
	  OPTION_LIST(diagnose_options) },
	{ .name = "generate",
	  .args = "KIND [-- PROGRAM ARGUMENTS]",
	  .word = WORD_KIND,
	  .min_args = 1,
	  .max_args = 4096,
	  .run = verb_generate,
	  .summary =
		  "environment, command lines and files for NCCL, launchers, engines and trainings",
	  .about = "KIND is nccl or vllm-env (variables of each machine), torchrun, mpi or "
		   "sbatch (how PROGRAM is started on all), hostfile, deepspeed_env, an engine "
		   "that serves "
		   "--model: vllm, sglang, llamacpp, trtllm, or the configuration that trains it: "
		   "deepspeed, accelerate, fsdp, each value with its reason from the prediction; "
		   "with --edit FILE what is worth changing in a file of yours, as a diff, which "
		   "-o writes to a new one. The machines are this one, --host, "
		   "several --node, --cluster or --on; every variable and option comes with its "
		   "reason and the release that knows it. How a model is spread, the part of the "
		   "memory and the format of its cache follow from the prediction and from what is "
		   "free now. --format shell, systemd or compose is the file itself. Exit code 1 "
		   "when something is wrong with the machines, or the model does not fit.",
	  OPTION_LIST(generate_options) },
	{ .name = "lint",
	  .args = "[FILE...] [-- COMMAND]",
	  .word = WORD_FILE,
	  .max_args = 4096,
	  .run = verb_lint,
	  .summary = "what is wrong with variables and command lines for NCCL and engines",
	  .about =
		  "Looks through files (nccl.conf, environments, shell and Slurm scripts, compose "
		  "files, hostfiles) and a command line behind \"--\": variables that the NCCL "
		  "there does not read, that harm or cannot work on this machine, engines that are "
		  "told what does not fit; without any, this machine's own files and this shell, "
		  "with --rootfs those of an image. No shell reads them, nothing is run. Exit code "
		  "1 when an error or a warning was found.",
	  OPTION_LIST(lint_options) },
	{ .name = "calibrate",
	  .args = "[FILE...]",
	  .word = WORD_FILE,
	  .max_args = 4096,
	  .run = verb_calibrate,
	  .summary = "fit the constants of predictions to what was measured on this machine",
	  .about = about_calibrate,
	  OPTION_LIST(calibrate_options) },
	{ .name = "roofline",
	  .args = "",
	  .max_args = 0,
	  .run = verb_roofline,
	  .summary = "what holds kernels back: memory, arithmetic, or neither",
	  .about = about_roofline,
	  OPTION_LIST(roofline_options) },
	{ .name = "report",
	  .args = "[FILE...]",
	  .word = WORD_FILE,
	  .max_args = 4096,
	  .run = verb_report,
	  .summary = "everything of a machine, or of many, on one page for a browser",
	  .about = about_report,
	  OPTION_LIST(report_options) },
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
	  .args = "SHELL|man [PAGE]",
	  .word = WORD_SHELL,
	  .min_args = 1,
	  .max_args = 2,
	  .run = verb_completion,
	  .summary = "completion script for bash, zsh or fish, or a manual page",
	  .about = "Prints a completion script for bash, zsh or fish, or (man) a page of the "
		   "manual: of all, of the verb or of \"profile\" when it is named; made from the "
		   "same tables that the program reads its command line with.",
	  OPTION_LIST(completion_options) },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);
