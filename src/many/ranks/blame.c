/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest sets of parts that hit every test that went wrong, by trying the parts of the first
 * one that is not yet explained. Tests have about ten parts, so four causes are 10,000 tries.
 */
#include "many/ranks/blame.h"

#include <stdint.h>
#include <string.h>

enum { WORDS = BLAME_WRONG_MAX / 64, SETS_MAX = 256 };

struct cover {
	uint64_t w[WORDS];
};

/* Parts under suspicion that explain the same tests. */
struct class
{
	struct cover cover;
	size_t *parts; /* places: the narrowest of each chain */
	size_t n, explains;
};

struct work {
	struct arena *a;
	const struct blame_set *set;
	size_t *good, *bad;   /* by part: tests that it was in */
	const size_t **wrong; /* parts of each test that went wrong and has suspects */
	size_t *n_wrong_parts, n_wrong;
	struct cover *covers; /* by part */
	struct class *classes;
	size_t n_classes;
	size_t *class_of; /* by part; n_classes: none */
	/* Wrong tests that share no suspect have nothing to do with each other: each such group is
	 * explained by itself. */
	size_t *group_of, group; /* by wrong test; the one at hand */
	size_t sets[SETS_MAX][BLAME_CAUSES_MAX], n_sets;
};

static bool suspect(const struct work *w, size_t part)
{
	return w->bad[part] > 0 && w->good[part] == 0;
}

static bool contains(const struct blame_set *s, size_t outer, size_t inner)
{
	/* A chain is as long as there are kinds; data from elsewhere could be a circle. */
	for (int i = 0; i < BLAME_KINDS && inner != outer; i++)
		inner = s->parts[inner].within;
	return inner == outer;
}

static bool same(const struct cover *x, const struct cover *y)
{
	return memcmp(x, y, sizeof(*x)) == 0;
}

static void blame_count(struct work *w)
{
	const struct blame_set *s = w->set;

	for (size_t t = 0; t < s->n_tests; t++)
		for (size_t i = 0; i < s->tests[t].n; i++) {
			w->good[s->tests[t].parts[i]] += s->tests[t].state == BLAME_GOOD;
			w->bad[s->tests[t].parts[i]] += s->tests[t].state == BLAME_BAD;
		}
	for (size_t t = 0; t < s->n_tests; t++) {
		bool any = false;

		if (s->tests[t].state != BLAME_BAD)
			continue;
		for (size_t i = 0; i < s->tests[t].n && w->n_wrong < BLAME_WRONG_MAX; i++) {
			size_t p = s->tests[t].parts[i];

			if (!suspect(w, p))
				continue;
			any = true;
			w->covers[p].w[w->n_wrong / 64] |= 1ull << w->n_wrong % 64;
		}
		if (any) {
			w->wrong[w->n_wrong] = s->tests[t].parts;
			w->n_wrong_parts[w->n_wrong++] = s->tests[t].n;
		}
	}
}

/* A part joins a class: of a chain the narrowest is its place. */
static void blame_join(struct work *w, struct class *c, size_t part)
{
	for (size_t i = 0; i < c->n; i++) {
		if (contains(w->set, part, c->parts[i]))
			return;
		if (contains(w->set, c->parts[i], part)) {
			c->parts[i] = part;
			return;
		}
	}
	ARENA_ADD(w->a, c->parts, c->n) = part;
}

static void blame_classify(struct work *w)
{
	for (size_t p = 0; p < w->set->n_parts; p++) {
		size_t k = 0;

		w->class_of[p] = (size_t)-1;
		if (!suspect(w, p))
			continue;
		while (k < w->n_classes && !same(&w->classes[k].cover, &w->covers[p]))
			k++;
		if (k == w->n_classes) {
			w->classes = arena_grow(w->a, w->classes, k, sizeof(*w->classes));
			w->classes[k] =
				(struct class){ .cover = w->covers[p], .explains = w->bad[p] };
			w->n_classes++;
		}
		w->class_of[p] = k;
		blame_join(w, &w->classes[k], p);
	}
}

static bool covers(const struct work *w, size_t k, size_t test)
{
	return w->classes[k].cover.w[test / 64] >> test % 64 & 1;
}

static size_t first_open(const struct work *w, const size_t *chosen, size_t n)
{
	for (size_t t = 0; t < w->n_wrong; t++) {
		size_t i = 0;

		while (i < n && !covers(w, chosen[i], t))
			i++;
		if (i == n && w->group_of[t] == w->group)
			return t;
	}
	return w->n_wrong;
}

/* Numbers the groups: what a class covers belongs together. */
static size_t make_groups(struct work *w)
{
	size_t n = 0;

	for (size_t t = 0; t < w->n_wrong; t++)
		w->group_of[t] = t;
	for (size_t k = 0; k < w->n_classes; k++) {
		size_t first = w->n_wrong;

		for (size_t t = 0; t < w->n_wrong; t++) {
			size_t from = w->group_of[t];

			if (!covers(w, k, t))
				continue;
			first = first == w->n_wrong ? from : first;
			for (size_t i = 0; from != first && i < w->n_wrong; i++)
				if (w->group_of[i] == from)
					w->group_of[i] = first;
		}
	}
	for (size_t t = 0; t < w->n_wrong; t++)
		n = w->group_of[t] >= n ? w->group_of[t] + 1 : n;
	return n;
}

