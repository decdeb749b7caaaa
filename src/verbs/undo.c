/* SPDX-License-Identifier: Apache-2.0 */
/* gputune undo: put back what was there before. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"
#include "tune/txn/approval.h"
#include "tune/txn/results.h"
#include "verbs/persist/persist.h"

struct undo_ask {
	struct machine_ask machine;
	struct only_ask settings;
	struct change_ask change;
	long long transaction;
	const char *approved;
	bool all, force;
};

static const struct ask_row undo_ask_rows[] = {
	{ "TRANSACTION", "the transaction with this number; \"gputune history\" lists them",
	  ASK_COUNT(undo_ask, transaction, 1, TXN_MAX), .argument = true },
	{ ASK_PART(undo_ask, machine, machine_ask) },
	{ ASK_PART(undo_ask, settings, only_ask) },
	{ "approved", "undo the approved plan with this hash, applied in this boot",
	  ASK_TEXT(undo_ask, approved), .arg = "HASH" },
	{ "all", "undo all transactions, also of persist install", ASK_FLAG(undo_ask, all),
	  .letter = 'a' },
	{ "force", "also restore values changed by others since", ASK_FLAG(undo_ask, force) },
	{ ASK_PART(undo_ask, change, change_ask) },
};

struct undo_verb_answer {
	struct outcome_answer result;
	const struct machine *m;
	struct txn_report report;
	int undone; /* what txn_undo returned */
};

static bool journal_names(const struct journal *j, const char *word)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++)
			if (id_matches(j->items[i].entries[k].id, word))
				return true;
	return false;
}

/* The journal may name settings that this version no longer has. An unreadable journal is reported
 * by the undo itself. */
static int check_only(struct door *d, struct host *h, const struct txn_select *s)
{
	struct journal j;
	struct err e = { 0 };
	int code = 0;

	if (!s->n_only || journal_load(h, d->arena, false, &j, &e))
		return 0;
	for (size_t i = 0; i < s->n_only && !code; i++)
		code = journal_names(&j, s->only[i]) ? 0 : door_check_id(d, s->only[i]);
	return code;
}

/* Of this kind; name NULL: any. */
static bool has_row(const struct txn_report *report, enum knob_kind kind, const char *name)
{
	size_t i = 0;

	while (i < report->n && (report->rows[i].knob.kind != kind ||
				 (name && strcmp(report->rows[i].knob.name, name) != 0)))
		i++;
	return i < report->n;
}

/* The files for the next boot stay. */
static bool files_stay(struct host *h, const struct txn_report *report)
{
	return host_exists(h, PERSIST_REQUEST) && !has_row(report, KNOB_FILE, PERSIST_REQUEST);
}

/* "Undo transaction 11 (apply: memory.dirty-ratio)?", of a dry run. */
static const char *question(struct door *d, const struct txn_report *dry, bool kept)
{
	enum { SHOWN = 4 };
	size_t n = 0;
	TEXT_AUTO t = { 0 };

	if (dry->undoes)
		text_printf(&t, "Undo transaction %lu (%s: ", dry->undoes, dry->op);
	else
		text_add(&t, "Undo several transactions (");
	for (size_t i = 0; i < dry->n; i++)
		if ((!i || strcmp(dry->rows[i].id, dry->rows[i - 1].id) != 0) && n++ < SHOWN)
			text_printf(&t, "%s%s", n > 1 ? ", " : "", dry->rows[i].id);
	if (n > SHOWN)
		text_printf(&t, " and %zu more", n - SHOWN);
	text_printf(&t, ")?%s", kept ? " Values kept for the next boot remain." : "");
	return arena_strdup(d->arena, t.s);
}

