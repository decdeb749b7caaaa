/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule that decides: against figures known by other means, at its edges, and in how often it is
 * wrong on simulated machines (tests/sim/scene.h). A failure prints the seed to repeat it with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/rules.h"
#include "measure/prove/rule.h"

enum { TRIALS = 1000 };
static const unsigned long long SEED = 20261121;

static void near_to(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.15g, not %.15g", got, want);
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* By hand: the negative ranks are 1 and 5, and 14 of 256 signs give a sum of up to 6. A sum of up
 * to 3 comes up 5 times, of up to 4 seven times, more than 2.5 %: four means of two are cut off. */
static void test_rank_known(void **state)
{
	const double d[] = { 1.1, -0.4, 2.3, 0.7, 3.2, -1.5, 0.9, 2.8 };
	struct rank_interval i;

	(void)state;
	rank_interval(d, 8, 0.05, &i);
	near_to(i.estimate, 1.05, 1e-12);
	near_to(i.low, -0.4, 1e-12);
	near_to(i.high, 2.75, 1e-12);
}

/* By counting all 2^n signs. */
static double p_by_counting(const double *d, size_t n)
{
	size_t as_far = 0, ranks[16] = { 0 };
	long seen = 0, most = (long)(n * (n + 1) / 2);

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++)
			ranks[i] += fabs(d[j]) <= fabs(d[i]);
		seen += d[i] > 0 ? (long)ranks[i] : 0;
	}
	for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
		long sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += signs >> i & 1 ? (long)ranks[i] : 0;
		as_far += labs(2 * sum - most) >= labs(2 * seen - most);
	}
	return (double)as_far / (double)((size_t)1 << n);
}

static void test_rank_counted(void **state)
{
	struct stat_random r = { SEED };

	(void)state;
	for (size_t n = 1; n <= 12; n++)
		for (int k = 0; k < 20; k++) {
			struct rank_interval i;
			double d[12];

			for (size_t j = 0; j < n; j++)
				d[j] = stat_random_normal(&r) + 0.5;
			rank_interval(d, n, 0.05, &i);
			/* The interval leaves 0 out just where all signs, counted, say so. */
			assert_int_equal(i.low > 0 || i.high < 0, p_by_counting(d, n) <= 0.05);
			assert_true(i.low <= i.estimate && i.estimate <= i.high);
		}
}

static void test_rank_edges(void **state)
{
	double d[RULE_PAIRS_MAX] = { 0 };
	struct rank_interval i;

	(void)state;
	d[0] = 0.5;
	rank_interval(d, 1, 0.05, &i);
	near_to(i.estimate, 0.5, 0);
	assert_true(isinf(i.low) && isinf(i.high));
	/* All equal, all nothing: no effect, and surely none. */
	memset(d, 0, sizeof(d));
	rank_interval(d, RULE_PAIRS_MAX, 0.01, &i);
	near_to(i.low, 0, 0);
	near_to(i.high, 0, 0);
}

/* Half of what is rounded to nothing decides for neither side. */
static void test_rank_zeros(void **state)
{
	const double d[] = { 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.1 };
	struct rank_interval i;

	(void)state;
	rank_interval(d, 8, 0.05, &i);
	assert_true(i.low <= 0);
}

/* --- looks ------------------------------------------------------------------------------------ */
static void test_looks(void **state)
{
	struct ruling out;
	struct rule r;
	double d[64], sum = 0;

	(void)state;
	rule_default(&r, 0);
	near_to(r.min_effect, 0.01, 0);
	for (size_t i = 0; i < r.n_looks; i++)
		sum += r.level[i];
	/* The sum is what makes it hold on any machine. */
	assert_true(sum <= r.alpha && r.n_looks <= RULE_LOOKS);
	assert_int_equal(rule_next(&r, 0), 8);
	assert_int_equal(rule_next(&r, 8), 12);
	assert_int_equal(rule_next(&r, 48), 0);
	for (size_t i = 0; i < 64; i++)
		d[i] = 0.05 + 0.001 * (double)(i % 5);
	for (size_t n = 0; n < 8; n++) {
		rule_look(&r, d, n, false, &out);
		assert_int_equal(out.kind, RULING_GO_ON);
	}
	rule_look(&r, d, 8, false, &out);
	assert_int_equal(out.kind, RULING_HELPS);
	near_to(out.ratio, exp(0.052), 0.002);
	rule_look(&r, d, 9, false, &out);
	assert_int_equal(out.kind, RULING_GO_ON);
	rule_look(&r, d, 9, true, &out);
	assert_int_equal(out.kind, RULING_HELPS);
	rule_look(&r, d, 7, true, &out);
	assert_int_equal(out.kind, RULING_UNDECIDED);
	assert_int_equal(out.needed, 8);
	rule_look(&r, d, 0, true, &out);
	assert_int_equal(out.kind, RULING_UNDECIDED);
}