static void blame_keep(struct work *w, const size_t *chosen, size_t n)
{
	for (size_t s = 0; s < w->n_sets; s++) {
		size_t found = 0;

		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n; k++)
				found += w->sets[s][k] == chosen[i];
		if (found == n)
			return;
	}
	if (w->n_sets < SETS_MAX)
		memcpy(w->sets[w->n_sets++], chosen, n * sizeof(*chosen));
}

/* All sets of exactly so many classes that explain everything. */
static void blame_search(struct work *w, size_t *chosen, size_t n, size_t most)
{
	size_t t = first_open(w, chosen, n), tried[BLAME_TEST_PARTS], n_tried = 0;

	if (t == w->n_wrong) {
		blame_keep(w, chosen, n);
		return;
	}
	if (n == most)
		return;
	for (size_t i = 0; i < w->n_wrong_parts[t]; i++) {
		size_t k = w->class_of[w->wrong[t][i]], j = 0;

		while (j < n_tried && tried[j] != k)
			j++;
		if (k == (size_t)-1 || j < n_tried)
			continue;
		tried[n_tried++] = k;
		chosen[n] = k;
		blame_search(w, chosen, n + 1, most);
	}
}

/* Too many causes for all explanations: the part that explains most, again and again. */
static size_t greedy(struct work *w, size_t *chosen, size_t most)
{
	size_t n = 0, t;

	while (n < most && (t = first_open(w, chosen, n)) < w->n_wrong) {
		size_t best = 0, most_new = 0;

		for (size_t k = 0; k < w->n_classes; k++) {
			size_t fresh = 0;

			for (size_t i = t; i < w->n_wrong; i++) {
				bool open = w->group_of[i] == w->group && covers(w, k, i);

				for (size_t j = 0; open && j < n; j++)
					open = !covers(w, chosen[j], i);
				fresh += open;
			}
			if (fresh > most_new) {
				most_new = fresh;
				best = k;
			}
		}
		chosen[n++] = best;
	}
	return n;
}

static bool in_set(const size_t *set, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++)
		if (set[i] == k)
			return true;
	return false;
}

static void add_part(struct arena *a, struct blame_verdict *v, size_t part)
{
	ARENA_ADD(a, v->parts, v->n) = part;
}

/* What stands in its place in other explanations of the same size. */
static void add_others(struct work *w, struct blame_verdict *v, size_t size)
{
	bool *told = arena_array(w->a, w->n_classes, sizeof(*told));

	for (size_t s = 1; s < w->n_sets; s++)
		for (size_t i = 0; i < size; i++) {
			size_t k = w->sets[s][i];

			if (told[k] || in_set(w->sets[0], size, k))
				continue;
			told[k] = true;
			for (size_t p = 0; p < w->classes[k].n; p++)
				add_part(w->a, v, w->classes[k].parts[p]);
		}
}

static void blame_emit(struct work *w, const size_t *chosen, size_t n, bool all, struct blame *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct class *c = &w->classes[chosen[i]];
		struct blame_verdict *v;
		bool always = all;

		v = &ARENA_ADD(w->a, out->items, out->n);
		*v = (struct blame_verdict){ 0 };

		for (size_t s = 0; s < w->n_sets; s++)
			always = always && in_set(w->sets[s], n, chosen[i]);
		for (size_t p = 0; p < c->n; p++)
			add_part(w->a, v, c->parts[p]);
		v->explains = c->explains;
		if (!always && all)
			add_others(w, v, n);
		v->certain = always && v->n == 1;
	}
}

static void work_init(struct work *w, struct arena *a, const struct blame_set *set)
{
	*w = (struct work){ .a = a, .set = set };
	w->good = arena_array(a, set->n_parts, sizeof(*w->good));
	w->bad = arena_array(a, set->n_parts, sizeof(*w->bad));
	w->covers = arena_array(a, set->n_parts, sizeof(*w->covers));
	w->class_of = arena_array(a, set->n_parts, sizeof(*w->class_of));
	w->wrong = arena_array(a, BLAME_WRONG_MAX, sizeof(*w->wrong));
	w->n_wrong_parts = arena_array(a, BLAME_WRONG_MAX, sizeof(*w->n_wrong_parts));
	w->group_of = arena_array(a, BLAME_WRONG_MAX, sizeof(*w->group_of));
}

/* The group at hand. */
static void explain(struct work *w, size_t *chosen, struct blame *out)
{
	w->n_sets = 0;
	for (size_t most = 1; most <= BLAME_CAUSES_MAX; most++) {
		blame_search(w, chosen, 0, most);
		if (!w->n_sets)
			continue;
		memcpy(chosen, w->sets[0], most * sizeof(*chosen));
		blame_emit(w, chosen, most, true, out);
		return;
	}
	blame_emit(w, chosen, greedy(w, chosen, w->n_classes), false, out);
}

struct blame blame_judge(struct arena *a, const struct blame_set *set)
{
	struct blame out = { 0 };
	struct work *w = ARENA_NEW(a, struct work);
	size_t *chosen, groups;

	work_init(w, a, set);
	blame_count(w);
	blame_classify(w);
	groups = make_groups(w);
	chosen = arena_array(a, w->n_classes + BLAME_CAUSES_MAX, sizeof(*chosen));
	for (w->group = 0; w->group < groups; w->group++)
		if (first_open(w, chosen, 0) < w->n_wrong)
			explain(w, chosen, &out);
	return out;
}
