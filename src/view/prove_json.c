/* SPDX-License-Identifier: Apache-2.0 */
/* A proof as JSON. Keys and meanings are API. */
#include <math.h>

#include "base/utf8.h"
#include "view/findings.h"
#include "view/page_prove.h"

static json_t *text(const char *s)
{
	struct arena a = { 0 };
	json_t *j = s ? json_string(utf8_clean(&a, s)) : json_null();

	arena_free(&a);
	return j;
}

/* What is not known, or has no bound, is null. */
static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *numbers(const double *x, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, real(x[i]));
	return list;
}

static json_t *effect(double ratio, double low, double high)
{
	bool known = low > 0 && isfinite(high);

	return json_pack("{s:o, s:o, s:o}", "ratio", known ? real(ratio) : json_null(), "low",
			 known ? real(low) : json_null(), "high", known ? real(high) : json_null());
}

static json_t *ruling_json(const struct ruling *r)
{
	json_t *j = effect(r->ratio, r->low, r->high);

	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "resolution", r->pairs ? real(r->resolution) : json_null());
	json_object_set_new(j, "pairs_needed",
			    r->needed ? json_integer((json_int_t)r->needed) : json_null());
	return j;
}

static json_t *window_json(const struct proof *p)
{
	const struct window *w = &p->window;
	json_t *j = json_object(), *figures = json_array(), *argv = json_array();

	for (size_t i = 0; i < w->n_figures; i++)
		json_array_append_new(
			figures,
			json_pack("{s:o, s:o, s:o, s:s, s:b}", "key", text(w->figures[i].key),
				  "title", text(w->figures[i].title), "unit",
				  text(w->figures[i].unit_text), "better",
				  w->figures[i].better == BENCH_HIGHER ? "higher" : "lower",
				  "decides", i == w->main));
	for (size_t i = 0; w->argv && w->argv[i]; i++)
		json_array_append_new(argv, text(w->argv[i]));
	json_object_set_new(j, "kind", text(w->kind));
	json_object_set_new(j, "name", text(w->name));
	json_object_set_new(j, "metric", text(w->of));
	json_object_set_new(j, "setup", text(w->setup));
	json_object_set_new(j, "version", json_integer(w->version));
	json_object_set_new(j, "argv", argv);
	json_object_set_new(j, "window_s", w->seconds > 0 ? real(w->seconds) : json_null());
	json_object_set_new(j, "figures", figures);
	return j;
}

static json_t *windows_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_windows; i++) {
		const struct proof_window *w = &p->windows[i];
		json_t *j = json_object();

		json_object_set_new(j, "part", text(proof_part_name(w->part)));
		json_object_set_new(j, "pair", json_integer((json_int_t)w->pair));
		json_object_set_new(j, "state", text(w->state));
		json_object_set_new(j, "side", json_string(w->b ? "b" : "a"));
		json_object_set_new(j, "at_s", real(w->at_s));
		json_object_set_new(j, "samples", json_integer((json_int_t)w->samples));
		json_object_set_new(j, "values", numbers(w->value, p->window.n_figures));
		json_object_set_new(j, "void", text(w->fault));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *changes_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_changes; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "id",
						      text(p->changes[i].id), "target",
						      text(p->changes[i].target), "knob",
						      text(p->changes[i].knob), "before",
						      text(p->changes[i].before), "after",
						      text(p->changes[i].after)));
	return list;
}

