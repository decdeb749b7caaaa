/* SPDX-License-Identifier: Apache-2.0 */
/* gputune doctor: from a symptom to its cause, with evidence. */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "measure/bench/conditions.h"
#include "measure/doctor/listen.h"
#include "tune/txn/txn.h"
#include "verbs/benches.h"
#include "tune/txn/page_txn.h"
#include "verbs/change.h"
#include "verbs/defect_rows.h"
#include "verbs/doctor.h"
#include "verbs/page_plan.h"
#include "verbs/persist/persist.h"
#include "verbs/ranks.h"

struct doctor_ask {
	struct ask_texts symptoms;
	const char *only, *profile;
	bool passive, fix, keep, all;
	double seconds;
	struct bench_ask bench;
	struct allow_ask allow;
	struct change_ask change;
	struct machine_ask machine;
	struct ranks_ask ranks;
};

struct doctoring {
	struct door *d;
	const struct doctor_ask *ask;
	struct host *h;
	struct machine *m;
	struct profile profile;
	struct findings findings;
	struct chosen chosen;
	struct doctor_plan plan; /* of the tests */
	struct idset cpus;
	struct observations first, now;
	struct record record;
	struct rule_facts e;
	struct examined *results;
	struct doctor_fix *fixes;
	size_t n_fixes;
	struct defects_view *known; /* NULL: not looked for */
	struct log_input input;	    /* what programs printed */
	bool listens;		    /* words and files were given to it, not to the report */
	atomic_bool stop;
};

enum { LOOK_MS = 1000, SETTLE_MS = 500, DAY_S = 86400 };

/* Whether a cause of theirs is judged by this sign; NULL: by counters, which are read twice. */
static bool judges(const struct chosen *c, const char *sign)
{
	for (size_t i = 0; i < c->n; i++)
		for (const struct cause *x = c->items[i]->causes, *end = x + c->items[i]->n;
		     x < end; x++)
			if (sign ? x->judges && strstr(x->judges, sign) : x->grows)
				return true;
	return false;
}

/* Facts, findings and signs as they are now. */
static void doctoring_look(struct doctoring *g, struct machine **m, struct findings *f,
			   struct observations *s)
{
	struct arena *a = g->d->arena;

	*m = door_machine(g->d, g->h, &(struct door_look){ 0 });
	settings_check(a, *m, &g->profile, door_read_knob, g->h, f);
	observations_read(a, g->h, *m, judges(&g->chosen, "seen.listens"), s);
}

/* What is known of software, driver and firmware that are here. */
static const struct defects_view *doctoring_defects(void *of)
{
	struct doctoring *g = of;
	struct stack_root root = { g->h, -1, !g->h->id.captured };
	struct defect_rows rows;
	struct world_look how = {
		.root = &root, .machine = g->h, .m = g->m, .live = !g->h->id.captured, .rows = &rows
	};

	if (!g->known) {
		g->known = ARENA_NEW(g->d->arena, struct defects_view);
		defects_rows(g->d, &rows);
		defects_look(g->d->arena, &how, g->known);
	}
	return g->known;
}

