/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that change the machine share: from the machine, or from a file, to a plan; who
 * asks for it, and whether it is agreed to. */
#include <stdlib.h>
#include <string.h>
#include <pwd.h>
#include <errno.h>

#include "verbs/change.h"
#include "base/json.h"
#include "look/settings/check.h"
#include "look/settings/settings.h"
#include "machine/write/write.h"
#include "tune/txn/boot.h"
#include "tune/txn/txn.h"
#include "machine/knob/io.h"

enum { PLAN_FILE_MAX = 16 << 20 };

static const struct ask_row change_ask_rows[] = {
	{ "dry-run", "show the changes without writing anything", ASK_FLAG(change_ask, dry_run),
	  .letter = 'n' },
	{ "reason", "the reason, for the history", ASK_TEXT(change_ask, reason), .letter = 'm',
	  .may_be_empty = true },
};
const struct ask_shape change_ask_shape = ASK_SHAPE(change_ask, "Change", change_ask_rows);

/* clang-format off */
static const struct ask_row allow_ask_rows[] = {
	{ "allow", "also make changes refused as dangerous, on GPUs in use, or on your own connection: ids or "
	  "prefixes", ASK_TEXT(allow_ask, allow), .arg = "IDS", .join = ',', .may_be_empty = true, .proposal =
	  setting_proposal },
};
/* clang-format on */
const struct ask_shape allow_ask_shape = ASK_SHAPE(allow_ask, "Settings", allow_ask_rows);

const char *apply_words(struct arena *a, const struct profile_ask *s, const struct allow_ask *w,
			const char *plan, const char *profile)
{
	bool usual = !*profile || !strcmp(profile, "default") || !strcmp(profile, SITE_POLICY);
	const char *const given[][2] = { { " ", plan },
					 { " --profile ", usual ? s->profile : profile },
					 { " --only ", s->only },
					 { " --skip ", s->skip },
					 { " --allow ", w->allow } };
	TEXT_AUTO t = { 0 };

	text_add(&t, "apply");
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i][1])
			text_printf(&t, "%s%s", given[i][0], shell_word(a, given[i][1]));
	return arena_strdup(a, t.s);
}

static void door_look_at_journal(struct door *d, struct host *h)
{
	ARENA_AUTO a = { 0 };
	struct err ignored = { 0 };
	struct journal j;

	/* That it cannot be read at all is said by who needs it. */
	if (journal_load(h, &a, false, &j, &ignored) == 0) {
		d->stale = j.files.stale;
		d->unreadable = j.bad_lines != 0 && !d->stale;
		if (j.files.hidden)
			door_warn(d, "%zu change%s of files that only root can read %s left out",
				  j.files.hidden, PLURAL(j.files.hidden),
				  j.files.hidden == 1 ? "is" : "are");
		if (d->stale)
			door_warn(d,
				  "%s is older than the journal: a change is under way or was "
				  "interrupted; \"sudo gputune status\" shows it",
				  TXN_PUBLIC);
		else if (j.bad_lines)
			door_warn(d, "%s%s: %zu line%s unreadable, so a change may be missing",
				  TXN_JOURNAL, j.bad_at ? arena_printf(&a, ":%zu", j.bad_at) : "",
				  j.bad_lines, PLURAL(j.bad_lines));
		else if (j.mended)
			door_warn(d, "%s: %zu damaged line%s read from %s", TXN_JOURNAL, j.mended,
				  j.mended == 1 ? " was" : "s were", TXN_COPY);
	}
}

int door_journal(struct door *d, struct host *h, bool all, struct journal *j)
{
	struct err e = { 0 };
	int code = journal_load(h, d->arena, all, j, &e);

	if (code == 0)
		return 0;
	if (code == -EACCES || code == -EPERM)
		err_hint(&e, "only root can read the journal: use sudo");
	return door_fail(d, code == -EPROTONOSUPPORT ? EXIT_STUCK : EXIT_BLIND, &e);
}

