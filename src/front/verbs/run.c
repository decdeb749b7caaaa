/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune run --guard -- COMMAND: ends a job before it takes the machine's memory, and the machine
 * with it. What is too little is the limit of the check (memory.available); pressure is
 * systemd-oomd's. A control group, where one can be had, holds all that the job starts.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/text.h"
#include "front/job.h"
#include "front/job_group.h"
#include "front/reclaim.h"
#include "front/terminal.h"
#include "knowledge/health.h"
#include "look/settings/predicates.h"
#include "verbs/change.h"

/* As timeout(1) has them; the command's own code otherwise. */
enum { CODE_STOPPED = 124, CODE_NOT_STARTED = 125 };
enum { LOOK_MS = 250, LEFT_MS = 20 };
/* Less than that for a job is no limit that anything could start under; KiB. */
enum { GROUP_LEAST_KB = 64 << 10 };

struct run_ask {
	struct ask_texts command;
	struct machine_ask machine;
	struct change_ask change;
	bool guard;
	long long free_mib, least_mib, most_mib;
	double pressure, grace_s;
};

static const struct ask_row run_ask_rows[] = {
	{ "COMMAND", "the command to run, with its arguments", ASK_TEXTS(run_ask, command),
	  .argument = true, .behind = true },
	{ "guard", "stop the command before it exhausts memory", ASK_FLAG(run_ask, guard) },
	{ "free",
	  "before the start, release page cache until this much is free; asks first, cannot be "
	  "undone",
	  ASK_COUNT(run_ask, free_mib, 1, 1 << 30), .unit = "MiB" },
	{ "least",
	  "stop the command if less memory than this is available (default: the minimum that check "
	  "requires, or 5 % where the GPU shares memory)",
	  ASK_COUNT(run_ask, least_mib, 1, 1 << 30), .unit = "MiB" },
	{ "most",
	  "memory limit of the job's control group (default: memory available at its start, minus "
	  "--least)",
	  ASK_COUNT(run_ask, most_mib, 64, 1 << 30), .unit = "MiB" },
	{ "pressure",
	  "stop the command if all programs wait for memory for this percentage of ten seconds "
	  "(default: 60, as in systemd-oomd)",
	  ASK_REAL(run_ask, pressure, 1, 100), .unit = "%" },
	{ "grace", "grace period between SIGTERM and SIGKILL", ASK_TIME(run_ask, grace_s), .min = 0,
	  .max = 3600, .fallback = "10s" },
	{ ASK_PART(run_ask, change, change_ask) },
	{ ASK_PART(run_ask, machine, machine_ask) },
};

struct guard {
	struct host *h;
	struct arena *a;
	struct job job;
	struct job_group group;
	bool quiet;
	long long total_kb, least_kb;
	long long most_kb; /* what the job may hold */
	long long peak;	   /* bytes that its group held at most; -1: not known */
	long long oom_kills;
	bool left; /* its first process has ended, others of its group go on */
	double pressure;
	long long grace_ms;
	long long lowest_kb; /* that was seen; -1: none */
	bool told;	     /* to end */
	long long told_ms;
	bool killed;
};

/* "full avg10=0.00 ...": the part of ten seconds in which all waited; -1: the kernel does not say.
 */
static double full_pressure(const struct guard *g)
{
	char text[512];

	if (host_read_line(g->h, "/proc/pressure/memory", text, sizeof(text)))
		return -1;
	return kernel_figure(text, "full avg10=");
}

static void guard_signal(const struct guard *g, int signal)
{
	if (g->group.dir)
		job_group_signal(g->h, &g->group, signal);
	else
		job_signal(&g->job, signal);
}

static void guard_end(struct guard *g, long long now, const char *why)
{
	complain_text(0, "%s: sending SIGTERM; SIGKILL follows after %.1f s", why,
		      (double)g->grace_ms / 1000);
	guard_signal(g, SIGTERM);
	g->told = true;
	g->told_ms = now;
}

static void guard_kill(struct guard *g, const char *why)
{
	complain_text(0, "%s: sending SIGKILL", why);
	guard_signal(g, SIGKILL);
	g->killed = true;
}

