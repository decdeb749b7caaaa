/* SPDX-License-Identifier: Apache-2.0 */
/* The files that shall be, beside those that are and those that the journal says are ours. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "front/verbs/persist.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"

/* What the journal calls them: they belong to many settings. */
static const struct setting for_files = { .id = "persist.files",
					  .title = "Files for the next boot",
					  .risk = RISK_LOW,
					  .effect = EFFECT_REBOOT };

static void add_change(struct persisting *s, const struct setting *of, const char *target,
		       const struct knob *k, const char *before, const char *after)
{
	struct plan *p = &s->plan;

	p->changes = arena_grow(&s->r->arena, p->changes, p->n, sizeof(*p->changes));
	p->changes[p->n++] = (struct change){ .s = of,
					      .target = target,
					      .knob = *k,
					      .before = before,
					      .after = after,
					      .why = of->title,
					      .risk = of->risk,
					      .effect = of->effect };
}

static struct persist_view_file *add_file(struct persisting *s, const char *path)
{
	struct persist_view *v = &s->view;

	v->files = arena_grow(&s->r->arena, v->files, v->n_files, sizeof(*v->files));
	v->files[v->n_files] = (struct persist_view_file){ .path = path };
	return &v->files[v->n_files++];
}

static bool is_planned(const struct persisting *s, const struct knob *k)
{
	for (size_t i = 0; i < s->plan.n; i++)
		if (knob_equal(&s->plan.changes[i].knob, k))
			return true;
	return false;
}

