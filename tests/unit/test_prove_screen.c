/* SPDX-License-Identifier: Apache-2.0 */
/* Many settings at once: designs by their definition, effects that were put in found again, and how
 * often screening is wrong. Failures print the seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../sim/scene.h"
#include "measure/prove/rule.h"
#include "measure/prove/screen.h"

static const unsigned long long SEED = 20261121;

static void test_designs(void **state)
{
	struct arena a = { 0 };
	struct screen_design s;

	(void)state;
	assert_int_equal(screen_design(&a, 0, &s), -EINVAL);
	assert_int_equal(screen_design(&a, SCREEN_FACTORS_MAX + 1, &s), -EINVAL);
	for (size_t m = 1; m <= SCREEN_FACTORS_MAX; m++) {
		assert_int_equal(screen_design(&a, m, &s), 0);
		assert_true(s.rows > m && s.rows <= m + 16 && s.factors == m);
		for (size_t f = 0; f < m; f++)
			for (size_t g = 0; g <= f; g++) {
				long product = 0, sum = 0;

				for (size_t r = 0; r < s.rows; r++) {
					product +=
						s.level[r * s.rows + f] * s.level[r * s.rows + g];
					sum += s.level[r * s.rows + f];
				}
				/* Each is on as often as off, and so beside each other. */
				assert_int_equal(product, f == g ? (long)s.rows : 0);
				assert_int_equal(sum, 0);
			}
		assert_true(screen_on(&s, 1, 0) != screen_on(&s, 1 + s.rows, 0));
		assert_true(screen_runs(m) == s.rows * s.passes && screen_runs(m) >= 24);
	}
	arena_free(&a);
}

enum { FACTORS = 20, RUNS = 96 };
static const double planted[FACTORS] = { 0.05, -0.08, 0, 0, 0.03, 0, 0, 0, 0, 0.02 };

struct screened {
	struct arena a;
	struct screen_design s;
	struct screen_data d;
	size_t run[RUNS];
	double y[RUNS];
	struct screen_noise noise;
	struct screen_effect out[FACTORS];
};

/* So many runs of a design, with effects, what the first two do together, and a scene. */
static void measure(struct screened *x, const double *effect, size_t factors, size_t runs,
		    struct scene *scene, double together, uint64_t seed)
{
	size_t at[RUNS];

	assert_int_equal(screen_design(&x->a, factors, &x->s), 0);
	for (size_t i = 0; i < runs; i++) {
		if (i % x->s.rows == 0)
			screen_order(&x->a, &x->s, seed + i, at);
		x->run[i] = i / x->s.rows * x->s.rows + at[i % x->s.rows];
		x->y[i] = scene_window(scene, false);
		for (size_t f = 0; f < factors; f++)
			x->y[i] += screen_on(&x->s, x->run[i], f) ? effect[f] : 0;
		if (screen_on(&x->s, x->run[i], 0) && screen_on(&x->s, x->run[i], 1))
			x->y[i] += together;
	}
	x->d = (struct screen_data){ &x->s, x->run, x->y, runs };
}

static int effects(struct screened *x)
{
	return screen_effects(&x->a, &x->d, SCREEN_LEVEL, 0.01, x->out, &x->noise);
}

