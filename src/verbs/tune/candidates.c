/* SPDX-License-Identifier: Apache-2.0 */
/* What can make this job faster here: settings of three profiles, and variables of the job itself.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/prove/ledger.h"
#include "verbs/tune/tune.h"

/* About what writing, reading back and noting a state takes. */
#define SWITCH_S 0.05

static const char *const profiles[] = { "default", "vendor", "published" };
enum { OURS = sizeof(profiles) / sizeof(profiles[0]) };

static const char *var_id(struct arena *a, const struct job_var *v)
{
	const char *name = v->name + strspn(v->name, "-");

	return arena_printf(a, "%s.%.*s", name == v->name ? "env" : "arg", (int)strcspn(name, "="),
			    name);
}

/* The list without its words for variables and arguments of the job; each has to be one. */
static int setting_words(struct tuning *t, const char *list, const char **out)
{
	struct arena *a = t->g.d->arena;
	size_t n;
	const char *const *words = door_words(t->g.d, list, &n);

	*out = NULL;
	for (size_t i = 0; i < n; i++) {
		bool known = false;

		if (strcspn(words[i], ".") != 3 ||
		    (strncmp(words[i], "env", 3) != 0 && strncmp(words[i], "arg", 3) != 0)) {
			*out = *out ? arena_printf(a, "%s,%s", *out, words[i]) : words[i];
			continue;
		}
		for (size_t k = 0; k < n_job_vars; k++)
			known = known || (!job_vars[k].hint &&
					  id_matches(var_id(a, &job_vars[k]), words[i]));
		if (!known)
			return door_refuse(
				t->g.d, EXIT_USAGE,
				"unknown variable or argument \"%s\"; --dry-run lists them",
				words[i]);
	}
	return 0;
}

static void note(struct tuning *t, struct tune_note **list, size_t *n, const char *id,
		 const char *says)
{
	ARENA_ADD(t->g.d->arena, *list, *n) = (struct tune_note){ id, says };
}

int tune_look(struct tuning *t)
{
	struct door *d = t->g.d;
	const struct findings *f = &t->planned[0].findings;
	size_t more;
	const char *const *beside = door_words(d, t->ask->beside, &more), *skip, *allow;
	int code = setting_words(t, t->ask->narrow.skip, &skip);

	code = code ? code : setting_words(t, t->ask->allow.allow, &allow);
	if (code)
		return code;
	if (OURS + more > TUNE_PROFILES)
		return door_refuse(d, EXIT_USAGE, "--beside takes at most %d profiles",
				   TUNE_PROFILES - OURS);
	for (size_t i = 0; i < OURS + more; i++) {
		const struct profile_ask ask = { i < OURS ? profiles[i] : beside[i - OURS],
						 t->ask->narrow.only, skip };

		code = door_profile(d, &ask, &t->planned[i].profile);
		t->n_profiles = i + 1;

		t->planned[i].m = t->planned[0].m;
		code = code ? code : door_plan(d, t->g.h, allow, &t->planned[i]);
		if (code)
			return code;
	}
	t->g.planned = t->planned[0];
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].s->health && f->items[i].v.kind == VERDICT_FAIL &&
		    f->items[i].severity >= SEVERITY_MEDIUM) {
			note(t, &t->health, &t->n_health,
			     arena_printf(d->arena, "%s%s%s", f->items[i].s->id,
					  *f->items[i].target ? " " : "", f->items[i].target),
			     f->items[i].v.reason);
			door_warn(d, "broken: %s: %s", t->health[t->n_health - 1].id,
				  t->health[t->n_health - 1].says);
		}
	return 0;
}

/* --- settings --------------------------------------------------------------------------------- */

/* The plan's change of this setting on this target; value: the same write. */
static bool has_change(const struct plan *p, const struct change *c, bool value)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *x = &p->changes[i];

		if (x->s == c->s &&
		    (value ? knob_equal(&x->knob, &c->knob) && strcmp(x->after, c->after) == 0
			   : strcmp(x->target, c->target) == 0))
			return true;
	}
	return false;
}