static enum ruling_kind ruled(double effect, double spread, double min_effect)
{
	struct ruling out;
	struct rule r;
	double d[48];

	rule_default(&r, min_effect);
	for (size_t i = 0; i < 48; i++)
		d[i] = effect + spread * ((double)(i * 29 % 48) / 47 - 0.5);
	rule_look(&r, d, 48, true, &out);
	if (out.kind == RULING_UNDECIDED)
		assert_true(out.needed == 0 || out.needed > 48);
	assert_true(out.low <= out.ratio && out.ratio <= out.high && *out.why);
	return out.kind;
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(ruled(0.02, 0.01, 0.01), RULING_HELPS);
	assert_int_equal(ruled(-0.02, 0.01, 0.01), RULING_HURTS);
	assert_int_equal(ruled(0, 0.01, 0.01), RULING_NO_DIFFERENCE);
	/* Surely better, but not by what matters. */
	assert_int_equal(ruled(0.005, 0.002, 0.01), RULING_NO_DIFFERENCE);
	assert_int_equal(ruled(-0.005, 0.002, 0.01), RULING_NO_DIFFERENCE);
	assert_int_equal(ruled(0.005, 0.002, 0.004), RULING_HELPS);
	assert_int_equal(ruled(0, 0.5, 0.01), RULING_UNDECIDED);
	assert_string_equal(ruling_name(RULING_NO_DIFFERENCE), "no-difference");
}

/* --- A/A and guards --------------------------------------------------------------------------- */
static void test_same(void **state)
{
	struct same out;
	double d[16];

	(void)state;
	for (size_t i = 0; i < 16; i++)
		d[i] = 0.004 * ((double)(i * 7 % 16) / 15 - 0.5);
	rule_same(d, 16, 0.01, &out);
	assert_int_equal(out.kind, SAME_OK);
	assert_true(out.resolution > 0 && out.resolution < 0.004);
	near_to(out.min_effect, 0.01, 0);
	rule_same(d, 7, 0.01, &out);
	assert_int_equal(out.kind, SAME_SHORT);
	for (size_t i = 0; i < 16; i++)
		d[i] += 0.02;
	rule_same(d, 16, 0.01, &out);
	assert_int_equal(out.kind, SAME_BIASED);
	assert_true(out.min_effect > 0.01);
	for (size_t i = 0; i < 16; i++)
		d[i] = (double)(i * 7 % 16) / 15 - 0.5;
	rule_same(d, 16, 0.01, &out);
	assert_int_equal(out.kind, SAME_COARSE);
}

static void test_same_rate(void **state)
{
	size_t stopped = 0;

	(void)state;
	for (unsigned long long k = 0; k < TRIALS; k++) {
		struct scene s;
		struct same out;
		double d[RULE_SAME_PAIRS];

		scene_start(&s, SCENE_QUIET, 0.03, SEED + k);
		for (size_t i = 0; i < RULE_SAME_PAIRS; i++)
			d[i] = scene_pair(&s, order_b_first(SEED ^ k, i), 0);
		rule_same(d, RULE_SAME_PAIRS, 0.01, &out);
		stopped += out.kind != SAME_OK;
	}
	print_message("A/A stops %zu of %d sound procedures (seed %llu)\n", stopped, TRIALS, SEED);
	assert_true(stopped <= TRIALS * 2 / 100);
}

/* Ten figures that do not change: how often one of them vetoes; and one that gets 3 % worse. */
static void test_guards(void **state)
{
	size_t wrong = 0, caught = 0;
	struct guard_ruling g;
	double d[24];

	(void)state;
	for (unsigned long long k = 0; k < TRIALS; k++) {
		bool veto = false;

		for (unsigned long long i = 0; i < 11; i++) {
			struct scene s;

			scene_start(&s, SCENE_SKEWED, 0.01, SEED + 64 * k + i);
			for (size_t j = 0; j < 24; j++)
				d[j] = scene_pair(&s, order_b_first(SEED + k, j),
						  i == 10 ? log(0.97) : 0);
			rule_guard(d, 24, 0, &g);
			veto = veto || (i < 10 && g.veto);
			caught += i == 10 && g.veto;
		}
		wrong += veto;
	}
	print_message("ten guards: %zu of %d wrong vetoes, %zu right ones (seed %llu)\n", wrong,
		      TRIALS, caught, SEED);
	assert_true(wrong <= TRIALS * 5 / 100);
	assert_true(caught >= TRIALS * 95 / 100);
	rule_guard(d, 8, 0, &g);
	assert_true(g.early && !g.veto);
}

