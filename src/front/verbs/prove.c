/* SPDX-License-Identifier: Apache-2.0 */
/* gputune prove: is a setting worth anything on this machine? */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "look/settings/findings.h"
#include "front/verbs/prove.h"
#include "front/session.h"
#include "tune/plan/plan.h"
#include "verbs/page_plan.h"
#include "measure/prove/page_prove.h"
#include "base/text.h"

enum { LOOK_MS = 400 };

static void verb_prove_progress(void *ctx, const struct prove_engine *e, enum proof_part part,
				size_t pair, size_t of)
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

/* --- measuring -------------------------------------------------------------------------------- */

static int verdict_code(const struct proof *p)
{
	if (p->trouble)
		return EXIT_STUCK;
	return p->verdict == RULING_UNDECIDED ? EXIT_BLIND
	       : p->verdict == RULING_HURTS   ? EXIT_FINDINGS
					      : EXIT_CLEAN;
}

static void verb_prove_keep(struct proving *g)
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

static void verb_prove_measure(struct proving *g)
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
	verb_prove_keep(g);
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
		return run_print_json(
			g->r, machine_result_json(&prove_result, g->planned.m, &g->proof, code),
			code);
	return run_print_doc(g->r, page_prove(&g->r->arena, &g->proof), "gputune prove", code);
}

static int run_proof(struct proving *g)
{
	struct arena *a = &g->r->arena;
	struct err e = { 0 };
	int code = switch_begin(g->h, a, &g->who, arena_printf(a, "prove %s", g->proof.what),
				&g->planned.plan, &g->engine.sw, &e);

	if (code)
		return complain(txn_exit_code(code), &e);
	g->engine.a = a;
	g->engine.p = &g->proof;
	g->engine.clock = &engine_real;
	g->engine.stop = &g->stop;
	g->engine.progress = verb_prove_progress;
	g->engine.ctx = g;
	g->tty = isatty(STDERR_FILENO) && !g->r->value[OPT_QUIET];
	record_fingerprint(a, g->h, g->planned.m, &g->proof.machine);
	g->proof.machine.time_s = fact_or(&g->planned.m->time_s, 0);
	verb_prove_measure(g);
	code = switch_end(g->engine.sw, &e);
	if (code && code != -ESTALE && !g->proof.trouble)
		g->proof.trouble = arena_printf(a, "%s: %s", e.text, e.hint);
	code = prove_store(g, verdict_code(&g->proof));
	return print(g, code);
}

/* A dry run's JSON is the plan, as of apply: there is no proof. Also where nothing can be proven.
 */
static int print_plan_of_proof(struct proving *g, int code)
{
	if (g->r->value[OPT_DRY_RUN] && run_wants_json(g->r) && !g->r->value[OPT_QUIET] &&
	    g->planned.m && code != EXIT_USAGE)
		return run_print_json(g->r, plan_json(&g->planned.plan, code), code);
	return code;
}

/* What will be done, for who is asked to agree. */
static int verb_prove_announce(struct proving *g)
{
	struct plan_view how = { 0 };

	if (run_wants_json(g->r) || g->r->value[OPT_QUIET])
		return print_plan_of_proof(g, EXIT_CLEAN);
	if (run_print_doc(g->r, page_plan(&g->r->arena, g->planned.m, &g->planned.plan, &how),
			  "gputune prove", EXIT_CLEAN))
		return EXIT_USAGE;
	fflush(g->r->out);
	return 0;
}

/* What it comes to, said in advance. */
static const char *verb_prove_rule_ctx_of(struct proving *g)
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
	return arena_printf(a,
			    "Switch %zu change%s on and off, measured with %s: at most %zu "
			    "pairs%s, and no longer than %.0f s?",
			    p->n_changes, p->n_changes == 1 ? "" : "s", p->window.name, pairs,
			    p->window.seconds > 0
				    ? arena_printf(a, " of %.3g s and what it takes to set up",
						   2 * (p->window.seconds + p->settle_s))
				    : "",
			    p->budget_s);
}

/* What is measured when nobody says it: the benches that the settings' rows name. */

static bool is_open(const struct change *c)
{
	return c->gate == NULL;
}

/* Lengthens warm-up, and settling where asked, to what the open changes need. */
static void prove_times(const struct plan *p, bool settle, struct proof *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct setting *s = p->changes[i].s;

		if (!is_open(&p->changes[i]))
			continue;
		out->warm_up_s = fmax(out->warm_up_s, s->warm_up_s);
		if (settle)
			out->settle_s = fmax(out->settle_s, s->settle_s);
	}
}

