/* SPDX-License-Identifier: Apache-2.0 */
/* What gputune prove was asked for: settings and their values, what is measured, how long. */
#include <string.h>

#include "base/text.h"
#include "front/verbs/bench.h"
#include "front/verbs/page.h"
#include "front/verbs/prove.h"
#include "measure/prove/order.h"

enum { ONE_BUDGET_S = 600, MANY_BUDGET_S = 7200, TIMEOUT_S = 600, SETTLE_S = 1 };

/* --- settings ----------------------------------------------------------------------------------
 */

/* ID[@TARGET][=VALUE] */
struct word {
	const char *id, *target, *value; /* NULL: not given */
};

static struct word read_word(struct arena *a, const char *text)
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
static void narrow(struct proving *g, const struct word *words, size_t n)
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
		words[i] = read_word(&r->arena, r->args[i]);
		if (run_check_ids(&words[i].id, 1))
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
	narrow(g, words, n);
	return plan_open_changes(&g->planned.plan) ? 0 : complain_nothing(g);
}

/* --- figures -----------------------------------------------------------------------------------
 */

int prove_time(const struct run *r, enum option_id o, double *out)
{
	const char *text = r->value[o];

	if (!text || parse_seconds(text, out) == 0)
		return 0;
	return complain_text(EXIT_USAGE, "--%s takes a time like 10s, not \"%s\"",
			     option_rows[o].name, text);
}

/* "1%", "0.5", "0.5 %": a share. */
int prove_min_effect(const struct run *r, double *out)
{
	const char *text = r->value[OPT_MIN_EFFECT];
	const char *end;
	double v;

	*out = 0.01;
	if (!text)
		return 0;
	if (parse_decimal(text, &v, &end) == 0) {
		end += strspn(end, " ");
		end += *end == '%';
		*out = v / 100;
	} else {
		end = text;
	}
	if (end == text || *end || !(v >= 0.01 && v <= 100))
		return complain_text(EXIT_USAGE, "--min-effect takes 0.01%% to 100%%, not \"%s\"",
				     text);
	return 0;
}

void prove_budget(const struct run *r, struct proof *out)
{
	if (!r->value[OPT_BUDGET])
		out->budget_s = out->many ? MANY_BUDGET_S : ONE_BUDGET_S;
}

int prove_seed(const struct run *r, uint64_t *out)
{
	unsigned long long v;

	*out = 0;
	if (r->value[OPT_SEED] && (parse_u64(r->value[OPT_SEED], &v) || !v))
		return complain_text(EXIT_USAGE, "--seed takes a whole number above 0, not \"%s\"",
				     r->value[OPT_SEED]);
	*out = r->value[OPT_SEED] ? v : order_seed();
	return 0;
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

/* --- what is measured --------------------------------------------------------------------------
 */

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
		return complain_text(EXIT_USAGE, "--better is for what a workload prints: of its "
						 "time less is better");
	return window_command(&g->r->arena, &w, &g->proof.window, &e) ? complain(EXIT_USAGE, &e)
								      : 0;
}

int prove_bench_window(struct proving *g, const char *name, struct err *e)
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
