/* SPDX-License-Identifier: Apache-2.0 */
/* One waking up: look at what is due, and draw the consequences once nobody is changing the
 * machine.
 */
#include <string.h>

#include "tune/watch/apart.h"

enum { ROUNDS_A_HOST = 64, BUSY_MS = 1000, BUSY_MAX_MS = 600000 };
enum { DEAR_MS = 600000, QUIET_POLLS = 4 };
/* Opening the driver costs 16 to 24 ms of CPU on a machine with four GPUs: at most 1 part in 2,000
 * of a core goes into it, however short the interval. */
enum { APART_SHARE = 2000 };

/* Somebody is applying or undoing: what is seen meanwhile says nothing. A lock that is held for
 * very long is no change any more. */
static bool is_busy(struct guard *g)
{
	struct source *s = g->w->source;
	long long now = guard_now(g);

	if (!s->ops->busy(s)) {
		g->busy_since = 0;
		return false;
	}
	if (!g->busy_since)
		g->busy_since = now;
	return now - g->busy_since < BUSY_MAX_MS;
}

static bool is_stale(struct guard *g)
{
	return g->w->source->ops->stamp(g->w->source) != g->stamp;
}

static bool is_news(const struct item *it, enum sight sight)
{
	return sight != SIGHT_BLIND && !(sight == SIGHT_OURS && it->state == ITEM_OURS);
}

/* Nobody tells of a GPU's limit or lock that went (its events are of states and errors): it is
 * looked at by a time of its own, however quiet it is. */
static bool is_timed(const struct item *it)
{
	return it->knob.kind == KNOB_NVML;
}

static void look_again(struct guard *g, struct item *it)
{
	long long least = g->apart_us * APART_SHARE / 1000, interval = g->policy.interval_ms;

	if (is_timed(it))
		it->due = guard_now(g) + (interval > least ? interval : least);
}

/* Nothing new is most of what is ever seen: it leaves nothing in memory. */
static void look_at(struct guard *g, struct look *l)
{
	struct arena_mark before = arena_mark(&g->round);

	l->sight = item_look(g->h, &g->round, l->it, &l->now);
	if (l->sight != SIGHT_OURS || is_news(l->it, l->sight) || !l->it->now ||
	    strcmp(l->now, l->it->now) != 0)
		return;
	l->now = l->it->now;
	arena_back(&g->round, before);
}

static size_t look_at_due(struct guard *g, bool poll, bool dear, struct look *looks)
{
	struct look **others = arena_array(&g->round, g->items.n, sizeof(struct look *));
	long long now = guard_now(g);
	size_t n = 0, n_others = 0;

	for (size_t i = 0; i < g->items.n; i++) {
		struct item *it = &g->items.list[i];
		bool due = it->due && it->due <= now;

		if (!due && is_timed(it) && it->due)
			continue;
		if (!due && !(poll && (dear || !item_is_dear(it) || it->state == ITEM_NEW)))
			continue;
		if (now < it->quiet_until) {
			it->due = it->quiet_until;
			continue;
		}
		it->due = 0;
		look_again(g, it);
		looks[n] = (struct look){ .it = it };
		if (apart_is(g, it))
			others[n_others++] = &looks[n];
		else
			look_at(g, &looks[n]);
		n++;
	}
	if (n_others)
		apart_look(g, others, n_others);
	return n;
}

static void look_round(struct guard *g, bool poll, bool dear)
{
	struct look *looks = arena_array(&g->round, g->items.n, sizeof(*looks));
	size_t n = look_at_due(g, poll, dear, looks);
	bool news = false, unsettled;

	for (size_t i = 0; i < n; i++)
		news = news || is_news(looks[i].it, looks[i].sight);
	/* Asked after looking: who changed something before that has the lock, or has written. */
	unsettled = news && (is_busy(g) || is_stale(g));
	if (unsettled)
		g->journal_due = guard_now(g) + (g->busy_since ? BUSY_MS : 1);
	for (size_t i = 0; i < n; i++) {
		struct item *it = looks[i].it;

		if (unsettled && is_news(it, looks[i].sight)) {
			it->due = g->journal_due;
			continue;
		}
		guard_react(g, it, looks[i].sight, looks[i].now);
		it->via = NULL;
	}
	guard_unlock(g);
}

static void schedule(struct guard *g, bool poll)
{
	long long interval = g->policy.interval_ms;

	if (g->changed)
		g->quiet = 0;
	else if (poll)
		g->quiet++;
	/* Where nothing ever changes it is looked at less often. */
	for (int i = 0; i < g->quiet / QUIET_POLLS && interval < g->policy.max_interval_ms; i++)
		interval *= 2;
	if (interval > g->policy.max_interval_ms)
		interval = g->policy.max_interval_ms;
	if (poll || g->poll_due > guard_now(g) + interval)
		g->poll_due = guard_now(g) + interval;
}

static void reopen(struct guard *g)
{
	struct err e = { 0 };
	struct host *h = g->w->open(g->w->ctx, &e);

	g->rounds = 0;
	if (!h)
		return;
	host_close(g->h);
	g->h = h;
}

void guard_round(struct guard *g)
{
	long long now = guard_now(g);
	bool poll = g->poll_due <= now, dear = g->dear_due <= now, wrote = false;

	if ((poll || (g->journal_due && g->journal_due <= now)) &&
	    (g->journal_due || is_stale(g))) {
		if (is_busy(g))
			g->journal_due = now + BUSY_MS;
		else
			guard_load(g);
	}
	look_round(g, poll, dear);
	for (size_t i = 0; i < g->n_events; i++)
		wrote = wrote || g->events[i].kind == EVENT_REAPPLIED;
	if (poll && dear)
		g->dear_due = now + DEAR_MS;
	schedule(g, poll);
	/* Answers of libraries gather in a host that is kept; and of what was written by another
	 * one it may not know. */
	if (wrote || ++g->rounds >= ROUNDS_A_HOST)
		reopen(g);
}