/* What its own group says, whatever the machine has left. */
static void guard_look_at_group(struct guard *g, long long now, const struct job_group_state *s)
{
	char why[160];

	if (s->oom_kills > 0)
		snprintf(why, sizeof(why),
			 "the command used all of its %lld MiB, and the kernel killed %s",
			 g->group.max_bytes >> 20, "some of its processes");
	else if (s->full >= g->pressure)
		snprintf(why, sizeof(why),
			 "the command waited for memory for %.0f %% of ten seconds (limits %.0f "
			 "%%, %lld MiB)",
			 s->full, g->pressure, g->group.max_bytes >> 20);
	else
		return;
	guard_end(g, now, why);
}

/* One look. What cannot be read says nothing, and the job goes on. */
static void guard_look(struct guard *g, long long now)
{
	long long kb = meminfo_kb(g->h, "MemAvailable:");
	double full = full_pressure(g);
	struct job_group_state group;
	char why[160];

	job_group_look(g->h, &g->group, &group);
	if (group.held_bytes > g->peak)
		g->peak = group.held_bytes;
	if (kb >= 0 && (g->lowest_kb < 0 || kb < g->lowest_kb))
		g->lowest_kb = kb;
	if (g->killed)
		return;
	if (g->told) {
		/* Half of the limit is the last moment, as earlyoom has it. */
		if (kb >= 0 && kb < g->least_kb / 2)
			guard_kill(g, "less than half of --least is available");
		else if (now - g->told_ms >= g->grace_ms)
			guard_kill(g, "the command did not exit within --grace");
		return;
	}
	if (kb >= 0 && kb < g->least_kb) {
		snprintf(why, sizeof(why),
			 "%lld MiB of %lld MiB are available, below the limit of %lld", kb / 1024,
			 g->total_kb / 1024, g->least_kb / 1024);
		guard_end(g, now, why);
	} else if (full >= g->pressure) {
		snprintf(
			why, sizeof(why),
			"all programs waited for memory for %.0f %% of ten seconds (limit %.0f %%)",
			full, g->pressure);
		guard_end(g, now, why);
	} else if (g->group.limits) {
		guard_look_at_group(g, now, &group);
	}
}

/* Nothing of it runs any more. What it left in its group holds memory as before, and is guarded as
 * before. */
static bool guard_is_over(struct guard *g)
{
	struct job_group_state s;

	job_reap(&g->job);
	if (!g->job.ended)
		return false;
	job_group_look(g->h, &g->group, &s);
	g->oom_kills = s.oom_kills > g->oom_kills ? s.oom_kills : g->oom_kills;
	if (s.populated && !g->left) {
		/* What is ending only needs a moment. */
		poll(NULL, 0, LEFT_MS);
		job_group_look(g->h, &g->group, &s);
		g->left = s.populated;
		if (s.populated && !g->told && !g->quiet)
			fprintf(stderr,
				"gputune: the command has exited; its remaining processes in %s "
				"continue and are guarded until they exit\n",
				g->group.name);
	}
	return !s.populated;
}

/* Until the job ends. Signals that we get it gets too; with its own group and no keyboard, Ctrl-C
 * comes to us alone. */
static void guard_watch(struct guard *g, struct waiter *w)
{
	long long due = clock_mono_ms();

	while (!guard_is_over(g)) {
		enum wake k = waiter_until(w, due);
		long long now = clock_mono_ms();

		if (k == WAKE_STOP)
			guard_signal(g, w->signal);
		if (now < due)
			continue;
		guard_look(g, now);
		due = now + LOOK_MS;
	}
}

/* While it waits to begin. */
static void guard_place(void *ctx, pid_t pid)
{
	struct guard *g = ctx;
	long long max = g->most_kb < GROUP_LEAST_KB ? GROUP_LEAST_KB : g->most_kb;

	job_group_make(g->h, g->a, pid, (max - max / 20) * 1024, max * 1024, &g->group);
	if (g->quiet)
		return;
	if (g->group.limits)
		fprintf(stderr, "gputune: the command runs in %s, limited to %lld MiB\n",
			g->group.name, g->group.max_bytes >> 20);
	else if (g->group.dir)
		fprintf(stderr, "gputune: the command runs in %s, without a limit: %s\n",
			g->group.name, g->group.why);
	else
		fprintf(stderr,
			"gputune: %s; processes that leave the command's process group are not "
			"stopped\n",
			g->group.why);
}

/* The kernel was quicker than we, and its count may be gone with the group: what stayed behind is
 * how it ended. */