static int verb_prove_prove(struct proving *g)
{
	struct run *r = g->r;
	const char *question;
	int code = prove_options(g);

	code = code ? code : run_recover_first(r, g->h, &g->who);
	code = code ? code : prove_plan(g);
	code = code ? code : prove_window(g);
	if (code)
		return print_plan_of_proof(g, code);
	note_changes(g);
	prove_times(&g->planned.plan, !r->value[OPT_SETTLE], &g->proof);
	prove_budget(r, &g->proof);
	question = verb_prove_rule_ctx_of(g);
	if (r->value[OPT_DRY_RUN]) {
		code = verb_prove_announce(g);
		complain_text(0, "dry run: nothing was written. It would ask: %s", question);
	} else if (!r->value[OPT_YES] && (code = verb_prove_announce(g)) != 0) {
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
	code = verb_prove_prove(&g);
	host_close(g.h);
	return code;
}

/* What gputune prove was asked for: settings and their values, what is measured, how long. */

enum { ONE_BUDGET_S = 600, MANY_BUDGET_S = 7200, TIMEOUT_S = 600, SETTLE_S = 1 };

/* --- settings --------------------------------------------------------------------------------- */

/* ID[@TARGET][=VALUE] */
struct word {
	const char *id, *target, *value; /* NULL: not given */
};

static struct word verb_prove_read_word(struct arena *a, const char *text)
{
	size_t n = strcspn(text, "@=");
	struct word w = { .id = arena_strndup(a, text, n) };

	if (text[n] == '@') {
		text += n + 1;
		n = strcspn(text, "=");
		w.target = arena_strndup(a, text, n);
	}
	if (text[n] == '=')
		w.value = arena_strdup(a, text + n + 1);
	return w;
}

static int override_value(struct proving *g, const struct word *w)
{
	struct profile *p = &g->planned.profile;
	const struct setting *s = setting_find(w->id);

	if (!s || !s->name)
		return complain_text(EXIT_USAGE,
				     s ? "%s has no knob that a value could be for"
				       : "there is no setting \"%s\"",
				     w->id);
	p->overrides =
		arena_grow(&g->r->arena, p->overrides, p->n_overrides, sizeof(*p->overrides));
	p->overrides[p->n_overrides++] = (struct profile_override){
		.s = s,
		.has_want = true,
		.o = { .rel = WANT_IS, .value = w->value, .because = "asked for by this proof" }
	};
	return 0;
}

static bool is_asked(const struct change *c, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (id_matches(c->s->id, words[i].id) &&
		    (!words[i].target || strcmp(words[i].target, c->target) == 0))
			return true;
	return n == 0;
}

/* Other targets than the ones named, and what waits for a reboot, are not part of it. */
static void verb_prove_narrow(struct proving *g, const struct word *words, size_t n)
{
	struct plan *p = &g->planned.plan;
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (!is_asked(c, words, n))
			continue;
		if (!c->gate && (c->effect != EFFECT_NOW || !knob_is_runtime(c->knob.kind))) {
			c->gate = "not-now";
			c->refusal = "it takes effect at the next boot or driver load, which is "
				     "more than a proof may do";
		}
		p->changes[kept++] = *c;
	}
	p->n = kept;
}

/* Of two values for one setting on one target only one could be proven, and nobody could tell
 * which was. */
static int check_once(const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			bool elsewhere = words[i].target && words[k].target &&
					 strcmp(words[i].target, words[k].target) != 0;

			if ((words[i].value || words[k].value) && !elsewhere &&
			    strcmp(words[i].id, words[k].id) == 0)
				return complain_text(EXIT_USAGE,
						     "%s is asked for twice: one value at a time",
						     words[i].id);
		}
	return 0;
}

