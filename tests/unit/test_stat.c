/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics against results of independent programs (tests/data/stat/reference.py), at the edges,
 * and in how often they are wrong: false findings and coverage on simulated samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "../sim/sign.h"
#include "base/stat.h"

static json_t *reference;

static void close_to(const char *what, double got, double want, double relative)
{
	double scale = fmax(fabs(want), 1e-9);

	if (!(fabs(got - want) <= relative * scale))
		fail_msg("%s: %.15g, not %.15g", what, got, want);
}

static double *samples(struct arena *a, json_t *list, size_t *n)
{
	double *x;

	*n = json_array_size(list);
	x = arena_array(a, *n, sizeof(*x));
	for (size_t i = 0; i < *n; i++)
		x[i] = json_number_value(json_array_get(list, i));
	return x;
}

static double number(json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

static double item(json_t *list, size_t i)
{
	return json_number_value(json_array_get(list, i));
}

static void check_order(const char *name, const double *x, size_t n, json_t *want)
{
	struct arena a = { 0 };
	double *s = arena_array(&a, n, sizeof(*s)), v;
	struct stat_interval i;
	const char *p;
	json_t *q;

	assert_int_equal(stat_median(x, n, &v), 0);
	close_to(name, v, number(want, "median"), 1e-13);
	assert_int_equal(stat_mad(x, n, &v), 0);
	close_to(name, v, number(want, "mad"), 1e-10);
	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	json_object_foreach(json_object_get(want, "quantiles"), p, q)
		close_to(p, stat_quantile(s, n, strtod(p, NULL)), json_number_value(q), 1e-12);
	q = json_object_get(want, "sign");
	if (json_is_null(q)) {
		assert_int_equal(sign_interval(x, n, 0.05, &i), -ENODATA);
	} else {
		assert_int_equal(sign_interval(x, n, 0.05, &i), 0);
		close_to(name, i.low, item(q, 0), 0);
		close_to(name, i.high, item(q, 1), 0);
	}
	close_to("dip", stat_dip(s, n), number(want, "dip"), 1e-9);
	arena_free(&a);
}

static void check_time(const char *name, const double *x, size_t n, json_t *want)
{
	json_t *kendall = json_object_get(want, "kendall");
	struct stat_drift d;

	close_to(name, stat_act(x, n), number(want, "act"), 1e-9);
	close_to(name, stat_effective(x, n), (double)n / number(want, "act"), 1e-9);
	if (json_is_null(kendall)) {
		assert_int_equal(stat_drift(x, n, 0.01, &d), -ENODATA);
		return;
	}
	assert_int_equal(stat_drift(x, n, 0.01, &d), 0);
	close_to(name, 1 + d.slope, 1 + number(kendall, "slope"), 1e-10);
	close_to(name, d.p, number(kendall, "p"), 1e-6);
}

/* Two bootstraps draw different numbers: their bounds agree to a part of the interval's width. */
static void check_bootstrap(const char *name, const double *x, size_t n, json_t *want)
{
	json_t *b = json_object_get(want, "bootstrap");
	struct stat_interval i;
	double width;

	assert_int_equal(stat_median_interval(x, n, 0.95, STAT_SEED, &i), 0);
	if (json_is_null(b))
		return;
	width = item(b, 1) - item(b, 0);
	if (!(fabs(i.low - item(b, 0)) <= 0.1 * width + 1e-9) ||
	    !(fabs(i.high - item(b, 1)) <= 0.1 * width + 1e-9))
		fail_msg("%s: [%g, %g], not [%g, %g]", name, i.low, i.high, item(b, 0), item(b, 1));
}

static void matches_reference(void **state)
{
	struct arena a = { 0 };
	const char *name;
	json_t *want;

	(void)state;
	json_object_foreach(json_object_get(reference, "series"), name, want)
	{
		size_t n;
		double *x = samples(&a, json_object_get(want, "x"), &n);

		check_order(name, x, n, want);
		check_time(name, x, n, want);
		check_bootstrap(name, x, n, want);
	}
	arena_free(&a);
}

static void matches_distributions(void **state)
{
	json_t *row;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(reference, "sign_rank"), i, row) assert_int_equal(
		sign_rank((size_t)item(row, 0), item(row, 1)), (size_t)item(row, 2));
	json_array_foreach(json_object_get(reference, "t_quantile"), i, row) close_to(
		"t", 1 + stat_t_quantile(item(row, 0), item(row, 1)), 1 + item(row, 2), 1e-8);
	/* Simulated on both sides. */
	json_array_foreach(json_object_get(reference, "dip_critical"), i, row) close_to(
		"critical dip", stat_dip_critical((size_t)item(row, 0)), item(row, 1), 0.03);
	/* The textbook's: P(Bin(8) < 1) = 1/256, P(Bin(16) < 4) = 697/65536, 24 -> 7. */
	assert_int_equal(sign_rank(8, 0.05 / 3), 1);
	assert_int_equal(sign_rank(16, 0.05 / 3), 4);
	assert_int_equal(sign_rank(24, 0.05 / 3), 7);
}

