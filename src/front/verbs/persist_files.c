/* SPDX-License-Identifier: Apache-2.0 */
/* The files that shall be, beside those that are and those that the journal says are ours. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "front/verbs/persist.h"
#include "machine/knob/io.h"
#include "tune/txn/layer.h"
#include "machine/host/boot_menu.h"
#include "machine/host/merged.h"
#include "tune/plan/owner.h"

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

/* What shall be kept: the installed request, the journal's changes, a profile's plan; and the files
 * of others that it depends on. */

enum { REQUEST_MAX = 4 << 20, SOURCE_MAX = 256 << 10, SOURCES_MAX = 512 };

int persist_installed(struct run *r, struct host *h, struct kept **rows, size_t *n)
{
	struct err e = { 0 };
	char *text;
	size_t len;
	int code = host_read(h, PERSIST_REQUEST, REQUEST_MAX, &r->arena, &text, &len);

	*rows = NULL;
	*n = 0;
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return 0;
	if (code)
		return complain_text(EXIT_BLIND, "%s: %s", PERSIST_REQUEST, strerror(-code));
	if (persist_request_read(&r->arena, text, len, rows, n, &e)) {
		err_hint(&e, "somebody edited it; \"gputune persist remove\" takes the rest back");
		return complain(EXIT_USAGE, &e);
	}
	return 0;
}

/* Of two of a pair setting one zeroes the other, so that only the later one can be meant. */
static bool excludes(const struct knob *x, const struct knob *y)
{
	const char *partner = x->kind == KNOB_SYSCTL ? sysctl_partner(x->name) : NULL;

	return partner && y->kind == KNOB_SYSCTL && strcmp(partner, y->name) == 0;
}

static bool is_same(const struct kept *x, const struct kept *y)
{
	return x->knob.kind == KNOB_NONE || y->knob.kind == KNOB_NONE
		       ? strcmp(x->id, y->id) == 0
		       : knob_equal(&x->knob, &y->knob);
}

/* A later wish takes the place of an earlier one for the same knob. */
static void place(struct persisting *s, const struct kept *row)
{
	struct kept *rows = (struct kept *)s->wish.rows;
	bool placed = false;
	size_t n = 0;

	for (size_t i = 0; i < s->wish.n; i++) {
		if (is_same(&rows[i], row)) {
			const char *before = rows[i].before;

			rows[n] = *row;
			rows[n].before = row->before ? row->before : before;
			n++;
			placed = true;
		} else if (!excludes(&rows[i].knob, &row->knob)) {
			rows[n++] = rows[i];
		}
	}
	if (!placed) {
		rows = arena_grow(&s->r->arena, rows, n, sizeof(*rows));
		rows[n++] = *row;
	}
	s->wish.rows = rows;
	s->wish.n = n;
}

static void skip(struct persisting *s, const char *id, const char *target, const struct knob *k,
		 const char *value, const char *why)
{
	struct persist_view *v = &s->view;

	v->skipped = arena_grow(&s->r->arena, v->skipped, v->n_skipped, sizeof(*v->skipped));
	v->skipped[v->n_skipped++] = (struct kept){
		.id = id, .target = target, .knob = *k, .value = value, .by = "", .refusal = why
	};
}

/* What the knob held before anything of ours: the oldest layer knows; of a value that was never
 * applied it is what is there now. */
static const char *original_of(struct persisting *s, const struct kept *row, bool fresh)
{
	const struct entry *bottom = layer_bottom(&s->journal, &row->knob);
	struct err ignored = { 0 };
	const char *now = NULL;

	if (row->knob.kind == KNOB_NONE || !knob_is_runtime(row->knob.kind))
		return NULL;
	if (bottom)
		now = bottom->before;
	else if (!fresh || knob_get(s->h, &s->r->arena, &row->knob, &now, &ignored))
		now = row->before;
	else if (!knob_sound(&row->knob, now, NULL) || strlen(now) >= HOST_PATH_MAX)
		return NULL;
	return layer_original(&s->r->arena, &s->journal, &row->knob, now);
}