static bool guard_was_quicker(const struct guard *g)
{
	if (g->told || !g->group.limits)
		return false;
	if (g->oom_kills > 0)
		complain_text(0, "the kernel killed the command: it used all of its %lld MiB",
			      g->group.max_bytes >> 20);
	else if (g->job.status == 128 + SIGKILL && g->peak >= g->group.high_bytes)
		complain_text(0,
			      "the command was killed, probably by the kernel, while it used %lld "
			      "of its %lld MiB",
			      g->peak >> 20, g->group.max_bytes >> 20);
	return g->oom_kills > 0;
}

static void guard_report(const struct guard *g)
{
	if (g->quiet)
		return;
	if (g->lowest_kb >= 0)
		fprintf(stderr,
			"gputune: at least %lld MiB of %lld MiB were available throughout\n",
			g->lowest_kb / 1024, g->total_kb / 1024);
	if (g->group.limits && g->peak >= 0)
		fprintf(stderr,
			"gputune: the command used at most %lld MiB of %lld MiB, as far as "
			"observed\n",
			g->peak >> 20, g->group.max_bytes >> 20);
}

static int guard_run(struct guard *g, char **argv)
{
	const struct job_how how = { .own_group = true,
				     /* The memory of another machine bounds nothing here. */
				     .place = g->h->id.captured ? NULL : guard_place,
				     .ctx = g };
	struct waiter w;
	struct err e = { 0 };
	int r;

	if (!waiter_open(&w, false))
		return complain_text(CODE_NOT_STARTED, "cannot create a descriptor for signals");
	r = job_start(&g->job, argv, &how, &e);
	if (r) {
		job_group_end(g->h, &g->group);
		waiter_close(&w);
		complain(EXIT_USAGE, &e);
		return r == -ENOENT ? JOB_NOT_FOUND : JOB_NOT_RUN;
	}
	guard_watch(g, &w);
	/* What it started and left behind in its group holds memory, too. */
	if (g->told) {
		job_signal(&g->job, SIGKILL);
		guard_signal(g, SIGKILL);
	}
	job_group_end(g->h, &g->group);
	job_over(&g->job);
	waiter_close(&w);
	guard_report(g);
	return g->told || guard_was_quicker(g) ? CODE_STOPPED : g->job.status;
}

/* The limits; false after it was said why the job is not to be started. */
static bool guard_limits(struct guard *g, const struct run_ask *ask, const struct machine *m)
{
	long long now = meminfo_kb(g->h, "MemAvailable:");

	g->total_kb = fact_or(&m->memory.total_kb, 0);
	g->least_kb = ask->least_mib > 0 ? ask->least_mib * 1024 : memory_least_kb(m);
	g->pressure = ask->pressure > 0 ? ask->pressure
					: health_figure("memory.guard", "pressure", NULL, 60);
	g->grace_ms = (long long)(1e3 * ask->grace_s);
	g->lowest_kb = now;
	g->most_kb = ask->most_mib > 0 ? ask->most_mib * 1024 : now - g->least_kb;
	g->peak = -1;
	if (now < 0 || g->total_kb <= 0)
		complain_text(0, "cannot read available memory: the job would not be guarded");
	else if (now < g->least_kb)
		complain_text(0,
			      "%lld MiB are available, less than %lld: the command was not started",
			      now / 1024, g->least_kb / 1024);
	else
		return true;
	return false;
}

/* --- page cache ------------------------------------------------------------------------------- */

static const char danger[] = "every program must reread its cached data from disk, which takes "
			     "long for large models; unwritten data stays. There is no undo";

/* It holds no value that could be put back, so it is in no journal of ours; the system's log has
 * it. */
static void release_note(const struct run_ask *ask, const struct reclaim *x)
{
	fprintf(stderr,
		"gputune: page cache was released: %lld MiB were free, now %lld MiB; %.2f s, %zu "
		"step%s\n",
		x->before_kb / 1024, x->after_kb / 1024, x->took_s, x->steps, PLURAL(x->steps));
	openlog("gputune", LOG_PID, LOG_USER);
	syslog(LOG_NOTICE, "page cache released: free %lld MiB before, %lld MiB after, %.2f s%s%s",
	       x->before_kb / 1024, x->after_kb / 1024, x->took_s,
	       ask->change.reason ? ", because " : "",
	       ask->change.reason ? ask->change.reason : "");
	closelog();
}