/* What gputune set and no file keeps, or another program overwrites. */
static void own_look(struct doctoring *g)
{
	struct arena *a = g->d->arena;
	struct hold_row *rows = NULL;
	struct journal j;
	struct err ignored = { 0 };
	TEXT_AUTO t = { 0 };
	TEXT_AUTO losers = { 0 };
	size_t n = 0;
	bool unread =
		journal_load(g->h, a, false, &j, &ignored) || txn_status(g->h, a, &j, &rows, &n);

	g->e.own_unseen = unread ? "the journal was not read" : PERSIST_LEFT_OUT;
	if (unread || !persist_fill_entries(g->d, g->h, rows, n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *id = rows[i].e->id, *loses = rows[i].loses;

		if (rows[i].hold == HOLD_OURS && loses && !(losers.s && strstr(losers.s, loses)))
			text_printf(&losers, "%s%s: %s", losers.len ? "; " : "", id, loses);
		else if (rows[i].hold == HOLD_OURS && !rows[i].kept)
			persist_add_id(&t, id);
	}
	g->e.own_overwritten = arena_strdup(a, losers.s ? losers.s : "");
	g->e.own_unkept = arena_strdup(a, t.s ? t.s : "");
}

/* Runs tests into a record of its own, with its conditions; summarised. */
static void doctoring_measure(struct doctoring *g, const struct doctor_plan *p, struct record *out,
			      const char *why[TESTS], struct path_look **path)
{
	struct record_conditions *c = &out->conditions;
	struct frame frame = { .env = { .a = g->d->arena,
					.m = g->m,
					.cpus = g->cpus,
					.stop = &g->stop,
					.ask = g->ask->bench,
					.h = g->h } };
	struct watch_list watch;
	struct sampler *s;

	*out = (struct record){ .version = GPUTUNE_VERSION, .time_s = fact_or(&g->m->time_s, 0) };
	record_fingerprint(g->d->arena, g->h, g->m, out);
	watch_list_make(g->d->arena, g->h, g->m, &watch);
	c->cpus = watch.cpus;
	c->idle_others = -1;
	conditions_look(g->h, &watch, &c->before);
	s = p->forbidden ? NULL : sampler_start(g->h, &watch, &g->stop);
	frame_start(&frame);
	doctor_run_tests(&frame, p, out, why, path);
	if (s)
		sampler_end(g->d->arena, s, c);
	conditions_look(g->h, &watch, &c->after);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
	record_summarise(out);
	record_judge(g->d->arena, out);
}

static void verb_doctor_look(struct doctoring *g)
{
	double begin = clock_mono_s();
	struct path_look *path = NULL;
	bool live = !g->h->id.captured, words = g->chosen.named && g->ask->passive;
	bool twice = live && !words && (!g->chosen.named || judges(&g->chosen, NULL));

	doctoring_look(g, &g->m, &g->findings, &g->first);
	g->plan.forbidden = g->h->id.captured ? "this is a captured machine"
			    : g->ask->passive ? "--passive was given"
					      : NULL;
	if (!g->plan.forbidden)
		door_progress(g->d, doctor_tests_seconds(&g->plan), true, "running tests");
	doctoring_measure(g, &g->plan, &g->record, g->e.not_run, &path);
	if (twice && clock_mono_s() - begin < 1)
		usleep(LOOK_MS * 1000);
	if (twice)
		observations_read(g->d->arena, g->h, g->m, true, &g->now);
	g->e.a = g->d->arena;
	g->e.m = g->m;
	g->e.findings = &g->findings;
	g->e.signs = twice ? &g->now : &g->first;
	g->e.earlier = twice ? &g->first : NULL;
	g->e.apart_s = clock_mono_s() - begin;
	g->e.record = &g->record;
	g->e.known = doctoring_defects;
	g->e.known_of = g;
	g->e.path = path;
	own_look(g);
}

/* What this machine has no part for is half as likely: the log may be of another one. Without a
 * description: how grave the settings behind what was found are, as check has it. */
static double verb_doctor_fit(const struct doctoring *g, const struct examined *x)
{
	enum likelihood most = x->state == DOCTOR_FOUND ? CAUSE_LIKELY : CAUSE_POSSIBLE;
	double worst = 0;

	if (x->match)
		return x->match->probability * (x->state == DOCTOR_NOT_HERE ? 0.5 : 1);
	for (size_t i = 0; i < x->n && x->causes[i].v.likelihood <= most; i++)
		for (size_t k = 0; x->causes[i].c->setting && k < g->findings.n; k++) {
			const struct finding *f = &g->findings.items[k];
			if (f->v.kind == VERDICT_FAIL && (double)f->severity >= worst &&
			    strcmp(f->s->id, x->causes[i].c->setting) == 0)
				worst = (double)f->severity + 1;
		}
	return worst > 0 && x->state == DOCTOR_FOUND ? worst + 10 : worst;
}

static void examine(struct doctoring *g)
{
	g->results = arena_array(g->d->arena, g->chosen.n, sizeof(*g->results));
	for (size_t i = 0; i < g->chosen.n; i++) {
		doctor_examine(&g->e, g->chosen.items[i], &g->results[i]);
		if (g->chosen.matches)
			g->results[i].match = &g->chosen.matches[i];
	}
	for (size_t i = 1; i < g->chosen.n; i++)
		for (size_t k = i; k && verb_doctor_fit(g, &g->results[k]) >
						verb_doctor_fit(g, &g->results[k - 1]);
		     k--) {
			struct examined t = g->results[k];

			g->results[k] = g->results[k - 1];
			g->results[k - 1] = t;
		}
}

/*
 * doctor --fix: for each diagnosis that was found, measure once more, set what mends it, measure
 * again, keep or take back. In between the change is a trial (tune/txn/txn.h): should this process
 * die, the next command that writes takes it back.
 */

#define GATE_LATER "later" /* beside those of tune/plan/plan.h: of these plans alone */

/* The settings that mend what was found, comma-separated; NULL: none does. */
static const char *settings_of(struct arena *a, const struct examined *x)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < x->d->n; i++) {
		const struct cause_result *r = &x->causes[i];

		if (r->v.likelihood <= CAUSE_LIKELY && r->c->fix &&
		    (!t.s || !strstr(t.s, r->c->fix)))
			text_printf(&t, "%s%s", t.len ? "," : "", r->c->fix);
	}
	return t.len ? arena_strdup(a, t.s) : NULL;
}