static void add(struct persisting *s, struct kept *row, bool fresh)
{
	const char *why = plan_boot_by_hand(&s->r->arena, s->m, &row->knob, row->value);

	/* It may be from a journal of a version with other bounds. */
	if (why || (row->knob.kind != KNOB_NONE &&
		    !knob_allows(&s->r->arena, &row->knob, row->value, &why)))
		skip(s, row->id, row->target, &row->knob, row->value, why);
	else {
		row->before = original_of(s, row, fresh);
		place(s, row);
	}
}

static void add_installed(struct persisting *s, const struct kept *rows, size_t n)
{
	struct persist_targets cache = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct kept row = rows[i];
		const char *why = "", *target;
		const struct knob *k = persist_find(&s->r->arena, s->m, &row, &why);

		if (!k) {
			skip(s, row.id, "", &row.knob, row.value, why);
			continue;
		}
		row.knob = *k;
		target = persist_target(&s->r->arena, s->m, row.id, k, &cache);
		row.target = target ? target : "";
		add(s, &row, false);
	}
}

static void add_journal(struct persisting *s, const struct profile *only)
{
	struct hold_row *rows;
	size_t n;

	txn_status(s->h, &s->r->arena, &s->journal, &rows, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;
		struct kept row = {
			.id = e->id, .target = e->target, .knob = e->knob, .value = e->after
		};

		if (!profile_selects(only, e->id))
			continue;
		if (e->unread)
			skip(s, e->id, e->target, &e->knob, e->after,
			     "what the journal says of it cannot be read");
		else if (rows[i].t->state == TRANSACTION_OPEN)
			skip(s, e->id, e->target, &e->knob, e->after,
			     "a transaction that was interrupted set it: it is rolled back, not "
			     "kept");
		else if (e->state == ENTRY_STUCK)
			skip(s, e->id, e->target, &e->knob, e->after,
			     "it was to be taken back, and is stuck");
		else if (rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK)
			skip(s, e->id, e->target, &e->knob, e->after,
			     "somebody changed it since: what is there now is theirs");
		else if (!setting_find(e->id))
			skip(s, e->id, e->target, &e->knob, e->after,
			     "this version does not know the setting");
		else
			add(s, &row, true);
	}
}

/* A change of the plan as a row. What a unit's link or a pool keeps by itself has to be there
 * first. */
static void rows_add_change(struct persisting *s, const struct change *c)
{
	struct kept row = {
		.id = c->s->id, .target = c->target, .knob = c->knob, .value = c->after
	};

	if (c->gate)
		skip(s, c->s->id, c->target, &c->knob, c->after, c->refusal);
	else if (c->knob.kind == KNOB_UNIT || c->knob.kind == KNOB_ZPROP)
		skip(s, c->s->id, c->target, &c->knob, c->after,
		     "apply sets it, and it outlives a boot by itself");
	else
		add(s, &row, true);
}

static int add_profile(struct persisting *s)
{
	struct planned p = { 0 };
	int code = run_plan(s->r, s->h, &p);

	if (code)
		return code;
	s->m = p.m;
	add_journal(s, &p.profile);
	for (size_t i = 0; i < p.plan.n; i++)
		rows_add_change(s, &p.plan.changes[i]);
	for (size_t i = 0; i < p.findings.n; i++) {
		const struct finding *f = &p.findings.items[i];
		struct kept row = { .id = f->s->id,
				    .target = "",
				    .knob = { KNOB_NONE, "", "" },
				    .value = "unlimited" };

		if (f->v.kind == VERDICT_FAIL && strcmp(f->s->id, PERSIST_MEMLOCK) == 0)
			add(s, &row, true);
	}
	return 0;
}

/* --- files of others ---------------------------------------------------------------------------
 */

static void add_source(struct persisting *s, const char *path)
{
	struct persist_source *list = (struct persist_source *)s->wish.sources;
	struct arena *a = &s->r->arena;
	char *text;
	size_t len;

	if (s->wish.n_sources >= SOURCES_MAX || host_read(s->h, path, SOURCE_MAX, a, &text, &len) ||
	    strlen(text) != len)
		return;
	list = arena_grow(a, list, s->wish.n_sources, sizeof(*list));
	list[s->wish.n_sources++] = (struct persist_source){ path, text };
	s->wish.sources = list;
}

