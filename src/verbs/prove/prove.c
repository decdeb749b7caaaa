/* SPDX-License-Identifier: Apache-2.0 */
/* gputune prove: is a setting worth anything on this machine? */
#include "verbs/prove/prove.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "look/settings/settings.h"
#include "measure/prove/page_prove.h"
#include "verbs/page_plan.h"

enum { LOOK_MS = 400, ONE_BUDGET_S = 600, MANY_BUDGET_S = 7200, SETTLE_S = 1 };

/* --- what is asked ---------------------------------------------------------------------------- */

static const char *const betters[] = { "higher", "lower" };

static const struct ask_row prove_ask_rows[] = {
	{ "ID",
	  "a setting; ID=VALUE tests that value instead of the profile's, ID@TARGET only that "
	  "target",
	  ASK_TEXTS(prove_ask, ids), .argument = true, .proposal = setting_proposal },
	{ "all", "all settings that the profile would change", ASK_FLAG(prove_ask, all),
	  .letter = 'a' },
	{ ASK_PART(prove_ask, settings, profile_ask) },
	{ ASK_PART(prove_ask, allow, allow_ask) },
	{ "bench", "the bench to measure with (default: one that the setting is known to affect)",
	  ASK_TEXT(prove_ask, bench), .arg = "NAME[/CASE]", .proposal = bench_proposal },
	{ "command", "measure your own workload instead; runs without a shell",
	  ASK_TEXT(prove_ask, command), .arg = "LINE" },
	{ "metric",
	  "figure to compare. Workload: wall (default), json:.PATH or a regular expression with "
	  "one group. Bench: key of a figure",
	  ASK_TEXT(prove_ask, metric), .arg = "WHAT" },
	{ "better", "better direction of a workload's output (default: higher)",
	  ASK_CHOICE(prove_ask, better, betters), .arg = "WAY" },
	{ "levels",
	  "try these values of one setting, and test the best: 1600,1800,2000 (clock limits in MHz "
	  "for a clock lock)",
	  ASK_TEXT(prove_ask, levels), .arg = "LIST" },
	{ "per-joule", "compare work per joule; NVML measures the energy of the GPUs",
	  ASK_FLAG(prove_ask, per_joule) },
	{ "loss", "with --per-joule: the largest accepted loss of speed",
	  ASK_SHARE(prove_ask, loss, 0.0001, 0.9), .fallback = "5%" },
	{ ASK_PART(prove_ask, pairs, pairs_ask) },
	{ "settle", "wait this long after each switch (default: as the setting requires)",
	  ASK_TIME(prove_ask, settle_s) },
	{ "cpus", "run only on these CPUs: 0-3,8", ASK_TEXT(prove_ask, cpus), .arg = "LIST",
	  .check = cpus_check },
	{ ASK_PART(prove_ask, on, bench_ask) },
	{ ASK_PART_OF(prove_ask, on, bench_peer_shape) },
	{ "keep", "keep changes that help; undo reverts them", ASK_FLAG(prove_ask, keep) },
	{ ASK_PART(prove_ask, change, change_ask) },
	{ ASK_PART(prove_ask, state, state_ask) },
};
static const struct ask_shape prove_ask_shape = ASK_SHAPE(prove_ask, "Measurement", prove_ask_rows);

/* --- settings --------------------------------------------------------------------------------- */

/* ID[@TARGET][=VALUE] */
struct word {
	const char *id, *target, *value; /* NULL: not given */
};

static struct word prove_read_word(struct arena *a, const char *text)
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
		return door_refuse(
			g->d, EXIT_USAGE,
			s ? "%s has no knob to set a value on" : "unknown setting \"%s\"", w->id);
	ARENA_ADD(g->d->arena, p->overrides, p->n_overrides) = (struct profile_override){
		.s = s,
		.has_want = true,
		.o = { .rel = WANT_IS, .value = w->value, .because = "requested by the A/B test" }
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
static void prove_narrow(struct proving *g, const struct word *words, size_t n)
{
	struct plan *p = &g->planned.plan;
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (!is_asked(c, words, n))
			continue;
		if (!c->gate && (c->effect != EFFECT_NOW || !knob_is_runtime(c->knob.kind))) {
			c->gate = "not-now";
			c->refusal = "the setting takes effect only at the next boot or driver "
				     "load, which an A/B test does not trigger";
		}
		p->changes[kept++] = *c;
	}
	p->n = kept;
}

