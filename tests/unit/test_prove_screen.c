/* SPDX-License-Identifier: Apache-2.0 */
/* Many settings at once: designs by their definition, effects that were put in found again, and how
 * often screening and confirmation together are wrong. Failures print the seed. */
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
					product += s.level[r * m + f] * s.level[r * m + g];
					sum += s.level[r * m + f];
				}
				/* Each is on as often as off, and so beside each other. */
				assert_int_equal(product, f == g ? (long)s.rows : 0);
				assert_int_equal(sum, 0);
			}
		assert_true(screen_on(&s, 1, 0, false) != screen_on(&s, 1, 0, true));
	}
	arena_free(&a);
}

/* d of each pair of a design, with effects, an interaction of the first two, and a scene. */
static void measure(const struct screen_design *s, const double *effect, size_t rounds,
		    struct scene *scene, double interaction, unsigned long long seed, size_t *rows,
		    double *d)
{
	for (size_t i = 0; i < s->rows * rounds; i++) {
		double y[2] = { 0 };
		bool first = order_b_first(seed, i);

		rows[i] = i % s->rows;
		for (size_t half = 0; half < 2; half++) {
			bool mirror = half == first;

			for (size_t f = 0; f < s->factors; f++)
				y[mirror] += screen_on(s, rows[i], f, mirror) ? effect[f] : 0;
			if (screen_on(s, rows[i], 0, mirror) == screen_on(s, rows[i], 1, mirror))
				y[mirror] += interaction;
			y[mirror] += scene_window(scene, !mirror);
		}
		d[i] = y[0] - y[1];
	}
}

enum { FACTORS = 20, PAIRS = 48 };
static const double planted[FACTORS] = { 0.05, -0.08, 0, 0, 0.03, 0, 0, 0, 0, 0.02 };

/* Without noise the effects come out as they went in, whatever the first two do together. */
static void test_exact(void **state)
{
	struct screen_effect out[FACTORS];
	struct arena a = { 0 };
	struct screen_design s;
	size_t rows[PAIRS];
	struct scene scene;
	double d[PAIRS];

	(void)state;
	screen_design(&a, FACTORS, &s);
	assert_int_equal(s.rows, 24);
	scene_start(&scene, SCENE_QUIET, 1e-9, SEED);
	measure(&s, planted, 1, &scene, 0.3, SEED, rows, d);
	assert_int_equal(screen_effects(&a, &s, rows, d, s.rows - 1, 0.01, out), -ENODATA);
	assert_int_equal(screen_effects(&a, &s, rows, d, s.rows, 0.01, out), 0);
	for (size_t f = 0; f < FACTORS; f++) {
		assert_true(fabs(log(out[f].ratio) - planted[f]) < 1e-6);
		assert_true(out[f].low <= out[f].ratio && out[f].ratio <= out[f].high);
		assert_int_equal(out[f].say, planted[f] > 0   ? SCREEN_KEEP
					     : planted[f] < 0 ? SCREEN_HURTS
							      : SCREEN_DROP);
	}
	/* As many pairs as one row often: the others say nothing. */
	for (size_t i = 0; i < PAIRS; i++)
		rows[i] = 3;
	assert_int_equal(screen_effects(&a, &s, rows, d, 24, 0.01, out), -ENODATA);
	arena_free(&a);
}

/* Somebody else slowed two windows tenfold: they do not speak for all settings. */
static void test_wild(void **state)
{
	struct screen_effect out[FACTORS];
	struct arena a = { 0 };
	struct screen_design s;
	struct scene scene;
	size_t rows[PAIRS];
	double d[PAIRS];

	(void)state;
	screen_design(&a, FACTORS, &s);
	scene_start(&scene, SCENE_QUIET, 0.005, SEED);
	measure(&s, planted, 2, &scene, 0, SEED, rows, d);
	d[5] += 2.3;
	d[31] -= 2.3;
	assert_int_equal(screen_effects(&a, &s, rows, d, PAIRS, 0.01, out), 0);
	for (size_t f = 0; f < FACTORS; f++) {
		assert_true(fabs(log(out[f].ratio) - planted[f]) < 0.01);
		assert_true(out[f].high / out[f].low < 1.03);
	}
	arena_free(&a);
}

/* Two that help only together show half of it each. */
static void test_together(void **state)
{
	struct screen_effect out[FACTORS];
	struct arena a = { 0 };
	struct screen_design s;
	size_t rows[24];
	double d[24];

	(void)state;
	screen_design(&a, FACTORS, &s);
	for (size_t r = 0; r < s.rows; r++) {
		rows[r] = r;
		d[r] = 0;
		for (size_t mirror = 0; mirror < 2; mirror++)
			if (screen_on(&s, r, 3, mirror) && screen_on(&s, r, 7, mirror))
				d[r] += mirror ? -0.1 : 0.1;
	}
	assert_int_equal(screen_effects(&a, &s, rows, d, s.rows, 0.01, out), 0);
	for (size_t f = 0; f < FACTORS; f++)
		assert_true(fabs(log(out[f].ratio) - (f == 3 || f == 7 ? 0.05 : 0)) < 1e-9);
	arena_free(&a);
}

/* As many factors as leave no rest: the middle of the effects stands for the noise. */
static void test_saturated(void **state)
{
	struct screen_effect out[11];
	struct arena a = { 0 };
	double effect[11] = { 0.1, 0, 0, -0.1 };
	struct screen_design s;
	struct scene scene;
	size_t rows[12];
	double d[12];

	(void)state;
	screen_design(&a, 11, &s);
	assert_int_equal(s.rows, 12);
	scene_start(&scene, SCENE_QUIET, 0.005, SEED);
	measure(&s, effect, 1, &scene, 0, SEED, rows, d);
	assert_int_equal(screen_effects(&a, &s, rows, d, 12, 0.02, out), 0);
	assert_int_equal(out[0].say, SCREEN_KEEP);
	assert_int_equal(out[3].say, SCREEN_HURTS);
	for (size_t f = 0; f < 11; f++) {
		assert_true(isfinite(out[f].low) && out[f].low < out[f].high);
		assert_true(out[f].low <= exp(effect[f]) * 1.02);
	}
	arena_free(&a);
}