/* Folders on the way to path that are not there, outermost first. */
static void add_folders(struct persisting *s, const char *path)
{
	struct arena *a = &s->r->arena;

	for (const char *slash = strchr(path + strlen("/etc/"), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		const struct knob k = { KNOB_FILE,
					arena_strndup(a, path, (size_t)(slash - path) + 1), "" };
		const char *now;
		struct err ignored = { 0 };

		if (is_planned(s, &k) || knob_get(s->h, a, &k, &now, &ignored) ||
		    strcmp(now, "absent") != 0)
			continue;
		add_change(s, &for_files, "", &k, now, knob_file_value(a, 0755, "", 0));
	}
}

/* The text behind a value; NULL: no file. */
static const char *text_of(struct arena *a, const char *value)
{
	const char *text;
	unsigned mode;
	size_t len;

	if (strncmp(value, "link:", 5) == 0)
		return arena_printf(a, "%s\n", value);
	return knob_file_parse(a, value, &mode, &text, &len) ? text : NULL;
}

void persist_stays(struct persisting *s, const struct knob *k, const char *value)
{
	struct plan *p = &s->plan;

	p->stays = arena_grow(&s->r->arena, p->stays, p->n_stays, sizeof(*p->stays));
	p->stays[p->n_stays++] = (struct stays){ *k, value };
}

/* One file or link that shall be; true when it is somebody else's. */
static bool compare(struct persisting *s, const char *path, const char *want, bool force)
{
	struct arena *a = &s->r->arena;
	const struct knob k = { KNOB_FILE, path, "" };
	struct persist_view_file *f = add_file(s, path);
	const struct entry *ours = layer_top(&s->journal, &k);
	struct err e = { 0 };
	const char *now;

	if (knob_get(s->h, a, &k, &now, &e)) {
		f->state = PERSIST_FILE_UNSEEN;
		f->sentence = arena_strdup(a, e.text);
		return true;
	}
	f->diff = persist_diff(a, path, text_of(a, now), text_of(a, want));
	f->state = strcmp(now, want) == 0	? PERSIST_FILE_SAME
		   : strcmp(now, "absent") == 0 ? PERSIST_FILE_NEW
						: PERSIST_FILE_CHANGED;
	if (f->state == PERSIST_FILE_CHANGED && (!ours || strcmp(now, ours->after) != 0)) {
		f->state = PERSIST_FILE_FOREIGN;
		f->sentence = ours ? "edited since gputune wrote it" : "not written by gputune";
		if (!force || !knob_sound(&k, now, NULL))
			return true;
	}
	if (f->state != PERSIST_FILE_SAME) {
		add_folders(s, path);
		add_change(s, &for_files, "", &k, now, want);
	} else {
		s->plan.stays =
			arena_grow(a, s->plan.stays, s->plan.n_stays, sizeof(*s->plan.stays));
		s->plan.stays[s->plan.n_stays++] = (struct stays){ k, now };
	}
	return false;
}

/* A boot argument is a token of the drop-in, which its own knob writes. */
static bool compare_argument(struct persisting *s, const struct kept *row)
{
	struct err e = { 0 };
	struct persist_view_file *f;
	const char *now;
	int r = knob_get(s->h, &s->r->arena, &row->knob, &now, &e);

	if (r == 0 && knob_same(&row->knob, now, row->value))
		return false;
	if (r == 0) {
		add_change(s, setting_find(row->id), row->target, &row->knob, now, row->value);
		return false;
	}
	f = add_file(s, persist_boot_file(s->m));
	f->state = PERSIST_FILE_UNSEEN;
	f->sentence = arena_strdup(&s->r->arena, e.text);
	return true;
}

size_t persist_compare(struct persisting *s, bool force)
{
	struct arena *a = &s->r->arena;
	size_t others = 0;

	for (size_t i = 0; i < s->p.n; i++)
		if (s->p.rows[i].keeper == KEEPER_BOOT_ARGUMENT)
			others += compare_argument(s, &s->p.rows[i]);
	for (size_t i = 0; i < s->p.n_files; i++) {
		const struct persist_file *f = &s->p.files[i];

		others += compare(s, f->path, knob_file_value(a, f->mode, f->text, strlen(f->text)),
				  force);
	}
	if (s->p.n_files)
		others += compare(s, PERSIST_UNIT_LINK, "link:" PERSIST_UNIT, force);
	return others;
}

static const char *look_sentence(struct persisting *s, const struct entry *e,
				 enum persist_file_state state)
{
	const char *copy = NULL;

	if (state == PERSIST_FILE_FOREIGN)
		return "edited since gputune wrote it";
	if (state == PERSIST_FILE_MISSING && e->knob.kind == KNOB_FILE)
		copy = persist_copy_of(s, e->knob.name, e->after);
	return copy ? arena_printf(&s->r->arena, "its text is in %s", copy) : NULL;
}

/* What the file of a row does by now; NULL: what it says. */
static const char *file_trouble(const struct persist_view *v, const struct kept *row)
{
	for (size_t i = 0; i < v->n_files && *row->by; i++) {
		const struct persist_view_file *f = &v->files[i];

		if (strcmp(f->path, row->by) == 0)
			return f->state == PERSIST_FILE_MISSING ? "its file is not there any more"
			       : f->state == PERSIST_FILE_FOREIGN
				       ? "its file was edited since gputune wrote it"
				       : NULL;
	}
	return NULL;
}

void persist_doubt_rows(struct persisting *s)
{
	for (size_t i = 0; i < s->p.n; i++) {
		const char *trouble = file_trouble(&s->view, &s->p.rows[i]);

		if (trouble && !s->p.rows[i].loses)
			s->p.rows[i].contested = trouble;
	}
}

size_t persist_look(struct persisting *s)
{
	size_t differ = 0;

	for (size_t i = 0; i < s->journal.n; i++)
		for (size_t k = 0; k < s->journal.items[i].n; k++) {
			const struct entry *e = &s->journal.items[i].entries[k];
			struct persist_view_file *f;
			struct err why = { 0 };
			const char *now;

			if (strcmp(s->journal.items[i].op, "persist") != 0 || !entry_is_active(e) ||
			    layer_above(&s->journal, e) || str_ends(e->knob.name, "/"))
				continue;
			if (e->unread) {
				f = add_file(s, arena_printf(&s->r->arena, "transaction %lu, %s",
							     e->txn, e->id));
				f->state = PERSIST_FILE_UNSEEN;
				f->sentence = "the journal's line cannot be read";
				differ++;
				continue;
			}
			f = add_file(s,
				     e->knob.kind == KNOB_FILE
					     ? e->knob.name
					     : arena_printf(&s->r->arena, "%s: %s",
							    persist_boot_file(s->m), e->knob.name));
			if (knob_get(s->h, &s->r->arena, &e->knob, &now, &why)) {
				f->state = PERSIST_FILE_UNSEEN;
				f->sentence = arena_strdup(&s->r->arena, why.text);
			} else {
				f->state =
					strcmp(now, e->after) == 0 ? PERSIST_FILE_SAME
					: strcmp(now, "absent") == 0 || strcmp(now, "not set") == 0
						? PERSIST_FILE_MISSING
						: PERSIST_FILE_FOREIGN;
				f->sentence = look_sentence(s, e, f->state);
			}
			differ += f->state != PERSIST_FILE_SAME;
		}
	return differ;
}

/* --- what was interrupted ----------------------------------------------------------------------
 */

/* Adds the entry's file, unless it holds what it held before, and temporary files next to it. */
static void add_there(struct persisting *s, const struct entry *e, struct text *out)
{
	struct arena *a = &s->r->arena;
	struct err ignored = { 0 };
	const char *now;
	size_t n;
	struct knob_left *left = knob_left_over(s->h, a, &e->knob, &n);

	if (knob_get(s->h, a, &e->knob, &now, &ignored) == 0 && e->before &&
	    !knob_same(&e->knob, now, e->before))
		text_printf(out, "%s%s", out->len ? ", " : "",
			    e->knob.kind == KNOB_FILE ? e->knob.name : knob_text(a, &e->knob));
	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s%s", out->len ? ", " : "", left[i].path);
}

size_t persist_note_open(struct persisting *s)
{
	size_t found = 0;

	for (size_t i = 0; i < s->journal.n; i++) {
		const struct transaction *t = &s->journal.items[i];
		bool open = t->state == TRANSACTION_OPEN, back = false;
		TEXT_AUTO there = { 0 };

		if (strcmp(t->op, "persist") != 0)
			continue;
		for (size_t k = 0; k < t->n; k++) {
			const struct entry *e = &t->entries[k];

			back = back || (entry_is_active(e) && e->undoing);
			if (entry_is_active(e) && !e->unread && !layer_above(&s->journal, e))
				add_there(s, e, &there);
		}
		if (!open && !back)
			continue;
		found++;
		persist_note(&s->r->arena, &s->p,
			     arena_printf(&s->r->arena,
					  "%s was interrupted (transaction %lu). It left: "
					  "%s. \"gputune persist remove\" takes all of it "
					  "away.",
					  back ? "A removal" : "An installation", t->txn,
					  there.len ? there.s : "nothing"));
	}
	return found;
}