static const double *series(struct arena *a, const char *name, size_t *n)
{
	return samples(
		a,
		json_object_get(json_object_get(json_object_get(reference, "series"), name), "x"),
		n);
}

static void ratio_matches(void **state)
{
	json_t *want = json_object_get(reference, "ratio"),
	       *interval = json_object_get(want, "interval");
	const double ra[] = { 100, 103, 99, 101, 102 }, rb[] = { 104, 107, 103, 108 };
	const size_t fa[] = { 0, 1, 2, 3, 4 }, fb[] = { 0, 1, 2, 3 };
	struct stat_arm a = { 0 }, b = { 0 };
	struct arena arena = { 0 };
	struct stat_ratio r;
	double width, *y, half;

	(void)state;
	a.x = series(&arena, "normal", &a.n);
	b.x = series(&arena, "normal_even", &b.n);
	y = arena_array(&arena, b.n, sizeof(*y));
	for (size_t i = 0; i < b.n; i++)
		y[i] = b.x[i] * number(want, "factor");
	b.x = y;
	assert_int_equal(stat_ratio(&a, &b, 0.95, STAT_SEED, &r), 0);
	close_to("ratio", r.ratio, number(want, "ratio"), 1e-12);
	width = item(interval, 1) - item(interval, 0);
	assert_true(fabs(r.interval.low - item(interval, 0)) < 0.1 * width);
	assert_true(fabs(r.interval.high - item(interval, 1)) < 0.1 * width);
	assert_false(r.by_rounds);

	/* Rounds of one sample each: Welch's interval is the wider one. */
	a = (struct stat_arm){ ra, 5, fa, 5 };
	b = (struct stat_arm){ rb, 4, fb, 4 };
	assert_int_equal(stat_ratio(&a, &b, 0.95, STAT_SEED, &r), 0);
	half = number(json_object_get(reference, "welch"), "half");
	if (r.by_rounds)
		close_to("welch", log(r.interval.high / r.ratio), half, 1e-8);
	assert_true(r.interval.high / r.interval.low >= exp(2 * half) * (1 - 1e-8));
	a.x = (const double[]){ 1, 0, 1, 1, 1 };
	assert_int_equal(stat_ratio(&a, &b, 0.95, STAT_SEED, &r), -ERANGE);
	arena_free(&arena);
}

