/* SPDX-License-Identifier: Apache-2.0 */
/* gputune persist remove: the undo of install, and where it is asked for of what the files have set
 * at this boot. Of some settings: files that the rest needs are written anew. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/extlinux.h"
#include "machine/knob/io.h"
#include "tune/txn/boot.h"
#include "tune/txn/layer.h"
#include "verbs/persist/persist.h"

static bool is_of(const struct persist_entry *rows, size_t n, const struct knob *k)
{
	for (size_t i = 0; i < n; i++)
		if (knob_equal(&rows[i].knob, k))
			return true;
	return !n;
}

/* Values of the boot files that the machine holds now, into the view. */
static void verb_persist_find(struct persisting *s, const struct persist_entry *only, size_t n_only)
{
	struct persist_view *v = &s->view;
	struct arena *a = s->d->arena;
	struct journal j;
	struct hold_row *rows;
	struct persist_entry *found = NULL;
	struct err ignored = { 0 };
	size_t n;

	v->n_in_effect = 0;
	if (journal_load(s->h, a, false, &j, &ignored))
		return;
	txn_status(s->h, a, &j, &rows, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;

		if (strcmp(rows[i].t->op, TXN_BOOT) != 0 || !is_of(only, n_only, &e->knob) ||
		    (rows[i].hold != HOLD_OURS && rows[i].hold != HOLD_UNKNOWN))
			continue;
		ARENA_ADD(a, found, v->n_in_effect) = (struct persist_entry){ .id = e->id,
									      .target = e->target,
									      .knob = e->knob,
									      .value = e->after,
									      .before = e->before,
									      .by = "" };
	}
	v->in_effect = found;
}

/* Who has agreed to everything beforehand has agreed to no more than the files. */
static bool is_asked_for(struct persisting *s)
{
	const struct persist_view *v = &s->view;
	TEXT_AUTO ids = { 0 };

	if (!v->n_in_effect || s->ask->now)
		return v->n_in_effect > 0;
	if (!s->d->attended || s->ask->change.dry_run)
		return false;
	for (size_t i = 0; i < v->n_in_effect; i++)
		persist_add_id(&ids, v->in_effect[i].id);
	return door_agreed(s->d, NULL,
			   arena_printf(s->d->arena,
					"Values that the files have set at boot are still in "
					"effect (%s). Undo them now?",
					ids.s)) == 0;
}

/*
 * After files were removed: what they have set at this boot and what is in effect still, into
 * view.in_effect; only these rows, n_only 0: all. Takes it back, into view.now, with --now or where
 * a person at a terminal agrees. 0 where nothing was to be taken back; else what txn_undo says.
 */
static int persist_now(struct persisting *s, const struct persist_entry *only, size_t n_only,
		       struct err *e)
{
	struct txn_select select = { .all = true, .op = TXN_BOOT, .dry = s->ask->change.dry_run };
	struct txn_who who = txn_who_here(s->d->arena, s->ask->change.reason);
	struct knob *knobs;
	int result;

	verb_persist_find(s, only, n_only);
	if (!is_asked_for(s))
		return 0;
	knobs = arena_array(s->d->arena, s->view.n_in_effect, sizeof(*knobs));
	for (size_t i = 0; i < s->view.n_in_effect; i++)
		knobs[i] = s->view.in_effect[i].knob;
	select.knobs = knobs;
	select.n_knobs = s->view.n_in_effect;
	/* That no file was left to take away is no error of this. */
	*e = (struct err){ 0 };
	result = txn_undo(s->h, s->d->arena, &select, &who, &s->view.now, e);
	if (!select.dry)
		verb_persist_find(s, only, n_only);
	return result;
}

