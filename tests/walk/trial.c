/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a trial and takes its steps. */
#include "trial.h"

#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"
#include "tune/txn/txn.h"

static const struct txn_who who = { .user = "walk", .version = GPUTUNE_VERSION };

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static struct fact_str exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

static int make_plan(struct host *h, struct arena *a, const char *profile, const char *only,
		     struct plan *out)
{
	struct probe p = {
		.h = h, .a = a, .m = ARENA_NEW(a, struct machine), .deep = true, .config = true
	};
	struct profile *wish = ARENA_NEW(a, struct profile);
	struct findings *f = ARENA_NEW(a, struct findings);
	struct plan_target w = { .profile = wish };
	struct err e = { 0 };
	int r = profile_load(a, profile, wish, &e);

	if (r == 0)
		r = profile_narrow(a, wish, only, false, &e);
	if (r)
		return r;
	probe_machine(&p);
	settings_check(a, p.m, wish, read_knob, h, f);
	plan_make(a, p.m, &w, f, read_knob, exact_knob, h, out);
	return 0;
}

/* Every second change made, looked at and taken back. */
static int mixture(struct txn_trial *t, struct arena *a, const struct plan *p, size_t first,
		   struct err *e)
{
	struct plan some = *p;
	struct txn_report report;
	int r;

	some.changes = arena_array(a, p->n, sizeof(*some.changes));
	some.n = 0;
	for (size_t i = first; i < p->n; i += 2)
		some.changes[some.n++] = p->changes[i];
	if (!plan_open_changes(&some))
		return 0;
	r = txn_trial_set(t, &some, NULL, &report, e);
	r = r ? r : txn_trial_look(t, &some, e);
	return r ? r : txn_trial_revert(t, &report, e);
}

void trial_run(struct host *h, const char *profile, const char *only, bool keep)
{
	struct txn_report report;
	struct txn_trial *t = NULL;
	struct arena a = { 0 };
	struct err e = { 0 };
	struct plan p;

	if (make_plan(h, &a, profile, only, &p) == 0 && plan_open_changes(&p) &&
	    txn_trial_begin(h, &a, &who, "walk", &report, &t, &e) == 0) {
		if (mixture(t, &a, &p, 0, &e) == 0 && mixture(t, &a, &p, 1, &e) == 0 &&
		    txn_trial_set(t, &p, keep ? "apply" : NULL, &report, &e) == 0 && keep)
			txn_trial_keep(t, &e);
		txn_trial_end(t, &e);
	}
	host_close(h);
	arena_free(&a);
}
