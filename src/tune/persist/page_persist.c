/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of persist: what is kept by which file, who would win at boot, and what remove did. */
#include <string.h>

#include "tune/persist/page_persist.h"
#include "base/text.h"
#include "tune/plan/plan.h"
#include "tune/txn/page_txn.h"
#include "look/settings/findings.h"
#include "base/json.h"

static const struct {
	const char *name, *text;
	enum style style;
} states[] = {
	[PERSIST_FILE_SAME] = { "same", "as written", STYLE_GOOD },
	[PERSIST_FILE_NEW] = { "new", "to be made", STYLE_WARN },
	[PERSIST_FILE_CHANGED] = { "changed", "to be replaced", STYLE_WARN },
	[PERSIST_FILE_MISSING] = { "missing", "not there any more", STYLE_BAD },
	[PERSIST_FILE_FOREIGN] = { "foreign", "somebody else's", STYLE_BAD },
	[PERSIST_FILE_UNSEEN] = { "unseen", "could not be seen", STYLE_UNKNOWN },
};

static const char *persist_file_state_name(enum persist_file_state s)
{
	return states[s].name;
}

/* Rows that say the same but for the target; of what is in effect before counts too. */
static struct batch *persist_page_batches(struct arena *a, const struct machine *m,
					  const struct persist_entry *rows, size_t n, bool before,
					  size_t *n_out)
{
	struct batch_row *keys = arena_array(a, n, sizeof(*keys));

	for (size_t i = 0; i < n; i++) {
		const char *const key[] = { rows[i].value, rows[i].by,	      rows[i].refusal,
					    rows[i].loses, rows[i].contested, rows[i].before };

		keys[i] = (struct batch_row){ rows[i].id, rows[i].target ? rows[i].target : "",
					      &rows[i].knob, batch_key(a, key, before ? 6 : 5) };
	}
	return batch_rows(a, m, keys, n, n_out);
}

static struct cell backend_cell(const struct persist_entry *k)
{
	if (k->refusal)
		return cell_as(STYLE_MUTED, "nothing");
	if (k->keeper == PERSIST_IN_SELF)
		return cell("itself");
	return cell_as(STYLE_CODE, k->by);
}

static struct cell boot_cell(struct doc *d, const struct persist_entry *k)
{
	if (k->refusal)
		return cell_as(STYLE_WARN, k->refusal);
	if (k->loses)
		return cell_printf(d, STYLE_BAD, "loses: %s", k->loses);
	if (k->contested)
		return cell_as(STYLE_WARN, k->contested);
	return cell_as(STYLE_GOOD, "in force");
}

static void settings_table(struct doc *d, const struct machine *m, const struct persist_entry *rows,
			   size_t n, const char *title)
{
	struct node *t = DOC_TABLE(d, title, "Setting", "On", "~Value", "~Kept by", "~At boot");
	struct batch *b;
	size_t n_batches;

	b = persist_page_batches(d->arena, m, rows, n, false, &n_batches);
	for (size_t i = 0; i < n_batches; i++) {
		const struct persist_entry *k = &rows[b[i].first];

		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on),
			 cell(*k->value ? k->value : "set"), backend_cell(k), boot_cell(d, k));
	}
	node_drop_empty(t);
}

static void files_table(struct doc *d, const struct persist_view *v)
{
	struct node *t = DOC_TABLE(d, NULL, "File", "State", "~Why");

	for (size_t i = 0; i < v->n_files; i++)
		NODE_ROW(d, t, cell_as(STYLE_CODE, v->files[i].path),
			 cell_as(states[v->files[i].state].style, states[v->files[i].state].text),
			 cell(v->files[i].sentence));
	node_drop_empty(t);
}

/* Who has just tried undo installs nothing: that is to be seen. */
static const char nothing_kept[] =
	"gputune keeps nothing for the next boot. What is kept is what apply changed and nobody "
	"took back, or what --profile and --only name.";

struct doc *page_persist(struct arena *a, const struct machine *m, const struct persist_view *v)
{
	struct doc *d = doc_new(a);
	struct node *notes;
	bool any = false;

	if (strcmp(v->action, "diff") == 0) {
		for (size_t i = 0; i < v->n_files; i++)
			if (v->files[i].diff && *v->files[i].diff) {
				doc_code(d, v->files[i].diff);
				any = true;
			}
		if (!any)
			doc_text(d, v->n || v->n_skipped
					    ? "What is installed is what install would write."
					    : nothing_kept);
		return d;
	}
	if (!v->n && !v->n_skipped && !v->n_files) {
		doc_text(d, nothing_kept);
		return d;
	}
	settings_table(d, m, v->rows, v->n, NULL);
	if (v->n_skipped)
		settings_table(d, m, v->skipped, v->n_skipped, "Not kept");
	files_table(d, v);
	notes = doc_bullets(d);
	for (size_t i = 0; i < v->n_notes; i++)
		node_bullet(d, notes, cell(v->notes[i]));
	return d;
}

