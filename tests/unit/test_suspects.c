/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of nodes, leaves and pairs among simulated nodes, with false results planted: each is
 * named, nothing else is, by few tests. SUSPECTS_RUNS: as many runs, with a table beside what
 * others need.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "many/ranks/suspects.h"

enum { NODES = 1000, LEAF = 25, FAULTS = 5 };

static const double wrong = 0.01;

struct world {
	uint64_t seed;
	struct suspect fault[FAULTS];
	unsigned n, nodes;
	unsigned leaf[NODES];
	unsigned char in[NODES];
};

static uint64_t next(struct world *w)
{
	uint64_t z = (w->seed += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)(next(w) % n);
}

static bool test(void *ctx, const unsigned *group, unsigned n)
{
	struct world *w = ctx;
	bool bad = false;

	assert_true(n >= 2);
	memset(w->in, 0, sizeof(w->in));
	for (unsigned i = 0; i < n; i++)
		w->in[group[i]] = 1;
	for (unsigned i = 0; i < w->n; i++) {
		const struct suspect *f = &w->fault[i];

		if (f->kind == SUSPECT_LEAF)
			for (unsigned k = 0; k < w->nodes; k++)
				bad = bad || (w->in[k] && w->leaf[k] == f->a);
		else
			bad = bad || (w->in[f->a] && (f->kind == SUSPECT_NODE || w->in[f->b]));
	}
	return bad != ((double)below(w, 1u << 30) < wrong * (1u << 30));
}

/* That f is part of what others explain. */
static bool within(const struct world *w, const struct suspect *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct suspect *g = &w->fault[i];
		bool a =
			g->kind == SUSPECT_LEAF && f->kind != SUSPECT_LEAF && w->leaf[f->a] == g->a;
		bool b =
			g->kind == SUSPECT_LEAF && f->kind == SUSPECT_PAIR && w->leaf[f->b] == g->a;
		bool c = g->kind == SUSPECT_NODE && (f->a == g->a || (f->kind && f->b == g->a));

		if (a || b || (c && f->kind != SUSPECT_LEAF) ||
		    (g->kind == f->kind && g->a == f->a && g->b == f->b))
			return true;
	}
	return false;
}

/* kind: SUSPECT_PAIR + 1: of all kinds. */
static void plant(struct world *w, int kind)
{
	for (w->n = 0; w->n < FAULTS;) {
		struct suspect f = { .kind = (enum suspect_kind)(
					     kind > SUSPECT_PAIR ? below(w, 3) : (unsigned)kind) };

		f.a = below(w, f.kind == SUSPECT_LEAF ? w->nodes / LEAF : w->nodes);
		f.b = f.kind == SUSPECT_PAIR ? below(w, w->nodes) : 0;
		if (f.kind == SUSPECT_PAIR && f.a > f.b) {
			unsigned t = f.a;

			f.a = f.b;
			f.b = t;
		}
		if ((f.kind == SUSPECT_PAIR && f.a == f.b) || within(w, &f, w->n))
			continue;
		/* A leaf over an earlier fault would hide it. */
		for (unsigned i = 0; i < w->n && f.kind != SUSPECT_PAIR; i++) {
			struct world one = { .nodes = w->nodes, .n = 1 };

			memcpy(one.leaf, w->leaf, sizeof(one.leaf));
			one.fault[0] = f;
			if (within(&one, &w->fault[i], 1))
				f.a = UINT32_MAX;
			if (f.a == UINT32_MAX)
				break;
		}
		if (f.a != UINT32_MAX)
			w->fault[w->n++] = f;
	}
}

struct tally {
	unsigned runs, most, over, missed, named_wrong;
	double tests;
};

static void run(struct world *w, int kind, double bound, struct tally *t)
{
	struct suspects_ask ask = { .nodes = w->nodes,
				    .leaf = w->leaf,
				    .wrong = wrong,
				    .expected = 2,
				    .test = test,
				    .ctx = w };
	struct arena a = { 0 };
	struct suspects s;
	unsigned found = 0;

	plant(w, kind);
	s = suspects_find(&a, &ask);
	assert_true(s.whole);
	for (unsigned i = 0; i < s.n; i++) {
		struct suspect f = s.at[i];
		bool right = false;

		if (f.kind == SUSPECT_PAIR && f.a > f.b) {
			f.a = s.at[i].b;
			f.b = s.at[i].a;
		}
		for (unsigned k = 0; k < w->n; k++)
			right = right || memcmp(&w->fault[k], &f, sizeof(f)) == 0;
		found += right;
		t->named_wrong += !right;
	}
	t->runs++;
	t->missed += w->n - found;
	t->tests += s.tests;
	t->most = s.tests > t->most ? s.tests : t->most;
	t->over += s.tests > bound;
	arena_free(&a);
}

/* --- beside what is published: binary splitting (Hwang 1972) of nodes, each test thrice ----------
 */

