/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher's loop: sleep until a hint or the time for a poll, look at what is due, act,
 * report. Reading the journal takes no lock: a change that is being made is
 * waited for, and what is in the journal afterwards counts.
 */
#include <malloc.h>
#include <string.h>

#include "tune/watch/watch.h"
#include "tune/watch/guard.h"
#include "base/text.h"
#include "tune/txn/txn.h"
#include "machine/knob/io.h"

enum { HINTS = 64, ONCE_ROUNDS = 60 };

static long long guard_now(const struct watcher *g)
{
	return g->w->source->ops->now(g->w->source);
}

/* Adds an event of the item; from and to are copied. */
static struct event *watcher_report(struct watcher *g, enum event_kind kind,
				    struct watched_knob *it, const char *from, const char *to)
{
	struct event *e;
	int limit;

	e = &ARENA_ADD(&g->round, g->events, g->n_events);
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

static void watch_report_all(struct watcher *g)
{
	report_events(g->w->reporter, g->w->source->ops->time(g->w->source), g->events,
		      g->n_events);
	g->events = NULL;
	g->n_events = 0;
	g->changed = false;
	g->running = (struct who_running){ 0 };
	arena_free(&g->round);
}

/* --- the service manager ---------------------------------------------------------------------- */

static void sum_up(const struct watcher *g, struct watch_sum *out)
{
	*out = (struct watch_sum){ .watched = g->items.n,
				   .blind = g->blind,
				   .bad_lines = g->bad_lines };
	for (size_t i = 0; i < g->items.n; i++)
		out->state[g->items.list[i].state]++;
}

static void notify(struct watcher *g)
{
	long long now = guard_now(g);
	struct watch_sum s;
	char text[sizeof(g->status) + 32];
	int n;

	if (g->w->notify_fd < 0)
		return;
	sum_up(g, &s);
	n = snprintf(text, sizeof(text),
		     "STATUS=%zu settings watched, %zu changed, %zu left changed, %zu no longer "
		     "re-applied",
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

/* --- the loop --------------------------------------------------------------------------------- */

static long long next_due(const struct watcher *g)
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

static void stop(struct watcher *g)
{
	if (g->w->notify_fd >= 0)
		datagram_send(g->w->notify_fd, "STOPPING=1", 10);
	watcher_report(g, EVENT_STOPPED, NULL, NULL, NULL)->note = "nothing was undone";
	watch_report_all(g);
}

/* What is watched and by which policy, read anew whenever either changes; and what a hint means for
 * it. */

enum { SETTLE_MS = 200, DEVICE_MS = 2000 };

static void trouble(struct watcher *g, const struct err *e)
{
	watcher_report(g, EVENT_TROUBLE, NULL, NULL, NULL)->note = arena_strdup(&g->round, e->text);
}

/* --- what is watched -------------------------------------------------------------------------- */

static void listen(struct watcher *g)
{
	static const char *const folders[] = { TXN_DIR, "/etc/sysctl.d", "/etc/default/grub.d",
					       "/etc/kernel", "/etc/systemd/system" };
	size_t n = sizeof(folders) / sizeof(folders[0]);
	struct mark *marks = arena_array(&g->round, g->items.n + n, sizeof(*marks));
	bool gpus = false;

	for (size_t i = 0; i < n; i++)
		marks[i] = (struct mark){ folders[i], true };
	for (size_t i = 0; i < g->items.n; i++) {
		const struct watched_knob *it = &g->items.list[i];

		gpus = gpus || (it->knob.kind == KNOB_NVML && g->policy.gpu_events);
		if (it->path)
			marks[n++] = (struct mark){ it->path, false };
	}
	g->w->source->ops->listen(g->w->source, marks, n, gpus);
}

/* What is lost is not watched. */
static void report_bad_lines(struct watcher *g, const struct journal *j)
{
	struct err e = { 0 };

	if (j->bad_lines && j->bad_lines != g->bad_lines) {
		err_set(&e, 0, "%s: %zu line%s unreadable; their changes are not watched",
			TXN_JOURNAL, j->bad_lines, PLURAL(j->bad_lines));
		trouble(g, &e);
	}
	g->bad_lines = j->bad_lines;
}

/* The old list stays when the journal cannot be read. */
static void guard_load(struct watcher *g)
{
	struct source *s = g->w->source;
	unsigned long long stamp = s->ops->stamp(s);
	struct arena scratch = { 0 };
	struct items old = g->items;
	struct err e = { 0 };
	struct journal j;

	g->journal_due = 0;
	if (journal_load(g->h, &scratch, false, &j, &e)) {
		if (!g->blind)
			trouble(g, &e);
		g->blind = true;
	} else {
		report_bad_lines(g, &j);
		txn_carry_over(g->h, &scratch, &j);
		items_load(g->h, &g->items, &j, &old, g->w->only, g->w->n_only);
		g->blind = false;
	}
	g->stamp = stamp;
	g->loaded = true;
	arena_free(&scratch);
	/* A long journal is read in one piece, and is not needed any more. */
	malloc_trim(0);
	listen(g);
}

/* -EINVAL and *e; what was in force stays then. */
static int guard_policy(struct watcher *g, struct err *e)
{
	struct arena a = { 0 };
	struct policy p;
	int code = 0;

	policy_default(&p);
	if (g->w->policy_file && g->w->reaction < 0)
		code = policy_load(g->h, &a, g->w->policy_file, &p, e);
	if (code) {
		arena_free(&a);
		return code;
	}
	if (g->w->reaction >= 0)
		p.reaction = (enum reaction)g->w->reaction;
	if (g->w->interval_ms)
		p.interval_ms = g->w->interval_ms;
	if (p.max_interval_ms < p.interval_ms)
		p.max_interval_ms = p.interval_ms;
	arena_free(&g->policy_arena);
	g->policy_arena = a;
	g->policy = p;
	return 0;
}

static void reload_policy(struct watcher *g)
{
	struct err e = { 0 };

	if (guard_policy(g, &e)) {
		trouble(g, &e);
		return;
	}
	for (size_t i = 0; i < g->items.n; i++) {
		struct watched_knob *it = &g->items.list[i];

		/* Asked again: what was given up or left counts as new. */
		if (it->state == ITEM_GIVEN_UP || it->state == ITEM_LEFT)
			it->state = ITEM_NEW;
		if (it->state == ITEM_CHANGED)
			item_set_now(it, NULL);
		if (it->past)
			it->past->n_tried = 0;
		it->gap = it->quiet_until = 0;
	}
	/* Whether GPUs are to be heard is in it, too. */
	listen(g);
	watcher_report(g, EVENT_RELOADED, NULL, NULL, NULL)->note = "the policy was reloaded";
	g->quiet = 0;
	g->poll_due = guard_now(g);
}

/* --- hints ------------------------------------------------------------------------------------ */

static void watch_watch_take_item(struct watcher *g, struct watched_knob *it, const struct hint *h)
{
	long long due = guard_now(g) + (h->kind == HINT_DEVICE ? DEVICE_MS : SETTLE_MS);

	it->due = due > it->quiet_until ? due : it->quiet_until;
	it->via = h->via;
	if (h->who.pid || it->past)
		item_past(it)->who = h->who;
}

/* False: to stop. */
static bool watcher_take(struct watcher *g, const struct hint *h)
{
	if (h->kind == HINT_STOP)
		return false;
	if (h->kind == HINT_RELOAD) {
		reload_policy(g);
		return true;
	}
	if ((h->kind == HINT_PATH && str_starts(h->what, TXN_DIR "/")) || h->kind == HINT_ALL)
		g->journal_due = guard_now(g) + SETTLE_MS;
	for (size_t i = 0; i < g->items.n; i++)
		if (item_is_named(&g->items.list[i], h))
			watch_watch_take_item(g, &g->items.list[i], h);
	/* A device that came back has other files than those that were listened to. */
	if (h->kind == HINT_DEVICE || h->kind == HINT_ALL)
		listen(g);
	return true;
}

static bool sleep_and_take(struct watcher *g)
{
	struct source *s = g->w->source;
	struct hint hints[HINTS];
	size_t n = s->ops->wait(s, next_due(g), hints, HINTS);

	for (size_t i = 0; i < n; i++)
		if (!watcher_take(g, &hints[i]))
			return false;
	return true;
}

/* What follows from what was seen of a setting, and how often: the rules that keep the watcher from
 * fighting. */

/* After the first time, setting it again waits, each time twice as long. */
enum { RETRY_MS = 60000, RETRY_DOUBLINGS = 2, RECHECK_MS = 2000, AGAIN_MS = 1000 };
enum { GAP_MS = 1000, GAP_MAX_MS = 600000 };

/* What changes often is looked at, and spoken of, less and less often. */
static void slow_down(struct watcher *g, struct watched_knob *it)
{
	long long now = guard_now(g);
	bool often = it->gap && now - it->changed_at < HOUR_MS;

	it->gap = !often ? GAP_MS : it->gap * 2 > GAP_MAX_MS ? GAP_MAX_MS : it->gap * 2;
	it->changed_at = now;
	it->quiet_until = now + it->gap;
}

static struct event *watch_log(struct watcher *g, enum event_kind kind, struct watched_knob *it,
			       const char *to)
{
	slow_down(g, it);
	return watcher_report(g, kind, it, it->now ? it->now : it->after, to);
}

/* How many are left. */
static int forget_old_tries(struct item_past *p, long long now)
{
	int k = 0;

	for (int i = 0; p && i < p->n_tried; i++)
		if (now - p->tried[i] < HOUR_MS)
			p->tried[k++] = p->tried[i];
	if (p)
		p->n_tried = k;
	return k;
}

/* How long it has to wait before it may be set again; 0: not at all. */
static long long wait_of(const struct item_past *p, long long now)
{
	int doublings = p->n_tried - 1 < RETRY_DOUBLINGS ? p->n_tried - 1 : RETRY_DOUBLINGS;
	long long until;

	if (!p->n_tried)
		return 0;
	until = p->tried[p->n_tried - 1] + ((long long)RETRY_MS << doublings);
	return until > now ? until - now : 0;
}

static const char *watch_watch_blame_text(struct watcher *g, struct watched_knob *it)
{
	const struct who *blamed = &item_past(it)->blamed;
	const char *likely =
		blamed->pid ? NULL : who_likely(g->h, &g->round, &it->knob, &g->running);

	return likely ? arena_printf(&g->round, "possibly %s, which is running", likely)
		      : who_text(&g->round, blamed);
}

static void watch_watch_give_up(struct watcher *g, struct watched_knob *it, const char *now)
{
	struct event *e = watch_log(g, EVENT_GAVE_UP, it, now);
	int n = item_past(it)->n_tried;

	e->note = arena_printf(
		&g->round,
		"re-applied %d time%s within an hour, and reverted each time by: %s. The watcher "
		"stops re-applying it until it is applied again or the watcher is reloaded",
		n, PLURAL(n), watch_watch_blame_text(g, it));
	it->state = ITEM_GIVEN_UP;
	item_set_now(it, now);
}

/* Everything that was seen is known already: only the time to try again may have come. */
static void set_again(struct watcher *g, struct watched_knob *it, enum observation sight,
		      const char *now, int limit, bool known)
{
	struct item_past *past = item_past(it);
	long long at = guard_now(g), wait;
	const char *why = NULL;
	struct event *e;
	int code;

	if (forget_old_tries(past, at) >= limit) {
		watch_watch_give_up(g, it, now);
		return;
	}
	wait = wait_of(past, at);
	if (wait) {
		it->due = at + wait;
		it->state = ITEM_CHANGED;
		if (!known) {
			e = watch_log(g, EVENT_CHANGED, it, now);
			e->note = arena_printf(&g->round, "re-applying in %lld s",
					       (wait + 999) / 1000);
		}
		item_set_now(it, now);
		return;
	}
	code = guard_reapply(g, it, sight, now, &why);
	if (code == -EAGAIN) {
		it->due = at + AGAIN_MS;
		return;
	}
	past->tried[past->n_tried++] = at;
	e = watch_log(g, code ? EVENT_REFUSED : EVENT_REAPPLIED, it, now);
	/* Its turn has come: the change is the one that was told of before. */
	if (known) {
		e->from = it->after;
		e->who = past->blamed;
	}
	e->note = code ? why
		       : arena_printf(&g->round, "%s was re-applied (%d of %d within an hour)",
				      value_shown(&g->round, it->after), past->n_tried, limit);
	it->state = code ? ITEM_CHANGED : ITEM_OURS;
	it->due = at + (code ? wait_of(past, at) : RECHECK_MS);
	item_set_now(it, code ? now : it->after);
}

/* Files for the next boot are written by who installs them, never from here. */
static bool can_be_set_again(const struct watched_knob *it)
{
	return it->knob.kind != KNOB_FILE && it->knob.kind != KNOB_BOOTARG;
}

static void watch_watch_changed(struct watcher *g, struct watched_knob *it, enum observation sight,
				const char *now)
{
	bool lost = !it->same_boot && knob_is_runtime(it->knob.kind) && it->state == ITEM_NEW,
	     known = it->state == ITEM_CHANGED && it->now && strcmp(it->now, now) == 0;
	enum reaction reaction;
	struct who *blamed;
	int limit;

	policy_of(&g->policy, it->id, &reaction, &limit);
	/* Set again it would be a change of this boot that no journal holds: nobody could undo it.
	 */
	if (it->lost && it->state != ITEM_LEFT) {
		watch_log(g, EVENT_LOST, it, now)->note = "lost at the reboot and not re-applied: "
							  "apply sets it, persist install keeps it";
		it->state = ITEM_LEFT;
	}
	if (it->state == ITEM_LEFT || it->state == ITEM_GIVEN_UP) {
		item_set_now(it, now);
		return;
	}
	blamed = &item_past(it)->blamed;
	if (!known)
		*blamed = item_who(it);
	if (reaction == REACT_BACK_OFF && can_be_set_again(it) &&
	    ((sight != SIGHT_RESET && !lost) || blamed->login_uid > 0 ||
	     (blamed->pid && blamed->login_uid == 0))) {
		watch_log(g, EVENT_LEFT, it, now)->note = "its new value is kept";
		it->state = ITEM_LEFT;
		item_set_now(it, now);
		return;
	}
	if (reaction != REACT_REPORT && can_be_set_again(it)) {
		set_again(g, it, sight, now, limit, known);
	} else if (!known) {
		watch_log(g, lost ? EVENT_LOST : EVENT_CHANGED, it, now);
		it->state = ITEM_CHANGED;
		item_set_now(it, now);
	}
}

static void watch_watch_is_ours(struct watcher *g, struct watched_knob *it, const char *now)
{
	int tries = forget_old_tries(it->past, guard_now(g));

	if (it->state == ITEM_GIVEN_UP && tries)
		return;
	if (it->state == ITEM_CHANGED || it->state == ITEM_LEFT || it->state == ITEM_GIVEN_UP)
		watch_log(g, EVENT_RETURNED, it, now);
	else if (it->state == ITEM_GONE || it->state == ITEM_UNSEEN)
		watch_log(g, EVENT_BACK, it, now);
	it->state = ITEM_OURS;
	item_set_now(it, now);
}

/* The name is another device's now: what that holds is none of our business. */
static bool is_elsewhere(struct watcher *g, const struct watched_knob *it)
{
	return *it->place && strcmp(it->place, knob_place(g->h, &g->round, &it->knob)) != 0;
}

static void watch_watch_is_away(struct watcher *g, struct watched_knob *it, enum observation sight,
				const char *why)
{
	enum item_state to = sight == SIGHT_UNSEEN ? ITEM_UNSEEN : ITEM_GONE;

	if (it->state != to)
		watch_log(g, to == ITEM_GONE ? EVENT_GONE : EVENT_UNSEEN, it, NULL)->note = why;
	it->state = to;
	item_set_now(it, NULL);
}

/* Draws the consequences of what was seen of it. */
static void guard_react(struct watcher *g, struct watched_knob *it, enum observation sight,
			const char *now)
{
	if ((sight == SIGHT_RESET || sight == SIGHT_OTHER) && is_elsewhere(g, it)) {
		sight = SIGHT_GONE;
		now = "its name now belongs to another device";
	}
	switch (sight) {
	case SIGHT_OURS:
		watch_watch_is_ours(g, it, now);
		break;
	case SIGHT_BLIND:
		/* Nothing speaks against it; that is no proof that a change was taken back. */
		if (it->state == ITEM_NEW || it->state == ITEM_GONE || it->state == ITEM_UNSEEN)
			it->state = ITEM_OURS;
		break;
	case SIGHT_GONE:
	case SIGHT_UNSEEN:
		watch_watch_is_away(g, it, sight, now);
		break;
	default:
		watch_watch_changed(g, it, sight, now);
		break;
	}
}

/* One waking up: look at what is due, and draw the consequences once nobody is changing the
 * machine.
 */

enum { ROUNDS_A_HOST = 64, BUSY_MS = 1000, BUSY_MAX_MS = 600000 };
enum { DEAR_MS = 600000, QUIET_POLLS = 4 };
/* Opening the driver costs 16 to 24 ms of CPU on a machine with four GPUs: at most 1 part in 2,000
 * of a core goes into it, however short the interval. */
enum { APART_SHARE = 2000 };

/* Somebody is applying or undoing: what is seen meanwhile says nothing. A lock that is held for
 * very long is no change any more. */
static bool is_busy(struct watcher *g)
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

static bool is_stale(struct watcher *g)
{
	return g->w->source->ops->stamp(g->w->source) != g->stamp;
}

static bool is_news(const struct watched_knob *it, enum observation sight)
{
	return sight != SIGHT_BLIND && !(sight == SIGHT_OURS && it->state == ITEM_OURS);
}

/* Nobody tells of a GPU's limit or lock that went (its events are of states and errors): it is
 * looked at by a time of its own, however quiet it is. */
static bool is_timed(const struct watched_knob *it)
{
	return it->knob.kind == KNOB_NVML;
}

static void look_again(struct watcher *g, struct watched_knob *it)
{
	long long least = g->apart_us * APART_SHARE / 1000, interval = g->policy.interval_ms;

	if (is_timed(it))
		it->due = guard_now(g) + (interval > least ? interval : least);
}

/* Nothing new is most of what is ever seen: it leaves nothing in memory. */
static void watch_watch_look_at(struct watcher *g, struct nvml_look *l)
{
	struct arena_mark before = arena_mark(&g->round);

	l->sight = item_look(g->h, &g->round, l->it, &l->now);
	if (l->sight != SIGHT_OURS || is_news(l->it, l->sight) || !l->it->now ||
	    strcmp(l->now, l->it->now) != 0)
		return;
	l->now = l->it->now;
	arena_back(&g->round, before);
}

static size_t look_at_due(struct watcher *g, bool poll, bool dear, struct nvml_look *looks)
{
	struct nvml_look **others = arena_array(&g->round, g->items.n, sizeof(struct nvml_look *));
	long long now = guard_now(g);
	size_t n = 0, n_others = 0;

	for (size_t i = 0; i < g->items.n; i++) {
		struct watched_knob *it = &g->items.list[i];
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
		looks[n] = (struct nvml_look){ .it = it };
		if (nvml_worker_handles(g, it))
			others[n_others++] = &looks[n];
		else
			watch_watch_look_at(g, &looks[n]);
		n++;
	}
	if (n_others)
		nvml_worker_look(g, others, n_others);
	return n;
}

static void look_round(struct watcher *g, bool poll, bool dear)
{
	struct nvml_look *looks = arena_array(&g->round, g->items.n, sizeof(*looks));
	size_t n = look_at_due(g, poll, dear, looks);
	bool news = false, unsettled;

	for (size_t i = 0; i < n; i++)
		news = news || is_news(looks[i].it, looks[i].sight);
	/* Asked after looking: who changed something before that has the lock, or has written. */
	unsettled = news && (is_busy(g) || is_stale(g));
	if (unsettled)
		g->journal_due = guard_now(g) + (g->busy_since ? BUSY_MS : 1);
	for (size_t i = 0; i < n; i++) {
		struct watched_knob *it = looks[i].it;

		if (unsettled && is_news(it, looks[i].sight)) {
			it->due = g->journal_due;
			continue;
		}
		guard_react(g, it, looks[i].sight, looks[i].now);
		it->via = NULL;
	}
	guard_unlock(g);
}

static void schedule(struct watcher *g, bool poll)
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

static void reopen(struct watcher *g)
{
	struct err e = { 0 };
	struct host *h = g->w->open(g->w->ctx, &e);

	g->rounds = 0;
	if (!h)
		return;
	host_close(g->h);
	g->h = h;
}

/* Looks at what is due. */
static void guard_round(struct watcher *g)
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

static void watch_watch_start(struct watcher *g)
{
	struct watch_sum s;
	struct event *e;

	guard_load(g);
	/* Before the first look, so that the list below it reads as its consequence. */
	sum_up(g, &s);
	e = watcher_report(g, EVENT_STARTED, NULL, NULL, NULL);
	e->note = arena_printf(&g->round, "watching %zu setting%s of %zu transaction%s", s.watched,
			       PLURAL(s.watched), g->items.transactions,
			       PLURAL(g->items.transactions));
	g->poll_due = g->dear_due = guard_now(g);
	guard_round(g);
	watch_report_all(g);
	/* What starting took, libraries above all, is not needed again. */
	malloc_trim(0);
	notify(g);
}

int watch_run(const struct watch *w, struct watch_sum *out, struct err *e)
{
	struct watcher g = { .w = w };
	int code;

	g.h = w->open(w->ctx, e);
	if (!g.h)
		return -EIO;
	code = guard_policy(&g, e);
	if (code == 0) {
		watch_watch_start(&g);
		/* One look waits for a change that is being made. */
		for (int i = 0;
		     (w->once ? g.journal_due && i < ONCE_ROUNDS : true) && sleep_and_take(&g);
		     i = w->once ? i + 1 : 0) {
			guard_round(&g);
			watch_report_all(&g);
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
