/* SPDX-License-Identifier: Apache-2.0 */
/* gputune record -- COMMAND: looks beside a job until it ends, kept in one file. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/inject.h"
#include "front/job.h"
#include "front/stacks.h"
#include "front/terminal.h"
#include "look/monitor/recording.h"

struct record_ask {
	struct ask_texts command;
	double interval_s, for_s;
	bool trace, stacks, no_stacks;
	unsigned tracer; /* enum tracer */
};
static const char *const tracers[] = {
	[TRACER_CUPTI] = "cupti", [TRACER_PYTORCH] = "pytorch", [TRACER_NSYS] = "nsys"
};

static const struct ask_row record_ask_rows[] = {
	{ "COMMAND", "the command to run, with its arguments", ASK_TEXTS(record_ask, command),
	  .argument = true, .behind = true },
	{ "output", "the recording's file (default: gputune-TIME.rec among your saved recordings)",
	  .kind = ASK_KIND_NOTE },
	{ "interval", "interval between samples", ASK_TIME(record_ask, interval_s), .min = 0.1,
	  .max = 3600, .fallback = "500ms" },
	{ "trace", "also trace the COMMAND's GPU work, in short samples (PATH.trace)",
	  ASK_FLAG(record_ask, trace) },
	{ "tracer",
	  "how --trace traces: a library that the CUDA driver loads into the job (cupti), "
	  "PyTorch's own profiler, or an installed nsys for the whole run (PATH-nsys.sqlite)",
	  ASK_CHOICE(record_ask, tracer, tracers), .fallback = "cupti" },
	{ "stacks",
	  "sample stacks of COMMAND's Python processes 20 times a second into PATH.stacks, as "
	  "--trace does. The default rate is slower and costs 1 % of a CPU",
	  ASK_FLAG(record_ask, stacks) },
	{ "no-stacks", "sample no stacks", ASK_FLAG(record_ask, no_stacks) },
	{ "for", "stop after this time: 10s, 2m (with a COMMAND: when it ends)",
	  ASK_TIME(record_ask, for_s), .min = 0.1, .max = 86400 },
};

struct taping {
	struct run *r;
	struct host *h;
	struct monitor mon;
	struct monitor_state state;
	const char *path;
	struct recorder *out;
	struct job job;
	int interval_ms;
	long long for_ms;
	uint64_t rows;
	bool trace, stacks, often;
	struct injection looking;
};

/* Until then, the job's end or, without a job, a signal. True: there is nothing to wait for any
 * more. */
static bool wait_until(struct taping *s, struct waiter *w, long long due)
{
	bool over;

	/* A thread that some library began may have swallowed the signal. */
	job_reap(&s->job);
	over = s->job.ended;
	for (enum wake k; !over && (k = waiter_until(w, due)) != WAKE_TIME;) {
		job_reap(&s->job);
		/* Ctrl-C reaches the job by itself; who told us alone means both. */
		if (k == WAKE_STOP && s->job.pid && w->signal != SIGINT)
			job_signal(&s->job, w->signal);
		over = s->job.ended || (k == WAKE_STOP && !s->job.pid);
	}
	return over;
}

/* The job matters more than its record: it goes on, and still gets what we are told. */
static int go_on_without(struct taping *s, struct waiter *w, int e)
{
	complain_text(0, "cannot write %s: %s%s", s->path, strerror(-e),
		      s->job.pid && !s->job.ended ? "; the job continues" : "");
	while (s->job.pid && !wait_until(s, w, clock_mono_ms() + s->interval_ms))
		;
	return e;
}

/* Rows until the job ends, the time is up, or somebody stops it without a job. */
static int rows(struct taping *s, struct waiter *w)
{
	double *values = arena_array(&s->r->arena, s->mon.n + 1, sizeof(*values));
	long long begin = clock_mono_ms(), due = begin;
	bool last = false;

	for (;;) {
		long long now = clock_mono_ms();
		int e;

		s->state.all = last;
		monitor_look(&s->mon, s->h, &s->state, clock_mono_s(), values);
		e = recorder_row(s->out, now - begin, values);
		if (e)
			return go_on_without(s, w, e);
		s->rows++;
		if (last || (!s->job.pid && s->for_ms && now - begin >= s->for_ms))
			return 0;
		due += s->interval_ms;
		if (due < now)
			due = now;
		last = wait_until(s, w, due);
	}
}

static int record_finish(struct taping *s, int e, double cpu_before)
{
	struct recording_end end = { .whole = true,
				     .status = s->job.pid ? s->job.status : -1,
				     .cpu_s = clock_cpu_s() - cpu_before,
				     .command_cpu_s = s->job.pid ? s->job.cpu_s : -1,
				     .rows = s->rows };
	int closed = recorder_close(s->out, e ? NULL : &end);

	if (closed && !e)
		complain_text(0, "cannot write %s: %s", s->path, strerror(-closed));
	if (e || closed)
		return s->job.pid ? s->job.status : EXIT_BLIND;
	if (!s->r->print.quiet)
		fprintf(stderr, "gputune: %llu readings in %s; recording took %.2f s of CPU\n",
			(unsigned long long)s->rows, s->path, end.cpu_s);
	return s->job.pid ? s->job.status : EXIT_CLEAN;
}

/* A name that cannot be is a mistake; what has no room is a result that was not written. */
static bool is_full(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

static size_t targets_of(const struct monitor *mon, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < mon->n; i++)
		n += strcmp(mon->columns[i].type->name, type) == 0;
	return n;
}