static void edges(void **state)
{
	const double one[] = { 3 }, two[] = { 2, 4 }, nan[] = { 1, NAN, 3 },
		     inf[] = { 1, 2, INFINITY }, huge[] = { 1.7e308, 1.7e308 };
	double same[20], v = -1;
	struct stat_interval i = { -1, -1 };
	struct stat_summary s;
	struct stat_modes m;
	struct stat_drift d;

	(void)state;
	for (size_t k = 0; k < 20; k++)
		same[k] = 0.1;
	assert_int_equal(stat_median(one, 0, &v), -ENODATA);
	assert_int_equal(stat_median(nan, 3, &v), -EINVAL);
	assert_int_equal(stat_mad(inf, 3, &v), -EINVAL);
	assert_int_equal(stat_summary(inf, 3, &s), -EINVAL);
	assert_int_equal(stat_summary(one, 0, &s), -ENODATA);
	assert_int_equal(stat_median_interval(nan, 3, 0.95, 1, &i), -EINVAL);
	assert_int_equal(stat_modes(nan, 3, 0.01, &m), -EINVAL);
	assert_true(v < 0 && i.low < 0); /* untouched */
	assert_int_equal(stat_median(huge, 2, &v), 0);
	assert_true(isfinite(v));
	assert_int_equal(stat_median_interval(one, 1, 0.95, 1, &i), 0);
	assert_true(i.low >= 3 && i.high <= 3);
	assert_int_equal(stat_summary(one, 1, &s), 0);
	assert_false(s.has_interval || s.drift.found || s.modes.found);
	assert_true(isinf(stat_half_width(&s)));
	assert_int_equal(stat_summary(two, 2, &s), 0);
	close_to("two", s.median, 3, 0);
	assert_int_equal(stat_summary(same, 20, &s), 0);
	close_to("constant", stat_half_width(&s), 0, 0);
	close_to("constant", s.effective, 20, 1e-12);
	assert_int_equal(s.outliers.low + s.outliers.high, 0);
	assert_false(s.drift.found || s.modes.found);
	assert_true(stat_steady(same, 20, 10, 0.01));
	assert_false(stat_steady(same, 9, 10, 0.01));
	assert_int_equal(stat_drift(same, 7, 0.01, &d), -ENODATA);
	assert_int_equal(stat_modes(same, 9, 0.01, &m), -ENODATA);
	close_to("no samples", stat_effective(one, 0), 0, 0);
}

static void finds_what_is_there(void **state)
{
	struct arena a = { 0 };
	struct stat_summary s;
	const double *x;
	size_t n;

	(void)state;
	x = series(&a, "flipping", &n);
	assert_int_equal(stat_summary(x, n, &s), 0);
	assert_true(s.modes.found && !s.modes.step && s.modes.switches > 10);
	close_to("low state", s.modes.low, 100, 0.01);
	close_to("high state", s.modes.high, 110, 0.01);
	x = series(&a, "step", &n);
	assert_int_equal(stat_summary(x, n, &s), 0);
	assert_true(s.modes.found && s.modes.step);
	x = series(&a, "falling", &n);
	assert_int_equal(stat_summary(x, n, &s), 0);
	assert_true(s.drift.found && s.drift.relative < -0.04);
	assert_false(s.modes.found);
	x = series(&a, "outliers", &n);
	assert_int_equal(stat_summary(x, n, &s), 0);
	assert_true(s.outliers.high >= 3 && s.outliers.low == 0);
	assert_false(s.modes.found);
	x = series(&a, "warming", &n);
	assert_false(stat_steady(x, 12, 10, 0.005));
	assert_true(stat_steady(x, n, 10, 0.005));
	arena_free(&a);
}

/* The state of a slow wander beside white noise, as machines have it. */
static void simulate(struct stat_random *r, double *x, size_t n, double level, double rho)
{
	double wander = stat_random_normal(r) * 0.3;

	for (size_t i = 0; i < n; i++) {
		wander = rho * wander + sqrt(1 - rho * rho) * 0.3 * stat_random_normal(r);
		x[i] = level * (1 + 0.01 * (wander + 0.3 * stat_random_normal(r)));
		if (stat_random_below(r, 25) == 0)
			x[i] *= 0.97;
	}
}