/* --- simulated machines ----------------------------------------------------------------------- */
struct count {
	size_t kind[RULING_UNDECIDED + 1];
	double windows; /* of a trial */
};

static struct count verdicts(enum scene_kind kind, double noise, double effect, double min_effect)
{
	struct count out = { 0 };

	for (unsigned long long i = 0; i < TRIALS; i++) {
		struct scene s;
		struct trial t;

		scene_start(&s, kind, noise, SEED + i);
		t = run_adopted(&s, log1p(effect), min_effect, ~SEED - i);
		out.kind[t.kind]++;
		out.windows += (double)t.windows / TRIALS;
	}
	return out;
}

/* Nothing that matters is excused: what matters is set far below the noise. */
static void test_wrong(void **state)
{
	(void)state;
	for (int k = 0; k < SCENE_KEPT; k++) {
		const char *name = scene_name((enum scene_kind)k);
		struct count c = verdicts((enum scene_kind)k, 0.03, 0, 0.001);

		print_message("%-16s no effect: %zu helps, %zu hurts of %d (seed %llu)\n", name,
			      c.kind[RULING_HELPS], c.kind[RULING_HURTS], TRIALS, SEED);
		if (c.kind[RULING_HELPS] + c.kind[RULING_HURTS] > TRIALS * 5 / 100)
			fail_msg("%s: more than 5 %% wrong", name);
	}
}

static void test_power(void **state)
{
	(void)state;
	for (int k = 0; k < SCENE_KEPT; k++) {
		double noise = k == SCENE_QUIET ? 0.03 : 0.02;
		struct count c = verdicts((enum scene_kind)k, noise, 0.05, 0.01);

		print_message("%-16s +5 %% at %.0f %% noise: %zu of %d, %.0f windows (seed %llu)\n",
			      scene_name((enum scene_kind)k), 100 * noise, c.kind[RULING_HELPS],
			      TRIALS, c.windows, SEED);
		assert_true(c.kind[RULING_HELPS] >= TRIALS * 95 / 100);
	}
}

/* Half a percent does not matter where 1 % does, and nothing is no difference. */
static void test_no_difference(void **state)
{
	struct count none = verdicts(SCENE_QUIET, 0.003, 0, 0.01),
		     little = verdicts(SCENE_QUIET, 0.003, 0.005, 0.01);

	(void)state;
	assert_true(none.kind[RULING_NO_DIFFERENCE] >= TRIALS * 95 / 100);
	assert_true(none.windows < 24);
	assert_true(little.kind[RULING_NO_DIFFERENCE] >= TRIALS * 95 / 100);
}

/* The scenes do what their names say: without random order they fool a rule. */
static void test_scenes(void **state)
{
	size_t wrong[SCENES] = { 0 };

	(void)state;
	for (int k = 0; k < SCENES; k++)
		for (unsigned long long i = 0; i < 100; i++) {
			struct scene s;

			scene_start(&s, (enum scene_kind)k, 0.03, SEED + i);
			wrong[k] += candidates[0].run(&s, 0, 0.001, i).kind != RULING_UNDECIDED;
		}
	assert_true(wrong[SCENE_QUIET] <= 15);
	assert_true(wrong[SCENE_DRIFT] >= 90 && wrong[SCENE_WARMING] >= 90);
	assert_true(wrong[SCENE_WANDER] >= 40 && wrong[SCENE_STEP] >= 40);
}

/* --- order ------------------------------------------------------------------------------------ */
static void test_order(void **state)
{
	size_t b = 0, same = 0, at[30];
	bool seen[30] = { false };

	(void)state;
	for (size_t i = 0; i < 10000; i++) {
		b += order_b_first(SEED, i);
		same += order_b_first(SEED, i) == order_b_first(SEED + 1, i);
		assert_int_equal(order_b_first(SEED, i), order_b_first(SEED, i));
	}
	assert_true(b > 4800 && b < 5200 && same > 4800 && same < 5200);
	order_shuffle(SEED, at, 30);
	for (size_t i = 0; i < 30; i++) {
		assert_true(at[i] < 30 && !seen[at[i]]);
		seen[at[i]] = true;
	}
	assert_true(order_seed() != order_seed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rank_known),    cmocka_unit_test(test_rank_counted),
		cmocka_unit_test(test_rank_edges),    cmocka_unit_test(test_rank_zeros),
		cmocka_unit_test(test_looks),	      cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_same),	      cmocka_unit_test(test_same_rate),
		cmocka_unit_test(test_guards),	      cmocka_unit_test(test_scenes),
		cmocka_unit_test(test_wrong),	      cmocka_unit_test(test_power),
		cmocka_unit_test(test_no_difference), cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
