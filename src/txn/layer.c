/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of the journal lie on the same knob, and what that means for taking one out. */
#include "txn/layer.h"

#include <string.h>

bool entry_is_active(const struct entry *e)
{
	return e->state != ENTRY_UNDONE;
}

static bool is_newer(const struct entry *x, const struct entry *y)
{
	return x->txn > y->txn || (x->txn == y->txn && x->seq > y->seq);
}

/* The active entry of the knob that is nearest to e on one side; e NULL: the newest of all. */
static struct entry *nearest(struct journal *j, const struct knob *k, const struct entry *e,
			     bool above)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < j->n; i++)
		for (size_t n = 0; n < j->items[i].n; n++) {
			struct entry *x = &j->items[i].entries[n];

			if (x == e || !entry_is_active(x) || x->unread ||
			    !knob_equal(&x->knob, k) || (e && is_newer(x, e) != above))
				continue;
			if (!best || is_newer(x, best) != above)
				best = x;
		}
	return best;
}

struct entry *layer_above(struct journal *j, const struct entry *e)
{
	return nearest(j, &e->knob, e, true);
}

struct entry *layer_above_side(struct journal *j, const struct knob *k, const struct entry *e)
{
	return nearest(j, k, e, true);
}

static bool has_side(const struct entry *x, const struct knob *k, size_t *side)
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

			if (!entry_is_active(x) || !is_newer(x, e) || !has_side(x, &e->knob, &at) ||
			    (best && is_newer(x, best)))
				continue;
			best = x;
			*side = at;
		}
	return best;
}

struct entry *layer_top(struct journal *j, const struct knob *k)
{
	return nearest(j, k, NULL, false);
}

bool layer_hands_down(const struct entry *e, const struct entry *above)
{
	return !above->before || !e->after || strcmp(above->before, e->after) == 0 ||
	       (e->read && strcmp(above->before, e->read) == 0);
}
