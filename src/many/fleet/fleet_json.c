/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet as JSON. Keys and meanings are API: schemas/fleet.json holds them. */
#include "base/json.h"
#include "many/fleet/fleet.h"

#include <math.h>

#include "base/clock.h"

/* Names of files may hold any bytes. */
static json_t *hosts_json(const struct fleet_machine *const *m, size_t n)
{
	struct arena a = { 0 };
	json_t *j = json_text(fleet_hosts(&a, m, n, 0));

	arena_free(&a);
	return j;
}

static json_t *size(size_t n)
{
	return json_integer((json_int_t)n);
}

static const char *kind_name(enum fleet_kind k)
{
	static const char *const names[] = { "check", "status", "verify", "host" };

	return names[k];
}

static const char *mark_name(enum fleet_mark m)
{
	static const char *const names[] = { "good", "neutral", "unknown", "bad" };

	return names[m];
}

static json_t *fleet_json_answer(const struct fleet_answer *an)
{
	json_t *j = json_object(), *parts = json_array();

	json_object_set_new(j, "mark", json_string(mark_name(an->mark)));
	json_object_set_new(j, "text", json_text(an->text));
	for (size_t i = 0; i < an->n_parts; i++) {
		const struct fleet_part *p = an->parts[i];

		json_array_append_new(
			parts, json_pack("{s:o, s:o, s:o, s:o}", "target", json_text(p->target),
					 "state", json_text(p->state), "now", json_text(p->now),
					 "wanted", json_text(p->wanted)));
	}
	json_object_set_new(j, "parts", parts);
	return j;
}

/* The keys that name a subject, before whatever is told of it. */
static json_t *subject_json(const struct fleet_subject *s)
{
	return json_pack("{s:o, s:s}", "id", json_text(s->id), "from", kind_name(s->kind));
}

static json_t *fleet_json_group(const struct fleet_group *g)
{
	json_t *j = json_object(), *names = json_array(), *list = json_array();

	json_object_set_new(j, "group", size(g->number));
	json_object_set_new(j, "machines", size(g->n));
	json_object_set_new(j, "bad", size(g->n_bad));
	json_object_set_new(j, "unknown", size(g->n_answers - g->n_bad));
	json_object_set_new(j, "hosts", hosts_json(g->machines, g->n));
	for (size_t i = 0; i < g->n; i++)
		json_array_append_new(names, json_text(g->machines[i]->name));
	json_object_set_new(j, "names", names);
	for (size_t i = 0; i < g->n_answers; i++) {
		json_t *row = subject_json(g->answers[i]->subject);

		json_object_set_new(row, "answer", fleet_json_answer(g->answers[i]));
		json_array_append_new(list, row);
	}
	json_object_set_new(j, "findings", list);
	return j;
}

static json_t *shared_answer_json(const struct fleet_answer *an)
{
	json_t *j = fleet_json_answer(an);

	json_object_set_new(j, "machines", size(an->n_by));
	json_object_set_new(j, "hosts", hosts_json(an->by, an->n_by));
	return j;
}

static json_t *difference_json(const struct fleet_subject *s)
{
	json_t *j = subject_json(s), *list = json_array();

	for (size_t i = 0; i < s->n_answers; i++)
		if (s->answers[i]->count)
			json_array_append_new(list, shared_answer_json(s->answers[i]));
	json_object_set_new(j, "within_platform", json_boolean(s->differs));
	json_object_set_new(j, "silent", size(s->silent));
	json_object_set_new(j, "answers", list);
	return j;
}

static json_t *outlier_json(const struct fleet_machine *m)
{
	json_t *rare = json_array();

	for (size_t i = 0; i < m->n_rare; i++) {
		json_t *row = subject_json(m->rare[i].answer->subject);

		json_object_set_new(row, "here", fleet_json_answer(m->rare[i].answer));
		json_object_set_new(row, "usual", fleet_json_answer(m->rare[i].usual));
		json_object_set_new(row, "shared_by", size(m->rare[i].answer->count));
		json_object_set_new(row, "peers", size(m->rare[i].peers));
		json_array_append_new(rare, row);
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(m->name), "file",
			 json_text(m->file), "group", size(m->group->number), "rare", rare);
}

static json_t *drift_json(const struct fleet *f)
{
	json_t *list = json_array();

	if (!f->golden) {
		json_decref(list);
		return json_null();
	}
	for (size_t s = 0; s < f->n_subjects; s++) {
		const struct fleet_subject *it = f->subjects[s];
		const struct fleet_answer *wanted = fleet_answer_of(f->golden, it);

		if (it->kind != FLEET_HOST && !f->golden->times[it->kind])
			continue;
		for (size_t i = 0; i < it->n_answers; i++) {
			json_t *row;

			if (it->answers[i] == wanted || !it->answers[i]->n_by)
				continue;
			row = subject_json(it);
			json_object_set_new(row, "golden",
					    wanted ? fleet_json_answer(wanted) : json_null());
			json_object_set_new(row, "here", shared_answer_json(it->answers[i]));
			json_array_append_new(list, row);
		}
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "golden", json_text(f->golden->name), "file",
			 json_text(f->golden->file), "machines", size(f->n_drifted), "rows", list);
}