static int undo(struct door *d, struct host *h, const struct undo_ask *ask,
		const struct txn_select *s, struct undo_verb_answer *out)
{
	const struct txn_who who = txn_who_here(d->arena, ask->change.reason);
	struct txn_select dry = *s;
	struct err e = { 0 };
	const char *kept;
	int code = -ENOENT;

	dry.dry = true;
	if (!s->dry && !d->agreed)
		code = txn_undo(h, d->arena, &dry, &who, &out->report, &e);
	/* Nobody is asked about nothing. */
	code = code == -ENOENT || code == -ESRCH
		       ? 0
		       : door_agreed(d, NULL,
				     question(d, &out->report, files_stay(h, &out->report)));
	if (code)
		return code;
	out->report = (struct txn_report){ 0 };
	e = (struct err){ 0 };
	out->undone = txn_undo(h, d->arena, s, &who, &out->report, &e);
	/* Names for the page; read afterwards, so that it shows what is. What makes the boot
	 * entries is configuration, which takes longest to read. */
	out->m = has_row(&out->report, KNOB_BOOTARG, NULL)
			 ? door_change_machine(d, h)
			 : door_machine(d, h, &(const struct door_look){ 0 });
	out->result = outcome_answer_of(d->arena, &out->report, &e);
	if (out->undone)
		d->say(d->ctx, 0, &e);
	else if (s->dry && !out->report.n) /* else the page says so */
		door_warn(d, "dry run: nothing was written");
	else if (!s->dry && has_row(&out->report, KNOB_FILE, NULL))
		persist_reload(&(struct persisting){ .d = d, .h = h });
	if (files_stay(h, &out->report)) {
		kept = persist_setting_ids(d, h, &out->report);
		door_warn(d, "%s%s; %s removes %s",
			  kept ? "still set at the next boot: "
			       : "files of persist install stay and set nothing",
			  kept ? kept : "", machine_quoted(d->arena, out->m, "persist remove"),
			  kept ? "the files that do it" : "them");
	}
	return out->undone == -ENOENT ? EXIT_CLEAN : txn_exit_code(out->undone);
}

static int undo_answer(struct door *d, const struct undo_ask *ask, struct undo_verb_answer *out)
{
	struct txn_select s = { .txn = (unsigned long)ask->transaction,
				.all = ask->all,
				.files = ask->all && !ask->settings.only,
				.force = ask->force,
				.dry = ask->change.dry_run };
	HOST_AUTO *h = NULL;
	struct err e = { 0 };
	int code;

	if (ask->approved && (s.txn || s.all || s.force || ask->settings.only))
		return door_refuse(d, EXIT_USAGE, "--approved already selects what is undone");
	if (s.txn && s.all)
		return door_refuse(d, EXIT_USAGE, "give either a transaction or --all");
	s.only = door_words(d, ask->settings.only, &s.n_only);
	code = door_check_overlay(d, &ask->machine, s.dry);
	if (code)
		return code;
	h = door_change_host(d, &ask->machine, s.dry);
	if (!h)
		return -EXIT_USAGE;
	if (!code && ask->approved && !(s.txn = approval_txn(h, d->arena, ask->approved, &e)))
		code = door_fail(d, EXIT_NOT_APPLIED, &e);
	code = code ? code : check_only(d, h, &s);
	return code ? code : undo(d, h, ask, &s, out);
}

/* Where there is nothing to undo, that is said already. */
static struct doc *undo_page(struct arena *a, const struct undo_verb_answer *u)
{
	return u->report.n || u->report.recovered ? page_undo(a, u->m, &u->report, u->undone)
						  : doc_new(a);
}

VERB_ANSWER(undo_answer_any, undo_answer, undo_ask, undo_verb_answer)
VERB_PAGE_OF(undo_page_any, undo_page, undo_verb_answer)
VERB_HEAD(undo_head, undo_verb_answer, m)

/* clang-format off */
const struct verb undo_verb = {
	.name = "undo", .group = VERB_CHANGE, .common = true, .summary = "restore the old values",
	.about = "Undoes the newest transaction (but not \"persist install\"). With a number: that one; with --only: "
	  "those settings; with --all: everything, with the files of persist install. A value that something "
	  "else changed since is kept, unless --force is given. Changes on absent devices stay pending.",
	.exits = "0: undone, or nothing to undo; 3: nothing could be undone; 4: changes remain",
	.words = "rollback revert restore reset back roll-back unapply",
	.examples = EXAMPLES({ "undo --dry-run", "preview first" },
		{ "sudo undo", "the newest transaction of apply" },
		{ "sudo undo --only memory", "settings of one group" },
		{ "sudo undo --all --yes", "all changes and kept values, no prompt" }),
	.ask = ASK_OF(undo_ask, NULL, undo_ask_rows), .answer = undo_answer_any, .result = &undo_result,
	.answer_size = sizeof(struct undo_verb_answer), .page = undo_page_any, .head = undo_head,
	.changes = true,
};