static json_t *guards_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->compared.n_guards; i++) {
		const struct proof_guard *g = &p->compared.guards[i];
		json_t *j = effect(g->guard.ratio, g->guard.low, g->guard.high);

		json_object_set_new(j, "figure", text(p->window.figures[g->figure].key));
		json_object_set_new(j, "veto", json_boolean(g->guard.veto));
		json_object_set_new(j, "early", json_boolean(g->guard.early));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *same_json(const struct proof *p)
{
	static const char *const kinds[] = { "ok", "biased", "coarse", "short" };
	json_t *j;

	if (!p->same_done)
		return json_null();
	j = effect(p->same.ratio, p->same.low, p->same.high);
	json_object_set_new(j, "result", text(kinds[p->same.kind]));
	json_object_set_new(j, "pairs", json_integer((json_int_t)p->same_pairs.n));
	json_object_set_new(j, "resolution", real(p->same.resolution));
	return j;
}

static json_t *members_json(const struct proof *p)
{
	static const char *const says[] = { "keep", "drop", "hurts" };
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];
		json_t *j = json_object();

		json_object_set_new(j, "id", text(m->id));
		json_object_set_new(j, "stays", json_boolean(m->stays));
		json_object_set_new(j, "fault", text(m->fault));
		json_object_set_new(j, "screened",
				    m->screened
					    ? effect(m->effect.ratio, m->effect.low, m->effect.high)
					    : json_null());
		json_object_set_new(j, "screening",
				    m->screened ? json_string(says[m->effect.say]) : json_null());
		json_object_set_new(j, "confirmed",
				    m->confirmed
					    ? effect(m->member.ratio, m->member.low, m->member.high)
					    : json_null());
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *conditions_json(const struct record_conditions *c)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "others_before_cpus", real(c->idle_others),
			 "others_cpus", real(c->others), "steal_percent", real(c->steal_percent),
			 "temperature_c", real(c->after.temp_c));
}

static json_t *fingerprint_json(const struct record *r)
{
	json_t *o = json_object();

	for (size_t i = 0; i < r->n_fingerprint; i++)
		json_object_set_new(o, r->fingerprint[i].name, text(r->fingerprint[i].value));
	return o;
}

static json_t *rule_json(const struct proof *p)
{
	json_t *j = json_object(), *looks = json_array();

	for (size_t i = 0; i < p->rule.n_looks; i++)
		json_array_append_new(looks, json_integer((json_int_t)p->rule.looks[i]));
	json_object_set_new(j, "min_effect", real(p->rule.min_effect));
	json_object_set_new(j, "alpha", real(p->rule.alpha));
	json_object_set_new(j, "looks", looks);
	json_object_set_new(j, "seed", text(NULL));
	return j;
}

json_t *prove_json(const struct machine *m, const struct proof *p, int exit_code)
{
	json_t *j = result_json("prove", m, exit_code), *rule = rule_json(p);
	char seed[24];

	/* A JSON number of 64 bits is not safe everywhere. */
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)p->seed);
	json_object_set_new(rule, "seed", json_string(seed));
	json_object_set_new(j, "what", text(p->what));
	json_object_set_new(j, "verdict", text(ruling_name(p->verdict)));
	json_object_set_new(j, "why", text(p->why));
	json_object_set_new(j, "effect", ruling_json(&p->compared.ruling));
	json_object_set_new(j, "kept", json_boolean(p->kept));
	json_object_set_new(j, "transaction",
			    p->txn ? json_integer((json_int_t)p->txn) : json_null());
	json_object_set_new(j, "trouble", text(p->trouble));
	json_object_set_new(j, "foreign", text(p->foreign));
	json_object_set_new(j, "partial", json_boolean(p->stopped));
	json_object_set_new(j, "changes", changes_json(p));
	json_object_set_new(j, "measured_with", window_json(p));
	json_object_set_new(j, "rule", rule);
	json_object_set_new(j, "same", same_json(p));
	json_object_set_new(j, "guards", guards_json(p));
	json_object_set_new(j, "members", members_json(p));
	json_object_set_new(j, "steady", json_boolean(p->warm));
	json_object_set_new(j, "settle_s", real(p->settle_s));
	json_object_set_new(j, "budget_s", real(p->budget_s));
	json_object_set_new(j, "took_s", real(p->took_s));
	json_object_set_new(j, "switches", json_integer((json_int_t)p->switches));
	json_object_set_new(j, "machine", text(p->machine.machine));
	json_object_set_new(j, "fingerprint", fingerprint_json(&p->machine));
	json_object_set_new(j, "conditions", conditions_json(&p->conditions));
	json_object_set_new(j, "windows", windows_json(p));
	return j;
}
