/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each of twelve changes cost, planted: one costs 3 %, eleven nothing. On more than half of
 * the machines all twelve came together, on the others in two or three parts. Measurements have 2 %
 * of noise, one in fifty is wild, and machines drift. A failure prints the seed to repeat it with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "many/history/cost.h"

enum { CAUSES = 12, FLEET = 200, PARTS = 3, SAMPLES = 8, TRIALS = 100 };
static const unsigned long long SEED = 20261127;

/* The median of some measurements around a level. */
static double measured(struct stat_random *r, double level, double drift)
{
	double x[SAMPLES], m;

	for (int i = 0; i < SAMPLES; i++) {
		x[i] = level + drift * i + 0.02 * stat_random_normal(r);
		if (stat_random_below(r, 50) == 0)
			x[i] -= 0.3;
	}
	assert_int_equal(stat_median(x, SAMPLES, &m), 0);
	return m;
}

static size_t play(struct stat_random *r, struct cost_step *steps, size_t guilty, double effect)
{
	size_t n = 0;

	for (size_t m = 0; m < FLEET; m++) {
		size_t parts = stat_random_below(r, 5) < 3 ? 1 : 2 + stat_random_below(r, 2);
		size_t part[CAUSES];
		double drift = 0.0005 * stat_random_normal(r), level = 0, before;

		for (size_t c = 0; c < CAUSES; c++)
			part[c] = stat_random_below(r, parts);
		before = measured(r, level, drift);
		for (size_t p = 0; p < parts; p++) {
			struct cost_step *s = &steps[n++];

			*s = (struct cost_step){ .machine = m, .weight = SAMPLES / 2.0 };
			for (size_t c = 0; c < CAUSES; c++)
				s->cause[c] = part[c] == p;
			level += part[guilty] == p ? effect : 0;
			s->better = measured(r, level, drift);
			s->better -= before;
			before += s->better;
		}
	}
	return n;
}

static void test_planted(void **state)
{
	struct cost_step *steps = calloc((size_t)FLEET * PARTS, sizeof(*steps));
	size_t named = 0, wrong = 0;

	(void)state;
	assert_non_null(steps);
	for (unsigned long long t = 0; t < TRIALS; t++) {
		struct stat_random r = { SEED + t };
		struct arena a = { 0 };
		struct cost out[CAUSES];
		size_t guilty = t % CAUSES, blamed = 0;
		size_t n = play(&r, steps, guilty, log(1 / 1.03));

		cost_separate(&a, steps, n, CAUSES, 0.01, 0.01, out);
		for (size_t c = 0; c < CAUSES; c++)
			if (c != guilty)
				blamed +=
					out[c].kind == RULING_HURTS || out[c].kind == RULING_HELPS;
		named += out[guilty].kind == RULING_HURTS &&
			 fabs(out[guilty].ratio * 1.03 - 1) < 0.02;
		if (blamed)
			print_message("seed %llu: %zu blamed\n", SEED + t, blamed);
		wrong += blamed > 0;
		arena_free(&a);
	}
	print_message("named in %zu, wrong names in %zu of %d\n", named, wrong, TRIALS);
	assert_true(named >= 95);
	assert_true(wrong <= 2);
	free(steps);
}

/* What always comes together is named together; what others together look like, not at all; what
 * few machines had, not either. */
static void test_not_separable(void **state)
{
	struct cost_step steps[40] = { { 0 } };
	struct arena a = { 0 };
	struct cost out[5];

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		steps[i] = (struct cost_step){ i / 2, -0.05 + 0.001 * (double)(i % 7), 1, { 0 } };
		steps[i].cause[0] = steps[i].cause[1] = i % 2 == 0;
		steps[i].cause[2] = i % 2 == 1;
		steps[i].cause[3] = 1; /* 0 and 2 together */
		steps[i].cause[4] = i < 4;
	}
	cost_separate(&a, steps, 40, 5, 0.01, 0.01, out);
	assert_int_equal(out[1].with, 0);
	for (size_t c = 0; c < 5; c++)
		assert_int_equal(out[c].kind, RULING_UNDECIDED);
	for (size_t i = 0; i < 40; i++)
		steps[i].cause[3] = 0;
	cost_separate(&a, steps, 40, 4, 0.01, 0.01, out);
	assert_int_equal(out[0].kind, RULING_HURTS);
	assert_int_equal(out[1].kind, RULING_HURTS);
	assert_int_equal(out[1].with, 0);
	assert_int_equal(out[3].machines, 0);
	assert_int_equal(out[3].kind, RULING_UNDECIDED);
	cost_separate(&a, steps, 4, 3, 0.01, 0.01, out);
	assert_int_equal(out[0].kind, RULING_UNDECIDED);
	cost_separate(&a, steps, 0, 3, 0.01, 0.01, out);
	assert_int_equal(out[0].machines, 0);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_planted),
					    cmocka_unit_test(test_not_separable) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