bool door_believes(struct door *d, struct host *h)
{
	struct err e = { 0 };

	if (state_check(h, &e) == 0)
		return true;
	d->say(d->ctx, 0, &e);
	return false;
}

int believed_code(bool believed, int code)
{
	return believed || code == EXIT_STUCK ? code : EXIT_BLIND;
}

struct host *door_change_host(struct door *d, const struct machine_ask *from, bool dry_run)
{
	struct host *h = door_host(d, from);

	if (h)
		door_look_at_journal(d, h);
	return h && dry_run ? host_open_readonly(h) : h;
}

int door_check_overlay(struct door *d, const struct machine_ask *from, bool dry_run)
{
	if (!from->capture || from->overlay || dry_run)
		return 0;
	if (demo_overlay(d->arena, from))
		return door_demo_ready(d, from);
	return door_refuse(d, EXIT_USAGE,
			   "a captured machine cannot be changed: --overlay DIR stores the "
			   "changes, --dry-run shows them");
}

struct fact_str door_exact_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_exact(ctx, a, k);
}

struct machine *door_change_machine(struct door *d, struct host *h)
{
	const struct door_look how = { .config = true, .session = true };

	return door_machine(d, h, &how);
}

struct plan_target door_target(struct door *d, struct host *h, const struct profile *p,
			       const char *allow)
{
	struct plan_target w = { .profile = p, .agent = d->agent };
	struct site *site = ARENA_NEW(d->arena, struct site);
	struct err e = { 0 };

	/* What cannot be read lets nobody change anything. */
	if (site_load(h, d->arena, site, &e)) {
		d->say(d->ctx, 0, &e);
		site->apply.none = true;
	}
	w.site = site;
	w.allow = door_words(d, allow, &w.n_allow);
	return w;
}

int door_plan(struct door *d, struct host *h, const char *allow, struct planned *out)
{
	const struct plan_target w = door_target(d, h, &out->profile, allow);

	if (door_check_ids(d, w.allow, w.n_allow))
		return -EXIT_USAGE;
	out->m = out->m ? out->m : door_change_machine(d, h);
	settings_check(d->arena, out->m, &out->profile, door_read_knob, h, &out->findings);
	plan_make(d->arena, out->m, &w, &out->findings, door_read_knob, door_exact_knob, h,
		  &out->plan);
	out->plan.boot_id = boot_id_of(h, d->arena);
	return 0;
}

/* Without what --only and --skip leave out; the gates look at the rest alone. */
static void narrow_plan(struct plan *p, const struct profile *only)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (profile_selects(only, p->changes[i].s->id))
			p->changes[n++] = p->changes[i];
	p->n = n;
	n = 0;
	for (size_t i = 0; i < p->n_advice; i++)
		if (profile_selects(only, p->advice[i].finding->s->id))
			p->advice[n++] = p->advice[i];
	p->n_advice = n;
}

/* The profile of out is filled. */
static int plan_of_json(struct door *d, struct host *h, const json_t *j, const char *name,
			const char *allow, struct planned *out)
{
	const struct plan_target w = door_target(d, h, &out->profile, allow);
	struct err e = { 0 };

	out->m = door_change_machine(d, h);
	if (plan_from_json(d->arena, out->m, j, name, &out->plan, &e))
		return door_fail(d, EXIT_USAGE, &e);
	narrow_plan(&out->plan, &out->profile);
	plan_gates(d->arena, out->m, &w, &out->plan);
	for (size_t i = 0; i < out->plan.n; i++)
		plan_owners(d->arena, out->m, &out->plan.changes[i]);
	return 0;
}

int door_plan_json(struct door *d, struct host *h, const json_t *j, const char *name,
		   const char *allow, struct planned *out)
{
	out->profile = (struct profile){ .name = "" };
	return door_narrow(d, NULL, NULL, &out->profile) ? -EXIT_USAGE
							 : plan_of_json(d, h, j, name, allow, out);
}