/* The newest entry of each file that was left to somebody, and not written since. */
static bool is_left(const struct journal *j, const struct entry *e)
{
	if (e->unread || e->knob.kind != KNOB_FILE || entry_is_active(e) || !e->note ||
	    strcmp(e->note, NOTE_LEFT) != 0)
		return false;
	for (size_t i = j->n; i-- > 0;)
		for (size_t k = j->items[i].n; k-- > 0;) {
			const struct entry *x = &j->items[i].entries[k];

			if (!x->unread && knob_equal(&x->knob, &e->knob))
				return x == e;
		}
	return false;
}

static size_t name_left(struct persisting *s, const struct entry *e)
{
	struct err ignored = { 0 };
	const char *now;

	if (knob_get(s->h, s->d->arena, &e->knob, &now, &ignored) || strcmp(now, "absent") == 0 ||
	    (e->before && strcmp(now, e->before) == 0))
		return 0;
	if (str_ends(e->knob.name, "/"))
		door_warn(s->d, "%s was not removed: it has contents that gputune did not write",
			  e->knob.name);
	else
		door_warn(s->d,
			  "%s was not removed: it was edited since gputune wrote it; \"gputune "
			  "persist remove --force\" removes it",
			  e->knob.name);
	return 1;
}

/* Names what a removal, of which report is, left behind and why. How many there are. */
static size_t persist_rest(struct persisting *s, const struct txn_report *report)
{
	struct err ignored = { 0 };
	struct journal j;
	size_t n = 0;

	for (size_t i = 0; i < report->n; i++) {
		const struct outcome_row *o = &report->rows[i];
		const char *copy = o->knob.kind == KNOB_FILE && o->outcome == OUTCOME_ALREADY
					   ? persist_copy_of(s, o->knob.name, o->to)
					   : NULL;

		if (!copy)
			continue;
		door_warn(s->d,
			  "%s was not removed: %s was moved or copied there, and takes effect at "
			  "the next boot",
			  copy, o->knob.name);
		n++;
	}
	if (journal_load(s->h, s->d->arena, true, &j, &ignored))
		return n;
	for (size_t i = 0; i < j.n; i++)
		for (size_t k = 0; strcmp(j.items[i].op, "persist") == 0 && k < j.items[i].n; k++)
			n += is_left(&j, &j.items[i].entries[k])
				     ? name_left(s, &j.items[i].entries[k])
				     : 0;
	return n;
}

static bool has_argument(const struct txn_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].knob.kind == KNOB_BOOTARG && r->rows[i].outcome == OUTCOME_RESTORED)
			return true;
	return false;
}

/* A value that a recovery left to somebody is no file of theirs: values say whether it counts. */
static bool has_foreign(const struct outcome_row *rows, size_t n, bool values)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].outcome == OUTCOME_FOREIGN &&
		    (values || !knob_is_runtime(rows[i].knob.kind)))
			return true;
	return false;
}

static int removed(struct persist_verb_answer *out, int result, size_t rest)
{
	const struct txn_report *report = &out->report;
	struct persisting *s = &out->s;
	int code;

	out->removed = true;
	out->files = result;
	if (result == 0 || result == -ENOENT) {
		int now = persist_now(s, s->gone, s->n_gone, &out->error);

		result = now ? now : result;
	}
	code = result == -ENOENT ? EXIT_CLEAN : txn_exit_code(result);
	if (code == EXIT_CLEAN && (rest || has_foreign(report->rows, report->n, false) ||
				   has_foreign(report->recovery, report->n_recovery, false) ||
				   has_foreign(s->view.now.rows, s->view.now.n, true)))
		code = EXIT_FINDINGS;
	if (result && result != -ENOENT)
		s->d->say(s->d->ctx, 0, &out->error);
	if (s->ask->change.dry_run) {
		door_warn(s->d, "dry run: nothing was written");
		return code;
	}
	persist_find_unkept(s);
	if (out->files == 0)
		persist_reload(s);
	/* Said is done: what is gone from the files may have gone with an undo before this. */
	if (s->ask->update_grub)
		return persist_update_boot(s) ? EXIT_FINDINGS : code;
	if (has_argument(report))
		door_warn(s->d, "boot arguments were removed: run update-grub or kernel-install "
				"before the next boot");
	return code;
}

