/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune run --guard -- COMMAND: ends a job before it takes the machine's memory, and the machine
 * with it. What is too little is the limit of the check (memory.available); pressure is
 * systemd-oomd's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "front/job.h"
#include "front/terminal.h"
#include "knowledge/health.h"
#include "look/settings/predicates.h"

/* As timeout(1) has them; the command's own code otherwise. */
enum { CODE_STOPPED = 124, CODE_NOT_STARTED = 125 };
enum { LOOK_MS = 250 };

struct run_ask {
	struct ask_texts command;
	struct machine_ask machine;
	bool guard;
	long long least_mib;
	double pressure, grace_s;
};

static const struct ask_row run_ask_rows[] = {
	{ "COMMAND", "what is run, with its arguments", ASK_TEXTS(run_ask, command),
	  .argument = true, .behind = true },
	{ "guard", "end it before it takes the machine's memory", ASK_FLAG(run_ask, guard) },
	{ "least",
	  "end it when less memory is available (default: what check calls too little, 5 % where "
	  "the GPU shares it)",
	  ASK_COUNT(run_ask, least_mib, 1, 1 << 30), .unit = "MiB" },
	{ "pressure",
	  "end it when all programs wait for memory for this part of ten seconds (default: 60, as "
	  "systemd-oomd has it)",
	  ASK_REAL(run_ask, pressure, 1, 100), .unit = "%" },
	{ "grace", "how long it may take to end before it is killed", ASK_TIME(run_ask, grace_s),
	  .min = 0, .max = 3600, .fallback = "10s" },
	{ ASK_PART(run_ask, machine, machine_ask) },
};
static const struct ask_shape run_ask_shape = ASK_SHAPE(run_ask, NULL, run_ask_rows);

struct guard {
	struct host *h;
	struct job job;
	bool quiet;
	long long total_kb, least_kb;
	double pressure;
	long long grace_ms;
	long long lowest_kb; /* that was seen; -1: none */
	bool told;	     /* to end */
	long long told_ms;
	bool killed;
	char file[8192];
};

/* A figure of /proc/meminfo, in KiB; -1: it cannot be read. */
static long long available_kb(struct guard *g)
{
	static const char key[] = "MemAvailable:";
	const char *at;
	long long kb;

	if (host_read_line(g->h, "/proc/meminfo", g->file, sizeof(g->file)))
		return -1;
	at = strstr(g->file, key);
	if (!at)
		return -1;
	kb = strtoll(at + sizeof(key) - 1, NULL, 10);
	return kb < 0 ? -1 : kb;
}

/* "full avg10=0.00 ...": the part of ten seconds in which all waited; -1: the kernel does not say.
 */
static double full_pressure(struct guard *g)
{
	static const char key[] = "full avg10=";
	const char *at;

	if (host_read_line(g->h, "/proc/pressure/memory", g->file, sizeof(g->file)))
		return -1;
	at = strstr(g->file, key);
	return at ? strtod(at + sizeof(key) - 1, NULL) : -1;
}

static void guard_end(struct guard *g, long long now, const char *why)
{
	complain_text(0, "%s: it is told to end (SIGTERM), and killed after %.1f s", why,
		      (double)g->grace_ms / 1000);
	job_signal(&g->job, SIGTERM);
	g->told = true;
	g->told_ms = now;
}

static void guard_kill(struct guard *g, const char *why)
{
	complain_text(0, "%s: it is killed", why);
	job_signal(&g->job, SIGKILL);
	g->killed = true;
}

/* One look. What cannot be read says nothing, and the job goes on. */
static void guard_look(struct guard *g, long long now)
{
	long long kb = available_kb(g);
	double full = full_pressure(g);
	char why[160];

	if (kb >= 0 && (g->lowest_kb < 0 || kb < g->lowest_kb))
		g->lowest_kb = kb;
	if (g->killed)
		return;
	if (g->told) {
		/* Half of the limit is the last moment, as earlyoom has it. */
		if (kb >= 0 && kb < g->least_kb / 2)
			guard_kill(g, "less than half of the limit is available");
		else if (now - g->told_ms >= g->grace_ms)
			guard_kill(g, "it did not end in time");
		return;
	}
	if (kb >= 0 && kb < g->least_kb) {
		snprintf(why, sizeof(why), "%lld MiB of %lld MiB are available, less than %lld",
			 kb / 1024, g->total_kb / 1024, g->least_kb / 1024);
		guard_end(g, now, why);
	} else if (full >= g->pressure) {
		snprintf(
			why, sizeof(why),
			"all programs waited for memory for %.0f %% of ten seconds (limit %.0f %%)",
			full, g->pressure);
		guard_end(g, now, why);
	}
}

