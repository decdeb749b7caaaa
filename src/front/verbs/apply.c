/* SPDX-License-Identifier: Apache-2.0 */
/* gputune apply: show, ask, do, say what came of it. */
#include <string.h>
#include <unistd.h>

#include "front/verbs/boot.h"
#include "front/session.h"
#include "front/change.h"
#include "tune/plan/plan.h"
#include "tune/txn/txn.h"
#include "verbs/page_plan.h"
#include "tune/txn/page_txn.h"
#include "tune/txn/results.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"

/* A setting that something can be written for and that is right on all of its targets. */
static bool anything_is_so(const struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->items[i];
		bool so = x->v.kind == VERDICT_PASS && (x->s->knob != KNOB_NONE || x->s->remediate);

		for (size_t k = 0; so && k < f->n; k++)
			so = f->items[k].s != x->s || f->items[k].v.kind != VERDICT_FAIL;
		if (so)
			return true;
	}
	return false;
}

/*
 * Whether all that was asked for is refused: something is, and nothing is as asked. This looks at
 * what is and not at what this run did: after a run that made some changes and was refused others,
 * a second one ends as the first.
 */
static bool all_is_refused(const struct planned *p, struct err *e)
{
	if (!p->plan.n || plan_open_changes(&p->plan) || anything_is_so(&p->findings))
		return false;
	if (p->plan.n == 1)
		err_set(e, -EPERM, "the change of %s is refused; nothing was written",
			p->plan.changes[0].s->id);
	else
		err_set(e, -EPERM, "all %zu changes are refused; nothing was written", p->plan.n);
	err_hint(e, "\"gputune plan\" says why, and which of them --allow lifts");
	return true;
}

/* Whether a setting that was asked for, and that can be written, could not be read. Then "nothing
 * to change" would be wrong. */
static bool is_blind(const struct planned *p, struct err *e)
{
	const char *first = NULL, *why = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->findings.n; i++) {
		const struct finding *f = &p->findings.items[i];

		if (f->v.kind != VERDICT_UNKNOWN || strcmp(f->v.code, CODE_ERROR) != 0 ||
		    (f->s->knob == KNOB_NONE && !f->s->remediate))
			continue;
		why = n++ ? why : f->v.reason;
		first = first ? first : f->s->id;
	}
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct change *c = &p->plan.changes[i];

		if (!c->unseen)
			continue;
		why = n++ ? why : c->refusal;
		first = first ? first : c->s->id;
	}
	if (!n)
		return false;
	err_set(e, -EIO, "%zu of the settings asked for could not be seen: %s: %s", n, first, why);
	err_hint(e, "whether they are in force is not known; the kernel's log may say what fails");
	return true;
}

static void verb_apply_print_plan(struct run *r, struct host *h, const struct planned *p)
{
	struct plan_view how = { .verbose = r->value[OPT_VERBOSE] != NULL };

	if (r->value[OPT_QUIET] || run_wants_json(r))
		return;
	how.ledger = run_ledger(r, h, p->m);
	run_print_doc(r, page_plan(&r->arena, p->m, &p->plan, &how), "gputune plan", EXIT_CLEAN);
}

static int print_report(struct run *r, const struct planned *p, const struct txn_report *report,
			int result, int code, const struct err *e)
{
	if (r->value[OPT_QUIET])
		return 0;
	if (run_wants_json(r) && r->value[OPT_DRY_RUN])
		run_print_json(r, plan_json(&p->plan, code), EXIT_CLEAN);
	else if (run_wants_json(r))
		run_print_json(r, report_json("apply", p->m, report, e, code), EXIT_CLEAN);
	/* Else the plan says why, or what could not be seen. */
	else if (!r->value[OPT_DRY_RUN] && (report->n || (!p->plan.n && code == EXIT_CLEAN)))
		return run_print_doc(r, page_apply(&r->arena, p->m, report, result),
				     "gputune apply", EXIT_CLEAN);
	return 0;
}

/* The plan as it is agreed to, and what came of it. */
static int apply_plan(struct run *r, struct host *h, const struct txn_who *who,
		      const struct planned *p)
{
	struct txn_report report = { 0 };
	struct err e = { 0 };
	size_t open = plan_open_changes(&p->plan);
	int result = 0, code, failed;

	if (!r->value[OPT_DRY_RUN] && open) {
		if (!run_agreed(r, arena_printf(&r->arena, "Make %zu changes?", open)))
			return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED
									 : EXIT_USAGE;
		door_report_lost_at_boot(&r->door, h);
		result = txn_apply(h, &r->arena, &p->plan, who, &report, &e);
	}
	code = all_is_refused(p, &e) ? EXIT_NOT_APPLIED : txn_exit_code(result);
	if (code == EXIT_CLEAN && is_blind(p, &e))
		code = EXIT_BLIND;
	failed = print_report(r, p, &report, result, code, &e);
	if (code)
		complain(0, &e);
	else if (r->value[OPT_DRY_RUN])
		complain_text(0, "dry run: nothing was written");
	return failed ? failed : code;
}

static int verb_apply_apply(struct run *r, struct host *h, const struct txn_who *who)
{
	struct planned p = { 0 };
	int code = run_recover_first(r, h, who);

	if (code)
		return code;
	code = r->n_args ? run_plan_file(r, h, r->args[0], &p) : run_plan(r, h, &p);
	if (code)
		return code;
	verb_apply_print_plan(r, h, &p);
	return apply_plan(r, h, who, &p);
}

int verb_apply(struct run *r)
{
	struct host *h = run_change_host(r);
	struct txn_who who = run_who(r);
	int code;

	if (!h)
		return EXIT_USAGE;
	code = run_check_overlay(r);
	if (!code)
		code = r->value[OPT_BOOT] ? boot_apply(r, &h) : verb_apply_apply(r, h, &who);
	host_close(h);
	return code;
}