static void add_sources(struct persisting *s, const char *folder, const char *suffix)
{
	struct arena *a = &s->r->arena;
	char **names;
	size_t n = 0;

	if (host_list(s->h, folder, a, &names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, names[i]);

		if (str_ends(path, suffix))
			add_source(s, path);
	}
}

static void add_merged(struct persisting *s, const char *const *folders, const char *suffix)
{
	size_t n;
	char **paths = host_merged(s->h, &s->r->arena, folders, MERGED_N, suffix, NULL, &n);

	for (size_t i = 0; i < n; i++)
		add_source(s, paths[i]);
}

void persist_read_sources(struct persisting *s)
{
	static const char *const networks[MERGED_N] = MERGED_FOLDERS("network");
	static const char *const systems[MERGED_N] = MERGED_FOLDERS("system.conf.d");

	add_sources(s, "/etc/netplan", ".yaml");
	add_merged(s, networks, ".network");
	add_sources(s, "/etc/default/grub.d", ".cfg");
	add_sources(s, "/etc/security", "/limits.conf");
	add_sources(s, "/etc/security/limits.d", ".conf");
	add_merged(s, systems, ".conf");
}

static int begin(struct persisting *s, struct kept *rows, size_t n)
{
	struct err e = { 0 };
	int code = journal_load(s->h, &s->r->arena, false, &s->journal, &e);

	if (code) {
		if (code == -EACCES || code == -EPERM)
			err_hint(&e, "the journal is root's: run it with sudo");
		return complain(s->writes ? EXIT_NOT_APPLIED : EXIT_BLIND, &e);
	}
	txn_carry_over(s->h, &s->r->arena, &s->journal);
	s->m = run_change_machine(s->r, s->h);
	add_installed(s, rows, n);
	return 0;
}

int persist_collect_of(struct persisting *s, struct kept *rows, size_t n)
{
	int code = begin(s, rows, n);

	persist_read_sources(s);
	return code;
}

int persist_collect(struct persisting *s)
{
	struct profile all = { .name = "" };
	struct run *r = s->r;
	struct kept *rows;
	size_t n;
	int code = persist_installed(r, s->h, &rows, &n);

	code = code ? code : begin(s, rows, n);
	if (code)
		return code;
	if (r->value[OPT_PROFILE] || r->value[OPT_ONLY]) {
		code = add_profile(s);
		if (code)
			return code;
	} else {
		if (!run_narrow(r, &all))
			return EXIT_USAGE;
		add_journal(s, &all);
	}
	persist_read_sources(s);
	return 0;
}

/* --- status ------------------------------------------------------------------------------------
 */

static const char *keeper_of(struct host *h, const struct entry *e, const struct kept *rows,
			     size_t n)
{
	if (e->knob.kind == KNOB_BOOTARG)
		return host_boot_menu(h) == BOOT_MENU_KERNEL_INSTALL ? PERSIST_KERNEL
								     : PERSIST_GRUB;
	if (e->knob.kind == KNOB_UNIT)
		return "its own link";
	if (e->knob.kind == KNOB_ZPROP)
		return "the pool";
	for (size_t i = 0; i < n; i++)
		if (knob_equal(&rows[i].knob, &e->knob) &&
		    knob_same(&e->knob, rows[i].value, e->after) &&
		    host_exists(h, rows[i].keeper == KEEPER_UNIT ? PERSIST_UNIT : rows[i].by))
			return rows[i].by;
	return NULL;
}

void persist_fill_kept(struct run *r, struct host *h, struct hold_row *rows, size_t n)
{
	struct err ignored = { 0 };
	struct kept *kept = NULL;
	size_t n_kept = 0, len;
	char *text;

	if (n && host_read(h, PERSIST_REQUEST, REQUEST_MAX, &r->arena, &text, &len) == 0 &&
	    persist_request_read(&r->arena, text, len, &kept, &n_kept, &ignored))
		n_kept = 0;
	for (size_t i = 0; i < n; i++)
		rows[i].kept = keeper_of(h, rows[i].e, kept, n_kept);
}

/* A unified diff of two short texts. */

enum { LINES_MAX = 2000, CONTEXT = 3 };