static void add_change(struct tuning *t, const struct change *c)
{
	struct plan *p = &t->g.planned.plan;

	ARENA_ADD(t->g.d->arena, p->changes, p->n) = *c;
}

static void refuse(struct change *c, const char *gate, const char *why)
{
	c->gate = gate;
	c->refusal = why;
}

/* What may be tried for this job. */
static void judge_change(struct tuning *t, struct change *c)
{
	struct arena *a = t->g.d->arena;
	unsigned uses = setting_uses_of(c->s->id, c->s->shown_by);

	if (!uses)
		refuse(c, "not-shown", "no known effect on a job's speed");
	else if (!(uses & t->seen.uses))
		refuse(c, "not-used",
		       arena_printf(a, "the job does not use %s", job_uses_text(a, uses)));
	else if (c->effect != EFFECT_NOW || !knob_is_runtime(c->knob.kind))
		refuse(c, "not-now", "takes effect at the next boot or driver load");
	else if (!t->ask->machine.capture && geteuid() != 0)
		refuse(c, "not-root", "needs root: run it with sudo");
	else if (c->risk >= RISK_SERVICE && !plan_allows(&t->target, c->s))
		refuse(c, "not-safe",
		       c->risk == RISK_DANGER
			       ? "dangerous: --allow ID includes it"
			       : "switching it can interrupt running work: --allow ID includes it");
}

/* Where the first profile has none, the next one's; gates are judged anew, for what excludes each
 * other. */
static void add_settings(struct tuning *t)
{
	struct plan *p = &t->g.planned.plan;

	p->n = 0;
	p->changes = NULL;
	for (size_t i = 0; i < t->n_profiles; i++) {
		/* A setting may have several changes on one target. */
		const struct plan before = *p;

		for (size_t k = 0; k < t->planned[i].plan.n; k++)
			if (!has_change(&before, &t->planned[i].plan.changes[k], false))
				add_change(t, &t->planned[i].plan.changes[k]);
	}
	plan_sort(p);
	plan_gates(t->g.d->arena, t->g.planned.m, &t->target, p);
	for (size_t i = 0; i < p->n; i++)
		judge_change(t, &p->changes[i]);
}

/* Values of later profiles that differ. */
static size_t add_values(struct tuning *t)
{
	struct plan *p = &t->g.planned.plan;
	size_t first = p->n;

	for (size_t i = 1; i < t->n_profiles; i++)
		for (size_t k = 0; k < t->planned[i].plan.n; k++) {
			struct change c = t->planned[i].plan.changes[k];

			judge_change(t, &c);
			if (!c.gate && !has_change(p, &c, true))
				add_change(t, &c);
		}
	return first;
}

/* --- variables -------------------------------------------------------------------------------- */

static const char *var_refusal(struct tuning *t, const struct job_var *v, size_t row,
			       const char *name)
{
	struct arena *a = t->g.d->arena;
	const struct machine *m = t->g.planned.m;
	bool mapped = !v->library || row >= 64 || (t->seen.libraries & 1ULL << row);

	if (!v->hint && getenv(name))
		return arena_printf(a, "%s=%s is already set and is kept", name, getenv(name));
	if (!mapped)
		return arena_printf(a, "the job does not load %s", v->library);
	if (v->uses && !(v->uses & t->seen.uses))
		return arena_printf(a, "the job does not use %s", job_uses_text(a, v->uses));
	if (v->gpus > (int)m->gpu.gpus.n)
		return arena_printf(a, "needs %d GPUs", v->gpus);
	if (v->cores > fact_or(&m->cpu.cores, 0))
		return arena_printf(a, "needs %d cores", v->cores);
	return NULL;
}

static const char *var_value(struct tuning *t, const char *value)
{
	long long cores = fact_or(&t->g.planned.m->cpu.cores, 0);
	size_t gpus = t->g.planned.m->gpu.gpus.n;

	if (strcmp(value, "{workers}") == 0)
		cores /= gpus ? (long long)gpus : 1;
	else if (strcmp(value, "{cores}") != 0)
		return value;
	return arena_printf(t->g.d->arena, "%lld", cores > 0 ? cores : 1);
}

