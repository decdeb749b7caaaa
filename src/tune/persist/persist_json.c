/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept for the next boot, as JSON. Keys and meanings are API: schemas/persist.json. */
#include "look/settings/findings.h"
#include "render/json_value.h"
#include "tune/persist/page_persist.h"

static json_t *rows_json(const struct kept *rows, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct kept *k = &rows[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:{s:s, s:o, s:o}, s:o, s:s, s:o, s:o, s:o, s:o}",
				  "id", json_text(k->id), "target",
				  json_text(k->target ? k->target : ""), "knob", "kind",
				  knob_kind_name(k->knob.kind), "name", json_text(k->knob.name),
				  "object", json_text(k->knob.object), "value", json_text(k->value),
				  "keeper", keeper_name(k->refusal ? KEEPER_NONE : k->keeper),
				  "kept_by", json_text(k->refusal || !*k->by ? NULL : k->by),
				  "refusal", json_text(k->refusal), "loses", json_text(k->loses),
				  "contested", json_text(k->contested)));
	}
	return list;
}

static json_t *files_json(const struct persist_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n_files; i++) {
		const struct persist_view_file *f = &v->files[i];

		json_array_append_new(list,
				      json_pack("{s:o, s:s, s:o, s:o}", "path", json_text(f->path),
						"state", persist_file_state_name(f->state),
						"sentence", json_text(f->sentence), "diff",
						json_text(f->diff && *f->diff ? f->diff : NULL)));
	}
	return list;
}

static void add_outcomes(json_t *list, const struct txn_report *r)
{
	for (size_t i = 0; r && i < r->n; i++)
		json_array_append_new(list, json_pack("{s:o, s:s, s:o}", "name",
						      json_text(r->rows[i].knob.name), "outcome",
						      outcome_name(r->rows[i].outcome), "sentence",
						      json_text(r->rows[i].sentence)));
}

static json_t *in_effect_json(const struct persist_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n_in_effect; i++) {
		const struct kept *k = &v->in_effect[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:{s:s, s:o, s:o}, s:o, s:o}", "id", json_text(k->id),
				  "target", json_text(k->target), "knob", "kind",
				  knob_kind_name(k->knob.kind), "name", json_text(k->knob.name),
				  "object", json_text(k->knob.object), "value", json_text(k->value),
				  "before", json_text(k->before)));
	}
	return list;
}

json_t *persist_json(const struct machine *m, const struct persist_view *v,
		     const struct txn_report *report, const struct err *e, int exit_code)
{
	json_t *j = result_json("persist", m, exit_code), *notes = json_array(),
	       *outcomes = json_array();

	for (size_t i = 0; i < v->n_notes; i++)
		json_array_append_new(notes, json_text(v->notes[i]));
	for (size_t i = 0; report && i < report->n_leftovers; i++)
		json_array_append_new(notes, json_text(report->leftovers[i]));
	json_object_set_new(j, "action", json_string(v->action));
	json_object_set_new(j, "dry_run", json_boolean(v->dry));
	json_object_set_new(j, "transaction",
			    report && report->txn && !report->dry
				    ? json_integer((json_int_t)report->txn)
				    : json_null());
	json_object_set_new(j, "error", json_text(e && *e->text ? e->text : NULL));
	json_object_set_new(j, "hint", json_text(e && *e->text && *e->hint ? e->hint : NULL));
	json_object_set_new(j, "rows", rows_json(v->rows, v->n));
	json_object_set_new(j, "skipped", rows_json(v->skipped, v->n_skipped));
	json_object_set_new(j, "files", files_json(v));
	add_outcomes(outcomes, report);
	add_outcomes(outcomes, &v->now);
	json_object_set_new(j, "outcomes", outcomes);
	json_object_set_new(j, "in_effect", in_effect_json(v));
	json_object_set_new(j, "notes", notes);
	return j;
}
