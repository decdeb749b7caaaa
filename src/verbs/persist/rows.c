/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of persist: those of the request, of the options and of the journal, and what the
 * machine keeps at boot already. */
#include <string.h>
#include <libgen.h>

#include "verbs/persist/persist.h"
#include "machine/host/boot_menu.h"
#include "machine/host/host.h"
#include "machine/knob/io.h"
#include "tune/plan/plan.h"
#include "tune/txn/boot.h"
#include "tune/txn/layer.h"

enum { REQUEST_MAX = 4 << 20, SOURCE_MAX = 256 << 10, SOURCES_MAX = 512 };

/* A capture that lacks the request, of a machine whose journal says that it is installed. */
static bool is_left_out(struct door *d, struct host *h)
{
	const struct knob k = { KNOB_FILE, PERSIST_REQUEST, "" };
	struct err ignored = { 0 };
	struct journal j;
	enum host_kind kind;

	return host_kind(h, PERSIST_REQUEST, &kind) == HOST_NOT_CAPTURED &&
	       journal_load(h, d->arena, false, &j, &ignored) == 0 && layer_top(&j, &k);
}

int persist_installed(struct door *d, struct host *h, struct persist_entry **rows, size_t *n)
{
	struct err e = { 0 };
	char *text;
	size_t len;
	int code = host_read(h, PERSIST_REQUEST, REQUEST_MAX, d->arena, &text, &len);

	*rows = NULL;
	*n = 0;
	if (is_left_out(d, h))
		return door_refuse(d, EXIT_BLIND, "%s", PERSIST_LEFT_OUT);
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return 0;
	if (code)
		return door_refuse(d, EXIT_BLIND, "%s: %s", PERSIST_REQUEST, strerror(-code));
	if (persist_request_read(d->arena, text, len, rows, n, &e)) {
		err_hint(&e, "the file was edited or is from a newer gputune; \"gputune persist "
			     "remove\" removes the others");
		return door_fail(d, EXIT_USAGE, &e);
	}
	return 0;
}

/* Of two of a pair setting one zeroes the other, so that only the later one can be meant. */
static bool excludes(const struct knob *x, const struct knob *y)
{
	const char *partner = x->kind == KNOB_SYSCTL ? sysctl_partner(x->name) : NULL;

	return partner && y->kind == KNOB_SYSCTL && strcmp(partner, y->name) == 0;
}

static bool is_same(const struct persist_entry *x, const struct persist_entry *y)
{
	return x->knob.kind == KNOB_NONE || y->knob.kind == KNOB_NONE
		       ? strcmp(x->id, y->id) == 0
		       : knob_equal(&x->knob, &y->knob);
}

/* A later row takes the place of an earlier one for the same knob. */
static void rows_place(struct persisting *s, const struct persist_entry *row)
{
	struct persist_entry *rows = (struct persist_entry *)s->wish.rows;
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
		ARENA_ADD(s->d->arena, rows, n) = *row;
	}
	s->wish.rows = rows;
	s->wish.n = n;
}

static void skip_row(struct persisting *s, const char *id, const char *target, const struct knob *k,
		     const char *value, const char *why)
{
	struct persist_view *v = &s->view;

	ARENA_ADD(s->d->arena, v->skipped, v->n_skipped) = (struct persist_entry){
		.id = id, .target = target, .knob = *k, .value = value, .by = "", .refusal = why
	};
}

/* What the knob held before anything of ours: the oldest layer knows; of a value that was never
 * applied it is what is there now. */
static const char *original_of(struct persisting *s, const struct persist_entry *row, bool fresh)
{
	const struct entry *bottom = layer_bottom(&s->journal, &row->knob);
	struct err ignored = { 0 };
	const char *now = NULL;

	if (row->knob.kind == KNOB_NONE || !knob_is_runtime(row->knob.kind))
		return NULL;
	if (bottom)
		now = bottom->before;
	else if (!fresh || knob_get(s->h, s->d->arena, &row->knob, &now, &ignored))
		now = row->before;
	else if (!knob_valid(&row->knob, now, NULL) || strlen(now) >= HOST_PATH_MAX)
		return NULL;
	return layer_original(s->d->arena, &s->journal, &row->knob, now);
}

static void add_row(struct persisting *s, struct persist_entry *row, bool fresh)
{
	const char *why = plan_boot_by_hand(s->d->arena, s->m, &row->knob, row->value);

	/* It may be from a journal of a version with other bounds. */
	if (why || (row->knob.kind != KNOB_NONE &&
		    !knob_allows(s->d->arena, &row->knob, row->value, &why)))
		skip_row(s, row->id, row->target, &row->knob, row->value, why);
	else {
		row->before = original_of(s, row, fresh);
		rows_place(s, row);
	}
}