/* Refusals of the plan's gates, or that it has nothing to write. */
static const char *verb_doctor_nothing_to_write(struct arena *a, const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].gate)
			return arena_printf(a, "refused: %s", p->changes[i].refusal);
	if (p->n_advice)
		return arena_printf(a, "gputune has no setting that fixes it: %s",
				    p->advice[0].sentence);
	return "the profile's target values are already set";
}

/* What waits for a boot would be measured as if it had been set, and taken back for nothing. */
static void leave_for_later(struct arena *a, struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (c->gate || c->effect == EFFECT_NOW)
			continue;
		c->gate = GATE_LATER;
		c->refusal = arena_printf(a,
					  "%s does not take effect immediately: run \"gputune "
					  "apply --only %s\" and measure again after a reboot",
					  c->s->id, c->s->id);
	}
}

static bool writes(const struct plan *p, const char *id)
{
	for (size_t i = 0; i < p->n; i++)
		if (!p->changes[i].gate && strcmp(p->changes[i].s->id, id) == 0)
			return true;
	return false;
}

/* What is to be said of a change: its setting where that is written, else why not. */
static const char *to_report(const struct change *c)
{
	return c->gate ? c->refusal : c->s->id;
}

/* A setting with many targets is one word. */
static bool is_mentioned(const struct plan *p, size_t n, const struct change *c)
{
	for (size_t i = 0; i < n; i++)
		if (!p->changes[i].gate == !c->gate &&
		    strcmp(to_report(&p->changes[i]), to_report(c)) == 0)
			return true;
	return false;
}

/* The settings that are written, comma-separated, and why the others are not. */
static void split_fix(struct arena *a, const struct plan *p, struct doctor_fix *out)
{
	TEXT_AUTO set = { 0 };
	TEXT_AUTO left = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		struct text *t = c->gate ? &left : &set;

		if (!is_mentioned(p, i, c))
			text_printf(t, "%s%s", t->len ? c->gate ? "; " : "," : "", to_report(c));
	}
	out->settings = arena_strdup(a, set.s);
	out->left = left.len ? arena_strdup(a, left.s) : NULL;
}