/* Releases until the target is free. 0, or the exit code after a sentence. */
static int release(struct run *r, struct host *h, const struct machine *m)
{
	const struct run_ask *ask = r->ask;
	long long free = meminfo_kb(h, "MemFree:"), could = freeable_cache_kb(&m->memory);
	struct reclaim x = { .want_kb = ask->free_mib * 1024,
			     .swap = fact_or(&m->memory.swap_total_kb, 1) > 0 };
	struct err e = { 0 };
	const char *question;
	int code;

	if (free >= x.want_kb) {
		fprintf(stderr, "gputune: %lld MiB are free already\n", free / 1024);
		return 0;
	}
	if (free < 0 || !seen_ok(&m->memory.cached_kb.f))
		return complain_text(EXIT_BLIND, "cannot read free memory and page cache");
	if (could < x.want_kb - free)
		return complain_text(EXIT_NOT_APPLIED,
				     "%lld MiB are free, and %lld MiB of page cache can be "
				     "released: too little for %lld MiB. Nothing was released",
				     free / 1024, could / 1024, ask->free_mib);
	question = arena_printf(&r->arena,
				"Release %lld of %lld MiB of page cache, within %d s? Danger: %s.",
				(x.want_kb - free) / 1024, could / 1024, RECLAIM_LIMIT_S, danger);
	if (ask->change.dry_run) {
		fprintf(stderr, "gputune: dry run: no page cache was released. Prompt: %s\n",
			question);
		return 0;
	}
	code = door_agreed(&r->door, NULL, question);
	if (code)
		return -code;
	if (reclaim_cache(h, &x, &e))
		return complain(EXIT_NOT_APPLIED, &e);
	release_note(ask, &x);
	return x.after_kb >= x.want_kb
		       ? 0
		       : complain_text(EXIT_NOT_APPLIED, "less than %lld MiB are free: %s",
				       ask->free_mib,
				       x.why ? x.why : "other programs used the released memory");
}

/* --- the verb --------------------------------------------------------------------------------- */

static int run_here(struct run *r, struct guard *g, char **argv)
{
	const struct run_ask *ask = r->ask;
	const struct machine *m = door_machine(&r->door, g->h, &(struct door_look){ 0 });
	int code = ask->free_mib ? release(r, g->h, m) : 0;

	/* Without that much free memory the job would only fail. */
	if (code || !argv[0] || ask->change.dry_run)
		return code && argv[0] ? CODE_NOT_STARTED : code;
	return guard_limits(g, ask, m) ? guard_run(g, argv) : CODE_NOT_STARTED;
}

static int verb_run(struct run *r)
{
	const struct run_ask *ask = r->ask;
	struct guard *g = ARENA_NEW(&r->arena, struct guard);
	char **argv = arena_array(&r->arena, ask->command.n + 1, sizeof(*argv));
	int code;

	for (size_t i = 0; i < ask->command.n; i++)
		argv[i] = arena_strdup(&r->arena, ask->command.items[i]);
	if (ask->command.n ? !ask->guard : !ask->free_mib || ask->guard)
		return complain_text(EXIT_USAGE, "run requires \"--guard -- COMMAND\", with or "
						 "without --free; or --free without a COMMAND");
	g->quiet = r->print.quiet;
	g->a = &r->arena;
	g->h = ask->free_mib ? door_change_host(&r->door, &ask->machine, ask->change.dry_run)
			     : door_host(&r->door, &ask->machine);
	if (!g->h)
		return CODE_NOT_STARTED;
	code = run_here(r, g, argv);
	host_close(g->h);
	return code;
}

const struct verb run_verb = {
	.name = "run",
	.group = VERB_MEASURE,
	.summary = "run a command, and stop the command before memory is exhausted",
	.about = "Runs COMMAND in its own control group and checks available memory four times a "
		 "second. Below the limit it sends SIGTERM, and after --grace SIGKILL. The kernel "
		 "enforces --most. --free first releases page cache and requires root.",
	.exits = "that of the command; 124: it was stopped; 125: not started, as memory is short",
	.words = "exec oom launch start",
	.examples = EXAMPLES(
		{ "run --guard -- python3 serve.py",
		  "stop the job before the machine runs out of memory" },
		{ "run --guard --least 16384 -- torchrun train.py", "keep 16 GiB available" },
		{ "sudo run --free 98304 --guard -- vllm serve MODEL",
		  "release page cache first, until 96 GiB are free" }),
	.run = verb_run,
	.own_process = true,
	.ask = ASK_OF(run_ask, NULL, run_ask_rows),
	.prints = PRINTS_QUIET | PRINTS_QUESTION,
};