static json_t *verdict_json(const struct fleet_verdict *v)
{
	char stamp[STAMP_SIZE];
	json_t *j = json_object();

	json_object_set_new(j, "name", json_text(v->name));
	json_object_set_new(j, "verdict", json_string(fleet_verdict_name(v->kind)));
	json_object_set_new(j, "ratio", json_real(v->ratio));
	json_object_set_new(j, "low", v->low > 0 ? json_real(v->low) : json_null());
	json_object_set_new(j, "high", isfinite(v->high) ? json_real(v->high) : json_null());
	json_object_set_new(j, "kernel", json_text(v->kernel));
	json_object_set_new(j, "driver", json_text(v->driver));
	json_object_set_new(j, "time",
			    stamp_format(v->time_s, stamp) ? json_null() : json_string(stamp));
	return j;
}

static json_t *proof_json(const struct fleet_proof *p)
{
	json_t *j = json_object(), *rows = json_array();

	json_object_set_new(j, "setting", json_text(p->setting));
	json_object_set_new(j, "bench", p->command ? json_null() : json_text(p->on));
	json_object_set_new(j, "command", p->command ? json_text(p->on) : json_null());
	json_object_set_new(j, "helps", size(p->count[FLEET_HELPS]));
	json_object_set_new(j, "hurts", size(p->count[FLEET_HURTS]));
	json_object_set_new(j, "no_difference", size(p->count[FLEET_NO_DIFFERENCE]));
	json_object_set_new(j, "undecided", size(p->count[FLEET_UNDECIDED]));
	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(rows, verdict_json(p->by[i]));
	json_object_set_new(j, "verdicts", rows);
	return j;
}

static json_t *proofs_json(const struct fleet *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_proofs; i++)
		json_array_append_new(list, proof_json(f->proofs[i]));
	return list;
}

static json_t *fleet_json_value(const struct fleet_bench *b, const struct fleet_value *v)
{
	struct arena a = { 0 };
	json_t *j = json_pack("{s:o, s:f, s:f, s:b, s:o}", "name", json_text(v->machine->name),
			      "value", v->value, "robust_z", v->z, "worse", v->worse, "unlike_most",
			      json_text(fleet_unusual(&a, b, v->machine)));

	arena_free(&a);
	return j;
}

static json_t *state_json(const struct fleet_bench *b, const struct fleet_state *s)
{
	return s->n ? json_pack("{s:o, s:f, s:b, s:o}", "machines", size(s->n), "median", s->median,
				"worse", (s->median < b->median) != b->lower, "hosts",
				hosts_json(s->machines, s->n))
		    : json_null();
}

static json_t *benches_json(const struct fleet *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_benches; i++) {
		const struct fleet_bench *b = f->benches[i];
		json_t *far_off = json_array();

		for (size_t k = 0; k < b->n; k++)
			if (b->by[k]->outlier)
				json_array_append_new(far_off, fleet_json_value(b, b->by[k]));
		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:o, s:s, s:o, s:f, s:f, s:o, s:o, s:o}", "figure",
				  json_text(b->name), "unit", json_text(b->unit), "hardware",
				  json_text(b->hardware), "better", b->lower ? "lower" : "higher",
				  "machines", size(b->n), "median", b->median, "mad", b->mad,
				  "outliers", far_off, "state_below", state_json(b, &b->below),
				  "state_above", state_json(b, &b->above)));
	}
	return list;
}

static json_t *lists_json(const struct fleet *f, json_t *j)
{
	json_t *groups = json_array(), *differences = json_array(), *outliers = json_array(),
	       *refused = json_array();

	for (size_t i = 0; i < f->n_groups; i++)
		json_array_append_new(groups, fleet_json_group(f->groups[i]));
	for (size_t i = 0; i < f->n_subjects; i++)
		if (f->subjects[i]->differs || f->subjects[i]->between)
			json_array_append_new(differences, difference_json(f->subjects[i]));
	for (size_t i = 0; i < f->n; i++)
		if (f->machines[i]->n_rare)
			json_array_append_new(outliers, outlier_json(f->machines[i]));
	for (size_t i = 0; i < f->n_refused && i < FLEET_REFUSED_MAX; i++)
		json_array_append_new(refused,
				      json_pack("{s:o, s:o}", "file", json_text(f->refused[i].file),
						"why", json_text(f->refused[i].why)));
	json_object_set_new(j, "groups", groups);
	json_object_set_new(j, "differences", differences);
	json_object_set_new(j, "outliers", outliers);
	json_object_set_new(j, "drift", drift_json(f));
	json_object_set_new(j, "proofs", proofs_json(f));
	json_object_set_new(j, "benches", benches_json(f));
	json_object_set_new(j, "unreadable", refused);
	return j;
}

json_t *fleet_json(const struct fleet *f, long long time_s, int exit_code)
{
	json_t *j = json_head("gputune.fleet/1", time_s, exit_code), *sum = json_object();

	json_object_set_new(sum, "files", size(f->files));
	json_object_set_new(sum, "results", size(f->documents));
	json_object_set_new(sum, "older_results", size(f->replaced));
	json_object_set_new(sum, "machines", size(f->n));
	json_object_set_new(sum, "groups", size(f->n_groups));
	json_object_set_new(sum, "differences", size(f->n_differs));
	json_object_set_new(sum, "between_platforms", size(f->n_between));
	json_object_set_new(sum, "outliers", size(f->n_outliers));
	json_object_set_new(sum, "figures", size(f->n_benches));
	json_object_set_new(sum, "bench_outliers", size(f->n_bench_outliers));
	json_object_set_new(sum, "verdicts", size(f->verdicts));
	json_object_set_new(sum, "unreadable", size(f->n_refused));
	json_object_set_new(j, "summary", sum);
	return lists_json(f, j);
}
