/* SPDX-License-Identifier: Apache-2.0 */
/* gputune apply: show, ask, do, say what came of it. */
#include <errno.h>
#include <string.h>

#include "look/settings/settings.h"
#include "tune/txn/approval.h"
#include "tune/txn/results.h"
#include "verbs/boot.h"
#include "tune/txn/page_txn.h"
#include "verbs/page_plan.h"

struct apply_ask {
	struct machine_ask machine;
	struct profile_ask settings;
	struct allow_ask allow;
	struct change_ask change;
	const char *plan, *approved;
	bool boot;
};

static const struct ask_row apply_ask_rows[] = {
	{ "PLAN", "make exactly the changes of this plan file (from plan -o)",
	  ASK_TEXT(apply_ask, plan), .argument = true, .files = true },
	{ "approved", "apply the approved plan with this hash, once", ASK_TEXT(apply_ask, approved),
	  .arg = "HASH" },
	{ "boot", "apply the values that persist keeps for every boot, as the boot-time unit does",
	  ASK_FLAG(apply_ask, boot) },
	{ ASK_PART(apply_ask, machine, machine_ask) },
	{ ASK_PART(apply_ask, settings, profile_ask) },
	{ ASK_PART(apply_ask, allow, allow_ask) },
	{ ASK_PART(apply_ask, change, change_ask) },
};

struct apply_verb_answer {
	struct outcome_answer result;
	struct plan_answer plan; /* of a dry run */
	struct verify verify;	 /* of --boot */
	const struct ledger *ledger;
	struct machine *m;
	struct planned planned;
	struct txn_report report;
	int code, applied; /* applied: what txn_apply returned */
	bool dry, shown;   /* shown: the plan was, before it was agreed to */
};

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
	err_hint(e, "\"gputune plan%s\" shows the reasons, and which changes --allow permits",
		 p->m->reading ? p->m->reading : "");
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
	err_set(e, -EIO, "%zu of the requested settings are unreadable: %s: %s", n, first, why);
	err_hint(e, "whether they are in effect is unknown; check the kernel log for errors");
	return true;
}

/* Nothing that was selected by id applies here: why, of the first; otherwise NULL. */
static const char *no_use(struct arena *a, const struct planned *p)
{
	const struct findings *f = &p->findings;

	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].v.kind != VERDICT_NA)
			return NULL;
	return f->n && p->profile.n_only ? arena_printf(a, "%s does not apply: %s",
							f->items[0].s->id, f->items[0].v.reason)
					 : NULL;
}

/* apply: what makes the changes; NULL: it is being asked. */
static struct doc *plan_doc(struct arena *a, const struct apply_verb_answer *x, bool verbose,
			    const char *apply)
{
	const struct plan_view how = { .verbose = verbose, .ledger = x->ledger, .apply = apply };

	return page_plan(a, x->m, &x->planned.plan, &how);
}

/* The plan as it is agreed to, and what came of it. */
static int apply_plan(struct door *d, struct host *h, const struct change_ask *change,
		      struct apply_verb_answer *out)
{
	const struct planned *p = &out->planned;
	const struct txn_who who = txn_who_here(d->arena, change->reason);
	size_t open = plan_open_changes(&p->plan);
	struct err e = { 0 };
	int code;

	out->shown = open && !change->dry_run;
	if (out->shown) {
		code = door_agreed(
			d, plan_doc(d->arena, out, d->verbose, NULL),
			arena_printf(d->arena, "Make %s?", changes_text(d->arena, open)));
		if (code)
			return code;
		door_report_lost_at_boot(d, h);
		out->applied = txn_apply(h, d->arena, &p->plan, &who, &out->report, &e);
	}
	code = all_is_refused(p, &e) ? EXIT_NOT_APPLIED : txn_exit_code(out->applied);
	if (code == EXIT_CLEAN && is_blind(p, &e))
		code = EXIT_BLIND;
	if (code == EXIT_CLEAN && !p->plan.n && p->plan.n_advice && !anything_is_so(&p->findings)) {
		code = EXIT_NOT_APPLIED;
		err_set(&e, -EPERM, "nothing was changed: the change must be made by hand");
	}
	out->result = outcome_answer_of(d->arena, &out->report, &e);
	out->plan = plan_answer_of(&p->plan);
	if (code)
		d->say(d->ctx, 0, &e);
	else if (change->dry_run)
		door_warn(d, "dry run: nothing was written");
	return code;
}

/* The plan that a person approved: their agreement is the approval. Taken before anything is
 * written. */
static int apply_approved(struct door *d, struct host *h, const struct apply_ask *ask,
			  struct apply_verb_answer *out)
{
	struct approval approved;
	struct err e = { 0 };
	int code;

