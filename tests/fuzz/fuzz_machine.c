/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as what sysfs, procfs, configuration files and the driver's library say of a machine
 * (fuzz_host.h): facts are found, judged, planned for and shown. Facts as JSON and back are the
 * same JSON, and no plan writes what its knob refuses.
 */
#include <stdint.h>

#include "fuzz_mutate.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"
#include "measure/prove/ledger_view.h"
#include "verbs/page_check.h"
#include "verbs/page_plan.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

/* What was found on the machine as it is, without an input: what follows from the same findings is
 * the same again, and pure. */
struct subject {
	struct fuzz_host host;
	json_t *findings;
};

static void round_trip(struct arena *a, const struct machine *m)
{
	struct machine *back = ARENA_NEW(a, struct machine);
	json_t *once = shape_object_json(&machine_shape, m), *twice;
	struct err e = { 0 };

	if (!once || shape_read(a, &machine_shape, once, back, &e))
		abort();
	twice = shape_object_json(&machine_shape, back);
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

static void pages(struct arena *a, const struct machine *m, const struct profile *p,
		  const struct findings *f, struct plan *plan)
{
	struct check_view how = { .all = true, .verbose = true };
	struct plan_view view = { .verbose = true };
	struct plan_target w = { .profile = p };

	page_check(a, m, p, f, &how);
	page_plan(a, m, plan, &view);
	plan_make(a, m, &w, f, gone, gone, NULL, plan);
	json_decref(plan_json(plan, 0));
	page_plan(a, m, plan, &view);
}

static void use(struct subject *s, struct arena *a, bool whole)
{
	struct host *h = &s->host.host;
	struct machine *m = ARENA_NEW(a, struct machine);
	struct probe p = { .h = h, .a = a, .m = m, .deep = true, .config = true };
	struct profile profile = { 0 };
	struct plan_target w = { .profile = &profile };
	struct findings f = { 0 };
	struct plan plan = { 0 };
	struct err e = { 0 };
	const char *why;
	json_t *found;

	/* Who is connected is looked for on a live machine alone. */
	h->id.captured = !map_get(&s->host.said, "/proc/net/tcp");
	probe_machine(&p);
	pci_names_fill(&p);
	if (whole)
		round_trip(a, m);
	if (profile_load(a, "default", &profile, &e))
		abort();
	settings_check(a, m, &profile, read_knob, h, &f);
	found = measured_check_json(a, m, &profile, &f, NULL, 0);
	plan_make(a, m, &w, &f, read_knob, exact_knob, h, &plan);
	for (size_t i = 0; i < plan.n; i++)
		if (!plan.changes[i].gate &&
		    !knob_valid(&plan.changes[i].knob, plan.changes[i].after, &why))
			abort();
	json_decref(plan_json(&plan, 0));
	if (!json_equal(s->findings, found))
		pages(a, m, &profile, &f, &plan);
	if (!s->findings)
		s->findings = json_incref(found);
	json_decref(found);
}

/* Two kinds of machine; what the other one has not is not there. Looked at once as they are. */
static struct subject *subject(bool spark)
{
	static struct subject all[2];

	if (!all[0].host.base) {
		fuzz_host_open(&all[0].host, "h200-x4");
		fuzz_host_open(&all[1].host, "dgx-spark");
		for (int i = 0; i < 2; i++) {
			struct arena a = { 0 };

			fuzz_host_say(&all[i].host, NULL, 0);
			use(&all[i], &a, true);
			arena_free(&a);
		}
	}
	return &all[spark];
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct subject *s = subject(size && data[size - 1] % 2);
	struct arena a = { 0 };
	unsigned sum = 0;

	fuzz_host_say(&s->host, data, size);
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	/* All facts as JSON and back cost more than everything else: one input in eight. */
	if (s->host.asked)
		use(s, &a, sum % 8 == 0);
	arena_free(&a);
	return 0;
}

#ifdef FUZZ_MUTATES
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct fuzz_host *const of[] = { &subject(false)->host, &subject(true)->host };

	return mutate_sections(of, data, size, max, seed);
}
#endif