static void test_screen_rates(void **state)
{
	size_t found = 0, hurt_wrong = 0, hurt_right = 0, trials = 500;
	struct arena a = { 0 };
	struct screen_design s;

	(void)state;
	screen_design(&a, FACTORS, &s);
	for (unsigned long long k = 0; k < trials; k++) {
		struct screen_effect out[FACTORS];
		struct scene scene;
		size_t rows[PAIRS];
		double d[PAIRS];
		bool wrong = false;

		scene_start(&scene, SCENE_DRIFT, 0.01, SEED + k);
		measure(&s, planted, 2, &scene, 0.02, ~SEED - k, rows, d);
		assert_int_equal(screen_effects(&a, &s, rows, d, PAIRS, 0.01, out), 0);
		found += out[0].say == SCREEN_KEEP && out[4].say == SCREEN_KEEP;
		hurt_right += out[1].say == SCREEN_HURTS;
		for (size_t f = 0; f < FACTORS; f++)
			wrong = wrong || (planted[f] >= 0 && out[f].say == SCREEN_HURTS);
		hurt_wrong += wrong;
	}
	print_message("20 settings, 48 pairs, 1 %% noise, drift: both helpers go on in %zu of %zu, "
		      "the harmful one is named in %zu, another in %zu (seed %llu)\n",
		      found, trials, hurt_right, hurt_wrong, SEED);
	assert_true(found >= trials * 95 / 100 && hurt_right >= trials * 95 / 100);
	assert_true(hurt_wrong <= trials * 5 / 100);
	arena_free(&a);
}

/* --- confirmation ----------------------------------------------------------------------------- */
static void test_confirm(void **state)
{
	enum { MEMBERS = 6, TRIALS = 4000, N = 24 };
	const double effect[MEMBERS] = { 0.05, 0, 0, 0, 0, -0.05 };
	size_t stays = 0, hurts = 0, wrong = 0;

	(void)state;
	for (unsigned long long k = 0; k < TRIALS; k++) {
		struct screen_member m[MEMBERS] = { 0 };
		double d[MEMBERS][N];
		bool bad = false;

		for (size_t i = 0; i < MEMBERS; i++) {
			struct scene s;

			scene_start(&s, SCENE_SKEWED, 0.02, SEED + k * MEMBERS + i);
			for (size_t j = 0; j < N; j++)
				d[i][j] = scene_pair(&s, order_b_first(SEED ^ (k * 8 + i), j),
						     effect[i]);
			m[i] = (struct screen_member){ .d = d[i], .n = N };
		}
		screen_confirm(m, MEMBERS, 0.05, 0.001);
		stays += m[0].stays;
		hurts += m[5].hurts;
		for (size_t i = 1; i < 5; i++)
			bad = bad || m[i].stays || m[i].hurts;
		wrong += bad;
	}
	print_message("confirmation of 6: %zu and %zu of %d found, %zu wrong (seed %llu)\n", stays,
		      hurts, TRIALS, wrong, SEED);
	/* Holm leaves the four others almost all of the 5 %: so much, and twice the chance of it.
	 */
	assert_true(wrong <= TRIALS * 5 / 100 + 28);
	assert_true(stays >= TRIALS * 95 / 100 && hurts >= TRIALS * 95 / 100);
}

static void test_confirm_edges(void **state)
{
	const double d[] = { 1, 1, 1, 1 };
	struct screen_member m[2] = { { .d = d, .n = 4 }, { .d = d, .n = 0 } };

	(void)state;
	/* Four pairs cannot show anything at this level, none even less. */
	screen_confirm(m, 2, 0.05, 0.01);
	assert_false(m[0].stays || m[0].hurts || m[1].stays || m[1].hurts);
	assert_true(m[1].p >= 1);
	screen_confirm(m, 0, 0.05, 0.01);
	for (size_t n = 1; n < 200; n *= 2) {
		size_t pairs = screen_confirm_pairs(n, 0.05);

		assert_true(ldexp(2, -(int)pairs) <= 0.05 / (double)n && pairs < 32);
	}
}

/* --- time and groups -------------------------------------------------------------------------- */
static void test_time(void **state)
{
	struct screen_cost c = { .window_s = 5, .switch_s = 2, .warm_up_s = 30, .settings = 30 };
	struct screen_time t;

	(void)state;
	screen_time(&c, &t);
	assert_int_equal(t.screen_pairs, 32);
	assert_true(fabs(t.screen_s - 32 * 14) < 1e-9);
	assert_true(fabs(t.total_s - t.same_s - t.screen_s - t.confirm_s - t.whole_s) < 1e-9);
	/* One by one it would be 30 times 48 pairs. */
	assert_true(t.total_s < 0.5 * 30 * 48 * 14);
	c.settings = 1;
	screen_time(&c, &t);
	assert_int_equal(t.screen_pairs + t.confirm_pairs, 0);
}

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
		cmocka_unit_test(test_designs),	      cmocka_unit_test(test_exact),
		cmocka_unit_test(test_together),      cmocka_unit_test(test_saturated),
		cmocka_unit_test(test_screen_rates),  cmocka_unit_test(test_confirm),
		cmocka_unit_test(test_confirm_edges), cmocka_unit_test(test_time),
		cmocka_unit_test(test_groups),	      cmocka_unit_test(test_wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