static void add_installed(struct persisting *s, const struct persist_entry *rows, size_t n)
{
	struct persist_targets cache = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct persist_entry row = rows[i];
		const char *why = "", *target;
		const struct knob *k = persist_find(s->d->arena, s->m, &row, &why);

		if (!k) {
			skip_row(s, row.id, "", &row.knob, row.value, why);
			continue;
		}
		row.knob = *k;
		target = persist_target(s->d->arena, s->m, row.id, k, &cache);
		row.target = target ? target : "";
		add_row(s, &row, false);
	}
}

static void add_journal(struct persisting *s, const struct profile *only)
{
	struct hold_row *rows;
	size_t n;

	txn_status(s->h, s->d->arena, &s->journal, &rows, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = rows[i].e;
		struct persist_entry row = {
			.id = e->id, .target = e->target, .knob = e->knob, .value = e->after
		};

		if (!profile_selects(only, e->id))
			continue;
		if (e->unread)
			skip_row(s, e->id, e->target, &e->knob, e->after,
				 "the journal line is unreadable");
		else if (rows[i].t->state == TRANSACTION_OPEN)
			skip_row(s, e->id, e->target, &e->knob, e->after,
				 "set by an interrupted transaction: it is rolled back, not kept");
		else if (e->state == ENTRY_STUCK)
			skip_row(s, e->id, e->target, &e->knob, e->after, "the undo failed");
		else if (rows[i].hold == HOLD_FOREIGN || rows[i].hold == HOLD_BACK)
			skip_row(s, e->id, e->target, &e->knob, e->after,
				 "changed by another program or user since, so the "
				 "value is not gputune's");
		else if (!setting_find(e->id))
			skip_row(s, e->id, e->target, &e->knob, e->after,
				 "unknown setting in this version");
		else
			add_row(s, &row, true);
	}
}

/* A change of the plan as a row. What a unit's link or a pool keeps by itself has to be there
 * first. */
static void rows_add_change(struct persisting *s, const struct change *c)
{
	struct persist_entry row = {
		.id = c->s->id, .target = c->target, .knob = c->knob, .value = c->after
	};

	if (c->gate)
		skip_row(s, c->s->id, c->target, &c->knob, c->after, c->refusal);
	else if (c->knob.kind == KNOB_UNIT || c->knob.kind == KNOB_ZPROP ||
		 c->knob.kind == KNOB_POWER)
		skip_row(s, c->s->id, c->target, &c->knob, c->after,
			 "the value survives a reboot once it is applied");
	else
		add_row(s, &row, true);
}

static int add_profile(struct persisting *s)
{
	struct planned p = { 0 };
	int code = door_profile(s->d, &s->ask->settings, &p.profile);

	code = code ? code : door_plan(s->d, s->h, s->ask->allow.allow, &p);
	if (code)
		return code;
	s->m = p.m;
	add_journal(s, &p.profile);
	for (size_t i = 0; i < p.plan.n; i++)
		rows_add_change(s, &p.plan.changes[i]);
	for (size_t i = 0; i < p.findings.n; i++) {
		const struct finding *f = &p.findings.items[i];
		struct persist_entry row = { .id = f->s->id,
					     .target = "",
					     .knob = { KNOB_NONE, "", "" },
					     .value = "unlimited" };

		if (f->v.kind == VERDICT_FAIL && strcmp(f->s->id, PERSIST_MEMLOCK) == 0)
			add_row(s, &row, true);
	}
	return 0;
}

static void add_source(struct persisting *s, const char *path)
{
	struct persist_source *list = (struct persist_source *)s->wish.sources;
	struct arena *a = s->d->arena;
	char *text;
	size_t len;

	if (s->wish.n_sources >= SOURCES_MAX || host_read(s->h, path, SOURCE_MAX, a, &text, &len) ||
	    strlen(text) != len)
		return;
	ARENA_ADD(a, list, s->wish.n_sources) = (struct persist_source){ path, text };
	s->wish.sources = list;
}