int door_plan_file(struct door *d, struct host *h, const char *file,
		   const struct profile_ask *settings, const char *allow, struct planned *out)
{
	struct err e = { 0 };
	size_t n;
	const char *const *words = door_words(d, allow, &n);
	json_auto_t *j = NULL;

	out->profile = (struct profile){ .name = "" };
	if (settings->profile)
		return door_refuse(
			d, EXIT_USAGE,
			"give either a plan or --profile: a plan already contains its changes");
	if (door_check_ids(d, words, n) ||
	    door_narrow(d, settings->only, settings->skip, &out->profile))
		return -EXIT_USAGE;
	if (json_from_file(file, PLAN_FILE_MAX, &j, &e))
		return door_fail(d, EXIT_USAGE, &e);
	return plan_of_json(d, h, j, file, allow, out);
}

struct adding {
	struct host *h;
	struct arena *a;
	struct plan *plan;
	const struct setting *s;
	const char *value, *target; /* target NULL: all */
	bool beside;		    /* one of several values */
	bool planned;		    /* the plan has changes of the setting: no others are added */
	size_t n;
};

static struct change *change_of(struct plan *p, const struct setting *s, const struct knob *k)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->changes[i].s == s && knob_equal(&p->changes[i].knob, k))
			return &p->changes[i];
	return NULL;
}

static void add_change(const void *object, const char *name, void *ctx)
{
	struct adding *x = ctx;
	struct plan *p = x->plan;
	struct knob k = setting_place(x->a, x->s, object);
	struct change *c;
	struct fact_str now;

	if (x->target && strcmp(x->target, name) != 0)
		return;
	/* A row may round what a profile wants of it; who names a value means that one. */
	c = x->beside ? NULL : change_of(p, x->s, &k);
	if (c && (!c->before || strcmp(c->before, x->value) != 0))
		c->after = x->value;
	if (c || x->planned)
		return;
	now = door_exact_knob(x->h, x->a, &k);
	/* A clock lock has no getter, and no value before it. */
	if (seen_ok(&now.f) ? strcmp(now.v, x->value) == 0
			    : !x->beside || now.f.seen != SEEN_UNASKED)
		return;
	ARENA_ADD(x->a, p->changes, p->n) =
		(struct change){ .s = x->s,
				 .target = arena_strdup(x->a, name),
				 .knob = k,
				 .before = seen_ok(&now.f) ? now.v : NULL,
				 .after = x->value,
				 .why = "requested by the A/B test",
				 .source = x->s->source,
				 .risk = x->s->risk,
				 .effect = x->s->effect };
	x->n++;
}

size_t door_add_value(struct door *d, struct host *h, struct planned *planned, const char *allow,
		      const char *id, const char *target, const char *value, bool beside)
{
	struct plan alone = { 0 }, *p = beside ? &alone : &planned->plan, *all = &planned->plan;
	struct adding x = { .h = h,
			    .a = d->arena,
			    .plan = p,
			    .s = setting_find(id),
			    .value = value,
			    .target = target,
			    .beside = beside };
	struct plan_target w;

	for (size_t i = 0; i < p->n; i++)
		x.planned = x.planned || p->changes[i].s == x.s;
	/* Values of the others are not for one write. */
	if (!x.s || (x.s->knob != KNOB_SYSCTL && x.s->knob != KNOB_SYSFS &&
		     x.s->knob != KNOB_LINK && x.s->knob != KNOB_NVML && x.s->knob != KNOB_CPUSET))
		return 0;
	setting_subjects(d->arena, planned->m, x.s, add_change, &x);
	if (x.n) {
		w = door_target(d, h, &planned->profile, allow);
		plan_sort(p);
		plan_gates(d->arena, planned->m, &w, p);
	}
	/* Values of one knob exclude each other in a plan; here only one is ever made. */
	for (size_t i = 0; beside && i < alone.n; i++) {
		ARENA_ADD(d->arena, all->changes, all->n) = alone.changes[i];
	}
	return x.n;
}

