/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of persist: what is kept by which file, who would win at boot, and what remove did. */
#include <string.h>

#include "tune/persist/page_persist.h"
#include "base/text.h"
#include "render/figure.h"
#include "tune/plan/plan.h"
#include "tune/txn/page_txn.h"
#include "look/settings/findings.h"

static const struct {
	const char *name, *text;
	enum style style;
} states[] = {
	[PERSIST_FILE_SAME] = { "same", "unchanged", STYLE_GOOD },
	[PERSIST_FILE_NEW] = { "new", "new file", STYLE_WARN },
	[PERSIST_FILE_CHANGED] = { "changed", "new contents", STYLE_WARN },
	[PERSIST_FILE_MISSING] = { "missing", "no longer exists", STYLE_BAD },
	[PERSIST_FILE_FOREIGN] = { "foreign", "owned by another program or user", STYLE_BAD },
	[PERSIST_FILE_UNSEEN] = { "unseen", "unreadable", STYLE_UNKNOWN },
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
		return cell(k->knob.kind == KNOB_UNIT ? "systemd" : "the system");
	return cell_as(STYLE_CODE, k->by);
}

static struct cell boot_cell(struct doc *d, const struct persist_entry *k)
{
	if (k->refusal)
		return cell_as(STYLE_WARN, k->refusal);
	if (k->loses)
		return cell_printf(d, STYLE_BAD, "overwritten: %s", k->loses);
	if (k->contested)
		return cell_as(STYLE_WARN, k->contested);
	return cell_as(STYLE_GOOD, "in effect");
}

static void settings_table(struct doc *d, const struct machine *m, const struct persist_entry *rows,
			   size_t n, const char *title)
{
	struct node *t = DOC_TABLE(d, title, "!Setting", "!On", "~Value", "~Kept by", "~At boot");
	struct batch *b;
	size_t n_batches;

	b = persist_page_batches(d->arena, m, rows, n, false, &n_batches);
	for (size_t i = 0; i < n_batches; i++) {
		const struct persist_entry *k = &rows[b[i].first];
		const char *value = *k->value ? k->value : "set";

		figure_values(d->arena, knob_unit(&k->knob), &value, &(const char *){ NULL });
		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on), cell(value),
			 backend_cell(k), boot_cell(d, k));
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

/* Who has just tried undo installs nothing: that is to be seen. What is applied is named. */
static void page_of_none(struct doc *d, const struct machine *m, const struct persist_view *v)
{
	bool status = strcmp(v->action, "status") == 0;
	const char *next = machine_quoted(
		d->arena, m, v->n_unkept ? "persist install" : "persist install --only ID");

	doc_text(d, status ? "gputune keeps nothing for the next boot." : "Nothing to install.");
	if (v->n_unkept)
		doc_text(d, "%s applied but not kept for the next boot: %s. %s keeps %s.",
			 changes_text(d->arena, v->n_unkept), v->unkept, next,
			 v->n_unkept == 1 ? "it" : "them");
	else if (v->unkept)
		doc_text(d,
			 "No change is applied. %s keeps a setting whether it is applied or "
			 "not.",
			 next);
	else if (!status)
		doc_text(d, "None of the selected settings is applied or needs a change.");
}

/* Files alone, and the rows that they keep in vain. */
static struct doc *page_persist_diff(struct doc *d, const struct machine *m,
				     const struct persist_view *v)
{
	struct persist_entry *lost = arena_array(d->arena, v->n, sizeof(*lost));
	size_t n = 0;

	for (size_t i = 0; i < v->n_files; i++)
		if (v->files[i].diff)
			doc_code(d, v->files[i].diff);
	if (!d->n && (v->n || v->n_skipped))
		doc_text(d, "The installed files match what install would write.");
	else if (!d->n)
		page_of_none(d, m, v);
	for (size_t i = 0; i < v->n; i++)
		if (v->rows[i].loses || v->rows[i].contested)
			lost[n++] = v->rows[i];
	settings_table(d, m, lost, n, "Overwritten by others");
	return d;
}

struct doc *page_persist(struct arena *a, const struct machine *m, const struct persist_view *v)
{
	struct doc *d = doc_new(a);
	struct node *notes;