static bool thrice(struct world *w, const unsigned *group, unsigned n, struct tally *t)
{
	unsigned bad = 0;

	for (int i = 0; i < 3 && n > 1; i++)
		bad += test(w, group, n);
	t->tests += 3;
	return bad > 1;
}

/* Halves what is bad until one node is left, which leaves; and so on. */
static void split(struct world *w, int kind, struct tally *t)
{
	unsigned left[NODES], n = w->nodes, named = 0;
	double before = t->tests;

	plant(w, kind);
	for (unsigned i = 0; i < n; i++)
		left[i] = i;
	for (unsigned found = 0; found < 2 * FAULTS && n > 2 && thrice(w, left, n, t); found++) {
		unsigned from = 0, to = n;
		struct suspect f = { .kind = SUSPECT_NODE };

		/* Together with all that is left: one alone is in no test. */
		while (to - from > 1) {
			unsigned mid = from + (to - from) / 2, kept[2 * NODES], k = 0;

			for (unsigned i = from; i < mid; i++)
				kept[k++] = left[i];
			kept[k] = left[from ? 0 : n - 1];
			if (thrice(w, kept, k + (k < 2), t))
				to = mid;
			else
				from = mid;
		}
		f.a = left[from];
		left[from] = left[--n];
		for (unsigned i = 0; i < w->n; i++)
			named += memcmp(&w->fault[i], &f, sizeof(f)) == 0;
		t->named_wrong += !within(w, &f, w->n);
	}
	t->runs++;
	t->missed += w->n - named;
	t->most = t->tests - before > t->most ? (unsigned)(t->tests - before) : t->most;
}

/* log2 of n over k. */
static double choose_bits(double n, int k)
{
	double sum = 0;

	for (int i = 0; i < k; i++)
		sum += log2((n - i) / (i + 1));
	return sum;
}

static void test_thousand(void **state)
{
	static const char *const names[] = { "nodes", "leaves", "pairs", "all kinds" };
	const char *asked = getenv("SUSPECTS_RUNS");
	unsigned runs = asked ? (unsigned)atoi(asked) : 5;
	double parts = NODES + NODES / LEAF + NODES * (NODES - 1) / 2.0;
	double bits = choose_bits(parts, FAULTS);

	(void)state;
	for (int kind = SUSPECT_NODE; kind <= SUSPECT_PAIR + 1; kind++) {
		struct world w = { .seed = 20261127 + (unsigned)kind, .nodes = NODES };
		struct tally t = { 0 }, halved = { 0 };

		for (unsigned i = 0; i < NODES; i++)
			w.leaf[i] = i / LEAF;
		for (unsigned i = 0; i < runs; i++)
			run(&w, kind, 1.5 * bits, &t);
		for (unsigned i = 0; i < runs && asked; i++)
			split(&w, kind, &halved);
		if (asked)
			fprintf(stderr,
				"%-10s by halving, each test thrice: %.1f tests on average, %u at "
				"most; %u "
				"wrong names, %u missed\n",
				names[kind], halved.tests / halved.runs, halved.most,
				halved.named_wrong, halved.missed);
		if (asked)
			fprintf(stderr,
				"%-10s %u runs: %.1f tests on average, %u at most (bound %.1f, by "
				"1.5 "
				"%.1f, %u runs over it; all pairs %d); %u wrong names, %u missed\n",
				names[kind], t.runs, t.tests / t.runs, t.most, bits, 1.5 * bits,
				t.over, NODES * (NODES - 1) / 2, t.named_wrong, t.missed);
		assert_int_equal(t.named_wrong, 0);
		assert_int_equal(t.missed, 0);
		/* Five pairs alone take more: each is two searches. */
		assert_true(t.tests / t.runs <= (kind == SUSPECT_PAIR ? 1.7 : 1.3) * bits);
		/* And none far more. */
		assert_true(t.most <= 2 * bits);
	}
}

static void test_small(void **state)
{
	struct world w = { .seed = 7 };
	struct arena a = { 0 };

	(void)state;
	for (w.nodes = 2; w.nodes < 40; w.nodes++) {
		struct suspects_ask ask = {
			.nodes = w.nodes, .wrong = wrong, .expected = 0.5, .test = test, .ctx = &w
		};
		struct suspects s;

		w.n = 0;
		s = suspects_find(&a, &ask);
		assert_true(s.whole && s.n == 0);
		w.n = 1;
		w.fault[0] = (struct suspect){ SUSPECT_NODE, w.nodes / 2, 0 };
		s = suspects_find(&a, &ask);
		assert_true(s.whole);
		if (w.nodes > 3) {
			assert_int_equal(s.n, 1);
			assert_int_equal(s.at[0].kind, SUSPECT_NODE);
			assert_int_equal(s.at[0].a, w.nodes / 2);
		}
		ask.most = 1;
		assert_false(suspects_find(&a, &ask).whole);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousand),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