/* Of two values for one setting on one target only one could be proven, and nobody could tell
 * which was. */
static int check_once(struct door *d, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			bool elsewhere = words[i].target && words[k].target &&
					 strcmp(words[i].target, words[k].target) != 0;

			if ((words[i].value || words[k].value) && !elsewhere &&
			    strcmp(words[i].id, words[k].id) == 0)
				return door_refuse(d, EXIT_USAGE,
						   "%s is given twice: give each setting one value",
						   words[i].id);
		}
	return 0;
}

static int refuse_nothing(const struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	const struct findings *f = &g->planned.findings;

	for (size_t i = 0; i < p->n; i++)
		door_warn(g->d, "%s%s%s: %s", p->changes[i].s->id, *p->changes[i].target ? " " : "",
			  p->changes[i].target, p->changes[i].refusal);
	for (size_t i = 0; i < p->n_advice; i++)
		door_warn(g->d, "%s: %s", p->advice[i].finding->s->id, p->advice[i].sentence);
	if (p->n || p->n_advice)
		return door_refuse(g->d, EXIT_NOT_APPLIED,
				   "none of these settings can be switched here");
	for (size_t i = 0; g->ask->ids.n && i < f->n; i++)
		door_warn(g->d, "%s%s%s: %s%s%s", f->items[i].s->id, *f->items[i].target ? " " : "",
			  f->items[i].target, f->items[i].v.current ? f->items[i].v.current : "",
			  f->items[i].v.current ? ": " : "", f->items[i].v.reason);
	return door_refuse(g->d, EXIT_BLIND,
			   "nothing to prove: the requested settings already have their target "
			   "values or do not apply here; ID=VALUE tests another value");
}

/* The plan of what is to be proven: those words, or a whole profile. */
static int prove_plan(struct proving *g)
{
	const struct prove_ask *ask = g->ask;
	struct door *d = g->d;
	size_t n = ask->ids.n;
	struct word *words = arena_array(d->arena, n, sizeof(*words));
	TEXT_AUTO only = { 0 };
	int code = 0;

	if (!n && !ask->all && !ask->settings.profile && !ask->settings.only)
		return door_refuse(
			d, EXIT_USAGE,
			"nothing to prove: give a setting's id, --profile NAME or --all");
	for (size_t i = 0; i < n && !code; i++) {
		words[i] = prove_read_word(d->arena, ask->ids.items[i]);
		code = door_check_id(d, words[i].id);
		text_printf(&only, "%s%s", i ? "," : "", words[i].id);
	}
	code = code ? code : check_once(d, words, n);
	if (!code && ask->levels && (n != 1 || words[0].value))
		code = door_refuse(d, EXIT_USAGE, "--levels requires one setting, without =VALUE");
	if (code)
		return code;
	if (n)
		g->settings.only = arena_strdup(d->arena, only.s);
	code = door_profile(d, &g->settings, &g->planned.profile);
	for (size_t i = 0; i < n && !code; i++)
		code = words[i].value ? override_value(g, &words[i]) : 0;
	code = code ? code : door_plan(d, g->h, ask->allow.allow, &g->planned);
	if (code)
		return code;
	for (size_t i = 0; i < n; i++)
		if (words[i].value)
			door_add_value(d, g->h, &g->planned, ask->allow.allow, words[i].id,
				       words[i].target, words[i].value, false);
	code = ask->levels ? prove_plan_levels(g, words[0].id, words[0].target) : 0;
	if (code)
		return code;
	prove_narrow(g, words, n);
	prove_note_levels(g);
	return plan_open_changes(&g->planned.plan) ? 0 : refuse_nothing(g);
}

/* --- what is measured ------------------------------------------------------------------------- */

