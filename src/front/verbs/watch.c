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

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static struct host *open_machine(void *ctx, struct err *e)
{
	const struct run *r = ctx;
	const char *capture = r->value[OPT_HOST], *overlay = r->value[OPT_OVERLAY];

	return !capture	 ? host_open_live()
	       : overlay ? host_open_overlay(capture, overlay, e)
			 : host_open_capture(capture, e);
}

/* The words of the command line. 0, or an exit code. */
static int verb_watch_read_options(struct run *r, struct watch *w)
{
	const char *policy = r->value[OPT_POLICY], *interval = r->value[OPT_INTERVAL];
	const char *format = r->value[OPT_FORMAT];
	struct profile narrowed = { .base = PROFILE_DEFAULT };
	struct err e = { 0 };

	if (format && strcmp(format, "json") != 0 && strcmp(format, "term") != 0)
		return complain_text(EXIT_USAGE, "watch writes term or json, not %s", format);
	if (r->value[OPT_OVERLAY] && !r->value[OPT_HOST])
		return complain_text(EXIT_USAGE, "--overlay goes with --host CAPTURE");
	w->reaction = policy ? reaction_parse(policy) : -1;
	if (policy && w->reaction < 0)
		return complain_text(EXIT_USAGE,
				     "--policy takes one of report, re-apply, back-off, not \"%s\"",
				     policy);
	if (interval && interval_parse(interval, &w->interval_ms))
		return complain_text(
			EXIT_USAGE,
			"--interval takes a time from 100ms to 24h like 30s or 5m, not \"%s\"",
			interval);
	if (r->value[OPT_ONLY] &&
	    profile_narrow(&r->arena, &narrowed, r->value[OPT_ONLY], false, &e))
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

static int verb_watch_code_of(const struct run *r, const struct watch_sum *s)
{
	if (!r->value[OPT_ONCE])
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

static int watch_with(struct run *r, struct watch *w)
{
	/* A service's lines go to the system's journal with their fields, and not there again as
	 * text. */
	struct reporter say = { .out = r->out, .json = run_wants_json(r), .journal_fd = -1 };
	struct watch_sum sum = { 0 };
	struct err e = { 0 };
	int code;

	if (w->notify_fd >= 0 && !say.json)
		say.journal_fd = datagram_open(JOURNAL_SOCKET);
	if (say.journal_fd >= 0 || r->value[OPT_QUIET])
		say.out = NULL;
	w->reporter = &say;
	code = watch_run(w, &sum, &e);
	if (say.journal_fd >= 0)
		close(say.journal_fd);
	return code ? complain(EXIT_USAGE, &e) : verb_watch_code_of(r, &sum);
}

int verb_watch(struct run *r)
{
	const char *overlay = r->value[OPT_OVERLAY];
	struct watch w = { .open = open_machine,
			   .ctx = r,
			   .policy_file = WATCH_CONF,
			   .once = r->value[OPT_ONCE] != NULL,
			   .apart = true,
			   .notify_fd = -1 };
	struct err e = { 0 };
	struct host *processes;
	int code = verb_watch_read_options(r, &w);

	if (code)
		return code;
	/* Who wrote is asked of this machine, whatever machine is watched. */
	processes = host_open_live();
	w.source = live_source_open(processes,
				    !r->value[OPT_HOST] ? ""
				    : overlay ? arena_printf(&r->arena, "%s/root", overlay)
					      : NULL,
				    !r->value[OPT_HOST], &e);
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
