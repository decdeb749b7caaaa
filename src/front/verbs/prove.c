/* SPDX-License-Identifier: Apache-2.0 */
/* gputune prove: is a setting worth anything on this machine? */
#include "front/verbs/prove.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "front/verbs/page.h"
#include "tune/plan/plan_json.h"
#include "front/pages/page_plan.h"
#include "measure/prove/page_prove.h"

enum { LOOK_MS = 400 };

static void progress(void *ctx, const struct engine *e, enum proof_part part, size_t pair,
		     size_t of)
{
	static const char *const texts[] = { "warming up, window",
					     "the machine against itself, pair",
					     "with and without, pair", "screening, pair",
					     "confirming, pair" };
	struct proving *g = ctx;
	double at = e->clock->now(e->clock->ctx) - e->start;

	(void)of;
	if (!g->tty)
		return;
	g->live_line = true;
	fprintf(stderr, "\r\033[K%s: %s %zu, %.0f s of at most %.0f s", g->proof.what, texts[part],
		pair + 1, at, g->proof.budget_s);
	fflush(stderr);
}

static void end_line(struct proving *g)
{
	if (g->live_line)
		fputs("\r\033[K", stderr);
	g->live_line = false;
}

/* Everything that is switched, by name. */
static void note_changes(struct proving *g)
{
	struct arena *a = &g->r->arena;
	const struct plan *p = &g->planned.plan;
	struct proof *out = &g->proof;
	const struct setting *first = NULL;
	bool *open;

	out->changes = arena_array(a, p->n, sizeof(*out->changes));
	open = arena_array(a, p->n, sizeof(*open));
	g->good = open;
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];

		open[i] = !c->gate;
		if (c->gate)
			continue;
		out->many = out->many || (first && first != c->s);
		first = first ? first : c->s;
		out->changes[out->n_changes++] =
			(struct proof_change){ c->s->id, c->target, knob_text(a, &c->knob),
					       c->before, c->after };
	}
	if (first && !out->many)
		out->what = first->id;
	else if (g->r->value[OPT_ONLY])
		out->what = arena_strdup(a, g->r->value[OPT_ONLY]);
	else
		out->what = arena_printf(a, "profile:%s", g->planned.profile.name);
}

/* --- measuring ---------------------------------------------------------------------------------
 */

static int verdict_code(const struct proof *p)
{
	if (p->trouble)
		return EXIT_STUCK;
	return p->verdict == RULING_UNDECIDED ? EXIT_BLIND
	       : p->verdict == RULING_HURTS   ? EXIT_FINDINGS
					      : EXIT_CLEAN;
}

static void keep(struct proving *g)
{
	struct err e = { 0 };
	int r;

	if (!g->r->value[OPT_KEEP] || g->proof.verdict != RULING_HELPS || g->proof.trouble ||
	    g->proof.foreign)
		return;
	r = switch_keep(g->engine.sw, g->good, g->planned.plan.profile, &g->proof.txn, &e);
	g->proof.kept = r == 0;
	if (r)
		g->proof.trouble = arena_printf(&g->r->arena, "it could not be kept: %s", e.text);
}

static void measure(struct proving *g)
{
	struct record_conditions *c = &g->proof.conditions;
	struct record_moment first;
	struct sampler *s;

	watch_list_make(&g->r->arena, g->h, g->planned.m, &g->watch);
	c->cpus = g->watch.cpus;
	conditions_look(g->h, &g->watch, &first);
	usleep(LOOK_MS * 1000);
	conditions_look(g->h, &g->watch, &c->before);
	c->idle_others = conditions_others(&first, &c->before);
	s = sampler_start(g->h, &g->watch, &g->stop);
	g->engine.plan = &g->planned.plan;
	if (g->proof.many)
		engine_prove_many(&g->engine, &g->good);
	else
		engine_prove(&g->engine, g->good);
	keep(g);
	if (s)
		sampler_end(&g->r->arena, s, c);
	end_line(g);
	conditions_look(g->h, &g->watch, &c->after);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
}

static int print(struct proving *g, int code)
{
	if (g->r->value[OPT_QUIET])
		return code;
	if (run_wants_json(g->r))
		run_print_json(g->r, prove_json(g->planned.m, &g->proof, code));
	else if (run_print_doc(g->r, page_prove(&g->r->arena, &g->proof), "gputune prove"))
		return EXIT_USAGE;
	return code;
}

