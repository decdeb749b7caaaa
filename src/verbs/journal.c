/* SPDX-License-Identifier: Apache-2.0 */
/* gputune journal: the files that undo relies on. */
#include "tune/txn/results.h"
#include "verbs/change.h"

struct journal_ask {
	struct machine_ask machine;
	struct change_ask change;
	bool force;
};

struct journal_verb_answer {
	struct files_answer result;
	const struct machine *m;
	struct journal journal;
};

static int code_of(const struct journal *j)
{
	if (j->bad_lines)
		return EXIT_STUCK;
	return j->mended || (j->files.format > 1 && !j->files.copy_is_whole) ? EXIT_FINDINGS
									     : EXIT_CLEAN;
}

static int load(struct door *d, struct host *h, struct journal *j)
{
	struct err e = { 0 };

	if (journal_load(h, d->arena, true, j, &e))
		return door_fail(d, EXIT_STUCK, &e);
	return j->files.redacted
		       ? door_refuse(d, EXIT_BLIND,
				     "%s: only root can read it; \"gputune status\" and "
				     "\"history\" show the parts that other users may see",
				     TXN_JOURNAL)
		       : 0;
}

static int look(struct door *d, struct host *h, const char *action, struct journal_verb_answer *out)
{
	out->m = door_machine(d, h, &(const struct door_look){ 0 });
	out->result =
		(struct files_answer){ action, &out->journal, journal_count_open(&out->journal) };
	return code_of(&out->journal);
}

static int check_answer(struct door *d, const struct machine_ask *ask,
			struct journal_verb_answer *out)
{
	HOST_AUTO *h = door_change_host(d, ask, false);
	int code = h ? load(d, h, &out->journal) : -EXIT_USAGE;

	return code ? code : look(d, h, "check", out);
}

/* --- repair and compact ----------------------------------------------------------------------- */

static int write_anew(struct door *d, struct host *h, const struct journal_ask *ask,
		      enum txn_tend how, const char *question, struct journal *j)
{
	const struct txn_who who = txn_who_here(d->arena, ask->change.reason);
	struct txn_report report;
	struct err e = { 0 };
	int code = door_agreed(d, NULL, question);

	if (code)
		return code;
	if (txn_tend(h, d->arena, how, &who, &report, &e))
		return door_fail(d, EXIT_NOT_APPLIED, &e);
	code = load(d, h, j);
	if (code)
		return code;
	d->unreadable = false;
	if (j->bad_lines && how == TXN_REPAIR)
		door_warn(d, "lines lost in both files cannot be repaired; \"gputune journal "
			     "repair --force\" discards them");
	return 0;
}

static int tend(struct door *d, const struct journal_ask *ask, enum txn_tend how,
		const char *question, struct journal_verb_answer *out)
{
	HOST_AUTO *h = NULL;
	int code = door_check_overlay(d, &ask->machine, ask->change.dry_run);

	if (code)
		return code;
	h = door_change_host(d, &ask->machine, ask->change.dry_run);
	code = h ? load(d, h, &out->journal) : -EXIT_USAGE;
	if (code == 0 && !ask->change.dry_run && out->journal.files.format)
		code = write_anew(d, h, ask, how, question, &out->journal);
	return code ? code : look(d, h, how == TXN_COMPACT ? "compact" : "repair", out);
}

static int repair_answer(struct door *d, const struct journal_ask *ask,
			 struct journal_verb_answer *out)
{
	if (ask->force)
		return tend(d, ask, TXN_GIVE_UP,
			    "Discard unreadable lines? Their changes can then no longer be undone.",
			    out);
	return tend(d, ask, TXN_REPAIR, "Rewrite the journal's files?", out);
}

static int compact_answer(struct door *d, const struct journal_ask *ask,
			  struct journal_verb_answer *out)
{
	return tend(d, ask, TXN_COMPACT, "Move finished transactions to the history?", out);
}

/* --- export ----------------------------------------------------------------------------------- */

struct export_answer {
	struct history_answer result;
	const struct machine *m;
	struct journal journal;
	const char *lines;
	size_t len;
};

static int export_answer(struct door *d, const struct machine_ask *ask, struct export_answer *out)
{
	HOST_AUTO *h = door_change_host(d, ask, false);
	struct err e = { 0 };
	int code = h ? load(d, h, &out->journal) : -EXIT_USAGE;

	if (code == 0 && txn_export(h, d->arena, &out->lines, &out->len, &e))
		code = door_fail(d, EXIT_STUCK, &e);
	if (code == 0) {
		out->m = door_machine(d, h, &(const struct door_look){ 0 });
		out->result = history_answer_of(d->arena, &out->journal, NULL);
	}
	return code;
}