	if (strcmp(v->action, "diff") == 0)
		return page_persist_diff(d, m, v);
	if (!v->n && !v->n_skipped && !v->n_files)
		page_of_none(d, m, v);
	settings_table(d, m, v->rows, v->n, NULL);
	if (v->n_skipped)
		settings_table(d, m, v->skipped, v->n_skipped, "Not saved");
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
	out->n = r->n_recovery + r->n;
	out->rows = arena_join(a, r->recovery, r->n_recovery, r->rows, r->n, sizeof(*out->rows));
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
	t = DOC_TABLE(d, "Set by these files at boot, and in effect until undone or until reboot",
		      "!Setting", "!On", "~In effect", "~Before");
	b = persist_page_batches(d->arena, m, v->in_effect, v->n_in_effect, true, &n);
	for (size_t i = 0; i < n; i++) {
		const struct persist_entry *k = &v->in_effect[b[i].first];
		const char *now = k->value, *before = k->before;

		figure_values(d->arena, knob_unit(&k->knob), &now, &before);
		NODE_ROW(d, t, cell_as(STYLE_CODE, b[i].what), cell(b[i].on), cell(now),
			 before ? cell(before) : cell_as(STYLE_UNKNOWN, "unknown"));
	}
	doc_text(d, "\"gputune undo --only SETTING\" undoes one value; \"persist remove --now\" "
		    "undoes all at once.");
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
	t = DOC_TABLE(d, NULL, "File", "Outcome", "~Result");
	for (size_t i = 0; i < r->n; i++) {
		const struct outcome_row *o = &r->rows[i];

		if (!is_last(r, i))
			continue;
		NODE_ROW(d, t, cell_as(STYLE_CODE, o->knob.name),
			 o->outcome == OUTCOME_FOREIGN
				 ? cell_as(STYLE_WARN, "not removed: edited since gputune wrote it")
			 : o->outcome == OUTCOME_STUCK ? cell_as(STYLE_BAD, "stuck")
			 : o->outcome == OUTCOME_DONE  ? cell_as(STYLE_GOOD, "lines removed")
			 : is_absent(o) && o->outcome == OUTCOME_ALREADY
				 ? cell_as(STYLE_GOOD, "did not exist")
			 : is_absent(o) ? cell_as(STYLE_GOOD, "removed")
					: cell_as(STYLE_GOOD, "old contents restored"),
			 cell(o->sentence));
	}
	node_drop_empty(t);
	if (result == -ENOENT)
		doc_text(d, "gputune keeps nothing for the next boot.");
	in_effect(d, m, v);
	if (v->n_unkept)
		doc_text(d, "Applied, and in effect until undone or until reboot: %s. Undo: %s.",
			 v->unkept, machine_quoted(a, m, "undo"));
	return d;
}

/* What is kept for the next boot, a row a figure. Keys and meanings are API. */

SHAPE_GIVES(const char *, entry_file, persist_entry, x->by && * x->by ? x->by : NULL)

/* clang-format off */
#define OF_VIEW SHAPE_VIA(persist_answer, v, persist_view)
#define ENTRY_ROWS                                                                                 \
	{ "id", NULL, SHAPE_TEXT(persist_entry, id) },                                             \
	{ "target", NULL, SHAPE_TEXT(persist_entry, target), .unknown = SHAPE_BLANK },             \
	{ "knob", NULL, SHAPE_OBJECT(persist_entry, knob, knob) },                                 \
	{ "value", NULL, SHAPE_TEXT(persist_entry, value) }

static const struct shape persist_entry_shape = SHAPE_OF(persist_entry, persist_entry,
	ENTRY_ROWS,
	{ "keeper", "How it is set at boot.", SHAPE_CHOICE_BY(persist_entry, keeper, persist_backend_name, KEEPERS) },
	{ "kept_by", "Path of the file.", SHAPE_TEXT_OF(entry_file), .unknown = SHAPE_NULL },
	{ "refusal", "Reason why no file keeps it.", SHAPE_TEXT(persist_entry, refusal), .unknown = SHAPE_NULL },
	{ "loses", "Programs or files that overwrite it at boot, after gputune.",
	  SHAPE_TEXT(persist_entry, loses), .unknown = SHAPE_NULL },
	{ "contested", "Programs or files that may set it after gputune.", SHAPE_TEXT(persist_entry, contested),
	  .unknown = SHAPE_NULL });

