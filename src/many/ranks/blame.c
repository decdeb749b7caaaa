/* SPDX-License-Identifier: Apache-2.0 */
/* A greedy search: for each failed test that no named part explains, the part of it that explains
 * most failed tests is named. Then the alternatives of each named part are listed. */
#include "many/ranks/blame.h"

struct work {
	struct arena *a;
	const struct blame_set *set;
	bool *good;	  /* by part: it was in a test that went well */
	size_t *open;	  /* by part: tests that went wrong with it and are not explained */
	size_t *by;	  /* by test: how many of those that are named explain it */
	size_t *named, n; /* parts */
};

static bool contains(const struct blame_set *s, size_t outer, size_t inner)
{
	/* Data from elsewhere could be a circle. */
	for (int i = 0; i < BLAME_DEPTH && inner != outer; i++)
		inner = s->within[inner];
	return inner == outer;
}

static bool has(const struct blame_test *t, size_t part)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->parts[i] == part)
			return true;
	return false;
}

/* Of those that explain as much the first; of a chain of them the narrowest. NULL: none is under
 * suspicion. */
static const size_t *best_of(const struct work *w, const struct blame_test *t)
{
	const size_t *best = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const size_t *p = &t->parts[i];

		if (!w->good[*p] &&
		    (!best || w->open[*p] > w->open[*best] ||
		     (w->open[*p] == w->open[*best] && contains(w->set, *best, *p))))
			best = p;
	}
	return best;
}

static void blame_name(struct work *w, size_t part)
{
	ARENA_ADD(w->a, w->named, w->n) = part;
	for (size_t t = 0; t < w->set->n_tests; t++) {
		const struct blame_test *x = &w->set->tests[t];

		if (!x->bad || !has(x, part))
			continue;
		for (size_t i = 0; i < x->n && !w->by[t]; i++)
			w->open[x->parts[i]]--;
		w->by[t]++;
	}
}

/* Whether the part is in every test that only this one explains. */
static bool replaces(const struct work *w, size_t part, size_t named)
{
	for (size_t t = 0; t < w->set->n_tests; t++)
		if (w->by[t] == 1 && has(&w->set->tests[t], named) && !has(&w->set->tests[t], part))
			return false;
	return true;
}

static void add_part(struct work *w, struct blame_verdict *v, size_t part)
{
	for (size_t i = 0; i < v->n; i++) {
		if (contains(w->set, part, v->parts[i]))
			return;
		if (contains(w->set, v->parts[i], part)) {
			v->parts[i] = i ? part : v->parts[i];
			return;
		}
	}
	ARENA_ADD(w->a, v->parts, v->n) = part;
}

/* What could stand in its place is in any test that it alone explains. None: the others explain
 * all of them, and it is none. */
static void add_verdict(struct work *w, size_t named, struct blame *out)
{
	const struct blame_test *x = w->set->tests;
	struct blame_verdict v = { 0 };
	size_t t = 0, n = w->set->n_tests;

	while (t < n && (w->by[t] != 1 || !has(&x[t], named)))
		t++;
	for (size_t i = 0; t == n && i < n; i++)
		w->by[i] -= x[i].bad && has(&x[i], named);
	if (t == n)
		return;
	add_part(w, &v, named);
	for (size_t i = 0; i < x[t].n; i++)
		if (!w->good[x[t].parts[i]] && replaces(w, x[t].parts[i], named))
			add_part(w, &v, x[t].parts[i]);
	v.certain = v.n == 1;
	ARENA_ADD(w->a, out->items, out->n) = v;
}

struct blame blame_judge(struct arena *a, const struct blame_set *set)
{
	struct work w = { .a = a, .set = set };
	struct blame out = { 0 };

	w.good = arena_array(a, set->n_parts, sizeof(*w.good));
	w.open = arena_array(a, set->n_parts, sizeof(*w.open));
	w.by = arena_array(a, set->n_tests, sizeof(*w.by));
	for (size_t t = 0; t < set->n_tests; t++)
		for (size_t i = 0; i < set->tests[t].n; i++) {
			if (set->tests[t].bad)
				w.open[set->tests[t].parts[i]]++;
			else
				w.good[set->tests[t].parts[i]] = true;
		}
	for (size_t t = 0; t < set->n_tests; t++) {
		bool open = set->tests[t].bad && !w.by[t];
		const size_t *best = open ? best_of(&w, &set->tests[t]) : NULL;

		if (best)
			blame_name(&w, *best);
	}
	for (size_t i = 0; i < w.n; i++)
		add_verdict(&w, w.named[i], &out);
	return out;
}