int door_agreed(struct door *d, const struct doc *shown, const char *question)
{
	int code;

	if (!d->agree)
		return door_refuse(d, EXIT_USAGE,
				   "cannot prompt here: give --yes, or --dry-run to preview");
	code = d->agree(d->ctx, shown, question);
	if (code == -EXIT_NOT_APPLIED)
		door_warn(d, "declined: nothing was changed");
	return code;
}

void door_report_lost_at_boot(struct door *d, struct host *h)
{
	const char *why = state_is_lost_at_boot(h);

	if (why)
		door_warn(d, "%s", why);
}

int door_recover_first(struct door *d, struct host *h, const struct txn_who *who, bool dry_run)
{
	struct txn_report report;
	struct journal j;
	struct err e = { 0 };
	int code = journal_load(h, d->arena, false, &j, &e);

	/* Who may not read it may not write either; that is said when it is tried, after the plan.
	 */
	if (state_check(h, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	if (code == -EACCES || code == -EPERM)
		return 0;
	if (code)
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	for (size_t i = 0; i < j.n; i++) {
		if (j.items[i].state != TRANSACTION_OPEN || !transaction_holds(&j.items[i]))
			continue;
		if (dry_run) {
			door_warn(d, "transaction %lu was interrupted; rolling it back first",
				  j.items[i].txn);
			return 0;
		}
		code = door_agreed(
			d, NULL,
			arena_printf(d->arena, "Transaction %lu was interrupted. Roll it back now?",
				     j.items[i].txn));
		if (code)
			return code;
		code = txn_recover(h, d->arena, who, &report, &e);
		if (code)
			return door_fail(d, code == -EUCLEAN ? EXIT_STUCK : EXIT_NOT_APPLIED, &e);
		door_warn(d, "interrupted transaction %lu was rolled back", j.items[i].txn);
		for (size_t k = 0; k < report.n_leftovers; k++)
			door_warn(d, "%s", report.leftovers[k]);
		return 0;
	}
	return 0;
}

int txn_exit_code(int result)
{
	return result == 0 ? EXIT_CLEAN : result == -EUCLEAN ? EXIT_STUCK : EXIT_NOT_APPLIED;
}

void door_find_culprits(struct door *d, struct machine *m, struct hold_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct change c = { .knob = rows[i].e->knob };

		if (rows[i].hold != HOLD_FOREIGN && rows[i].hold != HOLD_BACK)
			continue;
		plan_owners(d->arena, m, &c);
		for (size_t k = 0; k < c.n_owners; k++) {
			const struct owner *o = &c.owners[k];

			if (o->value && rows[i].now && knob_same(&c.knob, o->value, rows[i].now))
				rows[i].by = arena_printf(d->arena, "%s sets this", o->what);
			else if (o->fights && !rows[i].by)
				rows[i].by = arena_printf(d->arena, "perhaps %s", o->what);
		}
	}
}

/* "a, b" to words. */
const char *const *door_words(struct door *d, const char *list, size_t *n)
{
	const char **out = NULL;

	for (*n = 0; list && *list;) {
		size_t k = strcspn(list, ","), len;
		const char *word = str_trim(list, k, &len);

		if (len) {
			ARENA_ADD(d->arena, out, *n) = arena_strndup(d->arena, word, len);
		}
		list += k + (list[k] == ',');
	}
	return out;
}

int door_check_id(struct door *d, const char *word)
{
	struct err e = { 0 };

	return setting_check(&e, word) ? door_fail(d, EXIT_USAGE, &e) : 0;
}

int door_check_ids(struct door *d, const char *const *words, size_t n)
{
	int code = 0;

	for (size_t i = 0; i < n && !code; i++)
		code = door_check_id(d, words[i]);
	return code;
}
