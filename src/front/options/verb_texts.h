/* SPDX-License-Identifier: Apache-2.0 */
/* The longer paragraphs of the table of verbs. For verbs.c alone. */
#ifndef OPTIONS_VERB_TEXTS_H
#define OPTIONS_VERB_TEXTS_H

static const char about_persist[] =
	"install writes files of our own (sysctl.d, tmpfiles.d, udev rules, modprobe.d, "
	"boot arguments, the links' own configuration, and a boot-time unit for the "
	"rest) "
	"for what apply changed, or for what --profile and --only name. Nobody else's "
	"file "
	"is touched. status says what keeps what and who would win at boot, diff what "
	"install would change, and remove takes all of it back, or with --only what it "
	"names: a file that somebody "
	"edited is reported and left, unless --force. What the files have set at this boot stays "
	"in "
	"effect until a reboot: remove lists it, and takes it back with --now.";

static const char about_journal[] =
	"check reads the journal, its copy and the history line by line: exit code 4 when lines "
	"are lost in both files, 1 when one of the two needs repair. repair writes what one lacks "
	"from the other; with --force it also forgets what both have lost. compact moves "
	"transactions that are over to the history, which happens by itself when the journal grows "
	"long. export prints every line that can be read.";

static const char about_watch[] =
	"Watches every setting that was applied and not undone, until it is told to "
	"stop (SIGTERM). Writes, links, devices and GPUs tell of changes by themselves; "
	"everything else is looked at now and then, less often the longer nothing "
	"changes. Each change is a line: from what to what, how it was noticed and, "
	"where that is known, by whom. /etc/gputune/watch.conf says what is set again: "
	"a section is a setting id or a prefix ([watch] is for all), with policy = "
	"report, re-apply or back-off (re-apply what was reset, leave what a person "
	"set) and limit = times an hour (default: 3); SIGHUP reads it again. What is "
	"set back each time is given up. Nothing is undone at the end. --format json "
	"writes a JSON object a line.";

static const char about_stack[] =
	"arch FILE|DIR|WHEEL... reads which GPU architectures libraries, static "
	"libraries, "
	"wheels, cubins and PTX carry, and whether this machine's GPU (or --gpu) runs "
	"them: "
	"native, as code of its family, only after compiling PTX at each start, or not "
	"at "
	"all. check judges what the system, CUDA toolkits, Python environments (--env) "
	"or an "
	"image of a container (--rootfs) have; no Python is run, and only --deep loads "
	"libraries, in a child process, to ask their versions. compare A B measures the "
	"same work (--bench: gemm, collectives or gds) through two builds of a library, "
	"each \"system\", an environment, a folder or a file, in pairs of processes of "
	"random order, and says what B gains, with its interval, and what each library "
	"chose. env says what to set for "
	"building (--format shell), and which flags of common recipes are dead. "
	"build-plan "
	"DIR TARGET... lists the steps, and with --run does them, going on where it left "
	"off. wheelhouse create|add|update|verify|list|diff|sync|use DIR keeps checked "
	"wheels with a manifest that --key signs and verifies. Exit code 1 when "
	"something "
	"is wrong or was refused, 3 when a step failed, 5 when a file could not be read.";

static const char about_prove[] =
	"Measures with the setting and without it in pairs of random order, each switch "
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
	"5: undecided.";

static const char about_calibrate[] =
	"Reads the outputs of the engines' own benchmarks as they are (vllm bench serve, latency "
	"and "
	"throughput; SGLang's bench_serving and bench_one_batch; llama-bench and llama-server; "
	"trtllm-bench; pages, JSON, JSON lines, CSV, SQL), and with --from-bench what gputune "
	"bench "
	"measured, and fits the constants of predict to them: shows every figure predicted before, "
	"after, and by a fit that had not seen it, which constants the results decide, and which "
	"measurement is missing for the others. What helps is kept in the state folder with the "
	"machine's fingerprint, and predictions take it until that changes. --model, --weights and "
	"--kv go before what a log says; --batch, --prompt, --output and the like fill what it "
	"does not "
	"say. Without a file: what is kept. Exit code 1 when nothing was kept, or what is kept is "
	"no "
	"longer used.";

static const char about_roofline[] =
	"Puts measured work under the roofs of this machine's GPU, or of --on: its memory and its "
	"arithmetic by format, as benches measured them here or else as the data sheet has them. "
	"The work "
	"is that of our own benches, or of a profile: --nsys reads nsys stats --format csv or the "
	"SQLite "
	"export, --ncu the CSV of ncu. Each kernel by time: operations a byte, what part of the "
	"roof it "
	"reaches, whether memory, arithmetic or neither holds it back, and what to try next. What "
	"no "
	"profiler counted is said to be unknown.";

static const char about_report[] =
	"Writes one HTML file that needs no network and no other file: the machine with its "
	"drawing, "
	"findings with evidence and the command that fixes each, what changed, measurements, "
	"proofs, "
	"predictions, the software stack, what is kept for the next boot, diagnoses. Each FILE is "
	"a "
	"capture, a recording, or a result in JSON of show, bench, check, prove, doctor, stack "
	"check, "
	"compare, predict, advise or diagnose, which is shown in its section; several machines "
	"become one page. --state "
	"DIR "
	"takes kept results and proofs from there. Nothing is changed and no load is put on the "
	"machine. -o writes the whole file at once and replaces an earlier report, anything else "
	"only "
	"with --force. A browser prints it to paper or PDF; --format md is for tickets. Exit code "
	"1 "
	"when something is to be fixed, 5 when nothing is and not all could be seen.";

static const char predict_about[] =
	"inference: predicts memory, time to first token, time per output token and throughput of "
	"--model in the format --weights on the machine --on (default: this one, or --host). "
	"training: predicts memory by part, a step's time by part, communication that nothing "
	"hides, tokens/s, MFU and HFU of --model trained on --on in the way --parallel; --largest "
	"gives the largest micro-batch that fits, --what-if what each change of the way to train "
	"would bring, --scale the efficiency with more GPUs, and --claim judges a rate that was "
	"measured (tokens/s of all GPUs) and says which measurement finds what is missing. Each "
	"figure has an interval from measurements of other models or other people's runs, and what "
	"binds is said. --explain shows the equations with the numbers put in, --rows predicts "
	"every row of a table of measurements and shows the errors. Exit code 1 when the model "
	"does not fit.";

static const char diagnose_about[] =
	"Reads what a training run left behind, in any mixture: logs of the usual trainers, traces "
	"of torch.profiler, exports of nsys, NCCL's log, nccl-tests, nvidia-smi and dmon, gputune "
	"recordings. Says tokens a second, MFU and HFU (--model gives the shape), where the time "
	"of "
	"a step goes, how several runs scale (folders, or --run), and names the bottleneck: each "
	"cause certain, likely, possible or excluded, with the lines that it stands on and the "
	"share "
	"of a step that it costs at most. What cannot be told is said, with the measurement that "
	"would tell. --attach looks at a job that runs, by NVML and /proc alone, for --for "
	"(default "
	"20s). Exit code 1: a bottleneck was found, 0: healthy by what was seen, 5: cannot tell.";

#endif