/* Without noise the effects come out as they went in, also where everything drifts. */
static void test_exact(void **state)
{
	struct screened x = { 0 };
	struct scene scene;

	(void)state;
	scene_start(&scene, SCENE_QUIET, 1e-9, SEED);
	measure(&x, planted, FACTORS, 48, &scene, 0, SEED);
	for (size_t i = 0; i < 48; i++)
		x.y[i] += 0.001 * (double)(i % 24) + (i < 24 ? 0 : 0.1);
	x.d.n = FACTORS;
	assert_int_equal(effects(&x), -ENODATA);
	x.d.n = 48;
	assert_int_equal(effects(&x), 0);
	for (size_t f = 0; f < FACTORS; f++) {
		assert_true(fabs(log(x.out[f].ratio) - planted[f]) < 1e-6);
		assert_true(x.out[f].low <= x.out[f].ratio && x.out[f].ratio <= x.out[f].high);
		assert_int_equal(x.out[f].say, planted[f] > 0	? SCREEN_KEEP
					       : planted[f] < 0 ? SCREEN_HURTS
								: SCREEN_DROP);
	}
	assert_true(screen_is_clear(x.out, FACTORS));
	/* As many runs as one row often: the others say nothing. */
	for (size_t i = 0; i < 48; i++)
		x.run[i] = 3;
	assert_int_equal(effects(&x), -ENODATA);
	arena_free(&x.a);
}

/* Somebody else slowed two runs tenfold: they do not speak for all settings. */
static void test_wild(void **state)
{
	struct screened x = { 0 };
	struct scene scene;

	(void)state;
	scene_start(&scene, SCENE_QUIET, 0.005, SEED);
	measure(&x, planted, FACTORS, RUNS, &scene, 0, SEED);
	x.y[5] += 2.3;
	x.y[31] -= 2.3;
	assert_int_equal(effects(&x), 0);
	for (size_t f = 0; f < FACTORS; f++) {
		assert_true(fabs(log(x.out[f].ratio) - planted[f]) < 0.01);
		assert_true(x.out[f].high / x.out[f].low < 1.03);
	}
	arena_free(&x.a);
}

/* Two that help only together show half of it each. */
static void test_together(void **state)
{
	static const double none[FACTORS] = { 0 };
	struct screened x = { 0 };
	struct scene scene;

	(void)state;
	scene_start(&scene, SCENE_QUIET, 1e-9, SEED);
	measure(&x, none, FACTORS, 48, &scene, 0.1, SEED);
	assert_int_equal(effects(&x), 0);
	for (size_t f = 0; f < FACTORS; f++)
		assert_true(fabs(log(x.out[f].ratio) - (f < 2 ? 0.05 : 0)) < 0.01);
	arena_free(&x.a);
}

/* As many factors as leave no rest: the middle of the effects stands for the noise. */
static void test_saturated(void **state)
{
	const double effect[FACTORS + 3] = { 0.1, 0, 0, -0.1 };
	struct screen_effect out[FACTORS + 3];
	struct screened x = { 0 };
	struct scene scene;

	(void)state;
	scene_start(&scene, SCENE_QUIET, 0.005, SEED);
	measure(&x, effect, FACTORS + 3, 24, &scene, 0, SEED);
	assert_int_equal(screen_effects(&x.a, &x.d, SCREEN_LEVEL, 0.02, out, &x.noise), 0);
	assert_int_equal(out[0].say, SCREEN_KEEP);
	assert_int_equal(out[3].say, SCREEN_HURTS);
	assert_true(x.noise.sd > 0.002 && x.noise.sd < 0.015);
	for (size_t f = 0; f < FACTORS + 3; f++)
		assert_true(isfinite(out[f].low) && out[f].low < out[f].high);
	arena_free(&x.a);
}

/* The least that is planted is 2 %, which 96 runs with 1 % noise show. */
static void test_screen_rates(void **state)
{
	size_t found = 0, named = 0, wrong = 0, trials = 300;

	(void)state;
	for (uint64_t k = 0; k < trials; k++) {
		struct screened x = { 0 };
		struct scene scene;

		scene_start(&scene, SCENE_DRIFT, 0.01, SEED + k);
		measure(&x, planted, FACTORS, RUNS, &scene, 0.01, ~SEED - k);
		assert_int_equal(effects(&x), 0);
		for (size_t f = 0; f < FACTORS; f++) {
			bool keep = x.out[f].say == SCREEN_KEEP,
			     hurts = x.out[f].say == SCREEN_HURTS;

			found += keep && planted[f] > 0;
			named += hurts && planted[f] < 0;
			wrong += (keep && planted[f] <= 0) || (hurts && planted[f] >= 0);
		}
		arena_free(&x.a);
	}
	print_message(
		"20 settings, 96 runs, 1 %% noise, drift: %zu of %zu found, %zu of %zu harmful "
		"ones named, %zu wrong (seed %llu)\n",
		found, 3 * trials, named, trials, wrong, SEED);
	assert_true(found >= 3 * trials * 95 / 100 && named >= trials * 99 / 100);
	assert_true(wrong <= trials * 3 / 100);
}