static int complain_nothing(const struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	const struct findings *f = &g->planned.findings;

	for (size_t i = 0; i < p->n; i++)
		complain_text(0, "%s%s%s: %s", p->changes[i].s->id,
			      *p->changes[i].target ? " " : "", p->changes[i].target,
			      p->changes[i].refusal);
	for (size_t i = 0; i < p->n_advice; i++)
		complain_text(0, "%s: %s", p->advice[i].finding->s->id, p->advice[i].sentence);
	if (p->n || p->n_advice)
		return complain_text(EXIT_NOT_APPLIED, "nothing of this can be switched here");
	for (size_t i = 0; g->r->n_args && i < f->n; i++)
		complain_text(0, "%s%s%s: %s%s%s", f->items[i].s->id,
			      *f->items[i].target ? " " : "", f->items[i].target,
			      f->items[i].v.current ? f->items[i].v.current : "",
			      f->items[i].v.current ? ": " : "", f->items[i].v.reason);
	return complain_text(EXIT_BLIND,
			     "there is nothing to prove: what was asked for is as wanted already, "
			     "or does not apply here; ID=VALUE proves another value");
}

int prove_plan(struct proving *g)
{
	struct run *r = g->r;
	struct word *words = arena_array(&r->arena, (size_t)r->n_args, sizeof(*words));
	size_t n = (size_t)r->n_args;
	TEXT_AUTO only = { 0 };
	int code;

	if (!n && !r->value[OPT_ALL] && !r->value[OPT_PROFILE] && !r->value[OPT_ONLY])
		return complain_text(EXIT_USAGE,
				     "prove what? a setting's id, --profile NAME or --all");
	for (size_t i = 0; i < n; i++) {
		words[i] = verb_prove_read_word(&r->arena, r->args[i]);
		if (-door_check_ids(&r->door, &words[i].id, 1))
			return EXIT_USAGE;
		text_printf(&only, "%s%s", i ? "," : "", words[i].id);
	}
	code = check_once(words, n);
	if (code)
		return code;
	if (n)
		r->value[OPT_ONLY] = arena_strdup(&r->arena, only.s);
	if (!run_profile(r, &g->planned.profile))
		return EXIT_USAGE;
	for (size_t i = 0; i < n; i++)
		if (words[i].value && override_value(g, &words[i]))
			return EXIT_USAGE;
	code = run_plan_of(r, g->h, &g->planned);
	if (code)
		return code;
	for (size_t i = 0; i < n; i++)
		if (words[i].value)
			run_add_value(g->r, g->h, &g->planned, words[i].id, words[i].target,
				      words[i].value);
	verb_prove_narrow(g, words, n);
	return plan_open_changes(&g->planned.plan) ? 0 : complain_nothing(g);
}

/* --- figures ---------------------------------------------------------------------------------- */

void prove_budget(const struct run *r, struct proof *out)
{
	if (!r->value[OPT_BUDGET])
		out->budget_s = out->many ? MANY_BUDGET_S : ONE_BUDGET_S;
}

int prove_options(struct proving *g)
{
	struct proof *p = &g->proof;
	int code = prove_min_effect(g->r, &p->min_effect_asked);

	p->settle_s = SETTLE_S;
	code = code ? code : prove_time(g->r, OPT_SETTLE, &p->settle_s);
	code = code ? code : prove_time(g->r, OPT_BUDGET, &p->budget_s);
	code = code ? code : prove_seed(g->r, &p->seed);
	if (code == 0 && g->r->value[OPT_BENCH] && g->r->value[OPT_COMMAND])
		return complain_text(EXIT_USAGE, "either --bench or --command");
	return code ? code : run_check_result_file(g->r);
}

/* --- what is measured ------------------------------------------------------------------------- */

static int command_window(struct proving *g)
{
	const char *better = g->r->value[OPT_BETTER], *metric = g->r->value[OPT_METRIC];
	struct workload w = { .command = g->r->value[OPT_COMMAND],
			      .metric = metric ? metric : "wall",
			      .better = better && strcmp(better, "lower") == 0 ? BENCH_LOWER
									       : BENCH_HIGHER,
			      .limit_s = TIMEOUT_S,
			      .stop = &g->stop };
	struct err e = { 0 };
	int code = prove_time(g->r, OPT_TIMEOUT, &w.limit_s);

	if (code)
		return code;
	if (better && strcmp(w.metric, "wall") == 0)
		return complain_text(
			EXIT_USAGE,
			"--better is for what a workload prints: of its time less is better");
	return window_command(&g->r->arena, &w, &g->proof.window, &e) ? complain(EXIT_USAGE, &e)
								      : 0;
}