	if (ask->plan || ask->settings.profile || ask->settings.only || ask->settings.skip ||
	    ask->allow.allow)
		return door_refuse(d, EXIT_USAGE,
				   "--approved already selects the changes to apply");
	if (approval_read(h, d->arena, ask->approved, &approved, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	code = door_plan_json(d, h, approved.plan, ask->approved, approved.allow, &out->planned);
	if (!code && !out->dry && approval_take(h, d->arena, &approved, d->asker, &e))
		code = door_fail(d, EXIT_NOT_APPLIED, &e);
	approval_free(&approved);
	if (code)
		return code;
	out->m = out->planned.m;
	out->ledger = door_ledger(d, h, out->m);
	code = apply_plan(d, h, &ask->change, out);
	if (out->report.txn && approval_done(h, d->arena, ask->approved, out->report.txn))
		door_warn(
			d,
			"the approval to undo cannot be stored: undo transaction %lu by its number",
			out->report.txn);
	return code;
}

static int apply(struct door *d, struct host *h, const struct apply_ask *ask,
		 struct apply_verb_answer *out)
{
	const struct txn_who who = txn_who_here(d->arena, ask->change.reason);
	struct planned *p = &out->planned;
	int code = door_recover_first(d, h, &who, out->dry);

	if (code)
		return code;
	if (ask->approved)
		return apply_approved(d, h, ask, out);
	if (ask->plan)
		code = door_plan_file(d, h, ask->plan, &ask->settings, ask->allow.allow, p);
	else if ((code = door_profile(d, &ask->settings, &p->profile)) == 0)
		code = door_plan(d, h, ask->allow.allow, p);
	if (code)
		return code;
	out->m = p->m;
	out->ledger = door_ledger(d, h, p->m);
	return apply_plan(d, h, &ask->change, out);
}

/* --- --boot ----------------------------------------------------------------------------------- */

/* The request says all of what is written: options that narrow a plan would be passed over. */
static int check_alone(struct door *d, const struct apply_ask *ask)
{
	const char *other = ask->settings.profile ? "profile"
			    : ask->settings.only  ? "only"
			    : ask->settings.skip  ? "skip"
						  : NULL;

	if (ask->plan || ask->approved)
		return door_refuse(d, EXIT_USAGE, "give either a plan or --boot");
	if (other)
		return door_refuse(d, EXIT_USAGE,
				   "--boot applies the entries of %s and does not accept --%s",
				   PERSIST_REQUEST, other);
	return 0;
}

static int apply_boot(struct door *d, struct host **h, const struct apply_ask *ask,
		      struct apply_verb_answer *out)
{
	int code = check_alone(d, ask);

	if (code)
		return code;
	if (!out->dry)
		return boot_apply(d, h, &ask->machine, &out->m, &out->verify);
	code = boot_plan(d, *h, &ask->change, &out->planned);
	if (code)
		return code;
	out->m = out->planned.m;
	out->plan = plan_answer_of(&out->planned.plan);
	out->ledger = door_ledger(d, *h, out->m);
	door_warn(d, "dry run: nothing was written");
	return EXIT_CLEAN;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int apply_answer(struct door *d, const struct apply_ask *ask, struct apply_verb_answer *out)
{
	HOST_AUTO *h = NULL;
	int code;

	out->dry = ask->change.dry_run;
	code = door_check_overlay(d, &ask->machine, out->dry);
	if (code)
		return code;
	h = door_change_host(d, &ask->machine, out->dry);
	code = h ? 0 : -EXIT_USAGE;
	if (code == 0)
		code = ask->boot ? apply_boot(d, &h, ask, out) : apply(d, h, ask, out);
	out->code = code;
	return code;
}

/* The daemon that sets another value at boot, whatever files say; NULL: none. */
static const char *resetter(const struct change *c)
{
	for (size_t i = 0; i < c->n_owners; i++)
		if (c->owners[i].fights && c->owners[i].at_boot && c->owners[i].value &&
		    strcmp(c->owners[i].value, c->after) != 0)
			return c->owners[i].what;
	return NULL;
}

/* Nothing at boot sets another value, as far as is known. */
static bool all_agree(const struct change *c)
{
	size_t n = c->n_owners;

	while (n && c->owners[n - 1].value && strcmp(c->owners[n - 1].value, c->after) == 0)
		n--;
	return n == 0;
}

/* Says which applied settings another program or file sets at boot: those that a daemon resets, or
 * the others (d NULL: says nothing). Returns how many changes. */
static size_t owned_at_boot(struct doc *d, const struct apply_verb_answer *x, bool reset)
{
	const struct change *first = NULL, *c = x->planned.plan.changes;
	size_t n = 0, changes = 0;

	for (size_t i = x->planned.plan.n; x->report.n && x->applied == 0 && i--; c++) {
		if (c->gate || all_agree(c) || reset != (resetter(c) != NULL))
			continue;
		changes++;
		n += !first || strcmp(c->s->id, first->s->id) != 0;
		first = first ? first : c;
	}
	if (first && d)
		doc_text(
			d,
			reset ? "%s%s not kept after a reboot while this sets another value: %s."
			      : "%s%s also set at boot by another program or file: \"%s\" shows "
				"which value wins.",
			first->s->id,
			n > 1 ? arena_printf(d->arena, " and %zu more are", n - 1) : " is",
			reset ? resetter(first)
			      : machine_command(d->arena, x->m, true, "persist install --dry-run"));
	return changes;
}

/* The plan where it was not shown before, and what was done. What the unit could not set at boot is
 * said already. */
static struct doc *apply_page(struct arena *a, const struct apply_ask *ask,
			      const struct apply_verb_answer *x, const struct page_view *view)
{
	const char *words = ask->boot	    ? "apply --boot"
			    : ask->approved ? arena_printf(a, "apply --approved %s", ask->approved)
					    : apply_words(a, &ask->settings, &ask->allow, ask->plan,
							  x->planned.profile.name);
	struct doc *d = x->shown || (ask->boot && !x->dry) ? doc_new(a)
							   : plan_doc(a, x, view->verbose, words);
	struct txn_report report = x->report;
	bool idle = !ask->boot && !x->planned.plan.n && x->code == EXIT_CLEAN;
	const char *useless = idle ? no_use(a, &x->planned) : NULL;

	report.reset = owned_at_boot(NULL, x, true);
	if (useless)
		doc_text(d, "%s. Nothing was changed.", useless);
	else if (!x->dry && idle && x->planned.plan.n_advice)
		doc_text(d, "Nothing was changed: the %s above %s work by hand.",
			 x->planned.plan.n_advice == 1 ? "finding" : "findings",
			 x->planned.plan.n_advice == 1 ? "needs" : "need");
	else if (!x->dry && (x->report.n || idle))
		doc_append(d, page_apply(a, x->m, &report, x->applied), 1);
	owned_at_boot(d, x, true);
	owned_at_boot(d, x, false);
	return d;
}

static const struct result_shape *apply_other(const void *ask, const void **answer)
{
	const struct apply_ask *asked = ask;
	const struct apply_verb_answer *x = *answer;

	if (asked->change.dry_run) {
		*answer = &x->plan;
		return &plan_result;
	}
	if (!asked->boot)
		return NULL;
	*answer = &x->verify;
	return &verify_result;
}

static const struct result_shape *const apply_others[] = { &plan_result, &verify_result, NULL };

static void apply_head(const void *answer, const void **host, long long *time_s)
{
	const struct apply_verb_answer *x = answer;

	*host = x->dry ? (const void *)&x->planned.plan : x->m;
	*time_s = x->dry ? x->planned.plan.time_s : fact_or(&x->m->time_s, 0);
}

VERB_ANSWER(apply_answer_any, apply_answer, apply_ask, apply_verb_answer)
VERB_PAGE(apply_page_any, apply_page, apply_ask, apply_verb_answer)

/* clang-format off */
const struct verb apply_verb = {
	.name = "apply", .group = VERB_CHANGE, .common = true, .summary = "make the changes; each can be undone",
	.about = "Shows the changes and prompts, unless --yes. PLAN is a file from plan -o; without it a new "
	  "plan is made. Old values are journaled before each write, new values are read back; if one fails, "
	  "all are rolled back. Refused changes are skipped and listed.",
	.exits = "3: no requested change is in effect: refused, rolled back or manual; 4: a rollback is "
	  "incomplete", .words = "fix set improve change configure",
	.examples = EXAMPLES({ "apply --dry-run", "preview first" },
	  { "sudo apply --only net --yes", "network settings, without a prompt" },
	  { "sudo apply plan.json", "exactly the changes in a plan" },
	  { "apply --host demo:dgx-spark --overlay try --yes", "try it on a captured machine" }),
	.ask = ASK_OF(apply_ask, NULL, apply_ask_rows), .answer = apply_answer_any, .result = &apply_result,
	.other = apply_other, .others = apply_others, .answer_size = sizeof(struct apply_verb_answer),
	.page = apply_page_any, .head = apply_head, .changes = true,
};
/* clang-format on */