static void add_variables(struct tuning *t)
{
	struct plan_target skip = { 0 };
	struct arena *a = t->g.d->arena;

	skip.allow = door_words(t->g.d, t->ask->narrow.skip, &skip.n_allow);
	for (size_t i = 0; i < n_job_vars; i++) {
		const struct job_var *v = &job_vars[i];
		size_t n = strcspn(v->name, "=");
		const char *name = arena_strndup(a, v->name, n), *id = var_id(a, v);
		struct setting *s = arena_alloc(a, sizeof(*s));
		struct change c = { .s = s,
				    .target = "",
				    .knob = { KNOB_NONE, name, "" },
				    .why = v->does,
				    .source = v->source };
		const struct setting made = { .id = id, .title = v->does, .source = v->source };

		c.before = *name == '-' ? words_value(t->g.proof.window.argv, name) : NULL;
		if (v->hint || (*name == '-' && !c.before))
			continue;
		memcpy(s, &made, sizeof(made));
		if (plan_allows(&skip, s))
			continue;
		c.after = var_value(t, v->name[n] ? v->name + n + 1 : "");
		c.refusal = var_refusal(t, v, i, name);
		c.gate = c.refusal ? "not-used" : NULL;
		if (!c.gate && c.before && strcmp(c.before, c.after) == 0)
			refuse(&c, "not-used", "the variable already has this value");
		else if (!c.gate && v->rounds && !plan_allows(&t->target, s))
			refuse(&c, "not-safe",
			       "results change within rounding: --allow ID tries it");
		add_change(t, &c);
	}
}

/* --- other sets ------------------------------------------------------------------------------- */

static struct rival *add_rival(struct tuning *t)
{
	struct prove_engine *e = &t->g.engine;

	return &ARENA_ADD(t->g.d->arena, e->rivals, e->n_rivals);
}

static void value_rivals(struct tuning *t, size_t first)
{
	struct arena *a = t->g.d->arena;
	const struct plan *p = &t->g.planned.plan;

	for (size_t i = first; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		bool *on, again = false;
		struct rival *r;

		for (size_t k = first; k < i; k++)
			again = again || (p->changes[k].s == c->s &&
					  strcmp(p->changes[k].after, c->after) == 0);
		if (again)
			continue;
		on = arena_array(a, p->n, sizeof(*on));
		for (size_t k = first; k < p->n; k++)
			on[k] = p->changes[k].s == c->s &&
				strcmp(p->changes[k].after, c->after) == 0;
		r = add_rival(t);
		*r = (struct rival){ .name = arena_printf(a, "%s=%s", c->s->id, c->after),
				     .id = c->s->id,
				     .value = c->after,
				     .on = on,
				     .beside = true };
	}
}

static void profile_rivals(struct tuning *t, size_t first, size_t end)
{
	struct arena *a = t->g.d->arena;
	const struct plan *p = &t->g.planned.plan;

	for (size_t i = first; i < end; i++) {
		const char *name = t->planned[i].profile.name;
		bool *on = arena_array(a, p->n, sizeof(*on));
		size_t n = 0;

		for (size_t k = 0; k < p->n; k++) {
			on[k] = !p->changes[k].gate && p->changes[k].knob.kind != KNOB_NONE &&
				has_change(&t->planned[i].plan, &p->changes[k], true);
			n += on[k];
		}
		/* A profile with one change equals that setting, a candidate anyway: added only by
		 * --beside. */
		if (n > (i < OURS))
			*add_rival(t) = (struct rival){ .name = arena_printf(a, "profile %s", name),
							.id = arena_printf(a, "profile:%s", name),
							.on = on };
		else if (i >= OURS)
			door_warn(t->g.d, "%s sets nothing that can be tried for this job", name);
	}
}

