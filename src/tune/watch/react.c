/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what was seen of a setting, and how often: the rules that keep the watcher from
 * fighting. */
#include <string.h>

#include "machine/knob/io.h"
#include "tune/watch/guard.h"

/* After the first time, setting it again waits, each time twice as long. */
enum { RETRY_MS = 60000, RETRY_DOUBLINGS = 2, RECHECK_MS = 2000, AGAIN_MS = 1000 };
enum { GAP_MS = 1000, GAP_MAX_MS = 600000 };

/* What changes often is looked at, and spoken of, less and less often. */
static void slow_down(struct guard *g, struct item *it)
{
	long long now = guard_now(g);
	bool often = it->gap && now - it->changed_at < HOUR_MS;

	it->gap = !often ? GAP_MS : it->gap * 2 > GAP_MAX_MS ? GAP_MAX_MS : it->gap * 2;
	it->changed_at = now;
	it->quiet_until = now + it->gap;
}

static struct event *say(struct guard *g, enum event_kind kind, struct item *it, const char *to)
{
	slow_down(g, it);
	return guard_say(g, kind, it, it->now ? it->now : it->after, to);
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

static const char *blame_text(struct guard *g, struct item *it)
{
	const struct who *blamed = &item_past(it)->blamed;
	const char *likely =
		blamed->pid ? NULL : who_likely(g->h, &g->round, &it->knob, &g->running);

	return likely ? arena_printf(&g->round, "perhaps %s, which is running", likely)
		      : who_text(&g->round, blamed);
}

static void give_up(struct guard *g, struct item *it, const char *now)
{
	struct event *e = say(g, EVENT_GAVE_UP, it, now);
	int n = item_past(it)->n_tried;

	e->note = arena_printf(&g->round,
			       "it was set again %d time%s within an hour, and something sets it "
			       "back each time: %s; it is left alone until it is applied again or "
			       "the watcher is reloaded",
			       n, n == 1 ? "" : "s", blame_text(g, it));
	it->state = ITEM_GIVEN_UP;
	item_set_now(it, now);
}

/* Everything that was seen is known already: only the time to try again may have come. */
static void set_again(struct guard *g, struct item *it, enum sight sight, const char *now,
		      int limit, bool known)
{
	struct item_past *past = item_past(it);
	long long at = guard_now(g), wait;
	const char *why = NULL;
	struct event *e;
	int code;

	if (forget_old_tries(past, at) >= limit) {
		give_up(g, it, now);
		return;
	}
	wait = wait_of(past, at);
	if (wait) {
		it->due = at + wait;
		it->state = ITEM_CHANGED;
		if (!known) {
			e = say(g, EVENT_CHANGED, it, now);
			e->note = arena_printf(&g->round, "it is set again in %lld s",
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
	e = say(g, code ? EVENT_REFUSED : EVENT_REAPPLIED, it, now);
	/* Its turn has come: the change is the one that was told of before. */
	if (known) {
		e->from = it->after;
		e->who = past->blamed;
	}
	e->note = code ? why
		       : arena_printf(&g->round, "%s was set again (%d of %d within an hour)",
				      value_shown(&g->round, it->after), past->n_tried, limit);
	it->state = code ? ITEM_CHANGED : ITEM_OURS;
	it->due = at + (code ? wait_of(past, at) : RECHECK_MS);
	item_set_now(it, code ? now : it->after);
}

/* Files for the next boot are written by who installs them, never from here. */
static bool can_be_set_again(const struct item *it)
{
	return it->knob.kind != KNOB_FILE && it->knob.kind != KNOB_BOOTARG;
}

static void changed(struct guard *g, struct item *it, enum sight sight, const char *now)
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
		say(g, EVENT_LOST, it, now)->note =
			"it is over with that boot, and is not set again: apply sets it, persist "
			"install keeps it";
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
		say(g, EVENT_LEFT, it, now)->note = "it is left to whoever changed it";
		it->state = ITEM_LEFT;
		item_set_now(it, now);
		return;
	}
	if (reaction != REACT_REPORT && can_be_set_again(it)) {
		set_again(g, it, sight, now, limit, known);
	} else if (!known) {
		say(g, lost ? EVENT_LOST : EVENT_CHANGED, it, now);
		it->state = ITEM_CHANGED;
		item_set_now(it, now);
	}
}

static void is_ours(struct guard *g, struct item *it, const char *now)
{
	int tries = forget_old_tries(it->past, guard_now(g));

	if (it->state == ITEM_GIVEN_UP && tries)
		return;
	if (it->state == ITEM_CHANGED || it->state == ITEM_LEFT || it->state == ITEM_GIVEN_UP)
		say(g, EVENT_RETURNED, it, now);
	else if (it->state == ITEM_GONE || it->state == ITEM_UNSEEN)
		say(g, EVENT_BACK, it, now);
	it->state = ITEM_OURS;
	item_set_now(it, now);
}

/* The name is another device's now: what that holds is none of our business. */
static bool is_elsewhere(struct guard *g, const struct item *it)
{
	return *it->place && strcmp(it->place, knob_place(g->h, &g->round, &it->knob)) != 0;
}

static void is_away(struct guard *g, struct item *it, enum sight sight, const char *why)
{
	enum item_state to = sight == SIGHT_UNSEEN ? ITEM_UNSEEN : ITEM_GONE;

	if (it->state != to)
		say(g, to == ITEM_GONE ? EVENT_GONE : EVENT_UNSEEN, it, NULL)->note = why;
	it->state = to;
	item_set_now(it, NULL);
}

void guard_react(struct guard *g, struct item *it, enum sight sight, const char *now)
{
	if ((sight == SIGHT_RESET || sight == SIGHT_OTHER) && is_elsewhere(g, it)) {
		sight = SIGHT_GONE;
		now = "another device has its name";
	}
	switch (sight) {
	case SIGHT_OURS:
		is_ours(g, it, now);
		break;
	case SIGHT_BLIND:
		/* Nothing speaks against it; that is no proof that a change was taken back. */
		if (it->state == ITEM_NEW || it->state == ITEM_GONE || it->state == ITEM_UNSEEN)
			it->state = ITEM_OURS;
		break;
	case SIGHT_GONE:
	case SIGHT_UNSEEN:
		is_away(g, it, sight, now);
		break;
	default:
		changed(g, it, sight, now);
		break;
	}
}