static void add_sources(struct persisting *s, const char *folder, const char *suffix)
{
	struct arena *a = s->d->arena;
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
	char **paths = host_merged(s->h, s->d->arena, folders, MERGED_N, suffix, NULL, &n);

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

static int begin_rows(struct persisting *s, struct persist_entry *rows, size_t n)
{
	struct err e = { 0 };
	int code = journal_load(s->h, s->d->arena, false, &s->journal, &e);

	if (code) {
		if (code == -EACCES || code == -EPERM)
			err_hint(&e, "only root can read the journal: use sudo");
		return door_fail(s->d, s->writes ? EXIT_NOT_APPLIED : EXIT_BLIND, &e);
	}
	txn_carry_over(s->h, s->d->arena, &s->journal);
	s->m = door_change_machine(s->d, s->h);
	add_installed(s, rows, n);
	return 0;
}

int persist_collect_of(struct persisting *s, struct persist_entry *rows, size_t n)
{
	int code = begin_rows(s, rows, n);

	persist_read_sources(s);
	return code;
}

int persist_collect(struct persisting *s)
{
	struct profile all = { .name = "" };
	const struct profile_ask *ask = &s->ask->settings;
	struct persist_entry *rows;
	size_t n;
	int code = persist_installed(s->d, s->h, &rows, &n);

	code = code ? code : begin_rows(s, rows, n);
	if (code)
		return code;
	if (ask->profile || ask->only) {
		code = add_profile(s);
		if (code)
			return code;
	} else {
		if (door_narrow(s->d, ask->only, ask->skip, &all))
			return -EXIT_USAGE;
		add_journal(s, &all);
	}
	persist_read_sources(s);
	return 0;
}

/* The file that keeps the entry, and who overwrites its value. */
static void fill_entry(struct host *h, const struct persist *p, struct hold_row *out)
{
	static const char *const selves[KNOB_KINDS] = { [KNOB_UNIT] = "systemctl enable",
							[KNOB_ZPROP] = "ZFS pool property",
							[KNOB_POWER] = "nvpmodel" };
	const struct knob *k = &out->e->knob;

	out->kept = k->kind == KNOB_BOOTARG ? boot_menu_file(host_boot_menu(h)) : selves[k->kind];
	for (size_t i = 0; i < p->n; i++) {
		const struct persist_entry *row = &p->rows[i];

		if (knob_equal(&row->knob, k) && knob_same(k, row->value, out->e->after) &&
		    host_exists(h, row->keeper == PERSIST_IN_UNIT ? PERSIST_UNIT : row->by)) {
			out->kept = out->kept ? out->kept : row->by;
			out->loses = row->loses;
		}
	}
}

size_t persist_request_rows(struct door *d, struct host *h, struct persist_entry **rows)
{
	struct err ignored = { 0 };
	size_t n = 0, len;
	char *text;

	if (host_read(h, PERSIST_REQUEST, REQUEST_MAX, d->arena, &text, &len) ||
	    persist_request_read(d->arena, text, len, rows, &n, &ignored))
		return 0;
	return n;
}

bool persist_fill_entries(struct door *d, struct host *h, struct hold_row *rows, size_t n)
{
	struct persisting s = { .d = d, .h = h };

	s.p.n = n ? persist_request_rows(d, h, &s.p.rows) : 0;
	if (s.p.n) {
		persist_read_sources(&s);
		persist_losers(d->arena, door_change_machine(d, h), &s.wish, &s.p);
	}
	for (size_t i = 0; i < n; i++)
		fill_entry(h, &s.p, &rows[i]);
	if (!is_left_out(d, h))
		return true;
	door_warn(d, "%s", PERSIST_LEFT_OUT);
	return false;
}

void persist_add_id(struct text *ids, const char *id)
{
	if (!ids->len || !str_ends(ids->s, id))
		text_printf(ids, "%s%s", ids->len ? ", " : "", id);
}

void persist_find_unkept(struct persisting *s)
{
	struct err ignored = { 0 };
	struct hold_row *rows;
	TEXT_AUTO ids = { 0 };
	size_t n;

	if (journal_load(s->h, s->d->arena, false, &s->journal, &ignored) ||
	    txn_status(s->h, s->d->arena, &s->journal, &rows, &n))
		return;
	(void)persist_fill_entries(s->d, s->h, rows, n);
	for (size_t i = 0; i < n; i++) {
		const struct hold_row *r = &rows[i];

		if ((r->hold != HOLD_OURS && r->hold != HOLD_WAITS) || r->kept ||
		    r->t->state == TRANSACTION_OPEN ||
		    (s->view.n_in_effect && strcmp(r->t->op, TXN_BOOT) == 0))
			continue;
		s->view.n_unkept++;
		persist_add_id(&ids, rows[i].e->id);
	}
	s->view.unkept = arena_strdup(s->d->arena, ids.s ? ids.s : "");
}