/* What found causes name a value for and the profile leaves alone. */
static void verb_doctor_add_values(struct doctoring *g, const struct examined *x, struct planned *p)
{
	for (size_t i = 0; i < x->d->n; i++) {
		const struct cause *c = x->causes[i].c;
		size_t n;

		if (x->causes[i].v.likelihood > CAUSE_LIKELY || !c->fix || !c->value)
			continue;
		n = door_add_value(g->d, g->h, p, g->ask->allow.allow, c->fix, NULL, c->value,
				   false);
		for (size_t k = 0; n && k < p->plan.n; k++)
			if (strcmp(p->plan.changes[k].s->id, c->fix) == 0)
				p->plan.changes[k].why = x->causes[i].v.text;
	}
}

/* 0, or as answers. */
static int verb_doctor_make_plan(struct doctoring *g, const struct examined *x,
				 const char *settings, struct planned *p)
{
	const struct profile_ask wanted = { g->ask->profile, settings, NULL };
	int code = door_profile(g->d, &wanted, &p->profile);

	code = code ? code : door_plan(g->d, g->h, g->ask->allow.allow, p);
	if (code)
		return code;
	verb_doctor_add_values(g, x, p);
	leave_for_later(g->d->arena, &p->plan);
	return 0;
}

static int verb_doctor_agreed(struct doctoring *g, const struct planned *p,
			      const struct examined *x)
{
	struct arena *a = g->d->arena;
	bool tested = (x->d->tests & ~TEST_BIT(TEST_PATH)) && !g->plan.forbidden;
	struct plan_view how = { 0 };

	return door_agreed(
		g->d, page_plan(a, p->m, &p->plan, &how),
		arena_printf(
			a,
			tested ? "Make %s for %s, measure again, and undo changes that do not help?"
			       : "Make %s for %s, and undo changes that do not remove the cause? "
				 "No test measures the effect.",
			changes_text(a, plan_open_changes(&p->plan)), x->d->id));
}

/* What had found the causes, once more, in *now: true when it finds none that p has set something
 * for. */
static bool verb_doctor_is_gone(struct doctoring *g, const struct examined *x, const struct plan *p,
				const struct record *after, const struct doctor_plan *tests,
				const char *why[TESTS], const struct path_look *path,
				struct examined *now, struct findings *f)
{
	struct observations s;
	struct rule_facts e = g->e;
	struct machine *m;

	doctoring_look(g, &m, f, &s);
	e.m = m;
	e.findings = f;
	e.signs = &s;
	e.earlier = NULL;
	e.record = after;
	e.path = path;
	for (unsigned t = 0; t < TESTS; t++)
		if (tests->tests & TEST_BIT(t))
			e.not_run[t] = why[t];
	doctor_examine(&e, x->d, now);
	now->match = x->match;
	for (size_t i = 0; i < x->d->n; i++)
		if (now->causes[i].v.likelihood <= CAUSE_LIKELY && now->causes[i].c->fix &&
		    writes(p, now->causes[i].c->fix))
			return false;
	return true;
}

/* --- Ctrl-C -----------------------------------------------------------------------------------
 *
 * While a change is tried, signals wait: the sampler of a measurement takes them, between
 * measurements they are looked for here. Otherwise one that comes just then would end the process
 * and leave the change to the next command.
 */