int prove_command_window(struct proving *g)
{
	const struct prove_ask *ask = g->ask;
	bool better = ask->better < sizeof(betters) / sizeof(betters[0]);
	struct workload w = { .command = ask->command,
			      .metric = ask->metric ? ask->metric : "wall",
			      .better = better && ask->better ? BENCH_LOWER : BENCH_HIGHER,
			      .limit_s = ask->pairs.limit_s,
			      .stop = &g->stop };
	struct err e = { 0 };

	if (better && strcmp(w.metric, "wall") == 0)
		return door_refuse(g->d, EXIT_USAGE,
				   "--better applies to a workload's output: for time, lower is "
				   "always better");
	return window_command(g->d->arena, &w, &g->proof.window, &e)
		       ? door_fail(g->d, EXIT_USAGE, &e)
		       : 0;
}

/* That bench as what is measured; 0, or -errno and *e. */
static int prove_bench_window(struct proving *g, const char *name, struct err *e)
{
	int r;

	g->env = (struct bench_env){ .a = g->d->arena,
				     .m = g->planned.m,
				     .cpus = door_cpus(g->d, g->ask->cpus),
				     .stop = &g->stop,
				     .h = g->h,
				     .ask = g->ask->on };
	r = window_bench(g->d->arena, &g->env, name, g->ask->metric, &g->proof.window, e);
	if (r == 0 && g->ask->pairs.seconds > 0)
		g->proof.window.seconds = g->ask->pairs.seconds;
	return r;
}

/* Calls each for every word of the row; stops at the first that says true. */
static bool for_words(struct proving *g, const struct setting *s,
		      bool (*each)(struct proving *g, const char *word))
{
	const char *at = s->shown_by ? s->shown_by : "";

	while (*at) {
		size_t n = strcspn(at, " ");

		if (n && each(g, arena_strndup(g->d->arena, at, n)))
			return true;
		at += n + (at[n] == ' ');
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
	g->none = arena_printf(g->d->arena, "%s%s%s", named ? "" : word, named ? "" : ": ", e.text);
	return false;
}

/* How many settings name the word. */
static size_t prove_count(const struct plan *p, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += !p->changes[i].gate && str_has_word(p->changes[i].s->shown_by, word) &&
		     (!i || p->changes[i - 1].s != p->changes[i].s);
	return n;
}

static bool note_word(struct proving *g, const char *word)
{
	size_t n = prove_count(&g->planned.plan, word);

	for (size_t i = 0; i < g->n_words; i++)
		if (strcmp(g->words[i].word, word) == 0)
			return false;
	ARENA_ADD(g->d->arena, g->words, g->n_words) = (struct proving_word){ word, n };
	return false;
}

/* The word that most settings name, of those not tried yet; NULL: there is none. */
static const char *prove_next_word(struct proving *g)
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
static void prove_leave_out(struct proving *g, const char *word)
{
	struct plan *p = &g->planned.plan;

	for (size_t i = 0; i < p->n; i++) {
		struct change *c = &p->changes[i];

		if (c->gate || str_has_word(c->s->shown_by, word))
			continue;
		c->gate = "not-shown";
		c->refusal =
			c->s->shown_by
				? arena_printf(g->d->arena,
					       "%s does not measure this effect: use --bench %s",
					       word, c->s->shown_by)
			: c->s->not_shown ? c->s->not_shown
					  : "no bench measures this effect: --command measures "
					    "your own workload";
	}
}

/* The bench that most of the plan's settings name and that runs here; changes that it does not show
 * are closed. */
static int prove_pick_window(struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	const char *word, *why = NULL;

	for (size_t i = 0; i < p->n; i++) {
		if (p->changes[i].gate)
			continue;
		for_words(g, p->changes[i].s, note_word);
		why = why ? why : p->changes[i].s->not_shown;
	}
	while ((word = prove_next_word(g)) != NULL)
		if (try_word(g, word)) {
			prove_leave_out(g, word);
			return 0;
		}
	return door_refuse(g->d, EXIT_BLIND,
			   "no bench measures this effect on this machine (%s); --command 'LINE' "
			   "measures your own workload, --bench NAME another bench",
			   g->none ? g->none
			   : why   ? why
				   : "no bench is known for the setting");
}

static int prove_window(struct proving *g)
{
	const struct prove_ask *ask = g->ask;
	struct err e = { 0 };
	int r;

	if (ask->command)
		return prove_command_window(g);
	if (!ask->bench)
		return prove_pick_window(g);
	r = prove_bench_window(g, ask->bench, &e);
	return r ? door_fail(g->d, r == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e) : 0;
}

/* Everything that is switched, by name. */
void prove_note_changes(struct proving *g)
{
	struct arena *a = g->d->arena;
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
		if (c->gate || (g->engine.spare && g->engine.spare[i]))
			continue;
		out->many = out->many || (first && first != c->s);
		first = first ? first : c->s;
		out->changes[out->n_changes++] =
			(struct proof_change){ c->s->id, c->target, knob_text(a, &c->knob),
					       c->before, c->after };
	}
	if (first && !out->many)
		out->what = first->id;
	else if (g->settings.only)
		out->what = g->settings.only;
	else
		out->what = arena_printf(a, "profile:%s", g->planned.profile.name);
}

