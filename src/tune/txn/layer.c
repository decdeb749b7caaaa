/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of the journal lie on the same knob, and what that means for taking one out. */
#include "tune/txn/layer.h"

#include <string.h>

#include "machine/knob/io.h"
#include "tune/plan/plan.h"

bool entry_is_active(const struct entry *e)
{
	return e->state != ENTRY_UNDONE;
}

bool entry_is_newer(const struct entry *x, const struct entry *y)
{
	return x->txn > y->txn || (x->txn == y->txn && x->seq > y->seq);
}

/* The active entry of the knob that is nearest to e on one side; e NULL: the newest of all. */
static struct entry *layer_nearest(struct journal *j, const struct knob *k, const struct entry *e,
				   bool above)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < j->n; i++)
		for (size_t n = 0; n < j->items[i].n; n++) {
			struct entry *x = &j->items[i].entries[n];

			if (x == e || !entry_is_active(x) || x->unread || x->lost ||
			    !knob_equal(&x->knob, k) || (e && entry_is_newer(x, e) != above))
				continue;
			if (!best || entry_is_newer(x, best) != above)
				best = x;
		}
	return best;
}

struct entry *layer_above(struct journal *j, const struct entry *e)
{
	return layer_nearest(j, &e->knob, e, true);
}

struct entry *layer_above_side_effect(struct journal *j, const struct knob *k,
				      const struct entry *e)
{
	return layer_nearest(j, k, e, true);
}

static bool has_side_effect(const struct entry *x, const struct knob *k, size_t *side)
{
	for (*side = 0; *side < x->n_sides; ++*side)
		if (knob_equal(&x->sides[*side].knob, k))
			return true;
	return false;
}

struct entry *layer_resets(struct journal *j, const struct entry *e, size_t *side)
{
	struct entry *best = NULL;
	size_t at;

	for (size_t i = 0; i < j->n; i++)
		for (size_t n = 0; n < j->items[i].n; n++) {
			struct entry *x = &j->items[i].entries[n];

			if (!entry_is_active(x) || !entry_is_newer(x, e) ||
			    !has_side_effect(x, &e->knob, &at) || (best && entry_is_newer(x, best)))
				continue;
			best = x;
			*side = at;
		}
	return best;
}

struct entry *layer_top(struct journal *j, const struct knob *k)
{
	return layer_nearest(j, k, NULL, false);
}

struct entry *layer_below(struct journal *j, const struct entry *e)
{
	return layer_nearest(j, &e->knob, e, false);
}

struct entry *layer_bottom(struct journal *j, const struct knob *k)
{
	return layer_nearest(j, k, NULL, true);
}

static bool has_set(struct journal *j, const struct knob *k, const char *value)
{
	for (const struct entry *x = layer_top(j, k); x; x = layer_below(j, x))
		if (knob_same(k, x->after, value))
			return true;
	return false;
}

const char *layer_original(struct arena *a, struct journal *j, const struct knob *k,
			   const char *before)
{
	const char *partner = k->kind == KNOB_SYSCTL ? sysctl_partner(k->name) : NULL;
	const struct knob other = { KNOB_SYSCTL, partner ? partner : "", "" };
	size_t n = strlen(other.name), own = strlen(k->name);
	const char *first;

	if (!n || !before || strncmp(before, other.name, n) != 0 || before[n] != '=' ||
	    !has_set(j, &other, before + n + 1))
		return before;
	first = layer_bottom(j, &other)->before;
	if (!first)
		return before;
	return strncmp(first, k->name, own) == 0 && first[own] == '='
		       ? first + own + 1
		       : arena_printf(a, "%s=%s", other.name, first);
}

bool layer_hands_down(const struct entry *e, const struct entry *above)
{
	return !above->before || !e->after || strcmp(above->before, e->after) == 0 ||
	       (e->read && strcmp(above->before, e->read) == 0);
}
