/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose --attach: looks at a job that runs, for some seconds. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "front/verbs/diagnose.h"
#include "front/verbs/monitor.h"
#include "models/diagnose/attach.h"

enum { STANDARD_MS = 500, STANDARD_FOR_MS = 20000 };

static int pid_of(struct run *r, int *out)
{
	unsigned long long v = 0;

	*out = 0;
	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "--attach takes one process");
	if (r->n_args && (parse_u64(r->args[0], &v) || v == 0 || v > 0x7fffffff))
		return complain_text(EXIT_USAGE,
				     "--attach takes the number of a process, not "
				     "\"%s\"",
				     r->args[0]);
	*out = (int)v;
	return 0;
}

static void looks(struct attach *s, struct waiter *w, int interval_ms, long long for_ms)
{
	long long begin = clock_mono_ms(), due = begin;

	while (attach_look(s, clock_mono_s())) {
		if (clock_mono_ms() - begin >= for_ms)
			return;
		due += interval_ms;
		if (due < clock_mono_ms())
			due = clock_mono_ms();
		for (enum wake k; (k = waiter_until(w, due)) != WAKE_TIME;)
			if (k == WAKE_STOP)
				return;
	}
}

int diagnose_attach(struct diagnosing *g)
{
	static const char *const name = "what runs now";
	struct run *r = g->r;
	struct host *h;
	struct attach s;
	struct waiter w;
	struct err e = { 0 };
	long long for_ms;
	int code, pid, interval_ms;

	if ((code = pid_of(r, &pid)) != 0)
		return code;
	if (!monitor_interval(r, STANDARD_MS, &interval_ms) || !monitor_for(r, &for_ms))
		return EXIT_USAGE;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	g->ask.live = true;
	g->names = arena_array(&r->arena, 1, sizeof(*g->names));
	g->names[0] = name;
	g->ask.names = g->names;
	g->ask.n_runs = 1;
	code = attach_open(&r->arena, h, run_machine(r, h, false), pid, &g->ev, &s, &e);
	if (code) {
		host_close(h);
		return complain(EXIT_BLIND, &e);
	}
	if (!waiter_open(&w, false)) {
		host_close(h);
		return complain_text(EXIT_BLIND, "no descriptor for signals is to be had");
	}
	looks(&s, &w, interval_ms, for_ms ? for_ms : STANDARD_FOR_MS);
	waiter_close(&w);
	attach_close(&s);
	host_close(h);
	return 0;
}