static void seldom_finds_what_is_not_there(void **state)
{
	struct stat_random r = { 11 };
	unsigned modes = 0, drifts = 0, outside = 0, unsteady = 0;
	enum { TRIALS = 400, N = 80 };

	(void)state;
	for (unsigned t = 0; t < TRIALS; t++) {
		double x[N];
		struct stat_drift d;
		struct stat_modes m;

		simulate(&r, x, N, 100, t % 2 ? 0.8 : 0);
		assert_int_equal(stat_drift(x, N, 0, &d), 0);
		assert_int_equal(stat_modes(x, N, 0, &m), 0);
		drifts += d.found;
		modes += m.found;
		unsteady += !stat_steady(x, N, 16, 0);
		for (size_t i = 0; i < N; i++)
			x[i] = stat_random_normal(&r);
		if (t < 100) {
			struct stat_interval i;

			stat_median_interval(x, N, 0.95, t, &i);
			outside += i.low > 0 || i.high < 0;
		}
	}
	assert_in_range(drifts, 0, TRIALS / 20);
	assert_in_range(modes, 0, TRIALS / 100);
	assert_in_range(unsteady, 0, TRIALS / 8);
	assert_in_range(outside, 0, 10);
}

/* A against A: five rounds each, every round with an offset of its own. */
static void same_against_same(void **state)
{
	enum { PAIRS = 1000, ROUNDS = 5, EACH = 5, N = ROUNDS * EACH };
	static const size_t first[ROUNDS] = { 0, 5, 10, 15, 20 };
	struct stat_random r = { 99 };
	unsigned called = 0, seen = 0;

	(void)state;
	for (unsigned t = 0; t < PAIRS; t++) {
		double x[2][N];
		struct stat_arm arm[2];
		struct stat_ratio q;

		for (size_t s = 0; s < 2; s++) {
			for (size_t i = 0; i < ROUNDS; i++)
				simulate(&r, x[s] + i * EACH, EACH,
					 100 * (1 + 0.006 * stat_random_normal(&r)), 0.5);
			arm[s] = (struct stat_arm){ x[s], N, first, ROUNDS };
		}
		assert_int_equal(stat_ratio(&arm[0], &arm[1], 0.99, t, &q), 0);
		called += q.interval.low > 1 || q.interval.high < 1;
		if (t >= 100)
			continue;
		for (size_t i = 0; i < N; i++)
			x[1][i] *= 1.03;
		assert_int_equal(stat_ratio(&arm[0], &arm[1], 0.99, t, &q), 0);
		seen += q.interval.low > 1;
	}
	assert_in_range(called, 0, PAIRS / 20);
	/* And 3 % are seen. */
	assert_in_range(seen, 90, 100);
}

static void a_million(void **state)
{
	struct arena a = { 0 };
	enum { N = 1000000 };
	double *x = arena_array(&a, N, sizeof(*x));
	struct stat_random r = { 3 };
	struct stat_summary s;
	clock_t before = clock();

	(void)state;
	for (size_t i = 0; i < N; i++)
		x[i] = 50 + stat_random_normal(&r);
	assert_int_equal(stat_summary(x, N, &s), 0);
	assert_true(s.interval.low < 50.003 && s.interval.high > 49.997);
	assert_true(s.interval.high - s.interval.low < 0.01);
	assert_true(s.effective > 0.9 * N);
	assert_false(s.modes.found || s.drift.found);
	/* Processor time, generous: quadratic would be hours. */
	assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 20);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_reference),
		cmocka_unit_test(matches_distributions),
		cmocka_unit_test(ratio_matches),
		cmocka_unit_test(edges),
		cmocka_unit_test(finds_what_is_there),
		cmocka_unit_test(seldom_finds_what_is_not_there),
		cmocka_unit_test(same_against_same),
		cmocka_unit_test(a_million),
	};
	json_error_t e;
	int failed;

	reference = json_load_file(SOURCE_ROOT "/tests/data/stat/reference.json", 0, &e);
	if (!reference) {
		fprintf(stderr, "reference.json:%d: %s\n", e.line, e.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	json_decref(reference);
	return failed;
}