static int export_lines(FILE *out, const void *ask, const void *answer, int code)
{
	const struct export_answer *x = answer;

	(void)ask;
	fwrite(x->lines, 1, x->len, out);
	return code;
}

/* --- the verbs -------------------------------------------------------------------------------- */

static struct doc *journal_page_of(struct arena *a, const struct journal_verb_answer *j)
{
	return page_journal(a, &j->journal);
}

VERB_PAGE_OF(journal_page, journal_page_of, journal_verb_answer)
VERB_ANSWER(check_answer_any, check_answer, machine_ask, journal_verb_answer)
VERB_ANSWER(repair_answer_any, repair_answer, journal_ask, journal_verb_answer)
VERB_ANSWER(compact_answer_any, compact_answer, journal_ask, journal_verb_answer)
VERB_ANSWER(export_answer_any, export_answer, machine_ask, export_answer)
VERB_HEAD(journal_head, journal_verb_answer, m)
VERB_HEAD(export_head, export_answer, m)

static const struct verb check_verb = {
	.name = "check",
	.summary = "check that undo can rely on the journal",
	.about = "Reads every line of the journal, its copy and the history.",
	.exits = "1: one file needs repair; 4: lines are lost in both",
	.examples = EXAMPLES({ "journal check", "everything" },
			     { "journal check --format json", "for scripts" }),
	.ask = &machine_ask_shape,
	.answer = check_answer_any,
	.result = &journal_result,
	.answer_size = sizeof(struct journal_verb_answer),
	.page = journal_page,
	.head = journal_head,
	.reads = READS_FILES,
};

#define JOURNAL_ROWS                                                                               \
	{ ASK_PART(journal_ask, machine, machine_ask) },                                           \
	{                                                                                          \
		ASK_PART(journal_ask, change, change_ask)                                          \
	}

static const struct ask_row repair_ask_rows[] = {
	JOURNAL_ROWS,
	{ "force", "discard lines that are unreadable in both files",
	  ASK_FLAG(journal_ask, force) },
};

static const struct verb repair_verb = {
	.name = "repair",
	.summary = "restore lines that one file lacks from the other",
	.about = "Restores lines that the journal or its copy lacks from the other; --force also "
		 "discards lines lost in both.",
	.examples = EXAMPLES({ "journal repair --dry-run", "preview first" },
			     { "sudo journal repair", "repair it" }),
	.ask = ASK_OF(journal_ask, NULL, repair_ask_rows),
	.answer = repair_answer_any,
	.result = &journal_result,
	.answer_size = sizeof(struct journal_verb_answer),
	.page = journal_page,
	.head = journal_head,
	.changes = true,
};

static const struct ask_row compact_ask_rows[] = { JOURNAL_ROWS };

static const struct verb compact_verb = {
	.name = "compact",
	.summary = "move finished transactions to the history",
	.about = "Moves finished transactions to the history. This also happens automatically when "
		 "the journal grows long.",
	.examples = EXAMPLES({ "journal compact --dry-run", "preview first" },
			     { "sudo journal compact", "compact the journal now" }),
	.ask = ASK_OF(journal_ask, NULL, compact_ask_rows),
	.answer = compact_answer_any,
	.result = &journal_result,
	.answer_size = sizeof(struct journal_verb_answer),
	.page = journal_page,
	.head = journal_head,
	.changes = true,
};

static const struct verb export_verb = {
	.name = "export",
	.summary = "print every readable line",
	.about = "Prints every readable line of the history and the journal unchanged; --format "
		 "json is the result of history.",
	.examples = EXAMPLES({ "journal export", "the lines" },
			     { "journal export --format json", "transactions, for a script" }),
	.ask = &machine_ask_shape,
	.answer = export_answer_any,
	.result = &history_result,
	.answer_size = sizeof(struct export_answer),
	.formats = FORMATS({ "term", export_lines }),
	.head = export_head,
	.reads = READS_FILES,
};

static const struct verb *const journal_subs[] = { &check_verb, &repair_verb, &compact_verb,
						   &export_verb, NULL };

const struct verb journal_verb = {
	.name = "journal",
	.group = VERB_CHANGE,
	.summary = "check and repair the files that undo relies on",
	.about = "Every change is written to the journal and its copy before it is made.",
	.examples = EXAMPLES({ "journal check", "check that undo can rely on them" },
			     { "sudo journal repair", "restore lost lines from the copy" }),
	.subs = journal_subs,
	.usual = &check_verb,
};
