/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher's loop: sleep until a hint or the time for a poll, look at what is due, draw the
 * consequences, say them. Reading the journal takes no lock: a change that is being made is
 * waited for, and what is in the journal afterwards counts.
 */
#include "tune/watch/watch.h"

#include <malloc.h>
#include <string.h>

#include "tune/watch/guard.h"

enum { HINTS = 64, ONCE_ROUNDS = 60 };

long long guard_now(const struct guard *g)
{
	return g->w->source->ops->now(g->w->source);
}

struct event *guard_say(struct guard *g, enum event_kind kind, struct item *it, const char *from,
			const char *to)
{
	struct event *e;
	int limit;

	g->events = arena_grow(&g->round, g->events, g->n_events, sizeof(*g->events));
	e = &g->events[g->n_events++];
	*e = (struct event){ .kind = kind,
			     .item = it,
			     .from = from ? arena_strdup(&g->round, from) : NULL,
			     .to = to ? arena_strdup(&g->round, to) : NULL };
	if (!it)
		return e;
	g->changed = true;
	policy_of(&g->policy, it->id, &e->policy, &limit);
	e->via = it->via ? it->via : it->state == ITEM_NEW ? "start" : "poll";
	e->who = item_who(it);
	if (!e->who.pid && to && kind != EVENT_RETURNED)
		e->likely = who_likely(g->h, &g->round, &it->knob, &g->running);
	return e;
}

static void say_all(struct guard *g)
{
	report_events(g->w->reporter, g->w->source->ops->time(g->w->source), g->events,
		      g->n_events);
	g->events = NULL;
	g->n_events = 0;
	g->changed = false;
	g->running = (struct who_running){ 0 };
	arena_free(&g->round);
}

/* --- the service manager -----------------------------------------------------------------------
 */

static void sum_up(const struct guard *g, struct watch_sum *out)
{
	*out = (struct watch_sum){ .watched = g->items.n,
				   .blind = g->blind,
				   .bad_lines = g->bad_lines };
	for (size_t i = 0; i < g->items.n; i++)
		out->state[g->items.list[i].state]++;
}

static void notify(struct guard *g)
{
	long long now = guard_now(g);
	struct watch_sum s;
	char text[sizeof(g->status) + 32];
	int n;

	if (g->w->notify_fd < 0)
		return;
	sum_up(g, &s);
	n = snprintf(text, sizeof(text),
		     "STATUS=%zu settings watched, %zu changed, %zu left, %zu "
		     "given up",
		     s.watched, s.state[ITEM_CHANGED], s.state[ITEM_LEFT], s.state[ITEM_GIVEN_UP]);
	if (!g->ready || strcmp(text, g->status) != 0) {
		if (n > 0 && (size_t)n < sizeof(g->status))
			memcpy(g->status, text, (size_t)n + 1);
		if (!g->ready)
			strcat(text, "\nREADY=1");
		datagram_send(g->w->notify_fd, text, strlen(text));
		g->ready = true;
	}
	if (g->w->watchdog_ms && g->watchdog_due <= now) {
		datagram_send(g->w->notify_fd, "WATCHDOG=1", 10);
		g->watchdog_due = now + g->w->watchdog_ms / 2;
	}
}

/* --- the loop ----------------------------------------------------------------------------------
 */

static long long next_due(const struct guard *g)
{
	long long due = g->poll_due;

	if (g->journal_due && g->journal_due < due)
		due = g->journal_due;
	if (g->w->notify_fd >= 0 && g->w->watchdog_ms && g->watchdog_due < due)
		due = g->watchdog_due;
	for (size_t i = 0; i < g->items.n; i++)
		if (g->items.list[i].due && g->items.list[i].due < due)
			due = g->items.list[i].due;
	return due;
}

static bool sleep_and_take(struct guard *g)
{
	struct source *s = g->w->source;
	struct hint hints[HINTS];
	size_t n = s->ops->wait(s, next_due(g), hints, HINTS);

	for (size_t i = 0; i < n; i++)
		if (!guard_take(g, &hints[i]))
			return false;
	return true;
}

static void start(struct guard *g)
{
	struct watch_sum s;
	struct event *e;

	guard_load(g);
	/* Before the first look, so that the list below it reads as its consequence. */
	sum_up(g, &s);
	e = guard_say(g, EVENT_STARTED, NULL, NULL, NULL);
	e->note = arena_printf(&g->round, "%zu settings of %zu transactions are watched", s.watched,
			       g->items.transactions);
	g->poll_due = g->dear_due = guard_now(g);
	guard_round(g);
	say_all(g);
	/* What starting took, libraries above all, is not needed again. */
	malloc_trim(0);
	notify(g);
}

static void stop(struct guard *g)
{
	if (g->w->notify_fd >= 0)
		datagram_send(g->w->notify_fd, "STOPPING=1", 10);
	guard_say(g, EVENT_STOPPED, NULL, NULL, NULL)->note = "nothing was undone";
	say_all(g);
}

int watch_run(const struct watch *w, struct watch_sum *out, struct err *e)
{
	struct guard g = { .w = w };
	int code;

	g.h = w->open(w->ctx, e);
	if (!g.h)
		return -EIO;
	code = guard_policy(&g, e);
	if (code == 0) {
		start(&g);
		/* One look waits for a change that is being made. */
		for (int i = 0;
		     (w->once ? g.journal_due && i < ONCE_ROUNDS : true) && sleep_and_take(&g);
		     i = w->once ? i + 1 : 0) {
			guard_round(&g);
			say_all(&g);
			notify(&g);
		}
		if (!w->once)
			stop(&g);
		sum_up(&g, out);
	}
	items_free(&g.items);
	arena_free(&g.policy_arena);
	arena_free(&g.round);
	host_close(g.h);
	return code;
}