struct lines {
	const char *at[LINES_MAX];
	size_t len[LINES_MAX];
	size_t n;
};

/* Text beyond the bound is left out: our files are far below it. */
static void split(const char *text, struct lines *out)
{
	out->n = 0;
	while (text && *text && out->n < LINES_MAX) {
		size_t k = strcspn(text, "\n");

		out->at[out->n] = text;
		out->len[out->n++] = k;
		text += k + (text[k] == '\n');
	}
}

static bool same(const struct lines *x, size_t i, const struct lines *y, size_t k)
{
	return x->len[i] == y->len[k] && memcmp(x->at[i], y->at[k], x->len[i]) == 0;
}

/* table[i][k]: the longest common part of what follows line i and line k. */
static unsigned short *common(struct arena *a, const struct lines *x, const struct lines *y)
{
	size_t w = y->n + 1;
	unsigned short *t = arena_array(a, (x->n + 1) * w, sizeof(*t));

	for (size_t i = x->n; i-- > 0;)
		for (size_t k = y->n; k-- > 0;) {
			unsigned short down = t[(i + 1) * w + k], right = t[i * w + k + 1];

			t[i * w + k] = same(x, i, y, k)
					       ? (unsigned short)(t[(i + 1) * w + k + 1] + 1)
				       : down > right ? down
						      : right;
		}
	return t;
}

/* One line of the script that makes y of x. */
struct step {
	char op; /* ' ', '-', '+' */
	size_t i, k;
};

static size_t steps_of(const struct lines *x, const struct lines *y, const unsigned short *t,
		       struct step *out)
{
	size_t i = 0, k = 0, n = 0, w = y->n + 1;

	while (i < x->n || k < y->n) {
		if (i < x->n && k < y->n && same(x, i, y, k))
			out[n++] = (struct step){ ' ', i++, k++ };
		else if (i < x->n && (k == y->n || t[(i + 1) * w + k] >= t[i * w + k + 1]))
			out[n++] = (struct step){ '-', i++, k };
		else
			out[n++] = (struct step){ '+', i, k++ };
	}
	return n;
}

/* Where the hunk that begins at step from ends: changes not further apart than their context. */
static size_t hunk_end(const struct step *s, size_t n, size_t from)
{
	size_t last = from;

	for (size_t i = from; i < n && i <= last + 2 * CONTEXT + 1; i++)
		if (s[i].op != ' ')
			last = i;
	return last + 1 + CONTEXT < n ? last + 1 + CONTEXT : n;
}

static void print_hunk(struct text *out, const struct lines *x, const struct lines *y,
		       const struct step *s, size_t from, size_t to)
{
	size_t old = 0, new = 0;

	for (size_t i = from; i < to; i++) {
		old += s[i].op != '+';
		new += s[i].op != '-';
	}
	text_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", s[from].i + (old > 0), old,
		    s[from].k + (new > 0), new);
	for (size_t i = from; i < to; i++) {
		const struct lines *of = s[i].op == '+' ? y : x;
		size_t at = s[i].op == '+' ? s[i].k : s[i].i;

		text_printf(out, "%c%.*s\n", s[i].op, (int)of->len[at], of->at[at]);
	}
}

const char *persist_diff(struct arena *a, const char *path, const char *before, const char *after)
{
	struct lines *x = ARENA_NEW(a, struct lines), *y = ARENA_NEW(a, struct lines);
	struct step *s;
	TEXT_AUTO out = { 0 };
	size_t n, done = 0;

	split(before, x);
	split(after, y);
	s = arena_array(a, x->n + y->n, sizeof(*s));
	n = steps_of(x, y, common(a, x, y), s);
	for (size_t i = 0; i < n; i++) {
		size_t from, to;

		if (s[i].op == ' ')
			continue;
		if (!out.len)
			text_printf(&out, "--- %s\n+++ %s\n", before ? path : "/dev/null",
				    after ? path : "/dev/null");
		from = i > done + CONTEXT ? i - CONTEXT : done;
		to = hunk_end(s, n, i);
		print_hunk(&out, x, y, s, from, to);
		done = to;
		i = to - 1;
	}
	return arena_strdup(a, out.s ? out.s : "");
}
