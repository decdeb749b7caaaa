/* SPDX-License-Identifier: Apache-2.0 */
/* gputune plan, apply and undo: show, ask, do, say what came of it. */
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

static bool journal_names(const struct journal *j, const char *word)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++)
			if (id_matches(j->items[i].entries[k].id, word))
				return true;
	return false;
}

/* The journal may hold what this program has forgotten. Who may not read it is told so by undo. */
static int check_only(struct run *r, struct host *h, const struct txn_select *s)
{
	struct journal j;
	struct err e = { 0 };
	int code = 0;

	if (!s->n_only || journal_load(h, &r->arena, false, &j, &e))
		return 0;
	for (size_t i = 0; i < s->n_only && !code; i++)
		code = journal_names(&j, s->only[i]) ? 0 : -door_check_id(&r->door, s->only[i]);
	return code;
}

static int select_from(struct run *r, struct txn_select *s)
{
	long long n = 0;

	*s = (struct txn_select){ .all = r->value[OPT_ALL] != NULL,
				  .force = r->value[OPT_FORCE] != NULL,
				  .dry = r->value[OPT_DRY_RUN] != NULL };
	s->only = run_words(r, r->value[OPT_ONLY], &s->n_only);
	if (r->n_args && (parse_i64(r->args[0], &n) || n < 1))
		return complain_text(
			EXIT_USAGE,
			"\"%s\" is no number of a transaction; \"gputune history\" lists them",
			r->args[0]);
	if (n && s->all)
		return complain_text(EXIT_USAGE, "either a transaction or --all");
	s->txn = (unsigned long)n;
	return 0;
}

static bool has_argument(const struct txn_report *report)
{
	size_t i = 0;

	while (i < report->n && report->rows[i].knob.kind != KNOB_BOOTARG)
		i++;
	return i < report->n;
}

static int verb_apply_undo(struct run *r, struct host *h, const struct txn_select *s)
{
	const char *what = s->all      ? "Undo everything?"
			   : s->txn    ? arena_printf(&r->arena, "Undo transaction %lu?", s->txn)
			   : s->n_only ? "Undo these settings?"
				       : "Undo the newest transaction?";
	struct txn_who who = run_who(r);
	struct txn_report report;
	struct machine *m;
	struct err e = { 0 };
	int result, code;

	if (!s->dry && !run_agreed(r, what))
		return r->value[OPT_YES] || isatty(STDIN_FILENO) ? EXIT_NOT_APPLIED : EXIT_USAGE;
	result = txn_undo(h, &r->arena, s, &who, &report, &e);
	/* Names for the page; read afterwards, so that it shows what is. What makes the boot
	 * entries is configuration, which takes longest to read. */
	m = has_argument(&report) ? run_change_machine(r, h) : run_machine(r, h, false);
	code = result == -ENOENT ? EXIT_CLEAN : txn_exit_code(result);
	if (run_wants_json(r) && !r->value[OPT_QUIET])
		run_print_json(r, report_json("undo", m, &report, &e, code), EXIT_CLEAN);
	else if (!r->value[OPT_QUIET] && (report.n || report.recovered))
		run_print_doc(r, page_undo(&r->arena, m, &report, result), "gputune undo",
			      EXIT_CLEAN);
	if (result)
		complain(0, &e);
	else if (s->dry && !report.n) /* else the page says so */
		complain_text(0, "dry run: nothing was written");
	if (!s->txn && host_exists(h, PERSIST_REQUEST))
		complain_text(0, "what is kept for the next boot stays: \"gputune persist remove\" "
				 "takes it back");
	return code;
}

int verb_undo(struct run *r)
{
	struct txn_select s;
	struct host *h;
	int code = select_from(r, &s);

	if (code)
		return code;
	h = run_change_host(r);
	if (!h)
		return EXIT_USAGE;
	code = run_check_overlay(r);
	code = code ? code : check_only(r, h, &s);
	code = code ? code : verb_apply_undo(r, h, &s);
	host_close(h);
	return code;
}