/* Until the job ends. Signals that we get it gets too; with its own group and no keyboard, Ctrl-C
 * comes to us alone. */
static void guard_watch(struct guard *g, struct waiter *w)
{
	long long due = clock_mono_ms();

	for (job_reap(&g->job); !g->job.ended; job_reap(&g->job)) {
		enum wake k = waiter_until(w, due);
		long long now = clock_mono_ms();

		if (k == WAKE_STOP)
			job_signal(&g->job, w->signal);
		if (now < due)
			continue;
		guard_look(g, now);
		due = now + LOOK_MS;
	}
}

static int guard_run(struct guard *g, char **argv)
{
	struct waiter w;
	struct err e = { 0 };
	int r;

	if (!waiter_open(&w, false))
		return complain_text(CODE_NOT_STARTED, "no descriptor for signals is to be had");
	r = job_start(&g->job, argv, true, &e);
	if (r) {
		waiter_close(&w);
		complain(EXIT_USAGE, &e);
		return r == -ENOENT ? JOB_NOT_FOUND : JOB_NOT_RUN;
	}
	guard_watch(g, &w);
	/* What it started and left behind in its group holds memory, too. */
	if (g->told)
		job_signal(&g->job, SIGKILL);
	job_over(&g->job);
	waiter_close(&w);
	if (!g->quiet && g->lowest_kb >= 0)
		fprintf(stderr,
			"gputune: at least %lld MiB of %lld MiB were available all the time\n",
			g->lowest_kb / 1024, g->total_kb / 1024);
	return g->told ? CODE_STOPPED : g->job.status;
}

/* The limits; false after it was said why the job is not to be started. */
static bool guard_limits(struct guard *g, const struct run_ask *ask, const struct machine *m)
{
	long long now = available_kb(g);

	g->total_kb = fact_or(&m->memory.total_kb, 0);
	g->least_kb = ask->least_mib > 0 ? ask->least_mib * 1024 : memory_least_kb(m);
	g->pressure = ask->pressure > 0 ? ask->pressure
					: health_figure("memory.guard", "pressure", NULL, 60);
	g->grace_ms = (long long)(1e3 * ask->grace_s);
	g->lowest_kb = now;
	if (now < 0 || g->total_kb <= 0)
		complain_text(0, "available memory cannot be read: nothing would guard it");
	else if (now < g->least_kb)
		complain_text(0, "%lld MiB are available, less than %lld: it is not started",
			      now / 1024, g->least_kb / 1024);
	else
		return true;
	return false;
}

static int verb_run(struct run *r)
{
	const struct run_ask *ask = r->ask;
	struct guard *g = ARENA_NEW(&r->arena, struct guard);
	char **argv = arena_array(&r->arena, ask->command.n + 1, sizeof(*argv));
	int code = CODE_NOT_STARTED;

	for (size_t i = 0; i < ask->command.n; i++)
		argv[i] = arena_strdup(&r->arena, ask->command.items[i]);
	if (!ask->command.n || !ask->guard)
		return complain_text(EXIT_USAGE, "run needs --guard, and a COMMAND behind --");
	g->quiet = r->print.quiet;
	g->h = door_host(&r->door, &ask->machine);
	if (!g->h)
		return CODE_NOT_STARTED;
	if (guard_limits(g, ask, door_machine(&r->door, g->h, &(struct door_look){ 0 })))
		code = guard_run(g, argv);
	host_close(g->h);
	return code;
}

static const char *const run_examples[] = {
	"run --guard -- python3 serve.py",
	"ended before it takes the memory that the machine itself needs",
	"run --guard --least 16384 -- torchrun train.py",
	"ended when less than 16 GiB are available",
	NULL,
};

const struct verb run_verb = {
	.name = "run",
	.run = verb_run,
	.own_process = true,
	.summary = "run a command, and end it before memory is gone",
	.about = "Runs COMMAND with this terminal, environment and folder in a process group of "
		 "its own. Four times a second it looks at available memory and pressure; below "
		 "the limit the group gets SIGTERM, and SIGKILL after --grace or when half of the "
		 "limit is gone. What left the group is not ended. Needs no root. The exit code is "
		 "the command's; 124 where it was ended, 125 where it was not started because too "
		 "little is available already. With --host, memory is looked at there.",
	.examples = run_examples,
	.ask = &run_ask_shape,
	.prints = PRINTS_QUIET,
};