/* All looks together spend the level once, however many there turn out to be. */
static void test_levels(void **state)
{
	static const size_t plans[][4] = {
		{ 1, 1, 1, 1 }, { 4, 4, 4, 4 }, { 8, 3, 3, 3 }, { 2, 2, 5, 4 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		double spent = 0, sum = 0;

		for (size_t k = 1; k <= plans[i][k - 1] && k <= 4; k++) {
			double x = screen_level(k, plans[i][k - 1], &spent);

			assert_true(x >= 0);
			sum += x;
			if (k == plans[i][k - 1])
				break;
		}
		assert_true(fabs(sum - SCREEN_LEVEL) < 1e-12 && fabs(spent - sum) < 1e-12);
	}
	assert_int_equal(screen_blocks(40, 0.001, 0.01), 1);
	assert_true(screen_blocks(40, 0.03, 0.01) > screen_blocks(40, 0.02, 0.01));
	assert_int_equal(screen_blocks(40, 10, 0.01), SCREEN_BLOCKS_MAX);
	assert_int_equal(screen_blocks(40, INFINITY, 0.01), SCREEN_BLOCKS_MAX);
}

static void test_left_out(void **state)
{
	const struct screen_noise noise = { 0.01, 20 };
	struct screen_member m;

	(void)state;
	screen_left_out(0.05, 5, &noise, 0.01, &m);
	assert_true(!m.hurts && m.low > 1 && m.low < 1.05 && m.high > 1.05);
	screen_left_out(-0.02, 5, &noise, 0.01, &m);
	assert_true(!m.hurts && m.low < 1 && m.high > 1);
	screen_left_out(-0.08, 5, &noise, 0.01, &m);
	assert_true(m.hurts && m.high < 1);
	/* Proven, and too little to matter. */
	screen_left_out(-0.08, 5, &noise, 0.1, &m);
	assert_false(m.hurts);
}

/* --- groups ----------------------------------------------------------------------------------- */
/* Links as text: "03 14" joins 0 with 3 and 1 with 4. */
static bool linked(void *ctx, size_t i, size_t j)
{
	const char *at = ctx;

	for (; *at; at += at[2] == ' ' ? 3 : 2)
		if (((size_t)(at[0] - '0') == j && (size_t)(at[1] - '0') == i) ||
		    ((size_t)(at[0] - '0') == i && (size_t)(at[1] - '0') == j))
			return true;
	return false;
}

static void groups_are(const char *links, size_t n, const char *want)
{
	size_t group[8], count = screen_groups(n, linked, (void *)links, group), most = 0;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(group[i], want[i] - '0');
		most = group[i] + 1 > most ? group[i] + 1 : most;
	}
	assert_int_equal(count, most);
}

static void test_groups(void **state)
{
	(void)state;
	groups_are("", 5, "01234");
	groups_are("03 14", 5, "01201");
	groups_are("04 34 12", 5, "01100");
	groups_are("01 23 12", 4, "0000");
	groups_are("05 15 25", 6, "000120");
	groups_are("", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_designs),	     cmocka_unit_test(test_exact),
		cmocka_unit_test(test_together),     cmocka_unit_test(test_saturated),
		cmocka_unit_test(test_screen_rates), cmocka_unit_test(test_levels),
		cmocka_unit_test(test_left_out),     cmocka_unit_test(test_groups),
		cmocka_unit_test(test_wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
