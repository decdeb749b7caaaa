/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as what sysfs, procfs, configuration files and the driver's library say of a machine
 * (fuzz_host.h): facts are found, judged, planned for and shown. Facts as JSON and back are the
 * same JSON, and no plan writes what its knob refuses.
 */
#include <stdint.h>

#include "fuzz_host.h"
#include "knob/io.h"
#include "plan/plan.h"
#include "plan/plan_json.h"
#include "probe/probe.h"
#include "view/findings.h"
#include "view/page_check.h"
#include "view/page_plan.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

static void round_trip(struct arena *a, const struct machine *m)
{
	struct machine *back = ARENA_NEW(a, struct machine);
	json_t *once = schema_to_json(&schema_machine, m), *twice;
	struct err e = { 0 };

	if (!once || schema_from_json(a, &schema_machine, once, back, &e))
		abort();
	twice = schema_to_json(&schema_machine, back);
	if (!json_equal(once, twice))
		abort();
	json_decref(once);
	json_decref(twice);
}

/* What was there when it was judged, and is not when it is to be changed. */
static struct fact_str gone(void *ctx, struct arena *a, const struct knob *k)
{
	(void)ctx;
	(void)a;
	(void)k;
	return (struct fact_str){ .f = { .seen = SEEN_ABSENT, .err = ENOENT } };
}

static void use(struct host *h, struct arena *a)
{
	struct machine *m = ARENA_NEW(a, struct machine);
	struct probe p = { .h = h, .a = a, .m = m, .deep = true, .config = true };
	struct check_view how = { .all = true, .verbose = true };
	struct plan_view view = { .verbose = true };
	struct profile profile = { 0 };
	struct plan_wish w = { .profile = &profile };
	struct findings f = { 0 };
	struct plan plan = { 0 };
	struct err e = { 0 };
	const char *why;

	probe_machine(&p);
	round_trip(a, m);
	if (profile_load(a, "default", &profile, &e))
		abort();
	settings_check(a, m, &profile, read_knob, h, &f);
	json_decref(findings_json(&f, m, &profile, 0));
	page_check(a, m, &profile, &f, &how);
	plan_make(a, m, &w, &f, read_knob, exact_knob, h, &plan);
	for (size_t i = 0; i < plan.n; i++)
		if (!plan.changes[i].gate &&
		    !knob_sound(&plan.changes[i].knob, plan.changes[i].after, &why))
			abort();
	json_decref(plan_json(&plan, 0));
	page_plan(a, m, &plan, &view);
	plan_make(a, m, &w, &f, gone, gone, h, &plan);
	json_decref(plan_json(&plan, 0));
	page_plan(a, m, &plan, &view);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct fuzz_host vm, spark;
	/* Two kinds of machine; what the other one has not is not there. */
	struct fuzz_host *h = size && data[size - 1] % 2 ? &spark : &vm;
	struct arena a = { 0 };

	if (!vm.base) {
		fuzz_host_open(&vm, "h200-x4");
		fuzz_host_open(&spark, "dgx-spark");
	}
	fuzz_host_say(h, data, size);
	use(&h->host, &a);
	arena_free(&a);
	return 0;
}
