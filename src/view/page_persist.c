/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of persist: what is kept by which file, who would win at boot, and what remove did. */
#include "view/page_persist.h"

#include <string.h>

#include "base/text.h"
#include "view/batch.h"

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

const char *persist_file_state_name(enum persist_file_state s)
{
	return states[s].name;
}

static struct batch *batches(struct arena *a, const struct machine *m, const struct kept *rows,
			     size_t n, size_t *n_out)
{
	struct batch_row *keys = arena_array(a, n, sizeof(*keys));

	for (size_t i = 0; i < n; i++) {
		const char *const key[] = { rows[i].value, rows[i].by, rows[i].refusal,
					    rows[i].loses, rows[i].contested };

		keys[i] = (struct batch_row){ rows[i].id, rows[i].target ? rows[i].target : "",
					      &rows[i].knob, batch_key(a, key, 5) };
	}
	return batch_rows(a, m, keys, n, n_out);
}

static struct cell keeper_cell(const struct kept *k)
{
	if (k->refusal)
		return cell_as(STYLE_MUTED, "nothing");
	if (k->keeper == KEEPER_SELF)
		return cell("itself");
	return cell_as(STYLE_CODE, k->by);
}

static struct cell boot_cell(struct doc *d, const struct kept *k)
{
	if (k->refusal)
		return cell_as(STYLE_WARN, k->refusal);
	if (k->loses)
		return cell_printf(d, STYLE_BAD, "loses: %s", k->loses);
	if (k->contested)
		return cell_as(STYLE_WARN, k->contested);
	return cell_as(STYLE_GOOD, "in force");
}

static void settings_table(struct doc *d, const struct machine *m, const struct kept *rows,
			   size_t n, const char *title)
{
	static const struct column columns[] = {
		{ .title = "Setting" },
		{ .title = "On" },
		{ .title = "Value", .wrap = true },
		{ .title = "Kept by", .wrap = true },
		{ .title = "At boot", .wrap = true },
	};
	struct node *t = doc_table(d, title, columns, 5);
	struct batch *b;
	size_t n_batches;

	b = batches(d->arena, m, rows, n, &n_batches);
	for (size_t i = 0; i < n_batches; i++) {
		const struct kept *k = &rows[b[i].first];
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, b[i].what);
		c[1] = cell(b[i].on);
		c[2] = cell(*k->value ? k->value : "set");
		c[3] = keeper_cell(k);
		c[4] = boot_cell(d, k);
	}
	node_drop_empty(t);
}

static void files_table(struct doc *d, const struct persist_view *v)
{
	static const struct column columns[] = {
		{ .title = "File" },
		{ .title = "State" },
		{ .title = "Why", .wrap = true },
	};
	struct node *t = doc_table(d, NULL, columns, 3);

	for (size_t i = 0; i < v->n_files; i++) {
		struct cell *c = node_row(d, t);

		c[0] = cell_as(STYLE_CODE, v->files[i].path);
		c[1] = cell_as(states[v->files[i].state].style, states[v->files[i].state].text);
		c[2] = cell(v->files[i].sentence);
	}
	node_drop_empty(t);
}

/* Who has just tried undo installs nothing: that is to be seen. */
static const char nothing_kept[] = "gputune keeps nothing for the next boot. What is kept is what "
				   "apply changed and nobody took "
				   "back, or what --profile and --only name.";

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
	if (!v->n && !v->n_skipped) {
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

struct doc *page_persist_removed(struct arena *a, const struct txn_report *r, int result)
{
	static const struct column columns[] = {
		{ .title = "File" },
		{ .title = "Outcome" },
		{ .title = "What happened", .wrap = true },
	};
	struct doc *d = doc_new(a);
	struct node *t = doc_table(d, NULL, columns, 3);

	for (size_t i = 0; i < r->n; i++) {
		const struct outcome_row *o = &r->rows[i];
		struct cell *c;

		if (!is_last(r, i))
			continue;
		c = node_row(d, t);
		c[0] = cell_as(STYLE_CODE, o->knob.name);
		c[1] = o->outcome == OUTCOME_FOREIGN
			       ? cell_as(STYLE_WARN, "left: not as we wrote it")
		       : o->outcome == OUTCOME_STUCK ? cell_as(STYLE_BAD, "stuck")
		       : o->outcome == OUTCOME_DONE  ? cell_as(STYLE_GOOD, "without these now")
		       : !o->from || strcmp(o->from, "absent") == 0 ||
				       strcmp(o->from, "not set") == 0
			       ? cell_as(STYLE_GOOD, "removed")
			       : cell_as(STYLE_GOOD, "as before");
		c[2] = cell(o->outcome == OUTCOME_FOREIGN
				    ? "somebody changed it, or put something there"
				    : o->sentence);
	}
	node_drop_empty(t);
	if (result == -ENOENT)
		doc_text(d, "gputune keeps nothing for the next boot.");
	return d;
}