void tune_candidates(struct tuning *t)
{
	struct plan *p = &t->g.planned.plan;
	size_t first;

	t->target = door_target(t->g.d, t->g.h, &t->planned[0].profile, t->ask->allow.allow);
	add_settings(t);
	add_variables(t);
	first = add_values(t);
	t->spare = arena_array(t->g.d->arena, p->n, sizeof(*t->spare));
	for (size_t i = first; i < p->n; i++)
		t->spare[i] = true;
	t->g.engine.spare = t->spare;
	/* What was asked for comes first: the time may be over. */
	profile_rivals(t, OURS, t->n_profiles);
	value_rivals(t, first);
	profile_rivals(t, 0, OURS);
}

/* --- what the budget allows ------------------------------------------------------------------- */

/* What --allow names comes first and what helped here before, then what helped such jobs elsewhere,
 * the most first; what was found useless for this job comes last; of others the harmless before the
 * risky. */
static double rank(struct tuning *t, const struct ledger *l, const struct change *c)
{
	struct ledger_answer w;

	ledger_find(t->g.d->arena, l, c->s->id, NULL, &w);
	if (plan_allows(&t->target, c->s) || (w.row && w.row->verdict == RULING_HELPS))
		return 0;
	if (w.row && w.row->verdict != RULING_UNDECIDED)
		return w.row->command && strcmp(w.row->command, t->ask->command) == 0 ? 9 : 8;
	for (size_t i = 0; i < n_job_gains; i++)
		if (strcmp(job_gains[i].name, c->s->id) == 0 && (job_gains[i].uses & t->seen.uses))
			return 1 / (1 + job_gains[i].gain / 100);
	return 1 + (int)c->risk;
}

/* The least that n candidates take, in seconds, and what they take when half of them help. */
static double need(struct tuning *t, size_t n, bool most)
{
	const struct proof *p = &t->g.proof;
	size_t half = (n + 1) / 2, blocks = screen_blocks(n, t->spread, p->min_effect_asked),
	       runs = screen_runs(n) * (most ? blocks : 1) + 2 * RULE_PROVEN_PAIRS;

	if (half > 1)
		runs += half < 4 ? half + 2 : 6;
	if (most)
		runs += 18 * t->g.engine.n_rivals;
	t->resolves = 2 * 3.7 * t->spread / sqrt((double)(screen_runs(n) * blocks));
	return p->warm_up_s + (t->seconds + p->settle_s + SWITCH_S) * (double)runs;
}

bool tune_fit(struct tuning *t, double *one_s, double *all_s)
{
	struct plan *p = &t->g.planned.plan;
	struct ledger *l = ARENA_NEW(t->g.d->arena, struct ledger);
	const struct setting **seen = arena_array(t->g.d->arena, p->n, sizeof(*seen));
	size_t n = engine_settings(p, t->spare, seen), all = n;
	double least;

	*all_s = need(t, n, false);
	ledger_load(t->g.d->arena, t->g.h, t->g.planned.m,
		    t->prove.state.state ? door_state(t->g.d, &t->prove.state) : NULL, l);
	while (n > 1 && (n > SCREEN_FACTORS_MAX || need(t, n, false) > t->g.proof.budget_s)) {
		size_t last = p->n;
		double worst = -1;

		for (size_t i = 0; i < p->n; i++)
			if (!p->changes[i].gate && !t->spare[i] &&
			    rank(t, l, &p->changes[i]) >= worst) {
				worst = rank(t, l, &p->changes[i]);
				last = i;
			}
		for (size_t i = 0; i < p->n; i++)
			if (p->changes[i].s == p->changes[last].s)
				refuse(&p->changes[i], "budget",
				       arena_printf(t->g.d->arena,
						    "not enough time: --time-limit %.0fm",
						    ceil(*all_s / 60)));
		n--;
	}
	*one_s = need(t, n, false);
	t->plan_s = need(t, n, true);
	least = t->resolves;
	t->resolves *= sqrt(fmax(1, t->plan_s / t->g.proof.budget_s));
	if (*one_s > t->g.proof.budget_s)
		return false;
	if (n < all)
		door_warn(t->g.d,
			  "%zu of %zu candidates fit the time limit; --time-limit %.0fm tries all",
			  n, all, ceil(*all_s / 60));
	else if (t->resolves > 1.2 * least)
		door_warn(t->g.d,
			  "effects from %.2g %% are seen in this time, from %.2g %% in %.0f min",
			  100 * t->resolves, 100 * least, ceil(t->plan_s / 60));
	t->plan_s = fmin(t->plan_s, t->g.proof.budget_s);
	return true;
}