/* Lengthens warm-up, and settling where asked, to what the open changes need. */
void prove_times(const struct plan *p, bool settle, struct proof *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct setting *s = p->changes[i].s;

		if (p->changes[i].gate)
			continue;
		out->warm_up_s = fmax(out->warm_up_s, s->warm_up_s);
		if (settle)
			out->settle_s = fmax(out->settle_s, s->settle_s);
	}
}

/* What it comes to, said in advance. */
static const char *prove_question(struct proving *g)
{
	struct arena *a = g->d->arena;
	const struct proof *p = &g->proof;
	size_t settings = 1, pairs = LEVEL_ROUNDS_MAX * g->n_levels;
	struct rule rule;

	for (size_t i = 1; p->many && i < p->n_changes; i++)
		settings += strcmp(p->changes[i].id, p->changes[i - 1].id) != 0;
	rule_default(&rule, 0);
	pairs += rule.looks[rule.n_looks - 1];
	pairs += p->many ? (SCREEN_BLOCKS_MAX * screen_runs(settings) + settings + 1) / 2
			 : RULE_SAME_PAIRS;
	return arena_printf(a,
			    "Switch %zu change%s on and off, measured with %s: at most %zu "
			    "pairs%s, and at most %.0f s?",
			    p->n_changes, PLURAL(p->n_changes), p->window.name, pairs,
			    p->window.seconds > 0
				    ? arena_printf(a, " of %.3g s plus set-up time",
						   2 * (p->window.seconds + p->settle_s))
				    : "",
			    p->budget_s);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void prove_progress(void *ctx, const struct prove_engine *e, enum proof_part part,
			   size_t pair, size_t of)
{
	static const char *const texts[] = { "warming up, window", "A/A test, pair",
					     "with and without, pair", "screening, pair",
					     "confirming, pair" };
	struct proving *g = ctx;
	double at = e->clock->now(e->clock->ctx) - e->start;

	(void)of;
	door_progress(g->d, g->proof.budget_s - at, true, "%s: %s %zu", g->proof.what, texts[part],
		      pair + 1);
}

static int verdict_code(const struct proof *p)
{
	if (p->trouble)
		return EXIT_STUCK;
	return p->verdict == RULING_UNDECIDED ? EXIT_BLIND
	       : p->verdict == RULING_HURTS   ? EXIT_FINDINGS
					      : EXIT_CLEAN;
}

static void prove_keep(struct proving *g)
{
	struct err e = { 0 };
	int r;

	if (!g->ask->keep || g->proof.verdict != RULING_HELPS || g->proof.trouble ||
	    g->proof.foreign)
		return;
	r = switch_keep(g->engine.sw, g->good, g->planned.plan.profile, &g->proof.txn, &e);
	/* Variables of a job's environment have no place to be kept in. */
	if (r == -ENOENT)
		return;
	g->proof.kept = r == 0;
	if (r)
		g->proof.trouble = arena_printf(g->d->arena, "cannot be saved: %s", e.text);
}

static void prove_measure(struct proving *g)
{
	struct record_conditions *c = &g->proof.conditions;
	struct record_moment first;
	struct sampler *s;

	watch_list_make(g->d->arena, g->h, g->planned.m, &g->watch);
	c->cpus = g->watch.cpus;
	conditions_look(g->h, &g->watch, &first);
	usleep(LOOK_MS * 1000);
	conditions_look(g->h, &g->watch, &c->before);
	c->idle_others = conditions_others(&first, &c->before);
	s = sampler_start(g->h, &g->watch, &g->stop);
	g->engine.plan = &g->planned.plan;
	if (g->proof.many)
		engine_prove_many(&g->engine, &g->good);
	else if (g->n_levels)
		prove_search(g);
	else
		engine_prove(&g->engine, g->good);
	prove_keep(g);
	if (s)
		sampler_end(g->d->arena, s, c);
	conditions_look(g->h, &g->watch, &c->after);
	c->others = conditions_others(&c->before, &c->after);
	c->steal_percent = conditions_steal(&c->before, &c->after);
}

/* --- the verb --------------------------------------------------------------------------------- */

static struct doc *plan_page(struct arena *a, const struct proving *g)
{
	return page_plan(a, g->planned.m, &g->planned.plan, &(struct plan_view){ 0 });
}

static void prove_shared(void *ctx, const char *why, double left_s)
{
	struct proving *g = ctx;

	door_warn(g->d, "%s; nothing is changed now; waiting at most %.0f s, then measuring again",
		  why, left_s);
}

void prove_alone(struct proving *g, const char *names)
{
	const char *busy;

	g->engine.p = &g->proof;
	g->users = g->d->live(g->d->ctx);
	g->engine.alone = g->users ? alone_begin(g->d->arena, g->users, names) : NULL;
	g->engine.alone_s = g->ask->pairs.limit_s;
	g->engine.shared = prove_shared;
	g->engine.ctx = g;
	busy = alone_names(g->engine.alone);
	if (*busy)
		door_warn(g->d, "already on a GPU: %s; figures are measured with these running",
			  busy);
}

int prove_run(struct proving *g)
{
	struct arena *a = g->d->arena;
	struct err e = { 0 };
	bool tune = strcmp(g->proof.what, "tune") == 0;
	int code = switch_begin(g->h, a, &g->who,
				tune ? "tune" : arena_printf(a, "prove %s", g->proof.what),
				&g->planned.plan, &g->engine.sw, &e);

	if (code)
		return door_fail(g->d, txn_exit_code(code), &e);
	g->engine.a = a;
	if (!g->engine.clock)
		g->engine.clock = &engine_real;
	g->engine.stop = &g->stop;
	g->engine.progress = prove_progress;
	if (!g->users)
		prove_alone(g, NULL);
	record_fingerprint(a, g->h, g->planned.m, &g->proof.machine);
	g->proof.machine.time_s = fact_or(&g->planned.m->time_s, 0);
	prove_measure(g);
	code = switch_end(g->engine.sw, &e);
	if (code && code != -ESTALE && !g->proof.trouble)
		g->proof.trouble = arena_printf(a, "%s: %s", e.text, e.hint);
	prove_store(g);
	return verdict_code(&g->proof);
}

/* Of what was asked for to what is switched, and how it is measured. */
static int prepare(struct proving *g)
{
	const struct prove_ask *ask = g->ask;
	struct proof *p = &g->proof;
	int code;

	if (ask->bench && ask->command)
		return door_refuse(g->d, EXIT_USAGE, "give either --bench or --command");
	code = door_recover_first(g->d, g->h, &g->who, ask->change.dry_run);
	code = code ? code : prove_plan(g);
	code = code ? code : prove_window(g);
	if (!code && ask->per_joule)
		code = prove_per_joule(g);
	if (code)
		return code;
	prove_note_changes(g);
	p->min_effect_asked = ask->pairs.min_effect;
	p->seed = pairs_seed(&ask->pairs);
	p->settle_s = ask->settle_s > 0 ? ask->settle_s : SETTLE_S;
	prove_times(&g->planned.plan, ask->settle_s <= 0, p);
	p->budget_s = ask->pairs.budget_s > 0  ? ask->pairs.budget_s
		      : p->many || g->n_levels ? MANY_BUDGET_S
					       : ONE_BUDGET_S;
	return 0;
}

static int prove(struct proving *g)
{
	struct door *d = g->d;
	const char *question;
	int code = prepare(g);

	/* A dry run answers with the plan, also where nothing of it can be proven. */
	g->dry = g->ask->change.dry_run;
	g->failed = code != 0;
	if (g->dry && g->planned.m)
		g->plan_result = plan_answer_of(&g->planned.plan);
	if (code)
		return g->dry && g->planned.m && code != -EXIT_USAGE ? -code : code;
	question = prove_question(g);
	if (g->dry) {
		door_warn(d, "dry run: nothing was written. The prompt would be: %s", question);
	} else {
		code = door_agreed(d, d->agreed ? NULL : plan_page(d->arena, g), question);
		code = code ? code : prove_run(g);
	}
	window_close(&g->proof.window);
	return code;
}

static int prove_answer(struct door *d, const struct prove_ask *ask, struct proving *g)
{
	int code;

	g->d = d;
	g->ask = ask;
	g->settings = ask->settings;
	g->who = txn_who_here(d->arena, ask->change.reason);
	g->h = door_change_host(d, &(struct machine_ask){ 0 }, ask->change.dry_run);
	if (!g->h)
		return -EXIT_USAGE;
	code = prove(g);
	host_close(g->meter);
	host_close(g->users);
	host_close(g->h);
	return code;
}

VERB_OTHER(prove_other, prove_ask, proving, v->dry, &v->plan_result, plan_result)

static void prove_head(const void *answer, const void **host, long long *time_s)
{
	const struct proving *g = answer;

	*host = g->dry ? (const void *)&g->planned.plan : g->planned.m;
	*time_s = g->dry ? g->planned.plan.time_s : fact_or(&g->planned.m->time_s, 0);
}

static struct doc *prove_page(struct arena *a, const struct proving *g)
{
	/* Why nothing can be proven was said. */
	return g->failed ? doc_new(a) : g->dry ? plan_page(a, g) : page_prove(a, &g->proof);
}

VERB_ANSWER(prove_answer_any, prove_answer, prove_ask, proving)
VERB_PAGE_OF(prove_page_any, prove_page, proving)

const struct verb prove_verb = {
	.name = "prove",
	.group = VERB_MEASURE,
	.summary = "A/B-test a setting on this machine; keep it only if it helps",
	.about = "Measures pairs with and without the setting until the difference is known or the "
		 "time limit is reached. Verdict: helps, hurts, no difference or undecided. "
		 "Restores the "
		 "old state afterwards, unless --keep. Several settings are screened at once; "
		 "--levels finds the best of several values.",
	.exits = "0: decided; 1: the setting hurts; 3: it cannot be set; 5: undecided",
	.words = "ab-test abtest experiment gain helps try tryout",
	.examples = EXAMPLES(
		{ "prove memory.swappiness --dry-run", "what would be measured, and how" },
		{ "sudo prove disk.read-ahead --dir /data",
		  "with the default bench for the setting" },
		{ "sudo prove net.tcp-fastopen=3 --command './client'",
		  "another value, with your own command" },
		{ "sudo prove --profile inference --command ./work --keep",
		  "a whole profile; keep what helps" },
		{ "sudo prove gpu.sm-clock-lock --levels 1600,2000 --per-joule --command ./decode",
		  "the clock limit with the most work per joule" }),
	.ask = &prove_ask_shape,
	.answer = prove_answer_any,
	.result = &prove_result,
	.answer_size = sizeof(struct proving),
	.other = prove_other,
	.others = prove_others,
	.page = prove_page_any,
	.head = prove_head,
	.changes = true,
	.keeps_json = true,
	.own_process = true,
};