/* Several transactions may have written one file: what is there in the end counts. */
static bool is_last(const struct txn_report *r, size_t i)
{
	for (size_t k = i + 1; k < r->n; k++)
		if (knob_equal(&r->rows[k].knob, &r->rows[i].knob))
			return false;
	return true;
}

/* What was rolled back first and what was removed, as far as all of it is files: one table. NULL:
 * what was rolled back is more. */
static const struct txn_report *all_files(struct arena *a, const struct txn_report *r)
{
	struct txn_report *out = ARENA_NEW(a, struct txn_report);

	for (size_t i = 0; i < r->n_recovery; i++)
		if (r->recovery[i].knob.kind != KNOB_FILE &&
		    r->recovery[i].knob.kind != KNOB_BOOTARG)
			return NULL;
	out->rows = arena_array(a, r->n_recovery + r->n, sizeof(*out->rows));
	for (size_t i = 0; i < r->n_recovery + r->n; i++)
		out->rows[out->n++] =
			i < r->n_recovery ? r->recovery[i] : r->rows[i - r->n_recovery];
	return out;
}

static bool is_absent(const struct outcome_row *o)
{
	return !o->from || strcmp(o->from, "absent") == 0 || strcmp(o->from, "not set") == 0;
}

/* What the files that are gone have set at this boot. */
static void in_effect(struct doc *d, const struct machine *m, const struct persist_view *v)
{
	struct node *t;
	struct batch *b;
	size_t n;

	page_reverted(d, m, &v->now);
	if (!v->n_in_effect || v->now.dry)
		return;
	t = DOC_TABLE(d,
		      "Set by these files at boot, and in effect until taken back or until reboot",
		      "Setting", "On", "~In effect", "~Before");
	b = persist_page_batches(d->arena, m, v->in_effect, v->n_in_effect, true, &n);
	for (size_t i = 0; i < n; i++) {
		const struct persist_entry *k = &v->in_effect[b[i].first];

		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on), cell(k->value),
			 k->before ? cell(k->before) : cell_as(STYLE_UNKNOWN, "unknown"));
	}
	doc_text(d,
		 "\"gputune undo --only SETTING\" takes one of them back; \"persist remove\" does "
		 "at once with --now.");
}

struct doc *page_persist_removed(struct arena *a, const struct machine *m,
				 const struct persist_view *v, const struct txn_report *r,
				 int result)
{
	const struct txn_report *all = all_files(a, r);
	struct doc *d = doc_new(a);
	struct node *t;

	page_recovered(d, m, r, !all);
	r = all ? all : r;
	t = DOC_TABLE(d, NULL, "File", "Outcome", "~What happened");
	for (size_t i = 0; i < r->n; i++) {
		const struct outcome_row *o = &r->rows[i];

		if (!is_last(r, i))
			continue;
		NODE_ROW(d, t, cell_as(STYLE_CODE, o->knob.name),
			 o->outcome == OUTCOME_FOREIGN
				 ? cell_as(STYLE_WARN, "left: not as we wrote it")
			 : o->outcome == OUTCOME_STUCK ? cell_as(STYLE_BAD, "stuck")
			 : o->outcome == OUTCOME_DONE  ? cell_as(STYLE_GOOD, "without these now")
			 : is_absent(o) && o->outcome == OUTCOME_ALREADY
				 ? cell_as(STYLE_GOOD, "was not there")
			 : is_absent(o) ? cell_as(STYLE_GOOD, "removed")
					: cell_as(STYLE_GOOD, "as before"),
			 cell(o->sentence));
	}
	node_drop_empty(t);
	if (result == -ENOENT)
		doc_text(d, "gputune keeps nothing for the next boot.");
	in_effect(d, m, v);
	return d;
}

/* What is kept for the next boot, as JSON. Keys and meanings are API: schemas/persist.json. */

static json_t *rows_json(const struct persist_entry *rows, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct persist_entry *k = &rows[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:{s:s, s:o, s:o}, s:o, s:s, s:o, s:o, s:o, s:o}",
				  "id", json_text(k->id), "target",
				  json_text(k->target ? k->target : ""), "knob", "kind",
				  knob_kind_name(k->knob.kind), "name", json_text(k->knob.name),
				  "object", json_text(k->knob.object), "value", json_text(k->value),
				  "keeper",
				  persist_backend_name(k->refusal ? PERSIST_IN_NONE : k->keeper),
				  "kept_by", json_text(k->refusal || !*k->by ? NULL : k->by),
				  "refusal", json_text(k->refusal), "loses", json_text(k->loses),
				  "contested", json_text(k->contested)));
	}
	return list;
}

static json_t *persist_page_files_json(const struct persist_view *v)
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
		const struct persist_entry *k = &v->in_effect[i];

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
	json_object_set_new(j, "files", persist_page_files_json(v));
	add_outcomes(outcomes, report);
	add_outcomes(outcomes, &v->now);
	json_object_set_new(j, "outcomes", outcomes);
	json_object_set_new(j, "in_effect", in_effect_json(v));
	json_object_set_new(j, "notes", notes);
	return j;
}