static const struct shape in_effect_shape = SHAPE_OF(persist_entry, in_effect,
	ENTRY_ROWS,
	{ "before", NULL, SHAPE_TEXT(persist_entry, before), .unknown = SHAPE_NULL });

static const struct shape persist_view_file_shape = SHAPE_OF(persist_view_file, persist_view_file,
	{ "path", NULL, SHAPE_TEXT(persist_view_file, path) },
	{ "state", NULL, SHAPE_CHOICE_BY(persist_view_file, state, persist_file_state_name, PERSIST_FILE_UNSEEN + 1) },
	{ "sentence", NULL, SHAPE_TEXT(persist_view_file, sentence), .unknown = SHAPE_NULL },
	{ "diff", NULL, SHAPE_TEXT(persist_view_file, diff), .unknown = SHAPE_NULL });

static const struct shape file_outcome_shape = SHAPE_OF(outcome_row, file_outcome,
	{ "name", NULL, SHAPE_TEXT(outcome_row, knob.name) },
	{ "outcome", NULL, SHAPE_CHOICE_BY(outcome_row, outcome, outcome_name, OUTCOME_GONE + 1) },
	{ "sentence", NULL, SHAPE_TEXT(outcome_row, sentence), .unknown = SHAPE_NULL });

static const char *const actions[] = { "install", "status", "diff", "remove" };

static const struct shape persist_shape = SHAPE_OF(persist_answer, persist,
	{ "action", NULL, SHAPE_TEXT(persist_view, action), SHAPE_NAMES(actions), OF_VIEW },
	{ "dry_run", "For install and remove: true if nothing was written.", SHAPE_FLAG(persist_view, dry), OF_VIEW },
	{ "transaction", NULL, SHAPE_COUNT(persist_answer, transaction), .unknown = SHAPE_ZERO },
	{ "error", NULL, SHAPE_TEXT(persist_answer, error), .unknown = SHAPE_NULL },
	{ "hint", "Next step.", SHAPE_TEXT(persist_answer, hint), .unknown = SHAPE_NULL },
	{ "rows", NULL, SHAPE_LIST(persist_view, rows, n, persist_entry), OF_VIEW },
	{ "skipped", "true: not read; the refusal has the reason.",
	  SHAPE_LIST(persist_view, skipped, n_skipped, persist_entry), OF_VIEW },
	{ "files", NULL, SHAPE_LIST(persist_view, files, n_files, persist_view_file), OF_VIEW },
	{ "outcomes", NULL, SHAPE_LIST_AS(persist_answer, outcomes, n_outcomes, outcome_row, file_outcome_shape) },
	{ "in_effect", "For remove: values that the files set at this boot and that are still in effect.",
	  SHAPE_LIST_AS(persist_view, in_effect, n_in_effect, persist_entry, in_effect_shape), OF_VIEW },
	{ "notes", NULL, SHAPE_TEXT_LIST(persist_answer, notes, n_notes) });

const struct result_shape persist_result = {
	.name = "persist", .title = "gputune persist", .meaning = "Values kept for the next boot.",
	.shape = &persist_shape, .list = "rows",
	.host = &host_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 3 | 1u << 4 | 1u << 5,
};
/* clang-format on */

struct persist_answer persist_answer_of(struct arena *a, const struct persist_view *v,
					const struct txn_report *r, const struct err *e)
{
	struct persist_answer answer = {
		.v = v,
		.transaction = r->dry ? 0 : r->txn,
		.error = *e->text ? e->text : NULL,
		.hint = *e->text && *e->hint ? e->hint : NULL,
		.n_outcomes = r->n + v->now.n,
		.n_notes = v->n_notes + r->n_leftovers,
	};

	answer.outcomes =
		arena_join(a, r->rows, r->n, v->now.rows, v->now.n, sizeof(*answer.outcomes));
	answer.notes = arena_join(a, v->notes, v->n_notes, r->leftovers, r->n_leftovers,
				  sizeof(*answer.notes));
	return answer;
}
