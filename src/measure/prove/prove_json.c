/* SPDX-License-Identifier: Apache-2.0 */
/* A proof as JSON. Keys and meanings are API. */
#include <math.h>

#include "look/settings/findings.h"
#include "render/json_value.h"
#include "measure/prove/page_prove.h"

static json_t *numbers(const double *x, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_figure(x[i]));
	return list;
}

static json_t *effect(double ratio, double low, double high)
{
	bool known = low > 0 && isfinite(high);

	return json_pack("{s:o, s:o, s:o}", "ratio", known ? json_figure(ratio) : json_null(),
			 "low", known ? json_figure(low) : json_null(), "high",
			 known ? json_figure(high) : json_null());
}

static json_t *ruling_json(const struct ruling *r)
{
	json_t *j = effect(r->ratio, r->low, r->high);

	json_object_set_new(j, "pairs", json_integer((json_int_t)r->pairs));
	json_object_set_new(j, "resolution", r->pairs ? json_figure(r->resolution) : json_null());
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
			json_pack("{s:o, s:o, s:o, s:s, s:b}", "key", json_text(w->figures[i].key),
				  "title", json_text(w->figures[i].title), "unit",
				  json_text(w->figures[i].unit_text), "better",
				  w->figures[i].better == BENCH_HIGHER ? "higher" : "lower",
				  "decides", i == w->main));
	for (size_t i = 0; w->argv && w->argv[i]; i++)
		json_array_append_new(argv, json_text(w->argv[i]));
	json_object_set_new(j, "kind", json_text(w->kind));
	json_object_set_new(j, "name", json_text(w->name));
	json_object_set_new(j, "metric", json_text(w->of));
	json_object_set_new(j, "setup", json_text(w->setup));
	json_object_set_new(j, "version", json_integer(w->version));
	json_object_set_new(j, "argv", argv);
	json_object_set_new(j, "window_s", w->seconds > 0 ? json_figure(w->seconds) : json_null());
	json_object_set_new(j, "figures", figures);
	return j;
}

static json_t *windows_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_windows; i++) {
		const struct proof_window *w = &p->windows[i];
		json_t *j = json_object();

		json_object_set_new(j, "part", json_text(proof_part_name(w->part)));
		json_object_set_new(j, "pair", json_integer((json_int_t)w->pair));
		json_object_set_new(j, "state", json_text(w->state));
		json_object_set_new(j, "side", json_string(w->b ? "b" : "a"));
		json_object_set_new(j, "at_s", json_figure(w->at_s));
		json_object_set_new(j, "samples", json_integer((json_int_t)w->samples));
		json_object_set_new(j, "values", numbers(w->value, p->window.n_figures));
		json_object_set_new(j, "void", json_text(w->fault));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *changes_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_changes; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "id",
						      json_text(p->changes[i].id), "target",
						      json_text(p->changes[i].target), "knob",
						      json_text(p->changes[i].knob), "before",
						      json_text(p->changes[i].before), "after",
						      json_text(p->changes[i].after)));
	return list;
}

static json_t *guards_json(const struct proof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->compared.n_guards; i++) {
		const struct proof_guard *g = &p->compared.guards[i];
		json_t *j = effect(g->guard.ratio, g->guard.low, g->guard.high);

		json_object_set_new(j, "figure", json_text(p->window.figures[g->figure].key));
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
	json_object_set_new(j, "result", json_text(kinds[p->same.kind]));
	json_object_set_new(j, "pairs", json_integer((json_int_t)p->same_pairs.n));
	json_object_set_new(j, "resolution", json_figure(p->same.resolution));
	return j;
}

static json_t *members_json(const struct proof *p)
{
	static const char *const says[] = { "keep", "drop", "hurts" };
	json_t *list = json_array();

	for (size_t i = 0; i < p->n_members; i++) {
		const struct proof_member *m = &p->members[i];
		json_t *j = json_object();

		json_object_set_new(j, "id", json_text(m->id));
		json_object_set_new(j, "stays", json_boolean(m->state >= MEMBER_STAYS));
		json_object_set_new(j, "shown", json_boolean(m->state == MEMBER_SHOWN));
		json_object_set_new(j, "fault", json_text(m->fault));
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
	return json_pack("{s:o, s:o, s:o, s:o}", "others_before_cpus", json_figure(c->idle_others),
			 "others_cpus", json_figure(c->others), "steal_percent",
			 json_figure(c->steal_percent), "temperature_c",
			 json_figure(c->after.temp_c));
}

static json_t *fingerprint_json(const struct record *r)
{
	json_t *o = json_object();

	for (size_t i = 0; i < r->n_fingerprint; i++)
		json_object_set_new(o, r->fingerprint[i].name, json_text(r->fingerprint[i].value));
	return o;
}

static json_t *rule_json(const struct proof *p)
{
	json_t *j = json_object(), *looks = json_array();

	for (size_t i = 0; i < p->rule.n_looks; i++)
		json_array_append_new(looks, json_integer((json_int_t)p->rule.looks[i]));
	json_object_set_new(j, "min_effect", json_figure(p->rule.min_effect));
	json_object_set_new(j, "alpha", json_figure(p->rule.alpha));
	json_object_set_new(j, "looks", looks);
	json_object_set_new(j, "seed", json_text(NULL));
	return j;
}

json_t *prove_json(const struct machine *m, const struct proof *p, int exit_code)
{
	json_t *j = result_json("prove", m, exit_code), *rule = rule_json(p);
	char seed[24];

	/* A JSON number of 64 bits is not safe everywhere. */
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)p->seed);
	json_object_set_new(rule, "seed", json_string(seed));
	json_object_set_new(j, "what", json_text(p->what));
	json_object_set_new(j, "verdict", json_text(ruling_name(p->verdict)));
	json_object_set_new(j, "why", json_text(p->why));
	json_object_set_new(j, "effect", ruling_json(&p->compared.ruling));
	json_object_set_new(j, "kept", json_boolean(p->kept));
	json_object_set_new(j, "transaction",
			    p->txn ? json_integer((json_int_t)p->txn) : json_null());
	json_object_set_new(j, "trouble", json_text(p->trouble));
	json_object_set_new(j, "foreign", json_text(p->foreign));
	json_object_set_new(j, "partial", json_boolean(p->stopped));
	json_object_set_new(j, "changes", changes_json(p));
	json_object_set_new(j, "measured_with", window_json(p));
	json_object_set_new(j, "rule", rule);
	json_object_set_new(j, "same", same_json(p));
	json_object_set_new(j, "guards", guards_json(p));
	json_object_set_new(j, "members", members_json(p));
	json_object_set_new(j, "steady", json_boolean(p->warm));
	json_object_set_new(j, "settle_s", json_figure(p->settle_s));
	json_object_set_new(j, "budget_s", json_figure(p->budget_s));
	json_object_set_new(j, "took_s", json_figure(p->took_s));
	json_object_set_new(j, "switches", json_integer((json_int_t)p->switches));
	json_object_set_new(j, "machine", json_text(p->machine.machine));
	json_object_set_new(j, "fingerprint", fingerprint_json(&p->machine));
	json_object_set_new(j, "conditions", conditions_json(&p->conditions));
	json_object_set_new(j, "windows", windows_json(p));
	return j;
}