static int agreed(struct persisting *s, const char *question)
{
	return s->ask->change.dry_run ? 0 : door_agreed(s->d, NULL, question);
}

static struct txn_select selection(const struct persisting *s)
{
	return (struct txn_select){
		.all = true, .op = "persist", .force = s->ask->force, .dry = s->ask->change.dry_run
	};
}

static void name_orphan(struct persisting *s, const char *path)
{
	/* Others' file: ours are words in it. */
	if (strcmp(path, BOOT_CMDLINE) != 0 && strcmp(path, EXTLINUX_CONF) != 0 &&
	    host_exists(s->h, path))
		door_warn(s->d, "%s is not in the journal", path);
}

/* Files for the next boot that no journal knows of: it was lost, and with it what was there before
 * them. -ENODATA and *e, with each file named; -ENOENT: there are none. */
static int find_orphans(struct persisting *s, struct err *e)
{
	struct persist_entry *rows;
	size_t n;

	if (!host_exists(s->h, PERSIST_REQUEST))
		return -ENOENT;
	if (persist_installed(s->d, s->h, &rows, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && strcmp(rows[k].by, rows[i].by) != 0)
			k++;
		if (k == i && rows[i].keeper != PERSIST_IN_UNIT)
			name_orphan(s, rows[i].by);
	}
	name_orphan(s, PERSIST_UNIT_LINK);
	name_orphan(s, PERSIST_UNIT);
	name_orphan(s, PERSIST_REQUEST);
	err_set(e, -ENODATA,
		"nothing was removed: no journal has the previous contents of the "
		"boot files");
	err_hint(e, "remove the files above by hand (rm)");
	return -ENODATA;
}

/* Then nothing is asked. */
static bool keeps_nothing(struct persisting *s, struct txn_select select, const struct txn_who *who)
{
	struct txn_report report = { 0 };
	struct err e = { 0 };

	select.dry = true;
	return !host_exists(s->h, PERSIST_REQUEST) &&
	       txn_undo(s->h, s->d->arena, &select, who, &report, &e) == -ENOENT;
}

static int remove_all(struct persist_verb_answer *out)
{
	struct persisting *s = &out->s;
	const struct txn_select select = selection(s);
	const struct txn_who who = txn_who_here(s->d->arena, s->ask->change.reason);
	size_t rest = 0;
	int result, code = keeps_nothing(s, select, &who)
				   ? 0
				   : agreed(s, "Remove what gputune keeps for the next boot?");

	if (code)
		return code;
	s->m = s->m ? s->m : door_machine(s->d, s->h, &(const struct door_look){ 0 });
	result = txn_undo(s->h, s->d->arena, &select, &who, &out->report, &out->error);
	if (!select.dry && (result == 0 || result == -ENOENT))
		rest = persist_rest(s, &out->report);
	if (result == -ENOENT && !rest)
		result = find_orphans(s, &out->error);
	return removed(out, result, rest);
}

/* The rows of the request, those that stay first: n_rest of them. */
struct parted {
	struct persist_entry *rows;
	size_t n, n_rest;
};

static int verb_persist_part(struct persisting *s, struct parted *out)
{
	struct persist_entry *rows;
	size_t n, n_words, rest = 0;
	const char *const *words = door_words(s->d, s->ask->only.only, &n_words);
	int code = door_check_ids(s->d, words, n_words);

	code = code ? code : persist_installed(s->d, s->h, &rows, &n);
	if (code)
		return code;
	for (size_t i = 0; i < n; i++) {
		struct persist_entry row = rows[i];
		size_t k = 0;

		while (k < n_words && !id_matches(row.id, words[k]))
			k++;
		if (k < n_words)
			continue;
		rows[i] = rows[rest];
		rows[rest++] = row;
	}
	*out = (struct parted){ .rows = rows, .n = n, .n_rest = rest };
	return 0;
}

