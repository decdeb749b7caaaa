/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of whole captured machines: whatever a check finds wrong is either changed or said how a
 * person mends it, and nothing is forgotten. */
#include "box.h"

#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

static void expect_all(const struct findings *f, const struct plan *p)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *it = &f->items[i];
		size_t changes = 0, advice = 0;

		for (size_t k = 0; k < p->n; k++)
			changes += p->changes[k].s == it->s;
		for (size_t k = 0; k < p->n_advice; k++)
			advice += p->advice[k].finding == it;
		if (it->v.kind == VERDICT_FAIL && !changes && !advice)
			fail_msg("%s fails, and the plan says nothing of it", it->s->id);
		if (advice > 1)
			fail_msg("%s is advised %zu times", it->s->id, advice);
	}
	for (size_t k = 0; k < p->n_advice; k++)
		assert_true(strlen(p->advice[k].sentence) > 10);
}

static void test_all(void **state)
{
	static const char *const machines[] = { "igx-orin", "dgx-spark", "h200-x4" };

	size_t advised = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct arena a = { 0 };
		struct err e = { 0 };
		struct host *h =
			host_open_capture(arena_printf(&a, MACHINES "/%s", machines[i]), &e);
		struct probe p = { .h = h,
				   .a = &a,
				   .m = ARENA_NEW(&a, struct machine),
				   .deep = true,
				   .config = true };
		struct profile *profile = ARENA_NEW(&a, struct profile);
		struct plan_target w = { .profile = profile };
		struct findings f = { 0 };
		struct plan plan;
		size_t open = 0;

		if (!h)
			fail_msg("%s", e.text);
		assert_int_equal(profile_load(&a, "published", profile, &e), 0);
		probe_machine(&p);
		settings_check(&a, p.m, profile, read_knob, h, &f);
		plan_make(&a, p.m, &w, &f, read_knob, exact_knob, h, &plan);
		expect_all(&f, &plan);
		assert_true(plan.n > 10);
		advised += plan.n_advice;
		for (size_t k = 0; k < plan.n; k++)
			open += !plan.changes[k].gate;
		assert_int_equal(plan_open_changes(&plan), open);
		assert_string_equal(plan.profile, "published");
		host_close(h);
		arena_free(&a);
	}
	assert_true(advised > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