static void print_start(const struct taping *s, bool job)
{
	if (!s->r->print.quiet)
		fprintf(stderr,
			"gputune: recording to %s every %.3g s%s: GPUs %zu, CPUs %u, network "
			"interfaces %zu, disks %zu, memory\n",
			s->path, s->interval_ms / 1e3,
			job	    ? " until the command ends"
			: s->for_ms ? ""
				    : " until Ctrl-C",
			s->mon.machine.n_gpus, s->mon.machine.cpus,
			targets_of(&s->mon, "net.received"), targets_of(&s->mon, "disk.read"));
}

static int record(struct taping *s, char **argv)
{
	double cpu = clock_cpu_s();
	struct stack_samples *samples;
	struct waiter w;
	struct err e = { 0 };
	char **started = argv;
	int code;

	if (!waiter_open(&w, false))
		return complain_text(EXIT_BLIND, "cannot create a descriptor for signals");
	s->out = recorder_open(s->path, &s->mon, argv, (long long)time(NULL), s->interval_ms, &e);
	if (!s->out) {
		code = is_full(errno) ? EXIT_BLIND : EXIT_USAGE;
		waiter_close(&w);
		return complain(code, &e);
	}
	if (s->trace)
		started = inject_begin(&s->r->arena, &s->looking, s->path, argv);
	code = argv ? job_start(&s->job, started, &(struct job_how){ 0 }, &e) : 0;
	if (code == -ENOENT && started != argv) {
		complain_text(0, "nsys is not on the PATH: no trace is made");
		s->looking.on = false;
		code = job_start(&s->job, argv, &(struct job_how){ 0 }, &e);
	}
	inject_environment_back(&s->looking);
	if (code) {
		recorder_close(s->out, NULL);
		unlink(s->path);
		waiter_close(&w);
		if (s->looking.kineto)
			kineto_end(s->looking.kineto);
		complain(EXIT_USAGE, &e);
		return code == -ENOENT ? JOB_NOT_FOUND : JOB_NOT_RUN;
	}
	print_start(s, argv != NULL);
	samples = s->stacks ? stack_samples_begin(s->job.pid, s->often) : NULL;
	code = rows(s, &w);
	if (samples)
		stack_samples_end(samples, s->path, s->r->print.quiet);
	code = record_finish(s, code, cpu);
	inject_end(&s->looking, s->r->print.quiet);
	waiter_close(&w);
	return code;
}

/* Its words, ended by NULL; NULL: there is none. */
static char **command_of(struct run *r, const struct ask_texts *words)
{
	char **argv = arena_array(&r->arena, words->n + 1, sizeof(*argv));

	for (size_t i = 0; i < words->n; i++)
		argv[i] = arena_strdup(&r->arena, words->items[i]);
	return words->n ? argv : NULL;
}

static int verb_record(struct run *r)
{
	const struct record_ask *ask = r->ask;
	struct taping s = { .r = r,
			    .path = r->print.output,
			    .interval_ms = (int)(1e3 * ask->interval_s + 0.5),
			    .for_ms = (long long)(1e3 * ask->for_s) };
	struct err e = { 0 };
	struct machine *m;
	int code;

	if (ask->command.n && s.for_ms)
		return complain_text(EXIT_USAGE, "--for cannot be used with a command: recording "
						 "ends when the command ends");
	if ((ask->trace || ask->stacks) && !ask->command.n)
		return complain_text(EXIT_USAGE, "%s traces a COMMAND: give one after --",
				     ask->trace ? "--trace" : "--stacks");
	s.trace = ask->trace;
	s.often = ask->stacks || ask->trace;
	s.stacks = ask->command.n && !ask->no_stacks;
	s.looking.by = (enum tracer)ask->tracer;
	if (!s.path)
		s.path = door_save_path(&r->door, SAVED_RECORDINGS, ".rec", &e);
	if (!s.path)
		return complain(EXIT_USAGE, &e);
	s.h = run_live(r);
	m = door_machine(&r->door, s.h, &(struct door_look){ 0 });
	monitor_make(&r->arena, s.h, m, &s.mon);
	code = record(&s, command_of(r, &ask->command));
	monitor_state_free(&s.state);
	host_close(s.h);
	return code;
}

const struct verb record_verb = {
	.name = "record",
	.group = VERB_MEASURE,
	.summary = "record GPUs, CPUs, memory, network and disks while a job runs",
	.about = "Runs COMMAND and records the machine until it ends; without COMMAND until Ctrl-C "
		 "or --for. One file (default: gputune-TIME.rec) holds the samples and stays "
		 "readable after a crash; --stacks and --trace write files of their own. The exit "
		 "code is the command's. \"gputune top FILE\" plays it.",
	.words = "trace sample tape rec",
	.examples = EXAMPLES(
		{ "record -o job.rec -- python3 train.py", "a job, from its start to its end" },
		{ "record --trace -o job.rec -- python3 train.py",
		  "also shows which kernels ran, and when the GPU waited" },
		{ "record --for 1s -o idle.rec", "one second of the idle machine" }),
	.run = verb_record,
	.output = OUTPUT_MADE,
	.ask = ASK_OF(record_ask, NULL, record_ask_rows),
	.prints = PRINTS_FILE | PRINTS_QUIET,
};
