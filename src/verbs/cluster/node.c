/* SPDX-License-Identifier: Apache-2.0 */
/* What other programs start: gputune cluster node, by a coordinator on each node, and cluster
 * rollback, by a timer that nobody stopped. */
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "look/probe/probe.h"
#include "machine/host/libraries.h"
#include "many/cluster/ask.h"
#include "many/cluster/rollback_timer.h"
#include "verbs/change.h"
#include "verbs/cluster/cluster.h"
#include "verbs/qualify.h"

struct node_ask {
	struct machine_ask machine;
};

static const struct ask_row node_ask_rows[] = { { ASK_PART(node_ask, machine, machine_ask) } };

/* Whoever looks again has to see what changed: a backend keeps what it has read, so each look opens
 * one of its own. Facts point into it, so it stays open. */
struct looker {
	struct door *d;
	struct host **opened;
	size_t n;
};

static const struct machine *node_look(struct ask_node *n, bool full)
{
	struct looker *l = n->look_state;
	struct machine *m = ARENA_NEW(n->arena, struct machine);
	struct probe p = { .a = n->arena, .m = m, .lean = true, .config = full };

	if (!n->captured) {
		n->h = ARENA_ADD(l->d->arena, l->opened, l->n) = l->d->live(l->d->ctx);
	}
	p.h = n->h;
	probe_machine(&p);
	return m;
}

static int node_serve(struct door *d, const void *ask, int in, int out)
{
	const struct machine_ask *machine = &((const struct node_ask *)ask)->machine;
	struct arena request = { 0 };
	struct looker l = { .d = d };
	struct cluster_stop stop = { 0 };
	struct qualify_self self = { .d = d, .stop = &stop.stop };
	struct ask_node n = { .arena = &request,
			      .look = node_look,
			      .look_state = &l,
			      .member = { .self = qualify_self, .ctx = &self, .stop = &stop.stop },
			      .stop = &stop.stop,
			      .captured = machine->capture != NULL };
	struct err e = { 0 };
	struct host *h;
	int code;

	if (library_open(LIBRARY_SODIUM, &e))
		return door_fail(d, EXIT_BLIND, &e);
	h = door_host(d, machine);
	if (!h)
		return -EXIT_USAGE;
	n.h = h;
	/* A coordinator that is gone is seen at the end of our input. */
	signal(SIGPIPE, SIG_IGN);
	cluster_stop_begin(&stop);
	code = ask_serve(&n, in, out);
	cluster_stop_end(&stop);
	arena_free(&request);
	qualify_self_end(&self);
	for (size_t i = 0; i < l.n; i++)
		host_close(l.opened[i]);
	host_close(h);
	return code ? EXIT_BLIND : EXIT_CLEAN;
}

static const struct verb node_verb = {
	.name = "node",
	.summary = "internal: the program that gputune starts on each node",
	.about = "Answers requests, one JSON object per line, until its input ends.",
	.ask = ASK_OF(node_ask, NULL, node_ask_rows),
	.serve = node_serve,
};

/* --- rollback --------------------------------------------------------------------------------- */

struct rollback_ask {
	double seconds;
};

static const struct ask_row rollback_ask_rows[] = {
	{ "for", "wait this long before the undo", ASK_TIME(rollback_ask, seconds) },
};

/* Whatever happens to who started it. */
static void sleep_s(double seconds)
{
	long long until = clock_mono_ms() + (long long)(seconds * 1000), left;

	while ((left = until - clock_mono_ms()) > 0) {
		struct timespec t = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
}

static int rollback_serve(struct door *d, const void *ask, int in, int out)
{
	struct txn_who who = txn_who_here(d->arena, "not confirmed in time");
	struct rollback_report report;
	struct err e = { 0 };
	HOST_AUTO *h = NULL;
	int result;

	(void)in;
	(void)out;
	sleep_s(((const struct rollback_ask *)ask)->seconds);
	who.op = "cluster";
	h = d->live(d->ctx);
	result = rollback_timer_fire(h, d->arena, &who, &report, &e);
	if (result)
		return door_fail(d, txn_exit_code(result), &e);
	door_warn(d, report.fired ? "the network already has its old configuration"
				  : "nothing to undo");
	return EXIT_CLEAN;
}

static const struct verb rollback_verb = {
	.name = "rollback",
	.summary = "the rollback timer: undoes network changes that were not confirmed",
	.about = "Undoes unconfirmed changes of cluster plan --apply on this node.",
	.ask = ASK_OF(rollback_ask, NULL, rollback_ask_rows),
	.serve = rollback_serve,
};

const struct verb *const cluster_programs[] = { &node_verb, &rollback_verb, NULL };
