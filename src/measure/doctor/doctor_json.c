/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses for programs: schemas/doctor.json and schemas/doctor-list.json. */
#include <math.h>
#include <string.h>

#include "look/settings/findings.h"
#include "render/json_value.h"
#include "measure/doctor/page_doctor.h"

static json_t *cause_json(const struct cause_result *r, const struct machine *m)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "id", r->c->id, "title",
			 r->c->title, "likelihood", likelihood_name(r->v.how), "evidence",
			 json_text(r->v.says), "judged_by",
			 json_text(r->c->rule ? NULL : r->c->setting), "fix", json_text(r->c->fix),
			 "by_hand", json_text(doctor_step(r->c, m)));
}

static json_t *diagnosis_json(const struct examined *x, const struct machine *m)
{
	json_t *causes = json_array();

	for (size_t i = 0; i < x->d->n; i++)
		json_array_append_new(causes, cause_json(&x->causes[i], m));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:b, s:o}", "id", x->d->id, "symptom",
			 x->d->symptom, "state", doctor_state_name(x->state), "why",
			 json_text(x->why), "missing", json_text(x->d->missing), "normal",
			 x->d->normal, "causes", causes);
}

static json_t *tests_json(const struct doctor_view *v)
{
	json_t *out = json_array();

	for (unsigned i = 0; i < TESTS; i++)
		if (v->tests & TEST_BIT(i))
			json_array_append_new(out, json_pack("{s:s, s:b, s:o}", "name",
							     doctor_tests[i].name, "ran",
							     !v->e->not_run[i], "why",
							     json_text(v->e->not_run[i])));
	return out;
}

static void add_figures(json_t *out, const struct record_case *c)
{
	for (size_t i = 0; i < c->n_series; i++) {
		const struct record_series *s = &c->series[i];

		if (s->has_summary && isfinite(s->s.median))
			json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:f, s:i, s:b}",
							     "bench", c->bench, "case", c->name,
							     "figure", s->key, "unit", s->unit,
							     "median", s->s.median, "samples",
							     (int)s->s.n, "verified", c->verified));
	}
}

static json_t *figures_json(const struct record *r)
{
	json_t *out = json_array();

	for (size_t i = 0; r && i < r->n; i++)
		add_figures(out, &r->cases[i]);
	return out;
}

static json_t *fixes_json(const struct doctor_view *v)
{
	json_t *out = json_array();

	for (size_t i = 0; i < v->n_fixes; i++) {
		const struct doctor_fix *f = &v->fixes[i];

		json_array_append_new(
			out, json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:o}", "diagnosis",
				       f->diagnosis, "settings", f->settings, "transaction",
				       f->txn ? json_integer((json_int_t)f->txn) : json_null(),
				       "verdict",
				       json_text(f->measured ? remeasured_name(f->v.how) : NULL),
				       "measured", json_text(f->measured ? f->v.says : NULL),
				       "kept", f->kept, "left", json_text(f->left), "trouble",
				       json_text(f->trouble)));
	}
	return out;
}

json_t *doctor_json(const struct doctor_view *v, int exit_code)
{
	struct doctor_count n = doctor_count(v);
	json_t *j = result_json("doctor", v->m, exit_code), *diagnoses = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(diagnoses, diagnosis_json(&v->items[i], v->m));
	json_object_set_new(j, "summary",
			    json_pack("{s:i, s:i, s:i, s:i}", "found", (int)n.of[DOCTOR_FOUND],
				      "fine", (int)n.of[DOCTOR_FINE], "not_tested",
				      (int)n.of[DOCTOR_OPEN], "not_here",
				      (int)n.of[DOCTOR_NOT_HERE]));
	json_object_set_new(j, "tests", tests_json(v));
	json_object_set_new(j, "measurements", figures_json(v->e->record));
	json_object_set_new(j, "diagnoses", diagnoses);
	json_object_set_new(j, "fixes", fixes_json(v));
	return j;
}

json_t *doctor_list_json(void)
{
	json_t *out = json_array();

	DIAGNOSIS_FOR_EACH (d) {
		json_t *causes = json_array(), *tests = json_array();

		for (size_t i = 0; i < d->n; i++)
			json_array_append_new(causes,
					      json_pack("{s:s, s:s, s:o}", "id", d->causes[i].id,
							"title", d->causes[i].title, "fix",
							json_text(d->causes[i].fix)));
		for (unsigned i = 0; i < TESTS; i++)
			if (d->tests & TEST_BIT(i))
				json_array_append_new(tests, json_string(doctor_tests[i].name));
		json_array_append_new(out,
				      json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", d->id, "symptom",
						d->symptom, "missing", json_text(d->missing),
						"tests", tests, "causes", causes));
	}
	return json_pack("{s:s, s:s, s:o}", "schema", "gputune.doctor-list/1", "tool_version",
			 GPUTUNE_VERSION, "diagnoses", out);
}