static bool is_needed_folder(const struct persisting *s, const char *path)
{
	for (size_t i = 0; i < s->p.n_files; i++)
		if (str_starts(s->p.files[i].path, path))
			return true;
	return str_starts(PERSIST_UNIT_LINK, path);
}

/* Whether what stays needs this file of ours. A row whose device is away just now needs its too. */
static bool is_needed(const struct persisting *s, const struct parted *p, const struct knob *k)
{
	const char *by = strcmp(k->name, PERSIST_SYSTEM_CONF) == 0 ? PERSIST_LIMITS : k->name;

	if (k->kind != KNOB_FILE) {
		for (size_t i = p->n_rest; i < p->n; i++)
			if (knob_equal(&p->rows[i].knob, k))
				return false;
		return true;
	}
	if (str_ends(k->name, "/"))
		return is_needed_folder(s, k->name);
	for (size_t i = 0; i < s->p.n_files; i++)
		if (strcmp(s->p.files[i].path, k->name) == 0)
			return true;
	for (size_t i = 0; i < p->n_rest; i++)
		if (strcmp(p->rows[i].by, by) == 0)
			return true;
	return strcmp(k->name, PERSIST_UNIT_LINK) == 0;
}

/* What of ours nothing needs any more. */
static void find_needless(struct persisting *s, const struct parted *p, struct txn_select *out)
{
	struct knob *knobs = NULL;

	for (size_t i = 0; i < s->journal.n; i++)
		for (size_t k = 0; k < s->journal.items[i].n; k++) {
			const struct entry *e = &s->journal.items[i].entries[k];

			if (strcmp(s->journal.items[i].op, "persist") != 0 || !entry_is_active(e) ||
			    layer_above(&s->journal, e) || is_needed(s, p, &e->knob))
				continue;
			ARENA_ADD(s->d->arena, knobs, out->n_knobs) = e->knob;
		}
	out->knobs = knobs;
}

/* The change of a file that stays, or NULL: its text would be the same. */
static const char *blocked_by(struct persisting *s)
{
	for (size_t i = 0; i < s->view.n_files; i++) {
		const struct persist_view_file *f = &s->view.files[i];
		const struct knob k = { KNOB_FILE, f->path, "" };
		const struct entry *ours = layer_top(&s->journal, &k);

		if (f->state == PERSIST_FILE_UNSEEN)
			return f->path;
		if (f->state != PERSIST_FILE_FOREIGN || s->ask->force)
			continue;
		for (size_t n = 0; n < s->p.n_files; n++) {
			const struct persist_file *want = &s->p.files[n];

			if (strcmp(want->path, f->path) == 0 &&
			    !(ours && strcmp(ours->after,
					     knob_file_value(s->d->arena, want->mode, want->text,
							     strlen(want->text))) == 0))
				return f->path;
		}
	}
	return NULL;
}

/*
 * Removing makes nothing that somebody took away, and asks for no argument again. A folder comes
 * before what lies in it, and is made with it: from the last change to the first.
 */
static void keep_rewrites(struct persisting *s)
{
	struct plan *p = &s->plan;
	size_t first = p->n;

	for (size_t i = p->n; i-- > 0;) {
		const struct change c = p->changes[i];
		bool keeps = false;

		for (size_t k = first; str_ends(c.knob.name, "/") && k < p->n && !keeps; k++)
			keeps = str_starts(p->changes[k].knob.name, c.knob.name);
		if (c.knob.kind == KNOB_FILE && c.before &&
		    (keeps || strcmp(c.before, "absent") != 0 || !layer_top(&s->journal, &c.knob)))
			p->changes[--first] = c;
	}
	p->n -= first;
	if (p->n)
		memmove(p->changes, p->changes + first, p->n * sizeof(*p->changes));
}

