/* SPDX-License-Identifier: Apache-2.0 */
/* gputune watch: what opens the machine, where events come from, and where they are said. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/session.h"
#include "machine/write/write.h"
#include "tune/watch/live.h"
#include "tune/watch/watch.h"
#include "base/text.h"

struct watch_ask {
	double interval_s;
	struct only_ask only;
	enum reaction policy;
	bool once;
	struct machine_ask machine;
};

static const char *const policies[] = { "report", "re-apply", "back-off" };

static const struct ask_row watch_ask_rows[] = {
	{ "interval",
	  "polling interval for settings whose changes the kernel does not announce (default: 30s)",
	  ASK_TIME(watch_ask, interval_s), .min = 0.1, .max = 86400 },
	{ "policy", "one policy for everything, instead of /etc/gputune/watch.conf",
	  ASK_CHOICE(watch_ask, policy, policies), .arg = "POLICY" },
	{ "once", "check once and exit with the code of that check", ASK_FLAG(watch_ask, once) },
	{ ASK_PART(watch_ask, only, only_ask) },
	{ ASK_PART(watch_ask, machine, machine_ask) },
};

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static struct host *open_machine(void *ctx, struct err *e)
{
	const struct machine_ask *from = ctx;

	return !from->capture  ? host_open_live()
	       : from->overlay ? host_open_overlay(from->capture, from->overlay, e)
			       : host_open_capture(from->capture, e);
}

/* 0, or an exit code. */
static int watch_narrow(struct run *r, const struct watch_ask *ask, struct watch *w)
{
	struct profile narrowed = { .base = PROFILE_DEFAULT };
	struct err e = { 0 };

	if (ask->machine.overlay && !ask->machine.capture)
		return complain_text(EXIT_USAGE, "--overlay requires --host CAPTURE");
	if (ask->only.only && profile_narrow(&r->arena, &narrowed, ask->only.only, false, &e))
		return complain(EXIT_USAGE, &e);
	w->only = narrowed.only;
	w->n_only = narrowed.n_only;
	return 0;
}

/* How often the service manager wants to hear of this process; 0: never. */
static long long watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long long n;

	if (!usec || parse_i64(usec, &n) || n < 2000)
		return 0;
	if (pid && strcmp(pid, "") != 0 && strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	return n / 1000;
}

static int verb_watch_code_of(const struct watch *w, const struct watch_sum *s)
{
	if (!w->once)
		return EXIT_CLEAN;
	if (s->bad_lines)
		return EXIT_STUCK;
	if (s->blind)
		return EXIT_BLIND;
	if (s->state[ITEM_CHANGED] || s->state[ITEM_LEFT] || s->state[ITEM_GIVEN_UP] ||
	    s->state[ITEM_GONE])
		return EXIT_FINDINGS;
	return s->state[ITEM_UNSEEN] ? EXIT_BLIND : EXIT_CLEAN;
}

/* What --fields, --budget and --top leave of an event. */
static void watch_line(void *ctx, json_t *j)
{
	struct run *r = ctx;
	TEXT_AUTO t = { 0 };

	if (run_add_json(r, j, true, &t) == 0)
		fwrite(t.s, 1, t.len, r->out);
}

static int watch_with(struct run *r, struct watch *w)
{
	/* A service's lines go to the system's journal with their fields, and not there again as
	 * text. */
	struct reporter say = { .out = r->out,
				.json = run_wants_json(r),
				.journal_fd = -1,
				.line = watch_line,
				.ctx = r };
	struct watch_sum sum = { 0 };
	struct err e = { 0 };
	int code;

	if (w->notify_fd >= 0 && !say.json)
		say.journal_fd = datagram_open(JOURNAL_SOCKET);
	if (say.journal_fd >= 0 || r->print.quiet)
		say.out = NULL;
	w->reporter = &say;
	code = watch_run(w, &sum, &e);
	if (say.journal_fd >= 0)
		close(say.journal_fd);
	return code ? complain(EXIT_USAGE, &e) : verb_watch_code_of(w, &sum);
}

static int verb_watch(struct run *r)
{
	struct watch_ask *ask = r->ask;
	const char *capture = ask->machine.capture,
		   *overlay = ask->machine.overlay = door_overlay(&r->arena, &ask->machine);
	struct watch w = { .open = open_machine,
			   .ctx = &ask->machine,
			   .policy_file = WATCH_CONF,
			   .reaction = ask->policy < sizeof(policies) / sizeof(policies[0])
					       ? (int)ask->policy
					       : -1,
			   .interval_ms = (long long)(1e3 * ask->interval_s + 0.5),
			   .once = ask->once,
			   .apart = true,
			   .notify_fd = -1 };
	struct err e = { 0 };
	struct host *processes;
	int code = watch_narrow(r, ask, &w);

	if (code)
		return code;
	/* Who wrote is asked of this machine, whatever machine is watched. */
	processes = host_open_live();
	w.source = live_source_open(processes,
				    !capture  ? ""
				    : overlay ? arena_printf(&r->arena, "%s/root", overlay)
					      : NULL,
				    !capture, &e);
	if (w.source) {
		w.notify_fd = datagram_open(getenv("NOTIFY_SOCKET"));
		w.watchdog_ms = watchdog_ms();
		code = watch_with(r, &w);
		w.source->ops->close(w.source);
		if (w.notify_fd >= 0)
			close(w.notify_fd);
	} else {
		code = complain(EXIT_BLIND, &e);
	}
	host_close(processes);
	return code;
}

static const char *const watch_forms[] = { "term", "json", NULL };

/* clang-format off */
const struct verb watch_verb = {
	.name = "watch", .group = VERB_CHANGE, .summary = "detect changes to applied settings and reapply them",
	.about = "Watches every applied setting until SIGTERM and prints each change: values, how it was "
	  "detected, and who made it. /etc/gputune/watch.conf or --policy chooses: report, re-apply, or "
	  "back-off, which leaves changes made by a person. A setting that keeps being reverted is no longer "
	  "reapplied.",
	.exits = "1: with --once, a value changed since it was applied", .words = "daemon guard enforce",
	.examples = EXAMPLES({ "watch", "lines, until Ctrl-C" },
		{ "watch --once", "one check, and its exit code" },
		{ "watch --policy report --format json", "JSON lines; nothing is reapplied" }),
	.run = verb_watch, .ask = ASK_OF(watch_ask, NULL, watch_ask_rows), .prints_as = watch_forms,
	.prints = PRINTS_FORMAT | PRINTS_JSON | PRINTS_FILE | PRINTS_QUIET,
};