/* --- what became of them ---------------------------------------------------------------------- */

static const char *from_text(const struct tuning *t, const struct change *c)
{
	const char *out = NULL;

	if (c->knob.kind == KNOB_NONE)
		return c->before ? "arguments" : "environment";
	for (size_t i = 0; i < t->n_profiles; i++)
		if (has_change(&t->planned[i].plan, c, true))
			out = arena_printf(t->g.d->arena, "%s%s%s", out ? out : "", out ? ", " : "",
					   t->planned[i].profile.name);
	return out ? out : "";
}

/* The member that this setting is, or is part of. */
static const struct proof_member *member_of(const struct proof *p, const char *id)
{
	for (size_t i = 0; i < p->n_members; i++)
		if (ledger_part_of(p->members[i].id, id))
			return &p->members[i];
	return NULL;
}

static struct screen_member member_from(const struct ruling *r)
{
	return (struct screen_member){
		.n = r->pairs, .ratio = r->ratio, .low = r->low, .high = r->high
	};
}

static void judge_member(struct tuning *t, struct tune_item *x, const struct proof_member *m)
{
	const struct proof *p = &t->g.proof;
	size_t together = 0;
	bool alone;

	for (size_t i = 0; i < p->n_members; i++)
		together += p->members[i].state >= MEMBER_STAYS;
	/* Then it is what the whole was. */
	alone = together == 1 && m->state >= MEMBER_STAYS;
	x->screened = m->screened;
	x->effect = m->effect;
	x->confirmed = m->confirmed || alone;
	x->member = m->member;
	x->of = m->of;
	if (alone)
		x->member = member_from(&p->compared.ruling);
	x->interaction = m->screened && m->confirmed && m->sum > 0 ? m->member.ratio / m->sum : NAN;
	if (m->fault)
		x->state = TUNE_FAILED;
	else if (p->verdict == RULING_HELPS && m->state >= MEMBER_STAYS)
		x->state = TUNE_KEPT;
	else if (!m->screened)
		x->state = TUNE_OPEN;
	else
		x->state = m->member.hurts || m->effect.say == SCREEN_HURTS ? TUNE_HURTS
			   : m->effect.say == SCREEN_DROP		    ? TUNE_NO_GAIN
									    : TUNE_OPEN;
	x->why = m->fault		    ? m->fault
		 : x->state == TUNE_OPEN    ? "the noise is too large to decide"
		 : m->state == MEMBER_STAYS ? "not proven to help by itself; the whole set helps"
					    : NULL;
}

static void judge_rival(struct tune_item *x, const struct rival *r)
{
	const struct ruling *v = &r->compared.ruling;

	x->state = r->won				 ? TUNE_KEPT
		   : !r->compared.done || !v->pairs	 ? TUNE_OPEN
		   : r->compared.verdict == RULING_HURTS ? TUNE_HURTS
							 : TUNE_NO_GAIN;
	x->confirmed = v->pairs > 0;
	x->member = member_from(v);
	x->why = x->confirmed ? "compared with the kept set" : "not compared: out of time";
}

static struct tune_item *add_item(struct tuning *t)
{
	t->items = arena_grow(t->g.d->arena, t->items, t->n_items, sizeof(*t->items));
	t->items[t->n_items] =
		(struct tune_item){ .interaction = NAN, .targets = "", .from = "", .uses = "" };
	return &t->items[t->n_items++];
}

/* Whether this change is listed with an earlier one; its target is added there. */
static bool joins(struct tuning *t, const struct change *c, size_t first)
{
	for (size_t i = first; i < t->n_items; i++) {
		struct tune_item *x = &t->items[i];

		if (strcmp(x->id, c->s->id) != 0 || strcmp(x->after, c->after) != 0 ||
		    (x->state == TUNE_NOT_TRIED) != (c->gate != NULL))
			continue;
		if (*c->target && strlen(x->targets) < 60 &&
		    !words_have(x->targets, c->target, strlen(c->target)))
			x->targets = arena_printf(t->g.d->arena, "%s%s%s", x->targets,
						  *x->targets ? " " : "", c->target);
		return true;
	}
	return false;
}

