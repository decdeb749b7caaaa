/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a setup as JSON. Texts of the machine may hold anything; JSON may not. */
#include "many/cluster/setup_json.h"

#include "base/utf8.h"

static json_t *text(struct arena *a, const char *s)
{
	return s ? json_string(utf8_clean(a, s)) : json_null();
}

/* A file's value is long and stands among the files; its mode and presence are told. */
static json_t *changes_json(struct arena *a, const struct plan *p, const char *step, json_t *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct change *c = &p->changes[i];

		json_array_append_new(
			out, json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "step", step, "id",
				       c->s->id, "kind", knob_kind_name(c->knob.kind), "name",
				       text(a, c->knob.name), "object", c->knob.object, "before",
				       text(a, c->before), "after", text(a, c->after)));
	}
	return out;
}

static json_t *commands_json(struct arena *a, struct host *h, const struct setup *s)
{
	struct knob *knobs = arena_array(a, s->trial.n, sizeof(*knobs));
	json_t *out = json_array();
	char ***argvs;
	size_t n;

	for (size_t i = 0; i < s->trial.n; i++)
		knobs[i] = s->trial.changes[i].knob;
	argvs = setup_reloads(a, h, knobs, s->trial.n, &n);
	for (size_t i = 0; i < n; i++) {
		json_t *words = json_array();

		for (size_t k = 0; argvs[i][k]; k++)
			json_array_append_new(words, text(a, argvs[i][k]));
		json_array_append_new(out, words);
	}
	return out;
}

json_t *setup_json(struct arena *a, struct host *h, const struct setup *s,
		   const struct setup_want *want)
{
	json_t *files = json_array(), *refusals = json_array(), *notes = json_array(),
	       *owners = json_array(),
	       *changes = changes_json(a, &s->keep, "keep",
				       changes_json(a, &s->trial, "trial", json_array()));

	for (size_t i = 0; i < s->n_files; i++)
		json_array_append_new(files,
				      json_pack("{s:o, s:o}", "path", text(a, s->files[i].path),
						"text", text(a, s->files[i].text)));
	for (size_t i = 0; i < s->n_refusals; i++) {
		const struct setup_refusal *r = &s->refusals[i];

		json_array_append_new(refusals,
				      json_pack("{s:s, s:o, s:o, s:o}", "code", r->code, "port",
						text(a, r->port), "text", text(a, r->text), "fix",
						text(a, r->fix)));
	}
	for (size_t i = 0; i < s->n_notes; i++)
		json_array_append_new(notes, text(a, s->notes[i]));
	for (size_t i = 0; i < want->n; i++)
		json_array_append_new(owners, json_pack("{s:s, s:s}", "port", want->ports[i].name,
							"owner", setup_owner_name(s->owners[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "changes", changes, "files", files,
			 "refusals", refusals, "notes", notes, "owners", owners, "commands",
			 commands_json(a, h, s), "digest", setup_digest(a, s));
}

json_t *setup_rows_json(const struct txn_report *r)
{
	struct arena a = { 0 };
	json_t *out = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct outcome_row *row = &r->rows[i];

		json_array_append_new(
			out,
			json_pack("{s:s, s:o, s:s, s:o, s:o, s:s, s:o, s:o}", "kind",
				  knob_kind_name(row->knob.kind), "name", text(&a, row->knob.name),
				  "object", row->knob.object ? row->knob.object : "", "from",
				  text(&a, row->from), "to", text(&a, row->to), "outcome",
				  outcome_name(row->outcome), "sentence", text(&a, row->sentence),
				  "command", text(&a, row->command)));
	}
	arena_free(&a);
	return out;
}