/* That bench as what is measured; 0, or -errno and *e. */
static int prove_bench_window(struct proving *g, const char *name, struct err *e)
{
	int r;

	g->env = (struct bench_env){ .a = &g->r->arena,
				     .m = g->planned.m,
				     .cpus = g->cpus,
				     .stop = &g->stop,
				     .h = g->h,
				     .ask = g->ask };
	r = window_bench(&g->r->arena, &g->env, name, g->r->value[OPT_METRIC], &g->proof.window, e);
	if (r == 0 && g->r->value[OPT_FOR])
		parse_seconds(g->r->value[OPT_FOR], &g->proof.window.seconds);
	return r;
}

int prove_window(struct proving *g)
{
	struct err e = { 0 };
	double ignored;
	int r = bench_asked(g->r, &g->ask, &g->cpus);

	r = r ? r : prove_time(g->r, OPT_FOR, &ignored);
	if (r)
		return r;
	if (g->r->value[OPT_COMMAND])
		return command_window(g);
	if (!g->r->value[OPT_BENCH])
		return prove_pick_window(g);
	r = prove_bench_window(g, g->r->value[OPT_BENCH], &e);
	return r ? complain(r == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e) : 0;
}

/* Calls each for every word of the row; stops at the first that says true. */
static bool for_words(struct proving *g, const struct setting *s,
		      bool (*each)(struct proving *g, const char *word))
{
	const char *at = s->shown_by ? s->shown_by : "";

	while (*at) {
		size_t n = strcspn(at, " ");

		if (n && each(g, arena_strndup(&g->r->arena, at, n)))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

static bool verb_prove_names(const struct setting *s, const char *word)
{
	const char *at = s->shown_by ? s->shown_by : "";
	size_t n = strlen(word);

	while ((at = strstr(at, word)) != NULL) {
		if ((at == s->shown_by || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
		at += n;
	}
	return false;
}

static bool try_word(struct proving *g, const char *word)
{
	struct err e = { 0 };
	bool named;

	if (prove_bench_window(g, word, &e) == 0)
		return true;
	/* The last one that was tried says why there is none; most of these name the bench. */
	named = strncmp(e.text, word, strcspn(word, "/")) == 0;
	g->none =
		arena_printf(&g->r->arena, "%s%s%s", named ? "" : word, named ? "" : ": ", e.text);
	return false;
}

/* How many settings name the word. */
static size_t verb_prove_count(const struct plan *p, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += is_open(&p->changes[i]) && verb_prove_names(p->changes[i].s, word) &&
		     (!i || p->changes[i - 1].s != p->changes[i].s);
	return n;
}

static bool note_word(struct proving *g, const char *word)
{
	size_t n = verb_prove_count(&g->planned.plan, word);

	for (size_t i = 0; i < g->n_words; i++)
		if (strcmp(g->words[i].word, word) == 0)
			return false;
	g->words = arena_grow(&g->r->arena, g->words, g->n_words, sizeof(*g->words));
	g->words[g->n_words++] = (struct proving_word){ word, n };
	return false;
}

/* The word that most settings name, of those not tried yet; NULL: there is none. */
static const char *verb_prove_next_word(struct proving *g)
{
	struct proving_word *best = NULL;

	for (size_t i = 0; i < g->n_words; i++)
		if (g->words[i].n && (!best || g->words[i].n > best->n))
			best = &g->words[i];
	if (!best)
		return NULL;
	best->n = 0;
	return best->word;
}

/* What the chosen bench does not show takes no part. */
static void verb_prove_leave_out(struct proving *g, const char *word)
{
	struct plan *p = &g->planned.plan;

	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (!is_open(c) || verb_prove_names(c->s, word))
			continue;
		c->gate = "not-shown";
		c->refusal = c->s->shown_by
				     ? arena_printf(&g->r->arena, "%s does not show it: --bench %s",
						    word, c->s->shown_by)
			     : c->s->not_shown
				     ? c->s->not_shown
				     : "no bench shows it: --command measures your own workload";
	}
}

int prove_pick_window(struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	const char *word, *why = NULL;

	for (size_t i = 0; i < p->n; i++) {
		if (!is_open(&p->changes[i]))
			continue;
		for_words(g, p->changes[i].s, note_word);
		why = why ? why : p->changes[i].s->not_shown;
	}
	while ((word = verb_prove_next_word(g)) != NULL)
		if (try_word(g, word)) {
			verb_prove_leave_out(g, word);
			return 0;
		}
	return complain_text(EXIT_BLIND,
			     "none of our benches shows this here (%s); --command 'LINE' measures "
			     "a workload of yours, --bench NAME another bench",
			     g->none ? g->none
			     : why   ? why
				     : "no row names one");
}