static void setting_items(struct tuning *t)
{
	const struct plan *p = &t->g.planned.plan;

	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];
		const struct proof_member *m = member_of(&t->g.proof, c->s->id);
		struct tune_item *x;

		if (t->spare[i] || joins(t, c, 0))
			continue;
		x = add_item(t);
		x->id = c->s->id;
		x->targets = c->target;
		x->before = c->before;
		x->after = c->after;
		x->from = from_text(t, c);
		x->uses = job_uses_text(t->g.d->arena, setting_uses_of(c->s->id, c->s->shown_by));
		x->risk = c->risk;
		x->why = c->refusal;
		x->state = c->gate ? TUNE_NOT_TRIED : TUNE_OPEN;
		if (!c->gate && m)
			judge_member(t, x, m);
	}
}

static void manual_notes(struct tuning *t)
{
	const struct plan *p = &t->planned[0].plan;

	for (size_t i = 0; i < p->n_advice; i++) {
		const struct setting *s = p->advice[i].finding->s;
		unsigned uses = setting_uses_of(s->id, s->shown_by);

		if (!s->health && (!uses || (uses & t->seen.uses)))
			note(t, &t->manual, &t->n_manual, s->id, p->advice[i].sentence);
	}
	for (size_t i = 0; i < n_job_vars; i++)
		if (job_vars[i].hint && !var_refusal(t, &job_vars[i], i, ""))
			note(t, &t->manual, &t->n_manual, job_vars[i].name, job_vars[i].does);
}

/* The job with what is kept of its own: "env NAME=VALUE COMMAND"; NULL: nothing is. */
static const char *run_line(struct tuning *t)
{
	struct arena *a = t->g.d->arena;
	const struct plan *p = &t->g.planned.plan;
	const char **kept = arena_array(a, p->n + 1, sizeof(*kept)), *env = "";
	const char *const *argv;
	TEXT_AUTO line = { 0 };
	size_t n = 0;
	bool args = false;

	for (size_t i = 0; i < p->n && t->g.good && t->g.proof.verdict == RULING_HELPS; i++) {
		const struct change *c = &p->changes[i];

		if (!t->g.good[i] || c->gate || c->knob.kind != KNOB_NONE)
			continue;
		note(t, &t->variables, &t->n_variables, c->knob.name, c->after);
		kept[n] = arena_printf(a, "%s=%s", c->knob.name, c->after);
		if (*c->knob.name == '-')
			args = true;
		else
			env = arena_printf(a, "%s%s ", *env ? env : "env ", kept[n]);
		n++;
	}
	if (!n || !args)
		return n ? arena_printf(a, "%s%s", env, t->ask->command) : NULL;
	for (argv = words_with(a, t->g.proof.window.argv, kept); *argv; argv++) {
		text_printf(&line, "%s%s", line.len ? " " : "", **argv ? "" : "''");
		for (const char *c = *argv; *c; c++)
			text_printf(&line, "%s%c",
				    strchr(" \t'\"\\|&;<>()$`*?[]#~!{}", *c) ? "\\" : "", *c);
	}
	return arena_printf(a, "%s%s", env, line.s);
}

void tune_items(struct tuning *t)
{
	struct arena *a = t->g.d->arena;

	setting_items(t);
	for (size_t i = 0; i < t->g.engine.n_rivals; i++) {
		const struct rival *r = &t->g.engine.rivals[i];
		struct tune_item *x = add_item(t);

		x->id = r->value ? r->id : r->name;
		x->after = r->value ? r->value : "as a whole";
		x->from = r->value ? "another value" : "profile";
		judge_rival(x, r);
	}
	manual_notes(t);
	t->run = run_line(t);
	if (t->g.proof.kept) {
		t->undo = arena_printf(a, "sudo gputune undo %lu", t->g.proof.txn);
		t->keep = "sudo gputune persist install";
	}
}