static int run_proof(struct proving *g)
{
	struct arena *a = &g->r->arena;
	struct err e = { 0 };
	int code = switch_begin(g->h, a, &g->who, arena_printf(a, "prove %s", g->proof.what),
				&g->planned.plan, &g->engine.sw, &e);

	if (code)
		return complain(run_code_of(code), &e);
	g->engine.a = a;
	g->engine.p = &g->proof;
	g->engine.clock = &engine_real;
	g->engine.stop = &g->stop;
	g->engine.progress = progress;
	g->engine.ctx = g;
	g->tty = isatty(STDERR_FILENO) && !g->r->value[OPT_QUIET];
	record_fingerprint(a, g->h, g->planned.m, &g->proof.machine);
	g->proof.machine.time_s = fact_or(&g->planned.m->time_s, 0);
	measure(g);
	code = switch_end(g->engine.sw, &e);
	if (code && code != -ESTALE && !g->proof.trouble)
		g->proof.trouble = arena_printf(a, "%s: %s", e.text, e.hint);
	code = prove_store(g, verdict_code(&g->proof));
	return print(g, code);
}

/* A dry run's JSON is the plan, as of apply: there is no proof. Also where nothing can be proven.
 */
static int tell_plan(struct proving *g, int code)
{
	if (g->r->value[OPT_DRY_RUN] && run_wants_json(g->r) && !g->r->value[OPT_QUIET] &&
	    g->planned.m && code != EXIT_USAGE)
		run_print_json(g->r, plan_json(&g->planned.plan, code));
	return code;
}

/* What will be done, for who is asked to agree. */
static int announce(struct proving *g)
{
	struct plan_view how = { 0 };

	if (run_wants_json(g->r) || g->r->value[OPT_QUIET])
		return tell_plan(g, EXIT_CLEAN);
	if (run_print_doc(g->r, page_plan(&g->r->arena, g->planned.m, &g->planned.plan, &how),
			  "gputune prove"))
		return EXIT_USAGE;
	fflush(g->r->out);
	return 0;
}

/* What it comes to, said in advance. */
static const char *question_of(struct proving *g)
{
	struct arena *a = &g->r->arena;
	const struct proof *p = &g->proof;
	struct screen_cost cost = { .window_s = p->window.seconds,
				    .switch_s = p->settle_s,
				    .settings = 1 };
	struct screen_time t;
	size_t pairs;

	for (size_t i = 1; p->many && i < p->n_changes; i++)
		cost.settings += strcmp(p->changes[i].id, p->changes[i - 1].id) != 0;
	screen_time(&cost, &t);
	pairs = t.same_pairs + t.screen_pairs + t.confirm_pairs + t.whole_pairs;
	return arena_printf(
		a,
		"Switch %zu change%s on and off, measured with %s: at most %zu pairs%s, "
		"and no longer than %.0f s?",
		p->n_changes, p->n_changes == 1 ? "" : "s", p->window.name, pairs,
		p->window.seconds > 0 ? arena_printf(a, " of %.3g s and what it takes to set up",
						     2 * (p->window.seconds + p->settle_s))
				      : "",
		p->budget_s);
}

static int prove(struct proving *g)
{
	struct run *r = g->r;
	const char *question;
	int code = prove_options(g);

	code = code ? code : run_recover_first(r, g->h, &g->who);
	code = code ? code : prove_plan(g);
	code = code ? code : prove_window(g);
	if (code)
		return tell_plan(g, code);
	note_changes(g);
	prove_times(&g->planned.plan, !r->value[OPT_SETTLE], &g->proof);
	prove_budget(r, &g->proof);
	question = question_of(g);
	if (r->value[OPT_DRY_RUN]) {
		code = announce(g);
		complain_text(0, "dry run: nothing was written. It would ask: %s", question);
	} else if (!r->value[OPT_YES] && (code = announce(g)) != 0) {
		return code;
	} else {
		code = run_agreed(r, question) ? run_proof(g)
		       : isatty(STDIN_FILENO)  ? EXIT_NOT_APPLIED
					       : EXIT_USAGE;
	}
	window_close(&g->proof.window);
	return code;
}

int verb_prove(struct run *r)
{
	struct proving g = { .r = r, .h = run_change_host(r), .who = run_who(r) };
	int code;

	if (!g.h)
		return EXIT_USAGE;
	code = prove(&g);
	host_close(g.h);
	return code;
}
