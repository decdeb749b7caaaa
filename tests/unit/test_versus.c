/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes against each other: a formula as what they measure, a clock that only counts. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/prove/versus.h"

struct lab {
	struct stat_random random;
	double at, gain, noise, drift;
	size_t windows, fail_at; /* that window fails; 0: none does */
	int fail_with;
	bool failed_b;
};

static double lab_now(void *ctx)
{
	return ((struct lab *)ctx)->at;
}

static void lab_wait(void *ctx, double seconds, const atomic_bool *stop)
{
	(void)stop;
	((struct lab *)ctx)->at += seconds;
}

/* The machine gets slower with every window; the second figure does the opposite of the first. */
static int lab_measure(void *ctx, bool b, double value[VERSUS_FIGURES], struct err *e)
{
	struct lab *l = ctx;
	double noise = exp(l->noise * stat_random_normal(&l->random));

	l->at += 1;
	if (++l->windows == l->fail_at) {
		l->failed_b = b;
		return err_set(e, l->fail_with, "window %zu failed", l->windows);
	}
	value[0] = 100 * (b ? l->gain : 1) * noise * exp(-l->drift * (double)l->windows);
	value[1] = 5 / value[0];
	return 0;
}

static int run(struct arena *a, struct lab *l, double budget_s, struct versus *v, struct err *e)
{
	static struct engine_clock clock;

	clock = (struct engine_clock){ .now = lab_now, .wait = lab_wait, .ctx = l };
	*v = (struct versus){ .a = a,
			      .figures = { { .key = "rate", .better = BENCH_HIGHER },
					   { .key = "time", .better = BENCH_LOWER } },
			      .n_figures = 2,
			      .min_effect = 0.01,
			      .budget_s = budget_s,
			      .seed = 7,
			      .clock = &clock,
			      .measure = lab_measure,
			      .ctx = l };
	return versus_run(v, e);
}

static enum ruling_kind verdict(double gain, double noise, double drift, size_t *pairs)
{
	struct arena a = { 0 };
	struct lab l = { .random = { 3 }, .gain = gain, .noise = noise, .drift = drift };
	struct err e = { 0 };
	struct versus v;
	enum ruling_kind kind;

	assert_int_equal(run(&a, &l, 1e6, &v, &e), 0);
	assert_int_equal(v.n_windows, 2 * v.pairs);
	assert_int_equal(v.n_windows, l.windows);
	for (size_t i = 0; i < v.n_windows; i += 2) {
		assert_int_equal(v.windows[i].pair, i / 2);
		assert_true(v.windows[i].b != v.windows[i + 1].b);
	}
	/* Less is better there: the same effect by the same pairs. */
	assert_true(fabs(v.ruling[1].ratio - v.ruling[0].ratio) < 1e-9);
	kind = v.ruling[0].kind;
	*pairs = v.pairs;
	arena_free(&a);
	return kind;
}

static void test_verdicts(void **state)
{
	size_t pairs;

	(void)state;
	assert_int_equal(verdict(1.05, 0.002, 0, &pairs), RULING_HELPS);
	assert_int_equal(pairs, 8);
	assert_int_equal(verdict(0.9, 0.01, 0.002, &pairs), RULING_HURTS);
	assert_int_equal(verdict(1, 0.002, 0, &pairs), RULING_NO_DIFFERENCE);
	assert_int_equal(verdict(1, 0.1, 0, &pairs), RULING_UNDECIDED);
	assert_int_equal(pairs, 48);
	/* A machine that warms up by 10 % in all fools nobody. */
	assert_int_equal(verdict(1.05, 0.002, 0.001, &pairs), RULING_HELPS);
}

static void test_budget(void **state)
{
	struct arena a = { 0 };
	struct lab l = { .random = { 3 }, .gain = 1, .noise = 0.1 };
	struct err e = { 0 };
	struct versus v;

	(void)state;
	assert_int_equal(run(&a, &l, 10, &v, &e), -ETIME);
	assert_int_equal(v.pairs, 1);
	assert_non_null(strstr(e.text, "one pair takes 2.0 s"));
	assert_non_null(strstr(e.hint, "--time-limit 22s"));
	l.at = 0;
	assert_int_equal(run(&a, &l, 30, &v, &e), 0);
	assert_int_equal(v.pairs, 12);
	assert_int_equal(v.ruling[0].kind, RULING_UNDECIDED);
	assert_true(v.took_s <= 30);
	arena_free(&a);
}

static void test_failure(void **state)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct versus v;

	(void)state;
	for (size_t n = 1; n <= 20; n++) {
		struct lab l = { .random = { 3 },
				 .gain = 1,
				 .noise = 0.1,
				 .fail_at = n,
				 .fail_with = n % 2 ? -EBADMSG : -EINTR };

		assert_int_equal(run(&a, &l, 1e6, &v, &e), l.fail_with);
		assert_int_equal(v.n_windows, n - 1);
		assert_int_equal(v.pairs, (n - 1) / 2);
		/* What was measured until then is not lost, and rules nothing. */
		if (v.pairs >= 8)
			assert_true(v.ruling[0].kind == RULING_UNDECIDED && v.ruling[0].low > 0);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
