/* SPDX-License-Identifier: Apache-2.0 */
/* What is watched: the knobs that the journal says are ours, each with what was seen of it last.
 * For watch/ alone. */
#ifndef WATCH_ITEM_H
#define WATCH_ITEM_H

#include "tune/txn/journal.h"
#include "tune/watch/policy.h"
#include "tune/watch/source.h"

enum item_state {
	ITEM_NEW, /* not looked at yet */
	ITEM_OURS,
	ITEM_CHANGED,  /* somebody changed it; it may be waiting for its turn to be set again */
	ITEM_LEFT,     /* it is an administrator's now */
	ITEM_GIVEN_UP, /* set again as often as is allowed */
	ITEM_GONE,     /* the device or file is not there */
	ITEM_UNSEEN,   /* it cannot be read */
	ITEM_STATES,
};

enum { VALUE_SHOWN_MAX = 400, HOUR_MS = 3600000 };

/* What only an item has that something happened to: most never need the room. */
struct item_past {
	struct who who;			   /* of the newest hint that named it */
	struct who blamed;		   /* who changed it last */
	long long tried[POLICY_LIMIT_MAX]; /* when it was set again, in the last hour */
	int n_tried;
};

struct watched_knob {
	/* From the journal; the texts live as long as the list. */
	struct knob knob;
	const char *id, *target, *before, *after, *read, *place;
	const char *path; /* of its file; NULL: it has none */
	unsigned long txn;
	unsigned seq;
	bool same_boot;
	bool lost; /* of an earlier boot, and nothing of ours sets it again: it is over */
	/* From looking. */
	enum item_state state;
	char *now;     /* heap; NULL: not known */
	long long due; /* when it is to be looked at, poll aside; 0: not */
	/* After a change it is left alone for a while, each time for longer: what flaps costs
	 * little and says little. */
	long long gap, quiet_until, changed_at;
	/* The newest hint that named it, until it is looked at. */
	const char *via;	/* NULL: none */
	struct item_past *past; /* heap; NULL: nothing */
};

struct items {
	struct arena arena;
	struct watched_knob *list; /* in the order in which they were written */
	size_t n;
	size_t transactions;
	size_t open; /* changes that were interrupted, or their undo was: not watched */
};

/*
 * Of each knob the newest change that is not undone, when it is done. What was seen of the same
 * change in old is kept. old is emptied. only: ids or prefixes; n_only 0: all. The journal went
 * through txn_carry_over.
 */
void items_load(struct host *h, struct items *out, const struct journal *j, struct items *old,
		const char *const *only, size_t n_only);
void items_free(struct items *list);
void item_set_now(struct watched_knob *it, const char *now);
/* Made, with nothing in it, where there is none. */
struct item_past *item_past(struct watched_knob *it);
/* Of the hint in via; a pid of 0 when none came or nobody is known. */
struct who item_who(const struct watched_knob *it);

/* --- looking ---------------------------------------------------------------------------------- */

enum observation {
	SIGHT_OURS,
	SIGHT_RESET, /* what was there before us */
	SIGHT_OTHER,
	SIGHT_GONE,
	SIGHT_UNSEEN, /* could not be read; now says why */
	SIGHT_BLIND,  /* has no getter, and nothing shows that it was changed */
};

/* Reads the knob; *now gets the value, in a. */
enum observation item_look(struct host *h, struct arena *a, const struct watched_knob *it,
			   const char **now);
/* Whether a value is what it was set to. */
enum observation item_compare(const struct watched_knob *it, const char *now);
/* Whether a hint names it. */
bool item_is_named(const struct watched_knob *it, const struct hint *h);
/* Reading it runs a program: not at every poll. */
bool item_is_dear(const struct watched_knob *it);
/* A value as it is shown: cut when it is long. */
const char *value_shown(struct arena *a, const char *value);

#endif