/* What applying did, or would do, as lines of the same report. */
static void add_rewritten(struct persisting *s, struct txn_report *out,
			  const struct txn_report *done)
{
	struct outcome_row *rows = done->rows;
	size_t n = done->n;

	if (s->ask->change.dry_run) {
		n = s->plan.n;
		rows = arena_array(s->d->arena, n, sizeof(*rows));
		for (size_t i = 0; i < n; i++)
			rows[i] = (struct outcome_row){ .knob = s->plan.changes[i].knob,
							.from = s->plan.changes[i].before,
							.to = s->plan.changes[i].after,
							.outcome = OUTCOME_DONE };
	}
	for (size_t i = 0; i < n; i++) {
		ARENA_ADD(s->d->arena, out->rows, out->n) = rows[i];
	}
	out->txn = done->txn ? done->txn : out->txn;
}

/* What has gone stays away: who keeps it again meanwhile has written a request of their own. */
static void stay_away(struct persisting *s, const struct txn_report *gone)
{
	for (size_t i = 0; i < gone->n; i++) {
		const struct outcome_row *row = &gone->rows[i];

		if (row->knob.kind == KNOB_FILE && row->from && row->outcome == OUTCOME_RESTORED)
			persist_stays(s, &row->knob, row->from);
	}
}

/*
 * What nothing needs goes first: the request still names it then, so that a crash in between is
 * mended by asking again.
 */
static int remove_parts(struct persist_verb_answer *out, const struct txn_select *select)
{
	struct persisting *s = &out->s;
	struct txn_report again = { 0 };
	struct txn_who who = txn_who_here(s->d->arena, s->ask->change.reason);
	int result = select->n_knobs
			     ? txn_undo(s->h, s->d->arena, select, &who, &out->report, &out->error)
			     : 0;

	if (result == 0 && s->plan.n) {
		who.op = "persist";
		stay_away(s, &out->report);
		if (!select->dry)
			result = txn_apply(s->h, s->d->arena, &s->plan, &who, &again, &out->error);
		add_rewritten(s, &out->report, &again);
	}
	return removed(out, result, 0);
}

/* The files that keep the rows which stay: 0, or as answers. */
static int plan_parts(struct persisting *s, const struct parted *p)
{
	const char *blocked;

	persist_compare(s, s->ask->force);
	blocked = blocked_by(s);
	if (blocked)
		return door_refuse(s->d, EXIT_NOT_APPLIED,
				   "%s was edited since gputune wrote it, and removing lines would "
				   "overwrite the edits; nothing was written",
				   blocked);
	keep_rewrites(s);
	s->view.rows = s->p.rows;
	s->view.n = s->p.n;
	s->gone = p->rows + p->n_rest;
	s->n_gone = p->n - p->n_rest;
	return 0;
}

static int remove_some(struct persist_verb_answer *out)
{
	struct persisting *s = &out->s;
	struct txn_select select = selection(s);
	struct parted p;
	int code = verb_persist_part(s, &p);

	if (code)
		return code;
	if (p.n_rest == p.n) {
		door_warn(s->d, "no value of \"%s\" is kept for the next boot", s->ask->only.only);
		s->m = door_machine(s->d, s->h, &(const struct door_look){ 0 });
		out->removed = true;
		return EXIT_CLEAN;
	}
	code = persist_collect_of(s, p.rows, p.n_rest);
	code = code ? code : persist_make_files(s);
	if (code)
		return code;
	if (!s->p.n_files)
		return remove_all(out);
	code = plan_parts(s, &p);
	if (code)
		return code;
	find_needless(s, &p, &select);
	code = agreed(s,
		      arena_printf(s->d->arena, "Remove %zu of the %zu values that gputune keeps?",
				   p.n - p.n_rest, p.n));
	return code ? code : remove_parts(out, &select);
}

int persist_remove(struct persist_verb_answer *out)
{
	return out->s.ask->only.only ? remove_some(out) : remove_all(out);
}