static sigset_t stopping(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

static bool verb_doctor_stopped(struct doctoring *g)
{
	const struct timespec at_once = { 0 };
	sigset_t set = stopping();

	if (sigtimedwait(&set, NULL, &at_once) > 0)
		atomic_store(&g->stop, true);
	return atomic_load(&g->stop);
}

/* The change is in force: measure, then keep or take back. */
static int verb_doctor_judge(struct doctoring *g, struct examined *x, const struct plan *p,
			     const struct doctor_plan *tests, const struct record *before,
			     struct txn_trial *trial, struct doctor_fix *out, struct err *e)
{
	struct record *after = ARENA_NEW(g->d->arena, struct record);
	const char *why[TESTS] = { 0 };
	struct path_look *path = NULL;
	struct examined *now = ARENA_NEW(g->d->arena, struct examined);
	struct findings *f = ARENA_NEW(g->d->arena, struct findings);
	bool gone;

	usleep(SETTLE_MS * 1000);
	if (!verb_doctor_stopped(g))
		doctoring_measure(g, tests, after, why, &path);
	if (verb_doctor_stopped(g)) {
		out->trouble = "interrupted: the changes were undone";
		return txn_trial_revert(trial, NULL, e);
	}
	gone = verb_doctor_is_gone(g, x, p, after, tests, why, path, now, f);
	doctor_remeasure(g->d->arena, &g->record, before, after, gone, &out->v);
	out->measured = true;
	out->kept = out->v.keep || g->ask->keep;
	if (out->kept) {
		x->now = now;
		g->e.findings = f;
	}
	return out->kept ? txn_trial_keep(trial, e) : txn_trial_revert(trial, NULL, e);
}

/* Only the cases of this diagnosis's tests: others were measured too, and would be compared. */
static int verb_doctor_try_it(struct doctoring *g, struct examined *x, const struct plan *p,
			      struct doctor_fix *out)
{
	struct doctor_plan tests = { .tests = x->d->tests & ~TEST_BIT(TEST_PATH),
				     .named = g->plan.named,
				     .seconds = g->plan.seconds,
				     .forbidden = g->plan.forbidden };
	struct txn_who who = txn_who_here(g->d->arena, g->ask->change.reason);
	struct txn_report report = { 0 };
	struct record before;
	const char *why[TESTS] = { 0 };
	struct path_look *path = NULL;
	struct txn_trial *trial = NULL;
	struct err e = { 0 };
	int r;

	doctoring_measure(g, &tests, &before, why, &path);
	if (atomic_load(&g->stop)) {
		out->trouble = "interrupted before anything was written";
		return EXIT_NOT_APPLIED;
	}
	r = txn_trial_begin(g->h, g->d->arena, &who,
			    arena_printf(g->d->arena, "doctor %s", x->d->id), &report, &trial, &e);
	if (r == 0 && report.recovered)
		door_warn(g->d, "%zu interrupted transactions were rolled back first",
			  report.recovered);
	if (r == 0) {
		int code;

		r = txn_trial_set(trial, p, "apply", &report, &e);
		out->txn = r == 0 ? report.txn : 0;
		if (r == 0)
			r = verb_doctor_judge(g, x, p, &tests, &before, trial, out, &e);
		code = txn_trial_end(trial, r ? &(struct err){ 0 } : &e);
		r = r ? r : code;
	}
	if (r == 0)
		return 0;
	out->kept = false;
	out->trouble = arena_strdup(g->d->arena, e.text);
	door_warn(g->d, "%s", e.text);
	return r == -EUCLEAN ? EXIT_STUCK : EXIT_NOT_APPLIED;
}

static int try_held(struct doctoring *g, struct examined *x, const struct plan *p,
		    struct doctor_fix *out)
{
	sigset_t set = stopping(), old;
	int code;

	pthread_sigmask(SIG_BLOCK, &set, &old);
	code = verb_doctor_try_it(g, x, p, out);
	(void)verb_doctor_stopped(g);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return code;
}

/* An exit code; 0: all went as it should. */
static int fix_one(struct doctoring *g, struct examined *x, const char *settings)
{
	struct arena *a = g->d->arena;
	struct planned p = { 0 };
	struct doctor_fix *out;
	int code = verb_doctor_make_plan(g, x, settings, &p);

	if (code)
		return -code;
	out = &ARENA_ADD(a, g->fixes, g->n_fixes);
	*out = (struct doctor_fix){ .diagnosis = x->d->id, .settings = settings };
	if (!plan_open_changes(&p.plan)) {
		out->trouble = verb_doctor_nothing_to_write(a, &p.plan);
		return 0;
	}
	split_fix(a, &p.plan, out);
	if (g->ask->change.dry_run) {
		out->trouble = "dry run: nothing was written";
		return 0;
	}
	code = verb_doctor_agreed(g, &p, x);
	if (code) {
		out->trouble = "declined";
		return code == -EXIT_USAGE ? EXIT_USAGE : 0;
	}
	return try_held(g, x, &p.plan, out);
}

/* Fixes what was found and can be fixed, one diagnosis after the other: exit code, 0 when all went
 * as it should. */
static int doctoring_fix(struct doctoring *g)
{
	size_t fixable = 0;
	int code = 0;

	for (size_t i = 0; i < g->chosen.n && !atomic_load(&g->stop); i++) {
		struct examined *x = &g->results[i];
		const char *settings =
			x->state == DOCTOR_FOUND ? settings_of(g->d->arena, x) : NULL;
		int r;

		if (!settings)
			continue;
		fixable++;
		r = fix_one(g, x, settings);
		code = code == EXIT_STUCK ? code : r ? r : code;
		if (r == EXIT_USAGE || r == EXIT_STUCK)
			break;
	}
	if (!fixable)
		door_warn(g->d, "no cause found that a setting fixes");
	return code;
}

static const char *diagnosis_proposal(size_t i)
{
	DIAGNOSIS_FOR_EACH (d)
		if (i-- == 0)
			return d->id;
	return NULL;
}

static int no_diagnosis(struct doctoring *g, const char *name)
{
	struct near_word near = near_word_to(name);
	struct err e = { 0 };
	const char *id;

	for (size_t i = 0; (id = diagnosis_proposal(i)); i++)
		near_word_try(&near, id, id);
	err_set(&e, -EINVAL, "unknown diagnosis \"%s\"", name);
	err_hint_near(&e, near.word, "\"gputune doctor list\" lists all diagnoses");
	return door_fail(g->d, EXIT_USAGE, &e);
}

/* By words and what programs printed. 0, or as answers. */
static int verb_doctor_describe(struct doctoring *g)
{
	const struct ask_texts *words = &g->ask->symptoms;
	struct defect_rows *rows = ARENA_NEW(g->d->arena, struct defect_rows);
	struct err e = { 0 };

	log_input_init(g->d->arena, &g->input);
	g->input.all = g->ask->all;
	g->input.defects = rows;
	if (!g->listens) {
		doctor_choose(g->d->arena, NULL, 0, NULL, &g->chosen);
		return 0;
	}
	defects_rows(g->d, rows);
	if (doctor_describe(g->d->arena, words->items, words->n, &g->input, &g->chosen, &e))
		return door_fail(g->d, EXIT_USAGE, &e);
	if (g->chosen.unknown && g->ask->fix)
		return door_refuse(g->d, EXIT_USAGE,
				   "no diagnosis fits this description, so nothing is fixed; "
				   "\"gputune doctor list\" lists all");
	return 0;
}

static int verb_doctor_choose(struct doctoring *g)
{
	const struct ask_texts *words = &g->ask->symptoms;
	struct arena *a = g->d->arena;
	const char *const *ids, *bad = NULL;
	struct chosen only = { 0 };
	size_t n;
	int code;

	ids = door_words(g->d, g->ask->only, &n);
	if (g->ask->only && !n)
		return door_refuse(g->d, EXIT_USAGE, "--only: no ids in \"%s\"", g->ask->only);
	if (n && !doctor_only(a, ids, n, &only, &bad))
		return no_diagnosis(g, bad);
	if (n && !words->n) {
		g->chosen = only;
		return 0;
	}
	code = verb_doctor_describe(g);
	if (!code && n)
		doctor_only(a, ids, n, &g->chosen, &bad);
	return code;
}

/* 0, or as answers. */
static int verb_doctor_begin(struct doctoring *g, struct door *d, const struct doctor_ask *ask)
{
	/* --only names diagnoses; every setting is evidence. */
	const struct profile_ask all = { .profile = ask->profile };
	int code = 0;

	g->d = d;
	g->ask = ask;
	g->cpus = bench_allowed(d->arena);
	if (ask->fix)
		code = door_check_overlay(d, &ask->machine, ask->change.dry_run);
	code = code ? code : door_profile(d, &all, &g->profile);
	code = code ? code : verb_doctor_choose(g);
	g->plan =
		(struct doctor_plan){ .tests = g->chosen.unknown ? 0 : doctor_tests_of(&g->chosen),
				      .named = g->chosen.named,
				      .seconds = ask->seconds };
	return code;
}

/* What was asked for by name has to be tested; otherwise something has. */
static int verb_doctor_code_of(const struct doctoring *g, const struct doctor_view *v)
{
	for (size_t i = 0; i < v->n && !g->chosen.unknown; i++) {
		const struct examined *x = &v->items[i];

		if ((x->now ? x->now : x)->state == DOCTOR_FOUND && !x->d->normal)
			return EXIT_FINDINGS;
	}
	if (g->chosen.unknown || (g->chosen.named && v->count[DOCTOR_OPEN]))
		return EXIT_BLIND;
	return v->count[DOCTOR_FINE] || v->count[DOCTOR_FOUND] ? EXIT_CLEAN : EXIT_BLIND;
}

static struct doctor_view view_of(const struct doctoring *g)
{
	/* clang-format off */
	struct doctor_view v = {
		.m = g->m, .e = &g->e, .items = g->results, .n = g->chosen.n, .fixes = g->fixes, .n_fixes = g->n_fixes,
		.tests = g->plan.tests, .named = g->chosen.named, .all = g->ask->all, .unknown = g->chosen.unknown,
		.sources = g->input.sources, .n_sources = g->input.n_sources, .defects = g->input.found,
		.n_defects = g->input.n_found,
	};
	/* clang-format on */

	for (size_t i = 0; i < v.n; i++)
		v.count[v.items[i].state]++;
	return v;
}

int doctor_passive(struct door *d, struct host *h, const char *profile, struct doctor_view *out)
{
	struct doctor_ask *ask = ARENA_NEW(d->arena, struct doctor_ask);
	struct doctoring *g = ARENA_NEW(d->arena, struct doctoring);
	int code;

	ask->passive = true;
	ask->profile = profile;
	code = verb_doctor_begin(g, d, ask);
	if (code)
		return code;
	g->h = h;
	verb_doctor_look(g);
	examine(g);
	*out = view_of(g);
	return 0;
}

static int doctor_answer(struct door *d, const struct doctor_ask *ask, struct doctor_view *out)
{
	struct doctoring *g = ARENA_NEW(d->arena, struct doctoring);
	struct host *posted = NULL;
	int code;

	g->listens = true;
	code = verb_doctor_begin(g, d, ask);
	if (code)
		return code;
	g->h = ask->fix ? door_change_host(d, &ask->machine, ask->change.dry_run)
			: door_host(d, &ask->machine);
	if (!g->h)
		return -EXIT_USAGE;
	if (g->input.a && !ask->fix && !ask->machine.capture)
		posted = log_input_machine(&g->input, ask->symptoms.items, ask->symptoms.n, g->h);
	if (posted) {
		host_close(g->h);
		g->h = posted;
	}
	verb_doctor_look(g);
	examine(g);
	code = ask->fix ? doctoring_fix(g) : 0;
	*out = view_of(g);
	code = code ? code : verb_doctor_code_of(g, out);
	host_close(g->h);
	return code;
}

static int list_answer(struct door *d, const void *ask, void *answer)
{
	(void)ask;
	doctor_all(d->arena, true, answer);
	return EXIT_CLEAN;
}

/* clang-format off */

static const struct ask_row doctor_ask_rows[] = {
	{ "SYMPTOM", "an id, a topic (gpu, nic), words (\"slow nccl\"), or files of programs' output; "
	  "- is standard input (default: everything)",
	  ASK_TEXTS(doctor_ask, symptoms), .argument = true, .proposal = diagnosis_proposal },
	{ "only", "only these diagnoses: ids or prefixes, comma-separated", ASK_TEXT(doctor_ask, only),
	  .arg = "IDS", .join = ',', .proposal = diagnosis_proposal },
	{ "all", "also show excluded or inapplicable causes, and diagnoses that match only weakly",
	  ASK_FLAG(doctor_ask, all), .letter = 'a' },
	{ "passive", "passive: run no tests", ASK_FLAG(doctor_ask, passive) },
	{ "for", "time for each test: 10s, 500ms, 2m", ASK_TIME(doctor_ask, seconds) },
	{ ASK_PART(doctor_ask, bench, bench_ask) },
	{ ASK_PART_OF(doctor_ask, bench, bench_peer_shape) },
	{ "fix", "apply the fix, measure again, and undo it if it does not help",
	  ASK_FLAG(doctor_ask, fix) },
	{ "keep", "with --fix: keep the fix even if it does not help; undo reverts it", ASK_FLAG(doctor_ask, keep) },
	{ PROFILE_ROW(doctor_ask) },
	{ ASK_PART(doctor_ask, allow, allow_ask) },
	{ ASK_PART(doctor_ask, change, change_ask) },
	{ ASK_PART(doctor_ask, machine, machine_ask) },
	{ ASK_PART_OF(doctor_ask, ranks, ranks_bench_shape) },
};
/* What changes this machine or measures a path to another is of this one alone. */
VERB_RANKS(doctor_ranks, doctor_ask, !x->machine.capture && !x->fix && !x->bench.peer)
VERB_ANSWER(doctor_any, doctor_answer, doctor_ask, doctor_view)
VERB_PAGE_OF(doctor_page, page_doctor, doctor_view)
VERB_PAGE_OF(list_page, page_doctor_list, chosen)
VERB_HEAD(doctor_head, doctor_view, m)

static const struct verb doctor_list_verb = {
	.name = "list",
	.summary = "every diagnosis and its symptom",
	.about = "Lists every diagnosis, the words that describe its symptom, and its tests.",
	.words = "symptoms diagnoses causes",
	.examples = EXAMPLES({ "doctor list", "all diagnoses" },
		{ "doctor list --format json", "for scripts" }),
	.answer = list_answer, .result = &doctor_list_result, .page = list_page,
};

const struct verb doctor_verb = {
	.name = "doctor",
	.group = VERB_LOOK,
	.common = true,
	.summary = "find the cause of a symptom, fix it, and measure whether the fix helped",
	.about = "SYMPTOM is an id, a topic (gpu, nic) or words. Causes are judged by facts, growing "
	  "counters and short tests. Network tests require --peer and --token; disk tests --files or --dir. "
	  "--fix applies a fix, measures again, and undoes it unless it helped.",
	.exits = "1: a cause was found; 5: the requested diagnosis could not be tested",
	.words = "diagnosis problem symptom trouble troubleshoot debug broken repair",
	.examples = EXAMPLES({ "doctor", "everything visible on this machine" },
		{ "doctor slow nccl", "a symptom in your own words" },
		{ "doctor gpu --passive", "one topic, without tests" },
		{ "doctor \"engine hangs\" train.log", "words, and a file with a program's output" },
		{ "doctor disk.slow-load --files /models", "one diagnosis, with files to read" }),
	.ask = ASK_OF(doctor_ask, NULL, doctor_ask_rows), .answer = doctor_any, .result = &doctor_result,
	.subs = (const struct verb *const[]){ &doctor_list_verb, NULL }, .page = doctor_page, .head = doctor_head,
	.ranks = doctor_ranks, .asks = true, .reads = READS_CAPTURE, .own_process = true,
};
